"""What all pictures share: matplotlib when it is needed, colours, notes, and the box shown."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from exactregion._typing import FloatArray
from exactregion.errors import InvalidTypeError, InvalidValueError, MissingDependencyError
from exactregion.region.grid import box_around
from exactregion.region.outline import Outline

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from exactregion.region import ConfidenceRegion

# Blue and vermilion of Okabe and Ito, which colour-blind readers tell apart; in print they differ
# in lightness from the greys too.
BLUE = "#0072B2"
VERMILION = "#D55E00"
GREY = "#6E6E6E"
INK = "#1A1A1A"
PALE = "#C3CCD3"

TRUTH_STYLE: dict[str, Any] = {
    "linestyle": "none",
    "marker": "*",  # as in the paper
    "markersize": 14,
    "color": VERMILION,
    "markeredgecolor": "white",
    "markeredgewidth": 0.8,
    "zorder": 6,
}


class Display:
    """Arrays of one picture: the constructor stores them without matplotlib, `plot` draws them."""

    ax_: Any
    figure_: Figure

    def _start(self, ax: Axes | None, width: float, height: float) -> Axes:
        """Choose the axes: those given, or new ones of this size in inches."""
        check_matplotlib(f"{type(self).__name__}.plot")
        ax = new_axes(width, height) if ax is None else ax
        self.ax_, self.figure_ = ax, figure_of(ax)
        return ax


def check_matplotlib(caller: str, needed: bool = True) -> None:
    """Raise an error with the install line if matplotlib is needed and missing."""
    if not needed:
        return
    try:
        import matplotlib  # noqa: F401
    except ImportError as error:
        raise MissingDependencyError(
            f"{caller} requires matplotlib, which is not installed. "
            "Install it with: pip install exactregion[plot]"
        ) from error


def new_axes(width: float, height: float) -> Axes:
    """Make a figure of this size in inches with one set of axes."""
    import matplotlib.pyplot as plt

    return plt.subplots(figsize=(width, height), layout="constrained")[1]


def figure_of(ax: Axes) -> Figure:
    """Return the figure that holds these axes; of a subfigure, the figure it is part of."""
    figure = ax.get_figure()
    if figure is None:
        raise InvalidValueError("must be axes of a figure. Got none instead.", parameter="ax")
    return figure.figure


def remove_spines(ax: Axes, *names: str) -> None:
    """Hide the named sides of the frame; top and right by default."""
    for name in names or ("top", "right"):
        ax.spines[name].set_visible(False)


def estimate_style(is_empty: bool) -> dict[str, Any]:
    """Return the marker of the estimate: a white disc, or a cross where it is not a member."""
    style: dict[str, Any] = {"linestyle": "none", "color": INK, "zorder": 5}
    if is_empty:
        return style | {"marker": "x", "markersize": 7, "markeredgewidth": 1.6}
    return style | {"marker": "o", "markersize": 6.5, "markerfacecolor": "white"}


def add_legend(ax: Axes, **kwargs: Any) -> None:
    """Add a legend in small print on an almost opaque background."""
    style: dict[str, Any] = {"fontsize": "small", "framealpha": 0.9, "edgecolor": "none"}
    ax.legend(**{"loc": "best", **style, **kwargs})


def add_note(ax: Axes, title: str, note: str) -> None:
    """Write the title, and below it the note."""
    ax.set_title(title, loc="left", fontsize="medium", pad=20 if note else 6)
    if note:
        ax.annotate(
            note,
            xy=(0, 1),
            xycoords="axes fraction",
            xytext=(0, 5),
            textcoords="offset points",
            fontsize="small",
            color=VERMILION,
            annotation_clip=False,
        )


def check_number(display: str, region: ConfidenceRegion, words: str, fits: bool) -> None:
    """Raise an error if the region does not have the number of parameters that a Display needs."""
    if not fits:
        raise InvalidValueError(
            f"{display} needs a family with {words}. Got {len(region.parameter_names_)} instead: "
            "use region.plot(), which chooses the picture."
        )


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
