"""Compiled loops of the engines, besides those of `drawing`.

The `follow_` loops go along a path of candidates, from one to the next by the labels that flip;
`add_runs` sums over segments of rows. Data sets are rows of `points` (m, r). The uniforms of free
labels are in `uniforms` (F,), those of data row j from `first[j]` to `first[j + 1]`, sorted, and
`owner` has the data set of each. A column is a threshold of a data row (labels have one, counts one
per trial); `place` is where the first uniform is that is not below it, `above` and `below` are the
uniforms next to it. Nothing is reordered or contracted by the compiler, so that every sum has the
bits that NumPy gives.
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
    "add_weighted",
    "centres",
    "choose_paths",
    "flip_free",
    "follow_all",
    "follow_labels",
    "follow_sparse",
    "largest",
    "measure_offsets",
    "measure_steps",
    "sum_weighted",
    "weighted_products",
]

CENTRE, MEAN, METRIC, LARGEST = 0, 1, 2, 3
"""How a data set is measured: the distance from a centre, from the mean, or from a centre in a
metric; or the largest of several linear functions."""

TILE = 256
"""Data sets that are whitened at once: their deviations stay in the nearest cache."""


@inlined
def _moved(uniforms: Any, start: int, stop: int, k: int, q: float) -> int:
    """Find the first uniform of a data row, start..stop - 1, that is not below q, from k on."""
    while k < stop and uniforms[k] < q:
        k += 1
    while k > start and uniforms[k - 1] >= q:
        k -= 1
    return k


@inlined
def _move(
    c: int, q: float, rows: Any, first: Any, uniforms: Any, place: Any, above: Any, below: Any
) -> Any:
    """Move the threshold of a column to q; return its data row, and its places before and after."""
    row, old = rows[c], place[c]
    start, stop = first[row], first[row + 1]
    new = _moved(uniforms, start, stop, old, q)
    place[c] = new
    above[c] = uniforms[new] if new < stop else np.inf
    below[c] = uniforms[new - 1] if new > start else -np.inf
    return row, old, new


@compiled
def centres(P: Any, trials: Any, precision: float, features: Any, unit: Any, block: int) -> Any:
    """Φᵀ(t p) for shared features (n, r): shape (T, r).

    Expected successes are rounded to 1/precision, and sums within a block of rows to half units: as
    `SharedFeatures.centre` does it, faster where candidates are few. Sums within a block are exact.
    """
    # loops get slices: an index `start + j`, which might be negative, would keep them scalar
    T, n = P.shape
    total = np.zeros((T, features.shape[1]))
    for start in range(0, n, block):
        rows = slice(start, min(start + block, n))
        mass = np.empty((T, rows.stop - start))
        _expected(P[:, rows], trials[rows], precision, mass)
        _add_rounded(np.dot(mass, features[rows].astype(np.float64)), unit / 2, total)
    return total


@compiled
def _expected(P: Any, trials: Any, precision: float, mass: Any) -> None:
    """Fill in t p, rounded to 1/precision."""
    for t in range(P.shape[0]):
        for j in range(P.shape[1]):
            mass[t, j] = np.rint(trials[j] * P[t, j] * precision) / precision


@compiled
def _add_rounded(values: Any, unit: Any, total: Any) -> None:
    """Add values (T, r), rounded to multiples of units."""
    for t in range(values.shape[0]):
        for a in range(values.shape[1]):
            total[t, a] += np.rint(values[t, a] / unit[a]) * unit[a]


@compiled
def weighted_products(P: Any, trials: Any, values: Any, scale: Any, out: Any) -> None:
    """Fill in t p (1 - p) s_a Φ_a s_c Φ_c for columns (b, r) and pairs c ≤ a: out (T, pairs, b)."""
    T, b = P.shape
    weight, weighted = np.empty(b), np.empty(b)
    for t in range(T):
        for j in range(b):
            weight[j] = (trials[j] * P[t, j]) * (1 - P[t, j])
        pair = 0
        for a in range(values.shape[1]):
            for j in range(b):
                weighted[j] = weight[j] * (values[j, a] * scale[a])
            for c in range(a + 1):
                for j in range(b):
                    out[t, pair, j] = weighted[j] * (values[j, c] * scale[c])
                pair += 1


@compiled
def add_weighted(first: Any, weights: Any, values: Any, out: Any) -> None:
    """Add values (b, r) of each row j, times its weights (b, k), to rows first[j], … of `out`."""
    for j in range(len(first)):
        for k in range(weights.shape[1]):
            weight = weights[j, k]
            for a in range(values.shape[1]):
                out[first[j] + k, a] += weight * values[j, a]


@compiled
def sum_weighted(weights: Any, values: Any, out: Any) -> None:
    """Add weights (T, n) times values (n, r), one row after the other: out (T, r).

    The last bit of a matrix product would depend on how many weights and columns there are.
    """
    for t in range(len(weights)):
        for j in range(len(values)):
            weight = weights[t, j]
            for a in range(values.shape[1]):
                out[t, a] += weight * values[j, a]


@compiled
def _squared_lengths(points: Any, first: int, centre: Any, scale: float, out: Any) -> None:
    """Scale · ‖v_i - c‖² of columns `first`, …, many data sets side by side."""
    m, r = len(points), len(centre)
    if m < TILE:
        _few_squared_lengths(points, first, centre, out)
    else:
        column = np.empty(TILE)
        for start in range(0, m, TILE):
            here = out[start : start + TILE]
            here[:] = 0.0
            for a in range(r):
                _take_column(points, start, first + a, column, len(here))
                c = centre[a]
                for i in range(len(here)):
                    d = column[i] - c
                    here[i] += d * d
    for i in range(m):
        out[i] *= scale


@inlined
def _take_column(points: Any, start: int, a: int, column: Any, q: int) -> None:
    """Copy one column of q data sets; places without a sign, which would be looked at each time."""
    for i in range(q):
        column[i] = points[np.uint64(start + i), np.uint64(a)]


@compiled
def _few_squared_lengths(points: Any, first: int, centre: Any, out: Any) -> None:
    """Do the same by eight data sets at a time, where there are too few for columns."""
    m, r = len(points), len(centre)
    i = 0
    while i + 8 <= m:
        s0 = s1 = s2 = s3 = s4 = s5 = s6 = s7 = 0.0
        v0, v1 = points[i][first:], points[i + 1][first:]
        v2, v3 = points[i + 2][first:], points[i + 3][first:]
        v4, v5 = points[i + 4][first:], points[i + 5][first:]
        v6, v7 = points[i + 6][first:], points[i + 7][first:]
        for a in range(r):
            c = centre[a]
            d0, d1, d2, d3 = v0[a] - c, v1[a] - c, v2[a] - c, v3[a] - c
            d4, d5, d6, d7 = v4[a] - c, v5[a] - c, v6[a] - c, v7[a] - c
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
            d = points[i, first + a] - centre[a]
            total += d * d
        out[i] = total
        i += 1


@compiled
def _in_metric(points: Any, first: int, parts: int, centre: Any, W: Any, out: Any) -> None:
    """‖W (v_i - c)‖², many data sets side by side so that their sums do not wait."""
    m, r = len(points), len(centre)
    deviation, whitened = np.empty((r, min(m, TILE))), np.empty(min(m, TILE))
    for start in range(0, m, TILE):
        q = min(TILE, m - start)
        for a in range(r):
            column = deviation[a]
            _take_column(points, start, first + a, column, q)
            for part in range(1, parts):
                _take_column(points, start, first + part * r + a, whitened, q)
                for i in range(q):
                    column[i] += whitened[i]
            for i in range(q):
                column[i] -= centre[a]
        for i in range(q):
            out[start + i] = 0.0
        for a in range(len(W)):
            for i in range(q):
                whitened[i] = 0.0
            for b in range(r):
                w = W[a, b]
                for i in range(q):
                    whitened[i] += w * deviation[b, i]
            for i in range(q):
                out[start + i] += whitened[i] * whitened[i]


@compiled
def largest(points: Any, W: Any, out: Any) -> None:
    """Find max_k (a_k + w_k · v_i), all data sets side by side so that their sums do not wait."""
    m, r = len(points), W.shape[1] - 1
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
def _measure(
    how: int, points: Any, columns: Any, centre: Any, W: Any, scale: float, out: Any
) -> None:
    """Measure points in some way; `columns` are their first one, and the parts that add up."""
    first, parts = columns
    if how == CENTRE:
        _squared_lengths(points, first, centre, scale, out)
    elif how == MEAN:  # ‖m v_i - Σ_j v_j‖², of sums that are exact
        m, r = points.shape
        mean, times_m = np.zeros(r), np.empty((m, r))
        for i in range(m):
            for a in range(r):
                mean[a] += points[i, a]
                times_m[i, a] = float(m) * points[i, a]
        _squared_lengths(times_m, 0, mean, scale, out)
    elif how == METRIC:
        _in_metric(points, first, parts, centre, W, out)
    else:
        largest(points, W, out)


@inlined
def _apart(here: Any, there: Any) -> float:
    """Sum the absolute differences."""
    total = 0.0
    for j in range(len(here)):
        total += abs(here[j] - there[j])
    return total


@compiled
def choose_paths(some: Any, places: Any, number: int, room: int, jump: float) -> Any:
    """Choose an order of candidates, and paths that they continue, by some probabilities (T, k).

    `places` (paths, k) has those where the first `number` paths end, and is brought up to date.
    Each candidate is followed by the next one, or, if that is farther than `jump`, by the nearest
    that is left. It continues the same path, or if it is so far, the path that ends nearest; a copy
    of that where this is as far and there is room. Returned are the order, the path of each
    candidate, the path it sets out from, the number of paths, and how far all moved.
    """
    T = len(some)
    order = np.arange(T)
    path, origin = np.zeros(T, dtype=np.int64), np.zeros(T, dtype=np.int64)
    moved, here = 0.0, 0
    for step in range(T):
        distance = np.inf
        if step > 0:
            chosen = step
            for other in range(step, T):
                found = _apart(some[order[other]], some[order[step - 1]])
                if found < distance:
                    distance, chosen = found, other
                if other == step and found <= jump:
                    break
            order[step], order[chosen] = order[chosen], order[step]
        t = order[step]
        if number > 0 and distance > jump:
            for end in range(number):
                found = _apart(places[end], some[t])
                if found < distance:
                    distance, here = found, end
        origin[t] = here
        if number == 0:
            number, distance = 1, 0.0
        elif distance > jump and number < room:
            here, number = number, number + 1
        path[t] = here
        for j in range(some.shape[1]):
            places[here, j] = some[t, j]
        moved += distance
    return order, path, origin, number, moved


@compiled
def _copy(source: Any, target: Any) -> None:
    """Copy an array; in loops, since slices take seconds to compile."""
    for i in range(source.shape[0]):
        for a in range(source.shape[1]):
            target[i, a] = source[i, a]


@compiled
def _set_out(columns: Any, t: int, ends: Any) -> None:
    """Bring the path of a candidate to where it sets out: a copy of another, or its beginning."""
    rows, first, uniforms = columns
    _, path, origin, start, begun, place, above, below, sums = ends
    here, there = path[t], origin[t]
    if here != there:
        begun[here] = begun[there]
    if here != there and begun[there]:
        for c in range(len(rows)):
            place[here, c] = place[there, c]
            above[here, c] = above[there, c]
            below[here, c] = below[there, c]
        _copy(sums[there], sums[here])
    if not begun[here]:
        begun[here] = True
        for c in range(len(rows)):
            begins, stops = first[rows[c]], first[rows[c] + 1]
            place[here, c], below[here, c] = begins, -np.inf
            above[here, c] = uniforms[begins] if begins < stops else np.inf
        _copy(start, sums[here])


@compiled
def _flip(columns: Any, features: Any, points: Any, moved: Any) -> None:
    """Move the thresholds of one candidate, and flip the labels in between.

    `columns` has the thresholds and what is said above of columns and free labels, and `moved` is
    room for the number of each column.
    """
    thresholds, rows, first, uniforms, owner, place, above, below = columns
    r = features.shape[1]
    number = 0
    for c in range(len(rows)):  # without a branch, which would often be mispredicted
        moved[number] = c
        number += (thresholds[c] <= below[c]) | (thresholds[c] > above[c])
    for c in moved[:number]:
        q = thresholds[c]
        row, old, new = _move(c, q, rows, first, uniforms, place, above, below)
        # two loops, since a sign that is multiplied by would make all of it double precision;
        # places without a sign, which would be looked at each time
        step = features[row]
        for flip in range(old, new):
            point = points[np.uint64(owner[flip])]
            for a in range(r):
                point[a] += step[a]
        for flip in range(new, old):
            point = points[np.uint64(owner[flip])]
            for a in range(r):
                point[a] -= step[a]


@compiled
def _measure_terms(points: Any, t: int, measured: Any) -> None:
    """Measure all terms at one candidate."""
    terms, scale, centre, W, out = measured
    for k in range(len(terms)):
        how, begin, parts, width, height, which = terms[k]
        centre_t, W_t = centre[k, t, :width], W[k, t, :height]
        _measure(how, points, (begin, parts), centre_t, W_t, scale[k], out[which, t])


@compiled
def follow_all(columns: Any, features: Any, ends: Any, measured: Any) -> None:
    """Follow T candidates with features (n, r), and measure K terms at each.

    `columns` has the thresholds (T, columns) and what is said above of columns and free labels.
    `ends` has the order of candidates, the path of each, the one that it sets out from, the points
    of a path that begins, and of all paths whether they have begun, place, above, below, and
    points. `measured` has for each term how it is measured, the first column of its features, the
    parts that add up to them, their number, that of the rows of W, and its place in `out`; then the
    scales, centres (K, T, r), W (K, T, s, r) and `out`.
    """
    thresholds, rows, first, uniforms, owner = columns
    order, path, _, _, _, place, above, below, sums = ends
    moved = np.empty(len(rows), dtype=np.int64)
    for t in order:
        _set_out((rows, first, uniforms), t, ends)
        end, points = path[t], sums[path[t]]
        here = (thresholds[t], rows, first, uniforms, owner, place[end], above[end], below[end])
        _flip(here, features, points, moved)
        _measure_terms(points, t, measured)


@compiled
def flip_free(thresholds: Any, rows: Any, free: Any, place: Any, features: Any, steps: Any) -> None:
    """Follow T candidates of a window, row by row: steps (T, m, r) from each to the next.

    All candidates are done with a row before the next row is read: there may be very many. `free`
    has first, uniforms and owner.
    """
    first, uniforms, owner = free
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
def measure_steps(points: Any, steps: Any, measured: Any) -> None:
    """Add steps (T, m, r) to points (m, r) one after the other, and measure after each."""
    how, centre, W, scale, out = measured
    for t in range(len(steps)):
        for i in range(points.shape[0]):
            for a in range(points.shape[1]):
                points[i, a] += steps[t, i, a]
        _measure(how, points, (0, 1), centre[t], W[t], scale, out[t])


@compiled
def measure_offsets(known: Any, offsets: Any, first: int, unit: Any, measured: Any) -> None:
    """Measure points (m, r) plus each of T offsets, multiples of units in columns `first`, …."""
    how, centre, W, scale, out = measured
    points = np.empty(known.shape)
    for t in range(len(offsets)):
        for i in range(known.shape[0]):
            for a in range(known.shape[1]):
                points[i, a] = known[i, a] + offsets[t, i, first + a] * unit[a]
        _measure(how, points, (0, 1), centre[t], W[t], scale, out[t])


@compiled
def follow_sparse(columns: Any, features: Any, ends: Any, measured: Any) -> None:
    """Do the same as `follow_all` with features as the arrays of a sparse matrix of rows."""
    thresholds, rows, first, uniforms, owner = columns
    order, path, _, _, _, place, above, below, sums = ends
    starts, indices, values = features
    for t in order:
        _set_out((rows, first, uniforms), t, ends)
        points, places, high, low = sums[path[t]], place[path[t]], above[path[t]], below[path[t]]
        for c in range(len(rows)):
            q = thresholds[t, c]
            if low[c] < q <= high[c]:
                continue
            row, old, new = _move(c, q, rows, first, uniforms, places, high, low)
            sign = 1.0 if new > old else -1.0
            for flip in range(min(old, new), max(old, new)):
                i = owner[flip]
                for e in range(starts[row], starts[row + 1]):
                    points[i, indices[e]] += sign * values[e]
        _measure_terms(points, t, measured)


@compiled
def follow_labels(columns: Any, features: Any, ends: Any, measured: Any) -> None:
    """Do the same with features (T, r, n) that differ between candidates.

    What is updated are the successes (n, m) themselves; points are summed up at each step.
    """
    thresholds, rows, first, uniforms, owner = columns
    order, path, _, start, _, place, above, below, labels = ends
    (n, m), r = start.shape, features.shape[1]
    sums, points = np.empty((r, m)), np.empty((m, r))
    for t in order:
        _set_out((rows, first, uniforms), t, ends)
        successes, places = labels[path[t]], place[path[t]]
        high, low = above[path[t]], below[path[t]]
        for c in range(len(rows)):
            q = thresholds[t, c]
            if low[c] < q <= high[c]:
                continue
            row, old, new = _move(c, q, rows, first, uniforms, places, high, low)
            sign = 1 if new > old else -1
            for flip in range(min(old, new), max(old, new)):
                successes[row, owner[flip]] += sign
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
        _measure_terms(points, t, measured)


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
