"""Coordinates in which boxes cover all parameters of a family, those at infinity too.

A box is given in coordinates t between -1 and 1, c = centre + scale · t / (1 - |t|), so that t = ±1
is infinity; θ = axes · c. For most families c is θ itself.

With a linear predictor of two coefficients, bounds of p say nothing where an intercept goes to
infinity and a slope to minus infinity. So the plane is cut along the lines x_j·θ = 0: within a cone
between two neighbours of them, θ = c₁ r₁ + c₂ r₂ with c ≥ 0, no predictor changes its sign, and
each is c₁ x_j·r₁ + c₂ x_j·r₂ with coefficients of one sign, which has a limit wherever c goes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from exactregion._typing import FloatArray
from exactregion.models.base import Model
from exactregion.models.linear import LinearModel, predictor_bounds
from exactregion.models.psychometric import Psychometric
from exactregion.region.fitted import FittedRegion
from exactregion.region.window import lengths_of, likely_parameters, window_at

__all__ = ["Chart", "charts_of"]

PREDICTOR, ERRORS = 2.0, 3.0
"""Scales of coordinates, at which t is one half: of predictors at the rows next to a cone, and of
parameters in standard errors. Others would cost more boxes, and prove the same."""

LEAST_SCALE, MOST_SCALE = 1e-3, 1e3
"""Least and largest scales of parameters, in shares of their range or of their own size."""

SEPARATE, FAR = 1e-6, 1e9
"""Least size of the predictors of rows beside a cone, as a share of their largest summand, where
the cone's own rows have predictors of one; and the largest summand whose rounding is allowed for.
Their product is beyond all predictors that are not certain: where summands are larger, only rows of
one direction, which are equal, have a probability between its limits. A rounding error there is the
same as a step of θ by less than its last digits, to another point of the same charts."""

ROUNDING = 1e-14
"""Rounding errors of a predictor, as a share of its largest summand."""


@dataclass(frozen=True, eq=False)
class Chart:
    """Coordinates of some or all θ.

    Attributes
    ----------
    model : Model
        The family.
    axes : ndarray of shape (d, d)
        θ = axes · c.
    low, high : ndarrays of shape (d,)
        The range of c that it covers, with infinite ends.
    centre, scale : ndarrays of shape (d,)
        c at t = 0, and its distance from there at t = ±1/2.
    likely : ndarray of shape (d,)
        The θ around which they were chosen.
    is_cone : bool
        Whether the first two coordinates are those of a cone.
    """

    model: Model
    axes: FloatArray
    low: FloatArray
    high: FloatArray
    centre: FloatArray
    scale: FloatArray
    likely: FloatArray
    is_cone: bool

    @property
    def box(self) -> tuple[FloatArray, FloatArray]:
        """Centre and half width in coordinates t of all that the chart covers: shape (d,)."""
        ends = (np.stack([self.low, self.high]) - self.centre) / self.scale
        with np.errstate(invalid="ignore"):
            t = np.where(np.isinf(ends), np.sign(ends), ends / (1 + np.abs(ends)))
        return (t[0] + t[1]) / 2, (t[1] - t[0]) / 2

    def coordinates(self, t: FloatArray) -> FloatArray:
        """Return c of t (N, d), within the range of the chart."""
        with np.errstate(divide="ignore"):
            c = self.centre + self.scale * t / np.maximum(1 - np.abs(t), 0.0)
        return np.asarray(np.clip(c, self.low, self.high))

    def ends(self, centre: FloatArray, half: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the smallest and the largest c in boxes of t (N, d), one rounding error wider."""
        wider = half + 1e-15
        sides = np.clip([centre - wider, centre + wider], -1.0, 1.0)
        low, high = self.coordinates(sides[0]), self.coordinates(sides[1])
        return low, high

    def theta(self, t: FloatArray) -> FloatArray:
        """Return θ of t (N, d), finite ones within the bounds of the family."""
        bounds = np.array(self.model.bounds, dtype=np.float64)
        return np.asarray(np.clip(self.coordinates(t) @ self.axes.T, *bounds.T))

    def probability_bounds(
        self, low: FloatArray, high: FloatArray, X: Any
    ) -> tuple[FloatArray, FloatArray] | None:
        """Bound the probabilities in rows of X over boxes of c (B, d): two arrays (B, n)."""
        with np.errstate(all="ignore"):
            if not self.is_cone:
                return self.model.probability_bounds(low, high, X)
            core = _core_of(self.model)
            design = core.linear_design(X)
            rows = _products(design, self.axes[:2, :2])
            smallest, largest = predictor_bounds(low[:, :2], high[:, :2], rows)
            summands = np.abs(design) @ np.abs(self.axes[:2, :2])
            most = predictor_bounds(high[:, :2], high[:, :2], summands)[1]
            error = ROUNDING * np.minimum(most, FAR)
            F = core.inverse_link(smallest - error), core.inverse_link(largest + error)
            if isinstance(self.model, Psychometric):
                return self.model.bounds_between(F, low[:, 2:], high[:, 2:])
            return F


