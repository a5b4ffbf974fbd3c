"""Z for many θ: in which order, by which engine, by how many workers.

None of this changes a number: it is chosen by what it costs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from threading import Lock
from typing import TypeVar

import numpy as np

from exactregion._typing import BoolArray, FloatArray, IntArray
from exactregion.data.workers import number_of_workers
from exactregion.engine.blocks import (
    IMPOSSIBLE,
    batch_size,
    check_numbers,
    has_certainties,
    statistics_of,
    width_of_changing,
)
from exactregion.engine.free import FreeLabels
from exactregion.engine.incremental import PathSet, features_in_window, is_possible
from exactregion.engine.levels import can_be_drawn, class_probabilities
from exactregion.engine.terms import PreparedStatistic, StatisticAt
from exactregion.resampling import Resampling
from exactregion.statistics.base import Candidates

__all__ = ["MANY_LABELS", "Paths", "SearchWindow", "path_order", "statistics_of_many"]

Result = TypeVar("Result")

WORTH_SORTING = 32
"""Sorting all uniforms costs about as much as this many θ by the block engine."""

MANY_LABELS = 2**22
"""Labels of all data sets from which on those of a window are listed, not all: at m = 1000, 4,194
rows. Fewer are sorted in half a second, and no θ is outside then."""

WORTH_A_PASS = 3
"""Listing the free labels of a window costs about as much as this many θ by the block engine."""

CACHED_NUMBERS = 2**19
"""Numbers that the candidates handed to the compiled loops at once may take: 4 MiB stay in the
cache."""

MOST_IN_WINDOW, WINDOW_NUMBERS = 8, 2**23
"""Candidates of a window that are followed at once, so that rows are read once for all of them, and
the probabilities that they may take: 64 MiB."""

MOST_FREE = 2**24
"""Free labels of a window for θ that are in no other: 12 bytes each, 200 MB at most."""

FULL_GRID = 4
"""θ are sorted as a grid if the grid of their values has at most this many times as many points."""


@dataclass(frozen=True, eq=False)
class SearchWindow:
    """Candidates that a search of many data may look at: θ outside of it cost much more.

    Attributes
    ----------
    low, high : ndarrays of shape (n,)
        Smallest and largest probability of each row, in canonical order.
    examples : ndarray of shape (2, d)
        Two θ of the window.
    """

    low: FloatArray
    high: FloatArray
    examples: FloatArray


@dataclass(eq=False)
class Paths:
    """The paths of one analysis: a set for each worker, kept as it is for the next call."""

    evaluated: int = 0
    _everything: FreeLabels | None = field(default=None, repr=False)
    _windows: list[FreeLabels] = field(default_factory=list, repr=False)
    _in_window: list[tuple[PreparedStatistic, list[FloatArray] | None]] = field(
        default_factory=list, repr=False
    )
    _known: list[tuple[PreparedStatistic, StatisticAt]] = field(default_factory=list, repr=False)
    _free: list[PathSet] = field(default_factory=list, repr=False)
    _lock: Lock = field(default_factory=Lock, repr=False)

    def __reduce__(self) -> tuple[type[Paths], tuple[int]]:
        """Leave the paths behind where an analysis is copied or sent elsewhere."""
        return Paths, (self.evaluated,)

    def expect_many(self) -> None:
        """Say that many θ are to come: a search begins with few."""
        self.evaluated = max(self.evaluated, WORTH_SORTING)

    @contextmanager
    def borrow(self, labels: FreeLabels) -> Iterator[PathSet]:
        """Take a set of paths that no other worker has, and put it back afterwards.

        One that was left in the middle of a step is not put back: its points are not those of its
        thresholds.
        """
        with self._lock:
            unused = (paths for paths in self._free if paths.free is labels)
            paths = next(unused, None) or PathSet(labels)
            self._free[:] = [other for other in self._free if other is not paths]
        yield paths
        with self._lock:
            self._free.append(paths)

    def labels_for(
        self,
        statistic: PreparedStatistic,
        at: StatisticAt,
        resampling: Resampling,
        window: Callable[[], SearchWindow] | None,
        candidates_at: Callable[[FloatArray], Candidates],
    ) -> FreeLabels | None:
        """Return the free labels that paths follow; None where paths are not possible or worth it.

        Those of a window where there are many labels and features allow it, else all labels.
        """
        is_large = resampling.m * len(resampling.sample) > MANY_LABELS
        if is_large and window is not None and self.evaluated >= WORTH_A_PASS:
            if not any(known is statistic for known, _ in self._in_window):
                two = statistic.at(candidates_at(window().examples))
                features = features_in_window(two, resampling)
                self._in_window[:] = [*self._in_window[-1:], (statistic, features)]
            features = self.features_of(statistic)
            if features is not None:
                if not self._windows:
                    bounds = window()
                    self._windows.append(FreeLabels(resampling, (bounds.low, bounds.high)))
                self._windows[0].sum_known(features)
                return self._windows[0]
        if self.evaluated < WORTH_SORTING or not is_possible(at, resampling):
            return None
        if self._everything is None:
            self._everything = FreeLabels(resampling)
        return self._everything

    def features_of(self, statistic: PreparedStatistic) -> list[FloatArray] | None:
        """Return what known labels are summed by; None where candidates do not share it."""
        return next(features for known, features in self._in_window if known is statistic)

    def windows(self) -> tuple[FreeLabels, ...]:
        """Return all windows that were made, the first of them around the estimate."""
        return tuple(self._windows)

    def add_window(self, labels: FreeLabels) -> None:
        """Keep another window, beside the first one and the last one that was added."""
        self._windows[:] = [self._windows[0], *self._windows[1:][-1:], labels]
        kept = [self._everything, *self._windows]
        self._free[:] = [paths for paths in self._free if any(paths.free is one for one in kept)]

    def at_first(
        self, statistic: PreparedStatistic, candidates: Callable[[], Candidates]
    ) -> StatisticAt:
        """Return the statistic at some θ, which has the kind and size of all.

        A search uses two statistics in turn: no more are kept.
        """
        for known, at in list(self._known):
            if known is statistic:
                return at
        at = statistic.at(candidates())
        self._known[:] = [*self._known[-1:], (statistic, at)]
        return at


def statistics_of_many(
    theta: FloatArray,
    candidates_at: Callable[[FloatArray], Candidates],
    resampling: Resampling,
    statistic: PreparedStatistic,
    *,
    batch: int,
    n_jobs: int | None = None,
    paths: Paths | None = None,
    window: Callable[[], SearchWindow] | None = None,
    only_ranks: bool = False,
) -> FloatArray:
    """Compute Z for many θ: shape (T, m).

    Parameters
    ----------
    theta : ndarray of shape (T, d)
        Parameters.
    candidates_at : callable
        θ to candidates.
    resampling : Resampling
        Outcomes and draws.
    statistic : PreparedStatistic
        What to compute.
    batch : int
        Bytes that the candidates worked on at once may take.
    n_jobs : int, optional
        Number of joblib workers.
    paths : Paths, optional
        Where paths of earlier θ of the same resampling ended. Without it the block engine is used.
    window : callable, optional
        Gives the candidates whose free labels are listed where not all labels can be.
    only_ranks : bool
        Whether nothing but ranks will be made of Z. Where an observed outcome is impossible, the
        original has Z = ∞ and the largest rank; the others may then be left at zero.
    """
    if not len(theta):
        return np.empty((0, resampling.m))
    n, d, m = len(resampling.sample), theta.shape[1], resampling.m
    kept = Paths() if paths is None else paths
    at = kept.at_first(statistic, lambda: candidates_at(theta[:1]))
    size = batch_size(at, n, d, m, batch)
    kept.evaluated += len(theta)
    labels = None
    if paths is not None:
        labels = paths.labels_for(statistic, at, resampling, window, candidates_at)
    if paths is None or labels is None:

        def by_blocks(start: int) -> FloatArray:
            return statistics_of(candidates_at(theta[start : start + size]), resampling, statistic)

        return np.concatenate(_work(by_blocks, range(0, len(theta), size), n_jobs))
    if labels.limits is not None:
        follower = _InWindows(theta, candidates_at, resampling, statistic, paths, n_jobs)
        return follower.statistics(features=paths.features_of(statistic) or [])
    order = path_order(theta)
    numbers = n * (3 + 4 * width_of_changing(at)) + m * len(at.terms)
    followed = max(1, min(CACHED_NUMBERS, batch // 8) // numbers)
    workers = min(number_of_workers(n_jobs), max(1, len(order) // min(size, followed)))
    shares = [order] if workers == 1 else np.array_split(order, workers)

    follow = _ranked if only_ranks else _followed

    # workers may be processes elsewhere: what they find has to be returned
    def along_paths(which: int) -> FloatArray:
        share = shares[which]
        found = np.empty((len(share), m))
        with paths.borrow(labels) as borrowed:
            for start in range(0, len(share), followed):
                part = slice(start, start + followed)
                candidates = candidates_at(theta[share[part]])
                found[part] = follow(borrowed, candidates, resampling, statistic, size)
        return found

    Z = np.empty((len(theta), m))
    for share, found in zip(shares, _work(along_paths, range(len(shares)), n_jobs), strict=True):
        Z[share] = found
    return Z


@dataclass(frozen=True, eq=False)
class _InWindows:
    """Z for θ in windows, each by its free labels; another window where many θ are in none."""

    theta: FloatArray
    candidates_at: Callable[[FloatArray], Candidates]
    resampling: Resampling
    statistic: PreparedStatistic
    paths: Paths
    n_jobs: int | None

    def statistics(self, features: list[FloatArray]) -> FloatArray:
        """Compute Z (T, m) of all θ."""
        Z = np.empty((len(self.theta), self.resampling.m))
        left = path_order(self.theta)
        for labels in self.paths.windows():
            left = self._follow(labels, features, left, Z)
        if len(left) > WORTH_A_PASS:
            around = self._window_around(left)
            if around is not None:
                self.paths.add_window(around)
                left = self._follow(around, features, left, Z)
        for index in left:
            one = self.candidates_at(self.theta[index : index + 1])
            Z[index] = statistics_of(one, self.resampling, self.statistic)[0]
        return Z

    def _follow(
        self, labels: FreeLabels, features: list[FloatArray], which: IntArray, Z: FloatArray
    ) -> IntArray:
        """Fill in Z of those θ that are in a window, and return the others."""
        if not len(which):
            return which
        labels.sum_known(features)
        size = max(1, min(MOST_IN_WINDOW, WINDOW_NUMBERS // len(self.resampling.sample)))
        workers = min(number_of_workers(self.n_jobs), max(1, len(which) // size))
        shares = np.array_split(which, workers)

        # workers may be processes elsewhere: what they find has to be returned
        def along_paths(share: int) -> tuple[BoolArray, FloatArray]:
            inside = np.zeros(len(shares[share]), dtype=np.bool_)
            found = np.empty((len(inside), self.resampling.m))
            with self.paths.borrow(labels) as borrowed:
                for start in range(0, len(inside), size):
                    part = slice(start, start + size)
                    candidates = self.candidates_at(self.theta[shares[share][part]])
                    self._batch(borrowed, candidates, inside[part], found[part])
            return inside, found

        left = []
        results = _work(along_paths, range(len(shares)), self.n_jobs)
        for share, (inside, found) in zip(shares, results, strict=True):
            Z[share[inside]] = found[inside]
            left.append(share[~inside])
        return np.concatenate(left)

    def _batch(
        self, paths: PathSet, candidates: Candidates, inside: BoolArray, Z: FloatArray
    ) -> None:
        """Follow a few θ; where one leaves the window it takes no other with it."""
        found = _along_paths(paths, candidates, self.resampling, self.statistic)
        if found is not None:
            inside[:], Z[:] = True, found
        elif len(inside) > 1:
            for one in (slice(index, index + 1) for index in range(len(inside))):
                self._batch(paths, _some(candidates, one), inside[one], Z[one])

    def _window_around(self, which: IntArray) -> FreeLabels | None:
        """Return a window that holds these θ; None where too many labels would be free."""
        low, high = np.ones(len(self.resampling.sample)), np.zeros(len(self.resampling.sample))
        for index in which:
            P = self.candidates_at(self.theta[index : index + 1]).probabilities[0]
            low, high = np.minimum(low, P), np.maximum(high, P)
        labels = FreeLabels(self.resampling, (low, high))
        assert labels.limits is not None
        free = self.resampling.m * float((labels.limits[1] - labels.limits[0]).sum())
        return labels if free <= MOST_FREE else None


def path_order(theta: FloatArray) -> IntArray:
    """Order θ so that a grid is followed to and fro: every other run of its last axis backwards.

    A grid is sorted first, so that its cost does not depend on which axis the caller varies
    fastest. Other θ keep their order: a search gives neighbours one after the other.

    Examples
    --------
    >>> path_order(np.array([[0.0, 1], [0, 2], [1, 1], [1, 2], [2, 1], [2, 2]])).tolist()
    [0, 1, 3, 2, 4, 5]
    >>> path_order(np.array([[0.0, 1], [1, 1], [2, 1], [0, 2], [1, 2], [2, 2]])).tolist()
    [0, 3, 4, 1, 2, 5]
    """
    order = np.arange(len(theta))
    if theta.shape[1] < 2 or len(theta) < 3:
        return order
    points = 1.0
    for column in theta.T:
        points *= len(np.unique(column))
        if points > FULL_GRID * len(theta):
            break
    else:
        order = np.lexsort(theta.T[::-1])
    ordered = theta[order]
    turns = 1 + np.flatnonzero((ordered[1:, :-1] != ordered[:-1, :-1]).any(axis=1))
    if len(turns) == len(theta) - 1:  # no two are on one line
        return order
    runs = np.split(order, turns)
    return np.concatenate([run[::-1] if odd % 2 else run for odd, run in enumerate(runs)])


def _ranked(
    paths: PathSet,
    candidates: Candidates,
    resampling: Resampling,
    statistic: PreparedStatistic,
    size: int,
) -> FloatArray:
    """Do as `_followed` for candidates that the original does not contradict.

    Searches step far out in every direction: most of their θ hold an observed outcome impossible.
    """
    contradicted = _contradicted(candidates, paths.free) if has_certainties(candidates) else None
    if contradicted is None or not contradicted.any():
        return _followed(paths, candidates, resampling, statistic, size)
    Z = np.zeros((len(candidates), resampling.m))
    Z[contradicted, resampling.seat] = np.inf
    if not contradicted.all():
        others = _some(candidates, ~contradicted)
        Z[~contradicted] = _followed(paths, others, resampling, statistic, size)
    return Z


def _followed(
    paths: PathSet,
    candidates: Candidates,
    resampling: Resampling,
    statistic: PreparedStatistic,
    size: int,
) -> FloatArray:
    """Follow paths along a few θ, or draw all labels of `size` at once where they are far apart."""
    Z = _along_paths(paths, candidates, resampling, statistic)
    if Z is not None:
        return Z
    parts = (slice(start, start + size) for start in range(0, len(candidates), size))
    drawn = [statistics_of(_some(candidates, part), resampling, statistic) for part in parts]
    return np.concatenate(drawn)


def _along_paths(
    paths: PathSet, candidates: Candidates, resampling: Resampling, statistic: PreparedStatistic
) -> FloatArray | None:
    """Follow paths along a few θ; None where that is not possible, or costs more."""
    contradicted = None
    if has_certainties(candidates):
        contradicted = _contradicted(candidates, paths.free)
        if contradicted is None:
            return None
    with np.errstate(over="ignore"):
        Z = paths.statistics_of(candidates, statistic.at(candidates))
    if Z is not None:
        check_numbers(Z, candidates)
        if contradicted is not None:
            Z[contradicted, resampling.seat] = np.inf
    return Z


def _contradicted(candidates: Candidates, free: FreeLabels) -> BoolArray | None:
    """Return for which candidates the original has an impossible outcome: shape (T,).

    Alternatives have none, as those that the block engine counts: p = 0 is below every uniform, and
    p = 1 above; a smaller p than 2⁻⁵³ is above a uniform of zero alone, of a label. None where an
    alternative may have one nevertheless.
    """
    P, sample = candidates.probabilities, free.resampling.sample
    levels = sample.inputs.levels
    if levels > 1:
        impossible = class_probabilities(P, levels) < IMPOSSIBLE
        if free.resampling.has_zero or (impossible & can_be_drawn(P, levels)).any():
            return None
        codes = sample.successes.reshape(-1, levels).sum(axis=1)
        return np.asarray(impossible[:, np.arange(len(codes)), codes].any(axis=1))
    failures = sample.inputs.trials - sample.successes
    if ((P > 0) & (P < IMPOSSIBLE)).any() and (free.may_have_zero or sample.is_counts):
        return None
    impossible = (P < IMPOSSIBLE) & (sample.successes > 0) | (P == 1) & (failures > 0)
    return np.asarray(impossible.any(axis=1))


def _some(candidates: Candidates, which: slice | BoolArray) -> Candidates:
    """Return some of several candidates."""
    theta, distinct = candidates.theta, candidates.distinct
    return replace(
        candidates,
        probabilities=candidates.probabilities[which],
        theta=None if theta is None else theta[which],
        distinct=None if distinct is None else (distinct[0][which], distinct[1]),
    )


def _work(part: Callable[[int], Result], which: range, n_jobs: int | None) -> list[Result]:
    if n_jobs in (None, 1) or len(which) <= 1:
        return [part(index) for index in which]
    from joblib import Parallel, delayed

    found: list[Result] = Parallel(n_jobs=n_jobs, prefer="threads")(
        delayed(part)(index) for index in which
    )
    return found
