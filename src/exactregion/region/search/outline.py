"""The outline of a region: its estimates, its boundary along rays, and its kind."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace

import numpy as np

from exactregion._typing import FloatArray
from exactregion.data.sample import Sample
from exactregion.models.base import Model
from exactregion.models.cover import cover_of
from exactregion.ranking import AcceptedRanks
from exactregion.region.fitted import FittedRegion
from exactregion.region.rays import TOLERANCE, Depth, Rays, directions, trace
from exactregion.region.separation.far import FarMembers, far_members
from exactregion.region.window import (
    RankFunction,
    Window,
    likely_parameters,
    maximum_likelihood,
    window_at,
)

__all__ = [
    "COVER",
    "MAXIMUM_LIKELIHOOD",
    "MOST_COMPATIBLE",
    "Outline",
    "estimate_of",
    "explore",
    "joint_far_members",
    "likelihood_estimate",
    "most_compatible",
    "outline_of",
]

MAXIMUM_LIKELIHOOD, MOST_COMPATIBLE = "maximum likelihood", "most compatible"

QUICK_TOLERANCE = 0.02
"""Relative width of the bracket of a boundary point where a rank takes long: one per cent of an
interval around it."""

ROUNDS, PROPOSALS, SHRINK = 14, 16, 0.6
"""Rounds of random steps towards the most compatible θ, steps per round, and the factor of their
size after a round without progress. Fourteen such rounds shrink a standard error to 0.6¹⁴, less
than a thousandth: more rounds would not move the estimate visibly."""

COVER = 256
"""Curves all over a curved family that are tried as well: where the likelihood is largest for a
step, standard errors are so long that random probes around it miss all other curves."""

WIDE_SCALES = (0.5, 1.0, 2.0, 4.0, 8.0)
"""Standard errors at which random members are looked for, 100 d points each, before a region is
called empty. Wider scales cost little, since this is done for regions that look empty only."""


@dataclass(frozen=True, eq=False)
class Outline:
    """A region as found by search.

    Attributes
    ----------
    estimate, rank : ndarray of shape (d,) and int
        The most compatible θ found (largest p-value, ties by Z), and its rank.
    window : Window
        Coordinates around it.
    rays : Rays or None
        Where rays from it leave the region; None if the region is empty.
    status : {"bounded", "unbounded", "disconnected", "empty"}
        What kind of set it is, as far as the search saw. Unbounded takes precedence.
    resolution : float
        Width of the widest bracket of a boundary point, as a share of its distance.
    evaluations, seconds : int and float
        Number of θ evaluated, and time taken.
    """

    estimate: FloatArray
    rank: int
    window: Window
    rays: Rays | None
    status: str
    resolution: float
    evaluations: int
    seconds: float

    def members(self) -> FloatArray:
        """Return the coordinates z of the estimate and of the members found at the boundary."""
        if self.rays is None:
            return np.empty((0, len(self.estimate)))
        return np.vstack([np.zeros((1, len(self.estimate))), self.rays.members()])

    def starts(self) -> FloatArray:
        """Return the members, or the estimate of a region that has none."""
        return np.zeros((1, len(self.estimate))) if self.rays is None else self.members()


def outline_of(fitted: FittedRegion) -> Outline:
    """Find the outline of a region, once per fit."""
    return fitted.cached("outline", lambda: _find_outline(fitted))


def joint_far_members(fitted: FittedRegion) -> FarMembers | None:
    """Find where the joint region has no end, once per fit; see `region.separation`."""
    return fitted.cached("far members", lambda: far_members(fitted))


def _find_outline(fitted: FittedRegion) -> Outline:
    """Search for the outline; compute whether the region is unbounded where that is possible."""
    outline = explore(
        fitted.rank_function(),
        fitted.model,
        fitted.sample,
        fitted.accepted,
        fitted.search_rng(),
        start=fitted.start,
        quick=fitted.ranks_take_long and not fitted.has_few_outcomes,
    )
    far = joint_far_members(fitted)
    status = outline.status
    if far is not None and far.members:
        status = "unbounded"
    elif far is not None and status == "unbounded" and far.status == "bounded":
        is_split = outline.rays is not None and bool(outline.rays.reentered.any())
        status = "disconnected" if is_split else "bounded"
    return replace(outline, status=status)


def explore(
    ranks: RankFunction,
    model: Model,
    sample: Sample,
    accepted: AcceptedRanks,
    rng: np.random.Generator,
    *,
    start: Window | None = None,
    quick: bool = False,
) -> Outline:
    """Find the most compatible θ, and follow 24 + 8 d rays from it to the boundary.

    A quick search, where a rank takes long, is content with a member that is compatible enough, and
    with fewer rays.
    """
    started = time.perf_counter()
    if start is None:
        start = window_at(model, sample, likely_parameters(model, sample))
    enough = accepted.low + (accepted.high - accepted.low) // 2 if quick else 0
    estimate, rank = most_compatible(ranks, start, accepted, rng, enough=enough)
    is_start = np.array_equal(estimate, start.origin)
    window = start if is_start else window_at(model, sample, estimate)
    if not accepted.low <= rank <= accepted.high:
        estimate, rank = _search_widely(ranks, window, accepted, rng, (estimate, rank))
        if not accepted.low <= rank <= accepted.high and _is_curved(model, sample):
            estimate, rank = _search_cover(ranks, model, sample, accepted, (estimate, rank))
        if not accepted.low <= rank <= accepted.high and ranks.undefined is not None:
            raise ranks.undefined  # members may be where the search could not look
        window = window_at(model, sample, estimate)
    rays, status, resolution = None, "empty", np.nan
    if accepted.low <= rank <= accepted.high:
        d = len(estimate)
        depth = Depth(accepted, d)
        rays = trace(
            lambda theta: depth(ranks(theta)[0]),
            window,
            directions(d, 4 * d if quick else 24 + 8 * d, rng),
            first_step=depth.radius,
            tolerance=QUICK_TOLERANCE if quick else TOLERANCE,
            look_beyond=not quick,
        )
        status = "disconnected" if rays.reentered.any() else "bounded"
        if (np.isinf(rays.outer) & ~rays.at_bound).any():
            status = "unbounded"
        inner, outer = np.stack([rays.inner, rays.outer])[:, np.isfinite(rays.outer)]
        resolution = float(((outer - inner) / outer).max(initial=0.0))
    seconds = time.perf_counter() - started
    estimate.setflags(write=False)  # the outline is kept, and shared by all its users
    return Outline(estimate, rank, window, rays, status, resolution, ranks.evaluations, seconds)


def most_compatible(
    ranks: RankFunction,
    window: Window,
    accepted: AcceptedRanks,
    rng: np.random.Generator,
    *,
    enough: int = 0,
) -> tuple[FloatArray, int]:
    """Find the accepted θ with the lowest rank, ties by Z, near the origin: θ and rank.

    It ends at an accepted rank that is low `enough`. Random steps around the best θ so far: one
    standard error at first, shorter after a round in which none was better.
    """
    bounds = window.bounds.T

    def best_of(theta: FloatArray) -> tuple[tuple[int, int, float], FloatArray]:
        found, Z = ranks(theta)
        distance = accepted.distance(found)
        first = np.lexsort((Z, found, distance))[0]
        return (int(distance[first]), int(found[first]), float(Z[first])), theta[first]

    key, best = best_of(np.clip(window.origin[None], *bounds))
    scale = 1.0
    for _ in range(ROUNDS):
        if accepted.low <= key[1] <= min(enough, accepted.high):
            break
        steps = scale * rng.standard_normal((PROPOSALS, len(best)))
        new_key, new = best_of(np.clip(best + steps @ window.axes.T, *bounds))
        if new_key < key:
            key, best = new_key, new
        else:
            scale *= SHRINK
    return best, key[1]


def _search_widely(
    ranks: RankFunction,
    window: Window,
    accepted: AcceptedRanks,
    rng: np.random.Generator,
    best: tuple[FloatArray, int],
) -> tuple[FloatArray, int]:
    """Return a member at random, ever farther from the origin; `best` if none is found."""
    d = len(window.origin)
    for scale in WIDE_SCALES:
        theta = window.theta(scale * rng.standard_normal((100 * d, d)))
        found = ranks(theta)[0]
        first = int(accepted.distance(found).argmin())
        if accepted.holds(found[first]):
            return theta[first], int(found[first])
    return best


def _is_curved(model: Model, sample: Sample) -> bool:
    """Return whether a family of two classes has a logit that is not linear in θ."""
    return model.linear_design(sample.inputs.X) is None and sample.inputs.levels == 1


def _search_cover(
    ranks: RankFunction,
    model: Model,
    sample: Sample,
    accepted: AcceptedRanks,
    best: tuple[FloatArray, int],
) -> tuple[FloatArray, int]:
    """Return the member with the lowest rank among curves all over a family, or `best`.

    A likelihood may have a saddle, or be highest next to θ without probabilities.
    """
    theta = cover_of(model, sample.inputs, COVER)
    found = ranks(theta)[0]
    first = int(np.lexsort((found, accepted.distance(found)))[0])
    return (theta[first], int(found[first])) if accepted.holds(found[first]) else best


def estimate_of(fitted: FittedRegion) -> tuple[FloatArray, str]:
    """Return the estimate, and which kind it is.

    The maximum of the likelihood comes first because it does not move with the seed.
    """
    likely = likelihood_estimate(fitted)
    if likely is not None:
        return likely, MAXIMUM_LIKELIHOOD
    return outline_of(fitted).estimate, MOST_COMPATIBLE


def likelihood_estimate(fitted: FittedRegion) -> FloatArray | None:
    """Return the maximum-likelihood θ, once per fit; None where it is not finite."""

    def find() -> FloatArray | None:
        far = joint_far_members(fitted)
        if far is not None and far.separation is not None:
            return None
        return maximum_likelihood(fitted.model, fitted.sample, fitted.start.origin)

    return fitted.cached("likelihood estimate", find)
