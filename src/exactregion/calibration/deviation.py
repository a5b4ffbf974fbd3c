"""How far a calibration curve can be from the diagonal: limits over the curves of a belt.

A belt bounds the curves a + b·logit p of a region at knots. All of its curves lie within straight
lines between them, on the logit scale, and those that keep all bounds are a polygon of (a, b) that
contains the region. What is said here holds for all of that polygon, at every prediction of the
range and not at knots or grid points alone; it is as certain as the bounds at the knots are.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import TypeAlias

import numpy as np
from scipy.special import expit, logit

from exactregion._typing import FloatArray, IntArray
from exactregion.data.files import Record

__all__ = ["CurveBounds", "Deviation", "interpolated_bounds"]

LARGEST_GROUPS = 512
"""Predictions in the mean over curves; more are put into groups, and what that can change is added
to the limits."""

CLOSE = 1e-3
"""Share of a limit to which it is brought close to what a curve of the polygon attains."""

MOST_CELLS, SPLITS = 1024, 20
"""Cells that may be open after a round of splits, and rounds: what is left open by then counts with
its bound, so that limits are wider than they could be, and hold."""

Measure: TypeAlias = Callable[[FloatArray, FloatArray, FloatArray], FloatArray]
"""From logits of predictions, and of the ends of curves there, to distances."""

STEEPEST, MOST_BENT = 0.25, 0.0963
"""Largest |expit'| and |expit''|, the second 1/(6√3) rounded up."""


@dataclass(frozen=True)
class Deviation(Record):
    """How far the calibration curve is from the diagonal, |P(Y=+1|p) - p|, with exact limits.

    Attributes
    ----------
    estimate : float
        Of the estimated curve.
    lower, upper : float
        P(lower ≤ the true deviation ≤ upper) is at least `coverage`, for every n, if the true curve
        is of the form of the belt. NaN where no curve of this form fits.
    at : float or None
        The prediction at which the curve can be as far off as `upper`; None for a mean.
    coverage : float
        That of the belt.
    certified : bool
        Whether the belt is proven, and with it the limits; else it was searched.
    """

    estimate: float
    lower: float
    upper: float
    at: float | None
    coverage: float
    certified: bool


def interpolated_bounds(scores: FloatArray, knots: FloatArray, ends: FloatArray) -> FloatArray:
    """Interpolate bounds on the logit scale; next to an infinite one they are infinite."""
    is_open = ~np.isfinite(ends)
    between = np.interp(scores, knots, np.where(is_open, 0.0, ends))
    for index in np.flatnonzero(is_open).tolist():
        left, right = knots[max(index - 1, 0)], knots[min(index + 1, len(knots) - 1)]
        beside = (scores > left) & (scores < right) | (scores == knots[index])
        between[beside] = ends[index]
    return between


