"""``exactregion fit`` and ``exactregion show``: the members of a family that fit."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from exactregion.cli.asked import Columns, ask
from exactregion.cli.at import inputs_of
from exactregion.cli.ending import Ending, beginning
from exactregion.cli.families import FAMILIES, Family, family_of
from exactregion.cli.options import (
    RESULTS,
    Confidence,
    Data,
    Draws,
    FailBelow,
    Formula,
    Inputs,
    Jobs,
    Outcome,
    Output,
    Reading,
    flag,
    with_options,
)
from exactregion.cli.output import Page
from exactregion.cli.regions import Answers, Wishes, fitted_region
from exactregion.cli.targets import Targets
from exactregion.cli.values import check_draws, read_alpha, read_level, statistic_name
from exactregion.data.tables import check_file
from exactregion.errors import InvalidValueError
from exactregion.plotting.wording import percent

if TYPE_CHECKING:
    from exactregion.region import ConfidenceRegion

__all__ = ["FIT_EXAMPLES", "SHOW_EXAMPLES", "fit", "show"]

FIT_EXAMPLES = """
Examples:
  exactregion fit oring.csv --formula "y ~ temp" --ed50 temp --at temp=31
  exactregion fit beetle.csv --outcome killed --trials n --inputs logdose \\
      --model cloglog"""

SHOW_EXAMPLES = """
Example:
  exactregion fit oring.csv --formula "y ~ temp" --save oring.npz
  exactregion show oring.npz --at temp=31,53,65"""

Joint = Annotated[
    bool,
    flag(
        "--joint",
        "Intervals that hold all at once too; wider than those that hold one by one.",
        RESULTS,
    ),
]

Half = Annotated[
    list[str] | None,
    typer.Option(
        metavar="INPUT",
        help="Interval for the value of this input where the probability is 1/2. Others are at "
        "their median, or as you say: dose,sex=male.",
        rich_help_panel=RESULTS,
    ),
]

At = Annotated[
    list[str] | None,
    typer.Option(
        metavar="INPUT=VALUE",
        help="Bounds of the probability there: temp=31, or sex=male,dose=1,2,4. Others are at "
        "their median. May be repeated.",
        rich_help_panel=RESULTS,
    ),
]


@with_options
def fit(
    file: Data,
    *,
    formula: Formula = None,
    outcome: Outcome,
    inputs: Inputs = None,
    family: Family,
    draws: Draws,
    confidence: Confidence = "0.95",
    jobs: Jobs = None,
    joint: Joint = False,
    ed50: Half = None,
    at: At = None,
    save: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Keep the region for exactregion show, or for Python: .npz.",
            rich_help_panel=RESULTS,
        ),
    ] = None,
    fail_below: FailBelow = None,
    output: Output,
    reading: Reading,
) -> None:
    """Find the members of a family of curves that fit the outcomes.

    Gives an interval for each parameter, bounds of the probability anywhere, and an ED50; the
    region may be empty, which rejects the whole family.
    """
    check_draws(draws)
    level = read_level(confidence)
    family_of(family)
    ending = Ending(output, Targets(output, save), read_alpha(fail_below, draws.resamples))
    asked = ask(file, Columns(outcome, inputs, formula), reading, quiet=output.quiet)
    if not asked.inputs:
        raise InvalidValueError("--inputs must name the inputs, or --formula all columns.")
    region = fitted_region(
        asked,
        outcome,
        family,
        draws,
        confidence_level=level,
        n_jobs=jobs,
    )
    page = Page()
    page.heading(f"Which {_family(region)} curves fit?")
    page.facts({**asked.facts(), "region": _region_text(region)})
    head = {**beginning("fit", file), **asked.content(), **_settings(region)}
    _answer(region, Wishes(joint, ed50 or (), at or ()), page, head, ending)


@with_options
def show(
    file: Annotated[
        Path,
        typer.Argument(
            metavar="REGION", help="File that fit --save wrote: .npz.", show_default=False
        ),
    ],
    *,
    jobs: Jobs = None,
    joint: Joint = False,
    ed50: Half = None,
    at: At = None,
    output: Output,
) -> None:
    """Look again at a region that fit --save kept.

    It gives the same answers as before, and new ones: other places, a picture, a report.
    """
    import exactregion as er

    ending = Ending(output, Targets(output))
    check_file(file)
    region = er.load(file)
    region.n_jobs = jobs
    sample = region.fitted_.sample
    successes, trials = int(sample.successes.sum()), sample.inputs.total
    page = Page()
    page.heading(f"Which {_family(region)} curves fit?")
    facts = {"rows": f"{len(sample):,}", "outcome": f"{successes:,} of {trials:,}"}
    if region.design_ is not None:
        facts["formula"] = region.design_.formula
    else:
        facts["inputs"] = ", ".join(sample.inputs.names)
    page.facts({**facts, "region": _region_text(region)})
    head = {
        **beginning("show", str(file)),
        "n": len(sample),
        "successes": successes,
        "trials": trials,
        "inputs": list(inputs_of(region).columns),
        "formula": None if region.design_ is None else region.design_.formula,
        **_settings(region),
    }
    _answer(region, Wishes(joint, ed50 or (), at or ()), page, head, ending)


def _answer(
    region: ConfidenceRegion, wishes: Wishes, page: Page, head: dict[str, Any], ending: Ending
) -> None:
    answers = Answers(region, wishes)
    answers.find(show=ending.output.talks)
    answers.tell(page)
    content = {**head, **answers.content()}
    ending.finish(
        page,
        content,
        result=region,
        pvalue=answers.pvalue,
        decided="the largest p-value of a member is",
    )


def _region_text(region: ConfidenceRegion) -> str:
    seed = "" if region.rng is None else f", seed {region.rng}"
    statistic = statistic_name(region.statistic)
    return f"{percent(region.coverage_)}, {statistic}, {region.n_resamples:,} resamples{seed}"


def _family(region: ConfidenceRegion) -> str:
    name = type(region.model_).__name__
    return FAMILIES.get(name, name)


def _settings(region: ConfidenceRegion) -> dict[str, Any]:
    return {
        "model": _family(region),
        "confidence_level": region.confidence_level,
        "statistic": statistic_name(region.statistic),
        "resamples": region.n_resamples,
        "seed": region.rng if isinstance(region.rng, int) else None,
    }
