"""Ranks of several classes are uniform under the truth; careless variants are caught."""

import numpy as np
import pytest
from support.truths import M, assert_uniform, normal, ranks_of_repetitions

import exactregion as er
from exactregion.resampling import Resampling

FITTED, QUICK, LONG = 5, 500, 20_000

CASES = [
    (family, C, n, "combined")
    for family in ("multinomial", "proportional-odds")
    for C in (3, 10)
    for n in (1, 5, 20)
] + [
    ("multinomial", 3, 5, statistic)
    for statistic in ("score", "discrepancy", "embedding", "neighborhood", "omnibus")
]

cases = pytest.mark.parametrize(("family", "C", "n", "statistic"), CASES)


def truth(family, C):
    levels = tuple(range(C))
    if family == "multinomial":
        model = er.models.Multinomial(levels=levels)
        theta = np.random.default_rng(C).normal(size=2 * (C - 1))
    else:
        model = er.models.ProportionalOdds(levels=levels)
        theta = np.array([-1.0, *np.full(C - 2, 4 / C), 0.8])
    return model, theta


def draw(model, theta, X, seed):
    return drawn(model.probabilities(theta, X), seed)


def drawn(P, seed):
    U = np.random.default_rng([seed, len(P)]).random(len(P))
    return (U[:, None] >= P.cumsum(axis=1)[:, :-1]).sum(axis=1)


def fit(model, X, y, statistic, seed):
    settings = {"confidence_level": 0.9, "n_resamples": M - 1, "rng": seed}
    return er.ConfidenceRegion(model, statistic=statistic, **settings).fit(X, y)


def ranks_under(family, C, n, statistic, repetitions, *, at=None, first_seed=0):
    """Ranks of the truth, or of another θ; what depends on the inputs alone is prepared once."""
    model, theta = truth(family, C)
    X = normal(n)
    state = fit(model, X, draw(model, theta, X, 0), statistic, 0).fitted_
    inputs, seeds = state.sample.inputs, range(first_seed, first_seed + repetitions)
    P = model.probabilities(theta, X)
    outcomes = (drawn(P, seed)[inputs.original.order] for seed in seeds)
    successes = ((y[:, None] > np.arange(inputs.levels)).ravel() for y in outcomes)
    return ranks_of_repetitions(state, theta if at is None else at, successes, seeds)


@cases
def test_ranks_are_uniform(family, C, n, statistic):
    ranks = ranks_under(family, C, n, statistic, QUICK)
    assert_uniform(ranks)
    model, theta = truth(family, C)
    X = normal(n)
    fitted = [
        fit(model, X, draw(model, theta, X, seed), statistic, seed).rank(theta)
        for seed in range(FITTED)
    ]
    assert fitted == ranks[:FITTED]


@pytest.mark.audit
@cases
def test_ranks_are_uniform_long(family, C, n, statistic):
    assert_uniform(ranks_under(family, C, n, statistic, LONG, first_seed=10**6))


@pytest.mark.parametrize("family", ["multinomial", "proportional-odds"])
def test_a_wrong_theta_is_noticed(family):
    _, theta = truth(family, 3)
    wrong = theta.copy()
    wrong[-1] -= 2.0
    ranks = ranks_under(family, 3, 20, "combined", QUICK, at=wrong)
    with pytest.raises(AssertionError):
        assert_uniform(ranks)
    assert np.mean(np.array(ranks) == M) > 0.2


def test_levels_with_uniforms_of_their_own_are_caught(monkeypatch):
    """Labels Y ≥ k that are drawn one by one are not those of a class."""

    def apart(self, rows):
        return self.draws.of_block(0).random((self.n_resamples, rows.stop - rows.start))

    monkeypatch.setattr(Resampling, "uniforms", apart)
    ranks = ranks_under("proportional-odds", 10, 20, "discrepancy", QUICK)
    with pytest.raises(AssertionError):
        assert_uniform(ranks)
