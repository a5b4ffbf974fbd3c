"""Recalibration of predicted probabilities: P_θ(Y=+1|p) = expit(intercept + slope · logit p)."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import expit, logit

from exactregion._typing import FloatArray
from exactregion.errors import InvalidValueError
from exactregion.models.base import Model, as_matrix

__all__ = ["Recalibration"]


class Recalibration(Model):
    """What calibrated probabilities would be, given the predicted ones as input.

    Calibration is θ = (0, 1). A prediction of 0 or 1 stays a certainty for every slope above 0.

    Examples
    --------
    >>> Recalibration().probabilities([0.0, 2.0], [0.2, 0.5, 0.8]).round(3)
    array([0.059, 0.5  , 0.941])
    """

    def __repr__(self) -> str:
        """Show the class, which has no settings."""
        return "Recalibration()"

    @property
    def parameter_names(self) -> tuple[str, ...]:
        """The intercept and the slope on the logit scale."""
        return ("intercept", "slope")

    @property
    def has_constant_gradient(self) -> bool:
        """Whether the gradient of the logit is the same for every θ: it is (1, logit p).

        Not so for a subclass, which may have another link.
        """
        return type(self) is Recalibration

    def check_inputs(self, X: Any) -> None:
        """Check that inputs are probabilities."""
        self._logits(X)

    def evaluate(self, theta: FloatArray, X: Any) -> FloatArray:
        """Compute expit(a + b logit p), with 0 · ∞ = 0."""
        score = self._logits(X)
        a, b = theta[:, :1], theta[:, 1:]
        with np.errstate(invalid="ignore", over="ignore"):
            return np.asarray(expit(a + np.where(b == 0, 0.0, b * score)))

    def differentiate(self, theta: FloatArray, X: Any) -> FloatArray:
        """Compute (1, logit p)."""
        score = self._logits(X)
        gradient = np.stack([np.ones_like(score), score], axis=-1)
        return np.broadcast_to(gradient, (len(theta), *gradient.shape))

    def _logits(self, X: Any) -> FloatArray:
        p = as_matrix(X)
        if p.shape[1] != 1 or ((p < 0) | (p > 1)).any():
            raise InvalidValueError(
                "of Recalibration must be one column of predicted "
                f"probabilities between 0 and 1. Got shape {p.shape} with values from "
                f"{p.min():g} to {p.max():g} instead.",
                parameter="X",
            )
        return np.asarray(logit(p[:, 0]))
