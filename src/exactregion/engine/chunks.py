"""Z of one candidate on rows that come in chunks: memory does not grow with their number.

Two passes: `summary_of_chunk` (in features) looks at inputs, and `sums_of_chunk` adds up the points
of all m data sets. Both are pure functions of one chunk. What they sum is exact, or kept apart by
chunk, so that results do not depend on who worked on which chunk, or when.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np

from exactregion._typing import FloatArray, IntArray
from exactregion.data.sample import BLOCK_ROWS, Extent, Inputs, blocks, number_of_block
from exactregion.engine.blocks import IMPOSSIBLE, check_numbers
from exactregion.engine.information import information_of_block, scale_for, variance_of
from exactregion.engine.terms import (
    check_columns,
    checked,
    combined,
    flat,
    metric_of,
)
from exactregion.features.grid import (
    add_products,
    expected_successes,
    grid_unit,
    on_grid,
    precision_of,
    probability_bits,
    squared_lengths,
)
from exactregion.features.landmarks import InputSummary, Landmarks
from exactregion.features.threads import single_thread
from exactregion.models.base import Model
from exactregion.resampling import Draws, place_successes
from exactregion.statistics.base import (
    Candidates,
    Statistic,
    Term,
    Terms,
    needs_family_error,
)
from exactregion.statistics.measures import Largest, OfLabels, Whitened
from exactregion.statistics.score import gradient_columns

__all__ = ["BINS", "Chunk", "ChunkPlan", "ChunkSums", "LabelsOfBlock", "sums_of_chunk"]

GROUP = 64
"""Data sets whose labels are made at once: 64 × 4096 labels in single precision are 1 MiB, which
stays in the cache until the product has read them."""

BINS = 1000
"""Bins of probabilities in which outcomes are counted, for pictures of data that are not kept:
finer than a picture shows."""


@dataclass(frozen=True, eq=False)
class Chunk:
    """Consecutive rows in canonical order, and one candidate.

    Attributes
    ----------
    index : int
        Number of the chunk: it begins at row index · `CHUNK_ROWS` of all.
    X : ndarray of shape (b, d)
        Inputs, or keys of segments.
    trials, successes : ndarrays of shape (b,)
        Outcomes.
    p : ndarray of shape (b,)
        P(Y=+1|x) of the candidate.
    """

    index: int
    X: Any
    trials: IntArray
    successes: IntArray
    p: FloatArray


@dataclass(frozen=True, eq=False)
class ChunkPlan:
    """All that the sums over a chunk depend on, besides its rows.

    Attributes
    ----------
    statistic : Statistic
        What data sets are ranked by.
    terms : sequence of terms
        Its terms.
    bounds, units : lists of ndarrays of shape (r,)
        The largest size of the columns of each term, and the spacing of their grid.
    scales : list of ndarrays of shape (1, r)
        By which columns are multiplied in the information.
    extent : Extent
        Of all data.
    draws : Draws
        The seat and the uniforms.
    model, theta : Model and ndarray of shape (1, d), or None
        Where the candidate comes from a family.
    """

    statistic: Statistic
    terms: Sequence[Terms]
    bounds: list[FloatArray]
    units: list[FloatArray]
    scales: list[FloatArray]
    extent: Extent
    draws: Draws
    model: Model | None = None
    theta: FloatArray | None = None

    @classmethod
    def of(
        cls,
        statistic: Statistic,
        inputs: InputSummary,
        draws: Draws,
        model: Model | None = None,
        theta: FloatArray | None = None,
        *,
        largest: FloatArray | None = None,
    ) -> ChunkPlan | None:
        """Choose the columns and their grids by a summary of the inputs.

        None where the size of a column is not known before all rows are seen. That of the gradient
        of the logit is `largest` (d,), if all rows were seen before.
        """
        if statistic.needs_family and model is None:
            raise needs_family_error()
        terms = checked(statistic, inputs)
        known = [_bound_of(term, largest) for term in flat(terms)]
        bounds = [bound for bound in known if bound is not None]
        if len(bounds) < len(known):
            return None
        units, scales = _grids(bounds, inputs.extent, draws.m)
        return cls(statistic, terms, bounds, units, scales, inputs.extent, draws, model, theta)

    def at(self, theta: FloatArray, largest: FloatArray) -> ChunkPlan:
        """Return the plan for one θ (1, d), where the gradient is at most `largest` (d,)."""
        pairs = zip(flat(self.terms), self.bounds, strict=True)
        bounds = [largest if term.columns is gradient_columns else known for term, known in pairs]
        units, scales = _grids(bounds, self.extent, self.draws.m)
        return replace(self, bounds=bounds, units=units, scales=scales, theta=theta)

    @property
    def ends(self) -> list[int]:
        """Where the columns of each term end, side by side."""
        return [int(end) for end in np.cumsum([len(unit) for unit in self.units])]

    @property
    def precision(self) -> type[np.floating[Any]]:
        """The precision in which columns are kept."""
        return precision_of(self.extent, np.concatenate(self.bounds))

    def columns(self, X: FloatArray, p: FloatArray, trials: IntArray) -> list[FloatArray]:
        """Compute the columns of a block of rows for each term, on the grid: shape (b, r) each."""
        inputs = Inputs(X, trials, (), np.arange(len(X)))
        is_counts = self.extent.row_trials != 1
        candidates = Candidates(inputs, p[None], is_counts, self.model, self.theta)
        found = []
        for term, unit, bound in zip(flat(self.terms), self.units, self.bounds, strict=True):
            columns: Any = term.columns
            if isinstance(columns, Landmarks):
                found.append(columns.on_grid(X, unit, self.precision))
            else:
                values = np.asarray(columns(candidates))
                check_columns(values, (1, len(X)), bound)
                rounded = on_grid(values[0], unit)
                found.append(rounded.astype(self.precision, copy=False))
        return found

    def statistics(self, sums: ChunkSums) -> list[FloatArray]:
        """Turn the sums over all rows into Z (m,), then that of each part of the statistic."""
        measured, expected = [], []
        by_chunk = [sums.rounded[index] for index in sorted(sums.rounded)]
        for which, (term, end) in enumerate(zip(flat(self.terms), self.ends, strict=True)):
            columns = slice(end - len(self.units[which]), end)
            total: Any = sum((part[which] for part in by_chunk[1:]), by_chunk[0][which])
            measure, W = term.measure, np.empty((1, 0, 0))
            assert not isinstance(measure, Largest | OfLabels)
            if isinstance(measure, Whitened):
                W = metric_of(measure, total, self.scales[which], self.theta)
                d = np.full(1, float(len(self.units[which])))
                expectation = None if measure.project else d
            else:
                expectation = measure.expectation(total, self.draws.m)
            expected.append(expectation if self.statistic.uses_expectations else None)
            cloud = np.ascontiguousarray(sums.points[:, columns].T)[:, None, :]
            with np.errstate(over="ignore"):
                measured.append(measure(cloud, sums.centre[columns, None], W))
        Zs = combined(self.statistic, self.terms, measured, expected, with_parts=True)
        for Z in Zs:
            check_numbers(Z)
        return [np.where(sums.certain + sums.points[:, -1] > 0, np.inf, Z[0]) for Z in Zs]


def _grids(
    bounds: list[FloatArray], extent: Extent, m: int
) -> tuple[list[FloatArray], list[FloatArray]]:
    """Return the units (r,) of the columns of each term, and their scales (1, r)."""
    units = [grid_unit(bound, extent, m) for bound in bounds]
    pairs = zip(bounds, units, strict=True)
    return units, [scale_for(on_grid(bound, unit)[None]) for bound, unit in pairs]


def _bound_of(term: Term, largest: FloatArray | None) -> FloatArray | None:
    if isinstance(term.columns, Landmarks):
        return term.columns.bound
    if largest is not None and term.columns is gradient_columns:
        return largest
    if isinstance(term.measure, Largest):  # its functions may depend on all rows
        return None
    if term.bound is None or not callable(term.columns):  # unknown, or an array of all rows
        return None
    return np.atleast_1d(np.asarray(term.bound, dtype=np.float64))


@dataclass(frozen=True, eq=False)
class ChunkSums:
    """Sums over some chunks; those of different chunks add up, in any order.

    Attributes
    ----------
    points : ndarray of shape (m, r + 1)
        Points of the m data sets, all terms side by side; last the impossible outcomes.
    centre : ndarray of shape (r,)
        Their centre.
    certain : int
        Trials at which the candidate is certain of a success.
    rounded : dict
        By chunk, for each term its information (1, r, r), or its variance (1,): sums that are
        rounded, and therefore added in the order of the chunks at the end.
    bins : ndarray of shape (3, `BINS`)
        Expected successes, successes and trials by the candidate's probability.
    """

    points: FloatArray
    centre: FloatArray
    certain: int
    rounded: dict[int, list[FloatArray]]
    bins: FloatArray

    @property
    def by_probability(self) -> FloatArray:
        """Mean probability, successes and trials of the bins that are not empty: (3, k)."""
        expected, successes, trials = self.bins[:, self.bins[2] > 0]
        return np.stack([expected / trials, successes, trials])

    def __add__(self, other: ChunkSums) -> ChunkSums:
        """Add the sums over other chunks."""
        return ChunkSums(
            self.points + other.points,
            self.centre + other.centre,
            self.certain + other.certain,
            self.rounded | other.rounded,
            self.bins + other.bins,
        )


LabelsOfBlock: TypeAlias = Callable[[slice, FloatArray], Iterator[tuple[int, FloatArray]]]
"""From a block of rows, and room for labels, to the labels of one group of data sets after the
other with the number of its first."""


def sums_of_chunk(chunk: Chunk, plan: ChunkPlan, labels: LabelsOfBlock | None = None) -> ChunkSums:
    """Sum over one chunk, block after block; `labels` are drawn here unless they are given."""
    from exactregion.engine import compiled  # Numba is slow to import

    width = plan.ends[-1]
    points, centre = np.zeros((plan.draws.m, width + 1)), np.zeros(width)
    rounded = [np.zeros(1)] * len(plan.units)
    buffers = _Buffers.for_plan(plan)
    unit = np.concatenate([*plan.units, [1.0]])
    precision = 2.0 ** probability_bits(plan.extent)
    with single_thread():
        for rows in blocks(len(chunk.p)):
            X, p, trials = chunk.X[rows], chunk.p[rows], chunk.trials[rows]
            parts = plan.columns(X, p, trials)
            added = _rounded_sums(plan, parts, p, trials)
            rounded = [total + part for total, part in zip(rounded, added, strict=True)]
            Phi = buffers.Phi[: len(p)]
            np.concatenate(parts, axis=1, out=Phi[:, :width])
            np.subtract(p < IMPOSSIBLE, p == 1, out=Phi[:, width], dtype=Phi.dtype)
            # the last column, of certainties, comes along so that the features stay contiguous
            centre += compiled.centres(p[None], trials, precision, Phi, unit, BLOCK_ROWS)[0, :width]
            block = _Block(number_of_block(chunk.index, rows), p, trials, chunk.successes[rows])
            draw = _labels_drawn if buffers.U is None else _counts_drawn
            drawn = labels(rows, buffers.K) if labels else draw(block, plan.draws, buffers)
            for first, K in drawn:
                add_products(points[first : first + len(K)], K, Phi)
    certain = int(chunk.trials[chunk.p == 1].sum())
    bins = _bins_of(chunk, plan.extent)
    return ChunkSums(points, centre, certain, {chunk.index: rounded}, bins)


def _rounded_sums(
    plan: ChunkPlan, parts: list[FloatArray], p: FloatArray, trials: IntArray
) -> Iterator[Any]:
    """Sum the information of each term over a block, or its variance, where it is needed."""
    for term, Phi, scale in zip(flat(plan.terms), parts, plan.scales, strict=True):
        if isinstance(term.measure, Whitened):
            gradient = np.ascontiguousarray((Phi * scale).T)[None]
            yield information_of_block(gradient, p[None], trials)
        elif plan.statistic.uses_expectations:
            yield variance_of(squared_lengths(Phi), p[None], trials)
        else:
            yield 0.0


@dataclass(frozen=True, eq=False)
class _Buffers:
    """Room for the features of a block, the uniforms and the successes of a group of data sets.

    Allocated once per chunk: where memory is given back to the system at once, as Dask's workers
    do, new room for every product would cost more than the product.
    """

    Phi: FloatArray
    U: FloatArray | None
    K: FloatArray

    @classmethod
    def for_plan(cls, plan: ChunkPlan) -> _Buffers:
        """Allocate room for all data sets where rows are counts: these are made row by row."""
        m = plan.draws.m
        precision = plan.precision
        Phi = np.empty((BLOCK_ROWS, plan.ends[-1] + 1), dtype=precision)
        if plan.extent.row_trials <= 1:
            return cls(Phi, None, np.empty(min(m, GROUP) * BLOCK_ROWS, dtype=precision))
        return cls(Phi, np.empty(m * BLOCK_ROWS), np.empty(m * BLOCK_ROWS, dtype=precision))


@dataclass(frozen=True, eq=False)
class _Block:
    """One of the blocks of all rows, and its number."""

    number: int
    p: FloatArray
    trials: IntArray
    successes: IntArray


def _counts_drawn(
    block: _Block, draws: Draws, buffers: _Buffers
) -> Iterator[tuple[int, FloatArray]]:
    """Yield the successes of all data sets, and the number of the first."""
    b = len(block.p)
    U = np.asarray(buffers.U)[: draws.n_resamples * b].reshape(draws.n_resamples, b)
    K = buffers.K[: draws.m * b].reshape(1, draws.m, b)
    draws.of_block(block.number).random(out=U)
    place_successes(
        K, U, block.p[None], trials=block.trials, observed=block.successes, seat=draws.seat
    )
    yield 0, K[0]


def _labels_drawn(
    block: _Block, draws: Draws, buffers: _Buffers
) -> Iterator[tuple[int, FloatArray]]:
    """Yield the labels of one group of data sets after the other, and the number of its first."""
    from exactregion.engine import drawing  # Numba is slow to import

    thresholds = drawing.thresholds_of(block.p * block.trials)
    observed = block.successes.astype(buffers.K.dtype)
    state = drawing.state_of(draws.of_block(block.number))
    group = len(buffers.K) // BLOCK_ROWS
    for first in range(0, draws.m, group):
        number = min(group, draws.m - first)
        K = buffers.K[: number * len(block.p)].reshape(number, len(block.p))
        seat = draws.seat - first if first <= draws.seat < first + number else -1
        drawing.draw_labels(state, thresholds, observed, seat, K)
        yield first, K


def _bins_of(chunk: Chunk, extent: Extent) -> FloatArray:
    bins = np.minimum((chunk.p * BINS).astype(np.int64), BINS - 1)
    mass = expected_successes(chunk.p, chunk.trials, extent)
    counted = (mass, chunk.successes, chunk.trials)
    return np.stack([np.bincount(bins, weights=values, minlength=BINS) for values in counted])
