"""Columns of a file: which to take, and what they must hold."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from exactregion.cli.options import Reading
from exactregion.cli.output import note
from exactregion.data.tables import Table, read_table
from exactregion.errors import InvalidValueError

if TYPE_CHECKING:
    import pandas as pd

__all__ = [
    "check_probabilities",
    "default_inputs",
    "frame_of",
    "open_table",
    "split_names",
]

MAX_LEVELS = 20
"""A column of words with more different ones is no input unless it is asked for."""


def open_table(file: str, reading: Reading) -> Table:
    """Read the file that a command was given.

    Parameters
    ----------
    file : str
        Its name, or "-".
    reading : Reading
        How.
    """
    delimiter = reading.delimiter
    if delimiter is not None:
        delimiter = {"tab": "\t", "\\t": "\t", "space": " "}.get(delimiter, delimiter)
        if len(delimiter) != 1 or delimiter in '"\r\n':
            raise InvalidValueError(
                f"--delimiter must be one character, or tab. Got {reading.delimiter!r} instead."
            )
    if reading.decimal not in (".", ","):
        raise InvalidValueError(f"--decimal must be '.' or ','. Got {reading.decimal!r} instead.")
    if file == "-" and sys.stdin.isatty():
        note("Reading CSV from the terminal; Ctrl-D ends it.", quiet=False)
    return read_table(file, delimiter=delimiter, decimal=reading.decimal)


def split_names(texts: Iterable[str] | None, columns: Sequence[str]) -> list[str]:
    """Split names at commas, except in a text that is a name as it stands.

    Parameters
    ----------
    texts : iterable of str, optional
        What was given for a repeated option.
    columns : sequence of str
        The names there are.

    Examples
    --------
    >>> split_names(["a, b", "weight, kg"], ["a", "b", "weight, kg"])
    ['a', 'b', 'weight, kg']
    """
    names: list[str] = []
    for text in texts or ():
        parts = [text] if text in columns else [part.strip() for part in text.split(",")]
        names += [part for part in parts if part]
    return list(dict.fromkeys(names))


def default_inputs(table: Table, used: Iterable[str]) -> tuple[list[str], list[str]]:
    """Choose all other columns that can serve as inputs, and name those that cannot.

    Parameters
    ----------
    table : Table
        The file.
    used : iterable of str
        Columns that play another part.
    """
    others = [name for name in dict.fromkeys(table.columns) if name and name not in set(used)]
    chosen = [name for name in others if _can_serve(table, name)]
    return chosen, [name for name in others if name not in chosen]


def _can_serve(table: Table, name: str) -> bool:
    if table.columns.count(name) > 1:
        return False
    column = table.column(name)
    if column.missing.all():
        return False
    if column.kind == "text":
        return 1 < column.values.nunique() <= MAX_LEVELS
    return column.kind in ("number", "boolean")


def frame_of(
    table: Table,
    names: Iterable[str | None],
    *,
    drop_missing: bool,
    quiet: bool,
    numbers: Iterable[str] = (),
) -> pd.DataFrame:
    """Take columns from the file, and say how many rows were left out.

    Parameters
    ----------
    table : Table
        The file.
    names : iterable of str
        The columns; None is passed over.
    drop_missing, quiet : bool
        Options of the command.
    numbers : iterable of str
        Those that must hold numbers.
    """
    columns = [name for name in names if name is not None]
    for name in columns:
        table.column(name)
    for name in numbers:
        table.require_numbers(name)
    frame = table.take(columns, drop_missing=drop_missing)
    dropped = len(table) - len(frame)
    if dropped:
        note(
            f"Left out {_rows(dropped)} with missing values; {_rows(len(frame))} stay.", quiet=quiet
        )
    return frame


def _rows(count: int) -> str:
    return f"{count:,} row{'' if count == 1 else 's'}"


def check_probabilities(table: Table, frame: pd.DataFrame, name: str) -> None:
    """Check that a column holds probabilities.

    Parameters
    ----------
    table : Table
        The file, which knows where its rows are.
    frame : DataFrame
        What was taken from it.
    name : str
        The column.
    """
    values = frame[name]
    outside = values[(values < 0) | (values > 1)]
    if outside.empty:
        return
    hint = ""
    if values.min() >= 0 and 1 < values.max() <= 100:
        hint = " If these are percentages, divide them by 100."
    raise InvalidValueError(
        f"Column {name!r} must hold probabilities between 0 and 1, but "
        f"{table.where(int(outside.index[0]))} has {outside.iloc[0]:g}.{hint}"
    )
