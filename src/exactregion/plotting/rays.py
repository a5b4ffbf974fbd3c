"""Points of a region with several parameters, along rays from its estimate."""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np

from exactregion._typing import FloatArray
from exactregion.plotting.canvas import near_lengths
from exactregion.region.outline import Outline
from exactregion.region.rays import radius_of, trace
from exactregion.region.window import Window

if TYPE_CHECKING:
    from exactregion.region import ConfidenceRegion

__all__ = ["boundary_members", "points_along_rays"]

PAST_EDGE = 12.0
"""Rays that never leave the region are cut at this multiple of the median length of those that do:
well outside of the picture, which shows 3."""

LENGTHS = (0.35, 0.7, 1.0)
"""Where rays are evaluated inside the region, as shares of their length."""

BEYOND = (1.0, 1.25)
"""Where they are evaluated outside, as multiples of the first rejected length."""


def boundary_members(region: ConfidenceRegion, outline: Outline, rays: int) -> FloatArray:
    """Find members at the boundary, most of them where the projections have their edges.

    Rays that never left are cut where they are well outside of the picture.
    """
    if outline.rays is None:
        return np.empty((0, len(outline.estimate)))
    window, d = outline.window, len(outline.estimate)
    found = [outline.rays]
    if rays:
        along, step = _towards_edges(window, rays), radius_of(region.coverage_, d) / 2
        found.append(trace(region.contains, window, along, first_step=step, look_beyond=False))
    along, inner, outer, at_bound = (
        np.concatenate([getattr(one, name) for one in found])
        for name in ("directions", "inner", "outer", "at_bound")
    )
    endless = np.isinf(outer) & ~at_bound
    cut = near_lengths(outer, PAST_EDGE, 4 * PAST_EDGE)
    length = np.where(endless, np.minimum(inner, cut), inner)
    theta = window.theta(along * length[:, None])
    kept = ~endless
    if endless.any():
        kept[endless] = region.contains(theta[endless])
    return np.vstack([outline.estimate, theta[kept]])


def points_along_rays(outline: Outline) -> FloatArray:
    """Return points inside and outside, along the rays of the search."""
    window, rays = outline.window, outline.rays
    if rays is None:
        steps = np.random.default_rng(0).standard_normal((300, len(outline.estimate)))
        return window.theta(2 * steps)
    far = near_lengths(rays.outer, 3.0, 10.0)
    ended = np.isfinite(rays.outer) & (rays.outer < 1.5 * far)
    inside = [(rays.directions, share * np.minimum(rays.inner, far)) for share in LENGTHS]
    outside = [(rays.directions[ended], multiple * rays.outer[ended]) for multiple in BEYOND]
    points = [window.theta(along * length[:, None]) for along, length in inside + outside]
    return np.unique(np.vstack(points), axis=0)


def _towards_edges(window: Window, number: int) -> FloatArray:
    """Return directions whose ends have the edges of the projections, were the region an ellipsoid.

    The projection of a ball of z on two parameters is B z, with B = U S Vᵀ their two rows of the
    axes: an ellipse whose edge, U S u for u on the circle, is that of z = V u.
    """
    pairs = list(combinations(range(len(window.origin)), 2))
    angles = np.linspace(0, 2 * np.pi, max(12, number // len(pairs)), endpoint=False)
    circle = np.stack([np.cos(angles), np.sin(angles)])
    stacks = []
    for pair in pairs:
        _, _, vt = np.linalg.svd(window.axes[list(pair)], full_matrices=False)
        stacks.append(circle.T @ vt)
    return np.vstack(stacks)
