"""The passes of a test of segments over rows in chunks: look at columns, count cells, and sum."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from exactregion._typing import IntArray
from exactregion.data.frames import as_pandas
from exactregion.data.outcomes import outcome_values, trials_of
from exactregion.data.reading import row_error
from exactregion.data.sample import CHUNK_ROWS, Extent
from exactregion.data.segment_columns import MOST_VALUES, Column, ColumnLook
from exactregion.data.segments import CellCounts, ColumnSegments
from exactregion.data.sources import Rows
from exactregion.engine.chunks import Chunk
from exactregion.engine.segments import SegmentPlan, SegmentSums, sums_of_segments
from exactregion.errors import InvalidTypeError, InvalidValueError
from exactregion.testing.chunks import Reader, SeenLabels
from exactregion.testing.segment_checks import NAMES, each_of


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
            got = f"must hold 0 and 1 for segments of your own. Got {matrix[row, column]}"
            then = ": give columns of values as a frame."
            raise row_error(NAMES.X, got, wrong[:, 0], first_row, column=labels[column], then=then)
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
            listed = max([MOST_VALUES, *(one for one in each_of(self.bins) if np.ndim(one) == 0)])
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
