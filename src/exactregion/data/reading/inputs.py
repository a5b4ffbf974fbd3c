"""Inputs and predictions: arrays, frames, sequences of objects."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from numbers import Real
from typing import Any, TypeAlias, cast

import narwhals as nw
import numpy as np
import numpy.typing as npt

from exactregion._typing import FloatArray
from exactregion.data.reading.common import Part, from_native, is_missing, row_of, such
from exactregion.errors import InvalidTypeError, InvalidValueError

__all__ = ["Values", "numeric", "read_inputs", "read_predictions"]

Values: TypeAlias = FloatArray | tuple[object, ...]


def read_inputs(
    X: object, name: str = "X", *, part: Part | None = None
) -> tuple[Values, tuple[str, ...]]:
    """Turn arrays, frames and sequences into float64 values (or objects) and column names."""
    frame = from_native(X, name)
    if isinstance(frame, nw.LazyFrame):
        raise InvalidTypeError(
            "must be in memory. Got a lazy frame instead: call collect() first.", parameter=name
        )
    if isinstance(frame, nw.Series):
        values, names = _read_columns([frame], [frame.name or "x"], name, part)
        return values[:, 0], names
    if isinstance(frame, nw.DataFrame):
        return _read_columns(list(frame.iter_columns()), frame.columns, name, part)
    return _read_array(X, name, part)


def read_predictions(
    y_prob: object, name: str = "y_prob", *, part: Part | None = None
) -> FloatArray:
    """Turn predicted probabilities into float64 values (n,) between 0 and 1."""
    values, _ = read_inputs(y_prob, name, part=part)
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
            f"Got {values.shape} instead.",
            parameter=name,
        )
    outside = np.flatnonzero((values < 0) | (values > 1))
    if len(outside):
        raise InvalidValueError(
            f"must be between 0 and 1. Got {values[outside[0]]!s} in row "
            f"{row_of(outside[0], part)} instead{such(len(outside), part)}.",
            parameter=name,
        )
    return values


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
    columns: list[nw.Series[Any]], labels: Sequence[object], name: str, part: Part | None
) -> tuple[FloatArray, tuple[str, ...]]:
    if not columns:
        raise InvalidValueError("must have at least one column. Got 0 instead.", parameter=name)
    names = tuple(str(label) for label in labels)
    wrong = [
        f"{label!r} ({column.dtype})"
        for label, column in zip(names, columns, strict=True)
        if not (column.dtype.is_numeric() or column.dtype == nw.Boolean)
    ]
    if wrong:
        raise InvalidTypeError(
            f"The columns of the {name!r} parameter must be numeric. Got {', '.join(wrong)} "
            "instead: leave these columns out, turn them into numbers, or let a formula do it "
            "(ConfidenceRegion.from_formula)."
        )
    values = [np.asarray(c.cast(nw.Float64).to_numpy(), dtype=np.float64) for c in columns]
    return _finite(np.column_stack(values), names, name, part), names


def _read_array(X: object, name: str, part: Part | None) -> tuple[Values, tuple[str, ...]]:
    if isinstance(X, (str, bytes, Mapping, Set)) or not (
        hasattr(X, "__len__") or hasattr(X, "toarray")
    ):
        raise InvalidTypeError(
            f"must be an array, a frame or a sequence with one entry a row. "
            f"Got {type(X).__name__} instead.",
            parameter=name,
        )
    if hasattr(X, "toarray"):
        raise InvalidTypeError(
            f"must be dense. Got a sparse {type(X).__name__} instead: call toarray() first.",
            parameter=name,
        )
    if np.ma.is_masked(X):
        row = np.argwhere(np.ma.getmaskarray(cast(Any, X)))[0][0]
        raise InvalidValueError(
            f"must not hold masked values. Got one in row {row} instead: drop or fill these rows.",
            parameter=name,
        )
    try:
        array = np.asarray(X)
    except ValueError:  # rows of different lengths: objects
        return tuple(cast(Sequence[object], X)), ()
    if array.dtype.kind == "O":
        array = _numbers_if_all_are(array, name, part)
    if array.dtype.kind in "OUS":
        return _read_objects(X, array, name), ()
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
    return _finite(array.astype(np.float64), names, name, part), names


def _numbers_if_all_are(array: npt.NDArray[Any], name: str, part: Part | None) -> npt.NDArray[Any]:
    present = [value for value in array.flat if not is_missing(value)]
    if not present or not all(isinstance(value, Real) for value in present):
        return array
    if len(present) < array.size:
        rows = np.flatnonzero([is_missing(value) for value in array.flat]) * len(array)
        raise InvalidValueError(
            f"must not hold missing values. Got one in row "
            f"{row_of(rows[0] // array.size, part)} instead{such(len(rows), part)}: "
            "drop or fill these rows.",
            parameter=name,
        )
    return array.astype(np.float64)


def _read_objects(X: object, array: npt.NDArray[Any], name: str) -> tuple[object, ...]:
    if isinstance(X, np.ndarray) and array.ndim != 1:
        raise InvalidTypeError(
            f"must be numeric, or a sequence with one object a row. "
            f"Got an array of shape {array.shape} with dtype {array.dtype} instead.",
            parameter=name,
        )
    return tuple(cast(Sequence[object], X))


def _finite(values: FloatArray, names: tuple[str, ...], name: str, part: Part | None) -> FloatArray:
    bad = ~np.isfinite(values)
    if bad.any():
        table = values.reshape(len(values), -1)
        row, column = np.argwhere(bad.reshape(table.shape))[0]
        raise InvalidValueError(
            f"must hold finite numbers. Got {table[row, column]} in row "
            f"{row_of(row, part)}, column {names[column]!r} instead{such(int(bad.sum()), part)}: "
            "drop or fill these rows.",
            parameter=name,
        )
    return values + 0.0  # -0.0 and 0.0 are the same input
