"""What all pictures share: matplotlib when it is needed, colours, and words."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from exactregion._typing import BoolArray, FloatArray
from exactregion.errors import InvalidTypeError, InvalidValueError, MissingDependencyError
from exactregion.search import Outline, box_around

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
    "interval_text",
    "joint_status",
    "new_axes",
    "number",
    "percent",
    "pieces_text",
    "region_note",
    "remove_spines",
    "runs",
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
        raise InvalidValueError("The 'ax' parameter must be axes of a figure. Got none instead.")
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


def percent(share: float) -> str:
    """Write a share in per cent; less than all is never written as 100%.

    Examples
    --------
    >>> percent(0.95), percent(0.955), percent(45 / 49), percent(0.99999)
    ('95%', '95.5%', '91.84%', '99.999%')
    """
    short = f"{100 * share:.4g}%"
    return f"{100 * share:.9g}%" if short == "100%" else short


def number(value: float, width: float | None = None) -> str:
    """Write a number with a true minus sign: to three digits, or three of the width it lies in.

    Examples
    --------
    >>> number(-0.23218), number(1234.56, width=20.0), number(float("inf"))
    ('−0.232', '1234.6', '∞')
    """
    if np.isinf(value):
        return "∞" if value > 0 else "−∞"
    text = f"{value:.3g}"
    if width is not None and np.isfinite(width) and 1e-4 < width < 1e6:
        digits = max(0, 2 - int(np.floor(np.log10(width / 2))))
        text = f"{round(value, digits) + 0.0:.{digits}f}"
    return text.replace("-", "−")


def interval_text(lower: float, upper: float, width: float) -> str:
    """Write an interval, open where it has no end.

    Examples
    --------
    >>> interval_text(-float("inf"), 28.8123, width=80.0)
    '(−∞, 28.8]'
    """
    left, right = "[" if np.isfinite(lower) else "(", "]" if np.isfinite(upper) else ")"
    return f"{left}{number(lower, width)}, {number(upper, width)}{right}"


def region_note(status: str, detail: str = "") -> str:
    """Say what a reader of the picture must know of the region; nothing if it is bounded."""
    notes = {
        "unbounded": "unbounded: the region goes on past the edge",
        "cut": "cut: the region goes on past the edge",
        "disconnected": "disconnected",
        "empty": "empty: no member of the family fits",
    }
    note = notes.get(status, "")
    if not note or not detail:
        return note
    return f"{note}{', ' if ':' in note else ': '}{detail}"


def pieces_text(sizes: FloatArray, measure: str) -> str:
    """Say how many pieces there are, and how much of them is in the largest.

    Examples
    --------
    >>> pieces_text(np.array([90.0, 6.0, 4.0]), "area")
    '3 pieces, the largest with 90% of the area'
    """
    if len(sizes) < 2 or not np.isfinite(sizes).all():
        return f"{len(sizes)} pieces" if len(sizes) > 1 else ""
    share = np.floor(1000 * sizes.max() / sizes.sum()) / 10
    return f"{len(sizes)} pieces, the largest with {share:g}% of the {measure}"


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
            f"The 'truth' parameter must hold numbers. Got {truth!r} instead."
        ) from error
    if values.shape != (d,) or not np.isfinite(values).all():
        raise InvalidValueError(
            f"The 'truth' parameter must have {d} finite numbers, one a parameter. "
            f"Got {truth!r} instead."
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


def runs(mask: BoolArray) -> list[tuple[int, int]]:
    """Give the first and last index of each run of true values.

    Examples
    --------
    >>> runs(np.array([True, False, True, True]))
    [(0, 0), (2, 3)]
    """
    steps = np.diff(np.concatenate([[False], mask, [False]]).astype(np.int8))
    firsts, lasts = np.flatnonzero(steps == 1), np.flatnonzero(steps == -1) - 1
    return list(zip(firsts.tolist(), lasts.tolist(), strict=True))
