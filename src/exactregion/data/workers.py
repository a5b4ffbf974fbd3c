"""Threads that share a piece of work, as many as `n_jobs` says."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from numbers import Integral
from typing import TypeVar

from exactregion.errors import InvalidTypeError, InvalidValueError

__all__ = ["check_n_jobs", "map_in_order", "number_of_workers"]

A = TypeVar("A")
R = TypeVar("R")


def check_n_jobs(n_jobs: int | None) -> None:
    """Check a number of workers, as joblib counts them."""
    if n_jobs is not None and (isinstance(n_jobs, bool) or not isinstance(n_jobs, Integral)):
        raise InvalidTypeError(
            f"must be an integer or None. Got {type(n_jobs).__name__} instead.", parameter="n_jobs"
        )
    if n_jobs == 0:
        raise InvalidValueError(
            "must be a number of workers, 1 or more, or -1 for all processors. Got 0 instead.",
            parameter="n_jobs",
        )


def number_of_workers(n_jobs: int | None) -> int:
    """Turn `n_jobs`, as in joblib, into a number of workers."""
    check_n_jobs(n_jobs)
    if n_jobs in (None, 1):
        return 1
    from joblib import effective_n_jobs

    return int(effective_n_jobs(n_jobs))


def map_in_order(
    task: Callable[[A], R], items: Iterable[A], n_jobs: int | None = None
) -> Iterator[R]:
    """Yield task(item) for each item in order, by threads that take only a few items ahead."""
    workers = number_of_workers(n_jobs)
    if workers == 1:
        yield from map(task, items)
        return
    waiting: deque[Future[R]] = deque()
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
