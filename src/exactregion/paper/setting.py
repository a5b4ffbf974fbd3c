"""The setting of the paper's experiment: its data, its family, and the regions compared.

Beside the regions of the statistics these are an asymptotic one (likelihood ratio) and a
conservative one (two stripes). The stripes need more than the other regions do: that x | y is
Laplace, and not only that P(Y=+1|x) is what two Laplace densities make it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from exactregion import statistics
from exactregion._typing import BoolArray, FloatArray, IntArray
from exactregion.data.sample import Sample
from exactregion.models import LaplaceMixture
from exactregion.ranking import AcceptedRanks
from exactregion.region import ConfidenceRegion
from exactregion.region.grid import Grid, evaluate_grid
from exactregion.region.window import (
    RankFunction,
    information_at,
    likely_parameters,
    maximum_likelihood,
)

LOCATIONS = (1.0, -1.0)
MODEL = LaplaceMixture(locations=LOCATIONS)
TRUTH = (0.5, 1.0)
"""True (p, λ): P(Y=+1), and the scale of both Laplace densities."""

N_ROWS = 500
N_RESAMPLES = 49
CONFIDENCE_LEVEL = 0.9

BANDWIDTH = 0.5
"""σ of every Gaussian kernel, in the units of x."""

DOMAIN = (-3.0, 3.0)
"""Where Algorithm I compares its estimates of f, with the uniform measure: 92 % of the inputs. On
their whole range the gaps between the outermost ones would dominate the integral. The paper assumes
a compact domain and names none; Laplace inputs have no compact support."""

BOX = ((0.3, 0.7), (0.6, 1.6))
"""(p, λ) of the first grids; widened until every region is enclosed."""

TITLES = {
    "I_knn": "I, nearest neighbours",
    "I_gaussian": "I, Gaussian",
    "II_gaussian": "II, Gaussian",
    "III_gaussian": "III, Gaussian",
    "score": "Score",
    "combined": "Combined",
    "likelihood_ratio": "Likelihood ratio",
    "stripes": "Two stripes",
}
"""The regions, in the order of tables and pictures."""


class Data(NamedTuple):
    """Inputs x and labels y (-1/+1), and a seed of draws that all regions share."""

    x: FloatArray
    y: IntArray
    draws: np.random.SeedSequence


def draw_data(seed: int, n: int = N_ROWS) -> Data:
    """Draw labels with P(+1) = p, and inputs x | y ~ Laplace(y, λ), at the `TRUTH`."""
    of_data, draws = np.random.SeedSequence(seed).spawn(2)
    rng = np.random.default_rng(of_data)
    p, scale = TRUTH
    y = np.where(rng.random(n) < p, 1, -1)
    centre = np.where(y > 0, *LOCATIONS)
    return Data(centre + rng.laplace(scale=scale, size=n), y, draws)


def neighbours(n: int) -> int:
    """Return the number of nearest neighbours, ⌊√n⌋.

    The paper names none; Theorem 2 asks for k → ∞ and k/n → 0, and √n is the usual choice.
    """
    return max(1, math.isqrt(n))


def compared_statistics(n: int) -> dict[str, statistics.Statistic]:
    """Return the paper's three algorithms in its units, and score and combined, for n rows."""
    local: dict[str, Any] = {"standardize": False, "measure": "uniform", "domain": (DOMAIN,)}
    smoother: dict[str, Any] = {"kernel": "gaussian", "bandwidth": BANDWIDTH, "nodes": 128}
    third = statistics.Discrepancy("gaussian", BANDWIDTH, standardize=False)
    return {
        "I_knn": statistics.Neighborhood(k=neighbours(n), **local),
        "I_gaussian": statistics.Neighborhood(**smoother, **local),
        "II_gaussian": statistics.Embedding("gaussian", BANDWIDTH, standardize=False),
        "III_gaussian": third,
        "score": statistics.Score(),
        "combined": statistics.Combined(statistics.Score(), third, weights=(1.0, 0.3)),
    }


def fit_region(
    statistic: statistics.Statistic, data: Data, n_resamples: int = N_RESAMPLES
) -> ConfidenceRegion:
    """Fit the region of (p, λ) that a statistic gives on these data."""
    settings: dict[str, Any] = {"confidence_level": CONFIDENCE_LEVEL, "rng": data.draws}
    region = ConfidenceRegion(MODEL, statistic=statistic, n_resamples=n_resamples, **settings)
    return region.fit(data.x, data.y)


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
        """Maximum likelihood, θ̂; where there is none, that with two trials added."""
        start = likely_parameters(MODEL, self._sample)
        found = maximum_likelihood(MODEL, self._sample, start)
        return start if found is None else found

    @property
    def information(self) -> FloatArray:
        """Fisher information at the maximum, shape (2, 2)."""
        return information_at(MODEL, self._sample, self.estimate)

    @cached_property
    def _sample(self) -> Sample:
        return Sample.from_data(self.data.x, self.data.y)

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
