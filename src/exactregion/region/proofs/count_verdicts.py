"""Compiled loops that compare data sets by bounds of their probabilities over boxes of θ.

Successes of an alternative in a row lie between two numbers, which differ by its free labels. Z of
the alternative minus Z of the original, D, is a largest value over members of the family, minus a
sum over rows of logits of θ, and the difference of two squared lengths. Each summand is linear in
the successes of a row and in its logit, so that it is extreme at the ends of both.
`proofs.from_probabilities` derives the numbers that are compared here.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from exactregion.features.compilation import compiled, inlined
from exactregion.region.proofs.enclosure import ABOVE, BELOW, OVERHEAD

__all__ = ["judge_counts"]

BLOCK = 128
"""Members of the family whose likelihoods are bounded at once: their loops are vectorised, and
few of them are in vain where one of the first decides."""


@inlined
def _below(thresholds: Any, start: int, stop: int, p: float) -> int:
    """Count the thresholds of a row, in ascending order, that are below p."""
    low, high = start, stop
    while low < high:
        middle = (low + high) // 2
        if thresholds[middle] < p:
            low = middle + 1
        else:
            high = middle
    return low - start


@inlined
def _dot(left: Any, right: Any) -> float:
    total = 0.0
    for a in range(len(left)):
        total += left[a] * right[a]
    return total


@compiled
def _discrepancy(b: int, data: Any, bounds: Any, least: Any, most: Any, w: Any) -> tuple[
    float, float
]:  # fmt: skip
    """Bound ‖v - c‖² of the alternative minus that of the original."""
    Phi, sizes, e = data.scalar, data.scalar_sizes, bounds.residual[b]
    n = len(least)
    w[:] = 0.0
    free = 0.0
    for j in range(n):
        change = 0.5 * (least[j] + most[j])
        free += 0.5 * (most[j] - least[j]) * sizes[j]
        if change != 0:
            for a in range(len(w)):
                w[a] += change * Phi[j, a]
    length = np.sqrt(_dot(w, w))
    centre = length * length + 2 * _dot(w, e)
    moved, of_free = 0.0, 0.0
    for j in range(n):
        along = 0.0
        for a in range(len(w)):
            along += Phi[j, a] * w[a]
        moved += bounds.half_range[b, j] * abs(along)
        if most[j] > least[j]:
            of_free += 0.5 * (most[j] - least[j]) * abs(along + _dot(Phi[j], e))
    spread = 2 * (moved + of_free + free * bounds.total_range[b])
    spread += 2 * (length + free) * data.scalar_error
    spread += 1e-12 * (length * length + abs(centre)) + 1e-14 * _dot(e, e)
    return centre - spread, centre + spread + free * free


@inlined
def _ends(change: float, low: float, high: float) -> tuple[float, float]:
    """Smallest and largest -change · η for η between low and high; zero without a change."""
    if change == 0:
        return 0.0, 0.0
    first, second = -change * low, -change * high
    return min(first, second), max(first, second)


@compiled
def _add_up(
    k: int, stop: int, data: Any, least: Any, most: Any, v: Any, free: Any, offsets: Any, sums: Any
) -> None:  # fmt: skip
    """Bound the likelihoods under members k to stop, with the logits of θ in rows `free`."""
    lower, upper, n = sums[0, k:stop], sums[1, k:stop], stop - k
    for q in range(n):
        lower[q] = data.offsets[k + q]
    for a in range(len(v)):
        weights = data.weights[a, k:stop]
        for q in range(n):
            lower[q] += v[a] * weights[q]
    for q in range(n):
        upper[q] = lower[q]
    for f in range(len(free)):
        j = free[f]
        logits = data.logits[j, k:stop]
        first, second = least[j] + data.successes[j], most[j] + data.successes[j]
        low_first, high_first, low_second, high_second = offsets[f]
        for q in range(n):
            x, y = first * logits[q] + low_first, second * logits[q] + low_second
            lower[q] += x if x < y else y
            x, y = first * logits[q] + high_first, second * logits[q] + high_second
            upper[q] += x if x > y else y


@compiled
def _ratio_is_below(
    b: int, i: int, data: Any, bounds: Any, least: Any, most: Any, v: Any, free: Any, offsets: Any,
    sums: Any, limit: float, last: Any,
) -> tuple[bool, float]:  # fmt: skip
    """Whether D of the ratio stays below the limit; else also a lower bound of D.

    `last` has the member of the family that last kept an alternative from being below.
    """
    v[:] = 0.0
    n_free, smallest, largest = 0, -data.highest, -data.highest
    slack = bounds.slack[b]
    for j in range(len(least)):
        low, high = bounds.eta_low[b, j], bounds.eta_high[b, j]
        at_least = _ends(least[j], low, high)
        slack += max(abs(least[j]), abs(most[j])) * bounds.unit[b]
        if least[j] == most[j]:
            smallest += at_least[0]
            largest += at_least[1]
            k = least[j] + data.successes[j]
            for a in range(len(v)):
                v[a] += k * data.basis[j, a]
        else:
            at_most = _ends(most[j], low, high)
            free[n_free] = j
            offsets[n_free, 0], offsets[n_free, 1] = at_least
            offsets[n_free, 2], offsets[n_free, 3] = at_most
            n_free += 1
    limit -= largest + slack
    k, stop = last[i], last[i] + 1  # the one that is likely to decide comes first
    for start in range(-BLOCK, len(data.offsets), BLOCK):
        if start >= 0:
            k, stop = start, min(start + BLOCK, len(data.offsets))
        _add_up(k, stop, data, least, most, v, free[:n_free], offsets, sums)
        for q in range(k, stop):
            # what is not a number is not below
            if not sums[1, q] < limit:
                last[i] = q
                return False, sums[0, q] + smallest - slack
    return True, -np.inf


@compiled
def judge_counts(
    verdicts: Any, order: Any, undecided: Any, last: Any, spare: int, data: Any, bounds: Any
) -> int:  # fmt: skip
    """Fill in the verdicts (B, M) about each alternative in each box; return comparisons made.

    The parameters are as for `region.verdicts.judge`.
    """
    n = len(data.successes)
    least, most = np.empty(n), np.empty(n)
    w, v = np.empty(data.scalar.shape[1]), np.empty(data.basis.shape[1])
    free, offsets = np.empty(n, dtype=np.int64), np.empty((n, 4))
    sums = np.empty((2, len(data.offsets)))
    has_ratio, has_scalar = len(data.offsets) > 0, len(w) > 0
    cost = len(data.offsets) * len(v) // 4 + n * (len(w) + 4) + OVERHEAD
    work = 0
    for b in range(len(verdicts)):
        n_other = np.sum(verdicts[b] == ABOVE)
        for i in order:
            if verdicts[b, i] != 0:
                continue
            if n_other > spare:
                break
            work += cost
            is_same, thresholds = True, data.thresholds[i]
            for j in range(n):
                start, stop = data.start[j], data.start[j + 1]
                least[j] = _below(thresholds, start, stop, bounds.p_low[b, j]) - data.successes[j]
                most[j] = _below(thresholds, start, stop, bounds.p_high[b, j]) - data.successes[j]
                is_same &= least[j] == 0 and most[j] == 0
            if is_same:
                # the same data set, so the same Z to the last bit: the seat decides
                verdict = BELOW if data.wins_ties[i] else ABOVE
            else:
                lower, upper = 0.0, 0.0
                if has_scalar:
                    lower, upper = _discrepancy(b, data, bounds, least, most, w)
                    lower *= bounds.largest_scale[b] if lower < 0 else bounds.smallest_scale[b]
                    upper *= bounds.largest_scale[b] if upper > 0 else bounds.smallest_scale[b]
                is_below = upper < 0
                if has_ratio:
                    is_below, ratio = _ratio_is_below(
                        b, i, data, bounds, least, most, v, free, offsets, sums, -upper, last
                    )
                    lower += ratio
                verdict = BELOW if is_below else ABOVE if lower > 0 else 0
            verdicts[b, i] = verdict
            n_other += verdict != BELOW
            undecided[i] += verdict == 0
    return work
