"""θ that may be members: drawn at random, of a likelihood that members have, and members known.

A quarter of the probes is drawn around the estimate at many scales, a quarter over the range that
each parameter may have, a quarter around and beyond the members known so far, which follows regions
that are long and curved, and a quarter close to the boundary. A likelihood costs as much as one
data set, a rank as much as m: only plausible θ are ranked. Both use the outcomes: they decide where
ranks are evaluated, never which θ are members.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from exactregion._typing import BoolArray, FloatArray
from exactregion.engine.levels import log_class_probabilities, numbers_of_classes
from exactregion.models.base import evaluated
from exactregion.models.cover import cover_of
from exactregion.region.fitted import FittedRegion
from exactregion.region.rays import radius_of
from exactregion.region.search.extremes import random_factors
from exactregion.region.search.outline import outline_of
from exactregion.region.window import Window, lengths_of, window_at

__all__ = ["central_window", "draw_probes", "known_members", "plausible_probes", "plausible_to"]

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

IMPLAUSIBLE = 4.0
"""A θ is not ranked if its deviance exceeds the smallest by this multiple of what members have: the
largest at the boundary that an outline found, and R² by the asymptotic law at level `WIDEST`.
Members were seen at up to 2.5 times these; twice the multiple leaves in 10 % more probes."""

WIDEST = 0.995
"""Level of the joint region that focused sets lie in."""

REGARDLESS = 3
"""One probe in so many is ranked however implausible: where curves are flat a score says nothing,
and a θ that fits badly may be a member."""

KNOWN, STEPS = 100, 8
"""Plausible θ per parameter that are ranked once per fit, besides the outline, for searches to
start from; and random steps of each that keep it plausible, which spread them over sets of steep
curves that random probes seldom hit."""

COVER = 256
"""Curves all over a curved family that are tried as well: where the likelihood is largest for a
step, standard errors are so long that random probes around it miss all other curves."""

LONG = 10.0
"""A standard error at the estimate that is so many times that at one of these members says that the
estimate is a step. Ends are moved out by a share of their distance from the origin of a search, and
would lie far beyond all members if that were a step."""

Plausible = Callable[[FloatArray], BoolArray]
"""θ (T, d) to which of them are worth a rank."""

AT_ONCE = 4_000_000
"""Probabilities held in memory at once."""


def plausible_to(fitted: FittedRegion) -> Plausible:
    """Return which θ are plausible, as a function of θ."""
    limit = fitted.cached("plausible", lambda: _largest_deviance(fitted))
    return lambda theta: np.asarray(_deviance(fitted, theta) <= limit)


def _largest_deviance(fitted: FittedRegion) -> float:
    """Return the deviance up to which θ are plausible."""
    outline = outline_of(fitted)
    known = _deviance(fitted, outline.window.theta(outline.members()))
    above = max(radius_of(WIDEST, fitted.n_parameters) ** 2, float(np.ptp(known)))
    return float(known.min()) + IMPLAUSIBLE * above


def _deviance(fitted: FittedRegion, theta: FloatArray) -> FloatArray:
    """Return minus twice the log-likelihood of each θ (T, d): far out a family may overflow."""
    inputs = fitted.sample.inputs
    numbers = numbers_of_classes(fitted.sample.successes, inputs.trials, inputs.levels)

    def of_batch(theta: FloatArray) -> FloatArray:
        with np.errstate(all="ignore"):
            P = np.asarray(evaluated(fitted.model, theta, inputs.user_rows))[:, inputs.order]
            logs = log_class_probabilities(P, inputs.levels)
            total = np.where(numbers > 0, numbers * logs, 0.0).sum(axis=-1).sum(axis=-1)
            is_defined = ((P >= 0) & (P <= 1)).all(axis=1)
            return np.where(is_defined, -2 * total, np.inf)

    batches = np.array_split(theta, 1 + len(theta) * len(inputs) // AT_ONCE)
    return np.concatenate([of_batch(batch) for batch in batches])


def known_members(fitted: FittedRegion, turn: int) -> FloatArray:
    """Return coordinates z of members of the joint region that searches start from, once per fit.

    Those of the outline, and some at random, which are others at each turn.
    """

    def find() -> FloatArray:
        outline, is_plausible = outline_of(fitted), plausible_to(fitted)
        window, number = outline.window, KNOWN * fitted.n_parameters
        rng = fitted.search_rng(turn)
        first = window.coordinates(plausible_probes(fitted, 2 * number, turn)[:number])
        z = first.copy()
        for _ in range(STEPS if len(z) else 0):
            one, other = z[rng.integers(len(z), size=(2, len(z)))]
            tried = z + 10.0 ** rng.uniform(-1.5, 0.0, size=(len(z), 1)) * (one - other)
            factors = random_factors(rng, len(z[::4]), z.shape[1], (-1.0, 1.5))
            tried[::4] = window.scaled(z[::4], factors)
            kept = is_plausible(window.theta(tried))
            z[kept] = tried[kept]
        theta = window.theta(np.vstack([first[::2], z[1::2]]))
        members = theta[fitted.accepted.holds(fitted.ranks(theta)[0])] if len(theta) else theta
        members = np.vstack([members, _members_of_cover(fitted)])
        return np.vstack([outline.members(), window.coordinates(members)])

    return fitted.cached(("known members", turn), find)


def _members_of_cover(fitted: FittedRegion) -> FloatArray:
    """Return members among curves all over a curved family: θ (k, d).

    Each is tried as it is, and with each parameter that has a bound at that bound.
    """

    def find() -> FloatArray:
        if fitted.is_linear or fitted.sample.inputs.levels > 1:
            return np.empty((0, fitted.n_parameters))
        cover = cover_of(fitted.model, fitted.sample.inputs, COVER)
        tried = [cover]
        for which, ends in enumerate(fitted.model.bounds):
            for end in (end for end in ends if np.isfinite(end)):
                tried.append(cover.copy())
                tried[-1][:, which] = end
        theta = np.vstack(tried)
        theta = theta[plausible_to(fitted)(theta)]
        return theta[fitted.accepted.holds(fitted.ranks(theta)[0])] if len(theta) else theta

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
    """Draw θ as probes, and return those that are plausible, in random order."""

    def draw() -> FloatArray:
        outline = outline_of(fitted)
        seed = np.random.SeedSequence(fitted.resampling.entropy, spawn_key=(3, turn))
        rng, known = np.random.default_rng(seed), outline.members()
        theta = rng.permutation(draw_probes(outline.window, known, known, number, rng))
        kept = plausible_to(fitted)(theta)
        kept[::REGARDLESS] = fitted.is_defined(theta[::REGARDLESS])
        return theta[kept]

    return fitted.cached(("probes", number, turn), draw)


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
