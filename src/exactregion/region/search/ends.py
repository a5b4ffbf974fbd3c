"""Searches for the smallest and largest values of functionals over a region.

Searches find members close to the ends, and report ends a little beyond them. They are audited with
random θ, and go on from members that lie beyond the ends found so far.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from exactregion._typing import BoolArray, FloatArray
from exactregion.models.base import Model
from exactregion.ranking import AcceptedRanks
from exactregion.region.fitted import FittedRegion
from exactregion.region.ratios import LinearRatios
from exactregion.region.rays import Depth, Rays
from exactregion.region.search.approaches import POPULATION, approached
from exactregion.region.search.candidates import central_window, known_members, plausible_probes
from exactregion.region.search.extremes import Extremes, Functionals, largest, some_of
from exactregion.region.search.outline import joint_far_members, most_compatible, outline_of
from exactregion.region.search.poles import passes_infinity
from exactregion.region.search.scores import focused_distances
from exactregion.region.search.surface import Effort, SurfaceEnds, ends_on_surface
from exactregion.region.window import Membership, RankFunction, Window, multiply, window_at
from exactregion.statistics import Combined, Ratio, Statistic
from exactregion.statistics.focused import Focused

__all__ = [
    "AUDITS",
    "Bounds",
    "FocusedSearch",
    "focused_statistic",
    "is_projected",
    "nearly_all_ranks",
    "search_joint",
]

JOINT_MARGIN, QUICK_MARGIN, FOCUSED_MARGIN = 0.05, 0.09, 0.09
"""How far ends lie beyond the best member found, as shares of its distance from the origin: 2.5 and
4.5 % of the length of an interval around it. Boundaries of regions of few data sets are rough:
without it members lie outside, mostly by less than this, in every second data set. Chosen on
repetitions 0 to 4 of the cases of validation/parts/searched.py with few rows: only its other
repetitions are a test of them."""

JOINT_EFFORT = Effort(rounds=4, points=8, compared=400, probes=24, margin=0.05)
QUICK_EFFORT = replace(JOINT_EFFORT, rounds=3, points=6)
FOCUSED_EFFORT = Effort(rounds=4, points=12, compared=200, probes=24, margin=0.08)
"""Searches of regions that are about ellipsoids with 1,000 data sets: for intervals, bands and
focused sets. Their ends lie beyond all members that populations find with 20 to 80 times as many
ranks in nine of ten cases, and short of them by at most 0.8 % of the length (n = 50 to 300, two to
five parameters)."""

LEAST_EFFORT = Effort(rounds=2, points=4, compared=100, probes=24, margin=0.05)
"""The same where a rank takes long; one round is enough for two parameters. Ends of joint intervals
are then short of members by at most 1 % of the length, those of bands and focused sets by 4 %."""

WITHOUT_RAYS = 7, 0.085
"""Points and margin where rows are many and two rays are followed, instead of those of
`LEAST_EFFORT`: ends are as far out on average as with 14 rays and 4 points, for two thirds of the
ranks. With 4 points they were nearer by 0.5 % of the length."""

SKEWED = 2
"""By which factor margins are wider where a rank takes long and outcomes are few. With one success
of 5,000, ends were short of members by 5 % of the length."""

MANY, MOST = 1000, 8
"""Number of data sets that these are for. With fewer a boundary is rougher, and a rank takes less
time: there are more points, in proportion, up to this many times as many."""

ROUGHNESS = 0.35
"""Roughness of a boundary times the root of the number of data sets: 0.011 with 1,000 of them
(logistic and probit, 50 to 300 rows), as a share of the boundary's distance."""

FEWEST = 400
"""Data sets from which on regions are searched so. With fewer, one of them decides where the joint
region ends that a focused set lies in, and members were outside by up to 4 % of the length; a rank
takes little time then."""

UNEVEN = 1.3
"""The length that no ray of an outline may exceed, as a multiple of the median."""

NUISANCE = 0.005
"""β of focused intervals: they are taken over the members of the joint region at level 1 - β, and
their own level is higher by β, so that coverage stays at the region's (docs/theory/focused.md).
A larger β excludes more θ and needs a higher level in return. With 0.001 an ED50 may have no end
twice as often, with 0.02 slopes are longer by 3 to 8 % (validation/focused_level.py)."""

