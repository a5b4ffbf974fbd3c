"""Inputs as their user knows them: columns of a frame, usual values, and the range of the data."""

from __future__ import annotations

import re
from collections.abc import Mapping
from numbers import Real
from typing import TYPE_CHECKING, Any

import numpy as np

from exactregion._typing import BoolArray, FloatArray
from exactregion.data.frames import as_pandas
from exactregion.data.reading import collected, numeric, read_inputs
from exactregion.data.table import did_you_mean, shown_names
from exactregion.errors import InvalidTypeError, InvalidValueError
from exactregion.region.fitted import FittedRegion

if TYPE_CHECKING:
    import pandas as pd

__all__ = [
    "input_frame",
    "is_number",
    "levels_of",
    "model_inputs",
    "new_inputs",
    "outside_data",
    "read_at",
    "read_input",
    "read_place",
    "usual_values",
    "values_text",
]


def input_frame(fitted: FittedRegion) -> pd.DataFrame:
    """Return the inputs of the fit: columns of the formula, or of X, in the order of its rows."""
    import pandas as pd

    if fitted.design is not None:
        return fitted.design.data[list(fitted.design.columns)]
    inputs = fitted.sample.inputs.original
    if isinstance(inputs.X, tuple):
        raise InvalidTypeError(
            "must be columns of numbers for this. Got objects instead: use functional(g).",
            parameter="X",
        )
    rows = numeric(inputs.user_rows).reshape(len(inputs), -1)
    # a copy: medians of pandas before 2.2 fail on arrays that cannot be written to
    return pd.DataFrame(rows.copy(), columns=list(inputs.names))


def model_inputs(fitted: FittedRegion, frame: pd.DataFrame) -> Any:
    """Return rows of the columns of `input_frame` as the family takes them."""
    if fitted.design is not None:
        return fitted.design.transform(frame)
    matrix = frame.to_numpy(dtype=np.float64)
    return matrix[:, 0] if numeric(fitted.sample.inputs.original.X).ndim == 1 else matrix


def new_inputs(fitted: FittedRegion, X: Any) -> FloatArray:
    """Read new inputs; columns of a frame are taken by name, and through the formula."""
    X, design = collected(X), fitted.design
    if design is not None and design.takes(X):
        X = design.transform(X)
    elif design is not None and design.is_coded and not hasattr(X, "columns"):
        raise InvalidValueError(
            f"must be a frame with the columns {list(design.columns)}, since the "
            f"formula {design.formula!r} does not take them as they are. "
            f"Got {type(X).__name__} without names instead.",
            parameter="X",
        )
    values, names = read_inputs(X)
    known = fitted.sample.inputs.names
    matrix = numeric(values)
    table = matrix.reshape(len(matrix), -1)
    if table.shape[1] != len(known):
        raise InvalidValueError(
            f"must have the {len(known)} columns that fit was given, "
            f"{list(known)}. Got {table.shape[1]} instead.",
            parameter="X",
        )
    if hasattr(X, "columns") and names != known and set(names) == set(known):
        return np.ascontiguousarray(table[:, [names.index(name) for name in known]])
    given = numeric(fitted.sample.inputs.original.X).ndim
    return matrix if given == matrix.ndim else table


def outside_data(fitted: FittedRegion, X: Any, inputs: FloatArray) -> BoolArray:
    """Return which rows have a number below or above all data; `inputs` are X as the family's."""
    design = fitted.design
    outside = np.zeros(len(inputs), dtype=np.bool_)
    if design is not None and design.takes(X):
        new = as_pandas(X, "X")
        names = [name for name in design.columns if is_number(design.data[name])]
        pairs = [(new[name].to_numpy(), design.data[name].to_numpy()) for name in names]
    else:
        columns = fitted.sample.inputs.original.matrix.T
        pairs = list(zip(inputs.reshape(len(inputs), -1).T, columns, strict=True))
    for values, data in pairs:
        outside |= (values < data.min()) | (values > data.max())
    return outside


def is_number(column: pd.Series[Any]) -> bool:
    """Return whether a column holds numbers; if not, it holds levels."""
    return column.dtype.kind in "iuf"


