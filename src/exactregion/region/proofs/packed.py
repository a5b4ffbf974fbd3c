"""Bounds over boxes as four arrays: the form in which compiled loops read them quickest.

What holds over a box holds in its parts, and what its expansion leaves out is small in parts that
are not much smaller: `Expansions` keeps the arrays of boxes for the boxes within them.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from exactregion._typing import BoolArray, FloatArray, IntArray

__all__ = ["Expansions", "PackedBoxes", "longer"]

LOW, HIGH = range(2)
"""Bounds of the probability of each label, of every box by itself."""

ODDS_LOW, ODDS_HIGH, ROW_SIZE, UPPER_SIZE, GAIN, GAIN_SLOPE, REST, UPPER_MOVE, MOVE = range(9)
"""What `rows` has of each label: the largest (1 - p)² / (p (1 - p)) of a success and the same of a
failure, and the largest sizes of its columns, in the norm and by the larger metric. Where columns
depend on θ, their gain at the centre, its slope in η, the sizes of what both leave out, and how far
columns move by the larger metric and in the norm."""

(
    ORIGINAL, LIMIT, IS_NEAR, IS_EXACT,
    PER_SQUARE, PER_SIZE, ALWAYS, FREE, FREE_SIZE, DRIFT, SIZE,
    SCALAR_METRIC, SCALAR_UPPER, SCALAR_PER_SQUARE, SCALAR_PER_SIZE, SCALAR_FREE,
    SCALAR_FREE_SIZE, SCALAR_DRIFT, SCALAR_LENGTH, HALF,
) = range(20)  # fmt: skip
"""What `numbers` has of each box: a lower bound of Z of the original; the limit of Pearson's
statistic below which an alternative is below it; whether the expansion holds; whether points are
those of the engines to the last bit. Then those of `MatrixPart`: remainders per squared size and
per size of a point, and in any case; what free labels add, per size and per size times size of the
point; the drift and the size of the residual. The same of `ScalarPart`, with the length of its
residual last. From `HALF` on the half widths (d), and the slopes of the scalar metric (d)."""

NORM, METRIC, UPPER = range(3)
"""What `forms` has: matrices (s, s), and from `SLOPES` + 1 on the slopes of the metric."""

LINEAR, RESIDUAL, SLOPES = range(3)
"""What `lines` has: vectors (s + r,) of both parts, and from `SLOPES` on slopes of the first."""


class PackedBoxes(NamedTuple):
    """Bounds over B boxes, for k labels, s columns measured by a matrix and r by a number."""

    rows: Any  # (B, 4 or 9, k)
    numbers: Any  # (B, HALF + 2 d)
    forms: Any  # (B, 3 + d, s, s)
    lines: Any  # (B, 2 + d, s + r)


NONE = -1
"""The cell, or the larger expansion, of boxes without one."""

LARGEST_STORE = 2**26
"""Bytes that expansions may take: then no more are kept. Those that no box is in are dropped from
half of it on."""

REMAINDER, TYPICAL = 0.3, 1.4
"""A box is expanded anew where what the expansion of a larger one leaves out is more than this
share of what Z moves by to first order: for points as far from the original's as those of equal Z
in another direction, as a multiple of the size of the residual."""


class Expansions:
    """Bounds over boxes that are used for boxes within them: a store, which grows."""

    def __init__(self) -> None:
        self.arrays: tuple[Any, ...] = ()
        self.count = 0

    @property
    def packed(self) -> PackedBoxes:
        """The bounds."""
        return PackedBoxes(*self.arrays[:4])

    @property
    def centre(self) -> FloatArray:
        """Centres of the boxes."""
        return np.asarray(self.arrays[4])

    def serve(self, which: IntArray, half: FloatArray) -> BoolArray:
        """Return whether boxes (B, d) need no expansion but the one they are in (B,)."""
        if not self.count:
            return np.zeros(len(which), dtype=np.bool_)
        width = half.max(axis=1)
        return np.asarray((which >= 0) & ((width == 0) | (width >= self.arrays[5][which])))

    def add(self, packed: PackedBoxes, centre: FloatArray) -> IntArray:
        """Add bounds over boxes with these centres, and return their numbers."""
        more = *packed, centre, _finest(packed, centre.shape[1])
        first, self.count = self.count, self.count + len(centre)
        if not self.arrays:
            self.arrays = more
        else:
            self.arrays = tuple(longer(array, self.count) for array in self.arrays)
            for array, part in zip(self.arrays, more, strict=True):
                array[first : self.count] = part
        return np.arange(first, self.count)

    def keep(self, which: IntArray, is_kept: BoolArray) -> IntArray:
        """Drop some of those that were added last; return new numbers of all of them."""
        first = self.count - len(which)
        half = self.arrays[1][which, HALF : HALF + self.centre.shape[1]].max(axis=1)
        is_kept = is_kept & (2 * self.arrays[5][which] <= half)
        each = sum(array[0].nbytes for array in self.arrays)
        is_kept &= each * (first + np.cumsum(is_kept)) <= LARGEST_STORE
        kept = which[is_kept]
        for array in self.arrays:
            array[first : first + len(kept)] = array[kept]
        self.count = first + len(kept)
        return np.where(is_kept, first + np.cumsum(is_kept) - 1, NONE)

    def without_unused(self, which: IntArray) -> IntArray | None:
        """Drop those that no box is in, if the store is large; return new numbers of old ones."""
        if sum(array[: self.count].nbytes for array in self.arrays) <= LARGEST_STORE / 2:
            return None
        used = np.unique(which[which >= 0])
        self.arrays = tuple(array[used] for array in self.arrays)
        # the last number stands for none, which it is
        moved = np.full(self.count + 1, NONE)
        moved[used] = np.arange(len(used))
        self.count = len(used)
        return moved


def _finest(packed: PackedBoxes, d: int) -> FloatArray:
    """Return the half width from which on boxes within a box need an expansion of their own."""
    rows, numbers = packed.rows, packed.numbers
    half = numbers[:, HALF : HALF + d].max(axis=1)
    q = TYPICAL * numbers[:, SIZE]
    left_out = (numbers[:, PER_SQUARE] * q + numbers[:, PER_SIZE]) * q
    first = (numbers[:, FREE_SIZE] * q + numbers[:, FREE]) * q
    if rows.shape[1] > GAIN:
        # about every third label differs from the original's
        left_out += 2 * q * rows[:, REST].sum(axis=1) / 3
    q = numbers[:, SCALAR_LENGTH] * TYPICAL
    left_out += (numbers[:, SCALAR_PER_SQUARE] * q + numbers[:, SCALAR_PER_SIZE]) * q
    first += (numbers[:, SCALAR_FREE_SIZE] * q + numbers[:, SCALAR_FREE]) * q
    with np.errstate(invalid="ignore", divide="ignore"):
        finest = half * left_out / (REMAINDER * first)
    return np.where(np.isfinite(finest) & (numbers[:, IS_NEAR] > 0), finest, np.inf)


def longer(array: Any, size: int) -> Any:
    """Return the array, or a copy of twice the length where it is too short."""
    if size <= len(array):
        return array
    copy = np.empty((max(size, 2 * len(array)), *array.shape[1:]), array.dtype)
    copy[: len(array)] = array
    return copy
