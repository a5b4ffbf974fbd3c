"""How far a calibration curve can be from the diagonal: limits over the curves of a belt.

A belt bounds the curves of a region, polynomials of logit p, at knots. Those that keep all bounds
are a polytope of parameters that contains the region. Between two knots a curve lies within
straight lines, on the logit scale, and farther out by what it can bend: its second derivative,
which is bounded over the polytope, times (s - s₁)(s₂ - s) / 2. What is said here holds for all of
the polytope, at every prediction of the range and not at knots or grid points alone; it is as
certain as the bounds at the knots are.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.polynomial.polynomial import polyval, polyvander
from scipy.optimize import linprog
from scipy.special import expit, logit

from exactregion._typing import FloatArray, IntArray
from exactregion.data.files import Record

if TYPE_CHECKING:
    from exactregion.region import Band

__all__ = ["CurveBounds", "Deviation"]

LARGEST_GROUPS = 512
"""Predictions in the mean over curves; more are put into groups, and what that can change is added
to the limits."""

CLOSE = 1e-3
"""Share of a limit to which it is brought close to what a curve of the polytope attains."""

MOST_CELLS, SPLITS = 1024, 20
"""Cells that may be open after a round of splits, and rounds: what is left open by then counts with
its bound, so that limits are wider than they could be, and hold."""

Measure: TypeAlias = Callable[[FloatArray, FloatArray, FloatArray], FloatArray]
"""From logits of predictions, and of the ends of curves there, to distances."""

STEEPEST, MOST_BENT = 0.25, 0.0963
"""Largest |expit'| and |expit''|, the second 1/(6√3) rounded up."""

SOLVER_ERROR = 1e-6
"""Added to what a linear program finds, in logits: its constraints hold to 1e-7."""


