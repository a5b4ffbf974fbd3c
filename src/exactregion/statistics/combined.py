"""Weighted sums of statistics, each brought to mean one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from exactregion._typing import FloatArray
from exactregion.errors import InvalidTypeError, InvalidValueError
from exactregion.sample import Inputs
from exactregion.statistics.base import Candidates, PreparedStatistic, Rule, Statistic
from exactregion.statistics.discrepancy import Discrepancy
from exactregion.statistics.score import Score

__all__ = ["Combined"]


class Combined(Statistic):
    """Σ_k weight_k · Z⁽ᵏ⁾ / mean(Z⁽ᵏ⁾), the means over the m data sets.

    By default score + 0.3 · discrepancy: near the power of the score, and consistent against every
    false f.

    Parameters
    ----------
    *statistics : Statistic
        The parts; ``Score(), Discrepancy()`` by default.
    weights : sequence of float, optional
        A positive weight for each part; (1, 0.3) for the default parts, else equal.
    """

    def __init__(self, *statistics: Statistic, weights: Sequence[float] | None = None) -> None:
        for statistic in statistics:
            if not isinstance(statistic, Statistic):
                raise InvalidTypeError(
                    "The parts of Combined must be statistics, such as Score(). "
                    f"Got {statistic!r} instead."
                )
        if weights is None:
            weights = (1.0,) * len(statistics) if statistics else (1.0, 0.3)
        self.statistics = statistics or (Score(), Discrepancy())
        try:
            self.weights = tuple(float(weight) for weight in weights)
        except (TypeError, ValueError):
            self.weights = ()
        if len(self.weights) != len(self.statistics) or not all(
            0 < w < np.inf for w in self.weights
        ):
            raise InvalidValueError(
                "The 'weights' parameter of Combined must have a positive number for each of the "
                f"{len(self.statistics)} parts. Got {weights!r} instead."
            )

    def __repr__(self) -> str:
        """Show parts and weights."""
        parts = ", ".join(repr(statistic) for statistic in self.statistics)
        return f"Combined({parts}, weights={self.weights})"

    def prepare(self, inputs: Inputs, m: int) -> PreparedStatistic:
        """Prepare each part."""
        parts = tuple(statistic.prepare(inputs, m) for statistic in self.statistics)
        return _PreparedCombined(parts, self.weights)


@dataclass(frozen=True, eq=False)
class _PreparedCombined(PreparedStatistic):
    parts: tuple[PreparedStatistic, ...]
    weights: tuple[float, ...]

    def rule(self, candidates: Candidates) -> Rule:
        rules = [part.rule(candidates) for part in self.parts]
        projections = tuple(projection for rule in rules for projection in rule.projections)

        def values(points: Sequence[FloatArray]) -> FloatArray:
            remaining = iter(points)
            total = np.zeros(points[0].shape[1:])
            for rule, weight in zip(rules, self.weights, strict=True):
                own = [next(remaining) for _ in rule.projections]
                total += weight * _to_unit_mean(rule.values(own))
            return total

        return Rule(projections, values)


def _to_unit_mean(Z: FloatArray) -> FloatArray:
    """Z / mean(Z) over the finite ones of each row; 0/0 is 0.

    Sorted before they are added, so that the mean does not depend on the order of the data sets.
    """
    finite = np.sort(np.where(np.isfinite(Z), Z, 0.0), axis=-1)
    mean = finite.sum(axis=-1, keepdims=True) / np.maximum(np.isfinite(Z).sum(-1, keepdims=True), 1)
    return np.where(Z == 0, 0.0, Z / np.where(mean > 0, mean, 1.0))
