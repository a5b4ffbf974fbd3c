"""Sums over many rows at T θ of a window, of columns that are the same for every θ.

Points are those at the origin of the window, and what free labels change on the way from θ to θ.
Centre, information and variance are summed over all rows.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from exactregion._typing import FloatArray
from exactregion.data.sample import Inputs
from exactregion.engine.chunks import ChunkPlan
from exactregion.engine.free_labels import FreeInBlock, FreeLabels, Tree
from exactregion.engine.terms import flat
from exactregion.features.grid import probability_bits, squared_lengths
from exactregion.resampling import Columns
from exactregion.statistics.measures import Whitened

__all__ = ["MOST_MULTIPLE", "RowsAt", "SharedSums", "TermSums", "has_short_multiples"]

AT_ONCE, MOST_AT_ONCE = 32, 8
"""Products of θ and columns in a block of rows that are worked on at once, 1 MB that stays in the
cache; and θ, where there are few products."""

MOST_MULTIPLE = np.iinfo(np.int16).max
"""Largest multiple of its unit that a column may be to take two bytes."""

CONVERTED_ROWS = 512
"""Rows whose features are converted to floating-point numbers at once: 1 MB of 256 features stays
in the cache until the product has read it."""


@dataclass(frozen=True, eq=False)
class RowsAt:
    """A block of b rows at T θ.

    Attributes
    ----------
    within : slice
        The rows of its chunk.
    columns : Columns
        Thresholds of these rows.
    P, mass : ndarrays of shape (T, b)
        Probabilities, and expected successes on their grid.
    listed : FreeInBlock
        Free labels.
    """

    within: slice
    columns: Columns
    P: FloatArray
    mass: FloatArray
    listed: FreeInBlock


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


class SharedSums:
    """Sums of the terms of a plan, whose columns come as multiples of their units."""

    def __init__(self, plan: ChunkPlan, labels: FreeLabels, tree: Tree, inputs: Inputs) -> None:
        T, width = len(tree.order), plan.width
        self.plan, self.labels, self.tree = plan, labels, tree
        # whole numbers of half the size take half the time
        most = labels.most * inputs.extent.row_trials * MOST_MULTIPLE
        in_whole = has_short_multiples(plan) and most < 2**31
        shape = (T, plan.draws.m, width)
        self.offsets = np.zeros(shape, dtype=np.int32 if in_whole else np.float64)
        dtype = labels.blocks[0].below.dtype
        size = self.offsets.nbytes + T * inputs.total * dtype.itemsize
        self.is_kept = width > 0 and labels.has_room_for(size)
        self.places = np.empty((T, inputs.total if self.is_kept else 0), dtype)
        self.column = 0
        self.precision = 2.0 ** probability_bits(inputs.extent)
        self.centre = np.zeros((T, width))
        self.factors = _Factors.of(plan)
        self._rounded, self._in_chunk = np.zeros((2, T, self.factors.number))

    def end_chunk(self) -> None:
        """Sum what is rounded within chunks first, as other engines do."""
        self._rounded = self._rounded + self._in_chunk
        self._in_chunk = np.zeros_like(self._in_chunk)

    def add(
        self,
        rows: RowsAt,
        multiples: Any,
        lengths: list[FloatArray | None],
        evaluate: Callable[[slice], FloatArray],
    ) -> None:
        """Add a block, and fill in its P, which `evaluate` gives for some θ, and its mass."""
        from exactregion.engine import drawing  # Numba is slow to import

        P, mass, columns = rows.P, rows.mass, rows.columns
        trials, number = columns.trials.astype(np.float64), self.factors.number
        left, right = self.factors.of_rows(multiples, lengths)
        size = max(1, min(MOST_AT_ONCE, AT_ONCE // max(1, number)))
        for start in range(0, len(P), size):
            some = slice(start, start + size)
            here = P[some] = evaluate(some)
            products = np.empty((len(here), number, len(trials)))
            drawing.weigh(here, trials, self.precision, left, right, mass[some], products)
            self._in_chunk[some] += products.sum(axis=-1)
        if not self.plan.width:
            return
        self.centre += _expected(mass, multiples)
        of_rows = slice(self.column, self.column + len(columns.rows))
        places = self.tree.places(of_rows, rows.listed.below)
        drawing.flip_free(
            columns.thresholds(P), columns.rows, self.tree.parent, places, rows.listed.free,
            multiples, self.offsets,
        )  # fmt: skip
        if self.is_kept:
            self.places[:, of_rows] = places[: len(P)]
        self.column = of_rows.stop

    def of_terms(self) -> list[TermSums]:
        """Return the sums of each term, after all rows."""
        plan = self.plan
        parts = zip(
            plan.columns_of_terms,
            plan.units,
            plan.scales,
            self.labels.points(plan),
            self.factors.by_term(self._rounded + self._in_chunk),
            strict=True,
        )
        found = []
        for columns, unit, scale, known, rounded in parts:
            assert known is not None
            centre = self.centre[:, columns] * unit
            found.append(TermSums(known, self.offsets, columns.start, unit, scale, centre, rounded))
        return found


def has_short_multiples(plan: ChunkPlan) -> bool:
    """Return whether all columns, in multiples of their units, fit into two bytes."""
    pairs = zip(plan.bounds, plan.units, strict=True)
    return all((bound / unit).max() <= MOST_MULTIPLE for bound, unit in pairs)


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
