"""The one-degree score statistic of a functional g(θ): what a focused interval ranks by."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from exactregion._typing import FloatArray
from exactregion.data.sample import Inputs
from exactregion.features.grid import CandidateFeatures
from exactregion.statistics.base import Candidates, PreparedStatistic, Rule, Statistic, Term
from exactregion.statistics.measures import FromCentre, Whitened
from exactregion.statistics.score import logit_gradient, whitening_of

__all__ = ["Focused"]


@dataclass(frozen=True)
class Focused(Statistic):
    """The score in the direction that matters for one functional of θ.

    Z_i = (∇gᵀ I_θ⁻¹ s_i)² / (∇gᵀ I_θ⁻¹ ∇g), the efficient score of g with all other directions
    profiled out, as in a Wald interval, but ranked exactly.

    Parameters
    ----------
    gradient : callable
        θ of shape (T, d) to ∇g of shape (T, d).
    """

    gradient: Callable[[FloatArray], FloatArray]

    def prepare(self, inputs: Inputs, m: int) -> PreparedStatistic:
        """Remember the gradient: nothing else comes before θ."""
        return _PreparedFocused(self.gradient, m)


@dataclass(frozen=True)
class _PreparedFocused(PreparedStatistic):
    gradient: Callable[[FloatArray], FloatArray]
    m: int

    def rule(self, candidates: Candidates) -> Rule:
        P, inputs = candidates.probabilities, candidates.inputs
        in_theta = logit_gradient(candidates)
        W = whitening_of(in_theta, P, inputs)
        target = _unit(np.einsum("tab,tb->ta", W, _unit(self.gradient(candidates.family_theta))))
        weights = _unit(np.einsum("ta,tab->tb", target, W))
        if candidates.has_constant_gradient:
            # the points of the score do: engines have them already
            gradient = CandidateFeatures.rounded(in_theta, inputs, self.m)
            along = Whitened(gradient.centre(P, inputs), weights[:, None, :])
            return Rule((Term(gradient, along),))
        efficient = np.zeros_like(P)
        for coefficient, column in zip(weights.T, np.moveaxis(in_theta, 1, 0), strict=True):
            efficient += coefficient[:, None] * column
        feature = CandidateFeatures.rounded(efficient[:, None, :], inputs, self.m)
        return Rule((Term(feature, FromCentre(feature, P, inputs)),))


def _unit(vectors: FloatArray) -> FloatArray:
    """Bring each row to a largest entry of one; its length changes no rank."""
    size = np.abs(vectors).max(axis=-1, keepdims=True)
    return np.asarray(vectors / np.where(size > 0, size, 1.0))
