"""Where rows come from that need not be in memory: stretches of them, in their order.

A source gives its rows in stretches of `CHUNK_ROWS`, and runs a task on each. Arrays and memory
maps are cut; Parquet data sets are read batch by batch; Dask collections live in
`exactregion.data.dask_source`.
"""

from __future__ import annotations

import glob
import mmap
import sys
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from operator import add, itemgetter
from pathlib import Path
from typing import Any, TypeAlias, TypeVar

import narwhals as nw
import numpy as np

from exactregion.data.reading import from_native
from exactregion.data.sample import CHUNK_ROWS
from exactregion.data.workers import answers
from exactregion.errors import (
    FileAccessError,
    FileFormatError,
    InvalidTypeError,
    InvalidValueError,
    MissingDependencyError,
)

__all__ = [
    "ArraySource",
    "Done",
    "ParquetSource",
    "Rows",
    "Source",
    "Task",
    "each_part",
    "joined",
    "open_rows",
    "selected",
]

R = TypeVar("R")
Done: TypeAlias = Callable[[int], None]
"""Told the number of rows when a stretch is done."""


@dataclass(frozen=True, eq=False)
class Rows:
    """Rows as the user has them, all of them or some.

    Attributes
    ----------
    X : array, frame or sequence, or None
        Inputs; None where the predictions are the inputs.
    y : array, series or frame
        Outcomes.
    p : array, series or None
        Probabilities; None where a candidate is asked for them.
    by : array, series or None
        Groups.
    """

    X: Any
    y: Any
    p: Any
    by: Any = None


Task: TypeAlias = Callable[[int, Rows], R]
"""Given the number of a stretch, and its rows."""


class Source(ABC):
    """Rows that come in stretches; a subclass supplies `stretches`.

    Attributes
    ----------
    n_rows : int
        Number of rows.
    """

    n_rows: int

    @abstractmethod
    def chunks(self) -> Iterator[Rows]:
        """Give `CHUNK_ROWS` rows after the other; the last ones may be fewer."""

    def of_group(self, group: Any, numbers: Sequence[int]) -> Source:
        """Give the rows of one group, which has so many rows in each stretch."""
        return GroupSource(self, group, sum(numbers))

    def each(self, task: Task[R], done: Done, n_jobs: int | None = None) -> list[R]:
        """Do a task on each stretch; give the answers in the order of stretches."""
        return list(self._answers(task, done, n_jobs))

    def total(self, task: Task[R], done: Done, n_jobs: int | None = None) -> R:
        """Do a task on each stretch; give the sum of the answers."""
        return reduce(add, self._answers(task, done, n_jobs))

    def _answers(self, task: Task[R], done: Done, n_jobs: int | None) -> Iterator[R]:
        numbered = enumerate(self.chunks())
        for index, answer in enumerate(answers(lambda item: task(*item), numbered, n_jobs)):
            yield answer
            done(min(CHUNK_ROWS, self.n_rows - index * CHUNK_ROWS))


# --- arrays -------------------------------------------------------------------------------------


class ArraySource(Source):
    """Arrays and memory maps, a slice after the other."""

    def __init__(self, rows: Rows, names: Rows) -> None:
        self.rows = rows
        self.n_rows = len(rows.y)
        for role in ("X", "p"):
            values = getattr(rows, role)
            if values is not None and len(values) != self.n_rows:
                raise InvalidValueError(
                    f"The {getattr(names, role)!r} and {names.y!r} parameters must have the same "
                    f"number of rows. Got {len(values)} and {self.n_rows} instead."
                )

    def chunks(self) -> Iterator[Rows]:
        """Cut the arrays."""
        for start in range(0, self.n_rows, CHUNK_ROWS):
            part = slice(start, start + CHUNK_ROWS)
            yield each_part(self.rows, itemgetter(part))
            each_part(self.rows, _forget)


def _forget(values: Any) -> None:
    """Give the pages of a file back that were read: they would count as memory in use."""
    pages = getattr(values, "_mmap", None)
    if pages is not None and getattr(values, "mode", "") == "r" and hasattr(mmap, "MADV_DONTNEED"):
        pages.madvise(mmap.MADV_DONTNEED)


