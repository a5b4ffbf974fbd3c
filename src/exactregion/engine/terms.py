"""A statistic made ready: its terms as features on the grid, with centres and metrics.

`PreparedStatistic` holds what depends on the inputs and the number of data sets. At a batch of
candidates it gives a `StatisticAt`, which engines take points from and bring points back to.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse

from exactregion._typing import FloatArray
from exactregion.data.sample import Inputs, blocks
from exactregion.engine.information import information_of, scale_for, variance_of, whitening_of
from exactregion.errors import InvalidTypeError, InvalidValueError
from exactregion.features.grid import (
    CandidateFeatures,
    Labels,
    SharedFeatures,
    grid_unit,
    once,
    precision_of,
    sum_over_rows,
)
from exactregion.features.landmarks import InputSummary, Landmarks
from exactregion.features.threads import single_thread
from exactregion.statistics.base import Candidates, Statistic, Term, Terms
from exactregion.statistics.measures import Measure, OfLabels, Whitened

__all__ = ["PreparedStatistic", "StatisticAt", "TermAt", "flat", "metric_of", "nested"]


def flat(terms: Iterable[Terms]) -> Iterator[Term]:
    """Go through the terms of a list of lists."""
    for term in terms:
        if isinstance(term, Term):
            yield term
        else:
            yield from flat(term)


def nested(terms: Iterable[Terms], values: Iterator[Any]) -> list[Any]:
    """Put values in the place of terms, in a list like that of the terms."""
    return [next(values) if isinstance(term, Term) else nested(term, values) for term in terms]


def metric_of(
    measure: Whitened, information: FloatArray, scale: FloatArray, theta: FloatArray | None
) -> FloatArray:
    """Compute the rows (T, s, r) that deviations are multiplied by."""
    W = whitening_of(information, scale)
    return W if measure.project is None else measure.project(W, theta)


@dataclass(frozen=True, eq=False)
class TermAt:
    """One term at a batch of T candidates."""

    features: SharedFeatures | CandidateFeatures | Labels
    measure: Measure
    candidates: Candidates

    def values(self, points: FloatArray) -> FloatArray:
        """Measure points (r, T, m): shape (T, m)."""
        if isinstance(self.measure, OfLabels):
            return self._of_labels(self.measure, points)
        return self.measure(points, self.centre, self.metric)

    @cached_property
    def centre(self) -> FloatArray:
        """Centre of the cloud of each candidate: shape (r, T)."""
        if isinstance(self.features, Labels):
            return np.empty((0, len(self.candidates)))
        return self.features.centre(self.candidates.probabilities, self.candidates.inputs)

    @cached_property
    def metric(self) -> FloatArray:
        """What deviations are multiplied by: shape (T, s, r), empty where nothing is."""
        if not isinstance(self.measure, Whitened) or isinstance(self.features, Labels):
            return np.empty((len(self.candidates), 0, 0))
        values: Any = self.features.values
        if isinstance(self.features, SharedFeatures):
            dense: Any = values.toarray() if sparse.issparse(values) else values  # type: ignore[attr-defined]
            values = np.broadcast_to(dense.T, (len(self.candidates), *dense.T.shape))
        distinct = once(values)
        scale = scale_for(np.abs(distinct).max(axis=-1))
        scaled = np.broadcast_to(distinct * scale[:, :, None], values.shape)
        P, inputs = self.candidates.probabilities, self.candidates.inputs
        information = information_of(scaled, P, inputs)
        return metric_of(self.measure, information, scale, self.candidates.theta)

    def expectation(self, m: int) -> FloatArray | None:
        """E_θ of the measure for each candidate, where it is known: shape (T,)."""
        if isinstance(self.measure, Whitened):
            d = self.features.width
            return None if self.measure.project else np.full(len(self.candidates), float(d))
        if isinstance(self.measure, OfLabels) or isinstance(self.features, Labels):
            return None
        P, inputs = self.candidates.probabilities, self.candidates.inputs
        lengths = self.features.squared_lengths

        def of_block(rows: slice) -> FloatArray:
            return variance_of(lengths[..., rows], P[:, rows], inputs.trials[rows])

        return self.measure.expectation(sum_over_rows(len(inputs), of_block), m)

    def _of_labels(self, measure: OfLabels, points: FloatArray) -> FloatArray:
        inputs = self.candidates.inputs
        data_sets = inputs.to_user_order(points.transpose(1, 2, 0)).astype(np.int64)
        if not self.candidates.is_counts:
            data_sets = 2 * data_sets - 1
        P = inputs.to_user_order(self.candidates.probabilities)
        pairs = zip(data_sets, P, strict=True)
        return np.stack([_called(measure, labels, p, inputs.user_rows) for labels, p in pairs])


def _called(measure: OfLabels, labels: Any, probabilities: FloatArray, X: Any) -> FloatArray:
    """Call the user's function, and check that it gives one number per data set."""
    answer = measure.function(labels, probabilities, X)
    try:
        Z = np.asarray(answer, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InvalidTypeError(
            "A callable statistic must give one number per row of labels. "
            f"Got {type(answer).__name__} instead."
        ) from error
    if Z.shape != (len(labels),) or np.isnan(Z).any():
        raise InvalidValueError(
            f"A callable statistic must give one number per row of labels, shape ({len(labels)},), "
            f"without NaN. Got shape {Z.shape} with {int(np.isnan(Z).sum())} NaN instead."
        )
    return Z


@dataclass(frozen=True, eq=False)
class StatisticAt:
    """A statistic at a batch of T candidates."""

    prepared: PreparedStatistic
    terms: tuple[TermAt, ...]

    @property
    def width(self) -> int:
        """Number of coordinates of the points of all terms."""
        return sum(term.features.width for term in self.terms)

    def values(self, points: Sequence[FloatArray]) -> FloatArray:
        """Turn the points (r, T, m) of each term into Z (T, m)."""
        pairs = zip(self.terms, points, strict=True)
        return self.combine([term.values(cloud) for term, cloud in pairs])

    def combine(self, measured: Sequence[FloatArray]) -> FloatArray:
        """Turn what was measured (T, m) for each term into Z (T, m)."""
        statistic, structure = self.prepared.statistic, self.prepared.terms
        expected: list[FloatArray | None] = [None] * len(self.terms)
        if statistic.uses_expectations:
            expected = [term.expectation(self.prepared.m) for term in self.terms]
        return statistic.combine(
            nested(structure, iter(measured)), nested(structure, iter(expected))
        )


@dataclass(frozen=True, eq=False)
class PreparedStatistic:
    """A statistic with all that depends on inputs in memory and the number m of data sets."""

    statistic: Statistic
    terms: Sequence[Terms]
    shared: tuple[SharedFeatures | Labels | None, ...]
    m: int

    @classmethod
    def of(cls, statistic: Statistic, inputs: Inputs, m: int) -> PreparedStatistic:
        """Compute and round the features that all candidates share."""
        terms = statistic.terms(InputSummary.in_memory(inputs))
        return cls(statistic, terms, tuple(_shared(term, inputs, m) for term in flat(terms)), m)

    def at(self, candidates: Candidates) -> StatisticAt:
        """Do all that depends on the candidates."""
        pairs = zip(flat(self.terms), self.shared, strict=True)
        return StatisticAt(
            self,
            tuple(
                TermAt(features or self._features(term, candidates), term.measure, candidates)
                for term, features in pairs
            ),
        )

    def _features(self, term: Term, candidates: Candidates) -> CandidateFeatures:
        columns: Any = term.columns
        values = np.asarray(columns(candidates))
        shape = candidates.probabilities.shape
        if values.ndim != 3 or values.shape[:2] != shape:
            raise InvalidValueError(
                "The columns of a term must have shape (candidates, rows, columns), "
                f"({shape[0]}, {shape[1]}, r). Got {values.shape} instead."
            )
        moved = np.ascontiguousarray(np.moveaxis(once(values), -1, 1))
        extent = candidates.inputs.extent
        bound = np.atleast_1d(term.bound) if extent.is_large and term.bound is not None else None
        spread = np.broadcast_to(moved, (shape[0], *moved.shape[1:]))
        return CandidateFeatures.rounded(spread, extent, self.m, bound)


def _shared(term: Term, inputs: Inputs, m: int) -> SharedFeatures | Labels | None:
    """Round the features that all candidates share; None where candidates have their own."""
    if isinstance(term.measure, OfLabels):
        return Labels(len(inputs))
    if isinstance(term.columns, Landmarks):
        X, extent = inputs.matrix, inputs.extent
        unit, precision = grid_unit(term.columns.bound, extent, m), precision_of(extent)
        values = np.empty((len(X), len(unit)), dtype=precision)
        with single_thread():
            for rows in blocks(len(X)):
                values[rows] = term.columns.on_grid(X[rows], unit, precision)
        return SharedFeatures(values, unit)
    if callable(term.columns):
        return None
    columns: Any = term.columns
    return SharedFeatures.rounded(columns, inputs.extent, m, compact=term.compact)
