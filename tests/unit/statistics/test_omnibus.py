"""The smallest p-value of several statistics, and Spiegelhalter's statistic."""

import numpy as np
import pytest

import exactregion as er
from exactregion.errors import InvalidValueError
from exactregion.statistics import (
    Combined,
    Curvature,
    Custom,
    Discrepancy,
    Omnibus,
    Score,
    Spiegelhalter,
)

RNG = np.random.default_rng(0)
X = RNG.normal(size=16)
SUCCESSES = RNG.integers(0, 2, (9, 16))
P = RNG.uniform(0.1, 0.9, 16)


def given(values):
    """A statistic with these values, whatever the data sets are."""
    return Custom(lambda labels, p, X: np.asarray(values, dtype=float))


def test_is_the_weighted_sum_of_inverse_pvalues(values_of):
    first, second = given([3, 1, 2, 2]), given([0, 0, 5, 1])
    Z = values_of(Omnibus(first, second, weights=(1, 2)), X, SUCCESSES[:4], P)
    # p of the first: 1/4, 1, 3/4, 3/4; of the second: 1, 1, 1/4, 2/4
    assert np.allclose(Z, [4 + 2, 1 + 2, 4 / 3 + 8, 4 / 3 + 4])


def test_scales_of_the_parts_do_not_matter(values_of):
    small, large = given([1, 5, 2, 3]), given([1e9, 5e9, 2e9, 3e9])
    Z = values_of(Omnibus(small, Discrepancy()), X, SUCCESSES[:4], P)
    assert np.array_equal(values_of(Omnibus(large, Discrepancy()), X, SUCCESSES[:4], P), Z)


def test_equal_data_sets_tie(values_of):
    twice = SUCCESSES[[0, 1, 0, 2]]
    Z = values_of(Omnibus(Discrepancy(), Spiegelhalter()), X, twice, P)
    assert Z[0] == Z[2]


def test_defaults_and_errors():
    assert Omnibus().statistics[:3] == (Score(), Spiegelhalter(), Curvature())
    assert Omnibus().weights == (1, 1, 0.5, 0.5, 0.5)
    assert repr(Omnibus(Score())) == "Omnibus(Score(), weights=(1.0,))"
    with pytest.raises(InvalidValueError, match="'weights' parameter of Omnibus"):
        Omnibus(Score(), weights=(1, 2))


def test_finds_what_one_part_alone_finds():
    """A wave of p that neither shift nor stretch explains."""
    rng = np.random.default_rng(3)
    p = rng.uniform(size=600)
    y = rng.uniform(size=600) < np.clip(p + 0.15 * np.sin(4 * np.pi * p), 0, 1)
    pvalues = {
        name: er.calibration_test(y, p, statistic=statistic, rng=0).pvalue
        for name, statistic in {"omnibus": None, "combined": Combined(), "score": Score()}.items()
    }
    assert pvalues["omnibus"] <= 0.01


def test_spiegelhalter_is_the_square_of_his_z(values_of):
    Z = values_of(Spiegelhalter(), X, SUCCESSES, P)
    z = (SUCCESSES - P) @ (1 - 2 * P) / np.sqrt(((1 - 2 * P) ** 2 * P * (1 - P)).sum())
    assert np.allclose(Z / Z.max(), z**2 / (z**2).max())


def test_spiegelhalter_of_counts_is_that_of_their_labels(values_of):
    trials = np.array([3, 1, 4, 2])
    place = np.repeat(np.arange(4), trials)
    labels = RNG.integers(0, 2, (7, trials.sum()))
    successes = np.stack([labels[:, place == at].sum(axis=1) for at in range(4)], axis=1)
    grouped = values_of(Spiegelhalter(), X[:4], successes, P[:4], trials=trials)
    assert np.allclose(grouped, values_of(Spiegelhalter(), X[place], labels, P[place]), atol=1e-5)