@dataclass(frozen=True, eq=False)
class CurveBounds:
    """Bounds of the curves a + b·logit p at knots: logits (K,), ascending.

    `scores` are the logits of the predictions (n,), and `weights` how much each counts in a mean.
    """

    knots: FloatArray
    lower: FloatArray
    upper: FloatArray
    scores: FloatArray
    weights: FloatArray

    @classmethod
    def of(
        cls,
        knots: FloatArray,
        lower: FloatArray,
        upper: FloatArray,
        p: FloatArray,
        trials: IntArray,
    ) -> CurveBounds:
        """Take probabilities: knots with their bounds (K,), and predictions with trials (n,)."""
        with np.errstate(divide="ignore"):
            ends = logit(lower), logit(upper)
        return cls(logit(knots), *ends, logit(p), trials / trials.sum())

    def largest(self) -> tuple[float, float, float]:
        """Limits of the largest deviation over the range of predictions, and where it can be."""
        points = self._points
        low, high = self._band_at(points)
        reach = _reach(points, low, high)
        at = float(expit(points[int(reach.argmax())]))
        if len(self.knots) == 1:
            return float(_distance(points, low, high)[0]), float(reach[0]), at
        cells = np.column_stack([points[:-1], points[1:]])
        upper = min(1.0, _supremum(cells, self._reach_within, self._reach_at_start, _halved))
        if not self._is_bounded:
            return float(_distance(points, low, high).max()), upper, at

        def nearest(cells: FloatArray) -> FloatArray:
            return np.asarray(-_distance(points, *self._curves(cells, points)).max(axis=1))

        return max(0.0, -self._highest(nearest)), upper, at

    def mean(self) -> tuple[float, float]:
        """Limits of the mean deviation over the predictions."""
        if not self._is_bounded:
            low, high = self._band_at(self.scores)
            near, far = _distance(self.scores, low, high), _reach(self.scores, low, high)
            return float(near @ self.weights), min(1.0, float(far @ self.weights))
        groups = _Groups.of(self.scores, self.weights)

        def mean_of(cells: FloatArray, measure: Measure, sign: int) -> FloatArray:
            low, high = self._curves(cells, groups.scores)
            # σ(s + δ) - σ(s) with δ = a + (b - 1)s changes within a group by at most
            # |σ''| |δ| |s - s̄| + |σ'| |b - 1| |s - s̄|
            bend = self._slope_change(cells)[:, None]
            farthest = np.maximum(np.abs(low - groups.scores), np.abs(high - groups.scores))
            change = MOST_BENT * (farthest + bend * groups.widths) + STEEPEST * bend
            measured = measure(groups.scores, low, high) + sign * change * groups.spreads
            return np.asarray(sign * (measured @ groups.weights))

        lowest = -self._highest(lambda cells: mean_of(cells, _distance, -1))
        highest = self._highest(lambda cells: mean_of(cells, _reach, 1))
        return max(0.0, lowest), min(1.0, highest)

    def of_curve(self, a: float, b: float) -> tuple[float, float]:
        """Largest and mean deviation of one curve."""
        largest = np.abs(expit(a + b * self._points) - expit(self._points)).max()
        mean = np.abs(expit(a + b * self.scores) - expit(self.scores)) @ self.weights
        return float(largest), float(mean)

    @cached_property
    def _points(self) -> FloatArray:
        """Logits of the knots, and of 200 more predictions equally far from each other."""
        low, high = expit(self.knots[[0, -1]])
        inner = logit(np.linspace(low, high, 202)[1:-1])
        return np.unique(np.concatenate([self.knots, np.clip(inner, *self.knots[[0, -1]])]))

    @cached_property
    def _is_bounded(self) -> bool:
        """Whether curves are known by their values at the first and the last knot."""
        finite = np.isfinite(self.lower).all() and np.isfinite(self.upper).all()
        return bool(finite and len(self.knots) > 1)

    def _band_at(self, scores: FloatArray) -> tuple[FloatArray, FloatArray]:
        return (
            interpolated_bounds(scores, self.knots, self.lower),
            interpolated_bounds(scores, self.knots, self.upper),
        )

    # --- the belt between predictions next to each other: cells (N, 2) of logits ---

    def _reach_within(self, cells: FloatArray) -> FloatArray:
        """Bound the deviation in cells.

        The bounds of a cell are straight lines on the logit scale, so that the curve lies below the
        higher of the upper bounds at its two ends; the diagonal lies above its lower end.
        """
        ends = [self._belt_within(cells, side) for side in (0, 1)]
        low = np.minimum(ends[0][0], ends[1][0])
        high = np.maximum(ends[0][1], ends[1][1])
        p = expit(cells)
        return np.asarray(np.maximum(expit(high) - p[:, 0], p[:, 1] - expit(low)))

    def _reach_at_start(self, cells: FloatArray) -> FloatArray:
        return _reach(cells[:, 0], *self._belt_within(cells, 0))

    def _belt_within(self, cells: FloatArray, side: int) -> tuple[FloatArray, FloatArray]:
        """Bounds at one end of cells, as limits from within them: no cell has a knot inside."""
        last = len(self.knots) - 2
        middle = cells.mean(axis=1)
        segment = np.clip(np.searchsorted(self.knots, middle, side="right") - 1, 0, last)
        left, right = self.knots[segment], self.knots[segment + 1]
        share = (cells[:, side] - left) / (right - left)
        found = []
        for bounds in (self.lower, self.upper):
            low, high = bounds[segment], bounds[segment + 1]
            is_open = ~np.isfinite(low) | ~np.isfinite(high)
            line = np.where(is_open, 0.0, low), np.where(is_open, 0.0, high)
            value = (1 - share) * line[0] + share * line[1]
            found.append(np.where(is_open, np.where(np.isfinite(low), high, low), value))
        return found[0], found[1]

    # --- curves by their values u and v at the first and the last knot: cells (N, 4) ---

    def _between(self, cells: FloatArray, scores: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Bound all curves of cells: a curve is (1 - share) u + share v, and rises with both."""
        first, last = self.knots[[0, -1]]
        share = (scores - first) / (last - first)
        low = cells[:, 0, None] * (1 - share) + cells[:, 2, None] * share
        high = cells[:, 1, None] * (1 - share) + cells[:, 3, None] * share
        return low, high

    def _curves(self, cells: FloatArray, scores: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Bound the curves of cells that are within the belt: shapes (N, n)."""
        low, high = self._between(cells, scores)
        lowest, highest = self._band_at(scores)
        low = np.maximum(low, lowest)
        return low, np.maximum(low, np.minimum(high, highest))

    def _slope_change(self, cells: FloatArray) -> FloatArray:
        """Largest |b - 1| of the curves in cells: (N,)."""
        width = self.knots[-1] - self.knots[0]
        slopes = np.stack([cells[:, 2] - cells[:, 1], cells[:, 3] - cells[:, 0]]) / width
        return np.asarray(np.abs(slopes - 1).max(axis=0))

    def _allowed(self, cells: FloatArray) -> FloatArray:
        """Keep the cells in which a curve may have all bounds at the knots."""
        low, high = self._between(cells, self.knots)
        room = 1e-9 * (1 + np.abs(self.upper) + np.abs(self.lower))  # rounding
        keeps = (low <= self.upper + room) & (high >= self.lower - room)
        return np.asarray(cells[keeps.all(axis=1)])

    def _highest(self, bound: Callable[[FloatArray], FloatArray]) -> float:
        """Bound a number over all curves of the polygon, which `bound` bounds in cells."""

        def attained(cells: FloatArray) -> FloatArray:
            """Return the values of the curves at the centres, and of the diagonal."""
            centres = np.repeat((cells[:, ::2] + cells[:, 1::2]) / 2, 2, axis=1)
            diagonal = np.repeat(self.knots[[0, -1]], 2)[None]
            curves = self._allowed(np.concatenate([diagonal, centres]))
            return bound(curves) if len(curves) else np.array([-np.inf])

        whole = np.array([[self.lower[0], self.upper[0], self.lower[-1], self.upper[-1]]])
        return _supremum(whole, bound, attained, lambda cells: self._allowed(_quartered(cells)))


@dataclass(frozen=True, eq=False)
class _Groups:
    """Predictions next to each other, put together: mean logit, weight, and how wide they are."""

    scores: FloatArray
    weights: FloatArray
    spreads: FloatArray  # mean |s - s̄|
    widths: FloatArray  # largest |s - s̄|

    @classmethod
    def of(cls, scores: FloatArray, weights: FloatArray) -> _Groups:
        values, which = np.unique(scores, return_inverse=True)
        shares = np.asarray(np.bincount(which, weights, len(values)), dtype=np.float64)
        if len(values) <= LARGEST_GROUPS:
            nothing = np.zeros(len(values))
            return cls(values, shares, nothing, nothing)
        group = np.minimum((LARGEST_GROUPS * np.cumsum(shares)).astype(int), LARGEST_GROUPS - 1)
        _, group = np.unique(group, return_inverse=True)
        total = np.asarray(np.bincount(group, shares), dtype=np.float64)
        means = np.bincount(group, shares * values) / total
        away = np.abs(values - means[group])
        widths = np.zeros(len(total))
        np.maximum.at(widths, group, away)
        return cls(means, total, np.bincount(group, shares * away) / total, widths)


def _supremum(
    cells: FloatArray,
    bound: Callable[[FloatArray], FloatArray],
    attained: Callable[[FloatArray], FloatArray],
    split: Callable[[FloatArray], FloatArray],
) -> float:
    """Return a number that no value in any cell exceeds, close to one that is attained.

    Cells whose bound is much above all that is attained are split; what is still open at the end
    counts with its bound.
    """
    best = closed = left = -np.inf
    for _ in range(SPLITS):
        if not len(cells):
            return max(closed, best)
        best = max(best, float(attained(cells).max()))
        bounds = bound(cells)
        is_open = bounds > best + CLOSE * max(abs(best), CLOSE)
        closed = max(closed, float(bounds[~is_open].max(initial=-np.inf)))
        if not is_open.any():
            return closed
        left = float(bounds[is_open].max())
        if is_open.sum() > MOST_CELLS:
            break
        cells = split(cells[is_open])
    return max(closed, left)


def _halved(cells: FloatArray) -> FloatArray:
    """Split cells (N, 2) in the middle."""
    middle = cells.mean(axis=1)
    halves = (cells[:, 0], middle), (middle, cells[:, 1])
    return np.concatenate([np.column_stack(half) for half in halves])


def _quartered(cells: FloatArray) -> FloatArray:
    """Split cells (N, 4) of u and v in the middle of both."""
    u, v = (cells[:, 0] + cells[:, 1]) / 2, (cells[:, 2] + cells[:, 3]) / 2
    halves = [(cells[:, 0], u), (u, cells[:, 1])], [(cells[:, 2], v), (v, cells[:, 3])]
    return np.concatenate([np.column_stack([*a, *b]) for a in halves[0] for b in halves[1]])


def _reach(scores: FloatArray, low: FloatArray, high: FloatArray) -> FloatArray:
    """Largest |c - p| at logits of p, for logits of c from low to high."""
    p = expit(scores)
    return np.asarray(np.maximum(expit(high) - p, p - expit(low)))


def _distance(scores: FloatArray, low: FloatArray, high: FloatArray) -> FloatArray:
    """Smallest |c - p| at logits of p, for logits of c from low to high."""
    p = expit(scores)
    return np.asarray(np.maximum(np.maximum(expit(low) - p, p - expit(high)), 0.0))
