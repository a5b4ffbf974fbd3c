"""Ends of functionals over a set, proven by splitting the parameters into boxes.

A box is inside the set, outside, or open. Boxes that are outside are dropped, and open ones are
split as long as they could hold a member beyond the members known: in the end no member lies
outside the bounds that are returned, and a known one lies close to them.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from exactregion._typing import BoolArray, FloatArray
from exactregion.engine.progress import advance
from exactregion.ranking import AcceptedRanks
from exactregion.region.fitted import FittedRegion
from exactregion.region.proofs.enclosure import BELOW, NO_CELL, Boxes, Enclosure, RankBounds
from exactregion.region.ratios import LinearRatios, OverBoxes
from exactregion.region.window import Window

__all__ = [
    "Domain",
    "ProvenEnds",
    "Span",
    "classify",
    "first_boxes",
    "proven_ends",
    "rule_over",
]

CHUNK = 256
"""Boxes that are bounded at once: their arrays stay within a few megabytes."""

TRIED, MOST_TRIED = 4, 64
"""Boxes per functional, and at most in all, whose centres are tried as members after each round of
splits: a member found there saves the splits of all boxes that reach less far."""

SMALLEST_HALF = 1e-9
"""Boxes are not split below this half width, in standard errors: at the pole of a ratio that is a
member no width would be small enough."""

PATIENCE, LEAST_PROGRESS = 5e8, 0.95
"""Work before progress is first looked at, so that proofs that are made by default are never
stopped; and the share to which the excess of bounds over members has to shrink for splitting to go
on."""


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
    boxes = first_boxes(domain, rules)
    value, bound, n_boxes = known.astype(np.float64), np.full(F, -np.inf), 0
    other = np.arange(F) ^ 1
    last: list[tuple[Boxes, BoolArray]] = []
    members: list[FloatArray] = [np.empty((0, len(domain.centre)))]
    progress = _Progress(2.0 ** len(domain.half), patience)
    while len(boxes):
        is_open, is_inside = classify(rules, boxes)
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


def first_boxes(domain: Domain | Span, rules: Sequence[RankBounds]) -> Boxes:
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
                part = boxes[chunk]
                lowest, highest = rule.ranks(part, index, complete=complete)
                boxes.verdicts[index][chunk] = part.verdicts[index]
                boxes.cells[index][chunk] = part.cells[index]
                accepted = rule.accepted
                is_inside[chunk] &= (accepted.low <= lowest) & (highest <= accepted.high)
                is_open[chunk] &= (lowest <= accepted.high) & (highest >= accepted.low)
    return is_open, is_inside
