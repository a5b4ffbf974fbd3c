"""``exactregion fit`` and ``exactregion show``: the members of a family that fit."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import exactregion as er
from exactregion.cli import options as opt
from exactregion.cli.data import Data, facts_of, read_data
from exactregion.cli.output import (
    Page,
    Results,
    interval_record,
    interval_records,
    settings_record,
    settings_text,
)
from exactregion.cli.places import inputs_of, read_places, read_threshold, values_text
from exactregion.data.sources import check_n_jobs
from exactregion.data.table import check_file
from exactregion.engine.progress import showing
from exactregion.errors import InvalidValueError
from exactregion.models import MODELS
from exactregion.plotting.wording import (
    answer_of_region,
    estimate_and_interval,
    guarantee_of_region,
    how_ends_were_found,
    percent,
)
from exactregion.region.summary import zero_tests

if TYPE_CHECKING:
    import pandas as pd

    from exactregion.region import Band, Interval

FIT_EXAMPLES = """
Examples:
  exactregion fit oring.csv --formula "y ~ temp" --ed50 temp --at temp=31
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
    ed50: list[str] | None = opt.option(
        opt.RESULTS,
        "INPUT",
        "Interval for the value of this input where the probability is 1/2. Others are at their "
        "median, or as you say: dose,sex=male.",
    )
    at: list[str] | None = opt.option(
        opt.RESULTS,
        "INPUT=VALUE",
        "Bounds of the probability there: temp=31, or sex=male,dose=1,2,4. Others are at their "
        "median. May be repeated.",
    )


@opt.with_options
def fit(
    *,
    file: str = opt.FILE,
    columns: opt.Columns,
    family: opt.Family,
    search: opt.Search,
    wanted: Wanted,
    save: Path | None = opt.option(
        opt.RESULTS, "FILE", "Keep the region for exactregion show, or for Python: .npz."
    ),
    output: opt.Output,
    reading: opt.Reading,
) -> None:
    """Find the members of a family of curves that fit the outcomes.

    Gives an interval for each parameter, bounds of the probability anywhere, and an ED50; the
    region may be empty, which rejects the whole family.
    """
    level = opt.read_level(search.confidence)
    family.to_model()
    results = Results(output, output.alpha(search.resamples), save)
    data = read_data(file, columns, reading, quiet=output.quiet)
    if not data.inputs:
        raise InvalidValueError("--inputs must name the inputs, or --formula all columns.")
    region = fit_region(data, columns, family, search, confidence_level=level, n_jobs=search.jobs)
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
    """Look again at a region that fit --save kept.

    It gives the same answers as before, and new ones: other places, a picture, a report.
    """
    check_file(file)
    check_n_jobs(jobs)
    region = er.load(file)
    region.n_jobs = jobs
    results = Results(output, output.alpha(region.n_resamples))
    sample = region.fitted_.sample
    head = {
        "command": "show",
        "file": str(file),
        "n": len(sample),
        "successes": int(sample.successes.sum()),
        "trials": sample.inputs.total,
        "inputs": list(inputs_of(region).columns),
        "formula": None if region.design_ is None else region.design_.formula,
    }
    _describe(region, wanted, head, results)


def fit_region(
    data: Data, columns: opt.Columns, family: opt.Family, draws: opt.Draws, **settings: Any
) -> er.ConfidenceRegion:
    """Fit a region to data, by a design if there is a formula or if inputs are words."""
    settings |= {
        "model": family.to_model(),
        **draws.settings,
        "pos_label": data.positive,
        "statistic": draws.statistic or "combined",
    }
    design = data.coded(columns)
    if design is not None:
        return er.ConfidenceRegion.from_design(design, **settings)
    return er.ConfidenceRegion(**settings).fit(data.frame[data.inputs], data.y)


