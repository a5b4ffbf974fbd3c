"""The score statistic: Z_i = s_iᵀ I_θ⁻¹ s_i."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import dataclass

import numpy as np

from exactregion._typing import FloatArray
from exactregion.features import CandidateFeatures, single_thread
from exactregion.resampling import blocks
from exactregion.sample import Inputs
from exactregion.statistics.base import Candidates, PreparedStatistic, Rule, Statistic, Term
from exactregion.statistics.measures import Whitened

__all__ = ["Score", "information_of", "logit_gradient", "whitening_of"]

SINGULAR = 1e-12
"""Share of the largest information that every direction has at least."""

THREADED_SIZE = 16
"""Information matrices above this size are decomposed with one thread, to the same last bit."""


@dataclass(frozen=True)
class Score(Statistic):
    """The score of a family, in the metric of its Fisher information.

    Z_i = s_iᵀ I_θ⁻¹ s_i with s_i = Σ_j ∂η_θ(x_j) (k_ij - t_j p_θ(x_j)), η the logit of p, k
    successes of t trials, and I_θ = Σ_j t_j p (1 - p) ∂η ∂ηᵀ. Directions without
    information count as having a trillionth of the largest, on a scale where parameters are alike.
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
        W = whitening_of(gradient.values, P, inputs)
        return Rule((Term(gradient, Whitened(gradient.centre(P, inputs), W)),))


def logit_gradient(candidates: Candidates) -> FloatArray:
    """∂η as (T, d, n); zero at a certainty, where the logit is infinite."""
    P = candidates.probabilities
    gradient = np.ascontiguousarray(np.moveaxis(candidates.logit_gradient, -1, 1))
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
    """W with WᵀW = I_θ⁻¹: shape (T, d, d).

    The information is scaled to a unit diagonal first, so that units of the parameters do not
    decide which directions count as singular. Those get a floor instead of being dropped: outcomes
    that are all but impossible speak in these very directions, and must not be lost.
    """
    _, exponent = np.frexp(np.abs(gradient).max(axis=-1))
    power = np.ldexp(1.0, -exponent)  # squares of gradients must neither overflow nor vanish
    information = information_of(gradient * power[:, :, None], P, inputs)
    size = np.sqrt(np.einsum("taa->ta", information))
    unit = np.where(size > 0, 1 / np.where(size > 0, size, 1.0), 0.0)
    with single_thread() if information.shape[1] > THREADED_SIZE else nullcontext():
        values, vectors = np.linalg.eigh(information * unit[:, :, None] * unit[:, None, :])
    floor = SINGULAR * values.shape[1] * values[:, -1:]
    known = values[:, -1:] > 0
    weights = np.where(known, 1 / np.sqrt(np.where(known, np.maximum(values, floor), 1.0)), 0.0)
    return np.asarray(weights[:, :, None] * vectors.transpose(0, 2, 1) * (unit * power)[:, None, :])
