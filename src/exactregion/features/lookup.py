"""Compiled loops that write features on the grid of exact sums.

Units are powers of two, so that to multiply by their inverse is to divide, and takes less time.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from exactregion.features.compilation import compiled


@compiled
def interpolate(
    x: Any, low: float, high: float, table: Any, unit: Any, out: Any, first: int
) -> None:
    """Write the features of inputs x (b,) into columns `first`, … of `out`, rounded to the grid.

    They lie on lines between the rows of a table (k, r), which are equally spaced from `low` to
    `high`; inputs beyond have the features of the end.
    """
    last = len(table) - 2
    step = (high - low) / (len(table) - 1)
    inverse = 1 / unit
    for j in range(len(x)):
        place = (min(max(x[j], low), high) - low) / step
        row = min(max(int(place), 0), last)
        share = place - row
        for a in range(table.shape[1]):
            value = table[row, a] + share * (table[row + 1, a] - table[row, a])
            out[j, first + a] = np.rint(value * inverse[a]) * unit[a]


@compiled
def write_rounded(values: Any, bound: Any, unit: Any, out: Any, first: int) -> bool:
    """Write columns (b, r) into columns `first`, … of `out`, rounded to the grid.

    Returns whether all of them are within bounds (r,).
    """
    inverse = 1 / unit
    beyond = 0
    for j in range(values.shape[0]):
        for a in range(values.shape[1]):
            value = values[j, a]
            beyond += abs(value) > bound[a]
            out[j, first + a] = np.rint(value * inverse[a]) * unit[a]
    return beyond == 0
