"""``exactregion calibrate``: whether predictions are calibrated, and where they are not."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from exactregion.cli import completion
from exactregion.cli.asked import Asked, Columns, ask
from exactregion.cli.columns import check_probabilities
from exactregion.cli.ending import Ending, beginning, draws_text
from exactregion.cli.options import (
    COLUMNS,
    METHOD,
    Confidence,
    Data,
    Draws,
    FailBelow,
    Jobs,
    Outcome,
    Output,
    Probability,
    Reading,
    flag,
    with_options,
)
from exactregion.cli.output import Page, interval, interval_records
from exactregion.cli.pieces import Pieces
from exactregion.cli.targets import Targets
from exactregion.cli.values import check_draws, read_alpha, read_level, statistic_name
from exactregion.engine.progress import showing
from exactregion.errors import InvalidValueError

if TYPE_CHECKING:
    import pandas as pd

    from exactregion.calibration import CalibrationBelt
    from exactregion.testing.result import ExactTestResult

__all__ = ["EXAMPLES", "calibrate"]

EXAMPLES = """
Examples:
  exactregion calibrate pima_predictions.csv --outcome y --probability p
  exactregion calibrate pima_predictions.csv --outcome y --probability p \\
      --test-only --fail-below 5%"""

CALIBRATED = {"intercept": "0", "slope": "1"}

"""How much the searches ask, roughly."""

MANY_GROUPS = 50
"""More groups than this, most of them with one row, are no groups."""


@with_options
def calibrate(
    file: Data,
    more: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="FILE…",
            help="More Parquet files that belong to the same data: tested piece by piece, without "
            "a belt, however large they are.",
            show_default=False,
        ),
    ] = None,
    *,
    probability: Probability,
    outcome: Outcome,
    by: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMN",
            help="Test each group of this column too.",
            rich_help_panel=COLUMNS,
            autocompletion=completion.columns,
        ),
    ] = None,
    draws: Draws,
    confidence: Confidence = "0.95",
    jobs: Jobs = None,
    cluster: Annotated[
        str | None,
        typer.Option(
            metavar="ADDRESS",
            help="Of a Dask scheduler whose workers see the Parquet files; no belt.",
            rich_help_panel=METHOD,
        ),
    ] = None,
    test_only: Annotated[
        bool,
        flag("--test-only", "The p-value without the belt: quick for large files.", METHOD),
    ] = False,
    fail_below: FailBelow = None,
    output: Output,
    reading: Reading,
) -> None:
    """Test whether predicted probabilities are calibrated, and show where they are not.

    The outcomes must be held out: not used to fit what predicts. With --by, --fail-below looks at
    the p-values of the groups, adjusted for their number.
    """
    check_draws(draws)
    alpha = read_alpha(fail_below, draws.resamples)
    ending = Ending(output, Targets(output), alpha)
    if more or cluster is not None:
        pieces = Pieces([file, *(more or ())], outcome, probability, cluster)
        _in_pieces(pieces, draws, by, ending, jobs=jobs)
        return
    if draws.statistic is not None and not test_only:
        raise InvalidValueError(
            "--statistic goes with --test-only: the belt comes with a test of its own."
        )
    level = read_level(confidence)
    columns = Columns(outcome, None, None, (probability,), groups=by, formula_allowed=False)
    asked = ask(file, columns, reading, quiet=output.quiet)
    check_probabilities(asked.table, asked.frame, probability)
    groups = None
    if by is not None:
        _check_groups(asked.frame[by], by)
        read_alpha(fail_below, draws.resamples, asked.frame[by].nunique())
    belt: CalibrationBelt | None = None
    if test_only:
        test = _test(asked, probability, draws)
    else:
        settings = {"confidence_level": level, "n_jobs": jobs}
        belt = _belt(asked, probability, settings | _settings(asked, draws), show=output.talks)
        test = belt.test
    if by is not None:
        groups = _test(asked, probability, draws, by=asked.frame[by])
    facts, content = asked.facts(), asked.content()
    del facts["inputs"], content["inputs"], content["formula"]
    head = {**beginning("calibrate", file), **content, "probability": probability, "by": by}
    facts["predictions"] = probability
    _finish(ending, facts, head, draws, test=test, belt=belt, groups=groups)


def _in_pieces(
    pieces: Pieces, draws: Draws, by: str | None, ending: Ending, *, jobs: int | None
) -> None:
    pieces.check(by)
    test, groups = pieces.test(draws, by=by, jobs=jobs, progress=ending.output.talks)
    facts = {**pieces.facts(test), "predictions": pieces.probability}
    head = {
        **beginning("calibrate", " ".join(pieces.files)),
        **pieces.content(test),
        "probability": pieces.probability,
        "by": by,
    }
    _finish(ending, facts, head, draws, test=test, belt=None, groups=groups)


def _finish(
    ending: Ending,
    facts: dict[str, str],
    head: dict[str, Any],
    draws: Draws,
    *,
    test: ExactTestResult,
    belt: CalibrationBelt | None,
    groups: pd.DataFrame | None,
) -> None:
    pvalue = test.pvalue if groups is None else float(groups["pvalue_holm"].min())
    decided = "p =" if groups is None else "the smallest adjusted p-value of a group is"
    ending.finish(
        _page(facts, draws, test=test, belt=belt, groups=groups),
        {**head, **_content(test, draws, belt, groups)},
        result=belt or test,
        pvalue=pvalue,
        decided=decided,
    )


def _check_groups(values: pd.Series[Any], by: str) -> None:
    groups = values.nunique()
    if groups > max(MANY_GROUPS, len(values) / 2):
        raise InvalidValueError(
            f"--by must be a column of groups. Column {by!r} has {groups:,} different values in "
            f"{len(values):,} rows."
        )


def _settings(asked: Asked, draws: Draws) -> dict[str, Any]:
    positive = asked.outcomes.positive
    return {"n_resamples": draws.resamples, "rng": draws.seed, "pos_label": positive}


def _test(asked: Asked, probability: str, draws: Draws, **by: Any) -> Any:
    import exactregion as er

    p, y = asked.frame[probability], asked.outcomes.y
    return er.calibration_test(y, p, statistic=draws.statistic, **_settings(asked, draws), **by)


def _belt(
    asked: Asked, probability: str, settings: dict[str, Any], *, show: bool
) -> CalibrationBelt:
    import exactregion as er

    p = asked.frame[probability]
    if ((p == 0) | (p == 1)).all():
        raise InvalidValueError(
            f"Column {probability!r} holds only 0 and 1, which leave no room for a belt. "
            "Add --test-only."
        )
    with showing("belt", show=show):
        belt = er.calibration_belt(asked.outcomes.y, p, **settings)
        _ = belt.intervals
    return belt


def _page(
    facts: dict[str, str],
    draws: Draws,
    *,
    test: ExactTestResult,
    belt: CalibrationBelt | None,
    groups: pd.DataFrame | None,
) -> Page:
    from exactregion.plotting.wording import (
        answer_of_belt,
        answer_of_test,
        guarantee_of_belt,
        guarantee_of_test,
        percent,
    )

    page = Page()
    page.heading("Are these predictions calibrated?")
    method = draws_text(statistic_name(test.question.statistic), draws)
    rank = f"{test.pvalue:.4g} (rank {test.rank:,} of {draws.resamples + 1:,})"
    page.facts({**facts, "test": method, "p-value": rank})
    if belt is not None:
        rows = [
            (str(name), *interval(row), CALIBRATED[str(name)])
            for name, row in belt.intervals.iterrows()
        ]
        heads = ["on the logit scale", "estimate", f"{percent(belt.coverage)} interval"]
        page.table([*heads, "if calibrated"], rows)
    if groups is not None:
        _tell_groups(page, groups)
    page.say(answer_of_test(test) if belt is None else answer_of_belt(belt))
    page.say(guarantee_of_test(test) if belt is None else guarantee_of_belt(belt))
    return page


def _tell_groups(page: Page, groups: pd.DataFrame) -> None:
    rows = [
        (
            str(name),
            f"{int(row['n']):,}",
            f"{row['observed']:.3f}",
            f"{row['predicted']:.3f}",
            f"{row['pvalue']:.4g}",
            f"{row['pvalue_holm']:.4g}",
        )
        for name, row in groups.iterrows()
    ]
    heads = [str(groups.index.name), "n", "observed", "predicted", "p-value", "adjusted"]
    page.table(heads, rows)
    page.say(
        "Adjusted p-values (Holm) are safe to look at together: if all groups are calibrated, one "
        "or more is 0.05 or less at most 5 times in 100."
    )


def _content(
    test: ExactTestResult,
    draws: Draws,
    belt: CalibrationBelt | None,
    groups: pd.DataFrame | None,
) -> dict[str, Any]:
    return {
        "statistic": statistic_name(test.question.statistic),
        "resamples": draws.resamples,
        "seed": draws.seed,
        "pvalue": test.pvalue,
        "rank": test.rank,
        "z": test.statistic,
        "coverage": None if belt is None else belt.coverage,
        "belt": None if belt is None else _belt_content(belt),
        "groups": None if groups is None else _group_content(groups),
    }


def _belt_content(belt: CalibrationBelt) -> dict[str, Any]:
    return {
        "status": belt.status,
        "contradicted": belt.contradicted,
        "resolution": belt.resolution,
        "intervals": interval_records(belt.intervals),
        "departures": [
            {"start": one.start, "stop": one.stop, "side": one.side} for one in belt.departures
        ],
        "grid": belt.grid,
        "estimate": belt.estimate,
        "lower": belt.lower,
        "upper": belt.upper,
    }


def _group_content(groups: pd.DataFrame) -> list[dict[str, Any]]:
    rows: list[Any] = groups.rename(columns={"statistic": "z"}).to_dict("records")
    return [{"group": name, **row} for name, row in zip(groups.index, rows, strict=True)]
