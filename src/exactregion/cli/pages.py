"""What the commands print about tests: of one model or several, of groups, and of classes."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

import exactregion as er
from exactregion.cli.data import Data, facts_of
from exactregion.cli.output import Decision, Output, Page, draws_text, pvalue_text
from exactregion.plotting import ClassesDisplay, formats, wording
from exactregion.testing.groups import table_of

if TYPE_CHECKING:
    import pandas as pd

QUESTIONS = {
    "model": "Can these probabilities be true?",
    "calibration": "Are these predictions calibrated?",
}
"""What is asked by each kind of test: headings."""

SETTINGS = ("statistic", "resamples", "seed")

LONGEST = 160
"""Letters of the names of predictions: two lines of 80 columns."""


@dataclass(frozen=True, eq=False)
class ModelTests:
    """The test of each model by its name; belts, and groups of rows, where they were asked for."""

    tests: dict[str, er.ExactTestResult]
    belts: er.CalibrationBelts | None = None
    groups: pd.DataFrame | None = None

    @property
    def first(self) -> er.ExactTestResult:
        """The test of the first model, or of the only one."""
        return next(iter(self.tests.values()))

    @property
    def result(self) -> Any:
        """What reports itself: the test, or the belt, of the only model; or those of all."""
        found: Any = self.tests if self.belts is None else self.belts
        return found if len(found) > 1 else next(iter(found.values()))

    @cached_property
    def table(self) -> pd.DataFrame:
        """One row per model, with adjusted p-values."""
        return table_of(self.tests, "model")

    @property
    def settings(self) -> dict[str, Any]:
        """What programs are told of the settings that all models share."""
        record = self.first.to_dict()
        return {key: record[key] for key in SETTINGS}

    def record(self, name: str, *, grid: bool = False) -> dict[str, Any]:
        """Describe test and belt of one model for programs, but for what all models share."""
        record = self.tests[name].to_dict()
        if self.belts is not None:
            record = self.belts[name].to_dict(grid=grid)
        elif record["kind"] == "calibration":
            record |= {"coverage": None, "belt": None}
        return {key: value for key, value in record.items() if key not in SETTINGS}

    def records(self, named: str, *, grid: bool = False) -> list[dict[str, Any]]:
        """Describe all models, by their names and adjusted p-values too."""
        adjusted = self.table["pvalue_holm"]
        return [
            {named: name, "pvalue_holm": adjusted[name], **self.record(name, grid=grid)}
            for name in self.tests
        ]

    def add_to(self, page: Page, facts: dict[str, str]) -> None:
        """Put facts, tables and what was found on the page."""
        facts["settings"] = draws_text(self.settings)
        off_by = ""
        if len(self.tests) > 1:
            page.facts(facts)
            self._add_models(page)
        else:
            size = formats.size_facts(self.first.size)
            page.facts({**facts, "p-value": pvalue_text(self.first), **size})
            if self.belts is not None:
                _add_belt(page, self.result)
                off_by = wording.answer_of_deviation(self.result)
        if self.groups is not None:
            _add_groups(page, self.groups)
        page.paragraph(wording.answer_of(self.result), off_by, wording.guarantee_of(self.result))

    def _add_models(self, page: Page) -> None:
        names = ["model", "p-value", "adjusted"]
        rows = [
            [str(name), f"{row['pvalue']:.4g}", f"{row['pvalue_holm']:.4g}"]
            for name, row in self.table.iterrows()
        ]
        if self.belts is not None:
            names += next(iter(self.belts.values())).region.parameter_names_
            for cells in rows:
                found = self.belts[cells[0]].intervals.iterrows()
                cells += [" ".join(formats.estimate_and_interval(row)) for _, row in found]
        page.table(names, rows)
        page.paragraph(kinds_of_misfit(self.table))

    def decision(self, alpha: float | None) -> Decision:
        """Decide by the p-value of the only model, or by the adjusted ones of models or groups."""
        if self.groups is None and len(self.tests) == 1:
            # a smaller p-value has its misfit in the answer
            is_told = self.first.pvalue <= wording.SURPRISE
            reason = "" if is_told else wording.misfit_text(self.first)
            return Decision(self.first.pvalue, reason=reason)
        table = self.table if self.groups is None else self.groups
        of = "" if self.groups is None else " of a group"
        name = f"the smallest adjusted p-value{of} is"
        return Decision(float(table["pvalue_holm"].min()), name, kinds_of_misfit(table, alpha))


def kinds_of_misfit(table: pd.DataFrame, alpha: float | None = None) -> str:
    """Name the kind of misfit of the groups, or models, that are rejected."""
    rejected = table[table["pvalue_holm"] <= (wording.SURPRISE if alpha is None else alpha)]
    kinds = [
        f"{', '.join(map(str, key)) if isinstance(key, tuple) else key}: {kind}"
        for key, kind in rejected["misfit"].items()
    ]
    return f"Kinds of misfit: {'; '.join(kinds)}." if kinds else ""


def _add_groups(page: Page, groups: pd.DataFrame) -> None:
    """Put groups on the page: one table per model and column of groups."""
    *outer, last = range(groups.index.nlevels)
    parts: Any = groups.groupby(level=outer, sort=False) if outer else [((), groups)]
    has_model, has_column = (level in groups.index.names for level in ("model", "by"))
    for key, part in parts:
        column = key[-1] if has_column else str(groups.index.names[last])
        rows = zip(part.index.get_level_values(last), part.iterrows(), strict=True)
        page.table(
            [
                f"{column} ({key[0]})" if has_model else column,
                *("n", "observed", "predicted", "p-value", "adjusted"),
            ],
            [[str(group), *formats.group_cells(row)] for group, (_, row) in rows],
        )
    page.paragraph(
        "Adjusted p-values (Holm) may be looked at together: if all groups are calibrated, one or "
        "more is 0.05 or less at most 5 times in 100.",
        kinds_of_misfit(groups),
    )


def _add_belt(page: Page, belt: er.CalibrationBelt) -> None:
    """Put the recalibration and the deviations of one belt on the page."""
    level = formats.percent(belt.coverage)
    page.table(
        [
            wording.RECALIBRATION[belt.degree],
            "estimate",
            f"{level} interval, individual",
            "if calibrated",
        ],
        formats.parameter_rows(belt),
    )
    page.table(
        ["as probabilities", "estimate", f"{level} limits", "if calibrated"],
        formats.deviation_rows(belt),
    )


def finish_classes(
    result: er.ClassTestResult,
    data: Data,
    output: Output,
    command: str,
    belts: er.CalibrationBelts | None = None,
) -> None:
    """Show the test of several classes, and write the files."""
    head, names = data.describe(command, None, result.n), data.numbers
    content = head | {"probability": names}
    content |= {key: value for key, value in result.to_dict().items() if key != "kind"}
    page = Page(QUESTIONS[result.kind])
    page.facts(
        {
            **facts_of(head, data),
            "predictions": formats.shortened(", ".join(names), LONGEST),
            "settings": draws_text(content),
            "p-value": pvalue_text(result),
        }
    )
    page.table(
        ["class", "observed", "expected", "difference", "p-value", "adjusted"],
        formats.class_rows(result),
    )
    if belts is not None:
        content["belts"] = {name: belt.to_dict()["belt"] for name, belt in belts.items()}
        rows = []
        for name, belt in belts.items():
            limit = formats.limit_text(belt.largest_deviation.upper, upper=True)
            ends = [formats.estimate_and_interval(row)[1] for _, row in belt.intervals.iterrows()]
            rows.append([name, *ends[:2], f"at most {limit}"])
        page.table(["belt", "intercept", "slope", "largest deviation"], rows)
    page.paragraph(wording.answer_of(result), wording.guarantee_of(result))
    draw = partial(ClassesDisplay.from_result, result, belts=belts)
    output.finish(page, content, result, Decision(result.pvalue), draw=draw, belts=belts)
