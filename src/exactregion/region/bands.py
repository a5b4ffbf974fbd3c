"""Bands of P(Y=1|x), decisions and risks."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import numpy as np

from exactregion._typing import FloatArray, IntArray
from exactregion.data.reading import numeric, read_inputs
from exactregion.errors import InvalidValueError
from exactregion.models.fixed import fixed_probabilities
from exactregion.region.extremes import Functionals
from exactregion.region.reach import Reach, focused_reach, joint_reach, outline
from exactregion.region.results import Band, Risk

if TYPE_CHECKING:
    from exactregion.region import ConfidenceRegion

__all__ = ["LOGIT_END", "band", "classify", "probability_at", "risk"]

LOGIT_END = 700.0
"""Logits past this are the probabilities 0 and 1 to the last digit."""


def _new_inputs(region: ConfidenceRegion, X: Any) -> FloatArray:
    """Read new inputs; columns of a frame are taken by name, and through the formula."""
    design = region.fitted_.design
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
    known = region.fitted_.sample.inputs.names
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
    given = numeric(region.fitted_.sample.inputs.X).ndim
    return matrix if given == matrix.ndim else table


def band(region: ConfidenceRegion, X: Any, *, joint: bool = True) -> Band:
    """Find bounds of P(Y=1|x); see `ConfidenceRegion.band`."""
    begun = time.perf_counter()
    inputs = _new_inputs(region, X)
    model = region.model_
    found = outline(region)
    estimate = model.probabilities(found.estimate, inputs)

    def logits(theta: FloatArray) -> FloatArray:
        P = model.evaluate(theta, inputs)
        with np.errstate(divide="ignore"):
            return np.asarray(np.clip(np.log(P) - np.log1p(-P), -LOGIT_END, LOGIT_END))

    n = len(inputs)
    reach = joint_reach(region, logits, n) if joint else _pointwise(region, inputs, logits)
    lower, upper, gaps, asked = _ends(reach, n)
    # a step of the logit moves the probability by a quarter of it at most
    resolution = float(np.max(gaps, initial=0.0)) / 4
    seconds = time.perf_counter() - begun
    return Band(
        inputs,
        probability_at(lower),
        probability_at(upper),
        estimate,
        region.coverage_,
        joint,
        found.status,
        resolution,
        asked,
        seconds,
    )


def _ends(reach: Reach | None, n: int) -> tuple[FloatArray, FloatArray, FloatArray, int]:
    if reach is None:
        return np.full(n, np.nan), np.full(n, np.nan), np.full(n, np.nan), 0
    return reach.lower, reach.upper, reach.resolution, reach.evaluations


def _pointwise(region: ConfidenceRegion, inputs: FloatArray, logits: Functionals) -> Reach:
    """Reach of the logit at each input on its own."""
    columns, asked, begun = [], 0, time.perf_counter()
    for row in range(len(inputs)):
        here = inputs[row : row + 1]

        def gradient(theta: FloatArray, here: FloatArray = here) -> FloatArray:
            slope = region.model_.logit_gradient(theta, here)[:, 0]
            return np.where(np.isfinite(slope), slope, 0.0)

        def here_only(theta: FloatArray, row: int = row) -> FloatArray:
            return logits(theta)[:, [row]]

        lower, upper, gap, count = _ends(focused_reach(region, here_only, gradient), 1)
        columns.append((lower[0], upper[0], gap[0]))
        asked += count
    lower, upper, gaps = np.array(columns).reshape(-1, 3).T
    return Reach(lower, upper, gaps, asked, time.perf_counter() - begun)


def probability_at(logit: FloatArray) -> FloatArray:
    """Turn logits into probabilities; past `LOGIT_END` they are certain."""
    with np.errstate(over="ignore"):
        P = 1 / (1 + np.exp(-logit))
    return np.where(logit >= LOGIT_END, 1.0, np.where(logit <= -LOGIT_END, 0.0, P))


def classify(region: ConfidenceRegion, X: Any) -> IntArray:
    """Decide where the region allows one class only; see `ConfidenceRegion.classify`."""
    bounds = band(region, X)
    return np.where(bounds.lower > 0.5, 1, np.where(bounds.upper < 0.5, -1, 0))


def risk(region: ConfidenceRegion, X: Any, classifier: Any = None) -> Risk:
    """Bound the probability of misclassification; see `ConfidenceRegion.risk`."""
    begun = time.perf_counter()
    inputs = _new_inputs(region, X)
    model = region.model_
    bounds = band(region, X)
    decided = None if classifier is None else _decisions(classifier, X, len(inputs), region)

    def error(P: FloatArray) -> FloatArray:
        if decided is None:
            return np.minimum(P, 1 - P)
        return np.where(decided > 0, 1 - P, P)

    at_ends = np.stack([error(bounds.lower), error(bounds.upper)])
    highest = at_ends.max(axis=0)
    if decided is None:
        highest = np.where((bounds.lower <= 0.5) & (bounds.upper >= 0.5), 0.5, highest)
    reach = joint_reach(
        region, lambda theta: error(model.evaluate(theta, inputs)).mean(axis=1, keepdims=True), 1
    )
    lower, upper, gaps, asked = _ends(reach, 1)
    pointwise = error(bounds.estimate)
    return Risk(
        float(np.clip(lower[0], at_ends.min(axis=0).mean(), 1.0)),
        float(np.clip(upper[0], 0.0, highest.mean())),
        float(pointwise.mean()),
        at_ends.min(axis=0),
        highest,
        pointwise,
        region.coverage_,
        bounds.status,
        max(bounds.resolution, float(gaps[0])),
        bounds.evaluations + asked,
        time.perf_counter() - begun,
    )


def _decisions(classifier: Any, X: Any, n: int, region: ConfidenceRegion) -> IntArray:
    """Ask a classifier for its decisions as -1/+1: labels, a callable, or an estimator."""
    if hasattr(classifier, "predict_proba"):
        classes = region.fitted_.sample.classes
        return np.where(fixed_probabilities(classifier, X, n, classes) > 0.5, 1, -1)
    labels = np.asarray(classifier(X) if callable(classifier) else classifier)
    known = region.fitted_.sample.classes
    positive = labels == (known[1] if known is not None else 1)
    if labels.shape != (n,) or (known is None and not np.isin(labels, (-1, 0, 1)).all()):
        raise InvalidValueError(
            f"must give one class a row, shape ({n},). Got shape {labels.shape} instead.",
            parameter="classifier",
        )
    return np.where(positive, 1, -1)
