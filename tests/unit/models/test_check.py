"""The check that a user's own family keeps the contract."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from scipy.special import expit

from exactregion import models
from exactregion.errors import InvalidValueError, ModelError
from exactregion.models import Model, check_model

X = np.linspace(-2, 2, 7)


class Sound(Model):
    """P = expit(a + b x); each family below breaks one thing of it."""

    parameter_names = ("a", "b")

    def evaluate(self, theta, X):
        return expit(theta[:, :1] + theta[:, 1:] * X)


# --- what passes ----------------------------------------------------------------------------------


def test_every_family_passes_at_given_parameters(family):
    check_model(family.model, family.X, family.theta)


@pytest.mark.parametrize(
    "model",
    [
        models.Logistic(),
        models.Logistic(intercept=False),
        models.Probit(),
        models.CLogLog(),
        models.LaplaceMixture(),
        models.GaussianMixture(),
        models.Mixture(stats.norm, stats.laplace),
        models.Psychometric(),
        models.Psychometric(models.Probit(), guess="free"),
        models.Psychometric(models.LaplaceMixture(), guess=0.0),
    ],
    ids=lambda model: type(model).__name__,
)
@pytest.mark.parametrize("inputs", [X, X[:, None], X[:1]], ids=["(n,)", "(n, 1)", "one row"])
def test_families_pass_at_drawn_parameters(model, inputs):
    check_model(model, inputs)


@pytest.mark.parametrize(
    "model",
    [
        Sound(),
        models.Function(lambda th, x: expit(th[0] * x), ("slope",)),
        models.Function(lambda th, x: expit(th * x), ("slope",), [(0, 3)], vectorized=True),
    ],
    ids=["own class", "function", "vectorized function"],
)
def test_families_of_the_user_pass(model):
    check_model(model, X)


def test_recalibration_passes_with_certain_predictions():
    check_model(models.Recalibration(), np.array([0.0, 0.2, 0.7, 1.0]))


def test_many_columns_and_frames_pass():
    frame = pd.DataFrame({"a": X, "b": X**2, "c": np.cos(X)})
    check_model(models.Probit(), frame)
    check_model(models.Psychometric(models.CLogLog()), frame.to_numpy())


@pytest.mark.parametrize(
    "bounds", [((0, np.inf), (-np.inf, 0)), ((5, np.inf), (-3, -2)), ((-np.inf, -4), (1, 1.5))]
)
def test_parameters_are_drawn_within_the_bounds(bounds):
    class Bounded(Sound):
        def evaluate(self, theta, X):
            low, high = np.transpose(bounds)
            assert ((theta >= low) & (theta <= high)).all()
            return super().evaluate(theta, X)

    Bounded.bounds = bounds
    check_model(Bounded(), X)


# --- what does not --------------------------------------------------------------------------------


class NoNames(Sound):
    parameter_names = ()


class NumbersForNames(Sound):
    parameter_names = (0, 1)


class StringForNames(Sound):
    parameter_names = "ab"


class EqualNames(Sound):
    parameter_names = ("a", "a")


class TooFewBounds(Sound):
    bounds = ((0.0, 1.0),)


class CrossedBounds(Sound):
    bounds = ((0.0, 1.0), (2.0, -2.0))


class EmptyBounds(Sound):
    bounds = ((0.0, 1.0), (2.0, 2.0))


class OneThetaOnly(Sound):
    def evaluate(self, theta, X):
        return expit(theta[0, 0] + theta[0, 1] * X)


class Transposed(Sound):
    def evaluate(self, theta, X):
        return super().evaluate(theta, X).T


class OneProbabilityForAll(Sound):
    def evaluate(self, theta, X):
        return 0.5


class OneRowTooMany(Sound):
    def evaluate(self, theta, X):
        return super().evaluate(theta, np.append(X, 0.0))


class FirstThetaForAll(Sound):
    def evaluate(self, theta, X):
        return super().evaluate(np.broadcast_to(theta[:1], theta.shape), X)


class AboveOne(Sound):
    def evaluate(self, theta, X):
        return 1.5 * super().evaluate(theta, X)


class Missing(Sound):
    def evaluate(self, theta, X):
        return np.where(X < 0, np.nan, super().evaluate(theta, X))


class Noisy(Sound):
    def evaluate(self, theta, X):
        return np.random.default_rng().random((len(theta), len(X)))


class Drifting(Sound):
    """Each answer is a few units in the last place off the one before."""

    calls = 0

    def evaluate(self, theta, X):
        self.calls += 1
        return super().evaluate(theta, X) * (1 - 1e-15 * self.calls)


class Centred(Sound):
    def evaluate(self, theta, X):
        return super().evaluate(theta, X - X.mean())


class Ordered(Sound):
    def evaluate(self, theta, X):
        return super().evaluate(theta, np.arange(len(X)) / len(X))


class Remembering(Sound):
    """Answers for the rows it saw first, whatever it is given."""

    rows = None

    def evaluate(self, theta, X):
        self.rows = X if self.rows is None else self.rows
        return super().evaluate(theta, self.rows)


class SevenRows(Sound):
    def evaluate(self, theta, X):
        return np.full((len(theta), 7), 0.5)


class GradientOfAnother(Sound):
    def differentiate(self, theta, X):
        return np.stack(np.broadcast_arrays(1.0, 2 * X + 0 * theta[:, :1]), axis=-1)


class GradientOfP(Sound):
    def differentiate(self, theta, X):
        P = self.evaluate(theta, X)
        return (P * (1 - P))[:, :, None] * Model.differentiate(self, theta, X)


class GradientWithNaN(Sound):
    def differentiate(self, theta, X):
        return np.full((len(theta), len(X), 2), np.nan)


class GradientTransposed(Sound):
    def differentiate(self, theta, X):
        return np.moveaxis(Model.differentiate(self, theta, X), -1, 1)


class GradientOfOneTheta(Sound):
    def differentiate(self, theta, X):
        return np.column_stack([np.ones_like(X), X])


BROKEN = [
    (
        NoNames,
        r"'parameter_names' of a model must be a tuple of .* strings. Got \(\) instead",
    ),
    (
        NumbersForNames,
        r"'parameter_names' of a model must be a tuple of .* strings. Got \(0, 1\)",
    ),
    (StringForNames, "'parameter_names' of a model must be .*Got 'ab' instead"),
    (EqualNames, r"'parameter_names' .* differ from each other. Got \('a', 'a'\) instead"),
    (
        TooFewBounds,
        r"'bounds' of a model .* each of the 2 parameters. Got \(\(0.0, 1.0\),\) instead",
    ),
    (CrossedBounds, r"'bounds' .*low < high .*Got \(\(0.0, 1.0\), \(2.0, -2.0\)\) instead"),
    (EmptyBounds, r"'bounds' .*low < high .*Got \(\(0.0, 1.0\), \(2.0, 2.0\)\) instead"),
    (OneThetaOnly, r"shape \(5, 7\).* Got \(7,\) instead"),
    (Transposed, r"shape .*\(5, 7\).* Got \(7, 5\) instead"),
    (OneProbabilityForAll, r"shape .*\(5, 7\).* Got \(\) instead"),
    (OneRowTooMany, r"shape .*\(5, 7\).* Got \(5, 8\) instead"),
    (FirstThetaForAll, r"for a batch what it gives for each of its parameters alone. Got a diff"),
    (AboveOne, r"between 0 and 1. Got 1\.\d+ at theta = "),
    (Missing, r"between 0 and 1. Got nan at theta = .* in 3 of 7 rows: 0, 1, 2"),
    (Noisy, "same probabilities when called again. Got others instead"),
    (Drifting, "same probabilities when called again. Got others instead"),
    (Centred, "depend on θ and on that row of X only. Got a change of .* left out instead"),
    (Ordered, "depend on θ and on that row of X only"),
    (Remembering, r"depend on θ and on that row of X only|shape \(5, 3\)"),
    (SevenRows, r"depend on θ and on that row of X only|shape \(5, 3\)"),
    (GradientOfAnother, "gradient of a model must be that of logit P in θ. Got a difference"),
    (GradientOfP, "gradient of a model must be that of logit P in θ. Got a difference"),
    (GradientWithNaN, "gradient of a model must be that of logit P in θ"),
    (GradientTransposed, r"gradient .* shape \(T, n, d\), \(5, 7, 2\). Got \(5, 2, 7\) instead"),
    (GradientOfOneTheta, r"gradient .* shape \(T, n, d\), \(5, 7, 2\). Got \(7, 2\) instead"),
]


@pytest.mark.parametrize(("broken", "message"), BROKEN, ids=[kind.__name__ for kind, _ in BROKEN])
def test_every_broken_contract_is_reported(broken, message):
    with pytest.raises(ModelError, match=message):
        check_model(broken(), X)


def test_rows_are_checked_on_three_rows_too():
    """Half of three rows is one, to which any number of rows would broadcast."""

    class ThreeRows(Sound):
        def evaluate(self, theta, X):
            return np.full((len(theta), 3), 0.5)

    message = r"depend on θ and on that row of X only|shape \(5, 1\)"
    with pytest.raises(ModelError, match=message):
        check_model(ThreeRows(), X[:3])


def test_wrong_gradient_shows_how_far_off():
    with pytest.raises(ModelError, match=r"differences of up to 2 instead"):
        check_model(GradientOfAnother(), X)


def test_gradient_where_the_outcome_is_certain_is_not_held_against_a_model():
    class Steep(Sound):
        def differentiate(self, theta, X):
            P = self.evaluate(theta, X)
            certain = (P < 1e-9) | (P > 1 - 1e-9)
            return np.where(certain[:, :, None], np.nan, Model.differentiate(self, theta, X))

    check_model(Steep(), X, [[0.0, 1e3]])


@pytest.mark.parametrize("model", [lambda th, x: x, models.Logistic, "logistic"])
def test_what_is_no_model(model):
    with pytest.raises(
        ModelError, match=r"must derive from exactregion.models.Model. Got .*Function"
    ):
        check_model(model, X)


@pytest.mark.parametrize(
    ("theta", "message"),
    [
        ([[1.0, 2.0, 3.0]], r"'theta' parameter must have shape \(2,\) or \(T, 2\)"),
        ([1.0, np.nan], "'theta' parameter must hold finite numbers"),
        ([-1.0, 1.0], "'theta' parameter must have a p between 0 and 1"),
    ],
)
def test_theta_that_does_not_fit(theta, message):
    with pytest.raises(InvalidValueError, match=message):
        check_model(models.LaplaceMixture(), X, theta)
