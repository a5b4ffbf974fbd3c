"""A point to start from: maximum likelihood with a little added data, finite even under separation.

The search may look at the outcomes: it decides where to look, never what is inside.
"""

from __future__ import annotations

import numpy as np

from exactregion._typing import FloatArray
from exactregion.data.sample import Sample
from exactregion.engine.information import information_of
from exactregion.models.base import Bounds, Model
from exactregion.statistics import Candidates

__all__ = ["information_at", "likely_parameters"]

LEAST = 1e-4
"""Where a parameter has less information than this share of what it has elsewhere, it has that."""

MAX_STEPS = 60

ENOUGH = 1e-3
"""Where the likelihood gains less, the climb ends: towards a step function it never would."""

RANDOM_STARTS = 8


def likely_parameters(model: Model, sample: Sample) -> FloatArray:
    """Maximise the likelihood of the data and d more trials, half of them successes.

    The added trials are spread over the rows, as pseudo-observations: they keep the maximum finite
    where the data are separated, and matter little elsewhere.
    """
    d = model.n_parameters(sample.inputs.X)
    fits = [_climb(model, sample, start) for start in _starts(model, d)]
    enough = max(value for value, _ in fits) - ENOUGH
    likely = [theta for value, theta in fits if value >= enough]
    return min(likely, key=lambda theta: float(np.abs(theta).max()))


def information_at(model: Model, sample: Sample, theta: FloatArray) -> FloatArray:
    """Fisher information at one θ, with a floor where it all but vanishes: shape (d, d).

    Towards a step function it does, and steps of a standard error would lead out of all bounds.
    """
    elsewhere = [np.diag(_information(model, sample, at)) for at in _starts(model, len(theta))]
    information = _information(model, sample, theta)
    missing = LEAST * np.max(elsewhere, axis=0) - np.diag(information)
    return information + np.diag(np.maximum(missing, 0.0))


def _information(model: Model, sample: Sample, theta: FloatArray) -> FloatArray:
    candidates = _candidates(model, sample, theta)
    gradient = _gradient(candidates)
    information: FloatArray = information_of(gradient, candidates.probabilities, sample.inputs)[0]
    return information


def _gradient(candidates: Candidates) -> FloatArray:
    """Gradient of the logit as (T, d, n)."""
    return np.ascontiguousarray(np.moveaxis(candidates.logit_gradient, -1, 1))


def _starts(model: Model, d: int) -> list[FloatArray]:
    return [_middle(model.bounds), *_random_starts(model.bounds, d)]


def _candidates(model: Model, sample: Sample, theta: FloatArray) -> Candidates:
    batch = theta[None]
    P = np.asarray(model.evaluate(batch, sample.inputs.X), dtype=np.float64)
    return Candidates(sample.inputs, P, sample.is_counts, model, batch)


def _middle(bounds: Bounds) -> FloatArray:
    return np.array([_inside(low, high, 0.5) for low, high in bounds])


def _inside(low: float, high: float, share: float) -> float:
    if np.isfinite(low) and np.isfinite(high):
        return low + share * (high - low)
    if np.isfinite(low):
        return low + 2 * share
    if np.isfinite(high):
        return high - 2 * share
    return 4 * (share - 0.5)


def _random_starts(bounds: Bounds, d: int) -> list[FloatArray]:
    """Further starts where the parameters are bounded, since the likelihood may then have hills."""
    if not any(np.isfinite(end) for pair in bounds for end in pair):
        return []
    shares = np.random.default_rng(0).random((RANDOM_STARTS, d))
    return [
        np.array(
            [_inside(low, high, share) for (low, high), share in zip(bounds, row, strict=True)]
        )
        for row in shares
    ]


def _climb(model: Model, sample: Sample, theta: FloatArray) -> tuple[float, FloatArray]:
    """Fisher scoring with damping: log-likelihood and parameter reached."""
    inputs = sample.inputs
    low, high = np.array(model.bounds).T
    added = inputs.trials * (len(theta) / inputs.total)
    successes, trials = sample.successes + added / 2, inputs.trials + added

    def log_likelihood(at: FloatArray) -> float:
        P = _candidates(model, sample, at).probabilities[0]
        with np.errstate(divide="ignore", invalid="ignore"):
            terms = successes * np.log(P) + (trials - successes) * np.log1p(-P)
        total = float(np.where(trials > 0, terms, 0.0).sum())
        return total if np.isfinite(total) else -np.inf

    reached, damping = log_likelihood(theta), 1e-3
    for _ in range(MAX_STEPS):
        candidates = _candidates(model, sample, theta)
        gradient, P = _gradient(candidates), candidates.probabilities
        score = gradient[0] @ (successes - trials * P[0])
        information = information_of(gradient, P, inputs)[0]
        size = np.diag(information) + 1e-12 * max(float(np.diag(information).max()), 1e-12)
        step = np.linalg.solve(information + damping * np.diag(size), score)
        proposal = np.clip(theta + step, low, high)
        value = log_likelihood(proposal)
        if value > reached:
            gained, theta, reached, damping = value - reached, proposal, value, damping / 5
            if gained < ENOUGH:
                break
        else:
            damping *= 5
            if damping > 1e8:
                break
    return reached, theta
