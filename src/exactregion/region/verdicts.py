"""Compiled loops that compare every alternative with the original over boxes of parameters.

For each box and alternative the question is whether Z of the alternative is below Z of the
original, or above it, for every θ in the box. Labels that are the same all over the box are known;
the few others are free, and both of their values are allowed for. `region.enclosure` derives the
numbers that are compared here and says what they bound.
"""

from __future__ import annotations

from typing import Any

import numba
import numpy as np

from exactregion.engine.compiled import compiled, inlined
from exactregion.region.enclosure import ABOVE, BELOW, OVERHEAD

__all__ = ["judge"]

MAX_FREE = 64
"""Free labels of one alternative that are kept track of; with more of them a box is too large."""

FEW_FREE = 3
"""Up to this many free labels all 2³ values are tried, which is exact; more are bounded together,
which costs no more than eight trials would."""


@inlined
def _quadratic(matrix: Any, vector: Any) -> float:
    total = 0.0
    for a in range(len(vector)):
        inner = 0.0
        for b in range(len(vector)):
            inner += matrix[a, b] * vector[b]
        total += vector[a] * inner
    return total


@inlined
def _dot(left: Any, right: Any) -> float:
    total = 0.0
    for a in range(len(left)):
        total += left[a] * right[a]
    return total


@inlined
def _is_far_below(b: int, i: int, draws: Any, labels: Any) -> bool:
    """Whether the sum of squared standardised residuals stays below the limit of the box."""
    uniforms, low, high = draws.uniforms[i], labels.low[b], labels.high[b]
    odds_low, odds_high = labels.odds_low[b], labels.odds_high[b]
    total, limit = 0.0, labels.limit[b]
    for j in range(len(uniforms)):
        u = uniforms[j]
        if u < low[j]:
            total += odds_low[j]
        elif u >= high[j]:
            total += odds_high[j]
        else:
            # a success needs p > u, and a failure p <= u
            total += max((1 - u) / max(u, 1e-300), u / (1 - u))
        if total >= limit:
            return False
    return bool(total < limit)


@compiled
def _compare_labels(uniforms: Any, low: Any, high: Any, observed: Any, changes: Any) -> int:
    """Fill in known labels minus those of the original, with free ones as 0; count the latter."""
    n_free = 0
    for j in range(len(uniforms)):
        changes[j] = (uniforms[j] < low[j]) - observed[j]
        n_free += (uniforms[j] >= low[j]) & (uniforms[j] < high[j])
    return n_free


# columns are on a dyadic grid, so that their sums are exact in any order
@numba.njit(cache=True, nogil=True, error_model="numpy", fastmath={"reassoc", "nsz"})
def _sum_columns(columns: Any, changes: Any, sums: Any) -> None:
    """Add up each column (r, k) times the changes (k,)."""
    for a in range(len(columns)):
        column, total = columns[a], 0.0
        for j in range(len(changes)):
            total += column[j] * changes[j]
        sums[a] = total


@inlined
def _list_free(uniforms: Any, low: Any, high: Any, free: Any) -> None:
    found = 0
    for j in range(len(uniforms)):
        if low[j] <= uniforms[j] < high[j]:
            free[found] = j
            found += 1


@inlined
def _is_below_by_size(
    b: int, draws: Any, labels: Any, matrix: Any, scalar: Any, w: Any, y: Any, v: Any, z: Any,
    free: Any,
) -> bool:  # fmt: skip
    """Whether Z of the alternative, bounded from above, is below the original's from below."""
    bound, upper = labels.original[b], 0.0
    if len(w):
        columns, sizes, residual = draws.matrix, matrix.upper_sizes[b], matrix.residual[b]
        size = matrix.drift[b]
        for a in range(len(w)):
            v[a] = w[a] + residual[a]
        for j in free:
            size += 0.5 * sizes[j]
            for a in range(len(w)):
                v[a] += 0.5 * columns[j, a]
        size += np.sqrt(max(_quadratic(matrix.upper[b], v), 0.0))
        upper += size * size
    if len(y) and upper < bound:
        columns, sizes, residual = draws.scalar, scalar.row_sizes, scalar.residual[b]
        size = scalar.drift[b]
        for a in range(len(y)):
            z[a] = y[a] + residual[a]
        for j in free:
            size += 0.5 * sizes[j]
            for a in range(len(y)):
                z[a] += 0.5 * columns[j, a]
        size += np.sqrt(_dot(z, z))
        upper += scalar.upper[b] * size * size
    return bool(upper < bound)


