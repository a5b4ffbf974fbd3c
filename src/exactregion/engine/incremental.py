"""Z along paths of candidates: only labels whose uniforms lie between two candidates flip.

The uniforms of each data row are sorted once (see `free`). From one candidate to the next the
threshold of a row moves past some of them, and each adds or subtracts one row of features. Sums are
exact, so that Z does not depend on the path that was taken. A `Path` holds the points at the last
candidate of a path. A search works in many places in turn, so `PathSet` keeps a path in each of
them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from exactregion._typing import BoolArray, FloatArray, IntArray
from exactregion.data.sample import BLOCK_ROWS
from exactregion.engine.free import FreeLabels, same_features
from exactregion.engine.terms import StatisticAt, TermAt
from exactregion.features.grid import (
    SINGLE_POWERS,
    CandidateFeatures,
    SharedFeatures,
    on_grid,
    once,
    probability_bits,
)
from exactregion.features.threads import single_thread
from exactregion.resampling import Resampling
from exactregion.statistics.base import Candidates
from exactregion.statistics.measures import FromCentre, FromMean, Largest, OfLabels, Whitened

__all__ = ["PathSet", "features_in_window", "is_possible"]

MOST_UNIFORMS = 2**24
"""Sorted uniforms take 12 bytes each: 200 MB at most."""

MOST_THRESHOLDS = 2**16
MOST_SUCCESSES = 255
"""Counts have one threshold per trial, and are kept in one byte."""

SINGLE_BITS = 24
"""Bits of a number in single precision."""

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

    def measured(self, out: FloatArray) -> tuple[Any, ...]:
        """Return how all candidates are measured, and that it goes to `out` (T, m)."""
        kind, centre, W, scale = self.measure
        return kind, _read_only(centre), _read_only(W), scale, out

    @property
    def is_single(self) -> bool:
        """Whether sums are made in single precision."""
        return self.precision == np.float32 and isinstance(self.constant, np.ndarray)

    @property
    def has_parts(self) -> bool:
        """Whether features have `parts`, and are measured beside others.

        Other measures take all columns of a point.
        """
        measure = self.term.measure
        if self.is_single:
            return isinstance(measure, FromCentre | Whitened)
        if not isinstance(self.constant, np.ndarray) or not isinstance(measure, Whitened):
            return False
        in_range = (np.abs(np.frexp(self._unit)[1]) <= SINGLE_POWERS).all()
        return bool(self.changing is None and in_range)

    def parts(self) -> list[FloatArray]:
        """Split features into parts whose sums over all trials are exact in single precision."""
        if self.is_single:
            return [self.constant]
        parts: list[FloatArray] = []
        unit, left = self._unit, self.constant.astype(np.float64)
        step = 2.0 ** (SINGLE_BITS - self.term.candidates.inputs.total.bit_length())
        while not parts or left.any():
            unit = unit * step
            rest = on_grid(left, unit)
            parts.append((left - rest).astype(np.float32))
            left = rest
        return parts

    @property
    def _unit(self) -> FloatArray:
        """Spacing of the grid that features are on: shape (r,)."""
        unit: FloatArray = self.term.features.unit  # type: ignore[union-attr]
        return unit if unit.ndim == 1 else unit[0]


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


def _together(loops: Sequence[_Loop]) -> list[dict[int, _Loop]]:
    """Return which terms are followed together, so that a flip is looked up once for all of them.

    Those with sums in single precision, and those whose features can be split into such.
    """
    some = {}
    if any(loop.is_single for loop in loops):
        some = {k: loop for k, loop in enumerate(loops) if loop.has_parts}
    alone = [{k: loop} for k, loop in enumerate(loops) if k not in some]
    return [some, *alone] if some else alone


def _are_same(some: Sequence[Any], others: Sequence[Any]) -> bool:
    pairs = zip(some, others, strict=False)
    return len(some) == len(others) and all(same_features(one, other) for one, other in pairs)


# --- paths --------------------------------------------------------------------------------------


@dataclass(eq=False)
class _Points:
    """The points of some features where paths end, and the place of each threshold.

    The first axis of `place`, `above`, `below` and `sums` is that of the paths. Those that have not
    `begun` do so at `start`, where no free label is a success. Features of several terms are side
    by side in `rows`; `columns` has the first column of each, and in how many parts it is. For
    features that differ between candidates the sums are the labels themselves, and `features` has
    None.
    """

    features: Sequence[Any]
    columns: Sequence[tuple[int, int]]
    rows: Any
    start: FloatArray
    ends: tuple[BoolArray, IntArray, FloatArray, FloatArray, Any]

    @classmethod
    def of(cls, free: FreeLabels, features: Sequence[Any], loops: Sequence[_Loop]) -> _Points:
        """Make room for the points of features, or for labels, at the end of each path."""
        resampling, columns = free.resampling, len(free.columns.rows)
        (rows, *_), places = features, [(0, 1)]
        start: Any
        if rows is None:
            start = np.zeros((len(resampling.sample), resampling.m), dtype=np.uint8)
            start[:, resampling.seat] = resampling.sample.successes
        elif any(loop.is_single for loop in loops):
            parts = [loop.parts() for loop in loops]
            rows = _padded(np.hstack([part for several in parts for part in several]))
            widths = [sum(part.shape[1] for part in several) for several in parts]
            firsts = np.cumsum([0, *widths[:-1]]).tolist()
            places = [(first, len(several)) for first, several in zip(firsts, parts, strict=True)]
            start = free.known(rows).astype(np.float32)
        else:
            start = free.known(rows)
        number = max(1, min(MOST_PATHS, MOST_BYTES // (start.nbytes + 24 * columns)))
        ends = (
            np.zeros(number, dtype=np.bool_),
            np.empty((number, columns), dtype=np.int64),
            np.empty((number, columns)),
            np.empty((number, columns)),
            np.empty((number, *start.shape), dtype=start.dtype),
        )
        return cls(features, places, rows, start, ends)

    def is_of(self, features: Sequence[Any]) -> bool:
        """Return whether these are the features."""
        return _are_same(self.features, features)

    @cached_property
    def size(self) -> int:
        """Bytes that are worked on where one path is followed."""
        return sum(array[0].nbytes for array in self.ends[1:])

    def follow(
        self,
        free: FreeLabels,
        thresholds: FloatArray,
        loops: Mapping[int, _Loop],
        ways: Sequence[IntArray],
        out: FloatArray,
    ) -> None:
        """Measure some terms, by their numbers, at each candidate: out (terms, T, m).

        `ways` is what `choose_paths` returns of the candidates.
        """
        from exactregion.engine import compiled  # Numba is slow to import

        ends = *ways, self.start, *self.ends
        columns = thresholds, free.columns.rows, *free.arrays
        measured = *self._measured(loops, len(thresholds)), out
        if isinstance(self.rows, np.ndarray):
            compiled.follow_all(columns, _read_only(self.rows), ends, measured)
        elif self.rows is None:
            (loop,) = loops.values()
            changing = _read_only(np.ascontiguousarray(loop.changing))
            compiled.follow_labels(columns, changing, ends, measured)
        else:
            rows = self.rows.indptr, self.rows.indices, self.rows.data
            compiled.follow_sparse(columns, rows, ends, measured)

    def _measured(self, loops: Mapping[int, _Loop], T: int) -> tuple[Any, ...]:
        """Return how terms are measured, as `compiled.follow_all` takes it."""
        measures = [loop.measure for loop in loops.values()]
        shapes = [(centre.shape[1], *W.shape[1:]) for _, centre, W, _ in measures]
        r, rows, columns = np.max(shapes, axis=0)
        terms, scales = np.empty((len(loops), 6), dtype=np.int64), np.empty(len(loops))
        centres, metrics = np.zeros((len(loops), T, r)), np.zeros((len(loops), T, rows, columns))
        for k, (number, loop) in enumerate(loops.items()):
            (how, centre, W, scales[k]), (width, height, other) = measures[k], shapes[k]
            place = self.columns[0]
            if len(self.columns) > 1:
                pairs = zip(self.features, self.columns, strict=True)
                place = next(at for each, at in pairs if same_features(each, loop.constant))
            terms[k] = how, *place, width, height, number
            centres[k, :, :width], metrics[k, :, :height, :other] = centre, W
        return terms, scales, centres, metrics


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
        return _are_same(self.features, features)


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
        kinds = [(self._kind_for([*some.values()]), some) for some in _together(loops)]
        probabilities = np.ascontiguousarray(candidates.probabilities[:, ::EVERY])
        places, flips = self._places.copy(), float(self.free.resampling.m * EVERY)
        room = max(1, min(MOST_PATHS, MOST_BYTES // self.size))
        number = min(self.number, room)  # new features may leave less room than there was
        chosen = compiled.choose_paths(probabilities, places, number, room, self.jump / flips)
        *ways, number, moved = chosen
        followed, drawn = self.cost(flips * moved, candidates, at)
        if followed > drawn:
            return None
        thresholds = _read_only(self.free.columns.thresholds(candidates.probabilities))
        out = np.empty((len(loops), len(thresholds), self.free.resampling.m))
        for kind, some in kinds:
            kind.follow(self.free, thresholds, some, ways, out)
        self._places[:], self.number = places, number
        return at.combine(list(out))[0]

    def _kind_for(self, loops: Sequence[_Loop]) -> _Points:
        """Return the points for the features of loops, or labels if they may never come again."""
        loops = [
            loop
            for k, loop in enumerate(loops)
            if not any(same_features(loop.constant, one.constant) for one in loops[:k])
        ]
        features = [loop.constant for loop in loops]
        kind = self._known(features)
        if kind is None and features[0] is not None and loops[0].of_one:
            features, kind = [None], self._known([None])
        if kind is None:
            kind = _Points.of(self.free, features, loops)
            self.kinds.append(kind)
        return kind

    def _known(self, features: Sequence[Any]) -> _Points | None:
        return next((kind for kind in self.kinds if kind.is_of(features)), None)

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
        out = np.empty((len(loops), len(candidates), self.free.resampling.m))
        state = next((s for s in self.states if s.is_of(features)), None)
        if state is None:
            state = _WindowState.at_start(self.free, features)
            self.states[:] = [*self.states[-1:], state]  # a search uses two statistics in turn
        steps = np.zeros((len(candidates), *state.shape))
        rows = self.free.columns.rows
        compiled.flip_free(thresholds, rows, self.free.arrays, state.place, state.together, steps)
        first = 0
        for k, (loop, points) in enumerate(zip(loops, state.points, strict=True)):
            part = np.ascontiguousarray(steps[:, :, first : first + points.shape[1]])
            compiled.measure_steps(points, part, loop.measured(out[k]))
            first += points.shape[1]
        return at.combine(list(out))[0]

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
