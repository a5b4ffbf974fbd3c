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
from exactregion.region.proofs.cells import compare_labels, sum_columns
from exactregion.region.proofs.enclosure import ABOVE, BELOW, NO_CELL, OVERHEAD
from exactregion.region.proofs.packed import (
    ALWAYS,
    DRIFT,
    FREE,
    FREE_SIZE,
    GAIN,
    GAIN_SLOPE,
    HALF,
    HIGH,
    IS_EXACT,
    IS_NEAR,
    LIMIT,
    LINEAR,
    LOW,
    METRIC,
    MOVE,
    NORM,
    ODDS_HIGH,
    ODDS_LOW,
    ORIGINAL,
    PER_SIZE,
    PER_SQUARE,
    RESIDUAL,
    REST,
    ROW_SIZE,
    SCALAR_DRIFT,
    SCALAR_FREE,
    SCALAR_FREE_SIZE,
    SCALAR_METRIC,
    SCALAR_PER_SIZE,
    SCALAR_PER_SQUARE,
    SCALAR_UPPER,
    SIZE,
    SLOPES,
    UPPER,
    UPPER_MOVE,
    UPPER_SIZE,
)

__all__ = ["judge"]

MOST_MISSES, HIT = 10, 0.5
"""An open box is left when this many more alternatives stayed undecided than `HIT` times those that
were decided. A verdict saves one comparison in each of two halves: it is worth two."""

MAX_FREE = 64
"""Free labels of one alternative that are kept track of; with more of them a box is too large."""

FEW_FREE = 3
"""Up to this many free labels all 2³ values are tried, which is exact; more are bounded together,
which costs no more than eight trials would."""

# Below, x (s + r,) is the point of an alternative minus the original's, its first s entries those
# of the part that is measured by a matrix. Functions take arrays, and neither tuples of arrays nor
# views: each array of a tuple would be counted as a reference in every call, which takes longer
# than the sums.


@inlined
def _form(forms: Any, b: int, t: int, x: Any) -> float:
    """Compute xᵀ A x with matrix t of box b."""
    total = 0.0
    for a in range(forms.shape[2]):
        for c in range(forms.shape[2]):
            total += x[a] * forms[b, t, a, c] * x[c]
    return total


@inlined
def _along(lines: Any, b: int, t: int, x: Any) -> float:
    """Compute the product with line t of box b."""
    total = 0.0
    for a in range(len(x)):
        total += lines[b, t, a] * x[a]
    return total


@inlined
def _squared_length(x: Any, s: int) -> float:
    """Compute the squared length of the part that is measured by a number."""
    total = 0.0
    for a in range(s, len(x)):
        total += x[a] * x[a]
    return total


@inlined
def _add_label(x: Any, columns: Any, j: int, s: int, gain: float, factor: float) -> None:
    """Add a label to a point, times a factor; columns of the first part have a gain as well."""
    for a in range(s):
        x[a] += factor * gain * columns[j, a]
    for a in range(s, len(x)):
        x[a] += factor * columns[j, a]


@inlined
def _gain_of(rows: Any, b: int, j: int) -> float:
    """Return the gain of a label at the centre of a box."""
    return float(rows[b, GAIN, j]) if rows.shape[1] > GAIN else 1.0


@inlined
def _is_far_below(b: int, i: int, limit: float, uniforms: Any, rows: Any) -> bool:
    """Whether the sum of squared standardised residuals stays below the limit of the box."""
    total = 0.0
    for j in range(uniforms.shape[1]):
        u = uniforms[i, j]
        if u < rows[b, LOW, j]:
            total += rows[b, ODDS_LOW, j]
        elif u >= rows[b, HIGH, j]:
            total += rows[b, ODDS_HIGH, j]
        else:
            # a success needs p > u, and a failure p <= u
            total += max((1 - u) / max(u, 1e-300), u / (1 - u))
        if total >= limit:
            return False
    return bool(total < limit)


