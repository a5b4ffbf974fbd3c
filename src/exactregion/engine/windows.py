"""Z for θ of a window where rows are many: passes over chunks, no array as long as the data.

The first pass over the rows draws all labels once. It sums features over those that are known, the
same for all θ of the window, and lists the free ones, about 9·m·√n within a few standard errors
(see `free`). From then on a batch of θ takes one more pass, without any drawing: free labels give
the points, and the rows give what inputs alone decide, centre, information and variance. Features
are kept in a temporary file, in two bytes each, if there is room for them. What is summed has the
order and the bits of the other engines, so that ranks are the same.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property, reduce
from operator import add
from typing import Any

import numpy as np

from exactregion._typing import BoolArray, FloatArray, IntArray
from exactregion.data.sample import BLOCK_ROWS, CHUNK_ROWS, blocks, number_of_block
from exactregion.data.sources import release, scratch
from exactregion.data.workers import map_in_order, number_of_workers
from exactregion.engine.blocks import IMPOSSIBLE, check_numbers
from exactregion.engine.chunks import GROUP, Chunk, ChunkPlan, sums_of_chunk
from exactregion.engine.free_labels import (
    Ellipsoid,
    FreeLabels,
    Tree,
    same_columns,
)
from exactregion.engine.terms import combined, flat, metric_of
from exactregion.features.grid import add_products, on_grid, probability_bits, squared_lengths
from exactregion.features.landmarks import InputSummary, Landmarks, sample_rows
from exactregion.features.threads import single_thread
from exactregion.models.base import Model
from exactregion.resampling import Resampling
from exactregion.statistics.base import Statistic
from exactregion.statistics.measures import FromMean, Whitened
from exactregion.statistics.score import gradient_columns

__all__ = ["ManyRows"]

AT_ONCE = 32
"""Products of θ and columns in a block of rows that are worked on at once: 1 MB stays in the
cache."""

STEP_BYTES = 2**26
"""Memory for the points of the θ of one pass, 64 MiB: more θ take several passes."""

MOST_FREE = 2**26
"""Free labels of a further window, 10 bytes each: 700 MB at most. θ farther apart than that are
evaluated one by one."""

KEPT_BYTES, MOST_MULTIPLE = 2**30, np.iinfo(np.int16).max
"""Features of several inputs take 6 µs per row to compute, a pass over the rest less than one: they
are kept in a temporary file of up to a gigabyte, as multiples of their unit in two bytes. Those of
one input are kept too: reading them takes a fifth of the time of computing them."""

CONVERTED_ROWS = 512
"""Rows whose features are converted to floating-point numbers at once: 1 MB of 256 features stays
in the cache until the product has read it."""

WORTH_A_WINDOW = 3
"""A window costs about as much as drawing all labels of this many θ."""


@dataclass(frozen=True, eq=False)
class _Factors:
    """What is multiplied by t p (1 - p) and summed over rows: information and variance of terms.

    `pairs` are the columns of a whitened term that are multiplied, empty where its squared lengths
    are summed; None where nothing is.
    """

    plan: ChunkPlan
    pairs: list[list[tuple[int, int]] | None]

    @classmethod
    def of(cls, plan: ChunkPlan) -> _Factors:
        """List the products of all terms."""
        pairs: list[list[tuple[int, int]] | None] = []
        for term, unit in zip(flat(plan.terms), plan.units, strict=True):
            if isinstance(term.measure, Whitened):
                pairs.append([(a, b) for a in range(len(unit)) for b in range(a + 1)])
            else:
                pairs.append([] if plan.statistic.uses_expectations else None)
        return cls(plan, pairs)

    @property
    def number(self) -> int:
        """Number of sums per θ."""
        return sum(0 if pairs is None else max(1, len(pairs)) for pairs in self.pairs)

    def of_rows(
        self, multiples: Any, lengths: list[FloatArray | None]
    ) -> tuple[FloatArray, FloatArray]:
        """Return both factors (K, b) in a block, for the columns (b, …) of all terms, in units.

        Squared lengths of the columns of a term are computed unless they are given.
        """
        b = len(multiples)
        left, right = [], []
        plan = self.plan
        terms = zip(
            plan.columns_of_terms, plan.units, plan.scales, self.pairs, lengths, strict=True
        )
        for columns, unit, scale, pairs, known in terms:
            if pairs:
                scaled = (multiples[:, columns] * unit * scale).T
                left += [scaled[a] for a, _ in pairs]
                right += [scaled[b] for _, b in pairs]
            elif pairs is not None:
                left.append(
                    squared_lengths(multiples[:, columns] * unit) if known is None else known
                )
                right.append(np.ones(b))
        return np.array(left).reshape(-1, b), np.array(right).reshape(-1, b)

    def by_term(self, sums: FloatArray) -> list[Any]:
        """Return the information (T, r, r) or the variance (T,) of each term."""
        found: list[Any] = []
        first = 0
        for pairs, unit in zip(self.pairs, self.plan.units, strict=True):
            if pairs:
                information = np.empty((len(sums), len(unit), len(unit)))
                for k, (a, b) in enumerate(pairs):
                    information[:, a, b] = information[:, b, a] = sums[:, first + k]
                found.append(information)
            else:
                found.append(None if pairs is None else sums[:, first])
            first += 0 if pairs is None else max(1, len(pairs))
        return found


@dataclass(frozen=True, eq=False)
class ManyRows:
    """A family on more than one chunk of single trials, and ranks of any θ.

    Use it where `is_possible`: the gradient of the logit is the same for every θ, and finite.
    """

    model: Model
    resampling: Resampling
    window: Callable[[], Ellipsoid]  # where searches look
    n_jobs: int | None = None
    _windows: list[FreeLabels] = field(default_factory=list, init=False, repr=False)
    _kept: list[tuple[Any, Any, Any]] = field(default_factory=list, init=False, repr=False)
    _lock: Any = field(default_factory=threading.Lock, init=False, repr=False)

    def __reduce__(self) -> tuple[Any, ...]:
        """Leave windows behind where an analysis is copied or sent elsewhere."""
        return ManyRows, (self.model, self.resampling, self.window, self.n_jobs)

    @staticmethod
    def is_possible(model: Model, resampling: Resampling) -> bool:
        """Return whether rows and family are such that passes over chunks are enough."""
        inputs = resampling.sample.inputs
        if isinstance(inputs.X, tuple) or inputs.levels > 1 or not inputs.extent.is_large:
            return False
        if inputs.extent.row_trials > 1:
            return False
        if not model.has_constant_gradient:
            return False
        return all(
            model.linear_design(inputs.X[start : start + CHUNK_ROWS]) is not None
            for start in range(0, len(inputs), CHUNK_ROWS)
        )

    def plan_for(self, statistic: Statistic) -> ChunkPlan | None:
        """Return what a statistic sums; None where its columns change with θ in other ways."""
        inputs, draws = self.resampling.sample.inputs, self.resampling.draws
        largest = self._largest_gradient
        some = np.zeros((1, len(largest)))
        summary = InputSummary.in_memory(inputs)
        plan = ChunkPlan.of(statistic, summary, draws, self.model, some, largest=largest)
        if plan is None:
            return None
        known = (
            isinstance(term.columns, Landmarks) or term.columns is gradient_columns
            for term in flat(plan.terms)
        )
        return plan if all(known) else None

    def statistics(self, theta: FloatArray, plan: ChunkPlan) -> FloatArray:
        """Compute Z of the m data sets at each θ: shape (T, m)."""
        Z = np.empty((len(theta), self.resampling.m))
        left = np.arange(len(theta))
        # where few θ are asked for and no window is there, all their labels are drawn
        if not self._windows and len(left) >= WORTH_A_WINDOW:
            self._add(self.window(), plan)
        for labels in list(self._windows):
            left = self._within(labels, plan, theta, left, Z)
        if len(left) >= WORTH_A_WINDOW:
            around = self._around(theta[left])
            if around is not None:
                left = self._within(self._add(around, plan), plan, theta, left, Z)
        for index in left:
            Z[index] = self._drawn(theta[index], plan)
        return Z

    def expect_many(self, plan: ChunkPlan) -> None:
        """List the free labels of the window where searches look, unless that was done before."""
        if not self._windows:
            self._add(self.window(), plan)

    # --- what depends on inputs alone ---

    @cached_property
    def _largest_gradient(self) -> FloatArray:
        """The largest size of each column of the gradient: shape (d,)."""
        parts = [np.abs(self._design(rows)).max(axis=0) for _, rows in self._blocks()]
        return np.asarray(np.max(parts, axis=0))

    def _inputs(self, rows: slice) -> FloatArray:
        """Return the inputs of some rows, without what a memory map adds to an array."""
        X: Any = self.resampling.sample.inputs.X
        return np.asarray(X[rows])

    def _design(self, rows: slice) -> FloatArray:
        """Return the rows of the linear predictor, which are the gradient of the logit."""
        return np.asarray(self.model.linear_design(self._inputs(rows)))

    def _blocks(self) -> Iterator[tuple[int, slice]]:
        """Go through all blocks of rows, with the number of their chunk."""
        inputs = self.resampling.sample.inputs
        for chunk, start in enumerate(range(0, len(inputs), CHUNK_ROWS)):
            for rows in blocks(min(CHUNK_ROWS, len(inputs) - start)):
                yield chunk, slice(start + rows.start, start + rows.stop)
            for array in (inputs.X, self.resampling.sample.successes, *self._kept_arrays):
                release(array)

    def _multiples(self, plan: ChunkPlan, rows: slice) -> Any:
        """Compute the columns of all terms in multiples of their units: shape (b, r)."""
        dtype = np.int16 if _has_short_multiples(plan) else np.float64
        found = np.empty((rows.stop - rows.start, plan.ends[-1]), dtype)
        terms = zip(flat(plan.terms), plan.columns_of_terms, plan.units, strict=True)
        for term, columns, unit in terms:
            kept = self._kept_for(term.columns)
            found[:, columns] = (
                self._values(term.columns, unit, rows) / unit if kept is None else kept[0][rows]
            )
        return found

    def _values(self, columns: Any, unit: FloatArray, rows: slice) -> FloatArray:
        """Compute the columns of a term in some rows, on the grid: shape (b, r)."""
        if isinstance(columns, Landmarks):
            return columns.on_grid(_matrix(self._inputs(rows)), unit, np.float64)
        found: FloatArray = on_grid(self._design(rows), unit)
        return found

    def _kept_for(self, columns: Any) -> tuple[Any, Any] | None:
        """Return features that were kept, in multiples of their unit, and their squared lengths."""
        found = (arrays for known, *arrays in self._kept if same_columns(known, columns))
        kept, lengths = next(found, (None, None))
        return None if kept is None else (kept, lengths)

    def _lengths(self, plan: ChunkPlan, rows: slice) -> list[FloatArray | None]:
        """Return the squared lengths (b,) of the columns of each term, if they were kept."""
        kept = [self._kept_for(term.columns) for term in flat(plan.terms)]
        return [None if each is None else each[1][rows] for each in kept]

    @property
    def _kept_arrays(self) -> list[Any]:
        return [array for _, *arrays in self._kept for array in arrays]

    def _keep(self, plan: ChunkPlan) -> None:
        """Compute features once and keep them, if there is room for them."""
        n = len(self.resampling.sample)
        for term, unit, bound in zip(flat(plan.terms), plan.units, plan.bounds, strict=True):
            columns: Any = term.columns
            if self._kept_for(columns) is not None:
                continue
            if (bound / unit).max() > MOST_MULTIPLE or 2 * n * len(unit) > KEPT_BYTES:
                continue
            kept: Any = scratch((n, len(unit)), np.int16)
            lengths: Any = scratch((n,), np.float64)
            # in extreme units squares of a gradient overflow, which are of no use
            with single_thread(), np.errstate(over="ignore"):
                for _, rows in self._blocks():
                    values = self._values(columns, unit, rows)
                    kept[rows], lengths[rows] = values / unit, squared_lengths(values)
                    if rows.start % CHUNK_ROWS == 0:
                        release(kept)
                        release(lengths)
            # the gradient, and the last features of a kernel
            others = [one for one in self._kept if type(one[0]) is not type(columns)]
            self._kept[:] = [*others, (columns, kept, lengths)]

    def _probabilities(self, theta: FloatArray, rows: slice) -> FloatArray:
        """Evaluate the family at θ (T, d) on some rows."""
        on_rows: Any = self.model.on_rows(self._inputs(rows))
        found: FloatArray = on_rows(theta)
        return found

    # --- windows ---

    def _add(self, window: Ellipsoid, plan: ChunkPlan) -> FreeLabels:
        """List the free labels of a window; the first one and the last one are kept."""
        labels = FreeLabels(window)
        self._sum_known(labels, plan)
        self._windows[:] = [*self._windows[:1], labels]
        return labels

    def _around(self, theta: FloatArray) -> Ellipsoid | None:
        """Return a window that holds these θ; None where too many labels would be free."""
        usual = self.window()
        z = np.linalg.solve(usual.axes, (theta - theta.mean(axis=0)).T)
        reach = 1.1 * float(np.linalg.norm(z, axis=0).max())
        around = replace(usual, origin=theta.mean(axis=0), reach=max(reach, usual.reach / 2))
        inputs = self.resampling.sample.inputs
        some = np.sort(sample_rows(len(inputs)))
        with np.errstate(over="ignore"):
            low, high = around.limits(np.asarray(self.model.linear_design(inputs.X[some])))
        free = self.resampling.m * len(inputs) * float((high - low).mean())
        return around if free <= MOST_FREE else None

    def _sum_known(self, labels: FreeLabels, plan: ChunkPlan) -> None:
        """Sum the features of a plan at the origin, and list free labels if they are not yet.

        Labels are those that other engines draw: all take the bits of a block's generator in the
        same order.
        """
        from exactregion.engine import drawing  # Numba is slow to import

        if all(points is not None for points in labels.points(plan)):
            return
        self._keep(plan)
        resampling, m = self.resampling, self.resampling.m
        trials, successes = resampling.sample.inputs.trials, resampling.sample.successes
        points, units = np.zeros((m, plan.ends[-1])), np.concatenate(plan.units)
        listed = bool(labels.blocks)
        owner_type = np.uint16 if m <= 2**16 else np.int32

        def of_chunk(numbered: tuple[int, slice]) -> tuple[FloatArray, list[Any], bool]:
            chunk, all_rows = numbered
            sums, found_blocks, certain = np.zeros_like(points), [], False
            K = np.empty(GROUP * BLOCK_ROWS, dtype=plan.precision)
            found = drawing.room_for(GROUP * BLOCK_ROWS)
            for within in blocks(all_rows.stop - all_rows.start):
                rows = slice(all_rows.start + within.start, all_rows.start + within.stop)
                b = rows.stop - rows.start
                Phi = (self._multiples(plan, rows) * units).astype(plan.precision)
                low, high = labels.window.limits(self._design(rows))
                certain |= bool(low.min() < IMPOSSIBLE or high.max() == 1)
                middle = self._probabilities(labels.window.origin[None], rows)[0]
                least, at_origin, most = (
                    drawing.thresholds_of(p * trials[rows]) for p in (low, middle, high)
                )
                state = drawing.state_of(resampling.draws.of_block(number_of_block(chunk, within)))
                observed, in_block = successes[rows].astype(plan.precision), []
                for first in range(0, m, GROUP):
                    q = min(GROUP, m - first)
                    drawn = K[: q * b].reshape(q, b)
                    number = drawing.draw_known(
                        state, np.arange(b + 1), least, at_origin, most, observed, first,
                        resampling.seat, drawn, *found,
                    )  # fmt: skip
                    if not listed:
                        in_block.append([array[:number].copy() for array in found])
                    add_products(sums[first : first + q], drawn, Phi)
                if not listed:
                    parts = [np.concatenate(part) for part in zip(*in_block, strict=True)]
                    first_of, uniforms, owner = drawing.sorted_by_row(b, *parts)
                    counts = np.diff(first_of).astype(owner_type)
                    below = drawing.number_below(middle, counts, uniforms)
                    found_blocks.append((counts, below, uniforms, owner.astype(owner_type)))
            for array in (resampling.sample.inputs.X, *self._kept_arrays):
                release(array)
            return sums, found_blocks, certain

        with single_thread():
            for sums, found_blocks, certain in map_in_order(of_chunk, self._chunks(), self.n_jobs):
                points += sums
                labels.blocks.extend(found_blocks)
                labels.may_be_certain |= certain
        for term, columns in zip(flat(plan.terms), plan.columns_of_terms, strict=True):
            of_term = points[:, columns]
            labels.known.append((term.columns, np.ascontiguousarray(of_term)))

    def _chunks(self) -> Iterator[tuple[int, slice]]:
        """Go through the chunks of rows, with their numbers."""
        n = len(self.resampling.sample)
        for index, start in enumerate(range(0, n, CHUNK_ROWS)):
            yield index, slice(start, min(start + CHUNK_ROWS, n))

    def _within(
        self,
        labels: FreeLabels,
        plan: ChunkPlan,
        theta: FloatArray,
        which: IntArray,
        Z: FloatArray,
    ) -> IntArray:
        """Fill in Z of those θ that are in a window, and return the others."""
        inside = labels.window.holds(theta[which]) if len(which) else np.zeros(0, dtype=np.bool_)
        if not inside.any():
            return which
        with self._lock:
            self._sum_known(labels, plan)
        members = which[inside]
        size = max(1, STEP_BYTES // (8 * max(self.resampling.m * plan.ends[-1], BLOCK_ROWS)))
        parts = [members[start : start + size] for start in range(0, len(members), size)]
        # a share of one pass per worker
        workers = number_of_workers(self.n_jobs)
        parts = [share for part in parts for share in np.array_split(part, workers) if len(share)]

        def evaluate(part: IntArray) -> IntArray:
            found, certain = self._pass(labels, plan, theta[part])
            Z[part] = found
            return part[certain]

        certain = list(map_in_order(evaluate, parts, self.n_jobs))
        return np.concatenate([which[~inside], *certain])

    def _pass(
        self, labels: FreeLabels, plan: ChunkPlan, theta: FloatArray
    ) -> tuple[FloatArray, BoolArray]:
        """Compute Z (T, m) of θ in a window, and at which of them an outcome is impossible.

        Z of the latter is of no use: where a probability is 0 or 1 the gradient is another one, and
        outcomes may contradict it.
        """
        from exactregion.engine import drawing  # Numba is slow to import

        T, m, width = len(theta), self.resampling.m, plan.ends[-1]
        z = labels.window.coordinates(theta)
        tree = Tree.of(z, [visited for visited in labels.visited if visited.plan is plan])
        theta = theta[tree.order]
        inputs, factors = self.resampling.sample.inputs, _Factors.of(plan)
        certain = np.zeros(T, dtype=np.bool_)
        # whole numbers of half the size take half the time
        in_whole = _has_short_multiples(plan) and labels.most * MOST_MULTIPLE < 2**31
        offsets = np.zeros((T, m, width), dtype=np.int32 if in_whole else np.float64)
        counts = labels.blocks[0][0]
        is_kept = labels.has_room_for(offsets.nbytes + T * len(inputs) * counts.itemsize)
        visited = np.empty((T, len(inputs) if is_kept else 0), counts.dtype)
        centre = np.zeros((T, width))
        precision = 2.0 ** probability_bits(inputs.extent)
        rounded: Any = 0.0
        in_chunk: Any = 0.0
        current = 0
        size = max(1, min(8, AT_ONCE // max(1, factors.number)))
        batches = [slice(start, min(start + size, T)) for start in range(0, T, size)]
        room_P, room_mass = np.empty((2, T * BLOCK_ROWS))
        with single_thread():
            for index, (chunk, rows) in enumerate(self._blocks()):
                if chunk != current:
                    rounded, in_chunk, current = rounded + in_chunk, 0.0, chunk
                b = rows.stop - rows.start
                P, mass = (room[: T * b].reshape(T, b) for room in (room_P, room_mass))
                trials = np.asarray(inputs.trials[rows], dtype=np.float64)
                multiples = self._multiples(plan, rows)
                left, right = factors.of_rows(multiples, self._lengths(plan, rows))
                evaluate: Any = self.model.on_rows(self._inputs(rows))
                sums = np.empty((T, factors.number))
                for batch in batches:
                    here = P[batch] = evaluate(theta[batch])
                    if labels.may_be_certain:
                        certain[batch] |= (here.min(axis=1) < IMPOSSIBLE) | (here.max(axis=1) == 1)
                    products = np.empty((len(here), factors.number, b))
                    drawing.weigh(here, trials, precision, left, right, mass[batch], products)
                    sums[batch] = products.sum(axis=-1)
                centre += _expected(mass, multiples)
                counts, at_origin, *others = labels.blocks[index]
                places = tree.places(rows, at_origin)
                drawing.flip_free(P, tree.parent, places, (counts, *others), multiples, offsets)
                if is_kept:
                    visited[:, rows] = places[:T]
                in_chunk = in_chunk + sums
        tree.add_up(offsets)
        if is_kept:
            with self._lock:
                labels.keep(plan, z[tree.order], visited, offsets)
        sums_of_rows = offsets, centre, factors.by_term(rounded + in_chunk)
        back = np.argsort(tree.order)
        return self._measured(labels, plan, theta, sums_of_rows)[back], certain[back]

    def _measured(
        self,
        labels: FreeLabels,
        plan: ChunkPlan,
        theta: FloatArray,
        sums: tuple[Any, FloatArray, list[Any]],
    ) -> FloatArray:
        """Turn sums over all rows into Z (T, m): offsets, centres, information or variance."""
        from exactregion.engine import compiled  # Numba is slow to import

        offsets, centre, rounded = sums
        m, T = self.resampling.m, len(theta)
        measured, expected = [], []
        terms = zip(
            flat(plan.terms), plan.columns_of_terms, plan.units, plan.scales, labels.points(plan),
            strict=True,
        )  # fmt: skip
        for which, (term, columns, unit, scale, known) in enumerate(terms):
            measure: Any = term.measure
            W, how, factor = np.zeros((T, 0, 0)), compiled.CENTRE, 1.0
            if isinstance(measure, Whitened):
                how, W = compiled.METRIC, metric_of(measure, rounded[which], scale, theta)
                d = np.full(T, float(columns.stop - columns.start))
                expectation = None if measure.project else d
            else:
                factor = measure.scale
                if isinstance(measure, FromMean):
                    how, factor = compiled.MEAN, measure.scale / m**2
                expectation = None
                if plan.statistic.uses_expectations:
                    expectation = measure.expectation(rounded[which], m)
            expected.append(expectation if plan.statistic.uses_expectations else None)
            out = np.empty((T, m))
            with np.errstate(over="ignore"):
                compiled.measure_offsets(
                    known,
                    offsets,
                    columns.start,
                    unit,
                    (how, centre[:, columns] * unit, np.ascontiguousarray(W), factor, out),
                )
            measured.append(out)
        (Z,) = combined(plan.statistic, plan.terms, measured, expected, with_parts=False)
        check_numbers(Z)
        return Z

    # --- θ outside of windows ---

    def _drawn(self, theta: FloatArray, plan: ChunkPlan) -> FloatArray:
        """Draw all labels of one θ (d,), and compute Z (m,)."""
        sample = self.resampling.sample
        inputs = sample.inputs

        # the gradient is zero where an outcome is certain, and its grid is that of the other rows
        largest = np.zeros(len(theta))
        for _, rows in self._blocks():
            p = self._probabilities(theta[None], rows)[0]
            uncertain = self._design(rows)[(p > 0) & (p < 1)]
            largest = np.maximum(largest, np.abs(uncertain).max(axis=0, initial=0.0))
        here = plan.at(theta[None], largest)

        def sums(numbered: tuple[int, slice]) -> Any:
            index, rows = numbered
            chunk = Chunk(
                index,
                _matrix(self._inputs(rows)),
                inputs.trials[rows],
                np.asarray(sample.successes[rows]),
                self._probabilities(theta[None], rows)[0],
            )
            release(inputs.X)
            return sums_of_chunk(chunk, here, with_bins=False)

        total = reduce(add, map_in_order(sums, self._chunks(), self.n_jobs))
        return here.statistics(total)[0]


def _has_short_multiples(plan: ChunkPlan) -> bool:
    """Return whether all columns, in multiples of their units, fit into two bytes."""
    pairs = zip(plan.bounds, plan.units, strict=True)
    return all((bound / unit).max() <= MOST_MULTIPLE for bound, unit in pairs)


def _expected(mass: FloatArray, multiples: Any) -> FloatArray:
    """Sum features (b, r), multiples of units, over expected successes (T, b), to half units."""
    sums = np.zeros((len(mass), multiples.shape[1]))
    room = np.empty((CONVERTED_ROWS, multiples.shape[1]))
    for start in range(0, len(multiples), CONVERTED_ROWS):
        part = multiples[start : start + CONVERTED_ROWS]
        features = room[: len(part)]
        features[:] = part
        sums += mass[:, start : start + CONVERTED_ROWS] @ features  # which is exact
    return np.asarray(np.rint(2 * sums) / 2)


def _matrix(X: FloatArray) -> FloatArray:
    """Return inputs as rows of a table, (b, d)."""
    return np.asarray(X).reshape(len(X), -1)
