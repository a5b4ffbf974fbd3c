"""Repeated rows as counts: many rows with few distinct inputs are a small data set.

Rows with equal inputs and equal probabilities differ in their outcomes only, and all that a
statistic uses of these is how many were successes. So they become one row of counts, whose
alternatives take one uniform instead of thousands. Whether data collapse depends on inputs and
candidate, never on the outcomes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from exactregion._typing import FloatArray, IntArray
from exactregion.data.sample import CHUNK_ROWS, Sample, Shared

MOST_ROWS = 4096
"""Data collapse if they have no more distinct rows than this, a block, and over `CHUNK_ROWS` in
all: each distinct row then stands for 16 rows or more, and a tally of any data stays small."""

COUNTED = ("successes", "failures")
"""Outcomes that are counts already."""


@dataclass(frozen=True, eq=False)
class Tally:
    """How often each outcome occurs with each distinct row."""

    rows: FloatArray  # (u, w), in lexicographic order
    counts: IntArray  # (u, c), one column per outcome
    outcomes: tuple[object, ...]  # c labels; or `COUNTED`

    def merged(self, other: Tally) -> Tally | None:
        """Add the rows of another; None if there are too many distinct ones."""
        outcomes = tuple(dict.fromkeys((*self.outcomes, *other.outcomes)))
        rows = np.concatenate([self.rows, other.rows])
        counts = np.concatenate([self.counts_of(outcomes), other.counts_of(outcomes)])
        return _tallied(rows, counts, outcomes)

    def counts_of(self, outcomes: Sequence[object]) -> IntArray:
        """Return one column per outcome, zero for those that do not occur."""
        known = dict(zip(self.outcomes, self.counts.T, strict=True))
        none = np.zeros(len(self.rows), dtype=np.int64)
        return np.column_stack([known.get(outcome, none) for outcome in outcomes])


def tally_of(rows: FloatArray, counts: IntArray, outcomes: tuple[object, ...]) -> Tally | None:
    """Tally rows (n, w), sorted by their first column; None if too many are distinct."""
    # where the first column alone changes too often, the others need not be compared
    if np.count_nonzero(np.diff(rows[:, 0])) >= MOST_ROWS:
        return None
    return _tallied(rows, counts, outcomes)


def _tallied(rows: FloatArray, counts: IntArray, outcomes: tuple[object, ...]) -> Tally | None:
    order = np.lexsort(rows.T[::-1])
    rows = rows[order]
    starts = np.flatnonzero(np.concatenate([[True], (rows[1:] != rows[:-1]).any(axis=1)]))
    if len(starts) > MOST_ROWS:
        return None
    return Tally(rows[starts], np.add.reduceat(counts[order], starts, axis=0), outcomes)


def sample_of(tally: Tally, positive: object, shared: Shared = ()) -> tuple[Sample, FloatArray]:
    """Make a sample of counts, and the probability of each of its rows: the last column."""
    p = np.ascontiguousarray(tally.rows[:, -1])
    successes = tally.counts_of([positive])[:, 0]
    counts = np.column_stack([successes, tally.counts.sum(axis=1) - successes])
    sample = Sample.from_data(tally.rows[:, :-1], counts, shared=shared).with_ties_ordered_by(p)
    return sample, p[sample.inputs.order]


def collapsed(sample: Sample, probabilities: FloatArray) -> tuple[Sample, FloatArray] | None:
    """Collapse data in memory; None if they have too few rows, or too many distinct ones."""
    inputs = sample.inputs
    if not inputs.extent.is_large or isinstance(inputs.X, tuple):
        return None
    total: Tally | None = None
    for start in range(0, len(sample), CHUNK_ROWS):
        part = slice(start, start + CHUNK_ROWS)
        rows = np.column_stack([inputs.matrix[part], probabilities[part]])
        successes = sample.successes[part]
        counts = np.column_stack([successes, inputs.trials[part] - successes])
        tally = tally_of(rows, counts, COUNTED)
        if tally is not None and total is not None:
            tally = total.merged(tally)
        if tally is None:
            return None
        total = tally
    return None if total is None else sample_of(total, COUNTED[0], inputs.shared)
