"""Members beyond the ends that a search has found, by approaching the set from outside.

Random θ beyond an end may all be rejected although the set goes on there, in a thin branch or in a
piece of its own. A rank says how far a rejected θ is from being a member (`rays.Depth`). So a
population of θ beyond each end moves to where θ come closest to members, by steps that are
differences of two of them.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from exactregion._typing import BoolArray, FloatArray
from exactregion.region.search.extremes import Functionals, highest, own_values
from exactregion.region.window import Membership, Window

__all__ = ["POPULATION", "approached"]

POPULATION = 40
"""θ that are kept for each end; a round has as many steps from them."""

STEPS, JITTER = (-1.0, 0.3), (-3.0, -0.5)
"""Powers of ten by which differences of two θ are multiplied, and of what is added in each
direction, in standard errors."""


def approached(
    functionals: Functionals,
    inside: Membership,
    window: Window,
    rng: np.random.Generator,
    *,
    bound: FloatArray,
    probes: FloatArray,
    is_defined: Callable[[FloatArray], BoolArray],
    rounds: int,
) -> FloatArray:
    """Return the farthest member beyond the bound of each functional, z (G, d): 0 for none.

    Populations start from the θ of `probes` (T, d) beyond each bound that are closest to members.
    As in `extremes.largest` all functionals are given the same random steps, and learn nothing
    from each other.
    """
    number, d = len(bound), probes.shape[1]
    if not len(probes):
        return np.zeros((number, d))
    with np.errstate(invalid="ignore"):
        is_beyond = functionals(probes) > bound
    depths = np.full(len(probes), -np.inf)
    tried = is_beyond.any(axis=1)
    if tried.any():
        depths[tried] = inside(probes[tried])
    heights = np.where(is_beyond.T, depths, -np.inf)
    z, heights = highest(
        np.broadcast_to(window.coordinates(probes), (number, *probes.shape)), heights, POPULATION
    )
    for _ in range(rounds):
        shares = rng.random((3, POPULATION))
        factors = 10.0 ** rng.uniform(*STEPS, size=(POPULATION, 1))
        jitter = 10.0 ** rng.uniform(*JITTER, size=(POPULATION, 1))
        jitter = jitter * rng.standard_normal((POPULATION, d))
        count = np.isfinite(heights).sum(axis=1)
        active = np.flatnonzero((count > 1) & (heights[:, 0] <= 0))
        if not len(active):
            break
        which = (shares[:, None] * count[active, None]).astype(np.int64)
        start, one, other = z[active[:, None], which]
        steps = start + factors * (one - other) + jitter
        kept = (own_values(functionals, window, steps, active) > bound[active, None]).ravel()
        theta = window.theta(steps.reshape(-1, d))
        kept[kept] = is_defined(theta[kept])
        depths = np.full(len(theta), -np.inf)
        if kept.any():
            depths[kept] = inside(theta[kept])
        z[active], heights[active] = highest(
            np.concatenate([z[active], steps], axis=1),
            np.concatenate([heights[active], depths.reshape(len(active), -1)], axis=1),
            z.shape[1],
        )
    every = np.arange(number)
    values = np.where(heights > 0, own_values(functionals, window, z, every), -np.inf)
    farthest = z[every, values.argmax(axis=1)]
    return np.where(heights[:, :1] > 0, farthest, 0.0)
