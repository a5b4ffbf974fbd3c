"""BLAS with one thread, for what must not depend on their number."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from threading import Lock
from types import SimpleNamespace
from typing import Any

from threadpoolctl import ThreadpoolController


@contextmanager
def single_thread() -> Iterator[None]:
    """Context in which BLAS uses one thread, for what must not depend on their number.

    The number is one for the whole process: the first thread that enters sets it, the last one that
    leaves sets it back.
    """
    with _limit.lock:
        if _limit.inside == 0:
            _limit.context = _controller().limit(limits=1, user_api="blas")
            _limit.context.__enter__()
        _limit.inside += 1
    try:
        yield
    finally:
        with _limit.lock:
            _limit.inside -= 1
            if _limit.inside == 0:
                _limit.context.__exit__(None, None, None)


_limit: Any = SimpleNamespace(inside=0, context=None, lock=Lock())


@cache
def _controller() -> ThreadpoolController:
    return ThreadpoolController()
