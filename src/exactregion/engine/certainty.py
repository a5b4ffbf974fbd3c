"""Outcomes that a candidate holds impossible: a success where p = 0, a failure where p = 1."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from exactregion._typing import FloatArray
from exactregion.features.grid import CandidateFeatures
from exactregion.statistics.base import Candidates

__all__ = ["Certainties"]


@dataclass(frozen=True, eq=False)
class Certainties:
    """Counts the impossible outcomes of every data set; their likelihood is zero.

    An alternative never has one, since it is drawn from the candidate. If the original has one, the
    candidate cannot be true: Z = ∞ ranks it last, whatever the statistic sees.
    """

    features: CandidateFeatures
    certain_successes: FloatArray

    @classmethod
    def of(cls, candidates: Candidates, m: int) -> Certainties | None:
        """Find where candidates are certain; None where they never are."""
        P, inputs = candidates.probabilities, candidates.inputs
        if P.min() > 0 and P.max() < 1:
            return None
        sign = (P == 0) * 1.0 - (P == 1) * 1.0
        features = CandidateFeatures.rounded(sign[:, None, :], inputs, m)
        return cls(features, (inputs.trials * (P == 1)).sum(axis=-1).astype(np.float64))

    def infinite_where_contradicted(self, Z: FloatArray, points: FloatArray) -> FloatArray:
        """Put ∞ where a data set has an impossible outcome; points are (1, T, m)."""
        return np.where(self.certain_successes[:, None] + points[0] > 0, np.inf, Z)
