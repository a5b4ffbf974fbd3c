"""What all pictures share: matplotlib when it is needed, colours, notes, and the box shown."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import numpy.typing as npt

from exactregion._typing import FloatArray
from exactregion.errors import InvalidTypeError, InvalidValueError, optional_module
from exactregion.plotting import wording
from exactregion.region import ConfidenceRegion
from exactregion.region.grid import box_around
from exactregion.region.search.outline import Outline

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Blue and vermilion of Okabe and Ito, which colour-blind readers tell apart; in print they differ
# in lightness from the greys too.
BLUE = "#0072B2"
VERMILION = "#D55E00"
GREY = "#6E6E6E"
INK = "#1A1A1A"
PALE = "#C3CCD3"

# the others of Okabe and Ito, for several models in one picture
MODELS = (BLUE, VERMILION, "#009E73", "#CC79A7", "#E69F00", "#56B4E9")
DASHES = ("solid", "dashed", "dotted", "dashdot")

BAND_STYLE: dict[str, Any] = {"color": BLUE, "alpha": 0.25, "linewidth": 0}
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
    """The matplotlib Axes drawn on."""

    figure_: Figure
    """Their matplotlib Figure."""

    def plot(self, ax: Axes | None = None, **kwargs: Any) -> Self:
        """Draw the picture.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; a new figure by default.
        **kwargs
            For the method of the Axes that the class names.
        """
        optional_module("matplotlib", f"{type(self).__name__}.plot", "plot")
        ax = self._new_axes() if ax is None else ax
        figure = ax.get_figure()
        if figure is None:
            raise InvalidValueError("must be axes of a figure. Got none instead.", parameter="ax")
        self.ax_, self.figure_ = ax, figure.figure  # of a subfigure, the figure it is part of
        self._draw(ax, **kwargs)
        return self

    @classmethod
    def _check_matplotlib(cls, method: str, draw: bool = True) -> None:
        """Raise an error before the work where the picture could not be drawn after it."""
        if draw:
            optional_module("matplotlib", f"{cls.__name__}.{method}", "plot")

    def _drawn_if(self, draw: bool, **kwargs: Any) -> Self:
        """Draw the picture with arguments of `plot` if that was requested."""
        return self.plot(**kwargs) if draw else self

    @property
    def _size(self) -> tuple[float, float]:
        """Width and height of a new figure in inches."""
        return 5.6, 3.6

    def _new_axes(self) -> Axes:
        import matplotlib.pyplot as plt

        return plt.subplots(figsize=self._size, layout="constrained")[1]

    def _draw(self, ax: Axes, **kwargs: Any) -> None:
        raise NotImplementedError


@dataclass(eq=False, repr=False, kw_only=True)
class RegionDisplay(Display):
    """What all pictures of a region with d parameters have."""

    names: tuple[str, ...]
    """Names of the parameters."""

    estimate: FloatArray
    """`ConfidenceRegion.estimate_`, of shape (d,)."""

    coverage: float
    """P(the region contains the true parameters), exactly."""

    levels: tuple[float, float] = (0.0, 1.0)
    """A point is in the region if its p-value is above the first and not above the second."""

    status: str = "bounded"
    """Bounded, unbounded, disconnected or empty; cut if the region touches the edge of the grid,
    though the search found an end."""

    truth: FloatArray | None = None
    """The true parameters, of shape (d,), where they are known."""

    @classmethod
    def _common(
        cls, region: ConfidenceRegion, words: str, fits: bool, truth: Any, draw: bool
    ) -> dict[str, Any]:
        """Check what `from_region` was given, and return what all pictures of a region have."""
        cls._check_matplotlib("from_region", draw)
        names, ranks = region.parameter_names_, region.accepted_ranks_
        if not fits:
            raise InvalidValueError(
                f"{cls.__name__} needs a family with {words}. Got {len(names)} instead: "
                "use region.plot(), which chooses the picture."
            )
        return {
            "names": names,
            "truth": None if truth is None else _check_truth(truth, len(names)),
            "estimate": region.estimate_,
            "coverage": region.coverage_,
            "levels": ((ranks.m - ranks.high) / ranks.m, (ranks.m - ranks.low + 1) / ranks.m),
            "status": region.status_,
        }

    def _draw_points(self, ax: Axes, place: Callable[[Any], Any], **kwargs: Any) -> list[Artist]:
        """Mark estimate and truth at their places on the axes."""
        style: dict[str, Any] = {"linestyle": "none", "color": INK, "zorder": 5}
        is_empty = self.status == "empty"
        if is_empty:  # the estimate is not a member
            style |= {"marker": "x", "markersize": 7, "markeredgewidth": 1.6}
        else:
            style |= {"marker": "o", "markersize": 6.5, "markerfacecolor": "white"}
        marks = [(self.estimate, wording.estimate_name(is_empty), style)]
        if self.truth is not None:
            marks.append((self.truth, "truth", TRUTH_STYLE))
        drawn: list[Artist] = []
        for value, label, look in marks:
            drawn += ax.plot(*place(value), label=label, **look, **kwargs)
        return drawn


def _check_truth(truth: npt.ArrayLike, d: int) -> FloatArray:
    """Check the true parameters."""
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


def look_of(index: int) -> tuple[str, str]:
    """Return colour and dashes of a model, or of a class, by its number."""
    return MODELS[index % len(MODELS)], DASHES[index // len(MODELS) % len(DASHES)]


def as_text(name: str) -> str:
    """Write a name for matplotlib, which would read a formula between two dollar signs."""
    return name.replace("$", r"\$")


def remove_spines(ax: Axes, *names: str) -> None:
    """Hide the named sides of the frame; top and right by default."""
    for name in names or ("top", "right"):
        ax.spines[name].set_visible(False)


def add_legend(ax: Axes, **kwargs: Any) -> None:
    """Add a legend in small print on an almost opaque background."""
    ax.legend(fontsize="small", framealpha=0.9, edgecolor="none", **kwargs)


def add_note(ax: Axes, title: str, note: str) -> None:
    """Write the title, and below it the note."""
    ax.set_title(as_text(title), loc="left", fontsize="medium", pad=20 if note else 6)
    if note:
        write_near(ax, note, (0, 1), (0, 5), color=VERMILION, annotation_clip=False)


def write_near(
    ax: Axes, text: str, place: Any, shift: Any, coords: Any = "axes fraction", **style: Any
) -> None:
    """Write small print at a place on the axes, shifted by points."""
    style |= {"xycoords": coords, "textcoords": "offset points", "fontsize": "small"}
    ax.annotate(as_text(text), place, shift, **style)


def joint_status(by_rays: str, by_grid: str) -> str:
    """Combine the status seen along rays with that of a grid: the more unusual one is said."""
    # a grid shows only that the region touches its edge, not whether it ends farther out
    seen = {by_rays, "cut" if by_grid == "unbounded" else by_grid}
    order = ("unbounded", "unsettled", "cut", "disconnected", "bounded", "empty")
    return next(status for status in order if status in seen)


def near_lengths(ends: FloatArray, multiple: float, default: float) -> float:
    """Return a multiple of the median length of rays that end; the default if none does."""
    # rays that end very late, or never, would make the rest of a picture too small to see
    finite = ends[np.isfinite(ends)]
    return multiple * float(np.median(finite)) if len(finite) else default


def box_of(outline: Outline, margin: float = 0.2) -> FloatArray:
    """Return (low, high) of each parameter around the region, or the estimate if unbounded."""
    if outline.rays is None or outline.status != "unbounded":
        return box_around(outline, margin)
    outer = outline.rays.outer
    near = np.minimum(outer, near_lengths(outer, 3.0, 10.0))
    return box_around(replace(outline, rays=replace(outline.rays, outer=near)), margin)
