"""The parts of a page about several models, and about groups of rows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from exactregion.calibration import CalibrationBelt, CalibrationBelts
from exactregion.plotting import BeltsDisplay, wording
from exactregion.plotting.canvas import DASHES, MODELS
from exactregion.report.belts import page_of_belt
from exactregion.report.facts import belt_facts, code_of_several, result_facts
from exactregion.report.figures import (
    add_diagonal,
    add_glyph,
    add_line,
    limits_of,
    name_ticks,
    new_figure,
)
from exactregion.report.page import Figure, Key, Page, Section, Table, Words
from exactregion.report.tests import ASSUMPTIONS, sections_of_test
from exactregion.testing.groups import table_of
from exactregion.testing.result import ExactTestResult

if TYPE_CHECKING:
    import pandas as pd

OF_EACH = ("Predictions",)
"""Facts that differ between models, and are not facts of all."""


def page_of_several(
    results: CalibrationBelts | Mapping[str, ExactTestResult], title: str | None = None
) -> Page:
    """Gather the page of several models: one table, one picture, then each model."""
    belts = results if isinstance(results, CalibrationBelts) else None
    tests: dict[str, Any] = dict(results)
    if belts is not None:
        tests = {name: belt.test for name, belt in belts.items()}
    table, first = table_of(tests, "model"), next(iter(tests.values()))
    calibration = first.question.kind == "calibration"
    facts = result_facts(first) if belts is None else belt_facts(next(iter(belts.values())))
    parts: list[Any] = _tables_of_models(table, belts)
    sections: list[Section] = []
    assumptions = ASSUMPTIONS
    if belts is None:
        for index, (name, test) in enumerate(tests.items()):
            sections += sections_of_test(test, wording.shortened(name), f"-{index}")
    else:
        parts.insert(0, _overlay(BeltsDisplay.from_belts(belts, draw=False)))
        for index, (name, belt) in enumerate(belts.items()):
            page = page_of_belt(belt, id=f"-{index}")
            assumptions = page.assumptions
            sections += [
                replace(section, heading=f"{wording.shortened(name)}: {section.heading}")
                for section in page.sections
            ]
    parts.append(Words([ADJUSTED]))
    return Page(
        title=title or f"{'Calibration' if calibration else 'Test'} of {len(tests)} models",
        question="Which of these models can be right?",
        answer=wording.answer_of_several(table["pvalue_holm"].to_dict(), calibration=calibration),
        guarantee=wording.guarantee_of_several(
            int(first.question.trials.sum()),
            None if belts is None else next(iter(belts.values())).coverage,
            1 if belts is None else next(iter(belts.values())).degree,
        ),
        verdict="against" if table["pvalue_holm"].min() <= wording.SURPRISE else "fits",
        facts=[fact for fact in facts if fact[0] not in OF_EACH],
        sections=[Section("The models", parts, beside=belts is not None), *sections],
        assumptions=assumptions,
        code=code_of_several(results),
    )


ADJUSTED = (
    "Each p-value is exact on its own. The adjusted ones (Holm) may be looked at together: one or "
    "more of those that are right is 0.05 or less with a probability of at most 5%, although all "
    "are tested on the same outcomes."
)


def _tables_of_models(
    table: pd.DataFrame, belts: Mapping[str, CalibrationBelt] | None
) -> list[Table]:
    rows = []
    for name, row in table.iterrows():
        *_, predicted, pvalue, adjusted = wording.group_cells(row)
        rows.append([wording.shortened(str(name), 120), predicted, pvalue, adjusted])
    tables = [Table("Exact tests", ["Model", "Mean prediction", "p", "p, adjusted"], rows)]
    if belts is None:
        return tables
    any_belt = next(iter(belts.values()))
    level, family = wording.percent(any_belt.coverage), wording.RECALIBRATION[any_belt.degree]
    rows = [
        [wording.shortened(name, 120), str(parameter), *wording.estimate_and_interval(row)]
        for name, belt in belts.items()
        for parameter, row in belt.intervals.iterrows()
    ]
    caption = f"{family.capitalize()}: individual {level} intervals"
    return [*tables, Table(caption, ["Model", "", "Estimate", "Interval"], rows)]


HEADS = ["Outcomes", "Observed", "Predicted", "p", "p, adjusted"]


def section_of_groups(groups: pd.DataFrame) -> Section:
    """List what `calibration_test` found in groups of rows."""
    names = [str(name) for name in groups.index.names]
    rows = []
    for key, row in groups.iterrows():
        parts = key if isinstance(key, tuple) else (key,)
        rows.append(
            [*(wording.shortened(str(part), 60) for part in parts), *wording.group_cells(row)]
        )
    off = groups[groups["pvalue_holm"] <= wording.SURPRISE]
    found = (
        f"Evidence of miscalibration, adjusted for all {len(groups):,} tests: {len(off):,} rows."
    )
    if not len(off):
        found = f"No evidence of miscalibration, adjusted for all {len(groups):,} tests."
    table = Table("Subgroups in numbers", [*names, *HEADS], rows)
    return Section("Subgroups", [Words([found]), table, Words([ADJUSTED])])


def _overlay(display: BeltsDisplay) -> Figure:
    across, up = display.axes()
    plot = new_figure(
        "belts",
        x=("predicted probability", limits_of(across)),
        y=("probability of the outcome", limits_of(up)),
        height=460,
        pointed=False,
    )
    name_ticks(plot.xaxis[0], across)
    name_ticks(plot.yaxis[0], up)
    add_diagonal(plot, across, up)
    keys = [Key("dash-muted", "calibrated")]
    for index, (name, one) in enumerate(display.belts.items()):
        color, dash = f"model{index % len(MODELS)}", DASHES[index // len(MODELS) % len(DASHES)]
        if one.status != "empty":
            p, *curves = across.cut(one.grid, one.lower, one.upper, one.estimate)
            x, (lower, upper, estimate) = across.place(p), map(up.place, curves)
            area = {"x": x, "y1": lower, "y2": upper}
            add_glyph(plot, "varea", area, {"fill_color": color}, fill_alpha=0.18)
            add_line(plot, x, estimate, color, line_width=2, line_dash=dash)
        predicted, observed = one.points[["predicted", "observed"]].to_numpy().T
        points = {"x": across.place(predicted), "y": up.place(observed)}
        add_glyph(plot, "scatter", points, {"line_color": color, "fill_color": color}, size=6)
        keys.append(Key(f"line-{color}", display.legend_of(name)))
    level = wording.percent(next(iter(display.belts.values())).coverage)
    return Figure(
        "belts",
        f"Calibration belts of {len(display.belts)} models over one diagonal.",
        plot,
        keys,
        f"Each area is the {level} belt of a model, which holds its whole calibration curve; the "
        "points are observed shares in groups of its predictions. Where a belt leaves the dashed "
        "diagonal, outcomes are more (above) or less frequent than that model predicts. The "
        "p-values are adjusted for the number of models.",
    )
