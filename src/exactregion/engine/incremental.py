"""Z along paths of candidates: only labels whose uniforms lie between two candidates flip.

The uniforms of each data row are sorted once (see `free`). From one candidate to the next the
threshold of a row moves past some of them, and each adds or subtracts one row of features. Sums are
exact, so that Z does not depend on the path that was taken. A `Path` holds the points at the last
candidate of a path. A search works in many places in turn, so `PathSet` keeps a path in each of
them.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from exactregion._typing import BoolArray, FloatArray, IntArray
from exactregion.data.sample import BLOCK_ROWS
from exactregion.engine.free import FreeLabels, same_features
from exactregion.engine.terms import StatisticAt, TermAt
from exactregion.features.grid import CandidateFeatures, SharedFeatures, once, probability_bits
from exactregion.features.threads import single_thread
from exactregion.resampling import Resampling
from exactregion.statistics.base import Candidates
from exactregion.statistics.measures import FromMean, Largest, OfLabels, Whitened

__all__ = ["PathSet", "features_in_window", "is_possible"]

MOST_UNIFORMS = 2**24
"""Sorted uniforms take 12 bytes each: 200 MB at most."""

MOST_THRESHOLDS = 2**16
MOST_SUCCESSES = 255
"""Counts have one threshold per trial, and are kept in one byte."""

SIDE_BY_SIDE = 16
"""Numbers in single precision that are added at once: features get as many columns or a multiple,
by which 37 of them take half the time."""

THREADED_PRODUCT = 2**18
"""Multiplications from which on BLAS uses threads for a product, which take more time than they
save. To forbid it takes 0.1 ms: as long as many a smaller product."""

EVERY = 8
"""Flips are estimated from every eighth row: the estimate then costs far less than the flips."""

MOST_PATHS = 64
MOST_BYTES = 2**25
"""Paths that are kept, and the memory that they may take: 32 MiB stay in a shared cache. With twice
as many fewer labels flip, but the first analysis of a process waits longer for its memory."""

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
    """

    term: TermAt
    m: int
    constant: Any
    precision: Any
    changing: FloatArray | None
    of_one: bool

    @classmethod
    def of(cls, term: TermAt, m: int) -> _Loop:
        """Write out a term."""
        features: Any = term.features
        T = len(term.candidates)
        constant = _constant(features)
        # those of a gradient that is the same for every θ are kept by rows, and come again
        may_change = isinstance(features, CandidateFeatures) and features.rows is None
        changing = features.values if may_change else None
        compact = isinstance(features, SharedFeatures) and features.compact
        precision = np.float32 if compact else np.float64
        of_one = changing is not None and (T == 1 or len(once(changing)) > 1)
        return cls(term, m, constant, precision, changing, of_one)

    @cached_property
    def measure(self) -> tuple[int, FloatArray, FloatArray, float]:
        """Kind, centre (T, r), W (T, s, r), scale."""
        return _measure_of(self.term, self.m)

    @cached_property
    def out(self) -> FloatArray:
        """What is measured: shape (T, m)."""
        return np.empty((len(self.term.candidates), self.m))

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
        centre = _centre_of(features, rows, term.candidates)
    else:
        centre = np.ascontiguousarray(term.centre.T)
    if isinstance(measure, Whitened):
        return compiled.METRIC, centre, np.ascontiguousarray(term.metric), 1.0
    return compiled.CENTRE, centre, no_metric, measure.scale


def _centre_of(features: Any, rows: FloatArray, candidates: Candidates) -> Any:
    """Compute the centre (T, r) as `SharedFeatures.centre` does it, from features of either kind.

    Those of labels that share a probability are summed first: no product is rounded, so that the
    sum over a block, which is, stays the same.
    """
    from exactregion.engine import compiled  # Numba is slow to import

    P, inputs, distinct = candidates.probabilities, candidates.inputs, candidates.distinct
    trials = inputs.trials
    if distinct is not None and len(inputs) <= BLOCK_ROWS and (trials == 1).all():
        P, rows = distinct[0], features.merged(distinct[1])
        trials = trials[: len(rows)]
    precision = 2.0 ** probability_bits(inputs.extent)
    unit = features.unit if features.unit.ndim == 1 else features.unit[0]
    shared = (_read_only(P), _read_only(trials), precision, _read_only(rows))
    threaded = P.size * rows.shape[1] > THREADED_PRODUCT
    with single_thread() if threaded else nullcontext():
        return compiled.centres(*shared, _read_only(unit), BLOCK_ROWS)


# --- paths --------------------------------------------------------------------------------------


