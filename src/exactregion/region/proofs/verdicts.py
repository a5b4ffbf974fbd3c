"""Compiled loops that compare every alternative with the original over boxes of parameters.

For each box and alternative the question is whether Z of the alternative is below Z of the
original, or above it, for every θ in the box. Labels that are the same all over the box are known;
the few others are free, and both of their values are allowed for. `proofs.enclosure` derives the
numbers that are compared here and says what they bound.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from exactregion.features.compilation import compiled, compiled_with, inlined
from exactregion.region.proofs.enclosure import ABOVE, BELOW, OVERHEAD

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
@compiled_with(fastmath={"reassoc", "nsz"})
def _sum_columns(columns: Any, changes: Any, sums: Any) -> None:
    """Add up each column (r, k) times the changes (k,)."""
    for a in range(len(columns)):
        column, total = columns[a], 0.0
        for j in range(len(changes)):
            total += column[j] * changes[j]
        sums[a] = total


@compiled
def _sum_moving(
    b: int, draws: Any, matrix: Any, changes: Any, weighted: Any, w: Any, slopes: Any, free: Any
) -> tuple[float, float]:
    """Sum columns that depend on θ, and their slopes; return the sizes of the rest and of moves."""
    rest, move = 0.0, 0.0
    for j in range(len(changes)):
        weighted[j] = changes[j] * matrix.gain[b, j]
        rest += abs(changes[j]) * matrix.rest[b, j]
        move += abs(changes[j]) * matrix.upper_move[b, j]
    _sum_columns(draws.matrix_columns, weighted, w)
    for j in free:
        rest += matrix.rest[b, j]
    for j in range(len(changes)):
        weighted[j] = changes[j] * matrix.gain_slope[b, j]
    _sum_columns(draws.moved_columns, weighted, slopes.ravel())
    return rest, move


@inlined
def _list_free(uniforms: Any, low: Any, high: Any, free: Any) -> None:
    found = 0
    for j in range(len(uniforms)):
        if low[j] <= uniforms[j] < high[j]:
            free[found] = j
            found += 1


@inlined
def _half_gain(matrix: Any, b: int, j: int) -> float:
    """Half the gain of a label at the centre of a box."""
    return float(0.5 * matrix.gain[b, j]) if len(matrix.gain) else 0.5


@inlined
def _is_below_by_size(
    b: int, draws: Any, labels: Any, matrix: Any, scalar: Any, w: Any, y: Any, v: Any, z: Any,
    move: float, free: Any,
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
            if len(matrix.gain):
                size += 0.5 * matrix.upper_move[b, j]
            half_gain = _half_gain(matrix, b, j)
            for a in range(len(w)):
                v[a] += half_gain * columns[j, a]
        size += move + np.sqrt(max(_quadratic(matrix.upper[b], v), 0.0))
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
    b: int, v: Any, z: Any, matrix: Any, scalar: Any, half: Any, slopes: Any, rest: float
) -> tuple[float, float, float, float, float]:
    """Z of a data set minus the original's: at the centre, and by how much it may move.

    `slopes` (d, s) and `rest` say how the point of the matrix part moves. Also returns the sizes of
    both points, and by how much the first one moves.
    """
    centre, spread, size, length = 0.0, 0.0, 0.0, _dot(z, z)
    move = 0.0
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
        if len(slopes):
            slope += _dot(matrix.linear[b], slopes[t])
            for a in range(len(v)):
                slope += 2 * slopes[t, a] * _dot(matrix.metric[b, a], v)
            move += half[b, t] * np.sqrt(max(_quadratic(matrix.norm[b], slopes[t]), 0.0))
        if len(z):
            slope += scalar.metric_slopes[b, t] * length + _dot(scalar.linear_slopes[b, t], z)
        spread += abs(slope) * half[b, t]
    if len(slopes):
        # with w = w₀ + w₁ + rest, what the first order of wᵀ M w + 2 wᵀ M e leaves out of w
        in_residual, in_metric = 0.5 * matrix.free_factor[b, 0], matrix.free_factor[b, 1]
        spread += 2 * move * in_residual + 2 * rest * (matrix.size[b] + in_residual + size)
        move += rest
        spread += move * (2 * in_metric * size + (1 + in_metric) * move)
    return centre, spread, size, np.sqrt(length), move


@inlined
def _compare_together(
    b: int, draws: Any, matrix: Any, scalar: Any, half: Any, w: Any, y: Any, v: Any, z: Any,
    slopes: Any, rest: float, free: Any,
) -> int:  # fmt: skip
    """Compare with all free labels at one half, and bound what their true values add."""
    columns_w, columns_y = draws.matrix, draws.scalar
    sizes_w, sizes_y = matrix.row_sizes[b], scalar.row_sizes
    matrix_free, scalar_free, free_move = 0.0, 0.0, 0.0
    for j in free:
        matrix_free += 0.5 * sizes_w[j]
        scalar_free += 0.5 * sizes_y[j]
        half_gain = _half_gain(matrix, b, j)
        for a in range(len(w)):
            w[a] += half_gain * columns_w[j, a]
        for a in range(len(y)):
            y[a] += 0.5 * columns_y[j, a]
        if len(slopes):
            free_move += 0.5 * matrix.move[b, j]
    centre, spread, size, length, move = _difference(
        b, w, y, matrix, scalar, half, slopes, rest + free_move
    )
    for a in range(len(w)):
        v[a] = 0.5 * matrix.linear[b, a] + _dot(matrix.metric[b, a], w)
    for a in range(len(y)):
        z[a] = 0.5 * scalar.linear[b, a] + scalar.metric[b] * y[a]
    for j in free:
        gain = 2 * _half_gain(matrix, b, j)
        spread += abs(gain * _dot(v, columns_w[j]) + _dot(z, columns_y[j]))
    if len(slopes):
        spread += 2 * free_move * (matrix.size[b] + size)
        spread += 2 * matrix_free * (1 + matrix.free_factor[b, 1]) * move
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
def _change_label(
    b: int, j: int, change: int, draws: Any, matrix: Any, w: Any, y: Any, changes: Any, slopes: Any
) -> None:
    """Add a label to both points, or take it away."""
    changes[j] += change
    gain = 2 * _half_gain(matrix, b, j) * change
    for a in range(len(w)):
        w[a] += gain * draws.matrix[j, a]
    for a in range(len(y)):
        y[a] += change * draws.scalar[j, a]
    for t in range(len(slopes)):
        for a in range(len(w)):
            slopes[t, a] += (
                change * matrix.gain_slope[b, j] * draws.moved_columns[t * len(w) + a, j]
            )


@compiled
def _is_zero(draws: Any, w: Any, changes: Any, slopes: Any) -> bool:
    """Whether the point is zero for every θ in the box."""
    if not len(slopes):
        return not w.any()
    total = np.zeros(len(changes))
    for j in range(len(changes)):
        total[draws.group[j]] += changes[j]
    return not total.any()


@inlined
def _compare_each(
    b: int, is_exact: bool, wins_ties: bool, draws: Any, matrix: Any, scalar: Any, half: Any,
    w: Any, y: Any, changes: Any, slopes: Any, rest: float, free: Any,
) -> int:  # fmt: skip
    """Compare with every value of the free labels."""
    lowest, highest, before = ABOVE, BELOW, 0
    for mask in range(1 << len(free)):
        for q in range(len(free)):
            change, j = (mask >> q & 1) - (before >> q & 1), free[q]
            if change != 0:
                _change_label(b, j, change, draws, matrix, w, y, changes, slopes)
        before = mask
        if is_exact and not y.any() and _is_zero(draws, w, changes, slopes):
            # the same point, so the same Z to the last bit: the seat decides
            verdict = BELOW if wins_ties else ABOVE
        else:
            centre, spread, _, _, _ = _difference(b, w, y, matrix, scalar, half, slopes, rest)
            verdict = BELOW if centre + spread < 0 else ABOVE if centre - spread > 0 else 0
        lowest, highest = min(lowest, verdict), max(highest, verdict)
        if lowest < highest or lowest == 0:
            return 0
    return lowest


@inlined
def _examine(
    b: int, i: int, draws: Any, labels: Any, matrix: Any, scalar: Any, half: Any, near: bool,
    w: Any, y: Any, v: Any, z: Any, changes: Any, weighted: Any, slopes: Any, all_free: Any,
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
    _sum_columns(draws.scalar_columns, changes, y)
    if len(slopes):
        rest, move = _sum_moving(b, draws, matrix, changes, weighted, w, slopes, free)
    else:
        rest, move = 0.0, 0.0
        _sum_columns(draws.matrix_columns, changes, w)
    bound = labels.original[b]
    if bound > 0 and _is_below_by_size(b, draws, labels, matrix, scalar, w, y, v, z, move, free):
        return BELOW
    if not near:
        return 0
    if n_free > 1:
        verdict = _compare_together(b, draws, matrix, scalar, half, w, y, v, z, slopes, rest, free)
        if verdict != 0 or n_free > FEW_FREE:
            return verdict
        for j in free:
            half_gain = _half_gain(matrix, b, j)
            for a in range(len(w)):
                w[a] -= half_gain * draws.matrix[j, a]
            for a in range(len(y)):
                y[a] -= 0.5 * draws.scalar[j, a]
    return _compare_each(
        b, labels.are_exact[b], draws.wins_ties[i], draws, matrix, scalar, half, w, y, changes,
        slopes, rest, free,
    )  # fmt: skip


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
    weighted = np.empty_like(changes)
    slopes = np.empty((half.shape[1] if len(matrix.gain) else 0, len(w)))
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
                b, i, draws, labels, matrix, scalar, half, near[b], w, y, v, z, changes, weighted,
                slopes, free,
            )  # fmt: skip
            verdicts[b, i] = verdict
            n_other += verdict != BELOW
            undecided[i] += verdict == 0
    return work
