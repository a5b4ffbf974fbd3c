"""Boxes that cover a region, found once per fit: ends of any linear number follow from them.

The region is proven to have its ends in many directions, the same for every question. The boxes
that are left when that is done hold all members, so that no member has a larger a·θ than the
farthest corner of a box. What is said of one number does not depend on which others there are.
"""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np

from exactregion._typing import BoolArray, FloatArray
from exactregion.region.fitted import FittedRegion
from exactregion.region.proofs.splitting import Domain, proven_ends, rule_over
from exactregion.region.ratios import LinearRatios, RatiosInWindow
from exactregion.region.search.ends import Bounds
from exactregion.region.search.outline import outline_of
from exactregion.region.window import Window

__all__ = ["Covering", "covering_of"]

DIRECTIONS = {1: 1, 2: 16, 3: 128}
"""Numbers by parameters whose ends, two each, are proven: for two, neighbours are eleven degrees
apart, and what lies between them is farther out by a quarter of a hundredth of the region's width.
"""


@dataclass(frozen=True, eq=False)
class Covering:
    """Boxes in the coordinates of a window that hold all members, and coordinates of members."""

    window: Window
    centre: FloatArray  # (k, d)
    half: FloatArray  # (k, d)
    inside: BoolArray  # (k,): which of them hold members only
    members: FloatArray  # (j, d)
    evaluations: int
    seconds: float

    def bounds(self, numbers: LinearRatios, *, widest_gap: float) -> Bounds:
        """Bound linear numbers, certified where a member is this close as a share of the length."""
        started = time.perf_counter()
        if not len(self.centre):
            return Bounds.empty(len(numbers), certified=True)
        within = numbers.in_window(self.window)
        top = within.top(self.centre, self.half)
        known = np.vstack([within.at(self.members), top[self.inside]])
        bound, value = top.max(axis=0).reshape(-1, 2), known.max(axis=0, initial=-np.inf)
        value = value.reshape(-1, 2)
        gaps = np.where(np.isfinite(value), bound - value, np.inf)
        proven = gaps.max(axis=1) <= widest_gap * value.sum(axis=1)
        return Bounds(
            -bound[:, 1],
            bound[:, 0],
            gaps.T[::-1],
            proven,
            proven.copy(),
            0,
            self.evaluations,
            self.seconds + time.perf_counter() - started,
        )


def covering_of(
    fitted: FittedRegion, domain: Domain, *, tolerance: float, budget: float
) -> Covering:
    """Cover the region by boxes, once per fit, within a budget as that of `proven_ends`."""
    key = ("covering", tolerance, budget)
    return fitted.cached(key, lambda: _cover(fitted, domain, tolerance, budget))


def _cover(fitted: FittedRegion, domain: Domain, tolerance: float, budget: float) -> Covering:
    window, outline = domain.window, outline_of(fitted)
    # those of the parameters as well, which most calls are for
    axes = window.axes / np.linalg.norm(window.axes, axis=1, keepdims=True)
    along = np.vstack([_directions(len(domain.centre)), axes])
    numbers = RatiosInWindow(np.zeros(len(along)), along, None)
    members = window.coordinates(outline.window.theta(outline.members()))
    ends = proven_ends(
        [rule_over(fitted, domain, fitted.accepted)],
        domain,
        numbers,
        numbers.at(members).max(axis=0, initial=-np.inf),
        tolerance=tolerance,
        budget=budget,
    )
    left = ends.left
    return Covering(
        window,
        left.boxes.centre,
        left.boxes.half,
        left.inside,
        np.vstack([members, left.members]),
        ends.boxes,
        ends.seconds,
    )


def _directions(d: int) -> FloatArray:
    """Return unit vectors (k, d) spread evenly over half a circle or sphere."""
    k = DIRECTIONS[d]
    if d == 1:
        return np.ones((1, 1))
    if d == 2:
        angle = np.pi * np.arange(k) / k
        return np.column_stack([np.cos(angle), np.sin(angle)])
    # steps of the golden angle, at equal steps of height (Fibonacci's sphere)
    height = (np.arange(k) + 0.5) / k
    angle = np.pi * (3 - np.sqrt(5)) * np.arange(k)
    radius = np.sqrt(1 - height**2)
    return np.column_stack([radius * np.cos(angle), radius * np.sin(angle), height])
