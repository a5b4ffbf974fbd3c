"""Inputs as their user knows them: columns of a frame, usual values, and the range of the data."""

from __future__ import annotations

from collections.abc import Mapping
from numbers import Real
from typing import TYPE_CHECKING, Any

import numpy as np

from exactregion.data.reading import numeric
from exactregion.data.table import did_you_mean, shown_names
from exactregion.errors import InvalidTypeError, InvalidValueError
from exactregion.region.fitted import FittedRegion

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["input_frame", "is_number", "model_inputs", "read_at", "usual_values", "values_text"]


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


def levels_of(column: pd.Series[Any]) -> list[Any]:
    """List the levels that a column has, sorted."""
    return sorted(set(column), key=str)


def values_text(values: Mapping[str, Any]) -> str:
    """Write values with their names."""
    return ", ".join(
        f"{name} = {value:g}" if isinstance(value, float) else f"{name} = {value}"
        for name, value in values.items()
    )
