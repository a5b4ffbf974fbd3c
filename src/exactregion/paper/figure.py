"""Two figures of the paper's experiment: the paper's own, and one with more regions.

The paper's has the ranks of three regions, dark where they are low, and their outlines (panels a to
d). The extended one adds Algorithm II, score, combined, the likelihood ratio and the stripes. Both
are as wide as one column of a two-column paper, in colours that do not depend on telling red from
green.
"""

from __future__ import annotations

from collections.abc import Mapping
from string import ascii_lowercase
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np

from exactregion._typing import FloatArray
from exactregion.paper.paper import Study
from exactregion.paper.setting import CONFIDENCE_LEVEL, TITLES, TRUTH
from exactregion.region.grid import Grid

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

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

PAPER_PANELS = {
    "I_knn": "Algorithm I (kNN) ranks",
    "I_gaussian": "Algorithm I (Gauss) ranks",
    "III_gaussian": "Algorithm III (Gauss) ranks",
}
"""Panels (a), (b) and (c) of the paper's figure, and their titles."""


def draw_paper(done: Study) -> Figure:
    """Draw the figure of the paper: three rank maps, and the outlines of the three regions."""
    import matplotlib as mpl
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D

    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(3.5, 3.75))
        figure.set_layout_engine("constrained", w_pad=0.03, h_pad=0.03, hspace=0.02, wspace=0.02)
        axes = figure.subplots(2, 2, sharex=True, sharey=True)
        _rank_maps(figure, axes, done, PAPER_PANELS)
        last = axes[1, 1]
        handles = []
        for key in PAPER_PANELS:
            _outline(last, done.regions[key].fine, **LINES[key])
            handles.append(Line2D([], [], **LINES[key], label=TITLES[key]))
        _mark_truth_in(last, done.box)
        last.set_title(f"(d) {round(100 * CONFIDENCE_LEVEL)} % confidence sets")
        figure.legend(handles=handles, loc="outside lower center", ncols=3, frameon=False)
        for ax in axes[1]:
            ax.set_xlabel("$p$")
        for ax in axes[:, 0]:
            ax.set_ylabel(r"scale $\lambda$")
    return figure


def draw_extended(done: Study) -> Figure:
    """Draw the rank maps and the outlines of all regions of a study."""
    import matplotlib as mpl
    from matplotlib.figure import Figure

    mapped = {
        key: TITLES.get(key, key) for key, found in done.regions.items() if found.ranks is not None
    }
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(3.5, 7.2))
        figure.set_layout_engine("constrained", w_pad=0.02, h_pad=0.02, hspace=0.0, wspace=0.0)
        parts: Any = figure.subfigures(2, 1, height_ratios=(1.55, 1))
        upper, lower = parts
        axes = upper.subplots(-(-len(mapped) // 2), 2, sharex=True, sharey=True, squeeze=False)
        _rank_maps(upper, axes, done, mapped)
        upper.supxlabel("$p$")
        upper.supylabel(r"scale $\lambda$")
        _draw_regions(lower.subplots(), done, letter=ascii_lowercase[len(mapped)])
    return figure


def _rank_maps(figure: Any, axes: Any, done: Study, titles: Mapping[str, str]) -> None:
    """Draw one rank map per region, dark where ranks are low, and a colour bar above them."""
    colours = {"cmap": "Blues_r", "vmin": 0.5, "vmax": done.m + 0.5}
    for letter, (key, title), ax in zip(ascii_lowercase, titles.items(), axes.flat, strict=False):
        found = done.regions[key]
        grid: Any = found.ranks
        image = ax.pcolormesh(*grid.axes, grid.ranks.T, rasterized=True, **colours)
        _outline(ax, found.fine, color="black", linewidth=0.7)
        _mark_truth_in(ax, done.box)
        ax.set_title(f"({letter}) {title}")
    bar = figure.colorbar(image, ax=axes, location="top", aspect=45, shrink=0.96, pad=0.015)
    _label_ranks(bar, round(found.coverage * done.m), done.m)


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
    bar.set_label(f"rank among {m}; black line: the region, rank ≤ {q}")
    bar.ax.axvline(q + 0.5, color="black", linewidth=0.9)
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
