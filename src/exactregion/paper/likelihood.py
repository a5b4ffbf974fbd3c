"""The likelihood-ratio χ² region: what asymptotics offer, as a yardstick."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy.special import gammaincinv

from exactregion._typing import BoolArray, FloatArray, IntArray
from exactregion.data.sample import Sample
from exactregion.models import Model
from exactregion.ranking import AcceptedRanks
from exactregion.region.grid import Grid, full_grid, refined_grid
from exactregion.region.window import RankFunction, information_at, likely_parameters

__all__ = ["LikelihoodRatio"]

CHUNK = 2**21
"""Probabilities that are computed at once."""


@dataclass(frozen=True, eq=False)
class LikelihoodRatio:
    """{θ : 2 (ℓ(θ̂) - ℓ(θ)) ≤ χ²_d quantile}, ℓ the log-likelihood of the labels given the inputs.

    Its coverage tends to the level as n grows, and is not exact at any n.

    Parameters
    ----------
    model : Model
        The family.
    x : ndarray of shape (n,)
        Inputs.
    y : ndarray of shape (n,)
        Labels -1/+1.
    confidence_level : float
        The asymptotic coverage.

    Examples
    --------
    >>> from exactregion.paper.setting import draw_data
    >>> from exactregion.models import LaplaceMixture
    >>> data = draw_data(seed=0)
    >>> region = LikelihoodRatio(LaplaceMixture(), data.x, data.y)
    >>> region.contains(np.array([[0.5, 1.0], [0.5, 2.0]]))
    array([ True, False])
    """

    model: Model
    x: FloatArray
    y: IntArray
    confidence_level: float = 0.9

    @property
    def threshold(self) -> float:
        """Quantile of χ² with as many degrees of freedom as parameters."""
        half = len(self.model.parameter_names) / 2
        return 2 * float(gammaincinv(half, self.confidence_level))

    @cached_property
    def estimate(self) -> FloatArray:
        """Maximum likelihood."""
        from scipy.optimize import minimize  # slow to import

        scale = len(self.y)

        def loss(theta: FloatArray) -> tuple[float, FloatArray]:
            return -self._log_likelihood(theta[None])[0] / scale, -self._score(theta) / scale

        start = likely_parameters(self.model, self._sample)
        found = minimize(
            loss,
            start,
            jac=True,
            bounds=self.model.bounds,
            method="L-BFGS-B",
            options={"ftol": 1e-15, "gtol": 1e-9},
        )
        return np.asarray(found.x, dtype=np.float64)

    @property
    def information(self) -> FloatArray:
        """Fisher information at the maximum, shape (d, d)."""
        return information_at(self.model, self._sample, self.estimate)

    @property
    def ellipse_area(self) -> float:
        """Area of Wald's ellipse for two parameters, π χ² / √det I(θ̂)."""
        return math.pi * self.threshold / math.sqrt(float(np.linalg.det(self.information)))

    def contains(self, theta: FloatArray) -> BoolArray:
        """Say which θ (T, d) are inside."""
        deviance = 2 * (self._maximum - self._log_likelihood(theta))
        return np.asarray(deviance <= self.threshold)

    def grid(self, box: Any, *, points: int | None = None, levels: int | None = None) -> Grid:
        """Put the region on a grid, as `ConfidenceRegion.grid` does.

        Members have rank 1, all others rank 2.
        """
        ranks = RankFunction(self._judge, np.array(self.model.bounds, dtype=np.float64))
        accepted, ends = AcceptedRanks(2, 1, 1), np.asarray(box, dtype=np.float64)
        if points is not None:
            return full_grid(ranks, accepted, ends, points)
        return refined_grid(ranks, accepted, ends, levels=levels)

    @cached_property
    def _sample(self) -> Sample:
        return Sample.from_data(self.x, self.y)

    @cached_property
    def _maximum(self) -> float:
        return float(self._log_likelihood(self.estimate[None])[0])

    def _judge(self, theta: FloatArray) -> tuple[IntArray, FloatArray]:
        inside = self.contains(theta)
        return np.where(inside, 1, 2), np.where(inside, 0.0, 1.0)

    def _log_likelihood(self, theta: FloatArray) -> FloatArray:
        size = max(1, CHUNK // len(self.y))
        parts = [self._part(theta[start : start + size]) for start in range(0, len(theta), size)]
        return np.concatenate(parts)

    def _part(self, theta: FloatArray) -> FloatArray:
        P = self.model.probabilities(theta, self.x)
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(np.where(self.y > 0, P, 1 - P)).sum(axis=-1))

    def _score(self, theta: FloatArray) -> FloatArray:
        residuals = (self.y > 0) - self.model.probabilities(theta, self.x)
        return np.asarray(residuals @ self.model.logit_gradient(theta, self.x))
