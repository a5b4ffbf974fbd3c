"""Validated data: inputs, outcomes, and the order in which they are worked on.

Everything that may be looked at before ranking lives in `Inputs`; the outcomes live beside it in
`Sample`. Kernels, bandwidths, domains and features are given the `Inputs` only, so that they cannot
look at y by accident.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from numbers import Real
from typing import Any, cast

import narwhals.stable.v1 as nw
import numpy as np
import numpy.typing as npt

from exactregion._typing import FloatArray, IntArray
from exactregion.errors import InvalidTypeError, InvalidValueError

__all__ = ["SORT_ROWS", "Distinct", "Inputs", "Sample", "numeric", "read_inputs"]

SORT_ROWS = 65_536
"""Rows are put into a canonical order within consecutive stretches of this many."""


@dataclass(frozen=True, eq=False)
class Distinct:
    """The distinct inputs of a data set.

    Attributes
    ----------
    points : ndarray of shape (u, d), or tuple of u objects
        The distinct inputs; objects count as distinct.
    weights : ndarray of shape (u,)
        Number of trials made at each.
    place : ndarray of shape (n,)
        The point of each row (any point for rows without trials).
    row : ndarray of shape (u,)
        A row, in canonical order, that stands at each point.
    """

    points: FloatArray | tuple[object, ...]
    weights: FloatArray
    place: IntArray
    row: IntArray


@dataclass(frozen=True, eq=False)
class Inputs:
    """What may be looked at before ranking: inputs and numbers of trials, never outcomes.

    Rows are in canonical order (see `Sample.from_data`).

    Attributes
    ----------
    X : ndarray of shape (n,) or (n, d), or tuple of n objects
        The inputs, with as many dimensions as the user gave.
    trials : ndarray of shape (n,)
        Number of trials of each row; 1 everywhere for labels.
    names : tuple of str
        A name for each column; empty for objects.
    order : ndarray of shape (n,)
        ``order[j]`` is the user's row that stands at canonical place j.
    """

    X: FloatArray | tuple[object, ...]
    trials: IntArray
    names: tuple[str, ...]
    order: IntArray

    def __len__(self) -> int:
        """Return the number of rows."""
        return len(self.trials)

    @cached_property
    def total(self) -> int:
        """Total number of trials."""
        return int(self.trials.sum())

    @property
    def matrix(self) -> FloatArray:
        """The inputs as an (n, d) matrix; an error if they are objects."""
        return numeric(self.X).reshape(len(self), -1)

    @cached_property
    def distinct(self) -> Distinct:
        """The distinct inputs at which trials were made; equal rows must get equal features."""
        used = self.trials > 0
        if isinstance(self.X, tuple):
            objects = tuple(value for value, keep in zip(self.X, used, strict=True) if keep)
            place = np.maximum(np.cumsum(used) - 1, 0)
            counts = np.asarray(self.trials[used], dtype=np.float64)
            return Distinct(objects, counts, place, used.nonzero()[0])
        points, first, place_of_used = np.unique(
            self.matrix[used], axis=0, return_index=True, return_inverse=True
        )
        place = np.zeros(len(self), dtype=np.int64)
        place[used] = place_of_used.ravel()
        counts = np.bincount(place[used], weights=self.trials[used]).astype(np.float64)
        return Distinct(points, counts, place, used.nonzero()[0][first])

    def to_user_order(self, values: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """Put the last axis of `values` back into the order of the user's rows."""
        restored = np.empty_like(values)
        restored[..., self.order] = values
        return restored


