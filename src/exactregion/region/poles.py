"""Functionals that pass through infinity inside a region: they have no ends there.

The dose of even odds, -a/b, is an example: where the region holds slopes b of both signs, every
dose is that of some member.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from exactregion._typing import BoolArray, FloatArray
from exactregion.region.window import Inside, Window

__all__ = ["passing_infinity"]

PLACES = 17
"""Values looked at between the origin and each member."""

HALVINGS = 45
HUGE = 1e6
"""A change of sign that is this large after so many halvings, beside what is usual, is no zero."""

USUAL = 1e-3
"""Usual is the median, or this share of the largest: whatever the unit."""


def passing_infinity(
    functionals: Callable[[FloatArray], FloatArray],
    inside: Inside,
    window: Window,
    members: FloatArray,
) -> BoolArray:
    """Say which of G functionals change sign through infinity between members of a region.

    Parameters
    ----------
    functionals : callable
        θ (T, d) to values (T, G).
    inside : callable
        θ (T, d) to depths (T,), positive inside; or to membership.
    window : Window
        Coordinates.
    members : ndarray of shape (M, d)
        Coordinates z of members; the ways from the origin to them are looked at.
    """
    shares = np.linspace(0.0, 1.0, PLACES)
    z = shares[:, None, None] * members
    with np.errstate(all="ignore"):
        values = functionals(window.theta(z.reshape(-1, members.shape[1])))
    values = values.reshape(PLACES, len(members), -1)
    # from their middle: doses far from zero change sign close to the pole, twice between places
    middle = np.array([_middle_of(column) for column in values.reshape(-1, values.shape[-1]).T])
    values = values - middle
    turns = np.sign(values[1:]) * np.sign(values[:-1]) < 0
    found = np.zeros(values.shape[-1], dtype=np.bool_)
    for which in np.flatnonzero(turns.any(axis=(0, 1))):
        step, member = np.nonzero(turns[:, :, which])
        ways = _Ways(functionals, window, members[member], int(which), middle[which])
        before, after = ways.close_in(shares[step], shares[step + 1])
        huge = HUGE * _usual_size(values[:, :, which])
        poles = (np.abs(ways.at(before)) > huge) & (np.abs(ways.at(after)) > huge)
        if poles.any():
            sides = np.concatenate([ways.theta(before)[poles], ways.theta(after)[poles]])
            kept = np.asarray(inside(sides), dtype=np.float64) > 0
            found[which] = (kept[: poles.sum()] & kept[poles.sum() :]).any()
    return found


def _middle_of(values: FloatArray) -> float:
    finite = values[np.isfinite(values)]
    return float(np.median(finite)) if len(finite) else 0.0


def _usual_size(values: FloatArray) -> float:
    sizes = np.abs(values[np.isfinite(values)])
    return max(float(np.median(sizes)), USUAL * float(sizes.max()))


class _Ways:
    """Straight ways from the origin, along which one functional passes its middle."""

    def __init__(
        self,
        functionals: Callable[[FloatArray], FloatArray],
        window: Window,
        ends: FloatArray,
        which: int,
        middle: float,
    ) -> None:
        self.functionals, self.window, self.ends = functionals, window, ends
        self.which, self.middle = which, middle

    def theta(self, share: FloatArray) -> FloatArray:
        return self.window.theta(self.ends * share[:, None])

    def at(self, share: FloatArray) -> FloatArray:
        with np.errstate(all="ignore"):
            return np.asarray(self.functionals(self.theta(share))[:, self.which] - self.middle)

    def close_in(self, low: FloatArray, high: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Halve the ways, always keeping the change of sign."""
        sign = np.sign(self.at(low))
        for _ in range(HALVINGS):
            middle = (low + high) / 2
            same = np.sign(self.at(middle)) == sign
            low, high = np.where(same, middle, low), np.where(same, high, middle)
        return low, high
