"""The null distribution of an exact test, with the observed statistic in it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass, fields
from functools import cached_property
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from exactregion._typing import FloatArray, IntArray
from exactregion.errors import optional_module
from exactregion.plotting import canvas, formats
from exactregion.testing.class_result import ClassTestResult
from exactregion.testing.result import ExactTestResult

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

FARTHEST = 3.0
"""An observed statistic farther out than this many ranges of the others is shown by an arrow: drawn
to scale, it would press them into a quarter of the picture."""

LONG = 15.0
"""Where a statistic is farther from 0 than this many medians, the axis is a log one."""

SHORTEST = 1e-3
"""A log axis begins at this share of the median at the earliest; the few below are in the first
bin."""


@dataclass(eq=False, repr=False)
class NullDisplay(canvas.Display):
    """Histogram of the alternatives' statistics with the original's marked.

    Use `from_result`, or `ExactTestResult.plot`, to make one. Further arguments of `plot` are those
    of `matplotlib.axes.Axes.hist`.

    Parameters
    ----------
    null_distribution, statistic, pvalue, rank
        As of an `ExactTestResult`.

    Examples
    --------
    >>> import numpy as np
    >>> import exactregion as er
    >>> x = np.linspace(-2, 2, 40)
    >>> result = er.model_test(np.full(40, 0.5), x, x > 0.1, n_resamples=99, rng=0)
    >>> er.plotting.NullDisplay.from_result(result).ax_.get_title(loc="left")
    'Exact p-value 0.01 (rank 100 of 100)'
    """

    null_distribution: FloatArray
    _: KW_ONLY
    statistic: float
    pvalue: float
    rank: int

    @classmethod
    def from_result(
        cls, result: ExactTestResult | ClassTestResult, *, draw: bool = True, **kwargs: Any
    ) -> Self:
        """Take the numbers of a test result, and draw them.

        Parameters
        ----------
        result : ExactTestResult or ClassTestResult
            Returned by `model_test` or `calibration_test`.
        draw, **kwargs
            Whether to draw at once, which needs matplotlib, and arguments of `plot`.
        """
        display = cls(**{one.name: getattr(result, one.name) for one in fields(cls)})
        return display._drawn_if(draw, **kwargs)

    @property
    def limits(self) -> tuple[float, float]:
        """Smallest and largest finite statistic of the alternatives, apart from each other."""
        values = self._finite
        if not len(values):
            return 0.0, 1.0
        low, high = float(values.min()), float(values.max())
        return (low, high) if high > low else (low - 0.5, high + 0.5)

    @cached_property
    def is_long(self) -> bool:
        """Whether statistics are drawn on a log axis: all are positive, and some very large."""
        values = np.append(self._finite, self.statistic)
        values = values[np.isfinite(values)]
        return bool(len(values) and values.min() > 0 and values.max() > LONG * np.median(values))

    @property
    def is_far(self) -> bool:
        """Whether the observed statistic lies too far out to be drawn to scale."""
        low, high = self.limits
        return not self.statistic <= high + FARTHEST * (high - low) and not (
            self.is_long and np.isfinite(self.statistic)
        )

    def histogram(self, bins: Any = None) -> tuple[FloatArray, IntArray, IntArray]:
        """Return edges of bins, and the alternatives in each: smaller, and at least as large.

        `bins` is their number, or their edges. Bins of equal width are placed so that the observed
        statistic is an edge, where it lies among the others.
        """
        values, edges = self._finite, self._edges(bins)
        extreme = values >= self.statistic
        shown = np.maximum(values, edges[0]) if self.is_long else values
        smaller, larger = (
            np.histogram(part, edges)[0] for part in (shown[~extreme], shown[extreme])
        )
        return edges, smaller, larger

    def _draw(self, ax: Axes, **kwargs: Any) -> None:
        edges, *counts = self.histogram(kwargs.pop("bins", None))
        if self.is_long:
            ax.set_xscale("log")
            ax.xaxis.set_major_formatter("{x:g}")
        looks = (("smaller than observed", canvas.PALE), ("at least as large", canvas.BLUE))
        shown = [(count, *look) for count, look in zip(counts, looks, strict=True) if count.any()]
        if shown:
            weights, labels, colors = zip(*shown, strict=True)
            style: dict[str, Any] = {"label": labels, "color": colors, "stacked": True}
            style |= {"edgecolor": "white", "linewidth": 0.4}
            # one value per bin, at its left edge, which counts as many times as its weight
            values = [edges[:-1]] * len(shown)
            ax.hist(values, bins=edges.tolist(), weights=weights, **{**style, **kwargs})
        self._draw_observed(ax)
        label = "statistic (log scale)" if self.is_long else "statistic"
        ax.set(xlabel=label, ylabel="number of alternatives")
        canvas.remove_spines(ax)
        canvas.add_legend(ax)
        m = len(self.null_distribution) + 1
        canvas.add_note(ax, f"Exact p-value {self.pvalue:.4g} (rank {self.rank} of {m})", "")

    @property
    def _finite(self) -> FloatArray:
        return self.null_distribution[np.isfinite(self.null_distribution)]

    def _edges(self, bins: Any) -> FloatArray:
        values, (low, high) = self._finite, self.limits
        if bins is not None and not isinstance(bins, int):
            return np.histogram_bin_edges(values, bins=bins)
        # about the square root of their number, but few enough for the histogram to have a shape
        number = bins or int(np.clip(np.sqrt(len(values)), 5, 32))
        if not self.is_long:
            return _equal_bins(low, high, self.statistic, number)
        low = max(low, SHORTEST * float(np.median(values)))
        start, stop, observed = np.log10([low, high, self.statistic]).tolist()
        return np.asarray(10.0 ** _equal_bins(start, stop, observed, number))

    def _draw_observed(self, ax: Axes) -> None:
        text = f"observed: {formats.number(self.statistic)}"
        if not self.is_far:
            ax.axvline(self.statistic, label=text, color=canvas.INK, linewidth=1.6)
            return
        low, high = self.limits
        ax.set_xlim(right=high * (high / low) ** 0.35 if self.is_long else 1.35 * high - 0.35 * low)
        arrow = {"arrowstyle": "-|>", "color": canvas.INK, "linewidth": 1.6}
        canvas.write_near(ax, text, (1, 0.4), (-26, 0), ha="right", va="center", arrowprops=arrow)


@dataclass(eq=False, repr=False)
class NullsDisplay:
    """Null distributions of several models, one below the other; each has an axis of its own.

    Parameters
    ----------
    parts : dict of str to NullDisplay
        What is drawn of each model.

    Attributes
    ----------
    figure_ : matplotlib Figure
        The picture.

    Examples
    --------
    >>> import numpy as np
    >>> import exactregion as er
    >>> p = np.linspace(0.05, 0.95, 40)
    >>> y = np.random.default_rng(0).random(40) < p
    >>> results = er.calibration_test(y, p, rng=0), er.calibration_test(y, p**2, rng=0)
    >>> results = dict(zip(["p", "p²"], results))
    >>> len(er.plotting.NullsDisplay.from_results(results).figure_.axes)
    2
    """

    parts: Mapping[str, NullDisplay]

    @classmethod
    def from_results(cls, results: Mapping[str, ExactTestResult]) -> Self:
        """Take the numbers of the test of each model, and draw them."""
        optional_module("matplotlib", f"{cls.__name__}.from_results", "plot")
        parts = {name: NullDisplay.from_result(one, draw=False) for name, one in results.items()}
        return cls(parts).plot()

    def plot(self) -> Self:
        """Draw all in a new figure."""
        import matplotlib.pyplot as plt

        size = (5.6, 2.7 * len(self.parts))
        figure, axes = plt.subplots(len(self.parts), 1, figsize=size, layout="constrained")
        for ax, (name, one) in zip(np.atleast_1d(axes).flat, self.parts.items(), strict=True):
            one.plot(ax)
            title = ax.get_title(loc="left")
            ax.set_title(f"{canvas.as_text(name)}: {title}", loc="left", fontsize="medium")
            ax.set(xlabel=ax.get_xlabel() if one is list(self.parts.values())[-1] else "")
        self.figure_: Figure = figure
        return self


def _equal_bins(low: float, high: float, observed: float, number: int) -> FloatArray:
    """Return edges of bins of equal width from low to high, with the observed one as an edge."""
    width = (high - low) / number
    if not low < observed < high:
        return np.arange(low, high + 1.5 * width, width)
    before, after = np.ceil([(observed - low) / width, (high - observed) / width])
    return np.asarray(observed + width * np.arange(-before, after + 1.5))
