"""Figures of parameters that can be pointed at: one, two, or two of many."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from bokeh.models import ColumnDataSource, LinearColorMapper

from exactregion._typing import FloatArray
from exactregion.plotting import wording
from exactregion.plotting.canvas import accepted_pvalues
from exactregion.ranking import pvalue_of
from exactregion.region.ranges import runs
from exactregion.report.candidates import Cloud, Line, Pointable, Surface
from exactregion.report.figures import THEMES, add_glyph, label_of, new_figure, shortened
from exactregion.report.parts import Figure, Key

if TYPE_CHECKING:
    from exactregion.region import ConfidenceRegion

__all__ = ["axis_names", "plane_figure"]

HEIGHT = 400
EVENTS = ("mousemove", "mouseleave", "tap")


def plane_figure(region: ConfidenceRegion, points: Line | Surface | Cloud) -> Figure:
    """Draw what can be pointed at, with the region in it."""
    if isinstance(points, Line):
        return _line_figure(region, points)
    if isinstance(points, Surface):
        return _surface_figure(region, points)
    return _cloud_figure(region, points)


def _points_source(points: Pointable, x: FloatArray, y: FloatArray) -> ColumnDataSource:
    """Keep the parameters, their ranks and places where the script finds them: "points"."""
    columns: dict[str, Any] = {f"theta{i}": column for i, column in enumerate(points.theta.T)}
    columns |= {"x": x, "y": y}
    columns["rank"] = points.ranks.astype(np.int32)
    return ColumnDataSource(columns, name="points")


def _estimate(region: ConfidenceRegion, plot: Any, x: float, y: float) -> Key:
    here = ColumnDataSource({"x": [x], "y": [y]}, name="best")
    empty = region.is_empty_
    roles = {"line_color": "ink"} if empty else {"line_color": "ink", "fill_color": "paper"}
    marker = "x" if empty else "circle"
    add_glyph(plot, "scatter", here, roles, x="x", y="y", marker=marker, size=10, line_width=2)
    return Key("cross", "least incompatible") if empty else Key("dot", "most compatible")


def _chosen(plot: Any) -> Key:
    """Mark the parameter that is pointed at."""
    source = ColumnDataSource({"x": [], "y": []}, name="chosen")
    roles = {"line_color": "paper", "fill_color": "vermilion"}
    add_glyph(plot, "scatter", source, roles, x="x", y="y", size=14, line_width=2)
    return Key("dot-vermilion", "pointed at")


def _level_text(region: ConfidenceRegion) -> str:
    low, high = accepted_pvalues(region)
    above = f"p-value above {low:.4g}"
    return above if high >= 1 else f"{above}, and not above {high:.4g}"


def _surface_figure(region: ConfidenceRegion, points: Surface) -> Figure:
    names = axis_names(region, points)
    limits = [
        (float(axis[0] - step / 2), float(axis[-1] + step / 2))
        for axis in points.axes
        for step in [axis[1] - axis[0]]
    ]
    plot = new_figure(
        "plane", x=(names[0], limits[0]), y=(names[1], limits[1]), height=HEIGHT, events=EVENTS
    )
    _draw_heat(plot, region, points, limits)
    plot.tags = [*plot.tags, _points_source(points, *points.place(points.theta).T)]
    keys = [Key("ramp", "p-value, from 0 to 1")]
    if points.boundary[0]:
        edge = ColumnDataSource({"xs": points.boundary[0], "ys": points.boundary[1]})
        add_glyph(plot, "multi_line", edge, {"line_color": "ink"}, xs="xs", ys="ys", line_width=1.6)
        keys.append(Key("line-ink", f"edge of the {wording.percent(region.coverage_)} region"))
    keys.append(_estimate(region, plot, *points.place(region.estimate_)))
    keys.append(_chosen(plot))
    slanted = (
        f" Across is {names[0]}, since {shortened(region.parameter_names_[0])} alone goes up and "
        f"down with {shortened(names[1])}."
        if points.slant
        else ""
    )
    return Figure(
        "plane",
        f"Exact p-values over the plane of {names[0]} and {names[1]}, with the edge of the region. "
        "The sliders below move the point that is shown.",
        plot,
        keys,
        f"Every place is one setting of the two parameters; the bluer, the better it fits. The "
        f"region holds those with a {_level_text(region)}.{slanted}",
    )


def axis_names(region: ConfidenceRegion, points: Surface) -> tuple[str, str]:
    """Name what the axes of a surface show."""
    first, second = region.parameter_names_
    if not points.slant:
        return first, second
    sign = "−" if points.slant > 0 else "+"
    slanted = f"{shortened(first, 22)} {sign} {abs(points.slant):g} · {shortened(second, 22)}"
    return slanted, second


def _draw_heat(
    plot: Any, region: ConfidenceRegion, points: Surface, limits: list[tuple[float, float]]
) -> None:
    """Colour the place of each parameter by its p-value."""
    pvalues = pvalue_of(points.ranks, region.accepted_ranks_.m)
    plot.image(
        image=[pvalues.reshape(len(points.axes[0]), -1).T.astype(np.float32)],
        x=limits[0][0],
        y=limits[1][0],
        dw=limits[0][1] - limits[0][0],
        dh=limits[1][1] - limits[1][0],
        color_mapper=_heat(),
        level="image",
    )
    plot.grid.visible = False


def _heat() -> Any:
    mapper: Any = LinearColorMapper(palette=THEMES["light"]["heat"], low=0, high=1)
    mapper.tags = ["palette:heat"]
    return mapper


def _line_figure(region: ConfidenceRegion, points: Line) -> Figure:
    name = region.parameter_names_[0]
    values = points.theta[:, 0]
    pvalues = pvalue_of(points.ranks, region.accepted_ranks_.m)
    low, high = float(points.box[0, 0]), float(points.box[0, 1])
    plot = new_figure(
        "plane", x=(name, (low, high)), y=("p-value", (0.0, 1.05)), height=HEIGHT, events=EVENTS
    )
    keys = []
    pieces = _pieces(values, region.accepted_ranks_.holds(points.ranks))
    if len(pieces):
        spans = ColumnDataSource(
            {"left": pieces[:, 0], "right": pieces[:, 1], "top": np.full(len(pieces), 1.05)}
        )
        sides = {"left": "left", "right": "right", "top": "top", "bottom": 0}
        roles = {"fill_color": "blue"}
        add_glyph(plot, "quad", spans, roles, fill_alpha=0.15, line_color=None, **sides)
        keys.append(Key("area-blue", f"{wording.percent(region.coverage_)} region"))
    curve = ColumnDataSource({"x": values, "y": pvalues})
    add_glyph(plot, "line", curve, {"line_color": "blue"}, x="x", y="y", line_width=2)
    keys.append(Key("line-blue", "p-value"))
    plot.tags = [*plot.tags, _points_source(points, values, pvalues)]
    best = float(region.estimate_[0])
    keys.append(_estimate(region, plot, best, float(np.interp(best, values, pvalues))))
    keys.append(_chosen(plot))
    return Figure(
        "plane",
        f"Exact p-value of each value of {name}, with the region shaded. The slider below moves "
        "the value that is shown.",
        plot,
        keys,
        f"The higher the line, the better the value fits the outcomes. The region holds the values "
        f"with a {_level_text(region)}.",
    )


def _pieces(values: FloatArray, member: Any) -> FloatArray:
    """Give the first rejected values on both sides of each accepted piece."""
    last = len(values) - 1
    ends = [(values[max(a - 1, 0)], values[min(b + 1, last)]) for a, b in runs(member)]
    return np.array(ends, dtype=np.float64).reshape(-1, 2)


def _cloud_figure(region: ConfidenceRegion, points: Cloud) -> Figure:
    names = region.parameter_names_
    x, y = 1, 2  # the first two slopes, in most families
    limits = [(float(low), float(high)) for low, high in points.box]
    plot = new_figure(
        "plane", x=(names[x], limits[x]), y=(names[y], limits[y]), height=HEIGHT, events=EVENTS
    )
    # the script puts another pair of parameters on the axes with these
    for axis in (plot.xaxis[0], plot.yaxis[0]):
        axis.tags = [*axis.tags, *(label_of(name) for name in names)]
    source = _points_source(points, points.theta[:, x], points.theta[:, y])
    inside = region.accepted_ranks_.holds(points.ranks)
    source.data["pvalue"] = pvalue_of(points.ranks, region.accepted_ranks_.m)
    keys = _draw_cloud(plot, source, inside)
    keys.append(_estimate(region, plot, float(region.estimate_[x]), float(region.estimate_[y])))
    keys.append(_chosen(plot))
    return Figure(
        "plane",
        "Settings of the parameters that were asked, in the region and outside, as two of the "
        "parameters see them. The slider below goes through them from the best fitting.",
        plot,
        keys,
        f"Every mark is one setting of all {len(names)} parameters, seen from two of them: marks "
        "in the region may lie over others outside. The region holds those with a "
        f"{_level_text(region)}.",
    )


def _draw_cloud(plot: Any, source: ColumnDataSource, inside: Any) -> list[Key]:
    from bokeh.models import CDSView, IndexFilter

    mapper = _heat()
    keys: list[Key] = []
    kinds = (
        (~inside, "x", {"line_color": "muted"}, Key("cross-muted", "outside")),
        (
            inside,
            "circle",
            {"line_color": "blue"},
            Key("dot-ramp", "in the region, bluer fits better"),
        ),
    )
    for mask, marker, roles, key in kinds:
        if not mask.any():
            continue
        fill = (
            {"fill_color": {"field": "pvalue", "transform": mapper}} if marker == "circle" else {}
        )
        view = CDSView(filter=IndexFilter(indices=np.flatnonzero(mask).tolist()))
        size = 9 if marker == "circle" else 6
        add_glyph(
            plot,
            "scatter",
            source,
            roles,
            x="x",
            y="y",
            marker=marker,
            size=size,
            view=view,
            **fill,
        )
        keys.insert(0, key)
    return keys