def each_part(rows: Rows, change: Callable[[Any], Any]) -> Rows:
    """Change each part that there is."""
    parts = (rows.X, rows.y, rows.p, rows.by)
    return Rows(*(None if values is None else change(values) for values in parts))


# --- groups -------------------------------------------------------------------------------------


class GroupSource(Source):
    """Those rows of another source that belong to one group."""

    def __init__(self, source: Source, group: Any, n_rows: int) -> None:
        self.source = source
        self.group = group
        self.n_rows = n_rows

    def chunks(self) -> Iterator[Rows]:
        """Gather the rows of the group until there are enough."""
        waiting: list[Rows] = []
        number = 0
        for rows in self.source.chunks():
            own = selected(rows, self.group)
            waiting.append(own)
            number += len(own.y)
            if number >= CHUNK_ROWS:
                together = joined(waiting)
                yield each_part(together, itemgetter(slice(0, CHUNK_ROWS)))
                waiting = [each_part(together, itemgetter(slice(CHUNK_ROWS, None)))]
                number -= CHUNK_ROWS
        if number:
            yield joined(waiting)


def selected(rows: Rows, group: Any) -> Rows:
    """Pick the rows of a group."""
    own = np.flatnonzero(np.asarray(rows.by) == group)
    return each_part(rows, lambda values: values.iloc[own] if _is_pandas(values) else values[own])


def joined(pieces: Sequence[Rows]) -> Rows:
    """Put rows one after the other."""
    roles = zip(*((piece.X, piece.y, piece.p, piece.by) for piece in pieces), strict=True)
    return Rows(*(None if parts[0] is None else _concatenated(parts) for parts in roles))


def _concatenated(parts: Sequence[Any]) -> Any:
    if len(parts) == 1:
        return parts[0]
    if _is_pandas(parts[0]):
        import pandas as pd

        return pd.concat(parts)
    return np.concatenate(parts)


def _is_pandas(values: Any) -> bool:
    return hasattr(values, "iloc")


# --- Parquet ------------------------------------------------------------------------------------


class ParquetSource(Source):
    """Columns of a pyarrow data set, read batch by batch."""

    def __init__(self, dataset: Any, columns: Rows) -> None:
        self.dataset = dataset
        self.columns = columns
        self.n_rows = int(dataset.count_rows())

    def chunks(self) -> Iterator[Rows]:
        """Gather batches until there are enough rows."""
        import pyarrow as pa

        waiting: list[Any] = []
        number = 0
        try:
            for batch in self._batches():
                waiting.append(batch)
                number += len(batch)
                while number >= CHUNK_ROWS:
                    table = pa.Table.from_batches(waiting)
                    yield self._rows(table.slice(0, CHUNK_ROWS))
                    waiting = table.slice(CHUNK_ROWS).to_batches()
                    number -= CHUNK_ROWS
        except (pa.ArrowInvalid, OSError) as error:
            raise FileFormatError(f"The data cannot be read: {error}") from error
        if number:
            yield self._rows(pa.Table.from_batches(waiting))

    def _batches(self) -> Iterator[Any]:
        """Read one row group after the other, and nothing ahead."""
        settings = {
            "columns": list(dict.fromkeys(_flat(self.columns))),
            "batch_size": CHUNK_ROWS,
            "batch_readahead": 0,
            "fragment_readahead": 0,
            "use_threads": False,
        }
        try:
            fragments = list(self.dataset.get_fragments())
        except ValueError:  # a data set with a filter
            yield from self.dataset.to_batches(**settings)
            return
        for fragment in fragments:
            split = getattr(fragment, "split_by_row_group", lambda fragment=fragment: [fragment])
            for group in split():
                yield from group.to_batches(schema=self.dataset.schema, **settings)

    def _rows(self, table: Any) -> Rows:
        def pick(names: Any) -> Any:
            if isinstance(names, str):
                return table.column(names).to_pandas()
            return table.select(list(names)).to_pandas()

        return each_part(self.columns, pick)


def _flat(columns: Rows) -> Iterator[str]:
    for names in (columns.X, columns.y, columns.p, columns.by):
        if names is not None:
            yield from [names] if isinstance(names, str) else names


