"""Exceptions of the library.

Every error that the library raises on purpose is an `ExactRegionError`, and at the same time
the built-in exception that fits, so that ``except ValueError`` goes on working::

    ExactRegionError
    ├── FileAccessError          (OSError)       a file cannot be read or written
    ├── FileFormatError          (ValueError)    a file does not hold what it should
    ├── ArgumentError                            an argument is not what it must be
    │   ├── InvalidValueError    (ValueError)    it has a value it must not have
    │   └── InvalidTypeError     (TypeError)     it is of a kind it must not be
    ├── MissingDependencyError   (ImportError)   an optional package is not installed
    ├── ModelError               (ValueError)    a model or candidate broke its contract
    └── NotFittedError           (ValueError, AttributeError)   fit was not called
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from importlib import import_module
from inspect import signature
from typing import Any, ParamSpec, TypeVar

__all__ = [
    "ArgumentError",
    "ExactRegionError",
    "FileAccessError",
    "FileFormatError",
    "InvalidTypeError",
    "InvalidValueError",
    "MissingDependencyError",
    "ModelError",
    "NotFittedError",
]

P = ParamSpec("P")
R = TypeVar("R")

SEEDS = ("rng", "random_state", "seed")
"""What libraries call the seed."""


class ExactRegionError(Exception):
    """Base class of all errors raised by exactregion."""


class ArgumentError(ExactRegionError):
    """An argument is invalid; the error carries its name, and the row that is wrong.

    Parameters
    ----------
    requirement : str
        What the argument must be, what it was, and what to do: "must be positive. Got 0 instead."
    parameter : str, optional
        The argument, so that a front end can name its own option instead.
    row : int, optional
        The row that is wrong, from 0, so that a front end can count as its files do. The message
        names it after `requirement`.
    rest : str
        The message after the row.

    Examples
    --------
    >>> str(InvalidValueError("must be positive. Got 0 instead.", parameter="bandwidth"))
    "The 'bandwidth' parameter must be positive. Got 0 instead."
    >>> text, rest = "must be positive. Got 0", " instead."
    >>> error = InvalidValueError(text, parameter="y", row=3, rest=rest)
    >>> error.requirement_in("line 5")
    'must be positive. Got 0 in line 5 instead.'
    """

    def __init__(
        self,
        requirement: str,
        *,
        parameter: str | None = None,
        row: int | None = None,
        rest: str = "",
    ) -> None:
        self.parameter = parameter
        self.row = row
        self._around_row = requirement, rest
        named = "" if parameter is None else f"The {parameter!r} parameter "
        super().__init__(named + self.requirement)

    @property
    def requirement(self) -> str:
        """The message without the name of the argument."""
        return self.requirement_in(f"row {self.row}")

    def requirement_in(self, place: str) -> str:
        """Return the same with another name for the row, if it is about one."""
        before, after = self._around_row
        return before if self.row is None else f"{before} in {place}{after}"


class FileAccessError(ExactRegionError, OSError):
    """A file cannot be read or written: it is missing, a directory, or not permitted."""


class FileFormatError(ExactRegionError, ValueError):
    """A file is not what it should be: it is of another kind, damaged, or of a newer version."""


class InvalidValueError(ArgumentError, ValueError):
    """An argument has an invalid value."""


class InvalidTypeError(ArgumentError, TypeError):
    """An argument has the wrong type."""


class MissingDependencyError(ExactRegionError, ImportError):
    """An optional package is not installed; the message has the install line."""


class ModelError(ExactRegionError, ValueError):
    """A model or a candidate broke its contract: wrong shape, NaN, or not a probability."""


class NotFittedError(ExactRegionError, ValueError, AttributeError):
    """Results of an object were requested before its ``fit`` was called."""


def with_named_seed(function: Callable[P, R]) -> Callable[P, R]:
    """Let a function say what it calls its seed where it is given the seed by another name.

    Examples
    --------
    >>> @with_named_seed
    ... def draw(*, rng=None):
    ...     return rng
    >>> draw(random_state=0)
    Traceback (most recent call last):
    exactregion.errors.InvalidTypeError: The 'random_state' parameter is called 'rng' here: rng=0.
    """
    known = signature(function).parameters
    called = next(name for name in SEEDS if name in known)
    others = [name for name in SEEDS if name not in known]

    @wraps(function)
    def checked(*args: P.args, **kwargs: P.kwargs) -> R:
        for name in others:
            if name in kwargs:
                raise InvalidTypeError(
                    f"is called {called!r} here: {called}={kwargs[name]!r}.", parameter=name
                )
        return function(*args, **kwargs)

    return checked


def optional_module(name: str, what: str, extra: str) -> Any:
    """Import a module that `what` needs; the error says which extra installs it."""
    try:
        return import_module(name)
    except ImportError as error:
        raise MissingDependencyError(
            f"{what} requires {name.partition('.')[0]}, which is not installed. "
            f"Install it with: pip install exactregion[{extra}]"
        ) from error