@inlined
def _difference(
    b: int, v: Any, z: Any, matrix: Any, scalar: Any, half: Any
) -> tuple[float, float, float, float]:
    """Z of a data set minus the original's: at the centre, and by how much it may move.

    Also returns the sizes of both points.
    """
    centre, spread, size, length = 0.0, 0.0, 0.0, _dot(z, z)
    if len(v):
        square = max(_quadratic(matrix.norm[b], v), 0.0)
        size = np.sqrt(square)
        centre += _quadratic(matrix.metric[b], v) + _dot(matrix.linear[b], v)
        spread += matrix.curvature[b, 0] * square + matrix.curvature[b, 1] * size
        spread += matrix.curvature[b, 2]
    if len(z):
        centre += scalar.metric[b] * length + _dot(scalar.linear[b], z)
        spread += scalar.curvature[b, 0] * length + scalar.curvature[b, 1] * np.sqrt(length)
    for t in range(half.shape[1]):
        slope = 0.0
        if len(v):
            slope += _quadratic(matrix.metric_slopes[b, t], v) + _dot(matrix.linear_slopes[b, t], v)
        if len(z):
            slope += scalar.metric_slopes[b, t] * length + _dot(scalar.linear_slopes[b, t], z)
        spread += abs(slope) * half[b, t]
    return centre, spread, size, np.sqrt(length)


@inlined
def _compare_together(
    b: int, draws: Any, matrix: Any, scalar: Any, half: Any, w: Any, y: Any, v: Any, z: Any,
    free: Any,
) -> int:  # fmt: skip
    """Compare with all free labels at one half, and bound what their true values add."""
    columns_w, columns_y = draws.matrix, draws.scalar
    sizes_w, sizes_y = matrix.row_sizes[b], scalar.row_sizes
    matrix_free, scalar_free = 0.0, 0.0
    for j in free:
        matrix_free += 0.5 * sizes_w[j]
        scalar_free += 0.5 * sizes_y[j]
        for a in range(len(w)):
            w[a] += 0.5 * columns_w[j, a]
        for a in range(len(y)):
            y[a] += 0.5 * columns_y[j, a]
    centre, spread, size, length = _difference(b, w, y, matrix, scalar, half)
    for a in range(len(w)):
        v[a] = 0.5 * matrix.linear[b, a] + _dot(matrix.metric[b, a], w)
    for a in range(len(y)):
        z[a] = 0.5 * scalar.linear[b, a] + scalar.metric[b] * y[a]
    for j in free:
        spread += abs(_dot(v, columns_w[j]) + _dot(z, columns_y[j]))
    factor = matrix.free_factor[b]
    spread += matrix_free * (factor[0] + factor[1] * (2 * size + matrix_free))
    factor = scalar.free_factor[b]
    spread += scalar_free * (factor[0] + factor[1] * (2 * length + scalar_free))
    # the square of what free labels add can only increase Z
    square = matrix_free * matrix_free + scalar.metric[b] * scalar_free * scalar_free
    if centre + spread + square < 0:
        return BELOW
    return ABOVE if centre - spread > 0 else 0


