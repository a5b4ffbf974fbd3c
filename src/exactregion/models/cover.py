"""A cover: members of a family that stand for all of it, chosen by the inputs alone.

Distances between members are those between their probabilities, on the scale 2√t arcsin √p, where
one is about a standard error whatever p is. The cover is found by random steps from members that
are known, and by keeping those that lie farthest apart.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from exactregion._typing import FloatArray
from exactregion.data.sample import Inputs
from exactregion.models.base import Model, evaluated

__all__ = [
    "clipped_logit",
    "cover_of",
    "far_apart",
    "on_scale_of_errors",
    "rows_for",
    "standard_steps",
    "starting_points",
]

ROWS = 64
"""Most rows by which members are compared: curves that agree there hardly differ elsewhere."""

STARTS, ROUNDS, PROPOSALS, KEPT = 16, 5, 1024, 256
"""Random starts beside the middle of the bounds, rounds, steps per round, and members kept after
each. They reach all parts of a family: more rounds bring no member nearer to the others."""

LAST = 4
"""Steps of the last round, in multiples of the number of members wanted: these are chosen among
them, and with few to choose from they lie less evenly."""

SHORTEST, DOUBLINGS = 0.5, 6.0
"""Steps are from half a standard error to 32 of them: less finds nothing new, and a few such steps
lead from one end of a family to the other."""

LEAST_APART = 1.0
"""Members closer than this many standard errors are as good as one: half way between two of them
the log-likelihood is less than at the maximum by 1/8."""

FLAT = 1e-4
"""Least information on a parameter, as a share of the largest among the members known: a standard
error is finite where a member is flat."""

LARGEST = 1e100
"""Gradients beyond count as infinite: their squares overflow, and their rows are certain."""

EIGENVALUE = 1e-12
"""Least eigenvalue of the information on the scale of a unit diagonal. An input far from zero, such
as a year, leaves little information between intercept and slope; less than this is rounding."""


def cover_of(model: Model, inputs: Inputs, size: int) -> FloatArray:
    """Return at most `size` members that lie far apart: θ of shape (K, d).

    The same inputs and family give the same cover.
    """
    rows, trials = rows_for(inputs)
    rng = np.random.default_rng(1)
    low, high = np.array(model.bounds, dtype=np.float64).T
    theta = np.array(starting_points(model, STARTS, always=True))
    rounds = [(PROPOSALS, min(size, KEPT))] * ROUNDS + [(LAST * size, size)]
    for number, kept in rounds:
        axes = standard_steps(model, theta, rows, trials)
        start = rng.integers(len(theta), size=number)
        length = SHORTEST * 2 ** rng.uniform(0, DOUBLINGS, number)
        z = length[:, None] * rng.standard_normal((number, theta.shape[1]))
        steps = np.einsum("tab,tb->ta", axes[start], z)
        theta = np.vstack([theta, np.clip(theta[start] + steps, low, high)])
        points = on_scale_of_errors(model, theta, rows, trials)
        usable = np.isfinite(points).all(axis=1)
        theta = theta[usable][far_apart(points[usable], kept, LEAST_APART)]
    return theta


def on_scale_of_errors(model: Model, theta: FloatArray, X: Any, trials: FloatArray) -> FloatArray:
    """Return the probabilities at θ (T, d) on a scale of standard errors: shape (T, n)."""
    P = _probabilities(model, theta, X)
    P = np.where(np.isfinite(P), np.clip(P, 0.0, 1.0), np.nan)
    return np.asarray(2 * np.sqrt(trials) * np.arcsin(np.sqrt(P)))


def rows_for(inputs: Inputs) -> tuple[Any, FloatArray]:
    """Return some rows, evenly spaced in canonical order, and trials that add up to all."""
    n = len(inputs)
    if n <= ROWS:
        return inputs.X, inputs.trials.astype(np.float64)
    which = np.linspace(0, n - 1, ROWS).round().astype(np.int64)
    trials = inputs.trials[which].astype(np.float64)
    trials *= inputs.total / max(trials.sum(), 1.0)
    X = inputs.X
    return (tuple(X[row] for row in which) if isinstance(X, tuple) else X[which]), trials


def clipped_logit(P: FloatArray, total: int) -> FloatArray:
    """Return logit P, with probabilities kept at least 1 / (2 total + 2) from 0 and 1.

    Closer ones expect not even half an outcome in all trials, and their logits know no bound.
    """
    least = 1 / (2 * total + 2)
    kept = np.clip(np.nan_to_num(P, nan=0.5), least, 1 - least)
    return np.asarray(np.log(kept) - np.log1p(-kept))


def starting_points(model: Model, number: int, *, always: bool = False) -> list[FloatArray]:
    """Return the middle of the bounds, and `number` random points where there are bounds."""
    bounds = model.bounds
    shares = np.full((1, len(bounds)), 0.5)
    if always or any(np.isfinite(end) for pair in bounds for end in pair):
        random = np.random.default_rng(0).random((number, len(bounds)))
        shares = np.vstack([shares, random])
    return [
        np.array([_between(*pair, share) for pair, share in zip(bounds, row, strict=True)])
        for row in shares
    ]


def _between(low: float, high: float, share: float) -> float:
    """Return a value at a share of the bounds; at logits of usual size where there are none."""
    if np.isfinite(low) and np.isfinite(high):
        return low + share * (high - low)
    if np.isfinite(low):
        return low + 2 * share
    if np.isfinite(high):
        return high - 2 * share
    return 4 * (share - 0.5)


def _probabilities(model: Model, theta: FloatArray, X: Any) -> FloatArray:
    with np.errstate(all="ignore"):
        return np.asarray(evaluated(model, theta, X), dtype=np.float64)


def standard_steps(model: Model, theta: FloatArray, X: Any, trials: FloatArray) -> FloatArray:
    """Return A (T, d, d) at each θ with A Aᵀ the inverse of its information, about."""
    P = np.nan_to_num(_probabilities(model, theta, X))
    gradient = np.nan_to_num(model.logit_gradient(theta, X), posinf=0.0, neginf=0.0)
    gradient = np.where(np.abs(gradient) < LARGEST, gradient, 0.0)
    weight = trials * np.clip(P * (1 - P), 0.0, None)
    information = np.einsum("tn,tna,tnb->tab", weight, gradient, gradient)
    diagonal = np.einsum("taa->ta", information)
    least = np.maximum(FLAT * diagonal.max(axis=0), np.finfo(np.float64).tiny ** 0.5)
    lifted = np.maximum(least - diagonal, 0.0)
    size = np.sqrt(diagonal + lifted)
    information = information + lifted[:, :, None] * np.eye(theta.shape[1])
    scaled = information / (size[:, :, None] * size[:, None, :])
    values, vectors = np.linalg.eigh(scaled)
    steps = vectors / np.sqrt(np.maximum(values, EIGENVALUE))[:, None, :]
    return np.asarray(steps / size[:, :, None])


def far_apart(
    points: FloatArray, size: int, least: float = 0.0, nearest: FloatArray | None = None
) -> list[int]:
    """Choose the first point, then again and again the one farthest from all that are chosen.

    At most `size` of them, which are at least this far apart. With `nearest`, squared distances
    from others, the first is the one that is farthest from these.
    """
    chosen = []
    if nearest is None:
        chosen, nearest = [0], ((points - points[0]) ** 2).sum(axis=1)
    while len(chosen) < min(size, len(points)):
        farthest = int(nearest.argmax())
        if nearest[farthest] < max(least**2, np.finfo(np.float64).tiny):
            break
        chosen.append(farthest)
        nearest = np.minimum(nearest, ((points - points[farthest]) ** 2).sum(axis=1))
    return chosen
