"""The inputs of a region as its user knows them: columns that vary one at a time."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from exactregion._typing import FloatArray
from exactregion.data.reading import numeric
from exactregion.plotting import wording

if TYPE_CHECKING:
    from exactregion.region import ConfidenceRegion

__all__ = ["Column", "columns_of", "held_at", "rows_along"]

FEW_LEVELS = 5
"""A column of numbers with at most this many values is shown at these only."""

MOST_LEVELS = 12
"""A column of words with more levels than this is shown at the most frequent."""

MOST_HELD = 8
"""More inputs than this that are held are not all named."""


@dataclass(frozen=True, eq=False)
class Column:
    """One input: its values in the user's rows, and the levels at which it is shown, if few."""

    name: str
    values: npt.NDArray[Any]
    levels: npt.NDArray[Any] | None

    @property
    def varies(self) -> bool:
        """Whether there is more than one value to show."""
        return self.levels is None or len(self.levels) > 1

    @property
    def is_numeric(self) -> bool:
        """Whether its values are numbers; if not, each level is shown at its index."""
        return self.values.dtype.kind in "iuf"

    @property
    def typical(self) -> Any:
        """The most frequent of a few values, or the median of many."""
        if self.levels is None:
            return float(np.median(self.values))
        return max(self.levels.tolist(), key=lambda level: int((self.values == level).sum()))

    def path(self, points: int) -> npt.NDArray[Any]:
        """Return the levels, or so many values from the smallest to the largest."""
        if self.levels is not None:
            return self.levels
        return np.linspace(self.values.min(), self.values.max(), points)

    def places(self, values: npt.NDArray[Any]) -> FloatArray:
        """Return the place of values on an axis; NaN for levels that are not shown."""
        if self.levels is None or self.is_numeric:
            return np.asarray(values, dtype=np.float64)
        place = {level: index for index, level in enumerate(self.levels.tolist())}
        return np.array([place.get(value, np.nan) for value in values.tolist()], dtype=np.float64)

    def text(self, value: Any) -> str:
        """Write a value, a number to five digits."""
        if self.is_numeric:
            return f"{value:.5g}".replace("-", "−")
        return wording.shortened(str(value), 24)


def columns_of(region: ConfidenceRegion) -> list[Column]:
    """Return the inputs: those of the formula, or the columns of X; none where X holds objects."""
    state = region.fitted_
    inputs = state.sample.inputs
    table: Mapping[str, Any]
    if state.design is not None:
        table = {name: state.design.data[name].to_numpy() for name in state.design.columns}
    elif isinstance(inputs.X, tuple):
        return []
    else:
        rows = np.asarray(inputs.user_rows).reshape(len(inputs), -1)
        table = dict(zip(inputs.names, rows.T, strict=True))
    return [_column(name, values) for name, values in table.items()]


def _column(name: str, values: npt.NDArray[Any]) -> Column:
    if values.dtype.kind in "iuf":
        levels = np.unique(values)
        return Column(name, values, levels if len(levels) <= FEW_LEVELS else None)
    words = values.astype(object)
    counts: dict[Any, int] = {}
    for value in words.tolist():
        counts[value] = counts.get(value, 0) + 1
    shown = sorted(sorted(counts, key=lambda level: -counts[level])[:MOST_LEVELS], key=str)
    return Column(name, words, _objects(shown))


def _objects(values: list[Any]) -> npt.NDArray[Any]:
    """Make a column of objects, which np.array would take apart if they were sequences."""
    column = np.empty(len(values), dtype=object)
    column[:] = values
    return column


def held_at(columns: list[Column], varied: Column) -> str:
    """Say at which values the other inputs are held."""
    others = [one for one in columns if one is not varied]
    held = [f"{wording.shortened(one.name)} = {one.text(one.typical)}" for one in others]
    more = len(held) - MOST_HELD
    return ", ".join(held[:MOST_HELD]) + (f" and {more} more" if more > 0 else "")


def rows_along(
    region: ConfidenceRegion,
    columns: list[Column],
    varied: list[Column],
    paths: list[npt.NDArray[Any]],
) -> Any:
    """Return rows as the family takes them, of which each part varies one input only.

    None if the family has no probabilities between the inputs of the data.
    """
    table = {
        one.name: _objects(
            [
                value
                for other, path in zip(varied, paths, strict=True)
                for value in (path.tolist() if other is one else [one.typical] * len(path))
            ]
        )
        for one in columns
    }
    state = region.fitted_
    X: Any
    try:
        if state.design is not None:
            import pandas as pd

            X = state.design.transform(pd.DataFrame({k: list(v) for k, v in table.items()}))
        else:
            X = np.column_stack([column.astype(np.float64) for column in table.values()])
            X = X[:, 0] if numeric(state.sample.inputs.X).ndim == 1 else X
        region.model_.probabilities(region.estimate_, X)
    except Exception:  # whatever a function or a formula of the user's may raise
        return None
    return X
