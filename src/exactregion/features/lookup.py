"""Compiled loop that interpolates features along one input in a table."""

from __future__ import annotations

from typing import Any

import numpy as np

from exactregion.features.compilation import compiled


@compiled
def interpolate(x: Any, low: float, step: float, table: Any, unit: Any, out: Any) -> None:
    """Write the features of inputs x (b,) into `out` (b, r), rounded to the grid of exact sums.

    They lie on lines between the rows of a table (k, r), which begins at `low` and has a row at
    each `step`.
    """
    last = len(table) - 2
    for j in range(len(x)):
        place = (x[j] - low) / step
        row = min(max(int(place), 0), last)
        share = place - row
        for a in range(table.shape[1]):
            value = table[row, a] + share * (table[row + 1, a] - table[row, a])
            out[j, a] = np.rint(value / unit[a]) * unit[a]
