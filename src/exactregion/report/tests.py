"""The report of a test: where the observed statistic lies, and the outcomes in groups.

The groups show observed shares beside predicted probabilities: a description, not a test.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import pandas as pd

from exactregion.plotting import NullDisplay, formats, reliability, wording
from exactregion.plotting.formats import probability
from exactregion.plotting.reliability import ProbabilityAxis, axes_for
from exactregion.report import figures
from exactregion.report.page import Figure, Key, Page, Pointer, Section, Table, Words
from exactregion.testing.misfit import Part
from exactregion.testing.result import ExactTestResult

ASSUMPTIONS = [
    "Rows are independent of each other.",
    "The probabilities were not fitted to these outcomes: they come from theory, from other data, "
    "or from rows that were held out.",
    "The statistic was chosen before the outcomes were seen.",
]

ADJUSTED = (
    "Each p-value is exact on its own. The adjusted ones (Holm) may be looked at together: one or "
    "more of those that are right is 0.05 or less with a probability of at most 5%, although all "
    "are tested on the same outcomes."
)


def page_of_test(result: ExactTestResult, title: str | None = None, id: str = "") -> Page:
    """Gather the page of a test; `id` tells its figures from those of others on the same page."""
    calibration = result.question.kind == "calibration"
    subject = "predictions" if calibration else "probabilities"
    null = null_figure(NullDisplay.from_result(result, draw=False), f"null{id}")
    return Page.of(
        result,
        title=title or f"{'Calibration' if calibration else 'Candidate'} test",
        question=f"Can these {subject} be right?",
        sections=[
            Section("Null distribution", [null, _table(result)], beside=True),
            misfit_section(result),
            _groups_section(result, f"groups{id}"),
        ],
        assumptions=ASSUMPTIONS,
    )


def _table(result: ExactTestResult) -> Table:
    middle = float(np.median(result.null_distribution))
    rows = [
        ["Exact p-value", f"{result.pvalue:.4g}"],
        ["Rank of the observed outcomes", f"{result.rank:,} of {result.n_resamples + 1:,}"],
        ["Their statistic", formats.number(result.statistic)],
        ["Median of the alternatives", formats.number(middle)],
    ]
    return Table("The test in numbers", ["", "Value"], rows)


def misfit_section(result: ExactTestResult) -> Section:
    """Say which kind of misfit is clearest, what each part found, and how much is off."""
    surprising = result.pvalue <= wording.SURPRISE
    words = [wording.misfit_text(result)] if surprising else []
    words.append(
        "The parts of the statistic look for one kind of misfit each. Their p-values describe: "
        "each is exact on its own, the smallest of them is not. The p-value of the test, which is "
        "that of all parts together, decides."
        if result.parts
        else "The statistic has no parts that look for one kind of misfit each."
    )
    tables = [parts_table(result.parts)] if result.parts else []
    return Section("What is off, and how much", [Words(words), *tables, _size_table(result)])


def parts_table(parts: Iterable[Part]) -> Table:
    """List what each part of a statistic thought."""
    rows = [[part.name, part.kind, f"{part.pvalue:.4g}", f"{part.rank:,}"] for part in parts]
    heads = ["Part", "Looks for", "p-value", "Rank"]
    return Table("The parts of the statistic", heads, rows)


def _size_table(result: ExactTestResult) -> Table:
    size, number = result.size, formats.number
    rows = [
        ["Observed less predicted share", number(size.difference)],
        ["Intercept and slope, most likely", f"{number(size.intercept)} and {number(size.slope)}"],
    ]
    names = ("miscalibration", "discrimination", "uncertainty")
    for name, key in (("Brier score", "brier"), ("Log loss", "log_loss")):
        parts = [number(getattr(size, f"{key}_{part}")) for part in names]
        rows.append([name, number(getattr(size, key))])
        rows.append(["= {} − {} + {}".format(*names), "{} − {} + {}".format(*parts)])
    rows.append(["Expected calibration error, 15 bins", number(size.ece)])
    rows.append(["Smooth calibration error", number(size.smooth_ece)])
    return Table("Size in these data, without limits", ["", "Value"], rows)


def null_figure(display: NullDisplay, id: str = "null") -> Figure:
    """Draw where the observed statistic lies among those of the alternatives."""
    number = formats.number
    edges, smaller, larger = display.histogram()
    total = smaller + larger
    place = np.log10 if display.is_long else np.asarray  # figures have plain axes
    at = place(edges)
    farthest = at[-1] + 0.3 * (at[-1] - at[0])
    observed_at = farthest if display.is_far else float(place(display.statistic))
    limits = figures.limits_around(np.append(at, observed_at))
    top = 1.12 * max(1, int(total.max(initial=0)))
    label = "statistic (log scale)" if display.is_long else "statistic"
    plot = figures.new_figure(id, x=(label, limits), y=("number of alternatives", (0.0, top)))
    if display.is_long:
        tens = np.arange(np.ceil(limits[0]), np.floor(limits[1]) + 1)
        figures.set_ticks(plot.xaxis[0], tens, [f"{10.0**ten:g}" for ten in tens])
    figures.add_bars(plot, at, np.zeros_like(total), smaller, "pale")
    figures.add_bars(plot, at, smaller, total, "blue")
    here = limits[1] if display.is_far else observed_at
    dash = "dashed" if display.is_far else "solid"
    figures.add_line(plot, [here, here], [0.0, top], "ink", line_width=2, line_dash=dash)
    observed = f"observed outcomes: {number(display.statistic)}"
    texts = [
        f"statistic {number(low)} to {number(high)}\nalternatives: {count:,}"
        for low, high, count in zip(edges[:-1], edges[1:], total.tolist(), strict=True)
    ]
    return Figure(
        id,
        f"Histogram of the statistic of {len(display.null_distribution):,} alternative data sets, "
        f"with the observed one at {number(display.statistic)}, rank {display.rank:,}.",
        plot,
        [
            Key("area-pale", "alternatives, smaller than observed"),
            Key("solid-blue", "alternatives, at least as large"),
            Key("line-ink", f"{observed}, off to the right" if display.is_far else observed),
        ],
        "Each alternative is a data set drawn as if the probabilities were right. The statistic "
        "measures how far outcomes are from them. The fewer alternatives lie at the line or beyond "
        "it, the more unusual the observed outcomes are.",
        [Pointer(id, at[:-1], at[1:], texts)],
    )


def _groups_section(result: ExactTestResult, id: str) -> Section:
    """Draw and list the outcomes in groups of the prediction: a reliability diagram."""
    asked = result.question
    groups = reliability(asked.probabilities, asked.successes, asked.trials)
    ends = groups[["observed", "lower", "upper"]].to_numpy().ravel()
    axes = axes_for(asked.probabilities[asked.trials > 0], [], ends)
    labels = ("mean predicted probability", "observed share")
    drawn = figures.ProbabilityFigure(id, axes, labels, height=420)
    drawn.add_diagonal()
    drawn.add_points(groups, "blue")
    figure = Figure(
        id,
        "Reliability diagram: observed share against mean predicted probability in groups of the "
        "prediction; the table below has the numbers.",
        drawn.plot,
        [
            Key("dot-blue", "observed share of a group, 95% exact limits"),
            Key("dash-muted", "calibrated"),
        ],
        "Rows are divided into groups by their predicted probability. Near the dashed line "
        "outcomes are as frequent as predicted. The limits are exact (Clopper and Pearson) and "
        "individual: each holds with 95% on its own. This figure describes the data; it is not "
        "part of the test.",
        [pointer_of_points(groups, axes[0], id)],
    )
    return Section("Reliability diagram", [figure, groups_table(groups)], beside=True)


def pointer_of_points(groups: pd.DataFrame, across: ProbabilityAxis, plot: str) -> Pointer:
    """Say beside the pointer what the nearest point of a reliability diagram shows."""
    x = across.place(groups["predicted"])
    low, high = figures.limits_of(across)
    ends = np.concatenate([[low - 1.0], (x[:-1] + x[1:]) / 2, [high + 1.0]])
    rows: Any = groups.itertuples(index=False)
    texts = [
        f"{row.trials:,} outcomes, predictions {_between(row.low, row.high)}\n"
        f"observed {probability(row.observed)} ({row.successes:,} positive)\n"
        f"limits {probability(row.lower)} to {probability(row.upper)}\n"
        f"predicted {probability(row.predicted)} ({row.predicted * row.trials:.1f} expected)"
        for row in rows
    ]
    return Pointer(plot, ends[:-1], ends[1:], texts)


def groups_table(groups: pd.DataFrame, level: str = "95%") -> Table:
    """List the groups of a reliability diagram."""
    rows: Any = groups.itertuples(index=False)
    cells = [
        [
            _between(row.low, row.high),
            f"{row.successes:,} of {row.trials:,}",
            f"{row.predicted * row.trials:.1f}",
            probability(row.observed),
            f"{probability(row.lower)} to {probability(row.upper)}",
        ]
        for row in rows
    ]
    heads = ["Predictions", "Positive", "Expected", "Share", f"{level} limits"]
    return Table("Reliability diagram in numbers", heads, cells)


def _between(low: float, high: float) -> str:
    ends = [probability(end, 3) for end in (low, high)]
    return ends[0] if low == high else "–".join(ends)


HEADS = ["Outcomes", "Observed", "Predicted", "p", "p, adjusted"]


def section_of_groups(groups: pd.DataFrame) -> Section:
    """List what `calibration_test` found in groups of rows."""
    names = [str(name) for name in groups.index.names]
    rows = []
    for key, row in groups.iterrows():
        parts = key if isinstance(key, tuple) else (key,)
        head = [formats.shortened(str(part), 60) for part in parts]
        rows.append([*head, *formats.group_cells(row)])
    off, tests = int((groups["pvalue_holm"] <= wording.SURPRISE).sum()), f"{len(groups):,} tests"
    found = f"No evidence of miscalibration, adjusted for all {tests}."
    if off:
        found = f"Evidence of miscalibration, adjusted for all {tests}: {off:,} rows."
    table = Table("Subgroups in numbers", [*names, *HEADS], rows)
    return Section("Subgroups", [Words([found]), table, Words([ADJUSTED])])
