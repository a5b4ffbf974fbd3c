"""Points at T θ of a window: those at its origin, and what free labels change from θ to θ."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from exactregion._typing import BoolArray, FloatArray, IntArray
from exactregion.data.sample import Inputs
from exactregion.engine.chunks import ChunkPlan
from exactregion.engine.free_labels import Free, FreeInBlock, FreeLabels, Tree, same_columns
from exactregion.engine.terms import flat
from exactregion.resampling import Columns
from exactregion.statistics.measures import Whitened

__all__ = ["MOST_MULTIPLE", "Flips", "SumsAt", "TermSums", "has_short_multiples", "places_of"]

MOST_MULTIPLE = np.iinfo(np.int16).max
"""Largest multiple of its unit that a column may be to take two bytes."""


@dataclass(frozen=True, eq=False)
class TermSums:
    """All sums of the r columns of a term at T θ.

    Points are those `known` (m, r) plus offsets (T, m, …), multiples of units (r,) in columns
    `first`, …; `scale` is what columns were multiplied by in the information, and `rounded` is
    this information (T, r, r), or the variance (T,).
    """

    known: FloatArray
    offsets: Any
    first: int
    unit: FloatArray
    scale: FloatArray
    centre: FloatArray
    rounded: Any

    def at(self, which: IntArray) -> TermSums:
        """Return the sums at some of the θ."""
        rounded = None if self.rounded is None else self.rounded[which]
        offsets, centre = self.offsets[which], self.centre[which]
        return replace(self, offsets=offsets, centre=centre, rounded=rounded)


@dataclass(frozen=True, eq=False)
class SumsAt:
    """The sums of all terms of a plan at θ (T, d), and at which of these an outcome is certain."""

    labels: FreeLabels
    plan: ChunkPlan
    theta: FloatArray
    of_terms: list[TermSums]
    certain: BoolArray

    @cached_property
    def _places(self) -> dict[bytes, int]:
        return {theta.tobytes(): place for place, theta in enumerate(self.theta)}

    @property
    def size(self) -> int:
        """Bytes of the offsets, which all terms share."""
        return int(self.of_terms[0].offsets.nbytes)

    def hold(self, labels: FreeLabels, plan: ChunkPlan, theta: FloatArray) -> bool:
        """Return whether these are the sums of a plan in a window, at all θ."""
        if self.labels is not labels or self.plan is not plan:
            return False
        return all(one.tobytes() in self._places for one in theta)

    def at(self, theta: FloatArray) -> SumsAt:
        """Return the sums at some θ, in their order."""
        which = np.array([self._places[one.tobytes()] for one in theta])
        terms = [one.at(which) for one in self.of_terms]
        return replace(self, theta=theta, of_terms=terms, certain=self.certain[which])


class Flips:
    """What free labels change at T θ, block after block: `offsets` (T, m, …) in units of columns.

    Until `end`, they are the steps from the θ that each is reached from.
    """

    def __init__(self, plan: ChunkPlan, labels: FreeLabels, tree: Tree, inputs: Inputs) -> None:
        T, width = len(tree.order), plan.width
        self.plan, self.labels, self.tree = plan, labels, tree
        # whole numbers of half the size take half the time
        most = labels.most * inputs.extent.row_trials * MOST_MULTIPLE
        in_whole = has_short_multiples(plan) and most < 2**31
        shape = (T, plan.draws.m, width)
        self.offsets = np.zeros(shape, dtype=np.int32 if in_whole else np.float64)
        dtype = labels.blocks[0].below.dtype
        size = self.offsets.nbytes + T * labels.columns * dtype.itemsize
        self.is_kept = width > 0 and labels.has_room_for(size)
        self._places = np.empty((T, labels.columns if self.is_kept else 0), dtype)
        self._column = 0
        self._open: list[tuple[Any, ...]] = []
        self._missed: list[tuple[IntArray, IntArray, Any]] = []

    def add(self, listed: FreeInBlock, columns: Columns, P: FloatArray, Phi: Any) -> None:
        """Add a block with features (b, r), by its probabilities (T, b)."""
        rows, thresholds = columns.rows[listed.columns], columns.thresholds(P, listed.columns)
        exact = np.zeros(len(rows), dtype=np.float32)
        self._add(listed, Phi, thresholds, np.zeros(0), rows=rows, free=listed.free, guard=exact)

    def add_by_logits(
        self,
        coefficients: FloatArray,
        score: FloatArray,
        listed: FreeInBlock,
        start: int,
        Phi: Any,
    ) -> None:
        """Add a block of labels with features (b, r), by logits that are polynomials of a score.

        Where these are too close to a uniform to tell, `settle` does, which is to be called in the
        end; the block begins at row `start`.
        """
        counts, uniforms, owner = listed.free
        rows = np.arange(len(score))[listed.columns]
        places, too_close = self._add(
            listed,
            Phi,
            coefficients,
            score[listed.columns],
            rows=rows,
            free=(counts, listed.logits, owner),
            guard=listed.guard,
        )
        if len(too_close):
            t, column = np.divmod(too_close, len(rows))
            row = rows[column]
            end = np.cumsum(counts, dtype=np.int64)[row]
            counts = counts[row]
            label = _ranges(end, counts)
            place, step = places[t, column], Phi[row]
            found = t, start + row, place, counts, uniforms[label], owner[label], step
            self._open.append(found)

    def settle(self, probabilities: Callable[[IntArray, IntArray], FloatArray]) -> None:
        """Find the labels that were too close to tell, by probabilities of some θ and a row each.

        Until `end`, they count as failures: so they do for θ that are reached from here.
        """
        from exactregion.engine.drawing import number_below  # Numba is slow to import

        if not self._open:
            return
        parts = zip(*self._open, strict=True)
        t, row, place, counts, uniforms, owner, Phi = map(np.concatenate, parts)
        which = np.arange(len(t))
        number = number_below(probabilities(t, row), which, counts, uniforms)
        missed = number.astype(np.int64) - place
        label = _ranges(np.cumsum(counts, dtype=np.int64) - counts + number, missed)
        which = np.repeat(which, missed)
        self._missed.append((t[which], owner[label], Phi[which]))

    def _add(
        self,
        listed: FreeInBlock,
        Phi: Any,
        values: FloatArray,
        score: FloatArray,
        *,
        rows: IntArray,
        free: Free,
        guard: Any,
    ) -> tuple[Any, IntArray]:
        """Add a block, and return places of labels and the thresholds that are too close to one."""
        from exactregion.engine import drawing  # Numba is slow to import

        of_rows = slice(self._column, self._column + len(rows))
        self._column = of_rows.stop
        parent, places = self.tree.parent, self.tree.places(of_rows, listed.below)
        too_close: IntArray = drawing.flip_free(
            values, score, rows, parent, places, free, guard, Phi, self.offsets
        )
        if self.is_kept:
            self._places[:, of_rows] = places[: len(values)]
        return places, too_close

    def end(self, z: FloatArray, lock: Any) -> None:
        """Turn steps into offsets from the origin, and remember them for later passes."""
        self.tree.add_up(self.offsets)
        if self.is_kept:
            with lock:
                self.labels.keep(self.plan, z, self._places, self.offsets)
        # places that were kept are those without the labels that were too close to tell
        for t, owner, Phi in self._missed:
            np.add.at(self.offsets, (t, owner), Phi)

    def of_terms(self, centre: FloatArray, rounded: Sequence[Any]) -> list[TermSums]:
        """Return all sums of each term; its centre (T, …) is given in units."""
        plan = self.plan
        parts = zip(
            plan.columns_of_terms,
            plan.units,
            plan.scales,
            self.labels.points(plan),
            rounded,
            strict=True,
        )
        found = []
        for columns, unit, scale, known, of_term in parts:
            assert known is not None
            at = centre[:, columns] * unit
            found.append(TermSums(known, self.offsets, columns.start, unit, scale, at, of_term))
        return found


def _ranges(ends: IntArray, lengths: IntArray) -> IntArray:
    """Return end - length, …, end - 1 for each end, one range after the other."""
    lengths = lengths.astype(np.int64)
    found: IntArray = np.repeat(ends - np.cumsum(lengths), lengths) + np.arange(lengths.sum())
    return found


def places_of(plan: ChunkPlan, other: ChunkPlan) -> list[int] | None:
    """Return which terms of another plan have the sums of each term; None if some are missing."""
    if plan is other:
        return list(range(len(plan.units)))
    if plan.statistic.uses_expectations and not other.statistic.uses_expectations:
        return None
    places = []
    for term, unit, scale in zip(flat(plan.terms), plan.units, plan.scales, strict=True):
        known = zip(flat(other.terms), other.units, other.scales, strict=True)
        same = (
            isinstance(term.measure, Whitened) == isinstance(one.measure, Whitened)
            and np.array_equal(unit, of_one)
            and np.array_equal(scale, scale_of_one)
            and same_columns(term.columns, one.columns)
            for one, of_one, scale_of_one in known
        )
        places.append(next((place for place, is_same in enumerate(same) if is_same), -1))
    return None if -1 in places else places


def has_short_multiples(plan: ChunkPlan) -> bool:
    """Return whether all columns, in multiples of their units, fit into two bytes."""
    pairs = zip(plan.bounds, plan.units, strict=True)
    return all((bound / unit).max() <= MOST_MULTIPLE for bound, unit in pairs)
