"""The report of a region: parameters to point at with their curves, and intervals."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from bokeh.models import CDSView, ColumnDataSource, IndexFilter

from exactregion._typing import FloatArray
from exactregion.engine.progress import showing
from exactregion.plotting import CornerDisplay, PValueDisplay, RankDisplay, formats, wording
from exactregion.plotting.canvas import RegionDisplay
from exactregion.region import ConfidenceRegion, HypothesisTest
from exactregion.region.summary import zero_tests
from exactregion.report import figures
from exactregion.report.inputs import (
    HEIGHT,
    MOST_INPUTS,
    NOWHERE,
    POINTED,
    band_figure,
    bands_along_inputs,
)
from exactregion.report.page import Explorer, Figure, Key, Page, Section, Table, Words

if TYPE_CHECKING:
    import pandas as pd

EMPTY = "These intervals assume that the family is right, against which the outcomes are evidence."
ENDS = (
    "No member of the region lies beyond an end that is proven. Others were searched, and checked "
    "with random parameters."
)
ZERO = "p is the p-value of the parameter being zero, valid at every sample size."
STATUS = {"unsettled": ", may be longer", "empty": ", empty"}
REMARKS = {
    "unbounded": "The region is unbounded: it goes on past the edge of the figure, which shows the "
    "part around the estimate.",
    "unsettled": "The search kept finding members outside of what it had found: intervals and "
    "bands may be too short.",
    "disconnected": "The search found the region in several pieces; the band fills the gaps.",
}


def page_of_region(region: ConfidenceRegion, title: str | None = None) -> Page:
    """Gather the page of a region."""
    with showing("report", show=region.progress):
        explorer = explore(region)
        individual, joint = region.intervals(), region.intervals(joint=True)
        tests = zero_tests(region.fitted_, only_quick=True)
    level = formats.percent(region.coverage_)
    return Page.of(
        region,
        title=title or "Confidence region",
        question=_question(region),
        verdict={"empty": "against", "unbounded": "open"}.get(region.status_, "fits"),
        sections=[
            Section(
                "Parameters and their curves",
                [explorer, Words(_remarks(region, len(explorer.bands)))],
            ),
            Section(
                "Intervals",
                [
                    interval_table(f"Individual intervals, {level} each", individual, tests),
                    interval_table(f"Simultaneous intervals, {level} together", joint),
                    Words([EMPTY if region.is_empty_ else ENDS, *([ZERO] if any(tests) else [])]),
                ],
                beside=True,
            ),
        ],
        assumptions=[
            "Rows are independent of each other.",
            "The true probabilities belong to the family, for some value of its parameters. If "
            "not, the region may miss the nearest parameters, or be empty.",
            "Whether one setting of the parameters is in the region is known exactly. The edge in "
            "the figure was searched; the table above says which intervals are proven.",
        ],
    )


def _question(region: ConfidenceRegion) -> str:
    names = tuple(formats.shortened(name, 30) for name in region.parameter_names_)
    if len(names) > 4:
        return f"Which values of the {len(names)} parameters fit the outcomes?"
    together = " together" if len(names) > 1 else ""
    return f"Which values of {formats.listed(names)} fit the outcomes{together}?"


def _remarks(region: ConfidenceRegion, curves: int) -> list[str]:
    remarks = [REMARKS[region.status_]] if region.status_ in REMARKS else []
    if region.is_empty_:
        largest = region.pvalue(region.most_compatible_)
        remarks.append(f"The search found no member. The largest p-value found is {largest:.4g}.")
    if not curves:
        remarks.append(
            "No curves are drawn: the inputs are not columns that vary, or the family has no "
            "probabilities between those of the data."
        )
    if curves == MOST_INPUTS:
        remarks.append(f"Curves are shown along {MOST_INPUTS} inputs at most.")
    return remarks


def interval_table(
    caption: str, intervals: pd.DataFrame, tests: Sequence[HypothesisTest | None] = ()
) -> Table:
    """Make a table of what `ConfidenceRegion.intervals` returned, and of tests if there are any."""
    rows = []
    for name, row in intervals.iterrows():
        estimate, lower, upper = (float(row[key]) for key in ("estimate", "lower", "upper"))
        width = upper - lower if np.isfinite(upper - lower) else None
        # that there is no end is said in its place
        status = STATUS.get(str(row["status"]), "")
        numbers = [formats.number(estimate, width), _end(lower, width), _end(upper, width)]
        found = "proven" if row["certified"] else "searched"
        rows.append([formats.shortened(str(name), 120), *numbers, found + status])
    names = ["Parameter", "Estimate", "From", "To", "Ends"]
    if any(tests):
        names.insert(4, "p")
        for cells, test in zip(rows, tests, strict=True):
            cells.insert(4, "" if test is None else f"{test.pvalue:.4g}")
    return Table(caption, names, rows)


def _end(value: float, width: float | None) -> str:
    if np.isnan(value):
        return "none"
    return "no end" if np.isinf(value) else formats.number(value, width)


LINE = 201, 11
"""A curve of one parameter: its values, and levels of the grid of its ends, which are then known to
1/2048 of the width shown."""

PLANES = ((100_000, 61, 8), (1_000_000, 41, 7), (np.inf, 31, 6))
"""Up to this many rows times data sets: points per axis of a plane, and levels of its boundary.
Each keeps a report within a few seconds."""


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
        bands=[band_figure(region, one, plane.theta, i) for i, one in enumerate(displays)],
        inputs=[one.name for one in displays],
        hint=(
            f"Point at a setting of the parameters to see {shown}; tap or click to keep it. The "
            "sliders do the same."
        ),
        parameters=[
            {
                "name": formats.shortened(name),
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
    x, y = (name, (low, high)), ("p-value", (0.0, 1.05))
    plot = figures.new_figure("plane", x=x, y=y, height=HEIGHT)
    keys: list[Key] = []
    if len(display.ends):
        left, right = np.clip(display.ends, low, high).T
        spans = {"left": left, "right": right}
        style: dict[str, Any] = {"top": 1.05, "bottom": 0, "fill_alpha": 0.15, "line_color": None}
        figures.add_glyph(plot, "quad", spans, {"fill_color": "blue"}, **style)
        keys.append(Key("area-blue", f"{formats.percent(display.coverage)} region"))
    figures.add_line(plot, values, pvalues, "blue", line_width=2)
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
    x, y = zip(names, limits, strict=True)
    plot = figures.new_figure("plane", x=x, y=y, height=HEIGHT)
    plot.grid.visible = False
    plot.image(
        image=[pvalues.reshape(display.regular).T.astype(np.float32)],
        x=limits[0][0],
        y=limits[1][0],
        dw=limits[0][1] - limits[0][0],
        dh=limits[1][1] - limits[1][0],
        color_mapper=figures.heat_mapper(),
        level="image",
    )
    plot.tags = [*plot.tags, _points_source(theta, places, pvalues, m)]
    keys = [Key("ramp", "p-value, from 0 to 1")]
    lines = display.boundary()
    if lines:
        edge = {"xs": [line[:, 0] for line in lines], "ys": [line[:, 1] for line in lines]}
        figures.add_glyph(plot, "multi_line", edge, {"line_color": "ink"}, line_width=1.6)
        keys.append(Key("line-ink", f"edge of the {formats.percent(display.coverage)} region"))
    reading = "Every point is one setting of the two parameters; the bluer, the better it fits."
    if display.shear:
        first, second = (formats.shortened(name) for name in display.names)
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
    limits = np.array([figures.limits_around(ends, 0.1) for ends in display.limits])
    x, y = ((names[i], (float(limits[i, 0]), float(limits[i, 1]))) for i in pair)
    plot = figures.new_figure("plane", x=x, y=y, height=HEIGHT)
    # the script puts another pair of parameters on the axes with these labels
    for axis in (plot.xaxis[0], plot.yaxis[0]):
        axis.tags = [*axis.tags, *(figures.label_of(name) for name in names)]
    points = _points_source(theta, theta[:, pair], pvalues, m)
    points.data["pvalue"] = pvalues
    low, high = display.levels
    inside = (pvalues > low) & (pvalues <= high)
    heat = {"fill_color": {"field": "pvalue", "transform": figures.heat_mapper()}}
    kinds: tuple[tuple[Any, str, dict[str, Any]], ...] = (
        (~inside, "muted", {"marker": "x", "size": 6}),
        (inside, "blue", {"marker": "circle", "size": 9, **heat}),
    )
    for mask, role, style in kinds:
        view = CDSView(filter=IndexFilter(indices=np.flatnonzero(mask).tolist()))
        drawn = plot.scatter(x="x", y="y", source=points, view=view, **style)
        figures.paint(drawn.glyph, line_color=role)
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
    figures.add_glyph(plot, "scatter", here, roles, name="best", **style)
    figures.add_glyph(plot, "scatter", NOWHERE, POINTED, name="chosen", size=14, line_width=2)
    keys.append(Key("cross" if is_empty else "dot", wording.estimate_name(is_empty)))
    keys.append(Key("dot-vermilion", "pointed at"))
    low, high = display.levels
    accepted = f"p-value above {low:.4g}" + ("" if high >= 1 else f", and not above {high:.4g}")
    reading = f"{reading} The region contains the settings with a {accepted}."
    return Figure("plane", label, plot, keys, reading)
