"""What holds for every family, and the contract a family inherits."""

import re

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy.special import expit, logit

import exactregion as er
from exactregion import models
from exactregion.errors import InvalidTypeError, InvalidValueError, ModelError
from exactregion.models.base import Model, as_matrix, check_probabilities

# --- every family ---------------------------------------------------------------------------------


def test_batch_equals_one_by_one_bit_for_bit(family):
    P = family.model.probabilities(family.theta, family.X)
    alone = [family.model.probabilities(one, family.X) for one in family.theta]
    assert P.shape == (len(family.theta), len(family.X))
    assert alone[0].shape == (len(family.X),)
    np.testing.assert_array_equal(P, np.stack(alone))


def test_rows_equal_one_by_one_bit_for_bit(family):
    P = family.model.probabilities(family.theta, family.X)
    rows = [
        family.model.probabilities(family.theta, family.X[j : j + 1]) for j in range(len(family.X))
    ]
    np.testing.assert_array_equal(P, np.hstack(rows))


def test_gradient_of_a_batch_equals_one_by_one_bit_for_bit(family):
    gradient = family.model.logit_gradient(family.theta, family.X)
    alone = [family.model.logit_gradient(one, family.X) for one in family.theta]
    assert gradient.shape == (*family.theta.shape[:1], len(family.X), family.theta.shape[1])
    np.testing.assert_array_equal(gradient, np.stack(alone))


def _assert_gradient(family, expected):
    """Compare where the logit has digits left to compare."""
    P = family.model.probabilities(family.theta, family.X)
    inner = (P > 1e-3) & (P < 1 - 1e-3)
    assert inner.mean() > 0.8
    own = family.model.logit_gradient(family.theta, family.X)
    np.testing.assert_allclose(own[inner], expected[inner], rtol=1e-5, atol=1e-6)


def test_gradient_agrees_with_the_inherited_differences(family):
    with np.errstate(all="ignore"):
        inherited = Model.differentiate(family.model, family.theta, family.X)
    _assert_gradient(family, inherited)


def test_gradient_agrees_with_a_five_point_stencil(family):
    step = 1e-3

    def logits(index, steps):
        moved = family.theta.copy()
        moved[:, index] += steps * step
        return logit(family.model.probabilities(moved, family.X))

    with np.errstate(all="ignore"):
        expected = [
            (8 * (logits(j, 1) - logits(j, -1)) - (logits(j, 2) - logits(j, -2))) / (12 * step)
            for j in range(family.theta.shape[1])
        ]
    _assert_gradient(family, np.stack(expected, axis=-1))


def test_names_and_bounds(family):
    model = family.model
    assert model.parameter_names == family.names
    assert model.n_parameters(family.X) == len(family.names)
    assert model.for_inputs(family.X) is model or model.for_inputs(family.X) == model
    low, high = np.transpose(model.bounds)
    assert ((low < family.theta) & (family.theta < high)).all()


def test_empty_batch_gives_no_rows(family):
    empty = family.theta[:0]
    assert family.model.probabilities(empty, family.X).shape == (0, len(family.X))
    assert family.model.logit_gradient(empty, family.X).shape == (
        0,
        len(family.X),
        family.theta.shape[1],
    )


def test_arguments_stay_as_they_were(family):
    theta, X = family.theta.copy(), family.X.copy()
    family.model.probabilities(theta, X)
    family.model.logit_gradient(theta, X)
    np.testing.assert_array_equal(theta, family.theta)
    np.testing.assert_array_equal(X, family.X)


@pytest.mark.parametrize("frame_of", [pd.DataFrame, pl.DataFrame], ids=["pandas", "polars"])
def test_frames_give_what_arrays_give(numeric_family, frame_of):
    model, theta, X = numeric_family.model, numeric_family.theta, numeric_family.X
    columns = X.reshape(len(X), -1).T
    names = getattr(getattr(model, "core", model), "feature_names", None)
    names = names or [f"column {j}" for j in range(len(columns))]
    frame = frame_of(dict(zip(names, columns, strict=True)))
    np.testing.assert_array_equal(model.probabilities(theta, frame), model.probabilities(theta, X))
    np.testing.assert_array_equal(
        model.logit_gradient(theta, frame), model.logit_gradient(theta, X)
    )


def test_region_asks_the_family(family):
    y = np.arange(len(family.X)) % 3 == 0
    region = er.ConfidenceRegion(family.model, n_resamples=19, rng=0).fit(family.X, y)
    names = ("x0", "x1") if family.X.ndim == 2 else ("x",)
    assert region.parameter_names_ == family.model.bind(names).parameter_names
    assert region.contains(family.theta[:3]).shape == (3,)
    np.testing.assert_array_equal(
        region.evaluate(family.theta[0]).probabilities,
        family.model.probabilities(family.theta[0], family.X),
    )


