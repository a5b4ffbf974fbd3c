"""Z along a path of candidates: only labels whose uniforms lie between two candidates flip."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from scipy.special import betainc

from exactregion._typing import FloatArray, IntArray
from exactregion.features import CandidateFeatures, SharedFeatures, probability_bits
from exactregion.resampling import BLOCK_ROWS, Resampling, blocks
from exactregion.statistics.base import Candidates, Rule, Term
from exactregion.statistics.measures import FromCentre, FromMean, Whitened

__all__ = ["MOST_UNIFORMS", "Path", "can_walk"]

MOST_UNIFORMS = 2**24
"""Sorted uniforms take 12 bytes each: 200 MB at most."""

MOST_COLUMNS = 2**16
MOST_SUCCESSES = 255
"""Counts are walked by one threshold a trial, and kept in a byte."""

SPARE = 8
"""Flips are estimated from every eighth row."""


def can_walk(rule: Rule, resampling: Resampling) -> bool:
    """Say whether a path can be walked: by what is measured, and by size."""
    inputs = resampling.sample.inputs
    small = (
        resampling.m * len(inputs) <= MOST_UNIFORMS
        and inputs.total <= MOST_COLUMNS
        and int(inputs.trials.max()) <= MOST_SUCCESSES
    )
    return small and all(_is_walkable(term) for term in rule.terms)


def _is_walkable(term: Term) -> bool:
    if isinstance(term.projection, SharedFeatures):
        return isinstance(term.measure, FromCentre | FromMean)
    if isinstance(term.projection, CandidateFeatures):
        return isinstance(term.measure, FromCentre | Whitened)
    return False


@dataclass(eq=False)
class _Walker:
    """Where one kind of points stands: the place of each threshold, and what was summed there."""

    place: IntArray
    above: FloatArray
    below: FloatArray
    state: Any
    features: Any


@dataclass(eq=False)
class Path:
    """A place among the candidates of one analysis, and the points of all data sets there.

    Steps from it are exact, so that Z does not depend on the way that was taken. One thread at a
    time may walk.

    Parameters
    ----------
    resampling : Resampling
        Outcomes and draws.
    """

    resampling: Resampling
    _walkers: dict[int, _Walker] = field(default_factory=dict, repr=False)

    def statistics_of(self, candidates: Candidates, rule: Rule) -> FloatArray:
        """Compute Z of the m data sets of each of T candidates, in their order: shape (T, m)."""
        thresholds = self._thresholds(candidates.probabilities)
        measured = [self._walk(term, thresholds) for term in rule.terms]
        return rule.merge(measured)

    def cost(self, probabilities: FloatArray, rule: Rule) -> tuple[float, float]:
        """Count the additions that walking takes, and those of the batch engine.

        A matrix product makes about four at once, but has to draw every label first.
        """
        m, n = self.resampling.m, probabilities.shape[1]
        some = probabilities[:, ::SPARE]
        flips = m * SPARE * float(np.abs(np.diff(some, axis=0)).sum())
        walked = drawn = 0.0
        for term in rule.terms:
            r = term.projection.width
            each = n * m * r / 2 if isinstance(term.projection, CandidateFeatures) else m * r
            walked += flips * (r + 8) + len(probabilities) * each
            drawn += len(probabilities) * n * m * (r / 4 + 4)
        return walked, drawn

    @cached_property
    def _sorted(self) -> tuple[FloatArray, IntArray]:
        """Uniforms of each data row in ascending order, and the data sets they belong to."""
        parts = [self.resampling.uniforms(rows).T for rows in blocks(len(self.resampling.sample))]
        U = np.concatenate(parts)
        order = np.argsort(U, axis=1)
        owner = order + (order >= self.resampling.seat)  # the original sits among them
        return np.take_along_axis(U, order, axis=1), owner.astype(np.int32)

    @cached_property
    def _columns(self) -> tuple[IntArray, IntArray]:
        """The data row of each threshold, and the successes that it stands for."""
        trials = self.resampling.sample.inputs.trials
        rows = np.repeat(np.arange(len(trials)), trials)
        first = np.cumsum(trials) - trials
        return rows, np.arange(len(rows)) - first[rows] + 1

    def _thresholds(self, probabilities: FloatArray) -> FloatArray:
        """P(at least so many successes) for each column: shape (T, columns)."""
        rows, successes = self._columns
        trials = self.resampling.sample.inputs.trials
        if (trials == 1).all():
            return np.ascontiguousarray(probabilities)
        P, trials = probabilities[:, rows], trials[rows]
        counted = trials > 1
        c, t = successes[counted], trials[counted]
        P[:, counted] = betainc(c, t - c + 1, P[:, counted])
        return np.ascontiguousarray(P)

    def _walk(self, term: Term, thresholds: FloatArray) -> FloatArray:
        steps = _steps()
        projection: Any = term.projection
        out = np.empty((len(thresholds), self.resampling.m))
        how, centre, W, scale = _written_out(term.measure, len(thresholds))
        walker = self._walker(projection)
        places = walker.place, walker.above, walker.below
        start: Any = (thresholds, self._columns[0], *self._sorted, *places)
        end: Any = (how, centre, W, scale, out)
        features: Any = walker.features
        if not isinstance(features, np.ndarray | None):
            parts = features.indptr, features.indices, features.data
            steps.walk_sparse(*start, *parts, walker.state, *end)
        elif features is not None:
            steps.walk_dense(*start, features, walker.state, *end)
        else:
            values = np.ascontiguousarray(projection.values)
            steps.walk_labels(*start, walker.state, values, *end)
        return out

    def _walker(self, projection: Any) -> _Walker:
        """Give the walker for these features; those that differ by candidate share one."""
        features = _constant(projection)
        key = 0 if features is None else self._key_of(features)
        if key not in self._walkers and _stands_alone(projection):
            features, key = None, 0
        if key not in self._walkers:
            self._walkers[key] = self._new_walker(features)
        return self._walkers[key]

    def _key_of(self, features: Any) -> int:
        for key, walker in self._walkers.items():
            if walker.features is features or _equal(walker.features, features):
                return key
        return 1 + len(self._walkers)

    def _new_walker(self, features: Any) -> _Walker:
        """Start where no alternative has a success."""
        sample, m, seat = self.resampling.sample, self.resampling.m, self.resampling.seat
        if features is None:
            state: Any = np.zeros((len(sample), m), dtype=np.uint8)
            state[:, seat] = sample.successes
        else:
            state = np.zeros((m, features.shape[1]))
            state[seat] = features.T @ sample.successes.astype(np.float64)
        rows = self._columns[0]
        below = np.full(len(rows), -np.inf)
        above = (
            self._sorted[0][rows, 0] if self.resampling.n_resamples else np.full_like(below, np.inf)
        )
        return _Walker(np.zeros(len(rows), dtype=np.int64), above, below, state, features)


def _steps() -> Any:
    """Load the compiled loops at first use: Numba takes a while."""
    from exactregion.engine import steps

    return steps


def _constant(projection: Any) -> Any:
    """Features (n, r) that all candidates share, dense or sparse; None if there are none such."""
    if isinstance(projection, SharedFeatures):
        return projection.values
    values = projection.values
    if (values == values[:1]).all():
        return np.ascontiguousarray(values[0].T)
    return None


def _stands_alone(projection: Any) -> bool:
    """Say whether there is one candidate, whose features may never come again."""
    return isinstance(projection, CandidateFeatures) and len(projection.values) == 1


def _equal(one: Any, other: Any) -> bool:
    if not isinstance(one, np.ndarray) or not isinstance(other, np.ndarray):
        return False
    return np.array_equal(one, other)


def _written_out(measure: Any, T: int) -> tuple[int, FloatArray, FloatArray, float]:
    """Put a measure as the compiled loops want it: how, centre (T, r), W (T, r, r), scale."""
    steps = _steps()
    none, no_metric = np.zeros((T, 0)), np.zeros((T, 0, 0))
    if isinstance(measure, FromMean):
        return steps.MEAN, none, no_metric, measure.scale
    if isinstance(measure, Whitened):
        centre = np.ascontiguousarray(measure.centre.T)
        return steps.METRIC, centre, np.ascontiguousarray(measure.W), 1.0
    return steps.CENTRE, _centre(measure), no_metric, measure.scale


def _centre(measure: FromCentre) -> FloatArray:
    """Centre of each candidate: shape (T, r)."""
    features: Any = measure.features
    if not isinstance(features, SharedFeatures) or not isinstance(features.values, np.ndarray):
        return np.ascontiguousarray(measure.centre.T)
    inputs = measure.inputs
    precision = 2.0 ** probability_bits(inputs.extent)
    centre: FloatArray = _steps().centres(
        measure.probabilities,
        inputs.trials,
        precision,
        features.values,
        features.unit,
        BLOCK_ROWS,
    )
    return centre
