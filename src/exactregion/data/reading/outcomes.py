"""Outcomes: labels of two classes, or successes and failures."""

from __future__ import annotations

from collections.abc import Mapping, Set
from dataclasses import dataclass
from typing import Any

import narwhals as nw
import numpy as np
import numpy.typing as npt

from exactregion._typing import IntArray
from exactregion.data.reading.common import Part, from_native, is_missing, row_of, such
from exactregion.errors import InvalidTypeError, InvalidValueError

__all__ = [
    "MAX_TRIALS",
    "Outcomes",
    "check_no_label",
    "check_total",
    "counted",
    "find_classes",
    "labelled",
    "no_trials_error",
    "outcome_values",
    "read_outcomes",
]

MAX_TRIALS = 2**31
"""Most trials in all, so that sums over them stay exact."""


@dataclass(frozen=True, eq=False)
class Outcomes:
    """Outcomes as successes and trials.

    Attributes
    ----------
    successes, trials : ndarrays of shape (n,)
        Labels are single trials.
    is_counts : bool
        Whether they were given as (successes, failures).
    classes : tuple or None
        The negative and the positive class as the user wrote them; None where unknown.
    """

    successes: IntArray
    trials: IntArray
    is_counts: bool
    classes: tuple[object, object] | None


def read_outcomes(y: object, pos_label: object = None, name: str = "y") -> Outcomes:
    """Turn labels of two classes, or (successes, failures), into `Outcomes`."""
    values = outcome_values(y, name)
    if values.ndim == 2:
        check_no_label(pos_label, name)
        return counted(values)
    classes = find_classes(np.unique(values).tolist(), values.dtype.kind, pos_label, name)
    return labelled(values, classes)


def outcome_values(y: object, name: str, *, part: Part | None = None) -> npt.NDArray[Any]:
    """Check outcomes without regard to classes: labels (n,), or whole numbers (n, 2)."""
    values = _outcome_array(y, name, part)
    if values.ndim == 2 and values.shape[1] == 2:
        return _read_counts(values, name, part)
    if values.ndim == 2 and values.shape[1] == 1:
        values = values[:, 0]
    if values.ndim != 1:
        raise InvalidValueError(
            f"must have shape (n,) for labels or (n, 2) for successes and "
            f"failures. Got {values.shape} instead.",
            parameter=name,
        )
    return values


def counted(counts: IntArray) -> Outcomes:
    """Make outcomes of successes and failures (n, 2)."""
    return Outcomes(counts[:, 0].copy(), counts.sum(axis=1), True, None)


def labelled(values: npt.NDArray[Any], classes: tuple[object, object]) -> Outcomes:
    """Make outcomes of labels (n,), each a single trial."""
    successes = (values == classes[1]).astype(np.int64)
    return Outcomes(successes, np.ones(len(values), dtype=np.int64), False, classes)


def check_no_label(pos_label: object, name: str) -> None:
    """Check that no positive class is named where outcomes are counts."""
    if pos_label is not None:
        raise InvalidValueError(
            f"must be left out where {name} has successes and failures. Got {pos_label!r} instead.",
            parameter="pos_label",
        )


def _outcome_array(y: object, name: str, part: Part | None) -> npt.NDArray[Any]:
    frame = from_native(y, name)
    if isinstance(frame, nw.Series):
        table = _objects([frame])[:, 0]
    elif isinstance(frame, nw.DataFrame):
        table = _objects(list(frame.iter_columns()))
    elif isinstance(y, np.ndarray) and not np.ma.is_masked(y) and y.dtype.kind != "O":
        table = y
    else:
        table = _ragged_checked(y, name)
    missing = _missing_rows(table)
    if len(missing):
        raise InvalidValueError(
            f"must not hold missing or infinite values. Got one in row "
            f"{row_of(missing[0], part)} instead{such(len(missing), part)}: drop these rows.",
            parameter=name,
        )
    return np.asarray(table.tolist()) if table.dtype.kind == "O" else table