# --- theta ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("ask", ["probabilities", "logit_gradient"])
def test_theta_of_wrong_length(family, ask):
    d = family.theta.shape[1]
    for wrong in (family.theta[0, :-1], np.ones(d + 1), np.ones((4, d + 1)), np.ones((2, 2, d))):
        message = f"The 'theta' parameter must have shape ({d},) or (T, {d}). Got {wrong.shape}"
        with pytest.raises(InvalidValueError, match=re.escape(message)):
            getattr(family.model, ask)(wrong, family.X)


@pytest.mark.parametrize(
    ("theta", "builtin", "message"),
    [
        (["a", "b"], TypeError, "'theta' parameter must hold numbers. Got ['a', 'b'] instead"),
        ([[0.0, 1.0], [2.0]], TypeError, "'theta' parameter must hold numbers"),
        ([1j, 0.0], TypeError, "'theta' parameter must hold numbers"),
        ([0.0, {}], TypeError, "'theta' parameter must hold numbers"),
        (0.5, ValueError, "must have shape (2,) or (T, 2). Got () instead"),
        (None, ValueError, "must have shape (2,) or (T, 2). Got () instead"),
        ([0.0, np.nan], ValueError, "must hold finite numbers. Got nan at index 1 of theta 0"),
        ([[0, 1], [0, 1], [-np.inf, 1]], ValueError, "Got -inf at index 0 of theta 2 instead"),
    ],
)
@pytest.mark.parametrize("ask", ["probabilities", "logit_gradient"])
def test_theta_that_is_no_parameter(ask, theta, builtin, message):
    with pytest.raises(er.ExactRegionError, match=re.escape(message)) as caught:
        getattr(models.Logistic(), ask)(theta, [0.0, 1.0])
    assert isinstance(caught.value, builtin)


def test_theta_outside_the_bounds_names_the_parameter(family):
    bounded = [j for j, (low, _) in enumerate(family.model.bounds) if np.isfinite(low)]
    for index in bounded:
        theta = family.theta[:3].copy()
        theta[2, index] = -0.25
        name = family.names[index]
        message = rf"'theta' parameter must have a {name} between \S+ and .*Got -0.25 instead"
        with pytest.raises(InvalidValueError, match=message):
            family.model.probabilities(theta, family.X)


def test_theta_just_outside_a_bound_is_shown_in_full():
    with pytest.raises(InvalidValueError, match=r"between 0 and 1\. Got 1\.000000001 instead"):
        models.LaplaceMixture().probabilities([1 + 1e-9, 1.0], [0.0])


def test_integers_lists_and_one_number_for_one_parameter():
    model = models.Logistic(intercept=False)
    expected = expit([-2.0, 4.0])
    for theta in (2, [2], np.array([2]), np.float32(2)):
        np.testing.assert_array_equal(model.probabilities(theta, [-1, 2]), expected)
    assert model.probabilities([[2]], [-1, 2]).shape == (1, 2)


# --- the contract a family inherits ---------------------------------------------------------------


class Bounded(Model):
    """P = expit(θ x) with θ in [0, 1]; refuses to be evaluated elsewhere."""

    parameter_names = ("slope",)
    bounds = ((0.0, 1.0),)

    def evaluate(self, theta, X):
        assert ((theta >= 0) & (theta <= 1)).all()
        return expit(theta * np.asarray(X))


class Open(Model):
    parameter_names = ("a", "b")

    def evaluate(self, theta, X):
        return expit(theta[:, :1] + theta[:, 1:] * np.asarray(X))


@pytest.mark.parametrize("slope", [0.0, 1e-9, 0.5, 1.0])
def test_differences_stay_within_the_bounds(slope):
    x = np.array([-1.0, 0.0, 2.0])
    np.testing.assert_allclose(Bounded().logit_gradient([slope], x), x[:, None], atol=1e-8)


def test_differences_do_not_depend_on_the_unit_of_the_parameter():
    class Scaled(Open):
        def evaluate(self, theta, X):
            return super().evaluate(theta * [1.0, 1e9], X)

    x = np.array([0.0, 1.0])
    here, there = Open().logit_gradient([0.5, 2.0], x), Scaled().logit_gradient([0.5, 2e-9], x)
    np.testing.assert_allclose(here * [1, 1e9], there, rtol=1e-6)


def test_differences_scale_with_the_parameter():
    x = np.array([0.0, 1e-8])
    np.testing.assert_allclose(
        Open().logit_gradient([0.5, 1e8], x), [[1.0, 0.0], [1.0, 1e-8]], rtol=1e-6, atol=1e-15
    )


def test_defaults():
    model = Open()
    assert model.bounds == ((-np.inf, np.inf),) * 2
    assert model.bind(["temp"]) is model
    assert model.n_parameters([1.0]) == 2


def test_certainties_in_differences_give_no_warning():
    with np.errstate(all="warn"):
        gradient = Open().logit_gradient([0.0, 1e3], [-1.0, 0.0, 1.0])
    np.testing.assert_allclose(gradient[1], [1.0, 0.0])


