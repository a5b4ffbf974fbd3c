"""Reliability diagrams: outcomes in groups of the prediction, and axes that follow predictions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from scipy.special import expit, logit

from exactregion._typing import FloatArray, IntArray
from exactregion.errors import InvalidValueError
from exactregion.plotting import canvas, formats

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

SCALES = ("linear", "logit")

RARE = 0.1
"""Where 19 of 20 predictions are below this, or as close to 1, the axis is a logit one."""

SNAP = 0.15
"""A linear axis begins at 0 where the values begin this close to it, as a share of the largest: an
axis that is cut off there would save little room."""

SMALL = 0.25
"""Groups of less than this share of the mean weight join others: beside many equal predictions, one
row may be left, whose limits fill the picture."""

TAIL = 0.001
"""The share of predictions at each end that a logit axis may leave out: one prediction of 1e-12
would press all others together."""


def reliability(
    probabilities: FloatArray,
    successes: IntArray,
    trials: IntArray,
    *,
    most: int = 10,
    confidence_level: float = 0.95,
    by_variance: bool | None = None,
) -> pd.DataFrame:
    """Divide outcomes into groups of about equal size; equal predictions stay together.

    Where 19 of 20 predictions are within 0.1 of 0, or of 1, the groups have about equal Σ p(1-p)
    instead: most groups of equal size would have no event. Which group a row is in depends on the
    predictions alone. The limits are those of Clopper and Pearson for a binomial share, each at the
    level on its own.

    Parameters
    ----------
    probabilities : ndarray of shape (n,)
        Predictions.
    successes, trials : ndarrays of shape (n,)
        Outcomes; labels are single trials.
    most : int
        Most groups.
    confidence_level : float
        Level of each group's limits.
    by_variance : bool, optional
        Whether groups have about equal Σ p(1-p); None decides as said above.

    Returns
    -------
    pandas.DataFrame
        One row per group, in ascending order: smallest (low), largest (high) and mean prediction
        (predicted), share of successes (observed) with its limits (lower, upper), and the outcomes
        behind it (successes, trials).

    Examples
    --------
    >>> p = np.array([0.1, 0.1, 0.2, 0.9])
    >>> one = np.ones(4, dtype=int)
    >>> table = reliability(p, np.array([0, 1, 0, 1]), one, most=2)
    >>> table[["predicted", "observed", "lower", "upper"]].round(3).to_numpy().tolist()
    [[0.1, 0.5, 0.013, 0.987], [0.55, 0.5, 0.013, 0.987]]
    """
    import pandas as pd
    from scipy.stats import binomtest

    rows = pd.DataFrame({"p": probabilities, "successes": successes, "trials": trials})
    rows = rows[rows["trials"] > 0].assign(expected=lambda rows: rows["p"] * rows["trials"])
    weights = rows.groupby("p")["trials"].sum().astype(float)
    if by_variance is None:
        by_variance = scale_for(rows["p"].to_numpy()) == "logit"
    if by_variance and ((weights.index > 0) & (weights.index < 1)).any():
        weights *= weights.index * (1 - weights.index)
    middles = weights.cumsum() - weights / 2
    group_of_value = (most * middles / weights.sum()).astype(int).clip(upper=most - 1)
    group_of_value = _without_small(group_of_value, weights, SMALL * weights.sum() / most)
    grouped = rows.groupby(rows["p"].map(group_of_value))
    sums, p = grouped[["expected", "successes", "trials"]].sum(), grouped["p"]
    limits = [
        binomtest(int(k), int(n)).proportion_ci(confidence_level, method="exact")
        for k, n in zip(sums["successes"], sums["trials"], strict=True)
    ]
    return pd.DataFrame(
        {
            "low": p.min(),
            "high": p.max(),
            "predicted": sums["expected"] / sums["trials"],
            "observed": sums["successes"] / sums["trials"],
            "lower": [float(ends.low) for ends in limits],
            "upper": [float(ends.high) for ends in limits],
            "successes": sums["successes"],
            "trials": sums["trials"],
        }
    )


def _without_small(groups: pd.Series[Any], weights: pd.Series[Any], least: float) -> pd.Series[Any]:
    """Join groups of less weight to the one below, or to the one above where there is none."""
    sizes = weights.groupby(groups).sum()
    joined, below = {}, None
    for group, size in sizes.items():
        below = group if below is None or size >= least else below
        joined[group] = below
    first, *others = sizes.index
    if sizes[first] < least and others:
        joined = {group: others[0] if into == first else into for group, into in joined.items()}
    return groups.map(joined)


def scale_for(probabilities: FloatArray, scale: str | None = None) -> str:
    """Return the scale that was asked for, or the one that shows these predictions best."""
    if scale is not None:
        if scale not in SCALES:
            raise InvalidValueError(
                f"must be one of {list(SCALES)} or None. Got {scale!r} instead.", parameter="scale"
            )
        return scale
    low, high = np.quantile(probabilities, [0.05, 0.95])
    return "logit" if high < RARE or low > 1 - RARE else "linear"


@dataclass(frozen=True)
class ProbabilityAxis:
    """An axis of probabilities, from `low` to `high`.

    Examples
    --------
    >>> ProbabilityAxis.around(np.array([0.02, 0.3]))
    ProbabilityAxis(scale='linear', low=0.0, high=0.3112)
    >>> ProbabilityAxis.around(np.array([0.001, 0.01]), "logit").ticks
    [0.001, 0.002, 0.005, 0.01]
    """

    scale: str
    low: float
    high: float

    @classmethod
    def around(cls, values: FloatArray, scale: str = "linear") -> Self:
        """Make an axis that has room for all values, of those between 0 and 1 on a logit axis."""
        values = values[np.isfinite(values)]
        if scale == "logit":
            inner = values[(values > 0) & (values < 1)]
            ends = logit(np.array([inner.min(), inner.max()]) if len(inner) else [0.1, 0.9])
            pad = max(0.25, 0.04 * (ends[1] - ends[0]))
            return cls(scale, float(expit(ends[0] - pad)), float(expit(ends[1] + pad)))
        low, high = float(values.min()), float(values.max())
        pad = 0.04 * (high - low) if high > low else 0.05
        start = 0.0 if low <= SNAP * high else max(0.0, low - pad)
        stop = 1.0 if 1 - high <= SNAP * (1 - low) else min(1.0, high + pad)
        return cls(scale, start, stop)

    @property
    def ticks(self) -> list[float]:
        """Probabilities to name on a logit axis."""
        tens = 10.0 ** np.arange(-15, 0)
        for steps in ((1,), (1, 3), (1, 2, 5)):
            small = np.concatenate([step * tens for step in steps])
            small = small[small < 0.5]
            every = np.sort(np.concatenate([small, [0.5], 1 - small]))
            shown = every[(every >= self.low * (1 - 1e-9)) & (every <= self.high * (1 + 1e-9))]
            if len(shown) >= 4:
                break
        skip = -(-len(shown) // 9)
        return [float(tick) for tick in shown[::skip].round(15)]

    def place(self, probabilities: Any) -> FloatArray:
        """Return where probabilities are on an axis of plain numbers; those outside at its ends."""
        inside = np.clip(probabilities, self.low, self.high)
        return np.asarray(logit(inside) if self.scale == "logit" else inside)

    def cut(self, grid: FloatArray, *curves: FloatArray) -> list[FloatArray]:
        """Return the part of a grid, and of curves along it, that is within the limits.

        At the limits curves are interpolated on the logit scale, where belts are about straight.
        """
        if grid[0] >= self.low and grid[-1] <= self.high:
            return [grid, *curves]
        inner = grid[(grid > self.low) & (grid < self.high)]
        x = np.unique(np.concatenate([np.clip(grid[[0, -1]], self.low, self.high), inner]))
        smallest = np.finfo(np.float64).tiny, 1 - np.finfo(np.float64).eps
        ends = (logit(np.clip(curve, *smallest)) for curve in curves)
        return [x, *(expit(np.interp(logit(x), logit(grid), end)) for end in ends)]

    def bins(self, number: int) -> FloatArray:
        """Return the edges of bins that look equally wide, as probabilities."""
        low, high = self.place([self.low, self.high])
        edges = np.linspace(low, high, number + 1)
        return np.asarray(expit(edges) if self.scale == "logit" else edges)

    def apply_to(self, ax: Any, name: str) -> None:
        """Give the x or y axis of matplotlib's Axes this scale, these limits and these ticks."""
        if self.scale == "logit":
            ax.set(**{f"{name}scale": "logit"})
            axis = getattr(ax, f"{name}axis")
            axis.set_ticks(self.ticks, labels=[formats.probability(tick) for tick in self.ticks])
            axis.set_ticks([], minor=True)
        ax.set(**{f"{name}lim": (self.low, self.high)})


