"""Z along paths of candidates: only labels whose uniforms lie between two candidates flip.

The uniforms of each data row are sorted once (see `free`). From one candidate to the next the
threshold of a row moves past some of them, and each adds or subtracts one row of features. Sums are
exact, so that Z does not depend on the path that was taken. A `Path` holds the points at the last
candidate of a path. A search works in many places in turn, so `PathSet` keeps a path in each of
them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from exactregion._typing import FloatArray, IntArray
from exactregion.data.sample import BLOCK_ROWS
from exactregion.engine.free import FreeLabels, same_features
from exactregion.engine.terms import StatisticAt, TermAt
from exactregion.features.grid import CandidateFeatures, SharedFeatures, once, probability_bits
from exactregion.resampling import Resampling
from exactregion.statistics.base import Candidates
from exactregion.statistics.measures import FromMean, Largest, OfLabels, Whitened

__all__ = ["PathSet", "features_in_window", "is_possible"]

MOST_UNIFORMS = 2**24
"""Sorted uniforms take 12 bytes each: 200 MB at most."""

MOST_THRESHOLDS = 2**16
MOST_SUCCESSES = 255
"""Counts have one threshold per trial, and are kept in one byte."""

EVERY = 8
"""Flips are estimated from every eighth row: the estimate then costs far less than the flips."""

MOST_PATHS = 128
MOST_BYTES = 2**25
"""Paths that are kept, and the memory that they may take: 32 MiB stay in a shared cache."""

BYTES_PER_FLIP = 64
"""A flip costs about as much as reading this many bytes of other points: one cache line."""


def is_possible(at: StatisticAt, resampling: Resampling) -> bool:
    """Return whether paths can be followed with all labels free: by measures, and by size."""
    inputs = resampling.sample.inputs
    small = (
        resampling.m * len(inputs) <= MOST_UNIFORMS
        and inputs.total <= MOST_THRESHOLDS
        and int(inputs.trials.max()) <= MOST_SUCCESSES
    )
    return small and not any(isinstance(term.measure, OfLabels) for term in at.terms)


def features_in_window(at: StatisticAt, resampling: Resampling) -> list[FloatArray] | None:
    """Return the features of all terms, if they are the same for all candidates; else None.

    These are what known labels can be summed by, once for all candidates of a window.
    """
    if int(resampling.sample.inputs.trials.max()) > MOST_SUCCESSES:
        return None
    found = [_constant(term.features) for term in at.terms]
    dense = [each for each in found if isinstance(each, np.ndarray)]
    return dense if len(dense) == len(found) else None


def _constant(features: Any) -> Any:
    """Return features (n, r), dense or sparse, if all candidates share them; else None."""
    if isinstance(features, CandidateFeatures):
        if features.rows is not None:
            return features.rows
        distinct = once(features.values)
        same = bool((distinct[1:] == distinct[:1]).all())
        return np.ascontiguousarray(distinct[0].T) if same else None
    return features.values if isinstance(features, SharedFeatures) else None


# --- terms as the compiled loops take them ------------------------------------------------------


@dataclass(frozen=True, eq=False)
class _Loop:
    """One term at T candidates, written out as arrays.

    Attributes
    ----------
    constant : ndarray, sparse array or None
        Features (n, r) that all T candidates share.
    precision : dtype
        In which their sums are exact.
    changing : ndarray of shape (T, r, n) or None
        Features that may differ between candidates.
    of_one : bool
        Whether these are features of one θ, which may never come again.
    measure : tuple
        Kind, centre (T, r), W (T, s, r), scale.
    out : ndarray of shape (T, m)
        What is measured.
    """

    constant: Any
    precision: Any
    changing: FloatArray | None
    of_one: bool
    measure: tuple[int, FloatArray, FloatArray, float]
    out: FloatArray

    @classmethod
    def of(cls, term: TermAt, m: int) -> _Loop:
        """Write out a term."""
        features: Any = term.features
        T = len(term.candidates)
        constant = _constant(features)
        changing = features.values if isinstance(features, CandidateFeatures) else None
        compact = isinstance(features, SharedFeatures) and features.compact
        precision = np.float32 if compact else np.float64
        of_one = changing is not None and (T == 1 or len(once(changing)) > 1)
        measure = _measure_of(term, m)
        return cls(constant, precision, changing, of_one, measure, np.empty((T, m)))

    def between(self, start: int, stop: int) -> tuple[int, FloatArray, FloatArray, float, Any]:
        """Return what is measured, and where it goes, for some candidates."""
        kind, centre, W, scale = self.measure
        given = _read_only(centre[start:stop]), _read_only(W[start:stop])
        return kind, *given, scale, self.out[start:stop]


def _read_only(array: Any) -> Any:
    """Return a view that cannot be written to: Numba compiles loops for each kind that comes."""
    view = array.view()
    view.flags.writeable = False
    return view


def _measure_of(term: TermAt, m: int) -> tuple[int, FloatArray, FloatArray, float]:
    """Write out a measure: kind, centre (T, r), W (T, s, r), scale."""
    from exactregion.engine import compiled  # Numba is slow to import

    T = len(term.candidates)
    measure, no_metric = term.measure, np.zeros((T, 0, 0))
    if isinstance(measure, OfLabels):
        raise TypeError("functions of labels cannot be followed along a path")
    if isinstance(measure, FromMean):
        return compiled.MEAN, np.zeros((T, 0)), no_metric, measure.scale / m**2
    if isinstance(measure, Largest):
        return compiled.LARGEST, np.zeros((T, 0)), np.ascontiguousarray(term.metric), 1.0
    features: Any = term.features
    rows = features.values if isinstance(features, SharedFeatures) else features.rows
    if isinstance(rows, np.ndarray):
        # as `SharedFeatures.centre` does it, without the threads of a matrix product
        P, inputs = term.candidates.probabilities, term.candidates.inputs
        precision = 2.0 ** probability_bits(inputs.extent)
        unit = features.unit if features.unit.ndim == 1 else features.unit[0]
        shared = (_read_only(P), _read_only(inputs.trials), precision, _read_only(rows))
        centre = compiled.centres(*shared, _read_only(unit), BLOCK_ROWS)
    else:
        centre = np.ascontiguousarray(term.centre.T)
    if isinstance(measure, Whitened):
        return compiled.METRIC, centre, np.ascontiguousarray(term.metric), 1.0
    return compiled.CENTRE, centre, no_metric, measure.scale


# --- paths --------------------------------------------------------------------------------------


@dataclass(eq=False)
class _State:
    """The points of one kind of features at some candidate, and the place of each threshold.

    For features that differ between candidates it holds the labels themselves, and `features` is
    None.
    """

    place: IntArray
    above: FloatArray
    below: FloatArray
    features: Any
    sums: Any

    @cached_property
    def size(self) -> int:
        """Bytes that are worked on."""
        return sum(array.nbytes for array in (self.place, self.above, self.below, self.sums))

    def copy(self) -> _State:
        """Return a state at the same candidate that can go elsewhere."""
        arrays = (self.place.copy(), self.above.copy(), self.below.copy())
        return _State(*arrays, self.features, self.sums.copy())


@dataclass(eq=False)
class Path:
    """The points of all data sets at the last candidate of a path; for one thread at a time."""

    free: FreeLabels
    states: list[_State] = field(default_factory=list, repr=False)

    @property
    def size(self) -> int:
        """Bytes of the points."""
        return sum(state.size for state in self.states)

    def copy(self) -> Path:
        """Return another path that ends at the same candidate."""
        return Path(self.free, [state.copy() for state in self.states])

    def follow(self, thresholds: FloatArray, loop: _Loop, start: int, stop: int) -> None:
        """Go along the candidates start..stop - 1, and measure one term at each."""
        from exactregion.engine import compiled  # Numba is slow to import

        shared = loop.constant is not None and not (
            loop.of_one and self._known(loop.constant) is None
        )
        state = self._state(loop if shared else None)
        columns = (
            _read_only(thresholds[start:stop]),
            self.free.columns.rows,
            *self.free.arrays,
            state.place,
            state.above,
            state.below,
        )
        measured = loop.between(start, stop)
        if not shared:
            values = np.ascontiguousarray(loop.changing)[start:stop]
            compiled.follow_labels(columns, _read_only(values), state.sums, measured)
        elif isinstance(state.features, np.ndarray):
            compiled.follow_dense(columns, _read_only(state.features), state.sums, measured)
        else:
            rows = state.features.indptr, state.features.indices, state.features.data
            compiled.follow_sparse(columns, rows, state.sums, measured)

    def _known(self, features: Any) -> _State | None:
        return next((s for s in self.states if same_features(s.features, features)), None)

    def _state(self, loop: _Loop | None) -> _State:
        """Return the state for the features of a loop, or for labels.

        A new one begins where no free label is a success.
        """
        features: Any = None if loop is None else loop.constant
        state = self._known(features)
        if state is not None:
            return state
        resampling = self.free.resampling
        sums: Any
        if loop is None:
            sums = np.zeros((len(resampling.sample), resampling.m), dtype=np.uint8)
            sums[:, resampling.seat] = resampling.sample.successes
        else:
            sums = self.free.known(features).astype(loop.precision)
        rows = self.free.columns.rows
        first, uniforms, _ = self.free.arrays
        place = first[rows]
        above = np.append(uniforms, np.inf)[place]
        above[place == first[rows + 1]] = np.inf  # rows without free labels
        state = _State(place, above, np.full(len(rows), -np.inf), features, sums)
        self.states.append(state)
        return state


@dataclass(eq=False)
class _WindowState:
    """The points of all terms of a statistic at some candidate of a window.

    `place` says where the free labels of each column end that are successes, and `together` are the
    features (n, r) of all terms side by side.
    """

    features: Sequence[FloatArray]
    together: FloatArray
    place: IntArray
    points: list[FloatArray]

    @classmethod
    def at_start(cls, free: FreeLabels, features: Sequence[FloatArray]) -> _WindowState:
        """Begin where no free label is a success."""
        points = [free.known(each).copy() for each in features]
        place = free.arrays[0][free.columns.rows]
        return cls(features, np.concatenate(features, axis=1), place, points)

    @property
    def shape(self) -> tuple[int, int]:
        """Number of data sets, and of features."""
        return len(self.points[0]), self.together.shape[1]

    def is_of(self, features: Sequence[FloatArray]) -> bool:
        """Return whether these are the features."""
        pairs = zip(self.features, features, strict=False)
        same = len(self.features) == len(features)
        return same and all(same_features(one, other) for one, other in pairs)


@dataclass(eq=False)
class PathSet:
    """The paths of one worker."""

    free: FreeLabels
    paths: list[Path] = field(default_factory=list)
    states: list[_WindowState] = field(default_factory=list, repr=False)

    def statistics_of(self, candidates: Candidates, at: StatisticAt) -> FloatArray | None:
        """Compute Z of the m data sets of each of T candidates: shape (T, m).

        Runs of candidates near each other continue the path that ends nearest; None where drawing
        all labels anew would cost less, or where candidates or features leave the window.
        """
        if self.free.limits is not None:
            return self._in_window(candidates, at)
        some = np.ascontiguousarray(candidates.probabilities[:, ::EVERY])
        runs = (np.flatnonzero(self._flips(some[1:], some[:-1]) > self.jump) + 1).tolist()
        starts, stops = [0, *runs], [*runs, len(some)]
        thresholds = self.free.columns.thresholds(candidates.probabilities)
        followed, drawn = self.cost(candidates.probabilities, at, starts)
        if followed > drawn:
            return None
        m = self.free.resampling.m
        loops = [_Loop.of(term, m) for term in at.terms]
        for start, stop in zip(starts, stops, strict=True):
            nearest = self._nearest(some[start])
            for loop in loops:
                self.paths[nearest].follow(thresholds, loop, start, stop)
            self._places[nearest] = some[stop - 1]
        return at.combine([loop.out for loop in loops])[0]

    def _in_window(self, candidates: Candidates, at: StatisticAt) -> FloatArray | None:
        """Follow candidates of a window, all terms at once."""
        from exactregion.engine import compiled  # Numba is slow to import

        thresholds = self.free.columns.thresholds(candidates.probabilities)
        if not self.free.holds(thresholds).all():
            return None
        loops = [_Loop.of(term, self.free.resampling.m) for term in at.terms]
        features = [loop.constant for loop in loops]
        if not all(each is not None and self.free.is_known(each) for each in features):
            return None
        state = next((s for s in self.states if s.is_of(features)), None)
        if state is None:
            state = _WindowState.at_start(self.free, features)
            self.states[:] = [*self.states[-1:], state]  # a search uses two statistics in turn
        steps = np.zeros((len(candidates), *state.shape))
        rows = self.free.columns.rows
        compiled.flip_free(thresholds, rows, self.free.arrays, state.place, state.together, steps)
        first = 0
        for loop, points in zip(loops, state.points, strict=True):
            part = np.ascontiguousarray(steps[:, :, first : first + points.shape[1]])
            compiled.measure_steps(points, part, loop.between(0, len(candidates)))
            first += points.shape[1]
        return at.combine([loop.out for loop in loops])[0]

    def cost(
        self, probabilities: FloatArray, at: StatisticAt, starts: Sequence[int]
    ) -> tuple[float, float]:
        """Count the additions that following paths takes, and those of drawing all labels.

        Runs of candidates that begin at `starts` may continue any path. A matrix product makes
        about four additions at once, but has to draw every label first.
        """
        m, (T, n) = self.free.resampling.m, probabilities.shape
        some = probabilities[:, ::EVERY]
        flips = self._flips(some, np.concatenate([some[:1], some[:-1]]))
        if self.paths:
            for start in starts:
                nearest = self._flips(self._places[: len(self.paths)], some[start]).min()
                flips[start] = nearest if start == 0 else min(flips[start], nearest)
        followed = drawn = 0.0
        for term in at.terms:
            r = term.features.width
            each = n * m * r / 2 if isinstance(term.features, CandidateFeatures) else m * r
            followed += float(flips.sum()) * (r + 8) + T * each
            drawn += T * n * m * (r / 4 + 4)
        return followed, drawn

    @property
    def jump(self) -> float:
        """Flips that cost more than to continue another path, or a copy of it."""
        size = self.paths[0].size if self.paths else 0
        return max(size, 2**14) / BYTES_PER_FLIP

    @cached_property
    def _places(self) -> FloatArray:
        """Some probabilities at the end of each path, to estimate how far others are."""
        return np.zeros((MOST_PATHS, len(range(0, len(self.free.resampling.sample), EVERY))))

    def _flips(self, here: FloatArray, there: FloatArray) -> FloatArray:
        """Estimate the labels that flip between probabilities: one number per row."""
        flips: FloatArray = self.free.resampling.m * EVERY * np.abs(here - there).sum(axis=-1)
        return flips

    def _nearest(self, here: FloatArray) -> int:
        """Choose the path that ends nearest; a copy of it where that is far and there is room."""
        number = len(self.paths)
        if number == 0:
            self.paths.append(Path(self.free))
            return 0
        distances = self._flips(self._places[:number], here)
        nearest = int(distances.argmin())
        room = min(MOST_PATHS, MOST_BYTES // max(1, self.paths[nearest].size))
        if distances[nearest] <= self.jump or number >= room:
            return nearest
        self.paths.append(self.paths[nearest].copy())
        return number
