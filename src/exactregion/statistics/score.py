"""The score statistic: Z_i = s_iᵀ I_θ⁻¹ s_i."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass

import numpy as np

from exactregion._typing import FloatArray
from exactregion.features import CandidateFeatures, single_thread
from exactregion.resampling import blocks
from exactregion.sample import Inputs
from exactregion.statistics.base import (
    Candidates,
    PreparedStatistic,
    Rule,
    Statistic,
    squared_norms,
)

__all__ = [
    "Certainties",
    "Score",
    "certainties",
    "information_of",
    "logit_gradient",
    "whitening_of",
]

THREADED_SIZE = 16
"""Information matrices above this size are decomposed with one thread, to the same last bit."""


@dataclass(frozen=True)
class Score(Statistic):
    """The score of a family, in the metric of its Fisher information.

    Z_i = s_iᵀ I_θ⁻¹ s_i with s_i = Σ_j ∂η_θ(x_j) (k_ij - t_j p_θ(x_j)), η the logit of p, k
    successes of t trials, and I_θ = Σ_j t_j p (1 - p) ∂η ∂ηᵀ. Where the information is singular
    its pseudo-inverse is used.

    A data set that contradicts a certainty of the candidate (a success where p = 0, a failure
    where p = 1) has Z = ∞: its likelihood is zero.
    """

    def prepare(self, inputs: Inputs, m: int) -> PreparedStatistic:
        """Remember the number of data sets: nothing else comes before θ."""
        return _PreparedScore(m)


@dataclass(frozen=True)
class _PreparedScore(PreparedStatistic):
    m: int

    def rule(self, candidates: Candidates) -> Rule:
        P, inputs = candidates.probabilities, candidates.inputs
        gradient = CandidateFeatures.rounded(logit_gradient(candidates), inputs, self.m)
        centre = gradient.centre(P, inputs)[:, :, None]
        W = whitening_of(gradient.values, P, inputs)
        contradicted = certainties(candidates, self.m)

        def values(points: Sequence[FloatArray]) -> FloatArray:
            Z = squared_norms(_apply(W, points[0] - centre))
            return contradicted.infinite_where(Z, points[1])

        return Rule((gradient, contradicted.features), values)


@dataclass(frozen=True, eq=False)
class Certainties:
    """Counts, in every data set, the outcomes that a candidate holds impossible."""

    features: CandidateFeatures
    successes: FloatArray

    def infinite_where(self, Z: FloatArray, points: FloatArray) -> FloatArray:
        """Put ∞ where a data set has an impossible outcome: its likelihood is zero."""
        return np.where(self.successes[:, None] + points[0] > 0, np.inf, Z)


def certainties(candidates: Candidates, m: int) -> Certainties:
    """Find where a candidate is certain, p = 0 or p = 1."""
    P, inputs = candidates.probabilities, candidates.inputs
    sign = np.where(P == 0, 1.0, np.where(P == 1, -1.0, 0.0))
    features = CandidateFeatures.rounded(sign[:, None, :], inputs, m)
    return Certainties(features, (inputs.trials * (P == 1)).sum(axis=-1).astype(np.float64))


def logit_gradient(candidates: Candidates) -> FloatArray:
    """∂η as (T, d, n); zero at a certainty, where the logit is infinite."""
    P = candidates.probabilities
    gradient = np.moveaxis(candidates.logit_gradient, -1, 1)
    usable = np.isfinite(gradient) & ((P > 0) & (P < 1))[:, None, :]
    return np.where(usable, gradient, 0.0)


def information_of(gradient: FloatArray, P: FloatArray, inputs: Inputs) -> FloatArray:
    """Fisher information Σ_j t_j p (1 - p) ∂η ∂ηᵀ: shape (T, d, d)."""
    information = np.zeros((len(P), gradient.shape[1], gradient.shape[1]))
    for rows in blocks(len(inputs)):
        weight = inputs.trials[rows] * P[:, rows] * (1 - P[:, rows])
        part = gradient[:, :, rows]
        for a in range(part.shape[1]):
            # a sum along contiguous rows has one order, a matrix product has many
            products = (weight * part[:, a])[:, None, :] * part[:, : a + 1]
            information[:, a, : a + 1] += products.sum(axis=-1)
    return np.tril(information) + np.tril(information, -1).transpose(0, 2, 1)


def whitening_of(gradient: FloatArray, P: FloatArray, inputs: Inputs) -> FloatArray:
    """W with WᵀW = I_θ⁺: shape (T, d, d).

    The information is scaled to a unit diagonal first, so that units of the parameters do not
    decide which directions count as singular.
    """
    information = information_of(gradient, P, inputs)
    size = np.sqrt(np.einsum("taa->ta", information))
    unit = np.where(size > 0, 1 / np.where(size > 0, size, 1.0), 0.0)
    with single_thread() if information.shape[1] > THREADED_SIZE else nullcontext():
        values, vectors = np.linalg.eigh(information * unit[:, :, None] * unit[:, None, :])
    singular = values <= 1e-12 * values.shape[1] * np.maximum(values[:, -1:], 0.0)
    weights = np.where(singular, 0.0, 1 / np.sqrt(np.where(singular, 1.0, values)))
    return np.asarray(weights[:, :, None] * vectors.transpose(0, 2, 1) * unit[:, None, :])


def _apply(W: FloatArray, scores: FloatArray) -> FloatArray:
    """W s for scores (d, T, m), in a written-out order."""
    whitened = np.zeros_like(scores)
    for a in range(len(scores)):
        for b in range(len(scores)):
            whitened[a] += W[:, a, b, None] * scores[b]
    return whitened
