"""Compiled loops that compare every alternative with the original over boxes of parameters.

For each box and alternative the question is whether Z of the alternative is below Z of the
original, or above it, for every θ in the box. Labels that are the same all over the box are known;
the few others are free, and both of their values are allowed for. `proofs.enclosure` derives the
numbers that are compared here and says what they bound.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from exactregion.features.compilation import compiled_with, inlined
from exactregion.region.proofs.cells import sum_columns
from exactregion.region.proofs.enclosure import ABOVE, BELOW, OVERHEAD
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
    NONE,
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

__all__ = ["Space", "judge"]

MOST_MISSES, HIT = 10, 0.5
"""An open box is left when this many more alternatives stayed undecided than `HIT` times those that
were decided. A verdict saves one comparison in each of two halves: it is worth two."""

MAX_FREE = 64
"""Free labels of one alternative with which the expansion is of use."""

FEW_FREE = 3
"""Up to this many free labels all 2³ values are tried, which is exact; more are bounded together,
which costs no more than eight trials would."""


class Space(NamedTuple):
    """Arrays that loops work in, which they cannot make."""

    x: Any  # (s + r,)
    v: Any  # (s + r,)
    changes: Any  # (k,)
    scratch: Any  # (k,)
    slopes: Any  # (d · s,), or none where columns do not depend on θ
    free: Any  # (k + 1,)
    ones: Any  # (k + 1,)
    pending: Any  # (M,)

    @classmethod
    def of(cls, draws: Any, *, is_moving: bool) -> Space:
        """Make arrays for these draws."""
        (M, k), width = draws.uniforms.shape, draws.columns.shape[1]
        free, ones = np.empty((2, k + 1), dtype=np.uint32)
        slopes = np.empty(len(draws.moved_columns) if is_moving else 0)
        pending, (x, v) = np.empty(M, dtype=np.int64), np.empty((2, width))
        return cls(x, v, np.empty(k), np.empty(k), slopes, free, ones, pending)


# Below, x (s + r,) is the point of an alternative minus the original's, its first s entries those
# of the part that is measured by a matrix. Loops cannot make arrays (`_nrt`), since otherwise each
# array that a function is given would be counted as a reference in every call, which takes longer
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


# sums of bounds have a margin for rounding errors; those of columns are exact in any order
@compiled_with(fastmath={"reassoc", "nsz", "contract"}, _nrt=False)
def _is_far_below(
    b: int, f: int, i: int, limit: float, uniforms: Any, surprises: Any, chances: Any, rows: Any
) -> bool:
    """Whether the sum of squared standardised residuals stays below the limit of the box."""
    total = 0.0
    for j in range(uniforms.shape[1]):
        u, low, high = uniforms[i, j], chances[b, LOW, j], chances[b, HIGH, j]
        # all are read before one is chosen: several labels at once, in a quarter of the time
        success, failure, free = rows[f, ODDS_LOW, j], rows[f, ODDS_HIGH, j], surprises[i, j]
        total += success if u < low else free if u < high else failure
    return total < limit


@compiled_with(fastmath={"reassoc", "nsz", "contract"}, _nrt=False)
def _compare_halfway(
    b: int, f: int, i: int, uniforms: Any, chances: Any, observed: Any, rows: Any,
    scalar_sizes: Any, changes: Any,
) -> tuple[int, float, float]:  # fmt: skip
    """Fill in labels minus those of the original, with free ones at one half.

    Returns the number of these, and by how much they may move both parts of the point.
    """
    n_free, upper, scalar = 0.0, 0.0, 0.0
    for j in range(len(changes)):
        least = 1.0 if uniforms[i, j] < chances[b, LOW, j] else 0.0
        most = 1.0 if uniforms[i, j] < chances[b, HIGH, j] else 0.0
        changes[j] = 0.5 * (least + most) - observed[j]
        n_free += most - least
        upper += (most - least) * rows[f, UPPER_SIZE, j]
        scalar += (most - least) * scalar_sizes[j]
    return int(n_free), 0.5 * upper, 0.5 * scalar


@compiled_with(_nrt=False)
def _sum_moving(
    f: int, d: int, x: Any, rows: Any, changes: Any, by_column: Any, moved_columns: Any,
    slopes: Any, weighted: Any,
) -> tuple[float, float]:  # fmt: skip
    """Sum columns that depend on θ, and their slopes; return the sizes of the rest and of moves."""
    rest, move = 0.0, 0.0
    for j in range(len(changes)):
        weighted[j] = changes[j] * rows[f, GAIN, j]
        # a free label differs from the original's by one or not at all
        if changes[j] != 0:
            rest += rows[f, REST, j]
            move += rows[f, UPPER_MOVE, j]
    sum_columns(by_column, len(slopes) // d, weighted, x)
    for j in range(len(changes)):
        weighted[j] = changes[j] * rows[f, GAIN_SLOPE, j]
    sum_columns(moved_columns, len(slopes), weighted, slopes)
    return rest, move


@inlined
def _sum_in_cell(
    b: int, f: int, row: int, cells: Any, chances: Any, columns: Any, rows: Any,
    scalar_sizes: Any, x: Any, free: Any, ones: Any,
) -> tuple[int, float, float]:  # fmt: skip
    """Sum columns within a cell, where most labels are known, and list the free ones.

    These count one half. Returns the same as `_compare_halfway`.
    """
    sums, start, listed, uniforms = cells.sums, cells.start, cells.free, cells.uniforms
    for a in range(len(x)):
        x[a] = sums[row, a]
    # without branches, which could not be predicted: what is beyond the counts is overwritten
    n_free, n_ones, upper, scalar = 0, 0, 0.0, 0.0
    for q in range(start[row], start[row + 1]):
        j, u = listed[q], uniforms[q]
        ones[n_ones] = j
        n_ones += u < chances[b, LOW, j]
        free[n_free] = j
        n_free += (u >= chances[b, LOW, j]) & (u < chances[b, HIGH, j])
    for q in range(n_ones):
        j = ones[q]  # read once per label: in the inner loop it would be read for each column
        for a in range(len(x)):
            x[a] += columns[j, a]
    for q in range(n_free):
        j = free[q]
        upper += 0.5 * rows[f, UPPER_SIZE, j]
        scalar += 0.5 * scalar_sizes[j]
        for a in range(len(x)):
            x[a] += 0.5 * columns[j, a]
    return n_free, upper, scalar


@inlined
def _is_below_by_size(
    f: int, numbers: Any, forms: Any, lines: Any, x: Any, v: Any, move: float, upper_free: float,
    scalar_free: float,
) -> bool:  # fmt: skip
    """Whether Z of the alternative, bounded from above, is below the original's from below."""
    s, upper = forms.shape[2], 0.0
    for a in range(len(x)):
        v[a] = x[a] + lines[f, RESIDUAL, a]
    if s:
        size = numbers[f, DRIFT] + move + upper_free
        size += np.sqrt(max(_form(forms, f, UPPER, v), 0.0))
        upper = size * size
    if s < len(x) and upper < numbers[f, ORIGINAL]:
        length = numbers[f, SCALAR_DRIFT] + scalar_free + np.sqrt(_squared_length(v, s))
        upper += numbers[f, SCALAR_UPPER] * length * length
    return bool(upper < numbers[f, ORIGINAL])


