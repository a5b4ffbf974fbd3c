"""A statistic made ready: its terms as features on the grid, with centres and metrics.

`PreparedStatistic` holds what depends on the inputs and the number of data sets. At a batch of
candidates it gives a `StatisticAt`, which engines take points from and bring points back to.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse

from exactregion._typing import FloatArray
from exactregion.data.reading import as_real
from exactregion.data.sample import Inputs, blocks
from exactregion.engine.information import (
    information_of,
    information_of_columns,
    scale_for,
    variance_of,
    variance_per_level,
    whitening_of,
)
from exactregion.engine.levels import features_of_classes
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
from exactregion.statistics.measures import Largest, Measure, OfLabels, Whitened

__all__ = [
    "ROUNDING",
    "PreparedStatistic",
    "StatisticAt",
    "TermAt",
    "bound_error",
    "check_columns",
    "checked",
    "combined",
    "flat",
    "metric_of",
    "nested",
]


ROUNDING = 1 + 1e-9
"""Rounding may carry a column past its bound by a last bit, and no further than this."""


def checked(statistic: Statistic, inputs: InputSummary) -> list[Terms]:
    """Return the terms of a statistic as lists, and check that they are terms."""

    def as_list(terms: Any) -> list[Terms]:
        if isinstance(terms, Term) or not isinstance(terms, Iterable):
            raise _terms_error(statistic, terms)
        return [term if isinstance(term, Term) else as_list(term) for term in terms]

    terms = as_list(statistic.terms(inputs))
    if not terms:
        raise _terms_error(statistic, terms)
    for term in flat(terms):
        no_columns = term.columns is None
        if not isinstance(term.measure, Measure) or no_columns != isinstance(
            term.measure, OfLabels
        ):
            raise _terms_error(statistic, term)
        if term.bound is not None:
            bound = np.asarray(term.bound, dtype=np.float64)
            if bound.ndim > 1 or not (np.isfinite(bound) & (bound >= 0)).all():
                raise InvalidValueError(
                    f"of a term must be finite, a number or one per column. Got {bound} instead.",
                    parameter="bound",
                )
    return terms


def _terms_error(statistic: Statistic, found: Any) -> InvalidTypeError:
    return InvalidTypeError(
        f"{type(statistic).__name__}.terms must return a list of Term(columns, measure), such as "
        f"Term(columns, FromCentre()). Got {found!r} instead."
    )


def check_columns(values: FloatArray, shape: tuple[int, int], bound: FloatArray | None) -> None:
    """Check the columns (T, n, r) that a user's function gave: one per bound, if there are some."""
    wrong = values.ndim != 3 or values.shape[:2] != shape
    if wrong or (bound is not None and len(bound) != values.shape[2]):
        r = "r" if bound is None else len(bound)
        raise InvalidValueError(
            "The columns of a term must have shape (candidates, rows, columns), "
            f"({shape[0]}, {shape[1]}, {r}). Got {values.shape} instead."
        )


def bound_error(values: FloatArray, bound: FloatArray) -> InvalidValueError:
    """Make the error for columns that exceed their bound."""
    return InvalidValueError(
        f"of a term must be at least as large as its columns, {np.abs(values).max():g}. "
        f"Got {bound.tolist()} instead: sums would not be exact.",
        parameter="bound",
    )


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


def _largest(points: FloatArray, W: FloatArray) -> FloatArray:
    """Find max_k (a_k + w_k · v) for points (r, T, m) and W (T, K, r + 1): shape (T, m)."""
    from exactregion.engine import compiled  # Numba is slow to import

    highest = np.empty(points.shape[1:])
    for t in range(len(highest)):
        compiled.largest(np.ascontiguousarray(points[:, t].T), W[t], highest[t])
    return highest


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
        if isinstance(self.measure, Largest):
            return _largest(points, self.metric)
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
        if isinstance(self.measure, Largest):
            return self.measure.rows(self.candidates)
        if not isinstance(self.measure, Whitened) or isinstance(self.features, Labels):
            return np.empty((len(self.candidates), 0, 0))
        values: Any = self.features.values
        if isinstance(self.features, SharedFeatures):
            dense: Any = values.toarray() if sparse.issparse(values) else values  # type: ignore[attr-defined]
            values = np.broadcast_to(dense.T, (len(self.candidates), *dense.T.shape))
        distinct, scale = once(values), scale_for(self.features.largest)
        P, inputs = self.candidates.probabilities, self.candidates.inputs
        if len(distinct) == 1 < len(P) and inputs.levels == 1:

            def of_block(rows: slice) -> FloatArray:
                columns = distinct[0, :, rows].T
                return information_of_columns(columns, scale[0], P[:, rows], inputs.trials[rows])

            information = sum_over_rows(len(inputs), of_block)
        else:
            scaled = np.broadcast_to(distinct * scale[:, :, None], values.shape)
            information = information_of(scaled, P, inputs)
        return metric_of(self.measure, information, scale, self.candidates.theta)

    def expectation(self, m: int) -> FloatArray | None:
        """E_θ of the measure for each candidate, where it is known: shape (T,)."""
        if isinstance(self.measure, Whitened):
            d = self.features.width
            return None if self.measure.project else np.full(len(self.candidates), float(d))
        if isinstance(self.measure, Largest | OfLabels) or isinstance(self.features, Labels):
            return None
        P, inputs = self.candidates.probabilities, self.candidates.inputs
        if inputs.levels > 1:
            grams = self.features.grams(inputs.levels)
            return self.measure.expectation(variance_per_level(grams, P, inputs.levels), m)
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
        Z = as_real(answer)
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


