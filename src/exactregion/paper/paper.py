"""The experiment of the paper (its section V): regions on one data set, as figures and numbers.

A mixture of two Laplace densities with known locations ±1, true (p, λ) = (1/2, 1), n = 500, m = 50,
σ = 1/2, 90 %. Ranks of Algorithms I, II and III, and of score and combined, over (p, λ), and the
90 % regions beside the likelihood-ratio region and the two stripes. The paper says neither how many
neighbours it takes, nor over which domain Algorithm I integrates; `setting` says what is taken.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from exactregion._typing import FloatArray
from exactregion.data.files import finite, json_text, write_whole
from exactregion.paper import setting
from exactregion.paper.setting import LikelihoodRatio, Stripes, two_stripes
from exactregion.region import ConfidenceRegion
from exactregion.region.grid import Grid
from exactregion.statistics import Statistic

FILES = ("paper.png", "paper.pdf", "extended.png", "extended.pdf", "paper.json")
"""What `run` writes."""

Region: TypeAlias = ConfidenceRegion | LikelihoodRatio

ROUNDS = 24
"""Most times that a box is widened; a region that still touches its edge is called unbounded."""


@dataclass(frozen=True, eq=False)
class Found:
    """One region: membership on the fine grid, and ranks at every point of a coarser one.

    `ranks` is None for a region that has none; `guarantee` ("exact" or "asymptotic") is that of the
    coverage, and `seconds` the time for both grids.
    """

    fine: Grid = field(repr=False)
    ranks: Grid | None = field(repr=False)
    coverage: float
    guarantee: str
    contains_truth: bool
    seconds: float


@dataclass(frozen=True, eq=False)
class Study:
    """All regions on one data set, and the box of (p, λ), shape (2, 2), of their grids.

    `regions` has the exact regions by their keys in `setting.TITLES`, then "likelihood_ratio".
    """

    data: setting.Data = field(repr=False)
    seed: int
    m: int
    box: FloatArray
    regions: dict[str, Found]
    stripes: Stripes
    stripes_seconds: float

    def areas(self) -> dict[str, float]:
        """Return the area of each region, the stripes last."""
        areas = {key: region.fine.area for key, region in self.regions.items()}
        return areas | {"stripes": self.stripes.area}

    def relative_areas(self) -> dict[str, float]:
        """Return the areas in units of the likelihood-ratio region's."""
        areas = self.areas()
        return {key: area / areas["likelihood_ratio"] for key, area in areas.items()}


def study(
    seed: int = 0,
    *,
    n: int = setting.N_ROWS,
    n_resamples: int = setting.N_RESAMPLES,
    points: int | None = 100,
    levels: int = 8,
    statistics: Mapping[str, Statistic] | None = None,
    progress: Callable[[str], object] = lambda message: None,
) -> Study:
    """Draw data at the truth and find all regions; `progress` is called with a message per step.

    Rank maps have points × points parameters (none are made with None), and the fine grid has
    2^levels + 1 points per axis. The seed fixes data and draws.
    """
    data = setting.draw_data(seed, n)
    statistics = setting.compared_statistics(n) if statistics is None else statistics
    begun = time.perf_counter()
    stripes = two_stripes(data)
    stripes_seconds = time.perf_counter() - begun
    progress("looking for a box that holds all regions")
    asymptotic = LikelihoodRatio(data)
    exact = {key: setting.fit_region(one, data, n_resamples) for key, one in statistics.items()}
    box = enclosing_box([asymptotic, *exact.values()], _box_with_stripes(stripes))
    regions = {}
    for key, region in exact.items():
        progress(setting.TITLES.get(key, key))
        regions[key] = _on_grids(region, box, points, levels)
    regions["likelihood_ratio"] = _on_grids(asymptotic, box, None, levels)
    return Study(data, seed, n_resamples + 1, box, regions, stripes, stripes_seconds)


def enclosing_box(regions: Iterable[Region], box: FloatArray) -> FloatArray:
    """Widen a box of (p, λ), shape (2, 2), on the sides that a region touches, until none does."""
    bounds = np.array(setting.MODEL.bounds)
    box = np.array(box, dtype=np.float64)
    for region in regions:
        for _ in range(ROUNDS):
            member = region.grid(box, levels=5).member
            # members on an edge or next to it: what lies between grid points is not known
            edges = [[member[:2], member[-2:]], [member[:, :2], member[:, -2:]]]
            touched = np.array([[edge.any() for edge in pair] for pair in edges])
            touched &= box != bounds
            if not touched.any():
                break
            step = 0.25 * np.diff(box) * np.array([-1.0, 1.0])
            box = np.clip(box + np.where(touched, step, 0.0), bounds[:, :1], bounds[:, 1:])
    return box


