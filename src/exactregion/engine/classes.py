"""Z of one candidate with several classes: in memory, and on rows that come in chunks.

The classes of the m data sets are drawn once per block of rows, by one uniform per row and C - 1
falling thresholds. Each view of them is a binary outcome, for which the engines of labels do the
rest; sums of a number per row and class are on a grid, where they are exact.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from exactregion._typing import BoolArray, FloatArray, IntArray
from exactregion.data.sample import (
    BLOCK_ROWS,
    Extent,
    Inputs,
    Sample,
    blocks,
    number_of_block,
)
from exactregion.engine.blocks import statistics_with_parts
from exactregion.engine.chunks import Chunk, ChunkPlan, ChunkSums, sums_of_chunk
from exactregion.engine.terms import PreparedStatistic
from exactregion.features.grid import grid_unit, on_grid
from exactregion.models import Model, Recalibration
from exactregion.resampling import Draws, Resampling
from exactregion.statistics.base import Candidates, Statistic
from exactregion.statistics.classes import (
    ClassStatistic,
    ClassSum,
    Measured,
    View,
    views_by_probability,
)

CACHE_BYTES = 2**28
"""Drawn classes are kept for the next view up to 256 MiB per chunk; above that each view draws them
again. A chunk of 65,536 rows with 1,000 data sets takes 64 MiB."""


def inputs_of_view(chunk: Chunk, view: View) -> Any:
    """Return the inputs of a view of rows with probabilities (b, C)."""
    return view.probability(chunk.p)[:, None] if view.by_probability else chunk.X


@dataclass(frozen=True, eq=False)
class DrawnClasses:
    """The classes of the m data sets, block by block.

    The chunk has probabilities (b, C), and the numbers of the observed classes as its successes.
    """

    chunk: Chunk
    draws: Draws
    _kept: dict[int, Any] = field(default_factory=dict, repr=False)

    def of(self, rows: slice) -> Any:
        """Draw the classes of a block of the chunk, or find them again: shape (m, b)."""
        block = number_of_block(self.chunk.index, rows)
        if block in self._kept:
            return self._kept[block]
        from exactregion.engine import drawing  # Numba is slow to import

        P = self.chunk.p[rows]
        codes = np.empty((self.draws.m, len(P)), dtype=np.min_scalar_type(P.shape[1] - 1))
        state, observed = drawing.state_of(self.draws.of_block(block)), self.chunk.successes[rows]
        thresholds = drawing.thresholds_of(_falling(P))
        drawing.draw_classes(
            state, thresholds, observed.astype(codes.dtype), self.draws.seat, codes
        )
        if self.draws.m * len(self.chunk.p) * codes.itemsize <= CACHE_BYTES:
            self._kept[block] = codes
        return codes


def _falling(P: FloatArray) -> FloatArray:
    """P(class ≥ c) for c = 1..C-1: shape (b, C - 1).

    Summed from the last class on, so that a class of probability 0 has that of the next
    one, and 1 where all classes before are impossible: no alternative is drawn from those.
    """
    upper = np.cumsum(P[:, ::-1], axis=1)[:, ::-1][:, 1:]
    possible = np.cumsum(P[:, :-1] > 0, axis=1) > 0
    return np.where(possible, np.minimum(upper, 1.0), 1.0)


@dataclass(frozen=True, eq=False)
class _ViewOfDraws(Resampling):
    """The labels that a view makes of drawn classes, as the engine of blocks takes them."""

    drawn: DrawnClasses = field(kw_only=True)
    wanted: IntArray = field(kw_only=True)

    def parts(self, probabilities: FloatArray, rows: slice, size: int) -> Iterator[FloatArray]:
        """Yield the labels of `size` data sets at a time: (1, size, b)."""
        codes = self.drawn.of(rows)
        for first in range(0, self.m, size):
            yield (codes[first : first + size] == self.wanted[rows])[None].astype(np.float64)


def calibrated_family(is_input: bool) -> tuple[Model | None, FloatArray | None]:
    """Return the recalibration family at "calibrated", where the probability is the input."""
    return (Recalibration(), np.array([[0.0, 1.0]])) if is_input else (None, None)


def measured_at_once(
    chunk: Chunk, inputs: Inputs, statistic: ClassStatistic, draws: Draws
) -> tuple[Measured, BoolArray]:
    """Measure all that a statistic looks at, with all rows in memory.

    `inputs` are those that all views share. Returns as well which data sets have an outcome that
    the candidate holds impossible.
    """
    P, n_classes = chunk.p, chunk.p.shape[1]
    drawn = DrawnClasses(chunk, draws)
    shared: dict[Statistic, PreparedStatistic] = {}
    found = {}
    for view, binary in statistic.views(n_classes):
        if (view, binary) in found:
            continue
        wanted, p = view.successes(P), view.probability(P)
        if view.by_probability:
            of_view = Inputs(p, chunk.trials, ("p",), inputs.order)
            prepared = PreparedStatistic.of(binary, of_view, draws.m)
        else:
            of_view = inputs
            if binary not in shared:
                shared[binary] = PreparedStatistic.of(binary, inputs, draws.m)
            prepared = shared[binary]
        sample = Sample(of_view, (chunk.successes == wanted).astype(np.int64), False, None)
        labels = _ViewOfDraws(sample, draws.n_resamples, draws.entropy, drawn=drawn, wanted=wanted)
        candidates = Candidates(of_view, p[None], False, *calibrated_family(view.by_probability))
        Zs = statistics_with_parts(candidates, labels, prepared)
        found[view, binary] = [Z[0] for Z in Zs]
    values = _Values(tuple(statistic.sums()), Extent.of(chunk.trials), draws.m)
    totals = values.of_chunk(chunk, drawn)
    return Measured(n_classes, found, values.measured(totals)), values.impossible(totals)


@dataclass(frozen=True, eq=False)
class _Values:
    """Sums of a number per row and class, on the grid of exact sums; last the impossible ones."""

    sums: tuple[ClassSum, ...]
    extent: Extent
    m: int

    def of_chunk(self, chunk: Chunk, drawn: DrawnClasses) -> FloatArray:
        """Add up the values of the classes of each data set, and expected ones: (m + 1, s + 1)."""
        from exactregion.engine.drawing import add_values  # Numba is slow to import

        totals = np.zeros((self.m + 1, len(self.sums) + 1))
        bounds = np.array([*(each.bound for each in self.sums), 1.0])
        unit = grid_unit(bounds, self.extent, self.m, single=False)
        for rows in blocks(len(chunk.p)):
            P = chunk.p[rows]
            columns = [*(each.values(P) for each in self.sums), (P == 0) * 1.0]
            values = on_grid(np.stack(columns, axis=-1), unit)
            add_values(drawn.of(rows), values, totals[: self.m])
            totals[self.m] += on_grid((P[:, :, None] * values).sum(axis=(0, 1)), unit / 2)
        return totals

    def measured(self, totals: FloatArray) -> dict[ClassSum, FloatArray]:
        """Square the deviations of the m data sets."""
        deviations = (totals[: self.m] - totals[self.m])[:, : len(self.sums)]
        return {each: column * column for each, column in zip(self.sums, deviations.T, strict=True)}

    def impossible(self, totals: FloatArray) -> BoolArray:
        """Say which data sets have an impossible outcome."""
        return np.asarray(totals[: self.m, -1] > 0)


# --- rows in chunks -------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class ClassPlan:
    """All that the sums over a chunk depend on, besides its rows: a plan per view, and the sums."""

    views: tuple[tuple[View, ChunkPlan], ...]
    sums: tuple[ClassSum, ...]
    extent: Extent
    draws: Draws

    @property
    def values(self) -> _Values:
        """The sums of a number per row and class."""
        return _Values(self.sums, self.extent, self.draws.m)

    def measured(
        self, totals: ClassSums, views: Sequence[tuple[View, Statistic]], n_classes: int
    ) -> tuple[Measured, BoolArray]:
        """Turn the sums over all rows into what `measured_at_once` gives."""
        found = {
            one: plan.statistics(sums)
            for one, (_, plan), sums in zip(views, self.views, totals.views, strict=True)
        }
        values = self.values.measured(totals.values)
        return Measured(n_classes, found, values), self.values.impossible(totals.values)


@dataclass(frozen=True, eq=False)
class ClassSums:
    """Sums over some chunks; those of different chunks add up, in any order.

    `shares` has the observed number of each class, and the expected one, by chunk.
    """

    views: tuple[ChunkSums, ...]
    values: FloatArray
    shares: dict[int, FloatArray]

    def __add__(self, other: ClassSums) -> ClassSums:
        """Add the sums over other chunks."""
        return ClassSums(
            tuple(a + b for a, b in zip(self.views, other.views, strict=True)),
            self.values + other.values,
            self.shares | other.shares,
        )


def sums_of_classes(chunk: Chunk, plan: ClassPlan) -> ClassSums:
    """Sum over one chunk, view after view."""
    drawn = DrawnClasses(chunk, plan.draws)
    found = []
    for view, each in plan.views:
        wanted, p = view.successes(chunk.p), view.probability(chunk.p)
        successes = (chunk.successes == wanted).astype(np.int64)
        as_labels = Chunk(chunk.index, inputs_of_view(chunk, view), chunk.trials, successes, p)
        labels = _LabelsOf(drawn, wanted)
        found.append(sums_of_chunk(as_labels, each, labels, with_bins=False))
    values = plan.values.of_chunk(chunk, drawn)
    return ClassSums(tuple(found), values, {chunk.index: shares_of(chunk)})


@dataclass(frozen=True, eq=False)
class _LabelsOf:
    """The labels that a view makes of drawn classes, as the engine of chunks takes them."""

    drawn: DrawnClasses
    wanted: IntArray

    def __call__(self, rows: slice, buffer: FloatArray) -> Iterator[tuple[int, FloatArray]]:
        """Yield the labels of one group of data sets after the other, and number its first."""
        codes, wanted = self.drawn.of(rows), self.wanted[rows]
        group = len(buffer) // BLOCK_ROWS
        for first in range(0, len(codes), group):
            some = codes[first : first + group]
            K = buffer[: some.size].reshape(some.shape)
            np.equal(some, wanted, out=K)
            yield first, K


def shares_of(chunk: Chunk) -> FloatArray:
    """Count the classes, the likeliest ones last, and what is expected of them: (2, C + 1)."""
    views = views_by_probability(chunk.p.shape[1])
    observed = [(chunk.successes == view.successes(chunk.p)).sum() for view in views]
    return np.array([observed, [view.probability(chunk.p).sum() for view in views]])
