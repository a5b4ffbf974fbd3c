"""The score statistic of a linear hypothesis, with all other parameters refitted to each data set.

For A θ = b, each data set has its own most likely θ̃ that satisfies it, and

    T = (A I⁻¹ s)ᵀ (A I⁻¹ Aᵀ)⁻¹ (A I⁻¹ s),

with the score s and the information I at θ̃. It depends on the data set alone, and its distribution
hardly on which θ of the hypothesis is true: as the largest p-value of any of them is reported, this
is what power comes from. For a two-by-two table it is the pooled chi-squared statistic.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import expit

from exactregion._typing import FloatArray
from exactregion.models import LinearModel
from exactregion.region.proofs.inputs import certain_predictors

__all__ = ["NUMBERS", "TIE", "Refit"]

STEPS, LONGEST, SHORTEST = 60, 2.0, 1e-8
"""Most Newton steps of a refit, the largest change of a predictor in one, and the change at which
it has converged. Logits are certain at 40: 20 of the longest steps lead there, 60 from one end to
the other and back. Newton's error is squared in each step, so that after one of 1e-8 it is at the
precision of doubles."""

DIGITS, TIE = 30, 2.0**-28
"""Bits of T that are kept, so that data sets with the same T tie whatever rounding does, and the
difference, as a share, up to which it is the same but for that: numbers that are next to each other
after rounding differ by at most 2⁻²⁹."""

RIDGE = 1e-10
"""Added to the information at a unit diagonal, where directions have none. Where all have some, it
changes T by less than the bits that are kept."""

NUMBERS = 2**21
"""Predictors that are worked on at once: 16 megabytes."""


@dataclass(frozen=True, eq=False)
class Refit:
    """T of any data set, for a family with a linear predictor.

    The θ that satisfy the hypothesis are origin + axes · φ, which must not depend on outcomes.
    """

    link: LinearModel | None  # the family; None if the predictor is the logit
    design: FloatArray  # (n, d)
    trials: FloatArray  # (n,)
    matrix: FloatArray  # A (r, d)
    origin: FloatArray  # (d,)
    axes: FloatArray  # (d, k)

    def __call__(self, successes: FloatArray) -> FloatArray:
        """Compute T of data sets (M, n): shape (M,)."""
        at_once = max(1, NUMBERS // successes.shape[1])
        parts = [
            self._statistic(successes[start : start + at_once])
            for start in range(0, len(successes), at_once)
        ]
        mantissa, exponent = np.frexp(np.concatenate(parts) if parts else np.empty(0))
        return np.asarray(np.ldexp(np.round(np.ldexp(mantissa, DIGITS)), exponent - DIGITS))

    def of_labels(self, labels: Any, probabilities: FloatArray, X: Any) -> FloatArray:
        """Compute T of labels -1/+1 or successes, as statistics that are functions are called."""
        values = np.asarray(labels, dtype=np.float64)
        return self(values if (values >= 0).all() else (values + 1) / 2)

    def _statistic(self, successes: FloatArray) -> FloatArray:
        p, gain = self._fit(successes)
        D, t, d = self.design, self.trials, self.design.shape[1]
        score = ((successes - t * p) * gain) @ D
        squares = (D[:, :, None] * D[:, None, :]).reshape(len(D), -1)
        information = ((t * p * (1 - p) * gain**2) @ squares).reshape(-1, d, d)
        size = np.sqrt(np.einsum("iaa->ia", information))
        unit = 1 / np.where(size > 0, size, 1.0)
        scaled = information * unit[:, :, None] * unit[:, None, :] + RIDGE * np.eye(d)
        A = self.matrix * unit[:, None, :]
        both = np.concatenate([(score * unit)[:, :, None], np.swapaxes(A, 1, 2)], axis=2)
        solved = A @ np.linalg.solve(scaled, both)
        along, covariance = solved[:, :, :1], solved[:, :, 1:]
        return np.asarray((along * np.linalg.solve(covariance, along)).sum(axis=(1, 2)))

    def _fit(self, successes: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Refit φ to each data set, and return p and the slope of the logit there: (M, n).

        As many trials as φ has parameters are added, half of them successes, so that it is finite.
        """
        D, offset = self.design @ self.axes, self.design @ self.origin
        (n, k), t = D.shape, self.trials
        added = t * (k / t.sum())
        y, t = successes + added / 2, t + added
        squares = (D[:, :, None] * D[:, None, :]).reshape(n, -1)
        eta = np.broadcast_to(offset, successes.shape)
        for _ in range(STEPS):
            p, gain = self._probabilities(eta)
            score = ((y - t * p) * gain) @ D
            information = ((t * p * (1 - p) * gain**2) @ squares).reshape(-1, k, k)
            size = np.einsum("iaa->ia", information).max(axis=1)
            information += (RIDGE * size + 1e-300)[:, None, None] * np.eye(k)
            step = np.linalg.solve(information, score[:, :, None])[:, :, 0] @ D.T
            largest = np.abs(step).max(axis=1, keepdims=True)
            eta = eta + step * (LONGEST / np.maximum(largest, LONGEST))
            if largest.max() < SHORTEST:
                break
        return self._probabilities(eta)

    def _probabilities(self, eta: FloatArray) -> tuple[FloatArray, FloatArray]:
        if self.link is None:
            return expit(eta), np.ones(1)
        eta = np.clip(eta, *certain_predictors(self.link))
        return expit(self.link.logit_of(eta)), self.link.logit_slope(eta)
