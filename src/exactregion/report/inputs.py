"""Bands along the inputs of a region as its user knows them: columns that vary one at a time."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from exactregion._typing import FloatArray
from exactregion.data.reading import numeric
from exactregion.plotting import BandDisplay, wording
from exactregion.region import ConfidenceRegion

MOST_INPUTS = 6
"""Bands are computed along this many inputs at most."""

POINTS = 41, 25
"""Points of a band along a single input, and along each of several."""

FEW_LEVELS = 5
"""A column of numbers with at most this many values is shown at these only."""

MOST_LEVELS = 12
"""A column of words with more levels than this is shown at the most frequent."""

MOST_HELD = 8
"""More inputs than this that are held are not all named."""


@dataclass(eq=False, repr=False, kw_only=True)
class InputBand(BandDisplay):
    """A band along one input: its levels in words if few, others held, and the rows `X` at `x`."""

    levels: tuple[str, ...] | None
    held: str
    X: Any


def bands_along_inputs(region: ConfidenceRegion) -> list[InputBand]:
    """Compute bands along each input that varies, which hold all at once.

    The other inputs are held at typical values. There are none where inputs are objects, or where
    the family has no probabilities between the inputs of the data.
    """
    columns = _columns_of(region)
    varied = [one for one in columns if one.varies][:MOST_INPUTS]
    paths = [one.path(POINTS[len(varied) > 1]) for one in varied]
    X = _rows_along(region, columns, varied, paths) if varied else None
    if X is None:
        return []
    band = region.band(X)
    successes, trials = region.fitted_.sample.user_outcomes
    stops = np.cumsum([len(path) for path in paths])
    displays = []
    for one, path, stop in zip(varied, paths, stops, strict=True):
        part = slice(stop - len(path), stop)
        displays.append(
            InputBand(
                one.places(path),
                band.lower[part],
                band.upper[part],
                band.estimate[part],
                coverage=band.coverage,
                joint=band.joint,
                status=band.status,
                data_x=one.places(one.values),
                successes=successes,
                trials=trials,
                name=one.name,
                levels=None if one.levels is None else tuple(map(one.text, one.levels)),
                held=_held_at(columns, one),
                X=X[part],
            )
        )
    return displays


@dataclass(frozen=True, eq=False)
class Column:
    """One input: its values in the user's rows, and the levels at which it is shown, if few."""

    name: str
    values: npt.NDArray[Any]
    levels: list[Any] | None

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
        return max(self.levels, key=lambda level: int((self.values == level).sum()))

    def path(self, points: int) -> list[Any]:
        """Return the levels, or so many values from the smallest to the largest."""
        if self.levels is not None:
            return self.levels
        values: list[float] = np.linspace(self.values.min(), self.values.max(), points).tolist()
        return values

    def places(self, values: Iterable[Any]) -> FloatArray:
        """Return the place of values on an axis; NaN for levels that are not shown."""
        if self.levels is None or self.is_numeric:
            return np.asarray(values, dtype=np.float64)
        place = {level: index for index, level in enumerate(self.levels)}
        return np.array([place.get(value, np.nan) for value in values], dtype=np.float64)

    def text(self, value: Any) -> str:
        """Write a value, a number to five digits."""
        if self.is_numeric:
            return f"{value:.5g}".replace("-", "−")
        return wording.shortened(str(value), 24)


def _columns_of(region: ConfidenceRegion) -> list[Column]:
    """Return the inputs: those of the formula, or the columns of X; none where X holds objects."""
    design, inputs = region.fitted_.design, region.fitted_.sample.inputs
    if design is not None:
        return [_column(name, design.data[name].to_numpy()) for name in design.columns]
    if isinstance(inputs.X, tuple):
        return []
    rows = np.asarray(inputs.user_rows).reshape(len(inputs), -1)
    return [_column(name, values) for name, values in zip(inputs.names, rows.T, strict=True)]


def _column(name: str, values: npt.NDArray[Any]) -> Column:
    if values.dtype.kind in "iuf":
        levels = np.unique(values).tolist()
        return Column(name, values, levels if len(levels) <= FEW_LEVELS else None)
    words = values.astype(object)
    frequent = [level for level, _ in Counter(words.tolist()).most_common(MOST_LEVELS)]
    return Column(name, words, sorted(frequent, key=str))


def _held_at(columns: list[Column], varied: Column) -> str:
    """Say at which values the other inputs are held."""
    others = [one for one in columns if one is not varied]
    held = [f"{wording.shortened(one.name)} = {one.text(one.typical)}" for one in others]
    more = len(held) - MOST_HELD
    return ", ".join(held[:MOST_HELD]) + (f" and {more} more" if more > 0 else "")


def _rows_along(
    region: ConfidenceRegion, columns: list[Column], varied: list[Column], paths: list[list[Any]]
) -> Any:
    """Return rows as the family takes them, of which each part varies one input only.

    None if the family has no probabilities between the inputs of the data.
    """
    table: dict[str, list[Any]] = {one.name: [] for one in columns}
    for one in columns:
        for other, path in zip(varied, paths, strict=True):
            table[one.name] += path if one is other else [one.typical] * len(path)
    design, inputs = region.fitted_.design, region.fitted_.sample.inputs
    X: Any
    try:
        if design is not None:
            import pandas as pd

            X = design.transform(pd.DataFrame(table))
        else:
            X = np.column_stack([np.asarray(values, dtype=np.float64) for values in table.values()])
            X = X[:, 0] if numeric(inputs.X).ndim == 1 else X
        region.model_.probabilities(region.estimate_, X)
    except Exception:  # whatever a function or a formula of the user's may raise
        return None
    return X
