"""``exactregion calibrate``: whether predictions are calibrated, and where they are not."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import exactregion as er
from exactregion.cli import options as opt
from exactregion.cli.data import check_outcome, check_probabilities, facts_of, read_data
from exactregion.cli.output import Page, Results, facts_of_test, interval_records, settings_record
from exactregion.data.table import check_file
from exactregion.engine.progress import showing
from exactregion.errors import InvalidValueError, optional_module
from exactregion.plotting import wording

if TYPE_CHECKING:
    import pandas as pd

    # a description of the data, the test, and the belt and groups if they are wanted
    Found = tuple[
        dict[str, Any], er.ExactTestResult, er.CalibrationBelt | None, pd.DataFrame | None
    ]

EXAMPLES = """
Examples:
  exactregion calibrate pima_predictions.csv --outcome y --probability p
  exactregion calibrate pima_predictions.csv --outcome y --probability p \\
      --test-only --fail-below 5%"""

CALIBRATED = {"intercept": "0", "slope": "1"}

MANY_GROUPS = 50
"""More groups than this, most of them with one row, are no groups."""

CLUSTER_TIMEOUT = "20s"


@dataclass(frozen=True)
class Predictions(opt.Outcome):
    """Predictions, outcomes and groups, by column."""

    probability: str = opt.option(
        opt.COLUMNS, "COLUMN", "Column with the predicted probabilities.", ...
    )
    by: str | None = opt.option(opt.COLUMNS, "COLUMN", "Test each group of this column too.")


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
    test_only: bool = opt.flag(
        "--test-only", "The p-value without the belt: quick for large files.", opt.METHOD
    ),
) -> None:
    """Test whether predicted probabilities are calibrated, and show where they are not.

    The outcomes must be held out: not used to fit what predicts. With --by, --fail-below looks at
    the p-values of the groups, adjusted for their number.
    """
    check_outcome(predictions, [predictions.probability, predictions.by])
    results = Results(output, output.alpha(search.resamples))
    files = [file, *(more or ())]
    if more or cluster is not None:
        found = _test_pieces(files, cluster, predictions, search, output)
    else:
        found = _test_file(file, predictions, search, output, reading, test_only=test_only)
    head, test, belt, groups = found
    content: dict[str, Any] = {
        "command": "calibrate",
        "file": " ".join(files),
        **head,
        "probability": predictions.probability,
        "by": predictions.by,
        **settings_record(test),
        "pvalue": test.pvalue,
        "rank": test.rank,
        "z": test.statistic,
        "coverage": None if belt is None else belt.coverage,
        "belt": None if belt is None else _belt_record(belt),
        "groups": None,
    }
    facts = facts_of(head)
    if more:
        facts["rows"] += f" in {len(files):,} files"
    page = Page("Are these predictions calibrated?")
    page.facts({**facts, "predictions": predictions.probability, **facts_of_test(test)})
    if belt is not None:
        level = wording.percent(belt.coverage)
        page.table(
            ["on the logit scale", "estimate", f"{level} interval", "if calibrated"],
            [
                (str(name), *wording.estimate_and_interval(row), CALIBRATED[str(name)])
                for name, row in belt.intervals.iterrows()
            ],
        )
    pvalue, decided = test.pvalue, "p ="
    if groups is not None:
        content["groups"] = _show_groups(groups, page)
        pvalue = float(groups["pvalue_holm"].min())
        decided = "the smallest adjusted p-value of a group is"
    if belt is None:
        page.paragraph(wording.answer_of_test(test), wording.guarantee_of_test(test))
    else:
        page.paragraph(wording.answer_of_belt(belt), wording.guarantee_of_belt(belt))
    results.finish(page, content, belt or test, pvalue, decided)


def _test_file(
    file: str,
    predictions: Predictions,
    search: opt.Search,
    output: opt.Output,
    reading: opt.Reading,
    *,
    test_only: bool,
) -> Found:
    """Test one file that is read as a whole."""
    if search.statistic is not None and not test_only:
        raise InvalidValueError(
            "--statistic goes with --test-only: the belt comes with a test of its own."
        )
    level = opt.read_level(search.confidence)
    probability, by = predictions.probability, predictions.by
    columns = opt.Columns(predictions.outcome, predictions.trials, predictions.positive)
    data = read_data(file, columns, reading, numbers=[probability], group=by, quiet=output.quiet)
    check_probabilities(data, probability)
    y, p = data.y, data.frame[probability]
    settings = search.settings | {"pos_label": data.positive}
    belt = groups = None
    if by is not None:
        n, n_groups = len(data.frame), int(data.frame[by].nunique())
        if n_groups > max(MANY_GROUPS, n / 2):
            raise InvalidValueError(
                f"--by must be a column of groups. Column {by!r} has {n_groups:,} different values "
                f"in {n:,} rows."
            )
        output.alpha(search.resamples, n_groups)
    if not test_only:
        if p.isin([0, 1]).all():
            raise InvalidValueError(
                f"Column {probability!r} holds only 0 and 1, which leave no room for a belt. "
                "Add --test-only."
            )
        with showing("belt", show=output.progress):
            belt = er.calibration_belt(y, p, confidence_level=level, n_jobs=search.jobs, **settings)
            _ = belt.intervals  # searched here, where progress is shown, and kept
    settings["statistic"] = search.statistic
    test = er.calibration_test(y, p, **settings) if belt is None else belt.test
    if by is not None:
        groups = er.calibration_test(y, p, by=data.frame[by], **settings)
    content = data.to_dict()
    del content["inputs"], content["formula"]
    return content, test, belt, groups


def _test_pieces(
    files: list[str],
    cluster: str | None,
    predictions: Predictions,
    search: opt.Search,
    output: opt.Output,
) -> Found:
    """Test Parquet files piece by piece, on a cluster if there is one."""
    columns: Any = (predictions.outcome, predictions.probability)
    settings = search.settings | {"statistic": search.statistic, "pos_label": predictions.positive}
    settings |= {"n_jobs": search.jobs, "progress": output.progress}
    with pieces(files, cluster, predictions) as data:
        test = er.calibration_test(*columns, data=data, **settings)
        groups = None
        if predictions.by is not None:
            groups = er.calibration_test(*columns, data=data, by=predictions.by, **settings)
    trials = int(test.question.trials.sum())
    content = {
        "n": trials,
        "dropped": 0,
        "successes": int(test.question.successes.sum()),
        "trials": trials,
        "event": predictions.event,
    }
    return content, test, None, groups


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


def _belt_record(belt: er.CalibrationBelt) -> dict[str, Any]:
    keys = ("status", "contradicted", "gap", "certified", "grid", "estimate", "lower", "upper")
    return {
        **{key: getattr(belt, key) for key in keys},
        "intervals": interval_records(belt.intervals),
        "departures": [vars(one) for one in belt.departures],
    }


def _show_groups(groups: pd.DataFrame, page: Page) -> list[dict[str, Any]]:
    """Put groups on the page, and return them for programs."""
    table = groups.rename(columns={"statistic": "z"}).rename_axis("group").reset_index()
    records: list[Any] = table.to_dict("records")
    page.table(
        [str(groups.index.name), "n", "observed", "predicted", "p-value", "adjusted"],
        [
            (
                str(row["group"]),
                f"{int(row['n']):,}",
                *(f"{row[key]:.3f}" for key in ("observed", "predicted")),
                *(f"{row[key]:.4g}" for key in ("pvalue", "pvalue_holm")),
            )
            for row in records
        ],
    )
    page.paragraph(
        "Adjusted p-values (Holm) are safe to look at together: if all groups are calibrated, "
        "one or more is 0.05 or less at most 5 times in 100."
    )
    return records