def _open_dataset(data: Any) -> Any:
    """Open files, a directory, a pattern, or a pyarrow data set; None if it is none of them."""
    if isinstance(data, (str, Path)):
        paths = _files(data)
    elif isinstance(data, Sequence) and data and all(isinstance(d, (str, Path)) for d in data):
        paths = [file for part in data for file in _files(part)]
    else:
        arrow = sys.modules.get("pyarrow.dataset")
        return data if arrow is not None and isinstance(data, arrow.Dataset) else None
    try:
        import pyarrow as pa
        import pyarrow.dataset as ds
    except ImportError as error:
        raise MissingDependencyError("pip install exactregion[parquet]") from error
    try:
        return ds.dataset(paths, format="parquet")
    except (pa.ArrowInvalid, OSError) as error:
        raise FileFormatError(f"The 'data' parameter must name Parquet files. {error}") from error


def _files(path: str | Path) -> list[str]:
    """List the files that a path, a directory or a pattern stands for, in sorted order."""
    place = Path(path)
    if place.is_dir():
        found = sorted(str(file) for file in place.rglob("*.parquet"))
    elif place.is_file():
        found = [str(place)]
    else:
        found = sorted(glob.glob(str(path), recursive=True))  # noqa: PTH207 (absolute ones too)
    if not found:
        raise FileAccessError(
            "The 'data' parameter must name Parquet files, a directory of them or a pattern such "
            f"as 'data/*.parquet'. Got {str(path)!r}, which names none, instead."
        )
    return found


# --- whatever the user has ----------------------------------------------------------------------


def open_rows(asked: Rows, data: Any, names: Rows) -> Rows | Source:
    """Find the rows that are asked for: in memory as `Rows`, or as a `Source`.

    Parameters
    ----------
    asked : Rows
        Arrays; or, where `data` is given, names of its columns.
    data : path, paths, pattern, data set or frame, or None
        A table.
    names : Rows
        What the user calls each part, for messages.
    """
    if data is not None:
        return _columns_of(data, asked, names)
    present = [values for values in (asked.X, asked.y, asked.p) if values is not None]
    if any(hasattr(values, "__dask_graph__") for values in present):
        from exactregion.data.dask_source import DaskSource

        return DaskSource.of_collections(asked, names)
    if any(isinstance(values, np.memmap) for values in present):
        return ArraySource(asked, names)
    return asked


def _columns_of(data: Any, asked: Rows, names: Rows) -> Rows | Source:
    dataset = _open_dataset(data)
    if dataset is not None:
        _check_columns(asked, names, dataset.schema.names)
        return ParquetSource(dataset, asked)
    if isinstance(data, Mapping):
        _check_columns(asked, names, list(data))
        return each_part(asked, lambda at: data[at] if isinstance(at, str) else _side(data, at))
    if hasattr(data, "__dask_graph__") and hasattr(data, "columns"):
        from exactregion.data.dask_source import DaskSource

        _check_columns(asked, names, [str(name) for name in data.columns])
        return DaskSource.of_frame(data, asked)
    frame = from_native(data, "data")
    if not isinstance(frame, nw.DataFrame):
        raise InvalidTypeError(
            "must be a frame, a pyarrow data set, or the path of Parquet "
            f"files. Got {type(data).__name__} instead.",
            parameter="data",
        )
    _check_columns(asked, names, frame.columns)
    return each_part(asked, lambda at: frame[at if isinstance(at, str) else list(at)].to_native())


def _side(data: Mapping[str, Any], names: Sequence[str]) -> Any:
    return np.column_stack([np.asarray(data[name]) for name in names])


def _check_columns(asked: Rows, names: Rows, columns: Sequence[str]) -> None:
    """Check that the parts asked for are names of columns that there are."""
    for role in ("X", "y", "p", "by"):
        wanted = getattr(asked, role)
        if wanted is None:
            continue
        listed = [wanted] if isinstance(wanted, str) else wanted
        if not (isinstance(listed, (list, tuple)) and all(isinstance(n, str) for n in listed)):
            raise InvalidTypeError(
                f"must name a column where 'data' is given. Got {type(wanted).__name__} instead.",
                parameter=getattr(names, role),
            )
        missing = [name for name in listed if name not in columns]
        if missing or not listed:
            raise InvalidValueError(
                f"must name columns of 'data', "
                f"{list(columns)}. Got {missing[0] if missing else 'none'!r} instead.",
                parameter=getattr(names, role),
            )