@compiled
def _sum_moving(
    b: int, x: Any, rows: Any, changes: Any, matrix_columns: Any, moved_columns: Any, weighted: Any,
    slopes: Any, free: Any, n_free: int,
) -> tuple[float, float]:  # fmt: skip
    """Sum columns that depend on θ, and their slopes; return the sizes of the rest and of moves."""
    rest, move = 0.0, 0.0
    for j in range(len(changes)):
        weighted[j] = changes[j] * rows[b, GAIN, j]
        rest += abs(changes[j]) * rows[b, REST, j]
        move += abs(changes[j]) * rows[b, UPPER_MOVE, j]
    sum_columns(matrix_columns, weighted, x)
    for q in range(n_free):
        rest += rows[b, REST, free[q]]
    for j in range(len(changes)):
        weighted[j] = changes[j] * rows[b, GAIN_SLOPE, j]
    sum_columns(moved_columns, weighted, slopes.ravel())
    return rest, move


@compiled
def _sum_all(
    b: int, i: int, uniforms: Any, observed: Any, rows: Any, changes: Any, by_column: Any, x: Any,
    free: Any,
) -> int:  # fmt: skip
    """Sum the columns of known labels, list the free ones, and return how many these are."""
    low, high = rows[b, LOW], rows[b, HIGH]
    n_free = compare_labels(uniforms[i], low, high, observed, changes)
    if n_free > MAX_FREE:
        return n_free
    sum_columns(by_column, changes, x)
    found = 0
    for j in range(len(changes) if n_free else 0):
        if low[j] <= uniforms[i, j] < high[j]:
            free[found] = j
            found += 1
    return n_free


@inlined
def _sum_in_cell(
    b: int, row: int, sums: Any, start: Any, listed: Any, listed_uniforms: Any, rows: Any,
    columns: Any, x: Any, free: Any,
) -> int:  # fmt: skip
    """Do the same within a cell, where most labels are known."""
    for a in range(len(x)):
        x[a] = sums[row, a]
    n_free = 0
    for q in range(start[row], start[row + 1]):
        j, u = listed[q], listed_uniforms[q]
        if u < rows[b, LOW, j]:
            for a in range(len(x)):
                x[a] += columns[j, a]
        elif u < rows[b, HIGH, j]:
            if n_free == MAX_FREE:
                return MAX_FREE + 1
            free[n_free] = j
            n_free += 1
    return n_free


@inlined
def _is_below_by_size(
    b: int, rows: Any, numbers: Any, forms: Any, lines: Any, columns: Any, scalar_sizes: Any,
    x: Any, v: Any, move: float, free: Any, n_free: int,
) -> bool:  # fmt: skip
    """Whether Z of the alternative, bounded from above, is below the original's from below."""
    s, upper = forms.shape[2], 0.0
    if s:
        size = numbers[b, DRIFT] + move
        for a in range(s):
            v[a] = x[a] + lines[b, RESIDUAL, a]
        for q in range(n_free):
            j = free[q]
            size += 0.5 * rows[b, UPPER_SIZE, j]
            if rows.shape[1] > GAIN:
                size += 0.5 * rows[b, UPPER_MOVE, j]
            half_gain = 0.5 * _gain_of(rows, b, j)
            for a in range(s):
                v[a] += half_gain * columns[j, a]
        size += np.sqrt(max(_form(forms, b, UPPER, v), 0.0))
        upper = size * size
    if s < len(x) and upper < numbers[b, ORIGINAL]:
        length = numbers[b, SCALAR_DRIFT]
        for a in range(s, len(x)):
            v[a] = x[a] + lines[b, RESIDUAL, a]
        for q in range(n_free):
            j = free[q]
            length += 0.5 * scalar_sizes[j]
            for a in range(s, len(x)):
                v[a] += 0.5 * columns[j, a]
        length += np.sqrt(_squared_length(v, s))
        upper += numbers[b, SCALAR_UPPER] * length * length
    return bool(upper < numbers[b, ORIGINAL])


