"""``exactregion calibrate``: whether predictions are calibrated, and where they are not."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

import exactregion as er
from exactregion.cli import options as opt
from exactregion.cli.data import Data, facts_of, open_predictions, single
from exactregion.cli.output import Output, Page
from exactregion.cli.pages import QUESTIONS, ModelTests, finish_classes
from exactregion.cli.values import check_choice, read_level, refuse_first
from exactregion.engine.progress import showing
from exactregion.errors import InvalidValueError

if TYPE_CHECKING:
    import pandas as pd

EXAMPLES = """
Examples:
  exactregion calibrate pima_predictions.csv --outcome y --probability p
  exactregion calibrate pima_predictions.csv --outcome y --probability p \\
      --test-only --fail-below 1%"""

DEFAULT_LEVEL = read_level(opt.Search.confidence)

MANY_GROUPS = 50
"""More groups than this, most of them with one row, are no groups: the column holds
numbers."""

LIMITS = ("lower", "upper", "mean-lower", "mean-upper")
"""What --fail-above may name: limits of the largest deviation, and of the mean one."""


@dataclass(frozen=True)
class GroupedPredictions(opt.Predictions):
    """Predictions, outcomes and groups, by column."""

    by: list[str] | None = opt.option(
        "COLUMN,…",
        "Test each group of this column too; several with commas, or repeated.",
    )


@opt.with_options
def calibrate(
    *,
    predictions: GroupedPredictions,
    search: opt.CalibrationSearch,
    output: Output,
    reading: opt.Reading,
    file: str = opt.FILE,
    more: list[str] | None = opt.MORE,
    cluster: str | None = opt.CLUSTER,
    belts_of_classes: bool = opt.flag(
        "--belts", "With several classes: a belt per class, which takes minutes.", opt.METHOD
    ),
    degree: int = opt.option(
        "NUMBER",
        "Highest power of the logit in the curves of the belt: 1 is straight on the logit scale; "
        "2 and 3 can bend.",
        1,
        panel=opt.METHOD,
    ),
    test_only: bool = opt.flag(
        "--test-only", "The p-value without the belt: quick for large files.", opt.METHOD
    ),
    fail_above: list[str] | None = opt.option(
        "SIZE",
        "Exit with code 1 if the belt shows the predictions to be off by more than SIZE somewhere. "
        "Or name the limit: lower=SIZE, upper=SIZE, mean-lower=SIZE or mean-upper=SIZE.",
        panel=opt.RESULTS,
    ),
    grid: bool = opt.flag("--grid", "With --json: the curves of the belt too.", opt.RESULTS),
) -> None:
    """Test whether predicted probabilities are calibrated, and show where they are not.

    The outcomes must be held out: not used to fit the predictions. With several models,
    --fail-below looks at their p-values adjusted for their number; with --by, at those of the
    groups. With many rows hardly any predictions pass a test; --fail-above looks at how far off
    they are instead. Several files, or a cluster, are tested in chunks, without a belt.

    With one column per class, all classes are tested together, and each by itself.
    """
    limits, files = read_size_limits(fail_above), [file, *(more or ())]
    in_chunks = len(files) > 1 or cluster is not None
    has_belt, without = not (test_only or in_chunks), "--test-only, --cluster and further files."
    refuse_first(
        (limits and not has_belt, f"--fail-above goes by the belt: leave out {without}"),
        (grid and not (has_belt and output.json), "--grid goes with --json, and with a belt."),
        (degree != 1 and not has_belt, f"--degree is that of the belt: leave out {without}"),
        (degree not in (1, 2, 3), f"--degree must be 1, 2 or 3. Got {degree} instead."),
    )
    output.check(search.resamples)
    with open_predictions(files, cluster, predictions, reading, quiet=output.quiet) as data:
        if data.several:
            out = "must be left out with several classes."
            whole = "goes with one file that is read as a whole."
            both = "--belts and --test-only must not be given together."
            alone = not (belts_of_classes or in_chunks)
            refuse_first(
                (data.groups, f"--by {out} exactregion segments tests classes in groups of rows."),
                (limits, f"--fail-above {out} --fail-below goes by the p-value of all classes."),
                (grid, f"--grid {out} --belts gives the limits of each class."),
                (in_chunks and belts_of_classes, f"--belts {whole}"),
                (in_chunks and output.plot, f"--plot with classes {whole}"),
                (belts_of_classes and test_only, both),
                (alone and degree != 1, "--degree goes with --belts, with several classes."),
                (
                    alone and search.level != DEFAULT_LEVEL,
                    "--confidence goes with --belts, with several classes.",
                ),
            )
            _calibrate_classes(data, search, output, degree if belts_of_classes else None)
            return
        refuse_first(
            (belts_of_classes, "--belts goes with several classes, one column each."),
            (
                has_belt and search.statistic,
                "--statistic goes with --test-only: the belt comes with a test of its own.",
            ),
        )
        found = _find(data, search, output, degree if has_belt else None)
    _finish(found, data, limits, output, grid=grid)


def _calibrate_classes(data: Data, search: opt.Search, output: Output, degree: int | None) -> None:
    """Test predictions of several classes, with belts of this degree or none, and show results."""
    P, settings = data.take(data.numbers), search.settings
    settings |= {"classes": data.labels, "n_jobs": search.jobs}
    shown: dict[str, Any] = {"data": data.chunks, "progress": output.progress}
    result: Any = er.calibration_test(data.y, P, statistic=search.statistic, **settings, **shown)
    belts = None
    if degree is not None:
        settings |= {"rng": result.seed, "degree": degree, "confidence_level": search.level}
        with showing("belts", show=output.progress):
            belts = er.calibration_belt(data.y, P, **settings)
    finish_classes(result, data, output, "calibrate", belts)


def _find(data: Data, search: opt.Search, output: Output, degree: int | None) -> ModelTests:
    """Test each model, and each group, with a belt of this degree or with none."""
    settings = search.settings | {"pos_label": data.positive}
    of_tests = {"data": data.chunks, "statistic": search.statistic}
    of_tests |= {"n_jobs": search.jobs, "progress": output.progress}
    models = {name: data.take(name) for name in data.numbers}
    output.check_level(search.resamples, len(models) * max(1, _number_of_groups(data)))
    belts = groups = None
    tests: dict[str, er.ExactTestResult] = {}
    if degree is None:
        for name, p in models.items():
            tests[name] = er.calibration_test(data.y, p, **settings, **of_tests)
            settings["rng"] = tests[name].question.seed  # all have the draws of the first
    else:
        for name, p in models.items():
            if p.isin([0, 1]).all():
                raise InvalidValueError(
                    f"Column {name!r} holds only 0 and 1, which leave no room for a belt. "
                    "Add --test-only."
                )
        of_belts = settings | {"confidence_level": search.level, "degree": degree}
        with showing("belt", show=output.progress):
            belts = er.calibration_belt(data.y, models, n_jobs=search.jobs, **of_belts)
            _ = belts.intervals  # searched here, where progress is shown, and kept
        tests = {name: belt.test for name, belt in belts.items()}
        settings["rng"] = tests[data.numbers[0]].question.seed
    if data.groups:
        by, p = (data.take(single(names)) for names in (data.groups, data.numbers))
        groups = er.calibration_test(data.y, p, by=by, **settings, **of_tests)
    return ModelTests(tests, belts, groups)


def _number_of_groups(data: Data) -> int:
    """Count groups in memory; an error for a column that has almost as many as rows."""
    n, total = len(data.frame), 0
    for by in data.groups if data.chunks is None else ():
        n_groups = int(data.frame[by].nunique())
        if n_groups > max(MANY_GROUPS, n / 2):
            raise InvalidValueError(
                f"--by must be a column of groups. Column {by!r} has {n_groups:,} different values "
                f"in {n:,} rows."
            )
        total += n_groups
    return total


def _finish(
    found: ModelTests,
    data: Data,
    limits: Sequence[tuple[str, float]],
    output: Output,
    *,
    grid: bool,
) -> None:
    """Print and write what was found."""
    tested, one = found.first.question, len(found.tests) == 1
    head = data.describe("calibrate", int(tested.successes.sum()), int(tested.trials.sum()))
    compared = [
        ({} if one else {"probability": name}) | limit_record(belt, *limit)
        for name, belt in (found.belts or {}).items()
        for limit in limits
    ]
    content: dict[str, Any] = {
        **head,
        "probability": single(data.numbers),
        "by": single(data.groups) or None,
        **found.settings,
        **(found.record(data.numbers[0], grid=grid) if one else {}),
        "models": None if one else found.records("probability", grid=grid),
        "groups": None if found.groups is None else group_records(found.groups),
        "fail_above": compared or None,
    }
    page = Page(QUESTIONS["calibration"])
    found.add_to(page, facts_of(head, data) | {"predictions": ", ".join(data.numbers)})
    page.paragraph(*map(limit_sentence, compared))
    output.finish(
        page,
        content,
        found.result,
        found.decision(output.alpha),
        failed=any(record["exceeded"] for record in compared),
        groups=found.groups,
    )


def group_records(groups: pd.DataFrame) -> list[dict[str, Any]]:
    """Describe groups for programs."""
    names = [*list(groups.index.names)[:-1], "group"]
    table = groups.rename(columns={"statistic": "z"}).rename_axis(names).reset_index()
    records: list[Any] = table.to_dict("records")
    return records


def read_size_limits(texts: Sequence[str] | None) -> list[tuple[str, float]]:
    """Read what --fail-above was given: ``0.05``, a lower limit, or ``upper=0.05`` and the like."""
    limits = []
    for text in texts or ():
        limit, _, size = text.rpartition("=")
        limit = limit.strip() or "lower"
        check_choice("--fail-above", limit, LIMITS)
        limits.append((limit, read_level(size, "--fail-above")))
    return limits


def limit_record(belt: er.CalibrationBelt, limit: str, size: float) -> dict[str, Any]:
    """Say for programs what a limit is, and whether it is above the size.

    A belt without any curve has no limits: nothing says that predictions are within them.
    """
    kind, _, end = limit.rpartition("-")
    value = getattr(belt.mean_deviation if kind else belt.largest_deviation, end)
    exceeded = bool(np.isnan(value) or value > size)
    return {"limit": limit, "size": size, "value": value, "exceeded": exceeded}


def limit_sentence(record: dict[str, Any]) -> str:
    """Say the same for people."""
    kind, _, end = record["limit"].rpartition("-")
    name = f"{end} limit of the {kind or 'largest'} deviation"
    word = "Above" if record["exceeded"] else "Not above"
    value = "none" if np.isnan(record["value"]) else f"{record['value']:.4g}"
    of_model = f" of {record['probability']}" if "probability" in record else ""
    return f"{word} {record['size']:g} of --fail-above: the {name}{of_model} is {value}."
