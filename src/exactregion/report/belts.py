"""The report of a calibration belt: the belt over the predictions, and where it is off."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from bokeh.layouts import column
from bokeh.models import ColumnDataSource

from exactregion.plotting import wording
from exactregion.plotting.belt import BINS
from exactregion.report.facts import belt_facts, code_of
from exactregion.report.figures import add_glyph, new_figure
from exactregion.report.groups import group_by_prediction
from exactregion.report.parts import Figure, Key, Page, Pointer, Section, Words
from exactregion.report.tables import interval_table
from exactregion.report.tests import groups_figure, groups_table

if TYPE_CHECKING:
    from exactregion.calibration import CalibrationBelt

__all__ = ["page_of_belt"]

EVENTS = ("mousemove", "mouseleave", "tap")


def page_of_belt(belt: CalibrationBelt, title: str | None = None) -> Page:
    """Gather the page of a belt."""
    groups = group_by_prediction(belt.y_prob, belt.successes, belt.trials)
    level = wording.percent(belt.coverage)
    return Page(
        title=title or "Calibration of predictions",
        question="Do outcomes happen as often as predicted?",
        answer=wording.answer_of_belt(belt),
        guarantee=wording.guarantee_of_belt(belt),
        verdict="against" if belt.pvalue <= wording.SURPRISE or belt.departures else "fits",
        facts=belt_facts(belt),
        sections=[
            Section(
                "The belt",
                [
                    _belt_figure(belt),
                    Words(_departures(belt), listed=True),
                    interval_table(f"Intercept and slope, {level} each", belt.intervals),
                    Words(_meaning(belt)),
                ],
                beside=True,
            ),
            Section(
                "The outcomes in groups",
                [groups_figure(groups), groups_table(groups)],
                beside=True,
            ),
        ],
        assumptions=[
            "Rows are independent of each other.",
            "The predictions were not fitted to these outcomes: the rows were held out.",
            "For the belt and its intervals: the true curve is a shift and stretch of the "
            "predictions on the logit scale. The p-value needs no such form.",
        ],
        code=code_of(belt),
    )


def _departures(belt: CalibrationBelt) -> list[str]:
    if belt.status == "empty":
        return ["No shift and stretch of the predictions fits, so there is no belt to draw."]
    if not belt.departures:
        return ["The diagonal stays within the belt everywhere."]
    return [_sentence(departure) for departure in belt.departures]


def _sentence(departure: Any) -> str:
    text = wording.departure_text(departure)
    often = "more" if departure.side == "above" else "less"
    return f"{text[0].upper()}{text[1:]}: outcomes are {often} frequent than predicted."


def _meaning(belt: CalibrationBelt) -> list[str]:
    lines = [
        "The curves are expit(intercept + slope · logit p); calibrated predictions have intercept "
        "0 and slope 1. An intercept above 0 means that outcomes are more frequent than predicted, "
        "below 0 less frequent. A slope below 1 means that predictions are too extreme, above 1 "
        "too timid."
    ]
    if belt.status == "empty":
        lines.append("The intervals suppose such a curve, which the outcomes speak against.")
    if belt.status == "unbounded":
        lines.append("The belt is of an unbounded set: the outcomes set no limit somewhere.")
    if belt.status == "disconnected":
        lines.append("The belt is of a set in several pieces, and fills the gaps between them.")
    return lines


def _belt_figure(belt: CalibrationBelt) -> Figure:
    top = new_figure(
        "belt",
        x=("", (0.0, 1.0)),
        y=("probability of the outcome", (0.0, 1.0)),
        height=430,
        events=EVENTS,
    )
    top.xaxis[0].axis_label = None
    keys = _draw_belt(top, belt) if belt.status != "empty" else []
    keys += _draw_diagonal(top, belt)
    below, bars = _histogram(belt, top.x_range)
    return Figure(
        "belt",
        f"Calibration belt at {wording.percent(belt.coverage)} over predicted probabilities, with "
        "a histogram of the predictions below.",
        column(top, below, sizing_mode="stretch_width", spacing=0),
        [
            *keys,
            Key("solid-blue", "predictions where it happened"),
            Key("area-grey", "where it did not"),
        ],
        "Where the belt holds the dashed diagonal, outcomes may well be as frequent as predicted. "
        "Where the belt lies above it, outcomes are more frequent than predicted; where below, "
        "less frequent. Below are the predictions, up for outcomes that happened and down for "
        "those that did not.",
        [*([_belt_pointer(belt)] if belt.status != "empty" else []), bars],
    )


def _draw_belt(plot: Any, belt: CalibrationBelt) -> list[Key]:
    curves = ColumnDataSource(
        {"x": belt.grid, "lower": belt.lower, "upper": belt.upper, "estimate": belt.estimate}
    )
    area = {"x": "x", "y1": "lower", "y2": "upper"}
    add_glyph(plot, "varea", curves, {"fill_color": "blue"}, fill_alpha=0.25, **area)
    for bound in ("lower", "upper"):
        add_glyph(
            plot,
            "line",
            curves,
            {"line_color": "blue"},
            x="x",
            y=bound,
            line_alpha=0.6,
            line_width=1,
        )
    add_glyph(plot, "line", curves, {"line_color": "blue"}, x="x", y="estimate", line_width=2)
    mark = ColumnDataSource({"x": [], "lower": [], "upper": []}, name="mark")
    ends = {"x0": "x", "x1": "x", "y0": "lower", "y1": "upper"}
    add_glyph(plot, "segment", mark, {"line_color": "ink"}, line_width=2, **ends)
    return [
        Key("area-blue", f"{wording.percent(belt.coverage)} belt"),
        Key("line-blue", "most compatible curve"),
    ]


def _draw_diagonal(plot: Any, belt: CalibrationBelt) -> list[Key]:
    diagonal = ColumnDataSource({"x": [0.0, 1.0], "y": [0.0, 1.0]})
    dashes: dict[str, Any] = {"line_dash": [4, 4], "line_width": 1.4}
    add_glyph(plot, "line", diagonal, {"line_color": "muted"}, x="x", y="y", **dashes)
    keys = [Key("dash-muted", "calibrated")]
    if belt.departures:
        ends = [[departure.start, departure.stop] for departure in belt.departures]
        off = ColumnDataSource({"xs": ends, "ys": ends})
        look: dict[str, Any] = {"line_width": 4, "line_cap": "round"}
        add_glyph(plot, "multi_line", off, {"line_color": "vermilion"}, xs="xs", ys="ys", **look)
        keys.append(Key("line-vermilion", "diagonal outside the belt"))
    return keys


def _belt_pointer(belt: CalibrationBelt) -> Pointer:
    grid = belt.grid
    middles = ((grid[:-1] + grid[1:]) / 2).tolist()
    ends = [float(grid[0]), *middles, float(grid[-1])]
    texts = [
        f"predicted {p:.3f}\nbetween {low:.3f} and {high:.3f}{_side(belt, p)}"
        for p, low, high in zip(grid, belt.lower, belt.upper, strict=True)
    ]
    mark = {"x": grid, "lower": belt.lower, "upper": belt.upper}
    return Pointer(
        "belt", ends[:-1], ends[1:], texts, {name: one.tolist() for name, one in mark.items()}
    )


def _side(belt: CalibrationBelt, p: float) -> str:
    for departure in belt.departures:
        if departure.start <= p <= departure.stop:
            return f"\npredictions too {'low' if departure.side == 'above' else 'high'} here"
    return ""


def _histogram(belt: CalibrationBelt, x_range: Any) -> tuple[Any, Pointer]:
    edges = np.linspace(0, 1, BINS + 1)
    happened, not_so = (
        np.histogram(belt.y_prob, edges, weights=weights)[0]
        for weights in (belt.successes, belt.trials - belt.successes)
    )
    highest = 1.1 * max(1.0, happened.max(), not_so.max())
    plot = new_figure(
        "histogram",
        x=("predicted probability", x_range),
        y=("outcomes", (-highest, highest)),
        height=150,
        events=EVENTS,
    )
    plot.toolbar_location = None
    tick = _round_below(highest)
    plot.yaxis[0].ticker = [-tick, 0, tick]
    plot.yaxis[0].major_label_overrides = {-tick: f"{tick:g}", tick: f"{tick:g}"}
    for counts, role in ((happened, "blue"), (-not_so, "muted")):
        bars = ColumnDataSource({"left": edges[:-1], "right": edges[1:], "top": counts})
        roles = {"fill_color": role, "line_color": "paper"}
        sides = {"left": "left", "right": "right", "top": "top", "bottom": 0}
        add_glyph(plot, "quad", bars, roles, fill_alpha=0.8, line_width=0.6, **sides)
    texts = [
        f"predictions {low:.3g} to {high:.3g}\n{int(yes):,} happened, {int(no):,} did not"
        for low, high, yes, no in zip(edges[:-1], edges[1:], happened, not_so, strict=True)
    ]
    return plot, Pointer("histogram", edges[:-1].tolist(), edges[1:].tolist(), texts)


def _round_below(value: float) -> float:
    """Give the largest of 1, 2, 5, 10, 20, … that is not above the value."""
    unit = 10.0 ** np.floor(np.log10(value))
    return float(unit * max(step for step in (1, 2, 5) if step * unit <= value))
