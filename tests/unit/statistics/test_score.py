"""The score against s = Gᵀ(k - t p), Z = sᵀ I⁻¹ s, and where that formula has no value."""

import numpy as np
import pytest
from scipy.special import expit

import exactregion as er
from exactregion.errors import InvalidValueError
from exactregion.models import Function, Logistic, Probit
from exactregion.statistics import Score

RNG = np.random.default_rng(0)
X = RNG.normal(size=(20, 2))
SUCCESSES = RNG.integers(0, 2, (7, 20))


def formula(G, successes, p, trials=1):
    information = G.T @ ((trials * p * (1 - p))[:, None] * G)
    scores = (successes - trials * p) @ G
    return np.einsum("ia,ab,ib->i", scores, np.linalg.pinv(information), scores)


def with_ones(X):
    return np.column_stack([np.ones(len(X)), X])


@pytest.mark.parametrize("theta", [(0.0, 0.0, 0.0), (0.3, -1.0, 2.0), (-2.0, 0.1, 0.5)])
def test_logistic(values_of, theta):
    p = expit(with_ones(X) @ theta)
    Z = values_of(Score(), X, SUCCESSES, p, family=(Logistic(), theta))
    np.testing.assert_allclose(Z, formula(with_ones(X), SUCCESSES, p), rtol=1e-4)


@pytest.mark.parametrize("model", [Probit(), er.models.CLogLog(), Logistic(intercept=False)])
def test_other_families(values_of, model):
    theta = [0.2, -0.4, 0.3][: 3 if model.intercept else 2]
    p = model.probabilities(theta, X)
    G = model.logit_gradient(theta, X)
    Z = values_of(Score(), X, SUCCESSES, p, family=(model, theta))
    np.testing.assert_allclose(Z, formula(G, SUCCESSES, p), rtol=1e-4)


def test_counts(values_of):
    trials = RNG.integers(0, 6, 20)
    trials[0] = 3
    successes = RNG.integers(0, trials + 1, (7, 20))
    theta = (0.3, -1.0, 2.0)
    p = expit(with_ones(X) @ theta)
    Z = values_of(Score(), X, successes, p, trials=trials, family=(Logistic(), theta))
    np.testing.assert_allclose(Z, formula(with_ones(X), successes, p, trials), rtol=1e-4)


def test_counts_are_labels_that_share_an_input(values_of):
    trials = np.array([1, 3, 2, 5, 1])
    place = np.repeat(np.arange(5), trials)
    labels = RNG.integers(0, 2, (8, len(place)))
    successes = np.stack([np.bincount(place, row, 5) for row in labels]).astype(int)
    family = (Logistic(), (0.1, -0.3, 0.7))
    p = expit(with_ones(X) @ family[1])
    grouped = values_of(Score(), X[:5], successes, p[:5], trials=trials, family=family)
    expanded = values_of(Score(), X[place], labels, p[place], family=family)
    np.testing.assert_allclose(grouped, expanded, rtol=1e-4)


@pytest.mark.parametrize("unit", [1e-6, 1e6])
def test_units_of_the_inputs_do_not_matter(values_of, unit):
    theta = np.array([0.3, -1.0, 2.0])
    p = expit(with_ones(X) @ theta)
    plain = values_of(Score(), X, SUCCESSES, p, family=(Logistic(), theta))
    scaled = values_of(
        Score(), X * [unit, 1], SUCCESSES, p, family=(Logistic(), theta / [1, unit, 1])
    )
    np.testing.assert_allclose(scaled, plain, rtol=1e-5)


@pytest.mark.parametrize("seed", range(4))
def test_mirrored_data_sets_tie_under_a_fair_coin(values_of, seed):
    rng = np.random.default_rng(seed)
    k = rng.integers(0, 2, (4, 9))
    Z = values_of(
        Score(),
        rng.normal(size=9),
        np.vstack([k, 1 - k]),
        np.full(9, 0.5),
        family=(Logistic(), (0, 0)),
    )
    np.testing.assert_array_equal(Z[:4], Z[4:])


# --- singular information -----------------------------------------------------------------------


@pytest.mark.parametrize(
    "extra",
    [
        np.column_stack([X[:, 0]]),
        np.column_stack([X[:, 0] + 3 * X[:, 1]]),
        np.zeros((20, 1)),
        np.full((20, 1), 7.0),
    ],
    ids=["twice", "sum", "zero", "constant"],
)
def test_a_column_that_adds_nothing_changes_nothing(values_of, extra):
    theta = (0.3, -1.0, 2.0)
    p = expit(with_ones(X) @ theta)
    plain = values_of(Score(), X, SUCCESSES, p, family=(Logistic(), theta))
    wider = np.column_stack([X, extra])
    Z = values_of(Score(), wider, SUCCESSES, p, family=(Logistic(), (*theta, 0.0)))
    np.testing.assert_allclose(Z, plain, rtol=1e-4)


def test_more_parameters_than_rows(values_of):
    few = RNG.normal(size=(3, 6))
    theta = np.zeros(7)
    Z = values_of(Score(), few, SUCCESSES[:, :3], np.full(3, 0.5), family=(Logistic(), theta))
    # the score spans all residuals: Z = Σ (k - 1/2)² / (1/4)
    np.testing.assert_allclose(Z, 3, rtol=1e-6)


def test_no_information_at_all(values_of):
    constant = Function(lambda theta, X: np.full(len(X), 0.25), names=("nothing",))
    p = np.full(20, 0.25)
    Z = values_of(Score(), X, SUCCESSES, p, family=(constant, (0.0,)))
    assert (Z == 0).all()


# --- certainties --------------------------------------------------------------------------------


@pytest.mark.parametrize("statistic", ["score", "combined"])
def test_a_contradicted_certainty_has_the_smallest_pvalue(statistic):
    x = np.linspace(-1, 1, 10)
    y = x > 0
    y[2] = True
    region = er.ConfidenceRegion("logistic", statistic=statistic, n_resamples=39, rng=0).fit(x, y)
    evaluation = region.evaluate([0, 1e6])
    assert evaluation.Z[evaluation.seat] == np.inf
    assert np.isfinite(np.delete(evaluation.Z, evaluation.seat)).all()
    assert evaluation.pvalue == 1 / 40


@pytest.mark.parametrize("statistic", ["score", "combined"])
def test_a_certainty_that_came_true_is_no_surprise(statistic):
    x = np.linspace(-1, 1, 10)
    region = er.ConfidenceRegion("logistic", statistic=statistic, n_resamples=39, rng=0)
    evaluation = region.fit(x, x > 0).evaluate([0, 1e6])
    assert (evaluation.Z == 0).all()
    assert evaluation.rank == 1 + evaluation.seat


def test_a_fixed_candidate_has_no_score(values_of):
    with pytest.raises(
        InvalidValueError, match=r"'statistic'.*not use the score for a fixed candidate.*'score'"
    ):
        values_of(Score(), X, SUCCESSES, np.full(20, 0.5))
