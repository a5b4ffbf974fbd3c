"""The decorators of all compiled functions: Numba, with a cache on disk where there can be one.

A home or an installation may be read-only, a disk full, a file of the cache damaged. Functions are
compiled all the same then, in every process, which takes up to a minute.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from typing import Any, TypeVar

import numba
from numba.core import caching

Function = TypeVar("Function", bound=Callable[..., Any])


_NumbaCache: Any = caching.FunctionCache  # which has no types


class _Cache(_NumbaCache):  # type: ignore[misc]
    """The cache of one function, which fails without stopping anyone."""

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """Return what was compiled before, or None."""
        found = None
        try:
            found = super().load_overload(sig, target_context)
        except Exception:  # files are pickles: damaged ones may raise anything
            with suppress(OSError):
                self.flush()  # so that the next process finds what this one compiles
        if found is None:
            _tell_of_compiling()
        return found

    def save_overload(self, sig: Any, data: Any) -> None:
        """Keep what was compiled, if possible."""
        try:
            super().save_overload(sig, data)
        except Exception:  # as above, where a damaged file cannot be replaced
            _tell_once()


@cache
def _tell_of_compiling() -> None:
    logging.getLogger(__name__).info(
        "Compiling functions for this machine, which takes up to a minute, once."
    )


@cache
def _tell_once() -> None:
    logging.getLogger(__name__).warning(
        "Compiled functions cannot be kept on disk, and every process compiles them again, which "
        "takes up to a minute: set the environment variable NUMBA_CACHE_DIR to a directory that "
        "can be written to."
    )


def compiled_with(**options: Any) -> Callable[[Function], Function]:
    """Return the decorator with further options of ``numba.njit``."""

    def decorate(function: Function) -> Function:
        dispatcher: Any = numba.njit(nogil=True, error_model="numpy", **options)(function)
        try:
            dispatcher._cache = _Cache(function)  # as cache=True does with Numba's own
        except (OSError, RuntimeError):  # there is no directory for it
            _tell_once()
        return dispatcher  # type: ignore[no-any-return]

    return decorate


compiled = compiled_with()
inlined = compiled_with(inline="always")
