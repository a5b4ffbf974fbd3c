"""The report of a test with several classes: a table of them, and their reliability diagrams."""

from __future__ import annotations

import numpy as np

from exactregion.calibration import CalibrationBelts
from exactregion.plotting import ClassesDisplay, NullDisplay, formats
from exactregion.plotting.classes import ClassPanel
from exactregion.report.figures import ProbabilityFigure
from exactregion.report.page import Figure, Key, Page, Panels, Section, Table, Words
from exactregion.report.tests import ASSUMPTIONS, null_figure, parts_table, pointer_of_points
from exactregion.testing.class_result import ClassTestResult

MOST_PANELS = 60
"""Figures on a page: more of them make a page that browsers are slow with."""

TOGETHER = (
    "Adjusted p-values hold for all rows of the table together: one or more of the classes "
    "whose probabilities are right has 0.05 or less with a probability of at most 5%."
)


def page_of_classes(
    result: ClassTestResult, title: str | None = None, belts: CalibrationBelts | None = None
) -> Page:
    """Gather the page of a test with several classes."""
    calibration = result.kind == "calibration"
    null = null_figure(NullDisplay.from_result(result, draw=False))
    nothing = Words(["The statistic has no parts."])
    parts = parts_table(result.parts) if result.parts else nothing
    sections = [
        Section("Classes", [_table(result), Words([TOGETHER])]),
        Section("Null distribution", [null, parts]),
    ]
    if result.probabilities is not None:
        display = ClassesDisplay.from_result(result, belts=belts, draw=False)
        sections.insert(1, Section("Reliability diagrams", [_panels(display)]))
    return Page.of(
        result,
        title=title or f"{'Calibration' if calibration else 'Test'} of several classes",
        question="Can these probabilities be right?",
        sections=sections,
        assumptions=ASSUMPTIONS,
    )


def _table(result: ClassTestResult) -> Table:
    rows = [[formats.shortened(name, 60), *cells] for name, *cells in formats.class_rows(result)]
    heads = ["Class", "Observed", "Expected", "Difference", "p-value", "Adjusted"]
    return Table("Share of each class in the outcomes, and expected share", heads, rows, True)


def _panels(display: ClassesDisplay) -> Panels:
    shown = list(display.panels.items())
    if len(shown) > MOST_PANELS:  # the top label is the last
        clearest = sorted(shown[:-1], key=lambda one: one[1].adjusted)[: MOST_PANELS - 1]
        shown = [*clearest, shown[-1]]
    keys = [
        Key("dot-vermilion", "observed shares of a class that is off, 95% exact limits"),
        Key("dot-ink", "observed shares of others"),
        Key("dash-muted", "calibrated"),
    ]
    reading = (
        "Rows are divided into groups by the predicted probability of a class; points are the "
        "shares in which it came true, with exact limits (Clopper and Pearson), each on its own. "
        "Near the dashed line classes are as frequent as predicted. The top label is the likeliest "
        "class of each row: points below the line are confidence that is too large."
    )
    if any(panel.belt for _, panel in shown):
        keys.append(Key("area-blue", "belt"))
        reading += " A belt holds the whole true curve of its class, with its level on its own."
    figures = {name: _figure(name, panel, index) for index, (name, panel) in enumerate(shown)}
    return Panels(figures, keys, reading)


def _figure(name: str, panel: ClassPanel, index: int) -> Figure:
    axis, id = ClassesDisplay.axis, f"class-{index}"
    figure = ProbabilityFigure(id, (axis, axis), ("predicted", "observed"), height=280)
    figure.plot.toolbar_location = None
    figure.plot.min_border_left = 40
    figure.add_diagonal()
    if panel.belt is not None and panel.belt.status != "empty":
        figure.add_belt(panel.belt)
    figure.add_points(panel.points, "vermilion" if panel.is_off else "ink")
    adjusted = "" if np.isnan(panel.adjusted) else f"Adjusted p-value {panel.adjusted:.3g}."
    label = f"Reliability diagram of {formats.shortened(name)}."
    pointer = pointer_of_points(panel.points, axis, id)
    return Figure(id, label, figure.plot, [], adjusted, [pointer])
