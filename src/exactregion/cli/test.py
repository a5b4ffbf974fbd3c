"""``exactregion test``: whether probabilities can be true."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import exactregion as er
from exactregion.cli import options as opt
from exactregion.cli.classes import finish_classes, labels_in
from exactregion.cli.data import Data, check_probabilities, facts_of, read_data
from exactregion.cli.fit import fit_region
from exactregion.cli.output import Page, Results, facts_of_test, settings_record
from exactregion.errors import InvalidValueError
from exactregion.models import ClassModel
from exactregion.plotting import wording
from exactregion.testing.groups import table_of
from exactregion.testing.result import ExactTestResult, Question, result_of

if TYPE_CHECKING:
    import pandas as pd

EXAMPLES = """
Examples:
  exactregion test pima_predictions.csv --outcome y --probability p --inputs p
  exactregion test oring.csv --formula "y ~ temp" --parameters 15.04,-0.232"""


@opt.with_options
def run_test(
    *,
    file: str = opt.FILE,
    probability: list[str] | None = opt.option(
        opt.COLUMNS,
        "COLUMN,…",
        "Column with the probabilities to test. Several with commas between them: one per "
        "candidate, or one per class where rows add up to 1, for which a prefix will do.",
    ),
    classes: str | None = opt.option(
        opt.COLUMNS, "CLASS,…", "The class of each column, where they are not named after them."
    ),
    columns: opt.Columns,
    parameters: str | None = opt.option(
        opt.FAMILY,
        "NUMBERS",
        "Test this member of a family instead: 15.04,-0.232, or with names: temp=-0.232,…",
    ),
    family: opt.Family,
    draws: opt.Draws,
    output: opt.Output,
    reading: opt.Reading,
) -> None:
    """Test whether probabilities can be true, in a file with outcomes.

    They must not have been fitted to these outcomes. The test looks for structure in the inputs:
    all other columns except those that look like predictions of other models, unless --inputs or
    --formula names some. With several models, --fail-below looks at p-values adjusted for their
    number.
    """
    _check_candidates(probability or [], parameters, family)
    if parameters is not None and isinstance(family.to_model(), ClassModel):
        raise InvalidValueError(
            f"--model {family.model} has more than two classes: use exactregion fit, or "
            "region.pvalue in Python."
        )
    results = Results(output, output.alpha(draws.resamples))
    named: dict[str, Any] = {"numbers": probability or (), "all_inputs": True}
    named["classes"] = None if classes is None else True
    data = read_data(file, columns, reading, **named, quiet=output.quiet)
    names = data.numbers
    if not data.inputs:
        left_out = f" but {', '.join(data.predictions)}, which look like predictions,"
        raise InvalidValueError(
            f"{data.table.label} has no other columns{left_out if data.predictions else ''} for "
            "the test to look for structure in. Name some with --inputs, or test the calibration "
            "of the probabilities: exactregion calibrate."
        )
    if data.classes is not None:
        X, P = data.frame[data.inputs], data.frame[names]
        statistic = draws.statistic or "multiscale"
        labels = None if classes is None else labels_in("--classes", classes, data.y)
        tested: Any = er.model_test(
            P, X, data.y, statistic=statistic, classes=labels, **draws.settings
        )
        finish_classes(tested, data.to_dict(), names, results, command="test", file=file)
        return
    output.alpha(draws.resamples, max(1, len(names)))
    for name in names:
        check_probabilities(data, name)
    if parameters is not None:
        found = _test_member(data, columns, family, parameters, draws)
    else:
        settings = draws.settings | {"pos_label": data.positive}
        settings["statistic"] = draws.statistic or "multiscale"
        X = data.frame[data.inputs]
        found = {n: er.model_test(data.frame[n], X, data.y, **settings) for n in names}
    first = next(iter(found.values()))
    table = table_of(found, "model")
    shared = settings_record(first)
    content = {"command": "test", "file": file, **data.to_dict(), **shared}
    content["candidates"] = [
        {"name": name, "pvalue_holm": table.loc[name, "pvalue_holm"]}
        | {key: value for key, value in one.to_dict().items() if key not in shared}
        for name, one in found.items()
    ]
    pvalue, decided, reason = decision(found, table, results.alpha)
    page = _page(data, found, table)
    result = first if len(found) == 1 else found
    results.finish(page, content, result, pvalue, decided, reason=reason)


def decision(
    tests: dict[str, ExactTestResult], table: pd.DataFrame, alpha: float | None
) -> tuple[float, str, str]:
    """Return the p-value that --fail-below looks at, what it is, and what is off if it is small."""
    pvalue = float(table["pvalue_holm"].min())
    if len(tests) > 1:
        return pvalue, "the smallest adjusted p-value is", kinds_of_misfit(table, alpha)
    (test,) = tests.values()
    # a smaller p-value has its misfit in the answer
    return pvalue, "p =", wording.misfit_text(test) if pvalue > wording.SURPRISE else ""


def show_models(table: pd.DataFrame, belts: er.CalibrationBelts | None, page: Page) -> None:
    """Put the tests of several models on the page."""
    names = ["model", "p-value", "adjusted"]
    rows = [
        [str(name), f"{row['pvalue']:.4g}", f"{row['pvalue_holm']:.4g}"]
        for name, row in table.iterrows()
    ]
    if belts is not None:
        names += next(iter(belts.values())).region.parameter_names_
        for cells in rows:
            found = belts[cells[0]].intervals.iterrows()
            cells += [" ".join(wording.estimate_and_interval(row)) for _, row in found]
    page.table(names, rows)
    page.paragraph(kinds_of_misfit(table))


def kinds_of_misfit(table: pd.DataFrame, alpha: float | None = None) -> str:
    """Name the kind of misfit of the groups, or models, that are rejected."""
    rejected = table[table["pvalue_holm"] <= (wording.SURPRISE if alpha is None else alpha)]
    kinds = [
        f"{', '.join(map(str, key)) if isinstance(key, tuple) else key}: {kind}"
        for key, kind in rejected["misfit"].items()
    ]
    return f"Kinds of misfit: {'; '.join(kinds)}." if kinds else ""


def _check_candidates(names: list[str], parameters: str | None, family: opt.Family) -> None:
    if not names and parameters is None:
        raise InvalidValueError(
            "--probability must name the column with the probabilities to test. "
            "(Or give the --parameters of a member of a family.)"
        )
    if names and parameters is not None:
        raise InvalidValueError("--probability must be left out where --parameters is given.")
    if parameters is None and family != opt.Family():
        raise InvalidValueError("--model says what --parameters mean: give both, or neither.")


def _test_member(
    data: Data, columns: opt.Columns, family: opt.Family, parameters: str, draws: opt.Draws
) -> dict[str, ExactTestResult]:
    """Test one member of a family, and name it by its parameters."""
    region = fit_region(data, columns, family, draws, accepted_ranks=(1, draws.resamples + 1))
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
    values = (f"{n} = {value:g}" for n, value in zip(region.parameter_names_, theta, strict=True))
    name = f"{family.model}: {', '.join(values)}"
    return {name: result_of(evaluation.Z, evaluation.seat, question)}


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


def _page(data: Data, found: dict[str, ExactTestResult], table: pd.DataFrame) -> Page:
    page = Page("Can these probabilities be true?")
    facts = facts_of(data.to_dict(), data.unused, data.predictions)
    name, result = next(iter(found.items()))
    if len(found) == 1:
        size = wording.size_facts(result.size)
        page.facts({**facts, "candidate": name, **facts_of_test(result), **size})
        page.paragraph(wording.answer_of_test(result), wording.guarantee_of_test(result))
        return page
    page.facts({**facts, "settings": facts_of_test(result)["settings"]})
    show_models(table, None, page)
    page.paragraph(
        wording.answer_of_several(table["pvalue_holm"].to_dict(), calibration=False),
        wording.guarantee_of_several(int(result.question.trials.sum())),
    )
    return page