def usual_values(inputs: pd.DataFrame) -> dict[str, Any]:
    """Return the median of each column of numbers, and the most frequent level of others."""
    return {
        str(name): float(column.median()) if is_number(column) else column.mode().iloc[0]
        for name, column in inputs.items()
    }


def read_at(inputs: pd.DataFrame, at: Any, parameter: str = "at") -> dict[str, Any]:
    """Check values of inputs by name: numbers, or levels that the column has."""
    if at is None:
        return {}
    if not isinstance(at, Mapping):
        raise InvalidTypeError(
            "must map inputs to their values, such as {'sex': 'male'}. "
            f"Got {type(at).__name__} instead.",
            parameter=parameter,
        )
    names = [str(name) for name in inputs.columns]
    values: dict[str, Any] = {}
    for name, value in at.items():
        if name not in names:
            known = f"one of {shown_names(names)}" if names else "left out: there are no others"
            raise InvalidValueError(
                f"must name other inputs, {known}. Got {name!r} instead."
                f"{did_you_mean(str(name), names)}",
                parameter=parameter,
            )
        column = inputs[str(name)]
        if is_number(column):
            if not isinstance(value, Real) or not np.isfinite(float(value)):
                raise InvalidValueError(
                    f"must have a finite number for {name!r}. Got {value!r} instead.",
                    parameter=parameter,
                )
            values[name] = float(value)
            continue
        if value not in set(column):
            raise InvalidValueError(
                f"must have a level of {name!r}, one of {shown_names(levels_of(column))}. "
                f"Got {value!r} instead.",
                parameter=parameter,
            )
        values[name] = value
    return values


def read_place(
    fitted: FittedRegion, input: str | None, at: Any
) -> tuple[pd.DataFrame, str, dict[str, Any], dict[str, Any]]:
    """Return all inputs, the name of the one that varies, and the others: given, and as held."""
    inputs = input_frame(fitted)
    name = read_input(inputs, input)
    others = inputs.drop(columns=name)
    given = read_at(others, at)
    return inputs, name, given, _held(others, given, name)


def read_input(inputs: pd.DataFrame, input: Any) -> str:
    """Return the input that is meant; the only number if none is named."""
    names = [str(name) for name in inputs.columns]
    if input is None:
        numbers = [name for name in names if is_number(inputs[name])]
        if len(numbers) != 1:
            raise InvalidValueError(
                f"must name the input, one of {shown_names(numbers or names)}. Got none instead.",
                parameter="input",
            )
        return numbers[0]
    if not isinstance(input, str):
        raise InvalidTypeError(
            f"must be the name of an input. Got {type(input).__name__} instead.",
            parameter="input",
        )
    if input not in names:
        meant = [name for name in names if re.search(rf"\b{re.escape(name)}\b", input)]
        hint = f" Name the column, {meant[0]!r}." if meant else did_you_mean(input, names)
        raise InvalidValueError(
            f"must be one of {shown_names(names)}. Got {input!r} instead.{hint}",
            parameter="input",
        )
    return input


def _held(others: pd.DataFrame, given: dict[str, Any], name: str) -> dict[str, Any]:
    """Return the values of all other inputs: given, or the median; levels must be given."""
    for column, values in others.items():
        levels = levels_of(values)
        if column not in given and not is_number(values) and len(levels) > 1:
            raise InvalidValueError(
                f"must have a level of {column!r}, one of {shown_names(levels)}, on which the "
                f"threshold depends: at={{{column!r}: {levels[0]!r}}}; "
                f"region.thresholds({name!r}) has them all.",
                parameter="at",
            )
    return usual_values(others) | given


def levels_of(column: pd.Series[Any]) -> list[Any]:
    """List the levels that a column has, sorted."""
    return sorted(set(column), key=str)


def values_text(values: Mapping[str, Any]) -> str:
    """Write values with their names."""
    return ", ".join(
        f"{name} = {value:g}" if isinstance(value, float) else f"{name} = {value}"
        for name, value in values.items()
    )
