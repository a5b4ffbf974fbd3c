"""The paper's experiment, computed: rank maps, areas and times of all regions on one data set."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np

from exactregion._typing import BoolArray, FloatArray
from exactregion.models import LaplaceMixture
from exactregion.paper.likelihood import LikelihoodRatio
from exactregion.paper.setting import (
    BOX,
    CONFIDENCE_LEVEL,
    LOCATIONS,
    N_RESAMPLES,
    N_ROWS,
    TITLES,
    TRUTH,
    Data,
    compared_statistics,
    draw_data,
    fit_region,
)
from exactregion.paper.stripes import Stripes, two_stripes
from exactregion.region import ConfidenceRegion
from exactregion.region.grid import Grid
from exactregion.statistics import Statistic

__all__ = ["Found", "OnGrid", "Study", "enclosing_box", "likelihood_ratio", "study"]

ROUNDS = 24
"""Most times that a box is widened; a region that still touches its edge is called unbounded."""


class OnGrid(Protocol):
    """A region that can be put on a grid."""

    def grid(self, box: Any, *, points: int | None = None, levels: int | None = None) -> Grid:
        """Put the region on a grid."""


@dataclass(frozen=True, eq=False)
class Found:
    """One region, as far as the experiment looked at it.

    Attributes
    ----------
    title : str
        What it is called.
    fine : Grid
        Membership on the fine grid, refined at the boundary; the area is taken from here.
    ranks : Grid or None
        Ranks at every point of the coarser grid of the picture; only for exact regions.
    coverage : float
        P(truth in the region).
    guarantee : {"exact", "asymptotic"}
        What the coverage is worth.
    contains_truth : bool
        Whether the truth is inside, this time.
    seconds : float
        Time for both grids.
    """

    title: str
    fine: Grid = field(repr=False)
    ranks: Grid | None = field(repr=False)
    coverage: float
    guarantee: str
    contains_truth: bool
    seconds: float


@dataclass(frozen=True, eq=False)
class Study:
    """All regions on one data set.

    Attributes
    ----------
    data : Data
        The data.
    seed : int
        What fixes all that is random.
    m : int
        Number of data sets that are ranked.
    box : ndarray of shape (2, 2)
        (low, high) of p and of λ, of all grids.
    regions : dict of str to Found
        The exact regions, and then the likelihood-ratio region, by their keys in `TITLES`.
    stripes : Stripes
        The conservative rectangle.
    stripes_seconds : float
        Time that it took.
    """

    data: Data = field(repr=False)
    seed: int
    m: int
    box: FloatArray
    regions: dict[str, Found]
    stripes: Stripes
    stripes_seconds: float

    def areas(self) -> dict[str, float]:
        """Area of each region, the stripes last."""
        found = {key: region.fine.area for key, region in self.regions.items()}
        return found | {"stripes": self.stripes.area}

    def relative_areas(self) -> dict[str, float]:
        """Areas in units of the likelihood-ratio region's."""
        areas = self.areas()
        return {key: area / areas["likelihood_ratio"] for key, area in areas.items()}


