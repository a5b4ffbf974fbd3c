"""A calibration belt with the predictions below it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np

from exactregion._typing import FloatArray, IntArray
from exactregion.data.sample import Sample
from exactregion.models import fixed_probabilities
from exactregion.plotting import canvas, wording

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from exactregion.calibration import CalibrationBelt, Departure

__all__ = ["BeltDisplay"]

BINS = 40
"""Bins of the histogram of predictions, over 0 to 1."""


class BeltDisplay:
    """Bounds of the calibration curve, the diagonal, and a histogram of the predictions.

    Use `from_belt`, `from_predictions` or `from_estimator`, or `CalibrationBelt.plot`, to make one.

    Parameters
    ----------
    grid : ndarray of shape (k,)
        Predicted probabilities, ascending.
    lower, upper, estimate : ndarrays of shape (k,)
        Bounds of the calibration curve, and the most compatible one.
    coverage : float
        P(the true curve is within the bounds), at least.
    pvalue : float
        Exact p-value of calibration.
    y_prob : ndarray of shape (n,)
        Predictions.
    successes, trials : ndarrays of shape (n,)
        Outcomes.
    departures : tuple of Departure
        Where the diagonal is outside the belt.
    status : {"bounded", "unbounded", "disconnected", "empty"}
        That of the region of recalibrations.

    Attributes
    ----------
    ax_ : matplotlib Axes
        The axes with the belt.
    histogram_ax_ : matplotlib Axes or None
        The axes with the predictions; None if the belt was drawn on axes that were given.
    figure_ : matplotlib Figure
        Their figure.
    band_ : matplotlib PolyCollection
        The belt.
    line_ : matplotlib Line2D
        The most compatible curve.

    Examples
    --------
    >>> import numpy as np
    >>> import exactregion as er
    >>> p = np.linspace(0.05, 0.95, 40)
    >>> y = np.random.default_rng(0).random(40) < p
    >>> display = er.plotting.BeltDisplay.from_predictions(y, p, n_resamples=39, rng=0)
    >>> display.ax_.get_ylabel()
    'probability of the outcome'
    """

    ax_: Axes
    histogram_ax_: Axes | None
    figure_: Figure

    def __init__(
        self,
        grid: FloatArray,
        lower: FloatArray,
        upper: FloatArray,
        estimate: FloatArray,
        *,
        coverage: float,
        pvalue: float,
        y_prob: FloatArray,
        successes: IntArray,
        trials: IntArray,
        departures: tuple[Departure, ...] = (),
        status: str = "bounded",
    ) -> None:
        self.grid = grid
        self.lower = lower
        self.upper = upper
        self.estimate = estimate
        self.coverage = coverage
        self.pvalue = pvalue
        self.y_prob = y_prob
        self.successes = successes
        self.trials = trials
        self.departures = departures
        self.status = status

    @classmethod
    def from_belt(cls, belt: CalibrationBelt, *, ax: Axes | None = None, **kwargs: Any) -> Self:
        """Draw a belt.

        Parameters
        ----------
        belt : CalibrationBelt
            What `calibration_belt` gave.
        ax : matplotlib Axes, optional
            Where to draw the belt, without a histogram; a new figure with both by default.
        **kwargs
            For `plot`.

        Returns
        -------
        BeltDisplay
        """
        canvas.check_matplotlib(f"{cls.__name__}.from_belt")
        display = cls(
            belt.grid,
            belt.lower,
            belt.upper,
            belt.estimate,
            coverage=belt.coverage,
            pvalue=belt.pvalue,
            y_prob=belt.y_prob,
            successes=belt.successes,
            trials=belt.trials,
            departures=belt.departures,
            status=belt.status,
        )
        return display.plot(ax, **kwargs)

    @classmethod
    def from_predictions(
        cls, y_true: Any, y_prob: Any, *, ax: Axes | None = None, **settings: Any
    ) -> Self:
        """Compute a belt and draw it.

        Parameters
        ----------
        y_true, y_prob
            Outcomes and predictions, as for `calibration_belt`.
        ax : matplotlib Axes, optional
            Where to draw.
        **settings
            For `calibration_belt`: ``confidence_level``, ``rng`` and others.

        Returns
        -------
        BeltDisplay
        """
        from exactregion.calibration import calibration_belt

        canvas.check_matplotlib(f"{cls.__name__}.from_predictions")
        return cls.from_belt(calibration_belt(y_true, y_prob, **settings), ax=ax)

    @classmethod
    def from_estimator(
        cls, estimator: Any, X: Any, y: Any, *, ax: Axes | None = None, **settings: Any
    ) -> Self:
        """Ask a fitted classifier for predictions on held-out data, and draw their belt.

        Parameters
        ----------
        estimator : classifier, statsmodels results, or callable X -> (n,)
            Fitted on other data.
        X, y
            Held-out inputs and outcomes.
        ax : matplotlib Axes, optional
            Where to draw.
        **settings
            For `calibration_belt`: ``confidence_level``, ``rng`` and others.

        Returns
        -------
        BeltDisplay
        """
        canvas.check_matplotlib(f"{cls.__name__}.from_estimator")
        rows = Sample.from_data(np.arange(len(y)), y, pos_label=settings.get("pos_label"))
        predictions = fixed_probabilities(estimator, X, len(rows), rows.classes)
        return cls.from_predictions(y, predictions, ax=ax, **settings)

    def plot(self, ax: Axes | None = None, **kwargs: Any) -> Self:
        """Draw the picture.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw the belt, without a histogram; a new figure with both by default.
        **kwargs
            For the belt, `matplotlib.axes.Axes.fill_between`.

        Returns
        -------
        self
        """
        canvas.check_matplotlib(f"{type(self).__name__}.plot")
        self.ax_, self.histogram_ax_ = _new_axes() if ax is None else (ax, None)
        self.figure_ = canvas.figure_of(self.ax_)
        self._draw_belt(**kwargs)
        self._draw_departures()
        if self.histogram_ax_ is not None:
            self._draw_histogram(self.histogram_ax_)
        bottom = self.histogram_ax_ or self.ax_
        bottom.set_xlabel("predicted probability")
        self.ax_.set(xlim=(0, 1), ylim=(0, 1), ylabel="probability of the outcome")
        canvas.remove_spines(self.ax_)
        self.ax_.legend(loc="upper left", fontsize="small", framealpha=0.9, edgecolor="none")
        title = f"Calibration: exact p-value {self.pvalue:.4g} (n = {int(self.trials.sum()):,})"
        canvas.add_note(self.ax_, title, self._note())
        return self

    def _note(self) -> str:
        if self.status == "empty":
            return "empty: no shift and stretch of the logits fits"
        if len(self.departures) == 1:
            return wording.departure_text(self.departures[0])
        return ""

    def _draw_belt(self, **kwargs: Any) -> None:
        ax = self.ax_
        ax.plot([0, 1], [0, 1], color=canvas.GREY, linewidth=1, linestyle=":", label="calibrated")
        if self.status == "empty":
            return
        style = {
            "color": canvas.BLUE,
            "alpha": 0.25,
            "linewidth": 0,
            "label": f"{wording.percent(self.coverage)} belt",
        }
        self.band_ = ax.fill_between(self.grid, self.lower, self.upper, **{**style, **kwargs})
        (self.line_,) = ax.plot(
            self.grid, self.estimate, color=canvas.BLUE, linewidth=1.6, label="most compatible"
        )

    def _draw_departures(self) -> None:
        """Mark the diagonal where it is outside the belt."""
        label: str | None = "outside the belt"
        for departure in self.departures:
            ends = [departure.start, departure.stop]
            self.ax_.plot(
                ends,
                ends,
                color=canvas.VERMILION,
                linewidth=2.4,
                solid_capstyle="round",
                label=label,
            )
            label = None

    def _draw_histogram(self, ax: Axes) -> None:
        """Draw the predictions of outcomes that happened upwards, the others downwards."""
        edges = np.linspace(0, 1, BINS + 1)
        parts = ((self.successes, 1, canvas.BLUE), (self.trials - self.successes, -1, canvas.GREY))
        for weights, sign, color in parts:
            counts, _ = np.histogram(self.y_prob, bins=edges, weights=weights)
            ax.bar(edges[:-1], sign * counts, width=1 / BINS, align="edge", color=color, alpha=0.8)
        ax.axhline(0, color=canvas.INK, linewidth=0.6)
        ax.set_ylabel("rows")
        ax.margins(y=0.3)  # room for the words
        ax.yaxis.set_major_formatter(lambda value, _: f"{abs(value):g}")
        words = ((0.99, "happened", canvas.BLUE), (0.01, "did not", canvas.GREY))
        for height, text, color in words:
            ax.text(
                0.995,
                height,
                text,
                transform=ax.transAxes,
                ha="right",
                va="top" if height > 0.5 else "bottom",
                fontsize="small",
                color=color,
            )
        canvas.remove_spines(ax)


def _new_axes() -> tuple[Axes, Axes]:
    import matplotlib.pyplot as plt

    _, (top, bottom) = plt.subplots(
        2, 1, figsize=(5.0, 5.8), sharex=True, height_ratios=(4, 1), layout="constrained"
    )
    return top, bottom
