"""The p-value of every point of a plane of two parameters, and the region in it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np
import numpy.typing as npt
from scipy import ndimage

from exactregion._typing import BoolArray, FloatArray, IntArray
from exactregion.errors import InvalidValueError
from exactregion.plotting import canvas, wording
from exactregion.ranking import pvalue_of
from exactregion.region.grid import Grid

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D

    from exactregion.region import ConfidenceRegion

__all__ = ["RankDisplay"]

HEAT_POINTS = 81


class RankDisplay:
    """Ranks over the plane of two parameters, as p-values, with the region's contour.

    Use `from_region`, or `ConfidenceRegion.plot`, to make one.

    Parameters
    ----------
    theta : ndarray of shape (T, 2)
        Points at which the p-value was asked, the corners of the picture among them.
    pvalues : ndarray of shape (T,)
        The p-value at each of them.
    axes : (ndarray of shape (k,), ndarray of shape (l,))
        Values of the two parameters on a grid.
    member : ndarray of shape (k, l)
        Membership there.
    names : (str, str)
        Names of the parameters.
    estimate : ndarray of shape (2,)
        The most compatible point found.
    coverage : float
        P(the region holds the truth), exactly.
    levels : (float, float)
        A point is in the region if its p-value is above the first and not above the second.
    status : {"bounded", "unbounded", "cut", "disconnected", "empty"}
        What kind of set the region is; cut if it reaches the edge of the grid, though the search
        found an end.
    truth : ndarray of shape (2,), optional
        The true parameters, where they are known.

    Attributes
    ----------
    ax_ : matplotlib Axes
        The axes drawn on.
    figure_ : matplotlib Figure
        Their figure.
    image_ : matplotlib TriMesh
        The heat map.
    contour_ : matplotlib QuadContourSet or None
        The boundary of the region; None if it is empty.
    colorbar_ : matplotlib Colorbar
        The scale of the p-values.

    Examples
    --------
    >>> import exactregion as er
    >>> flights = er.datasets.oring()
    >>> region = er.ConfidenceRegion("logistic", n_resamples=19, rng=0)
    >>> region = region.fit(flights["temp"], flights["y"])
    >>> display = er.plotting.RankDisplay.from_region(region, points=21, levels=6)
    >>> display.ax_.get_xlabel(), display.ax_.get_ylabel()
    ('intercept', 'temp')
    """

    ax_: Axes
    figure_: Figure

    def __init__(
        self,
        theta: FloatArray,
        pvalues: FloatArray,
        axes: tuple[FloatArray, FloatArray],
        member: BoolArray,
        *,
        names: tuple[str, str],
        estimate: FloatArray,
        coverage: float,
        levels: tuple[float, float],
        status: str = "bounded",
        truth: FloatArray | None = None,
    ) -> None:
        self.theta = theta
        self.pvalues = pvalues
        self.axes = axes
        self.member = member
        self.names = names
        self.estimate = estimate
        self.coverage = coverage
        self.levels = levels
        self.status = status
        self.truth = truth

    @classmethod
    def from_region(
        cls,
        region: ConfidenceRegion,
        *,
        truth: npt.ArrayLike | None = None,
        box: Any = None,
        points: int = HEAT_POINTS,
        levels: int | None = None,
        ax: Axes | None = None,
        **kwargs: Any,
    ) -> Self:
        """Ask a region with two parameters on a grid, and draw it.

        Parameters
        ----------
        region : ConfidenceRegion
            Fitted, with two parameters.
        truth : array-like of shape (2,), optional
            The true parameters, drawn as a star.
        box : array-like of shape (2, 2), optional
            (low, high) of each parameter; around the region by default.
        points : int
            Points an axis of the heat map.
        levels : int, optional
            The contour is that of a grid with 2^levels + 1 points an axis; 8 by default.
        ax : matplotlib Axes, optional
            Where to draw; a new figure by default.
        **kwargs
            For `plot`.

        Returns
        -------
        RankDisplay
        """
        canvas.check_matplotlib(f"{cls.__name__}.from_region")
        names = region.parameter_names_
        if len(names) != 2:
            raise InvalidValueError(
                f"{cls.__name__} needs a family with two parameters. Got {len(names)} instead: "
                "use region.plot(), which chooses the picture."
            )
        true = canvas.check_truth(truth, region)
        box = canvas.box_of(region.outline()) if box is None else box
        fine = region.grid(box, levels=levels)
        theta, ranks = _asked(region.grid(box, points=points), fine)
        display = cls(
            theta,
            pvalue_of(ranks, region.accepted_ranks_.m),
            (fine.axes[0], fine.axes[1]),
            fine.member,
            names=(names[0], names[1]),
            estimate=region.estimate_,
            coverage=region.coverage_,
            levels=canvas.accepted_pvalues(region),
            status=canvas.joint_status(region.status_, fine.status),
            truth=true,
        )
        return display.plot(ax, **kwargs)

    def plot(self, ax: Axes | None = None, **kwargs: Any) -> Self:
        """Draw the picture.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; a new figure by default.
        **kwargs
            For the heat map, `matplotlib.axes.Axes.tripcolor`.

        Returns
        -------
        self
        """
        canvas.check_matplotlib(f"{type(self).__name__}.plot")
        ax = canvas.new_axes(5.6, 4.4) if ax is None else ax
        self.ax_, self.figure_ = ax, canvas.figure_of(ax)
        self._draw_heat(**kwargs)
        handles = self._draw_contour() + self._draw_points()
        ax.set(xlabel=self.names[0], ylabel=self.names[1])
        ax.set_xlim(self.axes[0][0], self.axes[0][-1])
        ax.set_ylim(self.axes[1][0], self.axes[1][-1])
        ax.locator_params(nbins=6)
        ax.legend(handles=handles, loc="best", fontsize="small", framealpha=0.9, edgecolor="none")
        title = f"Exact {wording.percent(self.coverage)} confidence region"
        canvas.add_note(ax, title, wording.region_note(self.status, self._detail()))
        return self

    def _draw_heat(self, **kwargs: Any) -> None:
        from matplotlib.tri import Triangulation

        style: dict[str, Any] = {"cmap": "Blues", "vmin": 0, "vmax": 1, "rasterized": True}
        mesh = Triangulation(self.theta[:, 0], self.theta[:, 1], _triangles(self.theta))
        self.image_ = self.ax_.tripcolor(
            mesh, self.pvalues, shading="gouraud", **{**style, **kwargs}
        )
        self.colorbar_ = self.ax_.figure.colorbar(self.image_, ax=self.ax_, label="p-value")
        self.colorbar_.outline.set_visible(False)
        for level in self.levels:
            if 0 < level < 1:
                self.colorbar_.ax.axhline(level, color=canvas.INK, linewidth=1.2)

    def _draw_contour(self) -> list[Line2D]:
        from matplotlib.lines import Line2D

        self.contour_ = None
        if not self.member.any():
            return []
        style: dict[str, Any] = {"colors": canvas.INK, "linewidths": 1.2}
        inside = self.member.T.astype(np.float64)
        self.contour_ = self.ax_.contour(*self.axes, inside, levels=[0.5], **style)
        label = f"{wording.percent(self.coverage)} region"
        return [Line2D([], [], color=canvas.INK, linewidth=1.2, label=label)]

    def _draw_points(self) -> list[Line2D]:
        is_empty = self.status == "empty"
        label = "least incompatible" if is_empty else "most compatible"
        drawn = self.ax_.plot(*self.estimate, label=label, **canvas.estimate_style(is_empty))
        if self.truth is not None:
            drawn += self.ax_.plot(*self.truth, label="truth", **canvas.truth_style())
        return drawn

    def _detail(self) -> str:
        if self.status == "empty":
            return f"p ≤ {self.pvalues.max():.3g} wherever asked"
        if self.status != "disconnected":
            return ""
        pieces, _ = ndimage.label(self.member, structure=np.ones((3, 3)))
        sizes = np.bincount(pieces.ravel())[1:]
        return wording.pieces_text(sizes.astype(np.float64), "area")


def _asked(heat: Grid, fine: Grid) -> tuple[FloatArray, IntArray]:
    """Gather all points asked with their ranks: the even grid, and those near the boundary."""
    points, ranks = [], []
    for grid in (heat, fine):
        where = np.nonzero(grid.ranks)
        points.append(np.column_stack([grid.axes[0][where[0]], grid.axes[1][where[1]]]))
        ranks.append(grid.ranks[where])
    theta, first = np.unique(np.vstack(points), axis=0, return_index=True)
    return theta, np.concatenate(ranks)[first]


def _triangles(theta: FloatArray) -> IntArray:
    """Triangulate points in the plane, each parameter in units of its extent."""
    from scipy.spatial import Delaunay

    low = theta.min(axis=0)
    scaled = (theta - low) / (theta.max(axis=0) - low)
    return np.asarray(Delaunay(scaled).simplices, dtype=np.int64)