@inlined
def _difference(
    b: int, d: int, x: Any, numbers: Any, forms: Any, lines: Any, slopes: Any, rest: float
) -> tuple[float, float, float, float, float]:
    """Z of a data set minus the original's: at the centre, and by how much it may move.

    `slopes` (d, s) and `rest` say how the point of the matrix part moves. Also returns the sizes of
    both parts of the point, and by how much the first one moves.
    """
    s = forms.shape[2]
    square, size, move = 0.0, 0.0, 0.0
    length = _squared_length(x, s)
    centre = numbers[b, SCALAR_METRIC] * length + _along(lines, b, LINEAR, x)
    spread = numbers[b, SCALAR_PER_SQUARE] * length + numbers[b, SCALAR_PER_SIZE] * np.sqrt(length)
    if s:
        square = max(_form(forms, b, NORM, x), 0.0)
        size = np.sqrt(square)
        centre += _form(forms, b, METRIC, x)
        spread += numbers[b, PER_SQUARE] * square + numbers[b, PER_SIZE] * size + numbers[b, ALWAYS]
    for t in range(d):
        slope = numbers[b, HALF + d + t] * length + _along(lines, b, SLOPES + t, x)
        slope += _form(forms, b, SLOPES + 1 + t, x)
        if len(slopes):
            square = 0.0
            for a in range(s):
                slope += lines[b, LINEAR, a] * slopes[t, a]
                for c in range(s):
                    slope += 2 * slopes[t, a] * forms[b, METRIC, a, c] * x[c]
                    square += slopes[t, a] * forms[b, NORM, a, c] * slopes[t, c]
            move += numbers[b, HALF + t] * np.sqrt(max(square, 0.0))
        spread += abs(slope) * numbers[b, HALF + t]
    if len(slopes):
        # with w = w₀ + w₁ + rest, what the first order of wᵀ M w + 2 wᵀ M e leaves out of w
        in_residual, in_metric = 0.5 * numbers[b, FREE], numbers[b, FREE_SIZE]
        spread += 2 * move * in_residual + 2 * rest * (numbers[b, SIZE] + in_residual + size)
        move += rest
        spread += move * (2 * in_metric * size + (1 + in_metric) * move)
    return centre, spread, size, np.sqrt(length), move


@inlined
def _compare_together(
    b: int, d: int, rows: Any, numbers: Any, forms: Any, lines: Any, columns: Any,
    scalar_sizes: Any, x: Any, v: Any, slopes: Any, rest: float, free: Any, n_free: int,
) -> int:  # fmt: skip
    """Compare with all free labels at one half, and bound what their true values add."""
    s = forms.shape[2]
    matrix_free, scalar_free, free_move = 0.0, 0.0, 0.0
    for q in range(n_free):
        j = free[q]
        matrix_free += 0.5 * rows[b, ROW_SIZE, j]
        scalar_free += 0.5 * scalar_sizes[j]
        _add_label(x, columns, j, s, _gain_of(rows, b, j), 0.5)
        if len(slopes):
            free_move += 0.5 * rows[b, MOVE, j]
    centre, spread, size, length, move = _difference(
        b, d, x, numbers, forms, lines, slopes, rest + free_move
    )
    for a in range(s):
        v[a] = 0.5 * lines[b, LINEAR, a]
        for c in range(s):
            v[a] += forms[b, METRIC, a, c] * x[c]
    for a in range(s, len(x)):
        v[a] = 0.5 * lines[b, LINEAR, a] + numbers[b, SCALAR_METRIC] * x[a]
    for q in range(n_free):
        j = free[q]
        first, second = 0.0, 0.0
        for a in range(s):
            first += v[a] * columns[j, a]
        for a in range(s, len(x)):
            second += v[a] * columns[j, a]
        spread += abs(_gain_of(rows, b, j) * first + second)
    if len(slopes):
        spread += 2 * free_move * (numbers[b, SIZE] + size)
        spread += 2 * matrix_free * (1 + numbers[b, FREE_SIZE]) * move
    per_size = numbers[b, FREE] + numbers[b, FREE_SIZE] * (2 * size + matrix_free)
    spread += matrix_free * per_size
    per_size = numbers[b, SCALAR_FREE] + numbers[b, SCALAR_FREE_SIZE] * (2 * length + scalar_free)
    spread += scalar_free * per_size
    # the square of what free labels add can only increase Z
    square = matrix_free * matrix_free + numbers[b, SCALAR_METRIC] * scalar_free * scalar_free
    if centre + spread + square < 0:
        return BELOW
    return ABOVE if centre - spread > 0 else 0


