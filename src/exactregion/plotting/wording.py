"""Sentences and rows of tables for people: the same in the terminal, notebooks and reports."""

from __future__ import annotations

import html
import textwrap
from collections.abc import Mapping
from functools import singledispatch
from typing import Any

import numpy as np

from exactregion._typing import FloatArray
from exactregion.calibration import CalibrationBelt, CalibrationBelts, Departure
from exactregion.plotting.formats import (
    deviation_rows,
    limit_text,
    listed,
    number,
    parameter_rows,
    percent,
    plural,
    probability,
    shortened,
)
from exactregion.region import ConfidenceRegion
from exactregion.testing.class_result import ClassTestResult
from exactregion.testing.groups import table_of
from exactregion.testing.result import ExactTestResult
from exactregion.testing.segment_result import SegmentTestResult

SURPRISE = 0.05
"""p-values up to this are called evidence; it changes words only."""

RECALIBRATION = {
    1: "logistic recalibration",
    2: "quadratic recalibration",
    3: "cubic recalibration",
}
"""expit(a + b logit p), by an intercept a and a slope b, and those that bend, by degree."""

MOST_SEGMENTS, MOST_CLASSES = 3, 5
"""How many a sentence names: a segment takes a line. More are in the table below it."""

BEND = "A belt that can bend may show where: degree=2 in Python, --degree 2 on the command line."

HELD_OUT = "This assumes independent rows, and that nothing was fitted to these outcomes."


@singledispatch
def answer_of(result: Any) -> str:
    """Say what a test, a region or a belt found, to someone who knows no statistics.

    A mapping has the tests, or belts, of several models.
    """
    raise NotImplementedError(type(result))


@singledispatch
def guarantee_of(result: Any) -> str:
    """Say what is certain of a result."""
    raise NotImplementedError(type(result))


def pvalue_text(pvalue: float) -> str:
    """Write a p-value as how often chance alone does as much."""
    if pvalue >= 0.995:
        return "always"
    if pvalue > 0.1:
        return f"{100 * pvalue:.0f} times in 100"
    return f"1 time in {1 / pvalue:,.0f}"


def _evidence(calibration: bool) -> str:
    return "evidence of miscalibration" if calibration else "evidence against the probabilities"


def _exact_pvalue(trials: int) -> str:
    return f"The p-value is exact with {trials:,} {plural('outcome', trials)}, as with any number"


@answer_of.register
def _(result: ExactTestResult) -> str:
    often, calibration = pvalue_text(result.pvalue), result.question.kind == "calibration"
    evidence, null = _evidence(calibration), "calibration is" if calibration else "they are"
    what = "the predictions {} calibrated" if calibration else "the probabilities {} right"
    if result.pvalue <= SURPRISE:
        found = f"There is {evidence}: {null} rejected"
        reason = f"If {what.format('were')}, outcomes this unusual would occur only {often}"
    else:
        found = f"There is no {evidence}: {null} not rejected"
        reason = f"If {what.format('are')}, outcomes at least this unusual occur {often}"
    answer = f"{found} at the level {SURPRISE:g} (p = {result.pvalue:.4g}). {reason}."
    return f"{answer} {misfit_text(result)}" if result.pvalue <= SURPRISE else answer


@guarantee_of.register
def _(result: ExactTestResult) -> str:
    return (
        f"{_exact_pvalue(int(result.question.trials.sum()))}: if the probabilities are right, "
        f"p ≤ 0.05 occurs at most 5 times in 100. {HELD_OUT}"
    )


def misfit_text(result: ExactTestResult) -> str:
    """Name the kind of misfit, and say what is off."""
    misfit = result.misfit
    return f"Kind of misfit: {misfit.kind}. {misfit.text[0].upper()}{misfit.text[1:]}."


def _tests_of(results: Mapping[str, Any]) -> Mapping[str, ExactTestResult]:
    """Return the test of each of several models, which may be that of a belt."""
    return results.tests if isinstance(results, CalibrationBelts) else results