@inlined
def _difference(
    b: int, f: int, d: int, place: Any, x: Any, numbers: Any, forms: Any, lines: Any,
    slopes: Any, rest: float,
) -> tuple[float, float, float, float, float]:  # fmt: skip
    """Z of a data set minus the original's: at the centre, and by how much it may move.

    What is left out is what the expansion leaves out of the larger box. `slopes` (d, s) and `rest`
    say how the point of the matrix part moves over that. Also returns the sizes of both parts of
    the point, and by how much the first one moves.
    """
    s = forms.shape[2]
    square, size, move = 0.0, 0.0, 0.0
    length = _squared_length(x, s)
    centre = numbers[f, SCALAR_METRIC] * length + _along(lines, f, LINEAR, x)
    spread = numbers[f, SCALAR_PER_SQUARE] * length + numbers[f, SCALAR_PER_SIZE] * np.sqrt(length)
    if s:
        square = max(_form(forms, f, NORM, x), 0.0)
        size = np.sqrt(square)
        centre += _form(forms, f, METRIC, x)
        spread += numbers[f, PER_SQUARE] * square + numbers[f, PER_SIZE] * size + numbers[f, ALWAYS]
    for t in range(d):
        slope = numbers[f, HALF + d + t] * length + _along(lines, f, SLOPES + t, x)
        slope += _form(forms, f, SLOPES + 1 + t, x)
        if len(slopes):
            square = 0.0
            for a in range(s):
                slope += lines[f, LINEAR, a] * slopes[t * s + a]
                for c in range(s):
                    slope += 2 * slopes[t * s + a] * forms[f, METRIC, a, c] * x[c]
                    square += slopes[t * s + a] * forms[f, NORM, a, c] * slopes[t * s + c]
            move += numbers[f, HALF + t] * np.sqrt(max(square, 0.0))
        centre += slope * place[b, 0, t]
        spread += abs(slope) * place[b, 1, t]
    if len(slopes):
        # with w = w₀ + w₁ + rest, what the first order of wᵀ M w + 2 wᵀ M e leaves out of w
        in_residual, in_metric = 0.5 * numbers[f, FREE], numbers[f, FREE_SIZE]
        spread += 2 * move * in_residual + 2 * rest * (numbers[f, SIZE] + in_residual + size)
        move += rest
        spread += move * (2 * in_metric * size + (1 + in_metric) * move)
    return centre, spread, size, np.sqrt(length), move


