"""``exactregion fit`` and ``exactregion show``: the members of a family that fit."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

import exactregion as er
from exactregion.cli import options as opt
from exactregion.cli.classes import labels_in
from exactregion.cli.data import Data, facts_of, read_data
from exactregion.cli.output import (
    Page,
    Results,
    draws_text,
    settings_record,
)
from exactregion.cli.places import read_effective, read_level_of, read_places
from exactregion.data.sources import check_n_jobs
from exactregion.data.table import check_file
from exactregion.engine.progress import showing
from exactregion.errors import InvalidValueError
from exactregion.models import MODELS, ClassModel
from exactregion.plotting.wording import (
    answer_of_region,
    estimate_and_interval,
    guarantee_of_region,
    how_ends_were_found,
    percent,
)
from exactregion.region.places import input_frame, is_number, values_text
from exactregion.region.summary import zero_tests
from exactregion.region.thresholds import ThresholdPlan, plans_for

if TYPE_CHECKING:
    import pandas as pd

    from exactregion.report import TextTable

PICTURES = ("curve", "region")

CENTRAL = 0.9
"""Share of the rise over which the width of a psychometric curve is measured."""

UNRECORDED = {"coverage", "probes", "evaluations", "seconds", "data_range"}
"""What JSON leaves out of a threshold."""

INTERVAL = ["estimate", "lower", "upper", "status", "gap", "certified"]
"""What JSON has of an interval."""

FIT_EXAMPLES = """
Examples:
  exactregion fit oring.csv --formula "y ~ temp" --ed 50,90 --at temp=31
  exactregion fit beetle.csv --outcome killed --trials n --inputs logdose \\
      --model cloglog"""

SHOW_EXAMPLES = """
Example:
  exactregion fit oring.csv --formula "y ~ temp" --save oring.npz
  exactregion show oring.npz --at temp=31,53,65"""


@dataclass(frozen=True)
class Wanted:
    """What is computed of a region besides its intervals."""

    joint: bool = opt.flag(
        "--joint",
        "Intervals that hold all at once too; wider than those that hold one by one.",
        opt.RESULTS,
    )
    pvalues: bool = opt.flag(
        "--pvalues",
        "Exact p-value of each parameter being zero; with up to two parameters always given.",
        opt.RESULTS,
    )
    ed: list[str] | None = opt.option(
        opt.RESULTS,
        "LEVELS",
        "Where the probability is 50 %, 90 %: 50,90, or dose=50,90 where there are several inputs, "
        "or dose=50,sex=male. Of psychometric also half: the threshold, with the width.",
    )
    relative_to: str | None = opt.option(
        opt.RESULTS, "INPUT=VALUE", "Compare what --ed finds with that at sex=female, for example."
    )
    at: list[str] | None = opt.option(
        opt.RESULTS,
        "INPUT=VALUE",
        "Bounds of the probability there: temp=31, or sex=male,dose=1,2,4. Others are at their "
        "median. May be repeated.",
    )
    picture: str | None = opt.option(
        opt.RESULTS,
        "NAME",
        "What --plot draws: curve, the default with one input, or region.",
        complete=opt.offer(PICTURES),
    )

    def __post_init__(self) -> None:
        """Check the values before any work."""
        if self.picture is not None:
            opt.check_choice("--picture", self.picture, PICTURES)
        if self.relative_to is not None and not self.ed:
            raise InvalidValueError("--relative-to goes with --ed only.")


@opt.with_options
def fit(
    *,
    file: str = opt.FILE,
    columns: opt.Columns,
    family: opt.Family,
    search: opt.Search,
    wanted: Wanted,
    levels: str | None = opt.option(
        opt.FAMILY, "A,B,C", "Of multinomial and proportional-odds: all classes, in order."
    ),
    save: Path | None = opt.option(
        opt.RESULTS, "FILE", "Save the region for exactregion show, or for Python: .npz."
    ),
    output: opt.Output,
    reading: opt.Reading,
) -> None:
    """Find the members of a family of curves that fit the outcomes.

    Gives an interval for each parameter, bounds of the probability anywhere, and an ED50; the
    region may be empty, which rejects the whole family.
    """
    level = opt.read_level(search.confidence)
    model = family.to_model()
    several = isinstance(model, ClassModel)
    if levels is not None and not several:
        raise InvalidValueError("--levels goes with --model multinomial or proportional-odds only.")
    if several:
        _check_classes(wanted, output)
    results = Results(output, output.alpha(search.resamples), save)
    data = read_data(file, columns, reading, classes=several, quiet=output.quiet)
    if not data.inputs:
        raise InvalidValueError("--inputs must name the inputs, or --formula all columns.")
    if levels is not None and isinstance(model, ClassModel):
        model = model.with_levels(labels_in("--levels", levels, data.y))
    settings = {"confidence_level": level, "n_jobs": search.jobs, "model": model}
    region = fit_region(data, columns, family, search, **settings)
    head = {"command": "fit", "file": file, **data.to_dict()}
    _describe(region, wanted, head, results)


@opt.with_options
def show(
    *,
    file: Path = opt.argument("REGION", "File that fit --save wrote: .npz."),
    jobs: int | None = opt.JOBS,
    wanted: Wanted,
    output: opt.Output,
) -> None:
    """Show a region that fit --save wrote.

    It gives the same answers as fit, and new ones: other inputs, a picture, a report.
    """
    check_file(file)
    check_n_jobs(jobs)
    region = er.load(file)
    region.n_jobs = jobs
    results = Results(output, output.alpha(region.n_resamples))
    sample = region.fitted_.sample
    outcomes: dict[str, Any] = {
        "successes": int(sample.successes.sum()),
        "trials": sample.inputs.total,
    }
    if isinstance(region.model_, ClassModel):
        _check_classes(wanted, output)
        numbers = np.bincount(sample.codes, minlength=len(region.model_.labels)).tolist()
        outcomes = {"classes": dict(zip(map(str, region.model_.labels), numbers, strict=True))}
    head = {
        "command": "show",
        "file": str(file),
        "n": len(sample.inputs.original),
        **outcomes,
        "inputs": list(input_frame(region.fitted_).columns),
        "formula": None if region.design_ is None else region.design_.formula,
    }
    _describe(region, wanted, head, results)


def _check_classes(wanted: Wanted, output: opt.Output) -> None:
    """Raise an error for options that several classes have no answer to."""
    if wanted.ed:
        raise InvalidValueError("--ed goes with models of two classes only: use --at.")
    if wanted.picture == "region":
        raise InvalidValueError("--picture region goes with models of two classes only: use curve.")
    if output.report is not None:
        raise InvalidValueError("--report goes with models of two classes only: use --plot.")


def fit_region(
    data: Data, columns: opt.Columns, family: opt.Family, draws: opt.Draws, **settings: Any
) -> er.ConfidenceRegion:
    """Fit a region to data, by a design if there is a formula or if inputs are words."""
    settings = {
        "model": family.to_model(),
        **settings,
        **draws.settings,
        "pos_label": data.positive,
        "statistic": draws.statistic,
    }
    design = data.coded(columns)
    if design is not None:
        return er.ConfidenceRegion.from_design(design, **settings)
    return er.ConfidenceRegion(**settings).fit(data.frame[data.inputs], data.y)


@dataclass(frozen=True, eq=False)
class _Description:
    """What people and programs are told of a region, part after part.

    `certified` says which results are proven; `tables` are those that the report cannot make.
    """

    region: er.ConfidenceRegion
    page: Page
    content: dict[str, Any] = field(default_factory=dict)
    certified: dict[str, bool] = field(default_factory=dict)
    tables: dict[str, TextTable] = field(default_factory=dict)

    @property
    def interval(self) -> str:
        """The heading of a column of intervals."""
        return f"{percent(self.region.coverage_)} interval"

    def add_parameters(self, wanted: Wanted) -> None:
        """Add intervals of the parameters, and p-values of their being zero."""
        intervals = self.region.intervals()
        joint = self.region.intervals(joint=True) if wanted.joint else None
        tests = zero_tests(self.region.fitted_, only_quick=not wanted.pvalues)
        names = ["parameter", "estimate", self.interval]
        rows = [[str(name), *estimate_and_interval(row)] for name, row in intervals.iterrows()]
        proven = intervals["certified"].items()
        self._certify("the intervals", {f"the interval of {name}": yes for name, yes in proven})
        if joint is not None:
            names.append("all at once")
            for cells, (_, row) in zip(rows, joint.iterrows(), strict=True):
                cells.append(estimate_and_interval(row)[1])
            self.certified["the intervals for all at once"] = bool(joint["certified"].all())
        if any(tests):
            names.append("p (= 0)")
            for cells, test in zip(rows, tests, strict=True):
                cells.append("" if test is None else f"{test.pvalue:.4g}")
        self.page.table(names, rows)
        self.page.paragraph(f"Estimates: {self.region.estimate_kind_}.")
        self.content["intervals"] = _interval_records(intervals)
        self.content["tests"] = [test.to_dict() for test in tests if test is not None] or None
        self.content["joint_intervals"] = None if joint is None else _interval_records(joint)

    def add_thresholds(self, plans: Sequence[ThresholdPlan]) -> None:
        """Add what --ed looks for."""
        found = [plan.find() for plan in plans]
        records = [
            {name: value for name, value in one.to_dict().items() if name not in UNRECORDED}
            for one in found
        ]
        self.content["thresholds"] = records or None
        if not found:
            return
        self._certify("the thresholds", {one.name: one.certified for one in found})
        names = ["where", "estimate", self.interval]
        rows = [[one.name, *estimate_and_interval(vars(one))] for one in found]
        outside = [one.extrapolates for one in found]
        self._add_table("Thresholds", [one.certified for one in found], names, rows, outside)
        assumed = {name: one.at[name] for one in found for name in one.assumed}
        if assumed:
            self.page.paragraph(
                f"Inputs that are not named are at their median: {values_text(assumed)}."
            )

    def add_predictions(
        self, places: pd.DataFrame, given: list[dict[str, Any]], others: dict[str, Any]
    ) -> None:
        """Add probabilities at the places of --at, of which `given` and `others` are known."""
        self.content["band"] = None
        if not given:
            return
        table, band = self.region.predict(places), self.region.band(places)
        names = ["probability at", "estimate", self.interval, "all at once"]
        rows: list[list[str]] = []
        self.content["band"] = records = []
        given = [place for place in given for _ in range(len(table) // len(given))]  # per class
        for place, (_, found) in zip(given, table.iterrows(), strict=True):
            named = {"class": found["class"]} if "class" in found else {}
            each, all_at_once = (
                (found[f"{kind}lower"], found[f"{kind}upper"]) for kind in ("", "simultaneous_")
            )
            limits = (
                "empty" if math.isnan(low) else f"[{low:.3f}, {high:.3f}]"
                for low, high in (each, all_at_once)
            )
            where = ": ".join([values_text(place), *map(str, named.values())])
            rows.append([where, f"{found['estimate']:.3f}", *limits])
            records.append(
                {
                    "at": {**others, **place},
                    **named,
                    "estimate": found["estimate"],
                    "lower": all_at_once[0],
                    "upper": all_at_once[1],
                    "gap": band.gap,
                    "individual_lower": each[0],
                    "individual_upper": each[1],
                    "extrapolates": bool(found["extrapolates"]),
                }
            )
        certified = [*table["certified"], band.certified]
        self._add_table("Probabilities", certified, names, rows, list(table["extrapolates"]))
        self.certified["the limits for all places at once"] = band.certified
        self.certified["the limits at each place"] = bool(table["certified"].all())
        if others:
            self.page.paragraph(
                "Inputs that are not named have their median, or most frequent value: "
                f"{values_text(others)}."
            )

    def _certify(self, name: str, parts: dict[str, bool]) -> None:
        """Note which results are proven, under one name where all or none are."""
        same = len(set(parts.values())) == 1
        self.certified.update({name: all(parts.values())} if same else parts)

    def _add_table(
        self,
        what: str,
        certified: Sequence[bool],
        names: list[str],
        rows: list[list[str]],
        outside: Sequence[bool],
    ) -> None:
        """Add a table that says how its limits were found, and which rows are outside the data."""
        if any(outside):
            names = [*names, ""]
            rows = [
                [*row, "outside the data" if yes else ""]
                for row, yes in zip(rows, outside, strict=True)
            ]
        how = "limits were searched" + (", some are proven" if any(certified) else "")
        if all(certified):
            how = "limits are proven to leave out no member"
        self.tables[f"{what}: {how}"] = names, rows
        self.page.table(names, rows)


def _describe(
    region: er.ConfidenceRegion, wanted: Wanted, head: dict[str, Any], results: Results
) -> None:
    """Compute what is wanted of a region, then print and write it."""
    # what the options say is checked before the search
    places = read_places(region, wanted.at or ())
    plans = _plans(region, wanted)
    draw = _picture(region, wanted, results)
    kind = type(region.model_)
    family = next((name for name, known in MODELS.items() if known is kind), kind.__name__)
    page, settings = Page(f"Which {family} curves fit?"), settings_record(region)
    level = percent(region.coverage_)
    page.facts({**facts_of(head), "region": f"{level}, {draws_text(**settings)}"})
    description = _Description(region, page)
    with showing("region", show=results.output.progress):
        pvalue = float(region.pvalue(region.most_compatible_))
        description.add_parameters(wanted)
        description.add_thresholds(plans)
        description.add_predictions(*places)
    page.paragraph(how_ends_were_found(description.certified))
    page.paragraph(answer_of_region(region), guarantee_of_region(region))
    content = {
        **head,
        "model": family,
        "confidence_level": region.confidence_level,
        **settings,
        "coverage": region.coverage_,
        "status": region.status_,
        "pvalue": pvalue,
        "estimate": dict(zip(region.parameter_names_, region.estimate_, strict=True)),
        "estimate_kind": region.estimate_kind_,
        **description.content,
    }
    decided = "the largest p-value of a member is"
    results.finish(page, content, region, pvalue, decided, draw=draw, tables=description.tables)


def _plans(region: er.ConfidenceRegion, wanted: Wanted) -> list[ThresholdPlan]:
    """Read --ed and --relative-to: thresholds, their comparisons, and widths."""
    fitted = region.fitted_
    psychometric = isinstance(region.model_, er.models.Psychometric)
    base = None if wanted.relative_to is None else read_level_of(region, wanted.relative_to)
    plans: list[ThresholdPlan] = []
    for text in wanted.ed or ():
        found = plans_for(fitted, *read_effective(region, text))
        plans += found
        plans += [
            ThresholdPlan.read(fitted, plan.input, None, plan.given, inner=CENTRAL)
            for plan in found
            if psychometric and plan.probability is None
        ]
        if base is None:
            continue
        compared = [
            ThresholdPlan.read(fitted, plan.input, plan.probability, plan.given, relative_to=base)
            for plan in found
            if any(plan.held.get(name) != value for name, value in base.items())
        ]
        if not compared:
            raise InvalidValueError(
                f"--relative-to must differ from what --ed says. Got {wanted.relative_to!r} "
                "for both instead."
            )
        plans += compared
    return plans


def _picture(
    region: er.ConfidenceRegion, wanted: Wanted, results: Results
) -> Callable[[], Any] | None:
    """Return what draws the picture of --plot: the curve along the only input, or the region."""
    if results.output.plot is None:
        if wanted.picture is not None:
            raise InvalidValueError("--picture goes with --plot only.")
        return None
    kinds = [is_number(column) for _, column in input_frame(region.fitted_).items()]
    if wanted.picture == "region" or (wanted.picture is None and kinds != [True]):
        return None
    if kinds.count(True) != 1:
        raise InvalidValueError(
            "--picture curve needs one input that is a number. "
            f"Got {kinds.count(True)} instead: use --report, which draws a curve along each."
        )
    return lambda: region.plot("curve")


def _interval_records(table: pd.DataFrame) -> list[dict[str, Any]]:
    """Return what JSON has of the intervals of parameters."""
    records: list[Any] = table[INTERVAL].rename_axis("parameter").reset_index().to_dict("records")
    return records