@answer_of.register(Mapping)
def _(results: Mapping[str, Any]) -> str:
    tests = _tests_of(results)
    adjusted: dict[Any, float] = table_of(tests, "model")["pvalue_holm"].to_dict()
    first = next(iter(tests.values()))
    against = _evidence(first.question.kind == "calibration")
    found = [shortened(name) for name, pvalue in adjusted.items() if pvalue <= SURPRISE]
    if not found:
        models = "either model" if len(adjusted) == 2 else f"any of the {len(adjusted)} models"
        smallest = f"the smallest adjusted p-value is {min(adjusted.values()):.4g}"
        return f"There is no {against} of {models}: {smallest}."
    others = len(adjusted) - len(found)
    rest = f", none of the other {others}" if others > 1 else ", none of the other" * others
    return (
        f"There is {against} of {listed(found)}{rest}, at the level {SURPRISE:g} for "
        f"{'both' if len(adjusted) == 2 else f'all {len(adjusted)}'} models together."
    )


@guarantee_of.register(Mapping)
def _(results: Mapping[str, Any]) -> str:
    first = next(iter(results.values()))
    trials = int(next(iter(_tests_of(results).values())).question.trials.sum())
    belts = ""
    if isinstance(first, CalibrationBelt):
        family = RECALIBRATION[first.degree]
        belts = (
            f" Each belt contains its model's whole true curve with probability at least "
            f"{percent(first.coverage)} if that curve is a {family} of the predictions."
        )
    return (
        f"Each p-value is exact with {trials:,} {plural('outcome', trials)}, as with any number. "
        "The adjusted ones (Holm) hold together: one or more of the models that are right is "
        f"rejected at the level 0.05 at most 5 times in 100.{belts} {HELD_OUT}"
    )


@answer_of.register
def _(result: ClassTestResult) -> str:
    often, evidence = pvalue_text(result.pvalue), _evidence(result.kind == "calibration")
    what = f"the probabilities of all {len(result.classes)} classes"
    if result.pvalue > SURPRISE:
        return (
            f"There is no {evidence} (p = {result.pvalue:.4g}). If {what} are right, outcomes at "
            f"least this unusual occur {often}."
        )
    off = list(map(str, result.named(SURPRISE).index))
    if len(off) > MOST_CLASSES + 1:
        off = [*off[:MOST_CLASSES], f"{len(off) - MOST_CLASSES} more"]
    where = f"Shown to be off: {listed(off)}." if off else "No single class is shown to be off."
    return (
        f"There is {evidence} (p = {result.pvalue:.4g}). If {what} were right, outcomes this "
        f"unusual would occur only {often}. {where}"
    )


@guarantee_of.register
def _(result: ClassTestResult) -> str:
    return (
        f"{_exact_pvalue(result.n)}: if the probabilities are right, p ≤ 0.05 occurs at most 5 "
        "times in 100. Classes with an adjusted p-value of 0.05 or less are named: at most 5 times "
        f"in 100 is even one of them right. {HELD_OUT}"
    )


@answer_of.register
def _(result: SegmentTestResult) -> str:
    tested, named = len(result.table), result.named(SURPRISE)
    if named.empty:
        often = pvalue_text(result.pvalue)
        return (
            f"None of {tested:,} segments is shown to be off (p = {result.pvalue:.4g}): if all "
            f"predictions are right, a segment at least this unusual occurs {often}."
        )
    rows: Any = named.head(MOST_SEGMENTS).itertuples()
    texts = [
        f"{shortened(row.Index, 80)} ({row.observed:.3f} observed, {row.expected:.3f} expected)"
        for row in rows
    ]
    more = len(named) - len(texts)
    found = f"{'; '.join(texts)}{f'; and {more:,} more' if more else ''}"
    return (
        f"Predictions are off in {len(named):,} of {tested:,} {plural('segment', tested)} "
        f"(p = {result.pvalue:.4g}): {found}."
    )