PROJECTED = 3
"""Parameters of a curved family whose sets can be proven from which on individual intervals are
projections of the joint region. With a free lapse rate these have median lengths of 1.75 and
1.15 for a threshold (280 and 700 trials), focused ones 1.99 and 1.16; with a known rate and two
parameters focused ones are the shorter, 1.98 to 2.10 (validation/individual.py)."""

START_POINTS = 200
"""Random points near the estimate among which a member of a focused set is looked for, if the
estimate is none, besides the members known of the joint region. More find smaller sets before an
interval is called empty."""

AUDITS = 6
"""Audits before a search gives up and says so."""

FEW, GROUP = 8, 32
"""Up to `FEW` functionals are checked for poles, and up to `GROUP` are searched at once: the cost
of either grows with the square of their number."""


@dataclass(frozen=True, eq=False)
class Bounds:
    """Lower and upper ends of G functionals over a set of θ; NaN if no member was found.

    The gaps are the distances of both ends from the values at members, zero without an end.
    Certified ends are proven: no member lies beyond them. Settled ones are proven, or were audited
    with `probes` θ, none of which was a member beyond them.
    """

    lower: FloatArray
    upper: FloatArray
    gaps: FloatArray  # (2, G): of the lower and of the upper end
    certified: BoolArray
    settled: BoolArray
    probes: int
    evaluations: int
    seconds: float

    @classmethod
    def empty(cls, width: int, *, certified: bool = False) -> Bounds:
        """Return the bounds over an empty set."""
        nan = np.full(width, np.nan)
        yes = np.ones(width, dtype=np.bool_)
        return cls(nan, nan, np.stack([nan, nan]), yes & certified, yes, 0, 0, 0.0)

    @classmethod
    def of_ends(cls, ends: SurfaceEnds, evaluations: int) -> Bounds:
        """Return the bounds of G functionals, from the ends of these and of their negatives."""
        upper, lower = np.split(ends.bound, 2)
        with np.errstate(invalid="ignore"):
            gaps = np.stack(np.split(ends.bound - ends.value, 2)[::-1])
        gaps = np.where(np.isfinite(gaps), gaps, 0.0)
        settled = np.logical_and(*np.split(ends.settled, 2))
        no = np.zeros(len(upper), dtype=np.bool_)
        return cls(-lower, upper, gaps, no, settled, ends.probes, evaluations, ends.seconds)

    @property
    def gap(self) -> FloatArray:
        """The larger gap of each functional: shape (G,)."""
        return np.asarray(self.gaps.max(axis=0))

    def of(self, index: int) -> Bounds:
        """Return the bounds of one functional."""
        at = slice(index, index + 1)
        return replace(
            self,
            lower=self.lower[at],
            upper=self.upper[at],
            gaps=self.gaps[:, at],
            certified=self.certified[at],
            settled=self.settled[at],
        )

    def mapped(self, monotone: Callable[[FloatArray], FloatArray]) -> Bounds:
        """Return the bounds of a function of each functional that rises, or falls, throughout."""
        ends = np.stack([monotone(self.lower), monotone(self.upper)])
        members = np.stack(
            [monotone(self.lower + self.gaps[0]), monotone(self.upper - self.gaps[1])]
        )
        with np.errstate(invalid="ignore"):
            gaps = np.where(ends == members, 0.0, np.abs(ends - members))
        gaps = np.where(np.isfinite([self.lower, self.upper]), gaps, 0.0)
        is_falling = bool((ends[0] > ends[1]).any())
        return replace(
            self,
            lower=ends.min(axis=0),
            upper=ends.max(axis=0),
            gaps=gaps[::-1] if is_falling else gaps,
        )

    @classmethod
    def joined(cls, parts: Sequence[Bounds]) -> Bounds:
        """Put the bounds of several searches together."""
        return cls(
            np.concatenate([part.lower for part in parts]),
            np.concatenate([part.upper for part in parts]),
            np.concatenate([part.gaps for part in parts], axis=1),
            np.concatenate([part.certified for part in parts]),
            np.concatenate([part.settled for part in parts]),
            sum(part.probes for part in parts),
            sum(part.evaluations for part in parts),
            sum(part.seconds for part in parts),
        )


