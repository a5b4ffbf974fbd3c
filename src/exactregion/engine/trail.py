"""Several paths of one worker: where a search is busy in many places, each is kept standing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from exactregion._typing import FloatArray
from exactregion.engine.path import Path
from exactregion.engine.route import Ground, Route
from exactregion.features.grid import CandidateFeatures
from exactregion.statistics.base import Candidates, Rule

__all__ = ["Trail"]

SPARE = 8
"""Flips are estimated from every eighth row."""

MOST_PATHS = 128
MOST_BYTES = 2**25
"""Paths that are kept standing, and the memory that they may take."""

BYTES_A_FLIP = 64
"""A flip costs about as much as reading this many bytes of another path's points."""


@dataclass(eq=False)
class Trail:
    """The paths of one worker.

    Parameters
    ----------
    ground : Ground
        What they walk on.
    """

    ground: Ground
    paths: list[Path] = field(default_factory=list)

    def statistics_of(self, candidates: Candidates, rule: Rule) -> FloatArray | None:
        """Compute Z of the m data sets of each of T candidates: shape (T, m).

        Runs of candidates near each other are walked from the path that stands nearest; None where
        drawing all labels anew would cost less.
        """
        some = np.ascontiguousarray(candidates.probabilities[:, ::SPARE])
        flips = self._flips(some[1:], some[:-1])
        runs = (np.flatnonzero(flips > self.jump) + 1).tolist()
        starts, stops = [0, *runs], [*runs, len(some)]
        walked, drawn = self.cost(candidates.probabilities, rule, starts)
        if walked > drawn:
            return None
        route = Route.of(self.ground, candidates, rule)
        for start, stop in zip(starts, stops, strict=True):
            which = self._nearest(some[start])
            self.paths[which].follow(route, start, stop)
            self._places[which] = some[stop - 1]
        return rule.merge([leg.out for leg in route.legs])

    def cost(
        self, probabilities: FloatArray, rule: Rule, starts: Sequence[int] = ()
    ) -> tuple[float, float]:
        """Count the additions that walking takes, and those of the batch engine.

        Runs of candidates that begin at `starts` may be walked from any path. A matrix product
        makes about four additions at once, but has to draw every label first.
        """
        m, (T, n) = self.ground.resampling.m, probabilities.shape
        some = probabilities[:, ::SPARE]
        flips = self._flips(some, np.concatenate([some[:1], some[:-1]]))
        if self.paths:
            for start in starts:
                nearest = self._flips(self._places[: len(self.paths)], some[start]).min()
                flips[start] = nearest if start == 0 else min(flips[start], nearest)
        walked = drawn = 0.0
        for term in rule.terms:
            r = term.projection.width
            each = n * m * r / 2 if isinstance(term.projection, CandidateFeatures) else m * r
            walked += float(flips.sum()) * (r + 8) + T * each
            drawn += T * n * m * (r / 4 + 4)
        return walked, drawn

    @property
    def jump(self) -> float:
        """Flips that cost more than to go on from another path, or a copy of it."""
        size = self.paths[0].size if self.paths else 0
        return max(size, 2**14) / BYTES_A_FLIP

    @cached_property
    def _places(self) -> FloatArray:
        """Some probabilities at which each path stands, to tell how far others are."""
        return np.zeros((MOST_PATHS, len(range(0, len(self.ground.resampling.sample), SPARE))))

    def _flips(self, here: FloatArray, there: FloatArray) -> FloatArray:
        """Estimate the labels that flip between probabilities: one number a row."""
        flips: FloatArray = self.ground.resampling.m * SPARE * np.abs(here - there).sum(axis=-1)
        return flips

    def _nearest(self, here: FloatArray) -> int:
        """Choose the path that stands nearest; a copy of it where that is far and there is room."""
        number = len(self.paths)
        if number == 0:
            self.paths.append(Path(self.ground))
            return 0
        distances = self._flips(self._places[:number], here)
        nearest = int(distances.argmin())
        room = min(MOST_PATHS, MOST_BYTES // max(1, self.paths[nearest].size))
        if distances[nearest] <= self.jump or number >= room:
            return nearest
        self.paths.append(self.paths[nearest].copy())
        return number
