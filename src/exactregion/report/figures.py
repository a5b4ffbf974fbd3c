"""What all figures of a report share: one look, light and dark, and plain text everywhere.

Colours are set by role. Each model that has some carries them in its tags, as ``"line_color:ink"``,
and the script of the page replaces them by those of the light or the dark theme.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np
from bokeh.models import (
    BoxZoomTool,
    ColumnDataSource,
    FixedTicker,
    InlineStyleSheet,
    LinearColorMapper,
    PlainText,
    Range1d,
    ResetTool,
    SaveTool,
    Toolbar,
)
from bokeh.plotting import figure

from exactregion._typing import FloatArray
from exactregion.plotting import formats
from exactregion.plotting.belt import BeltDisplay
from exactregion.plotting.canvas import BLUE, GREY, INK, MODELS, PALE, VERMILION
from exactregion.plotting.reliability import ProbabilityAxis

if TYPE_CHECKING:
    import pandas as pd

HEAT_STEPS = 128
"""Colours of p-values from 0 to 1: one per 0.008, finer than two decimals."""

MODELS_DARK = ("#56B4E9", "#F5884A", "#2FCB9D", "#E3A4C8", "#F0BE4A", "#9AD3F5")
"""The colours of models, lighter."""

# Room for all buttons: without it the last one goes into a menu.
_TOOLBAR_STYLE = ":host { min-width: 130px } @media print { :host { visibility: hidden } }"


def _ramp(*stops: str) -> list[str]:
    """Return colours in even steps from stop to stop."""
    anchors = np.array([[int(stop[i : i + 2], 16) for i in (1, 3, 5)] for stop in stops])
    at = np.linspace(0, len(stops) - 1, HEAT_STEPS)
    parts = [np.interp(at, np.arange(len(stops)), anchor) for anchor in anchors.T]
    return ["#" + "".join(f"{round(part):02x}" for part in rgb) for rgb in np.transpose(parts)]


THEMES: dict[str, dict[str, Any]] = {
    "light": {
        "ink": INK,
        "muted": GREY,
        "grid": "#E6EAED",
        "paper": "#FFFFFF",
        "blue": BLUE,
        "pale": PALE,
        "vermilion": VERMILION,
        "heat": _ramp("#FFFFFF", "#B9D7EA", BLUE),
        **{f"model{index}": color for index, color in enumerate(MODELS)},
    },
    "dark": {
        "ink": "#EDF0F2",
        "muted": "#A3ADB5",
        "grid": "#2A3138",
        "paper": "#171B1F",
        "blue": "#56B4E9",
        "pale": "#4A555E",
        "vermilion": "#F5884A",
        "heat": _ramp("#171B1F", "#1D4A69", "#56B4E9"),
        **{f"model{index}": color for index, color in enumerate(MODELS_DARK)},
    },
}
"""What each role looks like; the blue and vermilion of the dark theme are lighter."""


def paint(model: Any, **roles: str) -> None:
    """Set properties of a model to the colours of roles, and tag them for the script."""
    for name, role in roles.items():
        setattr(model, name, THEMES["light"][role])
    model.tags = [*model.tags, *(f"{name}:{role}" for name, role in roles.items())]


def label_of(text: str) -> PlainText:
    """Make a label of a text that is shown as it is; a bare string may be read as TeX."""
    return PlainText(text=formats.shortened(text))


def limits_around(values: FloatArray, margin: float = 0.04) -> tuple[float, float]:
    """Return ends a little outside of the values."""
    low, high = float(np.min(values)), float(np.max(values))
    pad = margin * (high - low) if high > low else 0.5
    return low - pad, high + pad


def new_figure(
    name: str,
    *,
    x: tuple[str, Any],
    y: tuple[str, tuple[float, float]],
    height: int = 340,
    pointed: bool = True,
) -> Any:
    """Make an empty figure as wide as the page, with (label, limits or range) of its axes."""
    plot: Any = figure(
        name=name,
        height=height,
        sizing_mode="stretch_width",
        x_range=Range1d(start=x[1][0], end=x[1][1]) if isinstance(x[1], tuple) else x[1],
        y_range=Range1d(start=y[1][0], end=y[1][1]),
        toolbar_location="above",
        tools=[],
        min_border_left=58,
        min_border_right=14,
    )
    plot.toolbar = Toolbar(
        logo=None,
        tools=[BoxZoomTool(), ResetTool(), SaveTool()],
        active_drag=None,  # so that a finger scrolls the page
        stylesheets=[InlineStyleSheet(css=_TOOLBAR_STYLE)],
    )
    plot.subscribed_events = {"mousemove", "mouseleave", "tap"} if pointed else set()
    plot.background_fill_color = plot.border_fill_color = None
    paint(plot, outline_line_color="grid")
    for axis, label in ((plot.xaxis[0], x[0]), (plot.yaxis[0], y[0])):
        axis.axis_label = label_of(label)
        axis.axis_label_text_font = axis.major_label_text_font = "system-ui, sans-serif"
        axis.axis_label_text_font_size, axis.major_label_text_font_size = "13px", "12px"
        axis.axis_label_text_font_style = "normal"
        axis.minor_tick_line_color = axis.axis_line_color = None
        axis.major_tick_in = 0
        axis.ticker.desired_num_ticks = 5
        paint(axis, axis_label_text_color="ink", major_label_text_color="muted")
        paint(axis, major_tick_line_color="grid")
    for grid in plot.grid:
        paint(grid, grid_line_color="grid")
    return plot


def add_glyph(
    plot: Any,
    kind: str,
    columns: dict[str, Any],
    roles: dict[str, str],
    *,
    name: str | None = None,
    **settings: Any,
) -> None:
    """Draw columns, named as properties of the glyph, in colours by role (property to role)."""
    source = ColumnDataSource(columns, name=name)
    properties = {column: column for column in columns} | settings
    paint(getattr(plot, kind)(source=source, **properties).glyph, **roles)


def add_line(plot: Any, x: Any, y: Any, role: str, **settings: Any) -> None:
    """Draw a line in the colour of a role."""
    add_glyph(plot, "line", {"x": x, "y": y}, {"line_color": role}, **settings)


def limits_of(axis: ProbabilityAxis) -> tuple[float, float]:
    """Return the limits of an axis of probabilities, in coordinates of the figure."""
    low, high = axis.place([axis.low, axis.high]).tolist()
    return low, high


def set_ticks(axis: Any, places: FloatArray, labels: Iterable[Any]) -> None:
    """Write labels at places along an axis of a figure."""
    axis.ticker = FixedTicker(ticks=places.tolist())
    axis.major_label_overrides = dict(zip(places.tolist(), labels, strict=True))


def name_ticks(drawn: Any, axis: ProbabilityAxis) -> None:
    """Write probabilities along an axis that is drawn on the logit scale."""
    if axis.scale == "logit":
        set_ticks(drawn, axis.place(axis.ticks), [formats.probability(tick) for tick in axis.ticks])


class ProbabilityFigure:
    """A figure of probabilities over predicted ones, which places them on its two axes."""

    def __init__(
        self,
        name: str,
        axes: tuple[ProbabilityAxis, ProbabilityAxis],
        labels: tuple[str, str],
        **settings: Any,
    ) -> None:
        """Make it empty, as `new_figure` does."""
        self.across, self.up = axes
        x, y = ((label, limits_of(axis)) for label, axis in zip(labels, axes, strict=True))
        self.plot = new_figure(name, x=x, y=y, **settings)
        name_ticks(self.plot.xaxis[0], self.across)
        name_ticks(self.plot.yaxis[0], self.up)

    def add_diagonal(self) -> None:
        """Draw the dashed line on which outcomes are as frequent as predicted."""
        ends = [max(self.across.low, self.up.low), min(self.across.high, self.up.high)]
        look: dict[str, Any] = {"line_dash": [4, 4], "line_width": 1.4}
        add_line(self.plot, self.across.place(ends), self.up.place(ends), "muted", **look)

    def add_belt(
        self, belt: BeltDisplay, role: str = "blue", *, alpha: float = 0.25, **line: Any
    ) -> list[FloatArray]:
        """Draw a belt with its estimate, and return the places of x and of both bounds."""
        p, *curves = self.across.cut(belt.grid, belt.lower, belt.upper, belt.estimate)
        x, (lower, upper, estimate) = self.across.place(p), map(self.up.place, curves)
        area = {"x": x, "y1": lower, "y2": upper}
        add_glyph(self.plot, "varea", area, {"fill_color": role}, fill_alpha=alpha)
        add_line(self.plot, x, estimate, role, line_width=2, **line)
        return [x, lower, upper]

    def add_points(self, points: pd.DataFrame, role: str) -> None:
        """Draw the points of a reliability diagram with their limits, cut at the edge."""
        x, trials = self.across.place(points["predicted"]), points["trials"].to_numpy()
        low, high, y = (self.up.place(points[name]) for name in ("lower", "upper", "observed"))
        ends = {"x0": x, "x1": x, "y0": low, "y1": high}
        add_glyph(self.plot, "segment", ends, {"line_color": role}, line_width=1.2, line_alpha=0.7)
        # open where the share itself is beyond the edge, as 0 is on a logit axis
        inside = points["observed"].between(self.up.low, self.up.high)
        shares = {"x": x, "y": y, "size": 5 + 5 * np.sqrt(trials / trials.max())}
        shares["fill_alpha"] = np.where(inside, 1.0, 0.0)
        roles = {"line_color": role, "fill_color": role}
        add_glyph(self.plot, "scatter", shares, roles, line_width=1.4)


def add_bars(plot: Any, edges: Any, bottom: Any, top: Any, role: str, **settings: Any) -> None:
    """Draw the bars of a histogram in the colour of a role."""
    columns = {"left": edges[:-1], "right": edges[1:], "bottom": bottom, "top": top}
    roles = {"fill_color": role, "line_color": "paper"}
    add_glyph(plot, "quad", columns, roles, line_width=0.6, **settings)


def heat_mapper() -> Any:
    """Make the colours of p-values from 0 to 1."""
    mapper: Any = LinearColorMapper(palette=THEMES["light"]["heat"], low=0, high=1)
    mapper.tags = ["palette:heat"]
    return mapper
