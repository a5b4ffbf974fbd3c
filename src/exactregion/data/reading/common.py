"""What reading inputs and outcomes share: rows that are part of more, frames, missing values."""

from __future__ import annotations

import math
import sys
from dataclasses import dataclass
from typing import Any, cast

import narwhals as nw

from exactregion.errors import InvalidValueError

__all__ = ["Part", "from_native", "is_missing", "row_of", "such"]


@dataclass(frozen=True)
class Part:
    """Says that values are a part of the user's rows, and where it begins."""

    first_row: int


def row_of(row: int, part: Part | None) -> int:
    """Count a row from the first of all."""
    return int(row) + (0 if part is None else part.first_row)


def such(number: int, part: Part | None) -> str:
    """Count what is wrong, where all rows were looked at."""
    return f" ({number} such in all)" if part is None else ""


def from_native(data: object, name: str) -> Any:
    """Wrap a frame or a series of any library; give back anything else as it is."""
    try:
        return nw.from_native(cast(Any, data), pass_through=True, allow_series=True)
    except nw.exceptions.DuplicateError as error:
        columns = [str(column) for column in cast(Any, data).columns]
        twice = sorted({column for column in columns if columns.count(column) > 1})
        raise InvalidValueError(
            f"The columns of the {name!r} parameter must have different names. "
            f"Got {twice} more than once instead."
        ) from error


def is_missing(value: object) -> bool:
    """Say whether an entry is None, NaN, infinite, or one of pandas' missing values."""
    if value is None or (isinstance(value, float) and not math.isfinite(value)):
        return True
    pandas = sys.modules.get("pandas")  # its missing values exist only where it is loaded
    return pandas is not None and (value is pandas.NA or value is pandas.NaT)
