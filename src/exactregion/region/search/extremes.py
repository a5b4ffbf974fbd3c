"""The largest values of functionals over a region, by rays and random ascents."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from exactregion._typing import BoolArray, FloatArray, IntArray
from exactregion.region.rays import FAR, TOLERANCE, trace
from exactregion.region.window import Membership, Window, lengths_of

__all__ = ["Extremes", "Functionals", "largest"]

Functionals = Callable[[FloatArray], FloatArray]
"""θ (T, d) to values (T, G)."""

FIRST_SCALE, LAST_SCALE = 0.25, 0.01
"""Size of the steps of an ascent at first, and below which it stops, as shares of the radius. One
per cent of the radius is half a per cent of an interval's length: shorter steps would move an end
by less than another seed does (docs/evidence.md)."""

GROWTH, SHRINK = 1.5, 0.5
"""Factors of the size of steps after a round with and without progress: one round without undoes
more than one with, so that an ascent ends a few rounds after its last progress."""

OUTWARD = 2e-3
"""First step from the last member towards a rejected point, as a share of the radius: half of
`TOLERANCE`, by which the end then errs outwards at most."""

KNOWN_TRIED = 6
"""Points known beforehand that are tried as the start of the last ascent. Long, curved regions of
psychometric functions were missed without them; each costs one evaluation per end."""

CATCH_UP = 2.0
"""An ascent stops when the best ascent of its functional is ahead by more than this many of its
steps. Fewer stop ascents that would have won, more spend evaluations on ascents that do not."""

NO_END = 1e4
"""A functional that grew by this multiple of what one radius is worth near the estimate counts as
unbounded. A smaller one would take long intervals for endless ones; a larger one costs a few rounds
more where there is no end, since steps grow by half per round."""


class Extremes(NamedTuple):
    """Largest values of G functionals over a region, and coordinates z of members that have them.

    The bound, at least the value, is the value at the first rejected point past the member: the end
    to report. It is infinite where there is none.
    """

    value: FloatArray
    bound: FloatArray
    members: FloatArray


def largest(
    functionals: Functionals,
    inside: Membership,
    window: Window,
    rng: np.random.Generator,
    *,
    radius: float,
    members: FloatArray | None = None,
    ascents: int = 1,
    proposals: int = 10,
    rounds: int = 60,
) -> Extremes:
    """Maximise each of G functionals over the members that `inside` accepts.

    First along the efficient direction (the gradient in the window's coordinates), then by random
    steps that keep membership and increase the functional. Several ascents per functional start in
    different directions, since regions of few data are irregular and an ascent may end in a corner.
    The end is the value at the first rejected point past the best member, so that it errs outwards.

    All functionals are given the same random steps, and learn nothing from each other: the result
    for one does not depend on which others there are.

    `radius` is the expected distance of the boundary; `members` are coordinates z of points that
    may be members.
    """

    def repeated(theta: FloatArray) -> FloatArray:
        return np.repeat(functionals(theta), ascents, axis=1)

    search = _Ascents(repeated, inside, window, radius, ascents)
    search.start(members, rng)
    for _ in range(rounds):
        if not search.step(rng, proposals):
            break
    bound = search.find_bounds().reshape(-1, ascents).max(axis=1)
    return Extremes(search.value.reshape(-1, ascents).max(axis=1), bound, search.best)


class _Ascents:
    """Ascents of G functionals, `ascents` of each in a row: the best member of each, and its value.

    They are independent of each other.
    """

    def __init__(
        self,
        functionals: Functionals,
        inside: Membership,
        window: Window,
        radius: float,
        ascents: int,
    ) -> None:
        self.functionals, self.inside, self.window = functionals, inside, window
        self.radius, self.ascents = radius, ascents
        self.origin_value = self.values(np.zeros((1, len(window.origin))))[0]
        self.index = np.arange(len(self.origin_value))
        self.scale = np.full(len(self.index), FIRST_SCALE * radius)
        self.best = np.zeros((len(self.index), len(window.origin)))
        self.value = self.origin_value.copy()
        # what one radius is worth at the most compatible point, in the functional's unit; a share
        # of its value where the gradient vanishes
        slope = lengths_of(self.gradient(self.best))
        self.unit = np.maximum(slope * radius, 1e-3 * np.abs(self.origin_value) + 1e-300)

    def values(self, z: FloatArray) -> FloatArray:
        return np.nan_to_num(self.functionals(self.window.theta(z)), nan=-np.inf)

    def contains(self, z: FloatArray) -> BoolArray:
        return np.asarray(self.inside(self.window.theta(z)) > 0)

    def gradient(self, z: FloatArray) -> FloatArray:
        """Return central differences of functional g at z[g], in the window's coordinates."""
        # a hundredth of a standard error: visible in probabilities that are nearly 0 or 1
        step = 1e-2 * (1 + np.abs(z).max(axis=1))
        columns = []
        for axis in np.eye(z.shape[1]):
            shift = step[:, None] * axis
            with np.errstate(invalid="ignore"):  # where there is no value on either side
                rise = (self.values(z + shift) - self.values(z - shift))[self.index, self.index]
            columns.append(np.where(np.isfinite(rise), rise, 0.0) / (2 * step))
        return np.stack(columns, axis=-1)

    def uphill(self, z: FloatArray) -> FloatArray:
        """Return unit gradients of functional g at z[g]."""
        gradient = self.gradient(z)
        length = lengths_of(gradient)[:, None]
        return np.asarray(gradient / np.where(length > 0, length, 1.0))

    def start(self, members: FloatArray | None, rng: np.random.Generator) -> None:
        """Follow rays along the efficient directions, all but the first of a functional's off it.

        Noise of about the length of the unit gradient turns them by about 45 degrees.
        """
        d = self.best.shape[1]
        noise = rng.standard_normal((self.ascents, d)) / np.sqrt(d)
        noise[0] = 0.0
        along = self.uphill(self.best) + noise[self.index % self.ascents]
        along /= np.maximum(np.linalg.norm(along, axis=1, keepdims=True), 1e-12)
        options = {"first_step": self.radius, "tolerance": TOLERANCE}
        ends = trace(self.inside, self.window, along, **options, look_beyond=False).members()
        values = self.values(ends)[self.index, self.index]
        # the value at the end of a ray may be lower, past a pole of the functional for example
        higher = values >= self.origin_value
        self.best = np.where(higher[:, None], ends, self.best)
        self.value = np.where(higher, values, self.origin_value)
        if members is not None and len(members):
            self.start_last_from(members)

    def start_last_from(self, known: FloatArray) -> None:
        """Start the last ascent of each functional from the best known point that is a member."""
        values = self.values(known)
        last = self.index[self.ascents - 1 :: self.ascents]
        best = np.argsort(-values[:, last], axis=0)[:KNOWN_TRIED]
        kept = self.contains(known[best.ravel()]).reshape(best.shape)
        chosen = best[np.argmax(kept, axis=0), np.arange(len(last))]
        value = values[chosen, last]
        better = kept.any(axis=0) & (value > self.value[last])
        self.best[last[better]] = known[chosen[better]]
        self.value[last[better]] = value[better]

    def step(self, rng: np.random.Generator, proposals: int) -> bool:
        """Propose random steps uphill from each best member; return whether any is active."""
        moving = (self.scale > LAST_SCALE * self.radius) & ~self.unbounded
        active = self.index[moving & ~self.behind]
        if not len(active):
            return False
        d = self.best.shape[1]
        uphill = self.uphill(self.best)[active]
        steps = rng.standard_normal((self.ascents, proposals, d)) / np.sqrt(d)
        steps = steps[active % self.ascents]
        downhill = np.einsum("gpd,gd->gp", steps, uphill) < 0
        steps *= np.where(downhill, -1.0, 1.0)[:, :, None]
        z = self.best[active][:, None] + self.scale[active, None, None] * steps
        improved = self.accept(z.reshape(-1, d), np.repeat(active, proposals))
        # those that are done keep theirs, however many rounds others take
        self.scale[active] *= np.where(improved[active], GROWTH, SHRINK)
        return True

    def accept(self, z: FloatArray, proposed_by: IntArray) -> BoolArray:
        """Move each ascent to its best proposal, if a better member; return which ones moved."""
        values = np.where(proposed_by[:, None] == self.index, self.values(z), -np.inf)
        better = (values > self.value).any(axis=1)
        if not better.any():
            return np.zeros(len(self.index), dtype=np.bool_)
        # membership costs far more than a value: only what would be an improvement is evaluated
        z, values = z[better], values[better]
        values = np.where(self.contains(z)[:, None], values, -np.inf)
        first = values.argmax(axis=0)
        improved = values[first, self.index] > self.value
        self.best[improved] = z[first[improved]]
        self.value[improved] = values[first, self.index][improved]
        return np.asarray(improved)

    @property
    def behind(self) -> BoolArray:
        """Which ascents their remaining steps will not bring to the best of their functional."""
        best = self.value.reshape(-1, self.ascents).max(axis=1).repeat(self.ascents)
        step = self.scale * self.unit / self.radius
        return np.asarray(best - self.value > CATCH_UP * step)

    @property
    def unbounded(self) -> BoolArray:
        """Which functionals grew too much to have an end."""
        with np.errstate(invalid="ignore"):  # where there is no value at the origin
            return np.asarray(self.value - self.origin_value > NO_END * self.unit)

    def find_bounds(self) -> FloatArray:
        """Step from each best member uphill until rejected, and return the values there."""
        uphill = self.uphill(self.best)
        bound = np.where(self.unbounded, np.inf, self.value)
        length = np.full(len(self.index), OUTWARD * self.radius)
        active = self.index[~self.unbounded & ~self.behind & uphill.any(axis=1)]
        while len(active):
            z = self.best[active] + uphill[active] * length[active, None]
            value = self.values(z)[np.arange(len(active)), active]
            kept = self.contains(z)
            rising = value > bound[active] + 1e-9 * (1 + np.abs(value))
            bound[active] = np.maximum(bound[active], value)
            self.value[active[kept]] = bound[active[kept]]
            far = length[active] > FAR
            # still inside very far out: unbounded, unless the functional itself has a limit there
            bound[active[kept & far & rising]] = np.inf
            length[active] *= 2
            active = active[kept & ~far]
        return bound