def combined(
    statistic: Statistic,
    terms: Sequence[Terms],
    measured: Sequence[FloatArray],
    expected: Sequence[FloatArray | None],
    *,
    with_parts: bool,
) -> list[FloatArray]:
    """Turn what was measured (T, m) for each term into Z (T, m); then those of the parts."""
    structured = nested(terms, iter(measured)), nested(terms, iter(expected))
    Zs = [statistic.combine(*structured)]
    if with_parts:
        Zs += statistic.combine_parts(*structured)
    return [_check_shape(statistic, Z, measured[0].shape) for Z in Zs]


def _check_shape(statistic: Statistic, Z: Any, shape: tuple[int, ...]) -> FloatArray:
    """Check that `combine` gave one number per data set and candidate."""
    if np.shape(Z) != shape:
        raise InvalidValueError(
            f"{type(statistic).__name__}.combine must give Z of shape {shape}. "
            f"Got {np.shape(Z)} instead."
        )
    return np.asarray(Z)


@dataclass(frozen=True, eq=False)
class StatisticAt:
    """A statistic at a batch of T candidates."""

    prepared: PreparedStatistic
    terms: tuple[TermAt, ...]

    @property
    def width(self) -> int:
        """Number of coordinates of the points of all terms."""
        return sum(term.features.width for term in self.terms)

    def combine(
        self, measured: Sequence[FloatArray], *, with_parts: bool = False
    ) -> list[FloatArray]:
        """Turn what was measured (T, m) for each term into Z (T, m), and those of its parts."""
        statistic = self.prepared.statistic
        expected: list[FloatArray | None] = [None] * len(self.terms)
        if statistic.uses_expectations:
            expected = [term.expectation(self.prepared.m) for term in self.terms]
        return combined(statistic, self.prepared.terms, measured, expected, with_parts=with_parts)


@dataclass(frozen=True, eq=False)
class PreparedStatistic:
    """A statistic with all that depends on inputs in memory and the number m of data sets."""

    statistic: Statistic
    terms: Sequence[Terms]
    shared: tuple[SharedFeatures | Labels | None, ...]
    m: int
    # features of a gradient that is the same for every θ, by the number of candidates
    _of_gradient: list[tuple[Any, dict[int, CandidateFeatures]]] = field(
        default_factory=list, init=False, repr=False
    )

    @classmethod
    def of(cls, statistic: Statistic, inputs: Inputs, m: int) -> PreparedStatistic:
        """Compute and round the features that all candidates share."""
        # features are those of the inputs, whatever the number of levels of an outcome
        terms = checked(statistic, InputSummary.in_memory(inputs.original))
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
        gradient = candidates.constant_gradient
        if term.bound is not None or not _is_view(values, gradient):
            return self._rounded(term, candidates, values)
        if not self._of_gradient or self._of_gradient[0][0] is not gradient:
            rounded = self._rounded(term, candidates, values[:1]).repeated(1)
            self._of_gradient[:] = [(gradient, {1: rounded})]
        repeated = self._of_gradient[0][1]
        if len(values) not in repeated:
            repeated[len(values)] = repeated[1].repeated(len(values))
        return repeated[len(values)]

    def _rounded(self, term: Term, candidates: Candidates, values: FloatArray) -> CandidateFeatures:
        T, n = len(values), len(candidates.inputs)
        extent = candidates.inputs.extent
        bound = np.atleast_1d(term.bound) if extent.is_sampled and term.bound is not None else None
        check_columns(values, (T, n), bound)
        if bound is not None and (np.abs(values) > bound * ROUNDING).any():
            raise bound_error(values, bound)
        moved = np.ascontiguousarray(np.moveaxis(once(values), -1, 1))
        spread = np.broadcast_to(moved, (T, *moved.shape[1:]))
        return CandidateFeatures.rounded(spread, extent, self.m, bound)


def _is_view(values: FloatArray, gradient: FloatArray | None) -> bool:
    """Return whether columns (T, n, r) are the gradient (1, n, r) as it is, for each candidate."""
    if gradient is None or values.shape[1:] != gradient.shape[1:]:
        return False
    same_place = values.__array_interface__["data"][0] == gradient.__array_interface__["data"][0]
    repeated = len(values) == 1 or values.strides[0] == 0
    return same_place and repeated and values.strides[1:] == gradient.strides[1:]


def _shared(term: Term, inputs: Inputs, m: int) -> SharedFeatures | Labels | None:
    """Round the features that all candidates share; None where candidates have their own."""
    if isinstance(term.measure, OfLabels):
        return Labels(len(inputs))
    if isinstance(term.columns, Landmarks):
        X, extent = inputs.matrix, inputs.extent
        bound = term.columns.bound
        unit, precision = grid_unit(bound, extent, m), precision_of(extent, bound)
        values = np.empty((len(X), len(unit)), dtype=precision)
        with single_thread():
            for rows in blocks(len(X)):
                values[rows] = term.columns.on_grid(X[rows], unit, precision)
        return SharedFeatures(values, unit)
    if callable(term.columns):
        return None
    columns: Any = term.columns
    if columns.ndim != 2 or columns.shape[0] != len(inputs.original):
        raise InvalidValueError(
            f"The columns of a term must have shape ({len(inputs.original)}, r), one row per row "
            f"of inputs.rows. Got {columns.shape} instead."
        )
    columns = features_of_classes(columns, inputs.levels)
    return SharedFeatures.rounded(columns, inputs.extent, m, compact=term.compact)
