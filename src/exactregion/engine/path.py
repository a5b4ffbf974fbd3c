"""Z along a path of candidates: only labels whose uniforms lie between two candidates flip."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from exactregion._typing import FloatArray, IntArray
from exactregion.engine.route import Ground, Leg, Route, is_walkable, steps
from exactregion.resampling import Resampling
from exactregion.statistics.base import Candidates, Rule

__all__ = ["MOST_UNIFORMS", "Path", "can_walk"]

MOST_UNIFORMS = 2**24
"""Sorted uniforms take 12 bytes each: 200 MB at most."""

MOST_COLUMNS = 2**16
MOST_SUCCESSES = 255
"""Counts are walked by one threshold a trial, and kept in a byte."""


def can_walk(rule: Rule, resampling: Resampling) -> bool:
    """Say whether a path can be walked: by what is measured, and by size."""
    inputs = resampling.sample.inputs
    small = (
        resampling.m * len(inputs) <= MOST_UNIFORMS
        and inputs.total <= MOST_COLUMNS
        and int(inputs.trials.max()) <= MOST_SUCCESSES
    )
    return small and all(is_walkable(term) for term in rule.terms)


@dataclass(eq=False)
class _Walker:
    """Where some points stand: the place of each threshold, and what was summed there.

    One or two kinds of points of shared features walk together; labels, for features that differ
    from candidate to candidate, walk alone and have none.
    """

    place: IntArray
    above: FloatArray
    below: FloatArray
    features: tuple[Any, ...]
    states: tuple[Any, ...]

    @property
    def size(self) -> int:
        """Bytes that are worked on."""
        arrays = (self.place, self.above, self.below, *self.states)
        return sum(array.nbytes for array in arrays)

    def copy(self) -> _Walker:
        """Stand where this one stands."""
        return _Walker(
            self.place.copy(),
            self.above.copy(),
            self.below.copy(),
            self.features,
            tuple(state.copy() for state in self.states),
        )


@dataclass(eq=False)
class Path:
    """A place among the candidates of one analysis, and the points of all data sets there.

    Steps from it are exact, so that Z does not depend on the way that was taken. One thread at a
    time may walk.

    Parameters
    ----------
    ground : Ground
        The uniforms.
    """

    ground: Ground
    _walkers: list[_Walker] = field(default_factory=list, repr=False)

    @property
    def size(self) -> int:
        """Bytes of what stands here."""
        return sum(walker.size for walker in self._walkers)

    def copy(self) -> Path:
        """Make another path that stands at the same place."""
        return replace(self, _walkers=[walker.copy() for walker in self._walkers])

    def statistics_of(self, candidates: Candidates, rule: Rule) -> FloatArray:
        """Compute Z of the m data sets of each of T candidates, in their order: shape (T, m)."""
        route = Route.of(self.ground, candidates, rule)
        self.follow(route, 0, len(candidates))
        return rule.merge([leg.out for leg in route.legs])

    def follow(self, route: Route, start: int, stop: int) -> None:
        """Walk along some candidates of a route, and measure what it asks for."""
        dense = [leg for leg in route.legs if leg.is_dense]
        pairs = len(dense) == 2 and not any(leg.alone for leg in dense)
        if pairs:
            self._walk_two(route.thresholds[start:stop], dense, start, stop)
        for leg in route.legs:
            if not (pairs and leg.is_dense):
                self._walk(route.thresholds[start:stop], leg, start, stop)

    def _walk_two(self, thresholds: FloatArray, legs: list[Leg], start: int, stop: int) -> None:
        walker = self._walker(legs)
        (one, other), (ours, theirs) = walker.features, walker.states
        measures = [part for leg in legs for part in leg.between(start, stop)]
        begin = self._start(thresholds, walker)
        steps().walk_two(*begin, one, ours, other, theirs, *measures)

    def _walk(self, thresholds: FloatArray, leg: Leg, start: int, stop: int) -> None:
        shared = leg.constant is not None and not (leg.alone and self._known([leg]) is None)
        walker = self._walker([leg] if shared else [])
        begin, end = self._start(thresholds, walker), leg.between(start, stop)
        if not shared:
            values = np.ascontiguousarray(leg.changing)[start:stop]
            steps().walk_labels(*begin, walker.states[0], values, *end)
        elif leg.is_dense:
            steps().walk_dense(*begin, walker.features[0], walker.states[0], *end)
        else:
            sparse = walker.features[0]
            parts = sparse.indptr, sparse.indices, sparse.data
            steps().walk_sparse(*begin, *parts, walker.states[0], *end)

    def _start(self, thresholds: FloatArray, walker: _Walker) -> tuple[Any, ...]:
        places = walker.place, walker.above, walker.below
        return (thresholds, self.ground.columns[0], *self.ground.uniforms, *places)

    def _known(self, legs: list[Leg]) -> _Walker | None:
        for walker in self._walkers:
            if len(walker.features) == len(legs) and all(
                features is leg.constant or _equal(features, leg.constant)
                for features, leg in zip(walker.features, legs, strict=True)
            ):
                return walker
        return None

    def _walker(self, legs: list[Leg]) -> _Walker:
        """Give the walker for the features of these, a new one where no alternative has a success.

        None for labels.
        """
        walker = self._known(legs)
        if walker is not None:
            return walker
        resampling = self.ground.resampling
        sample, m, seat = resampling.sample, resampling.m, resampling.seat
        features = tuple(leg.constant for leg in legs)
        states: list[Any] = [
            np.zeros((m, leg.constant.shape[1]), dtype=leg.precision) for leg in legs
        ]
        for values, points in zip(features, states, strict=True):
            points[seat] = values.T @ sample.successes.astype(np.float64)
        if not features:
            states = [np.zeros((len(sample), m), dtype=np.uint8)]
            states[0][:, seat] = sample.successes
        rows = self.ground.columns[0]
        below = np.full(len(rows), -np.inf)
        first = resampling.n_resamples > 0
        above = self.ground.uniforms[0][rows, 0] if first else np.full_like(below, np.inf)
        place = np.zeros(len(rows), dtype=np.int64)
        walker = _Walker(place, above, below, features, tuple(states))
        self._walkers.append(walker)
        return walker


def _equal(one: Any, other: Any) -> bool:
    if not isinstance(one, np.ndarray) or not isinstance(other, np.ndarray):
        return False
    return np.array_equal(one, other)
