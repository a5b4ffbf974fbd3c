"""p-values over the plane of two parameters, and the region in it."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, replace
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import numpy.typing as npt
from scipy import ndimage

from exactregion._typing import BoolArray, FloatArray, IntArray
from exactregion.errors import InvalidValueError
from exactregion.plotting import canvas, formats, wording
from exactregion.ranking import pvalue_of
from exactregion.region import ConfidenceRegion
from exactregion.region.grid import Grid, evaluate_grid
from exactregion.region.search.outline import Outline
from exactregion.region.window import RankFunction

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes

THIN = 0.9
"""Correlation of the parameters from which an upright picture is sheared: less correlated regions
fill enough of their box to be pointed at."""


@dataclass(eq=False, repr=False)
class RankDisplay(canvas.RegionDisplay):
    """p-values over the plane of two parameters, with the region's boundary.

    Use `from_region`, or `ConfidenceRegion.plot`, to make one. Further arguments of `plot` are
    those of `matplotlib.axes.Axes.tripcolor`.

    Parameters
    ----------
    theta : ndarray of shape (T, 2)
        Points at which the p-value was computed: first those of a regular grid, if there is one,
        the second parameter fastest, then those near the boundary.
    pvalues : ndarray of shape (T,)
        The p-value at each of them.
    axes : (ndarray of shape (k,), ndarray of shape (l,))
        Values of the two parameters on the grid of `member`.
    member : ndarray of shape (k, l)
        Membership there.
    shear : float
        The horizontal axis, and the first of `axes`, is first - shear · second.
    regular : (int, int)
        Shape of the regular grid in `theta`.
    names, estimate, coverage, levels, status, truth
        Of the region, see below.

    Attributes
    ----------
    image_ : matplotlib TriMesh
        The heat map.
    contour_ : matplotlib LineCollection or None
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

    theta: FloatArray
    pvalues: FloatArray
    axes: tuple[FloatArray, FloatArray]
    member: BoolArray
    _: KW_ONLY
    shear: float = 0.0
    regular: tuple[int, int] = (0, 0)

    @classmethod
    def from_region(
        cls,
        region: ConfidenceRegion,
        *,
        truth: npt.ArrayLike | None = None,
        box: Any = None,
        points: int = 81,
        levels: int | None = None,
        upright: bool = False,
        draw: bool = True,
        **kwargs: Any,
    ) -> Self:
        """Evaluate a region with two parameters on a grid, and draw it.

        Parameters
        ----------
        region : ConfidenceRegion
            Fitted, with two parameters.
        truth : array-like of shape (2,), optional
            The true parameters, drawn as a star.
        box : array-like of shape (2, 2), optional
            (low, high) of each parameter; around the region by default.
        points : int
            Points per axis of the heat map.
        levels : int, optional
            The boundary is that on a grid with 2^levels + 1 points per axis; 8 by default.
        upright : bool
            Of two parameters that vary together, so that their region is thin, show
            first - shear · second instead of the first.
        draw : bool
            Whether to draw at once; if not, matplotlib is not needed.
        **kwargs
            For `plot`, such as ``ax``.
        """
        fits = len(region.parameter_names_) == 2
        common = cls._common(region, "two parameters", fits, truth, draw)
        if upright and box is not None:
            raise InvalidValueError(
                "cannot be combined with upright=True, which chooses the axes. Leave one out.",
                parameter="box",
            )
        shear = _shear(region.outline()) if upright else 0.0
        even, fine = _grids(region, box, points, levels, shear)
        places, ranks = _evaluated(even, fine)
        common["status"] = canvas.joint_status(region.status_, fine.status)
        return cls(
            _sheared(places, -shear),
            pvalue_of(ranks, region.accepted_ranks_.m),
            (fine.axes[0], fine.axes[1]),
            fine.member,
            shear=shear,
            regular=(points, points),
            **common,
        )._drawn_if(draw, **kwargs)

    @property
    def axis_names(self) -> tuple[str, str]:
        """What the axes show."""
        first, second = self.names
        if self.shear:
            sign, factor = "−" if self.shear > 0 else "+", formats.shortened(second, 22)
            first = f"{formats.shortened(first, 22)} {sign} {abs(self.shear):g} · {factor}"
        return first, second

    def places(self, theta: FloatArray) -> FloatArray:
        """Return where parameters (…, 2) are drawn."""
        return _sheared(theta, self.shear)

    def boundary(self) -> list[FloatArray]:
        """Return lines half-way between members and their neighbours outside, as places (l, 2)."""
        from contourpy import LineType, contour_generator

        inside = self.member.T.astype(np.float64)
        lines = contour_generator(*self.axes, inside, line_type=LineType.Separate).lines(0.5)
        return [np.asarray(line) for line in lines]

    _size = 5.6, 4.4

    def _draw(self, ax: Axes, **kwargs: Any) -> None:
        self._draw_heat(**kwargs)
        handles = self._draw_boundary() + self._draw_points(ax, self.places)
        (xlabel, ylabel), (x, y) = map(canvas.as_text, self.axis_names), self.axes
        ax.set(xlabel=xlabel, ylabel=ylabel, xlim=x[[0, -1]], ylim=y[[0, -1]])
        ax.locator_params(nbins=6)
        canvas.add_legend(ax, handles=handles)
        pieces, _ = ndimage.label(self.member, structure=np.ones((3, 3)))
        sizes = np.bincount(pieces.ravel())[1:].astype(np.float64)
        detail = wording.set_detail(self.status, self.pvalues, sizes, "area")
        title = f"Exact {formats.percent(self.coverage)} confidence region"
        canvas.add_note(ax, title, wording.region_note(self.status, detail))

    def _draw_heat(self, **kwargs: Any) -> None:
        from matplotlib.tri import Triangulation
        from scipy.spatial import Delaunay

        style: dict[str, Any] = {"cmap": "Blues", "vmin": 0, "vmax": 1, "rasterized": True}
        places = self.places(self.theta)
        # triangles are chosen with each axis in units of its extent
        triangles = Delaunay((places - places.min(axis=0)) / np.ptp(places, axis=0)).simplices
        self.image_ = self.ax_.tripcolor(
            Triangulation(places[:, 0], places[:, 1], triangles),
            self.pvalues,
            shading="gouraud",
            **{**style, **kwargs},
        )
        self.colorbar_ = self.ax_.figure.colorbar(self.image_, ax=self.ax_, label="p-value")
        self.colorbar_.outline.set_visible(False)
        for level in self.levels:
            if 0 < level < 1:
                self.colorbar_.ax.axhline(level, color=canvas.INK, linewidth=1.2)

    def _draw_boundary(self) -> list[Artist]:
        from matplotlib.collections import LineCollection

        self.contour_ = None
        if not self.member.any():
            return []
        label = f"{formats.percent(self.coverage)} region"
        self.contour_ = LineCollection(
            self.boundary(), colors=canvas.INK, linewidths=1.2, label=label
        )
        self.ax_.add_collection(self.contour_)
        return [self.contour_]


