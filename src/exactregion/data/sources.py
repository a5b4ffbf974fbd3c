"""Sources of rows that need not be in memory: they give chunks of rows, in order.

A source gives its rows in chunks of `CHUNK_ROWS` and runs a task on each. Arrays and memory maps
are sliced; Parquet data sets are read batch by batch; Dask collections are in
`exactregion.data.dask_source`.
"""

from __future__ import annotations

import glob
import mmap
import os
import sys
import tempfile
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import reduce
from itertools import chain
from operator import add
from pathlib import Path
from typing import Any, TypeAlias, TypeVar

import narwhals as nw
import numpy as np
import numpy.typing as npt

from exactregion.data.reading import from_native
from exactregion.data.sample import CHUNK_ROWS
from exactregion.data.workers import map_in_order
from exactregion.errors import (
    FileAccessError,
    FileFormatError,
    InvalidTypeError,
    InvalidValueError,
    optional_module,
)

R = TypeVar("R")
Done: TypeAlias = Callable[[int], None]
"""Called with the number of rows when a chunk is done."""

MOST_IN_MEMORY = 2**25
"""Bytes from which on what is kept of many rows is in a temporary file: 32 MiB."""

ROLES = ("X", "y", "p", "by")
"""The parts of `Rows`."""


@dataclass(frozen=True, eq=False)
class Rows:
    """Rows as the user has them, all of them or some: arrays, series or frames."""

    X: Any  # inputs; None where the predictions are the inputs
    y: Any  # outcomes
    p: Any  # probabilities; None where a candidate computes them
    by: Any = None  # groups

    def parts(self) -> dict[str, Any]:
        """Return the parts that are not None."""
        parts = {role: getattr(self, role) for role in ROLES}
        return {role: values for role, values in parts.items() if values is not None}

    def map(self, change: Callable[[Any], Any]) -> Rows:
        """Apply a function to each part that is not None."""
        parts = self.parts()
        return Rows(*(change(parts[role]) if role in parts else None for role in ROLES))

    def __getitem__(self, rows: slice) -> Rows:
        return self.map(lambda values: getattr(values, "iloc", values)[rows])

    def of_group(self, group: Any) -> Rows:
        """Return the rows of one group."""
        members = np.flatnonzero(np.asarray(self.by) == group)
        return self.map(lambda values: getattr(values, "iloc", values)[members])


Task: TypeAlias = Callable[[int, Rows], R]
"""Called with the index of a chunk, and its rows."""


def concatenated(parts: Sequence[Any]) -> Any:
    """Put rows, arrays, or frames and series of pandas, one after the other."""
    if len(parts) == 1:
        return parts[0]
    if isinstance(parts[0], Rows):
        roles = ([getattr(part, role) for part in parts] for role in ROLES)
        return Rows(*(None if values[0] is None else concatenated(values) for values in roles))
    if hasattr(parts[0], "iloc"):
        import pandas as pd

        return pd.concat(parts, ignore_index=True)
    return np.concatenate(parts)


def _in_chunks(parts: Iterator[Rows]) -> Iterator[Rows]:
    """Join and cut parts of any length into chunks of `CHUNK_ROWS`."""
    waiting: list[Rows] = []
    number = 0
    for part in parts:
        if len(part.y) == 0:
            continue
        waiting.append(part)
        number += len(part.y)
        while number >= CHUNK_ROWS:
            rows = concatenated(waiting)
            yield rows[:CHUNK_ROWS]
            waiting = [rows[CHUNK_ROWS:]]
            number -= CHUNK_ROWS
    if number:
        yield concatenated(waiting)


class Source(ABC):
    """Rows that come in chunks; a subclass supplies `n_rows` and `chunks`."""

    n_rows: int

    @abstractmethod
    def chunks(self) -> Iterator[Rows]:
        """Yield `CHUNK_ROWS` rows at a time; the last chunk may have fewer."""

    def of_group(self, group: Any, numbers: Sequence[int]) -> Source:
        """Return the rows of one group, given its number of rows in each chunk."""
        return GroupSource(self, group, sum(numbers))

    def each(self, task: Task[R], done: Done, n_jobs: int | None = None) -> list[R]:
        """Run a task on each chunk; return the results in the order of chunks."""
        return list(self._results(task, done, n_jobs))

    def total(self, task: Task[R], done: Done, n_jobs: int | None = None) -> R:
        """Run a task on each chunk; return the sum of the results."""
        return reduce(add, self._results(task, done, n_jobs))

    def _results(self, task: Task[R], done: Done, n_jobs: int | None) -> Iterator[R]:
        numbered = enumerate(self.chunks())
        for index, result in enumerate(map_in_order(lambda item: task(*item), numbered, n_jobs)):
            yield result
            done(min(CHUNK_ROWS, self.n_rows - index * CHUNK_ROWS))


