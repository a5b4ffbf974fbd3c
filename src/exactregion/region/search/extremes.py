"""The largest values of functionals over a region, by rays and populations that climb.

Regions of few data are irregular, and those of families with bounds are long and bent: a single
ascent ends in a corner. So each functional has a population of members. Those with the larger
values stay, and steps from them are differences of two of them, as in differential evolution:
these follow the shape of the set, and become shorter as the population gathers at its end.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from exactregion._typing import BoolArray, FloatArray, IntArray
from exactregion.region.ratios import LinearRatios
from exactregion.region.rays import FAR, TOLERANCE, trace
from exactregion.region.window import Membership, Window, lengths_of

__all__ = [
    "NO_END",
    "Extremes",
    "Functionals",
    "beyond_members",
    "highest",
    "largest",
    "own_values",
    "random_factors",
    "some_of",
]

Functionals = Callable[[FloatArray], FloatArray]
"""θ (T, d) to values (T, G)."""

RAYS = 4
"""Rays per functional, all but the first off the efficient direction by about 45 degrees."""

ROUNDS = 40
"""A limit on time: most populations have gathered after 10 to 25 rounds."""

GATHERED, QUICKLY_GATHERED = 0.004, 0.012
"""A population has gathered when its values differ by less than this share of their distance from
the value at the origin, 0.2 % of the length of an interval around it. Quick searches have smaller
populations too: they evaluate a third of the θ, and end short by up to 2 % more of the length."""

LONG_STEPS = 8
"""One in so many steps is longer than the population, by up to a factor of 10³, and one leads to a
multiple of θ that is as large: where a set has no end, that shows in a few rounds."""

OUTWARD = 2e-3
"""First step from the last member towards a rejected point, as a share of the radius: half of
`TOLERANCE`, by which the end then errs outwards at most."""

NO_END = 1e4
"""A functional that grew by this multiple of what one radius is worth near the estimate counts as
unbounded. A smaller one would take long intervals for endless ones; a larger one costs a few rounds
more where there is no end, since steps grow with the population."""


class Extremes(NamedTuple):
    """Largest values of G functionals over a region, and coordinates z of members that have them.

    The bound, at least the value, is the end to report: past the first rejected point beyond the
    member, and by the margin. It is infinite where there is no end.
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
    also: FloatArray | None = None,
    is_defined: Callable[[FloatArray], BoolArray],
    margin: float = 0.0,
    quick: bool = False,
) -> Extremes:
    """Maximise each of G functionals over the members that `inside` accepts.

    A population starts from the ends of rays along the efficient direction (the gradient in the
    window's coordinates) and near it, from `members`, coordinates z of points that may be members,
    and from one member for each functional, `also` (G, d). The bound lies beyond the best member by
    `margin`, as a share of its distance from the origin.

    All functionals are given the same random steps, and learn nothing from each other: the result
    for one does not depend on which others there are. `radius` is the expected distance of the
    boundary.
    """
    search = _Climbs(functionals, inside, window, radius, is_defined, quick=quick)
    search.start(members, rng)
    if also is not None:
        search.add(also[:, None], search.index, np.ones((len(also), 1), dtype=np.bool_))
    for _ in range(ROUNDS):
        if not search.step(rng):
            break
    bound = search.find_bounds(margin)
    return Extremes(search.value, bound, search.best)


def own_values(
    functionals: Functionals, window: Window, z: FloatArray, groups: IntArray
) -> FloatArray:
    """Return the values of these functionals at their own points (groups, points, d).

    Numbers that are linear, or ratios of such, are not computed at the points of others.
    """
    theta = window.theta(z.reshape(-1, z.shape[-1]))
    if isinstance(functionals, LinearRatios):
        values = functionals[groups].at_own(theta.reshape(z.shape))
    else:
        found, each = functionals(theta)[:, groups], np.arange(len(groups))
        values = found.reshape(len(groups), -1, len(groups))[each, :, each]
    return np.nan_to_num(values, nan=-np.inf)


def some_of(functionals: Functionals, which: IntArray) -> Functionals:
    """Return some of the functionals."""
    if isinstance(functionals, LinearRatios):
        return functionals[which]
    return lambda theta: functionals(theta)[:, which]


