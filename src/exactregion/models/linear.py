"""Linear models, P_θ(Y=+1|x) = F(θ₀ + θ₁x₁ + … + θ_d x_d), and recalibration.

Recalibration is logistic in the logit of a predicted probability.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from numbers import Integral
from typing import Any

import numpy as np
from scipy.special import erfcx, expit, log_ndtr, logit, ndtr, ndtri

from exactregion._typing import FloatArray
from exactregion.errors import InvalidValueError
from exactregion.models.base import ColumnModel, Model, as_matrix

LARGEST_PREDICTOR, HALVINGS = 800.0, 70
"""The link is looked for up to this size of the predictor, past which doubles are 0 and 1, and
halved this many times: to the last digit."""

POWERS = ("intercept", "slope", "square", "cube")
"""Names of the coefficients of the powers of the logit in a recalibration."""


@dataclass(frozen=True)
class LinearModel(ColumnModel):
    """A distribution function of a linear predictor; a subclass supplies the function.

    Parameters
    ----------
    intercept : bool
        Whether the first parameter is an intercept.
    feature_names : tuple of str, optional
        Names of the columns of X; set by `bind`.
    """

    intercept: bool = True
    feature_names: tuple[str, ...] | None = None

    @abstractmethod
    def inverse_link(self, eta: FloatArray) -> FloatArray:
        """Compute F(η)."""

    @abstractmethod
    def logit_slope(self, eta: FloatArray) -> FloatArray:
        """Compute d logit F(η) / dη."""

    def link(self, P: FloatArray) -> FloatArray:
        """Compute η with F(η) = P, by halving; a subclass may have a formula."""
        P = np.asarray(P, dtype=np.float64)
        low, high = np.full(P.shape, -LARGEST_PREDICTOR), np.full(P.shape, LARGEST_PREDICTOR)
        for _ in range(HALVINGS):
            middle = (low + high) / 2
            below = self.inverse_link(middle) < P
            low, high = np.where(below, middle, low), np.where(below, high, middle)
        eta = np.where(P <= 0, -np.inf, np.where(P >= 1, np.inf, (low + high) / 2))
        return np.asarray(np.where((P >= 0) & (P <= 1), eta, np.nan))

    def logit_of(self, eta: FloatArray) -> FloatArray:
        """Compute logit F(η); a subclass may have a form without cancellation in the tails."""
        P = self.inverse_link(eta)
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(P) - np.log1p(-P))

    def logit_curvature(self, eta: FloatArray) -> FloatArray | None:
        """Compute d² logit F(η) / dη² where it increases with η, else None.

        Sets of a family with this method are proven (`region.proofs`); without it, searched.
        """
        return None

    @property
    def parameter_names(self) -> tuple[str, ...]:
        """The intercept, if any, and the columns of X."""
        return (("intercept",) if self.intercept else ()) + self.columns

    @property
    def has_known_link(self) -> bool:
        """Whether the link is one of this module; a subclass of yours may have any."""
        return type(self) in (Logistic, Probit, CLogLog)

    def evaluate(self, theta: FloatArray, X: Any) -> FloatArray:
        """Compute F of the linear predictor."""
        return self.inverse_link(self.linear_predictor(theta, as_matrix(X, self.feature_names)))

    def on_rows(self, X: Any) -> Callable[[FloatArray], FloatArray] | None:
        """Read the columns once; a subclass may evaluate in a way of its own."""
        if type(self).evaluate is not LinearModel.evaluate:
            return None
        columns = as_matrix(X, self.feature_names)
        return lambda theta: self.inverse_link(self.linear_predictor(theta, columns))

    def differentiate(self, theta: FloatArray, X: Any) -> FloatArray:
        """Compute slope(η) · (1, x)."""
        X = as_matrix(X, self.feature_names)
        slope = self.logit_slope(self.linear_predictor(theta, X))
        return np.asarray(slope[:, :, None] * self.linear_design(X))

    def probability_bounds(
        self, low: FloatArray, high: FloatArray, X: Any
    ) -> tuple[FloatArray, FloatArray]:
        """Compute F at the smallest and at the largest linear predictor."""
        ends = predictor_bounds(low, high, self.linear_design(X))
        return self.inverse_link(ends[0]), self.inverse_link(ends[1])

    def linear_design(self, X: Any) -> FloatArray:
        """Return the columns of X, after one of ones for the intercept."""
        X = as_matrix(X, self.feature_names)
        return np.column_stack([np.ones(len(X)), X]) if self.intercept else X

    def linear_predictor(self, theta: FloatArray, X: FloatArray) -> FloatArray:
        """Compute η for a batch: shape (T, n).

        Columns are added one after the other: the last bit of a matrix product would depend on the
        size of the batch and on the number of threads.
        """
        eta = np.zeros((len(theta), len(X)))
        if self.intercept:
            eta += theta[:, :1]
        with np.errstate(over="ignore"):
            for coefficient, column in zip(theta.T[int(self.intercept) :], X.T, strict=True):
                eta += coefficient[:, None] * column
        return eta


def predictor_bounds(
    low: FloatArray, high: FloatArray, rows: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Bound rows (n, d) times θ over boxes low ≤ θ ≤ high (B, d), with 0 · ∞ = 0: shape (B, n)."""
    smallest, largest = np.zeros((2, len(low), len(rows)))
    for a, column in enumerate(rows.T):
        with np.errstate(invalid="ignore", over="ignore"):
            ends = [np.where(column == 0, 0.0, end[:, a, None] * column) for end in (low, high)]
        smallest += np.minimum(*ends)
        largest += np.maximum(*ends)
    return smallest, largest


