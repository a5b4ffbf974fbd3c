"""Directions in which no observed outcome becomes impossible.

A direction u keeps all observed outcomes possible however far one goes along it if x_j·u ≥ 0 in
rows with successes and x_j·u ≤ 0 in rows with failures. The directions are a cone, computed in
exact arithmetic (`separation.cones`).

Columns such as 0.1, 0.2, 0.3 are read as decimals: the doubles next to them are other numbers, by
which points that were meant to lie on a line would lie beside it. Members of the region cannot tell
the two apart.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np
import numpy.typing as npt

from exactregion._typing import BoolArray, FloatArray, IntArray
from exactregion.region.separation.cones import Cone, Integers, combines, farkas, integer_rows

__all__ = ["Separation", "SignedRows", "separation_of"]

DIGITS, ROUNDED = 14, 0.1
"""Decimals are read with this many digits of the largest entry of a column, if what is cut off is
less than this share of the last digit: doubles have one or two digits more, which a few rounding
errors use up."""

ROUNDING, LARGE = 1e-14, 1e-2
"""An end of a·θ is proven only if no direction u opens it but for rounding errors: one with a·u at
least `LARGE`, in columns of size one, and at most `ROUNDING` missing from a·u ≥ 0. Members could
reach 10¹² times a logit along it, and whether they end there, doubles cannot say."""

FEW_ROWS = 500
"""If this many rows leave no direction, all rows leave none: that is usual where there are many,
and exact arithmetic on all of them takes a second per 100,000."""


TRIES = 200
"""Most rows per face that are tried for facets, nearest first: one takes about a millisecond."""


@dataclass(frozen=True)
class Column:
    """How the entries of a column are read as integers times a unit.

    Where all of them are decimals but for a few rounding errors, they are read as these decimals;
    others as the doubles that they are.
    """

    unit: Fraction
    size: float  # a power of ten, at least the largest entry
    is_decimal: bool

    @classmethod
    def of(cls, values: FloatArray) -> tuple[Column, FloatArray]:
        """Return how a column is read, and what is read: equal entries where equal were meant."""
        power = _power_of_ten(float(np.abs(values).max(initial=0.0)))
        shifted = values * 10.0 ** (DIGITS - power)
        if (np.abs(shifted - np.rint(shifted)) <= ROUNDED).all():
            unit = Fraction(10) ** (power - DIGITS)
            return cls(unit, 10.0**power, True), np.rint(shifted)
        whole = integer_rows(values[None])[0]
        at = int(np.abs(values).argmax())
        return cls(Fraction(values[at]) / whole[at], 10.0**power, False), values

    def integers(self, read: FloatArray) -> Integers:
        """Turn what was read into integers."""
        if self.is_decimal:
            return np.array([int(value) for value in read], dtype=object)
        above, below = self.unit.as_integer_ratio()
        ratios = (value.as_integer_ratio() for value in read.tolist())
        return np.array([p * below // (q * above) for p, q in ratios], dtype=object)

    def number(self, value: float, share: float) -> Fraction:
        """Read a number whose row is this share of the columns' sizes."""
        if self.is_decimal:
            power = DIGITS - _power_of_ten(self.size * share)
            shifted = value * 10.0**power
            if abs(shifted - round(shifted)) <= ROUNDED:
                return round(shifted) / Fraction(10) ** power
        return Fraction(value)


def _power_of_ten(value: float) -> int:
    """Return the power of ten next above a value, within what doubles can be divided by."""
    return min(max(math.ceil(math.log10(value)), -290), 290) if value > 0 else 0