@dataclass(frozen=True, eq=False)
class Sample:
    """Inputs and outcomes that passed every check.

    Attributes
    ----------
    inputs : Inputs
        What may be looked at before ranking.
    successes : ndarray of shape (n,)
        Successes of each row in canonical order; 0 or 1 for labels.
    is_counts : bool
        Whether the outcomes were given as (successes, failures).
    classes : tuple or None
        The negative and the positive class as the user wrote them; None where unknown.
    """

    inputs: Inputs
    successes: IntArray
    is_counts: bool
    classes: tuple[object, object] | None

    def __len__(self) -> int:
        """Return the number of rows."""
        return len(self.successes)

    @classmethod
    def from_data(cls, X: object, y: object, *, pos_label: object = None) -> Sample:
        """Check the data and put the rows into canonical order.

        The order is lexicographic in the inputs, then the trials, within stretches of `SORT_ROWS`
        rows. It never depends on the outcomes, and makes every rank independent of the order in
        which the user's rows come. Objects stay in the order given.

        Parameters
        ----------
        X : array-like, frame or sequence of n objects
            Inputs.
        y : array-like of shape (n,) or (n, 2)
            Labels, or successes and failures.
        pos_label : object, optional
            The positive class, where y has two classes that do not say so themselves.

        Examples
        --------
        >>> sample = Sample.from_data([3.0, 1.0, 2.0], [1, 0, 1])
        >>> sample.inputs.X, sample.successes
        (array([1., 2., 3.]), array([0, 1, 1]))
        """
        values, names = read_inputs(X)
        successes, trials, is_counts, classes = _read_outcomes(y, pos_label)
        n = len(values)
        if n == 0:
            raise InvalidValueError("The 'X' parameter must have at least one row. Got 0 instead.")
        if len(successes) != n:
            raise InvalidValueError(
                "The 'X' and 'y' parameters must have the same number of rows. "
                f"Got {n} and {len(successes)} instead."
            )
        if trials.sum() == 0:
            raise InvalidValueError(
                "The 'y' parameter must hold at least one trial. Got only zero counts instead."
            )
        ordered = _canonical_order(values, trials)
        inputs = Inputs(_rows(values, ordered), trials[ordered], names, ordered)
        return cls(inputs, successes[ordered], is_counts, classes)

    def with_ties_ordered_by(self, values: FloatArray) -> Sample:
        """Put rows with equal inputs into the order of further numbers known of each row.

        Predicted probabilities need not be a function of the inputs; ordered by them too, the rank
        does not depend on the order of the user's rows.

        Parameters
        ----------
        values : ndarray of shape (n,)
            In the order of the user's rows.
        """
        inputs = self.inputs
        moved = _canonical_order(inputs.X, inputs.trials, values[inputs.order])
        if np.array_equal(moved, np.arange(len(self))):
            return self
        rows = _rows(inputs.X, moved)
        again = Inputs(rows, inputs.trials[moved], inputs.names, inputs.order[moved])
        return replace(self, inputs=again, successes=self.successes[moved])


def _rows(values: FloatArray | tuple[object, ...], order: IntArray) -> Any:
    if isinstance(values, tuple):
        return tuple(values[row] for row in order)
    return np.ascontiguousarray(values[order])


def numeric(values: FloatArray | tuple[object, ...]) -> FloatArray:
    """Return the values if they are numbers; an error if they are objects."""
    if isinstance(values, tuple):
        raise InvalidTypeError(
            "The 'X' parameter must be numeric for this model, statistic or kernel. Got a sequence "
            f"of {type(values[0]).__name__} instead. Objects need a callable or precomputed kernel "
            "and a candidate that understands them."
        )
    return values


def _canonical_order(
    values: FloatArray | tuple[object, ...], trials: IntArray, *ties: FloatArray
) -> IntArray:
    n = len(trials)
    if isinstance(values, tuple):
        return np.arange(n)
    columns = values.reshape(n, -1).T
    keys = [*ties, trials, *columns[::-1]]
    stretches = [
        start + np.lexsort([key[start : start + SORT_ROWS] for key in keys])
        for start in range(0, n, SORT_ROWS)
    ]
    return np.concatenate(stretches).astype(np.int64)


# --- inputs -------------------------------------------------------------------------------------


