"""Frames of any library as pandas frames, and their text columns as numbers."""

from __future__ import annotations

from numbers import Real
from typing import TYPE_CHECKING, Any

import narwhals as nw
import numpy as np

from exactregion._typing import FloatArray
from exactregion.data.reading import (
    FILL,
    MISSING,
    as_floats,
    from_native,
    is_missing,
    is_number,
    row_error,
)
from exactregion.data.sample import Shared
from exactregion.errors import InvalidTypeError, InvalidValueError

if TYPE_CHECKING:
    import pandas as pd

MAX_LEVELS = 50
"""Most levels of a text column that a statistic takes, one indicator each. Columns with more are
usually ids or prose, in which hardly two rows are alike, and no statistic sees a pattern."""

MICROSECONDS_PER_DAY = 86_400e6

Encoded = list[tuple[str, FloatArray]]


def as_pandas(data: object, name: str) -> pd.DataFrame:
    """Turn a frame of any library into a pandas frame with plain columns and numbered rows.

    Numbers and booleans become NumPy's, also numbers stored as objects. Categories keep their order
    and lose the levels that no row has, as in R. A series becomes a frame of one column.
    """
    import pandas as pd

    frame = from_native(data, name)
    if isinstance(frame, nw.Series):
        frame = frame.to_frame()
    if not isinstance(frame, nw.DataFrame):
        got = "a lazy frame" if isinstance(frame, nw.LazyFrame) else type(data).__name__
        raise InvalidTypeError(
            f"must be a pandas or polars frame in memory. Got {got} instead.", parameter=name
        )
    columns = {str(column.name): _plain(column) for column in frame.iter_columns()}
    if len(columns) < frame.shape[1]:
        raise InvalidValueError(
            f"The columns of the {name!r} parameter must have different names, as text. "
            f"Got {frame.columns} instead."
        )
    return pd.DataFrame(columns, index=pd.RangeIndex(len(frame)))


def check_present(frame: pd.DataFrame, name: str) -> None:
    """Raise an error that names row and column if an entry is missing."""
    missing = np.argwhere(frame.isna().to_numpy())
    if len(missing):
        label = str(frame.columns[missing[0, 1]])
        raise row_error(name, MISSING, missing[:, 0], column=label, then=FILL)


def _plain(column: nw.Series[Any]) -> Any:
    import pandas as pd

    dtype = column.dtype
    if is_number(column):
        return as_floats(column) if column.null_count() else np.asarray(column.to_numpy())
    if dtype in (nw.Categorical, nw.Enum) and isinstance(column.to_native(), pd.Series):
        return column.to_native().cat.remove_unused_categories().array
    if dtype == nw.Enum:
        kept = set(column.to_list())
        levels = [level for level in column.to_native().dtype.categories if level in kept]
        return pd.Categorical(column.to_list(), categories=levels)
    if dtype.is_temporal():
        return column.to_numpy()
    return pd.Series(column.to_list()).infer_objects().array


def encode_text(X: object) -> tuple[Any, Shared]:
    """Replace the text, categories and dates of a frame by numbers; any other X stays as it is.

    A statistic measures distances, and needs numbers; they are a function of X alone, so that the
    test stays exact. Text becomes one indicator per level, in sorted order, and the indicators of a
    column share one scale: all levels, also rare ones, are at the same distance, and a text column
    weighs as much as one of numbers. Two levels need one indicator only. Dates and times become
    days since 1970, durations days; their unit does not matter to a statistic that standardises.

    The second value lists the columns that belong to one text column, where there are several.

    Examples
    --------
    >>> import pandas as pd
    >>> frame = pd.DataFrame({"age": [3, 4, 5], "sex": ["f", "m", "f"], "arm": list("abc")})
    >>> numbers, shared = encode_text(frame)
    >>> numbers
       age  sex[m]  arm[a]  arm[b]  arm[c]
    0  3.0     0.0     1.0     0.0     0.0
    1  4.0     1.0     0.0     1.0     0.0
    2  5.0     0.0     0.0     0.0     1.0
    >>> shared
    ((2, 3, 4),)
    """
    frame = from_native(X, "X")
    if isinstance(frame, nw.Series):
        frame = frame.alias(frame.name or "x").to_frame()
    if not isinstance(frame, nw.DataFrame) or all(map(is_number, frame.iter_columns())):
        return X, ()
    import pandas as pd

    encoded: Encoded = []
    shared = []
    for column in frame.iter_columns():
        first = len(encoded)
        encoded += _encode(column)
        if len(encoded) > first + 1:
            shared.append(tuple(range(first, len(encoded))))
    matrix = np.column_stack([values for _, values in encoded])
    return pd.DataFrame(matrix, columns=[label for label, _ in encoded]), tuple(shared)


def _encode(column: nw.Series[Any]) -> Encoded:
    label, dtype = str(column.name), column.dtype
    if is_number(column):
        return [(label, as_floats(column))]
    if dtype in (nw.Date, nw.Datetime):
        return [(label, as_floats(column.dt.timestamp("us")) / MICROSECONDS_PER_DAY)]
    if dtype == nw.Duration:
        return [(label, as_floats(column.dt.total_microseconds()) / MICROSECONDS_PER_DAY)]
    entries = column.to_list()
    present = [entry for entry in entries if not is_missing(entry)]
    if dtype == nw.Object and present and all(isinstance(entry, Real) for entry in present):
        numbers = [np.nan if is_missing(entry) else float(entry) for entry in entries]
        return [(label, np.array(numbers))]
    is_text = dtype in (nw.String, nw.Categorical, nw.Enum)
    if not is_text and not (dtype == nw.Object and all(isinstance(e, str) for e in present)):
        raise InvalidTypeError(
            f"must have columns of numbers, text, categories or dates. Got {label!r} ({dtype}) "
            "instead: turn this column into one of these, or leave it out.",
            parameter="X",
        )
    return _indicators(label, entries)


def _indicators(label: str, entries: list[Any]) -> Encoded:
    missing = np.flatnonzero([is_missing(entry) for entry in entries])
    if len(missing):
        raise row_error("X", MISSING, missing, column=label, then=FILL)
    levels = sorted(set(entries), key=lambda level: (str(type(level)), level))
    if len(levels) > MAX_LEVELS:
        raise InvalidValueError(
            f"must have at most {MAX_LEVELS} levels in a text column. Got {len(levels)} in column "
            f"{label!r} instead: leave this column out. (If the candidate needs it, pass the "
            "probabilities that the candidate gives.)",
            parameter="X",
        )
    shown = levels[1:] if len(levels) == 2 else levels
    return [
        (f"{label}[{level}]", np.array([entry == level for entry in entries], dtype=np.float64))
        for level in shown
    ]
