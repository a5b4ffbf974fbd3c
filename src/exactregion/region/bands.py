"""Bands of P(Y=1|x), decisions and risks, and where along an axis something holds."""

from __future__ import annotations

import hashlib
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from exactregion._typing import BoolArray, FloatArray, IntArray
from exactregion.data.files import Record
from exactregion.data.reading import collected, numeric, read_inputs
from exactregion.errors import InvalidValueError
from exactregion.models import LinearModel, Model
from exactregion.models.base import evaluated
from exactregion.models.fixed import fixed_probabilities, own_copy
from exactregion.region.bounds import focused_bounds, joint_bounds, number_bounds
from exactregion.region.fitted import FittedRegion
from exactregion.region.natural import natural_region
from exactregion.region.proofs.chart_bounds import LogitsAt
from exactregion.region.ratios import LinearRatios
from exactregion.region.search.ends import Bounds
from exactregion.region.search.extremes import Functionals
from exactregion.region.search.outline import estimate_of
from exactregion.region.status import status_of

if TYPE_CHECKING:
    from exactregion.plotting import BandDisplay

__all__ = [
    "LOGIT_END",
    "Band",
    "Risk",
    "band_at",
    "band_of_inputs",
    "decisions_at",
    "new_inputs",
    "positive_ranges",
    "probability_at",
    "risk_at",
    "runs",
    "status_with",
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


def band_at(
    fitted: FittedRegion, X: Any, *, joint: bool = True, certify: bool | None = None
) -> Band:
    """Find bounds of P(Y=1|x); see `ConfidenceRegion.band`."""
    return band_of_inputs(fitted, new_inputs(fitted, X), joint=joint, certify=certify)


def band_of_inputs(
    fitted: FittedRegion, inputs: FloatArray, *, joint: bool = True, certify: bool | None = None
) -> Band:
    """Find the band at inputs as the family takes them."""
    digest = hashlib.sha256(np.ascontiguousarray(inputs).tobytes()).digest()
    space = natural_region(fitted, certify) or fitted
    scale = _Scale.of(space, inputs)
    # the bounds are kept, not the band: its arrays belong to the user
    bounds = fitted.cached(
        ("band", joint, certify, inputs.shape, digest),
        lambda: scale.bounds(space, joint=joint, certify=certify),
    )
    return Band(
        inputs,
        scale.probabilities(bounds.lower),
        scale.probabilities(bounds.upper),
        fitted.model.probabilities(estimate_of(fitted)[0], inputs),
        fitted.accepted.coverage,
        joint,
        status_with(fitted, bounds),
        float(np.max(scale.gap(bounds), initial=0.0)),
        bool(bounds.certified.all()),
        bounds.probes,
        bounds.evaluations,
        bounds.seconds,
    )


def status_with(fitted: FittedRegion, bounds: Bounds) -> str:
    """Return the status of the region, unless the band itself is unsettled."""
    status = status_of(fitted).kind
    return "unsettled" if status != "empty" and not bounds.settled.all() else status


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


def probability_at(logit: FloatArray) -> FloatArray:
    """Turn logits into probabilities; past `LOGIT_END` they are certain."""
    with np.errstate(over="ignore"):
        P = 1 / (1 + np.exp(-logit))
    return np.where(logit >= LOGIT_END, 1.0, np.where(logit <= -LOGIT_END, 0.0, P))


def new_inputs(fitted: FittedRegion, X: Any) -> FloatArray:
    """Read new inputs; columns of a frame are taken by name, and through the formula."""
    X, design = collected(X), fitted.design
    if design is not None and design.takes(X):
        X = design.transform(X)
    elif design is not None and design.is_coded and not hasattr(X, "columns"):
        raise InvalidValueError(
            f"must be a frame with the columns {list(design.columns)}, since the "
            f"formula {design.formula!r} does not take them as they are. "
            f"Got {type(X).__name__} without names instead.",
            parameter="X",
        )
    values, names = read_inputs(X)
    known = fitted.sample.inputs.names
    matrix = numeric(values)
    table = matrix.reshape(len(matrix), -1)
    if table.shape[1] != len(known):
        raise InvalidValueError(
            f"must have the {len(known)} columns that fit was given, "
            f"{list(known)}. Got {table.shape[1]} instead.",
            parameter="X",
        )
    if hasattr(X, "columns") and names != known and set(names) == set(known):
        return np.ascontiguousarray(table[:, [names.index(name) for name in known]])
    given = numeric(fitted.sample.inputs.original.X).ndim
    return matrix if given == matrix.ndim else table


@dataclass(frozen=True, eq=False)
class _Scale:
    """The scale on which probabilities at new inputs are bounded.

    The linear predictor of a linear family, else the logit. Both have no bounds of their own, so
    that a search can tell whether there is an end.
    """

    model: Model
    inputs: FloatArray
    design: FloatArray | None

    @classmethod
    def of(cls, fitted: FittedRegion, inputs: FloatArray) -> _Scale:
        return cls(fitted.model, inputs, fitted.model.linear_design(inputs))

    def probabilities(self, values: FloatArray) -> FloatArray:
        """Turn values of this scale into probabilities."""
        if self.design is None or not isinstance(self.model, LinearModel):
            return probability_at(values)
        P = self.model.inverse_link(np.clip(values, -LOGIT_END, LOGIT_END))
        # past the end of doubles they are certain
        return np.where(values >= LOGIT_END, 1.0, np.where(values <= -LOGIT_END, 0.0, P))

    def gap(self, bounds: Bounds) -> FloatArray:
        """Return the distance of the ends from members as probabilities; 0 without an end."""
        lower_gap, upper_gap = bounds.gaps
        upper = self.probabilities(bounds.upper) - self.probabilities(bounds.upper - upper_gap)
        lower = self.probabilities(bounds.lower + lower_gap) - self.probabilities(bounds.lower)
        return np.nan_to_num(np.maximum(upper, lower))

    def bounds(self, fitted: FittedRegion, *, joint: bool, certify: bool | None) -> Bounds:
        """Bound the values at all inputs at once, or at each on its own."""
        rows = range(len(self.inputs))
        if joint:
            numbers: LinearRatios | LogitsAt = LogitsAt(self.inputs, len(rows), LOGIT_END)
            g: Functionals = self._values
            if self.design is not None:
                g = numbers = LinearRatios.linear(self.design)
            return joint_bounds(fitted, g, len(rows), numbers=numbers, certify=certify, each=True)
        return Bounds.joined([self._bounds_at(fitted, row, bool(certify)) for row in rows])

    def _bounds_at(self, fitted: FittedRegion, row: int, certify: bool) -> Bounds:
        if self.design is not None:
            return number_bounds(fitted, LinearRatios.linear(self.design[[row]]), certify)
        one = _Scale(self.model, self.inputs[row : row + 1], None)

        def gradient(theta: FloatArray) -> FloatArray:
            slope = self.model.logit_gradient(theta, one.inputs)[:, 0]
            return np.where(np.isfinite(slope), slope, 0.0)

        return focused_bounds(fitted, one._values, gradient)

    def _values(self, theta: FloatArray) -> FloatArray:
        P = evaluated(self.model, theta, self.inputs)
        with np.errstate(divide="ignore"):
            return np.asarray(np.clip(np.log(P) - np.log1p(-P), -LOGIT_END, LOGIT_END))


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