def highest(z: FloatArray, heights: FloatArray, number: int) -> tuple[FloatArray, FloatArray]:
    """Return as many points of each of G groups (G, points, d), the highest first."""
    order = np.argsort(-heights, axis=1, kind="stable")[:, :number]
    return np.take_along_axis(z, order[..., None], axis=1), np.take_along_axis(heights, order, 1)


def random_factors(
    rng: np.random.Generator, number: int, d: int, powers: tuple[float, float]
) -> FloatArray:
    """Draw a factor for all parameters, or for some of them: powers of ten, shape (number, d)."""
    factors = 10.0 ** rng.uniform(*powers, size=(number, 1))
    some = (rng.random((number, d)) < 0.5) | (np.arange(number) % 2 == 0)[:, None]
    return np.where(some, factors, 1.0)


class _Climbs:
    """Populations of K members for each of G functionals, the best first; -inf stands for none.

    They are independent of each other.
    """

    def __init__(
        self,
        functionals: Functionals,
        inside: Membership,
        window: Window,
        radius: float,
        is_defined: Callable[[FloatArray], BoolArray],
        *,
        quick: bool,
    ) -> None:
        self.functionals, self.inside, self.window = functionals, inside, window
        self.radius, self.is_defined = radius, is_defined
        d = len(window.origin)
        # differences of two must span all directions, also when half of them are left
        self.size = 8 + 2 * d if quick else 12 + 4 * d
        self.gathered = QUICKLY_GATHERED if quick else GATHERED
        self.origin_value = self.values(np.zeros((1, d)))[0]
        self.index = np.arange(len(self.origin_value))
        self.z = np.zeros((len(self.index), self.size, d))
        self.heights = np.full((len(self.index), self.size), -np.inf)
        self.heights[:, 0] = self.origin_value
        # what one radius is worth at the most compatible point, in the functional's unit; a share
        # of its value where the gradient vanishes
        slope = lengths_of(self.gradient(self.best))
        self.unit = np.maximum(slope * radius, 1e-3 * np.abs(self.origin_value) + 1e-300)

    @property
    def best(self) -> FloatArray:
        """The best member of each functional, as coordinates z (G, d)."""
        return self.z[:, 0].copy()

    @property
    def value(self) -> FloatArray:
        """Values of the best members: shape (G,)."""
        return self.heights[:, 0].copy()

    @property
    def distance(self) -> FloatArray:
        """How far the best values are from those at the origin, at least a radius's worth."""
        with np.errstate(invalid="ignore"):  # where there is no value at the origin
            return np.asarray(np.fmax(self.value - self.origin_value, self.unit))

    @property
    def unbounded(self) -> BoolArray:
        """Which functionals grew too much to have an end."""
        return np.asarray(self.distance > NO_END * self.unit)

    def values(self, z: FloatArray) -> FloatArray:
        return np.nan_to_num(self.functionals(self.window.theta(z)), nan=-np.inf)

    def own_values(self, z: FloatArray, groups: IntArray) -> FloatArray:
        """Return the values of these functionals at their own points (groups, points, d)."""
        return own_values(self.functionals, self.window, z, groups)

    def contains(self, z: FloatArray) -> BoolArray:
        """Return which points are members; far out a family may have no probabilities."""
        theta = self.window.theta(z)
        kept = self.is_defined(theta)
        kept[kept] = self.inside(theta[kept]) > 0
        return kept

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

    def start(self, known: FloatArray | None, rng: np.random.Generator) -> None:
        """Start from the ends of rays, and from known points: the best, and some at random.

        The way to an end need not lead from what is best at first.
        """
        number, _, d = self.z.shape
        # noise of about the length of the unit gradient turns it by about 45 degrees
        noise = rng.standard_normal((RAYS, d)) / np.sqrt(d)
        noise[0] = 0.0
        along = (self.uphill(self.best)[:, None] + noise).reshape(-1, d)
        along /= np.maximum(np.linalg.norm(along, axis=1, keepdims=True), 1e-12)
        ends = trace(
            self.inside,
            self.window,
            along,
            first_step=self.radius,
            tolerance=TOLERANCE,
            look_beyond=False,
        ).members()
        self.add(ends.reshape(number, RAYS, d), self.index, np.ones((number, RAYS), dtype=np.bool_))
        if known is None or not len(known):
            return
        half = self.size // 2
        order = np.argsort(-self.values(known), axis=0, kind="stable")[:half].T
        others = rng.integers(len(known), size=self.size - half)
        chosen = np.concatenate([order, np.broadcast_to(others, (number, len(others)))], axis=1)
        tried, where = np.unique(chosen, return_inverse=True)
        kept = self.contains(known[tried])[where.reshape(chosen.shape)]
        self.add(known[chosen], self.index, kept)

    def add(self, z: FloatArray, groups: IntArray, kept: BoolArray) -> None:
        """Add those of the points (groups, points, d) that are `kept` to these populations."""
        heights = np.where(kept, self.own_values(z, groups), -np.inf)
        z = np.concatenate([self.z[groups], z], axis=1)
        heights = np.concatenate([self.heights[groups], heights], axis=1)
        self.z[groups], self.heights[groups] = highest(z, heights, self.size)

    def step(self, rng: np.random.Generator) -> bool:
        """Propose two steps per member of each population; return whether any is active."""
        d, number = self.z.shape[-1], 2 * self.size
        # drawn whatever is active, so that all functionals see the same
        shares = rng.random((3, number))
        power = rng.uniform(-1.0, 0.3, size=number)
        power[::LONG_STEPS] = rng.uniform(0.0, 3.0, size=len(power[::LONG_STEPS]))
        noise = rng.standard_normal((number, d)) / np.sqrt(d)
        noise *= self.radius * 10.0 ** rng.uniform(-3.5, -1.0, size=(number, 1))
        factors = random_factors(rng, len(power[1::LONG_STEPS]), d, (0.0, 3.0))
        towards = rng.random(number) * (rng.random(number) < 0.3)

        count = np.maximum(np.isfinite(self.heights).sum(axis=1), 1)
        with np.errstate(invalid="ignore"):
            spread = self.value - self.heights[self.index, count - 1]
        is_wide = (count < self.size) | (spread > self.gathered * self.distance)
        active = self.index[is_wide & ~self.unbounded & np.isfinite(self.value)]
        if not len(active):
            return False
        members = self.z[active]
        which = (shares[:, None] * count[active, None]).astype(np.int64)
        start, one, other = members[np.arange(len(active))[:, None], which]
        z = start + 10.0 ** power[:, None] * (one - other) + noise
        z += towards[:, None] * (members[:, :1] - start)
        multiples = np.tile(factors, (len(active), 1)).reshape(-1, d)
        scaled = self.window.scaled(start[:, 1::LONG_STEPS].reshape(-1, d), multiples)
        z[:, 1::LONG_STEPS] = scaled.reshape(len(active), -1, d)
        # membership costs far more than a value: only what is above the middle is evaluated
        middle = np.where(count == self.size, self.heights[:, self.size // 2], -np.inf)
        kept = np.asarray(self.own_values(z, active) > middle[active, None])
        if kept.any():
            kept[kept] = self.contains(z[kept])
        self.add(z, active, kept)
        return True

    def find_bounds(self, margin: float) -> FloatArray:
        """Step from each best member uphill until rejected, and return the values past it."""
        start = self.best
        uphill = self.uphill(start)
        bound = np.where(self.unbounded, np.inf, self.value)
        length = np.full(len(self.index), OUTWARD * self.radius)
        active = self.index[~self.unbounded & uphill.any(axis=1)]
        while len(active):
            z = start[active] + uphill[active] * length[active, None]
            value = self.own_values(z[:, None], active)[:, 0]
            kept = self.contains(z)
            rising = value > bound[active] + 1e-9 * (1 + np.abs(value))
            bound[active] = np.maximum(bound[active], value)
            better = active[kept & (value > self.value[active])]
            self.z[better, 0] = start[better] + uphill[better] * length[better, None]
            self.heights[better, 0] = bound[better]
            far = length[active] > FAR
            # still inside very far out: unbounded, unless the functional itself has a limit there
            bound[active[kept & far & rising]] = np.inf
            length[active] *= 2
            active = active[kept & ~far]
        farther = self.own_values((1 + margin) * self.best[:, None], self.index)[:, 0]
        return np.maximum(bound, beyond_members(self.value, margin * self.distance, farther))


def beyond_members(value: FloatArray, margin: FloatArray, farther: FloatArray) -> FloatArray:
    """Return ends beyond the best members: by a margin, or the value that is `farther` in θ.

    In values an odds ratio might get below 0, in θ a ratio next to its pole go far: the less.
    """
    with np.errstate(over="ignore"):
        added = value + margin
    return np.maximum(value, np.where(farther > value, np.minimum(added, farther), added))
