"""Observed outcomes as inequalities for directions, read from doubles as they were meant.

A direction u keeps all observed outcomes possible however far one goes along it if x_j·u ≥ 0 in
rows with successes and x_j·u ≤ 0 in rows with failures (`region.separation`). Columns such as 0.1,
0.2, 0.3 are read as decimals here: their doubles are others, and points that were meant to lie on a
line would lie beside it, by less than shows at any θ that doubles can evaluate.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from exactregion._typing import BoolArray, FloatArray, IntArray
from exactregion.region.separation.cones import Cone, Integers, farkas, integer_rows

__all__ = ["SignedRows"]

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
        return np.array([int(Fraction(value) / self.unit) for value in read], dtype=object)

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
        d = len(a)
        target = a / [column.size for column in self.columns]
        target = target / (np.abs(target).max() or 1.0)
        above = integer_rows(np.append(-target, LARGE)[None])[0]
        box = np.column_stack([np.vstack([np.eye(d), -np.eye(d)]), np.ones(2 * d)])
        # in units of the columns, decimals have sizes of 10 to the number of digits
        sizes = [10.0**DIGITS if column.is_decimal else column.size for column in self.columns]

        def found(rows: FloatArray) -> bool:
            # one more coordinate is the length of u, so that the set becomes a cone
            relaxed = np.column_stack([rows / sizes, np.full(len(rows), ROUNDING)])
            return farkas(integer_rows(np.vstack([relaxed, box])), above) is not None

        return found(self.few_rows()) and (len(self.rows) <= FEW_ROWS or found(self.rows))