@inlined
def _compare_together(
    b: int, f: int, d: int, place: Any, rows: Any, numbers: Any, forms: Any, lines: Any,
    columns: Any, scalar_sizes: Any, x: Any, v: Any, slopes: Any, rest: float, free: Any,
    n_free: int,
) -> int:  # fmt: skip
    """Compare with all free labels at one half, as `x` has them; bound what their values add."""
    s = forms.shape[2]
    matrix_free, scalar_free, free_move = 0.0, 0.0, 0.0
    for q in range(n_free):
        j = free[q]
        matrix_free += 0.5 * rows[f, ROW_SIZE, j]
        scalar_free += 0.5 * scalar_sizes[j]
        if len(slopes):
            free_move += 0.5 * rows[f, MOVE, j]
    centre, spread, size, length, move = _difference(
        b, f, d, place, x, numbers, forms, lines, slopes, rest + free_move
    )
    for a in range(s):
        v[a] = 0.5 * lines[f, LINEAR, a]
        for c in range(s):
            v[a] += forms[f, METRIC, a, c] * x[c]
    for a in range(s, len(x)):
        v[a] = 0.5 * lines[f, LINEAR, a] + numbers[f, SCALAR_METRIC] * x[a]
    for q in range(n_free):
        j = free[q]
        first, second = 0.0, 0.0
        for a in range(s):
            first += v[a] * columns[j, a]
        for a in range(s, len(x)):
            second += v[a] * columns[j, a]
        spread += abs(_gain_of(rows, f, j) * first + second)
    if len(slopes):
        spread += 2 * free_move * (numbers[f, SIZE] + size)
        spread += 2 * matrix_free * (1 + numbers[f, FREE_SIZE]) * move
    per_size = numbers[f, FREE] + numbers[f, FREE_SIZE] * (2 * size + matrix_free)
    spread += matrix_free * per_size
    per_size = numbers[f, SCALAR_FREE] + numbers[f, SCALAR_FREE_SIZE] * (2 * length + scalar_free)
    spread += scalar_free * per_size
    # the square of what free labels add can only increase Z
    square = matrix_free * matrix_free + numbers[f, SCALAR_METRIC] * scalar_free * scalar_free
    if centre + spread + square < 0:
        return BELOW
    return ABOVE if centre - spread > 0 else 0


@inlined
def _is_zero(x: Any, s: int, changes: Any, group: Any, slopes: Any, totals: Any) -> bool:
    """Whether the point is zero for every θ in the box."""
    for a in range(s if len(slopes) else 0, len(x)):
        if x[a] != 0:
            return False
    if len(slopes):
        totals[:] = 0.0
        for j in range(len(changes)):
            totals[group[j]] += changes[j]
        for j in range(len(changes)):
            if totals[j] != 0:
                return False
    return True


@inlined
def _compare_each(
    b: int, f: int, d: int, place: Any, wins_ties: bool, rows: Any, numbers: Any,
    forms: Any, lines: Any, columns: Any, x: Any, changes: Any, group: Any, moved_columns: Any,
    slopes: Any, rest: float, free: Any, n_free: int, totals: Any,
) -> int:  # fmt: skip
    """Compare with every value of the free labels."""
    s = forms.shape[2]
    lowest, highest = ABOVE, BELOW
    for mask in range(1 << n_free):
        for q in range(n_free):
            # at first they are at one half
            before, j = (mask - 1 >> q & 1) if mask else 0.5, free[q]
            change = (mask >> q & 1) - before
            if change != 0:
                _add_label(x, columns, j, s, _gain_of(rows, f, j), change)
                if len(slopes):
                    changes[j] += change
                for t in range(d if len(slopes) else 0):
                    for a in range(s):
                        moved = rows[f, GAIN_SLOPE, j] * moved_columns[t * s + a, j]
                        slopes[t * s + a] += change * moved
        if numbers[f, IS_EXACT] and _is_zero(x, s, changes, group, slopes, totals):
            # the same point, so the same Z to the last bit: the seat decides
            verdict = BELOW if wins_ties else ABOVE
        else:
            centre, spread, _, _, _ = _difference(
                b, f, d, place, x, numbers, forms, lines, slopes, rest
            )
            verdict = BELOW if centre + spread < 0 else ABOVE if centre - spread > 0 else 0
        lowest, highest = min(lowest, verdict), max(highest, verdict)
        if lowest < highest or lowest == 0:
            return 0
    return lowest