def search_joint(
    fitted: FittedRegion,
    g: Functionals,
    width: int,
    *,
    numbers: LinearRatios | None,
    probes: int,
    quick: bool,
) -> Bounds:
    """Search for the ends of functionals over the joint region, each as if it were alone.

    A band may be at any inputs, and what it says at one of them must not depend on the
    others. So functionals share random steps, which makes one batch of them, and what is known
    beforehand: the outline, and members drawn at random.
    """
    outline = outline_of(fitted)
    if outline.rays is None:
        return Bounds.empty(width)
    ranks, depth = fitted.rank_function(), Depth(fitted.accepted, len(outline.estimate))
    window = central_window(fitted)
    search = _Search(
        fitted,
        lambda theta: depth(ranks(theta)[0]),
        window,
        [ranks],
        depth.radius,
        QUICK_MARGIN if quick else JOINT_MARGIN,
        QUICK_EFFORT if quick else JOINT_EFFORT,
        numbers=numbers,
        quick=quick,
        rays=outline.rays if window is outline.window else None,
    )
    all_numbers = g if numbers is None else numbers
    groups = np.array_split(np.arange(width), range(GROUP, width, GROUP))
    return Bounds.joined(
        [search.bounds(some_of(all_numbers, part), probes, poles=width <= FEW) for part in groups]
    )


def _is_smooth(fitted: FittedRegion, numbers: LinearRatios | None) -> bool:
    """Return whether ends are searched on a surface: of linear numbers, over about an ellipsoid.

    That is one of a linear predictor with enough outcomes. Where a rank takes long, any region of a
    linear predictor and any functional are treated so.
    """

    def find() -> bool:
        if not fitted.is_linear or fitted.sample.inputs.levels > 1:
            return False
        if fitted.accepted.m < FEWEST or fitted.has_few_outcomes:
            return False
        far, outline = joint_far_members(fitted), outline_of(fitted)
        if far is None or far.separation is not None or outline.status != "bounded":
            return False
        lengths = np.inf if outline.rays is None else outline.rays.outer
        return bool(np.max(lengths) <= UNEVEN * np.median(lengths))

    if fitted.ranks_take_long:
        return True
    return _are_linear(numbers) and fitted.cached("is smooth", find)


def _are_linear(numbers: LinearRatios | None) -> bool:
    return numbers is not None and numbers.denominator is None


def is_projected(fitted: FittedRegion) -> bool:
    """Return whether individual intervals are those of the joint region.

    A rule of the family and its statistic, never of the outcomes: for curved families with bounds
    of their probabilities, whose joint sets can be proven. With so many parameters some of them are
    often free along a ridge, where the score of one functional says nothing.
    """
    if not isinstance(fitted.statistic, Ratio) or fitted.n_parameters < PROJECTED:
        return False
    has_bounds = type(fitted.model).probability_bounds is not Model.probability_bounds
    return has_bounds and fitted.model.linear_design(fitted.sample.inputs.X) is None


def focused_statistic(fitted: FittedRegion, focused: Focused, *, alone: bool) -> Statistic:
    """Return what is ranked by: the score of the functional, `alone` where sets can be proven.

    Elsewhere the region's own statistic is added to it, which keeps θ out that fit badly but not
    along the functional.
    """
    return focused if alone else Combined(focused, fitted.statistic)


def nearly_all_ranks(m: int) -> AcceptedRanks:
    """Return the ranks of the joint region that focused intervals are taken over."""
    return AcceptedRanks(m, 1, m - max(1, int(NUISANCE * m)))


