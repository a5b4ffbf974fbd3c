"""Segments of rows: values of columns and their combinations, or sets of rows that the user gave.

Nothing here sees an outcome. `ColumnSegments` and `GivenSegments` say in which segments a row is.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import numpy.typing as npt

from exactregion._typing import IntArray
from exactregion.data.segment_columns import Column
from exactregion.errors import InvalidValueError

if TYPE_CHECKING:
    import pandas as pd

WHOLE = "all rows"
"""Name of the segment that has all rows."""

MOST_COMBINATIONS = 20_000
"""Most combinations of columns, about as many as pairs of 200 columns: each is looked up for each
different row of a block, 4,096 at most, so that a block takes up to 80 million look-ups."""

Cell: TypeAlias = tuple[int, ...]


@dataclass(frozen=True, eq=False)
class CellCounts:
    """Cells of each combination of columns in ascending order, and their trials in some chunks."""

    of_combination: tuple[tuple[IntArray, IntArray], ...]

    def __add__(self, other: CellCounts) -> CellCounts:
        """Add the counts of other chunks."""
        pairs = zip(self.of_combination, other.of_combination, strict=True)
        return CellCounts(
            tuple(
                _counted(np.concatenate([a[0], b[0]]), np.concatenate([a[1], b[1]]))
                for a, b in pairs
            )
        )


def _counted(cell: IntArray, trials: IntArray) -> tuple[IntArray, IntArray]:
    cells, place = np.unique(cell, return_inverse=True)
    return cells, np.bincount(place, weights=trials).astype(np.int64)


@dataclass(frozen=True, eq=False)
class ColumnSegments:
    """Segments made of columns: all rows, and cells of combinations of columns.

    A cell of a combination is a number in mixed radix, with one digit per column. `kept` has for
    each combination its cells that are tested, in ascending order; the whole is segment 0, and the
    others follow in the order of the combinations.
    """

    columns: tuple[Column, ...]
    combinations: tuple[Cell, ...] = ()
    kept: tuple[IntArray, ...] = ()

    @classmethod
    def up_to(cls, columns: Sequence[Column], depth: int) -> ColumnSegments:
        """Take all combinations of up to `depth` columns."""
        d = len(columns)
        found: list[Cell] = []
        for size in range(1, min(depth, d) + 1):
            found += combinations(range(d), size)
            if len(found) > MOST_COMBINATIONS:
                raise InvalidValueError(
                    f"must not combine the columns in more than {MOST_COMBINATIONS:,} ways. Got "
                    f"depth {depth} with {d} columns instead: take fewer columns, or a smaller "
                    "depth.",
                    parameter="depth",
                )
        return cls(tuple(columns), tuple(found))

    def keys(self, frame: pd.DataFrame) -> IntArray:
        """Return the codes of rows: shape (b, d). Equal rows are in the same segments."""
        codes = [column.codes(frame[column.name]) for column in self.columns]
        return np.stack(codes, axis=1)

    def cells(self, codes: IntArray) -> list[IntArray]:
        """Return the cell of each row for each combination."""
        return [self._cell(codes[:, list(each)], each) for each in self.combinations]

    def _cell(self, digits: IntArray, combination: Cell) -> IntArray:
        return np.asarray(np.ravel_multi_index(tuple(digits.T), self._sizes(combination)))

    def _digits(self, cells: IntArray, combination: Cell) -> IntArray:
        """Return the code of each column in each cell: shape (cells, columns)."""
        return np.stack(np.unravel_index(cells, self._sizes(combination)), axis=1)

    def _sizes(self, combination: Cell) -> tuple[int, ...]:
        return tuple(self.columns[column].size for column in combination)

    def count(self, codes: IntArray, trials: IntArray) -> CellCounts:
        """Count the trials in the cells of each combination."""
        return CellCounts(tuple(_counted(cell, trials) for cell in self.cells(codes)))

    def keep(self, counts: CellCounts, total: int, least: int) -> tuple[ColumnSegments, int]:
        """Keep cells with at least so many trials; also return how many have fewer.

        A cell with as many trials as another that contains it has the same rows: the one with fewer
        columns is kept.
        """
        known: dict[Cell, tuple[IntArray, IntArray]] = dict(
            zip(self.combinations, counts.of_combination, strict=True)
        )
        kept, small = [], 0
        for combination, (cells, trials) in known.items():
            enough = trials >= least
            small += int((~enough & (trials > 0)).sum())
            digits = self._digits(cells, combination)
            for left_out in range(len(combination)):
                rest = combination[:left_out] + combination[left_out + 1 :]
                around = np.full(len(cells), total)
                if rest:
                    within = self._cell(np.delete(digits, left_out, axis=1), rest)
                    outer, of_outer = known[rest]
                    around = of_outer[np.searchsorted(outer, within)]
                enough &= trials < around
            kept.append(cells[enough])
        return replace(self, kept=tuple(kept)), small

    @property
    def names(self) -> list[str]:
        """Names of all segments: "sex = male and age in (30, 45]"."""
        texts = [column.texts for column in self.columns]
        names = [WHOLE]
        for combination, cells in zip(self.combinations, self.kept, strict=True):
            for digits in self._digits(cells, combination).tolist():
                parts = (texts[c][code] for c, code in zip(combination, digits, strict=True))
                names.append(" and ".join(parts))
        return names

    def members(self, codes: IntArray) -> tuple[IntArray, IntArray]:
        """Return the segments of each of these rows, as the pointers and indices of a CSR array."""
        found = np.full((len(codes), len(self.combinations) + 1), -1, dtype=np.int64)
        found[:, 0] = 0
        first = 1
        for which, (cell, kept) in enumerate(zip(self.cells(codes), self.kept, strict=True)):
            if len(kept):
                place = np.minimum(np.searchsorted(kept, cell), len(kept) - 1)
                found[:, which + 1] = np.where(kept[place] == cell, first + place, -1)
            first += len(kept)
        return _compressed(found >= 0, found)


@dataclass(frozen=True, eq=False)
class GivenSegments:
    """Sets of rows that the user gave: columns of a 0/1 matrix, which may overlap."""

    labels: tuple[str, ...]
    kept: IntArray

    def keys(self, matrix: npt.NDArray[Any]) -> npt.NDArray[np.uint64]:
        """Return the rows of the matrix, 64 columns in a number."""
        width = -(-matrix.shape[1] // 64) * 64
        padded = np.zeros((len(matrix), width), dtype=np.bool_)
        padded[:, : matrix.shape[1]] = matrix
        return np.packbits(padded, axis=1).view(np.uint64)

    @property
    def names(self) -> list[str]:
        """Names of all segments."""
        return [WHOLE, *(self.labels[column] for column in self.kept)]

    def members(self, keys: npt.NDArray[np.uint64]) -> tuple[IntArray, IntArray]:
        """Return the segments of each of these rows, as the pointers and indices of a CSR array."""
        bits = np.unpackbits(keys.view(np.uint8), axis=1)
        inside = np.ones((len(keys), len(self.kept) + 1), dtype=np.bool_)
        inside[:, 1:] = bits[:, self.kept]
        return _compressed(inside, np.broadcast_to(np.arange(inside.shape[1]), inside.shape))


Segments: TypeAlias = ColumnSegments | GivenSegments


def _compressed(inside: npt.NDArray[np.bool_], segment: IntArray) -> tuple[IntArray, IntArray]:
    pointers = np.concatenate([[0], np.cumsum(inside.sum(axis=1))])
    return pointers, segment[inside]
