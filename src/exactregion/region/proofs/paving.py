"""Boxes that hold all members of a region: the one that proofs begin from, and a paving.

A θ under which an observed outcome is all but impossible is never a member, so that all members lie
within some distance unless the data are separated. Splitting brings this domain close to them; and
a paving splits it until little of it is open.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse
from scipy.sparse.csgraph import connected_components

from exactregion._typing import FloatArray
from exactregion.engine.progress import advance
from exactregion.features.threads import single_thread
from exactregion.ranking import AcceptedRanks
from exactregion.region.fitted import FittedRegion
from exactregion.region.proofs.enclosure import CELL, Boxes, Enclosure
from exactregion.region.proofs.inputs import certain_predictors
from exactregion.region.proofs.splitting import (
    Domain,
    classify,
    first_boxes,
    proven_ends,
    rule_over,
)
from exactregion.region.ratios import RatiosInWindow
from exactregion.region.search.ends import nearly_all_ranks
from exactregion.region.search.outline import outline_of
from exactregion.region.window import Window, likely_parameters, window_at

__all__ = ["Paving", "domain_along", "domain_below", "domain_of", "pave"]

FINEST_DIRECTION = 2.0**-12
"""Cells of directions that no row excludes as a whole at this width are taken for directions
without an end: nothing is proven then."""

DOMAIN_GAP, DOMAIN_BUDGET = 0.3, 3e8
"""How close the domain is to members, as a share of its width, and the work that may be spent on
it: a closer one costs more than the sets within it save."""


def domain_of(fitted: FittedRegion) -> Domain | None:
    """Return a box that all members lie in, once per fit; None where there may be none.

    There is none if the data are separated, or if the region accepts the last rank.
    """
    return fitted.cached("domain", lambda: _find_domain(fitted))


def domain_along(fitted: FittedRegion, window: Window) -> Domain | None:
    """Return a box that all members on a line or plane lie in; None where there may be none."""
    if fitted.accepted.high == fitted.accepted.m:
        return None
    k = window.axes.shape[1]
    radius = _radius(fitted, window, np.zeros(k), np.inf)
    return None if radius is None else Domain(window, np.zeros(k), np.full(k, radius))


def domain_below(fitted: FittedRegion, a: FloatArray, value: float) -> Domain | None:
    """Return a box that all members with a·θ ≤ value lie in; None where there may be none.

    Separated data have one if a·u > 0 for every direction u in which the region may have no end.
    """
    if fitted.accepted.high == fitted.accepted.m:
        return None
    window = _likely_window(fitted)
    slope, start = a @ window.axes, a @ window.origin
    # beyond the origin, so that the distance is positive in every direction
    room = max(value - float(start), 0.0) + float(np.linalg.norm(slope))
    radius = _radius(fitted, window, slope, room)
    d = len(window.origin)
    return None if radius is None else Domain(window, np.zeros(d), np.full(d, radius))


def _likely_window(fitted: FittedRegion) -> Window:
    return window_at(fitted.model, fitted.sample, likely_parameters(fitted.model, fitted.sample))


def _find_domain(fitted: FittedRegion) -> Domain | None:
    m = fitted.accepted.m
    first = domain_along(fitted, _likely_window(fitted))
    if first is None:
        return None
    window, d = first.window, len(first.half)
    most = max(nearly_all_ranks(m).high, fitted.accepted.high)
    rule = Enclosure(fitted, window, AcceptedRanks(m, 1, most))
    numbers = RatiosInWindow(np.zeros(d), np.eye(d), None)
    outline = outline_of(fitted)
    members = window.coordinates(outline.window.theta(outline.members()))
    ends = proven_ends(
        [rule],
        first,
        numbers,
        numbers.at(members).max(axis=0, initial=-np.inf),
        tolerance=DOMAIN_GAP,
        budget=DOMAIN_BUDGET,
        tries=False,  # the gap is wide enough for the members that are known
    )
    if ends.is_empty:
        return Domain(window, np.zeros(d), np.zeros(d))
    high, low = ends.bound.reshape(-1, 2).T
    kept = rule.continued(rule.accepted)  # without expansions, which are large
    boxes, within = ends.left.boxes, ends.left.boxes.within[0]
    # nor the cells of boxes that were dropped: each proof that goes on from here copies the rest
    within[:, CELL] = kept.cells.keep(within[:, CELL])[within[:, CELL]]
    return Domain(window, (high - low) / 2, (high + low) / 2, boxes, kept)


def _radius(fitted: FittedRegion, window: Window, slope: FloatArray, room: float) -> float | None:
    """Return R such that all members with slope·z ≤ room have |z| < R; None if there is none.

    A θ under which an observed outcome is all but impossible is never a member. In each cell of
    directions some row says how far out that happens; where no row does, the data are separated,
    and the region may have no end there.
    """
    model, sample = fitted.model, fitted.sample
    design: Any = model.linear_design(sample.inputs.X)
    x, eta = design @ window.axes, design @ window.origin
    lowest, highest = certain_predictors(model)
    has_success = sample.successes > 0
    has_failure = sample.successes < sample.inputs.trials
    # the limit is one more row, with a failure
    x, eta = np.vstack([x, slope]), np.append(eta, highest - room)
    has_success, has_failure = np.append(has_success, False), np.append(has_failure, True)
    d = x.shape[1]
    low = np.concatenate([np.where(np.eye(d) > 0, side, -1.0) for side in (-1.0, 1.0)])
    high = np.concatenate([np.where(np.eye(d) > 0, side, 1.0) for side in (-1.0, 1.0)])
    largest = 0.0
    while len(low):
        middle, half = ((low + high) / 2) @ x.T, ((high - low) / 2) @ np.abs(x).T

        def needed(slack: FloatArray, middle: FloatArray = middle) -> FloatArray:
            """Return the distance at which some row excludes a cell; its middle, without slack."""
            with np.errstate(divide="ignore"):
                rising = (highest - eta) / np.maximum(middle - slack, 0.0)
                falling = (eta - lowest) / np.maximum(-middle - slack, 0.0)
            by_row = np.minimum(
                np.where(has_failure, rising, np.inf), np.where(has_success, falling, np.inf)
            )
            return np.asarray(by_row.min(axis=1))

        whole, best = needed(half), needed(np.zeros_like(half))
        too_fine = np.isinf(whole) & ((high - low).max(axis=1) < FINEST_DIRECTION)
        if np.isinf(best).any() or too_fine.any():
            return None
        # finer cells would not bring the distance down by much
        settled = whole <= np.maximum(1.5 * best, largest)
        largest = max(largest, float(whole[settled].max(initial=0.0)))
        low, high = low[~settled], high[~settled]
        rows, across = np.arange(len(low)), (high - low).argmax(axis=1)
        cut = (low + high)[rows, across] / 2
        upper_low, lower_high = low.copy(), high.copy()
        upper_low[rows, across] = lower_high[rows, across] = cut
        low, high = np.concatenate([low, upper_low]), np.concatenate([lower_high, high])
    return max(largest, 1.0)


@dataclass(frozen=True, eq=False)
class Paving:
    """A region as boxes: all members lie in boxes that are inside or open.

    Boxes are in the coordinates z of the window, θ = origin + axes · z, in which the region is
    about a ball.

    Attributes
    ----------
    inside, open : tuple of ndarrays of shape (k, d)
        Centres and half widths of the boxes in which all θ are members, and of those in which some
        may be.
    window : Window
        Its ``theta`` turns coordinates into θ.
    pieces : int
        Groups of adjacent boxes with a box inside: the region has this many pieces at least.
    evaluations, seconds : int and float
        Number of boxes, and time taken.
    """

    inside: tuple[FloatArray, FloatArray]
    open: tuple[FloatArray, FloatArray]
    window: Window
    pieces: int
    evaluations: int
    seconds: float

    @property
    def is_empty(self) -> bool:
        """Whether there is no member, by proof."""
        return not len(self.inside[0]) and not len(self.open[0])

    @property
    def area(self) -> tuple[float, float]:
        """Lower and upper bound of the length, area or volume of the region."""
        unit = abs(float(np.linalg.det(self.window.axes)))
        inside, unclear = (
            unit * float(np.prod(2 * half, axis=1).sum()) for _, half in (self.inside, self.open)
        )
        return inside, inside + unclear


@single_thread()  # as for `proven_ends`
def pave(fitted: FittedRegion, domain: Domain, *, tolerance: float, budget: float) -> Paving:
    """Split the domain until the open boxes are at most this share of the region.

    The budget is in comparisons of labels, as for `proven_ends`.
    """
    started = time.perf_counter()
    rule = rule_over(fitted, domain, fitted.accepted)
    boxes = first_boxes(domain, [rule])
    inside: list[Boxes] = []
    volume, n_boxes = 0.0, 0
    while len(boxes):
        is_open, is_inside = classify([rule], boxes, complete=True)
        n_boxes += len(boxes)
        advance(len(boxes))
        inside.append(boxes[is_inside & is_open])
        volume += float(np.prod(2 * inside[-1].half, axis=1).sum())
        boxes = boxes[is_open & ~is_inside]
        unclear = float(np.prod(2 * boxes.half, axis=1).sum())
        if unclear <= tolerance * (volume + unclear) or rule.work > budget:
            break
        boxes = boxes.halves(rule.widest(boxes))
    centre = np.concatenate([part.centre for part in inside])
    half = np.concatenate([part.half for part in inside])
    pieces = _pieces(
        np.concatenate([centre, boxes.centre]), np.concatenate([half, boxes.half]), len(centre)
    )
    seconds = time.perf_counter() - started
    return Paving(
        (centre, half), (boxes.centre, boxes.half), domain.window, pieces, n_boxes, seconds
    )


def _pieces(centre: FloatArray, half: FloatArray, n_inside: int) -> int:
    """Count groups of boxes that touch each other and hold one of the first `n_inside` boxes."""
    if not n_inside:
        return 0
    low, high = centre - half * (1 + 1e-9), centre + half * (1 + 1e-9)
    first, second = [], []
    for box in range(len(centre)):
        touches = ((low[box] <= high[box:]) & (high[box] >= low[box:])).all(axis=1)
        others = box + np.flatnonzero(touches)
        first.append(np.full(len(others), box))
        second.append(others)
    pairs = np.concatenate(first), np.concatenate(second)
    graph = sparse.coo_array((np.ones(len(pairs[0])), pairs), shape=(len(centre),) * 2)
    groups = connected_components(graph, directed=False)[1]
    return len(np.unique(groups[:n_inside]))