class Fixed(Model):
    """Gives whatever it was made with."""

    parameter_names = ("a",)

    def __init__(self, answer):
        self.answer = answer

    def evaluate(self, theta, X):
        return self.answer


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        ([[0.5, 0.5]], r"shape \(1, 3\) \(thetas, rows\)\. Got \(1, 2\) instead"),
        ([0.5, 0.5, 0.5], r"shape \(1, 3\) \(thetas, rows\)\. Got \(3,\) instead"),
        (0.5, r"shape \(1, 3\) \(thetas, rows\)\. Got \(\) instead"),
        ([[0.5] * 3] * 2, r"shape \(1, 3\) \(thetas, rows\)\. Got \(2, 3\) instead"),
        ([[0.5, 1.5, -2.0]], r"between 0 and 1\. Got 1\.5 at theta = \[7\.0\] .*2 of 3 rows: 1, 2"),
        ([[0.5, 0.5, np.nan]], r"between 0 and 1\. Got nan at theta = \[7\.0\] .*1 of 3 rows: 2"),
    ],
)
def test_answers_that_are_no_probabilities(answer, message):
    with pytest.raises(ModelError, match=message):
        Fixed(answer).probabilities([7.0], [0.0, 1.0, 2.0])


# --- check_probabilities --------------------------------------------------------------------------


def test_good_probabilities_pass_through():
    P = np.array([[0.0, 0.5, 1.0]])
    assert check_probabilities(P, np.zeros((1, 2)), n=3) is P


def test_message_shows_the_first_theta_and_five_rows():
    P = np.full((2, 8), 0.5)
    P[1, 1:] = 2 + np.arange(7)
    with pytest.raises(
        ModelError, match=r"Got 2 at theta = \[3\.0\] .*7 of 8 rows: 1, 2, 3, 4, 5, …"
    ):
        check_probabilities(P, np.array([[1.0], [3.0]]), n=8)


def test_message_shows_a_probability_just_above_one_in_full():
    with pytest.raises(ModelError, match=r"Got 1\.0000000000000002 instead"):
        check_probabilities(np.array([[np.nextafter(1.0, 2.0)]]), np.empty((1, 0)), n=1)


# --- inputs ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "X",
    [
        [1, 2],
        (1.0, 2.0),
        np.array([1, 2], dtype=np.int8),
        np.array([[1.0], [2.0]]),
        pd.Series([1.0, 2.0], index=[5, 3]),
        pd.Series([1.0, 2.0], name="x"),
        pl.Series([1.0, 2.0]),
        pd.DataFrame({"x": [1, 2]}),
        pd.DataFrame(np.array([[1.0], [2.0]])),
        pl.DataFrame({"x": [True, False]}).select(2 - pl.col("x").cast(int)),
    ],
    ids=[
        "list",
        "tuple",
        "integers",
        "matrix",
        "pandas series",
        "named pandas series",
        "polars series",
        "pandas frame",
        "pandas frame without names",
        "polars frame",
    ],
)
def test_inputs_become_a_matrix(X):
    matrix = as_matrix(X)
    assert matrix.dtype == np.float64
    np.testing.assert_array_equal(matrix, [[1.0], [2.0]])


@pytest.mark.parametrize(
    ("X", "error", "message"),
    [
        (["low", "high"], InvalidTypeError, "'X' parameter must be numeric .* sequence of str"),
        (pd.DataFrame({"x": ["low", "high"]}), InvalidTypeError, "columns of the 'X' .*'x'"),
        (7.0, InvalidTypeError, "'X' parameter must be an array, a frame or a sequence"),
        (
            [1.0, np.nan],
            InvalidValueError,
            "'X' parameter must hold finite numbers. Got nan in row 1",
        ),
        (np.array([1.0, np.nan]), InvalidValueError, "'X' parameter must hold finite numbers"),
        (pd.DataFrame({"x": [1.0, np.inf]}), InvalidValueError, "Got inf in row 1, column 'x'"),
    ],
    ids=["text", "text frame", "number", "nan list", "nan array", "inf frame"],
)
@pytest.mark.parametrize("model", [models.Logistic(), models.LaplaceMixture()], ids=repr)
def test_inputs_that_are_no_numbers(model, X, error, message):
    with pytest.raises(error, match=message):
        model.probabilities([0.5, 1.0], X)


# --- models by name -------------------------------------------------------------------------------


@pytest.mark.parametrize(("name", "kind"), models.MODELS.items())
def test_models_by_name(name, kind):
    model = models.as_model(name)
    assert type(model) is kind
    assert repr(model) == repr(kind())


def test_a_model_stays_itself():
    model = models.Recalibration()
    assert models.as_model(model) is model


@pytest.mark.parametrize(
    ("model", "error", "message"),
    [
        ("logit", InvalidValueError, r"one of \['cloglog', .*Function.*Got 'logit'"),
        (expit, InvalidTypeError, "'model' parameter must be .*models.Function"),
        (models.Logistic, InvalidTypeError, "'model' parameter must be a name or a model"),
    ],
)
def test_what_is_no_model(model, error, message):
    with pytest.raises(error, match=message):
        er.ConfidenceRegion(model).fit([0.0, 1.0], [0, 1])
