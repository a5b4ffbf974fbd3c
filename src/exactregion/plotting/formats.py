"""Numbers, names and rows of tables as people read them: the same in pictures, text and reports."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from exactregion.calibration import CalibrationBelt
from exactregion.testing.class_result import ClassTestResult
from exactregion.testing.segment_result import SegmentTestResult
from exactregion.testing.size import CalibrationSize

CALIBRATED = {"intercept": "0", "slope": "1", "square": "0", "cube": "0"}
"""Parameters of a recalibration that changes nothing."""


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


def signed(value: float) -> str:
    """Write a difference with its sign, to three decimals."""
    return f"{value:+.3f}".replace("-", "−")


def probability(value: float, digits: int = 2) -> str:
    """Write a probability with two decimals, or with as many digits as keep it from 0 and 1.

    Examples
    --------
    >>> [probability(p) for p in (0, 0.00042, 0.5, 0.9996, 1)]
    ['0', '0.00042', '0.50', '0.9996', '1']
    """
    distance = min(value, 1 - value)
    if value in (0, 1) or not np.isfinite(value):
        return f"{value:g}"
    if distance >= 10.0**-digits:
        return f"{value:.{digits}f}"
    if value < 0.5:
        return f"{value:.{digits}g}"
    decimals = digits - 1 - int(np.floor(np.log10(distance)))
    return f"{value:.{min(decimals, 15)}f}".rstrip("0")


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


def limit_text(value: float, *, upper: bool) -> str:
    """Write a limit of a deviation: rounded up if it is an upper one, else down."""
    if not np.isfinite(value):
        return "none"
    digits = 3 if value >= 0.01 or value <= 0 else 1 - int(np.floor(np.log10(value)))
    digits = min(digits, 9)
    rounded = (np.ceil if upper else np.floor)(value * 10**digits) / 10**digits
    return f"{rounded:.{digits}f}" if rounded else "0"


def shortened(text: str, longest: int = 48, *, middle: bool = False) -> str:
    """Cut a long text, as for an axis: at its end, or in the middle where the end matters.

    Examples
    --------
    >>> shortened("site = somewhere: dog", 12), shortened("site = somewhere: dog", 12, middle=True)
    ('site = some…', 'site =…: dog')
    """
    text = " ".join(text.split())
    if len(text) <= longest:
        return text
    kept = longest // 2 if middle else longest - 1
    return f"{text[:kept]}…{text[len(text) - (longest - 1 - kept) :] if middle else ''}"


def listed(names: Sequence[str]) -> str:
    """Write names as "a, b and c"."""
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def first_of(names: Sequence[str], most: int) -> str:
    """Write names as "a, b, c", or as "a, b and 3 more" where there are more than so many."""
    more = len(names) - most
    return ", ".join(names[:most]) + (f" and {more} more" if more > 0 else "")


def plural(word: str, count: int) -> str:
    """Write "row" or "rows"."""
    return word if count == 1 else f"{word}s"


def group_cells(row: Any) -> list[str]:
    """Write the test of a group of rows, or of a model: n, shares, p-value and adjusted p-value."""
    shares = [probability(float(row[key]), 3) for key in ("observed", "predicted")]
    pvalues = [f"{row[key]:.4g}" for key in ("pvalue", "pvalue_holm")]
    return [f"{int(row['n']):,}", *shares, *pvalues]


def class_rows(result: ClassTestResult) -> list[list[str]]:
    """Write the table of classes: name, shares, difference, p-value and adjusted p-value."""
    rows: Any = result.table.itertuples()
    return [
        [
            str(row.Index),
            probability(row.observed, 3),
            probability(row.expected, 3),
            signed(row.difference),
            *("–" if np.isnan(p) else f"{p:.4g}" for p in (row.pvalue, row.pvalue_adjusted)),
        ]
        for row in rows
    ]


def segment_rows(result: SegmentTestResult, number: int) -> list[list[str]]:
    """Write the first segments: name, n, shares, difference and its limits, p-values."""
    rows: Any = result.table.head(number).itertuples()
    return [
        [
            row.Index,
            f"{row.n:,}",
            f"{row.observed:.3f}",
            f"{row.expected:.3f}",
            *(signed(value) for value in (row.difference, row.lower, row.upper)),
            f"{row.pvalue:.4g}",
            f"{row.pvalue_adjusted:.4g}",
        ]
        for row in rows
    ]


def parameter_rows(belt: CalibrationBelt) -> list[tuple[str, str, str, str]]:
    """Return name, estimate, interval and ideal of the parameters, for a table."""
    return [
        (str(name), *estimate_and_interval(row), CALIBRATED[str(name)])
        for name, row in belt.intervals.iterrows()
    ]


def deviation_rows(belt: CalibrationBelt) -> list[tuple[str, str, str, str]]:
    """Return name, estimate, limits and ideal of the deviations, for a table."""
    rows = []
    for name, found in (("largest", belt.largest_deviation), ("mean", belt.mean_deviation)):
        ends = (limit_text(found.lower, upper=False), limit_text(found.upper, upper=True))
        limits = "empty" if np.isnan(found.upper) else f"[{ends[0]}, {ends[1]}]"
        estimate = "none" if np.isnan(found.estimate) else f"{found.estimate:.3f}"
        rows.append((f"{name} deviation", estimate, limits, "0"))
    return rows


def size_facts(size: CalibrationSize) -> dict[str, str]:
    """Describe the size of miscalibration in the data at hand."""
    facts = {"means": f"{size.predicted:.4g} predicted, {size.observed:.4g} observed"}
    for name, key in (("Brier score", "brier"), ("log loss", "log_loss")):
        part = getattr(size, f"{key}_miscalibration")
        facts[name] = f"{getattr(size, key):.4g}, of which {part:.3g} miscalibration"
    return facts | {"ECE": f"{size.ece:.3f} in 15 bins, {size.smooth_ece:.3f} smooth"}
