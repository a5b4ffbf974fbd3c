"""Spiegelhalter's statistic: whether predictions are as bold as they should be."""

from __future__ import annotations

from dataclasses import dataclass

from exactregion.features import CandidateFeatures
from exactregion.sample import Inputs
from exactregion.statistics.base import Candidates, PreparedStatistic, Rule, Statistic, Term
from exactregion.statistics.measures import FromCentre

__all__ = ["Spiegelhalter"]


@dataclass(frozen=True)
class Spiegelhalter(Statistic):
    """The excess of the Brier score over what it is expected to be, squared.

    Z_i = (Σ_j (1 - 2 p(x_j)) (k_ij - t_j p(x_j)))², k successes of t trials: the square of
    Spiegelhalter's z (1986) up to a factor that all data sets share. It sees over- and
    under-confidence best, and a shift of predictions around 1/2 not at all.
    """

    def prepare(self, inputs: Inputs, m: int) -> PreparedStatistic:
        """Remember the number of data sets: nothing else comes before the candidate."""
        return _PreparedSpiegelhalter(m)


@dataclass(frozen=True)
class _PreparedSpiegelhalter(PreparedStatistic):
    m: int

    def rule(self, candidates: Candidates) -> Rule:
        P, inputs = candidates.probabilities, candidates.inputs
        boldness = CandidateFeatures.rounded((1 - 2 * P)[:, None, :], inputs, self.m)
        return Rule((Term(boldness, FromCentre(boldness, P, inputs)),))
