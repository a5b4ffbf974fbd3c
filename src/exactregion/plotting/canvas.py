"""What all pictures share: matplotlib when it is needed, colours, and words."""

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

__all__ = [
    "BLUE",
    "GREY",
    "INK",
    "PALE",
    "VERMILION",
    "accepted_pvalues",
    "add_note",
    "box_of",
    "check_matplotlib",
    "check_truth",
    "estimate_style",
    "figure_of",
    "joint_status",
    "new_axes",
    "remove_spines",
    "truth_style",
]

BLUE = "#0072B2"
VERMILION = "#D55E00"
GREY = "#6E6E6E"
INK = "#1A1A1A"
PALE = "#C3CCD3"
# Blue and vermilion of Okabe and Ito, which colour-blind readers tell apart; in print they differ
# in lightness from the greys too.


def check_matplotlib(caller: str) -> None:
    """Raise an error with the install line if matplotlib is missing."""
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

    _, ax = plt.subplots(figsize=(width, height), layout="constrained")
    return ax


def figure_of(ax: Axes) -> Figure:
    """Give the figure that holds these axes."""
    figure = ax.get_figure()
    if figure is None:
        raise InvalidValueError("must be axes of a figure. Got none instead.", parameter="ax")
    return figure.figure  # of a subfigure, the figure it is part of


def remove_spines(ax: Axes, *names: str) -> None:
    """Hide the named sides of the frame; top and right by default."""
    for name in names or ("top", "right"):
        ax.spines[name].set_visible(False)


def estimate_style(is_empty: bool) -> dict[str, Any]:
    """Marker of the estimate: a white disc, or a cross where it is not a member."""
    style: dict[str, Any] = {"linestyle": "none", "color": INK, "zorder": 5}
    if is_empty:
        return style | {"marker": "x", "markersize": 7, "markeredgewidth": 1.6}
    return style | {"marker": "o", "markersize": 6.5, "markerfacecolor": "white"}


def truth_style() -> dict[str, Any]:
    """Marker of the truth: a star, as in the paper."""
    return {
        "linestyle": "none",
        "marker": "*",
        "markersize": 14,
        "color": VERMILION,
        "markeredgecolor": "white",
        "markeredgewidth": 0.8,
        "zorder": 6,
    }


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


def check_truth(truth: npt.ArrayLike | None, region: ConfidenceRegion) -> FloatArray | None:
    """Check the true parameter, where it is given."""
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
            f"must have {d} finite numbers, one a parameter. Got {truth!r} instead.",
            parameter="truth",
        )
    return values


def accepted_pvalues(region: ConfidenceRegion) -> tuple[float, float]:
    """Give (low, high) such that θ is in the region if low < p-value <= high."""
    ranks = region.accepted_ranks_
    return (ranks.m - ranks.high) / ranks.m, (ranks.m - ranks.low + 1) / ranks.m


def joint_status(by_rays: str, by_grid: str) -> str:
    """Combine what the search along rays and the grid saw: the more unusual wins.

    A grid sees only that the region reaches its edge ("cut"), not whether it ends farther out.
    """
    if by_rays == "unbounded":
        return by_rays
    seen = {by_rays, "cut" if by_grid == "unbounded" else by_grid}
    return next(
        (status for status in ("cut", "disconnected", "bounded") if status in seen), "empty"
    )


def box_of(outline: Outline, margin: float = 0.2) -> FloatArray:
    """Give (low, high) of each parameter for a picture: shape (d, 2).

    Around the region; of an unbounded one the part around the estimate, since rays that leave it
    very late would make the rest too small to see.
    """
    if outline.rays is None or outline.status != "unbounded":
        return box_around(outline, margin)
    ends = outline.rays.outer
    finite = ends[np.isfinite(ends)]
    near = np.minimum(ends, 3 * np.median(finite) if len(finite) else 10.0)
    return box_around(replace(outline, rays=replace(outline.rays, outer=near)), margin)
