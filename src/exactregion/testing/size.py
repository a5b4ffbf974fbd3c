"""How large miscalibration is, in numbers that describe: scores and their parts, slope, ECE.

A p-value says whether chance alone explains the outcomes; with many rows it hardly ever does. These
numbers say how much is off in the data at hand. They have no limits, and are not zero for
predictions that are right: `CalibrationBelt.largest_deviation` has exact limits.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.fft import dct, idct
from scipy.optimize import brentq, isotonic_regression
from scipy.special import expit, logit, xlogy

from exactregion._typing import FloatArray, IntArray
from exactregion.data.files import Record
from exactregion.data.outcomes import read_outcomes
from exactregion.data.reading import read_predictions

ECE_BINS = 15
"""Bins of equal width of the expected calibration error, as in Guo et al. (2017)."""

CELLS = 4096
"""Cells of [0, 1] in which residuals are smoothed; the smooth ECE of 10⁷ rows is wider than one."""

STEPS = 100
"""Newton steps until a maximum of the likelihood is given up; some ten are usual."""


@dataclass(frozen=True)
class CalibrationSize(Record):
    """How far outcomes are from predictions in the data at hand: descriptive numbers.

    Attributes
    ----------
    n : int
        Number of outcomes.
    observed, predicted : float
        Share of successes, and mean prediction.
    difference : float
        Calibration in the large, observed - predicted.
    intercept, slope : float
        Most likely a and b of expit(a + b logit p), 0 and 1 if calibrated; over predictions that
        are not 0 or 1. NaN where there is no finite maximum.
    brier, log_loss : float
        Mean of (y - p)², and of -log of the probability given to what happened.
    brier_miscalibration, log_loss_miscalibration : float
        The share of the score that the best monotone recalibration removes: score of p less that
        of the isotonic regression of y on p.
    brier_discrimination, log_loss_discrimination : float
        What the isotonic regression gains over the constant share of successes.
    brier_uncertainty, log_loss_uncertainty : float
        The score of the constant. Score = miscalibration - discrimination + uncertainty, exactly
        (Dimitriadis, Gneiting and Jordan, 2021).
    ece : float
        Expected calibration error, Σ_b (n_b / n) |observed_b - predicted_b| over 15 bins of equal
        width.
    smooth_ece : float
        The same without bins: σ = ∫ |(1/n) Σ_j K_σ(t, p_j) (y_j - p_j)| dt, K_σ the Gaussian
        kernel reflected at 0 and 1, for the σ at which both sides are equal (Błasiok and Nakkiran,
        2023).
    """

    n: int
    observed: float
    predicted: float
    difference: float
    intercept: float
    slope: float
    brier: float
    brier_miscalibration: float
    brier_discrimination: float
    brier_uncertainty: float
    log_loss: float
    log_loss_miscalibration: float
    log_loss_discrimination: float
    log_loss_uncertainty: float
    ece: float
    smooth_ece: float


def calibration_size(y_true: Any, y_prob: Any, *, pos_label: object = None) -> CalibrationSize:
    """Describe how far outcomes are from predicted probabilities, without a test.

    Parameters
    ----------
    y_true : array-like of shape (n,) or (n, 2)
        Labels, or successes and failures.
    y_prob : array-like of shape (n,)
        Predicted probabilities of the positive class.
    pos_label : object, optional
        The positive class of y_true.

    See Also
    --------
    calibration_test : whether it can be chance; its result has these numbers as ``size``.
    calibration_belt : limits of how far off they are, valid at every n.

    Examples
    --------
    >>> import numpy as np
    >>> import exactregion as er
    >>> rng = np.random.default_rng(0)
    >>> p = rng.uniform(size=1000)
    >>> size = er.calibration_size(rng.uniform(size=1000) < p, p**2)
    >>> round(size.difference, 2), round(size.slope, 1), round(size.smooth_ece, 2)
    (0.17, 0.8, 0.17)
    >>> parts = size.brier_miscalibration - size.brier_discrimination + size.brier_uncertainty
    >>> bool(np.isclose(parts, size.brier))
    True
    """
    outcomes, p = read_outcomes(y_true, pos_label, "y_true"), read_predictions(y_prob)
    return size_of(p, outcomes.successes, outcomes.trials)


def size_of(p: FloatArray, successes: IntArray, trials: IntArray) -> CalibrationSize:
    """Describe predictions (n,) and their outcomes (n,)."""
    # equal predictions are one: an isotonic regression gives them one value
    values, which = np.unique(p, return_inverse=True)
    sums = (np.bincount(which, counts, len(values)) for counts in (successes, trials))
    k, t = (each.astype(np.float64) for each in sums)
    p, k, t = values[t > 0], k[t > 0], t[t > 0]
    total = t.sum()
    observed, predicted = float(k.sum() / total), float(p @ t / total)
    intercept, slope = _recalibration(p, k, t)
    scores: dict[str, float] = {}
    for name, score in (("brier", _brier), ("log_loss", _log_loss)):
        scores |= {f"{name}{part}": value for part, value in _decomposed(score, p, k, t).items()}
    return CalibrationSize(
        n=int(total),
        observed=observed,
        predicted=predicted,
        difference=observed - predicted,
        intercept=intercept,
        slope=slope,
        **scores,
        ece=_binned(p, (k - t * p) / total),
        smooth_ece=_smooth(p, (k - t * p) / total),
    )


def _brier(q: FloatArray, k: FloatArray, t: FloatArray) -> float:
    return float((k * (1 - q) ** 2 + (t - k) * q**2).sum() / t.sum())


def _log_loss(q: FloatArray, k: FloatArray, t: FloatArray) -> float:
    return float(-(xlogy(k, q) + xlogy(t - k, 1 - q)).sum() / t.sum())


def _decomposed(
    score: Callable[[FloatArray, FloatArray, FloatArray], float],
    p: FloatArray,
    k: FloatArray,
    t: FloatArray,
) -> dict[str, float]:
    """Split a score of sorted predictions by that of their isotonic regression."""
    # rounding must not carry a mean of zeros and ones past them
    best = np.clip(isotonic_regression(k / t, weights=t).x, 0.0, 1.0)
    given, recalibrated = score(p, k, t), score(best, k, t)
    constant = score(np.full(len(p), k.sum() / t.sum()), k, t)
    return {
        "": given,
        "_miscalibration": given - recalibrated,
        "_discrimination": constant - recalibrated,
        "_uncertainty": constant,
    }


def _binned(p: FloatArray, residual: FloatArray) -> float:
    """Add up the sizes of the residuals of all bins, as shares of n."""
    bins = np.minimum((ECE_BINS * p).astype(np.int64), ECE_BINS - 1)
    return float(np.abs(np.bincount(bins, residual)).sum())


def _smooth(p: FloatArray, residual: FloatArray) -> float:
    """Find the σ that is its own smoothed calibration error, for shares of residuals at p."""
    # The Gaussian that is reflected at 0 and 1 has the cosines cos(πkt) for eigenfunctions, with
    # exp(-(πkσ)²/2): smoothing is a product after a cosine transform.
    cells = np.minimum((CELLS * p).astype(np.int64), CELLS - 1)
    waves = dct(np.bincount(cells, residual, CELLS), norm="ortho")
    frequencies = np.pi * np.arange(CELLS)

    def error(sigma: float) -> float:
        damped = waves * np.exp(-0.5 * (frequencies * sigma) ** 2)
        return float(np.abs(idct(damped, norm="ortho")).sum())

    # the error falls as σ grows, so that they meet once; it is at most 1
    return 0.0 if error(0.0) == 0 else float(brentq(lambda s: error(s) - s, 0.0, 1.0 + 1e-9))


def _recalibration(p: FloatArray, k: FloatArray, t: FloatArray) -> tuple[float, float]:
    """Return the most likely (a, b) of expit(a + b logit p); NaN where it is not finite."""
    use = (p > 0) & (p < 1)
    nothing = (float("nan"), float("nan"))
    p, k, t = p[use], k[use], t[use]
    scores = logit(p)
    succeeded, failed = scores[k > 0], scores[k < t]
    # where one prediction separates successes from failures, the likelihood has no maximum
    if (
        not (len(succeeded) and len(failed))
        or failed.max() <= succeeded.min()
        or succeeded.max() <= failed.min()
    ):
        return nothing
    X = np.column_stack([np.ones_like(scores), scores])
    theta = np.array([0.0, 1.0])

    def log_likelihood(theta: FloatArray) -> float:
        eta = X @ theta
        return float((k * eta - t * np.logaddexp(0.0, eta)).sum())

    value = log_likelihood(theta)
    for _ in range(STEPS):
        q = expit(X @ theta)
        gradient = X.T @ (k - t * q)
        information = (X * (t * q * (1 - q))[:, None]).T @ X
        step = np.linalg.lstsq(information, gradient)[0]
        if float(gradient @ step) < 1e-12:
            return float(theta[0]), float(theta[1])
        # the likelihood is concave: a part of the step is uphill where all of it goes too far
        while log_likelihood(theta + step) < value and np.abs(step).max() > 1e-12:
            step = step / 2
        theta = theta + step
        value = log_likelihood(theta)
    return nothing
