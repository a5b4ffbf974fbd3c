"""One test per group of rows, with p-values adjusted for the number of groups."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from exactregion._typing import FloatArray, IntArray
from exactregion.data.reading import place_of
from exactregion.data.sample import CHUNK_ROWS
from exactregion.data.sources import Rows
from exactregion.errors import InvalidTypeError, InvalidValueError
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
        raise InvalidValueError(
            f"must not hold missing values. Got one "
            f"{place_of(missing[0], len(missing), first_row)}: "
            "give these rows a group of their own.",
            parameter="by",
        )
    wrong = [] if column.dtype != object else [v for v in column if not isinstance(v, Hashable)]
    if wrong:
        raise InvalidTypeError(
            "must hold groups that can be told apart: numbers, text or the like. "
            f"Got {type(wrong[0]).__name__} instead.",
            parameter="by",
        )
    return column
