"""The report of a calibration belt: the belt over the predictions, and where it is off."""

from __future__ import annotations

from typing import Any

import numpy as np
from bokeh.layouts import column

from exactregion.calibration import CalibrationBelt
from exactregion.plotting import BeltDisplay, wording
from exactregion.report.facts import belt_facts, code_of
from exactregion.report.figures import add_bars, add_diagonal, add_glyph, add_line, new_figure
from exactregion.report.page import Figure, Key, Page, Pointer, Section, Table, Words
from exactregion.report.regions import interval_table
from exactregion.report.tests import groups_section, misfit_section


def page_of_belt(belt: CalibrationBelt, title: str | None = None) -> Page:
    """Gather the page of a belt."""
    level = wording.percent(belt.coverage)
    return Page(
        title=title or "Calibration of predictions",
        question="Do outcomes happen as often as predicted?",
        answer=f"{wording.answer_of_belt(belt)} {wording.answer_of_deviation(belt)}",
        guarantee=wording.guarantee_of_belt(belt),
        verdict="against" if belt.pvalue <= wording.SURPRISE or belt.departures else "fits",
        facts=belt_facts(belt),
        sections=[
            Section(
                "The belt",
                [
                    _figure(BeltDisplay.from_belt(belt, draw=False)),
                    Words(_departures(belt), listed=True),
                    interval_table(f"Intercept and slope, {level} each", belt.intervals),
                    _deviations(belt),
                    Words(_meaning(belt)),
                ],
                beside=True,
            ),
            misfit_section(belt.test),
            groups_section(belt.y_prob, belt.successes, belt.trials),
        ],
        assumptions=[
            "Rows are independent of each other.",
            "The predictions were not fitted to these outcomes: the rows were held out.",
            f"For the belt and its intervals: the true curve is a {wording.RECALIBRATION} of the "
            "predictions on the logit scale. The p-value needs no such form.",
        ],
        code=code_of(belt),
    )


def _deviations(belt: CalibrationBelt) -> Table:
    """List the limits of how far off predictions are."""
    found = "proven" if belt.certified else "searched"
    caption = f"Distance from the diagonal, {wording.percent(belt.coverage)} together, {found}"
    rows = [list(row[:3]) for row in wording.deviation_rows(belt)]
    return Table(caption, ["", "Estimate", "Limits"], rows)


def _departures(belt: CalibrationBelt) -> list[str]:
    if belt.status == "empty":
        return [f"No {wording.RECALIBRATION} of the predictions fits, so there is no belt to draw."]
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


def _meaning(belt: CalibrationBelt) -> list[str]:
    more = {
        "empty": "The intervals assume such a curve, against which the outcomes are evidence.",
        "unbounded": "The belt is of an unbounded set: the outcomes set no limit somewhere.",
        "disconnected": "The belt is of a set in several pieces, and fills the gaps between them.",
    }
    lines = [
        "The curves are expit(intercept + slope · logit p); calibrated predictions have intercept "
        "0 and slope 1. An intercept above 0 means that outcomes are more frequent than predicted, "
        "below 0 less frequent. A slope below 1 means that predictions are too extreme, above 1 "
        "not extreme enough."
    ]
    return [*lines, more[belt.status]] if belt.status in more else lines


def _figure(display: BeltDisplay) -> Figure:
    y = ("probability of the outcome", (0.0, 1.0))
    top = new_figure("belt", x=("", (0.0, 1.0)), y=y, height=430)
    top.xaxis[0].axis_label = None
    below, bars = _histogram(display, top.x_range)
    grid, level = display.grid, wording.percent(display.coverage)
    pointers, keys = [bars], []
    if display.status != "empty":
        area = {"x": grid, "y1": display.lower, "y2": display.upper}
        add_glyph(top, "varea", area, {"fill_color": "blue"}, fill_alpha=0.25)
        for bound in (display.lower, display.upper):
            add_line(top, grid, bound, "blue", line_alpha=0.6)
        add_line(top, grid, display.estimate, "blue", line_width=2)
        nothing: dict[str, Any] = {"x0": [], "x1": [], "y0": [], "y1": []}
        add_glyph(top, "segment", nothing, {"line_color": "ink"}, name="mark", line_width=2)
        pointers = [_pointer(display), bars]
        keys = [Key("area-blue", f"{level} belt"), Key("line-blue", "most compatible curve")]
    add_diagonal(top)
    keys.append(Key("dash-muted", "calibrated"))
    if display.departures:
        ends = [[departure.start, departure.stop] for departure in display.departures]
        off, roles = {"xs": ends, "ys": ends}, {"line_color": "vermilion"}
        add_glyph(top, "multi_line", off, roles, line_width=4, line_cap="round")
        keys.append(Key("line-vermilion", "diagonal outside the belt"))
    return Figure(
        "belt",
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
        "less frequent. The histogram shows the predictions, up for outcomes that happened and "
        "down for those that did not.",
        pointers,
    )


def _pointer(display: BeltDisplay) -> Pointer:
    grid = display.grid
    middles = ((grid[:-1] + grid[1:]) / 2).tolist()
    ends = [float(grid[0]), *middles, float(grid[-1])]
    texts = [
        f"predicted {p:.3f}\nbetween {low:.3f} and {high:.3f}{_side(display, p)}"
        for p, low, high in zip(grid, display.lower, display.upper, strict=True)
    ]
    columns = {"x0": grid, "x1": grid, "y0": display.lower, "y1": display.upper}
    mark = {name: values.tolist() for name, values in columns.items()}
    return Pointer("belt", ends[:-1], ends[1:], texts, mark)


def _side(display: BeltDisplay, p: float) -> str:
    for departure in display.departures:
        if departure.start <= p <= departure.stop:
            return f"\npredictions too {'low' if departure.side == 'above' else 'high'} here"
    return ""


def _histogram(display: BeltDisplay, x_range: Any) -> tuple[Any, Pointer]:
    edges, happened, others = display.histogram()
    highest = 1.1 * max(1.0, happened.max(), others.max())
    limits = (-highest, highest)
    x = ("predicted probability", x_range)
    plot = new_figure("histogram", x=x, y=("outcomes", limits), height=150)
    plot.toolbar_location = None
    # the largest of 1, 2, 5, 10, 20, … that fits
    unit = 10.0 ** np.floor(np.log10(highest))
    tick = float(unit * max(step for step in (1, 2, 5) if step * unit <= highest))
    plot.yaxis[0].ticker = [-tick, 0, tick]
    plot.yaxis[0].major_label_overrides = {-tick: f"{tick:g}", tick: f"{tick:g}"}
    for counts, role in ((happened, "blue"), (-others, "muted")):
        add_bars(plot, edges, np.zeros_like(counts), counts, role, fill_alpha=0.8)
    texts = [
        f"predictions {low:.3g} to {high:.3g}\n{int(yes):,} happened, {int(no):,} did not"
        for low, high, yes, no in zip(edges[:-1], edges[1:], happened, others, strict=True)
    ]
    return plot, Pointer("histogram", edges[:-1].tolist(), edges[1:].tolist(), texts)