class Logistic(LinearModel):
    """Logistic regression, P = 1 / (1 + exp(-η)).

    Examples
    --------
    >>> Logistic().probabilities([0.0, 1.0], [-1.0, 0.0, 1.0]).round(3)
    array([0.269, 0.5  , 0.731])
    """

    @property
    def has_constant_gradient(self) -> bool:
        """Whether the gradient is (1, x) for every θ; a subclass may have another link."""
        return type(self) is Logistic

    def inverse_link(self, eta: FloatArray) -> FloatArray:
        """Compute the logistic function."""
        return np.asarray(expit(eta))

    def link(self, P: FloatArray) -> FloatArray:
        """Compute the logit."""
        return np.asarray(logit(P))

    def logit_slope(self, eta: FloatArray) -> FloatArray:
        """Return ones: η is the logit."""
        return np.ones_like(eta)

    def logit_of(self, eta: FloatArray) -> FloatArray:
        """Return η itself."""
        return eta


class Probit(LinearModel):
    """Probit regression, P = Φ(η), the standard normal distribution function.

    Examples
    --------
    >>> Probit().probabilities([0.0, 1.0], [-1.0, 0.0, 1.0]).round(3)
    array([0.159, 0.5  , 0.841])
    """

    def inverse_link(self, eta: FloatArray) -> FloatArray:
        """Compute the normal distribution function."""
        return np.asarray(ndtr(eta))

    def link(self, P: FloatArray) -> FloatArray:
        """Compute the quantile of the normal distribution."""
        return np.asarray(ndtri(P))

    def logit_slope(self, eta: FloatArray) -> FloatArray:
        """Compute φ / (Φ (1 - Φ)), in a form without cancellation in the tails."""
        size = np.abs(eta)
        return np.asarray(np.sqrt(2 / np.pi) / erfcx(size / np.sqrt(2)) / ndtr(size))

    def logit_of(self, eta: FloatArray) -> FloatArray:
        """Compute log Φ(η) - log Φ(-η)."""
        return np.asarray(log_ndtr(eta) - log_ndtr(-eta))

    def logit_curvature(self, eta: FloatArray) -> FloatArray:
        """Compute r (r - η) - s (s + η) with the hazards r = φ / (1 - Φ) and s = φ / Φ.

        The slope is r + s. Both are convex, so that this increases with η.
        """
        r, s = (np.sqrt(2 / np.pi) / erfcx(side / np.sqrt(2)) for side in (eta, -eta))
        return np.asarray(r * (r - eta) - s * (s + eta))


class CLogLog(LinearModel):
    """Complementary log-log regression, P = 1 - exp(-exp(η)).

    Examples
    --------
    >>> CLogLog().probabilities([0.0, 1.0], [-1.0, 0.0, 1.0]).round(3)
    array([0.308, 0.632, 0.934])
    """

    def inverse_link(self, eta: FloatArray) -> FloatArray:
        """Compute 1 - exp(-exp(η))."""
        with np.errstate(over="ignore"):
            return -np.expm1(-np.exp(eta))

    def link(self, P: FloatArray) -> FloatArray:
        """Compute log(-log(1 - P))."""
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.asarray(np.log(-np.log1p(-np.asarray(P))))

    def logit_slope(self, eta: FloatArray) -> FloatArray:
        """Compute exp(η) / P."""
        within = np.clip(eta, -700.0, 700.0)
        return np.asarray(np.exp(within) / self.inverse_link(within))

    def logit_of(self, eta: FloatArray) -> FloatArray:
        """Compute e^η + log(1 - exp(-e^η))."""
        with np.errstate(over="ignore", divide="ignore"):
            u = np.exp(eta)
            return np.asarray(u + np.log(-np.expm1(-u)))

    def logit_curvature(self, eta: FloatArray) -> FloatArray:
        """Compute u k'(u) with u = e^η and k = u / (1 - e^-u), the slope.

        k is convex and increases, so that this increases with η.
        """
        u = np.exp(np.clip(eta, -700.0, 700.0))
        P = -np.expm1(-u)
        # k' is 1/2 + u/6 where both of its summands are close to 1/u
        k_slope = np.where(u < 1e-4, 0.5 + u / 6, (P - u * (1 - P)) / np.maximum(P, 1e-4) ** 2)
        return np.asarray(u * k_slope)


