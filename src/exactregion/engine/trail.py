"""Several paths of one worker: where a search is busy in many places, each is kept standing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from exactregion._typing import FloatArray
from exactregion.engine.path import Path
from exactregion.engine.route import Ground, Route
from exactregion.features import CandidateFeatures
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
        some = candidates.probabilities[:, ::SPARE]
        flips = self._flips(np.diff(some, axis=0))
        runs = np.flatnonzero(flips > self.jump) + 1
        starts, stops = [0, *runs.tolist()], [*runs.tolist(), len(some)]
        walked, drawn = self.cost(candidates.probabilities, rule, starts)
        if walked > drawn:
            return None
        route = Route.of(self.ground, candidates, rule)
        for start, stop in zip(starts, stops, strict=True):
            path = self._path_near(some[start])
            path.follow(route, start, stop)
            path.here = some[stop - 1].copy()
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
        flips = self._flips(np.diff(some, axis=0, prepend=some[:1]))
        for start in starts:
            flips[start] = self._distances(some[start]).min(initial=flips[start])
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

    def _flips(self, differences: FloatArray) -> FloatArray:
        """Estimate the labels that flip where probabilities differ so: one number a row."""
        flips: FloatArray = self.ground.resampling.m * SPARE * np.abs(differences).sum(axis=1)
        return flips

    def _distances(self, here: FloatArray) -> FloatArray:
        known = [path.here for path in self.paths if path.here is not None]
        return self._flips(np.array(known) - here) if known else np.empty(0)

    def _path_near(self, here: FloatArray) -> Path:
        """Choose the path that stands nearest; a copy of it where that is far and there is room."""
        if not self.paths:
            self.paths.append(Path(self.ground))
            return self.paths[0]
        distances = self._distances(here)
        nearest = self.paths[int(distances.argmin())]
        room = min(MOST_PATHS, MOST_BYTES // max(1, nearest.size))
        if distances.min() > self.jump and len(self.paths) < room:
            nearest = nearest.copy()
            self.paths.append(nearest)
        return nearest
