"""Checked inputs and predictions from what users have: arrays, frames, lists and objects.

Inputs become float64 numbers or a tuple of objects. Messages name the argument as the user calls
it, and count rows from the user's first one. Outcomes are read in `exactregion.data.outcomes`.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Mapping, Sequence, Set
from numbers import Real
from typing import Any, TypeAlias, cast

import narwhals as nw
import numpy as np
import numpy.typing as npt

from exactregion._typing import FloatArray, IntArray
from exactregion.errors import InvalidTypeError, InvalidValueError

Values: TypeAlias = FloatArray | tuple[object, ...]
"""Inputs: numbers of shape (n,) or (n, d), or n objects of any kind."""


MISSING = "must not hold missing values. Got one"
FILL = ": drop or fill these rows."


def row_error(
    parameter: str | None,
    got: str,
    rows: Sequence[int] | IntArray,
    first_row: int | None = None,
    *,
    column: str | None = None,
    then: str = ".",
) -> InvalidValueError:
    """Make the error for the first of these rows; all were seen if `first_row` is None."""
    rest = "" if column is None else f", column {column!r}"
    rest += " instead" + (f" ({len(rows)} such in all)" if first_row is None else "")
    row = int(rows[0]) + (first_row or 0)
    return InvalidValueError(got, parameter=parameter, row=row, rest=rest + then)


def from_native(data: object, name: str) -> Any:
    """Wrap a frame or a series of any library, lazy ones collected; return anything else as it is.

    Dask frames stay lazy: they may be larger than memory.
    """
    try:
        frame = nw.from_native(cast(Any, data), pass_through=True, allow_series=True)
        is_lazy = isinstance(frame, nw.LazyFrame) and not hasattr(data, "__dask_graph__")
        return frame.collect() if is_lazy else frame
    except nw.exceptions.DuplicateError as error:
        columns = [str(column) for column in cast(Any, data).columns]
        twice = sorted({column for column in columns if columns.count(column) > 1})
        raise InvalidValueError(
            f"The columns of the {name!r} parameter must have different names. "
            f"Got {twice} more than once instead."
        ) from error


def collected(data: Any) -> Any:
    """Return a lazy frame as one in memory, for candidates to compute with; others as they are."""
    if not hasattr(data, "collect") or hasattr(data, "__dask_graph__"):
        return data
    frame = from_native(data, "X")
    return frame.to_native() if isinstance(frame, nw.DataFrame) else data


def is_number(column: nw.Series[Any]) -> bool:
    """Whether a column holds numbers or booleans."""
    return column.dtype.is_numeric() or column.dtype == nw.Boolean


def as_real(values: object) -> FloatArray:
    """Return real numbers as float64; an error for text, dates, complex and masked numbers.

    NumPy would convert them: text to what it spells, dates to days, masked numbers to what is
    below the mask, complex ones to their real part.
    """
    array = np.asarray(values)
    entries = array.flat if array.dtype.kind == "O" else ()
    if np.ma.is_masked(values) or any(isinstance(entry, str | bytes) for entry in entries):
        raise TypeError("not all are numbers")
    if array.dtype.kind not in "biufO":
        raise TypeError(f"not numbers, but {array.dtype}")
    try:
        return np.asarray(array, dtype=np.float64)
    except OverflowError as error:
        raise ValueError("not all fit into double precision") from error


def read_only(values: Any) -> Any:
    """Return a view of an array that cannot be written to; anything else as it is.

    Functions that users write are given such views: if they worked in place, the next call would
    see other numbers.
    """
    if not isinstance(values, np.ndarray):
        return values
    view = values.view()
    view.flags.writeable = False
    return view


def as_floats(column: nw.Series[Any]) -> FloatArray:
    """Return a column of numbers as float64 values."""
    return np.asarray(column.cast(nw.Float64).to_numpy(), dtype=np.float64)


def is_missing(value: object) -> bool:
    """Whether an entry is None, NaN, infinite, or one of pandas' missing values."""
    if value is None or (isinstance(value, float) and not math.isfinite(value)):
        return True
    pandas = sys.modules.get("pandas")  # its missing values exist only where it is loaded
    return pandas is not None and (value is pandas.NA or value is pandas.NaT)


def read_inputs(
    X: object, name: str = "X", *, first_row: int | None = None
) -> tuple[Values, tuple[str, ...]]:
    """Turn arrays, frames and sequences into float64 values (or objects) and column names."""
    values: Values
    frame = from_native(X, name)
    if isinstance(frame, nw.LazyFrame):
        raise InvalidTypeError(
            "must be in memory. Got a lazy frame instead: call compute() first.", parameter=name
        )
    if isinstance(frame, nw.Series):
        table, names = _read_columns([frame], [frame.name or "x"], name, first_row)
        values = table[:, 0]
    elif isinstance(frame, nw.DataFrame):
        values, names = _read_columns(list(frame.iter_columns()), frame.columns, name, first_row)
    else:
        values, names = _read_array(X, name, first_row)
    if len(values) == 0:
        raise InvalidValueError("must have at least one row. Got 0 instead.", parameter=name)
    return values, names


def read_predictions(
    y_prob: object, name: str = "y_prob", *, first_row: int | None = None
) -> FloatArray:
    """Turn predicted probabilities into float64 values (n,) between 0 and 1."""
    values, _ = read_inputs(y_prob, name, first_row=first_row)
    if isinstance(values, tuple):
        raise InvalidTypeError(
            f"must hold numbers. Got a sequence of {type(values[0]).__name__} instead.",
            parameter=name,
        )
    if values.ndim == 2 and values.shape[1] == 1:
        values = values[:, 0]
    if values.ndim != 1:
        raise InvalidValueError(
            f"must have shape (n,), the probability of the positive class. "
            f"Got {values.shape} instead{columns_hint(values.shape)}.",
            parameter=name,
        )
    if values.min() < 0 or values.max() > 1:
        outside = np.flatnonzero((values < 0) | (values > 1))
        got = f"must be between 0 and 1. Got {values[outside[0]]!s}"
        raise row_error(name, got, outside, first_row, then=f".{percent_hint(values)}")
    return values


