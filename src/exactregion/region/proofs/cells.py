"""Sums of known labels, computed once for all boxes within a larger one, its cell.

In a box most labels of an alternative are known, and were so in a larger box already. A cell keeps,
for each alternative that was undecided there, the sums of columns over known labels, and a list of
the labels that were free: in boxes within the cell only these are looked at. Columns are on
a dyadic grid, so that their sums are exact: cells save time, and change nothing else.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from exactregion._typing import BoolArray, IntArray
from exactregion.features.compilation import compiled_with
from exactregion.region.proofs.packed import HIGH, LOW, NONE, longer

__all__ = ["CellArrays", "Cells", "compare_labels", "sum_columns"]

WORTH = 0.4
"""A box becomes a cell if it has at most this share of the free labels of the cell it is in. The
labels to look at shrink by that with each cell, and cells are few: every other or third split."""

FEW = 0.025, 0.005
"""Share of the labels, and the same for each column, that may be free per alternative in a cell:
with more it takes less time to compare and to add up all labels, one after the other in memory."""

SAMPLED = 16
"""Only one in so many alternatives is looked at to see whether a box is to become a cell."""

LARGEST_STORE = 2**27
"""Bytes that cells may take: then no more are made, and boxes stay in the ones they are in. Those
that no box is in are dropped from an eighth of it on, and where it doubled since."""


class CellArrays(NamedTuple):
    """Cells as compiled loops see them: C cells, R pairs of a cell and an undecided alternative."""

    row: Any  # (C, M): which of the R is that of the alternative; -1 if it was decided
    sums: Any  # (R, s + r): columns of both parts, over known labels minus those of the original
    start: Any  # (R + 1,): where the free labels of each are
    free: Any  # (F,): labels that are free in the cell; unsigned, as indices are quicker then
    uniforms: Any  # (F,): those of the free labels, which lie far apart in the draws


class Cells:
    """A store of cells, which grows."""

    def __init__(self, draws: Any) -> None:
        self.draws = draws
        M, self.width = len(draws.uniforms), int(draws.columns.shape[1])
        self.arrays = CellArrays(
            np.empty((0, M), np.int32),
            np.empty((0, self.width)),
            np.zeros(1, np.int64),
            np.empty(0, np.uint32),
            np.empty(0),
        )
        self.count, self.rows, self.labels = 0, 0, 0
        self.kept = 0  # bytes when some were dropped last

    def copy(self) -> Cells:
        """Return a store with the same cells that grows on its own."""
        other = Cells.__new__(Cells)
        other.__dict__.update(self.__dict__)
        # what is written is beyond the counts, and the arrays have to grow before that
        arrays = self.arrays
        other.arrays = CellArrays(
            arrays.row[: self.count],
            arrays.sums[: self.rows],
            arrays.start[: self.rows + 1],
            arrays.free[: self.labels],
            arrays.uniforms[: self.labels],
        )
        return other

    def add(self, is_open: BoolArray, cell: IntArray, verdicts: Any, chances: Any) -> None:
        """Make cells of open boxes that are much smaller than theirs, and update `cell` (B,)."""
        boxes = np.flatnonzero(is_open)
        n = self.draws.uniforms.shape[1]
        few = (FEW[0] + FEW[1] * self.width) * n
        counts = self._counts(boxes, cell, verdicts, chances, SAMPLED)
        boxes = boxes[(counts[:, 2] <= WORTH * counts[:, 1]) & (counts[:, 2] <= few * counts[:, 0])]
        counts = self._counts(boxes, cell, verdicts, chances, 1)
        sizes = 4 * verdicts.shape[1] + counts[:, 0] * 8 * self.width + counts[:, 2] * 12
        boxes = boxes[self._bytes() + np.cumsum(sizes) <= LARGEST_STORE]
        if not len(boxes):
            return
        counts = counts[: len(boxes)]
        self._grow(len(boxes), int(counts[:, 0].sum()), int(counts[:, 2].sum()))
        _fill(
            boxes, cell, verdicts, self.draws, chances, self.arrays, self.count, self.rows,
            self.labels, np.empty(n), np.empty(n + 1, dtype=np.uint32),
        )  # fmt: skip
        cell[boxes] = self.count + np.arange(len(boxes))
        self.count += len(boxes)
        self.rows += int(counts[:, 0].sum())
        self.labels += int(counts[:, 2].sum())

    def without_unused(self, cell: IntArray) -> IntArray | None:
        """Drop cells that no box is in, if the store is large; return new numbers of old ones."""
        if self._bytes() <= max(LARGEST_STORE / 8, min(2 * self.kept, LARGEST_STORE / 2)):
            return None
        return self.keep(cell)

    def _counts(
        self, boxes: IntArray, cell: IntArray, verdicts: Any, chances: Any, step: int
    ) -> IntArray:
        counts = np.zeros((len(boxes), 3), dtype=np.int64)
        _count_free(boxes, cell, verdicts, self.draws.uniforms, chances, self.arrays, step, counts)
        return counts

    def keep(self, cell: IntArray) -> IntArray:
        """Drop all cells but those that boxes are in (B,); return new numbers of old ones."""
        used, arrays = np.unique(cell[cell != NONE]), self.arrays
        table = arrays.row[used]
        is_kept = table >= 0
        rows = table[is_kept]
        first = arrays.start[rows]
        lengths = arrays.start[rows + 1] - first
        start = np.concatenate([[0], np.cumsum(lengths)])
        labels = np.repeat(first - start[:-1], lengths) + np.arange(start[-1])
        table[is_kept] = np.arange(len(rows))
        kept = table, arrays.sums[rows], start, arrays.free[labels], arrays.uniforms[labels]
        self.arrays = CellArrays(*kept)
        # the last number stands for no cell, which it is
        moved = np.full(self.count + 1, NONE)
        moved[used] = np.arange(len(used))
        self.count, self.rows, self.labels = len(used), len(rows), len(labels)
        self.kept = self._bytes()
        return moved

    def _bytes(self) -> int:
        M = len(self.draws.uniforms)
        return 4 * M * self.count + 8 * self.width * self.rows + 12 * self.labels

    def _grow(self, count: int, rows: int, labels: int) -> None:
        count, rows, labels = self.count + count, self.rows + rows, self.labels + labels
        needed = count, rows, rows + 1, labels + 1, labels + 1
        self.arrays = CellArrays(
            *(longer(array, size) for array, size in zip(self.arrays, needed, strict=True))
        )


@compiled_with(_nrt=False)
def compare_labels(uniforms: Any, low: Any, high: Any, observed: Any, changes: Any) -> int:
    """Fill in known labels minus those of the original, with free ones as 0; count the latter."""
    n_free = 0
    for j in range(len(uniforms)):
        changes[j] = (uniforms[j] < low[j]) - observed[j]
        n_free += (uniforms[j] >= low[j]) & (uniforms[j] < high[j])
    return n_free


# columns are on a dyadic grid, so that their sums are exact in any order
@compiled_with(fastmath={"reassoc", "nsz"}, _nrt=False)
def sum_columns(columns: Any, count: int, changes: Any, sums: Any) -> None:
    """Add up each of the first columns (r, k) times the changes (k,)."""
    for a in range(count):
        total = 0.0
        for j in range(len(changes)):
            total += columns[a, j] * changes[j]
        sums[a] = total


@compiled_with(_nrt=False)
def _count_free(
    boxes: Any, cell: Any, verdicts: Any, uniforms: Any, chances: Any, cells: Any, step: int,
    counts: Any,
) -> None:  # fmt: skip
    """Count the undecided alternatives of boxes, and their free labels in cell and box: (B, 3).

    Only every so many alternatives are looked at.
    """
    row, start, free, free_uniforms = cells.row, cells.start, cells.free, cells.uniforms
    for at in range(len(boxes)):
        b = boxes[at]
        low, high = chances[b, LOW], chances[b, HIGH]
        for i in range(0, verdicts.shape[1], step):
            if verdicts[b, i] != 0:
                continue
            n_free = 0
            counts[at, 0] += 1
            if cell[b] == NONE:
                counts[at, 1] += uniforms.shape[1]
                for j in range(uniforms.shape[1]):
                    n_free += (uniforms[i, j] >= low[j]) & (uniforms[i, j] < high[j])
            else:
                first, last = start[row[cell[b], i]], start[row[cell[b], i] + 1]
                counts[at, 1] += last - first
                for q in range(first, last):
                    j, u = free[q], free_uniforms[q]
                    n_free += (u >= low[j]) & (u < high[j])
            counts[at, 2] += n_free


@compiled_with(_nrt=False)
def _fill(
    boxes: Any, cell: Any, verdicts: Any, draws: Any, chances: Any, cells: Any, count: int,
    row: int, label: int, changes: Any, ones: Any,
) -> None:  # fmt: skip
    """Write the cells of boxes from `count` on, their alternatives from `row`, labels `label`."""
    uniforms, observed = draws.uniforms, draws.observed
    columns, by_column = draws.columns, draws.by_column
    rows_of, sums, start, free = cells.row, cells.sums, cells.start, cells.free
    free_uniforms = cells.uniforms
    for at in range(len(boxes)):
        b = boxes[at]
        low, high = chances[b, LOW], chances[b, HIGH]
        for i in range(verdicts.shape[1]):
            rows_of[count + at, i] = row if verdicts[b, i] == 0 else NONE
            if verdicts[b, i] != 0:
                continue
            # without branches, which could not be predicted: what is beyond a count is overwritten
            if cell[b] == NONE:
                compare_labels(uniforms[i], low, high, observed, changes)
                sum_columns(by_column, len(by_column), changes, sums[row])
                for j in range(uniforms.shape[1]):
                    u = uniforms[i, j]
                    free[label], free_uniforms[label] = j, u
                    label += (u >= low[j]) & (u < high[j])
            else:
                before, n_ones = rows_of[cell[b], i], 0
                for q in range(start[before], start[before + 1]):
                    j, u = free[q], free_uniforms[q]
                    ones[n_ones] = j
                    n_ones += u < low[j]
                    free[label], free_uniforms[label] = j, u
                    label += (u >= low[j]) & (u < high[j])
                for a in range(columns.shape[1]):
                    sums[row, a] = sums[before, a]
                for q in range(n_ones):
                    j = ones[q]
                    for a in range(columns.shape[1]):
                        sums[row, a] += columns[j, a]
            row += 1
            start[row] = label
