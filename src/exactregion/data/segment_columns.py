"""Values of a column as codes: levels of text, or ranges between cut points of numbers.

Nothing here sees an outcome. Rows come in chunks: `ColumnLook` gathers what a first pass sees of a
column, and `Column` turns its values into codes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import pairwise
from numbers import Real
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np

from exactregion._typing import FloatArray, IntArray
from exactregion.data.sample import CHUNK_ROWS
from exactregion.errors import InvalidTypeError, InvalidValueError

if TYPE_CHECKING:
    import pandas as pd

MOST_VALUES = 10
"""Numbers with no more different values than this are counts, grades or codes: each value is a
segment, and none is cut. Users who want other segments give edges."""

MOST_LEVELS = 1000
"""Most different values of text: columns with more are ids or prose, whose segments have too few
outcomes to be tested."""

DEFAULT_BINS = 4
"""Ranges into which numbers are cut: quarters, so that pairs of columns still have a sixteenth of
the rows each."""

SKETCH = 1024
"""Order statistics of a chunk that are kept for cut points, where there is more than one chunk: a
cut point is then off by at most one row in 2,000."""

Bins: TypeAlias = int | Mapping[str, Any]


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
        number: Any = bins.get(self.name, DEFAULT_BINS) if isinstance(bins, Mapping) else bins
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
            between = [f"{name} in ({low}, {high}]" for low, high in pairwise(ends)]
            texts = [f"{name} ≤ {ends[0]}", *between]
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
    try:
        present = values.dropna().unique()
    except TypeError:  # lists and the like, which an error below names
        present = values.dropna().to_numpy()
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
