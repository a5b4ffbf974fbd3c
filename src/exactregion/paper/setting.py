"""The setting of the paper's experiment: its data, its family, and the statistics compared."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from exactregion import statistics
from exactregion._typing import FloatArray, IntArray
from exactregion.models import LaplaceMixture
from exactregion.region import ConfidenceRegion

__all__ = [
    "BANDWIDTH",
    "BOX",
    "CONFIDENCE_LEVEL",
    "DOMAIN",
    "LOCATIONS",
    "MODEL",
    "N_RESAMPLES",
    "N_ROWS",
    "TITLES",
    "TRUTH",
    "Data",
    "compared_statistics",
    "draw_data",
    "fit_region",
    "neighbours",
]

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
their whole range the gaps between the outermost ones would dominate the integral."""

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
    """Return the number of nearest neighbours, ⌊√n⌋: consistency needs k → ∞ and k/n → 0."""
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
