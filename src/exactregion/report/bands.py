"""Figures of P(Y=1|x) along one input: the band, the data, and the curve that is pointed at."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from bokeh.models import ColumnDataSource, PlainText

from exactregion.plotting import wording
from exactregion.report.curves import Curves
from exactregion.report.figures import add_glyph, limits_around, new_figure, shortened
from exactregion.report.inputs import Column
from exactregion.report.parts import Figure, Key

if TYPE_CHECKING:
    from exactregion.region import ConfidenceRegion

__all__ = ["band_figure"]

HEIGHT = 400
MOST_ROWS = 2_000
"""More rows than this are not all drawn."""

JITTER = 0.022


def band_figure(region: ConfidenceRegion, curves: Curves, number: int) -> Figure:
    """Draw the band along one input, with room for the curve that is pointed at."""
    column = curves.column
    limits = limits_around(curves.x, 0.03 if column.levels is None else 0.15)
    plot = new_figure(
        f"band{number}",
        x=(column.name, limits),
        y=("probability of the outcome", (-0.1, 1.1)),
        height=HEIGHT,
    )
    plot.yaxis[0].ticker = [0, 0.2, 0.4, 0.6, 0.8, 1]
    if column.levels is not None:
        plot.xaxis[0].ticker = curves.x.tolist()
    if column.levels is not None and not column.is_numeric:
        plot.xaxis[0].major_label_overrides = {
            int(place): PlainText(text=column.text(level))
            for place, level in zip(curves.x, column.levels.tolist(), strict=True)
        }
    keys = _draw_band(plot, region, curves)
    keys.append(_draw_data(plot, region, column))
    keys.append(_draw_estimate(plot, region, curves))
    keys.append(_draw_chosen(plot, curves))
    held = f" The other inputs are held at {curves.held}." if curves.held else ""
    return Figure(
        f"band{number}",
        f"Probability of the outcome along {shortened(column.name)}: the band, the data, and the "
        "curve of the parameters that are pointed at.",
        plot,
        keys,
        _reading(region) + held,
    )


def _reading(region: ConfidenceRegion) -> str:
    if region.is_empty_:
        return (
            "No curve of the family fits; the dashed one is the least incompatible that was found."
        )
    level = wording.percent(region.coverage_)
    return (
        "If the family is right, the whole true curve lies within the band with a probability of "
        f"at least {level}."
    )


def _draw_band(plot: Any, region: ConfidenceRegion, curves: Curves) -> list[Key]:
    if region.is_empty_:
        return []
    source = ColumnDataSource({"x": curves.x, "lower": curves.lower, "upper": curves.upper})
    roles = {"fill_color": "blue"}
    if curves.column.levels is None:
        area = {"x": "x", "y1": "lower", "y2": "upper"}
        add_glyph(plot, "varea", source, roles, fill_alpha=0.25, **area)
    else:
        width = 0.06 * (plot.x_range.end - plot.x_range.start)
        bars = {"x": "x", "bottom": "lower", "top": "upper", "width": width}
        add_glyph(plot, "vbar", source, roles, fill_alpha=0.25, line_color=None, **bars)
    return [Key("area-blue", f"{wording.percent(region.coverage_)} band, at all x at once")]


def _draw_estimate(plot: Any, region: ConfidenceRegion, curves: Curves) -> Key:
    source = ColumnDataSource({"x": curves.x, "y": curves.estimate})
    empty = region.is_empty_
    words = "least incompatible" if empty else "most compatible"
    if curves.column.levels is not None:
        roles = {"fill_color": "blue", "line_color": "paper"}
        add_glyph(plot, "scatter", source, roles, x="x", y="y", size=11)
        return Key("dot-solid", words)
    dash = {"line_dash": "dashed"} if empty else {}
    add_glyph(plot, "line", source, {"line_color": "blue"}, x="x", y="y", line_width=2, **dash)
    return Key("dash-blue" if empty else "line-blue", words)


def _draw_data(plot: Any, region: ConfidenceRegion, column: Column) -> Key:
    sample = region.fitted_.sample
    trials, successes = (
        sample.inputs.to_user_order(values) for values in (sample.inputs.trials, sample.successes)
    )
    places = column.places(column.values)
    rng = np.random.default_rng(0)
    used = np.flatnonzero((trials > 0) & np.isfinite(places))
    rows = used if len(used) <= MOST_ROWS else rng.choice(used, MOST_ROWS, replace=False)
    part = "" if len(rows) == (trials > 0).sum() else f", {len(rows):,} of {len(trials):,} rows"
    x, hits = places[rows], successes[rows]
    if column.levels is not None:
        x = x + 0.025 * (plot.x_range.end - plot.x_range.start) * rng.uniform(-1, 1, len(x))
    if sample.is_counts:
        size = 6 + 9 * np.sqrt(trials[rows] / trials[rows].max())
        source = ColumnDataSource({"x": x, "y": hits / trials[rows], "size": size})
        roles = {"line_color": "ink", "fill_color": "paper"}
        add_glyph(plot, "scatter", source, roles, x="x", y="y", size="size", line_width=1.3)
        return Key("dot", f"observed shares{part}")
    y = np.where(hits > 0, 1.05, -0.05) + JITTER * rng.uniform(-1, 1, len(x))
    source = ColumnDataSource({"x": x, "y": y})
    angle = {"marker": "dash", "angle": np.pi / 2}
    alpha = 0.8 if len(x) < 300 else 0.4
    add_glyph(
        plot,
        "scatter",
        source,
        {"line_color": "ink"},
        x="x",
        y="y",
        size=10,
        line_alpha=alpha,
        **angle,
    )
    return Key("tick", f"outcomes: top happened, bottom did not{part}")


def _draw_chosen(plot: Any, curves: Curves) -> Key:
    chosen = ColumnDataSource({"x": [], "y": []}, name="curve")
    stored = ColumnDataSource({"steps": curves.steps.ravel()}, name="steps")
    grid = ColumnDataSource({"x": curves.x}, name="grid")
    plot.tags = [*plot.tags, stored, grid]
    if curves.column.levels is not None:
        roles = {"line_color": "paper", "fill_color": "vermilion"}
        add_glyph(plot, "scatter", chosen, roles, x="x", y="y", size=13, line_width=2)
        return Key("dot-vermilion", "pointed at")
    add_glyph(plot, "line", chosen, {"line_color": "vermilion"}, x="x", y="y", line_width=3)
    return Key("line-vermilion", "pointed at")
