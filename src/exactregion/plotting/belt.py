"""A calibration belt with the predictions below it."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, fields
from typing import TYPE_CHECKING, Any, Self, cast

import numpy as np

from exactregion._typing import FloatArray, IntArray
from exactregion.calibration import CalibrationBelt, Departure, calibration_belt
from exactregion.data.sample import Sample
from exactregion.deviation import Deviation
from exactregion.errors import optional_module
from exactregion.models import fixed_probabilities
from exactregion.plotting import canvas, wording

if TYPE_CHECKING:
    from matplotlib.axes import Axes

BINS = 40
"""Bins of the histogram of predictions, over 0 to 1."""


@dataclass(eq=False, repr=False)
class BeltDisplay(canvas.Display):
    """Bounds of the calibration curve, the diagonal, and a histogram of the predictions.

    Use `from_belt`, `from_predictions` or `from_estimator`, or `CalibrationBelt.plot`, to make one.
    Further arguments of `plot` are those of `matplotlib.axes.Axes.fill_between`.

    Parameters
    ----------
    grid : ndarray of shape (k,)
        Predicted probabilities, in ascending order.
    lower, upper, estimate : ndarrays of shape (k,)
        Bounds of the calibration curve, and the most compatible one.
    coverage : float
        P(the whole true curve is within the bounds), at least.
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
    largest_deviation : Deviation, optional
        Limits of how far the curve is from the diagonal, marked where it can be farthest.

    Attributes
    ----------
    histogram_ax_ : matplotlib Axes or None
        The axes with the predictions; None if the belt was drawn on axes that were given.
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

    grid: FloatArray
    lower: FloatArray
    upper: FloatArray
    estimate: FloatArray
    _: KW_ONLY
    coverage: float
    pvalue: float
    y_prob: FloatArray
    successes: IntArray
    trials: IntArray
    departures: tuple[Departure, ...] = ()
    status: str = "bounded"
    largest_deviation: Deviation | None = None

    @classmethod
    def from_belt(
        cls, belt: CalibrationBelt, *, draw: bool = True, ax: Axes | None = None, **kwargs: Any
    ) -> Self:
        """Take the arrays of a belt, and draw them.

        Parameters
        ----------
        belt : CalibrationBelt
            Returned by `calibration_belt`.
        draw : bool
            Whether to draw at once; if not, matplotlib is not needed.
        ax, **kwargs
            For `plot`.
        """
        display = cls(**{one.name: getattr(belt, one.name) for one in fields(cls)})
        return display.plot(ax, **kwargs) if draw else display

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
            For `plot`.
        **settings
            For `calibration_belt`: ``confidence_level``, ``rng`` and others.
        """
        optional_module("matplotlib", f"{cls.__name__}.from_predictions", "plot")
        return cls.from_belt(calibration_belt(y_true, y_prob, **settings), ax=ax)

    @classmethod
    def from_estimator(
        cls, estimator: Any, X: Any, y: Any, *, ax: Axes | None = None, **settings: Any
    ) -> Self:
        """Draw the belt of a fitted classifier's predictions on held-out data.

        Parameters
        ----------
        estimator : classifier, statsmodels results, or callable X -> (n,)
            Fitted on other data.
        X, y
            Held-out inputs and outcomes.
        ax, **settings
            For `from_predictions`.
        """
        optional_module("matplotlib", f"{cls.__name__}.from_estimator", "plot")
        rows = Sample.from_data(np.arange(len(y)), y, pos_label=settings.get("pos_label"))
        predictions = fixed_probabilities(estimator, X, len(rows), rows.classes)
        return cls.from_predictions(y, predictions, ax=ax, **settings)

    def histogram(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return edges of bins, and outcomes that happened and that did not in each."""
        edges = np.linspace(0, 1, BINS + 1)
        happened, others = (
            np.histogram(self.y_prob, edges, weights=weights)[0]
            for weights in (self.successes, self.trials - self.successes)
        )
        return edges, happened, others

    def plot(self, ax: Axes | None = None, **kwargs: Any) -> Self:
        """Draw the belt on the axes given, or belt and histogram in a new figure."""
        self.histogram_ax_: Axes | None = None
        return super().plot(ax, **kwargs)

    def _new_axes(self) -> Axes:
        import matplotlib.pyplot as plt

        figure = plt.figure(figsize=(5.0, 5.8), layout="constrained")
        top, self.histogram_ax_ = figure.subplots(2, 1, sharex=True, height_ratios=(4, 1))
        return cast("Axes", top)

    def _draw(self, ax: Axes, **kwargs: Any) -> None:
        ax.plot([0, 1], [0, 1], color=canvas.GREY, linewidth=1, linestyle=":", label="calibrated")
        if self.status != "empty":
            self._draw_belt(**kwargs)
        self._draw_departures()
        self._draw_deviation()
        if self.histogram_ax_ is not None:
            self._draw_histogram(self.histogram_ax_)
        (self.histogram_ax_ or ax).set_xlabel("predicted probability")
        ax.set(xlim=(0, 1), ylim=(0, 1), ylabel="probability of the outcome")
        canvas.remove_spines(ax)
        canvas.add_legend(ax, loc="upper left")
        title = f"Calibration: exact p-value {self.pvalue:.4g} (n = {int(self.trials.sum()):,})"
        note = ""
        if self.status == "empty":
            note = f"empty: no {wording.RECALIBRATION} of the logits fits"
        elif len(self.departures) == 1:
            note = wording.departure_text(self.departures[0])
        canvas.add_note(ax, title, note)

    def _draw_belt(self, **kwargs: Any) -> None:
        style = {**canvas.BAND_STYLE, "label": f"{wording.percent(self.coverage)} belt", **kwargs}
        self.band_ = self.ax_.fill_between(self.grid, self.lower, self.upper, **style)
        look: dict[str, Any] = {"color": canvas.BLUE, "linewidth": 1.6, "label": "most compatible"}
        (self.line_,) = self.ax_.plot(self.grid, self.estimate, **look)

    def _draw_departures(self) -> None:
        """Mark the diagonal where it is outside the belt."""
        label: str | None = "outside the belt"
        style: dict[str, Any] = {"linewidth": 2.4, "solid_capstyle": "round"}
        for departure in self.departures:
            ends = [departure.start, departure.stop]
            self.ax_.plot(ends, ends, color=canvas.VERMILION, label=label, **style)
            label = None

    def _draw_deviation(self) -> None:
        """Mark where the curve can be farthest from the diagonal."""
        found = self.largest_deviation
        if found is None or found.at is None:
            return
        at = found.at
        ends = [float(np.interp(at, self.grid, bound)) for bound in (self.lower, self.upper)]
        farthest = max(ends, key=lambda end: abs(end - at))
        label = f"within ±{wording.limit_text(found.upper, upper=True)} everywhere"
        style: dict[str, Any] = {"linewidth": 1.2, "marker": "_", "markersize": 7}
        self.ax_.plot([at, at], [at, farthest], color=canvas.INK, label=label, **style)

    def _draw_histogram(self, ax: Axes) -> None:
        """Draw the predictions of outcomes that happened upwards, the others downwards."""
        edges, happened, others = self.histogram()
        for heights, color in ((happened, canvas.BLUE), (-others, canvas.GREY)):
            ax.bar(edges[:-1], heights, width=1 / BINS, align="edge", color=color, alpha=0.8)
        ax.axhline(0, color=canvas.INK, linewidth=0.6)
        ax.set_ylabel("rows")
        ax.margins(y=0.3)  # room for the words
        ax.yaxis.set_major_formatter(lambda value, _: f"{abs(value):g}")
        style: dict[str, Any] = {"transform": ax.transAxes, "ha": "right", "fontsize": "small"}
        ax.text(0.995, 0.99, "happened", va="top", color=canvas.BLUE, **style)
        ax.text(0.995, 0.01, "did not", va="bottom", color=canvas.GREY, **style)
        canvas.remove_spines(ax)
