"""The report of a test: where the observed statistic lies, and the outcomes in groups."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from bokeh.models import ColumnDataSource

from exactregion._typing import FloatArray
from exactregion.plotting import wording
from exactregion.plotting.null import FARTHEST, NullDisplay
from exactregion.report.facts import code_of, result_facts
from exactregion.report.figures import add_glyph, limits_around, new_figure
from exactregion.report.groups import Groups, group_by_prediction
from exactregion.report.parts import Figure, Key, Page, Pointer, Section, Table

if TYPE_CHECKING:
    from exactregion.testing.result import ExactTestResult

__all__ = ["groups_figure", "groups_table", "page_of_test"]


def page_of_test(result: ExactTestResult, title: str | None = None) -> Page:
    """Gather the page of a test."""
    asked = result.question
    calibration = asked.kind == "calibration"
    groups = group_by_prediction(asked.probabilities, asked.successes, asked.trials)
    subject = "Calibration" if calibration else "Candidate"
    return Page(
        title=title or f"{subject} test",
        question=(
            "Can these predictions be right?"
            if calibration
            else "Can these probabilities be right?"
        ),
        answer=wording.answer_of_test(result),
        guarantee=wording.guarantee_of_test(result),
        verdict="against" if result.pvalue <= wording.SURPRISE else "fits",
        facts=result_facts(result),
        sections=[
            Section(
                "How odd the outcomes are",
                [_null_figure(result), _result_table(result)],
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
            "The probabilities were not fitted to these outcomes: they come from theory, from "
            "other data, or from rows that were held out.",
            "The statistic was chosen before the outcomes were seen.",
        ],
        code=code_of(result),
    )


def _result_table(result: ExactTestResult) -> Table:
    m = result.n_resamples + 1
    middle = float(np.median(result.null_distribution))
    return Table(
        "The test in numbers",
        ["", "Value"],
        [
            ["Exact p-value", f"{result.pvalue:.4g}"],
            ["Rank of the observed outcomes", f"{result.rank:,} of {m:,}"],
            ["Their statistic", wording.number(result.statistic)],
            ["Median of the alternatives", wording.number(middle)],
        ],
    )


def _null_figure(result: ExactTestResult) -> Figure:
    display = NullDisplay(
        result.null_distribution,
        statistic=result.statistic,
        pvalue=result.pvalue,
        rank=result.rank,
    )
    values = display._finite()
    edges = np.array(display._edges(None))
    counts = [np.histogram(part, edges)[0] for part in _apart(values, result.statistic)]
    total = counts[0] + counts[1]
    span = edges[-1] - edges[0]
    farthest = edges[-1] + FARTHEST * span
    near = result.statistic <= farthest
    limits = limits_around(np.append(edges, result.statistic if near else edges[-1] + 0.3 * span))
    top = 1.12 * max(1, int(total.max(initial=0)))
    plot = new_figure(
        "null",
        x=("statistic", limits),
        y=("number of alternatives", (0.0, top)),
        events=["mousemove", "mouseleave", "tap"],
    )
    base = np.zeros_like(total)
    for bottom, upper, role in ((base, counts[0], "pale"), (counts[0], total, "blue")):
        bars = ColumnDataSource(
            {"left": edges[:-1], "right": edges[1:], "bottom": bottom, "top": upper}
        )
        roles = {"fill_color": role, "line_color": "paper"}
        columns = {name: name for name in ("left", "right", "bottom", "top")}
        add_glyph(plot, "quad", bars, roles, line_width=0.6, **columns)
    here = result.statistic if near else limits[1]
    line = ColumnDataSource({"x": [here, here], "y": [0.0, top]})
    dash = {} if near else {"line_dash": "dashed"}
    add_glyph(plot, "line", line, {"line_color": "ink"}, x="x", y="y", line_width=2, **dash)
    observed = f"observed outcomes: {wording.number(result.statistic)}"
    return Figure(
        "null",
        f"Histogram of the statistic of {result.n_resamples:,} alternative data sets, with the "
        f"observed one at {wording.number(result.statistic)}, rank {result.rank:,}.",
        plot,
        [
            Key("area-pale", "alternatives, less odd than observed"),
            Key("solid-blue", "alternatives, at least as odd"),
            Key("line-ink", observed if near else f"{observed}, off to the right"),
        ],
        "Each alternative is a data set drawn as if the probabilities were right. The statistic "
        "says how far outcomes are from them. The fewer alternatives lie at the line or beyond it, "
        "the odder the observed outcomes are.",
        [_bars_pointer(edges, counts)],
    )


def _apart(values: FloatArray, observed: float) -> tuple[FloatArray, FloatArray]:
    extreme = values >= observed
    return values[~extreme], values[extreme]


def _bars_pointer(edges: FloatArray, counts: list[FloatArray]) -> Pointer:
    number = wording.number
    texts = [
        f"statistic {number(low)} to {number(high)}\nalternatives: {less + more:,}"
        for low, high, less, more in zip(edges[:-1], edges[1:], *counts, strict=True)
    ]
    return Pointer("null", edges[:-1].tolist(), edges[1:].tolist(), texts)


def groups_figure(groups: Groups) -> Figure:
    """Draw observed shares against mean predictions, with the diagonal."""
    plot = new_figure(
        "groups",
        x=("mean predicted probability", (-0.03, 1.03)),
        y=("observed share", (-0.05, 1.05)),
        height=420,
        events=["mousemove", "mouseleave", "tap"],
    )
    diagonal = ColumnDataSource({"x": [0.0, 1.0], "y": [0.0, 1.0]})
    add_glyph(
        plot,
        "line",
        diagonal,
        {"line_color": "muted"},
        x="x",
        y="y",
        line_dash=[4, 4],
        line_width=1.4,
    )
    shares = ColumnDataSource(
        {
            "x": groups.predicted,
            "y": groups.observed,
            "size": 8 + 10 * np.sqrt(groups.trials / groups.trials.max()),
        }
    )
    roles = {"line_color": "blue", "fill_color": "blue"}
    add_glyph(
        plot, "scatter", shares, roles, x="x", y="y", size="size", fill_alpha=0.35, line_width=1.6
    )
    middles = (groups.predicted[:-1] + groups.predicted[1:]) / 2
    ends = [-1.0, *middles.tolist(), 2.0]
    return Figure(
        "groups",
        "Observed share against mean predicted probability in groups of the prediction; the table "
        "below has the numbers.",
        plot,
        [Key("dot-blue", "a group of outcomes"), Key("dash-muted", "observed as predicted")],
        "Rows are divided into groups of about equal size by their predicted probability. Near the "
        "dashed line outcomes are as frequent as predicted. This figure describes the data; it is "
        "not part of the test.",
        [Pointer("groups", ends[:-1], ends[1:], _group_texts(groups))],
    )


def _group_texts(groups: Groups) -> list[str]:
    return [
        f"{trials:,} outcomes, predictions {_between(low, high)}\n"
        f"observed {observed:.2f} ({successes:,} positive)\n"
        f"predicted {predicted:.2f} ({predicted * trials:.1f} expected)"
        for low, high, predicted, observed, successes, trials in groups.rows()
    ]


def groups_table(groups: Groups) -> Table:
    """List the groups."""
    return Table(
        "The groups in numbers",
        ["Predictions", "Outcomes", "Positive", "Expected", "Share"],
        [
            [
                _between(low, high),
                f"{trials:,}",
                f"{successes:,}",
                f"{predicted * trials:.1f}",
                f"{observed:.2f}",
            ]
            for low, high, predicted, observed, successes, trials in groups.rows()
        ],
    )


def _between(low: float, high: float) -> str:
    return f"{low:.3g}" if low == high else f"{low:.3g}–{high:.3g}"
