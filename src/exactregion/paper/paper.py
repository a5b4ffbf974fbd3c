"""The experiment of the paper: all regions on one data set, as a figure and as numbers.

A mixture of two Laplace densities with known locations ±1, true (p, λ) = (1/2, 1), n = 500, m = 50,
σ = 1/2, 90 %. Ranks of Algorithms I, II and III, and of score and combined, over (p, λ), and the
90 % regions beside the likelihood-ratio region and the two stripes. The figure is as wide as one
column of a two-column paper, in colours that do not depend on telling red from green.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from string import ascii_lowercase
from typing import TYPE_CHECKING, Any, BinaryIO, TypeAlias

import numpy as np

from exactregion._typing import FloatArray
from exactregion.data.files import finite, json_text, write_whole
from exactregion.paper import setting
from exactregion.paper.setting import (
    CONFIDENCE_LEVEL,
    TITLES,
    TRUTH,
    LikelihoodRatio,
    Stripes,
    two_stripes,
)
from exactregion.region import ConfidenceRegion
from exactregion.region.grid import Grid
from exactregion.statistics import Statistic

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

FILES = ("paper.png", "paper.pdf", "paper.json")
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
    folder = Path(out)
    folder.mkdir(parents=True, exist_ok=True)
    done = study(seed, progress=progress, **sizes)
    figure = draw(done)
    text = json_text(summary(done))
    picture, page, numbers = (folder / name for name in FILES)
    return [
        write_whole(picture, lambda file: save(figure, file, "png")),
        write_whole(page, lambda file: save(figure, file, "pdf")),
        write_whole(numbers, lambda file: file.write(text.encode())),
    ]


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


STYLE: dict[Any, Any] = {
    "font.size": 7,
    "font.family": "sans-serif",
    "axes.titlesize": 7,
    "axes.titlepad": 3,
    "axes.linewidth": 0.6,
    "xtick.labelsize": 6.5,
    "ytick.labelsize": 6.5,
    "xtick.major.width": 0.6,
    "ytick.major.width": 0.6,
    "xtick.major.size": 2.5,
    "ytick.major.size": 2.5,
    "figure.labelsize": 7,
    "legend.fontsize": 6.5,
    "pdf.fonttype": 42,  # text stays text, as publishers ask
}

LINES: dict[str, dict[str, Any]] = {
    "I_knn": {"color": "#E69F00", "linestyle": "solid", "linewidth": 0.8},
    "I_gaussian": {"color": "#56B4E9", "linestyle": "solid", "linewidth": 0.9},
    "II_gaussian": {"color": "#009E73", "linestyle": (0, (4, 1.5)), "linewidth": 0.9},
    "III_gaussian": {"color": "#D55E00", "linestyle": "solid", "linewidth": 0.9},
    "combined": {"color": "#CC79A7", "linestyle": "solid", "linewidth": 1.4},
    "score": {"color": "#0072B2", "linestyle": (0, (3, 1, 1, 1)), "linewidth": 0.9},
    "stripes": {"color": "black", "linestyle": (0, (1, 1.2)), "linewidth": 1.1},
}
"""Colours of Okabe and Ito and a line style per region, in the order of drawing.