@dataclass(frozen=True, eq=False)
class SignedRows:
    """The design with the observed outcomes, as rows a = ±x_j with a·u ≥ 0 for all u of C."""

    design: FloatArray  # (n, d)
    sign: IntArray  # (n,): 1 for rows with successes, else -1
    used: BoolArray  # (n,): rows with trials
    columns: list[Column]
    rows: FloatArray  # (r, d): distinct rows ± x, as read
    place: IntArray  # (n,): where each row of the design is among them

    @classmethod
    def of(cls, design: FloatArray, successes: IntArray, trials: IntArray) -> SignedRows:
        """Read the columns, and give each row the sign of its outcomes."""
        succeeded, failed = successes > 0, trials > successes
        used = succeeded | failed
        columns, read = zip(*(Column.of(column) for column in design[used].T), strict=True)
        values = np.zeros(design.shape)
        values[used] = np.column_stack(read)
        # adding zero makes -0.0 equal to 0.0
        signed = np.concatenate([values[succeeded], -values[failed]]) + 0.0
        rows, inverse = np.unique(signed, axis=0, return_inverse=True)
        place = np.zeros(len(design), dtype=np.int64)
        place[failed] = inverse.ravel()[succeeded.sum() :]
        # a row with both outcomes has two places, and is zero on all of C at both
        place[succeeded] = inverse.ravel()[: succeeded.sum()]
        return cls(design, np.where(succeeded, 1, -1), used, list(columns), rows, place)

    def integers(self, rows: FloatArray) -> Integers:
        """Turn rows as read into integers, in units of the columns."""
        pairs = zip(self.columns, rows.T, strict=True)
        return np.column_stack([column.integers(read) for column, read in pairs])

    def few_rows(self) -> FloatArray:
        """Return some of the rows, evenly spaced, if there are many."""
        number = min(len(self.rows), FEW_ROWS)
        return self.rows[np.linspace(0, len(self.rows) - 1, number).astype(np.int64)]

    def cone(self) -> Cone | None:
        """Return C, in units of the columns; None if it is {0}."""
        if len(self.rows) > FEW_ROWS and Cone.of(self.integers(self.few_rows())) is None:
            return None
        return Cone.of(self.integers(self.rows))

    def functional(self, a: FloatArray) -> Integers:
        """Turn a functional (d,) into integers, in units of the columns."""
        share = max(abs(value) / column.size for value, column in zip(a, self.columns, strict=True))
        pairs = zip(a.tolist(), self.columns, strict=True)
        numbers = [column.number(value, share) / column.unit for value, column in pairs]
        whole = math.lcm(*(number.denominator for number in numbers))
        return np.array([int(number * whole) for number in numbers], dtype=object)

    def nearly_opens(self, a: FloatArray) -> bool:
        """Return whether a·u can be large where a·u ≥ 0 is missed by rounding errors at most.

        In columns of size one: whether there is a u with entries between -1 and 1, all rows at
        -`ROUNDING` or more, and a·u at least `LARGE` times the largest entry of a.
        """
        from scipy.optimize import nnls

        d = len(a)
        target = a / [column.size for column in self.columns]
        target = target / (np.abs(target).max() or 1.0)
        below = np.append(-target, LARGE)
        above = integer_rows(below[None])[0]
        box = np.column_stack([np.vstack([np.eye(d), -np.eye(d)]), np.ones(2 * d)])
        # in units of the columns, decimals have sizes of 10 to the number of digits
        sizes = [10.0**DIGITS if column.is_decimal else column.size for column in self.columns]

        def found(rows: FloatArray) -> bool:
            # one more coordinate is the length of u, so that the set becomes a cone
            relaxed = np.column_stack([rows / sizes, np.full(len(rows), ROUNDING)])
            relaxed = np.vstack([relaxed, box])
            with suppress(RuntimeError):  # no weights after many steps
                # doubles say which rows may prove that there is no u, and integers whether they do
                weights, _ = nnls(relaxed.T, below)
                if combines(integer_rows(relaxed[weights > 0]), above):
                    return False
            return farkas(integer_rows(relaxed), above) is not None

        return found(self.few_rows()) and (len(self.rows) <= FEW_ROWS or found(self.rows))


@dataclass(frozen=True, eq=False)
class Separation:
    """Directions in which the observed outcomes never become impossible: C, or a face of it."""

    cone: Cone  # in units of the columns
    rows: SignedRows

    @cached_property
    def certain(self) -> BoolArray:
        """Rows that become certain along directions of the relative interior: shape (n,)."""
        return self.rows.used & self.cone.positive[self.rows.place]

    @cached_property
    def undecided(self) -> BoolArray:
        """The other rows with trials, J₀, whose probabilities no direction changes: shape (n,)."""
        return self.rows.used & ~self.certain

    @cached_property
    def direction(self) -> FloatArray:
        """A u in the relative interior, rounded to doubles: shape (d,).

        The smallest |x_j·u| of the rows that become certain is about one.
        """
        pairs = zip(self.cone.centred().interior, self.rows.columns, strict=True)
        entries = [entry / column.unit for entry, column in pairs]
        largest = max(map(abs, entries))
        u = np.array([float(entry / largest) for entry in entries])
        margins = self.margins(u[None])
        return np.asarray(u / margins[margins > 0].min(initial=np.inf)) if margins.any() else u

    def margins(self, theta: FloatArray) -> FloatArray:
        """Return the predictors of θ (T, d) in certain rows, towards the outcome: (T, rows)."""
        signed = self.rows.sign[:, None] * self.rows.design
        return np.asarray(theta @ signed[self.certain].T)

    def opens(self, functionals: npt.ArrayLike) -> BoolArray:
        """Return for which a (F, d) there is a direction u with a·u > 0: shape (F,)."""
        rows = np.atleast_2d(np.asarray(functionals, dtype=np.float64))
        rising = [self.cone.rises(self.rows.functional(a)) for a in rows]
        return np.array(rising, dtype=np.bool_)

    def facets(self) -> Iterator[Separation]:
        """Go through the faces of one dimension less, other than {0}."""
        for cone in self.cone.facets(TRIES):
            yield Separation(cone, self.rows)


def separation_of(
    design: FloatArray, successes: npt.ArrayLike, trials: npt.ArrayLike
) -> Separation | None:
    """Find the directions in which no observed outcome becomes impossible.

    Rows of the design (n, d) are those of the linear predictor. None if there is no direction but
    zero: the outcomes overlap, and the design has full rank.

    Examples
    --------
    >>> x = np.array([1.0, 2.0, 2.0, 3.0])
    >>> found = separation_of(np.column_stack([np.ones(4), x]), [0, 0, 1, 1], np.ones(4))
    >>> found.direction, found.certain
    (array([-2.,  1.]), array([ True, False, False,  True]))
    >>> separation_of(np.column_stack([np.ones(4), x]), [1, 0, 1, 1], np.ones(4)) is None
    True
    """
    rows = SignedRows.of(design, np.asarray(successes), np.asarray(trials))
    cone = rows.cone()
    return None if cone is None else Separation(cone, rows)