@guarantee_of.register
def _(result: SegmentTestResult) -> str:
    return (
        f"{_exact_pvalue(result.trials)}. Segments with an adjusted p-value of 0.05 or less are "
        "named: at most 5 times in 100 is even one of them a segment in which all predictions are "
        f"right. {HELD_OUT}"
    )


@answer_of.register
def _(region: ConfidenceRegion) -> str:
    level, names = percent(region.coverage_), region.parameter_names_
    if region.is_empty_:
        return (
            "No member of the family fits the outcomes: the whole family is rejected at this level."
        )
    if region.status_ == "unbounded":
        return (
            f"The {level} region of {listed(names)} is unbounded: in at least one direction the "
            "outcomes set no limit, as where the inputs separate the classes without error."
        )
    if region.status_ == "unsettled":
        return (
            f"The {level} region of {listed(names)} may be larger than shown: the search kept "
            "finding members outside of what it had found."
        )
    best = ", ".join(
        f"{name} = {number(value)}" for name, value in zip(names, region.estimate_, strict=True)
    )
    return (
        f"The estimate ({region.estimate_kind_}) is {best}; the {level} region contains all values "
        "that the outcomes do not reject."
    )


@guarantee_of.register
def _(region: ConfidenceRegion) -> str:
    n = len(region.fitted_.sample.inputs.original)
    return (
        "If the family contains the true probabilities, this region contains their parameters with "
        f"probability {percent(region.coverage_)}: exactly, with {n:,} {plural('row', n)} as with "
        "any number. This assumes independent rows."
    )


def how_ends_were_found(certified: Mapping[str, bool]) -> str:
    """Say of which results it is proven that no member lies outside, and which were searched."""
    proven = [name for name, is_proven in certified.items() if is_proven]
    searched = [name for name in certified if name not in proven]
    sentences = []
    if proven:
        sentences.append(f"Proven to leave out no member of the region: {listed(proven)}.")
    if searched:
        sentences.append(f"Searched, and audited at random: {listed(searched)}.")
    return " ".join(sentences)


@answer_of.register
def _(belt: CalibrationBelt) -> str:
    if belt.contradicted:
        verb = "outcome contradicts" if belt.contradicted == 1 else "outcomes contradict"
        return (
            f"{belt.contradicted:,} {verb} a prediction of exactly 0 or 1. An event of probability "
            f"zero occurred, so the predictions are rejected (p = {belt.pvalue:.4g}, the smallest "
            "possible with this number of resamples)."
        )
    answer, bend = answer_of(belt.test), f" {BEND}" if belt.degree == 1 else ""
    if belt.status == "empty":
        return f"{answer} No {RECALIBRATION[belt.degree]} corrects the predictions.{bend}"
    if belt.departures:
        where = "; ".join(departure_text(departure) for departure in belt.departures)
        if belt.pvalue > SURPRISE:
            return f"{answer} By the belt, however, {where}."
        return f"{answer} {where[0].upper()}{where[1:]}."
    if belt.pvalue <= SURPRISE:
        return (
            f"{answer} The belt contains the diagonal, however: the miscalibration is too small "
            f"for it, or of another form than a {RECALIBRATION[belt.degree]}.{bend}"
        )
    return answer


def answer_of_deviation(belt: CalibrationBelt) -> str:
    """Say how far off the predictions can be, to someone who knows no statistics."""
    largest, mean = belt.largest_deviation, belt.mean_deviation
    if np.isnan(largest.upper):
        return (
            "There is no limit of how far off they are, since no "
            f"{RECALIBRATION[belt.degree]} of the predictions fits."
        )
    upper, average = (limit_text(each.upper, upper=True) for each in (largest, mean))
    how = "proven" if largest.certified else "searched, not proven"
    text = (
        f"With {percent(belt.coverage)} confidence they are calibrated to within ±{upper} "
        f"everywhere, the most around {probability(largest.at or 0.0)}, and to within ±{average} "
        "on average"
    )
    lower = limit_text(largest.lower, upper=False)
    if float(lower) > 0:
        text += f"; somewhere they are off by {lower} at least"
    return f"{text} ({how})."


