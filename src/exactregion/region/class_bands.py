"""Bounds of the probability of each class, over the members of a family of several classes."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.special import logsumexp

from exactregion._typing import FloatArray
from exactregion.data.files import Record
from exactregion.models import ClassModel
from exactregion.models.base import as_matrix
from exactregion.region.bands import LOGIT_END, new_inputs, probability_at, status_with
from exactregion.region.bounds import focused_bounds, joint_bounds
from exactregion.region.fitted import FittedRegion
from exactregion.region.predictions import outside_data
from exactregion.region.search.ends import Bounds
from exactregion.region.search.outline import estimate_of

if TYPE_CHECKING:
    import pandas as pd

    from exactregion.plotting.class_curves import ClassBandDisplay

__all__ = ["ClassBand", "class_band_at", "class_predictions_at"]


@dataclass(frozen=True, eq=False)
class ClassBand(Record):
    """Bounds of P(Y = c | x) for each class c at inputs x.

    Attributes
    ----------
    X : ndarray of shape (n,) or (n, d)
        The inputs.
    classes : tuple
        The C classes, in the order of the columns below.
    lower, upper, estimate : ndarrays of shape (n, C)
        Bounds, and the value at the estimate.
    coverage, joint : float and bool
        P(the true probabilities are within the bounds), at least: of all classes at all inputs at
        once if `joint`, else of each class at each input.
    status : str
        That of the region; "unsettled" if a search kept missing members outside the band.
    gap : float
        Largest distance, in probability, of an end from a member.
    certified : bool
        Whether it is proven that no member leaves the band. These bands are searched.
    probes, evaluations, seconds : int, int and float
        Number of θ drawn at random to audit the search, number evaluated, and time taken.
    """

    X: FloatArray
    classes: tuple[Any, ...]
    lower: FloatArray
    upper: FloatArray
    estimate: FloatArray
    coverage: float
    joint: bool
    status: str
    gap: float
    certified: bool
    probes: int = field(repr=False)
    evaluations: int = field(repr=False)
    seconds: float = field(repr=False)

    def plot(self, **kwargs: Any) -> ClassBandDisplay:
        """Draw the band of each class along one input: needs matplotlib.

        Parameters
        ----------
        **kwargs
            For `ClassBandDisplay.from_band`: ``name``, ``ax`` and others.
        """
        from exactregion.plotting.class_curves import ClassBandDisplay

        return ClassBandDisplay.from_band(self, **kwargs)


def class_band_at(fitted: FittedRegion, X: Any, *, joint: bool = True) -> ClassBand:
    """Bound the probability of each class at new inputs; see `ConfidenceRegion.band`."""
    inputs = new_inputs(fitted, X)
    model, bounds = _model(fitted), _bounds(fitted, inputs, joint=joint)
    shape = len(inputs), len(model.labels)
    ends = [bounds.lower, bounds.upper]
    at_members = [bounds.lower + bounds.gaps[0], bounds.upper - bounds.gaps[1]]
    pairs = zip(ends, at_members, strict=True)
    gaps = [np.abs(probability_at(end) - probability_at(member)) for end, member in pairs]
    return ClassBand(
        inputs,
        model.labels,
        probability_at(bounds.lower).reshape(shape),
        probability_at(bounds.upper).reshape(shape),
        model.probabilities(estimate_of(fitted)[0], inputs),
        fitted.accepted.coverage,
        joint,
        status_with(fitted, bounds),
        float(np.nan_to_num(gaps).max(initial=0.0)),
        bool(bounds.certified.all()),
        bounds.probes,
        bounds.evaluations,
        bounds.seconds,
    )


def class_predictions_at(fitted: FittedRegion, X: Any) -> pd.DataFrame:
    """Return estimates and limits, one row per input and class; see `ConfidenceRegion.predict`."""
    import pandas as pd

    inputs = new_inputs(fitted, X)
    # equal rows are bounded once
    distinct, place = np.unique(inputs, axis=0, return_inverse=True)
    rows, place = np.ascontiguousarray(distinct), place.reshape(-1)
    alone = class_band_at(fitted, rows, joint=False)
    together = class_band_at(fitted, rows)
    n, C = len(inputs), len(alone.classes)
    index = getattr(X, "index", None)
    index = index if isinstance(index, pd.Index) else pd.RangeIndex(n)
    return pd.DataFrame(
        {
            "class": list(alone.classes) * n,
            "estimate": alone.estimate[place].ravel(),
            "lower": alone.lower[place].ravel(),
            "upper": alone.upper[place].ravel(),
            "simultaneous_lower": together.lower[place].ravel(),
            "simultaneous_upper": together.upper[place].ravel(),
            "extrapolates": np.repeat(outside_data(fitted, X, inputs), C),
            "certified": alone.certified,
            "simultaneous_certified": together.certified,
        },
        index=index.repeat(C),
    )


def _model(fitted: FittedRegion) -> ClassModel:
    assert isinstance(fitted.model, ClassModel)
    return fitted.model


def _bounds(fitted: FittedRegion, inputs: FloatArray, *, joint: bool) -> Bounds:
    """Bound the logits of all classes at all inputs, (n C,); kept for the next call."""
    model, x = _model(fitted), as_matrix(inputs)

    def logits(theta: FloatArray, rows: FloatArray = x) -> FloatArray:
        """Compute log P - log(1 - P), where 1 - P is the sum of the others: shape (T, n C)."""
        with np.errstate(all="ignore"):
            logs = model.log_probabilities(theta, rows)
            others = [
                logsumexp(np.delete(logs, c, axis=-1), axis=-1) for c in range(logs.shape[-1])
            ]
            values = logs - np.stack(others, axis=-1)
        return np.asarray(np.clip(values, -LOGIT_END, LOGIT_END).reshape(len(theta), -1))

    def of_one(row: int, c: int) -> Bounds:
        def value(theta: FloatArray) -> FloatArray:
            return logits(theta, x[row : row + 1])[:, [c]]

        def gradient(theta: FloatArray) -> FloatArray:
            return model.score_of(theta, x[row : row + 1], c)[:, 0]

        return focused_bounds(fitted, value, gradient)

    def find() -> Bounds:
        n, C = len(x), len(model.labels)
        if joint:
            return joint_bounds(fitted, logits, n * C, each=True)
        return Bounds.joined([of_one(row, c) for row in range(n) for c in range(C)])

    digest = hashlib.sha256(np.ascontiguousarray(x).tobytes()).digest()
    return fitted.cached(("class band", joint, x.shape, digest), find)
