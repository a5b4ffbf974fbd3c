"""Firth's penalised likelihood with profile limits, by firthmodels."""

from __future__ import annotations

import numpy as np
from firthmodels import FirthLogisticRegression

__all__ = ["profile_limits"]


def profile_limits(X: np.ndarray, y: np.ndarray, level: float) -> np.ndarray:
    """Limits of intercept and slopes, shape (d, 2); NaN where the search did not converge."""
    fitted = FirthLogisticRegression(max_iter=200).fit(X, y)
    limits = fitted.conf_int(alpha=1 - level, method="pl", max_iter=200)
    return np.roll(limits, 1, axis=0)  # firthmodels has the intercept last
