"""Z for θ of a window where rows are many: passes over chunks, no array as long as the data.

One pass draws all labels: it sums those at the middle of the window, and lists the free ones, about
9·m·√n within a few standard errors (see `free`). From then on a batch of θ takes one more pass,
without any drawing, whose sums serve all statistics of these θ: free labels say by how much points
differ from those at the middle, and the rows give what inputs alone decide, centre, information and
variance; with one input some nodes do (see `nodes`). Columns are kept in a temporary file, in two
bytes each, if there is room for them. What is summed has the order and the bits of the other
engines, so that ranks are the same.

Where the gradient of the logit changes with θ, its sums are made anew for each θ (see `gradients`),
from labels at the middle of the window that are drawn once more per pass. A row of several trials
has a threshold for each of its successes, and its label is free where it is between the limits of
one of them.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property, partial, reduce
from operator import add
from typing import Any

import numpy as np

from exactregion._typing import FloatArray, IntArray
from exactregion.data.sample import BLOCK_ROWS, CHUNK_ROWS, blocks
from exactregion.data.sources import release
from exactregion.data.workers import map_in_order, number_of_workers
from exactregion.engine.blocks import IMPOSSIBLE, check_numbers
from exactregion.engine.chunks import (
    Chunk,
    ChunkPlan,
    ChunkSums,
    LabelsOfBlock,
    labels_of,
    room_for_labels,
    sums_of_chunk,
)
from exactregion.engine.flips import Flips, SumsAt, TermSums, places_of
from exactregion.engine.free_labels import (
    Ellipsoid,
    FreeInBlock,
    FreeLabels,
    Tree,
)
from exactregion.engine.gradients import GradientSums, largest_entries
from exactregion.engine.incremental import MOST_SUCCESSES
from exactregion.engine.listing import FreeBetween, list_free
from exactregion.engine.nodes import guard_of
from exactregion.engine.rows import Rows, as_table
from exactregion.engine.shared import Products, RowsAt, SharedSums
from exactregion.engine.terms import combined, flat, metric_of
from exactregion.features.grid import add_products
from exactregion.features.landmarks import InputSummary, Landmarks, sample_rows
from exactregion.features.threads import single_thread
from exactregion.models.base import Model
from exactregion.resampling import Columns, Resampling
from exactregion.statistics.base import Statistic
from exactregion.statistics.measures import FromMean, Whitened
from exactregion.statistics.score import gradient_columns

__all__ = ["ManyRows"]

STEP_BYTES = 2**26
"""Memory for the points of the θ of one pass, 64 MiB: more θ take several passes."""

MOST_FREE = 2**26
"""Free labels of a further window, 10 bytes each: 700 MB at most. θ farther apart than that are
evaluated one by one."""

WORTH_A_WINDOW = 3
"""A window costs about as much as drawing all labels of this many θ."""


@dataclass(frozen=True, eq=False)
class ManyRows:
    """A family on more than one chunk of rows, and ranks of any θ.

    Use it where `is_possible`: probabilities are a known function of a linear predictor.
    """

    model: Model
    resampling: Resampling
    window: Callable[[], Ellipsoid]  # where searches look
    n_jobs: int | None = None
    _windows: list[FreeLabels] = field(default_factory=list, init=False, repr=False)
    _plans: list[ChunkPlan] = field(default_factory=list, init=False, repr=False)
    _recent: list[SumsAt] = field(default_factory=list, init=False, repr=False)
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
        if not model.has_known_link or inputs.extent.row_trials > MOST_SUCCESSES:
            return False
        return all(
            model.linear_design(inputs.X[start : start + CHUNK_ROWS]) is not None
            for start in range(0, len(inputs), CHUNK_ROWS)
        )

    @cached_property
    def rows(self) -> Rows:
        """The rows of the sample, by block."""
        return Rows(self.model, self.resampling.sample)

    def plan_for(self, statistic: Statistic) -> ChunkPlan | None:
        """Return what a statistic sums; None where its columns change with θ in other ways."""
        inputs, draws = self.resampling.sample.inputs, self.resampling.draws
        largest = self.rows.largest_entries
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

    # --- windows ---

    def _add(self, window: Ellipsoid, plan: ChunkPlan) -> FreeLabels:
        """List the free labels of a window, and sum the labels at its origin, in one pass.

        The first window and the last one are kept.
        """
        labels, shared = FreeLabels(window), self._shared(plan)
        total = np.zeros((self.resampling.m, shared.width))
        self.rows.keep(shared)
        by_logits = self.rows.cells is not None

        def of_chunk(numbered: tuple[int, slice]) -> tuple[list[FreeInBlock], FloatArray]:
            listed, codes = self._list_free(window, *numbered, by_logits=by_logits)
            return listed, self._points_of(window.origin, shared, *numbered, codes)

        with single_thread():
            for listed, points in map_in_order(of_chunk, self.rows.chunks(), self.n_jobs):
                labels.blocks.extend(listed)
                total += points
        labels.shorten()
        labels.know(shared, total)
        self._windows[:] = [*self._windows[:1], labels]
        self._recent.clear()  # they would keep the window that was dropped
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
            low, high = self._limits(around, np.asarray(self.model.linear_design(inputs.X[some])))
        free = self.resampling.m * float((inputs.trials[some] * (high - low)).mean())
        free *= len(inputs)
        return around if free <= MOST_FREE else None

    def _limits(self, window: Ellipsoid, design: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Bound the probabilities of rows (b, d) of the linear predictor over a window."""
        model: Any = self.model
        return window.limits(design, model.inverse_link)

    def _sum_known(self, labels: FreeLabels, plan: ChunkPlan) -> None:
        """Sum the features of a plan over the labels at the origin, unless that was done before."""
        if all(points is not None for points in labels.points(plan)):
            return
        self.rows.keep(plan)
        total = np.zeros((self.resampling.m, plan.width))

        def of_chunk(numbered: tuple[int, slice]) -> FloatArray:
            return self._points_of(labels.window.origin, plan, *numbered)

        with single_thread():
            for points in map_in_order(of_chunk, self.rows.chunks(), self.n_jobs):
                total += points
        labels.know(plan, total)

    def _points_of(
        self, theta: FloatArray, plan: ChunkPlan, chunk: int, rows: slice, codes: Any | None = None
    ) -> FloatArray:
        """Sum the features of a plan over the labels of a chunk at θ (d,), which may be coded."""
        shape, units = (self.resampling.m, plan.width), np.concatenate([*plan.units, np.zeros(0)])
        extent = self.resampling.sample.inputs.extent
        points, room = np.zeros(shape), room_for_labels(shape[0], extent, plan.precision)
        if not plan.width:
            return points
        drawn = self._labels_at(theta, chunk, plan.precision, codes)
        for within in blocks(rows.stop - rows.start):
            block = slice(rows.start + within.start, rows.start + within.stop)
            Phi = (self.rows.multiples(plan, block) * units).astype(plan.precision)
            for first, K in drawn(within, room):
                add_products(points[first : first + len(K)], K, Phi)
        self.rows.release()
        return points

    def _list_free(
        self, window: Ellipsoid, chunk: int, rows: slice, *, by_logits: bool
    ) -> tuple[list[FreeInBlock], Any | None]:
        """List the labels of a chunk that differ between θ of a window; see `list_free`."""
        origin, trials = window.origin[None], self.resampling.sample.inputs.trials

        def described(rows: slice) -> tuple[FreeBetween, dict[str, Any]]:
            design, columns = self.rows.design(rows), Columns(np.asarray(trials[rows]))
            low, high = self._limits(window, design)
            p, guard = self.rows.probabilities(origin, rows), None
            if by_logits:
                guard = guard_of(low, high, np.abs(design) @ window.largest)
            uncertain, gradient = ((p > 0) & (p < 1))[:, :, None], self.rows.gradient(origin, rows)
            return FreeBetween.of(columns, low, high, p[0]), {
                "guard": guard,
                "may_be_certain": bool(low.min() < IMPOSSIBLE or high.max() == 1),
                "largest": largest_entries(np.where(uncertain, gradient, 0.0)),
            }

        within = blocks(rows.stop - rows.start)
        shifted = [slice(rows.start + each.start, rows.start + each.stop) for each in within]
        limits, known = zip(*map(described, shifted), strict=True)
        self.rows.release()
        listed, codes = list_free(limits, self.resampling.draws, chunk)
        parts = zip(limits, listed, known, strict=True)
        return [between.found(free, **of_block) for between, free, of_block in parts], codes

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
        shared, in_block = self._shared(plan), BLOCK_ROWS
        with self._lock:
            self._sum_known(labels, shared)
            if self.model.has_constant_gradient:
                self.rows.nodes_of(shared)
            else:
                in_block *= 4 * theta.shape[1]  # columns of a block as they are worked on
        members = which[inside]
        size = max(1, STEP_BYTES // (8 * max(self.resampling.m * shared.width, in_block)))
        workers, suited = number_of_workers(self.n_jobs), self.rows.suited(theta[members])
        parts = [
            # a share of one pass per worker
            one
            for some in (members[suited], members[~suited])
            for start in range(0, len(some), size)
            for one in np.array_split(some[start : start + size], workers)
            if len(one)
        ]

        def fill_in(part: IntArray) -> None:
            is_shared = self.model.has_constant_gradient
            evaluate = self._by_shared_sums if is_shared else self._by_own_gradients
            Z[part] = evaluate(labels, plan, theta[part])

        deque(map_in_order(fill_in, parts, self.n_jobs), maxlen=0)
        return which[~inside]

    def _shared(self, plan: ChunkPlan) -> ChunkPlan:
        """Return a plan of all terms whose columns are the same for every θ, and maybe of others.

        A plan that was seen before is returned if it has the terms of this one: searches rank the
        same θ by several statistics, whose sums are then found at once.
        """
        if not self.model.has_constant_gradient:
            return plan.without_gradient
        found = next((known for known in self._plans if places_of(plan, known) is not None), plan)
        if found is plan:
            others = [known for known in self._plans if places_of(known, plan) is None]
            self._plans[:] = [plan, *others]
        return found

    def _by_shared_sums(self, labels: FreeLabels, plan: ChunkPlan, theta: FloatArray) -> FloatArray:
        """Compute Z (T, m) of θ in a window, for a gradient that is the same for all of them."""
        shared = self._shared(plan)
        recent = list(self._recent)
        found = next((sums for sums in recent if sums.hold(labels, shared, theta)), None)
        if found is None:
            tree = self._tree(labels, shared, theta)
            by_nodes = bool(self.rows.suited(theta).all())
            sums_at = self._sums_by_nodes if by_nodes else self._sums
            found = sums_at(labels, shared, theta[tree.order], tree)
            self._remember(found)
        sums = found.at(theta)
        terms = places_of(plan, shared)
        assert terms is not None
        Z = self._measured(plan, theta, [sums.of_terms[k] for k in terms])
        if sums.certain.any():
            # no use are those by a gradient that is zero where an outcome is certain
            largest = np.broadcast_to(labels.largest, theta.shape)[sums.certain]
            Z[sums.certain] = self._by_own_gradients(labels, plan, theta[sums.certain], largest)
        return Z

    def _remember(self, sums: SumsAt) -> None:
        """Keep the sums of some passes: a search asks for the same θ by another statistic next."""
        with self._lock:
            kept = [sums, *self._recent]
            sizes = np.cumsum([one.size for one in kept])
            self._recent[:] = kept[: int(np.searchsorted(sizes, STEP_BYTES, side="right"))]

    def _by_own_gradients(
        self,
        labels: FreeLabels,
        plan: ChunkPlan,
        theta: FloatArray,
        largest: FloatArray | None = None,
    ) -> FloatArray:
        """Compute Z (T, m) of θ in a window that have a gradient each.

        Its `largest` entries (T, d) are about those at the origin, or are given.
        """
        shared = plan.without_gradient
        tree = self._tree(labels, shared, theta)
        theta, back = theta[tree.order], np.argsort(tree.order)
        guess = np.broadcast_to(labels.largest if largest is None else largest, theta.shape)
        gradients = GradientSums(
            guess[tree.order],
            self.resampling.sample.inputs.extent,
            self.resampling.m,
            may_be_certain=labels.may_be_certain,
        )
        sums = self._sums(labels, shared, theta, tree, gradients)
        Z = self._measured(plan, theta, sums.of_terms, gradients)
        Z[gradients.is_ruled_out] = np.inf
        again = gradients.is_wrong  # sums by a wrong grid are of no use
        if again.any():
            largest = gradients.largest[again]
            Z[again] = self._by_own_gradients(labels, plan, theta[again], largest)
        return Z[back]

    @staticmethod
    def _tree(labels: FreeLabels, plan: ChunkPlan, theta: FloatArray) -> Tree:
        """Choose from where each θ is reached, for the columns of a plan."""
        z = labels.window.coordinates(theta)
        return Tree.of(z, [visited for visited in labels.visited if visited.plan is plan])

    def _sums(
        self,
        labels: FreeLabels,
        plan: ChunkPlan,
        theta: FloatArray,
        tree: Tree,
        gradients: GradientSums | None = None,
    ) -> SumsAt:
        """Sum over all rows, in one pass: the terms of a plan, and gradients if there are some."""
        T, inputs = len(theta), self.resampling.sample.inputs
        certain, drawn = np.zeros(T, dtype=np.bool_), None
        flips = Flips(plan, labels, tree, inputs)
        shared = SharedSums(plan, flips, inputs)
        room = np.empty((2, T * BLOCK_ROWS))
        current = -1
        with single_thread():
            for index, (chunk, rows) in enumerate(self.rows.blocks()):
                if chunk != current:
                    current = chunk
                    shared.end_chunk()
                    if gradients is not None:
                        gradients.end_chunk()
                        drawn = self._labels_at(labels.window.origin, chunk, gradients.precision)
                b, start = rows.stop - rows.start, rows.start - chunk * CHUNK_ROWS
                P, mass = room[:, : T * b].reshape(2, T, b)
                columns = Columns(np.asarray(inputs.trials[rows]))
                at = RowsAt(slice(start, start + b), columns, P, mass, labels.blocks[index])
                shared.add(
                    at,
                    self.rows.multiples(plan, rows),
                    self.rows.lengths(plan, rows),
                    self.rows.at_some(theta, rows),
                )
                if gradients is not None and drawn is not None:
                    gradients.add(at, partial(self.rows.gradient_of_some, theta, rows), drawn)
                elif labels.may_be_certain:
                    certain |= (P.min(axis=1) < IMPOSSIBLE) | (P.max(axis=1) == 1)
        flips.end(labels.window.coordinates(theta), self._lock)
        return SumsAt(labels, plan, theta, shared.of_terms(), certain)

    def _sums_by_nodes(
        self, labels: FreeLabels, plan: ChunkPlan, theta: FloatArray, tree: Tree
    ) -> SumsAt:
        """Do the same for θ that suit the nodes: rows give free labels alone."""
        nodes = self.rows.nodes_of(plan)
        assert nodes is not None
        flips = Flips(plan, labels, tree, self.resampling.sample.inputs)
        coefficients = nodes.cells.polynomial(theta)
        with single_thread():
            for listed, (_, rows) in zip(labels.blocks, self.rows.blocks(), strict=True):
                score, Phi = self.rows.score(rows), self.rows.multiples(plan, rows)
                flips.add_by_logits(coefficients, score, listed, rows.start, Phi)
            flips.settle(partial(self.rows.probabilities_of, theta))
            flips.end(labels.window.coordinates(theta), self._lock)
        centre, products = nodes.at(theta)
        rounded = Products.of(plan).by_term(products)
        certain = np.zeros(len(theta), dtype=np.bool_)
        return SumsAt(labels, plan, theta, flips.of_terms(centre, rounded), certain)

    def _labels_at(
        self, theta: FloatArray, chunk: int, precision: Any, codes: Any | None = None
    ) -> LabelsOfBlock:
        """Return what draws the labels of a chunk at one θ (d,), or has drawn them."""
        sample = self.resampling.sample
        start = chunk * CHUNK_ROWS
        rows = slice(start, min(start + CHUNK_ROWS, len(sample)))
        at_theta = Chunk(
            chunk,
            None,
            np.asarray(sample.inputs.trials[rows]),
            np.asarray(sample.successes[rows]),
            self.rows.probabilities(theta[None], rows)[0],
        )
        return labels_of(at_theta, self.resampling.draws, sample.inputs.extent, precision, codes)

    def _measured(
        self,
        plan: ChunkPlan,
        theta: FloatArray,
        of_terms: list[TermSums],
        gradients: GradientSums | None = None,
    ) -> FloatArray:
        """Turn sums over all rows into Z (T, m)."""
        from exactregion.engine import compiled  # Numba is slow to import

        m, T = self.resampling.m, len(theta)
        measured, expected = [], []
        of_gradient = None if gradients is None else gradients.of_term()
        of_shared = iter(of_terms)
        for term in flat(plan.terms):
            is_shared = of_gradient is None or term.columns is not gradient_columns
            sums = next(of_shared) if is_shared else of_gradient
            assert sums is not None
            measure: Any = term.measure
            W, how, factor = np.zeros((T, 0, 0)), compiled.CENTRE, 1.0
            if isinstance(measure, Whitened):
                how, W = compiled.METRIC, metric_of(measure, sums.rounded, sums.scale, theta)
                d = np.full(T, float(len(sums.unit)))
                expectation = None if measure.project else d
            else:
                factor = measure.scale
                if isinstance(measure, FromMean):
                    how, factor = compiled.MEAN, measure.scale / m**2
                expectation = None
                if plan.statistic.uses_expectations:
                    expectation = measure.expectation(sums.rounded, m)
            expected.append(expectation if plan.statistic.uses_expectations else None)
            out = np.empty((T, m))
            with np.errstate(over="ignore"):
                compiled.measure_offsets(
                    sums.known,
                    sums.offsets,
                    sums.first,
                    sums.unit,
                    (how, sums.centre, np.ascontiguousarray(W), factor, out),
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
        for _, rows in self.rows.blocks():
            p = self.rows.probabilities(theta[None], rows)[0]
            uncertain = self.rows.gradient(theta[None], rows)[0, (p > 0) & (p < 1)]
            largest = np.maximum(largest, np.abs(uncertain).max(axis=0, initial=0.0))
        here = plan.at(theta[None], largest)

        def sums(numbered: tuple[int, slice]) -> Any:
            index, rows = numbered
            chunk = Chunk(
                index,
                as_table(self.rows.inputs(rows)),
                inputs.trials[rows],
                np.asarray(sample.successes[rows]),
                self.rows.probabilities(theta[None], rows)[0],
            )
            release(inputs.X)
            return sums_of_chunk(chunk, here, with_bins=False)

        total = reduce(add, map_in_order(sums, self.rows.chunks(), self.n_jobs))
        if self.rows.suited(theta[None])[0]:
            total = self._with_nodes(total, plan, theta)
        return here.statistics(total)[0]

    def _with_nodes(self, sums: ChunkSums, plan: ChunkPlan, theta: FloatArray) -> ChunkSums:
        """Take centre, information and variance from the nodes, as within windows."""
        shared = self._shared(plan)
        with self._lock:
            nodes = self.rows.nodes_of(shared)
        terms = places_of(plan, shared)
        assert nodes is not None
        assert terms is not None
        centre, products = nodes.at(theta[None])
        found = Products.of(shared).by_term(products)
        rounded: list[Any] = [0.0 if found[k] is None else found[k] for k in terms]
        columns = np.concatenate(
            [np.arange(*shared.columns_of_terms[k].indices(shared.width)) for k in terms]
        )
        return replace(
            sums, centre=centre[0, columns] * np.concatenate(plan.units), rounded={0: rounded}
        )