def charts_of(fitted: FittedRegion) -> list[Chart] | None:
    """Return charts that together cover all parameters; None if no bounds are known."""
    return fitted.cached("charts", lambda: _find_charts(fitted))


def _find_charts(fitted: FittedRegion) -> list[Chart] | None:
    model, inputs = fitted.model, fitted.sample.inputs
    bounds = np.array(model.bounds, dtype=np.float64)
    theta = likely_parameters(model, fitted.sample)
    scale = ERRORS * lengths_of(window_at(model, fitted.sample, theta).axes)
    length = bounds[:, 1] - bounds[:, 0]
    # a θ without information has no standard error
    usual = np.where(np.isfinite(length), length, 1 + np.abs(theta))
    scale = np.clip(np.nan_to_num(scale, nan=np.inf), LEAST_SCALE * usual, MOST_SCALE * usual)
    scale = np.where(np.isfinite(length), np.minimum(scale, length), scale)
    d = len(theta)
    whole = Chart(model, np.eye(d), bounds[:, 0], bounds[:, 1], theta, scale, theta, False)
    core = model.core if isinstance(model, Psychometric) else model
    if isinstance(core, LinearModel):
        design = core.linear_design(inputs.X)[inputs.trials > 0]
        if design.shape[1] == 2:
            cones = _cones(design)
            return None if cones is None else [_cone(whole, rays) for rays in cones]
    low, high = bounds.T[:, None]
    is_known = model.probability_bounds(low, high, inputs.user_rows) is not None
    return [whole] if is_known else None


def _core_of(model: Model) -> LinearModel:
    core: Any = model.core if isinstance(model, Psychometric) else model
    return core  # type: ignore[no-any-return]


def _cone(whole: Chart, rays: FloatArray) -> Chart:
    d = len(whole.centre)
    axes = np.eye(d)
    axes[:2, :2] = rays
    first = np.arange(d) < 2
    return Chart(
        whole.model,
        axes,
        np.where(first, 0.0, whole.low),
        np.where(first, np.inf, whole.high),
        np.where(first, 0.0, whole.centre),
        np.where(first, PREDICTOR, whole.scale),
        whole.likely,
        True,
    )


def _products(design: FloatArray, rays: FloatArray) -> FloatArray:
    """Compute x·r for rows x (n, 2) and rays in columns; zero where it is meant to be."""
    first, second = design[:, :1] * rays[0], design[:, 1:] * rays[1]
    products = first + second
    # a ray is perpendicular to its row up to the rounding of its length
    meant = np.abs(products) <= 1e-13 * np.maximum(np.abs(first), np.abs(second))
    return np.where(meant, 0.0, products)


def _cones(design: FloatArray) -> list[FloatArray] | None:
    """Return the rays (2, 2), in columns, of all cones between lines x_j·θ = 0; None if unclear."""
    rows = np.unique(design[(design != 0).any(axis=1)], axis=0)
    # all on one side, since x and -x have the same line; then by angle
    is_other_side = (rows[:, 1] < 0) | ((rows[:, 1] == 0) & (rows[:, 0] < 0))
    rows = np.where(is_other_side[:, None], -rows, rows)
    rows = rows[np.argsort(np.arctan2(rows[:, 1], rows[:, 0]))]
    first, second = rows[:-1], rows[1:]
    cross = first[:, 0] * second[:, 1] - first[:, 1] * second[:, 0]
    size = np.abs(first[:, 0] * second[:, 1]) + np.abs(first[:, 1] * second[:, 0])
    # rows of one direction are equal; others are clearly of another one
    is_new = np.append(True, (first != second).any(axis=1))
    if len(rows) < 2 or (np.abs(cross) <= 1e-12 * size)[is_new[1:]].any():
        return None
    rows = rows[is_new]
    if len(rows) < 2:
        return None
    cones = []
    for sign in (1.0, -1.0):
        for k, row in enumerate(rows):
            # the line after the last is the first one again, from its other side
            last = k + 1 == len(rows)
            after = -rows[0] if last else rows[k + 1]
            rays = sign * np.column_stack([_perpendicular(row), _perpendicular(after)])
            lengths = np.abs(np.array([rays[:, 0] @ after, rays[:, 1] @ row]))
            rays /= lengths
            products = _products(rows, rays)
            summands = np.abs(rows) @ np.abs(rays)
            too_close = np.abs(products) < SEPARATE * summands
            if too_close[products != 0].any() or (products[:, 0] * products[:, 1] < 0).any():
                return None
            cones.append(rays)
    return cones


def _perpendicular(row: FloatArray) -> FloatArray:
    return np.array([-row[1], row[0]])