def read_inputs(X: object) -> tuple[FloatArray | tuple[object, ...], tuple[str, ...]]:
    """Turn arrays, frames and sequences into float64 values (or objects) and column names."""
    frame = nw.from_native(cast(Any, X), pass_through=True, allow_series=True)
    if isinstance(frame, nw.LazyFrame):
        raise InvalidTypeError(
            "The 'X' parameter must be in memory. Got a lazy frame instead: call collect() first."
        )
    if isinstance(frame, nw.Series):
        frame = frame.to_frame()
        values, names = _read_frame(frame)
        return values[:, 0], names
    if isinstance(frame, nw.DataFrame):
        return _read_frame(frame)
    return _read_array(X)


def _read_frame(frame: nw.DataFrame[Any]) -> tuple[FloatArray, tuple[str, ...]]:
    names = tuple(str(name) for name in frame.columns)
    wrong = [
        f"{name!r} ({dtype})"
        for name, dtype in zip(names, frame.schema.values(), strict=True)
        if not (dtype.is_numeric() or dtype == nw.Boolean)
    ]
    if wrong:
        raise InvalidTypeError(
            "The columns of the 'X' parameter must be numeric. Got "
            f"{', '.join(wrong)} instead: encode these columns, or leave them out."
        )
    columns = [
        np.asarray(frame[column].cast(nw.Float64).to_numpy(), dtype=np.float64)
        for column in frame.columns
    ]
    if not columns:
        raise InvalidValueError("The 'X' parameter must have at least one column. Got 0 instead.")
    return _finite(np.column_stack(columns), names), names


def _read_array(X: object) -> tuple[FloatArray | tuple[object, ...], tuple[str, ...]]:
    if isinstance(X, (str, bytes)) or not hasattr(X, "__len__"):
        raise InvalidTypeError(
            "The 'X' parameter must be an array, a frame or a sequence with one entry a row. "
            f"Got {type(X).__name__} instead."
        )
    try:
        array = np.asarray(X)
    except ValueError:  # rows of different lengths: objects
        return tuple(cast(Sequence[object], X)), ()
    if array.dtype.kind == "O" and array.size and all(isinstance(v, Real) for v in array.flat):
        array = array.astype(np.float64)
    if array.dtype.kind in "OUS":
        return _read_objects(X, array), ()
    if array.dtype.kind not in "biuf":
        raise InvalidTypeError(
            f"The 'X' parameter must hold real numbers. Got dtype {array.dtype} instead."
        )
    if array.ndim not in (1, 2) or (array.ndim == 2 and array.shape[1] == 0):
        raise InvalidValueError(
            "The 'X' parameter must have shape (n,) or (n, d) with d >= 1. "
            f"Got {array.shape} instead."
        )
    names = (
        ("x",)
        if array.ndim == 1 or array.shape[1] == 1
        else tuple(f"x{column}" for column in range(array.shape[1]))
    )
    return _finite(array.astype(np.float64), names), names


def _read_objects(X: object, array: npt.NDArray[Any]) -> tuple[object, ...]:
    if isinstance(X, np.ndarray) and array.ndim != 1:
        raise InvalidTypeError(
            "The 'X' parameter must be numeric, or a sequence with one object a row. "
            f"Got an array of shape {array.shape} with dtype {array.dtype} instead."
        )
    return tuple(cast(Sequence[object], X))


def _finite(values: FloatArray, names: tuple[str, ...]) -> FloatArray:
    bad = ~np.isfinite(values)
    if bad.any():
        row, column = np.argwhere(bad.reshape(len(values), -1))[0]
        raise InvalidValueError(
            "The 'X' parameter must hold finite numbers. Got "
            f"{values.reshape(len(values), -1)[row, column]} in row {row}, column "
            f"{names[column]!r} instead ({int(bad.sum())} such in all): drop or fill these rows."
        )
    return values + 0.0  # -0.0 and 0.0 are the same input


# --- outcomes -----------------------------------------------------------------------------------


