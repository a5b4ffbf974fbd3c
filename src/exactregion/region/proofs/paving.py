"""Sets that are proven by splitting the parameters into boxes.

A box is inside the region, outside, or open. Boxes that are outside are dropped and open ones are
split: for the ends of functionals as long as they could hold a member beyond the members known, so
that in the end no member lies outside the bounds that are returned, and a known one lies close to
them; for a paving of the whole region until little of it is open.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from scipy.sparse.csgraph import connected_components

from exactregion._typing import BoolArray, FloatArray
from exactregion.engine.progress import advance
from exactregion.ranking import AcceptedRanks
from exactregion.region.fitted import FittedRegion
from exactregion.region.proofs.enclosure import BELOW, NO_CELL, Boxes, Enclosure, RankBounds
from exactregion.region.proofs.inputs import certain_predictors
from exactregion.region.ratios import LinearRatios, OverBoxes, RatiosInWindow
from exactregion.region.search.outline import outline_of
from exactregion.region.window import Window, likely_parameters, window_at

__all__ = [
    "Domain",
    "Paving",
    "ProvenEnds",
    "Span",
    "domain_along",
    "domain_below",
    "domain_of",
    "pave",
    "proven_ends",
    "rule_over",
]

CHUNK = 256
"""Boxes that are bounded at once: their arrays stay within a few megabytes."""

TRIED, MOST_TRIED = 4, 64
"""Boxes per functional, and at most in all, whose centres are tried as members after each round of
splits: a member found there saves the splits of all boxes that reach less far."""

FINEST_DIRECTION = 2.0**-12
"""Cells of directions that no row excludes as a whole at this width are taken for directions
without an end: nothing is proven then."""

SMALLEST_HALF = 1e-9
"""Boxes are not split below this half width, in standard errors: at the pole of a ratio that is a
member no width would be small enough."""

PATIENCE, LEAST_PROGRESS = 5e8, 0.95
"""Work before progress is first looked at, so that proofs that are made by default are never
stopped; and the share to which the excess of bounds over members has to shrink for splitting to go
on."""


DOMAIN_GAP, DOMAIN_BUDGET = 0.3, 3e8
"""How close the domain is to members, as a share of its width, and the work that may be spent on
it: a closer one costs more than the sets within it save."""


@dataclass(frozen=True, eq=False)
class BoxesLeft:
    """Boxes, which of them hold members only (k,), and members that were found (j, d)."""

    boxes: Boxes
    inside: BoolArray
    members: FloatArray


@dataclass(frozen=True, eq=False)
class ProvenEnds:
    """Largest values of F functionals over a set of θ.

    No member has a value above `bound`, and a member has `value`, -∞ where none is known. With
    `is_empty` there is no member at all. All members lie in the boxes that were left at the end.
    """

    value: FloatArray
    bound: FloatArray
    is_empty: bool
    boxes: int
    seconds: float
    left: BoxesLeft


@dataclass(frozen=True, eq=False)
class Domain:
    """A box in the coordinates of a window, centre ± half (d,), that all members lie in.

    They are members of every set of which a θ with the last rank is not a member: of the region,
    and of the sets of focused intervals. Where it was found by splitting, `boxes` are those that
    are left, with the verdicts of `rule` about them: proofs go on from there.
    """

    window: Window
    centre: FloatArray
    half: FloatArray
    boxes: Boxes | None = None
    rule: Enclosure | None = None


class Span(NamedTuple):
    """A box in any coordinates, centre ± half (d,)."""

    centre: FloatArray
    half: FloatArray


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
    rule = Enclosure(fitted, window, AcceptedRanks(m, 1, m - 1))
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
    )
    if ends.is_empty:
        return Domain(window, np.zeros(d), np.zeros(d))
    high, low = ends.bound.reshape(-1, 2).T
    return Domain(window, (high - low) / 2, (high + low) / 2, ends.left.boxes, rule)


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


def proven_ends(
    rules: Sequence[RankBounds],
    domain: Domain | Span,
    numbers: OverBoxes,
    known: FloatArray,
    *,
    tolerance: float,
    budget: float,
    patience: float = PATIENCE,
) -> ProvenEnds:
    """Bound the largest values of numbers and of their negatives over the θ that all rules accept.

    Parameters
    ----------
    rules : sequence of RankBounds
        A θ is a member if the rank by each of them is accepted.
    domain : Domain or Span
        A box that all members lie in, or those of which something is to be proven.
    numbers : OverBoxes
        The numbers, as functions of z.
    known : ndarray of shape (F,)
        Values of members; -∞ where none is known, ∞ where nothing is to be proven.
    tolerance : float
        Open boxes that exceed the values of members by less than this share of the length between
        both ends are not split further.
    budget : float
        Comparisons of labels after which no more boxes are split.
    patience : float
        The same of this proof, before it is first looked at whether splits bring bounds closer.
    """
    started, before = time.perf_counter(), sum(rule.work for rule in rules)
    F = len(known)
    boxes = _first_boxes(domain, rules)
    value, bound, n_boxes = known.astype(np.float64), np.full(F, -np.inf), 0
    other = np.arange(F) ^ 1
    last: list[tuple[Boxes, BoolArray]] = []
    members: list[FloatArray] = [np.empty((0, len(domain.centre)))]
    progress = _Progress(2.0 ** len(domain.half), patience)
    while len(boxes):
        is_open, is_inside = _classify(rules, boxes)
        boxes, is_inside = boxes[is_open], is_inside[is_open]
        n_boxes += len(is_open)
        advance(len(is_open))
        top = numbers.top(boxes.centre, boxes.half)
        value = np.maximum(value, top[is_inside].max(axis=0, initial=-np.inf))
        value, found = _improved(value, boxes, top, numbers, rules)
        members.append(found)
        value[value > numbers.far] = np.inf
        known_both = np.isfinite(value) & np.isfinite(value[other])
        length = np.where(known_both, value + np.where(known_both, value[other], 0.0), 0.0)
        length = np.where(np.isposinf(value[other]), numbers.open_length, length)
        reaches = (top > value + tolerance * length) & ~is_inside[:, None]
        exceeds = reaches.any(axis=1)
        work = sum(rule.work for rule in rules)
        exceeds &= boxes.half.max(axis=1) > SMALLEST_HALF
        with np.errstate(invalid="ignore"):  # ∞ - ∞, where nothing is to be proven
            excess = np.where(reaches, top - value, 0.0).max(axis=0, initial=0.0)
        is_stalled = progress.is_over(work - before, excess)
        if not exceeds.any() or work > budget or is_stalled:
            exceeds[:] = False
        bound = np.maximum(bound, top[~exceeds].max(axis=0, initial=-np.inf))
        last.append((boxes[~exceeds], is_inside[~exceeds]))
        boxes = boxes[exceeds]
        for index, rule in enumerate(rules):
            moved = rule.without_unused(boxes.cells[index])
            if moved is not None:
                for part in (boxes, *(part for part, _ in last)):
                    part.cells[index][:] = moved[part.cells[index]]
        boxes = boxes.halves(rules[0].widest(boxes))
    is_empty = bool(np.isneginf(bound).all())
    seconds = time.perf_counter() - started
    parts, inside = zip(*last, strict=True)
    left = BoxesLeft(Boxes.joined(parts), np.concatenate(inside), np.concatenate(members))
    return ProvenEnds(value, bound, is_empty, n_boxes, seconds, left)


def rule_over(
    fitted: FittedRegion,
    domain: Domain,
    accepted: AcceptedRanks,
    number: LinearRatios | None = None,
) -> Enclosure:
    """Return the bounds of ranks over boxes of a domain, with what is known of it if possible."""
    if number is None and domain.rule is not None:
        return domain.rule.continued(accepted)
    return Enclosure(fitted, domain.window, accepted, number)


def _first_boxes(domain: Domain | Span, rules: Sequence[RankBounds]) -> Boxes:
    """Return the boxes of a domain with what the rules know of them."""
    if not isinstance(domain, Domain) or domain.boxes is None or domain.rule is None:
        verdicts = [np.zeros((1, rule.M), dtype=np.int8) for rule in rules]
        return Boxes(domain.centre[None], domain.half[None], verdicts)
    boxes, known = domain.boxes, domain.rule
    nothing = np.zeros_like(boxes.verdicts[0]), np.full(len(boxes), NO_CELL)
    of_rules = [
        (boxes.verdicts[0].copy(), boxes.cells[0].copy()) if _follows(rule, known) else nothing
        for rule in rules
    ]
    return Boxes(boxes.centre, boxes.half, *map(list, zip(*of_rules, strict=True)))


def _follows(rule: RankBounds, known: Enclosure) -> bool:
    return isinstance(rule, Enclosure) and rule.inputs is known.inputs


class _Progress:
    """Whether further splits bring bounds closer to members.

    Where many alternatives tie with the original along a curve, or where a ratio has a pole that
    may be a member, they do not, and would go on until the budget is used up.
    """

    def __init__(self, factor: float, patience: float) -> None:
        # a cut across each coordinate takes this many times the work
        self.factor, self.patience = factor, patience
        self.work, self.excess = 0.0, np.empty(0)

    def is_over(self, work: float, excess: FloatArray) -> bool:
        """Return whether no excess over members shrank since a fraction of this work."""
        if work < max(self.patience, self.factor * self.work):
            return False
        is_over = bool(self.work) and not (excess < LEAST_PROGRESS * self.excess).any()
        self.work, self.excess = work, excess
        return is_over


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


def pave(fitted: FittedRegion, domain: Domain, *, tolerance: float, budget: float) -> Paving:
    """Split the domain until the open boxes are at most this share of the region.

    The budget is in comparisons of labels, as for `proven_ends`.
    """
    started = time.perf_counter()
    rule = rule_over(fitted, domain, fitted.accepted)
    boxes = _first_boxes(domain, [rule])
    inside: list[Boxes] = []
    volume, n_boxes = 0.0, 0
    while len(boxes):
        is_open, is_inside = _classify([rule], boxes, complete=True)
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


def _improved(
    value: FloatArray,
    boxes: Boxes,
    top: FloatArray,
    numbers: OverBoxes,
    rules: Sequence[RankBounds],
) -> tuple[FloatArray, FloatArray]:
    """Return larger values of members among the centres of boxes that reach farthest, and these.

    A centre is a box without width, in which what is known of the box around it holds.
    """
    if not len(boxes):
        return value, boxes.centre
    farthest = np.argpartition(-top, min(TRIED, len(top)) - 1, axis=0)[:TRIED]
    which = np.unique(farthest)
    values = numbers.at(boxes.centre[which])
    tried = boxes[which[(values > value).any(axis=1)][:MOST_TRIED]]
    tried.half[:] = 0.0
    members = tried.centre[_classify(rules, tried)[1]]
    found = numbers.at(members)
    found = np.where(np.isnan(found), -np.inf, found).max(axis=0, initial=-np.inf)
    return np.asarray(np.maximum(value, found)), members


def _classify(
    rules: Sequence[RankBounds], boxes: Boxes, *, complete: bool = False
) -> tuple[BoolArray, BoolArray]:
    """Return which boxes are not outside, and which of them are inside.

    Boxes are left once they are known not to be outside, unless the answer has to be complete.
    """
    is_open = np.ones(len(boxes), dtype=np.bool_)
    is_inside = is_open.copy()
    # the rule that is nearer to excluding a box goes first: the other one may not be needed
    left = np.stack([(verdicts != BELOW).sum(axis=1) for verdicts in boxes.verdicts])
    left -= np.array([[rule.M - rule.accepted.high] for rule in rules])
    order = np.argsort(left, axis=0, kind="stable")
    for turn in range(len(rules)):
        for index, rule in enumerate(rules):
            rows = np.flatnonzero(is_open & (order[turn] == index))
            for start in range(0, len(rows), CHUNK):
                chunk = rows[start : start + CHUNK]
                part = boxes[chunk]
                lowest, highest = rule.ranks(part, index, complete=complete)
                boxes.verdicts[index][chunk] = part.verdicts[index]
                boxes.cells[index][chunk] = part.cells[index]
                accepted = rule.accepted
                is_inside[chunk] &= (accepted.low <= lowest) & (highest <= accepted.high)
                is_open[chunk] &= (lowest <= accepted.high) & (highest >= accepted.low)
    return is_open, is_inside
