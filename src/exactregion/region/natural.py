"""Families that are linear in other parameters: their sets are proven there, and taken back."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from exactregion._typing import FloatArray
from exactregion.region.bounds import is_provable, joint_bounds
from exactregion.region.fitted import FittedRegion
from exactregion.region.ratios import LinearRatios
from exactregion.region.search.ends import Bounds

__all__ = ["from_natural", "natural_region"]


def natural_region(fitted: FittedRegion, certify: bool | None) -> FittedRegion | None:
    """Return the region of the natural parameters, if sets can be proven there; else None.

    It has the same data and draws, and its members are those of the region, if they are proven to
    lie within the bounds of the natural parameters: the score does not depend on how a family is
    parametrised, but for the rounding of its columns, which `proofs.enclosure` allows for.
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

    def of_family(values: FloatArray) -> FloatArray:
        theta = np.ones((len(values), len(model.parameter_names)))
        theta[:, index] = values
        return np.asarray(model.from_natural(theta)[:, index])

    return bounds.mapped(of_family)