def _read_outcomes(
    y: object, pos_label: object
) -> tuple[IntArray, IntArray, bool, tuple[object, object] | None]:
    values = _outcome_array(y)
    if values.ndim == 2 and values.shape[1] == 2:
        if pos_label is not None:
            raise InvalidValueError(
                "The 'pos_label' parameter must be left out where y has successes and failures. "
                f"Got {pos_label!r} instead."
            )
        counts = _read_counts(values)
        return counts[:, 0].copy(), counts.sum(axis=1), True, None
    if values.ndim == 2 and values.shape[1] == 1:
        values = values[:, 0]
    if values.ndim != 1:
        raise InvalidValueError(
            "The 'y' parameter must have shape (n,) for labels or (n, 2) for successes and "
            f"failures. Got {values.shape} instead."
        )
    negative, positive = _find_classes(values, pos_label)
    successes = (values == positive).astype(np.int64)
    return successes, np.ones(len(values), dtype=np.int64), False, (negative, positive)


def _outcome_array(y: object) -> npt.NDArray[Any]:
    frame = nw.from_native(cast(Any, y), pass_through=True, allow_series=True, eager_only=True)
    if isinstance(frame, (nw.Series, nw.DataFrame)):
        columns = [frame] if isinstance(frame, nw.Series) else [frame[c] for c in frame.columns]
        missing = np.flatnonzero(np.any([c.is_null().to_numpy() for c in columns], axis=0))
        if len(missing):
            raise InvalidValueError(_missing_outcome(missing))
        array = np.asarray(frame.to_numpy())
    else:
        array = np.asarray(y)
    if array.dtype.kind == "O":
        missing = np.flatnonzero([_is_missing(value) for value in array.flat])
        if len(missing):
            raise InvalidValueError(_missing_outcome(missing // max(1, array[0:1].size)))
        array = np.asarray(array.tolist())
    if array.dtype.kind == "f" and not np.isfinite(array).all():
        rows = np.argwhere(~np.isfinite(array))[:, 0]
        raise InvalidValueError(_missing_outcome(rows))
    return array


def _is_missing(value: object) -> bool:
    return value is None or (isinstance(value, float) and math.isnan(value))


def _missing_outcome(rows: npt.NDArray[Any]) -> str:
    return (
        "The 'y' parameter must not hold missing or infinite values. Got one in row "
        f"{int(rows[0])} instead ({len(rows)} such in all): drop these rows."
    )


def _read_counts(values: npt.NDArray[Any]) -> IntArray:
    if values.dtype.kind not in "biuf":
        raise InvalidTypeError(
            "The counts in the 'y' parameter must be whole numbers. "
            f"Got dtype {values.dtype} instead."
        )
    bad = np.flatnonzero(((values < 0) | (values != np.floor(values))).any(axis=1))
    if len(bad):
        row = bad[0]
        raise InvalidValueError(
            "The counts in the 'y' parameter must be whole numbers, 0 or more. "
            f"Got {values[row].tolist()} in row {row} instead."
        )
    return values.astype(np.int64)


def _find_classes(values: npt.NDArray[Any], pos_label: object) -> tuple[object, object]:
    found = np.unique(values).tolist()
    if len(found) > 2:
        shown = ", ".join(repr(value) for value in found[:5]) + (", …" if len(found) > 5 else "")
        raise InvalidValueError(
            f"The 'y' parameter must have two classes. Got {len(found)} instead: {shown}."
        )
    if pos_label is not None:
        return _classes_by_label(found, pos_label)
    if values.dtype.kind == "b" or (values.dtype.kind in "iuf" and set(found) <= {0, 1}):
        return (0, 1) if values.dtype.kind != "b" else (False, True)
    if values.dtype.kind in "iuf" and set(found) <= {-1, 1}:
        return -1, 1
    raise InvalidValueError(
        f"The 'pos_label' parameter must say which class of y is the positive one, of {found}. "
        "Got None instead. (Only -1/+1, 0/1 and booleans need no pos_label.)"
    )


def _classes_by_label(found: list[object], pos_label: object) -> tuple[object, object]:
    others = [value for value in found if value != pos_label]
    if len(others) == 2:
        raise InvalidValueError(
            f"The 'pos_label' parameter must be one of the classes of y, {found}. "
            f"Got {pos_label!r} instead."
        )
    return (others[0] if others else None), pos_label
