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
def _bound_groups(
    data: Any, least: Any, most: Any, offsets: Any, first: Any, bound: Any
) -> None:  # fmt: skip
    """Bound the largest likelihood of each group of members, with the logits of θ in free rows.

    A sum over rows of the largest value that any member of the group has there is at least the
    largest sum; a largest value is convex in the successes, and so extreme at their ends.
    """
    bound[:] = 0.0
    n_free = 0
    for j in range(len(least)):
        row = first[j] + int(least[j])
        if least[j] == most[j]:
            known = data.group_values[row]
            for g in range(len(bound)):
                bound[g] += known[g]
        else:
            fewest, largest = data.group_values[row], data.group_values[first[j] + int(most[j])]
            at_least, at_most = offsets[n_free, 1], offsets[n_free, 3]
            n_free += 1
            for g in range(len(bound)):
                x, y = fewest[g] + at_least, largest[g] + at_most
                bound[g] += x if x > y else y


@compiled
def _bound_members(
    k: int, stop: int, data: Any, least: Any, most: Any, v: Any, free: Any, offsets: Any,
    upper: Any,
) -> None:  # fmt: skip
    """Bound the likelihoods under members k to stop, with the logits of θ in rows `free`."""
    n = stop - k
    for q in range(n):
        upper[q] = data.offsets[k + q]
    for a in range(len(v)):
        weights = data.weights[a, k:stop]
        for q in range(n):
            upper[q] += v[a] * weights[q]
    for f in range(len(free)):
        j = free[f]
        logits = data.logits[j, k:stop]
        first, second = least[j] + data.successes[j], most[j] + data.successes[j]
        at_least, at_most = offsets[f, 1], offsets[f, 3]
        for q in range(n):
            x, y = first * logits[q] + at_least, second * logits[q] + at_most
            upper[q] += x if x > y else y


@compiled
def _least_likelihood(
    k: int, data: Any, least: Any, most: Any, v: Any, free: Any, offsets: Any
) -> float:
    """Bound the likelihood under member k from below."""
    total: float = data.offsets[k]
    for a in range(len(v)):
        total += v[a] * data.weights[a, k]
    for f in range(len(free)):
        j = free[f]
        x = (least[j] + data.successes[j]) * data.logits[j, k] + offsets[f, 0]
        y = (most[j] + data.successes[j]) * data.logits[j, k] + offsets[f, 2]
        total += min(x, y)
    return total


@compiled
def _ratio_is_below(
    b: int, i: int, data: Any, bounds: Any, least: Any, most: Any, v: Any, free: Any, offsets: Any,
    first: Any, group_bound: Any, upper: Any, limit: float, last: Any,
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
    free = free[:n_free]
    # the member that is likely to decide comes first, then groups of them, the largest first
    member, n_groups, widest = last[i], len(group_bound), 0
    _bound_members(member, member + 1, data, least, most, v, free, offsets, upper)
    if not upper[0] < limit:  # what is not a number is not below
        found = _least_likelihood(member, data, least, most, v, free, offsets)
        return False, found + smallest - slack
    _bound_groups(data, least, most, offsets, first, group_bound)
    for g in range(n_groups):
        if group_bound[g] > group_bound[widest]:
            widest = g
    for turn in range(-1, n_groups):
        g = widest if turn < 0 else turn
        if group_bound[g] < limit or turn == widest:
            continue
        start, stop = data.group_start[g], data.group_start[g + 1]
        _bound_members(start, stop, data, least, most, v, free, offsets, upper)
        for q in range(stop - start):
            if not upper[q] < limit:
                last[i] = start + q
                found = _least_likelihood(start + q, data, least, most, v, free, offsets)
                return False, found + smallest - slack
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
    group_bound, upper_bound = np.empty(data.group_values.shape[1]), np.empty(len(data.offsets))
    # where the group values of a row are, for as many successes as the original has
    first = data.start[:-1] + np.arange(n) + data.successes.astype(np.int64)
    has_ratio, has_scalar = len(data.offsets) > 0, len(w) > 0
    cost = len(group_bound) * n // 4 + n * (len(w) + 4) + OVERHEAD
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
                fewest = _below(thresholds, start, stop, bounds.p_low[b, j])
                free_ones = _below(thresholds, start + fewest, stop, bounds.p_high[b, j])
                least[j] = fewest - data.successes[j]
                most[j] = least[j] + free_ones
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
                        b,
                        i,
                        data,
                        bounds,
                        least,
                        most,
                        v,
                        free,
                        offsets,
                        first,
                        group_bound,
                        upper_bound,
                        -upper,
                        last,
                    )
                    lower += ratio
                verdict = BELOW if is_below else ABOVE if lower > 0 else 0
            verdicts[b, i] = verdict
            n_other += verdict != BELOW
            undecided[i] += verdict == 0
    return work
