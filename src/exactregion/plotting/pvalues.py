"""The p-value along one parameter, and the confidence set in it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import numpy.typing as npt

from exactregion._typing import BoolArray, FloatArray
from exactregion.plotting import canvas, formats, wording
from exactregion.ranking import pvalue_of
from exactregion.region import ConfidenceRegion
from exactregion.region.bands import runs

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes


@dataclass(eq=False, repr=False)
class PValueDisplay(canvas.RegionDisplay):
    """The p-value of each value of one parameter, with the values that the region accepts.

    Use `from_region`, or `ConfidenceRegion.plot`, to make one. Further arguments of `plot` are
    those of `matplotlib.axes.Axes.plot`.

    Parameters
    ----------
    values : ndarray of shape (k,)
        Values of the parameter, in ascending order.
    pvalues : ndarray of shape (k,)
        The p-value of each.
    ends : ndarray of shape (pieces, 2)
        First rejected values below and above each accepted piece; infinite where a piece goes on
        past the values.
    names, estimate, coverage, levels, status, truth
        Of the region, see below.

    Attributes
    ----------
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

    @classmethod
    def from_region(
        cls,
        region: ConfidenceRegion,
        *,
        truth: npt.ArrayLike | None = None,
        box: Any = None,
        points: int = 401,
        levels: int | None = None,
        draw: bool = True,
        **kwargs: Any,
    ) -> Self:
        """Evaluate a region with one parameter on a grid, and draw it.

        Parameters
        ----------
        region : ConfidenceRegion
            Fitted, with one parameter.
        truth, box, points, levels, draw, **kwargs
            As for `RankDisplay.from_region`; `levels` is 12 by default.
        """
        fits = len(region.parameter_names_) == 1
        common = cls._common(region, "one parameter", fits, truth, draw)
        box = canvas.box_of(region.outline()) if box is None else box
        even, fine = region.grid(box, points=points), region.grid(box, levels=levels)
        single = np.array([common[k] for k in ("estimate", "truth") if common[k] is not None])
        ranked = fine.ranks > 0
        values = np.concatenate([even.axes[0], fine.axes[0][ranked], single[:, 0]])
        ranks = np.concatenate([even.ranks, fine.ranks[ranked], region.rank(single)])
        inside = (values >= even.axes[0][0]) & (values <= even.axes[0][-1])
        values, first = np.unique(values[inside], return_index=True)
        ranks = ranks[inside][first]
        ends = _ends(values, region.accepted_ranks_.holds(ranks), *region.model_.bounds[0])
        by_grid = "disconnected" if len(ends) > 1 else fine.status
        common["status"] = canvas.joint_status(region.status_, by_grid)
        display = cls(values, pvalue_of(ranks, region.accepted_ranks_.m), ends, **common)
        return display._drawn_if(draw, **kwargs)

    def _draw(self, ax: Axes, **kwargs: Any) -> None:
        low, high = self.values[0], self.values[-1]
        style = {"color": canvas.BLUE, "linewidth": 1.3, "label": "p-value"}
        (self.line_,) = ax.plot(self.values, self.pvalues, **{**style, **kwargs})
        handles = [self.line_, *self._draw_levels(), *self._draw_pieces()]
        handles += self._draw_points(ax, self.place, clip_on=False)
        ax.set(
            xlabel=canvas.as_text(self.names[0]), ylabel="p-value", xlim=(low, high), ylim=(0, 1.04)
        )
        canvas.remove_spines(ax)
        canvas.add_legend(ax, handles=handles)
        title = f"Exact {formats.percent(self.coverage)} confidence set of {self.names[0]}"
        detail = wording.set_detail(
            self.status, self.pvalues, self.ends[:, 1] - self.ends[:, 0], "length"
        )
        canvas.add_note(ax, title, wording.region_note(self.status, detail))

    def _draw_levels(self) -> list[Artist]:
        shown = [level for level in self.levels if 0 < level < 1]
        style: dict[str, Any] = {"color": canvas.INK, "linewidth": 0.9, "linestyle": (0, (4, 3))}
        style["label"] = "level " + ", ".join(f"{level:.3g}" for level in shown)
        return [self.ax_.axhline(level, **style) for level in shown][:1]

    def _draw_pieces(self) -> list[Artist]:
        """Shade what is accepted, and mark the outermost ends with their values."""
        low, high = self.values[0], self.values[-1]
        style: dict[str, Any] = {"color": canvas.BLUE, "alpha": 0.13, "linewidth": 0, "zorder": 0}
        spans = [self.ax_.axvspan(max(a, low), min(b, high), **style) for a, b in self.ends]
        if not spans:
            return []
        spans[0].set_label(f"{formats.percent(self.coverage)} set")
        outer = float(self.ends.min()), float(self.ends.max())
        for end, shift, side in zip(outer, (-4, 4), ("right", "left"), strict=True):
            if not np.isfinite(end):
                continue
            self.ax_.axvline(end, color=canvas.BLUE, linewidth=0.9)
            text, style = formats.number(end, high - low), {"ha": side, "color": canvas.INK}
            place = end, self.levels[0]
            canvas.write_near(self.ax_, text, place, (shift, 4), "data", **style)
        return spans[:1]

    def place(self, theta: FloatArray) -> tuple[float, float]:
        """Return where a parameter of shape (1,) is drawn: on the curve."""
        return float(theta[0]), float(np.interp(theta[0], self.values, self.pvalues))


def _ends(values: FloatArray, member: BoolArray, low: float, high: float) -> FloatArray:
    """Return the first rejected values on both sides of each accepted piece: (pieces, 2)."""
    below = low if values[0] <= low else -np.inf
    above = high if values[-1] >= high else np.inf
    padded = np.concatenate([[below], values, [above]])
    ends = [(padded[first], padded[last + 2]) for first, last in runs(member)]
    return np.array(ends, dtype=np.float64).reshape(-1, 2)
