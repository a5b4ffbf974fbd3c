"""Checked outcomes from what users have: labels of any kind, or successes and failures.

They become successes and trials; labels are single trials.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, cast

import narwhals as nw
import numpy as np
import numpy.typing as npt

from exactregion._typing import IntArray
from exactregion.data.reading import from_native, is_missing, is_sequence, row_error
from exactregion.errors import InvalidTypeError, InvalidValueError

MAX_TRIALS = 2**31
"""Most trials in all: sums over them take 31 of the 53 bits of a double, features the rest."""


@dataclass(frozen=True, eq=False)
class Outcomes:
    """Outcomes as successes and trials; labels are single trials."""

    successes: IntArray  # (n,)
    trials: IntArray  # (n,)
    is_counts: bool  # whether they were given as (successes, failures)
    classes: tuple[object, object] | None  # negative, positive as the user wrote them, if known


def read_outcomes(y: object, pos_label: object, name: str) -> Outcomes:
    """Turn labels of two classes, or (successes, failures), into `Outcomes`."""
    values = outcome_values(y, name)
    if values.ndim == 2:
        check_no_label(pos_label, name)
        return counted(values)
    classes = find_classes(distinct_labels(values), values.dtype.kind, pos_label, name)
    return labelled(values, classes)


def outcome_values(y: object, name: str, *, first_row: int | None = None) -> npt.NDArray[Any]:
    """Check outcomes without regard to classes: labels (n,), or whole numbers (n, 2)."""
    values = _outcome_array(y, name)
    missing = _missing_rows(values)
    if len(missing):
        got = "must not hold missing or infinite values. Got one"
        raise row_error(name, got, missing, first_row, then=": drop these rows.")
    if values.dtype.kind == "O":
        values = np.asarray(values.tolist())
    if values.ndim == 2 and values.shape[1] == 2:
        return _read_counts(values, name, first_row)
    if values.ndim == 2 and values.shape[1] == 1:
        values = values[:, 0]
    if values.ndim != 1:
        raise _shape_error(name, values.shape)
    return values


def _shape_error(name: str, got: object) -> InvalidValueError:
    return InvalidValueError(
        f"must have shape (n,) for labels or (n, 2) for successes and failures. Got {got} instead.",
        parameter=name,
    )


def counted(counts: IntArray) -> Outcomes:
    """Make outcomes of successes and failures (n, 2)."""
    return Outcomes(counts[:, 0].copy(), counts.sum(axis=1), True, None)


def trials_of(y: npt.NDArray[Any]) -> IntArray:
    """Return the trials (n,) of outcomes as `outcome_values` gives them."""
    return np.asarray(y.sum(axis=1)) if y.ndim == 2 else np.ones(len(y), dtype=np.int64)


def labelled(values: npt.NDArray[Any], classes: tuple[object, object]) -> Outcomes:
    """Make outcomes of labels (n,), each a single trial."""
    successes = (values == classes[1]).astype(np.int64)
    return Outcomes(successes, np.ones(len(values), dtype=np.int64), False, classes)


def distinct_labels(values: npt.NDArray[Any]) -> list[Any]:
    """Return the distinct labels in their order; two in a row, such as 0 and 1, without sorting."""
    if values.dtype.kind in "biu" and len(values):
        ends = [values.min().item(), values.max().item()]
        if ends[1] - ends[0] <= 1:
            return ends[: 1 + (ends[0] != ends[1])]
    return np.unique(values).tolist()  # type: ignore[no-any-return]


def check_no_label(pos_label: object, name: str) -> None:
    """Check that no positive class is named where outcomes are counts."""
    if pos_label is not None:
        raise InvalidValueError(
            f"must be left out where {name} has successes and failures. Got {pos_label!r} instead.",
            parameter="pos_label",
        )


def check_total(total: float, name: str) -> None:
    """Check that there are not too many trials for exact sums."""
    if total > MAX_TRIALS:
        raise InvalidValueError(
            f"The counts in the {name!r} parameter must add up to at most 2**31. "
            f"Got {total:.3g} instead."
        )


def check_same_rows(name: str, n: int, of_outcomes: str, n_outcomes: int) -> None:
    """Check that a part of the data has as many rows as there are outcomes."""
    if n != n_outcomes:
        raise InvalidValueError(
            f"The {name!r} and {of_outcomes!r} parameters must have the same number of rows. "
            f"Got {n} and {n_outcomes} instead."
        )


def no_trials_error(name: str) -> InvalidValueError:
    """Make the error for counts that are all zero."""
    return InvalidValueError(
        "must hold at least one trial. Got only zero counts instead.", parameter=name
    )


def find_classes(
    found: list[Any], kind: str, pos_label: object, name: str
) -> tuple[object, object]:
    """Return the negative and the positive class of the labels found, of this kind of dtype."""
    if len(found) > 2:
        shown = ", ".join(repr(value) for value in found[:5]) + (", …" if len(found) > 5 else "")
        shares = kind == "f" and min(found) >= 0 and max(found) <= 1
        hint = " If these are shares, give successes and failures instead." if shares else ""
        raise InvalidValueError(
            f"must have two classes. Got {len(found)} instead: {shown}.{hint}", parameter=name
        )
    if pos_label is not None:
        others = [value for value in found if value != pos_label]
        if len(others) == 2:
            raise InvalidValueError(
                f"must be one of the classes of {name}, {found}. Got {pos_label!r} instead.",
                parameter="pos_label",
            )
        return (others[0] if others else None), pos_label
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


def _outcome_array(y: object, name: str) -> npt.NDArray[Any]:
    """Return outcomes as an array of any dtype, in which missing entries are None or NaN."""
    frame = from_native(y, name)
    if isinstance(frame, nw.Series):
        return _column_of_outcomes(frame)
    if isinstance(frame, nw.DataFrame):
        return np.column_stack([_column_of_outcomes(column) for column in frame.iter_columns()])
    if np.ma.is_masked(y):
        entries = np.array(y, dtype=object)
        entries[np.ma.getmaskarray(cast(Any, y))] = None
        return entries
    if isinstance(y, np.ndarray) and y.dtype.kind != "O":
        return np.asarray(y)
    if not is_sequence(y):
        raise InvalidTypeError(
            f"must be an array, a series or a list with one entry per row. "
            f"Got {type(y).__name__} instead.",
            parameter=name,
        )
    try:
        np.asarray(y)
    except ValueError as error:
        raise _shape_error(name, "rows of different lengths") from error
    return np.asarray(y, dtype=object)


def _column_of_outcomes(column: nw.Series[Any]) -> npt.NDArray[Any]:
    if column.null_count() or column.dtype == nw.Categorical:
        return np.array(column.to_list(), dtype=object)
    return np.asarray(column.to_numpy())


def _missing_rows(table: npt.NDArray[Any]) -> IntArray:
    if table.dtype.kind == "O":
        missing = np.array([is_missing(value) for value in table.flat], dtype=np.bool_)
    elif table.dtype.kind in "fc":
        missing = ~np.isfinite(table).ravel()
    else:
        return np.empty(0, dtype=np.int64)
    return np.unique(np.flatnonzero(missing) // max(1, table[:1].size))


def _read_counts(values: npt.NDArray[Any], name: str, first_row: int | None) -> IntArray:
    if values.dtype.kind not in "biuf":
        raise InvalidTypeError(
            f"The counts in the {name!r} parameter must be whole numbers. "
            f"Got dtype {values.dtype} instead."
        )
    bad = np.flatnonzero(((values < 0) | (values != np.floor(values))).any(axis=1))
    if len(bad):
        must = f"The counts in the {name!r} parameter must be whole numbers, 0 or more."
        raise row_error(None, f"{must} Got {values[bad[0]].tolist()}", bad, first_row)
    check_total(float(values.astype(np.float64).sum()), name)
    return values.astype(np.int64)