def axes_for(
    predictions: FloatArray, curves: list[FloatArray], points: FloatArray, scale: str | None = None
) -> tuple[ProbabilityAxis, ProbabilityAxis]:
    """Make the axes of predicted and of observed probabilities.

    The first follows the predictions. The second has room for the diagonal, curves and points too,
    but on a logit axis for no more of a curve than as much again as the diagonal: next to
    0 and 1 bounds go very far.
    """
    scale = scale_for(predictions, scale)
    if scale == "linear":
        across = ProbabilityAxis.around(predictions)
        shown = np.concatenate([predictions, *curves, points])
        return across, ProbabilityAxis.around(shown)
    inner = predictions[(predictions > 0) & (predictions < 1)]
    inner = inner if len(inner) else np.array([0.1, 0.9])
    ends = np.quantile(inner, [TAIL, 1 - TAIL])
    across = ProbabilityAxis.around(ends, scale)
    low, high = logit([across.low, across.high])
    room = expit([low - (high - low) / 2, high + (high - low) / 2])
    shown = np.concatenate([ends, *curves, points])
    return across, ProbabilityAxis.around(np.clip(shown[(shown > 0) & (shown < 1)], *room), scale)


def draw_diagonal(ax: Axes, across: ProbabilityAxis, up: ProbabilityAxis) -> None:
    """Set up the axes, and draw the line on which outcomes are as frequent as predicted."""
    across.apply_to(ax, "x")
    up.apply_to(ax, "y")
    ends = [max(across.low, up.low), min(across.high, up.high)]
    ax.plot(ends, ends, color=canvas.GREY, linewidth=1, linestyle=":", label="calibrated")


