"""Words and numbers that people read: the same in tables, pictures and reports."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from exactregion._typing import FloatArray
from exactregion.calibration import CalibrationBelt, Departure
from exactregion.region import ConfidenceRegion
from exactregion.testing.result import ExactTestResult

SURPRISE = 0.05
"""p-values up to this are called evidence; it changes words only."""

RECALIBRATION = "shift and stretch"
"""What expit(a + b logit p) does to predictions on the logit scale."""


def percent(share: float) -> str:
    """Write a share in per cent; less than all is never written as 100%."""
    short = f"{100 * share:.4g}%"
    return f"{100 * share:.9g}%" if short == "100%" else short


def number(value: float, width: float | None = None) -> str:
    """Write a number with a true minus sign: to three digits, or three of the width it lies in."""
    if np.isinf(value):
        return "∞" if value > 0 else "−∞"
    text = f"{value:.3g}"
    if width is not None and np.isfinite(width) and 1e-4 < width < 1e6:
        digits = max(0, 2 - int(np.floor(np.log10(width / 2))))
        text = f"{round(value, digits) + 0.0:.{digits}f}"
    return text.replace("-", "−")


def interval_text(lower: float, upper: float, width: float) -> str:
    """Write an interval, open where it has no end."""
    left, right = "[" if np.isfinite(lower) else "(", "]" if np.isfinite(upper) else ")"
    return f"{left}{number(lower, width)}, {number(upper, width)}{right}"


def estimate_and_interval(row: Any) -> tuple[str, str]:
    """Write what a row with estimate, lower, upper and status says."""
    low, high, estimate = float(row["lower"]), float(row["upper"]), float(row["estimate"])
    if row["status"] == "empty":
        return number(estimate), "empty"
    width = high - low
    if not np.isfinite(width):
        ends = [abs(end - estimate) for end in (low, high) if np.isfinite(end)]
        width = 2 * max(ends, default=abs(estimate))
    return number(estimate, width), interval_text(low, high, width)


def shortened(text: str, longest: int = 48) -> str:
    """Cut a long text, as for an axis."""
    text = " ".join(text.split())
    return text if len(text) <= longest else f"{text[: longest - 1]}…"


def estimate_name(is_empty: bool) -> str:
    """Name the estimate: in an empty region it is not a member."""
    return "least incompatible" if is_empty else "most compatible"


def estimates_are(is_likely: bool) -> str:
    """Say what estimates in a table are."""
    if is_likely:
        return "Estimates are those of maximum likelihood."
    return "Estimates are the most compatible ones: the likelihood has no finite maximum."


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


def pvalue_text(pvalue: float) -> str:
    """Write a p-value as how often chance alone does as much."""
    if pvalue >= 0.995:
        return "always"
    if pvalue > 0.1:
        return f"{100 * pvalue:.0f} times in 100"
    return f"1 time in {1 / pvalue:,.0f}"


def answer_of_test(result: ExactTestResult) -> str:
    """Say what a test found, to someone who knows no statistics."""
    often = pvalue_text(result.pvalue)
    subject = "the predictions" if result.question.kind == "calibration" else "these probabilities"
    if result.pvalue <= SURPRISE:
        found = f"The outcomes are evidence against {subject}"
        reason = f"if {subject} were right, outcomes this unusual would occur only {often}"
    else:
        found = f"The outcomes are compatible with {subject}"
        reason = f"if {subject} are right, outcomes at least this unusual occur {often}"
    return f"{found} (p = {result.pvalue:.4g}): {reason}."


def guarantee_of_test(result: ExactTestResult) -> str:
    """Say what is certain of a test's p-value."""
    return (
        f"{_exact_pvalue(int(result.question.trials.sum()))}: if the probabilities are right, "
        "p ≤ 0.05 occurs at most 5 times in 100. This assumes independent rows, and that nothing "
        "was fitted to these outcomes."
    )


def answer_of_region(region: ConfidenceRegion) -> str:
    """Say what a region found, to someone who knows no statistics."""
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
        f"The outcomes are most compatible with {best}; the {level} region contains all that they "
        "do not reject."
    )


def how_ends_were_found(certified: Mapping[str, bool]) -> str:
    """Say of which results it is proven that no member lies outside, and which were searched."""
    proven = tuple(name for name, is_proven in certified.items() if is_proven)
    searched = tuple(name for name, is_proven in certified.items() if not is_proven)
    sentences = []
    if proven:
        sentences.append(f"Proven to leave out no member of the region: {listed(proven)}.")
    if searched:
        sentences.append(f"Searched, and audited at random: {listed(searched)}.")
    return " ".join(sentences)


def guarantee_of_region(region: ConfidenceRegion) -> str:
    """Say what is certain of a region."""
    n = len(region.fitted_.sample)
    return (
        "If the family contains the true probabilities, this region contains their parameters with "
        f"probability {percent(region.coverage_)}: exactly, with {n:,} {_plural('row', n)} as with "
        "any number. This assumes independent rows."
    )


def answer_of_belt(belt: CalibrationBelt) -> str:
    """Say what a calibration belt found, to someone who knows no statistics."""
    if belt.contradicted:
        verb = "outcome contradicts" if belt.contradicted == 1 else "outcomes contradict"
        return (
            f"{belt.contradicted:,} {verb} a prediction of exactly 0 or 1. An event of probability "
            f"zero occurred, so the predictions are rejected (p = {belt.pvalue:.4g}, the smallest "
            "possible with this number of resamples)."
        )
    answer = answer_of_test(belt.test)
    if belt.status == "empty":
        return f"{answer} No {RECALIBRATION} of the predictions on the logit scale corrects them."
    if belt.departures:
        where = "; ".join(departure_text(departure) for departure in belt.departures)
        if belt.pvalue > SURPRISE:
            return f"{answer} By the belt, however, {where}."
        return f"{answer} {where[0].upper()}{where[1:]}."
    if belt.pvalue <= SURPRISE:
        return f"{answer} The belt shows no {RECALIBRATION}, however: it contains the diagonal."
    return answer


def guarantee_of_belt(belt: CalibrationBelt) -> str:
    """Say what is certain of a calibration belt."""
    return (
        f"{_exact_pvalue(int(belt.trials.sum()))}. The belt contains the whole true curve with "
        f"probability {percent(belt.coverage)} if that curve is a {RECALIBRATION} of the "
        "predictions on the logit scale. Both assume independent rows, and that nothing was fitted "
        "to these outcomes."
    )


def _exact_pvalue(trials: int) -> str:
    return f"The p-value is exact with {trials:,} {_plural('outcome', trials)}, as with any number"


def departure_text(departure: Departure) -> str:
    """Say where predictions are off, and to which side."""
    low, high = f"{departure.start:.2f}", f"{departure.stop:.2f}"
    where = f"around {low}" if low == high else f"from {low} to {high}"
    side = "low" if departure.side == "above" else "high"
    return f"predictions {where} are too {side}"


def _plural(word: str, count: int) -> str:
    return word if count == 1 else f"{word}s"


def listed(names: tuple[str, ...]) -> str:
    """Write names as "a, b and c"."""
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
