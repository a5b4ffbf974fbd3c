"""The inputs of a region as its user knows them: columns to vary one at a time."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from exactregion._typing import FloatArray
from exactregion.data.reading import numeric
from exactregion.plotting import wording
from exactregion.report.figures import shortened

if TYPE_CHECKING:
    from exactregion.region import ConfidenceRegion

__all__ = ["Column", "as_inputs", "columns_of"]

FEW_LEVELS = 5
"""A column of numbers with at most this many values is shown at these only."""

MOST_LEVELS = 12
"""A column of words with more levels than this is shown at the most frequent."""


@dataclass(frozen=True, eq=False)
class Column:
    """One input.

    Attributes
    ----------
    name : str
        Its name.
    values : ndarray of shape (n,)
        Its values in the user's rows: numbers, or objects such as words.
    levels : ndarray or None
        The values at which it is shown, if these are few.
    """

    name: str
    values: npt.NDArray[Any]
    levels: npt.NDArray[Any] | None

    @property
    def is_numeric(self) -> bool:
        """Whether its values are numbers; if not, places stand for levels."""
        return self.values.dtype.kind in "iuf"

    @property
    def typical(self) -> Any:
        """The most frequent of a few values, or the median of many."""
        if self.levels is None:
            return float(np.median(self.values))
        return max(self.levels.tolist(), key=lambda level: int((self.values == level).sum()))

    def path(self, points: int) -> npt.NDArray[Any]:
        """Give values to follow: the levels, or so many points from least to largest."""
        if self.levels is not None:
            return self.levels
        return np.linspace(self.values.min(), self.values.max(), points)

    def places(self, values: npt.NDArray[Any]) -> FloatArray:
        """Give the place of values on an axis; NaN for levels that are not shown."""
        if self.levels is None or self.is_numeric:
            return np.asarray(values, dtype=np.float64)
        place = {level: index for index, level in enumerate(self.levels.tolist())}
        return np.array([place.get(value, np.nan) for value in values.tolist()], dtype=np.float64)

    def text(self, value: Any) -> str:
        """Write a value."""
        return wording.number(float(value)) if self.is_numeric else shortened(str(value), 24)


def columns_of(region: ConfidenceRegion) -> list[Column]:
    """Give the inputs that vary: those of the formula, or of X; none where X holds objects."""
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
    levels = np.empty(len(shown), dtype=object)
    levels[:] = shown
    return Column(name, words, levels)


def as_inputs(region: ConfidenceRegion, rows: Mapping[str, npt.NDArray[Any]]) -> Any:
    """Put columns together as the family takes them: a matrix like that of the fit."""
    state = region.fitted_
    if state.design is not None:
        import pandas as pd

        frame = pd.DataFrame({name: list(column) for name, column in rows.items()})
        return state.design.transform(frame)
    table = np.column_stack([np.asarray(column, dtype=np.float64) for column in rows.values()])
    return table[:, 0] if numeric(state.sample.inputs.X).ndim == 1 else table