def study(
    seed: int = 0,
    *,
    n: int = N_ROWS,
    n_resamples: int = N_RESAMPLES,
    points: int | None = 100,
    levels: int = 8,
    statistics: Mapping[str, Statistic] | None = None,
    progress: Callable[[str], object] | None = None,
) -> Study:
    """Draw data at the truth and find all regions.

    Parameters
    ----------
    seed : int
        Fixes data and draws.
    n : int
        Number of rows.
    n_resamples : int
        Number of alternatives, m - 1.
    points : int, optional
        Rank maps have points × points parameters; none are made with None.
    levels : int
        The fine grid has 2^levels + 1 points an axis.
    statistics : mapping of str to Statistic, optional
        Those of `compared_statistics` by default.
    progress : callable, optional
        Told what is being worked on.
    """
    tell = progress or (lambda message: None)
    data = draw_data(seed, n)
    statistics = compared_statistics(n) if statistics is None else statistics
    begun = time.perf_counter()
    stripes = two_stripes(data.x, data.y, LOCATIONS, CONFIDENCE_LEVEL)
    stripes_seconds = time.perf_counter() - begun
    yardstick = likelihood_ratio(data)
    tell("looking for a box that holds all regions")
    fits = {key: fit_region(part, data, n_resamples) for key, part in statistics.items()}
    box = enclosing_box([yardstick, *fits.values()], _with_stripes(np.array(BOX), stripes))
    regions = {}
    for key, region in fits.items():
        tell(TITLES.get(key, key))
        regions[key] = _exact(TITLES.get(key, key), region, box, points, levels)
    regions["likelihood_ratio"] = _asymptotic(yardstick, box, levels)
    return Study(data, seed, n_resamples + 1, box, regions, stripes, stripes_seconds)


def likelihood_ratio(data: Data) -> LikelihoodRatio:
    """Make the likelihood-ratio region of the experiment's family."""
    return LikelihoodRatio(LaplaceMixture(locations=LOCATIONS), data.x, data.y, CONFIDENCE_LEVEL)


def enclosing_box(regions: Iterable[OnGrid], box: FloatArray) -> FloatArray:
    """Widen a box of (p, λ) on the sides that a region touches, until none does.

    Parameters
    ----------
    regions : iterable of OnGrid
        What the box must hold.
    box : array-like of shape (2, 2)
        Where to begin.
    """
    bounds = np.array(LaplaceMixture().bounds)
    box = np.array(box, dtype=np.float64)
    for region in regions:
        for _ in range(ROUNDS):
            touched = _touched(region.grid(box, levels=5)) & (box != bounds)
            if not touched.any():
                break
            step = 0.25 * (box[:, 1:] - box[:, :1]) * np.array([-1.0, 1.0])
            box = np.clip(box + np.where(touched, step, 0.0), bounds[:, :1], bounds[:, 1:])
    return box


def _touched(grid: Grid) -> BoolArray:
    """Sides of the box with members on or next to them: shape (d, 2)."""
    member = grid.member
    ends = ((member[:2], member[-2:]), (member[:, :2], member[:, -2:]))
    return np.array([[end.any() for end in pair] for pair in ends])


def _with_stripes(box: FloatArray, stripes: Stripes) -> FloatArray:
    """Make room for the rectangle, with a margin, where it has an end."""
    ends = np.array([stripes.p, stripes.scale])
    margin = 0.02 * (box[:, 1] - box[:, 0])
    low = np.maximum(0.0, np.minimum(box[:, 0], ends[:, 0] - margin))
    high = np.maximum(box[:, 1], np.where(np.isfinite(ends[:, 1]), ends[:, 1] + margin, -math.inf))
    return np.column_stack([low, np.minimum(high, [1.0, math.inf])])


def _exact(
    title: str, region: ConfidenceRegion, box: FloatArray, points: int | None, levels: int
) -> Found:
    begun = time.perf_counter()
    ranks = None if points is None else region.grid(box, points=points)
    fine = region.grid(box, levels=levels)
    return Found(
        title=title,
        fine=fine,
        ranks=ranks,
        coverage=region.coverage_,
        guarantee="exact",
        contains_truth=region.contains(TRUTH),
        seconds=time.perf_counter() - begun,
    )


def _asymptotic(region: LikelihoodRatio, box: FloatArray, levels: int) -> Found:
    begun = time.perf_counter()
    fine = region.grid(box, levels=levels)
    return Found(
        title=TITLES["likelihood_ratio"],
        fine=fine,
        ranks=None,
        coverage=region.confidence_level,
        guarantee="asymptotic",
        contains_truth=bool(region.contains(np.array([TRUTH]))[0]),
        seconds=time.perf_counter() - begun,
    )
