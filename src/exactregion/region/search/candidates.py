"""θ that may be members: drawn at random, of a likelihood that members have, and members known.

A quarter of the probes is drawn around the estimate at many scales, a quarter over the range that
each parameter may have, a quarter around and beyond the members known so far, which follows regions
that are long and curved, and a quarter close to the boundary. A likelihood costs as much as one
data set, a rank as much as m: only plausible θ are ranked. Both use the outcomes: they decide where
ranks are evaluated, never which θ are members.

In curved families θ far apart from each other come first, and steps from members are probes too
(`search.plausible`); so do θ that are far out in one parameter (`search.profiles`).
"""

from __future__ import annotations

import numpy as np

from exactregion._typing import FloatArray
from exactregion.models.cover import cover_of
from exactregion.region.fitted import FittedRegion
from exactregion.region.search.extremes import random_factors
from exactregion.region.search.outline import COVER, outline_of
from exactregion.region.search.plausible import (
    deviance_of,
    largest_deviance,
    plausible_to,
    spread,
    steps_from,
)
from exactregion.region.search.profiles import likely_far_out
from exactregion.region.window import Window, lengths_of, window_at

__all__ = ["central_window", "draw_probes", "known_members", "plausible_probes"]

SCALES = (-0.5, 2.0)
"""Powers of ten of the standard errors at which probes are drawn around the estimate: from a third,
which is inside of most regions, to a hundred, where irregular and unbounded ones have members."""

FACTORS = (-2.0, 2.0)
"""Powers of ten by which a parameter with one bound is farther from it than the estimate: such a
parameter is positive, and may have any order of magnitude."""

BEYOND, FAR_BEYOND = 2.0, 6.0
"""Probes beyond a member are drawn up to this multiple of its distance from another member, and one
in four, from members that are extreme in some coordinate, up to this power of ten: there regions
without an end have members."""

CLOSE = (-2.5, 0.0)
"""Powers of ten of the distance of probes from a member at the boundary, in standard errors: from
less than the bracket of a boundary point, `rays.TOLERANCE` of some 2.5 of them, to one."""

FAR_APART = (0.25, 0.5, 0.5)
"""Shares of as many θ of a curved family that lie far apart, and are ranked in this order."""

REGARDLESS = 3
"""One probe in so many is ranked however implausible: where curves are flat a score says nothing,
and a θ that fits badly may be a member."""

KNOWN, STEPS = 100, 8
"""Plausible θ per parameter that are ranked once per fit, besides the outline, for searches to
start from; and random steps of each that keep it plausible, in families that are not curved."""

LESS_LIKELY = 1.3
"""Multiple of the range of deviances of the members known within which others are looked for. The
farthest members are among the least likely: with 1 they are missed, and with scores, by which θ
that fit badly may be members, so are whole branches."""

PROBE_ROUNDS = 3
"""Rounds of steps from members to further probes of an audit."""

LONG = 10.0
"""A standard error at the estimate that is so many times that at one of these members says that the
estimate is a step. Ends are moved out by a share of their distance from the origin of a search, and
would lie far beyond all members if that were a step."""


def known_members(fitted: FittedRegion, turn: int) -> FloatArray:
    """Return coordinates z of members of the joint region that searches start from, once per fit.

    Those of the outline, or the estimate if the region is empty, and some at random, which are
    others at each turn.
    """

    def find() -> FloatArray:
        outline, number = outline_of(fitted), KNOWN * fitted.n_parameters
        if fitted.many_rows is not None:  # a set about an ellipsoid has no members elsewhere
            return outline.starts()
        first = _drawn_probes(fitted, 2 * number, turn)[:number]
        members = outline.window.theta(outline.starts())
        if turn and _is_curved(fitted):
            members = outline.window.theta(known_members(fitted, turn - 1))
        members = np.vstack([members, _members_among(fitted, first[::2])])
        if _is_curved(fitted):
            if not turn:
                far_out = likely_far_out(fitted, central_window(fitted), members)
                far_out = _members_among(fitted, far_out)
                members = np.vstack([members, _members_of_cover(fitted), far_out])
            members = _with_others_far_apart(fitted, members, turn)
        else:
            moved = _moved(fitted, first, turn)[1::2]
            members = np.vstack([members, _members_among(fitted, moved)])
        return outline.window.coordinates(members)

    return fitted.cached(("known members", turn), find)