def _describe(
    region: er.ConfidenceRegion, wanted: Wanted, head: dict[str, Any], results: Results
) -> None:
    """Compute what is wanted of a region, then print and write it."""
    # what the options say is checked before the search
    places, given, others = read_places(region, wanted.at or ())
    thresholds = [read_threshold(region, text) for text in wanted.ed50 or ()]
    with showing("region", show=results.output.progress):
        pvalue = float(region.pvalue(region.most_compatible_))
        intervals = region.intervals()
        joint = region.intervals(joint=True) if wanted.joint else None
        tests = zero_tests(region.fitted_, only_quick=not wanted.pvalues)
        ed50 = [region.functional(threshold.solve, threshold.name) for threshold in thresholds]
        band = region.band(places) if given else None

    kind = type(region.model_)
    family = next((name for name, known in MODELS.items() if known is kind), kind.__name__)
    level = percent(region.coverage_)
    page = Page(f"Which {family} curves fit?")
    page.facts({**facts_of(head), "region": f"{level}, {settings_text(region)}"})
    names = ["parameter", "estimate", f"{level} interval"]
    rows = [[str(name), *estimate_and_interval(row)] for name, row in intervals.iterrows()]
    if joint is not None:
        names.append("all at once")
        for cells, (_, row) in zip(rows, joint.iterrows(), strict=True):
            cells.append(estimate_and_interval(row)[1])
    if any(tests):
        names.append("p (= 0)")
        for cells, test in zip(rows, tests, strict=True):
            cells.append("" if test is None else f"{test.pvalue:.4g}")
    rows += [[one.name, *estimate_and_interval(vars(one)), "", ""][: len(names)] for one in ed50]
    page.table(names, rows)
    if thresholds:
        page.paragraph("\n".join(threshold.explanation for threshold in thresholds))
    at = None
    if band is not None:
        at = _show_band(page, band, given, others, level)
    page.paragraph(how_ends_were_found(_certified(intervals, joint, ed50, band)))
    page.paragraph(answer_of_region(region), guarantee_of_region(region))

    content = {
        **head,
        "model": family,
        "confidence_level": region.confidence_level,
        **settings_record(region),
        "coverage": region.coverage_,
        "status": region.status_,
        "pvalue": pvalue,
        "estimate": dict(zip(region.parameter_names_, region.estimate_, strict=True)),
        "intervals": interval_records(intervals),
        "tests": [test.to_dict() for test in tests if test is not None] or None,
        "joint_intervals": None if joint is None else interval_records(joint),
        "ed50": [
            {"input": threshold.input, "others": threshold.others, **interval_record(vars(found))}
            for threshold, found in zip(thresholds, ed50, strict=True)
        ]
        or None,
        "band": at,
    }
    decided = "the largest p-value of a member is"
    results.finish(page, content, region, pvalue, decided)


def _show_band(
    page: Page,
    band: Band,
    given: list[dict[str, Any]],
    others: dict[str, Any],
    level: str,
) -> list[dict[str, Any]]:
    """Add the bounds at the places that are asked for to the page, and return their records."""
    rows, records = [], []
    for place, p, low, high in zip(given, band.estimate, band.lower, band.upper, strict=True):
        bounds = {"estimate": p, "lower": low, "upper": high, "gap": band.gap}
        records.append({"at": {**others, **place}, **bounds})
        shown = "empty" if math.isnan(low) else f"[{low:.3f}, {high:.3f}]"
        rows.append([values_text(place), f"{p:.3f}", shown])
    page.table(["probability at", "estimate", f"{level} band, all at once"], rows)
    if others:
        page.paragraph(
            "Inputs that are not named have their median, or most frequent value: "
            f"{values_text(others)}."
        )
    return records


def _certified(
    intervals: pd.DataFrame, joint: pd.DataFrame | None, ed50: list[Interval], band: Band | None
) -> dict[str, bool]:
    """Return which results are proven, by name; intervals of which all or none are count as one."""
    certified = {f"the interval of {name}": row["certified"] for name, row in intervals.iterrows()}
    if len(set(certified.values())) == 1:
        certified = {"the intervals": bool(intervals["certified"].all())}
    if joint is not None:
        certified["the intervals for all at once"] = bool(joint["certified"].all())
    certified |= {one.name: one.certified for one in ed50}
    if band is not None:
        certified["the band"] = band.certified
    return certified
