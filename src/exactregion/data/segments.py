"""Segments of rows: values of columns and their combinations, or sets of rows that the user made.

Nothing here sees an outcome. Rows come in chunks: `ColumnLook` gathers what a first pass sees of a
column, `Column` turns its values into codes, and `ColumnSegments` and `OwnSegments` say in which
segments a row is.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from numbers import Real
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from exactregion._typing import FloatArray, IntArray
from exactregion.data.sample import CHUNK_ROWS
from exactregion.errors import InvalidTypeError, InvalidValueError

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["WHOLE", "CellCounts", "ColumnLook", "ColumnSegments", "OwnSegments", "Segments"]

WHOLE = "all rows"
"""Name of the segment that has all rows."""

MOST_VALUES = 10
"""Numbers with no more different values than this are segments of their own, and are not cut."""

MOST_LEVELS = 1000
"""Most different values of text: columns with more are ids or prose."""

MOST_COMBINATIONS = 20_000
"""Most combinations of columns: each is looked up for each different row of a block."""

SKETCH = 1024
"""Order statistics of a chunk that are kept for cut points, where there is more than one chunk: a
cut point is then off by at most one row in 2,000."""

Bins: TypeAlias = int | Mapping[str, Any]
Cell: TypeAlias = tuple[int, ...]


@dataclass(frozen=True, eq=False)
class ColumnLook:
    """What is known of a column after some chunks.

    `values` are its different values, None where there are too many of a number to list them;
    `sketches` has by chunk some of its numbers in ascending order, and how many rows each stands
    for.
    """

    name: str
    kind: Literal["levels", "numbers", "unknown"]
    values: frozenset[Any] | None
    sketches: dict[int, tuple[FloatArray, float]]
    missing: bool

    @classmethod
    def of(cls, column: pd.Series[Any], index: int, n_rows: int, listed: int) -> ColumnLook:
        """Look at a column in one of the chunks of n_rows rows; up to `listed` numbers are kept."""
        name = str(column.name)
        kind, values = _values_of(column)
        missing = bool(column.isna().any())
        if kind != "numbers":
            found = frozenset(values.dropna().unique())
            return cls(name, kind, found, {}, missing)._checked()
        present = np.sort(values[~np.isnan(values)])
        distinct = np.unique(present)
        few = frozenset(distinct.tolist()) if len(distinct) <= listed else None
        sketch, weight = present, 1.0
        if n_rows > CHUNK_ROWS and len(present) > SKETCH:
            weight = len(present) / SKETCH
            sketch = present[((np.arange(SKETCH) + 0.5) * weight).astype(np.int64)]
        return cls(name, kind, few, {index: (sketch, weight)}, missing)

    def __add__(self, other: ColumnLook) -> ColumnLook:
        """Put what was seen in other chunks beside it."""
        if "unknown" in (self.kind, other.kind):
            known = other if self.kind == "unknown" else self
            return replace(known, missing=self.missing or other.missing)
        if self.kind != other.kind:
            raise _mixed_error(self.name)
        both = None
        if self.values is not None and other.values is not None:
            both = self.values | other.values
        sketches = self.sketches | other.sketches
        missing = self.missing or other.missing
        return replace(self, values=both, sketches=sketches, missing=missing)._checked()

    def _checked(self) -> ColumnLook:
        if self.kind == "levels" and self.values is not None and len(self.values) > MOST_LEVELS:
            raise InvalidValueError(
                f"must have columns with at most {MOST_LEVELS:,} different values. Got more in "
                f"column {self.name!r} instead: put its values into groups first, or leave this "
                "column out.",
                parameter="segments",
            )
        return self

    def cut(self, bins: Bins) -> Column:
        """Decide which values and ranges of values become segments."""
        number: Any = bins.get(self.name, 4) if isinstance(bins, Mapping) else bins
        if np.ndim(number) == 1:
            edges = np.asarray(number, dtype=np.float64)
        elif self.kind != "numbers" or (
            self.values is not None and len(self.values) <= max(MOST_VALUES, number)
        ):
            levels = sorted(self.values or (), key=lambda level: (isinstance(level, str), level))
            return Column(self.name, tuple(levels), None)
        else:
            edges = self._quantiles(number)
        if self.kind == "levels":
            raise InvalidValueError(
                f"must cut columns of numbers. Got column {self.name!r} instead, which has none.",
                parameter="bins",
            )
        return Column(self.name, (), edges)

    def _quantiles(self, number: int) -> FloatArray:
        """Cut at numbers of the data, so that about equally many rows lie between them."""
        parts = [self.sketches[index] for index in sorted(self.sketches)]
        values = np.concatenate([sketch for sketch, _ in parts])
        weights = np.concatenate([np.full(len(sketch), weight) for sketch, weight in parts])
        order = np.argsort(values, kind="stable")
        below = np.cumsum(weights[order])
        wanted = below[-1] * np.arange(1, number) / number
        edges = values[order][np.searchsorted(below, wanted * (1 - 1e-12))]
        lower = values[values < values.max()]  # the last range must not be empty
        return np.unique(np.minimum(edges, lower.max())) if len(lower) else np.empty(0)


@dataclass(frozen=True, eq=False)
class Column:
    """How the values of a column become codes: one per level, or one per range of numbers.

    A range has its upper edge in it. What is missing has the last code.
    """

    name: str
    levels: tuple[Any, ...]
    edges: FloatArray | None  # None where there are levels

    @property
    def size(self) -> int:
        """Number of codes."""
        return len(self.levels) + 1 if self.edges is None else len(self.edges) + 2

    @property
    def texts(self) -> list[str]:
        """Describe what each code stands for: "sex = male", "age in (30, 45]"."""
        name = self.name
        if self.edges is None:
            numbers = [x for x in self.levels if isinstance(x, Real) and not isinstance(x, bool)]
            written = _written(np.array(numbers)) if numbers else self.levels
            texts = [f"{name} = {level}" for level in written]
        elif len(self.edges):
            ends = _written(self.edges)
            between = zip(ends[:-1], ends[1:], strict=True)
            texts = [f"{name} ≤ {ends[0]}", *(f"{name} in ({a}, {b}]" for a, b in between)]
            texts.append(f"{name} > {ends[-1]}")
        else:
            texts = [f"{name} is known"]
        return [*texts, f"{name} is missing"]

    def codes(self, column: pd.Series[Any]) -> IntArray:
        """Return the code of each row."""
        import pandas as pd

        _, values = _values_of(column)
        missing = self.size - 1
        if self.edges is None:
            index = pd.Index(list(self.levels), dtype=object)
            codes = index.get_indexer(pd.Index(values, dtype=object))
            return np.where(codes < 0, missing, codes)
        numbers = np.asarray(values, dtype=np.float64)
        return np.where(np.isnan(numbers), missing, np.searchsorted(self.edges, numbers))


def _values_of(column: pd.Series[Any]) -> tuple[Any, Any]:
    """Return the kind of a column, with numbers as float64 and anything else as objects."""
    import pandas as pd

    if not column.notna().any():
        return "unknown", column.astype(object)
    if isinstance(column.dtype, pd.CategoricalDtype) or column.dtype.kind == "b":
        return "levels", column.astype(object)
    if column.dtype.kind in "iuf":
        return "numbers", column.to_numpy(dtype=np.float64) + 0.0  # -0.0 and 0.0 are the same
    values = column.astype(object)
    present = values.dropna().unique()
    if all(isinstance(value, str) for value in present) or all(
        isinstance(value, (bool, np.bool_)) for value in present
    ):
        return "levels", values
    if all(isinstance(value, Real) and not isinstance(value, bool) for value in present):
        return "numbers", column.astype(np.float64).to_numpy()
    if any(isinstance(value, str) for value in present):
        raise _mixed_error(str(column.name))
    raise InvalidTypeError(
        "must have columns of text, categories, booleans or numbers. Got column "
        f"{column.name!r} of {type(present[0]).__name__} instead: turn it into one of these (dates "
        "into months, for example), or leave it out.",
        parameter="segments",
    )


def _mixed_error(name: str) -> InvalidTypeError:
    return InvalidTypeError(
        f"must have columns of one kind each. Got column {name!r} with text and other values "
        "instead: turn all of them into text, or all into numbers.",
        parameter="segments",
    )


def _written(numbers: FloatArray) -> list[str]:
    """Write numbers with as few digits as tell them apart, four at least."""
    for digits in range(4, 18):
        texts = [
            str(int(x)) if abs(x) < 1e15 and x == int(x) else f"{x:.{digits}g}"
            for x in numbers.tolist()
        ]
        if len(set(texts)) == len(texts):
            break
    return texts


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
        found = []
        for combination in self.combinations:
            cell = np.zeros(len(codes), dtype=np.int64)
            for column in combination:
                cell = cell * self._radix(column) + codes[:, column]
            found.append(cell)
        return found

    def _radix(self, column: int) -> int:
        return self.columns[column].size

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
                    others = np.delete(digits, left_out, axis=1)
                    within = np.zeros(len(cells), dtype=np.int64)
                    for place, column in enumerate(rest):
                        within = within * self._radix(column) + others[:, place]
                    outer, of_outer = known[rest]
                    around = of_outer[np.searchsorted(outer, within)]
                enough &= trials < around
            kept.append(cells[enough])
        return replace(self, kept=tuple(kept)), small

    def _digits(self, cells: IntArray, combination: Cell) -> IntArray:
        """Return the code of each column in each cell: shape (cells, columns)."""
        shape = tuple(self._radix(column) for column in combination)
        return np.stack(np.unravel_index(cells, shape), axis=1).astype(np.int64)

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
class OwnSegments:
    """Sets of rows that the user made: columns of a 0/1 matrix, which may overlap."""

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


Segments: TypeAlias = ColumnSegments | OwnSegments


def _compressed(inside: npt.NDArray[np.bool_], segment: IntArray) -> tuple[IntArray, IntArray]:
    pointers = np.concatenate([[0], np.cumsum(inside.sum(axis=1))])
    return pointers, segment[inside]