def _members_among(fitted: FittedRegion, theta: FloatArray) -> FloatArray:
    return theta[fitted.accepted.holds(fitted.ranks(theta)[0])] if len(theta) else theta


def _moved(fitted: FittedRegion, theta: FloatArray, turn: int) -> FloatArray:
    """Move θ (T, d) by random steps that keep them plausible."""
    window, is_plausible = outline_of(fitted).window, plausible_to(fitted)
    rng, z = fitted.search_rng(turn), window.coordinates(theta)
    for _ in range(STEPS if len(z) else 0):
        one, other = z[rng.integers(len(z), size=(2, len(z)))]
        tried = z + 10.0 ** rng.uniform(-1.5, 0.0, size=(len(z), 1)) * (one - other)
        factors = random_factors(rng, len(z[::4]), z.shape[1], (-1.0, 1.5))
        tried[::4] = window.scaled(z[::4], factors)
        kept = is_plausible(window.theta(tried))
        z[kept] = tried[kept]
    return window.theta(z)


def _with_others_far_apart(fitted: FittedRegion, members: FloatArray, turn: int) -> FloatArray:
    """Return members of a curved family (k, d), and others that lie far apart.

    Some of what is ranked is as likely as any member may be, most as those that were found then.
    """
    limit = largest_deviance(fitted)
    for part, share in enumerate(FAR_APART):
        number = int(share * KNOWN * fitted.n_parameters)
        tried = spread(fitted, members, limit, number, _rng(fitted, 4, turn, part))
        members = np.vstack([members, _members_among(fitted, tried)])
        limit = _less_likely(fitted, members)
    return members


def _less_likely(fitted: FittedRegion, members: FloatArray) -> float:
    """Return a deviance that few members exceed, by those that are known."""
    known = deviance_of(fitted, members)
    known = known[np.isfinite(known)]  # far out a member's coordinates may be rounded to another θ
    return float(known.min() + LESS_LIKELY * np.ptp(known))


def _members_of_cover(fitted: FittedRegion) -> FloatArray:
    """Return members among curves all over a curved family: θ (k, d).

    Each is tried as it is, and with each parameter that has a bound at that bound.
    """

    def find() -> FloatArray:
        if not _is_curved(fitted):
            return np.empty((0, fitted.n_parameters))
        cover = cover_of(fitted.model, fitted.sample.inputs, COVER)
        tried = [cover]
        for which, ends in enumerate(fitted.model.bounds):
            for end in (end for end in ends if np.isfinite(end)):
                tried.append(cover.copy())
                tried[-1][:, which] = end
        theta = np.vstack(tried)
        return _members_among(fitted, theta[plausible_to(fitted)(theta)])

    return fitted.cached("members of cover", find)


def central_window(fitted: FittedRegion) -> Window:
    """Return coordinates for a search: around the estimate, or another member if that is a step."""

    def find() -> Window:
        usual = outline_of(fitted).window
        members = _members_of_cover(fitted)
        windows = [window_at(fitted.model, fitted.sample, theta) for theta in members]
        if not windows:
            return usual
        # steep and flat curves have long errors, those in between short ones
        shortest = min(windows, key=lambda window: np.log(lengths_of(window.axes)).sum())
        is_step = (lengths_of(usual.axes) > LONG * lengths_of(shortest.axes)).any()
        return shortest if is_step else usual

    return fitted.cached("central window", find)


def plausible_probes(fitted: FittedRegion, number: int, turn: int) -> FloatArray:
    """Draw θ as probes, and return those that are plausible, in random order.

    In curved families there are others, by steps from members and as likely as these.
    """

    def draw() -> FloatArray:
        drawn = _drawn_probes(fitted, number, turn)
        if not _is_curved(fitted):
            return drawn
        window, rng = outline_of(fitted).window, _rng(fitted, 5, turn)
        members = theta = window.theta(known_members(fitted, turn))
        limit = _less_likely(fitted, members)
        for _ in range(PROBE_ROUNDS):
            tried = steps_from(fitted, theta, number, rng)
            theta = np.vstack([theta, tried[deviance_of(fitted, tried) <= limit]])
        return np.vstack([drawn, theta[len(members) :]])

    return fitted.cached(("probes", number, turn), draw)


