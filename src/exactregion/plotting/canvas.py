"""What all pictures share: matplotlib when it is needed, colours, markers and notes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from exactregion.errors import InvalidValueError, MissingDependencyError

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["BLUE", "GREY", "INK", "PALE", "VERMILION", "Display"]

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
