"""Numbers that are linear in θ, or ratios of such: parameters, logits, contrasts, an ED50."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from typing import Protocol

import numpy as np

from exactregion._typing import FloatArray, IntArray
from exactregion.region.window import Window, multiply

__all__ = ["LinearRatios", "OfParameters", "OverBoxes", "RatiosInWindow", "both_signs"]


class OverBoxes(Protocol):
    """G numbers and their negatives as functions of the coordinates of boxes.

    `open_length` (2G,) stands for the length between their ends where one is open.
    """

    @property
    def open_length(self) -> FloatArray:
        """About a standard error of each: shape (2G,)."""

    @property
    def far(self) -> FloatArray | float:
        """Values of members from which on a number counts as having no end: shape (2G,)."""

    def at(self, z: FloatArray) -> FloatArray:
        """Compute them at z (N, d): shape (N, 2G)."""

    def top(self, centre: FloatArray, half: FloatArray) -> FloatArray:
        """Bound them from above over boxes (N, d): shape (N, 2G)."""


class OfParameters(Protocol):
    """G numbers g(θ) that can be bounded over boxes in the coordinates of a window."""

    def in_window(self, window: Window) -> OverBoxes:
        """Return both signs of each number as functions of the coordinates of a window."""


@dataclass(frozen=True, eq=False)
class LinearRatios:
    """G numbers (a·θ + c) / (b·θ), or a·θ + c."""

    numerator: FloatArray  # a (G, d)
    offset: FloatArray  # c (G,)
    denominator: FloatArray | None = None  # b (G, d); None where they are linear

    @classmethod
    def linear(cls, coefficients: FloatArray) -> LinearRatios:
        """Return the linear numbers with these coefficients (G, d)."""
        return cls(coefficients, np.zeros(len(coefficients)))

    def __len__(self) -> int:
        """Return the number of numbers, G."""
        return len(self.numerator)

    def __call__(self, theta: FloatArray) -> FloatArray:
        """Compute the numbers at θ (T, d): shape (T, G)."""
        values = multiply(theta, self.numerator.T) + self.offset
        if self.denominator is None:
            return np.asarray(values)
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.asarray(values / multiply(theta, self.denominator.T))

    def at_own(self, theta: FloatArray) -> FloatArray:
        """Compute each number at its own θ (G, K, d): shape (G, K), bit by bit as for all θ."""
        rows, below = theta.transpose(2, 0, 1), self.denominator
        with np.errstate(all="ignore"):
            values = _sum_of_products(rows, self.numerator) + self.offset[:, None]
            return values if below is None else values / _sum_of_products(rows, below)

    def with_negatives(self) -> LinearRatios:
        """Return the numbers, and their negatives: 2 G of them."""
        a, c, b = self.numerator, self.offset, self.denominator
        doubled = None if b is None else np.concatenate([b, b])
        return LinearRatios(np.concatenate([a, -a]), np.concatenate([c, -c]), doubled)

    def gradient(self, theta: FloatArray) -> FloatArray:
        """Compute the gradient of the first number at θ (T, d), up to its length: shape (T, d).

        That of a ratio is (b·θ) a - (a·θ + c) b, which is linear in θ.
        """
        a = self.numerator[0]
        if self.denominator is None:
            return np.broadcast_to(a, theta.shape)
        b = self.denominator[0]
        above, below = theta @ a + self.offset[0], theta @ b
        return np.asarray(below[:, None] * a - above[:, None] * b)

    def __getitem__(self, which: slice | IntArray) -> LinearRatios:
        """Return some of the numbers."""
        below = None if self.denominator is None else self.denominator[which]
        return LinearRatios(self.numerator[which], self.offset[which], below)

    def in_window(self, window: Window) -> RatiosInWindow:
        """Return both signs of each number as functions of the coordinates of a window."""
        origin = window.origin[:, None]

        def moved(coefficients: FloatArray) -> tuple[FloatArray, FloatArray]:
            return multiply(coefficients, origin)[:, 0], multiply(coefficients, window.axes)

        start, slope = moved(self.numerator)
        bottom = None if self.denominator is None else moved(self.denominator)
        return RatiosInWindow(start + self.offset, slope, bottom)


def _sum_of_products(rows: FloatArray, coefficients: FloatArray) -> FloatArray:
    """Sum θ (d, G, K) times coefficients (G, d), in the order of `multiply`."""
    total = np.zeros(rows.shape[1:])
    for left, right in zip(rows, coefficients.T, strict=True):
        total += left * right[:, None]
    return total


@dataclass(frozen=True, eq=False)
class RatiosInWindow:
    """The numbers in coordinates z: (start + slope·z) over the same of a denominator."""

    start: FloatArray  # (G,)
    slope: FloatArray  # (G, d)
    denominator: tuple[FloatArray, FloatArray] | None

    far = np.inf

    @property
    def open_length(self) -> FloatArray:
        """What stands for the length where one end is open, a standard error: shape (2G,)."""
        return np.repeat(np.linalg.norm(self.slope, axis=1), 2)

    def at(self, z: FloatArray) -> FloatArray:
        """Compute each number and its negative at z (N, d): shape (N, 2G)."""
        values = self.start + multiply(z, self.slope.T)
        if self.denominator is not None:
            start, slope = self.denominator
            with np.errstate(divide="ignore", invalid="ignore"):
                values = values / (start + multiply(z, slope.T))
        return both_signs(values, -values)

    def top(self, centre: FloatArray, half: FloatArray) -> FloatArray:
        """Bound each number and its negative from above over boxes (N, d): shape (N, 2G).

        A ratio is monotone along every line on which its denominator keeps its sign, so that it is
        largest at a corner. Where the sign changes there is no bound.
        """
        if self.denominator is None:
            values = self.start + multiply(centre, self.slope.T)
            spread = multiply(half, np.abs(self.slope).T)
            return both_signs(values + spread, spread - values)
        start, slope = self.denominator
        middle, spread = start + centre @ slope.T, half @ np.abs(slope).T
        corners = np.array(list(product((-1.0, 1.0), repeat=half.shape[1])))
        z = centre + corners[:, None] * half
        with np.errstate(divide="ignore", invalid="ignore"):
            values = (self.start + z @ self.slope.T) / (start + z @ slope.T)
        # more than the rounding errors of both sums
        keeps_sign = np.abs(middle) > spread * (1 + 1e-12)
        largest = np.where(keeps_sign, values.max(axis=0), np.inf)
        smallest = np.where(keeps_sign, values.min(axis=0), -np.inf)
        return both_signs(largest, -smallest)


def both_signs(upper: FloatArray, lower: FloatArray) -> FloatArray:
    """Put columns (N, G) next to each other in turn: shape (N, 2G)."""
    return np.stack([upper, lower], axis=-1).reshape(len(upper), 2 * upper.shape[1])
