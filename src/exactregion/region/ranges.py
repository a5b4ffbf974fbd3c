"""Ranges of an axis on which something holds."""

from __future__ import annotations

import numpy as np

from exactregion._typing import BoolArray, FloatArray

__all__ = ["positive_ranges", "runs"]


def runs(mask: BoolArray) -> list[tuple[int, int]]:
    """Return the first and last index of each run of true values.

    Examples
    --------
    >>> runs(np.array([True, False, True, True]))
    [(0, 0), (2, 3)]
    """
    steps = np.diff(np.concatenate([[False], mask, [False]]).astype(np.int8))
    firsts, lasts = np.flatnonzero(steps == 1), np.flatnonzero(steps == -1) - 1
    return list(zip(firsts.tolist(), lasts.tolist(), strict=True))


def positive_ranges(x: FloatArray, *curves: FloatArray) -> list[tuple[float, float]]:
    """Return the ranges of ascending x on which all curves are positive, by linear interpolation.

    Examples
    --------
    >>> x = np.array([0.0, 1.0, 2.0, 3.0])
    >>> positive_ranges(x, np.array([-1.0, 1.0, 3.0, 1.0]), np.array([3.0, 2.0, 1.0, -1.0]))
    [(0.5, 2.5)]
    """
    if len(x) == 1:
        return [(float(x[0]),) * 2] if all(curve[0] > 0 for curve in curves) else []
    knots = np.unique(np.concatenate([x, *(_zeros(x, curve) for curve in curves)]))
    between = (knots[:-1] + knots[1:]) / 2
    holds = np.all([np.interp(between, x, curve) > 0 for curve in curves], axis=0)
    return [(float(knots[first]), float(knots[last + 1])) for first, last in runs(holds)]


def _zeros(x: FloatArray, values: FloatArray) -> FloatArray:
    """Return where straight lines between the points cross 0."""
    crossing = np.flatnonzero(values[:-1] * values[1:] < 0)
    share = values[crossing] / (values[crossing] - values[crossing + 1])
    return np.asarray(x[crossing] + share * (x[crossing + 1] - x[crossing]))
