"""The boundary of a region along rays from a member, in any dimension.

Ranks say more than whether θ is a member. At r standard errors from the truth the rank is about
m · P(χ²_d ≤ r²), so a rank can be turned into a distance from the boundary (`Depth`), and the
boundary is found by interpolation instead of bisection: `tests/unit/region/test_rays.py` holds it
to 0.6 of the evaluations.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from itertools import count

import numpy as np
from scipy.special import gammaincinv

from exactregion._typing import BoolArray, FloatArray, IntArray
from exactregion.ranking import AcceptedRanks
from exactregion.region.window import Membership, Window, radius_of

__all__ = ["FAR", "TOLERANCE", "Depth", "Rays", "directions", "radius_of", "trace"]

FAR = 2.0**16
"""A ray that is still inside at this many standard errors counts as unbounded. Where one standard
error is 0.012 or more on the logit scale, logits have passed 745 by then: the probabilities are 0
or 1 in floating point, and do not change further out."""

TOLERANCE = 4e-3
"""Relative width of the bracket of a boundary point. From seed to seed ends move by 1 to 2 % of the
interval's length (docs/evidence.md), so a finer bracket would not be seen."""

BEYOND = (1.3, 2.5)
"""Lengths, in multiples of the boundary's, at which further pieces are looked for: one close to the
boundary and one farther out. More points find smaller pieces, at the cost of one evaluation per ray
each."""


@dataclass(frozen=True)
class Depth:
    """How deep inside the region a rank says that θ is.

    By the asymptotic law of d parameters the depth of a θ at r standard errors is about 1 - r/R,
    where R is the distance of the boundary: 1 in the middle, 0 at the boundary, negative outside.
    Depths decide where a search evaluates next. Membership is their sign, which is exact.
    """

    accepted: AcceptedRanks
    d: int

    @property
    def radius(self) -> float:
        """Expected distance of the boundary, R, in standard errors."""
        return radius_of(self._level, self.d)

    @property
    def _level(self) -> float:
        """Share of accepted ranks; below one, where the radius would be infinite."""
        return min(self.accepted.high / self.accepted.m, 1 - 0.25 / self.accepted.m)

    def __call__(self, ranks: IntArray) -> FloatArray:
        """Return the depth of each rank."""
        return np.asarray(_depths(self.accepted, self.d, self._level)[ranks])


@lru_cache(maxsize=16)  # searches of all parameters share one
def _depths(accepted: AcceptedRanks, d: int, level: float) -> FloatArray:
    """Compute the depth of each rank: shape (m + 1,)."""
    m = accepted.m
    ranks = np.arange(m + 1)
    # the middle of the share of data sets that have a rank; rank 0, which there is not, is kept
    # above zero
    share = np.clip((ranks - 0.5) / m, 0.25 / m, None)
    depth = 1 - np.sqrt(gammaincinv(d / 2, share) / gammaincinv(d / 2, level))
    # below the lowest accepted rank there is no law for the distance: zero, "outside"
    return np.where(ranks < accepted.low, 0.0, depth)


@dataclass(frozen=True, eq=False)
class Rays:
    """Where R rays from the origin of a window leave the region, in its coordinates z.

    `inner` is the last length found inside and `outer` the first found outside, infinite where a
    ray never left; `reentered` are rays that met the region again past their first boundary, and
    `at_bound` those that ended at the bounds of the parameters.
    """

    directions: FloatArray
    inner: FloatArray
    outer: FloatArray
    reentered: BoolArray
    at_bound: BoolArray

    def members(self) -> FloatArray:
        """Return the last point inside on each ray, as coordinates z (R, d)."""
        return self.directions * self.inner[:, None]


