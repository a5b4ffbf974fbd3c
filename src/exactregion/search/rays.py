"""The boundary of a region along rays from an inner point, in any dimension."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from exactregion._typing import BoolArray, FloatArray, IntArray
from exactregion.search.window import Inside, Window

__all__ = ["FAR", "Rays", "directions", "trace"]

FAR = 2.0**16
"""Steps of this many standard errors that are still inside make a ray unbounded."""

BEYOND = (1.15, 1.4, 2.0, 3.0, 5.0)
"""Where to look for further pieces past the first rejected point, in multiples of it."""


@dataclass(frozen=True, eq=False)
class Rays:
    """Where rays from the origin leave the region.

    Attributes
    ----------
    directions : ndarray of shape (R, d)
        Unit vectors in the window's coordinates.
    inner, outer : ndarrays of shape (R,)
        Last length found inside and first found outside; outer is infinite where a ray never left.
    reentered : ndarray of shape (R,)
        Whether the ray met the region again past its first boundary.
    at_bound : ndarray of shape (R,)
        Whether the ray ended at the bounds of the parameters.
    """

    directions: FloatArray
    inner: FloatArray
    outer: FloatArray
    reentered: BoolArray
    at_bound: BoolArray

    def members(self, window: Window) -> FloatArray:
        """Give the last θ inside on each ray."""
        return window.theta(self.directions * self.inner[:, None])

    def rejected(self, window: Window) -> FloatArray:
        """Give the first θ outside on each bounded ray."""
        kept = np.isfinite(self.outer)
        return window.theta(self.directions[kept] * self.outer[kept, None])


def directions(d: int, number: int, rng: np.random.Generator) -> FloatArray:
    """Draw unit vectors: both ways along each axis, and random ones in opposite pairs."""
    axes = np.vstack([np.eye(d), -np.eye(d)])
    random = rng.standard_normal((max(0, (number - 2 * d + 1) // 2), d))
    random /= np.linalg.norm(random, axis=1, keepdims=True)
    return np.vstack([axes, random, -random])


def trace(
    inside: Inside,
    window: Window,
    along: FloatArray,
    *,
    first_step: float,
    tolerance: float = 1e-3,
    look_beyond: bool = True,
) -> Rays:
    """Follow rays outwards until they leave the region, and bisect the place.

    All rays are asked at once, step by step. A ray that stops moving at the bounds of the
    parameters ends there, and counts as inside up to that length.

    Parameters
    ----------
    inside : callable
        θ (T, d) to membership (T,).
    window : Window
        Coordinates; the origin must be inside.
    along : ndarray of shape (R, d)
        Unit vectors in these coordinates.
    first_step : float
        First length tried.
    tolerance : float
        Bisect until the bracket is this share of its length.
    look_beyond : bool
        Look for further pieces past the first boundary.
    """
    tracer = _Tracer(inside, window, along)
    tracer.step_out(first_step)
    tracer.bisect(tolerance)
    reentered = np.zeros(len(along), dtype=np.bool_)
    if look_beyond:
        reentered = tracer.find_beyond()
        tracer.step_out(first_step)
        tracer.bisect(tolerance)
    return Rays(along, tracer.inner, tracer.outer, reentered, tracer.at_bound)


class _Tracer:
    def __init__(self, inside: Inside, window: Window, along: FloatArray) -> None:
        self.inside, self.window, self.along = inside, window, along
        self.inner = np.zeros(len(along))
        self.outer = np.full(len(along), np.inf)
        self.at_bound = np.zeros(len(along), dtype=np.bool_)

    def theta(self, which: IntArray, length: FloatArray) -> FloatArray:
        return self.window.theta(self.along[which] * length[:, None])

    def step_out(self, first_step: float) -> None:
        """Lengthen the rays that have no outer end yet until they have one, or are far out."""
        length = np.maximum(self.inner * 1.5, first_step)
        going = np.flatnonzero(np.isinf(self.outer) & (length < FAR) & ~self.at_bound)
        while len(going):
            theta = self.theta(going, length[going])
            still = (theta == self.theta(going, self.inner[going])).all(axis=1)
            stuck = still & (self.inner[going] > 0)
            kept = stuck | self.inside(theta)
            self.at_bound[going[stuck]] = True
            self.inner[going[kept]] = length[going[kept]]
            self.outer[going[~kept]] = length[going[~kept]]
            length[going] *= 1.5
            going = going[kept & ~stuck & (length[going] < FAR)]

    def bisect(self, tolerance: float) -> None:
        while True:
            wide = np.flatnonzero(
                np.isfinite(self.outer) & (self.outer - self.inner > tolerance * self.outer)
            )
            if not len(wide):
                return
            middle = (self.inner[wide] + self.outer[wide]) / 2
            kept = self.inside(self.theta(wide, middle))
            self.inner[wide[kept]] = middle[kept]
            self.outer[wide[~kept]] = middle[~kept]

    def find_beyond(self) -> BoolArray:
        """Ask past the outer ends; rays that are inside again are open again from there."""
        found = np.zeros(len(self.along), dtype=np.bool_)
        bounded = np.flatnonzero(np.isfinite(self.outer))
        if not len(bounded):
            return found
        lengths = self.outer[bounded][None, :] * np.array(BEYOND)[:, None]
        theta = np.concatenate([self.theta(bounded, row) for row in lengths])
        kept = self.inside(theta).reshape(lengths.shape)
        again = bounded[kept.any(axis=0)]
        found[again] = True
        self.inner[again] = np.where(kept, lengths, 0.0).max(axis=0)[kept.any(axis=0)]
        self.outer[again] = np.inf
        return found
