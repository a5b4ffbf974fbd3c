"""The report of a test: where the observed statistic lies, and the outcomes in groups.

The groups show observed shares beside predicted probabilities: a description, not a test.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from exactregion._typing import FloatArray, IntArray
from exactregion.plotting import NullDisplay, wording
from exactregion.report.facts import code_of, result_facts
from exactregion.report.figures import (
    add_bars,
    add_diagonal,
    add_glyph,
    add_line,
    limits_around,
    new_figure,
)
from exactregion.report.page import Figure, Key, Page, Pointer, Section, Table, Words
from exactregion.testing.result import ExactTestResult


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
            misfit_section(result),
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


def misfit_section(result: ExactTestResult) -> Section:
    """Say which kind of misfit is clearest, what each part thought, and how much is off."""
    surprising = result.pvalue <= wording.SURPRISE
    words = [wording.misfit_text(result)] if surprising else []
    words.append(
        "The parts of the statistic look for one kind of misfit each. Their p-values describe: "
        "each is exact on its own, the smallest of them is not. The p-value of the test, which is "
        "that of all parts together, decides."
        if result.parts
        else "The statistic has no parts that look for one kind of misfit each."
    )
    rows = [[part.name, part.kind, f"{part.pvalue:.4g}", f"{part.rank:,}"] for part in result.parts]
    heads = ["Part", "Looks for", "p-value", "Rank"]
    tables = [Table("The parts of the statistic", heads, rows)] if rows else []
    return Section("What is off, and how much", [Words(words), *tables, _size_table(result)])


def _size_table(result: ExactTestResult) -> Table:
    size, number = result.size, wording.number
    rows = [["Observed less predicted share", number(size.difference)]]
    rows += [
        ["Intercept and slope, most likely", f"{number(size.intercept)} and {number(size.slope)}"]
    ]
    for name, key in (("Brier score", "brier"), ("Log loss", "log_loss")):
        parts = [
            number(getattr(size, f"{key}_{part}"))
            for part in ("miscalibration", "discrimination", "uncertainty")
        ]
        rows.append([name, number(getattr(size, key))])
        rows.append(
            [
                "= miscalibration − discrimination + uncertainty",
                f"{parts[0]} − {parts[1]} + {parts[2]}",
            ]
        )
    rows.append(["Expected calibration error, 15 bins", number(size.ece)])
    rows.append(["Smooth calibration error", number(size.smooth_ece)])
    return Table("Size in these data, without limits", ["", "Value"], rows)


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


def group_by_prediction(
    probabilities: FloatArray, successes: IntArray, trials: IntArray, most: int = 10
) -> pd.DataFrame:
    """Divide outcomes into groups of about equal size; equal predictions stay together.

    One row per group, in ascending order: smallest, largest and mean prediction, share of
    successes, and the outcomes behind it.
    """
    rows = pd.DataFrame({"p": probabilities, "successes": successes, "trials": trials})
    rows = rows[rows["trials"] > 0].assign(expected=lambda rows: rows["p"] * rows["trials"])
    totals = rows.groupby("p")["trials"].sum()
    middles = totals.cumsum() - totals / 2
    group_of_value = (most * middles / totals.sum()).astype(int).clip(upper=most - 1)
    grouped = rows.groupby(rows["p"].map(group_of_value))
    sums, p = grouped[["expected", "successes", "trials"]].sum(), grouped["p"]
    return pd.DataFrame(
        {
            "low": p.min(),
            "high": p.max(),
            "predicted": sums["expected"] / sums["trials"],
            "observed": sums["successes"] / sums["trials"],
            "successes": sums["successes"],
            "trials": sums["trials"],
        }
    )


def groups_section(probabilities: FloatArray, successes: IntArray, trials: IntArray) -> Section:
    """Draw and list the outcomes in groups."""
    groups = group_by_prediction(probabilities, successes, trials)
    return Section(
        "The outcomes in groups", [_groups_figure(groups), _groups_table(groups)], beside=True
    )


def _groups_figure(groups: pd.DataFrame) -> Figure:
    """Draw observed shares against mean predictions, with the diagonal."""
    plot = new_figure(
        "groups",
        x=("mean predicted probability", (-0.03, 1.03)),
        y=("observed share", (-0.05, 1.05)),
        height=420,
    )
    add_diagonal(plot)
    predicted, observed, trials = groups[["predicted", "observed", "trials"]].to_numpy().T
    shares = {"x": predicted, "y": observed, "size": 8 + 10 * np.sqrt(trials / trials.max())}
    roles = {"line_color": "blue", "fill_color": "blue"}
    add_glyph(plot, "scatter", shares, roles, fill_alpha=0.35, line_width=1.6)
    ends = [-1.0, *((predicted[:-1] + predicted[1:]) / 2).tolist(), 2.0]
    rows: Any = groups.itertuples(index=False)
    texts = [
        f"{row.trials:,} outcomes, predictions {_between(row.low, row.high)}\n"
        f"observed {row.observed:.2f} ({row.successes:,} positive)\n"
        f"predicted {row.predicted:.2f} ({row.predicted * row.trials:.1f} expected)"
        for row in rows
    ]
    return Figure(
        "groups",
        "Observed share against mean predicted probability in groups of the prediction; the table "
        "below has the numbers.",
        plot,
        [Key("dot-blue", "a group of outcomes"), Key("dash-muted", "observed as predicted")],
        "Rows are divided into groups of about equal size by their predicted probability. Near the "
        "dashed line outcomes are as frequent as predicted. This figure describes the data; it is "
        "not part of the test.",
        [Pointer("groups", ends[:-1], ends[1:], texts)],
    )


def _groups_table(groups: pd.DataFrame) -> Table:
    rows: Any = groups.itertuples(index=False)
    cells = [
        [
            _between(row.low, row.high),
            f"{row.trials:,}",
            f"{row.successes:,}",
            f"{row.predicted * row.trials:.1f}",
            f"{row.observed:.2f}",
        ]
        for row in rows
    ]
    heads = ["Predictions", "Outcomes", "Positive", "Expected", "Share"]
    return Table("The groups in numbers", heads, cells)


def _between(low: float, high: float) -> str:
    return f"{low:.3g}" if low == high else f"{low:.3g}–{high:.3g}"
