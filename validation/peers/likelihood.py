"""Maximum likelihood as people use it: Wald, likelihood ratio, profile likelihood, Scheffé bands.

Linear models are fitted by statsmodels' GLM. The Laplace mixture is a logistic regression on a
known function of x, so that GLM fits it too; only psychometric functions with a free lapse rate
are not, and are maximised by scipy.

Whether a finite maximum exists is decided by linear programming (Konis' test, by firthmodels) and
not by looking at the iterations: where the classes are separated there is none, for logit and
probit alike.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import statsmodels.api as sm
from firthmodels import detect_separation
from scipy.optimize import brentq, minimize
from scipy.special import expit, log_ndtr, ndtr
from scipy.stats import chi2, norm

__all__ = ["Linear", "delta", "maximise_logistic", "quantile"]

LINKS = {"logistic": sm.families.links.Logit, "probit": sm.families.links.Probit}
DOUBLINGS = 12
"""An end of a profile that is not met within 2^12 standard errors is none."""


def quantile(level: float, d: int) -> float:
    """The χ² quantile with d degrees of freedom."""
    return float(chi2.ppf(level, d))


def log_likelihood(family: str, eta: np.ndarray, y: np.ndarray) -> float:
    """Log-likelihood of outcomes 0/1, with all its digits in the tails."""
    signed = np.where(y > 0, eta, -eta)
    logs = -np.logaddexp(0, -signed) if family == "logistic" else log_ndtr(signed)
    return float(logs.sum())


def slopes_and_weights(
    family: str, eta: np.ndarray, y: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Derivative of each row's log-likelihood in η, and its Fisher information."""
    if family == "logistic":
        p = expit(eta)
        return y - p, p * (1 - p)
    signed = np.where(y > 0, eta, -eta)
    # φ / Φ and φ² / (Φ (1 - Φ)), by logarithms that keep their digits in the tails
    slope = np.where(y > 0, 1, -1) * np.exp(norm.logpdf(eta) - log_ndtr(signed))
    return slope, np.exp(2 * norm.logpdf(eta) - log_ndtr(eta) - log_ndtr(-eta))


def maximise(
    family: str, design: np.ndarray, y: np.ndarray, offset: np.ndarray | None = None
) -> np.ndarray:
    """Fit by statsmodels' GLM; by a line search where its iterations stop short of the top."""
    base = np.zeros(len(y)) if offset is None else offset
    theta = _by_glm(family, design, y, offset)
    if theta is not None and _at_top(family, design, y, base, theta):
        return theta

    def loss(theta: np.ndarray) -> tuple[float, np.ndarray]:
        eta = design @ theta + base
        slope, _ = slopes_and_weights(family, eta, y)
        return -log_likelihood(family, eta, y), -design.T @ slope

    found = minimize(loss, np.zeros(design.shape[1]), jac=True, method="BFGS")
    return np.asarray(found.x)


def maximise_logistic(design: np.ndarray, Y: np.ndarray, steps: int = 30) -> np.ndarray:
    """Maximise the logistic likelihood of many rows of outcomes at once: (T, n) to (T, d).

    Newton's steps, halved where the likelihood would fall. Where there is no finite maximum they
    end far out, where the likelihood is all but at its supremum.
    """
    theta = np.zeros((len(Y), design.shape[1]))
    tiny = 1e-10 * np.eye(design.shape[1])

    def likelihoods(theta: np.ndarray) -> np.ndarray:
        eta = theta @ design.T
        return np.asarray((Y * eta - np.logaddexp(0, eta)).sum(axis=1))

    now = likelihoods(theta)
    for _ in range(steps):
        p = expit(theta @ design.T)
        information = np.einsum("tn,ni,nj->tij", p * (1 - p), design, design, optimize=True) + tiny
        step = np.linalg.solve(information, ((Y - p) @ design)[..., None])[..., 0]
        step *= np.minimum(1, 5 / np.maximum(np.abs(step @ design.T).max(axis=1), 5))[:, None]
        for _ in range(10):
            new = likelihoods(theta + step)
            worse = new < now - 1e-12
            if not worse.any():
                break
            step[worse] /= 2
        theta = theta + step
        gained, now = np.max(new - now), new
        if gained < 1e-10:
            break
    return theta


def _by_glm(
    family: str, design: np.ndarray, y: np.ndarray, offset: np.ndarray | None
) -> np.ndarray | None:
    try:
        binomial = sm.families.Binomial(link=LINKS[family]())
        fit = sm.GLM(y, design, family=binomial, offset=offset).fit()
    except (ValueError, FloatingPointError, np.linalg.LinAlgError):
        return None
    return np.asarray(fit.params) if np.isfinite(fit.params).all() else None


def _at_top(
    family: str, design: np.ndarray, y: np.ndarray, base: np.ndarray, theta: np.ndarray
) -> bool:
    """Whether another step of Newton's would gain next to nothing."""
    slope, weight = slopes_and_weights(family, design @ theta + base, y)
    score = design.T @ slope
    information = design.T @ (design * weight[:, None])
    gain = score @ np.linalg.pinv(information, hermitian=True) @ score
    return bool(gain < 1e-6 and np.abs(score).max() < 1e-2)


