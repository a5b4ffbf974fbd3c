"""How far each point lies from the mean of the cloud: Algorithms I and II."""

from __future__ import annotations

from dataclasses import dataclass

from exactregion.features.grid import SharedFeatures
from exactregion.statistics.base import Candidates, PreparedStatistic, Rule, Term
from exactregion.statistics.measures import FromMean

__all__ = ["PreparedCloud"]


@dataclass(frozen=True, eq=False)
class PreparedCloud(PreparedStatistic):
    """Z_i = scale · ‖v_i - v̄‖².

    The paper's Σ_j ‖v_i - v_j‖² is m ‖v_i - v̄‖² plus a number that is the same for all i.
    """

    features: SharedFeatures
    scale: float
    m: int

    def rule(self, candidates: Candidates) -> Rule:
        """Measure distances from the mean, without rounding it."""
        return Rule((Term(self.features, FromMean(self.scale / self.m**2)),))
