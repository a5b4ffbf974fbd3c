"""Curves along one input, and where each of them has a given probability.

In a family with a linear predictor, x enters as t(x): x itself, or its logarithm. The predictor is
(s + t(x) r)·θ with vectors s and r that depend on the other inputs, and has the value g at

    t(x) = (g - s·θ) / (r·θ),

a ratio of linear functions of θ, whose ends can be proven. Other curves are computed on a fine grid
of x and interpolated.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.special import logit

from exactregion._typing import FloatArray
from exactregion.errors import ExactRegionError, InvalidValueError
from exactregion.models import LinearModel, Model, Psychometric, Recalibration
from exactregion.models.base import evaluated
from exactregion.region.crossings import IDENTITY, SCALES, Crossing, Scale
from exactregion.region.fitted import FittedRegion
from exactregion.region.places import is_number, model_inputs
from exactregion.region.ratios import LinearRatios

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Curves"]

CHECKS = 25
"""Points over three times the range of the data at which a predictor must be linear in t(x): more
than a polynomial or spline of a formula has coefficients, so that none passes by chance."""

LINEAR = 1e-9
"""Largest share of its size by which it may differ from that: the rounding errors of a formula's
columns are near 1e-15, and functions that are not linear differ by far more over such a range."""

STEPS, FAR = 600, 1e3
"""Points of a grid along x, and how many ranges of the data it goes beyond them: the step within
the data is about a hundredth of their range, and thresholds farther out have no end."""

FLAT = 1e-9
"""A curve that changes by less than this over the last tenth of the grid has reached its limit."""


@dataclass(frozen=True, eq=False)
class _Height:
    """The height of the core at which a curve has a probability; without one, `of_core` itself.

    P = guess + (1 - guess - lapse) F, with the core F, for psychometric families; else P = F.
    """

    model: Model
    probability: float | None
    of_core: float = 0.5

    def __post_init__(self) -> None:
        guess, lapse = self._rates
        low = 0.0 if guess == "free" else float(guess)
        high = 1.0 if lapse == "free" else 1 - float(lapse)
        if self.probability is not None and not low < self.probability < high:
            raise InvalidValueError(
                f"must be above the guess rate, {guess}, and below one minus the lapse rate, "
                f"{lapse}. Got {self.probability} instead; without it the threshold is half way "
                "between the two.",
                parameter="probability",
            )

    @property
    def _rates(self) -> tuple[Any, Any]:
        return getattr(self.model, "guess", 0.0), getattr(self.model, "lapse", 0.0)

    @property
    def is_constant(self) -> bool:
        """Whether the height is the same for all θ."""
        return self.probability is None or "free" not in self._rates

    def of(self, theta: FloatArray) -> FloatArray:
        """Compute the height for θ (T, d): shape (T,); NaN where P never has the probability."""
        height: Any = self.of_core if self.probability is None else self.probability
        if self.probability is not None and isinstance(self.model, Psychometric):
            _, guess, lapse = self.model.split(theta)
            with np.errstate(divide="ignore", invalid="ignore"):
                height = ((self.probability - guess) / (1 - guess - lapse))[:, 0]
            height = np.where((height > 0) & (height < 1), height, np.nan)
        return np.broadcast_to(height, len(theta))

    def predictors(self, theta: FloatArray) -> FloatArray:
        """Compute the linear predictor of the core at the height for θ (T, d): shape (T,)."""
        family: Any = _core(self.model)
        return np.asarray(family.link(self.of(theta)))

    def predictor(self) -> FloatArray:
        """Compute the same where the height is constant, so that any θ will do: shape (1,)."""
        return self.predictors(np.zeros((1, len(self.model.parameter_names))))


def _core(model: Model) -> Model:
    return model.core if isinstance(model, Psychometric) else model


@dataclass(frozen=True, eq=False)
class Curves:
    """The curves of a family along one input, where the others are held.

    `line` has the vectors s and r, if the predictor is linear in the scale of the input; else the
    curves are computed at `x`, for which the family takes the rows `X`.
    """

    model: Model
    scale: Scale
    line: tuple[FloatArray, FloatArray] | None
    middle: float = 0.0
    x: FloatArray = field(default_factory=lambda: np.empty(0))
    X: Any = None

    @classmethod
    def along(
        cls, fitted: FittedRegion, inputs: pd.DataFrame, name: str, held: dict[str, Any]
    ) -> Curves:
        """Return the curves along the input `name`, where `held` are the values of all others."""
        column = inputs[name]
        if not is_number(column):
            raise InvalidValueError(
                f"must be an input that is a number. {name!r} has levels instead.",
                parameter="input",
            )
        low, high = float(column.min()), float(column.max())

        def rows(x: FloatArray) -> Any:
            return model_inputs(fitted, _frame(list(inputs.columns), name, held, x))

        model, core = fitted.model, _core(fitted.model)
        if isinstance(core, (LinearModel, Recalibration)):
            for scale in SCALES:
                line = _line(core, rows, scale, low, high)
                if line is not None:
                    return cls(model, scale, line)
            raise InvalidValueError(
                f"must be an input that the formula takes as it is or by its logarithm. {name!r} "
                "enters otherwise (a polynomial, a spline, classes, or several terms), so that it "
                "may have several thresholds, or none: bound the one you mean by "
                "region.functional(g), or look where region.band(X) crosses the probability.",
                parameter="input",
            )
        for x in _grids(low, high, np.asarray(column, dtype=np.float64)):
            try:
                X = rows(x)
            except ExactRegionError:
                continue  # a formula that is not defined there
            return cls(model, IDENTITY, None, (low + high) / 2, x, X)
        raise InvalidValueError(
            f"must be an input with curves between its data. {name!r} has none.", parameter="input"
        )

    def crossing(self, probability: float | None) -> Crossing:
        """Return where P_θ has a probability; without one, half way between its two limits."""
        return self._crossing(_Height(self.model, probability))

    def width(self, inner: float) -> Crossing:
        """Return the distance, on the scale, over which the core rises by the share `inner`."""
        low, high = (_Height(self.model, None, (1 + sign * inner) / 2) for sign in (-1, 1))
        if self.line is None:
            return self._crossing(high).minus(self._crossing(low))
        slope = self._padded(self.line[1])
        ratio = LinearRatios(np.zeros_like(slope), high.predictor() - low.predictor(), slope)
        return Crossing.of_ratio(ratio, self.scale)

    def _crossing(self, height: _Height) -> Crossing:
        if self.line is None:
            return Crossing(lambda theta: self._interpolated(theta, height), self.scale)
        start, slope = map(self._padded, self.line)
        if height.is_constant:
            ratio = LinearRatios(-start, height.predictor(), slope)
            return Crossing.of_ratio(ratio, self.scale)

        def values(theta: FloatArray) -> FloatArray:
            with np.errstate(divide="ignore", invalid="ignore"):
                above = height.predictors(theta)[:, None] - theta @ start.T
                return np.asarray(above / (theta @ slope.T))

        return Crossing(values, self.scale)

    def _padded(self, coefficients: FloatArray) -> FloatArray:
        """Return coefficients of the core as those of all parameters: shape (1, d)."""
        d = len(self.model.parameter_names)
        return np.pad(coefficients, (0, d - len(coefficients)))[None]

    def _interpolated(self, theta: FloatArray, height: _Height) -> FloatArray:
        """Interpolate where the cores of curves have a height, NaN where they never do: (T, 1)."""
        model, target = self.model, height.of(theta)
        core = model.split(theta)[0] if isinstance(model, Psychometric) else theta
        found = np.full(len(theta), np.nan)
        with np.errstate(all="ignore"):
            P = np.asarray(evaluated(_core(model), core, self.X), dtype=np.float64)
            logits = np.log(P) - np.log1p(-P)
            # finite, so that the place between two points can be interpolated
            apart = np.clip(logits - logit(target)[:, None], -700.0, 700.0)
            between = apart[:, :-1] * apart[:, 1:] <= 0
            share = apart[:, :-1] / (apart[:, :-1] - apart[:, 1:])
        row, step = np.nonzero(between & np.isfinite(share))
        places = self.x[step] + share[row, step] * np.diff(self.x)[step]
        # of several places it is that nearest to the middle of the data, which is written last
        order = np.argsort(-np.abs(places - self.middle), kind="stable")
        found[row[order]] = places[order]
        for index in np.flatnonzero(np.isnan(found) & np.isfinite(target)):
            found[index] = _beyond(apart[index], P[index])
        return found[:, None]


def _frame(columns: list[str], name: str, held: dict[str, Any], x: FloatArray) -> pd.DataFrame:
    import pandas as pd

    return pd.DataFrame(
        {column: x if column == name else [held[column]] * len(x) for column in columns}
    )


def _line(
    model: Any, rows: Callable[[FloatArray], Any], scale: Scale, low: float, high: float
) -> tuple[FloatArray, FloatArray] | None:
    """Return s and r of a predictor (s + t r)·θ, if it is linear in t; else None."""
    if not scale.domain[0] < low <= high < scale.domain[1]:
        return None
    first, last = float(scale.forward(low)), float(scale.forward(high))
    span = (last - first) or 1.0
    t = np.concatenate([[0.0, 1.0], np.linspace(first - span, last + span, CHECKS)])
    try:
        with np.errstate(all="ignore"):
            design = model.linear_design(rows(np.asarray(scale.inverse(t), dtype=np.float64)))
    except ExactRegionError:
        return None  # a formula that is not defined there
    if design is None:
        return None
    start, slope = design[0], design[1] - design[0]
    size = np.abs(start) + np.abs(slope) * np.abs(t).max()
    error = np.abs(design - (start + t[:, None] * slope))
    return (start, slope) if (error <= LINEAR * size).all() else None


def _beyond(apart: FloatArray, curve: FloatArray) -> float:
    """Return on which side of the grid a curve would cross the height, if it may still do so."""
    known = np.isfinite(apart)
    apart, curve = apart[known], curve[known]
    if len(apart) < 2:
        return np.nan
    side = 1 if abs(apart[-1]) < abs(apart[0]) else -1
    last = max(2, len(apart) // 10)
    near = curve[-last:] if side > 0 else curve[:last]
    return side * np.inf if np.ptp(near) > FLAT else np.nan


def _grids(low: float, high: float, values: FloatArray) -> list[FloatArray]:
    """Return grids to try in turn: dense around the data, and wide; by factors if positive."""
    half, middle = (high - low) / 2 or 1.0, (low + high) / 2
    end = np.arcsinh(FAR)
    wide = middle + half * np.sinh(np.linspace(-end, end, STEPS))
    grids = [wide, np.linspace(low, high, STEPS)]
    if low >= 0 and (values > 0).any():
        factors = np.geomspace(values[values > 0].min() / FAR, high * FAR, STEPS)
        grids = [np.union1d(wide[wide >= 0], factors), factors, *grids]
    return grids
