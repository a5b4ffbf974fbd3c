"""Rows in Dask collections: one task a stretch, on a cluster if there is one.

Tasks are pure functions of their rows, and their answers add up in any order: a worker that dies
takes nothing with it that another cannot make again, to the last bit. A running
``distributed.Client`` is used if there is one, else the threads of this machine.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from operator import add, itemgetter
from typing import Any

import numpy as np

from exactregion.data.sample import CHUNK_ROWS
from exactregion.data.sources import Done, R, Rows, Source, Task, each_part, joined, selected
from exactregion.errors import InvalidTypeError, InvalidValueError, MissingDependencyError

__all__ = ["DaskSource"]

FAN_IN = 8
"""Answers that are added at once."""

Parts = tuple[list[Any], list[int]]
"""Pieces that are not computed yet, and the number of rows of each."""


class DaskSource(Source):
    """Stretches of Dask arrays and frames, whatever their chunks.

    Parameters
    ----------
    stretches : list of Delayed
        The `Rows` of each stretch.
    n_rows : int
        Number of rows.
    """

    def __init__(self, stretches: list[Any], n_rows: int) -> None:
        self._stretches = stretches
        self.n_rows = n_rows

    @classmethod
    def of_collections(cls, rows: Rows, names: Rows) -> DaskSource:
        """Take inputs, outcomes and probabilities from collections of their own."""
        delayed = _dask().delayed
        roles = ("X", "y", "p", "by")
        cut: dict[str, list[Any] | None] = {}
        lengths: dict[str, int] = {}
        for role in roles:
            values = getattr(rows, role)
            if values is None:
                cut[role] = None
                continue
            parts = _parts_of(values, getattr(names, role))
            lengths[role] = sum(parts[1])
            cut[role] = _cut(*parts)
        n_rows = lengths["y"]
        for role, number in lengths.items():
            if number != n_rows:
                raise InvalidValueError(
                    f"The {getattr(names, role)!r} and {names.y!r} parameters must have the same "
                    f"number of rows. Got {number} and {n_rows} instead."
                )
        count = math.ceil(n_rows / CHUNK_ROWS)
        each = zip(*(cut[role] or [None] * count for role in roles), strict=True)
        return cls([delayed(Rows)(*parts) for parts in each], n_rows)

    @classmethod
    def of_frame(cls, frame: Any, columns: Rows) -> DaskSource:
        """Take columns of a Dask frame."""
        delayed = _dask().delayed
        wanted = [columns.X, columns.y, columns.p, columns.by]
        flat = [[names] if isinstance(names, str) else list(names or ()) for names in wanted]
        kept = list(dict.fromkeys(name for names in flat for name in names))
        pieces, lengths = _parts_of(frame[kept], "data")
        return cls([delayed(_pick)(piece, wanted) for piece in _cut(pieces, lengths)], sum(lengths))

    def of_group(self, group: Any, numbers: Sequence[int]) -> DaskSource:
        """Give the rows of one group, which has so many rows in each stretch."""
        delayed = _dask().delayed
        own = [delayed(selected)(rows, group) for rows in self._stretches]
        return DaskSource(_cut(own, list(numbers)), sum(numbers))

    def chunks(self) -> Iterator[Rows]:
        """Compute one stretch after the other."""
        for stretch in self._stretches:
            yield stretch.compute()

    def each(self, task: Task[R], done: Done, n_jobs: int | None = None) -> list[R]:
        """Do a task on each stretch, wherever Dask finds room."""
        answers: list[R] = list(_dask().compute(*self._tasks(task)))
        done(self.n_rows)
        return answers

    def total(self, task: Task[R], done: Done, n_jobs: int | None = None) -> R:
        """Do a task on each stretch, and add the answers as a tree."""
        delayed = _dask().delayed
        level = self._tasks(task)
        while len(level) > 1:
            level = [delayed(_sum)(level[at : at + FAN_IN]) for at in range(0, len(level), FAN_IN)]
        (answer,) = _dask().compute(*level)
        done(self.n_rows)
        return answer  # type: ignore[no-any-return]

    def _tasks(self, task: Task[R]) -> list[Any]:
        delayed = _dask().delayed
        shared = delayed(task, traverse=False)  # sent once, not with every stretch
        return [delayed(_do)(shared, index, rows) for index, rows in enumerate(self._stretches)]


def _do(task: Task[R], index: int, rows: Rows) -> R:
    return task(index, rows)


def _sum(answers: Sequence[Any]) -> Any:
    total = answers[0]
    for answer in answers[1:]:
        total = add(total, answer)
    return total


def _pick(frame: Any, columns: Sequence[Any]) -> Rows:
    return Rows(*(None if names is None else frame[names] for names in columns))


# --- pieces -------------------------------------------------------------------------------------


def _dask() -> Any:
    try:
        import dask
    except ImportError as error:
        raise MissingDependencyError("pip install exactregion[dask]") from error
    return dask


def _parts_of(values: Any, name: str) -> Parts:
    """Give the chunks or partitions of a collection along its rows, and their lengths."""
    if hasattr(values, "__dask_graph__"):
        if type(values).__module__.startswith(("dask.delayed", "dask.bag")):
            raise InvalidTypeError(
                f"must be a Dask array or frame. Got {type(values).__name__} instead.",
                parameter=name,
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
    array = np.asarray(values)
    starts = range(0, len(array), CHUNK_ROWS)
    delayed = _dask().delayed
    return (
        [delayed(array[start : start + CHUNK_ROWS], traverse=False) for start in starts],
        [min(CHUNK_ROWS, len(array) - start) for start in starts],
    )


def _cut(parts: list[Any], lengths: list[int]) -> list[Any]:
    """Make stretches of `CHUNK_ROWS` of the pieces, cut and joined where needed."""
    delayed = _dask().delayed
    ends = np.cumsum(lengths).tolist()
    stretches = []
    for start in range(0, ends[-1] if ends else 0, CHUNK_ROWS):
        stop = min(start + CHUNK_ROWS, ends[-1])
        pieces, bounds = [], []
        for part, length, end in zip(parts, lengths, ends, strict=True):
            first, last = max(start, end - length), min(stop, end)
            if first < last:
                pieces.append(part)
                bounds.append((first - (end - length), last - (end - length)))
        stretches.append(delayed(_join)(pieces, bounds))
    return stretches


def _join(pieces: Sequence[Any], bounds: Sequence[tuple[int, int]]) -> Any:
    cut = [
        _between(piece, slice(first, last))
        for piece, (first, last) in zip(pieces, bounds, strict=True)
    ]
    if isinstance(cut[0], Rows):
        return joined(cut)
    return joined([Rows(None, piece, None) for piece in cut]).y


def _between(piece: Any, part: slice) -> Any:
    return each_part(piece, itemgetter(part)) if isinstance(piece, Rows) else piece[part]
