"""Files that version 0.1.0 wrote are loaded, and give the ranks that they gave then."""

from pathlib import Path

import numpy as np
import pytest

import exactregion as er
from exactregion import models, statistics

DATA = Path(__file__).parents[2] / "data"


def fading(theta, words):
    return np.array([theta[0] ** len(word) for word in words])


def common_letters(a, b):
    return float(len(set(a) & set(b)) + 1)


FUNCTIONS = {
    "model": models.Function(fading, names=("letter",), bounds=[(0, 1)]),
    "statistic": statistics.Discrepancy(common_letters),
}


def test_a_formula_with_counts():
    region = er.load(DATA / "formula_counts.npz")
    assert region.parameter_names_ == ("intercept", "sex[T.male]", "np.log2(dose)")
    assert region.design_.formula == "ndead + nalive ~ sex + np.log2(dose)"
    assert (region.statistic, region.n_resamples, region.rng) == ("score", 39, 7)
    thetas = [
        [-3.5, 1.1, 1.06],
        [-3.0, 1.0, 0.9],
        [-3.5, 0.2, 1.0],
        [-2.5, 0.9, 0.8],
        [-3.2, 1.6, 1.0],
        [-4.3, 1.2, 1.3],
    ]
    assert region.rank(thetas).tolist() == [1, 17, 40, 32, 35, 32]


def test_a_kernel_statistic_with_classes_and_accepted_ranks():
    region = er.load(DATA / "kernels_classes.npz")
    assert isinstance(region.model, models.Probit)
    assert region.statistic.kernel.gram.shape == (20, 20)
    assert (region.accepted_ranks, region.coverage_, region.rng) == ((1, 36), 0.9, None)
    assert (region.pos_label, region.fitted_.sample.classes) == ("yes", ("no", "yes"))
    thetas = [
        [0.0, 0.0, 0.0],
        [0.0, 0.6, 0.0],
        [0.3, 0.6, -0.2],
        [-0.4, 0.5, 0.4],
        [0.1, 1.2, 0.3],
        [0.5, -0.5, 0.0],
    ]
    assert region.rank(thetas).tolist() == [4, 1, 27, 23, 21, 36]


def test_text_inputs_with_functions_passed_again():
    path = DATA / "objects_functions.npz"
    with pytest.raises(er.errors.InvalidValueError, match=r"model=\.\.\., statistic=\.\.\."):
        er.load(path)
    region = er.load(path, **FUNCTIONS)
    thetas = [[0.3], [0.5], [0.6], [0.7], [0.8], [0.95]]
    assert region.rank(thetas).tolist() == [40, 36, 19, 5, 20, 40]


def test_nested_models_and_statistics():
    region = er.load(DATA / "combined.npz")
    assert repr(region.model) == (
        "Psychometric(core=CLogLog(intercept=True, feature_names=None), guess=0.1, lapse=0.02)"
    )
    score, neighborhood = region.statistic.statistics
    assert region.statistic.weights == (1.0, 0.5)
    assert isinstance(score, statistics.Score)
    assert (neighborhood.k, neighborhood.domain.tolist()) == (4, [[-2.0, 2.0]])
    assert 1 <= region.rank([0.1, 0.5]) <= 40
