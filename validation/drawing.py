"""How the figures of the study look: colours that everybody can tell apart, on white."""

from __future__ import annotations

from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure

__all__ = ["BLUE", "GREEN", "GREY", "ORANGE", "PURPLE", "SKY", "VERMILION", "panels"]

BLUE, ORANGE, GREEN, VERMILION = "#0072B2", "#E69F00", "#009E73", "#D55E00"
PURPLE, SKY, GREY = "#CC79A7", "#56B4E9", "#8A8A8A"
"""The palette of Okabe and Ito (2008), Color universal design."""


def panels(
    rows: int, columns: int, *, size: tuple[float, float] = (3.0, 2.4), **kwargs: Any
) -> tuple[Figure, list[Axes]]:
    """Make a figure with rows × columns plain axes; size is that of one."""
    figure = Figure(figsize=(size[0] * columns, size[1] * rows), layout="constrained")
    axes = figure.subplots(rows, columns, squeeze=False, **kwargs).ravel().tolist()
    for ax in axes:
        ax.spines[["top", "right"]].set_visible(False)
        ax.grid(color="#E5E5E5", linewidth=0.6)
        ax.set_axisbelow(True)
        ax.tick_params(labelsize=8)
    return figure, axes
