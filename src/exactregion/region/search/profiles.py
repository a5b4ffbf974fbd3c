"""θ of a curved family that are far out in one parameter, and as likely as members.

A region may leave along a curve: with P = F(b (log x - a)), flat curves have b near 0 and any a. No
straight step follows it, and random probes miss it. So one parameter is held at values ever farther
from the estimate, and all others are moved to where the outcomes are most likely, on a scale of
orders of magnitude. Likelihoods use the outcomes: they decide where ranks are evaluated, never
which θ are members.
"""

from __future__ import annotations

import numpy as np

from exactregion._typing import FloatArray
from exactregion.region.fitted import FittedRegion
from exactregion.region.search.plausible import WIDEST, deviance_of
from exactregion.region.window import Window, lengths_of, radius_of

__all__ = ["likely_far_out"]

DISTANCES = 10.0 ** np.arange(1, 6)
"""Standard errors at which a parameter is held. The last is more than `extremes.NO_END` radii,
which counts as no end; at larger ones rounding moves the curve."""

SMALLEST = 1e-9
"""Part of a standard error below which the scale is linear: with one parameter at the largest
distance, others matter down to its inverse."""

LARGEST = np.arcsinh(1e9 / SMALLEST)
"""Other parameters stay within 10⁹ standard errors: farther out a family may overflow."""

POPULATION, ROUNDS = 32, 20
"""θ per distance, and rounds in which each may move. Of 200 such maxima with two and three
parameters, one has a deviance more than 0.1 above that which 160 rounds find."""

CHOSEN = 24
"""θ per distance that are returned: the most likely, which need not be a member, and others whose
deviances are larger, up to those of members."""

SHRINK = (-8.0, 1.0)
"""Powers of ten by which the other parameters are multiplied at first."""


def likely_far_out(fitted: FittedRegion, window: Window, members: FloatArray) -> FloatArray:
    """Return θ (K, d), some for each parameter and distance, that are about the most likely there.

    By differential evolution from members (k, d), on a scale of orders of magnitude.
    """
    rng, d = fitted.search_rng(), fitted.n_parameters
    unit = SMALLEST * lengths_of(window.axes)
    held = [
        (index, window.origin[index] + sign * distance * unit[index] / SMALLEST)
        for index, ends in enumerate(window.bounds)
        for sign, end in zip((-1, 1), ends, strict=True)
        if np.isinf(end)
        for distance in DISTANCES
    ]
    if not held:
        return members[:0]
    which, values = np.array([one for one, _ in held]), np.array([value for _, value in held])
    rows = np.arange(len(held))

    def at(w: FloatArray) -> FloatArray:
        """Return θ (H, P, d) with the parameters held."""
        theta = np.clip(unit * np.sinh(np.clip(w, -LARGEST, LARGEST)), *window.bounds.T)
        theta[rows, :, which] = values[:, None]
        return theta

    def deviances(w: FloatArray) -> FloatArray:
        return deviance_of(fitted, at(w).reshape(-1, d)).reshape(w.shape[:2])

    shape = (len(held), POPULATION, d)
    start = members[rng.integers(len(members), size=shape[:2])]
    start = start * 10.0 ** rng.uniform(*SHRINK, size=shape) * rng.choice([-1, 1], size=shape)
    w = np.arcsinh(start / unit)
    found = deviances(w)
    tried, tried_deviances = [w], [found]
    for _ in range(ROUNDS):
        one, other, third = w[rows[:, None], rng.integers(POPULATION, size=(3, *shape[:2]))]
        best = w[rows, found.argmin(axis=1)][:, None]
        length, towards = rng.random((2, *shape[:2], 1))
        tried.append(third + towards * (best - third) + length * (one - other))
        tried_deviances.append(deviances(tried[-1]))
        better = tried_deviances[-1] < found
        w = np.where(better[..., None], tried[-1], w)
        found = np.where(better, tried_deviances[-1], found)
    every, found = np.concatenate(tried, axis=1), np.concatenate(tried_deviances, axis=1)
    least = found.min(axis=1)
    wanted = least[:, None] + radius_of(WIDEST, d) ** 2 * np.linspace(0, 1, CHOSEN) ** 2
    with np.errstate(invalid="ignore"):  # where nothing is possible
        nearest = np.abs(found[:, None] - wanted[..., None]).argmin(axis=2)
    chosen = at(every[rows[:, None], nearest])[np.isfinite(least)]
    return np.asarray(chosen.reshape(-1, d))
