"""Psychometric functions as others fit them: psignifit's credible intervals, maximum likelihood."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.optimize import minimize

from exactregion.models import Model

__all__ = ["MaximumLikelihood", "credible_interval"]

FAR = 50.0
"""A coefficient this large is no finite maximum: between two inputs the curve is a step."""


def credible_interval(
    levels: np.ndarray, correct: np.ndarray, trials: np.ndarray, level: float
) -> tuple[float, float]:
    """Credible interval of the threshold in a two-alternative task, by psignifit with its priors.

    The threshold is where the curve is halfway between guess rate and one minus lapse rate.
    """
    from psignifit import psignifit

    found = psignifit(
        np.column_stack([levels, correct, trials]),
        experiment_type="2AFC",
        sigmoid="norm",
        confP=(level,),
        verbose=False,
    )
    low, high = found.confidence_intervals["threshold"][str(level)]
    return float(low), float(high)


@dataclass(frozen=True, eq=False)
class MaximumLikelihood:
    """Maximum likelihood of intercept, slope and lapse rate, the last kept within [0, 0.5].

    Attributes
    ----------
    model : Model
        The family, bound to its input.
    X : ndarray of shape (n, 1)
        Inputs.
    y : ndarray of shape (n,)
        Outcomes 0.0 or 1.0.
    """

    model: Model
    X: np.ndarray
    y: np.ndarray

    def log_likelihood(self, theta: np.ndarray) -> float:
        return self._log_likelihood(self.model.evaluate(theta[None], self.X)[0])

    def _log_likelihood(self, p: np.ndarray) -> float:
        return float(np.log(np.maximum(np.where(self.y > 0, p, 1 - p), 1e-300)).sum())

    @cached_property
    def theta(self) -> np.ndarray:
        """The best of a few starts."""
        bounds = [(-FAR, FAR), (-FAR, FAR), (0.0, 0.5)]
        starts = [(0.0, 0.7, 0.1), (0.0, 2.0, 0.02), (1.0, -1.0, 0.1)]
        found = [
            minimize(self._loss, start, jac=True, bounds=bounds, options={"maxiter": 100})
            for start in starts
        ]
        return np.asarray(min(found, key=lambda one: one.fun).x)

    def _loss(self, theta: np.ndarray) -> tuple[float, np.ndarray]:
        p = self.model.evaluate(theta[None], self.X)[0]
        gradient = self.model.differentiate(theta[None], self.X)[0]
        # certainties that came true add nothing
        slope = np.nan_to_num(gradient * (self.y - p)[:, None], posinf=0.0, neginf=0.0)
        return -self._log_likelihood(p), -slope.sum(axis=0)

    @property
    def exists(self) -> bool:
        """Whether the maximum is at finite coefficients."""
        return bool(np.abs(self.theta[:2]).max() < 0.9 * FAR)

    @property
    def inside(self) -> bool:
        """Whether it is off the boundary too, so that a Wald ellipsoid makes sense."""
        return self.exists and bool(1e-6 < self.theta[2] < 0.5 - 1e-6)

    def deviance(self, theta: np.ndarray) -> float:
        return 2 * (self.log_likelihood(self.theta) - self.log_likelihood(theta))

    def wald_distance(self, theta: np.ndarray) -> float:
        p = self.model.probabilities(self.theta, self.X)
        gradient = self.model.differentiate(self.theta[None], self.X)[0]
        information = gradient.T @ (gradient * (p * (1 - p))[:, None])
        apart = theta - self.theta
        return float(apart @ information @ apart)
