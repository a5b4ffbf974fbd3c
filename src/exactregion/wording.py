"""Words and numbers that people read: in tables, pictures and reports alike."""

from __future__ import annotations

import numpy as np

from exactregion._typing import FloatArray

__all__ = ["interval_text", "number", "percent", "pieces_text", "region_note"]


def percent(share: float) -> str:
    """Write a share in per cent; less than all is never written as 100%.

    Examples
    --------
    >>> percent(0.95), percent(0.955), percent(45 / 49), percent(0.99999)
    ('95%', '95.5%', '91.84%', '99.999%')
    """
    short = f"{100 * share:.4g}%"
    return f"{100 * share:.9g}%" if short == "100%" else short


def number(value: float, width: float | None = None) -> str:
    """Write a number with a true minus sign: to three digits, or three of the width it lies in.

    Examples
    --------
    >>> number(-0.23218), number(1234.56, width=20.0), number(float("inf"))
    ('−0.232', '1234.6', '∞')
    """
    if np.isinf(value):
        return "∞" if value > 0 else "−∞"
    text = f"{value:.3g}"
    if width is not None and np.isfinite(width) and 1e-4 < width < 1e6:
        digits = max(0, 2 - int(np.floor(np.log10(width / 2))))
        text = f"{round(value, digits) + 0.0:.{digits}f}"
    return text.replace("-", "−")


def interval_text(lower: float, upper: float, width: float) -> str:
    """Write an interval, open where it has no end.

    Examples
    --------
    >>> interval_text(-float("inf"), 28.8123, width=80.0)
    '(−∞, 28.8]'
    """
    left, right = "[" if np.isfinite(lower) else "(", "]" if np.isfinite(upper) else ")"
    return f"{left}{number(lower, width)}, {number(upper, width)}{right}"


def region_note(status: str, detail: str = "") -> str:
    """Say what a reader of the picture must know of the region; nothing if it is bounded."""
    notes = {
        "unbounded": "unbounded: the region goes on past the edge",
        "cut": "cut: the region goes on past the edge",
        "disconnected": "disconnected",
        "empty": "empty: no member of the family fits",
    }
    note = notes.get(status, "")
    if not note or not detail:
        return note
    return f"{note}{', ' if ':' in note else ': '}{detail}"


def pieces_text(sizes: FloatArray, measure: str) -> str:
    """Say how many pieces there are, and how much of them is in the largest.

    Examples
    --------
    >>> pieces_text(np.array([90.0, 6.0, 4.0]), "area")
    '3 pieces, the largest with 90% of the area'
    """
    if len(sizes) < 2 or not np.isfinite(sizes).all():
        return f"{len(sizes)} pieces" if len(sizes) > 1 else ""
    share = np.floor(1000 * sizes.max() / sizes.sum()) / 10
    return f"{len(sizes)} pieces, the largest with {share:g}% of the {measure}"