@guarantee_of.register
def _(belt: CalibrationBelt) -> str:
    return (
        f"{_exact_pvalue(int(belt.trials.sum()))}. The belt is simultaneous: it contains the whole "
        f"true curve, and the limits of deviations hold, with probability at least "
        f"{percent(belt.coverage)} if that curve is a {RECALIBRATION[belt.degree]} of the "
        "predictions. All assume independent rows, and that nothing was fitted to these outcomes."
    )


def curves_text(belt: CalibrationBelt) -> str:
    """Write the curves of a belt with the names of their parameters."""
    bends = ("square · (logit p)²", "cube · (logit p)³")[: belt.degree - 1]
    return f"expit({' + '.join(('intercept', 'slope · logit p', *bends))})"


def departure_text(departure: Departure) -> str:
    """Say where predictions are off, and to which side."""
    low, high = probability(departure.start), probability(departure.stop)
    where = f"around {low}" if low == high else f"from {low} to {high}"
    side = "low" if departure.side == "above" else "high"
    return f"predictions {where} are too {side}"


def estimate_name(is_empty: bool) -> str:
    """Name the estimate: in an empty region it is not a member."""
    return "estimate, not a member" if is_empty else "estimate"


def region_note(status: str, detail: str = "") -> str:
    """Say what a reader of the picture must know of the region; nothing if it is bounded."""
    notes = {
        "unbounded": "unbounded: the region goes on past the edge",
        "cut": "cut: the region goes on past the edge",
        "disconnected": "disconnected",
        "unsettled": "unsettled: the search kept missing members, and the region may be larger",
        "empty": "empty: no member of the family fits",
    }
    note = notes.get(status, "")
    if not note or not detail:
        return note
    return f"{note}{', ' if ':' in note else ': '}{detail}"


def set_detail(status: str, pvalues: FloatArray, sizes: FloatArray, measure: str) -> str:
    """Add numbers to the note: the largest p-value of an empty set, or the pieces of another."""
    if status == "empty":
        return f"p ≤ {pvalues.max():.3g} at all points"
    if status != "disconnected" or len(sizes) < 2:
        return ""
    if not np.isfinite(sizes).all():
        return f"{len(sizes)} pieces"
    # rounded down, so that several pieces are never said to be all of the largest
    share = np.floor(1000 * sizes.max() / sizes.sum()) / 10
    return f"{len(sizes)} pieces, the largest with {share:g}% of the {measure}"


def belt_text(belt: CalibrationBelt) -> str:
    """Write verdict, intercept, slope and deviations of a belt: text of 80 columns."""
    lines = _belt_table(belt)
    first, *widths = (max(map(len, column)) for column in zip(*lines, strict=True))
    table = [
        "  ".join([name.ljust(first), *map(str.rjust, cells, widths)]) for name, *cells in lines
    ]
    paragraphs = [textwrap.fill(text, 80) for text in (answer_of(belt), answer_of_deviation(belt))]
    return "\n".join([*paragraphs, "", *(line.rstrip() for line in table)])


def belt_html(belt: CalibrationBelt) -> str:
    """Write the same as HTML, for notebooks."""
    head, *lines = _belt_table(belt)
    cells = "".join(f"<th>{html.escape(cell)}</th>" for cell in head)
    rows = "".join(
        f"<tr><th>{html.escape(row[0])}</th>"
        + "".join(f"<td>{html.escape(cell)}</td>" for cell in row[1:])
        + "</tr>"
        for row in lines
    )
    texts = "".join(
        f"<p>{html.escape(text)}</p>" for text in (answer_of(belt), answer_of_deviation(belt))
    )
    return f"{texts}<table><tr>{cells}</tr>{rows}</table>"


def _belt_table(belt: CalibrationBelt) -> list[tuple[str, ...]]:
    """Return the heading, then parameters and deviations."""
    head = ("", "estimate", f"{percent(belt.coverage)} limits", "if calibrated")
    return [head, *parameter_rows(belt), *deviation_rows(belt)]
