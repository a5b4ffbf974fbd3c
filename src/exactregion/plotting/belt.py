"""Calibration belts over reliability diagrams: of one model, or of several in one picture."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass, fields
from functools import cached_property
from typing import TYPE_CHECKING, Any, Self, cast

import numpy as np

from exactregion._typing import FloatArray, IntArray
from exactregion.calibration import (
    CalibrationBelt,
    CalibrationBelts,
    Departure,
    Deviation,
    calibration_belt,
)
from exactregion.data.sample import Sample
from exactregion.models import fixed_probabilities
from exactregion.plotting import canvas, formats, wording
from exactregion.plotting.reliability import (
    ProbabilityAxis,
    ProbabilityDisplay,
    axes_for,
    draw_diagonal,
    draw_shares,
    reliability,
)

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

BINS = 40
"""Bins of the histogram of predictions: one per 0.025 from 0 to 1."""

UNEVEN = 20
"""The histogram counts on a log scale where one outcome is this many times as frequent: the bars of
the other would have no height."""


@dataclass(eq=False, repr=False)
class BeltDisplay(ProbabilityDisplay):
    """Bounds of the calibration curve, a reliability diagram, and a histogram of the predictions.

    The points are observed shares in up to ten groups of the prediction, with exact (Clopper and
    Pearson) limits, each at the belt's level on its own. Use `from_belt`, `from_predictions` or
    `from_estimator`, or `CalibrationBelt.plot`, to make one. Arguments of `plot` are ``scale``,
    "linear" or "logit" (None: logit where 19 of 20 predictions are within 0.1 of 0, or of 1), and
    those of `matplotlib.axes.Axes.fill_between`.

    Parameters
    ----------
    grid, lower, upper, estimate : ndarrays of shape (k,)
        Predicted probabilities in ascending order, bounds of the calibration curve, the estimate.
    y_prob, successes, trials : ndarrays of shape (n,)
        Predictions and outcomes.
    coverage, pvalue, departures, status, largest_deviation, degree
        As of a `CalibrationBelt`.

    Attributes
    ----------
    histogram_ax_ : matplotlib Axes or None
        The axes with the predictions; None if the belt was drawn on axes that were given.
    band_, line_ : matplotlib PolyCollection and Line2D
        The belt and the estimate.

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
    degree: int = 1

    @classmethod
    def from_belt(cls, belt: CalibrationBelt, *, draw: bool = True, **kwargs: Any) -> Self:
        """Take the arrays of a belt, and draw them.

        Parameters
        ----------
        belt : CalibrationBelt
            Returned by `calibration_belt`.
        draw, **kwargs
            Whether to draw at once, which needs matplotlib, and arguments of `plot`.
        """
        display = cls(**{one.name: getattr(belt, one.name) for one in fields(cls)})
        return display._drawn_if(draw, **kwargs)

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
        cls._check_matplotlib("from_predictions")
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
        cls._check_matplotlib("from_estimator")
        rows = Sample.from_data(np.arange(len(y)), y, pos_label=settings.get("pos_label"))
        predictions = fixed_probabilities(estimator, X, len(rows), rows.classes)
        return cls.from_predictions(y, predictions, ax=ax, **settings)

    @cached_property
    def points(self) -> pd.DataFrame:
        """The reliability diagram, as `plotting.reliability` gives it."""
        level = self.coverage
        return reliability(self.y_prob, self.successes, self.trials, confidence_level=level)

    def axes(self, scale: str | None = None) -> tuple[ProbabilityAxis, ProbabilityAxis]:
        """Return the axes of predicted and of observed probabilities."""
        curves = [] if self.status == "empty" else [self.lower, self.upper]
        points = self.points[["observed", "lower", "upper"]].to_numpy().ravel()
        return axes_for(self.y_prob[self.trials > 0], curves, points, scale)

    def histogram(
        self, across: ProbabilityAxis | None = None
    ) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return edges of bins, and outcomes that happened and that did not in each."""
        across = self.axes()[0] if across is None else across
        edges = across.bins(BINS)
        inside = np.clip(self.y_prob, edges[0], edges[-1])
        happened, others = (
            np.histogram(inside, edges, weights=weights)[0]
            for weights in (self.successes, self.trials - self.successes)
        )
        return edges, happened, others

    @property
    def is_uneven(self) -> bool:
        """Whether one outcome is much more frequent than the other."""
        positive, total = int(self.successes.sum()), int(self.trials.sum())
        rarer = min(positive, total - positive)
        return 0 < UNEVEN * rarer < total

    def _new_axes(self) -> Axes:
        import matplotlib.pyplot as plt

        figure = plt.figure(figsize=(5.0, 5.8), layout="constrained")
        top, self.histogram_ax_ = figure.subplots(2, 1, sharex=True, height_ratios=(4, 1))
        return cast("Axes", top)

    def _draw(self, ax: Axes, **kwargs: Any) -> None:
        draw_diagonal(ax, *self._axes)
        if self.status != "empty":
            self._draw_belt(**kwargs)
        self._draw_departures()
        label = f"observed, {self._level} exact limits"
        draw_shares(ax, self.points, self._axes[1], canvas.INK, label)
        self._draw_deviation()
        if self.histogram_ax_ is not None:
            self._draw_histogram(self.histogram_ax_)
        (self.histogram_ax_ or ax).set_xlabel("predicted probability")
        ax.set_ylabel("probability of the outcome")
        canvas.remove_spines(ax)
        canvas.add_legend(ax)
        title = f"Calibration: exact p-value {self.pvalue:.4g} (n = {int(self.trials.sum()):,})"
        note = ""
        if self.status == "empty":
            note = f"empty: no {wording.RECALIBRATION[self.degree]} fits"
        elif len(self.departures) == 1:
            note = wording.departure_text(self.departures[0])
        canvas.add_note(ax, title, note)

    @property
    def _level(self) -> str:
        return formats.percent(self.coverage)

    def _draw_belt(self, **kwargs: Any) -> None:
        bends = f" of degree {self.degree}" if self.degree > 1 else ""
        label = f"{self._level} belt{bends}, simultaneous"
        style = {**canvas.BAND_STYLE, "label": label, **kwargs}
        self.band_ = self.ax_.fill_between(self.grid, self.lower, self.upper, **style)
        look: dict[str, Any] = {"color": canvas.BLUE, "linewidth": 1.6, "label": "estimate"}
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
        label = f"within ±{formats.limit_text(found.upper, upper=True)} everywhere"
        style: dict[str, Any] = {"linewidth": 1.2, "marker": "_", "markersize": 7}
        self.ax_.plot([at, at], [at, farthest], color=canvas.INK, label=label, **style)

    def _draw_histogram(self, ax: Axes) -> None:
        """Draw the predictions of outcomes that happened upwards, the others downwards."""
        edges, happened, others = self.histogram(self._axes[0])
        if self.is_uneven:
            ax.set_yscale("symlog", linthresh=1)
        for heights, color in ((happened, canvas.BLUE), (-others, canvas.GREY)):
            ax.bar(edges[:-1], heights, np.diff(edges), align="edge", color=color, alpha=0.8)
        ax.axhline(0, color=canvas.INK, linewidth=0.6)
        ax.set_ylabel("outcomes")
        ax.margins(y=0.3)  # room for the words
        ax.yaxis.set_major_formatter(lambda value, _: f"{abs(value):g}")
        style: dict[str, Any] = {"transform": ax.transAxes, "ha": "right", "fontsize": "small"}
        ax.text(0.995, 0.99, "happened", va="top", color=canvas.BLUE, **style)
        ax.text(0.995, 0.01, "did not", va="bottom", color=canvas.GREY, **style)
        canvas.remove_spines(ax)


@dataclass(eq=False, repr=False)
class BeltsDisplay(ProbabilityDisplay):
    """Belts of several models over one diagonal, with observed shares in groups as points.

    Use `from_belts`, or `CalibrationBelts.plot`, to make one. Arguments of `plot` are those of
    `BeltDisplay.plot`.

    Parameters
    ----------
    belts : dict of str to BeltDisplay
        What is drawn of each model.
    adjusted : dict of str to float
        p-value of each model, adjusted for their number by Holm's method.

    Examples
    --------
    >>> import numpy as np
    >>> import exactregion as er
    >>> p = np.linspace(0.05, 0.95, 40)
    >>> y = np.random.default_rng(0).random(40) < p
    >>> belts = er.calibration_belt(y, {"a": p, "b": p**2}, n_resamples=39, rng=0)
    >>> er.plotting.BeltsDisplay.from_belts(belts).ax_.get_title(loc="left")
    'Calibration of 2 models (n = 40)'
    """

    belts: Mapping[str, BeltDisplay]
    adjusted: Mapping[str, float]

    @classmethod
    def from_belts(cls, belts: CalibrationBelts, *, draw: bool = True, **kwargs: Any) -> Self:
        """Take the arrays of belts, and draw them.

        Parameters
        ----------
        belts : CalibrationBelts
            Returned by `calibration_belt` for several models.
        draw, **kwargs
            Whether to draw at once, which needs matplotlib, and arguments of `plot`.
        """
        parts = {name: BeltDisplay.from_belt(belt, draw=False) for name, belt in belts.items()}
        adjusted = dict(zip(belts, belts.table["pvalue_holm"], strict=True))
        return cls(parts, adjusted)._drawn_if(draw, **kwargs)

    def axes(self, scale: str | None = None) -> tuple[ProbabilityAxis, ProbabilityAxis]:
        """Return the axes of predicted and of observed probabilities, for all models."""
        parts = list(self.belts.values())
        shown = [one for one in parts if one.status != "empty"]
        curves = [curve for one in shown for curve in (one.lower, one.upper)]
        points = np.concatenate([one.points["observed"].to_numpy() for one in parts])
        predictions = np.concatenate([one.y_prob[one.trials > 0] for one in parts])
        return axes_for(predictions, curves, points, scale)

    def legend_of(self, name: str) -> str:
        """Write what the legend says of a model."""
        empty = ", no belt" if self.belts[name].status == "empty" else ""
        return f"{formats.shortened(name, 30)}: p = {self.adjusted[name]:.4g}{empty}"

    _size = 5.6, 5.2

    def _draw(self, ax: Axes, **kwargs: Any) -> None:
        draw_diagonal(ax, *self._axes)
        for index, (name, one) in enumerate(self.belts.items()):
            color, dash = canvas.look_of(index)
            label: dict[str, Any] = {"label": canvas.as_text(self.legend_of(name))}
            if one.status != "empty":
                band = {**canvas.BAND_STYLE, "color": color, "alpha": 0.18, **kwargs}
                ax.fill_between(one.grid, one.lower, one.upper, **band)
                ax.plot(one.grid, one.estimate, color=color, linestyle=dash, **label)
                label = {}
            x, y = one.points[["predicted", "observed"]].to_numpy().T
            ax.plot(x, y, "o", color=color, markersize=3.5, **label)
        ax.set(xlabel="predicted probability", ylabel="probability of the outcome")
        canvas.remove_spines(ax)
        canvas.add_legend(ax, title="p-values adjusted (Holm)", title_fontsize="small")
        n = int(next(iter(self.belts.values())).trials.sum())
        level = formats.percent(next(iter(self.belts.values())).coverage)
        canvas.add_note(ax, f"Calibration of {len(self.belts)} models (n = {n:,})", "")
        style: dict[str, Any] = {"ha": "right", "fontsize": "small", "color": canvas.GREY}
        note = f"{level} belts; points: observed shares in groups"
        ax.text(0.99, 0.015, note, transform=ax.transAxes, **style)
