"""Bands of P(Y=1|x), or of P(Y=c|x) for each class, and predictions with their limits."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.special import logsumexp

from exactregion._typing import BoolArray, FloatArray
from exactregion.data.files import Record
from exactregion.models import ClassModel, LinearModel, Model
from exactregion.models.base import as_matrix, evaluated
from exactregion.region.bounds import focused_bounds, joint_bounds, number_bounds
from exactregion.region.fitted import FittedRegion
from exactregion.region.intervals import natural_region, status_of
from exactregion.region.places import new_inputs, outside_data
from exactregion.region.proofs.chart_bounds import LogitsAt
from exactregion.region.proofs.splitting import readable_probabilities
from exactregion.region.ratios import LinearRatios
from exactregion.region.search.ends import Bounds
from exactregion.region.search.outline import estimate_of

if TYPE_CHECKING:
    import pandas as pd

    from exactregion.plotting import BandDisplay
    from exactregion.plotting.class_curves import ClassBandDisplay

__all__ = [
    "Band",
    "ClassBand",
    "band_at",
    "positive_ranges",
    "predictions_at",
    "probability_at",
    "runs",
]

LOGIT_END = 700.0
"""Logits past this are the probabilities 0 and 1 to the last digit; exp overflows at 709."""


@dataclass(frozen=True, eq=False)
class Band(Record):
    """Bounds of P(Y=1|x) at given inputs.

    Attributes
    ----------
    X : ndarray of shape (n,) or (n, d)
        The inputs.
    lower, upper, estimate : ndarrays of shape (n,)
        Bounds, and the value at the estimate.
    coverage, joint : float and bool
        P(the true curve is within the bounds), at least: at all inputs at once if `joint`, else at
        each of them.
    status : str
        That of the region; "unsettled" if a search kept missing members outside the band.
    gap : float
        Largest distance, in probability, of an end from a member.
    certified : bool
        Whether it is proven that no member leaves the band; else it was searched.
    probes : int
        Number of θ drawn at random to audit a search.
    evaluations, seconds : int and float
        Number of θ evaluated, and time taken.
    """

    X: FloatArray
    lower: FloatArray
    upper: FloatArray
    estimate: FloatArray
    coverage: float
    joint: bool
    status: str
    gap: float
    certified: bool
    probes: int
    evaluations: int
    seconds: float

    def plot(self, data: tuple[Any, Any] | None = None, **kwargs: Any) -> BandDisplay:
        """Draw the band: needs matplotlib, ``pip install exactregion[plot]``.

        Parameters
        ----------
        data : (x, y), optional
            Data to draw: one input column, and labels or (successes, failures).
        **kwargs
            For `BandDisplay.from_band`: ``name``, ``ax`` and others.
        """
        from exactregion.plotting import BandDisplay

        return BandDisplay.from_band(self, data=data, **kwargs)


@dataclass(frozen=True, eq=False)
class ClassBand(Band):
    """Bounds of P(Y=c|x) for each of C classes at given inputs.

    It has all that a `Band` has. A joint one covers all classes at all inputs at once, others each
    class at each input. These bands are searched, never proven.

    Attributes
    ----------
    lower, upper, estimate : ndarrays of shape (n, C)
        Bounds, and the value at the estimate.
    classes : tuple
        The C classes, in the order of the columns.
    """

    classes: tuple[Any, ...]

    def plot(  # type: ignore[override]
        self, data: tuple[Any, Any] | None = None, **kwargs: Any
    ) -> ClassBandDisplay:
        """Draw the band of each class along one input: needs matplotlib.

        Parameters
        ----------
        data : (x, codes), optional
            Data to draw: one input column, and the number of the class of each row.
        **kwargs
            For `ClassBandDisplay.from_band`: ``name``, ``ax`` and others.
        """
        from exactregion.plotting.class_curves import ClassBandDisplay

        return ClassBandDisplay.from_band(self, data=data, **kwargs)


def band_at(
    fitted: FittedRegion, X: Any, *, joint: bool = True, certify: bool | None = None
) -> Band:
    """Find bounds of probabilities at new inputs; see `ConfidenceRegion.band`."""
    return _band(fitted, new_inputs(fitted, X), joint=joint, certify=certify)


def predictions_at(fitted: FittedRegion, X: Any, certify: bool | None = None) -> pd.DataFrame:
    """Return estimates and limits at new inputs; see `ConfidenceRegion.predict`."""
    import pandas as pd

    inputs = new_inputs(fitted, X)
    # equal rows are bounded once
    distinct, row = np.unique(inputs, axis=0, return_inverse=True)
    distinct, row = np.ascontiguousarray(distinct), row.reshape(-1)
    alone = _band(fitted, distinct, joint=False, certify=certify)
    together = _band(fitted, distinct, joint=True, certify=certify)
    index = getattr(X, "index", None)
    index = index if isinstance(index, pd.Index) else pd.RangeIndex(len(inputs))
    outside = outside_data(fitted, X, inputs)
    classes = {}
    if isinstance(alone, ClassBand):
        C, classes = len(alone.classes), {"class": list(alone.classes) * len(inputs)}
        index, outside = index.repeat(C), outside.repeat(C)
    return pd.DataFrame(
        {
            **classes,
            "estimate": fitted.model.probabilities(estimate_of(fitted)[0], inputs).ravel(),
            "lower": alone.lower[row].ravel(),
            "upper": alone.upper[row].ravel(),
            "simultaneous_lower": together.lower[row].ravel(),
            "simultaneous_upper": together.upper[row].ravel(),
            "extrapolates": outside,
            "certified": alone.certified,
            "simultaneous_certified": together.certified,
        },
        index=index,
    )


def _band(fitted: FittedRegion, inputs: FloatArray, *, joint: bool, certify: bool | None) -> Band:
    """Find the band at inputs as the family takes them."""
    model = fitted.model
    certify = False if isinstance(model, ClassModel) else certify
    space = natural_region(fitted, certify) or fitted
    digest = hashlib.sha256(np.ascontiguousarray(inputs).tobytes()).digest()
    # the bounds are kept, not the band: its arrays belong to the user
    bounds = fitted.cached(
        ("band", joint, certify, inputs.shape, digest),
        lambda: _bounds(space, inputs, joint=joint, certify=certify),
    ).mapped(partial(_probabilities, space.model))
    estimate = model.probabilities(estimate_of(fitted)[0], inputs)
    status = status_of(fitted).kind
    found = Band(
        inputs,
        bounds.lower.reshape(estimate.shape),
        bounds.upper.reshape(estimate.shape),
        estimate,
        fitted.accepted.coverage,
        joint,
        status if status == "empty" or bounds.settled.all() else "unsettled",
        float(bounds.gap.max(initial=0.0)),
        bool(bounds.certified.all()),
        bounds.probes,
        bounds.evaluations,
        bounds.seconds,
    )
    if isinstance(model, ClassModel):
        return ClassBand(**vars(found), classes=model.labels)
    return found


def _bounds(
    fitted: FittedRegion, inputs: FloatArray, *, joint: bool, certify: bool | None
) -> Bounds:
    """Bound the linear predictors at inputs, or else the logits: of all at once or each alone."""
    # neither has bounds of its own, so that a search can tell whether there is an end
    model, design = fitted.model, fitted.model.linear_design(inputs)
    scale = partial(readable_probabilities, model)
    if design is not None:
        numbers = LinearRatios.linear(design)
        if joint:
            return joint_bounds(
                fitted,
                numbers,
                len(design),
                numbers=numbers,
                certify=certify,
                each=True,
                scale=scale,
            )
        rows = [numbers[row : row + 1] for row in range(len(design))]
        return Bounds.joined([number_bounds(fitted, row, bool(certify), scale) for row in rows])
    n, C = len(inputs), len(model.labels) if isinstance(model, ClassModel) else 1
    if joint:
        return joint_bounds(
            fitted,
            lambda theta: _logits(model, theta, inputs),
            n * C,
            numbers=LogitsAt(inputs, n, LOGIT_END) if C == 1 else None,
            certify=certify,
            each=True,
            scale=scale,
        )
    return Bounds.joined(
        [_focused(fitted, inputs[row : row + 1], c) for row in range(n) for c in range(C)]
    )


def _focused(fitted: FittedRegion, one: FloatArray, c: int) -> Bounds:
    """Bound the logit at one input, or that of class number c if there are several."""
    model = fitted.model

    def gradient(theta: FloatArray) -> FloatArray:
        if isinstance(model, ClassModel):
            slope = model.score_of(theta, as_matrix(one), c)[:, 0]
        else:
            slope = model.logit_gradient(theta, one)[:, 0]
        return np.where(np.isfinite(slope), slope, 0.0)

    return focused_bounds(fitted, lambda theta: _logits(model, theta, one)[:, [c]], gradient)


def _logits(model: Model, theta: FloatArray, inputs: FloatArray) -> FloatArray:
    """Compute log P - log(1 - P) for θ (T, d): shape (T, n), or (T, n C) for C classes."""
    if isinstance(model, ClassModel):
        with np.errstate(all="ignore"):
            logs = model.log_probabilities(theta, as_matrix(inputs))
            # 1 - P is the sum of the others: the difference would lose its digits near one
            others = [
                logsumexp(np.delete(logs, c, axis=-1), axis=-1) for c in range(logs.shape[-1])
            ]
            values = (logs - np.stack(others, axis=-1)).reshape(len(theta), -1)
    else:
        P = evaluated(model, theta, inputs)
        with np.errstate(divide="ignore"):
            values = np.log(P) - np.log1p(-P)
    return np.asarray(np.clip(values, -LOGIT_END, LOGIT_END))


def _probabilities(model: Model, values: FloatArray) -> FloatArray:
    """Turn linear predictors of a linear family into probabilities, and logits of others."""
    if not isinstance(model, LinearModel):
        return probability_at(values)
    P = model.inverse_link(np.clip(values, -LOGIT_END, LOGIT_END))
    # past the end of doubles they are certain
    return np.where(values >= LOGIT_END, 1.0, np.where(values <= -LOGIT_END, 0.0, P))


def probability_at(logit: FloatArray) -> FloatArray:
    """Turn logits into probabilities; past `LOGIT_END` they are certain."""
    with np.errstate(over="ignore"):
        P = 1 / (1 + np.exp(-logit))
    return np.where(logit >= LOGIT_END, 1.0, np.where(logit <= -LOGIT_END, 0.0, P))


def runs(mask: BoolArray) -> list[tuple[int, int]]:
    """Return the first and last index of each run of true values.

    Examples
    --------
    >>> runs(np.array([True, False, True, True]))
    [(0, 0), (2, 3)]
    """
    steps = np.diff(np.concatenate([[False], mask, [False]]).astype(np.int8))
    firsts, lasts = np.flatnonzero(steps == 1), np.flatnonzero(steps == -1) - 1
    return list(zip(firsts.tolist(), lasts.tolist(), strict=True))


def positive_ranges(x: FloatArray, *curves: FloatArray) -> list[tuple[float, float]]:
    """Return the ranges of ascending x on which all curves are positive, by linear interpolation.

    Examples
    --------
    >>> x = np.array([0.0, 1.0, 2.0, 3.0])
    >>> positive_ranges(x, np.array([-1.0, 1.0, 3.0, 1.0]), np.array([3.0, 2.0, 1.0, -1.0]))
    [(0.5, 2.5)]
    """
    if len(x) == 1:
        return [(float(x[0]),) * 2] if all(curve[0] > 0 for curve in curves) else []
    knots = np.unique(np.concatenate([x, *(_zeros(x, curve) for curve in curves)]))
    between = (knots[:-1] + knots[1:]) / 2
    holds = np.all([np.interp(between, x, curve) > 0 for curve in curves], axis=0)
    return [(float(knots[first]), float(knots[last + 1])) for first, last in runs(holds)]


def _zeros(x: FloatArray, values: FloatArray) -> FloatArray:
    """Return where straight lines between the points cross 0."""
    crossing = np.flatnonzero(values[:-1] * values[1:] < 0)
    share = values[crossing] / (values[crossing] - values[crossing + 1])
    return np.asarray(x[crossing] + share * (x[crossing + 1] - x[crossing]))