def _recalibrated(theta: FloatArray, score: FloatArray) -> FloatArray:
    """Compute expit(θ₀ + s(θ₁ + s(θ₂ + …))) at scores s, with 0 · ∞ = 0."""
    with np.errstate(invalid="ignore", over="ignore"):
        logits = theta[:, -1:] * score
        logits[theta[:, -1] == 0] = 0.0
        logits += theta[:, -2:-1]
        for power in range(theta.shape[1] - 3, -1, -1):
            logits = theta[:, power, None] + np.where(logits == 0, 0.0, logits * score)
    return np.asarray(expit(logits, out=logits))


@dataclass(frozen=True)
class Recalibration(Model):
    """Recalibrated probabilities, P_θ(Y=+1|p) = expit(intercept + slope · s), with s = logit p.

    With a degree of 2 or 3 the curve can bend: + square · s², and + cube · s³. The input is the
    predicted probability p. Calibration is θ = (0, 1), or (0, 1, 0) and (0, 1, 0, 0). A prediction
    of 0 or 1 stays a certainty, unless all parameters but the intercept are 0.

    Parameters
    ----------
    degree : {1, 2, 3}
        Highest power of the logit.

    Examples
    --------
    >>> Recalibration().probabilities([0.0, 2.0], [0.2, 0.5, 0.8]).round(3)
    array([0.059, 0.5  , 0.941])
    >>> Recalibration(degree=2).probabilities([0.0, 1.0, 0.5], [0.2, 0.5, 0.8]).round(3)
    array([0.395, 0.5  , 0.913])
    """

    degree: int = 1

    def __post_init__(self) -> None:
        """Check the degree."""
        is_whole = isinstance(self.degree, Integral) and not isinstance(self.degree, bool)
        if not is_whole or not 1 <= self.degree < len(POWERS):
            raise InvalidValueError(
                f"must be 1, 2 or 3, the highest power of the logit. Got {self.degree!r} instead.",
                parameter="degree",
            )

    @property
    def parameter_names(self) -> tuple[str, ...]:
        """Coefficients of the powers of the logit."""
        return POWERS[: self.degree + 1]

    @property
    def has_constant_gradient(self) -> bool:
        """Whether the gradient is (1, s, …) for every θ; a subclass may have another link."""
        return type(self) is Recalibration

    @property
    def has_known_link(self) -> bool:
        """Whether the link is that of this class; a subclass may have another one."""
        return type(self) is Recalibration

    def check_inputs(self, X: Any) -> None:
        """Check that inputs are probabilities."""
        self._logits(X)

    def evaluate(self, theta: FloatArray, X: Any) -> FloatArray:
        """Compute expit(θ₀ + s(θ₁ + s(θ₂ + …))), with 0 · ∞ = 0."""
        return _recalibrated(theta, self._logits(X))

    def on_rows(self, X: Any) -> Callable[[FloatArray], FloatArray] | None:
        """Compute the logits once; a subclass may evaluate in a way of its own."""
        if type(self).evaluate is not Recalibration.evaluate:
            return None
        score = self._logits(X)
        return lambda theta: _recalibrated(theta, score)

    def differentiate(self, theta: FloatArray, X: Any) -> FloatArray:
        """Compute (1, s, …)."""
        gradient = self._powers(X)
        return np.broadcast_to(gradient, (len(theta), *gradient.shape))

    def inverse_link(self, eta: FloatArray) -> FloatArray:
        """Compute the logistic function."""
        return np.asarray(expit(eta))

    def link(self, P: FloatArray) -> FloatArray:
        """Compute the logit."""
        return np.asarray(logit(P))

    def linear_design(self, X: Any) -> FloatArray | None:
        """Return (1, s, …), or None where a prediction is certain and its logit infinite."""
        design = self._powers(X)
        return design if bool(np.isfinite(design).all()) else None

    def _powers(self, X: Any) -> FloatArray:
        score = self._logits(X)
        return np.stack([score**power for power in range(self.degree + 1)], axis=-1)

    def _logits(self, X: Any) -> FloatArray:
        p = as_matrix(X)
        if p.shape[1] != 1 or ((p < 0) | (p > 1)).any():
            raise InvalidValueError(
                "of Recalibration must be one column of predicted probabilities between 0 and 1. "
                f"Got shape {p.shape} with values from {p.min():g} to {p.max():g} instead.",
                parameter="X",
            )
        return np.asarray(logit(p[:, 0]))