@inlined
def _is_zero(x: Any, s: int, changes: Any, group: Any, slopes: Any) -> bool:
    """Whether the point is zero for every θ in the box."""
    for a in range(s if len(slopes) else 0, len(x)):
        if x[a] != 0:
            return False
    if len(slopes):
        total = np.zeros(len(changes))
        for j in range(len(changes)):
            total[group[j]] += changes[j]
        return not total.any()
    return True


@inlined
def _compare_each(
    b: int, d: int, wins_ties: bool, rows: Any, numbers: Any, forms: Any, lines: Any, columns: Any,
    x: Any, changes: Any, group: Any, moved_columns: Any, slopes: Any, rest: float, free: Any,
    n_free: int,
) -> int:  # fmt: skip
    """Compare with every value of the free labels."""
    s = forms.shape[2]
    lowest, highest, before = ABOVE, BELOW, 0
    for mask in range(1 << n_free):
        for q in range(n_free):
            change, j = (mask >> q & 1) - (before >> q & 1), free[q]
            if change != 0:
                _add_label(x, columns, j, s, _gain_of(rows, b, j), change)
                if len(slopes):
                    changes[j] += change
                for t in range(len(slopes)):
                    for a in range(s):
                        moved = rows[b, GAIN_SLOPE, j] * moved_columns[t * s + a, j]
                        slopes[t, a] += change * moved
        before = mask
        if numbers[b, IS_EXACT] and _is_zero(x, s, changes, group, slopes):
            # the same point, so the same Z to the last bit: the seat decides
            verdict = BELOW if wins_ties else ABOVE
        else:
            centre, spread, _, _, _ = _difference(b, d, x, numbers, forms, lines, slopes, rest)
            verdict = BELOW if centre + spread < 0 else ABOVE if centre - spread > 0 else 0
        lowest, highest = min(lowest, verdict), max(highest, verdict)
        if lowest < highest or lowest == 0:
            return 0
    return lowest


@inlined
def _examine(  # noqa: PLR0911 (one test after the other)
    b: int, i: int, row: int, uniforms: Any, observed: Any, wins_ties: Any, columns: Any,
    by_column: Any, scalar_sizes: Any, matrix_columns: Any, moved_columns: Any, group: Any,
    rows: Any, numbers: Any, forms: Any, lines: Any, sums: Any, start: Any, listed: Any,
    listed_uniforms: Any, x: Any, v: Any, free: Any, changes: Any, weighted: Any, slopes: Any,
) -> int:  # fmt: skip
    """Return the verdict about an alternative in a box; `row` is that in its cell, if any."""
    limit, near, original = numbers[b, LIMIT], numbers[b, IS_NEAR] > 0, numbers[b, ORIGINAL]
    if limit > 0 and _is_far_below(b, i, limit, uniforms, rows):
        return BELOW
    if original == 0 and not near:
        return 0
    if row == NO_CELL:
        n_free = _sum_all(b, i, uniforms, observed, rows, changes, by_column, x, free)
    else:
        n_free = _sum_in_cell(b, row, sums, start, listed, listed_uniforms, rows, columns, x, free)
    if n_free > MAX_FREE:
        return 0
    s, d, rest, move = forms.shape[2], forms.shape[1] - SLOPES - 1, 0.0, 0.0
    if len(slopes):
        if row != NO_CELL:
            compare_labels(uniforms[i], rows[b, LOW], rows[b, HIGH], observed, changes)
        rest, move = _sum_moving(
            b, x, rows, changes, matrix_columns, moved_columns, weighted, slopes, free, n_free
        )
    if original > 0 and _is_below_by_size(
        b, rows, numbers, forms, lines, columns, scalar_sizes, x, v, move, free, n_free
    ):
        return BELOW
    if not near:
        return 0
    if n_free > 1:
        verdict = _compare_together(
            b, d, rows, numbers, forms, lines, columns, scalar_sizes, x, v, slopes, rest, free,
            n_free,
        )  # fmt: skip
        if verdict != 0 or n_free > FEW_FREE:
            return verdict
        for q in range(n_free):
            _add_label(x, columns, free[q], s, _gain_of(rows, b, free[q]), -0.5)
    return _compare_each(
        b, d, wins_ties[i], rows, numbers, forms, lines, columns, x, changes, group, moved_columns,
        slopes, rest, free, n_free,
    )  # fmt: skip


