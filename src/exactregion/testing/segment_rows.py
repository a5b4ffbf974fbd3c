"""Segments and outcomes as the user gives them, checked, and the passes over rows in chunks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from exactregion._typing import IntArray
from exactregion.data.frames import as_pandas
from exactregion.data.outcomes import outcome_values, trials_of
from exactregion.data.reading import place_of
from exactregion.data.sample import CHUNK_ROWS, Extent
from exactregion.data.segment_columns import DEFAULT_BINS, MOST_VALUES, Column, ColumnLook
from exactregion.data.segments import WHOLE, CellCounts, ColumnSegments
from exactregion.data.sources import Rows
from exactregion.engine.chunks import Chunk
from exactregion.engine.segments import SegmentPlan, SegmentSums, sums_of_segments
from exactregion.errors import InvalidTypeError, InvalidValueError
from exactregion.testing.chunks import Reader, SeenLabels

NAMES = Rows("segments", "y_true", "y_prob")
"""What the user calls the parts of the data."""


def requested_segments(segments: Any, data: Any) -> tuple[Any, tuple[str, ...] | None]:
    """Return columns or a matrix of segments, with the names of those that the user gave."""
    if data is not None:
        return ([segments] if isinstance(segments, str) else segments), None
    if isinstance(segments, Mapping):
        return _stacked(segments)
    if hasattr(segments, "columns"):
        return segments, None
    if isinstance(segments, (str, bytes)) or not hasattr(segments, "__len__"):
        raise InvalidTypeError(
            "must be a frame, a mapping of name to 0/1, or a 0/1 array with one row per outcome. "
            f"Got {type(segments).__name__} instead.",
            parameter=NAMES.X,
        )
    values: Any = segments if hasattr(segments, "ndim") else np.asarray(segments)
    if values.ndim == 1:
        name = getattr(segments, "name", None)
        if hasattr(values, "to_frame"):
            named = values if name is not None else values.rename("segment")
            return named.to_frame(), None
        import pandas as pd

        entries = list(segments) if isinstance(segments, (list, tuple)) else values
        return pd.DataFrame({"segment": entries}), None
    if values.ndim != 2 or values.shape[1] == 0:
        raise InvalidValueError(
            "must have shape (n, S), one column per segment, and at least one. "
            f"Got {values.shape} instead.",
            parameter=NAMES.X,
        )
    return values, tuple(f"segment {column}" for column in range(values.shape[1]))


def _stacked(segments: Mapping[Any, Any]) -> tuple[Any, tuple[str, ...]]:
    names = [str(name) for name in segments]
    columns = [np.asarray(values) for values in segments.values()]
    twice = sorted({name for name in names if names.count(name) > 1})
    if not names or twice or WHOLE in names:
        got = f"{twice[0]!r} more than once" if twice else repr(WHOLE) if names else "none"
        raise InvalidValueError(
            f"must have at least one segment, of different names, and none called {WHOLE!r}. Got "
            f"{got} instead.",
            parameter=NAMES.X,
        )
    for name, column in zip(names, columns, strict=True):
        if column.shape != (len(columns[0]),):
            raise InvalidValueError(
                "must have one 0 or 1 per row in each segment, shape "
                f"({np.shape(columns[0])[:1] and len(columns[0])},). Got {column.shape} for "
                f"{name!r} instead.",
                parameter=NAMES.X,
            )
    return np.stack(columns, axis=1), tuple(names)


def check_whole(
    name: str, value: Any, default: int, given: tuple[str, ...] | None = None, least: int = 1
) -> int:
    """Check a whole number, which must be left out where the user gave the segments."""
    if value is None:
        return default
    if given is not None:
        raise InvalidValueError(
            f"goes with columns, and not with segments of your own. Got {value!r} instead: leave "
            "it out.",
            parameter=name,
        )
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)):
        raise InvalidTypeError(
            f"must be an integer. Got {type(value).__name__} instead.", parameter=name
        )
    if value < least:
        raise InvalidValueError(f"must be {least} or more. Got {value} instead.", parameter=name)
    return int(value)


def check_bins(bins: Any, given: tuple[str, ...] | None) -> Any:
    """Check a number of ranges, or numbers and edges by column."""
    if bins is None:
        return DEFAULT_BINS
    if given is not None:
        return check_whole("bins", bins, 1, given)
    for one in _each(bins):
        if np.ndim(one) == 0:
            check_whole("bins", one, DEFAULT_BINS, least=2)
            continue
        edges = np.asarray(one)
        if edges.ndim != 1 or edges.dtype.kind not in "iuf" or not (np.diff(edges) > 0).all():
            raise InvalidValueError(
                f"must have edges that are numbers in ascending order. Got {one!r} instead.",
                parameter="bins",
            )
    return bins


def _each(bins: Any) -> list[Any]:
    return list(bins.values()) if isinstance(bins, Mapping) else [bins]


@dataclass(frozen=True, eq=False)
class SegmentReader(Reader):
    """Reads columns or segments of a chunk beside its probabilities and outcomes."""

    given: tuple[str, ...] | None = None  # names of segments that the user gave
    outcome: str | None = None  # name of the column of outcomes

    def table(self, index: int, rows: Rows) -> Any:
        """Read columns as a pandas frame, or segments as a matrix of booleans."""
        if self.given is not None:
            return self._matrix(np.asarray(rows.X), index * CHUNK_ROWS)
        frame = as_pandas(rows.X, NAMES.X)
        if frame.shape[1] == 0:
            raise InvalidValueError(
                "must have at least one column. Got 0 instead.", parameter=NAMES.X
            )
        for name in frame.columns:
            if self.outcome is not None and name.casefold() == self.outcome.casefold():
                raise InvalidValueError(
                    f"must not have the outcome as a column. Got {name!r} instead: leave it out, "
                    "no guarantee holds for segments that know the outcome.",
                    parameter=NAMES.X,
                )
        return frame

    def _matrix(self, matrix: Any, first_row: int) -> Any:
        if matrix.dtype.kind not in "biuf":
            raise InvalidTypeError(
                "must hold 0 and 1, or booleans, for segments of your own. Got "
                f"{matrix.dtype} instead: give columns of text as a frame.",
                parameter=NAMES.X,
            )
        wrong = np.argwhere((matrix != 0) & (matrix != 1))
        if len(wrong):
            row, column = wrong[0]
            labels: Any = self.given
            place = place_of(row, len(wrong), first_row, column=labels[column])
            raise InvalidValueError(
                "must hold 0 and 1 for segments of your own. "
                f"Got {matrix[row, column]} {place}: give columns of values as a frame.",
                parameter=NAMES.X,
            )
        return matrix.astype(np.bool_)


@dataclass(frozen=True, eq=False)
class Look:
    """What the first pass sees: labels, numbers of trials, and columns or sizes of segments."""

    labels: SeenLabels
    extent: Extent
    columns: tuple[ColumnLook, ...]
    sizes: IntArray

    def __add__(self, other: Look) -> Look:
        """Put what was seen in other chunks beside it."""
        pairs = zip(self.columns, other.columns, strict=True)
        return Look(
            self.labels + other.labels,
            Extent.together([self.extent, other.extent]),
            tuple(a + b for a, b in pairs),
            self.sizes + other.sizes,
        )

    def cut(self, bins: Any) -> list[Column]:
        """Decide which values and ranges of the columns become segments."""
        names = [column.name for column in self.columns]
        unknown = [name for name in bins if name not in names] if isinstance(bins, Mapping) else []
        if unknown:
            raise InvalidValueError(
                f"must name columns of the segments, {names}. Got {unknown[0]!r} instead.",
                parameter="bins",
            )
        return [column.cut(bins) for column in self.columns]


@dataclass(frozen=True, eq=False)
class LookPass:
    """The first pass over a chunk."""

    reader: SegmentReader
    n_rows: int
    bins: Any

    def __call__(self, index: int, rows: Rows) -> Look:
        """Look at a chunk."""
        first_row = index * CHUNK_ROWS
        self.reader.probabilities(rows, first_row)  # which checks them
        y = outcome_values(rows.y, NAMES.y, first_row=first_row)
        trials = trials_of(y)
        table = self.reader.table(index, rows)
        columns: tuple[ColumnLook, ...] = ()
        sizes = np.zeros(0, dtype=np.int64)
        if self.reader.given is None:
            listed = max([MOST_VALUES, *(one for one in _each(self.bins) if np.ndim(one) == 0)])
            columns = tuple(
                ColumnLook.of(table[name], index, self.n_rows, listed) for name in table.columns
            )
        else:
            sizes = trials @ table
        return Look(SeenLabels.of(y), Extent.of(trials), columns, sizes)


@dataclass(frozen=True, eq=False)
class CountPass:
    """The second pass over a chunk, for segments made of columns."""

    reader: SegmentReader
    segments: ColumnSegments

    def __call__(self, index: int, rows: Rows) -> CellCounts:
        """Count the trials of a chunk in all cells."""
        trials = trials_of(outcome_values(rows.y, NAMES.y, first_row=index * CHUNK_ROWS))
        return self.segments.count(self.segments.keys(self.reader.table(index, rows)), trials)


@dataclass(frozen=True, eq=False)
class SumPass:
    """The last pass over a chunk."""

    reader: SegmentReader
    plan: SegmentPlan

    def __call__(self, index: int, rows: Rows) -> SegmentSums:
        """Sum over a chunk."""
        first_row = index * CHUNK_ROWS
        p = self.reader.probabilities(rows, first_row)
        keys = self.plan.segments.keys(self.reader.table(index, rows))
        chunk = Chunk(index, keys, *self.reader.outcomes(rows, first_row), p)
        return sums_of_segments(chunk, self.plan)
