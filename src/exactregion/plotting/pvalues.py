"""The p-value as a function of the parameter of a one-parameter family."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import numpy.typing as npt

from exactregion._typing import BoolArray, FloatArray
from exactregion.plotting import canvas, wording
from exactregion.ranking import pvalue_of
from exactregion.region.bands import runs

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes

    from exactregion.region import ConfidenceRegion

__all__ = ["PValueDisplay"]

CURVE_POINTS = 401


@dataclass(eq=False, repr=False)
class PValueDisplay(canvas.Display):
    """The p-value of each value of one parameter, with the values that the region accepts.

    Use `from_region`, or `ConfidenceRegion.plot`, to make one.

    Parameters
    ----------
    values : ndarray of shape (k,)
        Values of the parameter, in ascending order.
    pvalues : ndarray of shape (k,)
        The p-value of each.
    ends : ndarray of shape (pieces, 2)
        First rejected values below and above each accepted piece; infinite where a piece goes on
        past the values.
    name : str
        Name of the parameter.
    estimate : float
        The most compatible value found.
    coverage : float
        P(the region contains the true value), exactly.
    levels : (float, float)
        A value is accepted if its p-value is above the first and not above the second.
    status : {"bounded", "unbounded", "cut", "disconnected", "empty"}
        What kind of set the region is; cut if it touches the edge of the grid, though the search
        found an end.
    truth : float, optional
        The true value, where it is known.

    Attributes
    ----------
    ax_ : matplotlib Axes
        The axes drawn on.
    figure_ : matplotlib Figure
        Their figure.
    line_ : matplotlib Line2D
        The p-value function.

    Examples
    --------
    >>> import numpy as np
    >>> import exactregion as er
    >>> coin = er.models.Function(
    ...     lambda th, x: np.full(len(x), th[0]), names=("p",), bounds=[(0, 1)]
    ... )
    >>> region = er.ConfidenceRegion(coin, statistic="score", n_resamples=99, rng=0)
    >>> region = region.fit(np.zeros(20), np.repeat([0, 1], [14, 6]))
    >>> display = er.plotting.PValueDisplay.from_region(region, points=51, levels=7)
    >>> bool(display.ends[0, 0] < 0.3 < display.ends[0, 1])
    True
    """

    values: FloatArray
    pvalues: FloatArray
    ends: FloatArray
    _: KW_ONLY
    name: str
    estimate: float
    coverage: float
    levels: tuple[float, float]
    status: str = "bounded"
    truth: float | None = None

    @classmethod
    def from_region(
        cls,
        region: ConfidenceRegion,
        *,
        truth: npt.ArrayLike | None = None,
        box: Any = None,
        points: int = CURVE_POINTS,
        levels: int | None = None,
        draw: bool = True,
        ax: Axes | None = None,
        **kwargs: Any,
    ) -> Self:
        """Evaluate a region with one parameter on a grid, and draw it.

        Parameters
        ----------
        region : ConfidenceRegion
            Fitted, with one parameter.
        truth : float or array-like of shape (1,), optional
            The true value, drawn as a star.
        box : array-like of shape (1, 2), optional
            (low, high) of the parameter; around the region by default.
        points : int
            Values at which the function is computed, besides those near the ends.
        levels : int, optional
            The ends are those on a grid with 2^levels + 1 points; 12 by default.
        draw : bool
            Whether to draw at once; if not, matplotlib is not needed.
        ax : matplotlib Axes, optional
            Where to draw; a new figure by default.
        **kwargs
            For `plot`.
        """
        canvas.check_matplotlib(f"{cls.__name__}.from_region", draw)
        names = region.parameter_names_
        canvas.check_number(cls.__name__, region, "one parameter", len(names) == 1)
        true = canvas.check_truth(truth, region)
        box = canvas.box_of(region.outline()) if box is None else box
        even, fine = region.grid(box, points=points), region.grid(box, levels=levels)
        single = np.array([region.estimate_] if true is None else [region.estimate_, true])
        ranked = fine.ranks > 0
        values = np.concatenate([even.axes[0], fine.axes[0][ranked], single[:, 0]])
        ranks = np.concatenate([even.ranks, fine.ranks[ranked], region.rank(single)])
        inside = (values >= even.axes[0][0]) & (values <= even.axes[0][-1])
        values, first = np.unique(values[inside], return_index=True)
        ranks = ranks[inside][first]
        ends = _ends(values, region.accepted_ranks_.holds(ranks), *region.model_.bounds[0])
        display = cls(
            values,
            pvalue_of(ranks, region.accepted_ranks_.m),
            ends,
            name=names[0],
            estimate=float(region.estimate_[0]),
            coverage=region.coverage_,
            levels=canvas.accepted_pvalues(region),
            status=canvas.joint_status(
                region.status_, "disconnected" if len(ends) > 1 else fine.status
            ),
            truth=None if true is None else float(true[0]),
        )
        return display.plot(ax, **kwargs) if draw else display

    def plot(self, ax: Axes | None = None, **kwargs: Any) -> Self:
        """Draw the picture.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; a new figure by default.
        **kwargs
            For the p-value function, `matplotlib.axes.Axes.plot`.
        """
        ax = self._start(ax, 5.6, 3.6)
        low, high = self.values[0], self.values[-1]
        style = {"color": canvas.BLUE, "linewidth": 1.3, "label": "p-value"}
        (self.line_,) = ax.plot(self.values, self.pvalues, **{**style, **kwargs})
        handles = [self.line_, *self._draw_levels(), *self._draw_pieces(), *self._draw_points()]
        ax.set(xlabel=self.name, ylabel="p-value", xlim=(low, high), ylim=(0, 1.04))
        canvas.remove_spines(ax)
        canvas.add_legend(ax, handles=handles)
        title = f"Exact {wording.percent(self.coverage)} confidence set of {self.name}"
        detail = wording.set_detail(
            self.status, self.pvalues, self.ends[:, 1] - self.ends[:, 0], "length"
        )
        canvas.add_note(ax, title, wording.region_note(self.status, detail))
        return self

    def _draw_levels(self) -> list[Artist]:
        shown = [level for level in self.levels if 0 < level < 1]
        style: dict[str, Any] = {"color": canvas.INK, "linewidth": 0.9, "linestyle": (0, (4, 3))}
        lines = [self.ax_.axhline(level, **style) for level in shown]
        for line in lines[:1]:
            line.set_label("level " + ", ".join(f"{level:.3g}" for level in shown))
        return lines[:1]

    def _draw_pieces(self) -> list[Artist]:
        """Shade what is accepted, and mark the outermost ends with their values."""
        low, high = self.values[0], self.values[-1]
        style: dict[str, Any] = {"color": canvas.BLUE, "alpha": 0.13, "linewidth": 0, "zorder": 0}
        spans = [self.ax_.axvspan(max(a, low), min(b, high), **style) for a, b in self.ends]
        if not spans:
            return []
        spans[0].set_label(f"{wording.percent(self.coverage)} set")
        outer = float(self.ends.min()), float(self.ends.max())
        for end, shift, side in zip(outer, (-4, 4), ("right", "left"), strict=True):
            if not np.isfinite(end):
                continue
            self.ax_.axvline(end, color=canvas.BLUE, linewidth=0.9)
            self.ax_.annotate(
                wording.number(end, high - low),
                xy=(end, self.levels[0]),
                xytext=(shift, 4),
                textcoords="offset points",
                ha=side,
                fontsize="small",
                color=canvas.INK,
            )
        return spans[:1]

    def _draw_points(self) -> list[Artist]:
        is_empty = self.status == "empty"
        marked = [(self.estimate, wording.estimate_name(is_empty), canvas.estimate_style(is_empty))]
        if self.truth is not None:
            marked.append((self.truth, "truth", canvas.TRUTH_STYLE))
        drawn: list[Artist] = []
        for value, name, style in marked:
            height = np.interp(value, self.values, self.pvalues)
            drawn += self.ax_.plot(value, height, label=name, clip_on=False, **style)
        return drawn


def _ends(values: FloatArray, member: BoolArray, low: float, high: float) -> FloatArray:
    """Return the first rejected values on both sides of each accepted piece: (pieces, 2)."""
    below = low if values[0] <= low else -np.inf
    above = high if values[-1] >= high else np.inf
    padded = np.concatenate([[below], values, [above]])
    ends = [(padded[first], padded[last + 2]) for first, last in runs(member)]
    return np.array(ends, dtype=np.float64).reshape(-1, 2)
