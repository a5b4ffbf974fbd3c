"""What the questions to a region are answered with."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from exactregion._typing import FloatArray

if TYPE_CHECKING:
    from exactregion.plotting import BandDisplay

__all__ = ["Band", "Interval", "Risk"]


@dataclass(frozen=True)
class Interval:
    """An interval for one number g(θ).

    Attributes
    ----------
    name : str
        What it is.
    estimate : float
        g at the most compatible θ.
    lower, upper : float
        The ends: the values at the first rejected points. Infinite where there is no end.
    status : str
        "bounded", "unbounded below", "unbounded above", "unbounded" or "empty".
    coverage : float
        The interval covers the true value with at least this probability, at every n.
    resolution : float
        Distance of the ends from the last members found.
    evaluations : int
        Number of θ asked.
    seconds : float
        Time taken.
    """

    name: str
    estimate: float
    lower: float
    upper: float
    status: str
    coverage: float
    resolution: float = field(repr=False)
    evaluations: int = field(repr=False)
    seconds: float = field(repr=False)


@dataclass(frozen=True, eq=False)
class Band:
    """Bounds of P(Y=1|x) at given inputs.

    Attributes
    ----------
    X : ndarray of shape (n,) or (n, d)
        The inputs.
    lower, upper, estimate : ndarrays of shape (n,)
        Bounds, and the value at the most compatible θ.
    coverage : float
        P(the true curve is within the bounds), at least: at all inputs at once if `joint`, else at
        each of them.
    joint : bool
        Whether the band is simultaneous.
    status : str
        That of the region.
    resolution : float
        Largest distance, in probability, of an end from the last member found.
    evaluations : int
        Number of θ asked.
    seconds : float
        Time taken.
    """

    X: FloatArray
    lower: FloatArray
    upper: FloatArray
    estimate: FloatArray
    coverage: float
    joint: bool
    status: str
    resolution: float
    evaluations: int
    seconds: float

    def plot(self, data: tuple[Any, Any] | None = None, **kwargs: Any) -> BandDisplay:
        """Draw the band: needs matplotlib, ``pip install exactregion[plot]``.

        Parameters
        ----------
        data : (x, y), optional
            Data to draw: one input column, and labels or (successes, failures).
        **kwargs
            For `BandDisplay.from_band`: ``name``, ``ax`` and others.

        Returns
        -------
        BandDisplay
            With ``ax_`` and ``figure_``.
        """
        from exactregion.plotting import BandDisplay

        return BandDisplay.from_band(self, data=data, **kwargs)


@dataclass(frozen=True, eq=False)
class Risk:
    """Bounds of the probability of misclassification.

    Attributes
    ----------
    lower, upper, estimate : float
        On average over the inputs.
    pointwise_lower, pointwise_upper, pointwise_estimate : ndarrays of shape (n,)
        At each input; all hold at once.
    coverage : float
        P(all bounds hold), at least.
    status : str
        That of the region.
    resolution : float
        Largest distance of an end from the last member found.
    evaluations : int
        Number of θ asked.
    seconds : float
        Time taken.
    """

    lower: float
    upper: float
    estimate: float
    pointwise_lower: FloatArray = field(repr=False)
    pointwise_upper: FloatArray = field(repr=False)
    pointwise_estimate: FloatArray = field(repr=False)
    coverage: float
    status: str
    resolution: float = field(repr=False)
    evaluations: int = field(repr=False)
    seconds: float = field(repr=False)
