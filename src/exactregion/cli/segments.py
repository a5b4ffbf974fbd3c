"""``exactregion segments``: for which segments of the rows predictions are off."""

from __future__ import annotations

from dataclasses import dataclass

import exactregion as er
from exactregion.cli import options as opt
from exactregion.cli.data import facts_of, open_predictions, single
from exactregion.cli.output import Decision, Output, Page, draws_text, pvalue_text
from exactregion.errors import InvalidValueError
from exactregion.plotting import formats, wording

EXAMPLES = """
Examples:
  exactregion segments pima_predictions.csv --outcome y --probability p \\
      --segments p --bins 8
  exactregion segments pima_predictions.csv --outcome y --probability p \\
      --segments p --fail-below 1% --report segments.html"""

FEWEST, MOST = 10, 30
"""Segments printed, at least and at most: a screen of lines. In between, those that are off."""


@dataclass(frozen=True)
class SegmentedPredictions(opt.Predictions):
    """Predictions, outcomes and segments, by column."""

    probability: list[str] = opt.option(
        "COLUMN,…",
        "Column with the predicted probabilities; one per class where there are several, or a "
        "prefix of their names such as p_.",
        ...,
    )
    segments: list[str] = opt.option(
        "COLUMN,…", "Columns whose values and combinations are segments.", ...
    )


@opt.with_options
def segments(
    *,
    predictions: SegmentedPredictions,
    depth: int = opt.option(
        "NUMBER", "Largest number of columns that are combined.", 2, panel=opt.METHOD
    ),
    min_rows: int | None = opt.option(
        "NUMBER",
        "Smallest number of outcomes in a segment: 20, or 0.1% of all if that is more.",
        panel=opt.METHOD,
    ),
    bins: int = opt.option(
        "NUMBER", "Number of ranges into which a column of numbers is cut.", 4, panel=opt.METHOD
    ),
    draws: opt.SegmentSearch,
    output: Output,
    reading: opt.Reading,
    file: str = opt.FILE,
    more: list[str] | None = opt.MORE,
    cluster: str | None = opt.CLUSTER,
) -> None:
    """Find the segments of the rows in which predicted probabilities are off.

    All values of the columns, as in --segments age,sex,region, and their combinations are tested
    at once, with p-values adjusted for their number. The outcomes must be held out: not used to
    fit the predictions. --fail-below looks at the smallest adjusted p-value, which is the exact
    p-value of all segments together.
    """
    output.check(draws.resamples)
    files = [file, *(more or ())]
    with open_predictions(files, cluster, predictions, reading, quiet=output.quiet) as data:
        names = data.numbers
        if len(names) > 1 and not data.several:
            raise InvalidValueError(
                "--probability must name one column, or one column per class whose rows add up to "
                f"1. Got {len(names)} columns instead."
            )
        result = er.segment_test(
            data.y,
            data.take(names if data.several else names[0]),
            data.take(data.segments),
            data=data.chunks,
            pos_label=data.positive,
            classes=data.labels,
            statistic=str(draws.statistic),
            confidence_level=draws.level,
            depth=depth,
            min_rows=min_rows,
            bins=bins,
            n_jobs=draws.jobs,
            progress=output.progress,
            **draws.settings,
        )
    head = data.describe("segments", result.successes, result.trials)
    content = head | {"probability": single(names)} | result.to_dict()
    decision = Decision(result.pvalue, "the smallest adjusted p-value is")
    output.finish(_page(facts_of(head, data), names, result), content, result, decision)


def _page(facts: dict[str, str], names: list[str], result: er.SegmentTestResult) -> Page:
    combined = f", up to {result.depth} combined" if result.depth > 1 else ""
    fewer = f" ({result.left_out:,} with fewer left out)" if result.left_out else ""
    page = Page("For whom are these predictions off?")
    page.facts(
        {
            **facts,
            "predictions": ", ".join(names),
            "columns": f"{', '.join(result.columns)}{combined}",
            "segments": f"{len(result.table):,} of {result.min_rows:,} outcomes or more{fewer}",
            "test": draws_text(result.to_dict()),
            "p-value": pvalue_text(result),
        }
    )
    number = min(max(FEWEST, len(result.named(wording.SURPRISE))), MOST)
    page.table(
        ["segment", "n", "observed", "expected", "adjusted p"],
        [[*cells[:4], cells[-1]] for cells in formats.segment_rows(result, number)],
    )
    if len(result.table) > number:
        page.paragraph(f"The {number} with the strongest evidence; --report and --json have all.")
    page.paragraph(wording.answer_of(result), wording.guarantee_of(result))
    return page
