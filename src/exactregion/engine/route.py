"""Candidates written out as the compiled loops want them: where to go, what to measure there."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy.special import betainc

from exactregion._typing import FloatArray, IntArray
from exactregion.features.grid import CandidateFeatures, SharedFeatures, once, probability_bits
from exactregion.resampling import BLOCK_ROWS, Resampling, blocks
from exactregion.statistics.base import Candidates, Rule, Term
from exactregion.statistics.measures import FromCentre, FromMean, Whitened

__all__ = ["Ground", "Leg", "Route", "is_walkable", "steps"]


def steps() -> Any:
    """Load the compiled loops at first use: Numba takes a while."""
    from exactregion.engine import steps

    return steps


def is_walkable(term: Term) -> bool:
    """Say whether the compiled loops know how to measure this."""
    if isinstance(term.projection, SharedFeatures):
        return isinstance(term.measure, FromCentre | FromMean)
    if isinstance(term.projection, CandidateFeatures):
        return isinstance(term.measure, FromCentre | Whitened)
    return False


@dataclass(frozen=True, eq=False)
class Ground:
    """What all paths of one analysis walk on: the sorted uniforms.

    Parameters
    ----------
    resampling : Resampling
        Outcomes and draws.
    """

    resampling: Resampling

    @cached_property
    def uniforms(self) -> tuple[FloatArray, IntArray]:
        """Uniforms of each data row in ascending order, and the data sets they belong to."""
        parts = [self.resampling.uniforms(rows).T for rows in blocks(len(self.resampling.sample))]
        U = np.concatenate(parts)
        order = np.argsort(U, axis=1)
        owner = order + (order >= self.resampling.seat)  # the original sits among them
        return np.take_along_axis(U, order, axis=1), owner.astype(np.int32)

    @cached_property
    def columns(self) -> tuple[IntArray, IntArray]:
        """The data row of each threshold, and the successes that it stands for."""
        trials = self.resampling.sample.inputs.trials
        rows = np.repeat(np.arange(len(trials)), trials)
        first = np.cumsum(trials) - trials
        return rows, np.arange(len(rows)) - first[rows] + 1

    def thresholds(self, probabilities: FloatArray) -> FloatArray:
        """P(at least so many successes) for each column: shape (T, columns)."""
        rows, successes = self.columns
        trials = self.resampling.sample.inputs.trials
        if (trials == 1).all():
            return np.ascontiguousarray(probabilities)
        P, trials = probabilities[:, rows], trials[rows]
        counted = trials > 1
        c, t = successes[counted], trials[counted]
        P[:, counted] = betainc(c, t - c + 1, P[:, counted])
        return np.ascontiguousarray(P)


@dataclass(frozen=True, eq=False)
class Leg:
    """One term of a rule, written out for T candidates.

    Attributes
    ----------
    constant : ndarray, sparse array or None
        Features (n, r) that all candidates share.
    precision : dtype
        In which their sums are exact.
    changing : ndarray of shape (T, r, n) or None
        Features that differ from candidate to candidate.
    alone : bool
        Whether these are features of one θ, which may never come again.
    measure : tuple
        How, centre (T, r), W (T, s, r), scale.
    out : ndarray of shape (T, m)
        What is measured.
    """

    constant: Any
    precision: Any
    changing: FloatArray | None
    alone: bool
    measure: tuple[int, FloatArray, FloatArray, float]
    out: FloatArray

    @classmethod
    def of(cls, term: Term, T: int, m: int) -> Leg:
        """Write out a term."""
        projection: Any = term.projection
        constant, changing = projection.values, None
        if isinstance(projection, CandidateFeatures):
            changing = projection.values
            constant = None
            own = once(changing)
            if (own == own[:1]).all():
                constant = np.ascontiguousarray(changing[0].T)
        brief = isinstance(projection, SharedFeatures) and projection.brief
        precision = np.float32 if brief else np.float64
        alone = changing is not None and (T == 1 or len(once(changing)) > 1)
        measure = _written_out(term.measure, T)
        return cls(constant, precision, changing, alone, measure, np.empty((T, m)))

    def between(self, start: int, stop: int) -> tuple[int, FloatArray, FloatArray, float, Any]:
        """Give what is measured, and where it goes, for some candidates."""
        how, centre, W, scale = self.measure
        return how, centre[start:stop], W[start:stop], scale, self.out[start:stop]

    @property
    def is_dense(self) -> bool:
        """Whether all candidates share dense features."""
        return isinstance(self.constant, np.ndarray)


@dataclass(frozen=True, eq=False)
class Route:
    """T candidates one after the other, and what to measure at each.

    Attributes
    ----------
    thresholds : ndarray of shape (T, columns)
        Where each column stands.
    legs : tuple of Leg
        The terms of the rule.
    """

    thresholds: FloatArray
    legs: tuple[Leg, ...]

    @classmethod
    def of(cls, ground: Ground, candidates: Candidates, rule: Rule) -> Route:
        """Write out a batch of candidates."""
        m = ground.resampling.m
        legs = tuple(Leg.of(term, len(candidates), m) for term in rule.terms)
        return cls(ground.thresholds(candidates.probabilities), legs)


def _written_out(measure: Any, T: int) -> tuple[int, FloatArray, FloatArray, float]:
    """Put a measure as the compiled loops want it: how, centre (T, r), W (T, s, r), scale."""
    none, no_metric = np.zeros((T, 0)), np.zeros((T, 0, 0))
    if isinstance(measure, FromMean):
        return steps().MEAN, none, no_metric, measure.scale
    if isinstance(measure, Whitened):
        centre = np.ascontiguousarray(measure.centre.T)
        return steps().METRIC, centre, np.ascontiguousarray(measure.W), 1.0
    return steps().CENTRE, _centre(measure), no_metric, measure.scale


def _centre(measure: FromCentre) -> FloatArray:
    """Centre of each candidate: shape (T, r)."""
    features: Any = measure.features
    if not isinstance(features, SharedFeatures) or not isinstance(features.values, np.ndarray):
        return np.ascontiguousarray(measure.centre.T)
    inputs = measure.inputs
    precision = 2.0 ** probability_bits(inputs.extent)
    centre: FloatArray = steps().centres(
        measure.probabilities,
        inputs.trials,
        precision,
        features.values,
        features.unit,
        BLOCK_ROWS,
    )
    return centre
