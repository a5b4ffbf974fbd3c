"""The report of a calibration belt, and that of several models with or without belts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from bokeh.layouts import column

from exactregion.calibration import CalibrationBelt, CalibrationBelts
from exactregion.plotting import BeltDisplay, BeltsDisplay, formats, wording
from exactregion.plotting.canvas import MODELS, look_of
from exactregion.plotting.reliability import ProbabilityAxis
from exactregion.report import figures
from exactregion.report.page import Figure, Key, Page, Pointer, Section, Table, Words
from exactregion.report.regions import interval_table
from exactregion.report.tests import ADJUSTED, groups_table, misfit_section, page_of_test
from exactregion.testing.groups import table_of
from exactregion.testing.result import ExactTestResult

if TYPE_CHECKING:
    import pandas as pd

PREDICTED, OUTCOME = "predicted probability", "probability of the outcome"


def page_of_belt(belt: CalibrationBelt, title: str | None = None, id: str = "") -> Page:
    """Gather the page of a belt; `id` tells its figures from those of others on the same page."""
    level, display = formats.percent(belt.coverage), BeltDisplay.from_belt(belt, draw=False)
    return Page.of(
        belt,
        title=title or "Calibration of predictions",
        question="Do outcomes happen as often as predicted?",
        answer=f"{wording.answer_of(belt)} {wording.answer_of_deviation(belt)}",
        verdict="against" if belt.departures else None,
        sections=[
            Section(
                "The belt",
                [
                    _figure(display, id),
                    Words(_departures(belt), listed=True),
                    interval_table(_caption_of_intervals(belt), belt.intervals),
                    _deviations(belt),
                    Words(_meaning(belt)),
                ],
                beside=True,
            ),
            misfit_section(belt.test),
            Section("Reliability diagram", [groups_table(display.points, level)]),
        ],
        assumptions=[
            "Rows are independent of each other.",
            "The predictions were not fitted to these outcomes: the rows were held out.",
            f"For the belt and its intervals: the true curve is a {_family(belt)} of the "
            f"predictions, {wording.curves_text(belt)}. The p-value needs no such form.",
        ],
    )


def _deviations(belt: CalibrationBelt) -> Table:
    """List the limits of how far off predictions are."""
    found = "proven" if belt.certified else "searched"
    caption = f"Distance from the diagonal, {formats.percent(belt.coverage)} together, {found}"
    rows = [list(row[:3]) for row in formats.deviation_rows(belt)]
    return Table(caption, ["", "Estimate", "Limits"], rows)


def _departures(belt: CalibrationBelt) -> list[str]:
    if belt.status == "empty":
        return [f"No {_family(belt)} of the predictions fits, so there is no belt to draw."]
    if not belt.departures:
        return ["The diagonal stays within the belt everywhere."]
    sentences = []
    for departure in belt.departures:
        text = wording.departure_text(departure)
        often = "more" if departure.side == "above" else "less"
        sentences.append(
            f"{text[0].upper()}{text[1:]}: outcomes are {often} frequent than predicted."
        )
    return sentences


def _family(belt: CalibrationBelt) -> str:
    return wording.RECALIBRATION[belt.degree]


def _meaning(belt: CalibrationBelt) -> list[str]:
    more = {
        "empty": "The intervals assume such a curve, against which the outcomes are evidence.",
        "unbounded": "The region of the belt is unbounded: somewhere the outcomes set no limit.",
        "disconnected": "The region of the belt has several pieces; the belt fills the gaps.",
    }
    bends = belt.degree > 1
    zero = {2: ", and square 0", 3: ", and square and cube 0"}.get(belt.degree, "")
    lines = [
        f"The curves are {wording.curves_text(belt)}; calibrated predictions have intercept 0 and "
        f"slope 1{zero}. An intercept above 0 means "
        "that outcomes are more frequent than predicted, below 0 less frequent. A slope below 1 "
        f"means that predictions are too extreme, above 1 not extreme enough"
        f"{'; of a curve that bends this is said around p = 0.5' if bends else ''}."
    ]
    return [*lines, more[belt.status]] if belt.status in more else lines


def _figure(display: BeltDisplay, id: str = "") -> Figure:
    across, up = display.axes()
    figure = figures.ProbabilityFigure(f"belt{id}", (across, up), ("", OUTCOME), height=430)
    top = figure.plot
    top.xaxis[0].axis_label = None
    below, bars = _histogram(display, top.x_range, across, f"histogram{id}")
    level = formats.percent(display.coverage)
    pointers, keys = [bars], []
    if display.status != "empty":
        grid, *bounds = figure.add_belt(display)
        for bound in bounds:
            figures.add_line(top, grid, bound, "blue", line_alpha=0.6)
        nothing: dict[str, Any] = {"x0": [], "x1": [], "y0": [], "y1": []}
        figures.add_glyph(top, "segment", nothing, {"line_color": "ink"}, name="mark", line_width=2)
        pointers = [_pointer(display, across, up, f"belt{id}"), bars]
        keys = [Key("area-blue", f"{level} belt, simultaneous"), Key("line-blue", "estimate")]
    figure.add_diagonal()
    keys.append(Key("dash-muted", "calibrated"))
    if display.departures:
        ends = [np.clip([d.start, d.stop], across.low, across.high) for d in display.departures]
        off = {"xs": [across.place(e).tolist() for e in ends]}
        off, roles = off | {"ys": [up.place(e).tolist() for e in ends]}, {"line_color": "vermilion"}
        figures.add_glyph(top, "multi_line", off, roles, line_width=4, line_cap="round")
        keys.append(Key("line-vermilion", "diagonal outside the belt"))
    figure.add_points(display.points, "ink")
    keys.append(Key("dot-ink", f"observed shares, {level} exact limits, individual"))
    return Figure(
        f"belt{id}",
        f"Calibration belt at {level} over predicted probabilities, "
        "with a histogram of the predictions below.",
        column(top, below, sizing_mode="stretch_width", spacing=0),
        [
            *keys,
            Key("solid-blue", "predictions where it happened"),
            Key("area-grey", "where it did not"),
        ],
        "Where the belt contains the dashed diagonal, outcomes may be as frequent as predicted. "
        "Where the belt lies above it, outcomes are more frequent than predicted; where below, "
        "less frequent. The belt is simultaneous: it holds the whole curve. The points are the "
        "reliability diagram, observed shares in groups of the prediction; they are not part of "
        "the belt. The histogram shows the predictions, up for outcomes that happened and "
        "down for those that did not.",
        pointers,
    )


def _pointer(
    display: BeltDisplay, across: ProbabilityAxis, up: ProbabilityAxis, plot: str
) -> Pointer:
    grid, bounds = across.place(display.grid), map(up.place, (display.lower, display.upper))
    ends = np.concatenate([grid[:1], (grid[:-1] + grid[1:]) / 2, grid[-1:]])
    texts = [
        f"predicted {formats.probability(p, 3)}\nbetween {formats.probability(low, 3)} and "
        f"{formats.probability(high, 3)}{_side(display, p)}"
        for p, low, high in zip(display.grid, display.lower, display.upper, strict=True)
    ]
    mark = dict(zip(("x0", "x1", "y0", "y1"), (grid, grid, *bounds), strict=True))
    return Pointer(plot, ends[:-1], ends[1:], texts, mark)


def _side(display: BeltDisplay, p: float) -> str:
    for departure in display.departures:
        if departure.start <= p <= departure.stop:
            return f"\npredictions too {'low' if departure.side == 'above' else 'high'} here"
    return ""


def _histogram(
    display: BeltDisplay, x_range: Any, across: ProbabilityAxis, name: str
) -> tuple[Any, Pointer]:
    edges, happened, others = display.histogram(across)
    log = display.is_uneven
    heights = [np.log10(1 + counts) if log else counts for counts in (happened, others)]
    highest = 1.1 * max(0.3 if log else 1.0, *(part.max() for part in heights))
    x = (PREDICTED, x_range)
    plot = figures.new_figure(name, x=x, y=("outcomes", (-highest, highest)), height=150)
    plot.toolbar_location = None
    figures.name_ticks(plot.xaxis[0], across)
    tick = _tick_of(highest, log)
    at = float(np.log10(1 + tick)) if log else tick
    plot.yaxis[0].ticker = [-at, 0, at]
    plot.yaxis[0].major_label_overrides = {-at: f"{tick:g}", at: f"{tick:g}"}
    places = across.place(edges)
    for part, role in ((heights[0], "blue"), (-heights[1], "muted")):
        figures.add_bars(plot, places, np.zeros_like(part), part, role, fill_alpha=0.8)
    share = formats.probability
    texts = [
        f"predictions {share(low)} to {share(high)}\n{int(yes):,} happened, {int(no):,} did not"
        for low, high, yes, no in zip(edges[:-1], edges[1:], happened, others, strict=True)
    ]
    return plot, Pointer(name, places[:-1], places[1:], texts)


def _tick_of(highest: float, log: bool) -> float:
    """Return the largest of 1, 2, 5, 10, 20, … that fits; of 1, 10, 100, … on a log scale."""
    if log:
        return float(10.0 ** max(0.0, np.floor(np.log10(10.0**highest - 1))))
    unit = 10.0 ** np.floor(np.log10(highest))
    return float(unit * max(step for step in (1, 2, 5) if step * unit <= highest))


def page_of_several(
    results: CalibrationBelts | Mapping[str, ExactTestResult], title: str | None = None
) -> Page:
    """Gather the page of several models: one table, one picture, then each model."""
    belts = results if isinstance(results, CalibrationBelts) else None
    page_of: Any = page_of_test if belts is None else page_of_belt
    pages: list[Page] = [page_of(one, id=f"-{index}") for index, one in enumerate(results.values())]
    tests: Mapping[str, Any] = results if belts is None else belts.tests
    table = table_of(tests, "model")
    calibration = next(iter(tests.values())).question.kind == "calibration"
    parts: list[Any] = [_table_of_tests(table), Words([ADJUSTED])]
    if belts is not None:
        parts.insert(0, _overlay(BeltsDisplay.from_belts(belts, draw=False)))
        parts.insert(2, _table_of_intervals(belts))
    return Page.of(
        results,
        title=title or f"{'Calibration' if calibration else 'Test'} of {len(tests)} models",
        question="Which of these models can be right?",
        verdict="against" if table["pvalue_holm"].min() <= wording.SURPRISE else "fits",
        sections=[
            Section("The models", parts, beside=belts is not None),
            *(
                replace(section, heading=f"{formats.shortened(name)}: {section.heading}")
                for name, page in zip(results, pages, strict=True)
                for section in page.sections
            ),
        ],
        assumptions=pages[0].assumptions,
    )


def _table_of_tests(table: pd.DataFrame) -> Table:
    rows = []
    for name, row in table.iterrows():
        *_, predicted, pvalue, adjusted = formats.group_cells(row)
        rows.append([formats.shortened(str(name), 120), predicted, pvalue, adjusted])
    return Table("Exact tests", ["Model", "Mean prediction", "p", "p, adjusted"], rows)


def _table_of_intervals(belts: CalibrationBelts) -> Table:
    rows = [
        [formats.shortened(name, 120), str(parameter), *formats.estimate_and_interval(row)]
        for name, belt in belts.items()
        for parameter, row in belt.intervals.iterrows()
    ]
    caption = _caption_of_intervals(next(iter(belts.values())))
    return Table(caption, ["Model", "", "Estimate", "Interval"], rows)


def _caption_of_intervals(belt: CalibrationBelt) -> str:
    return f"{_family(belt).capitalize()}: individual {formats.percent(belt.coverage)} intervals"


def _overlay(display: BeltsDisplay) -> Figure:
    labels = (PREDICTED, OUTCOME)
    figure = figures.ProbabilityFigure("belts", display.axes(), labels, height=460, pointed=False)
    figure.add_diagonal()
    keys = [Key("dash-muted", "calibrated")]
    for index, (name, one) in enumerate(display.belts.items()):
        color, dash = f"model{index % len(MODELS)}", look_of(index)[1]
        if one.status != "empty":
            figure.add_belt(one, color, alpha=0.18, line_dash=dash)
        predicted, observed = one.points[["predicted", "observed"]].to_numpy().T
        points = {"x": figure.across.place(predicted), "y": figure.up.place(observed)}
        roles = {"line_color": color, "fill_color": color}
        figures.add_glyph(figure.plot, "scatter", points, roles, size=6)
        keys.append(Key(f"line-{color}", display.legend_of(name)))
    level = formats.percent(next(iter(display.belts.values())).coverage)
    return Figure(
        "belts",
        f"Calibration belts of {len(display.belts)} models over one diagonal.",
        figure.plot,
        keys,
        f"Each area is the belt of a model, which contains its whole calibration curve with "
        f"probability at least {level}, if the curve is of the form assumed. The points are "
        "observed shares in groups of its predictions. Where a belt leaves the dashed "
        "diagonal, outcomes are more (above) or less frequent than that model predicts. The "
        "p-values are adjusted for the number of models.",
    )
