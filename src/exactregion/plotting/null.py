"""The null distribution of an exact test, with the observed statistic in it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np

from exactregion._typing import FloatArray
from exactregion.plotting import canvas, wording

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from exactregion.testing.result import ExactTestResult

__all__ = ["NullDisplay"]

FARTHEST = 3.0
"""An observed statistic farther out than this many ranges of the others is shown by an arrow."""


class NullDisplay:
    """Histogram of the alternatives' statistics with the original's marked.

    Use `from_result`, or `ExactTestResult.plot`, to make one.

    Parameters
    ----------
    null_distribution : ndarray of shape (n_resamples,)
        Statistics of the alternatives.
    statistic : float
        Statistic of the original.
    pvalue : float
        (m - rank + 1) / m.
    rank : int
        Rank of the original among all m.

    Attributes
    ----------
    ax_ : matplotlib Axes
        The axes drawn on.
    figure_ : matplotlib Figure
        Their figure.

    Examples
    --------
    >>> import numpy as np
    >>> import exactregion as er
    >>> x = np.linspace(-2, 2, 40)
    >>> result = er.model_test(np.full(40, 0.5), x, x > 0.1, n_resamples=99, rng=0)
    >>> er.plotting.NullDisplay.from_result(result).ax_.get_title(loc="left")
    'Exact p-value 0.01 (rank 100 of 100)'
    """

    ax_: Axes
    figure_: Figure

    def __init__(
        self, null_distribution: FloatArray, *, statistic: float, pvalue: float, rank: int
    ) -> None:
        self.null_distribution = null_distribution
        self.statistic = statistic
        self.pvalue = pvalue
        self.rank = rank

    @classmethod
    def from_result(cls, result: ExactTestResult, *, ax: Axes | None = None, **kwargs: Any) -> Self:
        """Draw the outcome of a test.

        Parameters
        ----------
        result : ExactTestResult
            What `model_test` or `calibration_test` gave.
        ax : matplotlib Axes, optional
            Where to draw; a new figure by default.
        **kwargs
            For `plot`.

        Returns
        -------
        NullDisplay
        """
        display = cls(
            result.null_distribution,
            statistic=result.statistic,
            pvalue=result.pvalue,
            rank=result.rank,
        )
        return display.plot(ax, **kwargs)

    def plot(self, ax: Axes | None = None, **kwargs: Any) -> Self:
        """Draw the picture.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; a new figure by default.
        **kwargs
            For the histogram, `matplotlib.axes.Axes.hist`.

        Returns
        -------
        self
        """
        canvas.check_matplotlib(f"{type(self).__name__}.plot")
        ax = canvas.new_axes(5.6, 3.4) if ax is None else ax
        self.ax_, self.figure_ = ax, canvas.figure_of(ax)
        self._draw_histogram(**kwargs)
        self._draw_observed()
        ax.set(xlabel="statistic", ylabel="number of alternatives")
        canvas.remove_spines(ax)
        ax.legend(loc="best", fontsize="small", framealpha=0.9, edgecolor="none")
        m = len(self.null_distribution) + 1
        canvas.add_note(ax, f"Exact p-value {self.pvalue:.4g} (rank {self.rank} of {m})", "")
        return self

    def _draw_histogram(self, **kwargs: Any) -> None:
        values = self._finite()
        extreme = values >= self.statistic
        parts = {
            "smaller than observed": (values[~extreme], canvas.PALE),
            "at least as large": (values[extreme], canvas.BLUE),
        }
        shown = {label: part for label, part in parts.items() if len(part[0])}
        if not shown:
            return
        style = {
            "bins": self._edges(kwargs.pop("bins", None)),
            "label": list(shown),
            "color": [color for _, color in shown.values()],
            "stacked": True,
            "edgecolor": "white",
            "linewidth": 0.4,
        }
        self.ax_.hist([part for part, _ in shown.values()], **{**style, **kwargs})

    def _finite(self) -> FloatArray:
        return self.null_distribution[np.isfinite(self.null_distribution)]

    def _edges(self, bins: Any) -> list[float]:
        """Give the edges of the bins; of even ones, so that the observed statistic is an edge."""
        values = self._finite()
        if bins is not None and not isinstance(bins, int):
            return [float(edge) for edge in np.histogram_bin_edges(values, bins=bins)]
        low, high = _range_of(values)
        width = (high - low) / (bins or _bins(len(values)))
        if not low < self.statistic < high:
            return [float(edge) for edge in np.arange(low, high + 1.5 * width, width)]
        before, after = (
            np.ceil((self.statistic - low) / width),
            np.ceil((high - self.statistic) / width),
        )
        return [float(self.statistic + k * width) for k in np.arange(-before, after + 1.5)]

    def _draw_observed(self) -> None:
        low, high = _range_of(self._finite())
        text = f"observed: {wording.number(self.statistic)}"
        if self.statistic <= high + FARTHEST * (high - low):
            self.ax_.axvline(self.statistic, label=text, color=canvas.INK, linewidth=1.6)
            return
        self.ax_.set_xlim(right=high + 0.35 * (high - low))
        self.ax_.annotate(
            text,
            xy=(1, 0.4),
            xytext=(-26, 0),
            xycoords="axes fraction",
            textcoords="offset points",
            ha="right",
            va="center",
            fontsize="small",
            arrowprops={"arrowstyle": "-|>", "color": canvas.INK, "linewidth": 1.6},
        )


def _range_of(values: FloatArray) -> tuple[float, float]:
    """Give the least and the largest value, apart from each other."""
    if not len(values):
        return 0.0, 1.0
    low, high = float(values.min()), float(values.max())
    return (low, high) if high > low else (low - 0.5, high + 0.5)


def _bins(n: int) -> int:
    """Choose a number of bins: about the square root of n, few enough to have a shape."""
    return int(np.clip(np.sqrt(n), 5, 32))
