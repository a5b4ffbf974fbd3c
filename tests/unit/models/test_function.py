"""Any callable as a family."""

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit

import exactregion as er
from exactregion.errors import InvalidTypeError, InvalidValueError, ModelError
from exactregion.models import Function, Logistic

X = np.linspace(0.5, 8.0, 9)


def hill(theta, x):
    return x ** theta[1] / (theta[0] ** theta[1] + x ** theta[1])


HILL = Function(hill, names=["ec50", "slope"], bounds=[(0, np.inf), (0, 9)])


def test_formula_is_the_function():
    np.testing.assert_array_equal(HILL.probabilities([2.0, 1.5], X), hill([2.0, 1.5], X))


def test_hill_curve_is_logistic_regression_on_the_log_dose():
    ec50, slope = 2.0, 1.5
    log_dose = np.log(X)
    np.testing.assert_allclose(
        HILL.probabilities([ec50, slope], X),
        Logistic().probabilities([-slope * np.log(ec50), slope], log_dose),
        rtol=1e-12,
    )
    expected = np.column_stack([np.full(9, -slope / ec50), log_dose - np.log(ec50)])
    np.testing.assert_allclose(
        HILL.logit_gradient([ec50, slope], X), expected, rtol=1e-7, atol=1e-9
    )


def test_vectorized_is_called_once():
    calls = []

    def many(theta, x):
        calls.append(theta.shape)
        return expit(theta @ x[None])

    model = Function(many, ("a",), vectorized=True)
    np.testing.assert_array_equal(
        model.probabilities([[1.0], [2.0]], X), expit(np.outer([1.0, 2.0], X))
    )
    assert model.probabilities([1.0], X).shape == (9,)
    assert calls == [(2, 1), (1, 1)]


def test_names_and_bounds():
    assert HILL.parameter_names == ("ec50", "slope")
    assert HILL.bounds == ((0.0, np.inf), (0.0, 9.0))
    assert Function(hill, ("a", "b")).bounds == ((-np.inf, np.inf),) * 2
    assert HILL.bind(["dose"]) is HILL


def test_repr_shows_the_name():
    assert repr(HILL) == "Function('hill', names=('ec50', 'slope'))"
    assert repr(Function(np.vectorize(hill), ("a",))).startswith("Function(")


def test_inputs_are_handed_on_untouched():
    frame = pd.DataFrame({"dose": X, "sex": ["f", "m", "f"] * 3})
    model = Function(lambda th, data: expit(th[0] * data["dose"] * (data["sex"] == "f")), ("a",))
    np.testing.assert_array_equal(
        model.probabilities([0.7], frame), expit(0.7 * X * np.tile([1, 0, 1], 3))
    )


def test_lists_and_series_are_probabilities_too():
    for answer in (list, tuple, pd.Series):
        model = Function(lambda th, x, answer=answer: answer(hill(th, x)), ("a", "b"))
        np.testing.assert_array_equal(model.probabilities([2.0, 1.0], X), hill([2.0, 1.0], X))


@pytest.mark.parametrize(
    ("theta", "message"),
    [
        ([-1.0, 1.0], "must have a ec50 between 0 and inf. Got -1 instead"),
        ([1.0, 9.5], "must have a slope between 0 and 9. Got 9.5 instead"),
    ],
)
def test_theta_outside_the_bounds(theta, message):
    with pytest.raises(InvalidValueError, match=message):
        HILL.probabilities(theta, X)


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (lambda th, x: 0.5, r"'f' parameter of Function .*shape \(9,\). Got \(\) instead"),
        (lambda th, x: x[:4] / 9, r"'f' parameter of Function .*shape \(9,\). Got \(4,\) instead"),
        (lambda th, x: x[:, None] / 9, r"shape \(9,\). Got \(9, 1\) instead"),
        (lambda th, x: x, r"between 0 and 1. Got 1\.4375 at theta = \[0\.0\] .*8 of 9 rows: 1, 2"),
        (lambda th, x: x * np.nan, r"Got nan at theta = \[0\.0\] instead, in 9 of 9 rows"),
        (lambda th, x: ["likely"] * 9, "'f' parameter of Function"),
    ],
    ids=["scalar", "short", "column", "above one", "nan", "text"],
)
def test_answers_that_are_no_probabilities(answer, message):
    with pytest.raises(ModelError, match=message):
        Function(answer, ("a",)).probabilities([0.0], X)


@pytest.mark.parametrize(
    ("answer", "got"),
    [
        (lambda th, x: th, r"\(2, 1\)"),
        (lambda th, x: x / 9, r"\(9,\)"),
        (lambda th, x: np.full((9, 2), 0.5), r"\(9, 2\)"),
        (lambda th, x: 0.5, r"\(\)"),
    ],
)
def test_vectorized_answers_of_another_shape(answer, got):
    model = Function(answer, ("a",), vectorized=True)
    with pytest.raises(ModelError, match=rf"shape \(2, 9\) \(thetas, rows\). Got {got} instead"):
        model.probabilities([[0.1], [0.2]], X)


@pytest.mark.parametrize(
    ("settings", "error", "message"),
    [
        ({"f": 0.5}, InvalidTypeError, "'f' parameter of Function must be callable. Got float"),
        ({"names": "ab"}, InvalidTypeError, "'names' parameter .* Got the string 'ab' instead"),
        (
            {"bounds": [(0, 1)]},
            InvalidValueError,
            "'bounds' parameter of Function .* each of the 2 names. Got .*0, 1",
        ),
    ],
)
def test_settings_that_do_not_fit(settings, error, message):
    with pytest.raises(error, match=message):
        Function(**({"f": hill, "names": ("a", "b")} | settings))


def test_region_of_a_function_is_that_of_the_same_family():
    rng = np.random.default_rng(2)
    x = rng.normal(size=60)
    y = rng.random(60) < expit(x)
    own = Function(lambda th, x: expit(th[0] + th[1] * x), ("intercept", "x"))
    theta = rng.normal(size=(30, 2))
    regions = [
        er.ConfidenceRegion(model, statistic="discrepancy", n_resamples=19, rng=0).fit(x, y)
        for model in (own, Logistic())
    ]
    np.testing.assert_array_equal(regions[0].rank(theta), regions[1].rank(theta))


def test_region_over_objects():
    """Strings as inputs: a kernel and a function that understand them are all it takes."""
    words = ["a", "bb", "ccc", "dddd"] * 10
    y = np.tile([0, 0, 1, 1], 10)
    model = Function(
        lambda th, X: expit(th[0] * (np.array([len(word) for word in X]) - 2.5)), ("a",)
    )
    kernel = er.kernels.CallableKernel(lambda u, v: np.exp(-abs(len(u) - len(v))))
    region = er.ConfidenceRegion(
        model, statistic=er.statistics.Discrepancy(kernel), n_resamples=19, rng=0
    ).fit(words, y)
    np.testing.assert_array_equal(region.contains([[3.0], [-3.0]]), [True, False])
