"""The boundary of a region along rays from an inner point, in any dimension."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import count

import numpy as np

from exactregion._typing import BoolArray, FloatArray, IntArray
from exactregion.region.window import Inside, Window

__all__ = ["ENOUGH", "FAR", "Rays", "directions", "trace"]

FAR = 2.0**16
"""Steps of this many standard errors that are still inside make a ray unbounded."""

ENOUGH = 4e-3
"""Tolerance that is good enough for ranks: beside what the seed does to them, it does not count."""

BEYOND = (1.3, 2.5)
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
    """Follow rays outwards until they leave the region, and close in on the place.

    All rays are asked at once, step by step; depths say where to ask next. A ray that stops moving
    at the bounds of the parameters ends there, and counts as inside up to that length.

    Parameters
    ----------
    inside : callable
        θ (T, d) to depths (T,), positive inside; or to membership.
    window : Window
        Coordinates; the origin must be inside.
    along : ndarray of shape (R, d)
        Unit vectors in these coordinates.
    first_step : float
        First length tried.
    tolerance : float
        Close in until the bracket is this share of its length.
    look_beyond : bool
        Look for further pieces past the first boundary.
    """
    tracer = _Tracer(inside, window, along, tolerance)
    tracer.step_out(first_step)
    tracer.close_in()
    reentered = np.zeros(len(along), dtype=np.bool_)
    if look_beyond:
        reentered = tracer.find_beyond()
        tracer.step_out(first_step)
        tracer.close_in()
    return Rays(along, tracer.inner, tracer.outer, reentered, tracer.at_bound)


class _Tracer:
    def __init__(self, inside: Inside, window: Window, along: FloatArray, tolerance: float) -> None:
        self.inside, self.window, self.along = inside, window, along
        self.tolerance = tolerance
        self.inner = np.zeros(len(along))
        self.outer = np.full(len(along), np.inf)
        self.depth_inner = np.ones(len(along))
        self.depth_outer = np.zeros(len(along))
        self.at_bound = np.zeros(len(along), dtype=np.bool_)

    def theta(self, which: IntArray, length: FloatArray) -> FloatArray:
        return self.window.theta(self.along[which] * length[:, None])

    def take(self, which: IntArray, length: FloatArray) -> BoolArray:
        """Ask on these rays, keep what it says about their ends, and say what is inside."""
        depth = np.asarray(self.inside(self.theta(which, length)), dtype=np.float64)
        kept = depth > 0
        self.inner[which[kept]], self.depth_inner[which[kept]] = length[kept], depth[kept]
        self.outer[which[~kept]], self.depth_outer[which[~kept]] = length[~kept], depth[~kept]
        return np.asarray(kept)

    def step_out(self, first_step: float) -> None:
        """Lengthen the rays that have no outer end yet until they have one, or are far out."""
        length = np.maximum(self.inner * 1.5, first_step)
        going = np.flatnonzero(np.isinf(self.outer) & (length < FAR) & ~self.at_bound)
        while len(going):
            theta = self.theta(going, length[going])
            still = (theta == self.theta(going, self.inner[going])).all(axis=1)
            stuck = going[still & (self.inner[going] > 0)]
            self.at_bound[stuck] = True
            self.inner[stuck] = length[stuck]
            going = going[~self.at_bound[going]]
            going = going[self.take(going, length[going])]
            ahead = np.minimum(1 - self.depth_inner[going], 1.0)
            length[going] *= np.clip((1 + self.tolerance) / np.maximum(ahead, 1e-3), 1.1, 1.5)
            going = going[length[going] < FAR]

    def close_in(self) -> None:
        """Ask between inner and outer end, where depths say that the boundary is."""
        for turn in count():
            wide = np.flatnonzero(
                np.isfinite(self.outer) & (self.outer - self.inner > self.tolerance * self.outer)
            )
            if not len(wide):
                return
            low, high = self.inner[wide], self.outer[wide]
            above, below = self.depth_inner[wide], -self.depth_outer[wide]
            # membership alone says nothing of where; and depths of ragged regions may mislead
            known = (below > 0) & (turn % 3 < 2)
            share = np.where(known, above / np.where(known, above + below, 1.0), 0.5)
            edge = np.minimum(0.45 * self.tolerance * high, (high - low) / 2)
            self.take(wide, np.clip(low + share * (high - low), low + edge, high - edge))

    def find_beyond(self) -> BoolArray:
        """Ask past the outer ends; rays that are inside again are open again from there."""
        found = np.zeros(len(self.along), dtype=np.bool_)
        bounded = np.flatnonzero(np.isfinite(self.outer))
        if not len(bounded):
            return found
        lengths = self.outer[bounded][:, None] * np.array(BEYOND)
        theta = self.theta(np.repeat(bounded, len(BEYOND)), lengths.ravel())
        kept = (np.asarray(self.inside(theta), dtype=np.float64) > 0).reshape(lengths.shape)
        again = bounded[kept.any(axis=1)]
        found[again] = True
        self.inner[again] = np.where(kept, lengths, 0.0).max(axis=1)[kept.any(axis=1)]
        self.outer[again] = np.inf
        return found
