"""Cones {u : A u ≥ 0} in exact arithmetic.

Rows of A are integers of any size, so that whether a direction belongs to a cone is decided without
rounding, however close two rows or columns are. All answers come from one theorem (Farkas): either
b is a combination of the rows of A with weights ≥ 0, or there is a v with A v ≥ 0 and b·v < 0.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from exactregion._typing import BoolArray, FloatArray

__all__ = ["Cone", "Integers", "combines", "farkas", "integer_rows", "null_space"]

Integers: TypeAlias = npt.NDArray[np.object_]
"""Arrays of Python's integers, which have no largest value."""


@dataclass(frozen=True, eq=False)
class Cone:
    """A cone {u : A u ≥ 0} other than {0}, or a face of it.

    Rows of A (r, d) that are `positive` have a·u > 0 at every u in the relative interior, of which
    `interior` is one; the others are zero on all of the cone.

    Examples
    --------
    >>> cone = Cone.of(integer_rows(np.array([[1.0, 0.5], [-1.0, 0.0], [1.0, 0.0]])))
    >>> cone.positive
    array([ True, False, False])
    >>> [cone.rises(a) for a in integer_rows(np.array([[0.0, 1.0], [0.0, -1.0], [3.0, 0.0]]))]
    [True, False, False]
    """

    rows: Integers
    positive: BoolArray
    interior: Integers

    @classmethod
    def of(cls, rows: Integers) -> Cone | None:
        """Return the cone of these rows (r, d); None if it is {0}."""
        interior, positive = _interior(rows)
        return cls._with(rows, positive, interior)

    @classmethod
    def _with(cls, rows: Integers, positive: BoolArray, interior: Integers) -> Cone | None:
        if positive.any():
            return cls(rows, positive, interior)
        basis, _ = null_space(rows)
        return cls(rows, positive, basis[:, 0]) if basis.shape[1] else None

    @cached_property
    def _solved(self) -> tuple[Integers, list[int]]:
        return null_space(self.rows[~self.positive])

    @property
    def basis(self) -> Integers:
        """Columns that span the cone's linear hull: shape (d, k)."""
        return self._solved[0]

    @property
    def fixed_columns(self) -> list[int]:
        """Coordinates of θ, d - k in number, which alone reach every value of the other rows."""
        return self._solved[1]

    @property
    def dimension(self) -> int:
        """Dimension k of the linear hull."""
        return int(self.basis.shape[1])

    @cached_property
    def _inner_rows(self) -> Integers:
        """The positive rows in coordinates of the basis, in which the cone is full: (p, k)."""
        return np.asarray(self.rows[self.positive] @ self.basis)

    def rises(self, a: Integers) -> bool:
        """Return whether a·u > 0 for some u of the cone."""
        if a @ self.interior > 0:
            return True
        inner = a @ self.basis
        return bool(inner.any()) and farkas(self._inner_rows, -inner) is not None

    def facets(self, tries: int) -> Iterator[Cone]:
        """Go through the faces of one dimension less, other than {0}.

        Each is where a positive row becomes zero; the `tries` rows that are smallest at the
        interior direction are looked at, relative to their length.
        """
        inner = self._inner_rows
        where = np.flatnonzero(self.positive)
        known = np.zeros(len(inner), dtype=np.bool_)
        for row in self._nearest(tries):
            # a row that is zero on a facet found already can give no other one
            if known[row]:
                continue
            along, positive = _interior(np.vstack([inner, -inner[row : row + 1]]))
            kept = np.zeros_like(self.positive)
            kept[where] = positive[:-1]
            facet = Cone._with(self.rows, kept, np.asarray(self.basis @ along))
            if facet is not None and facet.dimension == self.dimension - 1:
                known |= ~positive[:-1]
                yield facet

    def _nearest(self, number: int) -> list[int]:
        rows = self.rows[self.positive]
        margins = rows @ self.interior
        size = max(map(abs, self.interior))
        # quotients of integers: no part of them could be held by a double
        shares = [m / (size * sum(map(abs, row))) for m, row in zip(margins, rows, strict=True)]
        return [int(row) for row in np.argsort(shares, kind="stable")[:number]]

    def holds(self, other: Cone) -> bool:
        """Return whether another face of the same cone is part of this one."""
        return not (other.positive & ~self.positive).any()

    def centred(self) -> Cone:
        """Return the cone with an interior direction far from its boundary, if one is found.

        Of the u with entries up to the reciprocal size of their column, it maximises the smallest
        a·u. That is found in floating point, and taken only if it is in the relative interior.
        """
        from scipy.optimize import linprog

        if self.dimension == 1 or not self.positive.any():
            return self
        sizes = np.array([max(map(abs, column)) or 1 for column in self.rows.T], dtype=object)
        box = self.basis * sizes[:, None]
        lengths = np.array([max(map(abs, column)) for column in box.T], dtype=object)
        # quotients of integers: each part of them may be too large for a double
        inner = np.asarray(self._inner_rows / lengths, dtype=np.float64)
        box = np.asarray(box / lengths, dtype=np.float64)
        found = linprog(
            np.append(np.zeros(len(lengths)), -1.0),
            np.vstack(
                [
                    np.column_stack([-inner, np.ones(len(inner))]),
                    np.column_stack([box, np.zeros(len(box))]),
                    np.column_stack([-box, np.zeros(len(box))]),
                ]
            ),
            np.concatenate([np.zeros(len(inner)), np.ones(2 * len(box))]),
            bounds=(None, None),
            method="highs",
        )
        if found.x is None:
            return self
        weights = [Fraction(c) / length for c, length in zip(found.x[:-1], lengths, strict=True)]
        whole = math.lcm(*(weight.denominator for weight in weights))
        interior = _reduced(self.basis @ np.array([int(w * whole) for w in weights], dtype=object))
        if not (self.rows[self.positive] @ interior > 0).all():
            return self
        return Cone(self.rows, self.positive, interior)


