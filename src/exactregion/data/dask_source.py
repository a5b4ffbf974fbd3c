"""Rows of Dask collections: one task for a few chunks, on a cluster if there is one.

Tasks are pure functions of their rows, and their results add up in any order: what a worker
computed before it died, another computes again, to the last bit. A running ``distributed.Client``
is used if there is one, else the threads of this machine.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from functools import reduce
from itertools import chain
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

MOST_AT_ONCE, FEWEST_TASKS = 16, 64
"""Chunks that one task works on, a million rows at most: with a task for each chunk, the scheduler
is busy, and what it sends stays in the memory of workers until the end. Of fewer rows, tasks have
fewer chunks, so that there are some for every worker."""


class DaskSource(Source):
    """Rows of Dask arrays and frames, as a list of Delayed `Rows`, each of a few chunks."""

    def __init__(self, batches: list[Any], n_rows: int) -> None:
        self._batches = batches
        self._at_once = _chunks_at_once(n_rows)
        self.n_rows = n_rows

    @classmethod
    def of_collections(cls, rows: Rows, names: Rows) -> DaskSource:
        """Take inputs, outcomes and probabilities from separate collections."""
        batches: dict[str, list[Any]] = {}
        lengths: dict[str, int] = {}
        for role, values in rows.parts().items():
            parts, numbers = _partitions(values, getattr(names, role))
            lengths[role] = sum(numbers)
            batches[role] = _in_batches(parts, numbers)
        n_rows = same_length(lengths, names)
        missing = [None] * len(batches["y"])
        each = zip(*(batches.get(role, missing) for role in ROLES), strict=True)
        return cls([_dask().delayed(Rows)(*parts) for parts in each], n_rows)

    @classmethod
    def of_frame(cls, frame: Any, columns: Rows) -> DaskSource:
        """Take columns of a Dask frame."""
        parts, numbers = _partitions(frame[column_names(columns)], "data")
        batches = _in_batches(parts, numbers)
        return cls([_dask().delayed(columns_of)(part, columns) for part in batches], sum(numbers))

    def of_group(self, group: Any, numbers: Sequence[int]) -> DaskSource:
        """Return the rows of one group, given its number of rows in each chunk."""
        members = [_dask().delayed(Rows.of_group)(rows, group) for rows in self._batches]
        starts = range(0, len(numbers), self._at_once)
        lengths = [sum(numbers[start : start + self._at_once]) for start in starts]
        return DaskSource(_in_batches(members, lengths), sum(numbers))

    def chunks(self) -> Iterator[Rows]:
        """Compute a million rows at a time: chunks of one partition then read it once."""
        step = MOST_AT_ONCE // self._at_once
        for start in range(0, len(self._batches), step):
            for rows in _dask().compute(*self._batches[start : start + step]):
                yield from _chunks_of(rows)

    def each(self, task: Task[R], done: Done, n_jobs: int | None = None) -> list[R]:
        """Run a task on each chunk, wherever Dask schedules it."""
        results = _dask().compute(*self._tasks(_each, task))
        done(self.n_rows)
        return list(chain.from_iterable(results))

    def total(self, task: Task[R], done: Done, n_jobs: int | None = None) -> R:
        """Run a task on each chunk, and add the results as a tree."""
        level = self._tasks(_total, task)
        while len(level) > 1:
            groups = [level[at : at + FAN_IN] for at in range(0, len(level), FAN_IN)]
            level = [_dask().delayed(reduce)(add, group) for group in groups]
        (result,) = _dask().compute(*level)
        done(self.n_rows)
        return result  # type: ignore[no-any-return]

    def _tasks(self, work: Callable[..., Any], task: Task[R]) -> list[Any]:
        shared = _dask().delayed(task, traverse=False)  # sent once, not with every batch
        return [
            _dask().delayed(work)(shared, number * self._at_once, rows)
            for number, rows in enumerate(self._batches)
        ]


def _chunks_at_once(n_rows: int) -> int:
    """Return how many chunks one task works on."""
    n_chunks = -(-n_rows // CHUNK_ROWS)
    return min(max(n_chunks // FEWEST_TASKS, 1), MOST_AT_ONCE)


def _chunks_of(rows: Rows) -> Iterator[Rows]:
    for start in range(0, len(rows.y), CHUNK_ROWS):
        yield rows[start : start + CHUNK_ROWS]


def _each(task: Task[R], first: int, rows: Rows) -> list[R]:
    """Run a task on each chunk of a batch, whose first has this number."""
    return [task(first + index, chunk) for index, chunk in enumerate(_chunks_of(rows))]


def _total(task: Task[R], first: int, rows: Rows) -> R:
    """Do the same, and add up the results."""
    return reduce(add, (task(first + index, chunk) for index, chunk in enumerate(_chunks_of(rows))))


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


def _in_batches(parts: list[Any], lengths: list[int]) -> list[Any]:
    """Cut and join delayed parts into batches of chunks, as many of them as one task works on."""
    ends = np.cumsum(lengths).tolist()
    total = sum(lengths)
    size = _chunks_at_once(total) * CHUNK_ROWS
    batches = []
    for start in range(0, total, size):
        stop = min(start + size, total)
        within, slices = [], []
        for part, length, end in zip(parts, lengths, ends, strict=True):
            begin = end - length
            if max(start, begin) < min(stop, end):
                within.append(part)
                slices.append(slice(max(start - begin, 0), min(stop, end) - begin))
        batches.append(_dask().delayed(_joined_slices)(within, slices))
    return batches


def _joined_slices(parts: Sequence[Any], slices: Sequence[slice]) -> Any:
    return concatenated([part[rows] for part, rows in zip(parts, slices, strict=True)])
