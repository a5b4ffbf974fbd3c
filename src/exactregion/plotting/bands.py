"""A band of P(Y=1|x) with the data and the zone where the region does not decide."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from exactregion._typing import FloatArray, IntArray
from exactregion.data.reading import numeric
from exactregion.data.sample import Sample
from exactregion.errors import InvalidTypeError, InvalidValueError
from exactregion.plotting import canvas, formats, wording
from exactregion.region import Band, ConfidenceRegion
from exactregion.region.bands import positive_ranges

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

JITTER = 0.022
"""Half the range of the heights of marks of equal outcomes, so that equal inputs show: marks
around 1.04 and -0.04 stay between the curve's 0 and 1 and the ends of the axis, -0.08 and 1.08."""

OUTSIDE = "outside the data"
"""What pictures and tables call inputs beyond those of the data."""

NOTES = {
    "unbounded": "unbounded: the band is of an unbounded region",
    "disconnected": "disconnected: the band is of a disconnected region, and fills its gaps",
    "unsettled": "unsettled: the search kept missing members, and the band may be wider",
    "empty": wording.region_note("empty"),
}


@dataclass(eq=False, repr=False)
class BandDisplay(canvas.Display):
    """Bounds of P(Y=1|x) along one input, with the estimate and the data.

    Use `from_band`, or `Band.plot`, to make one. Further arguments of `plot` are those of
    `matplotlib.axes.Axes.fill_between`.

    Parameters
    ----------
    x : ndarray of shape (k,)
        Values of the input, in ascending order.
    lower, upper, estimate : ndarrays of shape (k,)
        Bounds, and the value at the estimate.
    coverage, joint, status
        As of a `Band`.
    data_x, successes, trials : ndarrays of shape (n,), optional
        Inputs and outcomes of the data; trials are all 1 for labels.
    name : str
        Name of the input.

    Attributes
    ----------
    band_, line_ : matplotlib PolyCollection and Line2D
        The band and the estimate.

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

    x: FloatArray
    lower: FloatArray
    upper: FloatArray
    estimate: FloatArray
    _: KW_ONLY
    coverage: float
    joint: bool
    status: str = "bounded"
    data_x: FloatArray | None = None
    successes: IntArray | None = None
    trials: IntArray | None = None
    name: str = "x"

    @classmethod
    def from_band(
        cls,
        band: Band,
        *,
        data: tuple[Any, Any] | None = None,
        name: str | None = None,
        pos_label: object = None,
        **kwargs: Any,
    ) -> Self:
        """Draw a band along the one input that varies in it.

        Parameters
        ----------
        band : Band
            Returned by `ConfidenceRegion.band`; its inputs may differ in one column only.
        data : (x, y), optional
            Data to draw: one input column, and labels or (successes, failures).
        name : str, optional
            Name of the input; by default that of the data's column, or "x".
        pos_label : object, optional
            The positive class of the data's y.
        **kwargs
            For `plot`, such as ``ax``.
        """
        cls._check_matplotlib("from_band")
        shown = {} if data is None else _read_data(data, pos_label)
        if name is not None:
            shown["name"] = name
        return cls(**arrays_of(band), **shown).plot(**kwargs)

    def marks(
        self, most: int | None = None, spread: float = 0.0
    ) -> tuple[FloatArray, FloatArray, IntArray]:
        """Return x, height and trials of a mark for each row, or for `most` rows drawn at random.

        Rows of one trial have marks above 1 or below 0, at slightly different heights so that equal
        inputs show; others have them at their share of successes. Rows without trials have none.
        With a `spread`, x differ by up to this from the inputs.
        """
        if self.data_x is None or self.successes is None or self.trials is None:  # all or none
            return np.empty(0), np.empty(0), np.empty(0, dtype=np.int64)
        rng = np.random.default_rng(0)
        rows = np.flatnonzero((self.trials > 0) & np.isfinite(self.data_x))
        if most is not None and len(rows) > most:
            rows = np.sort(rng.choice(rows, most, replace=False))
        x, hits, trials = self.data_x[rows], self.successes[rows], self.trials[rows]
        if spread:
            x = x + spread * rng.uniform(-1, 1, len(x))
        if not self.is_labels:
            return x, hits / trials, trials
        return x, np.where(hits == 1, 1.04, -0.04) + JITTER * rng.uniform(-1, 1, len(x)), trials

    @property
    def is_labels(self) -> bool:
        """Whether every row of the data is a single trial."""
        return self.trials is not None and bool((self.trials == 1).all())

    def _draw(self, ax: Axes, **kwargs: Any) -> None:
        self._draw_band(**kwargs)
        self._draw_undecided()
        self._draw_data()
        ax.margins(x=0.02)
        self._draw_frame(ax)

    def _draw_frame(self, ax: Axes) -> None:
        """Label the axes, and add legend and note."""
        ax.set(xlabel=canvas.as_text(self.name), ylabel="P(Y = 1 | x)", ylim=(-0.08, 1.08))
        ax.set_yticks(np.linspace(0, 1, 6))
        canvas.remove_spines(ax)
        canvas.add_legend(ax)
        if self.status != "bounded":
            canvas.add_note(ax, "", NOTES[self.status])

    @property
    def _estimate_label(self) -> str:
        return wording.estimate_name(self.status == "empty")

    def _draw_band(self, **kwargs: Any) -> None:
        is_empty, kind = self.status == "empty", "simultaneous" if self.joint else "individual"
        look: dict[str, Any] = {"color": canvas.BLUE, "linestyle": "--" if is_empty else "-"}
        look |= {"linewidth": 1.6, "label": self._estimate_label}
        pieces = self._pieces()
        for x, lower, upper, estimate, is_outside in pieces:
            if not is_empty:
                label = f"{formats.percent(self.coverage)} {kind} band"
                style = {**canvas.BAND_STYLE, "label": label, **kwargs}
                if is_outside:
                    style |= {"alpha": 0.4 * style["alpha"], "label": None}
                drawn = self.ax_.fill_between(x, lower, upper, **style)
                if not is_outside or len(pieces) == 1:
                    self.band_ = drawn
            line_look = {**look, "linestyle": ":", "label": None} if is_outside else look
            (line,) = self.ax_.plot(x, estimate, **line_look)
            if not is_outside or len(pieces) == 1:
                self.line_ = line
        if any(piece[-1] for piece in pieces):
            self.ax_.plot([], [], **{**look, "linestyle": ":", "label": OUTSIDE})

    def _pieces(self) -> list[tuple[Any, ...]]:
        """Cut x, bounds and estimate where the data end; the last entry says what is outside."""
        curves = (self.lower, self.upper, self.estimate)
        if self.data_x is None or not np.isfinite(self.data_x).any():
            return [(self.x, *curves, False)]
        low, high = np.nanmin(self.data_x), np.nanmax(self.data_x)
        first, last = self.x[0], self.x[-1]
        if first >= low and last <= high:
            return [(self.x, *curves, False)]
        pieces = []
        for here, there, is_outside in ((first, low, True), (low, high, False), (high, last, True)):
            start, stop = max(here, first), min(there, last)
            if start < stop:
                between = self.x[(self.x > start) & (self.x < stop)]
                x = np.concatenate([[start], between, [stop]])
                pieces.append((x, *(np.interp(x, self.x, one) for one in curves), is_outside))
        return pieces

    def _draw_undecided(self) -> None:
        """Shade the inputs at which the region allows both classes to be the likelier."""
        self.ax_.axhline(0.5, color=canvas.GREY, linewidth=0.8, linestyle=":", zorder=1)
        label: str | None = "undecided: band contains 1/2"
        style: dict[str, Any] = {"color": canvas.GREY, "alpha": 0.1, "linewidth": 0, "zorder": 0}
        for start, stop in positive_ranges(self.x, 0.5 - self.lower, self.upper - 0.5):
            self.ax_.axvspan(start, stop, label=label, **style)
            label = None

    def _draw_data(self) -> None:
        x, height, trials = self.marks()
        if not len(x):
            return
        total = int(trials.sum())
        style: dict[str, Any]
        if self.is_labels:
            alpha = 0.75 if len(x) < 300 else 0.35  # so that dense ticks keep a shade
            style = {"linestyle": "none", "marker": "|", "markersize": 6, "color": canvas.INK}
            self.ax_.plot(x, height, label=f"data (n = {total})", alpha=alpha, **style)
        else:
            sizes = 12 + 68 * trials / trials.max()
            style = {"facecolor": "white", "edgecolor": canvas.INK, "zorder": 4, "clip_on": False}
            self.ax_.scatter(x, height, s=sizes, label=f"observed shares (n = {total})", **style)


def band_along(
    region: ConfidenceRegion,
    inputs: pd.DataFrame,
    grid: FloatArray,
    name: str,
    held: Mapping[str, Any],
) -> Any:
    """Compute the band along one input, where the others are held at values."""
    frame = inputs.iloc[[0] * len(grid)].reset_index(drop=True)
    return region.band(frame.assign(**{name: grid, **held}))


def fields_of(band: Band, rows: Any = slice(None)) -> dict[str, Any]:
    """Return what Displays take of a band at some of its rows."""
    curves = {name: getattr(band, name)[rows] for name in ("lower", "upper", "estimate")}
    return curves | {name: getattr(band, name) for name in ("coverage", "joint", "status")}


def arrays_of(band: Band) -> dict[str, Any]:
    """Return the same in ascending order of the one input that varies, with that input."""
    table = band.X.reshape(len(band.X), -1)
    varying = np.flatnonzero((table != table[:1]).any(axis=0))
    if len(varying) != 1:
        raise InvalidValueError(
            "A band can be drawn if its inputs differ in exactly one column. "
            f"Got inputs that differ in {len(varying)} of {table.shape[1]} columns instead."
        )
    x = table[:, varying[0]]
    order = np.argsort(x, kind="stable")
    return {"x": x[order], **fields_of(band, order)}


def _read_data(data: Any, pos_label: object) -> dict[str, Any]:
    """Check the data to draw, and return them by the names of the fields of a BandDisplay."""
    if not isinstance(data, tuple | list) or len(data) != 2:
        raise InvalidTypeError(
            f"must be a pair (x, y). Got {type(data).__name__} instead.", parameter="data"
        )
    sample = Sample.from_data(*data, pos_label=pos_label, names=("x", "y"))
    table = numeric(sample.inputs.user_rows).reshape(len(sample), -1)
    if table.shape[1] != 1:
        raise InvalidValueError(
            "must have one input column, the one along which the band is "
            f"drawn. Got {table.shape[1]} instead.",
            parameter="data",
        )
    successes, trials = sample.user_outcomes
    name = sample.inputs.names[0]
    return {"name": name, "data_x": table[:, 0], "successes": successes, "trials": trials}
