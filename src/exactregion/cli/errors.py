"""From errors to one clear message, and to the exit code."""

from __future__ import annotations

import os
import re
import sys
import traceback

import typer

from exactregion.errors import ExactRegionError

__all__ = ["BAD_INPUT", "DEFECT", "INTERRUPTED", "PIPE_CLOSED", "REJECTED", "code_of", "printable"]

REJECTED = 1
"""The hypothesis was rejected, where --fail-below asked for it."""

BAD_INPUT = 2
DEFECT = 3
INTERRUPTED = 130
PIPE_CLOSED = 141
"""As a shell says of a program that wrote to a pipe which nobody reads."""

ShownByTyper: type[Exception] = typer.BadParameter.__mro__[2]
"""The base of Typer's errors about the command line, wherever this version of Typer keeps it."""

OPTIONS = {
    "X": "--inputs",
    "confidence_level": "--confidence",
    "formula": "--formula",
    "guess": "--guess",
    "lapse": "--lapse",
    "locations": "--locations",
    "model": "--model",
    "n_jobs": "--jobs",
    "n_resamples": "--resamples",
    "pos_label": "--positive",
    "rng": "--seed",
    "statistic": "--statistic",
    "theta": "--parameters",
}
"""What the command calls the arguments of the library."""


def code_of(error: Exception) -> int:
    """Say on stderr what went wrong, and give the exit code.

    Parameters
    ----------
    error : Exception
        Whatever ended the command.
    """
    if isinstance(error, typer.Abort):
        return INTERRUPTED
    if isinstance(error, ShownByTyper):
        _say(_of_the_line(error))
        return BAD_INPUT
    if isinstance(error, ExactRegionError):
        _say(in_options(str(error)))
        return BAD_INPUT
    if isinstance(error, OSError) and error.strerror:
        what = f"{str(error.filename)!r}: " if error.filename else ""
        _say(f"{what}{error.strerror}.")
        return BAD_INPUT
    if isinstance(error, MemoryError):
        _say("There is not enough memory. Fewer --resamples need less.")
        return BAD_INPUT
    return _defect(error)


def _of_the_line(error: Exception) -> str:
    message = str(getattr(error, "format_message", error.__str__)())
    path = getattr(getattr(error, "ctx", None), "command_path", None)
    return f"{message}\nTry '{path} --help'." if path else message


def _defect(error: Exception) -> int:
    if os.environ.get("EXACTREGION_TRACEBACK"):
        traceback.print_exception(error)
    _say(
        f"{type(error).__name__}: {error}\nThis is a defect of exactregion, not of your data. "
        "EXACTREGION_TRACEBACK=1 before the command shows where."
    )
    return DEFECT


def in_options(message: str) -> str:
    """Put a message of the library into the words of the command.

    Examples
    --------
    >>> in_options(
    ...     "The 'n_resamples' parameter must be at least 99 for a confidence_level of 0.99."
    ... )
    '--resamples must be at least 99 for a --confidence of 0.99.'
    """
    for name, option in OPTIONS.items():
        message = re.sub(rf"[Tt]he '{name}' parameter(?: of \w+)?", option, message)
        if "_" in name:
            message = re.sub(rf"\b{name}\b", option, message)
    return message


def printable(text: str) -> str:
    r"""Replace characters that would steer a terminal.

    Examples
    --------
    >>> printable("a\x1b[31mb")
    'a�[31mb'
    """
    return "".join(c if c.isprintable() or c == "\n" else "�" for c in text)


def _say(message: str) -> None:
    sys.stderr.write(f"Error: {printable(message)}\n")
