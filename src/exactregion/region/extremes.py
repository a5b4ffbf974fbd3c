"""The largest values of functionals over a region, by rays and random ascent."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from exactregion._typing import BoolArray, FloatArray, IntArray
from exactregion.region.rays import ENOUGH, FAR, trace
from exactregion.region.window import Inside, Window

__all__ = ["Extremes", "Functionals", "largest"]

Functionals = Callable[[FloatArray], FloatArray]

FIRST_SCALE = 0.25
FINEST = 0.01
"""Steps of the ascent, at first and at last, as a share of the expected radius."""

OUTWARDS = 2e-3
"""The outer end is looked for so far from the last member, as a share of the radius."""

WIDER, NARROWER = 1.5, 0.5
"""What becomes of the steps where one was accepted, and where none was."""

TRIED = 6
"""Points known beforehand that are asked for, as a start of the last walker."""

HOPE = 2.0
"""A walker that is this many steps behind the best of its functional is left behind."""

RUNAWAY = 1e4
"""A functional that grew by this multiple of what the radius is worth has no end."""


@dataclass(frozen=True, eq=False)
class Extremes:
    """Largest values of G functionals over a region.

    Attributes
    ----------
    reached : ndarray of shape (G,)
        Largest value at a member.
    bound : ndarray of shape (G,)
        Value at the first rejected point past it: the end to report; ∞ where there is none.
    members : ndarray of shape (M, d)
        Coordinates z of the members where they were reached.
    """

    reached: FloatArray
    bound: FloatArray
    members: FloatArray


def largest(
    functionals: Functionals,
    inside: Inside,
    window: Window,
    rng: np.random.Generator,
    *,
    radius: float,
    members: FloatArray | None = None,
    walkers: int = 1,
    proposals: int = 10,
    rounds: int = 60,
) -> Extremes:
    """Maximise each of G functionals over the members that `inside` accepts.

    First along the efficient direction (the gradient in the window's coordinates), then by random
    steps that keep membership and increase the functional, narrower where none is accepted. Several
    walkers a functional start in different directions, since regions of few data are ragged and an
    ascent may end in a corner; a single one shares its members with the other functionals. The end
    is the first rejected point past the best member, so that it errs outwards.

    Parameters
    ----------
    functionals : callable
        θ (T, d) to values (T, G).
    inside : callable
        θ (T, d) to depths (T,), positive inside; or to membership.
    window : Window
        Coordinates; the origin must be inside.
    rng : Generator
        For the random steps.
    radius : float
        Where the boundary is expected, in the window's coordinates.
    members : ndarray of shape (M, d), optional
        Coordinates z of members known already, or of points that may be.
    walkers : int
        Number of ascents a functional.
    proposals, rounds : int
        Random steps a walker and round, and the most rounds.
    """

    def repeated(theta: FloatArray) -> FloatArray:
        return np.repeat(functionals(theta), walkers, axis=1)

    ascent = _Ascent(repeated, inside, window, radius, walkers)
    ascent.begin(members, rng)
    for _ in range(rounds):
        if not ascent.climb(rng, proposals):
            break
    ends = ascent.end()
    reached, bound = (
        values.reshape(-1, walkers).max(axis=1) for values in (ends.reached, ends.bound)
    )
    return Extremes(reached, bound, ends.members)


class _Ascent:
    def __init__(
        self,
        functionals: Functionals,
        inside: Inside,
        window: Window,
        radius: float,
        walkers: int,
    ) -> None:
        self.functionals, self.inside, self.window = functionals, inside, window
        self.radius, self.walkers, self.alone = radius, walkers, walkers > 1
        self.middle = self.at(np.zeros((1, len(window.origin))))[0]
        self.own = np.arange(len(self.middle))
        self.scale = np.full(len(self.middle), FIRST_SCALE * radius)

    def at(self, z: FloatArray) -> FloatArray:
        return np.nan_to_num(self.functionals(self.window.theta(z)), nan=-np.inf)

    def keeps(self, z: FloatArray) -> BoolArray:
        return np.asarray(np.asarray(self.inside(self.window.theta(z)), dtype=np.float64) > 0)

    def uphill(self, z: FloatArray) -> FloatArray:
        """Compute unit gradients, in the window's coordinates, of functional g at z[g]."""
        gradient = self.gradient(z)
        length = np.linalg.norm(gradient, axis=-1, keepdims=True)
        return np.asarray(gradient / np.where(length > 0, length, 1.0))

    def gradient(self, z: FloatArray) -> FloatArray:
        """Compute gradients of functional g at z[g] by central differences."""
        # in standard errors: large enough to be seen in probabilities that are all but certain
        step = 1e-2 * (1 + np.abs(z).max(axis=1))
        columns = []
        for axis in np.eye(z.shape[1]):
            moved = step[:, None] * axis
            rise = (self.at(z + moved) - self.at(z - moved))[self.own, self.own]
            columns.append(np.where(np.isfinite(rise), rise, 0.0) / (2 * step))
        return np.stack(columns, axis=-1)

    def begin(self, members: FloatArray | None, rng: np.random.Generator) -> None:
        """Go along the efficient directions, all walkers but the first a little off them."""
        origin = np.zeros((len(self.own), len(self.window.origin)))
        off = rng.standard_normal(origin.shape) / np.sqrt(origin.shape[1])
        off[:: self.walkers] = 0.0
        along = self.uphill(origin) + off
        along /= np.maximum(np.linalg.norm(along, axis=1, keepdims=True), 1e-12)
        rays = trace(
            self.inside,
            self.window,
            along,
            first_step=self.radius,
            tolerance=ENOUGH,
            look_beyond=False,
        )
        ends = rays.directions * rays.inner[:, None]
        if self.alone:
            values = self.at(ends)[self.own, self.own]
            behind = values < self.middle  # past a pole of the functional, say
            self.best = np.where(behind[:, None], origin, ends)
            self.reached = np.where(behind, self.middle, values)
            if members is not None and len(members):
                self.start_from(members)
        else:
            known = [origin[:1], ends, *([] if members is None else [members])]
            z = np.vstack(known)
            values = self.at(z)
            self.best, self.reached = z[values.argmax(axis=0)], values.max(axis=0)
        # what the radius is worth at the most compatible point, in the functional's own unit
        slope = np.linalg.norm(self.gradient(origin), axis=1)
        self.unit = np.maximum(slope * self.radius, 1e-3 * np.abs(self.middle) + 1e-300)

    def start_from(self, known: FloatArray) -> None:
        """Let the last walker of each functional start from the best point that is known."""
        values = self.at(known)
        last = self.own[self.walkers - 1 :: self.walkers]
        best = np.argsort(-values[:, last], axis=0)[:TRIED]
        kept = self.keeps(known[best.ravel()]).reshape(best.shape)
        first = np.argmax(kept, axis=0)
        chosen = best[first, np.arange(len(last))]
        reached = values[chosen, last]
        better = kept.any(axis=0) & (reached > self.reached[last])
        self.best[last[better]] = known[chosen[better]]
        self.reached[last[better]] = reached[better]

    def climb(self, rng: np.random.Generator, proposals: int) -> bool:
        """Try random steps uphill from each best member; say whether any are worth more."""
        moving = (self.scale > FINEST * self.radius) & ~self.runaway
        active = self.own[moving & ~self.left_behind]
        if not len(active):
            return False
        d = self.best.shape[1]
        uphill = self.uphill(self.best)[active]
        steps = rng.standard_normal((len(active), proposals, d)) / np.sqrt(d)
        downhill = np.einsum("gpd,gd->gp", steps, uphill) < 0
        steps *= np.where(downhill, -1.0, 1.0)[:, :, None]
        z = self.best[active][:, None] + self.scale[active, None, None] * steps
        improved = self.take(z.reshape(-1, d), np.repeat(active, proposals))
        self.scale *= np.where(improved, WIDER, NARROWER)
        return True

    def take(self, z: FloatArray, owner: IntArray) -> BoolArray:
        """Keep what is inside and better: for its owner, or for any functional."""
        values = self.at(z)
        if self.alone:
            values = np.where(owner[:, None] == self.own, values, -np.inf)
        hopeful = (values > self.reached).any(axis=1)
        if not hopeful.any():
            return np.zeros(len(self.own), dtype=np.bool_)
        z, values = z[hopeful], values[hopeful]
        values = np.where(self.keeps(z)[:, None], values, -np.inf)
        first = values.argmax(axis=0)
        improved = values[first, self.own] > self.reached
        self.best[improved] = z[first[improved]]
        self.reached[improved] = values[first, self.own][improved]
        return np.asarray(improved)

    @property
    def left_behind(self) -> BoolArray:
        """Walkers that the steps they still have in them will not bring to the best of theirs."""
        best = self.reached.reshape(-1, self.walkers).max(axis=1).repeat(self.walkers)
        step = self.scale * self.unit / self.radius
        return np.asarray(best - self.reached > HOPE * step)

    @property
    def runaway(self) -> BoolArray:
        return np.asarray(self.reached - self.middle > RUNAWAY * self.unit)

    def end(self) -> Extremes:
        """Step from each best member uphill until rejected; the value there is the end."""
        uphill = self.uphill(self.best)
        bound = np.where(self.runaway, np.inf, self.reached)
        length = np.full(len(self.own), OUTWARDS * self.radius)
        going = self.own[~self.runaway & ~self.left_behind & uphill.any(axis=1)]
        while len(going):
            z = self.best[going] + uphill[going] * length[going, None]
            value = self.at(z)[np.arange(len(going)), going]
            kept = self.keeps(z)
            rising = value > bound[going] + 1e-9 * (1 + np.abs(value))
            bound[going] = np.maximum(bound[going], value)
            self.reached[going[kept]] = bound[going[kept]]
            far = length[going] > FAR
            # still inside very far out: a limit of the functional itself, or no end at all
            bound[going[kept & far & rising]] = np.inf
            length[going] *= 2
            going = going[kept & ~far]
        return Extremes(self.reached, bound, self.best)
