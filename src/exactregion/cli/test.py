"""``exactregion test``: whether probabilities can be true."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import exactregion as er
from exactregion.cli import options as opt
from exactregion.cli.data import Data, facts_of, read_data, rows_named_by
from exactregion.cli.fit import fit_region
from exactregion.cli.output import Output, Page
from exactregion.cli.pages import QUESTIONS, ModelTests, finish_classes
from exactregion.cli.values import refuse_first
from exactregion.errors import InvalidValueError
from exactregion.models import ClassModel
from exactregion.region.places import values_text
from exactregion.testing.result import ExactTestResult, Question, result_of

EXAMPLES = """
Examples:
  exactregion test pima_predictions.csv --outcome y --probability p --inputs p
  exactregion test oring.csv --formula "y ~ temp" --parameters 15.04,-0.232"""


@dataclass(frozen=True)
class Candidates(opt.Columns, opt.Predictions):
    """Outcome, inputs, and the probabilities to test, by column."""

    probability: list[str] | None = opt.option(  # type: ignore[assignment]
        "COLUMN,…",
        "Column with the probabilities to test. Several with commas between them: one per "
        "candidate, or one per class where rows add up to 1, or the prefix of their names.",
    )


@opt.with_options
def run_test(
    *,
    file: str = opt.FILE,
    columns: Candidates,
    parameters: str | None = opt.option(
        "NUMBERS",
        "Test this member of a family instead: 15.04,-0.232, or with names: temp=-0.232,…",
        panel=opt.FAMILY,
    ),
    family: opt.Family,
    draws: opt.Draws,
    output: Output,
    reading: opt.Reading,
) -> None:
    """Test whether probabilities can be true, in a file with outcomes.

    They must not have been fitted to these outcomes. The test looks for structure in the inputs:
    all other columns except those that look like predictions of other models, unless --inputs or
    --formula names some. With several models, --fail-below looks at p-values adjusted for their
    number.
    """
    named, is_member = columns.probability, parameters is not None
    refuse_first(
        (
            not named and not is_member,
            "--probability must name the column with the probabilities to test. "
            "(Or give the --parameters of a member of a family.)",
        ),
        (named and is_member, "--probability must be left out where --parameters is given."),
        (
            not is_member and family != opt.Family(),
            "--model says what --parameters mean: give both, or neither.",
        ),
        (
            is_member and isinstance(family.to_model(), ClassModel),
            f"--model {family.model} has more than two classes: use exactregion fit, or "
            "region.pvalue in Python.",
        ),
    )
    output.check(draws.resamples)
    data = read_data(file, columns, reading, all_inputs=True, quiet=output.quiet)
    names, X = data.numbers, data.frame[data.inputs]
    settings = draws.settings | {"statistic": draws.statistic or "multiscale"}
    if data.several:
        with rows_named_by(data.table, data.frame):
            P: Any = data.frame[names]
            tested: Any = er.model_test(P, X, data.y, classes=data.labels, **settings)
        finish_classes(tested, data, output, "test")
        return
    output.check_level(draws.resamples, max(1, len(names)))
    if parameters is not None:
        tests = _test_member(data, family, parameters, draws)
    else:
        settings["pos_label"] = data.positive
        tests = {n: er.model_test(data.frame[n], X, data.y, **settings) for n in names}
    found, head = ModelTests(tests), data.describe("test")
    content = {**head, **found.settings, "candidates": found.records("name")}
    page, facts = Page(QUESTIONS["model"]), facts_of(head, data)
    if len(tests) == 1:
        facts["candidate"] = next(iter(tests))
    found.add_to(page, facts)
    output.finish(page, content, found.result, found.decision(output.alpha))


def _test_member(
    data: Data, family: opt.Family, parameters: str, draws: opt.Draws
) -> dict[str, ExactTestResult]:
    """Test one member of a family, and name it by its parameters."""
    region = fit_region(data, family, draws, accepted_ranks=(1, draws.resamples + 1))
    theta = _read_parameters(parameters, region.parameter_names_)
    evaluation, sample = region.evaluate(theta), region.fitted_.sample
    successes, trials = sample.user_outcomes
    question = Question(
        kind="model",
        statistic=str(region.statistic),
        inputs=sample.inputs.names,
        seed=region.fitted_.seed,
        probabilities=evaluation.probabilities,
        successes=successes,
        trials=trials,
    )
    member = values_text(dict(zip(region.parameter_names_, theta, strict=True)))
    return {f"{family.model}: {member}": result_of(evaluation.Z, evaluation.seat, question)}


def _read_parameters(text: str, names: tuple[str, ...]) -> list[float]:
    """Read the parameters of a member: "15.04, -0.232", or "intercept=15.04, temp=-0.232"."""
    parts = [part.rpartition("=") for part in text.split(",")]
    try:
        numbers = [float(value) for _, _, value in parts]
    except ValueError as error:
        raise InvalidValueError(
            f"--parameters must be numbers with commas between them. Got {text!r} instead."
        ) from error
    given = dict(zip((name.strip() for name, _, _ in parts), numbers, strict=True))
    if len(numbers) == len(names) and not any(given):
        return numbers
    if len(numbers) == len(names) and set(given) == set(names):
        return [given[name] for name in names]
    wrong = [name for name in given if name and name not in names]
    got = f"{wrong[0]!r} instead" if wrong else f"{len(given)} instead of {len(names)}"
    raise InvalidValueError(
        f"--parameters must be {', '.join(names)} in this order, or name=value of each. Got {got}."
    )
