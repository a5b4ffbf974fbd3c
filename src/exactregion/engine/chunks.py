"""Z of one candidate on rows that come in chunks: memory does not grow with their number.

Two passes: `summary_of_chunk` (in features) looks at inputs, and `sums_of_chunk` adds up the points
of all m data sets. Both are pure functions of one chunk. What they sum is exact, or kept apart by
chunk, so that results do not depend on who worked on which chunk, or when.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np

from exactregion._typing import FloatArray, IntArray
from exactregion.data.sample import BLOCK_ROWS, Extent, Inputs, blocks, number_of_block
from exactregion.engine.blocks import IMPOSSIBLE, check_numbers
from exactregion.engine.information import information_of_columns, scale_for, variance_of
from exactregion.engine.terms import (
    ROUNDING,
    bound_error,
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
from exactregion.resampling import Columns, Draws, place_successes
from exactregion.statistics.base import (
    Candidates,
    Statistic,
    Term,
    Terms,
    needs_family_error,
)
from exactregion.statistics.measures import Largest, OfLabels, Whitened
from exactregion.statistics.score import gradient_columns

__all__ = [
    "BINS",
    "Chunk",
    "ChunkPlan",
    "ChunkSums",
    "LabelsOfBlock",
    "labels_of",
    "room_for_codes",
    "room_for_labels",
    "sums_of_chunk",
]

GROUP = 64
"""Data sets whose labels are made at once: 64 × 4096 labels in single precision are 1 MiB, which
stays in the cache until the product has read them."""

MOST_CODED, FEWEST_CODED = 4096, 4
"""Data sets whose labels are drawn for all blocks of a chunk side by side: 16 kB each, 64 MiB at
most; and blocks for which that pays, since all lanes are drawn whether they have rows or not."""

FEW_TRIALS = 64
"""Trials in a row up to which its count is found by comparing with all thresholds: a search among
sorted uniforms takes as long."""

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

    @cached_property
    def without_gradient(self) -> ChunkPlan:
        """The plan of the other terms, whose columns are the same for every θ of any family."""
        terms = list(flat(self.terms))
        kept = [k for k, term in enumerate(terms) if term.columns is not gradient_columns]
        return replace(
            self,
            terms=[terms[k] for k in kept],
            bounds=[self.bounds[k] for k in kept],
            units=[self.units[k] for k in kept],
            scales=[self.scales[k] for k in kept],
        )

    @property
    def width(self) -> int:
        """Number of columns of all terms."""
        return sum(len(unit) for unit in self.units)

    @cached_property
    def ends(self) -> list[int]:
        """Where the columns of each term end, side by side."""
        return [int(end) for end in np.cumsum([len(unit) for unit in self.units])]

    @cached_property
    def columns_of_terms(self) -> list[slice]:
        """The columns of each term among all."""
        pairs = zip(self.ends, self.units, strict=True)
        return [slice(end - len(unit), end) for end, unit in pairs]

    @property
    def precision(self) -> type[np.floating[Any]]:
        """The precision in which columns are kept."""
        return precision_of(self.extent, np.concatenate([*self.bounds, np.ones(1)]))

    def columns(self, chunk: Chunk) -> list[FloatArray | Landmarks]:
        """Compute the columns of each term in a chunk, not yet on the grid: shape (b, r) each.

        Features of a kernel are computed block by block, where they are written. A last column is
        that of outcomes that the candidate rules out.
        """
        X, p, trials = chunk.X, chunk.p, chunk.trials
        inputs = Inputs(X, trials, (), np.arange(len(X)))
        is_counts = self.extent.row_trials != 1
        candidates = Candidates(inputs, p[None], is_counts, self.model, self.theta)
        found: list[FloatArray | Landmarks] = []
        for term, bound in zip(flat(self.terms), self.bounds, strict=True):
            columns: Any = term.columns
            if not isinstance(columns, Landmarks):
                values = np.asarray(columns(candidates), dtype=np.float64)
                check_columns(values, (1, len(X)), bound)
                columns = np.ascontiguousarray(values[0])
            found.append(columns)
        ruled_out = np.subtract(p < IMPOSSIBLE, p == 1, dtype=np.float64)
        return [*found, ruled_out[:, None]]

    def statistics(self, sums: ChunkSums) -> list[FloatArray]:
        """Turn the sums over all rows into Z (m,), then that of each part of the statistic."""
        measured, expected = [], []
        by_chunk = [sums.rounded[index] for index in sorted(sums.rounded)]
        terms = zip(flat(self.terms), self.columns_of_terms, strict=True)
        for which, (term, columns) in enumerate(terms):
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
        Expected successes, successes and trials by the candidate's probability, if requested.
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


def sums_of_chunk(
    chunk: Chunk,
    plan: ChunkPlan,
    labels: LabelsOfBlock | None = None,
    *,
    with_bins: bool = True,
) -> ChunkSums:
    """Sum over one chunk, block after block; `labels` are drawn here unless they are given."""
    from exactregion.engine import compiled  # Numba is slow to import

    width = plan.width
    points, centre = np.zeros((plan.draws.m, width + 1)), np.zeros(width)
    rounded = [np.zeros(1)] * len(plan.units)
    buffers = _Buffers.for_plan(plan)
    labels = labels or labels_of(chunk, plan.draws, plan.extent, plan.precision)
    unit = np.concatenate([*plan.units, [1.0]])
    precision = 2.0 ** probability_bits(plan.extent)
    with single_thread():
        columns = plan.columns(chunk)
        for rows in blocks(len(chunk.p)):
            p, trials = chunk.p[rows], chunk.trials[rows]
            Phi = buffers.Phi[: len(p)]
            parts = _write_columns(columns, plan, chunk.X[rows], rows, Phi)
            added = _rounded_sums(plan, parts, p, trials)
            rounded = [total + part for total, part in zip(rounded, added, strict=True)]
            # the last column, of certainties, comes along so that the features stay contiguous
            centre += compiled.centres(p[None], trials, precision, Phi, unit, BLOCK_ROWS)[0, :width]
            for first, K in labels(rows, buffers.K):
                add_products(points[first : first + len(K)], K, Phi)
    certain = int(chunk.trials[chunk.p == 1].sum())
    bins = _bins_of(chunk, plan.extent) if with_bins else np.zeros((3, 0))
    return ChunkSums(points, centre, certain, {chunk.index: rounded}, bins)


def _write_columns(
    columns: list[FloatArray | Landmarks],
    plan: ChunkPlan,
    X: FloatArray,
    rows: slice,
    Phi: FloatArray,
) -> list[FloatArray]:
    """Write the columns of a block into Phi (b, …), on the grid, and return those of each term."""
    from exactregion.features.lookup import write_rounded  # Numba is slow to import

    first, parts = 0, []
    one = np.ones(1)
    units, bounds = [*plan.units, one], [*plan.bounds, one]
    for values, unit, bound in zip(columns, units, bounds, strict=True):
        if isinstance(values, Landmarks):
            values.write(X, unit, Phi, first)
        elif not write_rounded(values[rows], bound * ROUNDING, unit, Phi, first):
            raise bound_error(values, bound)
        parts.append(Phi[:, first : first + len(unit)])
        first += len(unit)
    return parts


def _rounded_sums(
    plan: ChunkPlan, parts: list[FloatArray], p: FloatArray, trials: IntArray
) -> Iterator[Any]:
    """Sum the information of each term over a block, or its variance, where it is needed."""
    uses_expectations = plan.statistic.uses_expectations
    for term, Phi, scale in zip(flat(plan.terms), parts[:-1], plan.scales, strict=True):
        if isinstance(term.measure, Whitened):
            yield information_of_columns(Phi, scale[0], p[None], trials)
        elif uses_expectations:
            yield variance_of(squared_lengths(Phi), p[None], trials)
        else:
            yield 0.0


@dataclass(frozen=True, eq=False)
class _Buffers:
    """Room for the features of a block, and the successes of a group of data sets.

    Allocated once per chunk: where memory is given back to the system at once, as Dask's workers
    do, new room for every product would cost more than the product.
    """

    Phi: FloatArray
    K: FloatArray

    @classmethod
    def for_plan(cls, plan: ChunkPlan) -> _Buffers:
        """Allocate room for all data sets where rows are counts: these are made row by row."""
        Phi = np.empty((BLOCK_ROWS, plan.width + 1), dtype=plan.precision)
        return cls(Phi, room_for_labels(plan.draws.m, plan.extent, plan.precision))


def room_for_labels(m: int, extent: Extent, precision: Any) -> FloatArray:
    """Return room for the outcomes of a group of data sets in a block of rows."""
    # two groups of data sets that are not full take longer than a larger one
    number = m if extent.row_trials > FEW_TRIALS or m <= 2 * GROUP else GROUP
    return np.empty(number * BLOCK_ROWS, dtype=precision)


def room_for_codes(m: int) -> Any:
    """Return room for the labels of a chunk's whole blocks, those of four rows in a byte."""
    from exactregion.engine.drawing import LANES, ROWS_PER_CODE  # Numba is slow to import

    return np.zeros((LANES, m, BLOCK_ROWS // ROWS_PER_CODE), dtype=np.uint8)


def labels_of(
    chunk: Chunk, draws: Draws, extent: Extent, precision: Any, codes: Any | None = None
) -> LabelsOfBlock:
    """Return what draws the outcomes of the blocks of a chunk, in this precision.

    Labels of whole blocks that were drawn before are `codes`.
    """
    if extent.row_trials > FEW_TRIALS:
        return _Counts(chunk, draws)
    if extent.row_trials > 1:
        return _FewTrials(chunk, draws)
    if precision == np.float32 and draws.m <= MOST_CODED:
        return _CodedLabels(chunk, draws, codes)
    return _Labels(chunk, draws)


@dataclass(frozen=True, eq=False)
class _Counts:
    """Draws the successes of all data sets in a block at once."""

    chunk: Chunk
    draws: Draws

    def __call__(self, rows: slice, buffer: FloatArray) -> Iterator[tuple[int, FloatArray]]:
        """Yield the successes of all data sets, and the number of the first."""
        p, draws = self.chunk.p[rows], self.draws
        U = self._room[: draws.n_resamples * len(p)].reshape(draws.n_resamples, len(p))
        K = buffer[: draws.m * len(p)].reshape(1, draws.m, len(p))
        draws.of_block(number_of_block(self.chunk.index, rows)).random(out=U)
        trials, observed = self.chunk.trials[rows], self.chunk.successes[rows]
        place_successes(K, U, p[None], trials=trials, observed=observed, seat=draws.seat)
        yield 0, K[0]

    @cached_property
    def _room(self) -> FloatArray:
        return np.empty(self.draws.n_resamples * BLOCK_ROWS)


@dataclass(frozen=True, eq=False)
class _Labels:
    """Draws the labels of a block, one group of data sets after the other."""

    chunk: Chunk
    draws: Draws

    def __call__(self, rows: slice, buffer: FloatArray) -> Iterator[tuple[int, FloatArray]]:
        """Yield the labels of one group of data sets after the other, and number its first."""
        from exactregion.engine import drawing  # Numba is slow to import

        thresholds = self._thresholds[rows]
        observed = self.chunk.successes[rows].astype(buffer.dtype)
        state = self._state(rows)
        for first, K, seat in self._groups(len(observed), buffer):
            drawing.draw_labels(state, thresholds, observed, seat, K)
            yield first, K

    def _groups(self, b: int, buffer: FloatArray) -> Iterator[tuple[int, FloatArray, int]]:
        """Yield the first of each group of data sets, room for labels, and the seat or -1."""
        m, seat = self.draws.m, self.draws.seat
        group = len(buffer) // BLOCK_ROWS
        for first in range(0, m, group):
            number = min(group, m - first)
            K = buffer[: number * b].reshape(number, b)
            yield first, K, seat - first if first <= seat < first + number else -1

    def _state(self, rows: slice) -> Any:
        from exactregion.engine.drawing import state_of  # Numba is slow to import

        return state_of(self.draws.of_block(number_of_block(self.chunk.index, rows)))

    @cached_property
    def _thresholds(self) -> IntArray:
        from exactregion.engine.drawing import thresholds_of  # Numba is slow to import

        found: IntArray = thresholds_of(self.chunk.p * self.chunk.trials)
        return found


@dataclass(frozen=True, eq=False)
class _FewTrials(_Labels):
    """Draws the successes of rows with few trials, one group of data sets after the other."""

    def __call__(self, rows: slice, buffer: FloatArray) -> Iterator[tuple[int, FloatArray]]:
        """Yield the successes of one group of data sets after the other, and number its first."""
        from exactregion.engine import drawing  # Numba is slow to import

        columns = Columns(self.chunk.trials[rows])
        thresholds = drawing.thresholds_of(columns.thresholds(self.chunk.p[None, rows])[0])
        observed = self.chunk.successes[rows].astype(buffer.dtype)
        state = self._state(rows)
        for first, K, seat in self._groups(len(observed), buffer):
            drawing.draw_counts(state, columns.ends, thresholds, observed, seat, K)
            yield first, K


@dataclass(frozen=True, eq=False)
class _CodedLabels(_Labels):
    """Draws the labels of all whole blocks of a chunk side by side, and those of the rest alone."""

    drawn: Any | None = None

    def __call__(self, rows: slice, buffer: FloatArray) -> Iterator[tuple[int, FloatArray]]:
        """Yield the labels of one group of data sets after the other, and number its first."""
        from exactregion.engine import drawing  # Numba is slow to import

        if self._whole_blocks < FEWEST_CODED or rows.stop - rows.start < BLOCK_ROWS:
            yield from super().__call__(rows, buffer)
            return
        codes = self._codes[rows.start // BLOCK_ROWS]
        for first, K, seat in self._groups(BLOCK_ROWS, buffer):
            drawing.spread_codes(codes[first : first + len(K)], K)
            if seat >= 0:
                K[seat] = self.chunk.successes[rows]
            yield first, K

    @property
    def _whole_blocks(self) -> int:
        return len(self.chunk.p) // BLOCK_ROWS

    @cached_property
    def _codes(self) -> Any:
        from exactregion.engine import drawing  # Numba is slow to import

        if self.drawn is not None:
            return self.drawn
        thresholds = np.zeros((drawing.LANES, BLOCK_ROWS), dtype=np.int64)
        states = np.zeros((drawing.LANES, 4), dtype=np.uint64)
        for lane, rows in enumerate(blocks(self._whole_blocks * BLOCK_ROWS)):
            thresholds[lane], states[lane] = self._thresholds[rows], self._state(rows)
        codes = room_for_codes(self.draws.m)
        drawing.draw_codes(states.T.ravel(), thresholds.T.ravel(), self.draws.seat, codes)
        return codes


def _bins_of(chunk: Chunk, extent: Extent) -> FloatArray:
    bins = np.minimum((chunk.p * BINS).astype(np.int64), BINS - 1)
    mass = expected_successes(chunk.p, chunk.trials, extent)
    counted = (mass, chunk.successes, chunk.trials)
    return np.stack([np.bincount(bins, weights=values, minlength=BINS) for values in counted])