def integer_rows(values: FloatArray) -> Integers:
    """Multiply each row of finite doubles by a positive number that makes it integers.

    Examples
    --------
    >>> integer_rows(np.array([[1.0, 0.75], [1e300, 0.0]]))
    array([[4, 3],
           [1, 0]], dtype=object)
    """
    share, exponent = np.frexp(values)
    whole = np.ldexp(share, 53).astype(np.int64)
    used = whole != 0
    lowest = np.where(used, exponent, exponent.max(initial=0)).min(axis=1, keepdims=True)
    shift = np.where(used, exponent - lowest, 0)
    rows = np.left_shift(whole.astype(object), shift.astype(object))
    return np.array([_reduced(row) for row in rows], dtype=object).reshape(values.shape)


def _reduced(row: Integers) -> Integers:
    """Divide integers by their greatest common divisor."""
    return np.asarray(row // (math.gcd(*row) or 1))


def farkas(rows: Integers, b: Integers) -> Integers | None:
    """Return v with rows · v ≥ 0 and b·v < 0; None if b is a combination of rows, weights ≥ 0.

    The first phase of the simplex method for rowsᵀ λ = b, λ ≥ 0, whose basis has as many rows as
    v has entries. Its inverse is kept as integers and their common denominator (Edmonds).
    """
    d = rows.shape[1]
    flip = np.array([-1 if entry < 0 else 1 for entry in b], dtype=object)
    columns, values = rows * flip, b * flip
    inverse: Any = np.array([[int(i == j) for j in range(d)] for i in range(d)], dtype=object)
    denominator = 1
    # negative: artificial columns, which leave first and never come back
    basic = np.arange(-d, 0)
    degenerate = False
    while True:
        artificial = basic < 0
        if not values[artificial].any():
            return None
        dual = inverse[artificial].sum(axis=0)
        price = columns @ dual
        rising = np.flatnonzero(price > 0)
        if not len(rising):
            return np.asarray(-dual * flip)
        # the largest price needs few steps, but could go in circles where a step changes nothing:
        # the first one, taken until something changes, cannot (Bland)
        entering = rising[0] if degenerate else rising[np.argmax(price[rising])]
        column = inverse @ columns[entering]
        leaving = _leaving(column, values, basic)
        degenerate = values[leaving] == 0
        pivot, row, value = column[leaving], inverse[leaving].copy(), values[leaving]
        inverse = (inverse * pivot - np.outer(column, row)) // denominator
        values = (values * pivot - column * value) // denominator
        inverse[leaving], values[leaving] = row, value
        basic[leaving], denominator = entering, pivot


def combines(rows: Integers, b: Integers) -> bool:
    """Return whether b is one combination of these rows only, and its weights are ≥ 0.

    Then there is no v with rows · v ≥ 0 and b·v < 0, and none with further rows. With the right
    rows it takes a tenth of the time of `farkas`.
    """
    weights, _ = null_space(np.column_stack([rows.T, -b]))
    # (λ, 1) times some number
    is_one = weights.shape[1] == 1 and weights[-1, 0] != 0
    return bool(is_one and (weights * weights[-1, 0] >= 0).all())


def _leaving(column: Integers, values: Integers, basic: npt.NDArray[np.int64]) -> int:
    """Return the row whose value reaches zero first; of several, that of the first variable."""
    best = -1
    for row in np.flatnonzero(column > 0):
        if best >= 0:
            order = values[row] * column[best] - values[best] * column[row]
            if order > 0 or (order == 0 and basic[row] > basic[best]):
                continue
        best = int(row)
    return best


def _interior(rows: Integers) -> tuple[Integers, BoolArray]:
    """Return a u in the relative interior of the cone, and which rows are positive there."""
    # Unless a sum of all rows that are still zero, with weights of at least one, is the zero
    # vector, there is a v at which some of them are positive (Stiemke). In the end there is none,
    # which proves that the rows left are zero at every u of the cone.
    u: Any = np.array([0] * rows.shape[1], dtype=object)
    positive = np.zeros(len(rows), dtype=np.bool_)
    while not positive.all():
        zero = rows[~positive]
        v = farkas(zero, -zero.sum(axis=0))
        if v is None:
            break
        old, change = rows[positive] @ u, rows @ v
        # so much of u that what was positive stays so
        times = max((-c // o + 1 for c, o in zip(change[positive], old, strict=True)), default=1)
        u = _reduced(u * max(times, 1) + v)
        positive |= change > 0
    return u, positive


def null_space(rows: Integers) -> tuple[Integers, list[int]]:
    """Return a basis (d, k) of {u : rows · u = 0}, and d - k columns of full rank.

    Fraction-free elimination (Bareiss): all divisions are exact.
    """
    d = rows.shape[1]
    left: Any = rows.copy()
    pivots: list[int] = []
    previous = 1
    for column in range(d):
        rank = len(pivots)
        usable = np.flatnonzero(left[rank:, column])
        if not len(usable):
            continue
        left[[rank, rank + usable[0]]] = left[[rank + usable[0], rank]]
        row = left[rank].copy()
        left = (left * row[column] - np.outer(left[:, column], row)) // previous
        left[rank] = row
        previous = row[column]
        pivots.append(column)
    free = [column for column in range(d) if column not in pivots]
    basis = np.array([[0] * len(free) for _ in range(d)], dtype=object).reshape(d, len(free))
    for place, column in enumerate(free):
        basis[column, place] = previous
        basis[pivots, place] = -left[: len(pivots), column]
        basis[:, place] = _reduced(basis[:, place])
    return basis, pivots
