"""Ends of functionals over a set, proven by splitting the parameters into boxes.

A box is inside the set, outside, or open. Boxes that are outside are dropped, and open ones are
split as long as they could hold a member beyond the members known: in the end no member lies
outside the bounds that are returned, and a known one lies close to them.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from scipy.special import expit

from exactregion._typing import BoolArray, FloatArray, IntArray
from exactregion.data.sample import Sample
from exactregion.engine.progress import advance
from exactregion.features.threads import single_thread
from exactregion.models.base import Model
from exactregion.ranking import AcceptedRanks
from exactregion.region.fitted import FittedRegion
from exactregion.region.proofs.enclosure import (
    BELOW,
    CELL,
    EXPANSION,
    Boxes,
    Enclosure,
    RankBounds,
)
from exactregion.region.proofs.packed import NONE
from exactregion.region.ratios import LinearRatios, OverBoxes
from exactregion.region.window import Window

__all__ = [
    "AcceptedBy",
    "Domain",
    "ProvenEnds",
    "Scale",
    "Span",
    "allowed_excess",
    "classify",
    "first_boxes",
    "proven_ends",
    "readable_probabilities",
    "rule_over",
    "rules_over",
    "scale_of",
]

CHUNK = 256
"""Boxes that are bounded at once: their arrays stay within a few megabytes."""

TRIED, MOST_TRIED = 2, 32
"""Boxes per functional, and at most in all, whose centres are tried as members after each round of
splits: a member found there saves the splits of all boxes that reach less far."""

SMALLEST_HALF = 1e-5
"""Boxes are not split below this half width, in standard errors: where many data sets have the same
Z as the original along a curve, or at the pole of a ratio that is a member, no width would be small
enough. With one success among ten rows a curve of such boxes of 10⁻⁶ took 13 s instead of 1.5."""

PATIENCE, LEAST_PROGRESS = 5e8, 0.95
"""Work before progress is first looked at, so that proofs that are made by default are never
stopped; and the share to which the excess of bounds over members has to shrink for splitting to go
on."""

HALVINGS = 12
"""Steps to an excess that is allowed on another scale: to 1/4096 of the one on this scale."""

REPORTED_GAP = 0.02
"""Tolerance on the scale on which numbers are reported, if theirs is smaller."""

UNREAD = 1e-3
"""Differences of probabilities next to 0 or 1 need not be small as a share of a tiny interval. So a
logit counts as well, for as much as this difference of probabilities."""

AcceptedBy: TypeAlias = tuple[AcceptedRanks, LinearRatios | None]
"""The ranks accepted, and the number that a focused statistic is for; None for the region's own
statistic."""

Scale: TypeAlias = Callable[[FloatArray], FloatArray]
"""A monotone function of each of G numbers (…, G), such as the probability of a logit."""


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

    They are members of every set that is proven: of the region, and of the larger one that focused
    intervals are taken over. Where it was found by splitting, `boxes` are those that
    are left, with the verdicts of `rule` about them: proofs go on from there.
    """

    window: Window
    centre: FloatArray
    half: FloatArray
    boxes: Boxes | None = None
    rule: Enclosure | None = None


class Span(NamedTuple):
    """A box in any coordinates, centre ± half (d,), or several (k, d)."""

    centre: FloatArray
    half: FloatArray


