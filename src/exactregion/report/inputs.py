"""Bands along the inputs of a region, as columns that vary one at a time, and their figures."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
from bokeh.models import ColumnDataSource, PlainText

from exactregion._typing import FloatArray
from exactregion.plotting import BandDisplay, formats, wording
from exactregion.plotting.bands import fields_of
from exactregion.region import ConfidenceRegion
from exactregion.region.places import input_frame, model_inputs
from exactregion.report.figures import add_glyph, add_line, limits_around, new_figure, set_ticks
from exactregion.report.page import Figure, Key

MOST_INPUTS = 6
"""Bands are computed along this many inputs at most: each is a search and a figure more."""

POINTS = 41, 25
"""Points of a band along a single input, and along each of several, where the searches add up."""

FEW_LEVELS, MOST_LEVELS = 5, 12
"""A column of numbers with at most 5 values is shown at these only. One of words is shown at the 12
most frequent: more have no room for their names below the axis."""

MOST_HELD = 8
"""More inputs than this that are held are not all named: they would fill lines below the figure."""

HEIGHT = 400
"""Of the figures that stand beside each other, in pixels."""

STEPS = 65_535
"""Probabilities are stored in the page as whole numbers of this many steps: uint16, a quarter of
the size of floats, and finer than a pixel."""

MOST_ROWS = 2_000
"""More rows of data than this are not all drawn: marks would cover each other."""

NOWHERE: dict[str, Any] = {"x": [], "y": []}
POINTED = {"line_color": "paper", "fill_color": "vermilion"}


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
                x=one.places(path),
                **fields_of(band, part),
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
        return list(np.linspace(self.values.min(), self.values.max(), points))

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
        return formats.shortened(str(value), 24)


def _columns_of(region: ConfidenceRegion) -> list[Column]:
    """Return the inputs: those of the formula, or the columns of X; none where X holds objects."""
    if isinstance(region.fitted_.sample.inputs.X, tuple):
        return []
    frame = input_frame(region.fitted_)
    return [_column(str(name), values.to_numpy()) for name, values in frame.items()]


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
    held = [f"{formats.shortened(one.name)} = {one.text(one.typical)}" for one in others]
    return formats.first_of(held, MOST_HELD)


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
    try:
        X = model_inputs(region.fitted_, pd.DataFrame(table))
        region.model_.probabilities(region.estimate_, X)
    except Exception:  # whatever a function or a formula of the user's may raise
        return None
    return X


def band_figure(
    region: ConfidenceRegion, display: InputBand, theta: FloatArray, number: int
) -> Figure:
    """Draw the band along one input, with room for the curve that is pointed at."""
    few = display.levels is not None
    plot = new_figure(
        f"band{number}",
        x=(display.name, limits_around(display.x, 0.15 if few else 0.03)),
        y=("probability of the outcome", (-0.1, 1.1)),
        height=HEIGHT,
        pointed=False,
    )
    plot.yaxis[0].ticker = [0, 0.2, 0.4, 0.6, 0.8, 1]
    if display.levels is not None:
        set_ticks(plot.xaxis[0], display.x, [PlainText(text=text) for text in display.levels])
    keys = _draw_band(plot, display)
    P = region.model_.probabilities(theta, display.X)
    steps = ColumnDataSource({"steps": np.rint(STEPS * P).astype(np.uint16).ravel()}, name="steps")
    plot.tags = [*plot.tags, steps, ColumnDataSource({"x": display.x}, name="grid")]
    if few:
        add_glyph(plot, "scatter", NOWHERE, POINTED, name="curve", size=13, line_width=2)
    else:
        add_line(plot, [], [], "vermilion", name="curve", line_width=3)
    keys.append(Key("dot-vermilion" if few else "line-vermilion", "pointed at"))
    reading = (
        "No curve of the family fits; the dashed one is the estimate."
        if display.status == "empty"
        else "If the family is right, the whole true curve lies within the band with a probability "
        f"of at least {formats.percent(display.coverage)}."
    )
    return Figure(
        f"band{number}",
        f"Probability of the outcome along {formats.shortened(display.name)}: the band, the data, "
        "and the curve of the parameters that are pointed at.",
        plot,
        keys,
        reading + (f" The other inputs are held at {display.held}." if display.held else ""),
    )


def _draw_band(plot: Any, display: InputBand) -> list[Key]:
    """Draw the band, the data and the curve of the estimate."""
    is_empty, few, keys = display.status == "empty", display.levels is not None, []
    roles = {"fill_color": "blue"}
    if not is_empty:
        if few:
            bars = {"x": display.x, "bottom": display.lower, "top": display.upper}
            width = 0.06 * (plot.x_range.end - plot.x_range.start)
            add_glyph(plot, "vbar", bars, roles, width=width, fill_alpha=0.25, line_color=None)
        else:
            area = {"x": display.x, "y1": display.lower, "y2": display.upper}
            add_glyph(plot, "varea", area, roles, fill_alpha=0.25)
        keys.append(Key("area-blue", f"{formats.percent(display.coverage)} simultaneous band"))
    keys.append(_draw_data(plot, display))
    if few:
        best = {"x": display.x, "y": display.estimate}
        add_glyph(plot, "scatter", best, roles | {"line_color": "paper"}, size=11)
    else:
        dash = "dashed" if is_empty else "solid"
        add_line(plot, display.x, display.estimate, "blue", line_width=2, line_dash=dash)
    look = "dot-solid" if few else "dash-blue" if is_empty else "line-blue"
    return [*keys, Key(look, wording.estimate_name(is_empty))]


def _draw_data(plot: Any, display: InputBand) -> Key:
    spread = 0.0 if display.levels is None else 0.025 * float(np.ptp(display.x))
    x, y, trials = display.marks(MOST_ROWS, spread)
    rows = 0 if display.trials is None else int((display.trials > 0).sum())
    part = "" if len(x) == rows else f", {len(x):,} of {rows:,} rows"
    if display.is_labels:
        style: dict[str, Any] = {"marker": "dash", "angle": np.pi / 2, "size": 10}
        style["line_alpha"] = 0.8 if len(x) < 300 else 0.4
        add_glyph(plot, "scatter", {"x": x, "y": y}, {"line_color": "ink"}, **style)
        return Key("tick", f"outcomes: top happened, bottom did not{part}")
    shares = {"x": x, "y": y, "size": 6 + 9 * np.sqrt(trials / trials.max(initial=1))}
    roles = {"line_color": "ink", "fill_color": "paper"}
    add_glyph(plot, "scatter", shares, roles, line_width=1.3)
    return Key("dot", f"observed shares{part}")
