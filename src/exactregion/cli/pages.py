"""What the commands print about tests: of one model or several, of groups, and of classes."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

import exactregion as er
from exactregion.cli.data import facts_of
from exactregion.cli.output import Decision, Page, Results, draws_text, pvalue_text
from exactregion.plotting import ClassesDisplay, formats, wording

if TYPE_CHECKING:
    import pandas as pd

LONGEST = 160
"""Letters of the names of predictions: two lines of 80 columns."""


def add_tests(
    page: Page,
    facts: dict[str, str],
    tests: Mapping[str, er.ExactTestResult],
    table: pd.DataFrame,
    belts: er.CalibrationBelts | None = None,
) -> None:
    """Put facts on the page, and with several models the table of their tests."""
    first = next(iter(tests.values()))
    record = first.to_dict()
    facts["settings"] = draws_text(*(record[key] for key in ("statistic", "resamples", "seed")))
    if len(tests) == 1:
        page.facts({**facts, "p-value": pvalue_text(first), **formats.size_facts(first.size)})
        return
    page.facts(facts)
    names = ["model", "p-value", "adjusted"]
    rows = [
        [str(name), f"{row['pvalue']:.4g}", f"{row['pvalue_holm']:.4g}"]
        for name, row in table.iterrows()
    ]
    if belts is not None:
        names += next(iter(belts.values())).region.parameter_names_
        for cells in rows:
            found = belts[cells[0]].intervals.iterrows()
            cells += [" ".join(formats.estimate_and_interval(row)) for _, row in found]
    page.table(names, rows)
    page.paragraph(kinds_of_misfit(table))


def add_answer(
    page: Page,
    tests: Mapping[str, er.ExactTestResult],
    table: pd.DataFrame,
    belts: er.CalibrationBelts | None = None,
) -> None:
    """Say what the tests found, and what is certain of them."""
    name, first = next(iter(tests.items()))
    belt = None if belts is None else belts[name]
    if len(tests) == 1:
        result: Any = first if belt is None else belt
        off_by = "" if belt is None else wording.answer_of_deviation(belt)
        page.paragraph(wording.answer_of(result), off_by, wording.guarantee_of(result))
        return
    of_belts = () if belt is None else (belt.coverage, belt.degree)
    calibration = first.question.kind == "calibration"
    page.paragraph(
        wording.answer_of_several(table["pvalue_holm"].to_dict(), calibration=calibration),
        wording.guarantee_of_several(int(first.question.trials.sum()), *of_belts),
    )


def decision(
    tests: Mapping[str, er.ExactTestResult],
    table: pd.DataFrame,
    alpha: float | None,
    groups: pd.DataFrame | None = None,
) -> Decision:
    """Decide by the p-value of the only model, or by the adjusted ones of models or groups."""
    if groups is not None or len(tests) > 1:
        table = table if groups is None else groups
        of = "" if groups is None else " of a group"
        pvalue = float(table["pvalue_holm"].min())
        name = f"the smallest adjusted p-value{of} is"
        return Decision(pvalue, name, kinds_of_misfit(table, alpha))
    (test,) = tests.values()
    # a smaller p-value has its misfit in the answer
    reason = wording.misfit_text(test) if test.pvalue > wording.SURPRISE else ""
    return Decision(test.pvalue, reason=reason)


def kinds_of_misfit(table: pd.DataFrame, alpha: float | None = None) -> str:
    """Name the kind of misfit of the groups, or models, that are rejected."""
    rejected = table[table["pvalue_holm"] <= (wording.SURPRISE if alpha is None else alpha)]
    kinds = [
        f"{', '.join(map(str, key)) if isinstance(key, tuple) else key}: {kind}"
        for key, kind in rejected["misfit"].items()
    ]
    return f"Kinds of misfit: {'; '.join(kinds)}." if kinds else ""


def add_groups(page: Page, groups: pd.DataFrame) -> None:
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


def finish_classes(
    result: er.ClassTestResult,
    head: dict[str, Any],
    names: list[str],
    results: Results,
    *,
    command: str,
    files: list[str],
    belts: er.CalibrationBelts | None = None,
) -> None:
    """Show the test of several classes, and write the files."""
    content = {"command": command, "file": " ".join(files), **head, "probability": names}
    content |= {key: value for key, value in result.to_dict().items() if key != "kind"}
    question = "Can these probabilities be true?"
    page = Page(question if command == "test" else "Are these predictions calibrated?")
    page.facts(
        {
            **facts_of(head, files=len(files)),
            "predictions": formats.shortened(", ".join(names), LONGEST),
            "settings": draws_text(str(content["statistic"]), result.n_resamples, result.seed),
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
    results.finish(page, content, result, Decision(result.pvalue), draw=draw, belts=belts)
