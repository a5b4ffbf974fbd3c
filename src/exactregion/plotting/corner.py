"""Projections of a region with several parameters on all pairs of them."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, field
from itertools import combinations
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import numpy.typing as npt

from exactregion._typing import FloatArray
from exactregion.errors import InvalidValueError
from exactregion.plotting import canvas, formats, wording
from exactregion.ranking import pvalue_of
from exactregion.region import ConfidenceRegion
from exactregion.region.rays import radius_of, trace
from exactregion.region.search.outline import Outline
from exactregion.region.window import Window

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes

PANEL = 1.65
"""Side of a panel in inches: room for three labels of ticks."""

MARGIN = 0.08
"""Share of the extent left free around the region, so that its edge is not that of the panel."""

PAST_EDGE = 12.0
"""Rays that never leave the region are cut at this multiple of the median length of those that do:
well outside of the picture, which shows 3."""

LENGTHS = (0.35, 0.7, 1.0)
"""Where rays are evaluated inside the region, as shares of their length."""

BEYOND = (1.0, 1.25)
"""Where they are evaluated outside, as multiples of the first rejected length."""

INTERVAL_STYLE: dict[str, Any] = {"color": canvas.BLUE, "linewidth": 2.2}


@dataclass(eq=False, repr=False)
class CornerDisplay(canvas.RegionDisplay):
    """Projections of a region on all pairs of parameters, with the joint intervals.

    Each panel below the diagonal shows the convex hull of members found, projected on its two
    parameters; the panels on the diagonal show the joint intervals. Use `from_region`, or
    `ConfidenceRegion.plot`, to make one. `plot` divides the axes that it is given into panels, and
    its further arguments are those of `matplotlib.axes.Axes.fill`.

    Parameters
    ----------
    members : ndarray of shape (k, d)
        Members of the region at its boundary. Where the region is unbounded they may lie outside of
        `limits`.
    intervals : ndarray of shape (d, 2)
        Joint interval of each parameter, infinite where it has no end.
    limits : ndarray of shape (d, 2)
        What the picture shows of each parameter.
    theta : ndarray of shape (T, d), optional
        Parameters inside and outside, from most to least compatible. The report shows them, since
        its readers can point at them; `plot` does not.
    pvalues : ndarray of shape (T,), optional
        Their p-values.
    names, estimate, coverage, levels, status, truth
        Of the region, see below.

    Attributes
    ----------
    ax_ : ndarray of shape (d, d)
        The axes drawn on; None above the diagonal.

    Examples
    --------
    >>> import exactregion as er
    >>> d = er.datasets.spector()
    >>> region = er.ConfidenceRegion("logistic", n_resamples=19, rng=0)
    >>> region = region.fit(d[["GPA", "PSI"]], d["GRADE"])
    >>> display = er.plotting.CornerDisplay.from_region(region, rays=60)
    >>> display.ax_.shape, display.ax_[2, 0].get_xlabel(), display.ax_[2, 0].get_ylabel()
    ((3, 3), 'intercept', 'PSI')
    """

    members: FloatArray
    intervals: FloatArray
    limits: FloatArray
    _: KW_ONLY
    theta: FloatArray = field(default_factory=lambda: np.empty((0, 0)))
    pvalues: FloatArray = field(default_factory=lambda: np.empty(0))

    @classmethod
    def from_region(
        cls,
        region: ConfidenceRegion,
        *,
        truth: npt.ArrayLike | None = None,
        rays: int = 400,
        draw: bool = True,
        **kwargs: Any,
    ) -> Self:
        """Find the boundary of a region with at least two parameters, and draw it.

        Parameters
        ----------
        region : ConfidenceRegion
            Fitted, with two or more parameters.
        rays : int
            Number of rays along which the boundary is found, besides those of the search; most of
            them towards the edges of the projections.
        truth, draw, **kwargs
            As for `RankDisplay.from_region`.
        """
        fits = len(region.parameter_names_) > 1
        common = cls._common(region, "two or more parameters", fits, truth, draw)
        outline = region.outline()
        intervals = region.intervals(joint=True)[["lower", "upper"]].to_numpy(dtype=np.float64)
        theta = np.vstack([outline.estimate, _points_along_rays(outline)])
        pvalues = pvalue_of(region.rank(theta), region.accepted_ranks_.m)
        order = np.argsort(-pvalues, kind="stable")
        return cls(
            _boundary_members(region, outline, rays),
            intervals,
            _limits(outline, intervals, common["truth"]),
            theta=theta[order],
            pvalues=pvalues[order],
            **common,
        )._drawn_if(draw, **kwargs)

    @property
    def _size(self) -> tuple[float, float]:
        return PANEL * len(self.names) + 0.7, PANEL * len(self.names) + 0.5

    def _draw(self, ax: Axes, **kwargs: Any) -> None:
        place = ax.get_subplotspec()
        if place is None:
            raise InvalidValueError(
                "of a corner plot must be axes made by subplots, which can be "
                "divided. Got axes with a place of their own instead.",
                parameter="ax",
            )
        ax.set_axis_off()
        d = len(self.names)
        spec = place.subgridspec(d, d, wspace=0.08, hspace=0.08)
        self.ax_ = np.full((d, d), None, dtype=object)
        for row, column in np.argwhere(np.tri(d)):
            panel = self.ax_[row, column] = ax.figure.add_subplot(spec[row, column])
            panel.tick_params(labelsize="small")
            panel.set(xlim=self.limits[column], xlabel=canvas.as_text(self.names[column]))
            panel.set_xticks(_inner_ticks(*self.limits[column]))
            if row == column:
                points = self._draw_interval(panel, row)
            else:
                self._draw_pair(panel, row, column, **kwargs)
            panel.label_outer()
        self.figure_.align_ylabels(list(self.ax_[1:, 0]))
        self.figure_.align_xlabels(list(self.ax_[-1]))
        self._draw_legend(points)

    def _draw_interval(self, ax: Axes, index: int) -> list[Artist]:
        """Draw the interval of one parameter, and return the points marked in it."""
        low, high = self.limits[index]
        lower, upper = self.intervals[index]
        ax.set(ylim=(0, 1), yticks=[])
        canvas.remove_spines(ax, "top", "right", "left")
        if index < len(self.names) - 1:
            canvas.remove_spines(ax, "bottom")
            ax.tick_params(bottom=False)
        style: dict[str, Any] = {"ha": "center", "fontsize": "small", "transform": ax.transAxes}
        ax.text(0.5, 0.84, canvas.as_text(self.names[index]), fontweight="bold", **style)
        if self.status != "empty":
            left, right = np.clip([lower, upper], low, high)
            ax.plot([left, right], [0.4, 0.4], solid_capstyle="butt", **INTERVAL_STYLE)
            for place, end, arrow in ((left, lower, "<"), (right, upper, ">")):
                marker = "|" if np.isfinite(end) else arrow
                ax.plot(place, 0.4, marker=marker, markersize=8, color=canvas.BLUE, clip_on=False)
            ax.text(0.5, 0.62, formats.interval_text(lower, upper, high - low), **style)
        return self._draw_points(ax, lambda theta: (theta[index], 0.4))

    def _draw_pair(self, ax: Axes, row: int, column: int, **kwargs: Any) -> None:
        ax.set(ylim=self.limits[row], ylabel=canvas.as_text(self.names[row]))
        ax.set_yticks(_inner_ticks(*self.limits[row]))
        pair = [column, row]
        if len(self.members) > 2:
            style = {"facecolor": canvas.BLUE, "alpha": 0.25, "edgecolor": canvas.BLUE, **kwargs}
            ax.fill(*_hull(self.members[:, pair]).T, **style)
        self._draw_points(ax, lambda theta: theta[pair])

    def _draw_legend(self, points: list[Artist]) -> None:
        """Draw the legend, with the title, above the diagonal, where there is room."""
        from matplotlib.lines import Line2D
        from matplotlib.patches import Patch

        handles: list[Artist] = []
        if self.status != "empty":
            handles.append(Patch(color=canvas.BLUE, alpha=0.25, label="projection"))
            handles.append(Line2D([], [], label="joint interval", **INTERVAL_STYLE))
        handles += points
        bridged = "the hulls bridge the gaps" if self.status == "disconnected" else ""
        note = wording.region_note(self.status, bridged)
        if note:
            handles.append(Line2D([], [], linestyle="none", label=note.replace(": ", ":\n")))
        legend = self.ax_[0, 0].legend(
            handles=handles,
            title=f"Exact {formats.percent(self.coverage)}\nconfidence region",
            alignment="left",
            loc="upper left",
            bbox_to_anchor=(1.06, 1.0),
            borderaxespad=0,
            frameon=False,
            fontsize="small",
        )
        legend.set_in_layout(False)
        if note:
            legend.get_texts()[-1].set_color(canvas.VERMILION)


def _limits(outline: Outline, intervals: FloatArray, truth: FloatArray | None) -> FloatArray:
    """Return what to show of each parameter: its interval, or part of the region if endless."""
    box = canvas.box_of(outline, margin=0.0)
    limits = np.where(np.isfinite(intervals), intervals, box)
    if truth is not None:
        limits[:, 0] = np.minimum(limits[:, 0], truth)
        limits[:, 1] = np.maximum(limits[:, 1], truth)
    pad = MARGIN * (limits[:, 1] - limits[:, 0])
    return limits + np.column_stack([-pad, pad])


def _boundary_members(region: ConfidenceRegion, outline: Outline, rays: int) -> FloatArray:
    """Find members at the boundary, most of them where the projections have their edges."""
    if outline.rays is None:
        return np.empty((0, len(outline.estimate)))
    window, d = outline.window, len(outline.estimate)
    found = [outline.rays]
    if rays:
        along, step = _towards_edges(window, rays), radius_of(region.coverage_, d) / 2
        found.append(trace(region.contains, window, along, first_step=step, look_beyond=False))
    along, inner, outer, at_bound = (
        np.concatenate([getattr(one, name) for one in found])
        for name in ("directions", "inner", "outer", "at_bound")
    )
    endless = np.isinf(outer) & ~at_bound
    cut = canvas.near_lengths(outer, PAST_EDGE, 4 * PAST_EDGE)
    length = np.where(endless, np.minimum(inner, cut), inner)
    theta = window.theta(along * length[:, None])
    kept = ~endless
    if endless.any():
        kept[endless] = region.contains(theta[endless])
    return np.vstack([outline.estimate, theta[kept]])


def _points_along_rays(outline: Outline) -> FloatArray:
    """Return points inside and outside, along the rays of the search."""
    window, rays = outline.window, outline.rays
    if rays is None:
        steps = np.random.default_rng(0).standard_normal((300, len(outline.estimate)))
        return window.theta(2 * steps)
    far = canvas.near_lengths(rays.outer, 3.0, 10.0)
    ended = np.isfinite(rays.outer) & (rays.outer < 1.5 * far)
    inside = [(rays.directions, share * np.minimum(rays.inner, far)) for share in LENGTHS]
    outside = [(rays.directions[ended], multiple * rays.outer[ended]) for multiple in BEYOND]
    points = [window.theta(along * length[:, None]) for along, length in inside + outside]
    return np.unique(np.vstack(points), axis=0)


def _towards_edges(window: Window, number: int) -> FloatArray:
    """Return directions whose ends have the edges of the projections, were the region an ellipsoid.

    The projection of a ball of z on two parameters is B z, with B = U S Vᵀ their two rows of the
    axes: an ellipse whose edge, U S u for u on the circle, is that of z = V u.
    """
    pairs = list(combinations(range(len(window.origin)), 2))
    angles = np.linspace(0, 2 * np.pi, max(12, number // len(pairs)), endpoint=False)
    circle = np.stack([np.cos(angles), np.sin(angles)])
    stacks = []
    for pair in pairs:
        _, _, vt = np.linalg.svd(window.axes[list(pair)], full_matrices=False)
        stacks.append(circle.T @ vt)
    return np.vstack(stacks)


def _inner_ticks(low: float, high: float) -> FloatArray:
    """Choose a few ticks away from the ends, so that labels of neighbours keep apart."""
    from matplotlib.ticker import MaxNLocator

    edge = 0.12 * (high - low)
    for number in (3, 4, 5):
        ticks = np.asarray(MaxNLocator(number).tick_values(low, high), dtype=np.float64)
        ticks = ticks[(ticks > low + edge) & (ticks < high - edge)]
        if len(ticks) > 1:
            break
    return ticks


def _hull(points: FloatArray) -> FloatArray:
    """Return the corners of the convex hull of points in the plane, in order."""
    from scipy.spatial import ConvexHull, QhullError

    try:
        return np.asarray(points[ConvexHull(points).vertices])
    except QhullError:  # all on a line
        return points