The likelihood-ratio region is filled instead, so that lines on its edge stay visible.
"""

FILL = "0.85"


def draw(done: Study) -> Figure:
    """Draw the rank maps and the regions of a study."""
    import matplotlib as mpl
    from matplotlib.figure import Figure

    mapped = [key for key, found in done.regions.items() if found.ranks is not None]
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(3.5, 7.2))
        figure.set_layout_engine("constrained", w_pad=0.02, h_pad=0.02, hspace=0.0, wspace=0.0)
        parts: Any = figure.subfigures(2, 1, height_ratios=(1.55, 1))
        upper, lower = parts
        axes = upper.subplots(-(-len(mapped) // 2), 2, sharex=True, sharey=True, squeeze=False)
        colours = {"cmap": "cividis_r", "vmin": 0.5, "vmax": done.m + 0.5}
        for letter, key, ax in zip(ascii_lowercase, mapped, axes.flat, strict=False):
            found = done.regions[key]
            grid: Any = found.ranks
            image = ax.pcolormesh(*grid.axes, grid.ranks.T, rasterized=True, **colours)
            _outline(ax, found.fine, color="white", linewidth=0.7)
            _mark_truth_in(ax, done.box)
            ax.set_title(f"({letter}) {TITLES.get(key, key)}")
        bar = upper.colorbar(image, ax=axes, location="top", aspect=45, shrink=0.96, pad=0.015)
        _label_ranks(bar, round(found.coverage * done.m), done.m)
        upper.supxlabel("$p$")
        upper.supylabel(r"scale $\lambda$")
        _draw_regions(lower.subplots(), done, letter=ascii_lowercase[len(mapped)])
    return figure


def save(figure: Figure, file: BinaryIO, kind: str) -> None:
    """Write a figure as PNG or PDF, without the time of writing, so that equal runs are equal."""
    import matplotlib as mpl

    metadata: dict[str, Any] = {"CreationDate": None} if kind == "pdf" else {}
    with mpl.rc_context(STYLE):
        figure.savefig(file, format=kind, dpi=400, metadata=metadata)


def _outline(
    ax: Axes, grid: Grid, *, color: str, linewidth: float, linestyle: Any = "solid"
) -> None:
    """Draw the boundary of the members; an empty region has none."""
    if grid.member.any() and not grid.member.all():
        ax.contour(
            *grid.axes,
            grid.member.T.astype(np.float64),
            levels=[0.5],
            colors=[color],
            linewidths=[linewidth],
            linestyles=[linestyle],
        )


def _mark_truth_in(ax: Axes, box: FloatArray) -> None:
    """Mark the truth and show the box, without ticks in the corners, where two panels meet."""
    from matplotlib.ticker import MaxNLocator

    ax.plot(*TRUTH, marker="*", markersize=7, color="white", mec="black", mew=0.6, ls="none")
    ax.set(xlim=box[0], ylim=box[1])
    for axis, (low, high) in zip((ax.xaxis, ax.yaxis), box, strict=True):
        ticks = MaxNLocator(7, steps=[1, 2, 5, 10]).tick_values(low, high)
        margin = 0.04 * (high - low)
        axis.set_ticks([tick for tick in ticks if low + margin <= tick <= high - margin])


def _label_ranks(bar: Any, q: int, m: int) -> None:
    regular = {1, *range(m // 5, m, m // 5), m} if m >= 10 else {1, m}
    bar.set_ticks(sorted({tick for tick in regular if abs(tick - q) > m / 20} | {q}))
    bar.set_label(f"rank among {m}; white line: the region, rank ≤ {q}")
    bar.ax.axvline(q + 0.5, color="white", linewidth=0.9)
    bar.ax.tick_params(pad=1)


def _draw_regions(ax: Axes, done: Study, letter: str) -> None:
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch, Rectangle

    filled, stripes = done.regions["likelihood_ratio"].fine, done.stripes
    ax.contourf(*filled.axes, filled.member.T.astype(np.float64), levels=[0.5, 2], colors=[FILL])
    for key, style in LINES.items():
        if key in done.regions:
            _outline(ax, done.regions[key].fine, **style)
    # a rectangle without an upper end is drawn to far outside the box
    height = min(stripes.scale[1], 10 * done.box[1, 1]) - stripes.scale[0]
    corner = (stripes.p[0], stripes.scale[0])
    ax.add_patch(Rectangle(corner, np.ptp(stripes.p), height, fill=False, **LINES["stripes"]))
    _mark_truth_in(ax, done.box)
    ax.set(xlabel="$p$", ylabel=r"scale $\lambda$")
    ax.set_title(f"({letter}) The {round(100 * CONFIDENCE_LEVEL)} % regions (relative area)")
    handles: list[Any] = []
    for key, area in done.relative_areas().items():
        symbol = Line2D([], [], **LINES[key]) if key in LINES else Patch(facecolor=FILL)
        symbol.set_label(f"{TITLES.get(key, key)} ({area:.2f})")
        handles.append(symbol)
    ax.figure.legend(
        handles=handles, loc="outside lower center", ncols=2, frameon=False, borderpad=0.2
    )
