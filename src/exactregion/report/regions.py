"""The report of a region: parameters to point at, their curves, and intervals."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from exactregion.engine.progress import showing
from exactregion.plotting import wording
from exactregion.region import ConfidenceRegion, HypothesisTest
from exactregion.region.summary import zero_tests
from exactregion.report.explorer import explore
from exactregion.report.facts import code_of, region_facts
from exactregion.report.inputs import MOST_INPUTS
from exactregion.report.page import Page, Section, Table, Words

if TYPE_CHECKING:
    import pandas as pd

EMPTY = "These intervals assume that the family is right, against which the outcomes are evidence."
ENDS = (
    "No member of the region lies beyond an end that is proven. Others were searched, and checked "
    "with random parameters."
)
ZERO = "p is the exact p-value of the parameter being zero."
STATUS = {"unsettled": ", may be longer", "empty": ", empty"}


def page_of_region(region: ConfidenceRegion, title: str | None = None) -> Page:
    """Gather the page of a region."""
    with showing("report", show=region.progress):
        explorer = explore(region)
        individual, joint = region.intervals(), region.intervals(joint=True)
        tests = zero_tests(region.fitted_, only_quick=True)
    level = wording.percent(region.coverage_)
    return Page(
        title=title or "Confidence region",
        question=_question(region),
        answer=wording.answer_of_region(region),
        guarantee=wording.guarantee_of_region(region),
        verdict={"empty": "against", "unbounded": "open"}.get(region.status_, "fits"),
        facts=region_facts(region),
        sections=[
            Section(
                "Parameters and their curves",
                [explorer, Words(_remarks(region, len(explorer.bands)))],
            ),
            Section(
                "Intervals",
                [
                    interval_table(f"Individual intervals, {level} each", individual, tests),
                    interval_table(f"Simultaneous intervals, {level} together", joint),
                    Words([EMPTY if region.is_empty_ else ENDS, *([ZERO] if any(tests) else [])]),
                ],
                beside=True,
            ),
        ],
        assumptions=[
            "Rows are independent of each other.",
            "The true probabilities belong to the family, for some value of its parameters. If "
            "not, the region may miss the nearest parameters, or be empty.",
            "Whether one setting of the parameters is in the region is known exactly. The edge in "
            "the figure was searched; of intervals it says above whether they are proven.",
        ],
        code=code_of(region),
    )


def _question(region: ConfidenceRegion) -> str:
    names = tuple(wording.shortened(name, 30) for name in region.parameter_names_)
    if len(names) > 4:
        return f"Which values of the {len(names)} parameters fit the outcomes?"
    together = " together" if len(names) > 1 else ""
    return f"Which values of {wording.listed(names)} fit the outcomes{together}?"


def _remarks(region: ConfidenceRegion, curves: int) -> list[str]:
    remarks = []
    status = region.status_
    if status == "empty":
        remarks.append(
            "The search found no member. The largest p-value found is "
            f"{region.pvalue(region.most_compatible_):.4g}."
        )
    if status == "unbounded":
        remarks.append(
            "The region is unbounded: it goes on past the edge of the figure, which shows the part "
            "around the estimate."
        )
    if status == "unsettled":
        remarks.append(
            "The search kept finding members outside of what it had found: intervals and bands may "
            "be too short."
        )
    if status == "disconnected":
        remarks.append("The search found the region in several pieces; the band fills the gaps.")
    if not curves:
        remarks.append(
            "No curves are drawn: the inputs are not columns that vary, or the family has no "
            "probabilities between those of the data."
        )
    if curves == MOST_INPUTS:
        remarks.append(f"Curves are shown along {MOST_INPUTS} inputs at most.")
    return remarks


def interval_table(
    caption: str, intervals: pd.DataFrame, tests: Sequence[HypothesisTest | None] = ()
) -> Table:
    """Make a table of what `ConfidenceRegion.intervals` returned, and of tests if there are any."""
    rows = []
    for name, row in intervals.iterrows():
        estimate, lower, upper = (float(row[key]) for key in ("estimate", "lower", "upper"))
        width = upper - lower if np.isfinite(upper - lower) else None
        # that there is no end is said in its place
        status = STATUS.get(str(row["status"]), "")
        numbers = [wording.number(estimate, width), _end(lower, width), _end(upper, width)]
        found = "proven" if row["certified"] else "searched"
        rows.append([wording.shortened(str(name), 120), *numbers, found + status])
    names = ["Parameter", "Estimate", "From", "To", "Ends"]
    if any(tests):
        names.insert(4, "p")
        for cells, test in zip(rows, tests, strict=True):
            cells.insert(4, "" if test is None else f"{test.pvalue:.4g}")
    return Table(caption, names, rows)


def _end(value: float, width: float | None) -> str:
    if np.isnan(value):
        return "none"
    return "no end" if np.isinf(value) else wording.number(value, width)
