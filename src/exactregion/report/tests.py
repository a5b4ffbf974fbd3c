"""The report of a test: where the observed statistic lies, and the outcomes in groups."""

from __future__ import annotations

import numpy as np

from exactregion.plotting import NullDisplay, wording
from exactregion.report.facts import code_of, result_facts
from exactregion.report.figures import add_bars, add_line, limits_around, new_figure
from exactregion.report.groups import groups_section
from exactregion.report.page import Figure, Key, Page, Pointer, Section, Table
from exactregion.testing.result import ExactTestResult

__all__ = ["page_of_test"]


def page_of_test(result: ExactTestResult, title: str | None = None) -> Page:
    """Gather the page of a test."""
    question = result.question
    calibration = question.kind == "calibration"
    subject = "predictions" if calibration else "probabilities"
    return Page(
        title=title or f"{'Calibration' if calibration else 'Candidate'} test",
        question=f"Can these {subject} be right?",
        answer=wording.answer_of_test(result),
        guarantee=wording.guarantee_of_test(result),
        verdict="against" if result.pvalue <= wording.SURPRISE else "fits",
        facts=result_facts(result),
        sections=[
            Section(
                "How unusual the outcomes are",
                [_null_figure(NullDisplay.from_result(result, draw=False)), _table(result)],
                beside=True,
            ),
            groups_section(question.probabilities, question.successes, question.trials),
        ],
        assumptions=[
            "Rows are independent of each other.",
            "The probabilities were not fitted to these outcomes: they come from theory, from "
            "other data, or from rows that were held out.",
            "The statistic was chosen before the outcomes were seen.",
        ],
        code=code_of(result),
    )


def _table(result: ExactTestResult) -> Table:
    middle = float(np.median(result.null_distribution))
    rows = [
        ["Exact p-value", f"{result.pvalue:.4g}"],
        ["Rank of the observed outcomes", f"{result.rank:,} of {result.n_resamples + 1:,}"],
        ["Their statistic", wording.number(result.statistic)],
        ["Median of the alternatives", wording.number(middle)],
    ]
    return Table("The test in numbers", ["", "Value"], rows)


def _null_figure(display: NullDisplay) -> Figure:
    number = wording.number
    edges, smaller, larger = display.histogram()
    total = smaller + larger
    farthest = edges[-1] + 0.3 * (edges[-1] - edges[0])
    limits = limits_around(np.append(edges, farthest if display.is_far else display.statistic))
    top = 1.12 * max(1, int(total.max(initial=0)))
    plot = new_figure("null", x=("statistic", limits), y=("number of alternatives", (0.0, top)))
    add_bars(plot, edges, np.zeros_like(total), smaller, "pale")
    add_bars(plot, edges, smaller, total, "blue")
    here = limits[1] if display.is_far else display.statistic
    dash = "dashed" if display.is_far else "solid"
    add_line(plot, [here, here], [0.0, top], "ink", line_width=2, line_dash=dash)
    observed = f"observed outcomes: {number(display.statistic)}"
    texts = [
        f"statistic {number(low)} to {number(high)}\nalternatives: {count:,}"
        for low, high, count in zip(edges[:-1], edges[1:], total.tolist(), strict=True)
    ]
    return Figure(
        "null",
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
        [Pointer("null", edges[:-1].tolist(), edges[1:].tolist(), texts)],
    )
