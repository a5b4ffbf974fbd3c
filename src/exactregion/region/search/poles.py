"""Whether a functional passes through infinity between members, as a ratio does at its pole."""

from __future__ import annotations

import numpy as np

from exactregion._typing import BoolArray, FloatArray
from exactregion.region.search.extremes import Functionals
from exactregion.region.window import Membership, Window

__all__ = ["passes_infinity"]

PATH_POINTS, HALVINGS = 17, 45
"""Values computed between the origin and each member to find changes of sign, and halvings that
bring the two sides of one nearly as close as doubles allow (2⁻⁴⁵ of a sixteenth of the path)."""

POLE = 1e6
"""A change of sign is a pole if both sides exceed this multiple of the usual size of the values.
After the halvings a zero is at 2⁻⁴⁵ of it and a simple pole at 2⁴⁵, so that any multiple in between
would do; a finite jump larger than this would be taken for a pole."""

USUAL = 1e-3
"""The usual size is the median, or this share of the largest value where most are zero."""


def passes_infinity(
    g: Functionals, inside: Membership, window: Window, members: FloatArray
) -> BoolArray:
    """Return which functionals change sign through infinity between members: they have no ends.

    The dose of even odds, -a/b, is an example: where the region holds slopes b of both signs, every
    dose is that of some member. Changes of sign are looked for on straight paths from the origin to
    the members (coordinates z), and count if both sides of the pole are members.
    """
    shares = np.linspace(0.0, 1.0, PATH_POINTS)
    z = shares[:, None, None] * members
    with np.errstate(all="ignore"):
        values = g(window.theta(z.reshape(-1, members.shape[1])))
    # relative to the median: doses far from zero, such as years, change sign at the pole and back
    # again so close to it that no point lies between
    medians = np.array([_median(column) for column in values.T])
    values = (values - medians).reshape(PATH_POINTS, len(members), -1)
    found = np.zeros(values.shape[-1], dtype=np.bool_)
    step, member, which = np.nonzero(np.sign(values[1:]) * np.sign(values[:-1]) < 0)
    if not len(which):
        return found

    def theta_at(share: FloatArray) -> FloatArray:
        return window.theta(members[member] * share[:, None])

    def value_at(share: FloatArray) -> FloatArray:
        with np.errstate(all="ignore"):
            every = g(theta_at(share))
        return np.asarray(every[np.arange(len(which)), which] - medians[which])

    low, high = shares[step], shares[step + 1]
    sign = np.sign(value_at(low))
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        same = np.sign(value_at(middle)) == sign
        low, high = np.where(same, middle, low), np.where(same, high, middle)
    huge = POLE * np.array([_usual_size(column) for column in np.moveaxis(values, -1, 0)])[which]
    poles = (np.abs(value_at(low)) > huge) & (np.abs(value_at(high)) > huge)
    if poles.any():
        sides = np.concatenate([theta_at(low)[poles], theta_at(high)[poles]])
        before, after = np.split(inside(sides) > 0, 2)
        found[which[poles][before & after]] = True
    return found


def _median(values: FloatArray) -> float:
    finite = values[np.isfinite(values)]
    return float(np.median(finite)) if len(finite) else 0.0


def _usual_size(values: FloatArray) -> float:
    sizes = np.abs(values[np.isfinite(values)])
    return max(float(np.median(sizes)), USUAL * float(sizes.max())) if len(sizes) else 0.0
