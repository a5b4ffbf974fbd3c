"""A family that a user defines: names, bounds and one formula are all it takes."""

import numpy as np
import pytest

import exactregion as er
from exactregion.models import Function, Model, check_model


class Weibull(Model):
    """P_θ(Y=+1|x) = 1 - exp(-(x / scale)^shape)."""

    parameter_names = ("scale", "shape")
    bounds = ((0.01, np.inf), (0.0, np.inf))

    def evaluate(self, theta, X):
        scale, shape = theta[:, :1], theta[:, 1:]
        return -np.expm1(-((X / scale) ** shape))


RNG = np.random.default_rng(4)
DOSE = RNG.uniform(0.1, 4.0, 60)
KILLED = RNG.random(60) < Weibull().probabilities([1.5, 2.0], DOSE)
THETA = RNG.uniform([0.5, 0.5], [3.0, 4.0], size=(80, 2))


def fitted(model, statistic="combined"):
    return er.ConfidenceRegion(model, statistic=statistic, n_resamples=39, rng=0).fit(DOSE, KILLED)


def test_it_keeps_the_contract():
    check_model(Weibull(), DOSE)


@pytest.mark.parametrize("statistic", ["combined", "score", "discrepancy"])
def test_ranks_along_a_path_are_those_of_each_parameter_alone(statistic):
    region = fitted(Weibull(), statistic)
    alone = [fitted(Weibull(), statistic).rank(theta) for theta in THETA[:10]]
    np.testing.assert_array_equal(region.rank(THETA)[:10], alone)


def test_it_is_the_family_of_the_same_function():
    function = Function(
        lambda theta, x: -np.expm1(-((x / theta[0]) ** theta[1])),
        names=Weibull.parameter_names,
        bounds=Weibull.bounds,
    )
    ranks = [fitted(model, "discrepancy").rank(THETA) for model in (Weibull(), function)]
    np.testing.assert_array_equal(*ranks)


def test_its_region_has_intervals():
    region = fitted(Weibull())
    assert region.parameter_names_ == ("scale", "shape")
    assert region.contains(region.estimate_)