class ArraySource(Source):
    """Slices of arrays and memory maps, and of frames and lists beside them."""

    def __init__(self, rows: Rows, names: Rows) -> None:
        lengths = {role: length_of(v, getattr(names, role)) for role, v in rows.parts().items()}
        # entries of a list stay as they are: NumPy would turn numbers beside text into text
        self.rows = rows.map(lambda v: v if hasattr(v, "shape") else np.asarray(v, dtype=object))
        self.n_rows = same_length(lengths, names)

    def chunks(self) -> Iterator[Rows]:
        """Slice the arrays."""
        for start in range(0, self.n_rows, CHUNK_ROWS):
            yield self.rows[start : start + CHUNK_ROWS]
            self.rows.map(release)


def length_of(values: Any, name: str) -> int:
    """Return the number of rows of one part."""
    try:
        return len(values)
    except TypeError as error:
        raise InvalidTypeError(
            "must be an array, a series or a list with one entry per row. "
            f"Got {type(values).__name__} instead.",
            parameter=name,
        ) from error


def same_length(lengths: Mapping[str, int], names: Rows) -> int:
    """Return the number of rows; an error if a part has another one than the outcomes."""
    for role, length in lengths.items():
        if length != lengths["y"]:
            raise InvalidValueError(
                f"The {getattr(names, role)!r} and {names.y!r} parameters must have the same "
                f"number of rows. Got {length} and {lengths['y']} instead."
            )
    return lengths["y"]


def release(values: Any) -> None:
    """Release the pages of a memory map that were used: they would count as memory in use.

    Changes are not lost where they belong to a file; those of other maps ("c") would be.
    """
    pages, mode = getattr(values, "_mmap", None), getattr(values, "mode", "")
    if pages is not None and mode in ("r", "r+", "w+") and hasattr(mmap, "MADV_DONTNEED"):
        pages.madvise(mmap.MADV_DONTNEED)


def scratch(shape: tuple[int, ...], dtype: npt.DTypeLike) -> npt.NDArray[Any]:
    """Return an array to be filled: a large one in a temporary file, which goes with the array.

    In memory where there is no room for the file. Its room is taken at once: a disk that is found
    to be full later would end the process.
    """
    size = int(np.prod(shape)) * np.dtype(dtype).itemsize
    if size > MOST_IN_MEMORY:
        with suppress(OSError, AttributeError), tempfile.TemporaryFile() as file:
            os.posix_fallocate(file.fileno(), 0, size)
            return np.memmap(file, dtype=dtype, mode="r+", shape=shape)
    return np.empty(shape, dtype=dtype)


class GroupSource(Source):
    """Those rows of another source that belong to one group."""

    def __init__(self, source: Source, group: Any, n_rows: int) -> None:
        self.source = source
        self.group = group
        self.n_rows = n_rows

    def chunks(self) -> Iterator[Rows]:
        """Gather the rows of the group."""
        return _in_chunks(rows.of_group(self.group) for rows in self.source.chunks())


@contextmanager
def _damage_named() -> Iterator[None]:
    """Say which file cannot be read, as pyarrow does, where one is damaged."""
    import pyarrow as pa

    try:
        yield
    except (pa.ArrowInvalid, OSError) as error:
        raise FileFormatError(f"The data cannot be read: {error}") from error


