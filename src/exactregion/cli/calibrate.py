"""``exactregion calibrate``: whether predictions are calibrated, and where they are not."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

import exactregion as er
from exactregion.cli import options as opt
from exactregion.cli.classes import calibrate_classes, calibrate_pieces_of_classes
from exactregion.cli.data import (
    Data,
    check_outcome,
    check_probabilities,
    empty_columns,
    facts_of,
    head_of_pieces,
    pieces,
    read_data,
    split_names,
    with_prefix,
)
from exactregion.cli.output import Page, Results, facts_of_test, settings_record
from exactregion.cli.test import decision, kinds_of_misfit, show_models
from exactregion.engine.progress import showing
from exactregion.errors import InvalidValueError
from exactregion.plotting import wording
from exactregion.testing.groups import table_of

if TYPE_CHECKING:
    import pandas as pd

EXAMPLES = """
Examples:
  exactregion calibrate pima_predictions.csv --outcome y --probability p
  exactregion calibrate pima_predictions.csv --outcome y --probability p \\
      --test-only --fail-below 1%"""

DEFAULT_LEVEL = opt.read_level(opt.Search.confidence)

MANY_GROUPS = 50
"""More groups than this, most of them with one row, are no groups."""

LIMITS = ("lower", "upper", "mean-lower", "mean-upper")
"""What --fail-above may name: limits of the largest deviation, and of the mean one."""


@dataclass(frozen=True)
class Predictions(opt.Outcome):
    """Predictions, outcomes and groups, by column."""

    probability: list[str] = opt.option(
        opt.COLUMNS,
        "COLUMN,…",
        "Column with the predicted probabilities. Several with commas between them: one per model, "
        "or one per class where rows add up to 1, for which a prefix such as p_ will do.",
        ...,
    )
    classes: str | None = opt.option(
        opt.COLUMNS,
        "CLASS,…",
        "Where --probability names one column per class: the class of each. Not needed where the "
        "columns are named after the classes, with or without a prefix such as p_.",
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

    def record(self, name: str, *, grid: bool) -> dict[str, Any]:
        """Describe test and belt of one model for programs, but for what all models share."""
        test = self.tests[name]
        if self.belts is None:
            described = {**test.to_dict(), "coverage": None, "belt": None}
        else:
            described = self.belts[name].to_dict(grid=grid)
        return {key: value for key, value in described.items() if key not in settings_record(test)}


@opt.with_options
def calibrate(
    *,
    predictions: Predictions,
    search: opt.CalibrationSearch,
    output: opt.Output,
    reading: opt.Reading,
    file: str = opt.FILE,
    more: list[str] | None = opt.MORE,
    cluster: str | None = opt.CLUSTER,
    belts_of_classes: bool = opt.flag(
        "--belts", "With several classes: a belt of each, which takes minutes.", opt.METHOD
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
        "Exit with code 1 if the belt shows the predictions to be off by more than SIZE somewhere. "
        "Or name the limit: lower=SIZE, upper=SIZE, mean-lower=SIZE or mean-upper=SIZE.",
    ),
    grid: bool = opt.flag("--grid", "With --json: the curves of the belt too.", opt.RESULTS),
) -> None:
    """Test whether predicted probabilities are calibrated, and show where they are not.

    The outcomes must be held out: not used to fit what predicts. With several models, --fail-below
    looks at their p-values adjusted for their number; with --by, at those of the groups. With many
    rows hardly any predictions pass a test; --fail-above goes by how far off they are. Several
    files, or a cluster, are tested piece by piece, without a belt.

    With one column per class, all classes are tested together, and each by itself.
    """
    guards = read_guards(fail_above)
    _check_belt_options(guards, grid, degree, output, belt=not (test_only or more or cluster))
    check_outcome(predictions, [*predictions.probability, *(predictions.by or ())])
    results = Results(output, output.alpha(search.resamples))
    files = [file, *(more or ())]
    if more or cluster is not None:
        if predictions.classes is not None:
            _check_classes(predictions, guards, grid)
            if belts_of_classes:
                raise InvalidValueError("--belts goes with one file that is read as a whole.")
            calibrate_pieces_of_classes(files, cluster, predictions, search, results)
            return
        found = _test_pieces(files, cluster, predictions, search, output)
    else:
        data = _read(file, predictions, output, reading)
        if data.classes is not None:
            _check_classes(predictions, guards, grid)
            if belts_of_classes and test_only:
                raise InvalidValueError("--belts and --test-only must not be given together.")
            if degree != 1 and not belts_of_classes:
                raise InvalidValueError(
                    "--degree goes with --belts where there are several classes."
                )
            if opt.read_level(search.confidence) != DEFAULT_LEVEL and not belts_of_classes:
                raise InvalidValueError("--confidence goes with --belts, with several classes.")
            wanted = degree if belts_of_classes else None
            calibrate_classes(data, predictions.classes, search, results, file=file, degree=wanted)
            return
        if belts_of_classes:
            raise InvalidValueError("--belts goes with several classes, one column each.")
        found = _test_file(data, search, output, degree=None if test_only else degree)
    tests, belts, groups = found.tests, found.belts, found.groups
    names, one, table = list(tests), len(tests) == 1, table_of(tests, "model")
    records = {name: found.record(name, grid=grid) for name in names}
    guarded = [
        ({} if one else {"probability": name}) | guard_record(belt, *guard)
        for name, belt in (belts or {}).items()
        for guard in guards
    ]
    content: dict[str, Any] = {
        "command": "calibrate",
        "file": " ".join(files),
        **found.head,
        "probability": names[0] if one else names,
        "by": found.by[0] if len(found.by) == 1 else found.by or None,
        **settings_record(tests[names[0]]),
        **(records[names[0]] if one else {}),
        "models": None,
        "groups": None if groups is None else group_records(groups),
        "fail_above": guarded or None,
    }
    if not one:
        adjusted = table["pvalue_holm"]
        content["models"] = [
            {"probability": name, "pvalue_holm": adjusted[name], **records[name]} for name in names
        ]
    page = _page(found, table)
    page.paragraph(*map(guard_text, guarded))
    pvalue, decided, reason = decision(tests, table, results.alpha)
    if groups is not None:
        pvalue = float(groups["pvalue_holm"].min())
        decided = "the smallest adjusted p-value of a group is"
        reason = kinds_of_misfit(groups, results.alpha)
    failed = any(record["exceeded"] for record in guarded)
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
    facts = facts_of(found.head, files=found.files) | {"predictions": ", ".join(found.tests)}
    facts |= facts_of_test(first)
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
    guards: Sequence[Any], grid: bool, degree: int, output: opt.Output, *, belt: bool
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


def _check_classes(predictions: Predictions, guards: Sequence[Any], grid: bool) -> None:
    """Refuse what goes with the probabilities of one class."""
    for name, is_given, instead in (
        ("--by", predictions.by, "exactregion segments tests classes in groups of rows."),
        ("--fail-above", guards, "--fail-below goes by the p-value of all classes."),
        ("--grid", grid, "--belts gives the limits of each class."),
    ):
        if is_given:
            raise InvalidValueError(f"{name} must be left out with several classes. {instead}")


def _read(file: str, predictions: Predictions, output: opt.Output, reading: opt.Reading) -> Data:
    named: dict[str, Any] = {"numbers": predictions.probability, "groups": predictions.by or ()}
    classes = True if predictions.classes is not None else None
    return read_data(file, predictions, reading, **named, classes=classes, quiet=output.quiet)


def _test_file(data: Data, search: opt.Search, output: opt.Output, *, degree: int | None) -> Found:
    """Test one file that is read as a whole, with a belt of this degree or with none."""
    test_only = degree is None
    if search.statistic is not None and not test_only:
        raise InvalidValueError(
            "--statistic goes with --test-only: the belt comes with a test of its own."
        )
    level = opt.read_level(search.confidence)
    for name in data.numbers:
        check_probabilities(data, name)
    y, models = data.y, {name: data.frame[name] for name in data.numbers}
    settings = search.settings | {"pos_label": data.positive}
    output.alpha(search.resamples, len(models) * max(1, _number_of_groups(data)))
    belts = groups = None
    if test_only:
        settings["statistic"] = search.statistic
        tests = _tests_of(models, y, settings)
    else:
        for name, p in models.items():
            if p.isin([0, 1]).all():
                raise InvalidValueError(
                    f"Column {name!r} holds only 0 and 1, which leave no room for a belt. "
                    "Add --test-only."
                )
        with showing("belt", show=output.progress):
            searched = {
                "confidence_level": level,
                "n_jobs": search.jobs,
                "degree": degree,
                **settings,
            }
            belts = er.calibration_belt(y, models, **searched)
            _ = belts.intervals  # searched here, where progress is shown, and kept
        tests = {name: belt.test for name, belt in belts.items()}
        settings["rng"] = tests[data.numbers[0]].question.seed
    if data.groups:
        by: Any = data.frame[data.groups if len(data.groups) > 1 else data.groups[0]]
        several: Any = models if len(models) > 1 else models[data.numbers[0]]
        groups = er.calibration_test(y, several, by=by, **settings)
    return Found(data.head, tests, data.groups, belts, groups)


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
        columns = list(empty_columns(files[0]))
        names = split_names(predictions.probability, columns)
        if with_prefix(names, columns) != names:
            raise InvalidValueError(
                f"--classes must name the class of each column that begins with {names[0]!r}: "
                "the files are read piece by piece."
            )
        by = split_names(predictions.by or (), columns)
        outcome: Any = predictions.outcome
        tests = _tests_of({name: name for name in names}, outcome, settings, data=data)
        groups = None
        if by:
            p: Any = names if len(names) > 1 else names[0]
            settings["by"] = by if len(by) > 1 else by[0]
            groups = er.calibration_test(outcome, p, data=data, **settings)
    question = next(iter(tests.values())).question
    successes, trials = int(question.successes.sum()), int(question.trials.sum())
    head = head_of_pieces(successes, trials, predictions)
    return Found(head, tests, by, None, groups, len(files))


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


def group_records(groups: pd.DataFrame) -> list[dict[str, Any]]:
    """Describe groups for programs."""
    names = [*list(groups.index.names)[:-1], "group"]
    table = groups.rename(columns={"statistic": "z"}).rename_axis(names).reset_index()
    records: list[Any] = table.to_dict("records")
    return records


def show_groups(groups: pd.DataFrame, page: Page) -> None:
    """Put groups on the page: one table per model and column of groups."""
    *outer, last = range(groups.index.nlevels)
    parts: Any = groups.groupby(level=outer, sort=False) if outer else [((), groups)]
    has_model, has_column = (level in groups.index.names for level in ("model", "by"))
    for key, part in parts:
        column = key[-1] if has_column else str(groups.index.names[last])
        rows = zip(part.index.get_level_values(last), part.iterrows(), strict=True)
        page.table(
            [
                f"{column} ({key[0]})" if has_model else column,
                *("n", "observed", "predicted", "p-value", "adjusted"),
            ],
            [[str(group), *wording.group_cells(row)] for group, (_, row) in rows],
        )
    page.paragraph(
        "Adjusted p-values (Holm) may be looked at together: if all groups are calibrated, one or "
        "more is 0.05 or less at most 5 times in 100."
    )
    page.paragraph(kinds_of_misfit(groups))


def read_guards(texts: Sequence[str] | None) -> list[tuple[str, float]]:
    """Read what --fail-above was given: ``0.05``, a lower limit, or ``upper=0.05`` and the like."""
    guards = []
    for text in texts or ():
        limit, _, size = text.rpartition("=")
        limit = limit.strip() or "lower"
        opt.check_choice("--fail-above", limit, LIMITS)
        guards.append((limit, opt.read_level(size, "--fail-above")))
    return guards


def guard_record(belt: er.CalibrationBelt, limit: str, size: float) -> dict[str, Any]:
    """Say for programs what a limit is, and whether it is above the size.

    A belt without any curve has no limits: nothing says that predictions are within them.
    """
    kind, _, end = limit.rpartition("-")
    value = getattr(belt.mean_deviation if kind else belt.largest_deviation, end)
    exceeded = bool(np.isnan(value) or value > size)
    return {"limit": limit, "size": size, "value": value, "exceeded": exceeded}


def guard_text(record: dict[str, Any]) -> str:
    """Say the same for people."""
    kind, _, end = record["limit"].rpartition("-")
    name = f"{end} limit of the {kind or 'largest'} deviation"
    word = "Above" if record["exceeded"] else "Not above"
    value = "none" if np.isnan(record["value"]) else f"{record['value']:.4g}"
    of_model = f" of {record['probability']}" if "probability" in record else ""
    return f"{word} {record['size']:g} of --fail-above: the {name}{of_model} is {value}."
