"""Decisions that all members of a region agree on, and the risk of misclassification."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from exactregion._typing import FloatArray, IntArray
from exactregion.data.files import Record
from exactregion.errors import InvalidValueError
from exactregion.models import LinearModel
from exactregion.models.base import evaluated
from exactregion.models.fixed import fixed_probabilities, own_copy
from exactregion.region.bands import band_at
from exactregion.region.bounds import joint_bounds
from exactregion.region.fitted import FittedRegion
from exactregion.region.intervals import natural_region
from exactregion.region.ratios import both_signs
from exactregion.region.window import Window, multiply

__all__ = ["Risk", "decisions_at", "risk_at"]

MOST_INPUTS = 2000
"""Inputs up to which bounds of the mean are proven: each box is bounded at all of them."""


@dataclass(frozen=True, eq=False)
class Risk(Record):
    """Bounds of the probability of misclassification.

    Attributes
    ----------
    lower, upper, estimate : float
        On average over the inputs.
    pointwise_lower, pointwise_upper, pointwise_estimate : ndarrays of shape (n,)
        At each input; all hold at once.
    coverage : float
        P(all bounds hold), at least.
    status, gap, certified, evaluations, seconds : str, float, bool, int and float
        As of a `Band`.
    """

    lower: float
    upper: float
    estimate: float
    pointwise_lower: FloatArray = field(repr=False)
    pointwise_upper: FloatArray = field(repr=False)
    pointwise_estimate: FloatArray = field(repr=False)
    coverage: float
    status: str
    gap: float = field(repr=False)
    certified: bool
    evaluations: int = field(repr=False)
    seconds: float = field(repr=False)


@dataclass(frozen=True, eq=False)
class MeanError:
    """The mean error of decisions (n,) at inputs with this design (n, d), or of the best ones."""

    model: LinearModel
    design: FloatArray
    decided: IntArray | None

    def in_window(self, window: Window) -> _MeanErrorOverBoxes:
        """Return it as a function of the coordinates of a window."""
        return _MeanErrorOverBoxes(self, self.design @ window.origin, self.design @ window.axes)


@dataclass(frozen=True, eq=False)
class _MeanErrorOverBoxes:
    of: MeanError
    start: FloatArray  # (n,)
    slope: FloatArray  # (n, d)

    far = np.inf
    open_length = np.ones(2)

    def at(self, z: FloatArray) -> FloatArray:
        P = self.of.model.inverse_link(self.start + multiply(z, self.slope.T))
        mean = errors_of(P, self.of.decided).mean(axis=1, keepdims=True)
        return both_signs(mean, -mean)

    def top(self, centre: FloatArray, half: FloatArray) -> FloatArray:
        eta, spread = self.start + centre @ self.slope.T, half @ np.abs(self.slope).T
        low, high = (self.of.model.inverse_link(end) for end in (eta - spread, eta + spread))
        ends = lowest_and_highest(low, high, self.of.decided)
        lowest, highest = (each.mean(axis=1, keepdims=True) for each in ends)
        # more than the rounding errors of predictors, links and sums
        return both_signs(highest + 1e-9, 1e-9 - lowest)


def errors_of(P: FloatArray, decided: IntArray | None) -> FloatArray:
    """Return the probability of an error for P(Y=1|x) (…, n), by decisions or the best ones."""
    if decided is None:
        return np.minimum(P, 1 - P)
    return np.where(decided > 0, 1 - P, P)


def lowest_and_highest(
    low: FloatArray, high: FloatArray, decided: IntArray | None
) -> tuple[FloatArray, FloatArray]:
    """Bound the probability of an error for P(Y=1|x) between two ends (…, n)."""
    at_ends = errors_of(low, decided), errors_of(high, decided)
    lowest, highest = np.minimum(*at_ends), np.maximum(*at_ends)
    if decided is None:
        highest = np.where((low <= 0.5) & (high >= 0.5), 0.5, highest)
    return lowest, highest


def decisions_at(fitted: FittedRegion, X: Any) -> IntArray:
    """Decide where the region allows one class only; see `ConfidenceRegion.classify`."""
    band = band_at(fitted, X)
    return np.where(band.lower > 0.5, 1, np.where(band.upper < 0.5, -1, 0))


def risk_at(fitted: FittedRegion, X: Any, classifier: Any = None) -> Risk:
    """Bound the probability of misclassification; see `ConfidenceRegion.risk`."""
    started = time.perf_counter()
    band = band_at(fitted, X)
    decided = None if classifier is None else _decisions(classifier, X, len(band.X), fitted)

    space = natural_region(fitted, None) or fitted
    model, design = space.model, space.model.linear_design(band.X)

    def mean_error(theta: FloatArray) -> FloatArray:
        errors = errors_of(evaluated(model, theta, band.X), decided)
        return np.asarray(errors.mean(axis=1, keepdims=True))

    number = None
    if design is not None and isinstance(model, LinearModel) and len(design) <= MOST_INPUTS:
        number = MeanError(model, design, decided)
    lowest, highest = lowest_and_highest(band.lower, band.upper, decided)
    mean = joint_bounds(space, mean_error, 1, numbers=number, certify=None)
    pointwise = errors_of(band.estimate, decided)
    return Risk(
        float(np.clip(mean.lower[0], lowest.mean(), 1.0)),
        float(np.clip(mean.upper[0], 0.0, highest.mean())),
        float(pointwise.mean()),
        lowest,
        highest,
        pointwise,
        fitted.accepted.coverage,
        band.status,
        max(band.gap, float(mean.gap[0])),
        band.certified and bool(mean.certified[0]),
        band.evaluations + mean.evaluations,
        time.perf_counter() - started,
    )


def _decisions(classifier: Any, X: Any, n: int, fitted: FittedRegion) -> IntArray:
    """Return the decisions of labels, a callable or an estimator as -1/+1."""
    classes = fitted.sample.classes
    if hasattr(classifier, "predict_proba"):
        return np.where(fixed_probabilities(classifier, X, n, classes) > 0.5, 1, -1)
    labels = np.asarray(classifier(own_copy(X)) if callable(classifier) else classifier)
    positive = labels == (classes[1] if classes is not None else 1)
    if labels.shape != (n,) or (classes is None and not np.isin(labels, (-1, 0, 1)).all()):
        raise InvalidValueError(
            f"must give one class per row, shape ({n},). Got shape {labels.shape} instead.",
            parameter="classifier",
        )
    return np.where(positive, 1, -1)
