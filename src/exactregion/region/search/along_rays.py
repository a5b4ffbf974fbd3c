"""Ends of functionals by rays alone, for regions of many data.

With many data a region is nearly an ellipsoid, and a rank takes long. A ray from the estimate along
the efficient direction of a functional then ends where the functional is largest, up to the
roughness of the boundary. That is looked for by a few more rays, and by an audit as after any other
search.
"""

from __future__ import annotations

import time
from collections.abc import Sequence

import numpy as np

from exactregion._typing import FloatArray
from exactregion.region.rays import trace
from exactregion.region.search.extremes import Functionals
from exactregion.region.window import Membership, Window, lengths_of

__all__ = ["QUICK_TOLERANCE", "RayEnds", "ends_along_rays"]

QUICK_TOLERANCE = 0.02
"""Relative width of the bracket of a boundary point: one per cent of an interval around it."""

PROBES, AUDITS = 24, 3
"""θ drawn at random per audit, and audits before a search gives up and says so."""

SLACK = 0.04
"""By which share of its distance from the origin an end is moved out before an audit: twice as much
as after a thorough search, since few rays meet the roughness of a boundary less often."""

PROBED = (1.0, 1.15)
"""Lengths of probes, in multiples of those of members at the boundary next to them."""


class RayEnds:
    """Largest values of F functionals at members, and bounds past them; `settled` by an audit."""

    def __init__(self, number: int) -> None:
        self.value = np.full(number, -np.inf)
        self.bound = np.full(number, -np.inf)
        self.settled = np.zeros(number, dtype=np.bool_)
        self.probes = 0
        self.seconds = 0.0


def ends_along_rays(
    functionals: Functionals,
    inside: Membership,
    window: Window,
    rng: np.random.Generator,
    *,
    radius: float,
    tilts: Sequence[float] = (),
) -> RayEnds:
    """Find the largest value of each functional over the members that `inside` accepts.

    Parameters
    ----------
    functionals : callable
        θ (T, d) to values (T, F).
    inside : callable
        θ to depths, positive for members; the origin of the window is one.
    window : Window
        Coordinates in which the region is about a ball.
    rng : Generator
        For the audit, in which all functionals are given the same probes.
    radius : float
        Expected distance of the boundary.
    tilts : sequence of float
        Angles by which further rays are turned away from the efficient direction, both ways along
        each axis across it: for sets whose side is flat there.
    """
    started = time.perf_counter()
    d = len(window.origin)
    uphill = _uphill(functionals, window)
    along = np.concatenate([uphill[:, None], *(_tilted(uphill, tilt) for tilt in tilts)], axis=1)
    F, k, _ = along.shape
    rays = trace(
        inside,
        window,
        along.reshape(-1, d),
        first_step=radius,
        tolerance=QUICK_TOLERANCE,
        look_beyond=False,
    )
    number = np.arange(F)

    def at(z: FloatArray) -> FloatArray:
        """Return the value of each functional at the ends of its own rays: shape (F, k)."""
        values = functionals(window.theta(z)).reshape(F, k, F)
        return np.nan_to_num(values[number, :, number], nan=-np.inf)

    found = RayEnds(F)
    members, has_end = rays.members(), np.isfinite(rays.outer)
    outer = np.where(has_end, np.maximum(rays.outer, rays.inner * (1 + SLACK)), rays.inner)
    found.value = at(members).max(axis=1)
    found.bound = np.maximum(found.value, at(rays.directions * outer[:, None]).max(axis=1))
    open_ended = ~(has_end | rays.at_bound).reshape(F, k)
    found.bound[open_ended[:, 0] & uphill.any(axis=1)] = np.inf
    for _ in range(AUDITS):
        probes = _near(members, PROBES, rng)
        found.probes += PROBES
        theta = window.theta(probes)
        theta = theta[inside(theta) > 0]
        values = functionals(theta).max(axis=0, initial=-np.inf)
        found.settled = values <= found.bound
        found.bound = np.maximum(found.bound, values)
        found.value = np.maximum(found.value, np.where(found.settled, -np.inf, values))
        if found.settled.all():
            break
    found.seconds = time.perf_counter() - started
    return found


def _uphill(functionals: Functionals, window: Window) -> FloatArray:
    """Return unit gradients of the functionals at the origin, by differences: shape (F, d)."""
    step = 1e-2 * np.eye(len(window.origin))
    rise = functionals(window.theta(step)) - functionals(window.theta(-step))
    gradient = np.where(np.isfinite(rise), rise, 0.0).T
    length = lengths_of(gradient)[:, None]
    return np.asarray(gradient / np.where(length > 0, length, 1.0))


def _tilted(along: FloatArray, angle: float) -> FloatArray:
    """Turn unit vectors (F, d) both ways along each axis across them: shape (F, 2 (d - 1), d)."""
    turned = []
    for direction in along:
        across = np.linalg.svd(direction[None])[2][1:]
        across = np.concatenate([across, -across])
        turned.append(np.cos(angle) * direction + np.sin(angle) * across)
    return np.stack(turned)


def _near(members: FloatArray, number: int, rng: np.random.Generator) -> FloatArray:
    """Draw coordinates between members at the boundary, and a little beyond them."""
    first, second = members[rng.integers(len(members), size=(2, number))]
    share = rng.uniform(size=(number, 1))
    between = share * first + (1 - share) * second
    length = share[:, 0] * lengths_of(first) + (1 - share[:, 0]) * lengths_of(second)
    lengths = lengths_of(between)
    factor = length * rng.uniform(*PROBED, size=number) / np.where(lengths > 0, lengths, 1.0)
    return np.asarray(between * factor[:, None])