@inlined
def _compare_each(
    b: int, is_exact: bool, wins_ties: bool, draws: Any, matrix: Any, scalar: Any, half: Any,
    w: Any, y: Any, free: Any,
) -> int:  # fmt: skip
    """Compare with every value of the free labels."""
    columns_w, columns_y = draws.matrix, draws.scalar
    lowest, highest, before = ABOVE, BELOW, 0
    for mask in range(1 << len(free)):
        for q in range(len(free)):
            change, j = (mask >> q & 1) - (before >> q & 1), free[q]
            if change != 0:
                for a in range(len(w)):
                    w[a] += change * columns_w[j, a]
                for a in range(len(y)):
                    y[a] += change * columns_y[j, a]
        before = mask
        if is_exact and not (w.any() or y.any()):
            # the same point, so the same Z to the last bit: the seat decides
            verdict = BELOW if wins_ties else ABOVE
        else:
            centre, spread, _, _ = _difference(b, w, y, matrix, scalar, half)
            verdict = BELOW if centre + spread < 0 else ABOVE if centre - spread > 0 else 0
        lowest, highest = min(lowest, verdict), max(highest, verdict)
        if lowest < highest or lowest == 0:
            return 0
    return lowest


@inlined
def _examine(
    b: int, i: int, draws: Any, labels: Any, matrix: Any, scalar: Any, half: Any, near: bool,
    w: Any, y: Any, v: Any, z: Any, changes: Any, all_free: Any,
) -> int:  # fmt: skip
    """Return the verdict about an alternative in a box."""
    if labels.limit[b] > 0 and _is_far_below(b, i, draws, labels):
        return BELOW
    uniforms, low, high = draws.uniforms[i], labels.low[b], labels.high[b]
    n_free = _compare_labels(uniforms, low, high, draws.observed, changes)
    if n_free > MAX_FREE:
        return 0
    free = all_free[:n_free]
    if n_free:
        _list_free(uniforms, low, high, free)
    _sum_columns(draws.matrix_columns, changes, w)
    _sum_columns(draws.scalar_columns, changes, y)
    bound = labels.original[b]
    if bound > 0 and _is_below_by_size(b, draws, labels, matrix, scalar, w, y, v, z, free):
        return BELOW
    if not near:
        return 0
    if n_free > 1:
        verdict = _compare_together(b, draws, matrix, scalar, half, w, y, v, z, free)
        if verdict != 0 or n_free > FEW_FREE:
            return verdict
        for j in free:
            for a in range(len(w)):
                w[a] -= 0.5 * draws.matrix[j, a]
            for a in range(len(y)):
                y[a] -= 0.5 * draws.scalar[j, a]
    ties = draws.wins_ties[i]
    return _compare_each(b, labels.are_exact[b], ties, draws, matrix, scalar, half, w, y, free)


@compiled
def judge(
    verdicts: Any, order: Any, undecided: Any, spare: int, draws: Any, labels: Any, matrix: Any,
    scalar: Any, half: Any, near: Any,
) -> int:  # fmt: skip
    """Fill in the verdicts (B, M) about each alternative in each box; return comparisons made.

    Parameters
    ----------
    verdicts : ndarray of shape (B, M)
        Those of a larger box, which hold here too; updated.
    order, undecided : ndarrays of shape (M,)
        The order in which alternatives are looked at, and how often each stayed undecided;
        the latter is updated.
    spare : int
        A box is left as soon as more alternatives than this are not below.
    draws, labels, matrix, scalar : Labels, FreeLabels, MatrixPart and ScalarPart
        The data, and bounds over the boxes.
    half : ndarray of shape (B, d)
        Half the widths of the boxes.
    near : ndarray of shape (B,)
        Whether the expansion at the centre holds in the box.
    """
    w, y = np.empty(draws.matrix.shape[1]), np.empty(draws.scalar.shape[1])
    v, z = np.empty_like(w), np.empty_like(y)
    free = np.empty(MAX_FREE, dtype=np.int64)
    changes = np.empty(len(draws.observed))
    work = 0
    for b in range(len(verdicts)):
        n_other = np.sum(verdicts[b] == ABOVE)
        for i in order:
            if verdicts[b, i] != 0:
                continue
            if n_other > spare:
                break
            work += len(changes) + OVERHEAD
            verdict = _examine(
                b, i, draws, labels, matrix, scalar, half, near[b], w, y, v, z, changes, free
            )
            verdicts[b, i] = verdict
            n_other += verdict != BELOW
            undecided[i] += verdict == 0
    return work
