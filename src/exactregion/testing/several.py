"""Several models in one call, and several ways to group rows: which they are, and one table."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import narwhals as nw

from exactregion.data.reading import from_native
from exactregion.errors import ArgumentError, InvalidTypeError, InvalidValueError


def models_of(y_prob: Any, data: Any = None) -> dict[str, Any] | None:
    """Return the predictions of each model by name; None if they are those of one model.

    Several models are a mapping, a frame with one column per model, or, where `data` is a table, a
    list of names of its columns.

    Examples
    --------
    >>> models_of({"gbm": [0.1, 0.9], "logit": [0.3, 0.6]})
    {'gbm': [0.1, 0.9], 'logit': [0.3, 0.6]}
    >>> models_of([0.1, 0.9]) is None
    True
    """
    return _named(y_prob, "y_prob", "models", data)


def groupings_of(by: Any, data: Any) -> dict[str, Any] | None:
    """Return the groups of each way to group rows by its name; None if there is one way."""
    return None if by is None else _named(by, "by", "columns of groups", data)


@contextmanager
def of_model(name: str) -> Iterator[None]:
    """Name the model, if it has a name, in errors about its predictions."""
    try:
        yield
    except ArgumentError as error:
        if error.parameter != "y_prob" or not name:
            raise
        raise type(error)(error.requirement, parameter=f"y_prob[{name!r}]") from error


def _named(values: Any, parameter: str, what: str, data: Any) -> dict[str, Any] | None:
    found: dict[Any, Any] | None = None
    if isinstance(values, Mapping):
        found = dict(values)
    elif data is not None:
        if isinstance(values, list | tuple):
            _check_once(values, parameter)
            found = {name: name for name in values}
    elif hasattr(values, "__dask_graph__"):
        # a series has columns too, and a delayed object any attribute
        ndim = getattr(values, "ndim", None)
        if isinstance(ndim, int) and ndim == 2 and hasattr(values, "columns"):
            found = {name: values[name] for name in values.columns}
    else:
        frame = from_native(values, parameter)
        if isinstance(frame, nw.DataFrame):
            found = {name: frame[name].to_native() for name in frame.columns}
    if found is None:
        return None
    if not found:
        raise InvalidValueError(
            f"must have one or more {what}. Got none instead.", parameter=parameter
        )
    wrong = [name for name in found if not isinstance(name, str)]
    if wrong and isinstance(values, Mapping):
        raise InvalidTypeError(
            f"must have text as names of {what}. Got {wrong[0]!r} instead.", parameter=parameter
        )
    return {str(name): part for name, part in found.items()}


def _check_once(names: Any, parameter: str) -> None:
    twice = [name for name in names if list(names).count(name) > 1]
    if twice:
        raise InvalidValueError(
            f"must name each column once. Got {twice[0]!r} more than once instead.",
            parameter=parameter,
        )
