"""A band of P(Y=1|x) with the data and the zone where the region does not decide."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np

from exactregion._typing import BoolArray, FloatArray, IntArray
from exactregion.data.reading import numeric, read_inputs, read_outcomes
from exactregion.errors import InvalidTypeError, InvalidValueError
from exactregion.plotting import canvas, wording
from exactregion.region.ranges import positive_ranges

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from exactregion.region import Band

__all__ = ["BandDisplay"]

_NOTES = {
    "unbounded": "unbounded: the band is of an unbounded region",
    "disconnected": "disconnected: the band is of a disconnected region, and fills its gaps",
    "empty": wording.region_note("empty"),
}


class BandDisplay:
    """Bounds of P(Y=1|x) along one input, with the estimate and the data.

    Use `from_band`, or `Band.plot`, to make one.

    Parameters
    ----------
    x : ndarray of shape (k,)
        Values of the input, in ascending order.
    lower, upper, estimate : ndarrays of shape (k,)
        Bounds, and the value at the most compatible parameter.
    coverage : float
        P(the true curve is within the bounds), at least.
    joint : bool
        Whether the band holds at all inputs at once.
    status : {"bounded", "unbounded", "disconnected", "empty"}
        What kind of set the region is.
    data_x : ndarray of shape (n,), optional
        Inputs of the data.
    successes, trials : ndarrays of shape (n,), optional
        Outcomes at these; trials are all 1 for labels.
    name : str
        Name of the input.

    Attributes
    ----------
    ax_ : matplotlib Axes
        The axes drawn on.
    figure_ : matplotlib Figure
        Their figure.
    band_ : matplotlib PolyCollection
        The band.
    line_ : matplotlib Line2D
        The estimate.

    Examples
    --------
    >>> import numpy as np
    >>> import exactregion as er
    >>> flights = er.datasets.oring()
    >>> region = er.ConfidenceRegion("logistic", n_resamples=19, rng=0)
    >>> region = region.fit(flights["temp"], flights["y"])
    >>> band = region.band(np.linspace(50, 82, 9))
    >>> display = er.plotting.BandDisplay.from_band(band, data=(flights["temp"], flights["y"]))
    >>> display.ax_.get_xlabel()
    'temp'
    """

    ax_: Axes
    figure_: Figure

    def __init__(
        self,
        x: FloatArray,
        lower: FloatArray,
        upper: FloatArray,
        estimate: FloatArray,
        *,
        coverage: float,
        joint: bool,
        status: str = "bounded",
        data_x: FloatArray | None = None,
        successes: IntArray | None = None,
        trials: IntArray | None = None,
        name: str = "x",
    ) -> None:
        self.x = x
        self.lower = lower
        self.upper = upper
        self.estimate = estimate
        self.coverage = coverage
        self.joint = joint
        self.status = status
        self.data_x = data_x
        self.successes = successes
        self.trials = trials
        self.name = name

    @classmethod
    def from_band(
        cls,
        band: Band,
        *,
        data: tuple[Any, Any] | None = None,
        name: str | None = None,
        pos_label: object = None,
        ax: Axes | None = None,
        **kwargs: Any,
    ) -> Self:
        """Draw a band along the one input that varies in it.

        Parameters
        ----------
        band : Band
            What `ConfidenceRegion.band` gave; its inputs may differ in one column only.
        data : (x, y), optional
            Data to draw: one input column, and labels or (successes, failures).
        name : str, optional
            Name of the input; by default that of the data's column, or "x".
        pos_label : object, optional
            The positive class of the data's y.
        ax : matplotlib Axes, optional
            Where to draw; a new figure by default.
        **kwargs
            For `plot`.

        Returns
        -------
        BandDisplay
        """
        canvas.check_matplotlib(f"{cls.__name__}.from_band")
        x = _varying_column(band.X)
        order = np.argsort(x, kind="stable")
        shown: dict[str, Any] = {}
        if data is not None:
            column, data_x, successes, trials = _read_data(data, pos_label)
            shown = {"data_x": data_x, "successes": successes, "trials": trials}
            name = column if name is None else name
        display = cls(
            x[order],
            band.lower[order],
            band.upper[order],
            band.estimate[order],
            coverage=band.coverage,
            joint=band.joint,
            status=band.status,
            name="x" if name is None else name,
            **shown,
        )
        return display.plot(ax, **kwargs)

    def plot(self, ax: Axes | None = None, **kwargs: Any) -> Self:
        """Draw the picture.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; a new figure by default.
        **kwargs
            For the band, `matplotlib.axes.Axes.fill_between`.

        Returns
        -------
        self
        """
        canvas.check_matplotlib(f"{type(self).__name__}.plot")
        ax = canvas.new_axes(5.6, 3.8) if ax is None else ax
        self.ax_, self.figure_ = ax, canvas.figure_of(ax)
        self._draw_band(**kwargs)
        self._draw_undecided()
        self._draw_data()
        ax.set(xlabel=self.name, ylabel="P(Y = 1 | x)", ylim=(-0.08, 1.08))
        ax.set_yticks(np.linspace(0, 1, 6))
        ax.margins(x=0.02)
        canvas.remove_spines(ax)
        ax.legend(loc="best", fontsize="small", framealpha=0.9, edgecolor="none")
        if self.status != "bounded":
            canvas.add_note(ax, "", _NOTES[self.status])
        return self

    def _draw_band(self, **kwargs: Any) -> None:
        kind = "simultaneous" if self.joint else "pointwise"
        style = {
            "color": canvas.BLUE,
            "alpha": 0.25,
            "linewidth": 0,
            "label": f"{wording.percent(self.coverage)} {kind} band",
        }
        if self.status != "empty":
            self.band_ = self.ax_.fill_between(
                self.x, self.lower, self.upper, **{**style, **kwargs}
            )
        label = "least incompatible" if self.status == "empty" else "most compatible"
        look: dict[str, Any] = {"linestyle": "--"} if self.status == "empty" else {}
        (self.line_,) = self.ax_.plot(
            self.x, self.estimate, color=canvas.BLUE, linewidth=1.6, label=label, **look
        )

    def _draw_undecided(self) -> None:
        """Shade the inputs at which the region allows both classes to be the likelier."""
        self.ax_.axhline(0.5, color=canvas.GREY, linewidth=0.8, linestyle=":", zorder=1)
        label: str | None = "undecided: band holds 1/2"
        for start, stop in positive_ranges(self.x, 0.5 - self.lower, self.upper - 0.5):
            self.ax_.axvspan(
                start, stop, color=canvas.GREY, alpha=0.1, linewidth=0, zorder=0, label=label
            )
            label = None

    def _draw_data(self) -> None:
        if self.data_x is None or self.successes is None or self.trials is None:
            return
        total = int(self.trials.sum())
        if (self.trials == 1).all():
            self._draw_ticks(self.data_x, self.successes == 1, f"data (n = {total})")
            return
        used = self.trials > 0
        area = 12 + 68 * self.trials[used] / self.trials.max()
        self.ax_.scatter(
            self.data_x[used],
            self.successes[used] / self.trials[used],
            s=area,
            facecolor="white",
            edgecolor=canvas.INK,
            linewidth=0.9,
            zorder=4,
            clip_on=False,
            label=f"observed shares (n = {total})",
        )

    def _draw_ticks(self, x: FloatArray, positive: BoolArray, label: str) -> None:
        """Draw a tick for each outcome, a little above or below so that equal inputs show."""
        jitter = 0.022 * np.random.default_rng(0).uniform(-1, 1, len(x))
        height = np.where(positive, 1.04, -0.04) + jitter
        self.ax_.plot(
            x,
            height,
            linestyle="none",
            marker="|",
            markersize=6,
            markeredgewidth=1.0,
            color=canvas.INK,
            alpha=0.75 if len(x) < 300 else 0.35,
            label=label,
        )


def _varying_column(X: FloatArray) -> FloatArray:
    table = X.reshape(len(X), -1)
    varying = np.flatnonzero((table != table[:1]).any(axis=0)) if len(table) else np.empty(0, int)
    if len(varying) != 1:
        raise InvalidValueError(
            "A band can be drawn if its inputs differ in exactly one column. "
            f"Got inputs that differ in {len(varying)} of {table.shape[1]} columns instead."
        )
    return table[:, varying[0]]


def _read_data(data: Any, pos_label: object) -> tuple[str | None, FloatArray, IntArray, IntArray]:
    if not isinstance(data, tuple | list) or len(data) != 2:
        raise InvalidTypeError(
            f"must be a pair (x, y). Got {type(data).__name__} instead.", parameter="data"
        )
    values, names = read_inputs(data[0], "x")
    outcomes = read_outcomes(data[1], pos_label, "y")
    table = numeric(values).reshape(len(values), -1)
    if table.shape[1] != 1:
        raise InvalidValueError(
            "must have one input column, the one along which the band is "
            f"drawn. Got {table.shape[1]} instead.",
            parameter="data",
        )
    if len(table) != len(outcomes.trials):
        raise InvalidValueError(
            "The x and y of the 'data' parameter must have the same number of rows. "
            f"Got {len(table)} and {len(outcomes.trials)} instead."
        )
    name = names[0] if names else None
    return name, table[:, 0], outcomes.successes, outcomes.trials
