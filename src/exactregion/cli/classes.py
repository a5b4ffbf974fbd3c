"""``calibrate`` and ``test`` with more than two classes, one column of probabilities each."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import exactregion as er
from exactregion.cli import options as opt
from exactregion.cli.data import (
    Data,
    empty_columns,
    facts_of,
    pieces,
    read_value,
    split_names,
    with_prefix,
)
from exactregion.cli.output import Page, Results, draws_text, pvalue_text
from exactregion.engine.progress import showing
from exactregion.errors import InvalidValueError
from exactregion.plotting import ClassesDisplay, wording

if TYPE_CHECKING:
    import pandas as pd


def calibrate_classes(
    data: Data,
    classes: str | None,
    search: opt.Search,
    results: Results,
    *,
    file: str,
    degree: int | None,
) -> None:
    """Test predictions of several classes, with belts of this degree or none, and show results."""
    labels = None if classes is None else labels_in("--classes", classes, data.y)
    P, settings = data.frame[data.numbers], search.settings | {"classes": labels}
    result: Any = er.calibration_test(
        data.y, P, statistic=search.statistic, n_jobs=search.jobs, **settings
    )
    belts = None
    if degree is not None:
        settings |= {"rng": result.seed, "n_jobs": search.jobs, "degree": degree}
        settings["confidence_level"] = opt.read_level(search.confidence)
        with showing("belts", show=results.output.progress):
            belts = er.calibration_belt(data.y, P, **settings)
    finish_classes(result, data.head, data.numbers, results, file=file, belts=belts)


def calibrate_pieces_of_classes(
    files: list[str],
    cluster: str | None,
    predictions: Any,
    search: opt.Search,
    results: Results,
) -> None:
    """Test Parquet files piece by piece, on a cluster if there is one."""
    if results.output.plot is not None:
        raise InvalidValueError("--plot with classes goes with one file that is read as a whole.")
    with pieces(files, cluster, predictions) as data:
        schema = empty_columns(files[0])
        names = with_prefix(split_names(predictions.probability, list(schema)), list(schema))
        result: Any = er.calibration_test(
            predictions.outcome,
            names,
            data=data,
            classes=labels_in("--classes", predictions.classes, schema[predictions.outcome]),
            statistic=search.statistic,
            n_jobs=search.jobs,
            progress=results.output.progress,
            **search.settings,
        )
    head = {"n": result.n, "dropped": 0, "outcome": predictions.outcome}
    finish_classes(result, head, names, results, file=" ".join(files), files=len(files))


def labels_in(option: str, classes: str, outcome: pd.Series[Any]) -> list[object]:
    """Read the names of classes as the kind of values that the outcome has."""
    texts = [text.strip() for text in classes.split(",")]
    values = [read_value(text, outcome) for text in texts]
    wrong = [text for text, value in zip(texts, values, strict=True) if value is None]
    if wrong:
        raise InvalidValueError(
            f"{option} must name classes of the outcome, which are numbers. Got {wrong[0]!r}."
        )
    whole = outcome.dtype.kind in "iu"
    return [int(value) if whole else value for value in values]  # type: ignore[call-overload]


def finish_classes(
    result: er.ClassTestResult,
    head: dict[str, Any],
    names: list[str],
    results: Results,
    *,
    file: str,
    command: str = "calibrate",
    files: int = 1,
    belts: er.CalibrationBelts | None = None,
) -> None:
    """Show the test of several classes, and write the files."""
    content = {"command": command, "file": file, **head, "probability": names}
    content |= {key: value for key, value in result.to_dict().items() if key != "kind"}
    if belts is not None:
        content["belts"] = {name: belt.to_dict()["belt"] for name, belt in belts.items()}
    question = "Can these probabilities be true?"
    page = Page(question if command == "test" else "Are these predictions calibrated?")
    page.facts(
        {
            **facts_of(head, files=files),
            "predictions": wording.shortened(", ".join(names), 160),
            "settings": draws_text(str(content["statistic"]), result.n_resamples, result.seed),
            "p-value": pvalue_text(result),
        }
    )
    page.table(
        ["class", "observed", "expected", "difference", "p-value", "adjusted"],
        wording.class_rows(result),
    )
    if belts is not None:
        page.table(
            ["belt", "intercept", "slope", "largest deviation"],
            [[name, *_numbers(belt)] for name, belt in belts.items()],
        )
    page.paragraph(wording.answer_of_classes(result), wording.guarantee_of_classes(result))
    results.finish(
        page,
        content,
        result,
        result.pvalue,
        "p =",
        draw=lambda: ClassesDisplay.from_result(result, belts=belts),
        belts=belts,
    )


def _numbers(belt: er.CalibrationBelt) -> list[str]:
    rows = list(belt.intervals.iterrows())[:2]
    found = belt.largest_deviation
    limit = wording.limit_text(found.upper, upper=True)
    return [*(wording.estimate_and_interval(row)[1] for _, row in rows), f"at most {limit}"]
