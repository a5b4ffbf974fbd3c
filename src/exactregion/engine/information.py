"""Fisher information Σ_j t_j p_j (1 - p_j) Φ_j Φ_jᵀ, and the metric WᵀW = I⁻¹ that it gives.

Rows that are levels of one outcome depend on each other: their information is the covariance
Σ_j Σ_c P(Y_j = c) a_c a_cᵀ of what each class adds up to (see `levels`).
"""

from __future__ import annotations

from contextlib import nullcontext
from functools import cache

import numpy as np

from exactregion._typing import FloatArray, IntArray
from exactregion.data.sample import Inputs
from exactregion.engine.levels import class_probabilities, covariance_of, values_of_classes
from exactregion.features.grid import sum_over_rows
from exactregion.features.threads import single_thread

__all__ = [
    "information_of",
    "information_of_block",
    "information_of_columns",
    "scale_for",
    "variance_of",
    "variance_per_level",
    "whitening_of",
]

SINGULAR = 1e-12
"""Share of the largest information that every direction has at least: rounding errors of sums and
of the eigenvalues are a few thousand times smaller."""

LARGEST_POWER = 1000
"""Gradients that vanish are enlarged by no more than this power of two: the largest double is
2¹⁰²⁴, and the smallest is 2⁻¹⁰⁷⁴."""

LARGEST_FACTOR = 2.0**1000
"""Where neither gradients nor certainties leave any information, a metric would overflow."""

THREADED_SIZE = 16
"""Information matrices above this size are decomposed with one thread: LAPACK would use several,
and the last bit would depend on their number."""


PRODUCTS = 2**17
"""Products that are made before they are summed: 1 MiB stays in the cache."""


def information_of(gradient: FloatArray, P: FloatArray, inputs: Inputs) -> FloatArray:
    """Sum the information over all rows for gradients (T, d, n): shape (T, d, d)."""
    levels = inputs.levels
    if levels > 1:
        values = values_of_classes(gradient, P, levels).reshape(*gradient.shape[:2], -1)
        return _weighted(values, class_probabilities(P, levels).reshape(len(P), -1))

    def of_block(rows: slice) -> FloatArray:
        return information_of_block(gradient[:, :, rows], P[:, rows], inputs.trials[rows])

    return sum_over_rows(len(inputs), of_block)


def information_of_block(gradient: FloatArray, P: FloatArray, trials: IntArray) -> FloatArray:
    """Sum the information over a block of rows for gradients (T, d, b): shape (T, d, d)."""
    return _weighted(gradient, trials * P * (1 - P))


def information_of_columns(
    Phi: FloatArray, scale: FloatArray, P: FloatArray, trials: IntArray
) -> FloatArray:
    """Do the same for columns (b, r) times `scale` (r,) as gradients of all, with the same bits."""
    from exactregion.engine.compiled import weighted_products  # Numba is slow to import

    (T, b), r = P.shape, len(scale)
    rows, columns = _pairs(r)
    information = np.empty((T, r, r))
    size = max(1, PRODUCTS // (len(rows) * b))
    products = np.empty((min(T, size), len(rows), b))
    for start in range(0, T, size):
        some = products[: min(size, T - start)]
        weighted_products(P[start : start + size], trials, Phi, scale, some)
        sums = some.sum(axis=-1)
        information[start : start + size, rows, columns] = sums
        information[start : start + size, columns, rows] = sums
    return information


@cache
def _pairs(r: int) -> tuple[IntArray, IntArray]:
    """Return a and c of all pairs c ≤ a < r."""
    return np.tril_indices(r)


def _weighted(gradient: FloatArray, weight: FloatArray) -> FloatArray:
    """Sum weights (T, b) times products of gradients (T, d, b): shape (T, d, d)."""
    T, d, _ = gradient.shape
    information = np.zeros((T, d, d))
    for a in range(d):
        # a sum along contiguous rows has one order, a matrix product has many
        products = (weight * gradient[:, a])[:, None, :] * gradient[:, : a + 1]
        information[:, a, : a + 1] = products.sum(axis=-1)
        information[:, :a, a] = information[:, a, :a]
    return information


def variance_of(squared_lengths: FloatArray, P: FloatArray, trials: IntArray) -> FloatArray:
    """Σ_j t_j p_j (1 - p_j) ‖Φ_j‖² over a block: lengths (b,) or (T, b) give shape (T,)."""
    return np.asarray((trials * P * (1 - P) * squared_lengths).sum(axis=-1))


def variance_per_level(grams: FloatArray, P: FloatArray, levels: int) -> FloatArray:
    """E‖Σ_k Φ_k (1{Y ≥ k} - q_k)‖² over all rows, for Φ_k·Φ_l (1 or T, n, L, L): shape (T,)."""
    products = covariance_of(P, levels) * grams
    return np.asarray(products.reshape(len(P), -1).sum(axis=-1))


def scale_for(largest: FloatArray) -> FloatArray:
    """Choose powers of two by which squares of gradients neither overflow nor vanish."""
    _, exponent = np.frexp(largest.astype(np.float64))
    return np.asarray(np.ldexp(1.0, np.minimum(-exponent, LARGEST_POWER)))


def whitening_of(information: FloatArray, scale: FloatArray) -> FloatArray:
    """W with WᵀW = I⁻¹, for the information (T, d, d) of gradients times `scale` (T, d).

    The information is brought to a unit diagonal first, so that units of the parameters do not
    decide which directions count as singular. Those get a floor instead of being dropped: outcomes
    that are all but impossible show in these very directions, and must not be lost.
    """
    unit = _reciprocal(np.sqrt(np.einsum("taa->ta", information)))
    with single_thread() if information.shape[1] > THREADED_SIZE else nullcontext():
        values, vectors = np.linalg.eigh(information * unit[:, :, None] * unit[:, None, :])
    floor = SINGULAR * values.shape[1] * values[:, -1:]
    weights = _reciprocal(np.sqrt(np.where(values[:, -1:] > 0, np.maximum(values, floor), 0.0)))
    with np.errstate(over="ignore"):
        size = np.minimum(unit * scale, LARGEST_FACTOR)
    return np.asarray(weights[:, :, None] * vectors.transpose(0, 2, 1) * size[:, None, :])


def _reciprocal(values: FloatArray) -> FloatArray:
    """Return 1 / x where x > 0, else 0."""
    above = values > 0
    if above.all():
        return np.asarray(1 / values)
    return np.where(above, 1 / np.where(above, values, 1.0), 0.0)
