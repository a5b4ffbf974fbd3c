"""Decisions that all members of a region agree on, and the risk of misclassification."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from exactregion._typing import FloatArray, IntArray
from exactregion.data.files import Record
from exactregion.errors import InvalidValueError
from exactregion.models.base import evaluated
from exactregion.models.fixed import fixed_probabilities, own_copy
from exactregion.region.bands import band_at
from exactregion.region.bounds import joint_bounds
from exactregion.region.fitted import FittedRegion

__all__ = ["Risk", "decisions_at", "risk_at"]


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


def decisions_at(fitted: FittedRegion, X: Any) -> IntArray:
    """Decide where the region allows one class only; see `ConfidenceRegion.classify`."""
    band = band_at(fitted, X)
    return np.where(band.lower > 0.5, 1, np.where(band.upper < 0.5, -1, 0))


def risk_at(fitted: FittedRegion, X: Any, classifier: Any = None) -> Risk:
    """Bound the probability of misclassification; see `ConfidenceRegion.risk`."""
    started = time.perf_counter()
    band = band_at(fitted, X)
    decided = None if classifier is None else _decisions(classifier, X, len(band.X), fitted)

    def error(P: FloatArray) -> FloatArray:
        if decided is None:
            return np.minimum(P, 1 - P)
        return np.where(decided > 0, 1 - P, P)

    def mean_error(theta: FloatArray) -> FloatArray:
        errors = error(evaluated(fitted.model, theta, band.X))
        return np.asarray(errors.mean(axis=1, keepdims=True))

    at_ends = np.stack([error(band.lower), error(band.upper)])
    lowest, highest = at_ends.min(axis=0), at_ends.max(axis=0)
    if decided is None:
        highest = np.where((band.lower <= 0.5) & (band.upper >= 0.5), 0.5, highest)
    mean = joint_bounds(fitted, mean_error, 1)
    pointwise = error(band.estimate)
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
