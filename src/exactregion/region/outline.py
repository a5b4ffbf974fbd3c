"""Finding a region: its most compatible point, its extent along rays, and its kind."""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np

from exactregion._typing import FloatArray, IntArray
from exactregion.data.sample import Sample
from exactregion.models.base import Model
from exactregion.ranking import AcceptedRanks
from exactregion.region.depth import Depth
from exactregion.region.rays import ENOUGH, Rays, directions, trace
from exactregion.region.start import information_at, likely_parameters
from exactregion.region.window import Probe, Window, most_compatible, window_at

__all__ = ["Outline", "explore"]

WIDE_SCALES = (0.5, 1.0, 2.0, 4.0, 8.0)
"""Standard errors at which members are looked for before a region is called empty."""


@dataclass(frozen=True, eq=False)
class Outline:
    """A region as found by search.

    Attributes
    ----------
    estimate : ndarray of shape (d,)
        The most compatible θ found: largest p-value, ties by Z.
    rank : int
        Its rank.
    window : Window
        Coordinates around it.
    rays : Rays or None
        Where rays from it leave the region; None if the region is empty.
    status : {"bounded", "unbounded", "disconnected", "empty"}
        What kind of set it is, as far as the search saw. Unbounded takes precedence.
    resolution : float
        Width of the widest bracket of a boundary point, as a share of its distance.
    evaluations : int
        Number of θ asked.
    seconds : float
        Time taken.
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
        """Give the coordinates z of the members found on the boundary, and of the estimate."""
        if self.rays is None:
            return np.empty((0, len(self.estimate)))
        on_rays = self.rays.directions * self.rays.inner[:, None]
        return np.vstack([np.zeros((1, len(self.estimate))), on_rays])


def explore(
    probe: Probe,
    model: Model,
    sample: Sample,
    accepted: AcceptedRanks,
    rng: np.random.Generator,
    *,
    rays: int | None = None,
) -> Outline:
    """Find the most compatible θ, and follow rays from it to the boundary.

    Parameters
    ----------
    probe : Probe
        Ranks at θ.
    model, sample
        What the search starts from: a likely θ and the information there.
    accepted : AcceptedRanks
        Which ranks are inside.
    rng : Generator
        For random steps and directions.
    rays : int, optional
        Number of rays; 24 + 8 d by default.
    """
    begun, asked = time.perf_counter(), probe.evaluations
    likely = likely_parameters(model, sample)
    window = window_at(likely, information_at(model, sample, likely), probe.bounds)
    estimate, rank = most_compatible(probe, window, accepted, rng)
    window = window_at(estimate, information_at(model, sample, estimate), probe.bounds)
    if not accepted.holds(np.asarray(rank)):
        estimate, rank = _look_wide(probe, window, accepted, rng, (estimate, rank))
        window = window_at(estimate, information_at(model, sample, estimate), probe.bounds)
    found = None
    if accepted.holds(np.asarray(rank)):
        d = len(estimate)
        depth = Depth(accepted, d)
        along = directions(d, rays or 24 + 8 * d, rng)
        found = trace(
            lambda theta: depth(probe(theta)[0]),
            window,
            along,
            first_step=depth.radius,
            tolerance=ENOUGH,
        )
    return Outline(
        estimate,
        rank,
        window,
        found,
        _status(found),
        _resolution(found),
        probe.evaluations - asked,
        time.perf_counter() - begun,
    )


def _look_wide(
    probe: Probe,
    window: Window,
    accepted: AcceptedRanks,
    rng: np.random.Generator,
    best: tuple[FloatArray, int],
) -> tuple[FloatArray, int]:
    """Look for a member far and wide, before the region is called empty."""
    d = len(window.origin)
    for scale in WIDE_SCALES:
        theta = window.theta(scale * rng.standard_normal((100 * d, d)))
        ranks: IntArray = probe(theta)[0]
        first = int(accepted.distance(ranks).argmin())
        if accepted.holds(ranks[first]):
            return theta[first], int(ranks[first])
    return best


def _status(rays: Rays | None) -> str:
    if rays is None:
        return "empty"
    if (np.isinf(rays.outer) & ~rays.at_bound).any():
        return "unbounded"
    return "disconnected" if rays.reentered.any() else "bounded"


def _resolution(rays: Rays | None) -> float:
    if rays is None:
        return float("nan")
    bounded = np.isfinite(rays.outer)
    return float(((rays.outer - rays.inner)[bounded] / rays.outer[bounded]).max(initial=0.0))
