"""What a picture of a region shows: the box around it, its status and the levels of p-values."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from exactregion._typing import FloatArray
from exactregion.errors import InvalidTypeError, InvalidValueError
from exactregion.region.grid import box_around
from exactregion.region.outline import Outline

if TYPE_CHECKING:
    from exactregion.region import ConfidenceRegion

__all__ = ["accepted_pvalues", "box_of", "check_truth", "joint_status", "near_lengths"]


def accepted_pvalues(region: ConfidenceRegion) -> tuple[float, float]:
    """Return (low, high) such that θ is in the region if low < p-value <= high."""
    ranks = region.accepted_ranks_
    return (ranks.m - ranks.high) / ranks.m, (ranks.m - ranks.low + 1) / ranks.m


def joint_status(by_rays: str, by_grid: str) -> str:
    """Combine the status seen along rays with that of a grid: the more unusual one is said.

    A grid shows only that the region touches its edge ("cut"), not whether it ends farther out.
    """
    if by_rays == "unbounded":
        return by_rays
    seen = {by_rays, "cut" if by_grid == "unbounded" else by_grid}
    return next(
        (status for status in ("cut", "disconnected", "bounded") if status in seen), "empty"
    )


def near_lengths(ends: FloatArray, multiple: float, default: float) -> float:
    """Return a multiple of the median length of rays that end; the default if none does.

    Rays that end very late, or never, would make the rest of a picture too small to see.
    """
    finite = ends[np.isfinite(ends)]
    return multiple * float(np.median(finite)) if len(finite) else default


def box_of(outline: Outline, margin: float = 0.2) -> FloatArray:
    """Return (low, high) of each parameter for a picture, shape (d, 2).

    Around the region; of an unbounded one the part around the estimate.
    """
    if outline.rays is None or outline.status != "unbounded":
        return box_around(outline, margin)
    outer = outline.rays.outer
    near = np.minimum(outer, near_lengths(outer, 3.0, 10.0))
    return box_around(replace(outline, rays=replace(outline.rays, outer=near)), margin)


def check_truth(truth: npt.ArrayLike | None, region: ConfidenceRegion) -> FloatArray | None:
    """Check the true parameters, where they are given."""
    if truth is None:
        return None
    d = len(region.parameter_names_)
    try:
        values = np.atleast_1d(np.asarray(truth, dtype=np.float64))
    except (TypeError, ValueError) as error:
        raise InvalidTypeError(
            f"must hold numbers. Got {truth!r} instead.", parameter="truth"
        ) from error
    if values.shape != (d,) or not np.isfinite(values).all():
        raise InvalidValueError(
            f"must have {d} finite numbers, one per parameter. Got {truth!r} instead.",
            parameter="truth",
        )
    return values