def _grids(
    region: ConfidenceRegion, box: Any, points: int, levels: int | None, shear: float
) -> tuple[Grid, Grid]:
    """Evaluate a region on a regular grid, and on one refined near the boundary."""
    outline, state = region.outline(), region.fitted_
    if not shear:
        box = canvas.box_of(outline) if box is None else box
        return region.grid(box, points=points), region.grid(box, levels=levels)
    window, turn = outline.window, np.array([[1.0, -shear], [0.0, 1.0]])
    seen = replace(window, origin=turn @ window.origin, axes=turn @ window.axes)
    box = canvas.box_of(replace(outline, window=seen))
    ranks = RankFunction(lambda places: state.ranks(_sheared(places, -shear)), window.bounds)
    return (
        evaluate_grid(ranks, state.accepted, box, points=points),
        evaluate_grid(ranks, state.accepted, box, levels=levels),
    )


def _sheared(places: FloatArray, shear: float) -> FloatArray:
    return places - shear * places[..., 1:] * [1.0, 0.0]


def _shear(outline: Outline) -> float:
    """Return how far the first parameter moves with the second, if the region is thin for it."""
    window = outline.window
    covariance = window.axes @ window.axes.T
    size = np.sqrt(np.diag(covariance))
    thin = abs(covariance[0, 1]) > THIN * size[0] * size[1]
    free = np.isinf(window.bounds[0]).all()
    # as few digits as the label of the axis has, so that the label is what is shown
    return float(f"{covariance[0, 1] / covariance[1, 1]:.3g}") if thin and free else 0.0


def _evaluated(even: Grid, fine: Grid) -> tuple[FloatArray, IntArray]:
    """Gather the points with ranks: all of the even grid, and those of the other not among them."""
    points, ranks = [], []
    for grid in (even, fine):
        where = np.nonzero(grid.ranks)
        points.append(np.column_stack([grid.axes[0][where[0]], grid.axes[1][where[1]]]))
        ranks.append(grid.ranks[where])
    places = np.vstack(points)
    first = np.sort(np.unique(places, axis=0, return_index=True)[1])
    return places[first], np.concatenate(ranks)[first]
