"""Ranks with ties, p-values, and the ranks that are accepted."""

import math

import numpy as np
import pytest

from exactregion.errors import InvalidTypeError, InvalidValueError
from exactregion.ranking import AcceptedRanks, pvalue_of, rank_of, step_down


@pytest.mark.parametrize(
    ("Z", "ranks"),
    [
        ([3, 1, 2], [3, 1, 2]),
        ([2, 1, 2, 3, 2], [2, 1, 3, 5, 4]),
        ([5, 5, 5, 5], [1, 2, 3, 4]),
        ([math.inf, 1, math.inf], [2, 1, 3]),
        ([0.0, -0.0, -1.0], [2, 3, 1]),
        ([7], [1]),
    ],
)
def test_rank_by_hand_from_every_seat(Z, ranks):
    Z = np.array(Z, dtype=float)
    assert [int(rank_of(Z, seat)) for seat in range(len(Z))] == ranks


def test_every_rank_occurs_once_over_the_seats_whatever_the_ties():
    Z = np.random.default_rng(0).integers(0, 4, 30).astype(float)
    assert sorted(int(rank_of(Z, seat)) for seat in range(30)) == list(range(1, 31))


def test_rank_of_a_batch_is_the_rank_of_each_row():
    Z = np.random.default_rng(1).integers(0, 4, (5, 12)).astype(float)
    ranks = rank_of(Z, 7)
    assert ranks.dtype == np.int64
    assert ranks.tolist() == [int(rank_of(row, 7)) for row in Z]


@pytest.mark.parametrize("m", [2, 20, 1000])
def test_pvalue_goes_from_one_down_to_one_in_m_and_never_to_zero(m):
    pvalues = pvalue_of(np.arange(1, m + 1), m)
    assert pvalues[0] == 1
    assert pvalues[-1] == 1 / m
    assert (np.diff(pvalues) < 0).all()


@pytest.mark.parametrize(
    ("level", "m", "q"),
    [
        (0.9, 50, 45),
        (0.95, 1000, 950),
        (0.95, 20, 19),
        (0.95, 999, 950),
        (0.99, 100, 99),
        (0.07, 100, 7),  # 0.07 * 100 is a little more than 7
        (0.5, 3, 2),
        (1e-6, 10, 1),
        (np.float32(0.5), 10, 5),
    ],
)
def test_level_accepts_the_least_q_that_reaches_it(level, m, q):
    accepted = AcceptedRanks.at_level(level, m)
    assert (accepted.m, accepted.low, accepted.high) == (m, 1, q)
    assert accepted.coverage == q / m


def test_coverage_counts_the_ranks_from_low_to_high():
    accepted = AcceptedRanks(40, 3, 38)
    assert accepted.coverage == 36 / 40
    assert accepted.holds(np.array([1, 2, 3, 20, 38, 39])).tolist() == [0, 0, 1, 1, 1, 0]


@pytest.mark.parametrize("level", [0, 1, 1.5, -0.1, math.nan])
def test_level_out_of_range(level):
    with pytest.raises(InvalidValueError, match=r"'confidence_level'.*between 0 and 1.*Got"):
        AcceptedRanks.at_level(level, 20)


@pytest.mark.parametrize("level", ["0.9", True, None, [0.9]])
def test_level_not_a_number(level):
    with pytest.raises(InvalidTypeError, match=f"'confidence_level'.*{type(level).__name__}"):
        AcceptedRanks.at_level(level, 20)


@pytest.mark.parametrize("level", [0.5, 0.8, 0.9, 0.95, 0.99, 0.999])
def test_too_few_resamples_are_told_how_many_it_takes(level):
    needed = round(1 / (1 - level)) - 1
    assert AcceptedRanks.at_level(level, needed + 1).high == needed
    with pytest.raises(
        InvalidValueError,
        match=f"'n_resamples'.*at least {needed} .*confidence level of {level}. Got {needed - 1}",
    ):
        AcceptedRanks.at_level(level, needed)


@pytest.mark.parametrize(("low", "high"), [(0, 5), (5, 4), (1, 21), (-1, 3)])
def test_accepted_ranks_out_of_range(low, high):
    with pytest.raises(InvalidValueError, match=rf"'accepted_ranks'.*<= 20 .*Got \({low}, {high}"):
        AcceptedRanks(20, low, high)


def test_step_down_literally_with_ties():
    rng = np.random.default_rng(0)
    for seed in range(50):
        Z = rng.integers(0, 5, (6, 12)).astype(float)
        seat = seed % 12
        left, largest, expected = set(range(6)), 0.0, {}
        while left:
            worst = max(left, key=lambda one: (Z[one, seat], -one))
            maxima = Z[sorted(left)].max(axis=0)
            p = float(pvalue_of(rank_of(maxima, seat), 12))
            largest = expected[worst] = max(largest, p)
            left.remove(worst)
        found = step_down(Z, seat)
        assert found.tolist() == [expected[one] for one in range(6)]
        own = pvalue_of(rank_of(Z, seat), 12)
        assert (found >= own).all()


def test_step_down_names_no_true_hypothesis_too_often_whatever_the_ties():
    # exchangeable rows with many ties; every seat is as likely as any other: a count, no sample
    Z = np.random.default_rng(1).integers(0, 3, (4, 40)).astype(float)
    Z[3] = 9.0  # a hypothesis that is false, the same in all rows
    false_namings = [bool((step_down(Z, seat)[:3] <= 0.1).any()) for seat in range(40)]
    assert sum(false_namings) <= 4
