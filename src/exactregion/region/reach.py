"""The region as a set, and how far functionals reach over it."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from exactregion._typing import FloatArray
from exactregion.engine import PreparedStatistic
from exactregion.errors import InvalidValueError
from exactregion.ranking import AcceptedRanks
from exactregion.region.depth import Depth
from exactregion.region.extremes import Functionals, largest
from exactregion.region.grid import Grid, box_around, full_grid, refined_grid
from exactregion.region.outline import Outline, explore
from exactregion.region.poles import passing_infinity
from exactregion.region.start import information_at
from exactregion.region.window import Inside, Probe, Window, most_compatible, window_at
from exactregion.statistics.focused import Focused

if TYPE_CHECKING:
    from exactregion.region import ConfidenceRegion

__all__ = ["Reach", "focused_reach", "grid", "joint_reach", "outline", "probe_of"]

WALKERS = 5
"""Ascents for each end of a focused interval, whose set is long and ragged in other directions."""

JOINT_WALKERS = 2
"""The same over the joint region; more move its ends by a per cent."""

FEW = 8
"""Up to this many functionals each has walkers of its own; more of them share members."""

TOGETHER = 32
"""Most functionals worked on at once: cost grows with the square of these."""

NEAR = 1e3
"""Members farther out than this many standard errors are no good to start from."""

NUISANCE = 0.001
"""β: focused intervals look among the members of the joint region at level 1 - β."""


def probe_of(region: ConfidenceRegion) -> Probe:
    """Make a probe of the ranks of a region."""
    return Probe(region.fitted_.ranks, np.array(region.model_.bounds, dtype=np.float64))


def outline(region: ConfidenceRegion) -> Outline:
    """Find the region, once for each fit."""
    state = region.fitted_
    if "outline" not in state.found:
        state.found["outline"] = explore(
            probe_of(region), state.model, state.sample, state.accepted, _search_rng(region)
        )
    found: Outline = state.found["outline"]
    return found


def grid(
    region: ConfidenceRegion,
    box: Any = None,
    *,
    points: int | tuple[int, ...] | None = None,
    levels: int | None = None,
) -> Grid:
    """Put a region with one or two parameters on a grid; see `ConfidenceRegion.grid`."""
    d = len(region.parameter_names_)
    if d > 2:
        raise InvalidValueError(
            f"A grid needs a family with one or two parameters. Got {d} instead: use intervals() "
            "or band()."
        )
    ends = box_around(outline(region)) if box is None else np.asarray(box, dtype=np.float64)
    if ends.shape != (d, 2) or not (ends[:, 0] < ends[:, 1]).all():
        raise InvalidValueError(
            f"must have a (low, high) with low < high for each of the {d} "
            f"parameters. Got {box!r} instead.",
            parameter="box",
        )
    probe, accepted = probe_of(region), region.fitted_.accepted
    if points is not None:
        return full_grid(probe, accepted, ends, points)
    return refined_grid(probe, accepted, ends, levels=levels)


def _search_rng(region: ConfidenceRegion) -> np.random.Generator:
    """Make a generator for the search: fixed by the seed, apart from the draws themselves."""
    entropy = region.fitted_.resampling.entropy
    return np.random.default_rng(np.random.SeedSequence(entropy, spawn_key=(2,)))


@dataclass(frozen=True, eq=False)
class Reach:
    """Ends of G functionals over a set of θ."""

    lower: FloatArray
    upper: FloatArray
    resolution: FloatArray
    evaluations: int
    seconds: float


def _reach(
    g: Functionals,
    inside: Inside,
    window: Window,
    probes: tuple[Probe, ...],
    rng: np.random.Generator,
    *,
    known: FloatArray,
    **options: Any,
) -> tuple[Reach, FloatArray]:
    """Find the smallest and largest values of g over the members, and members that have them.

    Members that are known already are where a few functionals are looked at for poles.
    """
    begun, asked = time.perf_counter(), sum(probe.evaluations for probe in probes)

    def both_ways(theta: FloatArray) -> FloatArray:
        values = g(theta)
        return np.concatenate([values, -values], axis=1)

    ends = largest(both_ways, inside, window, rng, **options)
    upper, lower = np.split(ends.bound, 2)
    top, bottom = np.split(ends.reached, 2)
    if len(upper) <= FEW:
        endless = passing_infinity(g, inside, window, np.vstack([known, ends.members]))
        upper, lower = np.where(endless, np.inf, upper), np.where(endless, np.inf, lower)
    with np.errstate(invalid="ignore"):
        gaps = np.nan_to_num(np.maximum(upper - top, lower - bottom), nan=0.0, posinf=0.0)
    asked = sum(probe.evaluations for probe in probes) - asked
    cost = asked, time.perf_counter() - begun
    return Reach(-lower, upper, gaps, *cost), ends.members


def joint_reach(region: ConfidenceRegion, g: Functionals, width: int) -> Reach | None:
    """Reach of `width` functionals over the joint region; None if it is empty.

    Many functionals are worked on a few at a time, each starting from the members of those before.
    """
    found = outline(region)
    if found.rays is None:
        return None
    probe = probe_of(region)
    depth = Depth(region.fitted_.accepted, len(found.estimate))

    def inside(theta: FloatArray) -> FloatArray:
        return depth(probe(theta)[0])

    rng = _search_rng(region)
    members = found.members()
    parts = []
    for start in range(0, width, TOGETHER):
        some = slice(start, start + TOGETHER)
        part, best = _reach(
            lambda theta, some=some: g(theta)[:, some],  # type: ignore[misc]
            inside,
            found.window,
            (probe,),
            rng,
            known=members,
            radius=depth.radius,
            # far out is no good to climb from, but tells a few functionals that they have no end
            members=members if width <= FEW else members[np.abs(members).max(axis=1) < NEAR],
            walkers=JOINT_WALKERS if width <= FEW else 1,
            proposals=8 if width <= FEW else 3,
        )
        members = np.vstack([members, best])
        parts.append(part)
    return Reach(
        np.concatenate([part.lower for part in parts]),
        np.concatenate([part.upper for part in parts]),
        np.concatenate([part.resolution for part in parts]),
        sum(part.evaluations for part in parts),
        sum(part.seconds for part in parts),
    )


def focused_reach(
    region: ConfidenceRegion, g: Functionals, gradient: Callable[[FloatArray], FloatArray]
) -> Reach | None:
    """Reach of one functional over θ kept by its own statistic and by the wide joint region."""
    state = region.fitted_
    found = outline(region)
    m = state.accepted.m
    spent = max(1, int(NUISANCE * m))
    depth = Depth(AcceptedRanks(m, 1, min(m, round(state.accepted.coverage * m) + spent)), 1)
    nuisance = Depth(AcceptedRanks(m, 1, m - spent), len(found.estimate))
    statistic = PreparedStatistic.of(Focused(gradient), state.sample.inputs, m)
    joint = probe_of(region)
    probe = Probe(lambda theta: region.fitted_.ranks(theta, statistic), joint.bounds)

    def inside(theta: FloatArray) -> FloatArray:
        depths = depth(probe(theta)[0])
        kept = depths > 0
        if kept.any():
            depths[kept] = np.minimum(depths[kept], nuisance(joint(theta[kept])[0]))
        return depths

    rng = _search_rng(region)
    window: Window | None = found.window
    if not inside(found.window.origin[None])[0] > 0:
        window = _start_inside(region, inside, probe, found.window, rng)
    if window is None:
        return None
    # members of the joint region, in these coordinates
    theta = found.window.theta(found.members())
    z = np.linalg.solve(window.axes, (theta - window.origin).T).T
    known = np.asarray(z, dtype=np.float64)
    reach, _ = _reach(
        g,
        inside,
        window,
        (probe, joint),
        rng,
        known=known,
        members=known,
        radius=depth.radius,
        walkers=WALKERS,
        proposals=6,
    )
    return reach


def _start_inside(
    region: ConfidenceRegion,
    inside: Inside,
    probe: Probe,
    window: Window,
    rng: np.random.Generator,
) -> Window | None:
    """Look for a member of the focused set near the estimate."""
    state = region.fitted_
    best, _ = most_compatible(probe, window, state.accepted, rng)
    tried = np.vstack([best, window.theta(rng.standard_normal((200, len(best))))])
    kept = np.asarray(inside(tried), dtype=np.float64) > 0
    if not kept.any():
        return None
    origin = tried[np.argmax(kept)]
    return window_at(origin, information_at(state.model, state.sample, origin), window.bounds)
