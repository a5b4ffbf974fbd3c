"""Bootstrap intervals and bands of maximum likelihood: parametric percentiles, and SciPy's BCa.

Refits are taken as statsmodels returns them. Where a resample is separated that is a point far out,
as far as the iterations came: percentiles can stand a few of those.
"""

from __future__ import annotations

import numpy as np
from scipy.special import expit, ndtr
from scipy.stats import bootstrap

from validation.peers.likelihood import Linear, maximise

__all__ = ["bca", "parametric", "percentile", "percentile_band"]


def parametric(fit: Linear, resamples: int, rng: np.random.Generator) -> np.ndarray:
    """Estimates on data drawn from the fitted model: shape (resamples, d)."""
    p = _inverse(fit)(fit.design @ fit.theta)
    draws = (rng.random((resamples, len(p))) < p).astype(float)
    return np.array([maximise(fit.family, fit.design, y) for y in draws])


def percentile(values: np.ndarray, level: float) -> tuple[float, float]:
    """The middle share of the values."""
    low, high = np.nanquantile(values, [(1 - level) / 2, (1 + level) / 2])
    return float(low), float(high)


def percentile_band(
    fit: Linear, refits: np.ndarray, X: np.ndarray, level: float
) -> tuple[np.ndarray, np.ndarray]:
    """Percentiles of the refitted curve at each input."""
    design = np.column_stack([np.ones(len(X)), X])
    curves = _inverse(fit)(refits @ design.T)
    low, high = np.quantile(curves, [(1 - level) / 2, (1 + level) / 2], axis=0)
    return low, high


def bca(fit: Linear, level: float, resamples: int, rng: np.random.Generator) -> np.ndarray:
    """Bias-corrected and accelerated limits, rows drawn with replacement: shape (d or d + 1, 2).

    The last row is the ED50 where there is one slope.
    """
    rows = np.arange(len(fit.y))

    def estimate(drawn: np.ndarray) -> np.ndarray:
        theta = maximise(fit.family, fit.design[drawn], fit.y[drawn])
        return np.append(theta, -theta[0] / theta[1]) if len(theta) == 2 else theta

    found = bootstrap(
        (rows,), estimate, vectorized=False, n_resamples=resamples, confidence_level=level,
        method="BCa", rng=rng,
    )  # fmt: skip
    return np.column_stack([found.confidence_interval.low, found.confidence_interval.high])


def _inverse(fit: Linear):
    return expit if fit.family == "logistic" else ndtr
