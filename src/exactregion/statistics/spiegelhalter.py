"""Spiegelhalter's statistic: whether predictions are as bold as they should be."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from exactregion._typing import FloatArray, IntArray
from exactregion.data.sample import Inputs
from exactregion.features.grid import CandidateFeatures, grid_unit, on_grid, precision_of
from exactregion.statistics.base import Candidates, PreparedStatistic, Rule, Statistic, Term
from exactregion.statistics.measures import FromCentre
from exactregion.statistics.streamed import FromPoint, StreamRule, StreamTerm, Survey

__all__ = ["Spiegelhalter"]


@dataclass(frozen=True)
class Spiegelhalter(Statistic):
    """The excess of the Brier score over what it is expected to be, squared.

    Z_i = (Σ_j (1 - 2 p(x_j)) (k_ij - t_j p(x_j)))², k successes of t trials: the square of
    Spiegelhalter's z (1986) up to a factor that all data sets share. It sees over- and
    under-confidence best, and a shift of predictions around 1/2 not at all.
    """

    @property
    def collapses(self) -> bool:
        """Whether equal rows may be worked on as one row of counts: always."""
        return True

    def prepare(self, inputs: Inputs, m: int) -> PreparedStatistic:
        """Remember the number of data sets: nothing else comes before the candidate."""
        return _PreparedSpiegelhalter(m)

    def stream(self, survey: Survey, m: int) -> StreamRule:
        """Take 1 - 2p, which is never above 1."""
        boldness = _Boldness(grid_unit(np.ones(1), survey.extent, m), precision_of(survey.extent))
        return StreamRule((StreamTerm(boldness, lambda centre, _: FromPoint(centre)),))


@dataclass(frozen=True)
class _PreparedSpiegelhalter(PreparedStatistic):
    m: int

    def rule(self, candidates: Candidates) -> Rule:
        P, inputs = candidates.probabilities, candidates.inputs
        values = (1 - 2 * P)[:, None, :]
        largest = np.ones(values.shape[:2]) if inputs.extent.is_large else None
        boldness = CandidateFeatures.rounded(values, inputs, self.m, largest)
        return Rule((Term(boldness, FromCentre(boldness, P, inputs)),))


@dataclass(frozen=True, eq=False)
class _Boldness:
    unit: FloatArray
    precision: Any

    def features(self, X: FloatArray, p: FloatArray) -> FloatArray:
        values: FloatArray = on_grid((1 - 2 * p)[:, None], self.unit)
        return values.astype(self.precision, copy=False)

    def information(self, Phi: FloatArray, p: FloatArray, trials: IntArray) -> None:
        return None