@dataclass(frozen=True, eq=False)
class Linear:
    """A linear model on data: its maximum, and the regions and intervals built on it.

    Attributes
    ----------
    family : {"logistic", "probit"}
        The link.
    X : ndarray of shape (n, slopes)
        Inputs.
    y : ndarray of shape (n,)
        Outcomes 0.0 or 1.0.
    """

    family: str
    X: np.ndarray
    y: np.ndarray

    @cached_property
    def design(self) -> np.ndarray:
        return np.column_stack([np.ones(len(self.X)), self.X])

    @cached_property
    def exists(self) -> bool:
        """Whether there is a finite maximum of the likelihood."""
        if self.y.min() == self.y.max() or np.linalg.matrix_rank(self.design) < self.d:
            return False
        return not detect_separation(self.X, self.y).separation

    @property
    def d(self) -> int:
        return self.design.shape[1]

    @cached_property
    def theta(self) -> np.ndarray:
        """The maximum, or a point far out where the likelihood is all but at its supremum."""
        return maximise(self.family, self.design, self.y)

    @cached_property
    def top(self) -> float:
        return self.log_likelihood(self.theta)

    def log_likelihood(self, theta: np.ndarray) -> float:
        return log_likelihood(self.family, self.design @ theta, self.y)

    @cached_property
    def information(self) -> np.ndarray:
        """Expected Fisher information at the maximum."""
        _, weight = slopes_and_weights(self.family, self.design @ self.theta, self.y)
        return self.design.T @ (self.design * weight[:, None])

    @cached_property
    def covariance(self) -> np.ndarray:
        return np.linalg.pinv(self.information)

    def wald_distance(self, theta: np.ndarray) -> float:
        """(θ - θ̂)ᵀ I (θ - θ̂): in the Wald ellipsoid if below the χ²_d quantile."""
        apart = theta - self.theta
        return float(apart @ self.information @ apart)

    def deviance(self, theta: np.ndarray) -> float:
        """2 (sup ℓ - ℓ(θ)): in the likelihood-ratio region if below the χ²_d quantile."""
        return 2 * (self.top - self.log_likelihood(theta))

    def wald(self, gradient: np.ndarray, value: float, level: float) -> tuple[float, float]:
        """The delta method: value ± z · standard error."""
        half = np.sqrt(quantile(level, 1) * (gradient @ self.covariance @ gradient))
        return float(value - half), float(value + half)

    def profile(self, index: int, level: float) -> tuple[float, float]:
        """Profile likelihood of a parameter, by root finding; open where it never crosses."""
        others = np.delete(self.design, index, axis=1)

        def deviance(value: float) -> float:
            offset = self.design[:, index] * value
            rest = maximise(self.family, others, self.y, offset)
            return 2 * (self.top - log_likelihood(self.family, others @ rest + offset, self.y))

        scale = min(float(np.sqrt(self.covariance[index, index])), 10.0)
        return _crossings(deviance, float(self.theta[index]), scale, quantile(level, 1))

    def profile_ed50(self, level: float) -> tuple[float, float]:
        """Profile likelihood of -θ₀/θ₁: the model is slope · (x - ED50)."""
        cut = quantile(level, 1)
        flat = maximise(self.family, self.design[:, :1], self.y)
        # far out the curve is flat: if that fits, the set is open
        if self.deviance(np.array([flat[0], 0.0])) <= cut:
            return -np.inf, np.inf

        def deviance(value: float) -> float:
            shifted = self.X - value
            slope = maximise(self.family, shifted, self.y)
            return 2 * (self.top - log_likelihood(self.family, shifted @ slope, self.y))

        low, high = self.wald(*delta(self.theta), level)
        scale = min(max((high - low) / 4, 1e-3), 10.0)
        return _crossings(deviance, float(-self.theta[0] / self.theta[1]), scale, cut)

    def band(self, X: np.ndarray, level: float, d: int) -> tuple[np.ndarray, np.ndarray]:
        """θ̂ᵀx ± √(χ²_d quantile) · standard error: Scheffé's band, or with d = 1 pointwise."""
        design = np.column_stack([np.ones(len(X)), X])
        eta = design @ self.theta
        error = np.sqrt(np.einsum("ij,jk,ik->i", design, self.covariance, design))
        inverse = expit if self.family == "logistic" else ndtr
        half = np.sqrt(quantile(level, d)) * error
        return inverse(eta - half), inverse(eta + half)


def delta(theta: np.ndarray) -> tuple[np.ndarray, float]:
    """Gradient and value of the ED50, -θ₀/θ₁."""
    return np.array([-1 / theta[1], theta[0] / theta[1] ** 2]), float(-theta[0] / theta[1])


def _crossings(
    deviance: Callable[[float], float], value: float, scale: float, cut: float
) -> tuple[float, float]:
    return (
        _crossing(deviance, value, -scale, cut),
        _crossing(deviance, value, scale, cut),
    )


def _crossing(deviance: Callable[[float], float], value: float, step: float, cut: float) -> float:
    inner = value
    if deviance(inner) > cut:  # the top is not where it seemed to be
        return float("nan")
    for _ in range(DOUBLINGS):
        outer = value + step
        if deviance(outer) > cut:
            return float(brentq(lambda v: deviance(v) - cut, inner, outer, xtol=1e-4))
        inner, step = outer, 2 * step
    return float(np.copysign(np.inf, step))
