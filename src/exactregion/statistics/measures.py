"""How far points lie from the centre of their cloud: the numbers that statistics are made of.

Sums are written out coordinate after coordinate, so that they are the same to the last bit for
every data set, batch and engine.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from exactregion._typing import FloatArray


def squared_norms(points: FloatArray) -> FloatArray:
    """‖·‖² of points (r, T, m), coordinate after coordinate: shape (T, m)."""
    total = np.zeros(points.shape[1:])
    for coordinate in points:
        total += coordinate * coordinate
    return total


@dataclass(frozen=True)
class FromCentre:
    """scale · ‖v_i - c‖², the distance from the centre c = Φᵀ(t p) that a candidate expects."""

    scale: float = 1.0

    def __call__(self, points: FloatArray, centre: FloatArray, W: FloatArray) -> FloatArray:
        """Measure points (r, T, m) with centres (r, T): shape (T, m)."""
        return squared_norms(points - centre[:, :, None]) * self.scale

    def expectation(self, variance: FloatArray, m: int) -> FloatArray:
        """E_θ of the measure, for Σ_j t_j p_j (1 - p_j) ‖Φ_j‖² of each candidate: shape (T,)."""
        return self.scale * variance


@dataclass(frozen=True)
class FromMean:
    """scale · ‖v_i - v̄‖², the distance from the mean of the m points.

    The paper's Σ_j ‖v_i - v_j‖² is m ‖v_i - v̄‖² plus a number that is the same for all i. The mean
    is not rounded: what is squared is m v_i - Σ_j v_j.
    """

    scale: float = 1.0

    def __call__(self, points: FloatArray, centre: FloatArray, W: FloatArray) -> FloatArray:
        """Measure points (r, T, m): shape (T, m)."""
        m = points.shape[-1]
        deviation = m * points - points.sum(axis=-1, keepdims=True)
        return np.asarray(squared_norms(deviation) * (self.scale / m**2))

    def expectation(self, variance: FloatArray, m: int) -> FloatArray:
        """E_θ of the measure: the mean of m points takes 1/m of the variance away."""
        return self.scale * (1 - 1 / m) * variance


@dataclass(frozen=True)
class Whitened:
    """‖W (v_i - c)‖² with WᵀW = I⁻¹, the inverse of the information Σ_j t_j p_j (1 - p_j) Φ_j Φ_jᵀ.

    Parameters
    ----------
    project : callable, optional
        W (T, r, r) and θ (T, d), or None where there is no θ, to the rows (T, s, r) that are used
        in place of W: to look in some directions only.
    """

    project: Callable[[FloatArray, FloatArray | None], FloatArray] | None = None

    def __call__(self, points: FloatArray, centre: FloatArray, W: FloatArray) -> FloatArray:
        """Measure points (r, T, m) with centres (r, T) and W (T, s, r): shape (T, m)."""
        deviation = points - centre[:, :, None]
        whitened = np.zeros((W.shape[1], *deviation.shape[1:]))
        for a in range(len(whitened)):
            for b in range(len(deviation)):
                whitened[a] += W[:, a, b, None] * deviation[b]
        return squared_norms(whitened)


@dataclass(frozen=True, eq=False)
class Largest:
    """max_k (a_k + w_k · v_i), the largest of K linear functions of a point.

    Parameters
    ----------
    rows : callable
        Candidates to (T, K, r + 1): the r coefficients w_k of each function, then a_k. They may
        depend on inputs and candidates, never on outcomes.
    """

    rows: Callable[[Any], FloatArray]


@dataclass(frozen=True, eq=False)
class OfLabels:
    """Any function of the data sets themselves, instead of points.

    Parameters
    ----------
    function : callable (labels (m, n), probabilities (n,), X) -> Z (m,)
        Given one candidate at a time, with rows in the order of the user.
    """

    function: Callable[..., Any]


Measure: TypeAlias = FromCentre | FromMean | Whitened | Largest | OfLabels
