"""Compiled loops of the engines.

`draw_labels` draws the labels of alternatives, `draw_known` those that all candidates of a window
agree on, and `add_runs` sums them over segments of rows. The
`follow_` loops go along a path of candidates, from one to the next by the labels that flip. Data
sets are rows of `points` (m, r). The uniforms of free labels are in `uniforms` (F,), those of data
row j from `first[j]` to `first[j + 1]`, sorted, and `owner` has the data set of each. A column is a
threshold of a data row (labels have one, counts one per trial); `place` is where the first uniform
is that is not below it, `above` and `below` are the uniforms next to it. Nothing is reordered or
contracted by the compiler, so that every sum has the bits that NumPy gives.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from exactregion.engine.segments import GROUP
from exactregion.features.compilation import compiled, inlined

__all__ = [
    "CENTRE",
    "LARGEST",
    "MEAN",
    "METRIC",
    "add_runs",
    "centres",
    "draw_known",
    "draw_labels",
    "flip_free",
    "follow_dense",
    "follow_labels",
    "follow_sparse",
    "largest",
    "measure_steps",
    "room_for",
    "sorted_by_row",
    "thresholds_of",
]

CENTRE, MEAN, METRIC, LARGEST = 0, 1, 2, 3
"""How distances are measured: from a centre, from the mean, or from a centre in a metric."""


def thresholds_of(p: Any) -> Any:
    """⌈2⁵³ p⌉, exactly: shape (b,)."""
    return np.ceil(np.ldexp(p, 53)).astype(np.int64)


@compiled
def _draw(state: Any, numbers: Any) -> None:
    """Fill in the 53 leading bits of random numbers, and advance the state of SFC64.

    NumPy's uniforms are these numbers divided by 2⁵³. So U < p is the same as number < ⌈2⁵³ p⌉, and
    the uniforms need not be made. Comparisons are left to other loops: one that does nothing but
    draw is four times as fast.
    """
    a, b, c, count = state[0], state[1], state[2], state[3]
    one, three, eleven = np.uint64(1), np.uint64(3), np.uint64(11)
    left, right = np.uint64(24), np.uint64(40)
    for j in range(len(numbers)):
        x = a + b + count
        count += one
        a = b ^ (b >> eleven)
        b = c + (c << three)
        c = ((c << left) | (c >> right)) + x
        numbers[j] = np.int64(x >> eleven)
    state[0], state[1], state[2], state[3] = a, b, c, count


@compiled
def draw_labels(state: Any, thresholds: Any, observed: Any, seat: int, K: Any) -> None:
    """Fill the labels K (q, b) of q data sets, row after row.

    Parameters
    ----------
    state : ndarray of shape (4,), unsigned
        State of SFC64; it is advanced.
    thresholds : ndarray of shape (b,)
        A label is 1 where the random number is below; see `thresholds_of`.
    observed : ndarray of shape (b,)
        Labels of the original.
    seat : int
        The original's row in K, or -1.
    K : ndarray of shape (q, b)
        Where the labels go.
    """
    numbers = np.empty(K.shape[1], dtype=np.int64)
    for i in range(K.shape[0]):
        if i == seat:
            K[i] = observed
            continue
        _draw(state, numbers)
        for j in range(K.shape[1]):
            K[i, j] = numbers[j] < thresholds[j]


def room_for(number: int) -> tuple[Any, Any, Any]:
    """Make room for rows, uniforms and data sets of as many free labels."""
    return np.empty(number, np.int32), np.empty(number), np.empty(number, np.int32)


@compiled
def draw_known(
    state: Any,
    columns: Any,
    low: Any,
    high: Any,
    observed: Any,
    first: int,
    seat: int,
    K: Any,
    free_row: Any,
    free_uniform: Any,
    free_owner: Any,
) -> int:
    """Fill the known successes K (q, b) of data sets first, first + 1, …, and list free labels.

    A uniform below the limits [low, high) of a column is a success, one within them is free: all
    that it decides is left out of K. Returns the number of free labels.

    Parameters
    ----------
    state : ndarray of shape (4,), unsigned
        State of SFC64; it is advanced, as by `draw_labels`.
    columns : ndarray of shape (b + 1,)
        Where the columns of each row begin.
    low, high : ndarrays
        Limits of these columns, as `thresholds_of` gives them.
    observed : ndarray of shape (b,)
        Successes of the original, which is data set `seat`.
    K : ndarray of shape (q, b)
        Where the successes go.
    free_row, free_uniform, free_owner : ndarrays
        Where free labels go; one per uniform at most.
    """
    b = K.shape[1]
    numbers = np.empty(b, dtype=np.int64)
    is_free = np.zeros((b + 7) // 8 * 8, dtype=np.uint8)
    eights = is_free.view(np.uint64)  # most are zero, and are passed over eight at a time
    labels = len(low) == b and (columns[1:] - columns[:-1] == 1).all()
    number = 0
    for i in range(K.shape[0]):
        if first + i == seat:
            K[i] = observed
            continue
        _draw(state, numbers)
        if labels:
            for j in range(b):
                K[i, j] = numbers[j] < low[j]
            for j in range(b):
                is_free[j] = (numbers[j] >= low[j]) & (numbers[j] < high[j])
        else:
            for j in range(b):
                successes, free = 0, False
                for column in range(columns[j], columns[j + 1]):
                    successes += numbers[j] < low[column]
                    free |= (numbers[j] >= low[column]) & (numbers[j] < high[column])
                is_free[j] = free
                K[i, j] = 0 if free else successes
        for eight in range(len(eights)):
            if eights[eight] == 0:
                continue
            for j in range(8 * eight, 8 * eight + 8):
                if is_free[j]:
                    free_row[number], free_owner[number] = j, first + i
                    free_uniform[number] = numbers[j] * 2.0**-53
                    number += 1
    return number


@compiled
def sorted_by_row(b: int, row: Any, uniform: Any, owner: Any) -> Any:
    """Sort the free labels of b rows by row, then by uniform.

    Returns where each row begins (b + 1,), uniforms and data sets.
    """
    first = np.zeros(b + 1, dtype=np.int64)
    for j in row:
        first[j + 1] += 1
    for j in range(b):
        first[j + 1] += first[j]
    end = first.copy()
    uniforms, owners = np.empty_like(uniform), np.empty_like(owner)
    for k in range(len(row)):
        uniforms[end[row[k]]], owners[end[row[k]]] = uniform[k], owner[k]
        end[row[k]] += 1
    for j in range(b):
        here = slice(first[j], first[j + 1])
        order = np.argsort(uniforms[here])
        uniforms[here], owners[here] = uniforms[here][order], owners[here][order]
    return first, uniforms, owners


@inlined
def _moved(uniforms: Any, start: int, stop: int, k: int, q: float) -> int:
    """Find the first uniform of a data row, start..stop - 1, that is not below q, from k on."""
    while k < stop and uniforms[k] < q:
        k += 1
    while k > start and uniforms[k - 1] >= q:
        k -= 1
    return k


@inlined
def _settle(
    uniforms: Any, start: int, stop: int, k: int, c: int, place: Any, above: Any, below: Any
) -> None:
    place[c] = k
    above[c] = uniforms[k] if k < stop else np.inf
    below[c] = uniforms[k - 1] if k > start else -np.inf


@compiled
def centres(P: Any, trials: Any, precision: float, features: Any, unit: Any, block: int) -> Any:
    """Φᵀ(t p) for shared features (n, r): shape (T, r).

    Expected successes are rounded to 1/precision, and sums within a block of rows to half units: as
    `SharedFeatures.centre` does it, without the threads of a matrix product.
    """
    T, n = P.shape
    r = features.shape[1]
    total = np.zeros((T, r))
    within = np.empty(r)
    for t in range(T):
        for start in range(0, n, block):
            within[:] = 0.0
            for j in range(start, min(start + block, n)):
                mass = np.rint(trials[j] * P[t, j] * precision) / precision
                for a in range(r):
                    within[a] += features[j, a] * mass
            for a in range(r):
                half = unit[a] / 2
                total[t, a] += np.rint(within[a] / half) * half
    return total


@compiled
def _from_centre(points: Any, centre: Any, scale: float, out: Any) -> None:
    """Scale · ‖v_i - c‖², eight data sets side by side so that their sums do not wait."""
    m, r = points.shape
    i = 0
    while i + 8 <= m:
        s0 = s1 = s2 = s3 = s4 = s5 = s6 = s7 = 0.0
        for a in range(r):
            c = centre[a]
            d0, d1 = points[i, a] - c, points[i + 1, a] - c
            d2, d3 = points[i + 2, a] - c, points[i + 3, a] - c
            d4, d5 = points[i + 4, a] - c, points[i + 5, a] - c
            d6, d7 = points[i + 6, a] - c, points[i + 7, a] - c
            s0 += d0 * d0
            s1 += d1 * d1
            s2 += d2 * d2
            s3 += d3 * d3
            s4 += d4 * d4
            s5 += d5 * d5
            s6 += d6 * d6
            s7 += d7 * d7
        out[i], out[i + 1], out[i + 2], out[i + 3] = s0, s1, s2, s3
        out[i + 4], out[i + 5], out[i + 6], out[i + 7] = s4, s5, s6, s7
        i += 8
    while i < m:
        total = 0.0
        for a in range(r):
            d = points[i, a] - centre[a]
            total += d * d
        out[i] = total
        i += 1
    for i in range(m):
        out[i] *= scale


@compiled
def _from_mean(points: Any, mean: Any, scale: float, out: Any) -> None:
    """Scale · ‖m v_i - Σ_j v_j‖²."""
    m, r = points.shape
    mean[:] = 0.0
    for i in range(m):
        for a in range(r):
            mean[a] += points[i, a]
    i = 0
    while i + 4 <= m:
        s0 = s1 = s2 = s3 = 0.0
        for a in range(r):
            c = mean[a]
            d0, d1 = m * points[i, a] - c, m * points[i + 1, a] - c
            d2, d3 = m * points[i + 2, a] - c, m * points[i + 3, a] - c
            s0 += d0 * d0
            s1 += d1 * d1
            s2 += d2 * d2
            s3 += d3 * d3
        out[i], out[i + 1], out[i + 2], out[i + 3] = s0, s1, s2, s3
        i += 4
    while i < m:
        total = 0.0
        for a in range(r):
            d = m * points[i, a] - mean[a]
            total += d * d
        out[i] = total
        i += 1
    for i in range(m):
        out[i] *= scale


@compiled
def _in_metric(points: Any, centre: Any, W: Any, out: Any) -> None:
    """‖W (v_i - c)‖²."""
    m, r = points.shape
    deviation = np.empty(r)
    for i in range(m):
        for a in range(r):
            deviation[a] = points[i, a] - centre[a]
        total = 0.0
        for a in range(len(W)):
            whitened = 0.0
            for b in range(r):
                whitened += W[a, b] * deviation[b]
            total += whitened * whitened
        out[i] = total


@compiled
def largest(points: Any, W: Any, out: Any) -> None:
    """Find max_k (a_k + w_k · v_i), all data sets side by side so that their sums do not wait."""
    m, r = points.shape
    coordinates, value = points.T.copy(), np.empty(m)
    out[:] = -np.inf
    for k in range(len(W)):
        value[:] = W[k, r]
        for a in range(r):
            w = W[k, a]
            for i in range(m):
                value[i] += w * coordinates[a, i]
        for i in range(m):
            out[i] = max(out[i], value[i])


@compiled
def _measure(how: int, points: Any, centre: Any, W: Any, scale: float, mean: Any, out: Any) -> None:
    if how == CENTRE:
        _from_centre(points, centre, scale, out)
    elif how == MEAN:
        _from_mean(points, mean, scale, out)
    elif how == METRIC:
        _in_metric(points, centre, W, out)
    else:
        largest(points, W, out)


@compiled
def follow_dense(
    thresholds: Any,
    rows: Any,
    first: Any,
    uniforms: Any,
    owner: Any,
    place: Any,
    above: Any,
    below: Any,
    features: Any,
    points: Any,
    how: int,
    centre: Any,
    W: Any,
    scale: float,
    out: Any,
) -> None:
    """Follow T candidates with features (n, r), and measure at each: out (T, m)."""
    r = features.shape[1]
    mean = np.empty(r)
    for t in range(len(thresholds)):
        for c in range(len(rows)):
            q = thresholds[t, c]
            if below[c] < q <= above[c]:
                continue
            row, old = rows[c], place[c]
            start, stop = first[row], first[row + 1]
            new = _moved(uniforms, start, stop, old, q)
            sign = 1.0 if new > old else -1.0
            for flip in range(min(old, new), max(old, new)):
                i = owner[flip]
                for a in range(r):
                    points[i, a] += sign * features[row, a]
            _settle(uniforms, start, stop, new, c, place, above, below)
        _measure(how, points, centre[t], W[t], scale, mean, out[t])


@compiled
def flip_free(
    thresholds: Any,
    rows: Any,
    first: Any,
    uniforms: Any,
    owner: Any,
    place: Any,
    features: Any,
    steps: Any,
) -> None:
    """Follow T candidates of a window, row by row: steps (T, m, r) from each to the next.

    All candidates are done with a row before the next row is read: there may be very many.
    """
    r = features.shape[1]
    for c in range(len(rows)):
        row = rows[c]
        start, stop = first[row], first[row + 1]
        old = place[c]
        for t in range(len(thresholds)):
            new = _moved(uniforms, start, stop, old, thresholds[t, c])
            if new == old:
                continue
            sign = 1.0 if new > old else -1.0
            for flip in range(min(old, new), max(old, new)):
                i = owner[flip]
                for a in range(r):
                    steps[t, i, a] += sign * features[row, a]
            old = new
        place[c] = old


@compiled
def measure_steps(
    points: Any, steps: Any, how: int, centre: Any, W: Any, scale: float, out: Any
) -> None:
    """Add steps (T, m, r) to points (m, r) one after the other, and measure after each."""
    mean = np.empty(points.shape[1])
    for t in range(len(steps)):
        for i in range(points.shape[0]):
            for a in range(points.shape[1]):
                points[i, a] += steps[t, i, a]
        _measure(how, points, centre[t], W[t], scale, mean, out[t])


@compiled
def follow_sparse(
    thresholds: Any,
    rows: Any,
    first: Any,
    uniforms: Any,
    owner: Any,
    place: Any,
    above: Any,
    below: Any,
    starts: Any,
    indices: Any,
    values: Any,
    points: Any,
    how: int,
    centre: Any,
    W: Any,
    scale: float,
    out: Any,
) -> None:
    """Do the same with features as a sparse matrix of rows."""
    mean = np.empty(points.shape[1])
    for t in range(len(thresholds)):
        for c in range(len(rows)):
            q = thresholds[t, c]
            if below[c] < q <= above[c]:
                continue
            row, old = rows[c], place[c]
            start, stop = first[row], first[row + 1]
            new = _moved(uniforms, start, stop, old, q)
            sign = 1.0 if new > old else -1.0
            for flip in range(min(old, new), max(old, new)):
                i = owner[flip]
                for e in range(starts[row], starts[row + 1]):
                    points[i, indices[e]] += sign * values[e]
            _settle(uniforms, start, stop, new, c, place, above, below)
        _measure(how, points, centre[t], W[t], scale, mean, out[t])


@compiled
def follow_labels(
    thresholds: Any,
    rows: Any,
    first: Any,
    uniforms: Any,
    owner: Any,
    place: Any,
    above: Any,
    below: Any,
    successes: Any,
    features: Any,
    how: int,
    centre: Any,
    W: Any,
    scale: float,
    out: Any,
) -> None:
    """Do the same with features (T, r, n) that differ between candidates.

    What is updated are the successes (n, m) themselves; points are summed up at each step.
    """
    n, m = successes.shape
    r = features.shape[1]
    sums, points, mean = np.empty((r, m)), np.empty((m, r)), np.empty(r)
    for t in range(len(thresholds)):
        for c in range(len(rows)):
            q = thresholds[t, c]
            if below[c] < q <= above[c]:
                continue
            row, old = rows[c], place[c]
            start, stop = first[row], first[row + 1]
            new = _moved(uniforms, start, stop, old, q)
            sign = 1 if new > old else -1
            for flip in range(min(old, new), max(old, new)):
                successes[row, owner[flip]] += sign
            _settle(uniforms, start, stop, new, c, place, above, below)
        sums[:] = 0.0
        for j in range(n):
            for a in range(r):
                value = features[t, a, j]
                if value != 0.0:
                    for i in range(m):
                        sums[a, i] += value * successes[j, i]
        for a in range(r):
            for i in range(m):
                points[i, a] = sums[a, i]
        _measure(how, points, centre[t], W[t], scale, mean, out[t])


@compiled
def add_runs(
    outcomes: Any, weights: Any, starts: Any, pointers: Any, segments: Any, totals: Any
) -> None:
    """Add to totals (S, `GROUP`) what rows contribute to their segments, for a group of data sets.

    Consecutive rows that are in the same segments make a run, and are added up first. A number of
    data sets that is known beforehand, and indices without a sign, make the loops twice as fast.

    Parameters
    ----------
    outcomes : ndarray of shape (b, `GROUP`)
        Successes of each row.
    weights : ndarray of shape (b,)
        By which they are multiplied.
    starts : ndarray of shape (runs + 1,)
        Where runs begin, and the number of rows.
    pointers, segments : ndarrays of shape (runs + 1,) and (k,)
        The segments of each run, as in a CSR array.
    totals : ndarray of shape (S, `GROUP`)
        Sums that are exact in their type.
    """
    within = np.empty(GROUP, dtype=totals.dtype)
    for run in range(len(starts) - 1):
        within[:] = 0
        for j in range(starts[run], starts[run + 1]):
            weight = weights[j]
            for i in range(GROUP):
                within[i] += weight * outcomes[j, i]
        for place in range(pointers[run], pointers[run + 1]):
            segment = np.uint64(segments[place])
            for i in range(GROUP):
                totals[segment, np.uint64(i)] += within[i]
