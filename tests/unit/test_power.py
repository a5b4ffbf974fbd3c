"""Exactness says nothing about power: absurd candidates must be out."""

import numpy as np
import pytest
from scipy.special import expit

import exactregion as er

FLIGHTS = er.datasets.oring()


def log_likelihood(theta, x, successes, failures):
    eta = theta[0] + theta[1] * x
    return -(successes * np.logaddexp(0, -eta) + failures * np.logaddexp(0, eta)).sum()


@pytest.mark.parametrize("statistic", ["combined", "score"])
@pytest.mark.parametrize("turn", [1, -1])
def test_hopeless_parameters_are_out_along_the_whole_way(statistic, turn):
    """Where near-certain predictions fail, however near: also where the information vanishes."""
    x = np.arange(5.0)
    y = np.column_stack([[0, 3, 10, 20, 20], [20, 17, 10, 0, 0]])[:, ::turn]
    region = er.ConfidenceRegion("logistic", statistic=statistic, n_resamples=99, rng=0).fit(x, y)
    slopes = turn * np.geomspace(4, 1e6, 60)
    thetas = np.column_stack([-2 * slopes, slopes])
    best = log_likelihood(turn * np.array([-3.5, 1.7]), x, *y.T)
    for theta, inside in zip(thetas, region.contains(thetas), strict=True):
        if best - log_likelihood(theta, x, *y.T) > 20:
            assert not inside


def test_no_islands_in_the_oring_region():
    region = er.ConfidenceRegion("logistic", rng=0).fit(FLIGHTS["temp"], FLIGHTS["y"])
    slopes = -np.geomspace(0.7, 1e5, 80)
    for crossing in (53.0, 63.0, 67.0, 70.0):
        thetas = np.column_stack([-slopes * crossing, slopes])
        assert not region.contains(thetas).any()


@pytest.mark.parametrize("statistic", ["discrepancy", "embedding", "neighborhood"])
def test_an_outcome_held_impossible_rejects(statistic):
    p = np.repeat([0.0, 0.5], 20)
    y = np.zeros(40)
    y[20::2] = 1
    x = np.arange(40.0)
    assert er.model_test(p, x, y, statistic=statistic, n_resamples=99, rng=0).pvalue > 0.01
    y[3] = 1
    result = er.model_test(p, x, y, statistic=statistic, n_resamples=99, rng=0)
    assert result.pvalue == 0.01
    assert np.isinf(result.statistic)


def test_unit_of_a_parameter_does_not_matter():
    """A Hill curve with its EC50 in molar and in nanomolar, by numerical gradients."""
    rng = np.random.default_rng(0)
    dose = 10.0 ** rng.uniform(-10, -6, 200)
    y = rng.random(200) < dose / (1e-8 + dose)

    def hill(unit):
        model = er.models.Function(
            lambda th, x: 1 / (1 + (th[0] * unit / x) ** th[1]),
            ("ec50", "slope"),
            [(0, np.inf), (0, np.inf)],
        )
        return er.ConfidenceRegion(model, statistic="score", n_resamples=199, rng=0).fit(dose, y)

    molar, nanomolar = hill(1.0), hill(1e-9)
    for ec50 in (5e-9, 1e-8, 2e-8, 5e-8):
        assert molar.pvalue([ec50, 1.0]) == nanomolar.pvalue([ec50 * 1e9, 1.0])
    assert molar.pvalue([5e-8, 1.0]) == 1 / 200


@pytest.mark.parametrize("statistic", ["score", "discrepancy", "combined", "embedding"])
def test_many_trials_keep_their_power(statistic):
    x = np.array([0.0, 1.0])
    y = np.array([[5e8, 5e8], [5e8, 5e8]])
    region = er.ConfidenceRegion("logistic", statistic=statistic, n_resamples=99, rng=0).fit(x, y)
    assert region.contains([0.0, 0.0])
    assert not region.contains([0.001, 0.0])


def test_large_units_of_inputs_keep_the_power_of_embeddings():
    rng = np.random.default_rng(0)
    x = rng.normal(size=60)
    y = rng.random(60) < expit(3 * x)
    small, large = (
        er.model_test(np.full(60, 0.5), scale * x, y, rng=0, n_resamples=99,
                      statistic=er.statistics.Embedding(standardize=False))
        for scale in (1.0, 1e9)
    )  # fmt: skip
    assert small.pvalue == large.pvalue == 0.01