def columns_hint(shape: tuple[int, ...]) -> str:
    """Say what to do with what `predict_proba` returns, where that is what was given."""
    is_both = len(shape) == 2 and shape[1] == 2
    return ": pass its column [:, 1], the positive class" if is_both else ""


def percent_hint(values: FloatArray) -> str:
    """Say what to do with percentages, where probabilities look like them."""
    looks = values.min() >= 0 and 1 < values.max() <= 100
    return " If these are percentages, divide them by 100." if looks else ""


def numeric(values: Values) -> FloatArray:
    """Return the values if they are numbers; an error if they are objects."""
    if isinstance(values, tuple):
        raise InvalidTypeError(
            "must be numeric for this model, statistic or kernel. Got a sequence "
            f"of {type(values[0]).__name__} instead. Objects need a callable or precomputed kernel "
            "and a candidate that understands them.",
            parameter="X",
        )
    return values


def _read_columns(
    columns: list[nw.Series[Any]], labels: Sequence[object], name: str, first_row: int | None
) -> tuple[FloatArray, tuple[str, ...]]:
    if not columns:
        raise InvalidValueError("must have at least one column. Got 0 instead.", parameter=name)
    names = tuple(str(label) for label in labels)
    wrong = [
        f"{label!r} ({column.dtype})"
        for label, column in zip(names, columns, strict=True)
        if not is_number(column)
    ]
    if wrong:
        raise InvalidTypeError(
            f"The columns of the {name!r} parameter must be numeric. Got {', '.join(wrong)} "
            "instead: leave these columns out, turn them into numbers, or let a formula do it "
            "(ConfidenceRegion.from_formula)."
        )
    values = np.column_stack([as_floats(column) for column in columns])
    return _finite(values, names, name, first_row), names


def _read_array(X: object, name: str, first_row: int | None) -> tuple[Values, tuple[str, ...]]:
    if hasattr(X, "toarray"):
        raise InvalidTypeError(
            f"must be dense. Got a sparse {type(X).__name__} instead: call toarray() first.",
            parameter=name,
        )
    if not is_sequence(X):
        raise InvalidTypeError(
            f"must be an array, a frame or a sequence with one entry per row. "
            f"Got {type(X).__name__} instead.",
            parameter=name,
        )
    if np.ma.is_masked(X):
        row = int(np.argwhere(np.ma.getmaskarray(cast(Any, X)))[0][0])
        got = "must not hold masked values. Got one"
        raise InvalidValueError(got, parameter=name, row=row, rest=f" instead{FILL}")
    try:
        array = np.asarray(X)
    except ValueError:  # rows of different lengths: objects
        return tuple(cast(Sequence[object], X)), ()
    if array.dtype.kind == "O":
        array = _numbers_if_all_are(array, name, first_row)
    if array.dtype.kind in "OUS":
        if isinstance(X, np.ndarray) and array.ndim != 1:
            raise InvalidTypeError(
                f"must be numeric, or a sequence with one object per row. "
                f"Got an array of shape {array.shape} with dtype {array.dtype} instead.",
                parameter=name,
            )
        return tuple(cast(Sequence[object], X)), ()
    if array.dtype.kind not in "biuf":
        raise InvalidTypeError(
            f"must hold real numbers. Got dtype {array.dtype} instead.", parameter=name
        )
    if array.ndim not in (1, 2) or (array.ndim == 2 and array.shape[1] == 0):
        raise InvalidValueError(
            f"must have shape (n,) or (n, d) with d >= 1. Got {array.shape} instead.",
            parameter=name,
        )
    width = 1 if array.ndim == 1 else array.shape[1]
    names = ("x",) if width == 1 else tuple(f"x{column}" for column in range(width))
    return _finite(array, names, name, first_row), names


def is_sequence(values: object) -> bool:
    """Whether values are an array, a list or the like, with one entry per row."""
    return hasattr(values, "__len__") and not isinstance(values, (str, bytes, Mapping, Set))


def _numbers_if_all_are(
    array: npt.NDArray[Any], name: str, first_row: int | None
) -> npt.NDArray[Any]:
    """Turn an array of objects into numbers, unless an entry is neither a number nor missing."""
    missing = [is_missing(value) for value in array.flat]
    present = [value for value, gone in zip(array.flat, missing, strict=True) if not gone]
    if not present or not all(isinstance(value, Real) for value in present):
        return array
    if any(missing):
        rows = np.flatnonzero(missing) * len(array) // array.size
        raise row_error(name, MISSING, rows, first_row, then=FILL)
    try:
        return as_real(array)
    except ValueError as error:
        raise InvalidValueError(
            "must hold numbers up to 1.8e308 in size, the largest in double precision. "
            "Got a larger one instead.",
            parameter=name,
        ) from error


def _finite(
    array: npt.NDArray[Any], names: tuple[str, ...], name: str, first_row: int | None
) -> FloatArray:
    """Return a copy in double precision, and check that it is finite."""
    # -0.0 and 0.0 are the same input
    values: FloatArray = np.add(array, 0.0, dtype=np.float64)
    finite = np.isfinite(values)
    if not finite.all():
        table = values.reshape(len(values), -1)
        bad = np.argwhere(~finite.reshape(table.shape))
        row, column = bad[0]
        got = f"must hold finite numbers. Got {table[row, column]}"
        raise row_error(name, got, bad[:, 0], first_row, column=names[column], then=FILL)
    return values