def _objects(columns: list[nw.Series[Any]]) -> npt.NDArray[Any]:
    """Put columns side by side; those with missing entries keep them as None."""
    arrays = [
        np.array(column.to_list(), dtype=object)
        if column.null_count() or column.dtype == nw.Categorical
        else np.asarray(column.to_numpy())
        for column in columns
    ]
    return np.column_stack(arrays)


def _ragged_checked(y: object, name: str) -> npt.NDArray[Any]:
    if np.ma.isMaskedArray(y):
        entries = np.array(y, dtype=object)
        entries[np.ma.getmaskarray(y)] = None
        return entries
    if isinstance(y, (str, bytes, Mapping, Set)) or not hasattr(y, "__len__"):
        raise InvalidTypeError(
            f"must be an array, a series or a list with one entry a row. "
            f"Got {type(y).__name__} instead.",
            parameter=name,
        )
    try:
        np.asarray(y)
    except ValueError as error:
        raise InvalidValueError(
            "must have shape (n,) for labels or (n, 2) for successes and "
            "failures. Got rows of different lengths instead.",
            parameter=name,
        ) from error
    return np.asarray(y, dtype=object)


def _missing_rows(table: npt.NDArray[Any]) -> IntArray:
    if table.dtype.kind == "O":
        missing = np.array([is_missing(value) for value in table.flat], dtype=np.bool_)
    elif table.dtype.kind in "fc":
        missing = ~np.isfinite(table).ravel()
    else:
        return np.empty(0, dtype=np.int64)
    return np.unique(np.flatnonzero(missing) // max(1, table[:1].size))


def _read_counts(values: npt.NDArray[Any], name: str, part: Part | None) -> IntArray:
    if values.dtype.kind not in "biuf":
        raise InvalidTypeError(
            f"The counts in the {name!r} parameter must be whole numbers. "
            f"Got dtype {values.dtype} instead."
        )
    bad = np.flatnonzero(((values < 0) | (values != np.floor(values))).any(axis=1))
    if len(bad):
        raise InvalidValueError(
            f"The counts in the {name!r} parameter must be whole numbers, 0 or more. "
            f"Got {values[bad[0]].tolist()} in row {row_of(bad[0], part)} instead."
        )
    check_total(float(values.astype(np.float64).sum()), name)
    return values.astype(np.int64)


def check_total(total: float, name: str) -> None:
    """Check that there are not too many trials for exact sums."""
    if total > MAX_TRIALS:
        raise InvalidValueError(
            f"The counts in the {name!r} parameter must add up to at most 2**31. "
            f"Got {total:.3g} instead."
        )


def no_trials_error(name: str) -> InvalidValueError:
    """Make the error for counts that are all zero."""
    return InvalidValueError(
        "must hold at least one trial. Got only zero counts instead.", parameter=name
    )


def find_classes(
    found: list[Any], kind: str, pos_label: object, name: str
) -> tuple[object, object]:
    """Say which of the labels found, of this kind of dtype, is the negative and the positive."""
    if len(found) > 2:
        shown = ", ".join(repr(value) for value in found[:5]) + (", …" if len(found) > 5 else "")
        raise InvalidValueError(
            f"must have two classes. Got {len(found)} instead: {shown}.", parameter=name
        )
    if pos_label is not None:
        return _classes_by_label(found, pos_label, name)
    if kind == "b":
        return False, True
    if kind in "iuf" and set(found) <= {0, 1}:
        return (None if found == [1] else 0), 1  # ones alone may be of 0/1 or of -1/+1
    if kind in "iuf" and set(found) <= {-1, 1}:
        return -1, 1
    raise InvalidValueError(
        f"must say which class of {name} is the positive one, of "
        f"{found}. Got None instead. (Only -1/+1, 0/1 and booleans need none.)",
        parameter="pos_label",
    )


def _classes_by_label(found: list[object], pos_label: object, name: str) -> tuple[object, object]:
    others = [value for value in found if value != pos_label]
    if len(others) == 2:
        raise InvalidValueError(
            f"must be one of the classes of {name}, {found}. Got {pos_label!r} instead.",
            parameter="pos_label",
        )
    return (others[0] if others else None), pos_label
