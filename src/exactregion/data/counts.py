"""Repeated rows as counts: many rows with few different inputs are a small data set.

Rows with equal inputs and equal probabilities differ in their outcomes only, and a statistic sees
no more of these than how many were successes. So they become one row of counts, whose alternatives
take one uniform instead of thousands. Whether data collapse depends on inputs and candidate, never
on the outcomes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from exactregion._typing import FloatArray, IntArray
from exactregion.data.sample import CHUNK_ROWS, Sample, Shared

__all__ = ["COUNTED", "MOST_ROWS", "Tally", "collapsed", "sample_of", "tally_of"]

MOST_ROWS = 4096
"""Data collapse if they have no more different rows than this, and over `CHUNK_ROWS` in all."""


COUNTED = ("successes", "failures")
"""Outcomes that are counts already."""


@dataclass(frozen=True, eq=False)
class Tally:
    """How often each outcome comes with each different row.

    Attributes
    ----------
    rows : ndarray of shape (u, w)
        The different rows, in order.
    counts : ndarray of shape (u, c)
        How often each comes with each outcome.
    outcomes : tuple of length c
        Labels; or `COUNTED`.
    """

    rows: FloatArray
    counts: IntArray
    outcomes: tuple[object, ...]

    def merged(self, other: Tally) -> Tally | None:
        """Add the rows of another; None if there are too many different ones."""
        outcomes = tuple(dict.fromkeys((*self.outcomes, *other.outcomes)))
        rows = np.concatenate([self.rows, other.rows])
        counts = np.concatenate([_spread(self, outcomes), _spread(other, outcomes)])
        return _tallied(rows, counts, outcomes)


def _spread(tally: Tally, outcomes: Sequence[object]) -> IntArray:
    """Give a column to each of the outcomes, those that a tally never saw too."""
    spread = np.zeros((len(tally.rows), len(outcomes)), dtype=np.int64)
    spread[:, [outcomes.index(outcome) for outcome in tally.outcomes]] = tally.counts
    return spread


def _tallied(rows: FloatArray, counts: IntArray, outcomes: tuple[object, ...]) -> Tally | None:
    order = np.lexsort(rows.T[::-1])
    rows = rows[order]
    starts = np.flatnonzero(np.concatenate([[True], (rows[1:] != rows[:-1]).any(axis=1)]))
    if len(starts) > MOST_ROWS:
        return None
    return Tally(rows[starts], np.add.reduceat(counts[order], starts, axis=0), outcomes)


def tally_of(rows: FloatArray, counts: IntArray, outcomes: tuple[object, ...]) -> Tally | None:
    """Tally rows (n, w) and how often each outcome comes in each (n, c); None if too many differ.

    Parameters
    ----------
    rows : ndarray of shape (n, w)
        Sorted by the first column, at least.
    counts : ndarray of shape (n, c)
        Whole numbers.
    outcomes : tuple of length c
        What the columns of counts are.
    """
    # where the first column alone changes too often, there is no need to look further
    if np.count_nonzero(np.diff(rows[:, 0])) >= MOST_ROWS:
        return None
    return _tallied(rows, counts, outcomes)


def sample_of(tally: Tally, positive: object, shared: Shared = ()) -> tuple[Sample, FloatArray]:
    """Make a sample of counts: inputs are all columns but the last, the probability.

    Parameters
    ----------
    tally : Tally
        Of inputs and probabilities.
    positive : object
        The outcome that is a success.
    shared : tuple of tuples of int
        Columns that have one scale together.

    Returns
    -------
    sample : Sample
        With rows in canonical order.
    probabilities : ndarray of shape (u,)
        In the same order.
    """
    p = np.ascontiguousarray(tally.rows[:, -1])
    total = tally.counts.sum(axis=1)
    successes = np.zeros(len(p), dtype=np.int64)
    if positive in tally.outcomes:
        successes = tally.counts[:, tally.outcomes.index(positive)]
    counts = np.column_stack([successes, total - successes])
    sample = Sample.from_data(tally.rows[:, :-1], counts, shared=shared).with_ties_ordered_by(p)
    return sample, p[sample.inputs.order]


def collapsed(sample: Sample, probabilities: FloatArray) -> tuple[Sample, FloatArray] | None:
    """Collapse data in memory; None if they stay as they are.

    Parameters
    ----------
    sample : Sample
        The data.
    probabilities : ndarray of shape (n,)
        In canonical order.
    """
    inputs = sample.inputs
    if not inputs.extent.is_large or isinstance(inputs.X, tuple):
        return None
    total: Tally | None = None
    for start in range(0, len(sample), CHUNK_ROWS):
        part = slice(start, start + CHUNK_ROWS)
        rows = np.column_stack([inputs.matrix[part], probabilities[part]])
        successes = sample.successes[part]
        counts = np.column_stack([successes, inputs.trials[part] - successes])
        own = tally_of(rows, counts, COUNTED)
        if own is not None:
            own = own if total is None else total.merged(own)
        if own is None:
            return None
        total = own
    return None if total is None else sample_of(total, COUNTED[0], inputs.shared)
