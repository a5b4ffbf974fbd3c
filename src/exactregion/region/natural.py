"""Families that are linear in other parameters: their sets are proven there, and taken back."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from exactregion._typing import FloatArray
from exactregion.region.bounds import is_provable, joint_bounds
from exactregion.region.fitted import FittedRegion
from exactregion.region.ratios import LinearRatios
from exactregion.region.search import Bounds

__all__ = ["from_natural", "natural_region"]


def natural_region(fitted: FittedRegion, certify: bool | None) -> FittedRegion | None:
    """Return the region of the natural parameters, if sets can be proven there; else None.

    It has the same data and draws, and its members are those of the region, if they are proven to
    lie within the bounds of the natural parameters: the score does not depend on how a family is
    parametrised, but for the rounding of its columns, which `region.enclosure` allows for.
    """
    return fitted.cached(("natural", certify), lambda: _find_natural(fitted, certify))


def _find_natural(fitted: FittedRegion, certify: bool | None) -> FittedRegion | None:
    model: Any = fitted.model.natural()
    if model is None or certify is False:
        return None
    natural = replace(fitted, model=model)
    if not is_provable(natural, certify):
        return None
    numbers = LinearRatios.linear(np.eye(len(model.parameter_names)))
    found = joint_bounds(
        natural, lambda theta: theta, len(numbers), numbers=numbers, certify=certify
    )
    low, high = np.array(model.natural_bounds).T
    within = found.certified & (found.lower > low) & (found.upper < high)
    return natural if within.all() else None


def from_natural(natural: FittedRegion, index: int, bounds: Bounds) -> Bounds:
    """Turn the bounds of natural parameter `index` into those of the family's own."""
    model: Any = natural.model

    def own(values: FloatArray) -> FloatArray:
        theta = np.ones((len(values), len(model.parameter_names)))
        theta[:, index] = values
        return np.asarray(model.from_natural(theta)[:, index])

    ends = np.stack([own(bounds.lower), own(bounds.upper)])
    members = np.stack([own(bounds.lower + bounds.gaps[0]), own(bounds.upper - bounds.gaps[1])])
    with np.errstate(invalid="ignore"):
        gaps = np.abs(ends - members)
    gaps = np.where(np.isfinite(ends), gaps, 0.0)
    is_falling = bool((ends[0] > ends[1]).any())
    return replace(
        bounds,
        lower=ends.min(axis=0),
        upper=ends.max(axis=0),
        gaps=gaps[::-1] if is_falling else gaps,
    )
