"""Regions of (p, λ) to compare with: asymptotic (likelihood ratio) and conservative (two stripes).

The stripes need more than the other regions do: that x | y is Laplace, and not only that P(Y=+1|x)
is what two Laplace densities make it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from exactregion._typing import BoolArray, FloatArray, IntArray
from exactregion.data.sample import Sample
from exactregion.paper.setting import CONFIDENCE_LEVEL, LOCATIONS, MODEL, Data
from exactregion.ranking import AcceptedRanks
from exactregion.region.grid import Grid, evaluate_grid
from exactregion.region.window import RankFunction, information_at, likely_parameters

__all__ = ["LikelihoodRatio", "Stripes", "two_stripes"]

THRESHOLD = -2 * math.log(1 - CONFIDENCE_LEVEL)
"""Quantile of χ² with two degrees of freedom."""

CHUNK = 2**21
"""Probabilities computed at once: 16 MB, whatever the number of θ."""


@dataclass(frozen=True, eq=False)
class LikelihoodRatio:
    """{θ : 2 (ℓ(θ̂) - ℓ(θ)) ≤ χ²₂ quantile}, ℓ the log-likelihood of the labels given the inputs.

    Its coverage tends to the level as n grows, and is not exact at any n.
    """

    data: Data

    @cached_property
    def estimate(self) -> FloatArray:
        """Maximum likelihood, θ̂."""
        from scipy.optimize import minimize  # slow to import

        x, y, n = self.data.x, self.data.y, len(self.data.y)

        def loss(theta: FloatArray) -> tuple[float, FloatArray]:
            residuals = (y > 0) - MODEL.probabilities(theta, x)
            score = residuals @ MODEL.logit_gradient(theta, x)
            return -self._log_likelihood(theta[None])[0] / n, -score / n

        found = minimize(
            loss,
            likely_parameters(MODEL, Sample.from_data(x, y)),
            jac=True,
            bounds=MODEL.bounds,
            options={"ftol": 1e-15, "gtol": 1e-9},
        )
        return np.asarray(found.x, dtype=np.float64)

    @property
    def information(self) -> FloatArray:
        """Fisher information at the maximum, shape (2, 2)."""
        return information_at(MODEL, Sample.from_data(self.data.x, self.data.y), self.estimate)

    def contains(self, theta: npt.ArrayLike) -> BoolArray:
        """Return which θ (T, 2) are inside."""
        log_likelihood = self._log_likelihood(np.asarray(theta, dtype=np.float64))
        maximum = self._log_likelihood(self.estimate[None])
        return np.asarray(2 * (maximum - log_likelihood) <= THRESHOLD)

    def grid(self, box: Any, *, levels: int | None = None) -> Grid:
        """Put the region on a grid as `ConfidenceRegion.grid` does; members have rank 1 of 2."""

        def ranks(theta: FloatArray) -> tuple[IntArray, FloatArray]:
            outside = ~self.contains(theta)
            return 1 + outside, outside.astype(np.float64)

        function = RankFunction(ranks, np.array(MODEL.bounds, dtype=np.float64))
        return evaluate_grid(function, AcceptedRanks(2, 1, 1), np.asarray(box), levels=levels)

    def _log_likelihood(self, theta: FloatArray) -> FloatArray:
        x, y, _ = self.data
        size = max(1, CHUNK // len(y))
        found = np.empty(len(theta))
        for start in range(0, len(theta), size):
            P = MODEL.probabilities(theta[start : start + size], x)
            with np.errstate(divide="ignore"):
                found[start : start + size] = np.log(np.where(y > 0, P, 1 - P)).sum(axis=-1)
        return found


@dataclass(frozen=True)
class Stripes:
    """{p in an interval} ∩ {λ in an interval}, a rectangle; λ may be without an upper end."""

    p: tuple[float, float]
    scale: tuple[float, float]

    @property
    def area(self) -> float:
        """Area of the rectangle."""
        return (self.p[1] - self.p[0]) * (self.scale[1] - self.scale[0])

    def contains(self, theta: npt.ArrayLike) -> BoolArray:
        """Return which of θ = (p, λ), shape (2,) or (T, 2), are inside."""
        low, high = np.transpose([self.p, self.scale])
        values = np.asarray(theta, dtype=np.float64)
        return np.asarray(((low <= values) & (values <= high)).all(axis=-1))


def two_stripes(data: Data) -> Stripes:
    """Bound p by Hoeffding and λ by Chebyshev, each at level 1 - α/2: together at least 1 - α.

    Labels are in [0, 1] when coded so, and Hoeffding's inequality gives
    |p̂ - p| ≤ √(log(2/δ) / 2n) with probability at least 1 - δ. The residuals r = x - μ_y are
    Laplace(0, λ): E r² = 2λ² and Var r² = 24λ⁴ - 4λ⁴ = 20λ⁴, so that for the variance
    v = Σ r²/n Chebyshev's inequality gives |v/λ² - 2| ≤ c = √(20 / nδ) with probability at least
    1 - δ, and v / (2 + c) ≤ λ² ≤ v / (2 - c), without an upper end if c ≥ 2. Here δ = α/2, and
    the union bound does the rest, at every n.
    """
    n, delta = len(data.y), (1 - CONFIDENCE_LEVEL) / 2
    share = float(np.mean(data.y > 0))
    margin = math.sqrt(math.log(2 / delta) / (2 * n))
    variance = float(np.mean((data.x - np.where(data.y > 0, *LOCATIONS)) ** 2))
    c = math.sqrt(20 / (n * delta))
    upper = math.sqrt(variance / (2 - c)) if c < 2 else math.inf
    return Stripes(
        p=(max(0.0, share - margin), min(1.0, share + margin)),
        scale=(math.sqrt(variance / (2 + c)), upper),
    )
