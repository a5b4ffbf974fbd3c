"""The score statistic of a linear hypothesis, with all other parameters refitted to each data set.

For A θ = b, each data set has its own most likely θ̃ that satisfies it, and

    T = (A I⁻¹ s)ᵀ (A I⁻¹ Aᵀ)⁻¹ (A I⁻¹ s),

with the score s and the information I at θ̃. It depends on the data set alone, and its distribution
hardly on which θ of the hypothesis is true: as the largest p-value of any of them is reported, this
is what power comes from. For a two-by-two table it is the pooled chi-squared statistic.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import expit

from exactregion._typing import FloatArray, IntArray
from exactregion.models import LinearModel
from exactregion.ranking import AcceptedRanks
from exactregion.region.fitted import FittedRegion
from exactregion.region.hypotheses.largest_pvalue import LargestPValue
from exactregion.region.proofs.enclosure import Enclosure
from exactregion.region.proofs.inputs import ProofInputs, certain_predictors
from exactregion.region.proofs.paving import Domain, domain_along, proven_ends
from exactregion.region.ratios import RatiosInWindow
from exactregion.region.window import Window

__all__ = ["Refit", "largest_on_line"]

STEPS, LONGEST, SHORTEST = 60, 2.0, 1e-8
"""Most Newton steps of a refit, the largest change of a predictor in one, and the change at which
it has converged. Logits are certain at 40: 20 of the longest steps lead there, 60 from one end to
the other and back. Newton's error is squared in each step, so that after one of 1e-8 it is at the
precision of doubles."""

DIGITS, TIE = 30, 2.0**-28
"""Bits of T that are kept, so that data sets with the same T tie whatever rounding does, and the
difference, as a share, up to which it is the same but for that: numbers that are next to each other
after rounding differ by at most 2⁻²⁹."""

RIDGE = 1e-10
"""Added to the information at a unit diagonal, where directions have none. Where all have some, it
changes T by less than the bits that are kept."""

NUMBERS = 2**21
"""Predictors that are worked on at once: 16 megabytes."""

REFIT_WORK = 10
"""What a row of a refit takes, in the comparisons of labels that budgets count: 0.13 to 0.22 µs for
500 to 23 rows and one other parameter, and about 0.01 µs."""

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


@dataclass(frozen=True, eq=False)
class Refit:
    """T of any data set, for a family with a linear predictor.

    Parameters
    ----------
    link : LinearModel or None
        The family; None if the predictor is the logit.
    design, trials : ndarrays of shape (n, d) and (n,)
        Rows of the predictor, and their trials.
    matrix : ndarray of shape (r, d)
        A of the hypothesis.
    origin, axes : ndarrays of shape (d,) and (d, k)
        The θ that satisfy it are origin + axes · φ. They must not depend on outcomes.
    """

    link: LinearModel | None
    design: FloatArray
    trials: FloatArray
    matrix: FloatArray
    origin: FloatArray
    axes: FloatArray

    def __call__(self, successes: FloatArray) -> FloatArray:
        """Compute T of data sets (M, n): shape (M,)."""
        at_once = max(1, NUMBERS // successes.shape[1])
        parts = [
            self._statistic(successes[start : start + at_once])
            for start in range(0, len(successes), at_once)
        ]
        mantissa, exponent = np.frexp(np.concatenate(parts) if parts else np.empty(0))
        return np.asarray(np.ldexp(np.round(np.ldexp(mantissa, DIGITS)), exponent - DIGITS))

    def of_labels(self, labels: Any, probabilities: FloatArray, X: Any) -> FloatArray:
        """Compute T of labels -1/+1 or successes, as statistics that are functions are called."""
        values = np.asarray(labels, dtype=np.float64)
        return self(values if (values >= 0).all() else (values + 1) / 2)

    def _statistic(self, successes: FloatArray) -> FloatArray:
        p, gain = self._fit(successes)
        D, t, d = self.design, self.trials, self.design.shape[1]
        score = ((successes - t * p) * gain) @ D
        squares = (D[:, :, None] * D[:, None, :]).reshape(len(D), -1)
        information = ((t * p * (1 - p) * gain**2) @ squares).reshape(-1, d, d)
        size = np.sqrt(np.einsum("iaa->ia", information))
        unit = 1 / np.where(size > 0, size, 1.0)
        scaled = information * unit[:, :, None] * unit[:, None, :] + RIDGE * np.eye(d)
        A = self.matrix * unit[:, None, :]
        both = np.concatenate([(score * unit)[:, :, None], np.swapaxes(A, 1, 2)], axis=2)
        solved = A @ np.linalg.solve(scaled, both)
        along, covariance = solved[:, :, :1], solved[:, :, 1:]
        return np.asarray((along * np.linalg.solve(covariance, along)).sum(axis=(1, 2)))

    def _fit(self, successes: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Refit φ to each data set, and return p and the slope of the logit there: (M, n).

        As many trials as φ has parameters are added, half of them successes, so that it is finite.
        """
        D, offset = self.design @ self.axes, self.design @ self.origin
        (n, k), t = D.shape, self.trials
        added = t * (k / t.sum())
        y, t = successes + added / 2, t + added
        squares = (D[:, :, None] * D[:, None, :]).reshape(n, -1)
        eta = np.broadcast_to(offset, successes.shape)
        for _ in range(STEPS):
            p, gain = self._probabilities(eta)
            score = ((y - t * p) * gain) @ D
            information = ((t * p * (1 - p) * gain**2) @ squares).reshape(-1, k, k)
            size = np.einsum("iaa->ia", information).max(axis=1)
            information += (RIDGE * size + 1e-300)[:, None, None] * np.eye(k)
            step = np.linalg.solve(information, score[:, :, None])[:, :, 0] @ D.T
            largest = np.abs(step).max(axis=1, keepdims=True)
            eta = eta + step * (LONGEST / np.maximum(largest, LONGEST))
            if largest.max() < SHORTEST:
                break
        return self._probabilities(eta)

    def _probabilities(self, eta: FloatArray) -> tuple[FloatArray, FloatArray]:
        if self.link is None:
            return expit(eta), np.ones(1)
        eta = np.clip(eta, *certain_predictors(self.link))
        return expit(self.link.logit_of(eta)), self.link.logit_slope(eta)


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
    original = refit(inputs.successes[None])[0]
    wins_ties = inputs.draws.wins_ties
    begins, ends, n_states = [], [], 0
    for i, which, T in changes.statistics(refit):
        n_states += len(T)
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
    place, count = np.clip(place[order], low, high), np.cumsum(change[order])
    if not len(count):
        return proven(window.theta(domain.centre[None])[0], 0, 0, n_states)
    best = np.argsort(-count, kind="stable")
    following = np.append(place[1:], high)
    middle = (place + following) / 2
    tried = best[:TRIED]
    theta = window.theta(middle[tried, None])
    is_member = joint.holds(fitted.ranks(theta)[0])
    most = int(count[best[0]])
    if not is_member.any():
        return proven(theta[0], most, most, n_states)
    first = int(np.flatnonzero(is_member)[0])
    return proven(theta[first], most, most - int(count[tried[first]]), n_states)


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
