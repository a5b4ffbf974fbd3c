"""``exactregion calibrate``: whether predictions are calibrated, and where they are not."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import exactregion as er
from exactregion.cli import options as opt
from exactregion.cli.data import (
    Data,
    check_outcome,
    check_probabilities,
    facts_of,
    read_data,
    split_names,
)
from exactregion.cli.guards import Guard, guard_text, read_guards
from exactregion.cli.output import Page, Results, facts_of_test, settings_record, shorten
from exactregion.cli.tables import group_records, kinds_of_groups, show_groups, show_models
from exactregion.data.table import check_file
from exactregion.engine.progress import showing
from exactregion.errors import InvalidValueError, optional_module
from exactregion.plotting import wording
from exactregion.testing.groups import table_of

if TYPE_CHECKING:
    import pandas as pd

EXAMPLES = """
Examples:
  exactregion calibrate pima_predictions.csv --outcome y --probability p
  exactregion calibrate pima_predictions.csv --outcome y --probability p \\
      --test-only --fail-below 1%"""

MANY_GROUPS = 50
"""More groups than this, most of them with one row, are no groups."""

CLUSTER_TIMEOUT = "20s"


@dataclass(frozen=True)
class Predictions(opt.Outcome):
    """Predictions, outcomes and groups, by column."""

    probability: list[str] = opt.option(
        opt.COLUMNS,
        "COLUMN,…",
        "Column with the predicted probabilities; several models with commas between them, or the "
        "option repeated.",
        ...,
    )
    by: list[str] | None = opt.option(
        opt.COLUMNS,
        "COLUMN,…",
        "Test each group of this column too; several with commas, or repeated.",
    )


@dataclass(frozen=True, eq=False)
class Found:
    """A description of the data, the test of each model, and belts and groups if wanted."""

    head: dict[str, Any]
    tests: dict[str, er.ExactTestResult]
    by: list[str]
    belts: er.CalibrationBelts | None = None
    groups: pd.DataFrame | None = None
    files: int = 1

    @property
    def facts(self) -> dict[str, str]:
        """Describe the data for people."""
        facts = facts_of(self.head)
        if self.files > 1:
            facts["rows"] += f" in {self.files:,} files"
        return facts

    def record(self, name: str, *, grid: bool) -> dict[str, Any]:
        """Describe test and belt of one model for programs, but for what all models share."""
        test = self.tests[name]
        if self.belts is None:
            described = {**test.to_dict(), "coverage": None, "belt": None}
        else:
            described = self.belts[name].to_dict(grid=grid)
        return {key: value for key, value in described.items() if key not in settings_record(test)}

    def model_records(self, table: pd.DataFrame, *, grid: bool) -> list[dict[str, Any]]:
        """Describe each of several models."""
        adjusted = table["pvalue_holm"]
        return [
            {"probability": name, "pvalue_holm": adjusted[name], **self.record(name, grid=grid)}
            for name in self.tests
        ]

    def guarded(self, guards: list[Guard]) -> list[dict[str, Any]]:
        """Say what each guard found, of each model where there are several."""
        several = len(self.tests) > 1
        return [
            ({"probability": name} if several else {}) | guard.record(belt)
            for name, belt in (self.belts or {}).items()
            for guard in guards
        ]


@opt.with_options
def calibrate(
    *,
    predictions: Predictions,
    search: opt.Search,
    output: opt.Output,
    reading: opt.Reading,
    file: str = opt.FILE,
    more: list[str] | None = opt.argument(
        "FILE…",
        "More Parquet files that belong to the same data: tested piece by piece, without a belt, "
        "however large they are.",
        None,
    ),
    cluster: str | None = opt.option(
        opt.METHOD, "ADDRESS", "Of a Dask scheduler whose workers see the Parquet files; no belt."
    ),
    degree: int = opt.option(
        opt.METHOD,
        "NUMBER",
        "Highest power of the logit in the curves of the belt: 1 is straight on the logit scale; "
        "2 and 3 can bend.",
        1,
    ),
    test_only: bool = opt.flag(
        "--test-only", "The p-value without the belt: quick for large files.", opt.METHOD
    ),
    fail_above: list[str] | None = opt.option(
        opt.RESULTS,
        "SIZE",
        "Exit with code 1 if the predictions are off by more than SIZE somewhere, for certain. "
        "Or name the limit: lower=SIZE, upper=SIZE, mean-lower=SIZE or mean-upper=SIZE.",
    ),
    grid: bool = opt.flag("--grid", "With --json: the curves of the belt too.", opt.RESULTS),
) -> None:
    """Test whether predicted probabilities are calibrated, and show where they are not.

    The outcomes must be held out: not used to fit what predicts. With several models, --fail-below
    looks at their p-values adjusted for their number; with --by, at those of the groups. With many
    rows hardly any predictions pass a test; --fail-above goes by how far off they are.
    """
    guards = read_guards(fail_above)
    _check_belt_options(guards, grid, degree, output, belt=not (test_only or more or cluster))
    check_outcome(predictions, [*predictions.probability, *(predictions.by or ())])
    results = Results(output, output.alpha(search.resamples))
    files = [file, *(more or ())]
    if more or cluster is not None:
        found = _test_pieces(files, cluster, predictions, search, output)
    else:
        found = _test_file(
            file, predictions, search, output, reading, degree=None if test_only else degree
        )
    tests, belts, groups = found.tests, found.belts, found.groups
    names, first = list(tests), next(iter(tests.values()))
    one = len(tests) == 1
    table = table_of(tests, "model")
    content: dict[str, Any] = {
        "command": "calibrate",
        "file": " ".join(files),
        **found.head,
        "probability": names[0] if one else names,
        "by": found.by[0] if len(found.by) == 1 else found.by or None,
        **settings_record(first),
        **(found.record(names[0], grid=grid) if one else {}),
        "models": None if one else found.model_records(table, grid=grid),
        "groups": None if groups is None else group_records(groups),
        "fail_above": found.guarded(guards) or None,
    }
    page = _page(found, table)
    pvalue, decided = first.pvalue, "p ="
    reason = "" if pvalue <= wording.SURPRISE else wording.misfit_text(first)
    if not one:
        pvalue, decided = float(table["pvalue_holm"].min()), "the smallest adjusted p-value is"
        reason = kinds_of_groups(table, results.alpha)
    if groups is not None:
        pvalue = float(groups["pvalue_holm"].min())
        decided = "the smallest adjusted p-value of a group is"
        reason = kinds_of_groups(groups, results.alpha)
    found_above = content["fail_above"] or []
    page.paragraph(*(guard_text(record) for record in found_above))
    failed = any(record["exceeded"] for record in found_above)
    result: Any = tests if belts is None else belts
    result = result[names[0]] if one else result
    results.finish(
        page, content, result, pvalue, decided, reason=reason, failed=failed, groups=groups
    )


def _page(found: Found, table: pd.DataFrame) -> Page:
    """Show what was found to people."""
    page, belts = Page("Are these predictions calibrated?"), found.belts
    name, first = next(iter(found.tests.items()))
    one = len(found.tests) == 1
    facts = {**found.facts, "predictions": ", ".join(found.tests), **facts_of_test(first)}
    if one:
        facts |= wording.size_facts(first.size)
    else:
        del facts["p-value"]
    page.facts(facts)
    if not one:
        show_models(table, belts, page)
    elif belts is not None:
        _show_numbers(belts[name], page)
    if found.groups is not None:
        show_groups(found.groups, page)
    if not one:
        total = int(first.question.trials.sum())
        page.paragraph(wording.answer_of_several(table["pvalue_holm"].to_dict(), calibration=True))
        of_belts = () if belts is None else (belts[name].coverage, belts[name].degree)
        page.paragraph(wording.guarantee_of_several(total, *of_belts))
    elif belts is None:
        page.paragraph(wording.answer_of_test(first), wording.guarantee_of_test(first))
    else:
        page.paragraph(
            wording.answer_of_belt(belts[name]),
            wording.answer_of_deviation(belts[name]),
            wording.guarantee_of_belt(belts[name]),
        )
    return page


def _check_belt_options(
    guards: list[Guard], grid: bool, degree: int, output: opt.Output, *, belt: bool
) -> None:
    if guards and not belt:
        raise InvalidValueError(
            "--fail-above goes by the belt: leave out --test-only, --cluster and further files."
        )
    if grid and not (belt and output.json):
        raise InvalidValueError("--grid goes with --json, and with a belt.")
    if degree != 1 and not belt:
        raise InvalidValueError(
            "--degree is that of the belt: leave out --test-only, --cluster and further files."
        )
    if degree not in wording.RECALIBRATION:
        raise InvalidValueError(f"--degree must be 1, 2 or 3. Got {degree} instead.")


def _test_file(
    file: str,
    predictions: Predictions,
    search: opt.Search,
    output: opt.Output,
    reading: opt.Reading,
    *,
    degree: int | None,
) -> Found:
    """Test one file that is read as a whole, with a belt of this degree or with none."""
    test_only = degree is None
    if search.statistic is not None and not test_only:
        raise InvalidValueError(
            "--statistic goes with --test-only: the belt comes with a test of its own."
        )
    level = opt.read_level(search.confidence)
    columns = opt.Columns(predictions.outcome, predictions.trials, predictions.positive)
    named: dict[str, Any] = {"numbers": predictions.probability, "groups": predictions.by or ()}
    data = read_data(file, columns, reading, **named, quiet=output.quiet)
    for name in data.numbers:
        check_probabilities(data, name)
    y, models = data.y, {name: data.frame[name] for name in data.numbers}
    settings = search.settings | {"pos_label": data.positive}
    n_groups = _number_of_groups(data)
    output.alpha(search.resamples, len(models) * max(1, n_groups))
    belts = groups = None
    if not test_only:
        for name, p in models.items():
            if p.isin([0, 1]).all():
                raise InvalidValueError(
                    f"Column {name!r} holds only 0 and 1, which leave no room for a belt. "
                    "Add --test-only."
                )
        belts = er.CalibrationBelts()
        searched = {"confidence_level": level, "n_jobs": search.jobs, "degree": degree, **settings}
        for name, p in models.items():
            what = "belt" if len(models) == 1 else f"belt of {shorten(name, 20)}"
            with showing(what, show=output.progress):
                belts[name] = er.calibration_belt(y, p, **searched)
                _ = belts[name].intervals  # searched here, where progress is shown, and kept
            # a seed that was made from the data of the first model is that of all
            searched["rng"] = settings["rng"] = belts[name].test.question.seed
        tests = {name: belt.test for name, belt in belts.items()}
    settings["statistic"] = search.statistic
    if belts is None:
        tests = _tests_of(models, y, settings)
    if data.groups:
        by: Any = data.frame[data.groups if len(data.groups) > 1 else data.groups[0]]
        several: Any = models if len(models) > 1 else models[data.numbers[0]]
        groups = er.calibration_test(y, several, by=by, **settings)
    head = data.to_dict()
    del head["inputs"], head["formula"]
    return Found(head, tests, data.groups, belts, groups)


def _tests_of(
    models: dict[str, Any], y: Any, settings: dict[str, Any], data: Any = None
) -> dict[str, er.ExactTestResult]:
    """Test each model with the draws of the first, whose seed is kept in the settings."""
    tests = {}
    for name, p in models.items():
        tests[name] = er.calibration_test(y, p, data=data, **settings)
        settings["rng"] = tests[name].question.seed
    return tests


def _number_of_groups(data: Data) -> int:
    """Count groups; an error for a column that has almost as many as rows."""
    n, total = len(data.frame), 0
    for by in data.groups:
        n_groups = int(data.frame[by].nunique())
        if n_groups > max(MANY_GROUPS, n / 2):
            raise InvalidValueError(
                f"--by must be a column of groups. Column {by!r} has {n_groups:,} different values "
                f"in {n:,} rows."
            )
        total += n_groups
    return total


def _test_pieces(
    files: list[str],
    cluster: str | None,
    predictions: Predictions,
    search: opt.Search,
    output: opt.Output,
) -> Found:
    """Test Parquet files piece by piece, on a cluster if there is one."""
    settings = search.settings | {"statistic": search.statistic, "pos_label": predictions.positive}
    settings |= {"n_jobs": search.jobs, "progress": output.progress}
    with pieces(files, cluster, predictions) as data:
        known = optional_module("pyarrow.parquet", "A Parquet file", "parquet")
        columns = known.read_schema(files[0]).names
        names = split_names(predictions.probability, columns)
        by = split_names(predictions.by or (), columns)
        outcome: Any = predictions.outcome
        tests = _tests_of({name: name for name in names}, outcome, settings, data=data)
        groups = None
        if by:
            p: Any = names if len(names) > 1 else names[0]
            settings["by"] = by if len(by) > 1 else by[0]
            groups = er.calibration_test(outcome, p, data=data, **settings)
    question = next(iter(tests.values())).question
    trials = int(question.trials.sum())
    head = {
        "n": trials,
        "dropped": 0,
        "successes": int(question.successes.sum()),
        "trials": trials,
        "event": predictions.event,
    }
    return Found(head, tests, by, None, groups, len(files))


@contextmanager
def pieces(files: list[str], cluster: str | None, outcome: opt.Outcome) -> Iterator[Any]:
    """Check Parquet files, and give them as data for a test, on a cluster if there is one."""
    if outcome.trials is not None:
        raise InvalidValueError("--trials goes with one file that is read as a whole.")
    for file in files:
        check_file(Path(file))
        if Path(file).suffix not in (".parquet", ".pq"):
            raise InvalidValueError(
                f"Several files, or a cluster, must be Parquet files. Got {file!r}: turn it into "
                "Parquet, or give one CSV file alone."
            )
    if cluster is None:
        yield sorted(files)
        return
    distributed = optional_module("distributed", "--cluster", "dask")
    try:
        client = distributed.Client(cluster, timeout=CLUSTER_TIMEOUT)
    except (OSError, ValueError) as error:
        raise InvalidValueError(
            "--cluster must be the address of a Dask scheduler, such as tcp://host:8786. "
            f"Nobody answers at {cluster!r}."
        ) from error
    import dask.dataframe as dd

    with client:
        yield dd.read_parquet(sorted(files))


def _show_numbers(belt: er.CalibrationBelt, page: Page) -> None:
    """Put the recalibration and the deviations of one belt on the page."""
    level = wording.percent(belt.coverage)
    page.table(
        [
            wording.RECALIBRATION[belt.degree],
            "estimate",
            f"{level} interval, individual",
            "if calibrated",
        ],
        [
            (str(name), *wording.estimate_and_interval(row), wording.CALIBRATED[str(name)])
            for name, row in belt.intervals.iterrows()
        ],
    )
    page.table(
        ["as probabilities", "estimate", f"{level} limits", "if calibrated"],
        wording.deviation_rows(belt),
    )
