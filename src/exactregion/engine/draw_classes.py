"""Compiled loops for classes: drawing them, and summing a number per row and class."""

from __future__ import annotations

from typing import Any

import numpy as np

from exactregion.features.compilation import compiled

__all__ = ["add_values", "draw_classes"]


@compiled
def draw_classes(state: Any, thresholds: Any, observed: Any, seat: int, codes: Any) -> None:
    """Fill the classes (m, b) of m data sets, row after row, as `draw_labels` does for two classes.

    Parameters
    ----------
    state : ndarray of shape (4,), unsigned
        State of SFC64; it is advanced.
    thresholds : ndarray of shape (b, C - 1), unsigned
        P(class ≥ 1) ≥ … ≥ P(class ≥ C - 1) of each row. A class is the number of thresholds above
        the random number of its row.
    observed : ndarray of shape (b,)
        Classes of the original.
    seat : int
        The original's row in `codes`.
    codes : ndarray of shape (m, b)
        Where the classes go.
    """
    a, b, c, count = state[0], state[1], state[2], state[3]
    one, three, eleven = np.uint64(1), np.uint64(3), np.uint64(11)
    left, right = np.uint64(24), np.uint64(40)
    for i in range(codes.shape[0]):
        if i == seat:
            for j in range(codes.shape[1]):
                codes[i, j] = observed[j]
            continue
        for j in range(codes.shape[1]):
            x = a + b + count
            count += one
            a = b ^ (b >> eleven)
            b = c + (c << three)
            c = ((c << left) | (c >> right)) + x
            low, high = 0, thresholds.shape[1]
            while low < high:
                middle = (low + high) // 2
                if (x >> eleven) < thresholds[j, middle]:
                    low = middle + 1
                else:
                    high = middle
            codes[i, j] = low


@compiled
def add_values(codes: Any, values: Any, totals: Any) -> None:
    """Add the values (b, C, s) of the classes (m, b) of each data set to `totals` (m, s)."""
    for i in range(codes.shape[0]):
        for j in range(codes.shape[1]):
            for k in range(values.shape[2]):
                totals[i, k] += values[j, codes[i, j], k]
