"""Whether the calibration curve bends: what neither a shift nor a stretch of the logit explains."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from exactregion._typing import FloatArray
from exactregion.data.sample import Inputs
from exactregion.features.grid import CandidateFeatures
from exactregion.statistics.base import Candidates, PreparedStatistic, Rule, Statistic, Term
from exactregion.statistics.measures import Whitened
from exactregion.statistics.score import PowersOfLogit, powers_of_logit, whitening_of
from exactregion.statistics.streamed import StreamRule, StreamTerm, Survey

__all__ = ["Curvature"]

ALL_BUT_NONE = 1e-9
"""Less of the information on the square left than this share, and there is no curvature to see."""


@dataclass(frozen=True)
class Curvature(Statistic):
    """The score of (logit p)², apart from what a shift and a stretch of the logit explain, squared.

    Z_i = (e₃ᵀ I⁻¹ s_i)² with s_i = Σ_j (1, l_j, l_j²) (k_ij - t_j p_j), l = logit p, and I the
    information of the three, up to a factor that all data sets share. A model that lacks an
    interaction or a square, and is fitted as well as it can be, has a calibration curve that bends.
    """

    @property
    def collapses(self) -> bool:
        """Whether equal rows may be worked on as one row of counts: always."""
        return True

    def prepare(self, inputs: Inputs, m: int) -> PreparedStatistic:
        """Remember the number of data sets: nothing else comes before the candidate."""
        return _PreparedCurvature(m)

    def stream(self, survey: Survey, m: int) -> StreamRule | None:
        """Take 1, logit p and its square, where a first look told how large they are."""
        if survey.reach is None:
            return None
        gradient = PowersOfLogit.of(survey, m, degree=2)

        def measure(centre: FloatArray, information: FloatArray | None) -> Whitened:
            return Whitened(centre, _along_square(gradient.whitening(information)))

        return StreamRule((StreamTerm(gradient, measure),))


@dataclass(frozen=True)
class _PreparedCurvature(PreparedStatistic):
    m: int

    def rule(self, candidates: Candidates) -> Rule:
        P, inputs = candidates.probabilities, candidates.inputs
        powers = np.ascontiguousarray(np.moveaxis(powers_of_logit(P, 2), -1, 1))
        gradient = CandidateFeatures.rounded(powers, inputs, self.m)
        along = _along_square(whitening_of(gradient.values, P, inputs))
        return Rule((Term(gradient, Whitened(gradient.centre(P, inputs), along)),))


def _along_square(W: FloatArray) -> FloatArray:
    """Find the direction I⁻¹ e₃ for WᵀW = I⁻¹, zero where l² says nothing of its own: (T, 1, 3)."""
    largest = np.abs(W).max(axis=(1, 2), keepdims=True)
    W = W / np.where(largest > 0, largest, 1.0)  # all but certain rows: its squares would overflow
    direction = np.einsum("ta,tab->tb", W[:, :, 2], W)
    size = np.abs(direction).max(axis=-1, keepdims=True)
    unit = direction / np.where(size > 0, size, 1.0)
    inverse = np.linalg.pinv(W)
    known = np.einsum("ta,ta->t", inverse[:, 2], inverse[:, 2])
    left = 1 / np.maximum(direction[:, 2] * known, 1.0)
    return np.where(left[:, None, None] > ALL_BUT_NONE, unit[:, None, :], 0.0)