def _box_with_stripes(stripes: Stripes) -> FloatArray:
    """Return the first box, widened to hold the ends of the rectangle with a margin of 2 %."""
    box, ends = np.array(setting.BOX), np.array([stripes.p, stripes.scale])
    margin = 0.02 * np.diff(box).ravel()
    low = np.clip(ends[:, 0] - margin, 0.0, box[:, 0])
    high = np.where(np.isfinite(ends[:, 1]), ends[:, 1] + margin, 0.0)
    return np.column_stack([low, np.minimum(np.maximum(box[:, 1], high), [1.0, np.inf])])


def _on_grids(region: Region, box: FloatArray, points: int | None, levels: int) -> Found:
    begun = time.perf_counter()
    ranks, coverage, guarantee = None, setting.CONFIDENCE_LEVEL, "asymptotic"
    if isinstance(region, ConfidenceRegion):
        ranks = None if points is None else region.grid(box, points=points)
        coverage, guarantee = region.coverage_, "exact"
    fine, inside = region.grid(box, levels=levels), bool(region.contains([setting.TRUTH])[0])
    return Found(fine, ranks, coverage, guarantee, inside, time.perf_counter() - begun)


def run(
    out: str | os.PathLike[str],
    seed: int = 0,
    *,
    progress: Callable[[str], object] = lambda message: None,
    **sizes: Any,
) -> list[Path]:
    """Repeat the experiment, and write `FILES` into a folder; `sizes` are arguments of `study`."""
    from exactregion.paper.figure import draw_extended, draw_paper, save  # loads matplotlib

    folder = Path(out)
    folder.mkdir(parents=True, exist_ok=True)
    done = study(seed, progress=progress, **sizes)
    drawn = {"paper": draw_paper(done), "extended": draw_extended(done)}
    text = json_text(summary(done)).encode()

    def write(name: str) -> Path:
        stem, _, kind = name.partition(".")
        if kind == "json":
            return write_whole(folder / name, lambda file: file.write(text))
        return write_whole(folder / name, lambda file: save(drawn[stem], file, kind))

    return [write(name) for name in FILES]


def summary(done: Study) -> dict[str, Any]:
    """Return the experiment in numbers, ready for JSON; what is not finite becomes None."""
    n, relative, stripes = len(done.data.y), done.relative_areas(), done.stripes
    about = {
        "seed": done.seed,
        "n": n,
        "m": done.m,
        "confidence_level": setting.CONFIDENCE_LEVEL,
        "truth": dict(zip(("p", "scale"), setting.TRUTH, strict=True)),
        "locations": setting.LOCATIONS,
        "bandwidth": setting.BANDWIDTH,
        "neighbours": setting.neighbours(n),
        "domain": setting.DOMAIN,
        "box": dict(zip(("p", "scale"), done.box, strict=True)),
    }
    regions: dict[str, dict[str, Any]] = {}
    for key, found in done.regions.items():
        regions[key] = {
            "title": setting.TITLES.get(key, key),
            "area": found.fine.area,
            "area_bracket": found.fine.area_bracket,
            "relative_area": relative[key],
            "coverage": found.coverage,
            "guarantee": found.guarantee,
            "contains_truth": found.contains_truth,
            "status": found.fine.status,
            "pieces": found.fine.pieces,
            "seconds": round(found.seconds, 3),
        }
        if found.ranks is not None:
            cost = 1e6 * found.ranks.seconds / found.ranks.evaluations
            regions[key]["microseconds_per_parameter"] = round(cost, 1)
    regions["stripes"] = {
        "title": setting.TITLES["stripes"],
        "area": stripes.area,
        "relative_area": relative["stripes"],
        "coverage": setting.CONFIDENCE_LEVEL,
        "guarantee": "at least",
        "contains_truth": bool(stripes.contains(setting.TRUTH)),
        "p": stripes.p,
        "scale": stripes.scale,
        "seconds": round(done.stripes_seconds, 6),
    }
    summed: dict[str, Any] = finite({"setting": about, "regions": regions})
    return summed
