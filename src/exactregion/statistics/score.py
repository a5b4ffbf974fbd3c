"""The score statistic: Z_i = s_iᵀ I_θ⁻¹ s_i."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import logit

from exactregion._typing import FloatArray
from exactregion.features.landmarks import InputSummary
from exactregion.statistics.base import Candidates, Statistic, Term
from exactregion.statistics.measures import Whitened

ALL_BUT_NONE = 1e-9
"""Less of the information on the square left than this share is rounding error of I⁻¹, whose
condition number may reach 1e12 (see `engine.information`): there is no curvature to see then."""


@dataclass(frozen=True)
class Score(Statistic, name="score"):
    """The score of a family, in the metric of its Fisher information.

    Z_i = s_iᵀ I_θ⁻¹ s_i with s_i = Σ_j ∂η_θ(x_j) (k_ij - t_j p_θ(x_j)), η the logit of p, k
    successes of t trials, and I_θ = Σ_j t_j p (1 - p) ∂η ∂ηᵀ. Directions without
    information count as having a trillionth of the largest, on a scale where parameters are alike.
    """

    needs_family = True

    def terms(self, inputs: InputSummary) -> Sequence[Term]:
        """Sum the gradient of the logit."""
        bound = powers_of_largest(inputs, degree=1)
        return [Term(gradient_columns, Whitened(), bound=bound)]


@dataclass(frozen=True)
class Curvature(Statistic, name="curvature"):
    """The score of (logit p)², apart from what an intercept and a slope explain, squared.

    Z_i = (e₃ᵀ I⁻¹ s_i)² with s_i = Σ_j (1, l_j, l_j²) (k_ij - t_j p_j), l = logit p, and I the
    information of the three, up to a factor that all data sets share. A model that lacks an
    interaction or a square, and is fitted as well as it can be, has a calibration curve that bends.
    """

    def terms(self, inputs: InputSummary) -> Sequence[Term]:
        """Sum 1, logit p and its square."""
        bound = powers_of_largest(inputs, degree=2)
        return [Term(_powers_of_logit, Whitened(_along_square), bound=bound)]


def gradient_columns(candidates: Candidates) -> FloatArray:
    """Return the gradient of the logit (T, n, d); a function with a name can be sent to workers."""
    return candidates.logit_gradient


def powers_of_largest(inputs: InputSummary, *, degree: int) -> FloatArray | None:
    """Bound 1, logit p, … by the largest logit, where rows come in chunks and it is known."""
    largest = inputs.largest_logit
    return None if largest is None else np.array([1.0, *(largest**k for k in range(1, degree + 1))])


def _powers_of_logit(candidates: Candidates) -> FloatArray:
    """Compute 1, logit p, (logit p)²: (T, n, 3); zero at a certainty, where logits are infinite."""
    p = candidates.probabilities
    usable = (p > 0) & (p < 1)
    with np.errstate(divide="ignore"):
        score = np.where(usable, logit(p), 0.0)
    return np.stack([usable * 1.0, score, score**2], axis=-1)


def _along_square(W: FloatArray, theta: FloatArray | None) -> FloatArray:
    """Find the direction I⁻¹ e₃ for WᵀW = I⁻¹, zero where l² has nothing of its own: (T, 1, 3)."""
    largest = np.abs(W).max(axis=(1, 2), keepdims=True)
    W = W / np.where(largest > 0, largest, 1.0)  # all but certain rows: its squares would overflow
    direction = np.einsum("ta,tab->tb", W[:, :, 2], W)
    size = np.abs(direction).max(axis=-1, keepdims=True)
    unit = direction / np.where(size > 0, size, 1.0)
    inverse = np.linalg.pinv(W)
    known = np.einsum("ta,ta->t", inverse[:, 2], inverse[:, 2])
    left = 1 / np.maximum(direction[:, 2] * known, 1.0)
    return np.where(left[:, None, None] > ALL_BUT_NONE, unit[:, None, :], 0.0)
