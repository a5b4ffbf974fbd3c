"""Exceptions of the library.

Every error that the library raises on purpose is an `ExactRegionError`, and at the same time
the built-in exception that fits, so that ``except ValueError`` goes on working::

    ExactRegionError
    ├── FileAccessError          (OSError)       a file cannot be read or written
    ├── FileFormatError          (ValueError)    a file does not hold what it should
    ├── InvalidValueError        (ValueError)    an argument has a value it must not have
    ├── InvalidTypeError         (TypeError)     an argument is of a kind it must not be
    ├── MissingDependencyError   (ImportError)   an optional package is not installed
    ├── ModelError               (ValueError)    a model or candidate broke its contract
    └── NotFittedError           (ValueError, AttributeError)   fit was not called
"""

from __future__ import annotations

__all__ = [
    "ExactRegionError",
    "FileAccessError",
    "FileFormatError",
    "InvalidTypeError",
    "InvalidValueError",
    "MissingDependencyError",
    "ModelError",
    "NotFittedError",
]


class ExactRegionError(Exception):
    """Base class of all errors raised by exactregion."""


class FileAccessError(ExactRegionError, OSError):
    """A file cannot be read or written: it is missing, a directory, or not permitted."""


class FileFormatError(ExactRegionError, ValueError):
    """A file does not hold what it should: of another kind, damaged, or of a newer version."""


class InvalidValueError(ExactRegionError, ValueError):
    """An argument has a value that it must not have."""


class InvalidTypeError(ExactRegionError, TypeError):
    """An argument is of a kind that it must not be."""


class MissingDependencyError(ExactRegionError, ImportError):
    """An optional package is not installed; the message is the install line."""


class ModelError(ExactRegionError, ValueError):
    """A model or a candidate broke its contract: wrong shape, NaN, or not a probability."""


class NotFittedError(ExactRegionError, ValueError, AttributeError):
    """An object was asked for results before ``fit`` was called."""