def _drawn_probes(fitted: FittedRegion, number: int, turn: int) -> FloatArray:
    """Draw θ around the estimate, over the range of parameters and around boundary points."""
    outline, rng = outline_of(fitted), _rng(fitted, 3, turn)
    known = outline.starts()
    theta = rng.permutation(draw_probes(outline.window, known, known, number, rng))
    kept = plausible_to(fitted)(theta)
    kept[::REGARDLESS] = fitted.is_defined(theta[::REGARDLESS])
    return theta[kept]


def _is_curved(fitted: FittedRegion) -> bool:
    return not fitted.is_linear and fitted.sample.inputs.levels == 1


def _rng(fitted: FittedRegion, *key: int) -> np.random.Generator:
    seed = np.random.SeedSequence(fitted.resampling.entropy, spawn_key=key)
    return np.random.default_rng(seed)


def draw_probes(
    window: Window,
    members: FloatArray,
    ends: FloatArray,
    number: int,
    rng: np.random.Generator,
) -> FloatArray:
    """Draw θ (number, d) for a window, members known so far and those at the ends, z (k, d)."""
    d = len(window.origin)
    quarter = number // 4
    scale = 10.0 ** rng.uniform(*SCALES, size=(quarter, 1))
    around = window.theta(scale * rng.standard_normal((quarter, d)))
    scale = 10.0 ** rng.uniform(*CLOSE, size=(quarter, 1))
    which = rng.integers(len(ends), size=quarter)
    close = window.theta(ends[which] + scale * rng.standard_normal((quarter, d)))
    return np.concatenate(
        [
            around,
            close,
            _over_range(window, quarter, rng),
            _beyond(window, members, number - 3 * quarter, rng),
        ]
    )


def _beyond(
    window: Window, members: FloatArray, number: int, rng: np.random.Generator
) -> FloatArray:
    """Draw around and beyond members: on lines through two of them, and steeper versions of one."""
    first, second = members[rng.integers(len(members), size=(2, number))]
    extreme = np.concatenate([members.argmax(axis=0), members.argmin(axis=0)])
    far = np.arange(number) % 4 == 0
    first[far] = members[rng.choice(extreme, size=far.sum())]
    power = 10.0 ** rng.uniform(0.0, FAR_BEYOND, size=(number, 1))
    share = np.where(far[:, None], power, rng.uniform(0.0, BEYOND, size=(number, 1)))
    spread = np.abs(members).max(axis=0) * 10.0 ** rng.uniform(-2, 0, size=(number, 1))
    spread[far] = 0.0
    steps = share * (first - second) + spread * rng.standard_normal(first.shape)
    theta = window.theta(second + steps)
    steeper = np.flatnonzero(far)[::2]
    factors = random_factors(rng, len(steeper), members.shape[1], (0.0, FAR_BEYOND))
    theta[steeper] = window.theta(window.scaled(second[steeper], factors))
    return theta


def _over_range(window: Window, number: int, rng: np.random.Generator) -> FloatArray:
    """Draw each parameter over its own range: uniformly, by a factor, or around the estimate."""
    columns = []
    error = lengths_of(window.axes)
    for estimate, own_error, (low, high) in zip(window.origin, error, window.bounds, strict=True):
        if np.isfinite(low) and np.isfinite(high):
            column = rng.uniform(low, high, size=number)
        elif np.isfinite(low) or np.isfinite(high):
            bound = low if np.isfinite(low) else high
            column = bound + (estimate - bound) * 10.0 ** rng.uniform(*FACTORS, size=number)
        else:
            scale = 10.0 ** rng.uniform(*SCALES, size=number)
            column = estimate + own_error * scale * rng.standard_normal(number)
        columns.append(column)
    theta = np.stack(columns, axis=-1)
    # steps at any place, and curves that are flat over all inputs
    factors = random_factors(rng, len(theta[::4]), theta.shape[1], (0.0, FAR_BEYOND))
    theta[::4] = window.theta(window.scaled(window.coordinates(theta[::4]), factors))
    return theta
