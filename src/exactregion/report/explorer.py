"""Figures that belong together: parameters to point at, and the curves of those pointed at."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from bokeh.models import CDSView, ColumnDataSource, IndexFilter, PlainText

from exactregion._typing import FloatArray
from exactregion.plotting import CornerDisplay, PValueDisplay, RankDisplay, wording
from exactregion.plotting.canvas import RegionDisplay
from exactregion.region import ConfidenceRegion
from exactregion.report.figures import (
    add_glyph,
    add_line,
    heat_mapper,
    label_of,
    limits_around,
    new_figure,
    paint,
)
from exactregion.report.inputs import InputBand, bands_along_inputs
from exactregion.report.page import Explorer, Figure, Key

HEIGHT = 400

LINE = 201, 11
"""A curve of one parameter: values, and levels of the grid of its ends."""

PLANES = ((100_000, 61, 8), (1_000_000, 41, 7), (np.inf, 31, 6))
"""Up to this many rows times data sets: points per axis of a plane, and levels of its boundary.
Each keeps a report within a few seconds."""

STEPS = 65_535
"""Probabilities are stored in the page as whole numbers of this many steps: uint16."""

MOST_ROWS = 2_000
"""More rows of data than this are not all drawn."""

NOWHERE: dict[str, Any] = {"x": [], "y": []}
POINTED = {"line_color": "paper", "fill_color": "vermilion"}


@dataclass(frozen=True, eq=False)
class Plane:
    """The figure of parameters: each θ (T, d), the limits shown (d, 2), and sliders through θ."""

    figure: Figure
    theta: FloatArray
    limits: FloatArray
    sliders: list[dict[str, Any]]


def explore(region: ConfidenceRegion) -> Explorer:
    """Draw the parameters around a region, and a band with their curves along each input."""
    plane = _plane(region)
    displays = bands_along_inputs(region)
    ranks = region.accepted_ranks_
    shown = "its curve, rank and p-value" if displays else "its rank and p-value"
    columns = zip(
        region.parameter_names_, plane.theta.T, plane.limits, region.estimate_, strict=True
    )
    return Explorer(
        plane=plane.figure,
        bands=[_band_figure(region, one, plane.theta, i) for i, one in enumerate(displays)],
        inputs=[one.name for one in displays],
        hint=(
            f"Point at a setting of the parameters to see {shown}; tap or click to keep it. The "
            "sliders do the same."
        ),
        parameters=[
            {
                "name": wording.shortened(name),
                "digits": _digits(float(np.ptp(values))),
                "limits": limits.tolist(),
                "best": float(best),
            }
            for name, values, limits, best in columns
        ],
        sliders=plane.sliders,
        pairs=len(region.parameter_names_) > 2,
        ranks={"m": ranks.m, "low": ranks.low, "high": ranks.high},
    )


def _digits(width: float) -> int:
    return int(np.clip(2 - np.floor(np.log10(width / 2)), 0, 12)) if width > 0 else 3


def _plane(region: ConfidenceRegion) -> Plane:
    """Draw the picture for the number of parameters."""
    state = region.fitted_
    m, d = state.resampling.m, len(region.parameter_names_)
    if d == 1:
        points, levels = LINE
        return _line_plane(
            PValueDisplay.from_region(region, draw=False, points=points, levels=levels), m
        )
    if d > 2:
        return _cloud_plane(CornerDisplay.from_region(region, draw=False, rays=0), m)
    work = len(state.sample) * m
    points, levels = next((points, levels) for most, points, levels in PLANES if work <= most)
    return _surface_plane(
        RankDisplay.from_region(region, draw=False, points=points, levels=levels, upright=True), m
    )


def _line_plane(display: PValueDisplay, m: int) -> Plane:
    name, values, pvalues = display.names[0], display.values, display.pvalues
    low, high = float(values[0]), float(values[-1])
    plot = new_figure("plane", x=(name, (low, high)), y=("p-value", (0.0, 1.05)), height=HEIGHT)
    keys: list[Key] = []
    if len(display.ends):
        left, right = np.clip(display.ends, low, high).T
        spans = {"left": left, "right": right}
        style: dict[str, Any] = {"top": 1.05, "bottom": 0, "fill_alpha": 0.15, "line_color": None}
        add_glyph(plot, "quad", spans, {"fill_color": "blue"}, **style)
        keys.append(Key("area-blue", f"{wording.percent(display.coverage)} region"))
    add_line(plot, values, pvalues, "blue", line_width=2)
    keys.append(Key("line-blue", "p-value"))
    theta = values[:, None]
    plot.tags = [*plot.tags, _points_source(theta, np.column_stack([values, pvalues]), pvalues, m)]
    figure = _finished(
        plot,
        keys,
        display,
        display.place(display.estimate),
        label=f"Exact p-value of each value of {name}, with the region shaded. The slider below "
        "moves the value that is shown.",
        reading="The higher the line, the better the value fits the outcomes.",
    )
    slider = {"label": name, "size": len(values), "start": len(values) // 2}
    return Plane(figure, theta, np.array([[low, high]]), [slider])


def _surface_plane(display: RankDisplay, m: int) -> Plane:
    names, count = display.axis_names, int(np.prod(display.regular))
    theta, pvalues = display.theta[:count], display.pvalues[:count]
    places = display.places(theta)
    box = np.column_stack([places[0], places[-1]])
    half = (box[:, 1] - box[:, 0]) / (np.array(display.regular) - 1) / 2
    limits = [(float(low), float(high)) for low, high in box + np.column_stack([-half, half])]
    plot = new_figure("plane", x=(names[0], limits[0]), y=(names[1], limits[1]), height=HEIGHT)
    plot.grid.visible = False
    plot.image(
        image=[pvalues.reshape(display.regular).T.astype(np.float32)],
        x=limits[0][0],
        y=limits[1][0],
        dw=limits[0][1] - limits[0][0],
        dh=limits[1][1] - limits[1][0],
        color_mapper=heat_mapper(),
        level="image",
    )
    plot.tags = [*plot.tags, _points_source(theta, places, pvalues, m)]
    keys = [Key("ramp", "p-value, from 0 to 1")]
    lines = display.boundary()
    if lines:
        edge = {"xs": [line[:, 0] for line in lines], "ys": [line[:, 1] for line in lines]}
        add_glyph(plot, "multi_line", edge, {"line_color": "ink"}, line_width=1.6)
        keys.append(Key("line-ink", f"edge of the {wording.percent(display.coverage)} region"))
    reading = "Every point is one setting of the two parameters; the bluer, the better it fits."
    if display.shear:
        first, second = (wording.shortened(name) for name in display.names)
        reading += f" The horizontal axis is {names[0]}, since {first} varies with {second}."
    figure = _finished(
        plot,
        keys,
        display,
        display.places(display.estimate),
        label=f"Exact p-values over the plane of {names[0]} and {names[1]}, with the edge of the "
        "region. The sliders below move the point that is shown.",
        reading=reading,
    )
    sliders = [
        {"label": name, "size": size, "start": size // 2}
        for name, size in zip(names, display.regular, strict=True)
    ]
    return Plane(figure, theta, box, sliders)


def _cloud_plane(display: CornerDisplay, m: int) -> Plane:
    theta, pvalues, names = display.theta, display.pvalues, display.names
    pair = [1, 2]  # the first two slopes, in most families
    limits = np.array([limits_around(ends, 0.1) for ends in display.limits])
    x, y = ((names[i], (float(limits[i, 0]), float(limits[i, 1]))) for i in pair)
    plot = new_figure("plane", x=x, y=y, height=HEIGHT)
    # the script puts another pair of parameters on the axes with these labels
    for axis in (plot.xaxis[0], plot.yaxis[0]):
        axis.tags = [*axis.tags, *(label_of(name) for name in names)]
    points = _points_source(theta, theta[:, pair], pvalues, m)
    points.data["pvalue"] = pvalues
    low, high = display.levels
    inside = (pvalues > low) & (pvalues <= high)
    heat = {"fill_color": {"field": "pvalue", "transform": heat_mapper()}}
    kinds: tuple[tuple[Any, str, dict[str, Any]], ...] = (
        (~inside, "muted", {"marker": "x", "size": 6}),
        (inside, "blue", {"marker": "circle", "size": 9, **heat}),
    )
    for mask, role, style in kinds:
        view = CDSView(filter=IndexFilter(indices=np.flatnonzero(mask).tolist()))
        drawn = plot.scatter(x="x", y="y", source=points, view=view, **style)
        paint(drawn.glyph, line_color=role)
    keys = [Key("dot-ramp", "in the region, bluer fits better")] if inside.any() else []
    keys += [Key("cross-muted", "outside")] if not inside.all() else []
    figure = _finished(
        plot,
        keys,
        display,
        display.estimate[pair],
        label="Settings of the parameters, in the region and outside, projected on two of the "
        "parameters. The slider below goes through them from the best fitting.",
        reading=f"Every mark is one setting of all {len(names)} parameters, projected on two of "
        "them: marks in the region may lie over others outside.",
    )
    slider = {"label": "From best to worst fit", "size": len(theta), "start": 0}
    return Plane(figure, theta, limits, [slider])


def _points_source(theta: FloatArray, places: FloatArray, pvalues: FloatArray, m: int) -> Any:
    """Keep parameters, their ranks and places where the script finds them, as "points"."""
    columns: dict[str, Any] = {f"theta{i}": column for i, column in enumerate(theta.T)}
    columns |= {"x": places[:, 0], "y": places[:, 1]}
    columns["rank"] = (m + 1 - np.rint(m * pvalues)).astype(np.int32)
    return ColumnDataSource(columns, name="points")


def _finished(
    plot: Any, keys: list[Key], display: RegionDisplay, best: Any, *, label: str, reading: str
) -> Figure:
    """Mark the estimate and the parameter that is pointed at, and say what the region contains."""
    here, is_empty = {"x": [best[0]], "y": [best[1]]}, display.status == "empty"
    roles = {"line_color": "ink"} | ({} if is_empty else {"fill_color": "paper"})
    style: dict[str, Any] = {"marker": "x" if is_empty else "circle", "size": 10, "line_width": 2}
    add_glyph(plot, "scatter", here, roles, name="best", **style)
    add_glyph(plot, "scatter", NOWHERE, POINTED, name="chosen", size=14, line_width=2)
    keys.append(Key("cross" if is_empty else "dot", wording.estimate_name(is_empty)))
    keys.append(Key("dot-vermilion", "pointed at"))
    low, high = display.levels
    accepted = f"p-value above {low:.4g}" + ("" if high >= 1 else f", and not above {high:.4g}")
    reading = f"{reading} The region contains the settings with a {accepted}."
    return Figure("plane", label, plot, keys, reading)


def _band_figure(
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
        plot.xaxis[0].ticker = display.x.tolist()
        texts = zip(display.x.tolist(), display.levels, strict=True)
        plot.xaxis[0].major_label_overrides = {x: PlainText(text=text) for x, text in texts}
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
        f"of at least {wording.percent(display.coverage)}."
    )
    return Figure(
        f"band{number}",
        f"Probability of the outcome along {wording.shortened(display.name)}: the band, the data, "
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
        keys.append(Key("area-blue", f"{wording.percent(display.coverage)} simultaneous band"))
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
