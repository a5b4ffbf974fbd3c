"""Multinomial and ProportionalOdds: probabilities, scores, names and levels."""

import numpy as np
import pytest

from exactregion import models
from exactregion.errors import InvalidTypeError, InvalidValueError, ModelError

LEVELS = ("low", "mid", "high")
X = np.random.default_rng(0).normal(size=(12, 2))
FAMILIES = [models.Multinomial(levels=LEVELS), models.ProportionalOdds(levels=LEVELS)]
families = pytest.mark.parametrize("model", FAMILIES, ids=lambda model: type(model).__name__)


def thetas(model, number=6, seed=1):
    bound = model.bind(["a", "b"])
    theta = np.random.default_rng(seed).normal(size=(number, len(bound.parameter_names)))
    return np.where(np.isfinite(np.array(bound.bounds)[:, 0]), np.abs(theta), theta)


@families
def test_they_keep_the_contract(model):
    models.check_model(model, X)
    models.check_model(model.with_levels(range(5)), X[:, 0])


def test_a_wrong_score_is_noticed():
    class Wrong(models.Multinomial):
        def score_steps(self, theta, X):
            return 1.1 * super().score_steps(theta, X)

    with pytest.raises(ModelError, match="score_steps"):
        models.check_model(Wrong(levels=LEVELS), X)


@families
def test_rows_of_levels_are_thresholds_in_any_order(model):
    """Rows (x, k) are computed one by one, or all k of an x at once: the same to the last bit."""
    bound, theta = model.bind(["a", "b"]), thetas(model)
    rows = np.column_stack([np.repeat(X, 2, axis=0), np.tile([1.0, 2.0], len(X))])
    q = bound.evaluate(theta, rows)
    assert np.array_equal(q, bound.thresholds(theta, X).reshape(len(theta), -1))
    shuffled = np.random.default_rng(2).permutation(len(rows))[:17]
    assert np.array_equal(bound.evaluate(theta, rows[shuffled]), q[:, shuffled])
    steps = bound.differentiate(theta, rows)
    assert np.array_equal(bound.differentiate(theta, rows[shuffled]), steps[:, shuffled])


@families
def test_thresholds_never_rise(model):
    bound = model.with_levels(range(8)).bind(["a", "b"])
    theta = thetas(bound, 40) * 10.0 ** np.random.default_rng(3).uniform(-3, 3, (40, 1))
    rows = np.column_stack([np.repeat(X, 7, axis=0), np.tile(np.arange(1.0, 8), len(X))])
    q = bound.evaluate(theta, rows).reshape(40, len(X), 7)
    assert (np.diff(q, axis=-1) <= 0).all()
    assert (q >= 0).all()
    assert (q <= 1).all()


def test_names():
    multinomial, odds = (model.bind(["dose"]) for model in FAMILIES)
    assert multinomial.parameter_names == (
        "mid:intercept",
        "mid:dose",
        "high:intercept",
        "high:dose",
    )
    assert odds.parameter_names == ("low|mid", "width of mid", "dose")
    assert odds.with_levels([0, 1]).parameter_names == ("0|1", "dose")
    no_intercept = models.Multinomial(levels=LEVELS, intercept=False).bind(["dose"])
    assert no_intercept.parameter_names == ("mid:dose", "high:dose")


def test_cut_points_increase():
    model = FAMILIES[1].with_levels(range(5)).bind(["x"])
    cuts = model.cut_points([-1.0, 0.5, 0.0, 2.0, 0.3])
    assert cuts.tolist() == [-1.0, -0.5, -0.5, 1.5]
    with pytest.raises(InvalidValueError, match="width of 1 between 0"):
        model.probabilities([-1.0, -0.5, 0.0, 2.0, 0.3], [0.0])


def test_a_positive_slope_makes_higher_classes_likelier():
    P = FAMILIES[1].probabilities([0.0, 1.0, 2.0], [-1.0, 1.0])
    assert P[1, 2] > P[0, 2]
    assert P[1, 0] < P[0, 0]


@families
@pytest.mark.parametrize(
    ("levels", "error"),
    [("abc", InvalidTypeError), (["a"], InvalidValueError), (["a", "b", "a"], InvalidValueError)],
)
def test_levels_that_are_none(model, levels, error):
    with pytest.raises(error, match="'levels' parameter must be"):
        type(model)(levels=levels)


@families
def test_what_is_not_known_yet(model):
    with pytest.raises(InvalidValueError, match="depend on the classes"):
        _ = type(model)().bind(["a"]).parameter_names
    with pytest.raises(InvalidValueError, match="depend on the columns"):
        _ = model.parameter_names
