"""Sums over many rows at T θ of a window, of columns that are the same for every θ.

Points are those at the origin of the window, and what free labels change on the way from θ to θ.
Centre, information and variance are summed over all rows.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np

from exactregion._typing import FloatArray, IntArray
from exactregion.data.sample import Inputs
from exactregion.engine.chunks import ChunkPlan
from exactregion.engine.flips import Flips, TermSums
from exactregion.engine.free_labels import FreeInBlock
from exactregion.engine.terms import flat
from exactregion.features.grid import probability_bits, squared_lengths
from exactregion.resampling import Columns
from exactregion.statistics.measures import Whitened

__all__ = ["Products", "RowsAt", "SharedSums"]

AT_ONCE, MOST_AT_ONCE = 32, 8
"""Products of θ and columns in a block of rows that are worked on at once, 1 MB that stays in the
cache; and θ, where there are few products."""

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


class SharedSums:
    """Sums of the terms of a plan, whose columns come as multiples of their units."""

    def __init__(self, plan: ChunkPlan, flips: Flips, inputs: Inputs) -> None:
        T, width = len(flips.offsets), plan.width
        self.plan, self.flips = plan, flips
        self.precision = 2.0 ** probability_bits(inputs.extent)
        self.centre = np.zeros((T, width))
        self.products = Products.of(plan)
        self._rounded, self._in_chunk = np.zeros((2, T, len(self.products.factors[0])))

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
        trials = columns.trials.astype(np.float64)
        values, factors = self.products.values(multiples, lengths), self.products.factors
        number = len(factors[0])
        size = max(1, min(MOST_AT_ONCE, AT_ONCE // max(1, number)))
        room = np.empty((size, number, len(trials)))
        for start in range(0, len(P), MOST_AT_ONCE):
            evaluated = slice(start, start + MOST_AT_ONCE)
            P[evaluated] = evaluate(evaluated)
        for start in range(0, len(P), size):
            some = slice(start, start + size)
            products = room[: len(P[some])]
            drawing.weigh(P[some], trials, self.precision, values, *factors, mass[some], products)
            self._in_chunk[some] += products.sum(axis=-1)
        if not self.plan.width:
            return
        self.centre += _expected(mass, multiples)
        self.flips.add(rows.listed, columns, P, multiples)

    def of_terms(self) -> list[TermSums]:
        """Return the sums of each term, after all rows."""
        rounded = self.products.by_term(self._rounded + self._in_chunk)
        return self.flips.of_terms(self.centre, rounded)


@dataclass(frozen=True, eq=False)
class Products:
    """What is multiplied by t p (1 - p) and summed over rows: information and variance of terms.

    `pairs` are the columns of a whitened term that are multiplied, empty where its squared lengths
    are summed; None where nothing is.
    """

    plan: ChunkPlan
    pairs: list[list[tuple[int, int]] | None]

    @classmethod
    def of(cls, plan: ChunkPlan) -> Products:
        """List the products of all terms."""
        pairs: list[list[tuple[int, int]] | None] = []
        for term, unit in zip(flat(plan.terms), plan.units, strict=True):
            if isinstance(term.measure, Whitened):
                pairs.append([(a, b) for a in range(len(unit)) for b in range(a + 1)])
            else:
                pairs.append([] if plan.statistic.uses_expectations else None)
        return cls(plan, pairs)

    @cached_property
    def places(self) -> list[slice]:
        """The rows of `values` that are those of each term."""
        pairs = zip(self.pairs, self.plan.units, strict=True)
        sizes = [len(unit) if of_term else int(of_term is not None) for of_term, unit in pairs]
        ends = np.cumsum([0, *sizes]).tolist()
        return [slice(*both) for both in pairwise(ends)]

    @cached_property
    def factors(self) -> tuple[IntArray, IntArray]:
        """The rows of `values` that are multiplied, two for each of the K sums."""
        left, right = [], []
        for pairs, place in zip(self.pairs, self.places, strict=True):
            if pairs is not None:
                left += [place.start + a for a, _ in pairs] or [place.start]
                right += [place.start + b for _, b in pairs] or [-1]
        return np.array(left, dtype=np.int64), np.array(right, dtype=np.int64)

    def values(self, multiples: Any, lengths: list[FloatArray | None]) -> FloatArray:
        """Return the columns and squared lengths (…, b) of a block that are multiplied, then ones.

        Columns (b, …) of all terms come in units; squared lengths of those of a term are computed
        unless they are given.
        """
        from exactregion.engine import drawing  # Numba is slow to import

        plan = self.plan
        number = max((place.stop for place in self.places), default=0)
        found = np.ones((number + 1, len(multiples)))
        grids = zip(plan.columns_of_terms, plan.units, plan.scales, strict=True)
        terms = zip(grids, self.pairs, self.places, lengths, strict=True)
        for (columns, unit, scale), pairs, place, known in terms:
            if pairs:
                drawing.write_scaled(multiples[:, columns], unit, scale[0], found[place])
            elif pairs is not None:
                size = squared_lengths(multiples[:, columns] * unit) if known is None else known
                found[place] = size
        return found

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