@inlined
def _examine(  # noqa: PLR0912 (one test after the other)
    b: int, f: int, i: int, row: int, is_expanded: bool, place: Any, chances: Any, draws: Any,
    packed: Any, cells: Any, space: Any,
) -> int:  # fmt: skip
    """Return the verdict about an alternative in a box; `row` is that in its cell, if any."""
    uniforms, observed, wins_ties = draws.uniforms, draws.observed, draws.wins_ties
    columns, by_column, scalar_sizes = draws.columns, draws.by_column, draws.scalar_sizes
    surprises, moved_columns, group = draws.surprises, draws.moved_columns, draws.group
    rows, numbers, forms, lines = packed.rows, packed.numbers, packed.forms, packed.lines
    x, v, changes, scratch = space.x, space.v, space.changes, space.scratch
    slopes, free, ones = space.slopes, space.free, space.ones
    near, limit, original = numbers[f, IS_NEAR] > 0, 0.0, 0.0
    if is_expanded:  # else both were of no use over the larger box
        limit, original = numbers[f, LIMIT], numbers[f, ORIGINAL]
    if limit > 0 and _is_far_below(b, f, i, limit, uniforms, surprises, chances, rows):
        return BELOW
    if original == 0 and not near:
        return 0
    d, rest, move = forms.shape[1] - SLOPES - 1, 0.0, 0.0
    if row == NONE or len(slopes):
        n_free, upper_free, scalar_free = _compare_halfway(
            b, f, i, uniforms, chances, observed, rows, scalar_sizes, changes
        )
    if row == NONE:
        sum_columns(by_column, len(x), changes, x)
    else:
        n_free, upper_free, scalar_free = _sum_in_cell(
            b, f, row, cells, chances, columns, rows, scalar_sizes, x, free, ones,
        )  # fmt: skip
    if len(slopes):
        rest, move = _sum_moving(f, d, x, rows, changes, by_column, moved_columns, slopes, scratch)
    if original > 0 and _is_below_by_size(
        f, numbers, forms, lines, x, v, move, upper_free, scalar_free
    ):
        return BELOW
    if not near or n_free > MAX_FREE:
        return 0
    if row == NONE and n_free:
        found = 0
        for j in range(len(changes)):
            if abs(changes[j]) == 0.5:
                free[found] = j
                found += 1
    if n_free > 1:
        verdict = _compare_together(
            b, f, d, place, rows, numbers, forms, lines, columns, scalar_sizes, x, v, slopes,
            rest, free, n_free,
        )  # fmt: skip
        if verdict != 0 or n_free > FEW_FREE:
            return verdict
    return _compare_each(
        b, f, d, place, wins_ties[i], rows, numbers, forms, lines, columns, x, changes, group,
        moved_columns, slopes, rest, free, n_free, scratch,
    )  # fmt: skip


# bounds have a margin for rounding errors, and sums over labels are exact: in any order
@compiled_with(fastmath={"reassoc", "nsz", "contract"}, _nrt=False)
def judge(
    verdicts: Any, order: Any, undecided: Any, spare: int, enough: int, draws: Any, chances: Any,
    packed: Any, which: Any, is_expanded: Any, place: Any, cell: Any, cells: Any, space: Any,
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
    chances : ndarray of shape (B, 2, k)
        Bounds of the probabilities of labels over the boxes.
    packed, which : PackedBoxes and ndarray of shape (B,)
        Bounds over boxes, and which of them those are in that are looked at.
    is_expanded : ndarray of shape (B,)
        Whether that is the box itself.
    place : ndarray of shape (B, 2, d)
        From the centre of that to the centre of the box, and half widths of the box.
    cell : ndarray of shape (B,)
        The cells that the boxes are in.
    cells : CellArrays
        Known sums and free labels of the cells.
    space : Space
        Arrays to work in.
    """
    M, n, pending = len(order), draws.uniforms.shape[1], space.pending
    start, row_of = cells.start, cells.row
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
            row = NONE if cell[b] == NONE else row_of[cell[b], i]
            work += OVERHEAD + (n if row == NONE else start[row + 1] - start[row])
            verdict = _examine(
                b, which[b], i, row, is_expanded[b], place, chances, draws, packed, cells, space
            )  # fmt: skip
            verdicts[b, i] = verdict
            n_below += verdict == BELOW
            n_other += verdict != BELOW
            undecided[i] += verdict == 0
            if is_open:
                misses += 1.0 if verdict == 0 else -HIT
    return work