@dataclass(frozen=True)
class Deviation(Record):
    """How far the calibration curve is from the diagonal, |P(Y=+1|p) - p|, with limits.

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


@dataclass(frozen=True, eq=False)
class CurveBounds:
    """Bounds of curves, polynomials of logit p, at knots: logits (K,), ascending.

    `scores` are the logits of the predictions (n,), and `weights` how much each counts in a mean.
    """

    knots: FloatArray
    lower: FloatArray
    upper: FloatArray
    scores: FloatArray
    weights: FloatArray
    degree: int = 1

    @classmethod
    def of(cls, band: Band, p: FloatArray, trials: IntArray, degree: int = 1) -> CurveBounds:
        """Take probabilities: a band at knots (K,), and predictions with trials (n,)."""
        with np.errstate(divide="ignore"):
            ends = logit(band.lower), logit(band.upper)
        return cls(logit(band.X), *ends, logit(p), trials / trials.sum(), degree)

    def at(self, scores: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Bounds at logits of the range; next to a knot without a bound there is none."""
        if len(self.knots) == 1:
            return np.repeat(self.lower, len(scores)), np.repeat(self.upper, len(scores))
        cells = np.column_stack([scores, scores])
        lower, upper = self._belt_within(cells, 0)
        # at a knot itself its own bounds hold, whatever lies next to it
        index = np.minimum(np.searchsorted(self.knots, scores), len(self.knots) - 1)
        is_knot = self.knots[index] == scores
        return (
            np.where(is_knot, self.lower[index], lower),
            np.where(is_knot, self.upper[index], upper),
        )

    def largest(self) -> tuple[float, float, float]:
        """Limits of the largest deviation over the range of predictions, and where it can be."""
        points = self._points
        low, high = self.at(points)
        farthest = _farthest(points, low, high)
        at = float(expit(points[int(farthest.argmax())]))
        if len(self.knots) == 1:
            return float(_distance(points, low, high)[0]), float(farthest[0]), at
        cells = np.column_stack([points[:-1], points[1:]])
        upper = min(1.0, _supremum(cells, self._farthest_within, self._farthest_at_start, _halved))
        if not self._is_bounded:
            return float(_distance(points, low, high).max()), upper, at

        def nearest(cells: FloatArray) -> FloatArray:
            return np.asarray(-_distance(points, *self._curves(cells, points)).max(axis=1))

        return max(0.0, -self._highest(nearest)), upper, at

    def mean_by_points(self) -> tuple[float, float]:
        """Limits of the mean deviation over the predictions, each as near and as far as it can."""
        low, high = self.at(self.scores)
        near, far = _distance(self.scores, low, high), _farthest(self.scores, low, high)
        return float(near @ self.weights), min(1.0, float(far @ self.weights))

    def mean(self) -> tuple[float, float]:
        """Limits of the mean deviation over the predictions, of one curve for all of them."""
        if not self._is_bounded:
            return self.mean_by_points()
        groups = self._groups

        def mean_of(cells: FloatArray, measure: Measure, sign: int) -> FloatArray:
            low, high = self._curves(cells, groups.scores)
            # σ(η) - σ(s) changes within a group by at most |σ''| |η - s| |s - s̄| and
            # |σ'| |η' - 1| |s - s̄|
            bend = self._slope_change(cells, groups)
            farthest = np.maximum(np.abs(low - groups.scores), np.abs(high - groups.scores))
            change = MOST_BENT * (farthest + bend * groups.widths) + STEEPEST * bend
            measured = measure(groups.scores, low, high) + sign * change * groups.spreads
            return np.asarray(sign * (measured @ groups.weights))

        lowest = -self._highest(lambda cells: mean_of(cells, _distance, -1))
        highest = self._highest(lambda cells: mean_of(cells, _farthest, 1))
        return max(0.0, lowest), min(1.0, highest)

    def of_curve(self, theta: FloatArray) -> tuple[float, float]:
        """Largest and mean deviation of a curve (degree + 1,)."""
        largest, mean = (
            np.abs(expit(polyval(scores, theta)) - expit(scores))
            for scores in (self._points, self.scores)
        )
        return float(largest.max()), float(mean @ self.weights)

    def means_of(self, theta: FloatArray) -> FloatArray:
        """Mean deviations of curves (T, degree + 1), of groups where predictions are many: (T,)."""
        scores, weights = self._groups.scores, self._groups.weights
        return np.asarray(np.abs(expit(polyval(scores, theta.T)) - expit(scores)) @ weights)

    @cached_property
    def _groups(self) -> _Groups:
        return _Groups.of(self.scores, self.weights)

    @cached_property
    def _points(self) -> FloatArray:
        """Logits of the knots, and of 200 more predictions equally far from each other."""
        low, high = expit(self.knots[[0, -1]])
        inner = logit(np.linspace(low, high, 202)[1:-1])
        return np.unique(np.concatenate([self.knots, np.clip(inner, *self.knots[[0, -1]])]))

    @cached_property
    def _is_bounded(self) -> bool:
        """Whether curves are known by their values at some of the knots."""
        finite = np.isfinite(self.lower).all() and np.isfinite(self.upper).all()
        return bool(finite and len(self.knots) > self.degree)

    @cached_property
    def _bends(self) -> tuple[FloatArray, FloatArray]:
        """Largest -η'' and η'' of curves between two knots, 0 at least: (K - 1,).

        The second derivative of a polynomial of degree 3 or less is linear in the logit, so that it
        is bounded by its bounds at the two knots.
        """
        if self.degree == 1:
            return (np.zeros(len(self.knots) - 1),) * 2
        if len(self.knots) <= self.degree:
            return (np.full(len(self.knots) - 1, np.inf),) * 2
        known = [np.isfinite(end) for end in (self.upper, self.lower)]
        values = self._interpolation(self.knots)
        system = {
            "A_ub": np.concatenate([values[known[0]], -values[known[1]]]),
            "b_ub": np.concatenate([self.upper[known[0]], -self.lower[known[1]]]),
            "bounds": (None, None),
        }
        second = self._interpolation(self.knots, derivative=2)
        down, up = (
            np.maximum([_largest(sign * row, system) for row in second], 0.0) for sign in (-1, 1)
        )
        return np.maximum(down[:-1], down[1:]), np.maximum(up[:-1], up[1:])

    def _interpolation(self, scores: FloatArray, derivative: int = 0) -> FloatArray:
        """Return W (n, degree + 1): curves at logits, or derivatives, are W times their nodes.

        The nodes are as many knots as a curve has parameters, the first and the last among them.
        Logits are measured from the middle of the range, in half its length, which costs no digits.
        """
        first, last = self.knots[[0, -1]]
        middle, half = (first + last) / 2, (last - first) / 2
        powers = polyvander((scores - middle) / half, self.degree)
        for _ in range(derivative):
            powers = np.pad(powers[:, :-1], ((0, 0), (1, 0))) * np.arange(self.degree + 1) / half
        nodes = polyvander((self.knots[self._nodes] - middle) / half, self.degree)
        return np.asarray(np.linalg.solve(nodes.T, powers.T).T)

    @property
    def _nodes(self) -> IntArray:
        return np.linspace(0, len(self.knots) - 1, self.degree + 1).round().astype(np.int64)

    # --- the belt between predictions next to each other: cells (N, 2) of logits ---

    def _farthest_within(self, cells: FloatArray) -> FloatArray:
        """Bound the deviation in cells.

        The bounds of a cell are parabolas on the logit scale, which rise above the higher of their
        two ends by the square of the cell's width times their bend / 8, at most; the diagonal lies
        above its lower end.
        """
        ends = [self._belt_within(cells, side) for side in (0, 1)]
        down, up = (bend[self._interval(cells)] for bend in self._bends)
        square = np.diff(cells, axis=1)[:, 0] ** 2 / 8
        low = np.minimum(ends[0][0], ends[1][0]) - up * square
        high = np.maximum(ends[0][1], ends[1][1]) + down * square
        p = expit(cells)
        return np.asarray(np.maximum(expit(high) - p[:, 0], p[:, 1] - expit(low)))

    def _farthest_at_start(self, cells: FloatArray) -> FloatArray:
        return _farthest(cells[:, 0], *self._belt_within(cells, 0))

    def _belt_within(self, cells: FloatArray, side: int) -> tuple[FloatArray, FloatArray]:
        """Bounds at one end of cells, as limits from within them: no cell has a knot inside."""
        interval = self._interval(cells)
        left, right = self.knots[interval], self.knots[interval + 1]
        from_left, to_right = cells[:, side] - left, right - cells[:, side]
        share, product = from_left / (right - left), from_left * to_right / 2
        down, up = self._bends
        found = []
        for bounds, sign, bends in ((self.lower, -1, up), (self.upper, 1, down)):
            low, high = bounds[interval], bounds[interval + 1]
            is_open = ~np.isfinite(low) | ~np.isfinite(high)
            line = np.where(is_open, 0.0, low), np.where(is_open, 0.0, high)
            with np.errstate(invalid="ignore"):
                bulge = np.where(product > 0, sign * bends[interval] * product, 0.0)
            value = (1 - share) * line[0] + share * line[1] + bulge
            found.append(np.where(is_open, np.where(np.isfinite(low), high, low), value))
        return found[0], found[1]

    def _interval(self, cells: FloatArray) -> IntArray:
        """Return between which knots cells lie."""
        found = np.searchsorted(self.knots, cells.mean(axis=1), side="right") - 1
        return np.asarray(np.clip(found, 0, len(self.knots) - 2))

    # --- curves by their values at nodes: cells (N, degree + 1, 2) of lowest and highest ---

    def _between(self, cells: FloatArray, W: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Bound W (n, degree + 1) times the nodes, for all curves of cells: shapes (N, n)."""
        positive, negative = np.maximum(W, 0.0).T, np.minimum(W, 0.0).T
        low, high = cells[..., 0], cells[..., 1]
        return low @ positive + high @ negative, high @ positive + low @ negative

    def _curves(self, cells: FloatArray, scores: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Bound the curves of cells that are within the belt: shapes (N, n)."""
        low, high = self._between(cells, self._interpolation(scores))
        lowest, highest = self.at(scores)
        low = np.maximum(low, lowest)
        return low, np.maximum(low, np.minimum(high, highest))

    def _slope_change(self, cells: FloatArray, groups: _Groups) -> FloatArray:
        """Largest |η' - 1| of the curves in cells, anywhere in a group: (N, G)."""
        low, high = self._between(cells, self._interpolation(groups.scores, derivative=1))
        bend = max(float(bends.max()) for bends in self._bends)
        return np.asarray(np.maximum(np.abs(low - 1), np.abs(high - 1)) + bend * groups.widths)

    def _allowed(self, cells: FloatArray) -> FloatArray:
        """Keep the cells in which a curve may have all bounds at the knots."""
        low, high = self._between(cells, self._interpolation(self.knots))
        room = 1e-9 * (1 + np.abs(self.upper) + np.abs(self.lower))  # rounding
        keeps = (low <= self.upper + room) & (high >= self.lower - room)
        return np.asarray(cells[keeps.all(axis=1)])

    def _highest(self, bound: Callable[[FloatArray], FloatArray]) -> float:
        """Bound a number over all curves of the polytope, which `bound` bounds in cells."""

        def attained(cells: FloatArray) -> FloatArray:
            """Return the values of the curves at the centres, and of the diagonal."""
            diagonal = self.knots[self._nodes][None]
            centres = np.concatenate([diagonal, cells.mean(axis=2)])
            curves = self._allowed(np.stack([centres, centres], axis=2))
            return bound(curves) if len(curves) else np.array([-np.inf])

        whole = np.stack([self.lower[self._nodes], self.upper[self._nodes]], axis=1)[None]
        return _supremum(whole, bound, attained, lambda cells: self._allowed(_split(cells)))


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


def _split(cells: FloatArray) -> FloatArray:
    """Split cells (N, k, 2) in the middle of all k sides."""
    for side in range(cells.shape[1]):
        low, high = cells.copy(), cells.copy()
        low[:, side, 1] = high[:, side, 0] = cells[:, side].mean(axis=1)
        cells = np.concatenate([low, high])
    return cells


def _largest(objective: FloatArray, system: dict[str, Any]) -> float:
    """Return a number that a linear function exceeds nowhere in a polytope; infinite for none."""
    found = linprog(-objective, **system)
    return SOLVER_ERROR - float(found.fun) if found.status == 0 else np.inf


def _farthest(scores: FloatArray, low: FloatArray, high: FloatArray) -> FloatArray:
    """Largest |c - p| at logits of p, for logits of c from low to high."""
    p = expit(scores)
    return np.asarray(np.maximum(expit(high) - p, p - expit(low)))


def _distance(scores: FloatArray, low: FloatArray, high: FloatArray) -> FloatArray:
    """Smallest |c - p| at logits of p, for logits of c from low to high."""
    p = expit(scores)
    return np.asarray(np.maximum(np.maximum(expit(low) - p, p - expit(high)), 0.0))
