"""Ends of functionals over regions that are about ellipsoids, with few ranks.

Seen from a member in the middle such a region has a surface: one distance in each direction. A rank
near the boundary says by its depth how far the boundary is, so that a polynomial can be fitted to
the distances known so far. Functionals are maximised over the fitted surface, which takes no rank;
ranks at these places correct the fit. What is left is the roughness of the boundary, about one per
cent of its distance. Populations that climb (`search.extremes`) take 20 to 80 times as many ranks
for the same ends, and are for other sets.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from copy import copy
from dataclasses import dataclass

import numpy as np

from exactregion._typing import BoolArray, FloatArray, IntArray
from exactregion.region.rays import Rays, trace
from exactregion.region.search.extremes import (
    NO_END,
    Functionals,
    beyond_members,
    own_values,
    some_of,
)
from exactregion.region.window import Membership, Window, lengths_of

__all__ = ["Effort", "SurfaceEnds", "ends_on_surface"]

TOLERANCE = 0.01
"""Relative width of the bracket of a boundary point from which a fit starts: the roughness of
boundaries."""

TILT = np.pi / 4
"""Angle between further rays and the efficient direction, both ways along each axis across it, for
sets that are not known from elsewhere. The side of a focused set is flat, up to some 60 degrees."""

FLAT = 0.3
"""Cosine of the angle from the efficient direction at which a slab is taken to end: 72 degrees."""

STEPS = 3
"""Steps towards an expected distance: shares of it grow about in proportion to the distance."""

FACTORS = (0.4, 2.5)
"""Limits of what a fit, or one such step, may change."""

SPREAD, NARROWER = 0.5, 0.75
"""Spread of directions around the best one so far in the first round, in radians, and its factor
from round to round: in the fourth it is 12 degrees, over which an ellipsoid falls by 2 %."""

NEAR, ANYWHERE = 0.6, 0.02
"""Directions count for a fit by a Gaussian of their angle from the best one, with this deviation,
and all of them with a small share: the quadratic is to fit where the end may be."""

RIDGE = 0.02
"""Weight with which coefficients are kept small: of the fifty rays of an outline it is little, of
the few of a region with many rows it keeps what they do not tell."""

TRUSTED, LITTLE = 0.2, 0.05
"""A rank counts for a fit by a Gaussian of its depth, and with this share however far it is from
the boundary: far out all ranks are the same, which tells that the boundary is not there."""

FIRST_OFFSETS, OFFSETS = (-6.0, 3.0), (-1.5, 3.0)
"""Distance of ranked points from the fitted surface, in units of the roughness of the boundary. A
first fit rests on few rays: some of its points must turn out to be members all the same."""

AUDITS = 3
"""Audits before a search gives up and says so."""

PAST = (0.0, 2.0)
"""How far beyond the fitted surface, and beyond it and the margin, an audit looks next to the ends,
in units of the roughness."""

PROBED = (0.95, 1.15)
"""Lengths of probes in all directions, in multiples of the expected distance of the boundary."""


@dataclass(frozen=True)
class Effort:
    """How much a search evaluates.

    `rounds` of `points` ranks for each functional, chosen among so many `compared` places of the
    fitted surface, and the `probes` of an audit, zero for none. Ends lie beyond the best member by
    a `margin`, as a share of its distance from the origin; the `roughness` of a boundary is a share
    of its distance too.
    """

    rounds: int
    points: int
    compared: int
    probes: int
    margin: float
    roughness: float = 0.011


class SurfaceEnds:
    """Largest values of F functionals at members z, bounds past them; `settled` by an audit."""

    def __init__(self, value: FloatArray, bound: FloatArray, members: FloatArray) -> None:
        self.value, self.bound, self.members = value, bound, members
        self.settled = np.zeros(len(value), dtype=np.bool_)
        self.probes = 0
        self.seconds = 0.0

    def replace(self, which: IntArray, ends: SurfaceEnds) -> None:
        """Take the ends of some functionals from a search that went on; none moves inwards."""
        ends.bound = np.maximum(self.bound[which], ends.bound)
        self.probes += ends.probes
        for name in ("value", "bound", "members", "settled"):
            getattr(self, name)[which] = getattr(ends, name)


def ends_on_surface(
    functionals: Functionals,
    inside: Membership,
    window: Window,
    rng: np.random.Generator,
    *,
    radius: float,
    effort: Effort,
    outline: Rays | None = None,
    shares: Callable[[FloatArray], FloatArray] | None = None,
) -> SurfaceEnds:
    """Find the largest value of each functional over the members that `inside` accepts.

    Parameters
    ----------
    functionals : callable
        θ (T, d) to values (T, F).
    inside : callable
        θ to depths, positive for members; the origin of the window is one.
    window : Window
        Coordinates in which the region is about a ball.
    rng : Generator
        All functionals are given the same draws, and learn nothing from each other: the result for
        one does not depend on which others there are.
    radius : float
        Expected distance of the boundary.
    effort : Effort
        How many places are evaluated, and by which share of its distance from the origin an end
        lies beyond the best member.
    outline : Rays, optional
        Rays from the origin of the window, if they are known. Otherwise the set is taken to be
        about a slab, and rays are followed around the efficient direction of the first functional.
    shares : callable, optional
        Coordinates z to about how far they are from the middle, as a share of the distance of the
        boundary.
    """
    started = time.perf_counter()
    search = _Search(functionals, inside, window, radius=radius, effort=effort, shares=shares)
    search.start(outline)
    for turn in range(effort.rounds):
        offsets = OFFSETS if turn else FIRST_OFFSETS
        search.step(rng, SPREAD * NARROWER**turn, offsets)
    found = search.audited(rng)
    found.seconds = time.perf_counter() - started
    return found


class _Search:
    """Distances of the boundary known to each of F functionals, and the best member of each."""

    def __init__(
        self,
        functionals: Functionals,
        inside: Membership,
        window: Window,
        *,
        radius: float,
        effort: Effort,
        shares: Callable[[FloatArray], FloatArray] | None,
    ) -> None:
        self.functionals, self.inside, self.window = functionals, inside, window
        self.radius, self.effort = radius, effort
        d = len(window.origin)
        self.origin_value = self.values(np.zeros((1, d)))[0]
        F = len(self.origin_value)
        self.each = np.arange(F)
        self.value, self.best = self.origin_value.copy(), np.zeros((F, d))
        self.uphill, slope = self._gradients()
        self.unit = np.maximum(slope * radius, 1e-3 * np.abs(self.origin_value) + 1e-300)
        # of N points near the boundary for each: directions, 1/r² as a multiple of what is expected
        # there, and weights
        self.known = np.empty((F, 0, d)), np.empty((F, 0)), np.empty((F, 0))
        self.shares = shares
        self.efficient: FloatArray | None = None

    def values(self, z: FloatArray) -> FloatArray:
        return np.nan_to_num(self.functionals(self.window.theta(z)), nan=-np.inf)

    def own_values(self, z: FloatArray) -> FloatArray:
        """Return the value of each functional at its own points (F, K, d): shape (F, K)."""
        return own_values(self.functionals, self.window, z, self.each)

    def _gradients(self) -> tuple[FloatArray, FloatArray]:
        """Return unit gradients of the functionals at the origin, by differences, and lengths."""
        step = 1e-2 * np.eye(self.best.shape[1])
        with np.errstate(invalid="ignore"):
            rise = self.values(step) - self.values(-step)
        gradient = np.where(np.isfinite(rise), rise, 0.0).T / 2e-2
        length = lengths_of(gradient)
        return gradient / np.where(length > 0, length, 1.0)[:, None], length

    def start(self, outline: Rays | None) -> None:
        """Start from the rays of an outline, or from some around the efficient directions."""
        if outline is None:
            self.efficient = efficient = self.uphill[0]
            along = efficient[None]
            if self.shares is None:
                along = np.vstack([along, _tilted(efficient, TILT)])
            outline = trace(
                self.inside,
                self.window,
                np.concatenate([along, -along]),
                first_step=self.radius,
                tolerance=TOLERANCE,
                look_beyond=False,
            )
        r = (outline.inner + outline.outer) / 2
        shape = (len(self.each), len(r))
        self.add_members(np.broadcast_to(outline.members(), (*shape, self.best.shape[1])))
        self.known = (
            np.broadcast_to(outline.directions, (*shape, self.best.shape[1])),
            np.broadcast_to((self.expected(outline.directions) / r) ** 2, shape),
            np.broadcast_to(np.isfinite(r).astype(np.float64), shape),
        )

    def add_members(self, z: FloatArray, kept: BoolArray | None = None) -> None:
        """Keep the best of points (F, K, d), of which these are members."""
        values = self.own_values(z)
        if kept is not None:
            values = np.where(kept, values, -np.inf)
        first = values.argmax(axis=1)
        better = values[self.each, first] > self.value
        self.value[better] = values[better, first[better]]
        self.best[better] = z[better, first[better]]

    def evaluate(self, z: FloatArray) -> None:
        """Rank points (F, K, d), and learn from them."""
        F, K, d = z.shape
        depth = np.asarray(self.inside(self.window.theta(z.reshape(-1, d)))).reshape(F, K)
        lengths = lengths_of(z.reshape(-1, d)).reshape(F, K)
        weights = np.where(lengths > 0, np.exp(-((depth / TRUSTED) ** 2)) + LITTLE, 0.0)
        lengths = np.where(lengths > 0, lengths, 1.0)
        u = z / lengths[..., None]
        expected = self.expected(u.reshape(-1, d)).reshape(F, K)
        new = u, (expected * (1 - depth) / lengths) ** 2, weights
        joined = [np.concatenate(pair, axis=1) for pair in zip(self.known, new, strict=True)]
        self.known = joined[0], joined[1], joined[2]
        self.add_members(z, depth > 0)

    def distances(self, u: FloatArray) -> FloatArray:
        """Return how far the fitted boundary is in directions (F, M, d): shape (F, M)."""
        directions, factors, weights = self.known
        towards = self.best / np.maximum(lengths_of(self.best), 1e-300)[:, None]
        angle = np.arccos(np.clip(np.einsum("fnd,fd->fn", directions, towards), -1, 1))
        weights = weights * (np.exp(-0.5 * (angle / NEAR) ** 2) + ANYWHERE)
        terms = _quadratic(directions)
        weighted = terms * weights[..., None]
        square = np.swapaxes(weighted, 1, 2) @ terms + RIDGE * np.eye(terms.shape[-1])
        target = np.where(weights > 0, factors - 1, 0.0)
        fit = np.linalg.solve(square, np.swapaxes(weighted, 1, 2) @ target[..., None])
        factor = 1 + (_quadratic(u) @ fit)[..., 0]
        expected = self.expected(u.reshape(-1, u.shape[-1])).reshape(factor.shape)
        return np.asarray(expected * np.clip(factor, *FACTORS) ** -0.5)

    def expected(self, u: FloatArray) -> FloatArray:
        """Return how far the boundary is expected to be in directions (N, d): shape (N,)."""
        r = np.full(len(u), self.radius)
        if self.efficient is not None:  # a slab
            r /= np.maximum(np.abs(u @ self.efficient), FLAT)
        if self.shares is not None:
            for _ in range(STEPS):
                r /= np.clip(self.shares(u * r[:, None]), *FACTORS)
        return r

    def proposals(self, rng: np.random.Generator, spread: float) -> tuple[FloatArray, BoolArray]:
        """Return the best `points` places of the fitted surface, and which are on it.

        The others are inside, where a functional may have its end as well.
        """
        d, (M, K) = self.best.shape[1], (self.effort.compared, self.effort.points)
        # drawn alike for all functionals
        steps = spread / np.sqrt(d) * rng.standard_normal((M, d))
        anywhere = rng.standard_normal((M, d))

        length = lengths_of(self.best)
        towards = self.best / np.maximum(length, 1e-300)[:, None]
        to = towards[:, None] + 2 * steps
        to[:, 0], to[:, 1] = towards, self.uphill
        if spread == SPREAD:
            to[:, 2::4] = anywhere[2::4]
        to[:, 3::4] = self.best[:, None] + self.radius * steps[3::4]
        lengths = np.linalg.norm(to, axis=-1)
        u = to / np.maximum(lengths, 1e-300)[..., None]
        surface = self.distances(u)
        at = np.where(np.arange(M) % 4 == 3, np.minimum(lengths, surface), surface)
        z = u * at[..., None]
        order = np.argsort(-self.own_values(z), axis=1, kind="stable")[:, :K]
        rows = self.each[:, None]
        return z[rows, order], (at >= surface)[rows, order]

    def step(
        self,
        rng: np.random.Generator,
        spread: float,
        offsets: tuple[float, float] = OFFSETS,
    ) -> None:
        """Rank the best places of the fitted surface, closer to it and farther away by turns."""
        z, on_surface = self.proposals(rng, spread)
        K, (low, high) = z.shape[1], offsets
        shares = (rng.permutation(K) + rng.random(K)) / K
        factors = 1 + self.effort.roughness * (low + (high - low) * shares)
        self.evaluate(z * np.where(on_surface, factors, 1.0)[..., None])

    @property
    def distance(self) -> FloatArray:
        """How far the best values are from those at the origin, at least a radius's worth."""
        with np.errstate(invalid="ignore"):  # where there is no value at the origin
            return np.asarray(np.fmax(self.value - self.origin_value, self.unit))

    def bounds(self) -> FloatArray:
        """Return the ends to report: past the best members by the margin."""
        margin = self.effort.margin
        farther = self.own_values((1 + margin) * self.best[:, None])[:, 0]
        bound = beyond_members(self.value, margin * self.distance, farther)
        return np.where(self.distance > NO_END * self.unit, np.inf, bound)

    def audited(self, rng: np.random.Generator, audits: int = AUDITS) -> SurfaceEnds:
        """Return the ends, after looking for members beyond them; again where there are some."""
        bound = self.bounds()
        found = SurfaceEnds(self.value, bound, self.best)
        if not self.effort.probes:
            return found
        z, on_surface = self.proposals(rng, SPREAD * NARROWER**2)
        past = np.asarray(self.effort.roughness * rng.uniform(*PAST, size=z.shape[1]))
        every_second = np.arange(z.shape[1]) % 2 == 0
        past += np.where(every_second, self.effort.margin, 0.0)
        self.evaluate(z * np.where(on_surface, 1 + past, 1.0)[..., None])
        probes = self._probes(rng)
        is_member = self.inside(self.window.theta(probes)) > 0
        shape = (len(self.each), *probes.shape)
        self.add_members(np.broadcast_to(probes, shape), np.broadcast_to(is_member, shape[:2]))
        found.probes = z.shape[1] + len(probes)
        found.settled = self.value <= bound
        found.value, found.members = self.value, self.best
        found.bound = np.maximum(bound, self.bounds())
        again = np.flatnonzero(~found.settled)
        if len(again) and audits > 1:
            rest = self.of(again)
            rest.step(rng, SPREAD * NARROWER**2)
            found.replace(again, rest.audited(rng, audits - 1))
        return found

    def _probes(self, rng: np.random.Generator) -> FloatArray:
        """Draw coordinates in all directions, about as far as the boundary is expected to be."""
        u = rng.standard_normal((self.effort.probes, self.best.shape[1]))
        u /= lengths_of(u)[:, None]
        lengths = self.expected(u) * rng.uniform(*PROBED, size=len(u))
        return np.asarray(u * lengths[:, None])

    def of(self, which: IntArray) -> _Search:
        """Return the search for some of the functionals."""
        rest = copy(self)
        rest.functionals = some_of(self.functionals, which)
        rest.each = np.arange(len(which))
        for name in ("origin_value", "value", "best", "uphill", "unit"):
            setattr(rest, name, getattr(self, name)[which])
        rest.known = self.known[0][which], self.known[1][which], self.known[2][which]
        return rest


def _quadratic(u: FloatArray) -> FloatArray:
    """Return 1, the coordinates and their products of points (..., d): shape (..., p)."""
    d = u.shape[-1]
    first, second = np.triu_indices(d)
    terms = np.empty((*u.shape[:-1], 1 + d + len(first)))
    terms[..., 0], terms[..., 1 : 1 + d] = 1.0, u
    np.multiply(u[..., first], u[..., second], out=terms[..., 1 + d :])
    return terms


def _tilted(direction: FloatArray, angle: float) -> FloatArray:
    """Turn a unit vector both ways along each axis across it: shape (2 (d - 1), d)."""
    across = np.linalg.svd(direction[None])[2][1:]
    return np.asarray(np.cos(angle) * direction + np.sin(angle) * np.concatenate([across, -across]))