class ParquetSource(Source):
    """Columns of a pyarrow data set, read batch by batch."""

    def __init__(self, dataset: Any, columns: Rows) -> None:
        self.dataset = dataset
        self.columns = columns
        with _damage_named():
            self.n_rows = int(dataset.count_rows())

    def chunks(self) -> Iterator[Rows]:
        """Gather the rows of batches."""
        return _in_chunks(self._rows())

    def _rows(self) -> Iterator[Rows]:
        with _damage_named():
            for batch in self._batches():
                # the metadata of pandas may turn a column into the index
                frame = batch.to_pandas(ignore_metadata=True)
                yield columns_of(frame, self.columns)

    def _batches(self) -> Iterator[Any]:
        """Read one row group after the other, and nothing ahead of time."""
        settings = {
            "columns": column_names(self.columns),
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


def columns_of(frame: Any, columns: Rows) -> Rows:
    """Take the requested columns of a frame: a series for one name, a frame for several."""
    return columns.map(lambda at: frame[at if isinstance(at, str) else list(at)])


def column_names(columns: Rows) -> list[str]:
    """List the columns that are requested, each once."""
    flat = ([names] if isinstance(names, str) else names for names in columns.parts().values())
    return list(dict.fromkeys(chain.from_iterable(flat)))


def open_rows(requested: Rows, data: Any, names: Rows) -> Rows | Source:
    """Find the rows: in memory as `Rows`, or as a `Source`.

    Requested are arrays or, where `data` is given, names of its columns. `data` is a path, several
    paths, a pattern, a data set, a frame or None. `names` says what the user calls each part.
    """
    if data is not None:
        return _open_columns(data, requested, names)
    present = [values for role, values in requested.parts().items() if role != "by"]
    if any(hasattr(values, "__dask_graph__") for values in present):
        from exactregion.data.dask_source import DaskSource

        return DaskSource.of_collections(requested, names)
    if any(isinstance(values, np.memmap) for values in present):
        return ArraySource(requested, names)
    return requested


def rows_in_memory(requested: Rows, data: Any, names: Rows) -> Rows:
    """Find the rows as `open_rows` does, and read those that are not in memory."""
    rows = open_rows(requested, data, names)
    if isinstance(rows, Source):
        return concatenated(rows.each(_as_they_are, lambda number: None))  # type: ignore[no-any-return]
    return rows


def _as_they_are(index: int, rows: Rows) -> Rows:
    return rows.map(lambda values: values if hasattr(values, "iloc") else np.array(values))


def _open_columns(data: Any, requested: Rows, names: Rows) -> Rows | Source:
    dataset = _open_dataset(data)
    if dataset is not None:
        _check_columns(requested, names, dataset.schema.names)
        return ParquetSource(dataset, requested)
    if isinstance(data, Mapping):
        import pandas as pd

        data = pd.DataFrame(data)
    if hasattr(data, "__dask_graph__") and hasattr(data, "columns"):
        from exactregion.data.dask_source import DaskSource

        _check_columns(requested, names, [str(name) for name in data.columns])
        return DaskSource.of_frame(data, requested)
    frame = from_native(data, "data")
    if not isinstance(frame, nw.DataFrame):
        raise InvalidTypeError(
            "must be a frame, a pyarrow data set, or the path of Parquet "
            f"files. Got {type(data).__name__} instead.",
            parameter="data",
        )
    _check_columns(requested, names, frame.columns)
    return columns_of(frame, requested).map(lambda values: values.to_native())


def _check_columns(requested: Rows, names: Rows, columns: Sequence[str]) -> None:
    """Check that the requested parts are names of columns that exist."""
    for role, wanted in requested.parts().items():
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


def _open_dataset(data: Any) -> Any:
    """Open files, a directory, a pattern, or a pyarrow data set; None if it is none of them."""
    if isinstance(data, (str, Path)):
        paths = _files(data)
    elif isinstance(data, Sequence) and data and all(isinstance(d, (str, Path)) for d in data):
        paths = [file for part in data for file in _files(part)]
    else:
        arrow = sys.modules.get("pyarrow.dataset")
        return data if arrow is not None and isinstance(data, arrow.Dataset) else None
    arrow = optional_module("pyarrow.dataset", "A path of Parquet files", "parquet")
    try:
        return arrow.dataset(paths, format="parquet")
    except (ValueError, OSError) as error:  # pyarrow.ArrowInvalid is a ValueError
        raise FileFormatError(f"The 'data' parameter must name Parquet files. {error}") from error


def _files(path: str | Path) -> list[str]:
    """List the files of a path, a directory or a pattern, in sorted order."""
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
