"""``exactregion fit`` and ``exactregion show``: the members of a family that fit."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

import exactregion as er
from exactregion.cli import options as opt
from exactregion.cli.data import Data, facts_of, read_data, rows_named_by
from exactregion.cli.description import Description
from exactregion.cli.output import Decision, Output, Page, draws_text
from exactregion.cli.values import (
    check_choice,
    labels_in,
    read_effective,
    read_level_of,
    read_places,
    refuse_first,
)
from exactregion.data.table import check_file
from exactregion.data.workers import check_n_jobs
from exactregion.engine.progress import showing
from exactregion.errors import InvalidValueError
from exactregion.models import MODELS, ClassModel
from exactregion.plotting import wording
from exactregion.plotting.formats import percent
from exactregion.region.places import input_frame, is_number
from exactregion.region.thresholds import ThresholdPlan, plans_for

PICTURES = ("curve", "region")

CENTRAL = 0.9
"""Share of the rise over which the width of a psychometric curve is measured."""

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
class Requests:
    """What is computed of a region besides its intervals."""

    panel: ClassVar[str] = opt.RESULTS

    joint: bool = opt.flag(
        "--joint",
        "Also intervals that hold all at once; they are wider than those that hold one at a time.",
    )
    pvalues: bool = opt.flag(
        "--pvalues",
        "p-value of each parameter being zero, valid at every sample size; always given with up to "
        "two parameters.",
    )
    ed: list[str] | None = opt.option(
        "LEVELS",
        "Where the probability is 50 %, 90 %: 50,90, or dose=50,90 where there are several inputs, "
        "or dose=50,sex=male. With psychometric also half: the threshold, with the width.",
    )
    relative_to: str | None = opt.option(
        "INPUT=VALUE", "Compare what --ed finds with that at sex=female, for example."
    )
    at: list[str] | None = opt.option(
        "INPUT=VALUE",
        "Bounds of the probability there: temp=31, or sex=male,dose=1,2,4. Others are at their "
        "median. May be repeated.",
    )
    picture: str | None = opt.option(
        "NAME",
        "What --plot draws: curve, the default with one input, or region.",
        complete=opt.offer(PICTURES),
    )

    def __post_init__(self) -> None:
        """Check the values before any work."""
        if self.picture is not None:
            check_choice("--picture", self.picture, PICTURES)
        if self.relative_to is not None and not self.ed:
            raise InvalidValueError("--relative-to goes with --ed only.")


@opt.with_options
def fit(
    *,
    file: str = opt.FILE,
    columns: opt.Columns,
    family: opt.Family,
    search: opt.Search,
    requests: Requests,
    levels: str | None = opt.option(
        "A,B,C", "With multinomial and proportional-odds: all classes, in order.", panel=opt.FAMILY
    ),
    save: Path | None = opt.option(
        "FILE", "Save the region for exactregion show, or for Python: .npz.", panel=opt.RESULTS
    ),
    output: Output,
    reading: opt.Reading,
) -> None:
    """Find the members of a family of curves that fit the outcomes.

    Gives an interval for each parameter, bounds of the probability anywhere, and an ED50; the
    region may be empty, which rejects the whole family.
    """
    model = family.to_model()
    several = isinstance(model, ClassModel)
    if levels is not None and not several:
        raise InvalidValueError("--levels goes with --model multinomial or proportional-odds only.")
    if several:
        _check_classes(requests, output)
    output.check(search.resamples, save)
    data = read_data(file, columns, reading, several=several, quiet=output.quiet)
    if not data.inputs:
        raise InvalidValueError("--inputs must name the inputs, or --formula all columns.")
    if levels is not None and isinstance(model, ClassModel):
        model = model.with_levels(labels_in("--levels", levels, data.y))
    settings = {"confidence_level": search.level, "n_jobs": search.jobs, "model": model}
    with rows_named_by(data.table, data.frame):
        region = fit_region(data, family, search, **settings)
    _describe(region, requests, data.describe("fit"), output, save)


@opt.with_options
def show(
    *,
    file: Path = opt.argument("REGION", "File that fit --save wrote: .npz."),
    jobs: int | None = opt.JOBS,
    requests: Requests,
    output: Output,
) -> None:
    """Show a region that fit --save wrote.

    It gives the same answers as fit, and new ones: other inputs, a picture, a report.
    """
    check_file(file)
    check_n_jobs(jobs)
    region = er.load(file)
    region.n_jobs = jobs
    output.check(region.n_resamples)
    sample, model = region.fitted_.sample, region.model_
    outcomes: dict[str, Any] = {"successes": int(sample.successes.sum())}
    outcomes["trials"] = sample.inputs.total
    if isinstance(model, ClassModel):
        _check_classes(requests, output)
        numbers = np.bincount(sample.codes, minlength=len(model.labels)).tolist()
        outcomes = {"classes": dict(zip(map(str, model.labels), numbers, strict=True))}
    head = {
        "command": "show",
        "file": str(file),
        "n": len(sample.inputs.original),
        **outcomes,
        "inputs": list(input_frame(region.fitted_).columns),
        "formula": None if region.design_ is None else region.design_.formula,
    }
    _describe(region, requests, head, output)


def _check_classes(requests: Requests, output: Output) -> None:
    """Raise an error for options that several classes have no answer to."""
    two = "goes with models of two classes only"
    refuse_first(
        (requests.ed, f"--ed {two}: use --at."),
        (requests.picture == "region", f"--picture region {two}: use curve."),
        (output.report, f"--report {two}: use --plot."),
    )


def fit_region(
    data: Data, family: opt.Family, draws: opt.Draws, **settings: Any
) -> er.ConfidenceRegion:
    """Fit a region to data, by a design if there is a formula or if inputs are words."""
    settings = {
        "model": family.to_model(),
        **settings,
        **draws.settings,
        "pos_label": data.positive,
        "statistic": draws.statistic,
    }
    design = data.coded()
    if design is not None:
        return er.ConfidenceRegion.from_design(design, **settings)
    return er.ConfidenceRegion(**settings).fit(data.frame[data.inputs], data.y)


def _describe(
    region: er.ConfidenceRegion,
    requests: Requests,
    head: dict[str, Any],
    output: Output,
    save: Path | None = None,
) -> None:
    """Compute what is requested of a region, then print and write it."""
    # what the options say is checked before the search
    places = read_places(region, requests.at or ())
    plans = _plans(region, requests)
    draw = _picture(region, requests, output)
    kind = type(region.model_)
    family = next((name for name, known in MODELS.items() if known is kind), kind.__name__)
    page, level = Page(f"Which {family} curves fit?"), percent(region.coverage_)
    settings = {
        "statistic": str(region.statistic).partition("(")[0].lower(),
        "resamples": region.n_resamples,
        "seed": region.fitted_.seed,
    }
    page.facts({**facts_of(head), "region": f"{level}, {draws_text(settings)}"})
    description = Description(region, page)
    with showing("region", show=output.progress):
        pvalue = float(region.pvalue(region.most_compatible_))
        description.add_parameters(joint=requests.joint, pvalues=requests.pvalues)
        description.add_thresholds(plans)
        description.add_predictions(*places)
    found = wording.how_ends_were_found(description.certified)
    page.paragraph(found, wording.answer_of(region), wording.guarantee_of(region))
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
    decision = Decision(pvalue, "the largest p-value of a member is")
    tables = description.tables
    output.finish(page, content, region, decision, save=save, draw=draw, tables=tables)


def _plans(region: er.ConfidenceRegion, requests: Requests) -> list[ThresholdPlan]:
    """Read --ed and --relative-to: thresholds, their comparisons, and widths."""
    fitted = region.fitted_
    psychometric = isinstance(region.model_, er.models.Psychometric)
    base = None if requests.relative_to is None else read_level_of(region, requests.relative_to)
    plans: list[ThresholdPlan] = []
    for text in requests.ed or ():
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
                f"--relative-to must differ from what --ed says. Got {requests.relative_to!r} "
                "for both instead."
            )
        plans += compared
    return plans


def _picture(
    region: er.ConfidenceRegion, requests: Requests, output: Output
) -> Callable[[], Any] | None:
    """Return what draws the picture of --plot: the curve along the only input, or the region."""
    if output.plot is None:
        if requests.picture is not None:
            raise InvalidValueError("--picture goes with --plot only.")
        return None
    kinds = [is_number(column) for _, column in input_frame(region.fitted_).items()]
    if requests.picture == "region" or (requests.picture is None and kinds != [True]):
        return None
    if kinds.count(True) != 1:
        raise InvalidValueError(
            "--picture curve needs one input that is a number. "
            f"Got {kinds.count(True)} instead: use --report, which draws a curve along each."
        )
    return lambda: region.plot("curve")
