"""Cells of a CSV file: text that turns out to be numbers, booleans or words, column by column."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np

from exactregion._typing import BoolArray

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["MISSING", "Column", "Kind", "hint_for", "read_cells"]

Kind: TypeAlias = Literal["number", "boolean", "text", "mixed", "other"]

MISSING = frozenset({"", "NA", "N/A", "n/a", "NaN", "nan", "NULL", "null", "#N/A", "<NA>"})
"""Cells that say that there is no value."""

MISSING_NUMBERS = MISSING | {"None", "none", "."}
"""The same among numbers; among words "None" may be a word like others."""

BOOLEANS = {
    spelling: value
    for value in (True, False)
    for spelling in (str(value), str(value).lower(), str(value).upper())
}

NUMBER = r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?"
WITH_COMMA = NUMBER.replace(r"\.", ",")
INTEGER = r"[+-]?\d{1,18}"


@dataclass(frozen=True, eq=False)
class Column:
    """One column of a table; rows count from 1.

    Attributes
    ----------
    kind : {"number", "boolean", "text", "mixed", "other"}
        Mixed columns have numbers in most rows, and words in others; other ones hold what is
        neither number nor text.
    values : Series
        The values, missing ones as pandas has them.
    missing : ndarray of bool
        Where there is no value.
    shown : Series
        What the file says.
    wrong : int or None
        The first row that is not a number, if the kind is mixed or text.
    type_name : str
        What to call the values if they are no numbers.
    """

    kind: Kind
    values: pd.Series[Any]
    missing: BoolArray
    shown: pd.Series[Any]
    wrong: int | None = None
    type_name: str = "text"


def read_cells(cells: pd.Series[str], decimal: str = ".") -> Column:
    """Find out what the cells of a column are; space around them does not count.

    Parameters
    ----------
    cells : Series of str
        With rows from 1 as its index.
    decimal : str
        What separates decimals.

    Examples
    --------
    >>> import pandas as pd
    >>> read_cells(pd.Series(["1", " 2.5", "NA"], index=[1, 2, 3])).values.tolist()
    [1.0, 2.5, nan]
    >>> mixed = read_cells(pd.Series(["1", "2", "three"], index=[1, 2, 3]))
    >>> mixed.kind, mixed.wrong
    ('mixed', 3)
    """
    cells = cells.str.strip()
    missing = cells.isin(MISSING_NUMBERS).to_numpy(dtype=np.bool_)
    there = cells[~missing]
    if len(there) and there.isin(BOOLEANS).all():
        return Column("boolean", cells.map(BOOLEANS), missing, cells, None, "true and false")
    right = there.str.fullmatch(NUMBER if decimal == "." else WITH_COMMA)
    wrong = None if right.all() else int(there.index[~right][0])
    if wrong is None:
        return Column("number", _numbers(cells, there, decimal), missing, cells)
    alike = there.str.fullmatch(f"{NUMBER}|{WITH_COMMA}")
    if alike.mean() > 0.5:
        return Column("mixed", cells, missing, cells, wrong)
    missing = cells.isin(MISSING).to_numpy(dtype=np.bool_)
    return Column("text", cells.mask(missing), missing, cells, wrong)


def _numbers(cells: pd.Series[str], there: pd.Series[str], decimal: str) -> pd.Series[Any]:
    import pandas as pd

    text = there.to_numpy(dtype=object)
    if decimal != ".":
        text = np.array([cell.replace(decimal, ".") for cell in text], dtype=object)
    if len(there) == len(cells) and bool(there.str.fullmatch(INTEGER).all()):
        return pd.Series(text.astype(np.int64), index=cells.index)  # ids may be long
    values = np.full(len(cells), np.nan)
    values[cells.index.get_indexer(there.index)] = text.astype(np.float64)
    return pd.Series(values, index=cells.index)


def hint_for(cell: str, decimal: str = ".") -> str:
    """Say what to do about a cell that should be a number, where there is a guess."""
    if decimal == "." and re.fullmatch(WITH_COMMA, cell):
        return " If the comma separates decimals, add --decimal ','."
    if decimal != "." and re.fullmatch(NUMBER, cell):
        return f" Decimals are separated by {decimal!r} here (--decimal)."
    if re.fullmatch(rf"{NUMBER}\s*%", cell):
        return " Write per cents as shares: 0.25, not 25%."
    return ""
