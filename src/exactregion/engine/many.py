"""Z for many θ: in which order, by which engine, by how many workers.

None of this changes a number: it is chosen by what it costs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from threading import Lock

import numpy as np

from exactregion._typing import FloatArray, IntArray
from exactregion.data.workers import number_of
from exactregion.engine.batch import check_numbers, fitting, statistics_of
from exactregion.engine.certainty import Certainties
from exactregion.engine.path import can_walk
from exactregion.engine.route import Ground
from exactregion.engine.trail import Trail
from exactregion.resampling import Resampling
from exactregion.statistics.base import Candidates, PreparedStatistic, Rule

__all__ = ["Paths", "serpentine", "statistics_of_many"]

WORTH_SORTING = 32
"""Sorting all uniforms costs about as much as this many θ by the batch engine."""

STRETCH = 2**20
"""Numbers that the candidates of one stretch of a path may take: they should stay in the cache."""


@dataclass(eq=False)
class Paths:
    """The paths of one analysis: a trail for each worker, kept as it is for the next call."""

    asked: int = 0
    _ground: Ground | None = field(default=None, repr=False)
    _rules: list[tuple[PreparedStatistic, Rule]] = field(default_factory=list, repr=False)
    _free: list[Trail] = field(default_factory=list, repr=False)
    _lock: Lock = field(default_factory=Lock, repr=False)

    def __reduce__(self) -> tuple[type[Paths], tuple[int]]:
        """Leave the paths behind where an analysis is copied or sent elsewhere."""
        return Paths, (self.asked,)

    @contextmanager
    def borrow(self, resampling: Resampling) -> Iterator[Trail]:
        """Take a trail that nobody walks, and put it back afterwards.

        One that was left in the middle of a step is not put back: its points are not what its
        places say.
        """
        with self._lock:
            if self._ground is None:
                self._ground = Ground(resampling)
            trail = self._free.pop() if self._free else Trail(self._ground)
        yield trail
        with self._lock:
            self._free.append(trail)


def statistics_of_many(
    theta: FloatArray,
    candidates_at: Callable[[FloatArray], Candidates],
    resampling: Resampling,
    statistic: PreparedStatistic,
    *,
    batch: int,
    n_jobs: int | None = None,
    paths: Paths | None = None,
) -> FloatArray:
    """Compute Z for many θ: shape (T, m).

    Parameters
    ----------
    theta : ndarray of shape (T, d)
        What is asked.
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
        Where earlier θ of the same resampling were left. By default only the batch engine is used.
    """
    if not len(theta):
        return np.empty((0, resampling.m))
    n, d, m = len(resampling.sample), theta.shape[1], resampling.m
    rule = _first_rule(theta, candidates_at, statistic, paths)
    size = fitting(rule, n, d, m, batch)
    if paths is not None:
        paths.asked += len(theta)
    if paths is None or paths.asked < WORTH_SORTING or not can_walk(rule, resampling):
        starts = range(0, len(theta), size)
        parts = _work(
            lambda start: statistics_of(
                candidates_at(theta[start : start + size]), resampling, statistic
            ),
            starts,
            n_jobs,
        )
        return np.concatenate(parts)
    order = serpentine(theta)
    numbers = n * (3 + 4 * d) + m * len(rule.terms)
    size = max(1, min(size, STRETCH // numbers))
    shares = np.array_split(order, min(number_of(n_jobs), max(1, len(order) // size)))

    def share(which: int) -> FloatArray:
        own = shares[which]
        with paths.borrow(resampling) as trail:
            found = [
                _stretch(trail, candidates_at(theta[own[at : at + size]]), resampling, statistic)
                for at in range(0, len(own), size)
            ]
        return np.concatenate(found)

    Z = np.empty((len(theta), resampling.m))
    Z[order] = np.concatenate(_work(share, range(len(shares)), n_jobs))
    return Z


def _first_rule(
    theta: FloatArray,
    candidates_at: Callable[[FloatArray], Candidates],
    statistic: PreparedStatistic,
    paths: Paths | None,
) -> Rule:
    """Make the rule at one θ, which tells kind and size of all, once for each statistic.

    A search asks two of them in turn: no more are kept.
    """
    known = [] if paths is None else paths._rules
    for own, rule in list(known):
        if own is statistic:
            return rule
    rule = statistic.rule(candidates_at(theta[:1]))
    known[:] = [*known[-1:], (statistic, rule)]
    return rule


def serpentine(theta: FloatArray) -> IntArray:
    """Order θ so that a grid is walked to and fro: every other run of its last axis backwards.

    Examples
    --------
    >>> serpentine(np.array([[0.0, 1], [0, 2], [1, 1], [1, 2], [2, 1], [2, 2]])).tolist()
    [0, 1, 3, 2, 4, 5]
    """
    order = np.arange(len(theta))
    if theta.shape[1] < 2 or len(theta) < 3:
        return order
    turns = 1 + np.flatnonzero((theta[1:, :-1] != theta[:-1, :-1]).any(axis=1))
    runs = np.split(order, turns)
    return np.concatenate([run[::-1] if odd % 2 else run for odd, run in enumerate(runs)])


def _stretch(
    trail: Trail, candidates: Candidates, resampling: Resampling, statistic: PreparedStatistic
) -> FloatArray:
    """Walk along a few θ, or draw all their labels where they are far apart."""
    if Certainties.of(candidates, resampling.m) is not None:
        return statistics_of(candidates, resampling, statistic)
    with np.errstate(over="ignore"):
        Z = trail.statistics_of(candidates, statistic.rule(candidates))
    if Z is None:
        return statistics_of(candidates, resampling, statistic)
    check_numbers(Z, candidates)
    return Z


def _work(part: Callable[[int], FloatArray], which: range, n_jobs: int | None) -> list[FloatArray]:
    if n_jobs in (None, 1) or len(which) <= 1:
        return [part(at) for at in which]
    from joblib import Parallel, delayed

    found: list[FloatArray] = Parallel(n_jobs=n_jobs, prefer="threads")(
        delayed(part)(at) for at in which
    )
    return found
