"""The score statistic: Z_i = s_iᵀ I_θ⁻¹ s_i."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import logit

from exactregion._typing import FloatArray, IntArray
from exactregion.data.sample import CHUNK_ROWS, Inputs, blocks
from exactregion.features.grid import (
    CandidateFeatures,
    grid_unit,
    on_grid,
    once,
    precision_of,
)
from exactregion.features.threads import single_thread
from exactregion.statistics.base import (
    Candidates,
    PreparedStatistic,
    Rule,
    Statistic,
    Term,
    no_family_error,
)
from exactregion.statistics.measures import Whitened
from exactregion.statistics.streamed import StreamRule, StreamTerm, Survey

__all__ = [
    "PowersOfLogit",
    "Score",
    "information_of",
    "logit_gradient",
    "powers_of_logit",
    "whitening_of",
]

SINGULAR = 1e-12
"""Share of the largest information that every direction has at least."""

MOST_POWER = 400
"""Gradients that vanish are made larger by no more than this power of two, or they overflow."""

THREADED_SIZE = 16
"""Information matrices above this size are decomposed with one thread, to the same last bit."""


@dataclass(frozen=True)
class Score(Statistic):
    """The score of a family, in the metric of its Fisher information.

    Z_i = s_iᵀ I_θ⁻¹ s_i with s_i = Σ_j ∂η_θ(x_j) (k_ij - t_j p_θ(x_j)), η the logit of p, k
    successes of t trials, and I_θ = Σ_j t_j p (1 - p) ∂η ∂ηᵀ. Directions without
    information count as having a trillionth of the largest, on a scale where parameters are alike.
    """

    @property
    def collapses(self) -> bool:
        """Whether equal rows may be worked on as one row of counts: always."""
        return True

    def prepare(self, inputs: Inputs, m: int) -> PreparedStatistic:
        """Remember the number of data sets: nothing else comes before θ."""
        return _PreparedScore(m)

    def stream(self, survey: Survey, m: int) -> StreamRule:
        """Take the gradient (1, logit p) of the recalibration family, the only one that streams."""
        gradient = PowersOfLogit.of(survey, m, degree=1)

        def measure(centre: FloatArray, information: FloatArray | None) -> Whitened:
            return Whitened(centre, gradient.whitening(information))

        return StreamRule((StreamTerm(gradient, measure),))


@dataclass(frozen=True)
class _PreparedScore(PreparedStatistic):
    m: int

    def rule(self, candidates: Candidates) -> Rule:
        P, inputs = candidates.probabilities, candidates.inputs
        gradient = CandidateFeatures.rounded(logit_gradient(candidates), inputs, self.m)
        W = whitening_of(gradient.values, P, inputs)
        return Rule((Term(gradient, Whitened(gradient.centre(P, inputs), W)),))


def logit_gradient(candidates: Candidates) -> FloatArray:
    """∂η as (T, d, n); zero at a certainty, where the logit is infinite."""
    P = candidates.probabilities
    uncertain = bool(P.min() > 0 and P.max() < 1)
    gradient = candidates.logit_gradient
    own = gradient[:1] if uncertain and candidates.has_constant_gradient else gradient
    own = np.ascontiguousarray(np.moveaxis(own, -1, 1))
    usable = np.isfinite(own)
    if not uncertain:
        usable &= ((P > 0) & (P < 1))[:, None, :]
    return np.broadcast_to(np.where(usable, own, 0.0), (len(P), *own.shape[1:]))


def powers_of_logit(p: FloatArray, degree: int) -> FloatArray:
    """1, logit p, … in a new last axis; zero at a certainty, where the logit is infinite."""
    usable = (p > 0) & (p < 1)
    with np.errstate(divide="ignore"):
        score = np.where(usable, logit(p), 0.0)
    return np.stack([usable * 1.0, *(score**power for power in range(1, degree + 1))], axis=-1)


@dataclass(frozen=True, eq=False)
class PowersOfLogit:
    """The gradient (1, logit p, …) of a family of calibration curves, for rows in pieces."""

    unit: FloatArray
    power: FloatArray
    precision: Any

    @classmethod
    def of(cls, survey: Survey, m: int, *, degree: int) -> PowersOfLogit:
        """Choose the grid by the largest logit."""
        if survey.reach is None:
            raise no_family_error()
        largest = survey.reach[1]
        reach = np.array([survey.reach[0], *(largest**k for k in range(1, degree + 1))])
        unit = grid_unit(reach, survey.extent, m)
        return cls(unit, _power_for(on_grid(reach, unit)[None]), precision_of(survey.extent))

    def features(self, X: FloatArray, p: FloatArray) -> FloatArray:
        """Compute the gradient of a block of rows: shape (b, degree + 1)."""
        values: FloatArray = on_grid(powers_of_logit(p, len(self.unit) - 1), self.unit)
        return values.astype(self.precision, copy=False)

    def whitening(self, information: FloatArray | None) -> FloatArray:
        """W with WᵀW the inverse of the information: shape (1, d, d)."""
        return _whitening(np.asarray(information)[None], self.power)

    def information(self, Phi: FloatArray, p: FloatArray, trials: IntArray) -> FloatArray:
        """Sum up the information of a block of rows."""
        gradient = np.ascontiguousarray((Phi * self.power).T)[None]
        information = _information_of_block(gradient, (trials * p * (1 - p))[None])
        return np.asarray(information[0])


def information_of(gradient: FloatArray, P: FloatArray, inputs: Inputs) -> FloatArray:
    """Fisher information Σ_j t_j p (1 - p) ∂η ∂ηᵀ: shape (T, d, d).

    Blocks are added within stretches of `CHUNK_ROWS`, then stretches.
    """
    information = np.zeros((len(P), gradient.shape[1], gradient.shape[1]))
    for start in range(0, len(inputs), CHUNK_ROWS):
        own = np.zeros_like(information)
        for block in blocks(min(CHUNK_ROWS, len(inputs) - start)):
            rows = slice(start + block.start, start + block.stop)
            weight = inputs.trials[rows] * P[:, rows] * (1 - P[:, rows])
            own += _information_of_block(gradient[:, :, rows], weight)
        information += own
    return information


def _information_of_block(part: FloatArray, weight: FloatArray) -> FloatArray:
    """Σ_j w_j ∂η ∂ηᵀ of gradients (T, d, b) and weights (T, b): shape (T, d, d)."""
    lower = np.zeros((len(part), part.shape[1], part.shape[1]))
    for a in range(part.shape[1]):
        # a sum along contiguous rows has one order, a matrix product has many
        products = (weight * part[:, a])[:, None, :] * part[:, : a + 1]
        lower[:, a, : a + 1] = products.sum(axis=-1)
    return np.tril(lower) + np.tril(lower, -1).transpose(0, 2, 1)


def whitening_of(gradient: FloatArray, P: FloatArray, inputs: Inputs) -> FloatArray:
    """W with WᵀW = I_θ⁻¹: shape (T, d, d).

    The information is scaled to a unit diagonal first, so that units of the parameters do not
    decide which directions count as singular. Those get a floor instead of being dropped: outcomes
    that are all but impossible speak in these very directions, and must not be lost.
    """
    own = once(gradient)
    power = _power_for(np.abs(own).max(axis=-1))
    scaled = np.broadcast_to(own * power[:, :, None], gradient.shape)
    return _whitening(information_of(scaled, P, inputs), power)


def _power_for(largest: FloatArray) -> FloatArray:
    """Choose powers of two by which squares of gradients neither overflow nor vanish."""
    _, exponent = np.frexp(largest.astype(np.float64))
    return np.asarray(np.ldexp(1.0, np.minimum(-exponent, MOST_POWER)))


def _whitening(information: FloatArray, power: FloatArray) -> FloatArray:
    size = np.sqrt(np.einsum("taa->ta", information))
    unit = np.where(size > 0, 1 / np.where(size > 0, size, 1.0), 0.0)
    with single_thread() if information.shape[1] > THREADED_SIZE else nullcontext():
        values, vectors = np.linalg.eigh(information * unit[:, :, None] * unit[:, None, :])
    floor = SINGULAR * values.shape[1] * values[:, -1:]
    known = values[:, -1:] > 0
    weights = np.where(known, 1 / np.sqrt(np.where(known, np.maximum(values, floor), 1.0)), 0.0)
    return np.asarray(weights[:, :, None] * vectors.transpose(0, 2, 1) * (unit * power)[:, None, :])
