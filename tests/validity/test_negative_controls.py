"""Careless variants must be caught by the same check that the library passes."""

import numpy as np
import pytest
from support.truths import TRUTHS, assert_uniform, many_ranks_under, ranks_under

import exactregion as er
from exactregion.region import fitted as membership
from exactregion.resampling import Resampling
from exactregion.statistics import Discrepancy, Statistic

REPETITIONS = 500


def assert_caught(ranks):
    with pytest.raises(AssertionError, match="allowed"):
        assert_uniform(ranks)


@pytest.mark.parametrize("statistic", ["discrepancy", "embedding", "score", "combined"])
def test_original_always_in_row_0_is_caught(statistic, monkeypatch):
    """Without a random seat ties go to the original."""
    monkeypatch.setattr(Resampling, "seat", property(lambda self: 0))
    assert_caught(many_ranks_under(TRUTHS["logistic"], 1, statistic, REPETITIONS))


def test_rounding_of_the_original_alone_is_caught(monkeypatch):
    """One unit in the last place, on the original only, breaks its ties one way."""
    honest = membership.rank_of

    def careless(Z, seat):
        Z = Z.copy()
        Z[..., seat] = np.nextafter(Z[..., seat], np.inf)
        return honest(Z, seat)

    monkeypatch.setattr(membership, "rank_of", careless)
    assert_caught(ranks_under(TRUTHS["logistic"], 1, "discrepancy", REPETITIONS))


class PeekingDiscrepancy(Statistic):
    """A bandwidth chosen to make the observed labels look ordinary."""

    def __init__(self, x, y):
        self.x, self.y = x, y

    def terms(self, inputs):
        distances = np.abs(self.x[:, None] - self.x[None, :])

        def surprise(bandwidth):
            K = np.exp(-((distances / bandwidth) ** 2) / 2)
            excess = self.y @ K @ self.y - len(K)  # zero on average under a fair coin
            return excess / np.sqrt((K**2).sum() - len(K))

        best = min((0.05, 0.2, 0.5, 1.0, 5.0, 50.0), key=surprise)
        return Discrepancy("gaussian", best, standardize=False).terms(inputs)


def coin_ranks(statistic_for, n=20):
    """Ranks of the fair coin over repetitions, with a statistic made for each data set."""
    x = np.random.default_rng(n).normal(size=n)
    coin = er.models.Function(lambda theta, x: np.full(len(x), theta[0]), ("p",), [(0, 1)])
    ranks = []
    for seed in range(REPETITIONS):
        y = np.random.default_rng([seed, 11]).choice([-1, 1], n)
        fitted = er.ConfidenceRegion(
            coin, statistic=statistic_for(x, y), confidence_level=0.9, n_resamples=19, rng=seed
        ).fit(x, y)
        ranks.append(fitted.rank([0.5]))
    return ranks


def test_bandwidth_that_looks_at_y_is_caught():
    assert_caught(coin_ranks(PeekingDiscrepancy))


def test_bandwidth_that_does_not_look_passes():
    fixed = Discrepancy("gaussian", 0.5, standardize=False)
    assert_uniform(coin_ranks(lambda x, y: fixed))