# bounds have a margin for rounding errors, and sums over labels are exact: in any order
@compiled_with(fastmath={"reassoc", "nsz", "contract"})
def judge(
    verdicts: Any, order: Any, undecided: Any, spare: int, enough: int, draws: Any, boxes: Any,
    cell: Any, cells: Any,
) -> int:  # fmt: skip
    """Fill in the verdicts (B, M) about each alternative in each box; return comparisons made.

    Parameters
    ----------
    verdicts : ndarray of shape (B, M)
        Those of a larger box, which hold here too; updated.
    order, undecided : ndarrays of shape (M,)
        The order in which alternatives are looked at, and how often each stayed undecided;
        the latter is updated.
    spare, enough : int
        A box is known not to be outside as soon as more alternatives than `spare` are not below,
        and known to be outside as soon as `enough` are.
    draws : Labels
        The data.
    boxes : PackedBoxes
        Bounds over the boxes.
    cell : ndarray of shape (B,)
        The cells that the boxes are in.
    cells : CellArrays
        Known sums and free labels of the cells.
    """
    uniforms, observed, wins_ties = draws.uniforms, draws.observed, draws.wins_ties
    columns, by_column, scalar_sizes = draws.columns, draws.by_column, draws.scalar_sizes
    matrix_columns, moved_columns, group = draws.matrix_columns, draws.moved_columns, draws.group
    rows, numbers, forms, lines = boxes.rows, boxes.numbers, boxes.forms, boxes.lines
    cell_row, sums, start = cells.row, cells.sums, cells.start
    listed, listed_uniforms = cells.free, cells.uniforms
    M, n, s, d = len(order), uniforms.shape[1], forms.shape[2], forms.shape[1] - SLOPES - 1
    x, v = np.empty(columns.shape[1]), np.empty(columns.shape[1])
    free, pending = np.empty(MAX_FREE, dtype=np.int64), np.empty(M, dtype=np.int64)
    changes, weighted = np.empty(n), np.empty(n)
    slopes = np.empty((d if rows.shape[1] > GAIN else 0, s))
    work = 0
    for b in range(len(verdicts)):
        n_below, n_other, last = 0, 0, 0
        for at in range(M):
            known = verdicts[b, order[at]]
            pending[last] = order[at]
            last += known == 0
            n_below += known == BELOW
            n_other += known == ABOVE
        first, misses = 0, 0.0
        while first < last and n_below < enough and misses <= MOST_MISSES:
            # those that are hard to decide come first, until the box is known not to be outside;
            # then those that are easy to decide, which both halves of the box would have to
            is_open = n_other > spare
            if is_open:
                last -= 1
                i = pending[last]
            else:
                i = pending[first]
                first += 1
            row = NO_CELL if cell[b] == NO_CELL else cell_row[cell[b], i]
            work += OVERHEAD + (n if row == NO_CELL else start[row + 1] - start[row])
            verdict = _examine(
                b, i, row, uniforms, observed, wins_ties, columns, by_column, scalar_sizes,
                matrix_columns, moved_columns, group, rows, numbers, forms, lines, sums, start,
                listed, listed_uniforms, x, v, free, changes, weighted, slopes,
            )  # fmt: skip
            verdicts[b, i] = verdict
            n_below += verdict == BELOW
            n_other += verdict != BELOW
            undecided[i] += verdict == 0
            if is_open:
                misses += 1.0 if verdict == 0 else -HIT
    return work
