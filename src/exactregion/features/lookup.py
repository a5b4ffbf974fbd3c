"""Compiled loop that interpolates features along one input in a table."""

from __future__ import annotations

from typing import Any

import numba
import numpy as np

__all__ = ["interpolate"]


@numba.njit(cache=True, nogil=True, error_model="numpy")
def interpolate(x: Any, low: float, step: float, table: Any, unit: Any, out: Any) -> None:
    """Interpolate between the rows of a table, and round to the grid of exact sums.

    Parameters
    ----------
    x : ndarray of shape (b,)
        Inputs within the table.
    low, step : float
        Place of the first row, and distance between rows.
    table : ndarray of shape (k, r)
        Features there.
    unit : ndarray of shape (r,)
        Spacing of the grid.
    out : ndarray of shape (b, r)
        Where the features go.
    """
    last = len(table) - 2
    for j in range(len(x)):
        place = (x[j] - low) / step
        row = min(max(int(place), 0), last)
        share = place - row
        for a in range(table.shape[1]):
            value = table[row, a] + share * (table[row + 1, a] - table[row, a])
            out[j, a] = np.rint(value / unit[a]) * unit[a]
