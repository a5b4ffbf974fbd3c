"""The parameters that a reader can point at, with their ranks."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from exactregion._typing import BoolArray, FloatArray, IntArray
from exactregion.plotting.canvas import box_of
from exactregion.region.grid import Grid, full_grid, refined_grid
from exactregion.region.outline import Outline
from exactregion.region.window import RankFunction

if TYPE_CHECKING:
    from exactregion.region import ConfidenceRegion

__all__ = ["Cloud", "Line", "Pointable", "Surface", "pointable"]

LINE_POINTS = 201
SIDES = ((100_000, 61, 8), (1_000_000, 41, 7), (np.inf, 31, 6))
"""Up to so many rows times data sets: points an axis of the plane, and levels of its boundary."""

SHARES = (0.35, 0.7)
"""Where rays are asked inside the region, as shares of their length."""

BEYOND = 1.25
"""Where rays are asked outside, as a multiple of their length."""

TOO_THIN = 0.9
"""Correlation of two parameters above which the region is a sliver in their plane."""


@dataclass(frozen=True, eq=False)
class Pointable:
    """Parameters with their ranks.

    Attributes
    ----------
    theta : ndarray of shape (T, d)
        The parameters.
    ranks : ndarray of shape (T,)
        Their ranks.
    box : ndarray of shape (d, 2)
        What to show of each parameter, or of each axis of a surface.
    """

    theta: FloatArray
    ranks: IntArray
    box: FloatArray


@dataclass(frozen=True, eq=False)
class Line(Pointable):
    """Values of one parameter, ascending."""


@dataclass(frozen=True, eq=False)
class Surface(Pointable):
    """A regular grid over a plane of two parameters; the second axis runs fastest.

    Where the first parameter goes up and down with the second, so that the region would be too thin
    to point at, its axis shows ``first - slant · second`` instead.

    Attributes
    ----------
    axes : (ndarray of shape (k,), ndarray of shape (l,))
        Values of the grid.
    boundary : (list of ndarrays, list of ndarrays)
        The boundary of the region in the plane, in pieces.
    slant : float
        0 if the axes are the parameters themselves.
    """

    axes: tuple[FloatArray, FloatArray]
    boundary: tuple[list[FloatArray], list[FloatArray]]
    slant: float

    def place(self, theta: FloatArray) -> FloatArray:
        """Give the place of parameters in the plane."""
        return theta - self.slant * theta[..., 1:] * [1, 0]


@dataclass(frozen=True, eq=False)
class Cloud(Pointable):
    """Points along rays from the estimate, from most to least compatible."""


def pointable(region: ConfidenceRegion) -> Line | Surface | Cloud:
    """Choose parameters around the region, and ask for their ranks."""
    outline = region.outline()
    d = len(outline.estimate)
    if d == 1:
        return _line(region, outline)
    return _surface(region, outline) if d == 2 else _cloud(region, outline)


def _line(region: ConfidenceRegion, outline: Outline) -> Line:
    box = box_of(outline)
    even, fine = region.grid(box, points=LINE_POINTS), region.grid(box, levels=11)
    asked = fine.ranks > 0
    here = outline.estimate[(outline.estimate >= box[0, 0]) & (outline.estimate <= box[0, 1])]
    values = np.concatenate([even.axes[0], fine.axes[0][asked], here])
    ranks = np.concatenate([even.ranks, fine.ranks[asked], np.full(len(here), outline.rank)])
    values, first = np.unique(values, return_index=True)
    return Line(values[:, None], ranks[first], box)


def _surface(region: ConfidenceRegion, outline: Outline) -> Surface:
    state = region.fitted_
    work = len(state.sample) * state.resampling.m
    side, levels = next((side, levels) for most, side, levels in SIDES if work <= most)
    slant = _slant(outline)
    upright = np.array([[1.0, -slant], [0.0, 1.0]])
    window = outline.window
    seen = replace(window, origin=upright @ window.origin, axes=upright @ window.axes)
    box = box_of(replace(outline, window=seen))

    def theta_at(places: FloatArray) -> FloatArray:
        return places + slant * places[:, 1:] * [1, 0]

    ranks = RankFunction(lambda places: state.ranks(theta_at(places)), window.bounds)
    even = full_grid(ranks, state.accepted, box, side)
    fine = refined_grid(ranks, state.accepted, box, levels=levels)
    places = np.stack(np.meshgrid(*even.axes, indexing="ij"), axis=-1).reshape(-1, 2)
    axes = even.axes[0], even.axes[1]
    return Surface(theta_at(places), even.ranks.ravel(), box, axes, _boundary(fine), slant)


def _slant(outline: Outline) -> float:
    """Give how far the first parameter moves with the second, if the region is thin for it."""
    window = outline.window
    covariance = window.axes @ window.axes.T
    size = np.sqrt(np.diag(covariance))
    thin = abs(covariance[0, 1]) > TOO_THIN * size[0] * size[1]
    free = np.isinf(window.bounds[0]).all()
    # as few digits as the axis can name, so that the name is what is shown
    return float(f"{covariance[0, 1] / covariance[1, 1]:.3g}") if thin and free else 0.0


def _boundary(grid: Grid) -> tuple[list[FloatArray], list[FloatArray]]:
    """Draw a line half-way between members and their neighbours outside."""
    from contourpy import LineType, contour_generator

    inside = grid.member.T.astype(np.float64)
    generator = contour_generator(
        x=grid.axes[0], y=grid.axes[1], z=inside, line_type=LineType.Separate
    )
    lines = [np.asarray(line) for line in generator.lines(0.5)]
    return [line[:, 0] for line in lines], [line[:, 1] for line in lines]


def _cloud(region: ConfidenceRegion, outline: Outline) -> Cloud:
    theta = np.vstack([outline.estimate, _around(outline)])
    ranks: IntArray = region.rank(theta)
    order = np.argsort(ranks, kind="stable")
    return Cloud(theta[order], ranks[order], box_of(outline, margin=0.3))


def _around(outline: Outline) -> FloatArray:
    """Give points within and without, along the rays that were followed to the boundary."""
    window, rays = outline.window, outline.rays
    if rays is None:
        steps = np.random.default_rng(0).standard_normal((300, len(outline.estimate)))
        return window.theta(2 * steps)
    finite = rays.outer[np.isfinite(rays.outer)]
    far = 3 * float(np.median(finite)) if len(finite) else 10.0
    inner = np.minimum(rays.inner, far)
    lengths = [share * inner for share in SHARES] + [inner]
    ended: BoolArray = np.isfinite(rays.outer) & (rays.outer < 1.5 * far)
    points = [window.theta(rays.directions * length[:, None]) for length in lengths]
    for length in (rays.outer[ended], BEYOND * rays.outer[ended]):
        points.append(window.theta(rays.directions[ended] * length[:, None]))
    return np.unique(np.vstack(points), axis=0)
