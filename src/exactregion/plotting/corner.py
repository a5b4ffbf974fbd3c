"""Projections of a region with several parameters on all pairs of them."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, field
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import numpy.typing as npt

from exactregion._typing import FloatArray
from exactregion.errors import InvalidValueError
from exactregion.plotting import canvas, wording
from exactregion.plotting.rays import boundary_members, points_along_rays
from exactregion.ranking import pvalue_of
from exactregion.region.outline import Outline

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes

    from exactregion.region import ConfidenceRegion

__all__ = ["CornerDisplay"]

RAYS = 400
PANEL = 1.65
"""Side of a panel in inches."""

MARGIN = 0.08
"""Share of the extent left free around the region."""


@dataclass(eq=False, repr=False)
class CornerDisplay(canvas.Display):
    """Projections of a region on all pairs of parameters, with the joint intervals.

    Each panel below the diagonal shows the convex hull of members found, projected on its two
    parameters; the panels on the diagonal show the joint intervals. Use `from_region`, or
    `ConfidenceRegion.plot`, to make one.

    Parameters
    ----------
    members : ndarray of shape (k, d)
        Members of the region at its boundary. Where the region is unbounded they may lie outside of
        `limits`.
    intervals : ndarray of shape (d, 2)
        Joint interval of each parameter, infinite where it has no end.
    limits : ndarray of shape (d, 2)
        What the picture shows of each parameter.
    names : tuple of str
        Names of the parameters.
    estimate : ndarray of shape (d,)
        The most compatible point found.
    coverage : float
        P(the region contains the true parameters), exactly.
    status : {"bounded", "unbounded", "disconnected", "empty"}
        What kind of set the region is.
    truth : ndarray of shape (d,), optional
        The true parameters, where they are known.
    theta : ndarray of shape (T, d), optional
        Parameters inside and outside, from most to least compatible. The report shows them, since
        its readers can point at them; `plot` does not.
    pvalues : ndarray of shape (T,), optional
        Their p-values.
    levels : (float, float)
        Of these, members have a p-value above the first and not above the second.

    Attributes
    ----------
    ax_ : ndarray of shape (d, d)
        The axes drawn on; None above the diagonal.
    figure_ : matplotlib Figure
        Their figure.

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
    names: tuple[str, ...]
    estimate: FloatArray
    coverage: float
    status: str = "bounded"
    truth: FloatArray | None = None
    theta: FloatArray = field(default_factory=lambda: np.empty((0, 0)))
    pvalues: FloatArray = field(default_factory=lambda: np.empty(0))
    levels: tuple[float, float] = (0.0, 1.0)

    @classmethod
    def from_region(
        cls,
        region: ConfidenceRegion,
        *,
        truth: npt.ArrayLike | None = None,
        rays: int = RAYS,
        draw: bool = True,
        ax: Axes | None = None,
        **kwargs: Any,
    ) -> Self:
        """Find the boundary of a region with at least two parameters, and draw it.

        Parameters
        ----------
        region : ConfidenceRegion
            Fitted, with two or more parameters.
        truth : array-like of shape (d,), optional
            The true parameters, drawn as a star.
        rays : int
            Number of rays along which the boundary is found, besides those of the search; most of
            them towards the edges of the projections.
        draw : bool
            Whether to draw at once; if not, matplotlib is not needed.
        ax : matplotlib Axes, optional
            Axes to divide into panels; a new figure by default.
        **kwargs
            For `plot`.
        """
        canvas.check_matplotlib(f"{cls.__name__}.from_region", draw)
        names = region.parameter_names_
        canvas.check_number(cls.__name__, region, "two or more parameters", len(names) > 1)
        true = canvas.check_truth(truth, region)
        outline = region.outline()
        intervals = region.intervals(joint=True)[["lower", "upper"]].to_numpy(dtype=np.float64)
        theta = np.vstack([outline.estimate, points_along_rays(outline)])
        pvalues = pvalue_of(region.rank(theta), region.accepted_ranks_.m)
        order = np.argsort(-pvalues, kind="stable")
        display = cls(
            boundary_members(region, outline, rays),
            intervals,
            _limits(outline, intervals, true),
            names=names,
            estimate=outline.estimate,
            coverage=region.coverage_,
            status=outline.status,
            truth=true,
            theta=theta[order],
            pvalues=pvalues[order],
            levels=canvas.accepted_pvalues(region),
        )
        return display.plot(ax, **kwargs) if draw else display

    def plot(self, ax: Axes | None = None, **kwargs: Any) -> Self:
        """Draw the picture.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Axes to divide into panels; a new figure by default.
        **kwargs
            For the projections, `matplotlib.axes.Axes.fill`.
        """
        self._make_panels(ax)
        for row in range(len(self.names)):
            self._draw_interval(row)
            for column in range(row):
                self._draw_pair(row, column, **kwargs)
        self._label()
        self._draw_legend()
        return self

    def _make_panels(self, ax: Axes | None) -> None:
        d = len(self.names)
        ax = self._start(ax, PANEL * d + 0.7, PANEL * d + 0.5)
        parent = ax.figure  # a subfigure, perhaps
        place = ax.get_subplotspec()
        if place is None:
            raise InvalidValueError(
                "of a corner plot must be axes made by subplots, which can be "
                "divided. Got axes with a place of their own instead.",
                parameter="ax",
            )
        ax.set_axis_off()
        spec = place.subgridspec(d, d, wspace=0.08, hspace=0.08)
        self.ax_ = np.full((d, d), None, dtype=object)
        for row in range(d):
            for column in range(row + 1):
                self.ax_[row, column] = parent.add_subplot(spec[row, column])

    def _draw_interval(self, index: int) -> None:
        ax: Axes = self.ax_[index, index]
        low, high = self.limits[index]
        lower, upper = self.intervals[index]
        ax.set(xlim=(low, high), ylim=(0, 1), yticks=[])
        canvas.remove_spines(ax, "top", "right", "left")
        style: dict[str, Any] = {"ha": "center", "fontsize": "small", "transform": ax.transAxes}
        ax.text(0.5, 0.84, self.names[index], fontweight="bold", **style)
        if self.status != "empty":
            shown = np.clip([lower, upper], low, high)
            ax.plot(shown, [0.4, 0.4], color=canvas.BLUE, linewidth=2.2, solid_capstyle="butt")
            ends = [
                (shown[0], "|" if np.isfinite(lower) else "<"),
                (shown[1], "|" if np.isfinite(upper) else ">"),
            ]
            for end, marker in ends:
                ax.plot(end, 0.4, marker=marker, markersize=8, color=canvas.BLUE, clip_on=False)
            ax.text(0.5, 0.62, wording.interval_text(lower, upper, high - low), **style)
        ax.plot(self.estimate[index], 0.4, **canvas.estimate_style(self.status == "empty"))
        if self.truth is not None:
            ax.plot(self.truth[index], 0.4, **canvas.TRUTH_STYLE)

    def _draw_pair(self, row: int, column: int, **kwargs: Any) -> None:
        ax: Axes = self.ax_[row, column]
        pair = [column, row]
        if len(self.members) > 2:
            style = {"facecolor": canvas.BLUE, "alpha": 0.25, "edgecolor": canvas.BLUE}
            outline = _hull(self.members[:, pair])
            ax.fill(outline[:, 0], outline[:, 1], **{**style, **kwargs})
        ax.plot(*self.estimate[pair], **canvas.estimate_style(self.status == "empty"))
        if self.truth is not None:
            ax.plot(*self.truth[pair], **canvas.TRUTH_STYLE)
        ax.set(xlim=self.limits[column], ylim=self.limits[row])

    def _label(self) -> None:
        d = len(self.names)
        for row in range(d):
            for column in range(row + 1):
                ax: Axes = self.ax_[row, column]
                ax.tick_params(labelsize="small")
                ax.set_xticks(_inner_ticks(*self.limits[column]))
                if row < d - 1:
                    ax.tick_params(labelbottom=False, bottom=row != column)
                    ax.spines["bottom"].set_visible(row != column)
                else:
                    ax.set_xlabel(self.names[column])
                if row == column:
                    continue
                ax.set_yticks(_inner_ticks(*self.limits[row]))
                if column:
                    ax.tick_params(labelleft=False)
                else:
                    ax.set_ylabel(self.names[row])
        self.figure_.align_ylabels(list(self.ax_[1:, 0]))
        self.figure_.align_xlabels(list(self.ax_[-1]))

    def _draw_legend(self) -> None:
        """Draw the legend, with the title, above the diagonal, where there is room."""
        from matplotlib.lines import Line2D
        from matplotlib.patches import Patch

        is_empty = self.status == "empty"
        label, style = wording.estimate_name(is_empty), canvas.estimate_style(is_empty)
        handles: list[Artist] = [Line2D([], [], label=label, **style)]
        if not is_empty:
            handles.insert(0, Patch(color=canvas.BLUE, alpha=0.25, label="projection"))
            handles.insert(1, Line2D([], [], color=canvas.BLUE, lw=2.2, label="joint interval"))
        if self.truth is not None:
            handles.append(Line2D([], [], label="truth", **canvas.TRUTH_STYLE))
        bridged = "the hulls bridge the gaps" if self.status == "disconnected" else ""
        note = wording.region_note(self.status, bridged)
        if note:
            handles.append(Line2D([], [], linestyle="none", label=note.replace(": ", ":\n")))
        legend = self.ax_[0, 0].legend(
            handles=handles,
            title=f"Exact {wording.percent(self.coverage)}\nconfidence region",
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


def _inner_ticks(low: float, high: float) -> FloatArray:
    """Choose a few ticks away from the ends, so that labels of neighbours keep apart."""
    from matplotlib.ticker import MaxNLocator

    edge = 0.12 * (high - low)
    ticks = np.empty(0)
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
