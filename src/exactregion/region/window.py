"""Where to look: the most compatible point, and steps of the size of the data's information."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from exactregion._typing import BoolArray, FloatArray, IntArray
from exactregion.ranking import AcceptedRanks

__all__ = ["Inside", "Probe", "Window", "most_compatible", "window_at"]

Judge = Callable[[FloatArray], tuple[IntArray, FloatArray]]
Inside = Callable[[FloatArray], FloatArray | BoolArray]
"""θ (T, d) to depths (T,), positive inside; or to membership."""


@dataclass
class Probe:
    """Asks for the rank and the original's Z at many θ, and counts how often.

    Parameters
    ----------
    judge : callable
        θ (T, d) to ranks (T,) and Z of the original (T,).
    bounds : ndarray of shape (d, 2)
        θ outside is moved to the nearest θ inside.
    """

    judge: Judge
    bounds: FloatArray
    evaluations: int = field(default=0)

    def clip(self, theta: FloatArray) -> FloatArray:
        """Move θ into the bounds."""
        return np.clip(theta, self.bounds[:, 0], self.bounds[:, 1])

    def __call__(self, theta: FloatArray) -> tuple[IntArray, FloatArray]:
        """Ask at θ within the bounds."""
        self.evaluations += len(theta)
        return self.judge(theta)


@dataclass(frozen=True, eq=False)
class Window:
    """Coordinates z in which the region is about a ball: θ = origin + axes · z.

    Attributes
    ----------
    origin : ndarray of shape (d,)
        The most compatible θ found.
    axes : ndarray of shape (d, d)
        Columns are steps of one standard error in uncorrelated directions.
    bounds : ndarray of shape (d, 2)
        θ stays within.
    """

    origin: FloatArray
    axes: FloatArray
    bounds: FloatArray

    def theta(self, z: FloatArray) -> FloatArray:
        """θ at coordinates z (T, d), moved into the bounds."""
        return np.clip(self.origin + z @ self.axes.T, self.bounds[:, 0], self.bounds[:, 1])


def window_at(origin: FloatArray, information: FloatArray, bounds: FloatArray) -> Window:
    """Make a window from the Fisher information; directions without any get long steps."""
    size = np.sqrt(np.diag(information))
    unit = np.where(size > 0, 1 / np.where(size > 0, size, 1.0), 1.0)
    scaled = information * np.outer(unit, unit)
    values, vectors = np.linalg.eigh(scaled)
    floor = max(1e-8 * float(values[-1]), 1e-12)
    return Window(origin, (unit[:, None] * vectors) / np.sqrt(np.maximum(values, floor)), bounds)


def most_compatible(
    probe: Probe,
    window: Window,
    accepted: AcceptedRanks,
    rng: np.random.Generator,
    *,
    rounds: int = 14,
    batch: int = 16,
) -> tuple[FloatArray, int]:
    """Find the accepted θ with the lowest rank, ties by Z, near the origin: θ and rank.

    Random steps around the best so far, wide at first and narrower where none is better.
    """

    def best_of(theta: FloatArray) -> tuple[tuple[int, int, float], FloatArray]:
        ranks, Z = probe(theta)
        off = accepted.distance(ranks)
        first = np.lexsort((Z, ranks, off))[0]
        return (int(off[first]), int(ranks[first]), float(Z[first])), theta[first]

    key, best = best_of(probe.clip(window.origin[None]))
    scale = 1.0
    for _ in range(rounds):
        steps = scale * rng.standard_normal((batch, len(best)))
        new_key, new = best_of(probe.clip(best + steps @ window.axes.T))
        if new_key < key:
            key, best = new_key, new
        else:
            scale *= 0.6
    return best, key[1]