def directions(d: int, number: int, rng: np.random.Generator) -> FloatArray:
    """Draw unit vectors: both ways along each axis, and random ones in opposite pairs."""
    axes = np.vstack([np.eye(d), -np.eye(d)])
    random = rng.standard_normal((max(0, (number - 2 * d + 1) // 2), d))
    random /= np.linalg.norm(random, axis=1, keepdims=True)
    return np.vstack([axes, random, -random])


def trace(
    inside: Membership,
    window: Window,
    along: FloatArray,
    *,
    first_step: float,
    tolerance: float = 1e-3,
    look_beyond: bool = True,
) -> Rays:
    """Follow rays from the origin, a member, until they leave the region, and bracket the place.

    All rays are evaluated in one batch per step. A ray that stops moving at the bounds of the
    parameters ends there, and counts as inside up to that length. With `look_beyond` rays that meet
    the region again past their first boundary are followed to the last one.
    """
    tracer = _Tracer(inside, window, along, tolerance)
    tracer.step_out(first_step)
    tracer.narrow()
    reentered = np.zeros(len(along), dtype=np.bool_)
    if look_beyond:
        reentered = tracer.find_beyond()
        tracer.step_out(first_step)
        tracer.narrow()
    return Rays(along, tracer.inner, tracer.outer, reentered, tracer.at_bound)


class _Tracer:
    """Brackets [inner, outer] of the boundary on each ray, with the depths at both ends."""

    def __init__(
        self, inside: Membership, window: Window, along: FloatArray, tolerance: float
    ) -> None:
        self.inside, self.window, self.along, self.tolerance = inside, window, along, tolerance
        self.inner = np.zeros(len(along))
        self.outer = np.full(len(along), np.inf)
        self.depth_inner = np.ones(len(along))
        self.depth_outer = np.zeros(len(along))
        self.at_bound = np.zeros(len(along), dtype=np.bool_)

    def theta(self, which: IntArray, length: FloatArray) -> FloatArray:
        return self.window.theta(self.along[which] * length[:, None])

    def update(self, which: IntArray, length: FloatArray) -> BoolArray:
        """Evaluate one length on each of these rays, move their ends, and return what is inside."""
        depth = np.asarray(self.inside(self.theta(which, length)), dtype=np.float64)
        kept = depth > 0
        self.inner[which[kept]], self.depth_inner[which[kept]] = length[kept], depth[kept]
        self.outer[which[~kept]], self.depth_outer[which[~kept]] = length[~kept], depth[~kept]
        return np.asarray(kept)

    def step_out(self, first_step: float) -> None:
        """Lengthen the rays that have no outer end until they have one, or are far out."""
        length = np.maximum(self.inner * 1.5, first_step)
        active = np.flatnonzero(np.isinf(self.outer) & (length < FAR) & ~self.at_bound)
        while len(active):
            theta = self.theta(active, length[active])
            same = (theta == self.theta(active, self.inner[active])).all(axis=1)
            stopped = active[same & (self.inner[active] > 0)]
            self.at_bound[stopped] = True
            self.inner[stopped] = length[stopped]
            active = active[~self.at_bound[active]]
            active = active[self.update(active, length[active])]
            # a depth of 1 - r/R puts the boundary at a multiple R/r of this length; step just past
            # it, and by neither less than 10 % nor more than half, in case the law does not hold
            share = np.minimum(1 - self.depth_inner[active], 1.0)
            length[active] *= np.clip((1 + self.tolerance) / np.maximum(share, 1e-3), 1.1, 1.5)
            active = active[length[active] < FAR]

    def narrow(self) -> None:
        """Evaluate between inner and outer end until all brackets are narrow."""
        for turn in count():
            wide = np.flatnonzero(
                np.isfinite(self.outer) & (self.outer - self.inner > self.tolerance * self.outer)
            )
            if not len(wide):
                return
            low, high = self.inner[wide], self.outer[wide]
            above, below = self.depth_inner[wide], -self.depth_outer[wide]
            # every third turn bisects, as do booleans: depths of irregular regions can mislead,
            # and interpolation alone could then move one end for ever
            known = (below > 0) & (turn % 3 < 2)
            share = np.where(known, above / np.where(known, above + below, 1.0), 0.5)
            # just under half the tolerance from an end: if the boundary is that close to it, the
            # new bracket is narrow enough
            edge = np.minimum(0.45 * self.tolerance * high, (high - low) / 2)
            self.update(wide, np.clip(low + share * (high - low), low + edge, high - edge))

    def find_beyond(self) -> BoolArray:
        """Evaluate past the outer ends; rays that are inside again have no outer end from there."""
        reentered = np.zeros(len(self.along), dtype=np.bool_)
        bounded = np.flatnonzero(np.isfinite(self.outer))
        if not len(bounded):
            return reentered
        lengths = self.outer[bounded][:, None] * np.array(BEYOND)
        theta = self.theta(np.repeat(bounded, len(BEYOND)), lengths.ravel())
        kept = (self.inside(theta) > 0).reshape(lengths.shape)
        again = bounded[kept.any(axis=1)]
        reentered[again] = True
        self.inner[again] = np.where(kept, lengths, 0.0).max(axis=1)[kept.any(axis=1)]
        self.outer[again] = np.inf
        return reentered
