"""The segments with the strongest evidence: differences, intervals and sizes, one per line."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from numbers import Integral
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from exactregion._typing import BoolArray, FloatArray, IntArray
from exactregion.errors import InvalidValueError
from exactregion.plotting import canvas, formats, wording
from exactregion.testing.segment_result import SegmentTestResult

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MOST = 15
"""Segments in a picture, unless more are requested: six inches of lines."""

LARGEST, SMALLEST = 150.0, 12.0
"""Areas of the dots in square points, in proportion to outcomes; the smallest can still be seen."""


@dataclass(eq=False, repr=False)
class SegmentDisplay(canvas.Display):
    """Observed minus expected share in segments, with intervals, one below the other.

    Use `from_result`, or `SegmentTestResult.plot`, to make one. Further arguments of `plot` are
    those of `matplotlib.axes.Axes.scatter`.

    Parameters
    ----------
    names : tuple of str
        The segments, from top to bottom.
    n : ndarray of shape (k,)
        Their numbers of outcomes.
    difference, lower, upper : ndarrays of shape (k,)
        Observed minus expected share, and its limits for all segments together.
    envelope : ndarray of shape (k, 2)
        Between which the differences of all segments lie if all predictions are right.
    pvalues : ndarray of shape (k,)
        Adjusted p-values.
    pvalue : float
        Of all segments together.
    tested : int
        Number of segments that were tested.
    confidence_level : float
        Of intervals and envelope.

    Examples
    --------
    >>> import numpy as np
    >>> import exactregion as er
    >>> rng = np.random.default_rng(0)
    >>> p, site = rng.uniform(size=300), rng.choice(["a", "b", "c"], 300)
    >>> y = rng.uniform(size=300) < np.where(site == "b", p**3, p)
    >>> segments = {"a": site == "a", "b": site == "b"}
    >>> result = er.segment_test(y, p, segments, n_resamples=99, rng=0)
    >>> er.plotting.SegmentDisplay.from_result(result).names
    ('b', 'all rows', 'a')
    """

    names: tuple[str, ...]
    _: KW_ONLY
    n: IntArray
    difference: FloatArray
    lower: FloatArray
    upper: FloatArray
    envelope: FloatArray
    pvalues: FloatArray
    pvalue: float
    tested: int
    confidence_level: float

    @classmethod
    def from_result(
        cls,
        result: SegmentTestResult,
        *,
        most: int = MOST,
        draw: bool = True,
        **kwargs: Any,
    ) -> Self:
        """Take the segments with the strongest evidence, and draw them.

        Parameters
        ----------
        result : SegmentTestResult
            Returned by `segment_test`.
        most : int
            How many segments to show.
        draw, **kwargs
            Whether to draw at once, which needs matplotlib, and arguments of `plot`.
        """
        if isinstance(most, bool) or not isinstance(most, Integral) or most < 1:
            raise InvalidValueError(
                f"must be a number of segments, 1 or more. Got {most!r} instead.", parameter="most"
            )
        table = result.table.head(int(most))
        return cls(
            tuple(str(name) for name in table.index),
            **{name: table[name].to_numpy() for name in ("n", "difference", "lower", "upper")},
            envelope=table[["envelope_low", "envelope_high"]].to_numpy(),
            pvalues=table["pvalue_adjusted"].to_numpy(),
            pvalue=result.pvalue,
            tested=len(result.table),
            confidence_level=result.confidence_level,
        )._drawn_if(draw, **kwargs)

    @property
    def named(self) -> BoolArray:
        """Which segments have an adjusted p-value of 0.05 or less."""
        return np.asarray(self.pvalues <= wording.SURPRISE)

    @property
    def areas(self) -> FloatArray:
        """Areas of the dots, in proportion to the number of outcomes where it is not too small."""
        return np.asarray(np.maximum(LARGEST * self.n / self.n.max(), SMALLEST))

    @property
    def _size(self) -> tuple[float, float]:
        return 7.6, 1.5 + 0.3 * len(self.names)

    def _draw(self, ax: Axes, **kwargs: Any) -> None:
        places = np.arange(len(self.names))
        level = formats.percent(self.confidence_level)
        low, high = self.envelope.T
        style: dict[str, Any] = {"height": 0.62, "color": canvas.PALE, "alpha": 0.55, "zorder": 0}
        ax.barh(places, high - low, left=low, label="expected if predictions are right", **style)
        ax.axvline(0, color=canvas.GREY, linewidth=0.9, zorder=1)
        looks = ((self.named, canvas.VERMILION, "off"), (~self.named, canvas.BLUE, "not shown off"))
        for chosen, color, label in looks:
            if not chosen.any():
                continue
            at, ends = places[chosen], (self.lower[chosen], self.upper[chosen])
            ax.hlines(at, *ends, color=color, linewidth=1.3)
            dots = {"s": self.areas[chosen], "color": color, "label": label, "zorder": 3}
            ax.scatter(self.difference[chosen], at, **{**dots, **kwargs})
        labels = [canvas.as_text(formats.shortened(name, middle=True)) for name in self.names]
        ax.set_yticks(places, labels)
        ax.set(ylim=(len(places) - 0.4, -1.2), xlabel="observed minus expected share")
        ax.tick_params(axis="y", length=0)
        canvas.remove_spines(ax, "top", "right", "left")
        self._write_numbers(ax)
        canvas.add_legend(
            ax, loc="upper center", bbox_to_anchor=(0.5, -0.62 / (len(places) + 1) - 0.08), ncols=3
        )
        shown = (
            f"{len(self.names):,} of {self.tested:,}" if self.tested > len(self.names) else "all"
        )
        note = f"{shown} segments, strongest evidence first; lines: {level} for all together"
        ax.set_title(f"Segments: exact p-value {self.pvalue:.4g}", loc="right", pad=20)
        # to the left from the end of the axes: long names leave little room above them
        canvas.write_near(ax, note, (1, 1), (0, 6), ha="right", color=canvas.GREY)

    def _write_numbers(self, ax: Axes) -> None:
        """Write sizes and p-values to the right, as labels of an axis so that there is room."""
        pairs = zip(self.n.tolist(), self.pvalues.tolist(), strict=True)
        texts = [f"{'n':>9} {'adjusted p':>11}", *(f"{n:>9,} {p:>11.3g}" for n, p in pairs)]
        right = ax.secondary_yaxis("right")
        right.set_yticks(np.r_[-0.8, np.arange(len(self.names))], texts)
        right.tick_params(axis="y", length=0, labelsize="small", labelfontfamily="monospace")
        right.spines["right"].set_visible(False)
