"""Sizes by a metric, inverses, and how both move over a box."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from exactregion._typing import FloatArray
from exactregion.engine.information import SINGULAR
from exactregion.region.ratios import LinearRatios
from exactregion.region.window import Window

__all__ = [
    "Direction",
    "inverse_of",
    "metric_along",
    "remainders",
    "size_of_error",
    "sizes_of_rows",
    "sizes_of_vectors",
]


def inverse_of(information: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the inverse, and the condition number at a unit diagonal (infinite: not inverted)."""
    size = np.sqrt(np.einsum("baa->ba", information))
    unit = 1 / np.where(size > 0, size, 1.0)
    scaled = information * unit[:, :, None] * unit[:, None, :]
    good = (size > 0).all(axis=1) & np.isfinite(scaled).all(axis=(1, 2))
    scaled[~good] = np.eye(size.shape[1])
    values = np.linalg.eigvalsh(scaled)
    good &= values[:, 0] > SINGULAR * values[:, -1]
    scaled[~good] = np.eye(size.shape[1])
    inverse = np.linalg.inv(scaled) * unit[:, :, None] * unit[:, None, :]
    condition = np.where(good, values[:, -1] / np.where(good, values[:, 0], 1.0), np.inf)
    return inverse, condition


def sizes_of_rows(squares: FloatArray, norm: FloatArray) -> FloatArray:
    """Compute √(φ_jᵀ G φ_j) of each row in each box, by φ_j φ_jᵀ (n, s, s): shape (B, n)."""
    found = norm.reshape(len(norm), -1) @ squares.reshape(len(squares), -1).T
    return np.asarray(np.sqrt(np.maximum(found, 0.0)))


def sizes_of_vectors(vectors: FloatArray, norm: FloatArray) -> FloatArray:
    """Compute the same of vectors (B, k, s) of each box: shape (B, k)."""
    return np.asarray(np.sqrt(np.maximum(((vectors @ norm) * vectors).sum(axis=-1), 0.0)))


def size_of_error(error: FloatArray, norm: FloatArray) -> FloatArray:
    """Bound the size of a vector whose entries are at most `error`."""
    return np.asarray(np.sqrt(np.einsum("ba,bac,bc->b", error, np.abs(norm), error)))


class Direction(NamedTuple):
    """The gradient of a number over B boxes, as a share of its size at the centre."""

    value: FloatArray  # (B, d)
    slopes: FloatArray  # (B, d, d): one row per coordinate z
    first: FloatArray  # (B,): size of the slopes over the box
    rest: FloatArray  # (B,)

    @classmethod
    def of(
        cls,
        number: LinearRatios,
        window: Window,
        centre: FloatArray,
        half: FloatArray,
        inverse: FloatArray,
    ) -> Direction:
        """Expand the gradient of a number, which is constant or linear in θ."""
        theta = window.origin + centre @ window.axes.T
        value = number.gradient(theta)
        steps = np.zeros((*centre.shape, theta.shape[1]))
        rounding = np.zeros(len(centre))
        if number.denominator is not None:
            a, b = number.numerator[0], number.denominator[0]
            linear = np.outer(b @ window.axes, a) - np.outer(a @ window.axes, b)
            steps = np.broadcast_to(linear, steps.shape)
            # the cancellation between the two summands
            large = np.abs(theta @ b)[:, None] * np.abs(a)
            large = large + np.abs(theta @ a + number.offset[0])[:, None] * np.abs(b)
            rounding = 1e-13 * size_of_error(large, inverse)
        size = np.maximum(sizes_of_vectors(value[:, None], inverse)[:, 0], 1e-150)
        first = (sizes_of_vectors(steps, inverse) * half).sum(axis=1)
        return cls(
            value / size[:, None], steps / size[:, None, None], first / size, rounding / size
        )

    def moves_of_metric(self, first: FloatArray, rest: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Bound the moves of I⁻¹ g gᵀ I⁻¹ by those of I⁻¹, to first order and the rest."""
        moves = self.first + self.rest
        rest = rest * (1 + moves) + first * moves + self.rest
        first = first + self.first
        return 2 * first, 2 * rest + (first + rest) ** 2


def metric_along(
    direction: Direction, inverse: FloatArray, slopes: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Metric b bᵀ of a focused statistic, b = I⁻¹ g, and its slopes.

    g is divided by its size at the centre, a number that all data sets share and that changes no
    comparison.
    """
    b = np.einsum("bac,bc->ba", inverse, direction.value)
    b_slopes = np.einsum("btac,bc->bta", slopes, direction.value)
    b_slopes += np.einsum("bac,btc->bta", inverse, direction.slopes)
    outer = np.einsum("bta,bc->btac", b_slopes, b)
    return np.einsum("ba,bc->bac", b, b), outer + np.swapaxes(outer, 2, 3)


def remainders(  # noqa: PLR0917 (six numbers of one formula)
    first: FloatArray,
    remainder: FloatArray,
    moved: FloatArray,
    bend: FloatArray,
    size: FloatArray,
    error: FloatArray,
) -> tuple[FloatArray, FloatArray]:
    """Bound what the first order leaves out, per size of w: `curvature` and `free_factor`.

    With M = M₀ + M₁ + M₂ (‖M₁‖ ≤ first, ‖M₂‖ ≤ remainder) and e = e₀ + e₁ + e₂ (‖e₀‖ = size,
    ‖e₁‖ ≤ moved, ‖e₂‖ ≤ bend), M e is known up to `left_out`, and its first order is at most
    first · size + moved. The error of rounding is relative to all of it.
    """
    left_out = first * (moved + bend) + remainder * (size + moved + bend) + bend
    per_size = 2 * (left_out + error * size)
    curvature = np.stack([remainder + error, per_size, np.zeros_like(size)], axis=-1)
    in_first = first * size + moved
    free_factor = np.stack([2 * (in_first + left_out), first + remainder], axis=-1)
    return curvature, free_factor