class FocusedSearch:
    """The θ accepted by the statistic of one functional, and by the joint region beside it."""

    def __init__(
        self,
        fitted: FittedRegion,
        gradient: Callable[[FloatArray], FloatArray],
        *,
        alone: bool,
        numbers: LinearRatios | None = None,
    ) -> None:
        self.fitted, self.gradient, self.numbers = fitted, gradient, numbers
        statistic = focused_statistic(fitted, Focused(gradient), alone=alone)
        m, self.joint = fitted.accepted.m, nearly_all_ranks(fitted.accepted.m)
        spent = m - self.joint.high
        self.focused = AcceptedRanks(m, 1, min(m, round(fitted.accepted.coverage * m) + spent))
        self.depth, self.joint_depth = (
            Depth(self.focused, 1),
            Depth(self.joint, fitted.n_parameters),
        )
        self.ranks, self.joint_ranks = (
            fitted.rank_function(statistic),
            fitted.rank_function(),
        )

    def inside(self, theta: FloatArray) -> FloatArray:
        """Return how deep θ (T, d) is inside the set; positive for members."""
        depths = self.depth(self.ranks(theta)[0])
        kept = depths > 0
        if kept.any():
            joint = self.joint_depth(self.joint_ranks(theta[kept])[0])
            depths[kept] = np.minimum(depths[kept], joint)
        return depths

    def bounds(self, g: Functionals, *, probes: int) -> Bounds:
        """Search for the ends of the functional."""
        fitted = self.fitted
        rng = fitted.search_rng()
        window = central_window(fitted)
        if not self.inside(window.origin[None])[0] > 0:
            best, _ = most_compatible(self.ranks, window, fitted.accepted, rng)
            steps = rng.standard_normal((START_POINTS, len(best)))
            of_joint = outline_of(fitted).window.theta(known_members(fitted, 0))
            tried = np.vstack([best, window.theta(steps), of_joint])
            kept = self.inside(tried) > 0
            if not kept.any():
                return Bounds.empty(1)
            window = window_at(fitted.model, fitted.sample, tried[np.argmax(kept)])
        radius, shares = self.depth.radius, None
        is_skewed = fitted.many_rows is not None and fitted.has_few_outcomes
        is_smooth = _is_smooth(fitted, self.numbers) and not is_skewed
        if is_smooth and _are_linear(self.numbers):
            shares = focused_distances(
                fitted,
                self.gradient,
                window,
                rng,
                radius=radius,
                joint_radius=self.joint_depth.radius,
            )
        search = _Search(
            fitted,
            self.inside,
            window,
            [self.ranks, self.joint_ranks],
            radius,
            FOCUSED_MARGIN,
            FOCUSED_EFFORT,
            numbers=self.numbers,
            shares=shares,
        )
        return search.bounds(g, probes, poles=True)


