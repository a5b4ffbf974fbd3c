"""The fitted curve along one input: data, band, threshold, and guess and lapse levels."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from exactregion._typing import BoolArray, FloatArray
from exactregion.errors import ArgumentError, InvalidValueError
from exactregion.models import Psychometric
from exactregion.plotting import canvas, formats
from exactregion.plotting.bands import BandDisplay, band_along, fields_of
from exactregion.region import ConfidenceRegion, Threshold
from exactregion.region.places import is_number, read_place
from exactregion.region.thresholds import ThresholdPlan

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

POINTS = 41
"""Points of the curve: the ends of a band are searched at each of them, and a curve through 41
looks smooth in a figure of six inches."""

MARGIN = 0.05
"""A curve goes beyond a threshold that lies outside the data by this share of the range, so that
its mark is not cut off."""

FARTHEST = 1.0
"""A threshold farther from the data than this many ranges is not within the picture:
the data would have less than half of it."""

FEW_TICKS = 10
"""A logarithmic axis is marked at the inputs of the data, if they are as few: doses, in most cases.
More labels would touch each other."""

FEW_PLACES = 1 / 3
"""Labels are drawn as shares where there are at most this many different inputs per row:
three outcomes or more share an input, on average."""


@dataclass(eq=False, repr=False, kw_only=True)
class CurveDisplay(BandDisplay):
    """The curve of a region along one input, with its simultaneous band, data and threshold.

    Use `from_region`, or ``region.plot("curve")``, to make one. Further arguments of `plot` are
    those of `matplotlib.axes.Axes.fill_between`.

    Parameters
    ----------
    x, lower, upper, estimate, coverage, joint, status, data_x, successes, trials, name
        As of a `BandDisplay`.
    threshold : Threshold, optional
        What is marked on the curve, with its interval.
    height : float
        The probability there.
    limits : mapping of str to float
        Levels that are marked by name: guess and lapse rates.
    is_likely : bool
        Whether the curve is that of maximum likelihood.
    is_logarithmic : bool
        Whether the axis of the input is logarithmic.

    Examples
    --------
    >>> import exactregion as er
    >>> flights = er.datasets.oring()
    >>> region = er.ConfidenceRegion.from_formula("y ~ temp", flights, n_resamples=99, rng=0)
    >>> display = region.plot("curve")
    >>> display.ax_.get_xlabel(), round(display.threshold.estimate, 1)
    ('temp', 64.8)
    """

    threshold: Threshold | None = None
    height: float = 0.5
    limits: Mapping[str, float] | None = None
    is_likely: bool = True
    is_logarithmic: bool = False

    @classmethod
    def from_region(
        cls,
        region: ConfidenceRegion,
        *,
        input: str | None = None,
        probability: float | None = None,
        at: Mapping[str, Any] | None = None,
        x: tuple[float, float] | None = None,
        draw: bool = True,
        **kwargs: Any,
    ) -> Self:
        """Compute the curve, its band and its threshold.

        Parameters
        ----------
        region : ConfidenceRegion
            Fitted.
        input, probability, at
            As for `ConfidenceRegion.threshold`. Where other inputs have levels, the data drawn are
            those of the levels in `at`. No threshold is drawn for inputs that have no single one.
        x : (float, float), optional
            From where to where; by default the range of the data, and the threshold.
        draw, **kwargs
            Whether to draw at once, and arguments of `plot`.
        """
        cls._check_matplotlib("from_region", draw)
        fitted = region.fitted_
        inputs, name, _, held = read_place(fitted, input, at)
        plan = _plan(region, name, probability, at)
        threshold = None if plan is None else plan.find()
        is_logarithmic = plan is not None and plan.is_logarithmic
        low, high = (
            _range(inputs[name], threshold, is_logarithmic) if x is None else _check_range(x)
        )
        grid = (np.geomspace if is_logarithmic else np.linspace)(low, high, POINTS)
        band = band_along(region, inputs, grid, name, held)
        likely = region.maximum_likelihood_
        theta = region.estimate_ if likely is None else likely
        height, limits = _levels(region, theta, threshold)
        curve = {"x": grid, "estimate": fitted.model.probabilities(theta, band.X)}
        return cls(
            **{**fields_of(band), **curve},
            name=name,
            threshold=threshold,
            height=height,
            limits=limits,
            is_likely=likely is not None,
            is_logarithmic=is_logarithmic,
            **_data(region, inputs, name, held),
        )._drawn_if(draw, **kwargs)

    @property
    def _estimate_label(self) -> str:
        return "maximum likelihood" if self.is_likely else super()._estimate_label

    def _draw(self, ax: Axes, **kwargs: Any) -> None:
        self._draw_band(**kwargs)
        self._draw_data()
        for label, level in (self.limits or {}).items():
            ax.axhline(level, color=canvas.GREY, linewidth=0.8, linestyle="--", zorder=1)
            style: dict[str, Any] = {"ha": "right", "va": "bottom", "color": canvas.GREY}
            text, coords = f"{label} {formats.number(level)}", ("axes fraction", "data")
            canvas.write_near(ax, text, (1, level), (-2, 2), coords, **style)
        if self.is_logarithmic:
            ax.set_xscale("log")
            ax.xaxis.set_major_formatter("{x:g}")
            places = np.unique([] if self.data_x is None else self.data_x)
            if 0 < len(places) <= FEW_TICKS:
                ax.set_xticks(places)
                ax.minorticks_off()
        ax.margins(x=0.02)
        left, right = ax.get_xlim()
        self._draw_threshold(left, right)
        ax.set(xlim=(left, right))
        self._draw_frame(ax)

    def _draw_threshold(self, left: float, right: float) -> None:
        """Mark the threshold on the curve, with its interval; an arrow where it has no end."""
        found = self.threshold
        if found is None or found.status == "empty":
            return
        style: dict[str, Any] = {"color": canvas.VERMILION, "zorder": 5}
        ends = [max(found.lower, left), min(found.upper, right)]
        estimate, interval = formats.estimate_and_interval(vars(found))
        level = "threshold" if found.probability is None else f"P = {found.probability:g}"
        label = f"{level}: {estimate} {interval}"
        if ends[0] < ends[1]:
            self.ax_.plot(ends, [self.height] * 2, linewidth=2.2, label=label, **style)
            sides = zip(ends, (found.lower, found.upper), "<>", strict=True)
            for end, known, marker in sides:
                shape = "|" if end == known else marker
                self.ax_.plot([end], [self.height], marker=shape, markersize=8, **style)
        if left <= found.estimate <= right:
            look: dict[str, Any] = {"linewidth": 0.9, "linestyle": ":"}
            self.ax_.plot([found.estimate] * 2, [-0.08, self.height], **look, **style)
            self.ax_.plot([found.estimate], [self.height], marker="o", markersize=6, **style)


def _plan(
    region: ConfidenceRegion, name: str, probability: float | None, at: Any
) -> ThresholdPlan | None:
    """Plan the threshold; None where an input has none, and no probability was given."""
    try:
        return ThresholdPlan.read(region.fitted_, name, probability, at)
    except ArgumentError as error:
        if error.parameter == "input" and probability is None:
            return None
        raise


def _range(
    column: pd.Series[Any], threshold: Threshold | None, is_logarithmic: bool
) -> tuple[float, float]:
    """Return the range of the data, and the threshold if that is near."""
    forward, inverse = (np.log, np.exp) if is_logarithmic else (np.asarray, np.asarray)
    low, high = float(forward(column.min())), float(forward(column.max()))
    span = (high - low) or 1.0
    if low == high:
        low, high = low - span / 2, high + span / 2
    if threshold is not None and np.isfinite(threshold.estimate):
        at = float(forward(threshold.estimate))
        if low - FARTHEST * span <= at < low:
            low = at - MARGIN * span
        if high < at <= high + FARTHEST * span:
            high = at + MARGIN * span
    return float(inverse(low)), float(inverse(high))


def _check_range(x: Any) -> tuple[float, float]:
    ends = np.asarray(x, dtype=np.float64)
    if ends.shape != (2,) or not np.isfinite(ends).all() or ends[0] >= ends[1]:
        raise InvalidValueError(
            f"must be a pair (low, high) of numbers, low < high. Got {x!r} instead.", parameter="x"
        )
    return float(ends[0]), float(ends[1])


def _levels(
    region: ConfidenceRegion, theta: FloatArray, threshold: Threshold | None
) -> tuple[float, dict[str, float] | None]:
    """Return the height of the threshold, and guess and lapse levels if there are any."""
    given = None if threshold is None else threshold.probability
    if not isinstance(region.model_, Psychometric):
        return (0.5 if given is None else given), None
    _, guess, lapse = region.model_.split(theta[None])
    low, high = float(guess[0, 0]), 1 - float(lapse[0, 0])
    height = (low + high) / 2 if given is None else given
    return height, {"guess": low, "1 − lapse": high}


def _data(
    region: ConfidenceRegion, inputs: pd.DataFrame, name: str, held: Mapping[str, Any]
) -> dict[str, Any]:
    """Return the data at the levels that are held; labels as counts where inputs are few."""
    successes, trials = region.fitted_.sample.user_outcomes
    shown: BoolArray = np.ones(len(inputs), dtype=np.bool_)
    for other, value in held.items():
        if not is_number(inputs[other]):
            shown &= (inputs[other] == value).to_numpy()
    x = inputs[name].to_numpy(dtype=np.float64)[shown]
    successes, trials = successes[shown], trials[shown]
    places, place = np.unique(x, return_inverse=True)
    if (trials == 1).all() and len(places) <= FEW_PLACES * len(x):
        x = places
        successes, trials = (
            np.bincount(place.ravel(), values).astype(np.int64) for values in (successes, trials)
        )
    return {"data_x": x, "successes": successes, "trials": trials}
