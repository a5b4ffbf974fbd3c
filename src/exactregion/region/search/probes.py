"""θ drawn at random, to look for members that a search has missed.

A quarter of them is drawn around the estimate at many scales, a quarter over the range that each
parameter may have, a quarter around and beyond the members known so far, which follows regions that
are long and curved, and a quarter close to the members at the ends. Drawing may use the outcomes:
it decides where ranks are evaluated, never which θ are members.
"""

from __future__ import annotations

import numpy as np

from exactregion._typing import FloatArray
from exactregion.region.window import Window, lengths_of

__all__ = ["draw_probes"]

SCALES = (-0.5, 2.0)
"""Powers of ten of the standard errors at which probes are drawn around the estimate."""

FACTORS = (-2.0, 2.0)
"""Powers of ten by which a parameter with one bound is farther from it than the estimate."""

BEYOND, FAR_BEYOND = 2.0, 6.0
"""Probes beyond a member are drawn up to this multiple of its distance from another member, and one
in four, from members that are extreme in some coordinate, up to this power of ten: there regions
without an end have members."""


CLOSE = (-2.5, 0.0)
"""Powers of ten of the distance of probes from a member at an end, in standard errors."""


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
    # predictors that are a multiple of a member's have the same zeros
    steeper = np.flatnonzero(far)[::2]
    unbounded = np.isinf(window.bounds).all(axis=1)
    factors = np.where(unbounded, power[steeper], 1.0)
    theta[steeper] = window.theta(first[steeper]) * factors
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
    return np.stack(columns, axis=-1)