# for products of these sizes two threads take up to ten times the time of the processor
@single_thread()
def proven_ends(
    rules: Sequence[RankBounds],
    domain: Domain | Span,
    numbers: OverBoxes,
    known: FloatArray,
    *,
    tolerance: float,
    budget: float,
    patience: float = PATIENCE,
    smallest: float = SMALLEST_HALF,
    tries: bool = True,
    scale: Scale | None = None,
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
    smallest : float
        Half width below which boxes are not split.
    tries : bool
        Whether to look for more members among the centres of boxes.
    scale : callable, optional
        The function of each number that is reported: the tolerance holds there, too.
    """
    started, before = time.perf_counter(), sum(rule.work for rule in rules)
    F = len(known)
    boxes = first_boxes(domain, rules)
    value, bound, n_boxes = known.astype(np.float64), np.full(F, -np.inf), 0
    last: list[tuple[Boxes, BoolArray]] = []
    members: list[FloatArray] = [boxes.centre[:0]]
    progress = _Progress(2.0 ** boxes.centre.shape[1], patience)
    while len(boxes):
        is_open, is_inside = classify(rules, boxes)
        boxes, is_inside = boxes[is_open], is_inside[is_open]
        n_boxes += len(is_open)
        advance(len(is_open))
        top = numbers.top(boxes.centre, boxes.half)
        value = np.maximum(value, top[is_inside].max(axis=0, initial=-np.inf))
        if tries:
            value, found = _improved(value, boxes, top, numbers, rules)
            members.append(found)
        value[value > numbers.far] = np.inf
        allowed = allowed_excess(value, numbers.open_length, tolerance, scale)
        reaches = (top > value + allowed) & ~is_inside[:, None]
        exceeds = reaches.any(axis=1)
        work = sum(rule.work for rule in rules)
        exceeds &= boxes.half.max(axis=1) > smallest
        with np.errstate(invalid="ignore"):  # ∞ - ∞, where nothing is to be proven
            excess = np.where(reaches, top - value, 0.0).max(axis=0, initial=0.0)
        is_stalled = progress.is_over(work - before, excess)
        if not exceeds.any() or work > budget or is_stalled:
            exceeds[:] = False
        bound = np.maximum(bound, top[~exceeds].max(axis=0, initial=-np.inf))
        last.append((boxes[~exceeds], is_inside[~exceeds]))
        boxes = boxes[exceeds]
        for index, rule in enumerate(rules):
            rule.drop_unused(index, boxes, [part for part, _ in last])
        boxes = boxes.halves(rules[0].widest(boxes))
    is_empty = bool(np.isneginf(bound).all())
    seconds = time.perf_counter() - started
    parts, inside = zip(*last, strict=True)
    left = BoxesLeft(Boxes.joined(parts), np.concatenate(inside), np.concatenate(members))
    return ProvenEnds(value, bound, is_empty, n_boxes, seconds, left)


def allowed_excess(
    value: FloatArray, open_length: FloatArray, tolerance: float, scale: Scale | None
) -> FloatArray:
    """Return how far bounds of numbers and of their negatives (F,) may exceed values of members.

    That is a share of the length between both ends, zero while one of them is unknown. With a
    `scale` it is also at most what exceeds by this share there: a logit that moves by 1 % of its
    interval may move a probability by half of its own.
    """
    other = value[np.arange(len(value)) ^ 1]
    with np.errstate(invalid="ignore"):  # ∞ - ∞, where nothing is to be proven
        length = np.where(np.isfinite(value) & np.isfinite(other), value + other, 0.0)
    allowed = tolerance * np.where(np.isposinf(other), open_length, length)
    if scale is None:
        return allowed
    sign = np.where(np.arange(len(value)) % 2, -1.0, 1.0)

    def reported(ends: FloatArray) -> FloatArray:
        return scale((sign * ends).reshape(-1, 2).T).T.ravel()

    with np.errstate(all="ignore"):
        at_member = reported(value)
        most = max(tolerance, REPORTED_GAP) * np.abs(at_member - reported(-other))
        low, high = np.zeros_like(allowed), allowed.copy()
        for _ in range(HALVINGS):
            middle = (low + high) / 2
            fits = np.abs(reported(value + middle) - at_member) <= most
            low, high = np.where(fits, middle, low), np.where(fits, high, middle)
        fits = ~np.isfinite(most) | (np.abs(reported(value + allowed) - at_member) <= most)
    return np.where(fits, allowed, low)


def readable_probabilities(model: Model, values: FloatArray) -> FloatArray:
    """Turn linear predictors or logits into a scale on which differences are those of P(Y=1|x)."""
    inverse_link: Any = getattr(model, "inverse_link", expit)
    with np.errstate(all="ignore"):
        return np.asarray(inverse_link(values) + UNREAD * values)


def scale_of(scale: Scale, index: int, size: int) -> Scale:
    """Return the scale of one of several numbers."""

    def of_one(values: FloatArray) -> FloatArray:
        return scale(np.broadcast_to(values, (*values.shape[:-1], size)))[..., index : index + 1]

    return of_one


def rules_over(fitted: FittedRegion, domain: Domain, *ranks: AcceptedBy) -> list[RankBounds]:
    """Return what members in a domain obey: accepted ranks, and the bounds of parameters."""
    bounds = np.array(fitted.model.bounds, dtype=np.float64)
    rules: list[RankBounds] = [rule_over(fitted, domain, *each) for each in ranks]
    if np.isfinite(bounds).any():
        rules.append(WithinBounds(fitted.sample, domain.window, bounds))
    return rules


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


class WithinBounds(RankBounds):
    """Whether parameters are within their bounds, as the rank of one alternative: 1, or else 2."""

    def __init__(self, sample: Sample, window: Window, bounds: FloatArray) -> None:
        super().__init__(sample, AcceptedRanks(2, 1, 1), 1)
        self.window, (self.low, self.high) = window, bounds.T

    def ranks(
        self, boxes: Boxes, index: int, *, complete: bool = False
    ) -> tuple[IntArray, IntArray]:
        """Compare the parameters of boxes with their bounds."""
        origin, axes = self.window.origin, self.window.axes
        middle, spread = origin + boxes.centre @ axes.T, boxes.half @ np.abs(axes).T
        # more than the rounding errors of both sums
        error = 1e-12 * (np.abs(origin) + (np.abs(boxes.centre) + boxes.half) @ np.abs(axes).T)
        is_out = (middle - spread - error > self.high) | (middle + spread + error < self.low)
        is_in = (middle + spread + error <= self.high) & (middle - spread - error >= self.low)
        return 1 + is_out.any(axis=1), 2 - is_in.all(axis=1)


def first_boxes(domain: Domain | Span, rules: Sequence[RankBounds]) -> Boxes:
    """Return the boxes of a domain with what the rules know of them."""
    if not isinstance(domain, Domain) or domain.boxes is None or domain.rule is None:
        centre, half = np.atleast_2d(domain.centre), np.atleast_2d(domain.half)
        verdicts = [np.zeros((len(centre), rule.M), dtype=np.int8) for rule in rules]
        return Boxes(centre, half, verdicts)
    boxes, known = domain.boxes, domain.rule
    within = boxes.within[0].copy()
    within[:, EXPANSION] = NONE  # which are not kept
    nothing = np.zeros_like(boxes.verdicts[0]), np.full_like(within, NONE)
    of_rules = [
        (boxes.verdicts[0].copy(), within) if _follows(rule, known) else nothing for rule in rules
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
    members = tried.centre[classify(rules, tried)[1]]
    found = numbers.at(members)
    found = np.where(np.isnan(found), -np.inf, found).max(axis=0, initial=-np.inf)
    return np.asarray(np.maximum(value, found)), members


def classify(
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
                # those of one cell together: what it keeps is read from nearby memory then
                chunk = chunk[np.argsort(boxes.within[index][chunk, CELL], kind="stable")]
                part = boxes[chunk]
                lowest, highest = rule.ranks(part, index, complete=complete)
                boxes.verdicts[index][chunk] = part.verdicts[index]
                boxes.within[index][chunk] = part.within[index]
                accepted = rule.accepted
                is_inside[chunk] &= (accepted.low <= lowest) & (highest <= accepted.high)
                is_open[chunk] &= (lowest <= accepted.high) & (highest >= accepted.low)
    return is_open, is_inside
