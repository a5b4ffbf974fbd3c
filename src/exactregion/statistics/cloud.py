"""How far each point lies from the mean of the cloud: Algorithms I and II."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from exactregion._typing import FloatArray
from exactregion.features import SharedFeatures
from exactregion.statistics.base import (
    Candidates,
    PreparedStatistic,
    Rule,
    squared_norms,
    to_mean,
)

__all__ = ["PreparedCloud"]


@dataclass(frozen=True, eq=False)
class PreparedCloud(PreparedStatistic):
    """Z_i = scale · ‖v_i - v̄‖².

    The paper's Σ_j ‖v_i - v_j‖² is m ‖v_i - v̄‖² plus a number that is the same for all i.
    """

    features: SharedFeatures
    scale: float

    def rule(self, candidates: Candidates) -> Rule:
        """Measure distances from the mean, without rounding it."""

        def values(points: Sequence[FloatArray]) -> FloatArray:
            m = int(points[0].shape[-1])
            return squared_norms(to_mean(points[0])) * (self.scale / m**2)

        return Rule((self.features,), values)
