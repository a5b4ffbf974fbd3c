"""The largest p-value of a hypothesis that leaves one parameter free, with proof.

The θ of such a hypothesis are a line. The statistic T of an alternative (`hypotheses.refitted`)
changes only where one of its labels does, and these places are known. So T is known everywhere on
the line, and with it the number of alternatives that have at least that of the original.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from exactregion._typing import FloatArray, IntArray
from exactregion.ranking import AcceptedRanks
from exactregion.region.fitted import FittedRegion
from exactregion.region.hypotheses.largest_pvalue import LargestPValue
from exactregion.region.hypotheses.refitted import NUMBERS, TIE, Refit
from exactregion.region.proofs.enclosure import Enclosure
from exactregion.region.proofs.inputs import ProofInputs
from exactregion.region.proofs.paving import domain_along
from exactregion.region.proofs.splitting import Domain, proven_ends
from exactregion.region.ratios import RatiosInWindow
from exactregion.region.window import Window

__all__ = ["largest_on_line"]

REFIT_WORK = 10
"""What a row of a refit takes, in the comparisons of labels that budgets count. Measured with one
other parameter, it is 0.13 µs of 500 rows and 0.22 µs of 23; a comparison takes about 0.01 µs."""

LINE_GAP = 0.05
"""How far the ends of the line may lie outside the joint region, as a share of its length. On a
longer line the largest count can only be larger, so that the p-value stays valid."""

TRIED = 200
"""Places with the largest counts at which membership in the joint region is computed. The first
member is the θ that is shown, and tells the gap; the p-value does not depend on it."""

LINK_ERROR = 1e-9
"""Error of the predictor at which a label changes, relative to one plus its size: far more than
that of logarithms and halvings in doubles, 1e-15. A larger one only makes counts larger."""

HALVINGS, WIDEST = 80, 40.0
"""Halvings that find the predictor of a probability between these ends of either sign, past which
all are certain: 80 · 2⁻⁸⁰ is below the last bit of any of them."""


def largest_on_line(
    fitted: FittedRegion, window: Window, refit: Refit, spent: int, budget: float
) -> LargestPValue | None:
    """Find the φ of a line at which most alternatives have T at least that of the original.

    T changes only where a label does, so that all its values on a line are known. The ends of the
    line are proven to lie outside the joint region. None if that fails or takes too long.
    """
    m = fitted.accepted.m
    joint = AcceptedRanks(m, 1, m - spent)

    def proven(theta: FloatArray | None, most: int, gap: int, evaluations: int) -> LargestPValue:
        rank = None if theta is None else m - most
        return LargestPValue(theta, rank, spent, m, 0, evaluations, is_proven=True, gap=gap)

    domain = _ends(fitted, window, joint, budget)
    if domain is None:
        return None
    if not domain.half[0] >= 0:
        return proven(None, 0, 0, 0)
    inputs = ProofInputs(fitted, window)
    low, high = domain.centre[0] - domain.half[0], domain.centre[0] + domain.half[0]
    changes = _Changes.between(inputs, low, high)
    refits = len(changes.place) + len(changes.initial)
    if REFIT_WORK * refits * len(inputs.trials) > budget:
        return None
    place, count = _counts(changes, refit, inputs)
    if not len(count):
        return proven(window.theta(domain.centre[None])[0], 0, 0, refits)
    place = np.clip(place, low, high)
    middle = (place + np.append(place[1:], high)) / 2
    best = np.argsort(-count, kind="stable")[:TRIED]
    theta = window.theta(middle[best, None])
    is_member = joint.holds(fitted.ranks(theta)[0])
    most = int(count[best[0]])
    if not is_member.any():
        return proven(theta[0], most, most, refits)
    first = int(np.flatnonzero(is_member)[0])
    return proven(theta[first], most, most - int(count[best[first]]), refits)


def _counts(changes: _Changes, refit: Refit, inputs: ProofInputs) -> tuple[FloatArray, IntArray]:
    """Return places on the line, ascending, and how many alternatives have T ≥ T₀ from there on."""
    original = refit(inputs.successes[None])[0]
    wins_ties = inputs.draws.wins_ties
    begins, ends = [], []
    for i, which, T in changes.statistics(refit):
        is_tie = np.abs(T - original) <= TIE * original
        above = np.where(is_tie, not wins_ties[i], original < T)
        # a change may happen a rounding error earlier or later: data sets count as above in between
        step = np.diff(np.concatenate([[False], above, [False]]).astype(np.int8))
        edges = np.concatenate([[-np.inf], changes.place[which], [np.inf]])
        error = np.concatenate([[0.0], changes.error[which], [0.0]])
        begins.append((edges - error)[step == 1])
        ends.append((edges + error)[step == -1])
    place = np.concatenate([*begins, *ends])
    change = np.repeat([1, -1], [sum(map(len, begins)), sum(map(len, ends))])
    # of those at the same place, what begins comes first
    order = np.lexsort((-change, place))
    return place[order], np.cumsum(change[order])


def _ends(
    fitted: FittedRegion, window: Window, joint: AcceptedRanks, budget: float
) -> Domain | None:
    """Bound φ over the members of the joint region; a negative width where there are none."""
    domain = domain_along(fitted, window)
    if domain is None:
        return None
    ends = proven_ends(
        [Enclosure(fitted, window, joint)],
        domain,
        RatiosInWindow(np.zeros(1), np.eye(1), None),
        np.full(2, -np.inf),
        tolerance=LINE_GAP,
        budget=budget,
    )
    if ends.is_empty:
        return Domain(window, np.zeros(1), np.full(1, -1.0))
    high, low = ends.bound
    return Domain(window, np.array([(high - low) / 2]), np.array([(high + low) / 2]))


@dataclass(frozen=True, eq=False)
class _Changes:
    """Where the labels of the alternatives change on a line, sorted by alternative and place.

    `initial` are the successes of each alternative at the lower end (M, n); a change adds `sign` to
    those of a row.
    """

    initial: FloatArray
    alternative: IntArray
    row: IntArray
    place: FloatArray
    error: FloatArray
    sign: FloatArray

    @classmethod
    def between(cls, inputs: ProofInputs, low: float, high: float) -> _Changes:
        """Find the changes between two coordinates z of the line."""
        row, n = inputs.row, len(inputs.trials)
        slope = inputs.x[row, 0]
        eta = _predictors_of(inputs, inputs.draws.uniforms)
        with np.errstate(divide="ignore", invalid="ignore"):
            place = (eta - inputs.eta[row]) / slope
        labels = eta < inputs.eta[row] + slope * low
        counts = [np.bincount(row, weights=each, minlength=n) for each in labels]
        initial = np.array(counts, dtype=np.float64)
        which, label = np.nonzero((place > low) & (place < high))
        found = place[which, label]
        order = np.lexsort((found, which))
        which, label = which[order], label[order]
        error = LINK_ERROR * (1 + np.abs(inputs.eta[row[label]])) / np.abs(slope[label])
        return cls(initial, which, row[label], found[order], error, np.sign(slope[label]))

    def statistics(self, refit: Refit) -> Iterator[tuple[int, slice, FloatArray]]:
        """Go through the alternatives: number, its changes, and T before and after each."""
        n = self.initial.shape[1]
        starts = np.searchsorted(self.alternative, np.arange(len(self.initial) + 1))
        first = 0
        while first < len(self.initial):
            # as many alternatives as fit
            room = starts[first] + NUMBERS // n
            last = max(first + 1, int(np.searchsorted(starts, room, side="right")) - 1)
            changes = slice(starts[first], starts[last])
            of_each = np.diff(starts[first : last + 1]) + 1
            begin = np.concatenate([[0], np.cumsum(of_each)[:-1]])
            states = np.zeros((int(of_each.sum()), n))
            at = np.arange(starts[last] - starts[first]) + self.alternative[changes] - first + 1
            states[at, self.row[changes]] = self.sign[changes]
            states[begin] = self.initial[first:last]
            total = np.cumsum(states, axis=0)
            before = np.concatenate([np.zeros((1, n)), total])[begin]
            T = refit(total - np.repeat(before, of_each, axis=0))
            for index in range(first, last):
                begin_of, number = begin[index - first], of_each[index - first]
                changed = slice(starts[index], starts[index + 1])
                yield index, changed, T[begin_of : begin_of + number]
            first = last


def _predictors_of(inputs: ProofInputs, probabilities: FloatArray) -> FloatArray:
    """Return the predictors at which rows have these probabilities."""
    with np.errstate(divide="ignore"):
        logits = np.log(probabilities) - np.log1p(-probabilities)
    if inputs.link is None:
        return np.asarray(logits)
    low, high = np.full(logits.shape, -WIDEST), np.full(logits.shape, WIDEST)
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        is_low = inputs.link.logit_of(middle) < logits
        low, high = np.where(is_low, middle, low), np.where(is_low, high, middle)
    return np.asarray((low + high) / 2)
