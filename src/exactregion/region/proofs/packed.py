"""Bounds over boxes as four arrays: the form in which compiled loops read them quickest."""

from __future__ import annotations

from typing import Any, NamedTuple

__all__ = ["PackedBoxes"]

LOW, HIGH, ODDS_LOW, ODDS_HIGH, ROW_SIZE, UPPER_SIZE, GAIN, GAIN_SLOPE, REST, UPPER_MOVE, MOVE = (
    range(11)
)
"""What `rows` has of each label: bounds of its probability, the largest (1 - p)² / (p (1 - p)) of
a success and the same of a failure, and the largest sizes of its columns, in the norm and by the
larger metric. Where columns depend on θ, their gain at the centre, its slope in η, the sizes of
what both leave out, and how far columns move by the larger metric and in the norm."""

(
    ORIGINAL, LIMIT, IS_NEAR, IS_EXACT,
    PER_SQUARE, PER_SIZE, ALWAYS, FREE, FREE_SIZE, DRIFT, SIZE,
    SCALAR_METRIC, SCALAR_UPPER, SCALAR_PER_SQUARE, SCALAR_PER_SIZE, SCALAR_FREE,
    SCALAR_FREE_SIZE, SCALAR_DRIFT, HALF,
) = range(19)  # fmt: skip
"""What `numbers` has of each box: a lower bound of Z of the original; the limit of Pearson's
statistic below which an alternative is below it; whether the expansion holds; whether points are
those of the engines to the last bit. Then those of `MatrixPart`: remainders per squared size and
per size of a point, and in any case; what free labels add, per size and per size times size of the
point; the drift and the size of the residual. The same of `ScalarPart`. From `HALF` on the half
widths (d), and the slopes of the scalar metric (d)."""

NORM, METRIC, UPPER = range(3)
"""What `forms` has: matrices (s, s), and from `SLOPES` + 1 on the slopes of the metric."""

LINEAR, RESIDUAL, SLOPES = range(3)
"""What `lines` has: vectors (s + r,) of both parts, and from `SLOPES` on slopes of the first."""


class PackedBoxes(NamedTuple):
    """Bounds over B boxes, for k labels, s columns measured by a matrix and r by a number."""

    rows: Any  # (B, 6 or 11, k)
    numbers: Any  # (B, HALF + 2 d)
    forms: Any  # (B, 3 + d, s, s)
    lines: Any  # (B, 2 + d, s + r)
