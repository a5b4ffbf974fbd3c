"""``exactregion test``: whether probabilities can be true."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from exactregion.cli import options as opt
from exactregion.cli.data import Data, check_probabilities, facts_of, read_data
from exactregion.cli.fit import fit_region, statistic_name
from exactregion.cli.output import Page, Results
from exactregion.errors import InvalidValueError

if TYPE_CHECKING:
    from exactregion.testing.result import ExactTestResult

__all__ = ["EXAMPLES", "run_test"]

EXAMPLES = """
Examples:
  exactregion test pima_predictions.csv --outcome y --probability p --inputs p
  exactregion test oring.csv --formula "y ~ temp" --parameters 15.04,-0.232"""


@opt.with_options
def run_test(
    *,
    file: str = opt.FILE,
    probability: list[str] | None = opt.option(
        opt.COLUMNS, "COLUMN", "Column with the probabilities to test; repeat it to test several."
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
    all other columns, unless --inputs or --formula names some.
    """
    names = probability or []
    _check_candidates(names, parameters, family, output)
    results = Results(output, output.alpha(draws.resamples))
    data = read_data(file, columns, reading, numbers=names, all_inputs=True, quiet=output.quiet)
    if not data.inputs:
        raise InvalidValueError(
            f"{data.table.label} has no other columns for the test to look for structure in. "
            "Name some with --inputs, or test the calibration of the probabilities: exactregion "
            "calibrate."
        )
    for name in names:
        check_probabilities(data, name)
    page = Page()
    page.heading("Can these probabilities be true?")
    if len(names) > 1:
        result, found = None, _compare(data, names, draws, page)
    else:
        if parameters is not None:
            name, result = _test_member(data, columns, family, parameters, draws)
        else:
            name, result = names[0], _test_column(data, names[0], draws)
        found = _describe(data, name, result, draws, page)
    pvalues = [candidate["pvalue"] for candidate in found["candidates"]]
    results.finish(
        page,
        {"file": file, **data.to_dict(), **found},
        command="test",
        result=result,
        pvalue=min(pvalues),
        decided="p =" if len(pvalues) == 1 else "the smallest p-value is",
    )


def _check_candidates(
    names: list[str], parameters: str | None, family: opt.Family, output: opt.Output
) -> None:
    if not names and parameters is None:
        raise InvalidValueError(
            "--probability must name the column with the probabilities to test. "
            "(Or give the --parameters of a member of a family.)"
        )
    if names and parameters is not None:
        raise InvalidValueError("--probability must be left out where --parameters is given.")
    if parameters is None and family != opt.Family():
        raise InvalidValueError("--model says what --parameters mean: give both, or neither.")
    if len(names) > 1 and (output.plot or output.report):
        target = "--plot" if output.plot else "--report"
        raise InvalidValueError(f"{target} shows one candidate: give one --probability.")


def _settings(data: Data, draws: opt.Draws) -> dict[str, Any]:
    statistic = draws.statistic or "multiscale"
    return draws.settings | {"statistic": statistic, "pos_label": data.positive}


def _test_column(data: Data, name: str, draws: opt.Draws) -> ExactTestResult:
    import exactregion as er

    X, y = data.frame[data.inputs], data.y
    return er.model_test(data.frame[name], X, y, **_settings(data, draws))


def _test_member(
    data: Data, columns: opt.Columns, family: opt.Family, parameters: str, draws: opt.Draws
) -> tuple[str, ExactTestResult]:
    """Test one member of a family, and name it by its parameters."""
    from exactregion.testing.result import Question, result_of

    region = fit_region(data, columns, family, draws, accepted_ranks=(1, draws.resamples + 1))
    theta = _read_parameters(parameters, region.parameter_names_)
    evaluation, sample = region.evaluate(theta), region.fitted_.sample
    question = Question(
        kind="model",
        statistic=str(region.statistic),
        inputs=sample.inputs.names,
        seed=draws.seed,
        probabilities=evaluation.probabilities,
        successes=sample.inputs.to_user_order(sample.successes),
        trials=sample.inputs.to_user_order(sample.inputs.trials),
    )
    values = (f"{n} = {value:g}" for n, value in zip(region.parameter_names_, theta, strict=True))
    name = f"{family.model}: {', '.join(values)}"
    return name, result_of(evaluation.Z, evaluation.seat, question)


def _read_parameters(text: str, names: tuple[str, ...]) -> list[float]:
    """Read the parameters of a member: "15.04, -0.232", or "intercept=15.04, temp=-0.232"."""
    parts = [part.rpartition("=") for part in text.split(",")]
    numbers = opt.read_numbers(",".join(value for _, _, value in parts), "--parameters")
    given = dict(zip((name.strip() for name, _, _ in parts), numbers, strict=True))
    needed = f"--parameters must be {', '.join(names)} in this order, or name=value of each."
    if len(numbers) != len(names):
        raise InvalidValueError(f"{needed} Got {len(numbers)} instead of {len(names)}.")
    if not any(given):
        return numbers
    for name in given:
        if name not in names:
            raise InvalidValueError(f"{needed} Got {name!r} instead.")
    return [given[name] for name in names]


def _describe(
    data: Data, name: str, result: ExactTestResult, draws: opt.Draws, page: Page
) -> dict[str, Any]:
    """Put one result on the page, and return it for programs."""
    from exactregion.plotting.wording import answer_of_test, guarantee_of_test

    statistic = statistic_name(result.question.statistic)
    page.facts(
        {
            **facts_of(data.to_dict(), data.unused),
            "candidate": name,
            "test": draws.describe(statistic),
            "p-value": f"{result.pvalue:.4g} (rank {result.rank:,} of {draws.resamples + 1:,})",
        }
    )
    page.paragraph(answer_of_test(result))
    page.paragraph(guarantee_of_test(result))
    candidate = {"name": name, "pvalue": result.pvalue, "rank": result.rank, "z": result.statistic}
    return {"statistic": statistic, **draws.to_dict(), "candidates": [candidate]}


def _compare(data: Data, names: list[str], draws: opt.Draws, page: Page) -> dict[str, Any]:
    """Test several columns, put them on the page, and return them for programs."""
    import exactregion as er

    settings = _settings(data, draws)
    candidates = {name: data.frame[name] for name in names}
    table = er.compare(candidates, data.frame[data.inputs], data.y, **settings)
    page.facts(
        {**facts_of(data.to_dict(), data.unused), "test": draws.describe(settings["statistic"])}
    )
    page.table(
        ["candidate", "p-value", f"rank of {draws.resamples + 1:,}"],
        [(str(n), f"{row['pvalue']:.4g}", f"{int(row['rank']):,}") for n, row in table.iterrows()],
    )
    page.paragraph(
        "Each p-value is exact on its own, if nothing was fitted to these outcomes and rows are "
        "independent; they are not adjusted for the number of candidates."
    )
    records: list[Any] = table.rename(columns={"statistic": "z"}).to_dict("records")
    found = [
        {"name": name, **{key: record[key] for key in ("pvalue", "rank", "z")}}
        for name, record in zip(table.index, records, strict=True)
    ]
    return {"statistic": settings["statistic"], **draws.to_dict(), "candidates": found}