@dataclass(eq=False)
class _Points:
    """The points of one kind of features where paths end, and the place of each threshold.

    The first axis of `place`, `above`, `below` and `sums` is that of the paths. Those that have not
    `begun` do so at `start`, where no free label is a success. For features that differ between
    candidates the sums are the labels themselves, and `features` is None.
    """

    features: Any
    rows: Any
    start: FloatArray
    ends: tuple[BoolArray, IntArray, FloatArray, FloatArray, Any]

    @classmethod
    def of(cls, free: FreeLabels, features: Any, precision: Any) -> _Points:
        """Make room for the points of features, or for labels, at the end of each path."""
        rows, resampling, columns = features, free.resampling, len(free.columns.rows)
        start: Any
        if features is None:
            start = np.zeros((len(resampling.sample), resampling.m), dtype=np.uint8)
            start[:, resampling.seat] = resampling.sample.successes
        else:
            start = free.known(features).astype(precision)
        if isinstance(features, np.ndarray) and precision == np.float32:
            rows, start = _padded(features), _padded(start)
        number = max(1, min(MOST_PATHS, MOST_BYTES // (start.nbytes + 24 * columns)))
        ends = (
            np.zeros(number, dtype=np.bool_),
            np.empty((number, columns), dtype=np.int64),
            np.empty((number, columns)),
            np.empty((number, columns)),
            np.empty((number, *start.shape), dtype=start.dtype),
        )
        return cls(features, rows, start, ends)

    @cached_property
    def size(self) -> int:
        """Bytes that are worked on where one path is followed."""
        return sum(array[0].nbytes for array in self.ends[1:])

    def follow(
        self,
        free: FreeLabels,
        thresholds: FloatArray,
        loop: _Loop,
        ways: Sequence[IntArray],
    ) -> None:
        """Measure one term at each candidate, by what `choose_paths` returns of them."""
        from exactregion.engine import compiled  # Numba is slow to import

        ends = *ways, self.start, *self.ends
        columns = thresholds, free.columns.rows, *free.arrays
        if isinstance(self.rows, np.ndarray):
            measured = loop.between(0, len(thresholds))
            compiled.follow_all(columns, _read_only(self.rows), ends, measured)
            return
        order, path, _ = ways
        for t in order:
            compiled.set_out(columns[1:4], t, ends)
            at_end = *columns[1:], *(array[path[t]] for array in self.ends[1:4])
            here, measured = (_read_only(thresholds[t : t + 1]), *at_end), loop.between(t, t + 1)
            sums = self.ends[4][path[t]]
            if self.features is None:
                values: Any = loop.changing
                values = _read_only(np.ascontiguousarray(values[t : t + 1]))
                compiled.follow_labels(here, values, sums, measured)
            else:
                rows = self.rows.indptr, self.rows.indices, self.rows.data
                compiled.follow_sparse(here, rows, sums, measured)


def _padded(rows: FloatArray) -> FloatArray:
    """Add columns of zeros to features in single precision."""
    return np.pad(rows, ((0, 0), (0, -rows.shape[1] % SIDE_BY_SIDE)))


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
    """The paths of one worker: a `number` of them, and the points of each kind of features."""

    free: FreeLabels
    number: int = 0
    kinds: list[_Points] = field(default_factory=list, repr=False)
    states: list[_WindowState] = field(default_factory=list, repr=False)

    def statistics_of(self, candidates: Candidates, at: StatisticAt) -> FloatArray | None:
        """Compute Z of the m data sets of each of T candidates: shape (T, m).

        Candidates near each other continue the path that ends nearest; None where drawing all
        labels anew would cost less, or where candidates or features leave the window.
        """
        from exactregion.engine import compiled  # Numba is slow to import

        if self.free.limits is not None:
            return self._in_window(candidates, at)
        loops = [_Loop.of(term, self.free.resampling.m) for term in at.terms]
        kinds = [self._kind_for(loop) for loop in loops]
        some = np.ascontiguousarray(candidates.probabilities[:, ::EVERY])
        places, flips = self._places.copy(), float(self.free.resampling.m * EVERY)
        room = max(1, min(MOST_PATHS, MOST_BYTES // self.size))
        number = min(self.number, room)  # new features may leave less room than there was
        chosen = compiled.choose_paths(some, places, number, room, self.jump / flips)
        *ways, number, moved = chosen
        followed, drawn = self.cost(flips * moved, candidates, at)
        if followed > drawn:
            return None
        thresholds = _read_only(self.free.columns.thresholds(candidates.probabilities))
        for kind, loop in zip(kinds, loops, strict=True):
            kind.follow(self.free, thresholds, loop, ways)
        self._places[:], self.number = places, number
        return at.combine([loop.out for loop in loops])[0]

    def _kind_for(self, loop: _Loop) -> _Points:
        """Return the points for the features of a loop, or labels if they may never come again."""
        features = loop.constant
        kind = self._known(features)
        if kind is None and features is not None and loop.of_one:
            features, kind = None, self._known(None)
        if kind is None:
            kind = _Points.of(self.free, features, loop.precision)
            self.kinds.append(kind)
        return kind

    def _known(self, features: Any) -> _Points | None:
        return next((kind for kind in self.kinds if same_features(kind.features, features)), None)

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

    def cost(self, flips: float, candidates: Candidates, at: StatisticAt) -> tuple[float, float]:
        """Count the additions that following paths takes, and those of drawing all labels.

        A matrix product makes about four additions at once, but has to draw every label first.
        """
        m, (T, n) = self.free.resampling.m, candidates.probabilities.shape
        followed = drawn = 0.0
        for term in at.terms:
            r = term.features.width
            each = n * m * r / 2 if isinstance(term.features, CandidateFeatures) else m * r
            followed += flips * (r + 8) + T * each
            drawn += T * n * m * (r / 4 + 4)
        return followed, drawn

    @property
    def size(self) -> int:
        """Bytes of the points at the end of one path."""
        return sum(kind.size for kind in self.kinds)

    @property
    def jump(self) -> float:
        """Flips that cost more than to continue another path, or a copy of it."""
        return max(self.size, 2**14) / BYTES_PER_FLIP

    @cached_property
    def _places(self) -> FloatArray:
        """Some probabilities at the end of each path, to estimate how far others are."""
        return np.zeros((MOST_PATHS, len(range(0, len(self.free.resampling.sample), EVERY))))
