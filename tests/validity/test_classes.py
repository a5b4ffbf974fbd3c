"""Classes: ranks are uniform under the truth, careless draws are caught, and namings are right."""

import itertools

import numpy as np
import pytest
from scipy.stats import binom
from support.truths import M, assert_uniform

import exactregion as er
from exactregion.engine import classes as engine
from exactregion.statistics import ClassOmnibus, ClassWise, Joint, Multiscale, Score

REPETITIONS = 100
REPEATED = pytest.mark.parametrize(
    "repetitions", [REPETITIONS, pytest.param(1000, marks=pytest.mark.audit)]
)
NAMINGS = 100
SIZES = (1, 5, 20, 100)
OTHERS = {
    "embedding": "embedding",
    "neighborhood": "neighborhood",
    "multiscale": Joint(Multiscale()),
    "score": ClassWise(Score()),
}


def drawn(P, rng):
    """Draw classes in a way of its own: by the smallest exponential waiting time."""
    return (rng.exponential(size=P.shape) / np.where(P > 0, P, 1e-300)).argmin(axis=1)


def probabilities(n, C, seed=0):
    """Probabilities with a class that is impossible in some rows, and a row that is certain."""
    P = np.random.default_rng([n, C, seed]).dirichlet(np.full(C, 0.7), size=n)
    P[: n // 4, 0] = 0
    if n > 2:
        P[-1] = np.eye(C)[1]
    return P / P.sum(axis=1, keepdims=True)


def results(n, C, statistic, repetitions=REPETITIONS):
    """Test the truth again and again, with fresh outcomes, draws and seat."""
    P = probabilities(n, C)
    for seed in range(repetitions):
        y = drawn(P, np.random.default_rng([seed, n, C]))
        yield er.calibration_test(
            y, P, statistic=statistic, n_resamples=M - 1, rng=seed, classes=range(C)
        )


@REPEATED
@pytest.mark.parametrize(("C", "n"), list(itertools.product((3, 10), SIZES)))
def test_ranks_are_uniform(C, n, repetitions):
    """Those of the default statistic, of each of its parts, of classes and of the top label."""
    found = list(results(n, C, "omnibus", repetitions if C == 3 else repetitions // 2))
    assert_uniform([result.rank for result in found])
    for k, part in enumerate(found[0].parts):
        assert part.name in {"temperature", "brier", "joint", "classwise", "toplabel"}
        assert_uniform([result.parts[k].rank for result in found])
    for name in (0, 2, "top label"):
        assert_uniform([round(M + 1 - M * result.table["pvalue"][name]) for result in found])


@REPEATED
@pytest.mark.parametrize(("n", "name"), list(itertools.product((1, 20), OTHERS)))
def test_ranks_of_other_statistics_are_uniform(n, name, repetitions):
    assert_uniform([result.rank for result in results(n, 3, OTHERS[name], repetitions)])


@REPEATED
@pytest.mark.parametrize(
    ("n", "statistic"), [(1, "multiscale"), (20, "multiscale"), (5, "embedding"), (20, "omnibus")]
)
def test_ranks_of_models_are_uniform(n, statistic, repetitions):
    P = probabilities(n, 4)
    X = np.random.default_rng(n).normal(size=(n, 2))
    found = []
    for seed in range(repetitions):
        y = drawn(P, np.random.default_rng([seed, n]))
        settings = {"n_resamples": M - 1, "rng": seed, "classes": range(4)}
        found.append(er.model_test(P, X, y, statistic=statistic, **settings).rank)
    assert_uniform(found)


def test_a_seat_that_stays_is_caught(monkeypatch):
    """Where all data sets are alike, an original in the first seat would always have rank 1."""
    P = np.eye(3)[[0, 1, 2, 1]]
    y = [0, 1, 2, 1]
    settings = {"n_resamples": M - 1, "classes": range(3), "statistic": "brier"}
    fair = [er.calibration_test(y, P, rng=seed, **settings).rank for seed in range(REPETITIONS)]
    assert_uniform(fair)
    monkeypatch.setattr("exactregion.resampling.Draws.seat", 0)
    stays = [er.calibration_test(y, P, rng=seed, **settings).rank for seed in range(REPETITIONS)]
    with pytest.raises(AssertionError):
        assert_uniform(stays)


def test_classes_drawn_in_another_order_are_caught(monkeypatch):
    """Thresholds of classes in reverse draw from other probabilities than those tested."""
    right = engine._falling
    monkeypatch.setattr(engine, "_falling", lambda P: right(P[:, ::-1]))
    with pytest.raises(AssertionError):
        assert_uniform([result.rank for result in results(100, 3, "brier")])


def namings(bad):
    """Count rejections, data sets with a wrong naming, and such by p-values of classes alone."""
    rejected = wrongly = alone = 0
    for seed in range(NAMINGS):
        rng = np.random.default_rng([seed, 11])
        true = rng.dirichlet(np.ones(6), size=80)
        y = drawn(true, rng)
        P = true.copy()
        if bad:  # the first two classes share their mass wrongly; the top label may be one of them
            P[:, :2] = P[:, 1::-1]
        result = er.calibration_test(
            y, P, statistic=ClassOmnibus(ClassWise()), n_resamples=19, rng=seed, classes=range(6)
        )
        right = result.table.iloc[2 if bad else 0 :]
        rejected += result.table["pvalue_adjusted"].min() <= 0.05
        wrongly += (right["pvalue_adjusted"] <= 0.05).any()
        alone += (right["pvalue"] <= 0.05).any()
    return rejected, wrongly, alone


def test_no_right_class_is_named_too_often():
    most = binom.isf(1e-6, NAMINGS, 0.05)
    rejected, wrongly, alone = namings(bad=False)
    assert wrongly == rejected <= most
    # the test can fail: p-values of classes alone name wrongly
    assert alone > binom.isf(1e-4, NAMINGS, 0.05)
    rejected, wrongly, _ = namings(bad=True)
    assert rejected > NAMINGS / 2
    assert wrongly <= most
