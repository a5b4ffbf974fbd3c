"""Tests of slopes of a logistic model that go past Wald's: higher order, resampled, penalised.

Each gives the p-value of "the first `df` slopes are zero" beside an intercept and all other slopes.
What fails raises; `validation.rejections` counts it.
"""

from __future__ import annotations

import numpy as np
from firthmodels import FirthLogisticRegression
from scipy.special import expit
from scipy.stats import norm

from validation.peers.likelihood import Linear, maximise_logistic

__all__ = ["bootstrap_ratio", "firth_ratio", "modified_root"]

RESAMPLES = 199


def modified_root(X: np.ndarray, y: np.ndarray) -> float:
    """Barndorff-Nielsen's r* = r + log(q/r) / r of the first slope, two-sided.

    r is the signed root of the likelihood ratio. The slope is a canonical parameter, so that q is
    its estimate times √(|j(θ̂)| / |j_λλ(θ̂₀)|), j the information and λ the other parameters (Pierce
    and Peters 1992). Third order for continuous data; outcomes are not, which it ignores.
    """
    if not Linear("logistic", X, y).exists:
        raise ValueError("the likelihood has no finite maximum")
    design = np.column_stack([np.ones(len(y)), X])
    others = np.delete(design, 1, axis=1)
    theta = maximise_logistic(design, y[None])[0]
    rest = maximise_logistic(others, y[None])[0]
    ratio = 2 * (_likelihood(design @ theta, y) - _likelihood(others @ rest, y))
    r = float(np.sign(theta[1]) * np.sqrt(max(ratio, 0.0)))
    determinants = [_log_determinant(D, t) for D, t in ((design, theta), (others, rest))]
    q = theta[1] * np.exp((determinants[0] - determinants[1]) / 2)
    if abs(r) < 1e-3:  # its limit, where the quotient has no digits left
        return 1.0
    return float(2 * norm.sf(abs(r + np.log(q / r) / r)))


def bootstrap_ratio(X: np.ndarray, y: np.ndarray, df: int, rng: np.random.Generator) -> float:
    """Likelihood ratio ranked among those of outcomes drawn from the fitted null hypothesis.

    The parametric bootstrap. Where a data set has no finite maximum the likelihood has a finite
    supremum all the same, so that every data set has a ratio.
    """
    design = np.column_stack([np.ones(len(y)), X])
    others = np.delete(design, range(1, 1 + df), axis=1)
    if others.shape[1] > 1 and not Linear("logistic", others[:, 1:], y).exists:
        raise ValueError("the null hypothesis has no finite maximum")
    p = expit(others @ maximise_logistic(others, y[None])[0])
    Y = np.vstack([y, rng.uniform(size=(RESAMPLES, len(y))) < p]).astype(float)
    tops = [_likelihood(maximise_logistic(D, Y) @ D.T, Y) for D in (design, others)]
    values = tops[0] - tops[1]
    # equal data sets give ratios that may differ by rounding; ties count against rejection
    return float((values >= values[0] - 1e-6).mean())


def firth_ratio(X: np.ndarray, y: np.ndarray) -> float:
    """Penalised likelihood ratio of the first slope, by firthmodels; it refuses equal outcomes."""
    fitted = FirthLogisticRegression(max_iter=200).fit(X, y)
    return float(fitted.lrt([0]).lrt_pvalues_[0])


def _likelihood(eta: np.ndarray, y: np.ndarray) -> np.ndarray:
    return np.asarray((y * eta - np.logaddexp(0, eta)).sum(axis=-1))


def _log_determinant(design: np.ndarray, theta: np.ndarray) -> float:
    p = expit(design @ theta)
    return float(np.linalg.slogdet(design.T @ (design * (p * (1 - p))[:, None]))[1])
