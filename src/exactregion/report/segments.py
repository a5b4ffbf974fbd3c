"""The report of a test of many segments: those that are off, and all of them in a table."""

from __future__ import annotations

import numpy as np
from bokeh.models import FixedTicker

from exactregion.plotting import SegmentDisplay, formats
from exactregion.report.figures import add_glyph, add_line, label_of, limits_around, new_figure
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
    limits = limits_around(np.concatenate([display.lower, display.upper, low, high, [0.0]]))
    plot = new_figure(
        "segments",
        x=("observed minus expected share", limits),
        y=("", (0.6 - k, 0.6)),
        height=110 + 26 * k,
    )
    plot.yaxis[0].ticker = FixedTicker(ticks=places.tolist())
    plot.yaxis[0].major_label_overrides = {
        float(place): label_of(formats.shortened(name, LONGEST, middle=True))
        for place, name in zip(places, display.names, strict=True)
    }
    plot.ygrid[0].grid_line_color = None
    plot.ygrid[0].tags = []
    bars = {"y": places, "left": low, "right": high}
    add_glyph(plot, "hbar", bars, {"fill_color": "pale"}, height=0.62, line_color=None)
    add_line(plot, [0.0, 0.0], [0.6 - k, 0.6], "muted", line_width=1.2)
    for chosen, role in ((display.named, "vermilion"), (~display.named, "blue")):
        lines = {"x0": display.lower[chosen], "x1": display.upper[chosen]}
        lines |= {"y0": places[chosen], "y1": places[chosen]}
        add_glyph(plot, "segment", lines, {"line_color": role}, line_width=1.8)
        dots = {"x": display.difference[chosen], "y": places[chosen]}
        dots["size"] = 1.4 * np.sqrt(display.areas[chosen])
        add_glyph(plot, "scatter", dots, {"fill_color": role, "line_color": role})
    texts = [
        f"{name}\nobserved minus expected: {difference:+.3f} ({lower:+.3f} to {upper:+.3f})\n"
        f"{n:,} outcomes, adjusted p-value {pvalue:.3g}"
        for name, difference, lower, upper, n, pvalue in zip(
            display.names,
            display.difference,
            display.lower,
            display.upper,
            display.n.tolist(),
            display.pvalues,
            strict=True,
        )
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
        [Pointer("segments", (places - 0.5).tolist(), (places + 0.5).tolist(), texts, along="y")],
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
