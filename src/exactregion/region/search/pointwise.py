"""Searches for many functionals over the joint region, each as if it were alone.

A band is asked for at any inputs, and what it says at one of them must not depend on the others. So
functionals are searched in one batch, for speed, with the same random steps, and share nothing that
was found for one of them. What they share is known beforehand: the outline of the region, and
members drawn at random for audits.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from exactregion._typing import FloatArray
from exactregion.models.base import evaluated
from exactregion.models.cover import rows_for
from exactregion.region.fitted import FittedRegion
from exactregion.region.rays import Depth
from exactregion.region.search.along_rays import ends_along_rays
from exactregion.region.search.ends import AUDIT_SLACK, AUDITS, Bounds
from exactregion.region.search.extremes import Functionals, largest
from exactregion.region.search.outline import outline_of
from exactregion.region.search.probes import draw_probes

__all__ = ["search_each"]

ASCENTS: dict[str, Any] = {"ascents": 2, "proposals": 4}
"""Ascents per end, and random steps per round of each: half of what a single number is given, since
there are many."""

ROWS = 12
"""Inputs of the data at which members with extreme probabilities are looked for beforehand."""

LARGEST_LOGIT = 700.0
"""Logits past this are the probabilities 0 and 1 to the last digit."""

GROUP = 32
"""Functionals searched at once: every proposal is evaluated for all of them, so that the cost grows
with the square of their number."""


def search_each(fitted: FittedRegion, g: Functionals, width: int, *, probes: int) -> Bounds:
    """Search for the ends of functionals, and audit each with random θ until none is beyond."""
    if outline_of(fitted).rays is None:
        return Bounds.empty(width)
    if fitted.has_many_data:
        return _search_along_rays(fitted, g)
    parts = []
    for start in range(0, width, GROUP):
        columns = slice(start, min(start + GROUP, width))
        parts.append(_search_group(fitted, lambda theta, c=columns: g(theta)[:, c], probes))  # type: ignore[misc]
    return Bounds.joined(parts)


def _search_group(fitted: FittedRegion, g: Functionals, probes: int) -> Bounds:
    started = time.perf_counter()
    outline = outline_of(fitted)
    ranks, depth = fitted.rank_function(), Depth(fitted.accepted, len(outline.estimate))
    window, known = outline.window, _known_members(fitted)

    def both_signs(theta: FloatArray) -> FloatArray:
        values = g(theta)
        return np.concatenate([values, -values], axis=1)

    number = both_signs(outline.estimate[None]).shape[1]
    bound, value = np.full(number, -np.inf), np.full(number, -np.inf)
    settled, left = np.zeros(number, dtype=np.bool_), np.arange(number)
    n_probes = 0
    for audit in range(AUDITS if probes else 1):
        ends = largest(
            lambda theta, left=left: both_signs(theta)[:, left],  # type: ignore[misc]
            lambda theta: depth(ranks(theta)[0]),
            window,
            fitted.search_rng(),
            radius=depth.radius,
            members=known,
            **ASCENTS,
        )
        value[left], bound[left] = ends.value, ends.bound
        if not probes:
            break
        best = ends.members.reshape(len(left), -1, len(outline.estimate))
        with np.errstate(all="ignore"):
            # of several ascents the one that went farthest
            beyond = np.stack(
                [
                    both_signs(window.theta(best[:, one] * (1 + AUDIT_SLACK)))[
                        np.arange(len(left)), left
                    ]
                    for one in range(best.shape[1])
                ]
            )
        bound[left] = np.fmax(bound[left], np.fmax.reduce(beyond))
        drawn = _members_at_random(fitted, probes, audit)
        n_probes += probes
        known = np.vstack([known, drawn])
        values = both_signs(window.theta(drawn)).max(axis=0, initial=-np.inf)
        settled = values <= bound
        bound = np.maximum(bound, values)
        left = np.flatnonzero(~settled)
        if not len(left):
            break
    upper, lower = np.split(bound, 2)
    with np.errstate(invalid="ignore"):
        gaps = np.stack(np.split(bound - value, 2)[::-1])
    gaps = np.where(np.isfinite(gaps), gaps, 0.0)
    both = np.logical_and(*np.split(settled, 2))
    seconds = time.perf_counter() - started
    certified = np.zeros(len(upper), dtype=np.bool_)
    return Bounds(-lower, upper, gaps, certified, both, n_probes, ranks.evaluations, seconds)


def _search_along_rays(fitted: FittedRegion, g: Functionals) -> Bounds:
    """Search where a rank takes long: by rays alone, see `along_rays`."""
    outline = outline_of(fitted)
    ranks, depth = fitted.rank_function(), Depth(fitted.accepted, len(outline.estimate))
    ends = ends_along_rays(
        lambda theta: np.concatenate([g(theta), -g(theta)], axis=1),
        lambda theta: depth(ranks(theta)[0]),
        outline.window,
        fitted.search_rng(),
        radius=depth.radius,
    )
    return Bounds.of_rays(ends, ranks.evaluations)


def _known_members(fitted: FittedRegion) -> FloatArray:
    """Return the coordinates z of members to start from: of the outline, and of extreme θ.

    The parameters, and the probabilities at some inputs of the data, are at their smallest and
    largest there; ascents from the middle may end in a corner before they reach such members. Found
    once per fit.
    """

    def extremes(theta: FloatArray) -> FloatArray:
        with np.errstate(all="ignore"):
            P = evaluated(fitted.model, theta, rows)
            logits = np.clip(np.log(P) - np.log1p(-P), -LARGEST_LOGIT, LARGEST_LOGIT)
        values = np.concatenate([theta, logits], axis=1)
        return np.concatenate([values, -values], axis=1)

    def find() -> FloatArray:
        outline = outline_of(fitted)
        ranks, depth = fitted.rank_function(), Depth(fitted.accepted, len(outline.estimate))
        ends = largest(
            extremes,
            lambda theta: depth(ranks(theta)[0]),
            outline.window,
            fitted.search_rng(),
            radius=depth.radius,
            members=outline.members(),
            **ASCENTS,
        )
        return np.vstack([outline.members(), ends.members])

    rows = rows_for(fitted.sample.inputs)[0]
    which = np.unique(np.linspace(0, len(rows) - 1, ROWS).astype(np.int64))
    rows = tuple(rows[one] for one in which) if isinstance(rows, tuple) else rows[which]

    return fitted.cached("known members", find)


def _members_at_random(fitted: FittedRegion, probes: int, audit: int) -> FloatArray:
    """Draw θ as probes, and return the coordinates z of the members; once per fit and audit."""

    def draw() -> FloatArray:
        outline = outline_of(fitted)
        known = outline.members()
        seed = np.random.SeedSequence(fitted.resampling.entropy, spawn_key=(3, audit))
        theta = draw_probes(outline.window, known, known, probes, np.random.default_rng(seed))
        with np.errstate(all="ignore"):
            theta = theta[fitted.is_defined(theta)]
            members = fitted.accepted.holds(fitted.ranks(theta)[0])
        return outline.window.coordinates(theta[members])

    return fitted.cached(("members at random", probes, audit), draw)
