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
from exactregion.region.proofs.splitting import (
    Domain,
    Scale,
    Span,
    allowed_excess,
    proven_ends,
    readable_probabilities,
    rules_over,
    scale_of,
)
from exactregion.region.ratios import LinearRatios, RatiosInWindow
from exactregion.region.search.ends import Bounds
from exactregion.region.search.outline import outline_of
from exactregion.region.window import Window

__all__ = ["covered_bounds"]

DIRECTIONS = {1: 1, 2: 16, 3: 128}
"""Numbers by parameters whose ends, two each, are proven: for two, neighbours are eleven degrees
apart, and what lies between them is farther out by a quarter of a hundredth of the region's width.
"""

PLACES = 24
"""Rows of the data whose probabilities have ends that are close to members, too: others are then
close to a few per cent, and few of a band have to be refined one by one, which takes 10 ms each."""

REFINED = 0.02
"""Share of the budget that may be spent on each number whose bounds are not close enough to members
on the scale on which it is reported, beyond what the covering takes."""


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


def covered_bounds(
    fitted: FittedRegion,
    domain: Domain,
    numbers: LinearRatios,
    *,
    tolerance: float,
    widest_gap: float,
    budget: float,
    scale: Scale | None = None,
) -> Bounds:
    """Bound linear numbers, certified where a member is this close as a share of the length.

    Boxes are split further, for each number alone, where bounds exceed members by more than the
    tolerance on the `scale` on which numbers are reported. The budget is as for `proven_ends`.
    """
    key = ("covering", tolerance, budget)
    covering = fitted.cached(key, lambda: _cover(fitted, domain, tolerance, budget))
    started = time.perf_counter()
    if not len(covering.centre):
        return Bounds.empty(len(numbers), certified=True)
    within = numbers.in_window(covering.window)
    top = within.top(covering.centre, covering.half)
    known = np.vstack([within.at(covering.members), top[covering.inside]])
    bound, value = top.max(axis=0), known.max(axis=0, initial=-np.inf)
    evaluations = covering.evaluations
    if scale is not None:
        allowed = allowed_excess(value, within.open_length, tolerance, scale)
        beyond = (top > value + allowed) & ~covering.inside[:, None]
        is_wide = beyond.reshape(-1, len(numbers), 2).any(axis=(0, 2))
        for index in np.flatnonzero(is_wide).tolist():
            ends = slice(2 * index, 2 * index + 2)
            split = beyond[:, ends].any(axis=1)
            refined = proven_ends(
                rules_over(fitted, domain, (fitted.accepted, None)),
                Span(covering.centre[split], covering.half[split]),
                numbers[index : index + 1].in_window(covering.window),
                value[ends],
                tolerance=tolerance,
                budget=budget * REFINED,
                scale=scale_of(scale, index, len(numbers)),
            )
            rest = top[~split, ends].max(axis=0, initial=-np.inf)
            bound[ends], value[ends] = np.maximum(refined.bound, rest), refined.value
            evaluations += refined.boxes
    bound, value = bound.reshape(-1, 2), value.reshape(-1, 2)
    gaps = np.where(np.isfinite(value), bound - value, np.inf)
    proven = gaps.max(axis=1) <= widest_gap * value.sum(axis=1)
    seconds = covering.seconds + time.perf_counter() - started
    ends_of = -bound[:, 1], bound[:, 0], gaps.T[::-1]
    return Bounds(*ends_of, proven, proven.copy(), 0, evaluations, seconds)


def _cover(fitted: FittedRegion, domain: Domain, tolerance: float, budget: float) -> Covering:
    window, outline = domain.window, outline_of(fitted)
    # those of the parameters as well, which most calls are for
    axes = window.axes / np.linalg.norm(window.axes, axis=1, keepdims=True)
    along = np.vstack([_directions(len(domain.centre)), axes])
    k, model = len(along), fitted.model
    rows = np.unique(np.asarray(model.linear_design(fitted.sample.inputs.X)), axis=0)
    rows = rows[np.unique(np.linspace(0, len(rows) - 1, PLACES).astype(np.int64))]
    places = LinearRatios.linear(rows).in_window(window)
    numbers = RatiosInWindow(
        np.append(np.zeros(k), places.start), np.vstack([along, places.slope]), None
    )

    def scale(values: FloatArray) -> FloatArray:
        probabilities = readable_probabilities(model, values[..., k:])
        return np.concatenate([values[..., :k], probabilities], axis=-1)

    members = window.coordinates(outline.window.theta(outline.members()))
    ends = proven_ends(
        rules_over(fitted, domain, (fitted.accepted, None)),
        domain,
        numbers,
        numbers.at(members).max(axis=0, initial=-np.inf),
        tolerance=tolerance,
        budget=budget,
        scale=scale,
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
