"""Threads that work on a sequence of tasks, with results in the order of the tasks."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

__all__ = ["answers", "number_of"]

A = TypeVar("A")
B = TypeVar("B")


def number_of(n_jobs: int | None) -> int:
    """Turn `n_jobs`, as in joblib, into a number of workers."""
    if n_jobs in (None, 1):
        return 1
    from joblib import effective_n_jobs

    return int(effective_n_jobs(n_jobs))


def answers(task: Callable[[A], B], items: Iterable[A], n_jobs: int | None = None) -> Iterator[B]:
    """Yield task(item) for each item, in order; only a few items are taken ahead of time.

    Examples
    --------
    >>> list(answers(lambda x: x * x, range(5), n_jobs=2))
    [0, 1, 4, 9, 16]
    """
    workers = number_of(n_jobs)
    if workers == 1:
        yield from map(task, items)
        return
    waiting: deque[Future[B]] = deque()
    with ThreadPoolExecutor(workers) as pool:
        try:
            for item in items:
                waiting.append(pool.submit(task, item))
                if len(waiting) > workers:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        finally:
            for future in waiting:
                future.cancel()
