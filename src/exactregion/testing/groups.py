"""Several tests in one call, of models or groups of rows: which they are, and one table of them."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import narwhals as nw
import numpy as np
import numpy.typing as npt

from exactregion._typing import FloatArray, IntArray
from exactregion.data.reading import MISSING, from_native, row_error
from exactregion.data.sample import CHUNK_ROWS
from exactregion.data.sources import Rows
from exactregion.errors import ArgumentError, InvalidTypeError, InvalidValueError
from exactregion.testing.result import ExactTestResult

if TYPE_CHECKING:
    import pandas as pd


def holm(pvalues: npt.ArrayLike) -> FloatArray:
    """Adjust p-values by Holm's method.

    Rejecting where the adjusted p-value is at most α makes even one false rejection among all
    with probability at most α, however the tests depend on each other.

    Examples
    --------
    >>> holm([0.01, 0.04, 0.03]).round(3)
    array([0.03, 0.06, 0.06])
    """
    p = np.asarray(pvalues, dtype=np.float64)
    order = np.argsort(p, kind="stable")
    adjusted = np.empty_like(p)
    factors = np.arange(len(p), 0, -1)
    adjusted[order] = np.minimum(np.maximum.accumulate(factors * p[order]), 1.0)
    return adjusted


def table_of(results: Mapping[Any, ExactTestResult], *names: str) -> pd.DataFrame:
    """Put results into a table, one row each; keys are tuples where the index has several names.

    The adjusted p-values are those of all rows together.
    """
    import pandas as pd

    keys: Any = list(results)
    several = len(names) > 1
    index: Any = (
        pd.MultiIndex.from_tuples(keys, names=names) if several else pd.Index(keys, name=names[0])
    )
    table = pd.DataFrame([_row(result) for result in results.values()], index=index)
    table.insert(4, "pvalue_holm", holm(table["pvalue"]))
    return table


def _row(result: ExactTestResult) -> dict[str, float | int]:
    data = result.question
    total = data.trials.sum()
    return {
        "n": int(total),
        "observed": data.successes.sum() / total,
        "predicted": data.probabilities @ data.trials / total,
        "pvalue": result.pvalue,
        "rank": result.rank,
        "statistic": result.statistic,
        "misfit": result.misfit.kind,
    }


def name_of_groups(by: Any) -> str:
    """Return the name of the column that groups rows: its own, or what it is called in `data`."""
    name = by if isinstance(by, str) else getattr(by, "name", None)
    return "group" if name is None else str(name)


def rows_of_groups(by: Any, n: int) -> dict[Any, IntArray]:
    """Return the row numbers of each group, groups sorted where they can be."""
    if np.shape(by) != (n,):
        raise InvalidValueError(
            f"must have one group per row, shape ({n},). Got {np.shape(by)} instead.",
            parameter="by",
        )
    column = _column_of_groups(by)
    try:
        found = column.groupby(column, observed=True, sort=True).indices
    except TypeError:  # names and numbers mixed have no order
        found = column.groupby(column, observed=True, sort=False).indices
    return {group: np.asarray(rows) for group, rows in found.items()}


def count_groups(index: int, rows: Rows) -> dict[Any, int]:
    """Count the rows of each group in a chunk."""
    column = _column_of_groups(rows.by, index * CHUNK_ROWS)
    return {group: int(number) for group, number in column.value_counts(sort=False).items()}


def _column_of_groups(by: Any, first_row: int | None = None) -> pd.Series[Any]:
    """Check groups, those of a chunk where it has a first row."""
    import pandas as pd

    if np.ndim(by) != 1:
        raise InvalidValueError(
            f"must have one group per row, shape (n,). Got {np.shape(by)} instead.", parameter="by"
        )
    values = by.to_pandas() if hasattr(by, "to_pandas") else by
    column = pd.Series(values, dtype=object) if isinstance(values, list) else pd.Series(values)
    column = column.reset_index(drop=True).infer_objects()
    missing = np.flatnonzero(column.isna())
    if len(missing):
        then = ": give these rows a group of their own."
        raise row_error("by", MISSING, missing, first_row, then=then)
    wrong = [] if column.dtype != object else [v for v in column if not isinstance(v, Hashable)]
    if wrong:
        raise InvalidTypeError(
            "must hold groups that can be told apart: numbers, text or the like. "
            f"Got {type(wrong[0]).__name__} instead.",
            parameter="by",
        )
    return column


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
