"""Recalibration of predicted probabilities."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
import statsmodels.api as sm
from scipy.special import expit, logit

import exactregion as er
from exactregion.errors import InvalidValueError
from exactregion.models import Logistic, Recalibration

P = np.linspace(0.01, 0.99, 25)


def test_formula_by_odds():
    a, b = 0.4, 1.7
    odds = np.exp(a) * (P / (1 - P)) ** b
    np.testing.assert_allclose(
        Recalibration().probabilities([a, b], P), odds / (1 + odds), rtol=1e-12
    )


def test_is_logistic_regression_on_the_logit():
    theta = np.array([[0.0, 1.0], [-0.5, 2.0], [1.0, -0.3]])
    np.testing.assert_allclose(
        Recalibration().probabilities(theta, P),
        Logistic().probabilities(theta, logit(P)),
        rtol=1e-14,
    )
    np.testing.assert_allclose(
        Recalibration().logit_gradient(theta, P), Logistic().logit_gradient(theta, logit(P))
    )


def test_score_is_that_of_coxs_recalibration():
    y = np.random.default_rng(0).random(25) < P
    glm = sm.GLM(y.astype(float), sm.add_constant(logit(P)), sm.families.Binomial())
    model = Recalibration()
    score = (y - model.probabilities([0.2, 0.8], P)) @ model.logit_gradient([0.2, 0.8], P)
    np.testing.assert_allclose(score, glm.score(np.array([0.2, 0.8]), scale=1.0), rtol=1e-10)


def test_calibration_is_zero_and_one():
    p = np.concatenate([P, [0.0, 1.0, 1e-300, np.nextafter(1, 0)]])
    np.testing.assert_allclose(Recalibration().probabilities([0.0, 1.0], p), p, rtol=1e-12)


def test_names_and_bounds():
    model = Recalibration()
    assert repr(model) == "Recalibration(degree=1)"
    assert model.parameter_names == ("intercept", "slope")
    assert model.bounds == ((-np.inf, np.inf),) * 2
    assert model.bind(["p"]) is model


@pytest.mark.parametrize(
    ("slope", "expected"),
    [(1.0, [0.0, 1.0]), (1e-300, [0.0, 1.0]), (0.0, [expit(3.0)] * 2), (-2.0, [1.0, 0.0])],
)
def test_certain_predictions(slope, expected):
    np.testing.assert_array_equal(Recalibration().probabilities([3.0, slope], [0, 1]), expected)


@pytest.mark.parametrize("slope", [1e3, 1e300, 1e308])
def test_large_slopes_are_certainties(slope):
    P = Recalibration().probabilities([[0.0, slope], [0.0, -slope]], [1e-300, 0.5, 0.999999])
    np.testing.assert_array_equal(P, [[0.0, 0.5, 1.0], [1.0, 0.5, 0.0]])


def test_gradient_at_certain_predictions_gives_no_warning():
    gradient = Recalibration().logit_gradient([0.0, 1.0], [0.0, 0.5, 1.0])
    np.testing.assert_array_equal(gradient, [[1.0, -np.inf], [1.0, 0.0], [1.0, np.inf]])


@pytest.mark.parametrize(
    "p",
    [
        list(P),
        P[:, None],
        pd.Series(P, name="p"),
        pd.DataFrame({"p": P}),
        pl.Series("p", P),
        pl.DataFrame({"p": P}),
    ],
    ids=["list", "column", "series", "frame", "polars series", "polars frame"],
)
def test_predictions_of_every_kind(p):
    model = Recalibration()
    np.testing.assert_array_equal(
        model.probabilities([0.1, 2.0], p), model.probabilities([0.1, 2.0], P)
    )


@pytest.mark.parametrize(
    ("p", "got"),
    [
        ([0.5, 1.25], r"shape \(2, 1\) with values from 0.5 to 1.25"),
        ([-0.5, 1.0], r"shape \(2, 1\) with values from -0.5 to 1"),
        (np.full((3, 2), 0.5), r"shape \(3, 2\) with values from 0.5 to 0.5"),
    ],
)
@pytest.mark.parametrize("ask", ["probabilities", "logit_gradient"])
def test_predictions_that_are_none(ask, p, got):
    message = f"'X' parameter of Recalibration must be one column of predicted .*Got {got} instead"
    with pytest.raises(InvalidValueError, match=message):
        getattr(Recalibration(), ask)([0.0, 1.0], p)


def test_region_holds_calibration_for_calibrated_predictions():
    rng = np.random.default_rng(4)
    p = rng.random(150)
    y = rng.random(150) < p
    region = er.ConfidenceRegion(Recalibration(), n_resamples=99, rng=0).fit(p, y)
    np.testing.assert_array_equal(
        region.contains([[0.0, 1.0], [2.0, 1.0], [0.0, 0.1]]), [True, False, False]
    )
    assert region.parameter_names_ == ("intercept", "slope")


def test_region_with_predictions_of_zero_and_one():
    p = np.array([0.0, 0.0, 0.3, 0.6, 1.0, 1.0])
    fit = er.ConfidenceRegion(Recalibration(), n_resamples=19, rng=0).fit
    assert fit(p, [0, 0, 0, 1, 1, 1]).contains([0.0, 1.0])
    assert not fit(p, [1, 0, 0, 1, 1, 1]).contains([0.0, 1.0])


@pytest.mark.parametrize("degree", [2, 3])
def test_curves_that_bend_are_logistic_regression_on_powers(degree):
    theta = np.array([[0.0, 1.0, 0.3, -0.1], [-0.5, 2.0, -1.0, 0.2]])[:, : degree + 1]
    powers = np.column_stack([logit(P) ** power for power in range(1, degree + 1)])
    model = Recalibration(degree=degree)
    np.testing.assert_allclose(
        model.probabilities(theta, P), Logistic().probabilities(theta, powers), rtol=1e-12
    )
    np.testing.assert_allclose(
        model.logit_gradient(theta, P), Logistic().logit_gradient(theta, powers)
    )
    assert model.parameter_names == ("intercept", "slope", "square", "cube")[: degree + 1]
    np.testing.assert_allclose(model.probabilities([0, 1, 0, 0][: degree + 1], P), P)


@pytest.mark.parametrize(
    ("theta", "expected"),
    [
        ([3.0, 1.0, 0.0], [0.0, 1.0]),
        ([3.0, -9.0, 1e-9], [1.0, 1.0]),
        ([3.0, 1.0, -1.0], [0.0, 0.0]),
        ([3.0, 0.0, 0.0], [expit(3.0)] * 2),
        ([0.0, 9.0, 9.0, -1e-9], [1.0, 0.0]),
    ],
)
def test_certain_predictions_go_by_the_highest_power(theta, expected):
    model = Recalibration(degree=len(theta) - 1)
    np.testing.assert_array_equal(model.probabilities(theta, [0, 1]), expected)


@pytest.mark.parametrize("degree", [0, 4, -1, 1.5, "2", None, True])
def test_degrees_that_are_none(degree):
    with pytest.raises(InvalidValueError, match=r"'degree' .*must be 1, 2 or 3.* Got"):
        Recalibration(degree=degree)


def test_large_coefficients_of_powers_are_certainties():
    P = Recalibration(degree=3).probabilities([0.0, 0.0, 0.0, 1e308], [1e-300, 0.5, 0.999999])
    np.testing.assert_array_equal(P, [0.0, 0.5, 1.0])
