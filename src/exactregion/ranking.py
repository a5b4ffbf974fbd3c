"""From Z and the seat to rank, p-value and coverage (Lemma 1 and Theorem 1 of the paper)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from numbers import Real
from typing import TypedDict

import numpy as np

from exactregion._typing import BoolArray, FloatArray, IntArray
from exactregion.errors import InvalidTypeError, InvalidValueError

__all__ = ["AcceptedRanks", "Ranked", "pvalue_of", "rank_of", "ranked", "step_down"]


def rank_of(Z: FloatArray, seat: int) -> IntArray:
    """Rank of the original among the m data sets, from 1 to m.

    rank = 1 + #{i < seat : Z_i ≤ Z_seat} + #{i > seat : Z_i < Z_seat}

    Ties are broken by the place in the row, and the original's place is uniform, so the rank of
    exchangeable rows is uniform on 1..m whatever the ties.

    Parameters
    ----------
    Z : ndarray of shape (..., m)
        The statistic of each data set.
    seat : int
        The row of the original.

    Examples
    --------
    >>> rank_of(np.array([3.0, 1.0, 2.0, 2.0]), seat=2)
    array(2)
    """
    original = Z[..., seat, None]
    before = (Z[..., :seat] <= original).sum(axis=-1)
    after = (Z[..., seat + 1 :] < original).sum(axis=-1)
    return np.asarray(1 + before + after, dtype=np.int64)


def pvalue_of(rank: IntArray, m: int) -> FloatArray:
    """Exact p-value (m - rank + 1) / m; never zero.

    Examples
    --------
    >>> pvalue_of(np.array([1, 20]), m=20)
    array([1.  , 0.05])
    """
    return np.asarray((m - rank + 1) / m, dtype=np.float64)


class Ranked(TypedDict):
    """The original among the m data sets, as results of tests have it."""

    pvalue: float
    rank: int
    statistic: float
    null_distribution: FloatArray


def ranked(Z: FloatArray, seat: int) -> Ranked:
    """Rank the original by Z (m,), and put it apart from the alternatives."""
    rank = rank_of(Z, seat)
    return {
        "pvalue": float(pvalue_of(rank, len(Z))),
        "rank": int(rank),
        "statistic": float(Z[seat]),
        "null_distribution": np.delete(Z, seat),
    }


def step_down(Z: FloatArray, seat: int) -> FloatArray:
    """Adjust the p-values of several hypotheses for each other: Westfall and Young's step-down.

    Hypotheses are ordered by the original's Z, the largest first. The k-th is compared with the
    largest Z of the k-th and all after it in each data set, ranked like any other statistic, and
    its p-value is at least that of the one before it.

    With probability at least 1 - α no true hypothesis has an adjusted p-value of α or less,
    whichever of the others are false, if the Z of the true ones together are exchangeable over data
    sets. For the first true one in this order is compared with a set that contains all true ones,
    among which it has the original's largest Z: its p-value is at least the exact one of the
    largest Z of the true ones, ties included.

    Parameters
    ----------
    Z : ndarray of shape (S, m)
        The statistic of each hypothesis in each data set.
    seat : int
        The row of the original.

    Examples
    --------
    >>> Z = np.array([[1.0, 9.0, 2.0, 0.0], [3.0, 4.0, 5.0, 1.0]])
    >>> step_down(Z, seat=1)
    array([0.25, 0.5 ])
    """
    order = np.argsort(-Z[:, seat], kind="stable")
    largest = np.maximum.accumulate(Z[order[::-1]], axis=0)[::-1]
    adjusted = np.empty(len(Z))
    pvalues = pvalue_of(rank_of(largest, seat), Z.shape[1])
    adjusted[order] = np.maximum.accumulate(pvalues)
    return adjusted


@dataclass(frozen=True)
class AcceptedRanks:
    """The ranks that keep a candidate in the region: low ≤ rank ≤ high.

    Under the truth the rank is uniform on 1..m, so the region covers with probability exactly
    (high - low + 1) / m.

    Examples
    --------
    >>> AcceptedRanks.at_level(0.9, m=50)
    AcceptedRanks(m=50, low=1, high=45)
    >>> AcceptedRanks.at_level(0.9, m=50).coverage
    0.9
    """

    m: int
    low: int
    high: int

    def __post_init__(self) -> None:
        """Check 1 ≤ low ≤ high ≤ m."""
        if not 1 <= self.low <= self.high <= self.m:
            raise InvalidValueError(
                "must be (low, high) with "
                f"1 <= low <= high <= {self.m} (n_resamples + 1). "
                f"Got ({self.low}, {self.high}) instead.",
                parameter="accepted_ranks",
            )

    @classmethod
    def at_level(cls, confidence_level: object, m: int) -> AcceptedRanks:
        """Accept the q lowest ranks, q the least with q/m at or above the level."""
        if not isinstance(confidence_level, Real) or isinstance(confidence_level, bool):
            raise InvalidTypeError(
                f"must be a number. Got {type(confidence_level).__name__} instead.",
                parameter="confidence_level",
            )
        level = float(confidence_level)
        if not 0 < level < 1:
            raise InvalidValueError(
                f"must be between 0 and 1, both excluded. Got {level} instead.",
                parameter="confidence_level",
            )
        q = max(1, math.ceil(level * m - 1e-9))
        if q >= m:
            needed = math.ceil(1 / (1 - level) * (1 - 1e-9)) - 1
            raise InvalidValueError(
                f"must be at least {needed} for a confidence level of "
                f"{level}. Got {m - 1} instead.",
                parameter="n_resamples",
            )
        return cls(m, 1, q)

    @property
    def coverage(self) -> float:
        """Exact probability that the region contains the truth."""
        return (self.high - self.low + 1) / self.m

    def holds(self, rank: IntArray) -> BoolArray:
        """Say which ranks are accepted."""
        return np.asarray((self.low <= rank) & (rank <= self.high), dtype=np.bool_)

    def distance(self, rank: IntArray) -> IntArray:
        """Count how many ranks lie between each and the nearest accepted one."""
        return np.maximum(0, np.maximum(self.low - rank, rank - self.high))
