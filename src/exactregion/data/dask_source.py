"""Rows of Dask collections: one task per chunk, on a cluster if there is one.

Tasks are pure functions of their rows, and their results add up in any order: what a worker
computed before it died, another computes again, to the last bit. A running ``distributed.Client``
is used if there is one, else the threads of this machine.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from functools import reduce
from operator import add
from typing import Any

import numpy as np

from exactregion.data.sample import CHUNK_ROWS
from exactregion.data.sources import (
    ROLES,
    Done,
    R,
    Rows,
    Source,
    Task,
    column_names,
    columns_of,
    concatenated,
    length_of,
    same_length,
)
from exactregion.errors import InvalidTypeError, InvalidValueError, optional_module

FAN_IN = 8
"""Results that are added in one task."""

AT_ONCE = 16
"""Chunks that are computed together where rows come to this process, a million rows: about as many
as a partition of Parquet has, which each chunk alone would read as a whole."""


class DaskSource(Source):
    """Chunks of Dask arrays and frames, given as a list of Delayed `Rows`."""

    def __init__(self, delayed_chunks: list[Any], n_rows: int) -> None:
        self._chunks = delayed_chunks
        self.n_rows = n_rows

    @classmethod
    def of_collections(cls, rows: Rows, names: Rows) -> DaskSource:
        """Take inputs, outcomes and probabilities from separate collections."""
        chunks: dict[str, list[Any]] = {}
        lengths: dict[str, int] = {}
        for role, values in rows.parts().items():
            parts, numbers = _partitions(values, getattr(names, role))
            lengths[role] = sum(numbers)
            chunks[role] = _in_chunks(parts, numbers)
        n_rows = same_length(lengths, names)
        missing = [None] * len(chunks["y"])
        each = zip(*(chunks.get(role, missing) for role in ROLES), strict=True)
        return cls([_dask().delayed(Rows)(*parts) for parts in each], n_rows)

    @classmethod
    def of_frame(cls, frame: Any, columns: Rows) -> DaskSource:
        """Take columns of a Dask frame."""
        parts, numbers = _partitions(frame[column_names(columns)], "data")
        chunks = _in_chunks(parts, numbers)
        return cls([_dask().delayed(columns_of)(chunk, columns) for chunk in chunks], sum(numbers))

    def of_group(self, group: Any, numbers: Sequence[int]) -> DaskSource:
        """Return the rows of one group, given its number of rows in each chunk."""
        members = [_dask().delayed(Rows.of_group)(rows, group) for rows in self._chunks]
        return DaskSource(_in_chunks(members, list(numbers)), sum(numbers))

    def chunks(self) -> Iterator[Rows]:
        """Compute a few chunks at a time: those of one partition then read it once."""
        for start in range(0, len(self._chunks), AT_ONCE):
            yield from _dask().compute(*self._chunks[start : start + AT_ONCE])

    def each(self, task: Task[R], done: Done, n_jobs: int | None = None) -> list[R]:
        """Run a task on each chunk, wherever Dask schedules it."""
        results: list[R] = list(_dask().compute(*self._tasks(task)))
        done(self.n_rows)
        return results

    def total(self, task: Task[R], done: Done, n_jobs: int | None = None) -> R:
        """Run a task on each chunk, and add the results as a tree."""
        level = self._tasks(task)
        while len(level) > 1:
            groups = [level[at : at + FAN_IN] for at in range(0, len(level), FAN_IN)]
            level = [_dask().delayed(reduce)(add, group) for group in groups]
        (result,) = _dask().compute(*level)
        done(self.n_rows)
        return result  # type: ignore[no-any-return]

    def _tasks(self, task: Task[R]) -> list[Any]:
        shared = _dask().delayed(task, traverse=False)  # sent once, not with every chunk
        return [shared(index, rows) for index, rows in enumerate(self._chunks)]


def _dask() -> Any:
    return optional_module("dask", "Rows of Dask collections", "dask")


def _partitions(values: Any, name: str) -> tuple[list[Any], list[int]]:
    """Return the partitions of a collection along its rows, delayed, and their lengths."""
    if not hasattr(values, "__dask_graph__"):
        length_of(values, name)
        array = np.asarray(values)
        cut = [array[start : start + CHUNK_ROWS] for start in range(0, len(array), CHUNK_ROWS)]
        return [_dask().delayed(part, traverse=False) for part in cut], [len(part) for part in cut]
    if type(values).__module__.startswith(("dask.delayed", "dask.bag")):
        raise InvalidTypeError(
            f"must be a Dask array or frame. Got {type(values).__name__} instead.", parameter=name
        )
    if not hasattr(values, "chunks"):
        lengths = values.map_partitions(len).compute()
        return list(values.to_delayed()), [int(length) for length in lengths]
    if any(math.isnan(length) for length in values.chunks[0]):
        raise InvalidValueError(
            "must have chunks of known size. "
            "Got unknown ones instead: call compute_chunk_sizes() first.",
            parameter=name,
        )
    if values.ndim == 2 and len(values.chunks[1]) > 1:
        values = values.rechunk({1: -1})
    return list(values.to_delayed().ravel()), [int(length) for length in values.chunks[0]]


def _in_chunks(parts: list[Any], lengths: list[int]) -> list[Any]:
    """Cut and join delayed parts into chunks of `CHUNK_ROWS`."""
    ends = np.cumsum(lengths).tolist()
    total = sum(lengths)
    chunks = []
    for start in range(0, total, CHUNK_ROWS):
        stop = min(start + CHUNK_ROWS, total)
        within, slices = [], []
        for part, length, end in zip(parts, lengths, ends, strict=True):
            begin = end - length
            if max(start, begin) < min(stop, end):
                within.append(part)
                slices.append(slice(max(start - begin, 0), min(stop, end) - begin))
        chunks.append(_dask().delayed(_joined_slices)(within, slices))
    return chunks


def _joined_slices(parts: Sequence[Any], slices: Sequence[slice]) -> Any:
    return concatenated([part[rows] for part, rows in zip(parts, slices, strict=True)])
