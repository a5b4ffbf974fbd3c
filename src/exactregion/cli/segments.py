"""``exactregion segments``: for which segments of the rows predictions are off."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import exactregion as er
from exactregion.cli import options as opt
from exactregion.cli.classes import labels_in
from exactregion.cli.data import (
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
from exactregion.cli.output import Page, Results, draws_text, pvalue_text
from exactregion.errors import InvalidValueError
from exactregion.plotting import wording

EXAMPLES = """
Examples:
  exactregion segments pima_predictions.csv --outcome y --probability p \\
      --segments p --bins 8
  exactregion segments pima_predictions.csv --outcome y --probability p \\
      --segments p --fail-below 1% --report segments.html"""

FEWEST, MOST = 10, 30
"""Segments printed, at least and at most; in between, those that are off."""


@dataclass(frozen=True)
class Predictions(opt.Outcome):
    """Predictions, outcomes and segments, by column."""

    probability: list[str] = opt.option(
        opt.COLUMNS,
        "COLUMN,…",
        "Column with the predicted probabilities; one per class where there are several, for which "
        "a prefix such as p_ will do.",
        ...,
    )
    classes: str | None = opt.option(
        opt.COLUMNS, "CLASS,…", "The class of each column, where they are not named after them."
    )
    segments: list[str] = opt.option(
        opt.COLUMNS, "COLUMN,…", "Columns whose values and combinations are segments.", ...
    )


@opt.with_options
def segments(
    *,
    predictions: Predictions,
    depth: int = opt.option(opt.METHOD, "NUMBER", "Most columns that are combined.", 2),
    min_rows: int | None = opt.option(
        opt.METHOD, "NUMBER", "Fewest outcomes of a segment: 20, or 0.1% of all if that is more."
    ),
    bins: int = opt.option(opt.METHOD, "NUMBER", "Ranges into which numbers are cut.", 4),
    draws: opt.SegmentSearch,
    output: opt.Output,
    reading: opt.Reading,
    file: str = opt.FILE,
    more: list[str] | None = opt.MORE,
    cluster: str | None = opt.CLUSTER,
) -> None:
    """Find the segments of the rows in which predicted probabilities are off.

    All values of the columns, as in --segments age,sex,region, and their combinations are tested
    at once, with p-values adjusted for their number. The outcomes must be held out: not used to fit
    what predicts. --fail-below looks at the smallest adjusted p-value, which is the exact p-value
    of all segments together.
    """
    results = Results(output, output.alpha(draws.resamples))
    settings = draws.settings | {"depth": depth, "min_rows": min_rows, "bins": bins}
    settings |= {"n_jobs": draws.jobs, "progress": output.progress}
    files = [file, *(more or ())]
    if more or cluster is not None:
        head, names, result = _of_pieces(files, cluster, predictions, settings)
    else:
        check_outcome(predictions, predictions.probability)
        data = read_data(
            file,
            predictions,
            reading,
            numbers=predictions.probability,
            segments=predictions.segments,
            classes=True if predictions.classes is not None else None,
            quiet=output.quiet,
        )
        names = data.numbers
        _check_number(names, several=data.classes is not None)
        if data.classes is None:
            check_probabilities(data, names[0])
        result = er.segment_test(
            data.y,
            data.frame[names if data.classes is not None else names[0]],
            data.frame[data.segments],
            pos_label=data.positive,
            classes=_classes(predictions, data.y),
            **settings,
        )
        head = data.head
    probability: Any = names if len(names) > 1 else names[0]
    content: dict[str, Any] = {
        "command": "segments",
        "file": " ".join(files),
        **head,
        "probability": probability,
        **result.to_dict(),
    }
    page = _page(head, ", ".join(names), result, len(files))
    results.finish(page, content, result, result.pvalue, "the smallest adjusted p-value is")


def _classes(predictions: Predictions, outcome: Any) -> list[object] | None:
    given = predictions.classes
    return None if given is None else labels_in("--classes", given, outcome)


def _check_number(names: list[str], *, several: bool) -> None:
    if len(names) > 1 and not several:
        raise InvalidValueError(
            "--probability must name one column, or one column per class whose rows add up to 1. "
            f"Got {len(names)} columns instead."
        )


def _of_pieces(
    files: list[str], cluster: str | None, predictions: Predictions, settings: dict[str, Any]
) -> tuple[dict[str, Any], list[str], er.SegmentTestResult]:
    """Test Parquet files piece by piece, on a cluster if there is one."""
    named = split_names(predictions.segments, [])
    check_outcome(predictions, [*predictions.probability, *named])
    with pieces(files, cluster, predictions) as data:
        schema = empty_columns(files[0])
        names = with_prefix(split_names(predictions.probability, list(schema)), list(schema))
        classes = _classes(predictions, schema[str(predictions.outcome)])
        _check_number(names, several=classes is not None)
        result = er.segment_test(
            *(predictions.outcome, names[0] if classes is None else names, named),
            data=data,
            pos_label=predictions.positive,
            classes=classes,
            **settings,
        )
    if result.successes is None:
        head = {"n": result.trials, "dropped": 0, "outcome": predictions.outcome}
    else:
        head = head_of_pieces(result.successes, result.trials, predictions)
    return head, names, result


def _page(head: dict[str, Any], probability: str, result: er.SegmentTestResult, files: int) -> Page:
    combined = f", up to {result.depth} combined" if result.depth > 1 else ""
    fewer = f" ({result.left_out:,} with fewer left out)" if result.left_out else ""
    page = Page("For whom are these predictions off?")
    page.facts(
        {
            **facts_of(head, files=files),
            "predictions": probability,
            "columns": f"{', '.join(result.columns)}{combined}",
            "segments": f"{len(result.table):,} of {result.min_rows:,} outcomes or more{fewer}",
            "test": draws_text(result.method, result.n_resamples, result.seed),
            "p-value": pvalue_text(result),
        }
    )
    number = min(max(FEWEST, len(result.named(wording.SURPRISE))), MOST)
    shown: Any = result.table.head(number).itertuples()
    page.table(
        ["segment", "n", "observed", "expected", "adjusted p"],
        [
            (
                row.Index,
                f"{row.n:,}",
                *(f"{value:.3f}" for value in (row.observed, row.expected)),
                f"{row.pvalue_adjusted:.4g}",
            )
            for row in shown
        ],
    )
    if len(result.table) > number:
        page.paragraph(f"The {number} with the strongest evidence; --report and --json have all.")
    page.paragraph(wording.answer_of_segments(result), wording.guarantee_of_segments(result))
    return page