@dataclass(frozen=True, eq=False)
class _Search:
    """A set of θ by which are `inside`, coordinates around it, and what counts evaluations.

    `rays` are those of an outline from the origin, if they are known.
    """

    fitted: FittedRegion
    inside: Membership
    window: Window
    counters: Sequence[RankFunction]
    radius: float
    margin: float
    effort: Effort
    numbers: LinearRatios | None
    quick: bool = False
    rays: Rays | None = None
    shares: Callable[[FloatArray], FloatArray] | None = None

    def bounds(self, g: Functionals, probes: int, *, poles: bool) -> Bounds:
        """Find the bounds of g over the members, and audit them.

        An audit evaluates `probes` θ that lie outside, and as many steps from those that are
        closest to members; and searches again with other random steps, from other members and one
        beyond the end. It is repeated for ends beyond which it finds a member.
        """
        if _is_smooth(self.fitted, self.numbers):
            return self._on_surface(g, probes, poles=poles)
        started, before = time.perf_counter(), self._evaluations()

        both_signs = _with_negatives(g)
        value, bound, best = self._largest(both_signs, 0)
        left, audit = np.arange(len(bound)), 0
        while probes and audit < AUDITS and len(left):
            audit += 1
            functionals = some_of(both_signs, left)
            outside = self._members_outside(functionals, bound[left], probes, audit)
            again = self._largest(functionals, audit, outside)
            has_moved = again.value > bound[left]
            best[left] = np.where((again.value > value[left])[:, None], again.members, best[left])
            value[left] = np.maximum(value[left], again.value)
            bound[left] = np.maximum(bound[left], again.bound)
            left = left[has_moved]
        settled = np.full(len(bound), probes > 0)
        settled[left] = False
        with np.errstate(invalid="ignore"):
            gaps = bound - value
        gaps = np.where(np.isfinite(gaps), gaps, 0.0)
        if poles:
            is_pole = passes_infinity(
                g, self.inside, self.window, np.vstack([self._known(0), best])
            )
            is_pole = np.tile(is_pole, 2)
            bound, gaps = np.where(is_pole, np.inf, bound), np.where(is_pole, 0.0, gaps)
        upper, lower = np.split(bound, 2)
        no = np.zeros(len(upper), dtype=np.bool_)
        return Bounds(
            -lower,
            upper,
            np.stack(np.split(gaps, 2)[::-1]),
            no,
            np.logical_and(*np.split(settled, 2)),
            audit * probes,
            self._evaluations() - before,
            time.perf_counter() - started,
        )

    def _on_surface(self, g: Functionals, probes: int, *, poles: bool) -> Bounds:
        """Find the bounds of g over a set that is about an ellipsoid, or a slab of one."""
        fitted, before, outline = self.fitted, self._evaluations(), outline_of(self.fitted)
        effort, m = self.effort, fitted.accepted.m
        if fitted.ranks_take_long and fitted.has_few_outcomes:
            effort = replace(effort, margin=SKEWED * effort.margin)
        elif fitted.ranks_take_long:
            rounds = min(LEAST_EFFORT.rounds, len(self.window.origin) - 1)
            effort = replace(LEAST_EFFORT, rounds=max(rounds, 1), margin=effort.margin)
            if self.shares is not None and fitted.many_rows is not None:
                points, margin = WITHOUT_RAYS
                effort = replace(effort, points=points, margin=margin)
        more = float(np.clip(MANY / m, 1, MOST))
        effort = replace(
            effort,
            points=round(more * effort.points),
            compared=round(more * effort.compared),
            probes=effort.probes if probes else 0,
            roughness=ROUGHNESS / np.sqrt(m),
        )

        def ends_of(functionals: Functionals) -> SurfaceEnds:
            return ends_on_surface(
                _with_negatives(functionals),
                self.inside,
                self.window,
                fitted.search_rng(),
                radius=self.radius,
                effort=effort,
                outline=self.rays,
                shares=self.shares,
            )

        ends = ends_of(g)
        if poles:
            members = self.window.coordinates(outline.window.theta(outline.members()))
            members = np.vstack([members, ends.members])
            b = None if self.numbers is None else self.numbers.denominator
            if b is not None:  # a pole is where this is zero
                members = np.vstack([members, ends_of(lambda theta: multiply(theta, b.T)).members])
            is_pole = passes_infinity(g, self.inside, self.window, members)
            ends.bound[np.tile(is_pole, 2)] = np.inf
        return Bounds.of_ends(ends, self._evaluations() - before)

    def _members_outside(
        self, functionals: Functionals, bound: FloatArray, probes: int, turn: int
    ) -> FloatArray:
        """Return a member beyond each bound, z (G, d): the origin where none is found."""
        return approached(
            functionals,
            self.inside,
            self.window,
            self.fitted.search_rng(turn),
            bound=bound,
            probes=plausible_probes(self.fitted, probes, turn),
            is_defined=self.fitted.is_defined,
            rounds=probes // (2 * POPULATION if self.quick else POPULATION),
        )

    def _known(self, turn: int) -> FloatArray:
        """Return coordinates z of members of the joint region."""
        window = outline_of(self.fitted).window
        return self.window.coordinates(window.theta(known_members(self.fitted, turn)))

    def _largest(
        self, functionals: Functionals, turn: int, also: FloatArray | None = None
    ) -> Extremes:
        return largest(
            functionals,
            self.inside,
            self.window,
            self.fitted.search_rng(turn),
            radius=self.radius,
            members=self._known(turn),
            also=also,
            is_defined=self.fitted.is_defined,
            margin=self.margin,
            quick=self.quick,
        )

    def _evaluations(self) -> int:
        return sum(ranks.evaluations for ranks in self.counters)


def _with_negatives(g: Functionals) -> Functionals:
    """Return functionals and their negatives; far out they may overflow."""
    if isinstance(g, LinearRatios):
        return g.with_negatives()

    def of_both_signs(theta: FloatArray) -> FloatArray:
        with np.errstate(all="ignore"):
            values = g(theta)
        return np.concatenate([values, -values], axis=1)

    return of_both_signs
