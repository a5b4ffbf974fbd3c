"""Intervals as people read them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from exactregion.plotting import wording
from exactregion.report.figures import shortened
from exactregion.report.parts import Table

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["interval_table"]

STATUS = {
    "unbounded below": "no lower end",
    "unbounded above": "no upper end",
    "unbounded": "no ends",
}


def interval_table(caption: str, intervals: pd.DataFrame) -> Table:
    """Make a table of what `ConfidenceRegion.intervals` gave."""
    rows = []
    for name, row in intervals.iterrows():
        estimate, lower, upper = (float(row[key]) for key in ("estimate", "lower", "upper"))
        width = upper - lower if np.isfinite(upper - lower) else None
        status = str(row["status"])
        rows.append(
            [
                shortened(str(name), 120),
                wording.number(estimate, width),
                _end(lower, width),
                _end(upper, width),
                STATUS.get(status, status),
            ]
        )
    return Table(caption, ["Parameter", "Best", "From", "To", "Status"], rows)


def _end(value: float, width: float | None) -> str:
    if np.isnan(value):
        return "none"
    return "no end" if np.isinf(value) else wording.number(value, width)
