"""``exactregion test``: whether probabilities can be true."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

import typer

from exactregion.cli import completion
from exactregion.cli.asked import Asked, Columns, ask
from exactregion.cli.columns import check_probabilities
from exactregion.cli.ending import Ending, beginning, draws_text
from exactregion.cli.families import Family, parameters_of
from exactregion.cli.options import (
    COLUMNS,
    FAMILY,
    Data,
    Draws,
    FailBelow,
    Formula,
    Inputs,
    Outcome,
    Output,
    Reading,
    with_options,
)
from exactregion.cli.output import Page
from exactregion.cli.regions import fitted_region, tested_member
from exactregion.cli.targets import Targets
from exactregion.cli.values import check_draws, read_alpha, statistic_name
from exactregion.errors import InvalidValueError

if TYPE_CHECKING:
    from exactregion.testing.result import ExactTestResult

__all__ = ["EXAMPLES", "try_candidates"]

EXAMPLES = """
Examples:
  exactregion test pima_predictions.csv --outcome y --probability p --inputs p
  exactregion test oring.csv --formula "y ~ temp" --parameters 15.04,-0.232"""

NEED_PARAMETERS = ("combined", "omnibus", "score")
"""Statistics that look along the parameters of a family."""


@with_options
def try_candidates(
    file: Data,
    *,
    probability: Annotated[
        list[str] | None,
        typer.Option(
            metavar="COLUMN",
            help="Column with the probabilities to test; repeat it to test several.",
            rich_help_panel=COLUMNS,
            autocompletion=completion.columns,
        ),
    ] = None,
    outcome: Outcome,
    inputs: Inputs = None,
    formula: Formula = None,
    parameters: Annotated[
        str | None,
        typer.Option(
            metavar="NUMBERS",
            help="Test this member of a family instead: 15.04,-0.232, or with names: temp=-0.232,…",
            rich_help_panel=FAMILY,
        ),
    ] = None,
    family: Family,
    draws: Draws,
    fail_below: FailBelow = None,
    output: Output,
    reading: Reading,
) -> None:
    """Test whether probabilities can be true, in a file with outcomes.

    They must not have been fitted to these outcomes. The test looks for structure in the inputs:
    all other columns, unless --inputs or --formula names some.
    """
    check_draws(draws)
    _check_question(probability, parameters, family, draws, output)
    ending = Ending(output, Targets(output), read_alpha(fail_below, draws.resamples))
    columns = Columns(outcome, inputs, formula, tuple(probability or ()), any_inputs=True)
    asked = ask(file, columns, reading, quiet=output.quiet)
    if not asked.inputs:
        raise InvalidValueError(
            f"{asked.table.label} has no other columns for the test to look for structure in. "
            "Name some with --inputs, or test the calibration of the probabilities: exactregion "
            "calibrate."
        )
    for name in probability or ():
        check_probabilities(asked.table, asked.frame, name)
    found = (
        _tested_member(asked, outcome, family, parameters, draws)
        if parameters is not None
        else _test_columns(asked, probability or [], draws)
    )
    ending.finish(
        _page(asked, found, draws),
        {**beginning("test", file), **asked.content(), **_content(found, draws)},
        result=found[0].result,
        pvalue=min(one.pvalue for one in found),
        decided="p =" if len(found) == 1 else "the smallest p-value is",
    )


@dataclass(frozen=True, eq=False)
class _Found:
    """What was found of one candidate; the whole result if it is the only one."""

    name: str
    pvalue: float
    rank: int
    statistic: float
    asked: str
    result: ExactTestResult | None = None


def _check_question(
    probability: list[str] | None,
    parameters: str | None,
    family: Family,
    draws: Draws,
    output: Output,
) -> None:
    if not probability and parameters is None:
        raise InvalidValueError(
            "--probability must name the column with the probabilities to test. "
            "(Or give the --parameters of a member of a family.)"
        )
    if probability and parameters is not None:
        raise InvalidValueError("--probability must be left out where --parameters is given.")
    if parameters is None and family != Family():
        raise InvalidValueError("--model says what --parameters mean: give both, or neither.")
    if parameters is None and draws.statistic in NEED_PARAMETERS:
        raise InvalidValueError(
            f"--statistic {draws.statistic} needs the --parameters of a family. For other "
            "probabilities there are multiscale, discrepancy, embedding and neighborhood."
        )
    if len(probability or ()) > 1 and (output.plot or output.report):
        option = "--plot" if output.plot else "--report"
        raise InvalidValueError(f"{option} shows one candidate: give one --probability.")


def _test_columns(asked: Asked, names: list[str], draws: Draws) -> list[_Found]:
    import exactregion as er

    settings: dict[str, Any] = {"n_resamples": draws.resamples, "rng": draws.seed}
    settings["pos_label"] = asked.outcomes.positive
    settings["statistic"] = draws.statistic or "multiscale"
    if len(names) == 1:
        result = er.model_test(asked.frame[names[0]], asked.X, asked.outcomes.y, **settings)
        return [_found(names[0], result)]
    candidates = {name: asked.frame[name] for name in names}
    table = er.compare(candidates, asked.X, asked.outcomes.y, **settings)
    return [
        _Found(str(name), row["pvalue"], int(row["rank"]), row["statistic"], settings["statistic"])
        for name, row in table.iterrows()
    ]


def _tested_member(
    asked: Asked, outcome: Outcome, family: Family, parameters: str, draws: Draws
) -> list[_Found]:
    region = fitted_region(asked, outcome, family, draws, accepted_ranks=(1, draws.resamples + 1))
    theta = parameters_of(parameters, region.parameter_names_)
    values = ", ".join(
        f"{name} = {value:g}" for name, value in zip(region.parameter_names_, theta, strict=True)
    )
    return [_found(f"{family.model}: {values}", tested_member(region, theta))]


def _found(name: str, result: ExactTestResult) -> _Found:
    asked = statistic_name(result.question.statistic)
    return _Found(name, result.pvalue, result.rank, result.statistic, asked, result)


def _page(asked: Asked, found: list[_Found], draws: Draws) -> Page:
    from exactregion.plotting.wording import answer_of_test, guarantee_of_test

    page = Page()
    page.heading("Can these probabilities be true?")
    facts = asked.facts()
    first = found[0]
    m = draws.resamples + 1
    if first.result is not None:
        facts["candidate"] = first.name
        facts["test"] = draws_text(first.asked, draws)
        facts["p-value"] = f"{first.pvalue:.4g} (rank {first.rank:,} of {m:,})"
        page.facts(facts)
        page.say(answer_of_test(first.result))
        page.say(guarantee_of_test(first.result))
        return page
    facts["test"] = draws_text(first.asked, draws)
    page.facts(facts)
    rows = [(one.name, f"{one.pvalue:.4g}", f"{one.rank:,}") for one in found]
    page.table(["candidate", "p-value", f"rank of {m:,}"], rows)
    page.say(
        "Each p-value is exact on its own, if nothing was fitted to these outcomes and rows are "
        "independent; they are not adjusted for the number of candidates."
    )
    return page


def _content(found: list[_Found], draws: Draws) -> dict[str, Any]:
    return {
        "statistic": found[0].asked,
        "resamples": draws.resamples,
        "seed": draws.seed,
        "candidates": [
            {"name": one.name, "pvalue": one.pvalue, "rank": one.rank, "z": one.statistic}
            for one in found
        ],
    }
