"""The report of a test of many segments: those that are off, and all of them in a table."""

from __future__ import annotations

import numpy as np

from exactregion.plotting import SegmentDisplay, formats
from exactregion.report import figures
from exactregion.report.page import Figure, Key, Page, Pointer, Section, Table
from exactregion.testing.segment_result import SegmentTestResult

SHOWN = 20
"""Segments in the figure, which is then about as high as a screen."""

LISTED = 2000
"""Segments in the table: more of them make a page that browsers are slow with."""

LONGEST = 42
"""Letters of a name beside the figure: longer ones would take more than half of a narrow page."""


def page_of_segments(result: SegmentTestResult, title: str | None = None) -> Page:
    """Gather the page of a test of segments."""
    display = SegmentDisplay.from_result(result, most=SHOWN, draw=False)
    return Page.of(
        result,
        title=title or "Predictions in segments",
        question="For whom are these predictions off?",
        sections=[
            Section("The strongest evidence", [_figure(display)]),
            Section("All segments", [_table(result)]),
        ],
        assumptions=[
            "Rows are independent of each other.",
            "The predictions were not fitted to these outcomes: the rows were held out.",
            "The segments were not made from the outcomes.",
        ],
    )


def _figure(display: SegmentDisplay) -> Figure:
    k = len(display.names)
    places = -np.arange(k, dtype=np.float64)
    low, high = display.envelope.T
    limits = figures.limits_around(np.concatenate([display.lower, display.upper, low, high, [0.0]]))
    plot = figures.new_figure(
        "segments",
        x=("observed minus expected share", limits),
        y=("", (0.6 - k, 0.6)),
        height=110 + 26 * k,
    )
    names = (formats.shortened(name, LONGEST, middle=True) for name in display.names)
    figures.set_ticks(plot.yaxis[0], places, map(figures.label_of, names))
    plot.ygrid[0].grid_line_color = None
    plot.ygrid[0].tags = []
    bars = {"y": places, "left": low, "right": high}
    figures.add_glyph(plot, "hbar", bars, {"fill_color": "pale"}, height=0.62, line_color=None)
    figures.add_line(plot, [0.0, 0.0], [0.6 - k, 0.6], "muted", line_width=1.2)
    for chosen, role in ((display.named, "vermilion"), (~display.named, "blue")):
        lines = {"x0": display.lower[chosen], "x1": display.upper[chosen]}
        lines |= {"y0": places[chosen], "y1": places[chosen]}
        figures.add_glyph(plot, "segment", lines, {"line_color": role}, line_width=1.8)
        dots = {"x": display.difference[chosen], "y": places[chosen]}
        dots["size"] = 1.4 * np.sqrt(display.areas[chosen])
        figures.add_glyph(plot, "scatter", dots, {"fill_color": role, "line_color": role})
    texts = [
        f"{name}\nobserved minus expected: {display.difference[i]:+.3f} "
        f"({display.lower[i]:+.3f} to {display.upper[i]:+.3f})\n"
        f"{display.n[i]:,} outcomes, adjusted p-value {display.pvalues[i]:.3g}"
        for i, name in enumerate(display.names)
    ]
    level = formats.percent(display.confidence_level)
    return Figure(
        "segments",
        "Observed minus expected share of the segments with the strongest evidence; the table "
        "below has the numbers.",
        plot,
        [
            Key("solid-vermilion", "off, by its adjusted p-value"),
            Key("solid-blue", "not shown to be off"),
            Key("area-pale", "expected if all predictions are right"),
        ],
        "One line per segment, the strongest evidence first; large dots have many outcomes. To the "
        "right of zero outcomes are more frequent than predicted, to the left less frequent. Lines "
        "are limits of the true difference, and grey bars say where differences lie if predictions "
        f"are right: both hold for all segments together, with {level}.",
        [Pointer("segments", places - 0.5, places + 0.5, texts, along="y")],
    )


def _table(result: SegmentTestResult) -> Table:
    number = len(result.table)
    level = formats.percent(result.confidence_level)
    caption = f"The {LISTED:,} with the strongest evidence, of {number:,}"
    caption = caption if number > LISTED else f"All {number:,}"
    heads = ["Segment", "Outcomes", "Observed", "Expected", "Difference", "Lower", "Upper"]
    return Table(
        f"{caption}. Lower and upper limits hold for all differences together, with {level}. "
        "A click on a heading sorts.",
        [*heads, "p-value", "Adjusted"],
        formats.segment_rows(result, LISTED),
        sortable=True,
    )