def draw_shares(
    ax: Axes,
    points: pd.DataFrame,
    up: ProbabilityAxis,
    color: str,
    label: str = "",
    *,
    kwargs: dict[str, Any] | None = None,
) -> None:
    """Draw observed shares with their limits; an arrow where a share is off a logit axis.

    The last argument is for the points, and may have a color of its own.
    """
    x, y, *ends = points[["predicted", "observed", "lower", "upper"]].to_numpy().T
    low, high = (np.clip(end, up.low, up.high) for end in ends)
    ax.vlines(x, low, high, color=color, linewidth=0.9, alpha=0.7)
    style: dict[str, Any] = {"linestyle": "none", "color": color, "zorder": 4, "clip_on": False}
    inside = (y >= up.low) & (y <= up.high)
    dots = {**style, "marker": "o", "markersize": 4, "label": label, **(kwargs or {})}
    ax.plot(x[inside], y[inside], **dots)
    for outside, edge, marker in ((y < up.low, up.low, 11), (y > up.high, up.high, 10)):
        if outside.any():
            ax.plot(x[outside], np.full(outside.sum(), edge), marker=marker, markersize=5, **style)


class ProbabilityDisplay(canvas.Display):
    """A picture of observed over predicted probabilities, with the diagonal."""

    histogram_ax_: Axes | None

    def axes(self, scale: str | None = None) -> tuple[ProbabilityAxis, ProbabilityAxis]:
        """Return the axes of predicted and of observed probabilities."""
        raise NotImplementedError

    def plot(self, ax: Axes | None = None, *, scale: str | None = None, **kwargs: Any) -> Self:
        """Draw the picture.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; a new figure by default, which has a histogram of the predictions of one
            model below the belt.
        scale : {"linear", "logit"}, optional
            Of both axes; None chooses.
        **kwargs
            For `matplotlib.axes.Axes.fill_between`.
        """
        self.histogram_ax_ = None
        self._axes = self.axes(scale)
        return super().plot(ax, **kwargs)
