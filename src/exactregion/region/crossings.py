"""Where a curve has a given probability along one input, as a number of θ.

In a family with a linear predictor, x enters as t(x): x itself, or its logarithm. The predictor is
(s + t(x) r)·θ with vectors s and r that depend on the other inputs, and has the value g at

    t(x) = (g - s·θ) / (r·θ),

a ratio of linear functions of θ, whose ends can be proven. Other curves are followed along a fine
grid of x.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.special import expit, logit

from exactregion._typing import FloatArray
from exactregion.errors import ExactRegionError, InvalidValueError
from exactregion.models import LinearModel, Model, Psychometric, Recalibration
from exactregion.models.base import evaluated
from exactregion.region.fitted import FittedRegion
from exactregion.region.levels import Level
from exactregion.region.places import is_number, model_inputs
from exactregion.region.ratios import LinearRatios
from exactregion.region.search.extremes import Functionals

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Crossing", "Path", "Scale"]

CHECKS = 25
"""Points over three times the range of the data at which a predictor must be linear in t(x)."""

LINEAR = 1e-9
"""Largest share of its size by which it may differ from that, which is rounding."""

STEPS, FAR = 600, 1e3
"""Points of a grid along x, and how many ranges of the data it goes beyond them: the step within
the data is about a hundredth of their range, and thresholds farther out have no end."""

FLAT = 1e-9
"""A curve that changes by less than this over the last tenth of the grid has reached its limit."""


@dataclass(frozen=True, eq=False)
class Scale:
    """A function t of an input in which predictors may be linear, and where it is defined."""

    name: str
    forward: Callable[[Any], Any]
    inverse: Callable[[Any], Any]
    domain: tuple[float, float] = (-np.inf, np.inf)

    @property
    def is_logarithm(self) -> bool:
        """Whether a difference of t is a ratio of x."""
        return self.name == "log"


IDENTITY = Scale("identity", np.asarray, np.asarray)
SCALES = (
    IDENTITY,
    Scale("log", np.log, np.exp, (0.0, np.inf)),
    Scale("log1p", np.log1p, np.expm1, (-1.0, np.inf)),
    Scale("logit", logit, expit, (0.0, 1.0)),
)
"""log2 and log10 are multiples of the logarithm; the logit is that of `Recalibration`."""


@dataclass(frozen=True, eq=False)
class Crossing:
    """A function of θ (T, d) to values (T, 1) on a scale of x, and the same as a ratio, if one."""

    values: Functionals
    scale: Scale
    ratio: LinearRatios | None = None

    @classmethod
    def of_ratio(cls, ratio: LinearRatios, scale: Scale) -> Crossing:
        """Return a ratio of linear functions."""
        return cls(ratio, scale, ratio)

    def x(self, theta: FloatArray) -> FloatArray:
        """Compute the values of the input at θ (T, d): shape (T, 1)."""
        with np.errstate(over="ignore"):
            return np.asarray(self.scale.inverse(self.values(theta)))

    def negative(self) -> Crossing:
        """Return the values with their sign reversed."""
        if self.ratio is not None:
            turned = LinearRatios(-self.ratio.numerator, -self.ratio.offset, self.ratio.denominator)
            return Crossing.of_ratio(turned, self.scale)
        return Crossing(lambda theta: -self.values(theta), self.scale)

    def minus(self, other: Crossing) -> Crossing:
        """Return the difference from another crossing of the same input, in units of x."""
        if self.scale is IDENTITY:
            return self._apart(other)
        return Crossing(lambda theta: self.x(theta) - other.x(theta), IDENTITY)

    def over(self, other: Crossing) -> Crossing:
        """Return the ratio to another crossing of the same input."""
        if self.scale.is_logarithm:
            return self._apart(other)
        pair = self._with_one_slope(other)
        if self.scale is IDENTITY and pair is not None and not pair[1].offset.any():
            mine, its = pair
            ratio = LinearRatios(mine.numerator, mine.offset, its.numerator)
            return Crossing.of_ratio(ratio, IDENTITY)

        def values(theta: FloatArray) -> FloatArray:
            with np.errstate(divide="ignore", invalid="ignore"):
                return np.asarray(self.x(theta) / other.x(theta))

        return Crossing(values, IDENTITY)

    def _apart(self, other: Crossing) -> Crossing:
        """Return the difference on the scale; a ratio of linear functions where slopes are one."""
        pair = self._with_one_slope(other)
        if pair is not None:
            mine, its = pair
            above = mine.numerator - its.numerator, mine.offset - its.offset
            return Crossing.of_ratio(LinearRatios(*above, mine.denominator), self.scale)

        def values(theta: FloatArray) -> FloatArray:
            with np.errstate(invalid="ignore"):
                return np.asarray(self.values(theta) - other.values(theta))

        return Crossing(values, self.scale)

    def _with_one_slope(self, other: Crossing) -> tuple[LinearRatios, LinearRatios] | None:
        """Return both ratios if they have the same denominator: without interactions they do."""
        if self.ratio is None or other.ratio is None:
            return None
        mine, its = (np.asarray(one.denominator) for one in (self.ratio, other.ratio))
        return (self.ratio, other.ratio) if np.array_equal(mine, its) else None


@dataclass(frozen=True, eq=False)
class Path:
    """The curves of a family along one input, where the others are held.

    `line` has the vectors s and r, if the predictor is linear in the scale of the input; else the
    curves are followed at `x`, for which the family takes the rows `X`.
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
    ) -> Path:
        """Follow the input `name` of a region, where `held` are the values of all others."""
        column = inputs[name]
        if not is_number(column):
            raise InvalidValueError(
                f"must be an input that is a number. {name!r} has levels instead.",
                parameter="input",
            )
        low, high = float(column.min()), float(column.max())

        def rows(x: FloatArray) -> Any:
            return model_inputs(fitted, _frame(list(inputs.columns), name, held, x))

        model = fitted.model
        core = model.core if isinstance(model, Psychometric) else model
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
        return self._crossing(Level(self.model, probability))

    def width(self, inner: float) -> Crossing:
        """Return the distance, on the scale, over which the core rises by the share `inner`."""
        ends = (1 - inner) / 2, (1 + inner) / 2
        if self.line is None:
            low, high = (self._crossing(Level(self.model, None, end)) for end in ends)
            return high.minus(low)
        low_level, high_level = (Level(self.model, None, end) for end in ends)
        rise = high_level.predictor() - low_level.predictor()
        slope = self._padded(self.line[1])
        ratio = LinearRatios(np.zeros_like(slope), np.array([rise]), slope)
        return Crossing.of_ratio(ratio, self.scale)

    def _crossing(self, level: Level) -> Crossing:
        if self.line is None:
            return Crossing(lambda theta: self._followed(theta, level), self.scale)
        start, slope = map(self._padded, self.line)
        if level.is_constant:
            ratio = LinearRatios(-start, np.array([level.predictor()]), slope)
            return Crossing.of_ratio(ratio, self.scale)

        def values(theta: FloatArray) -> FloatArray:
            with np.errstate(divide="ignore", invalid="ignore"):
                above = level.predictors(theta)[:, None] - theta @ start.T
                return np.asarray(above / (theta @ slope.T))

        return Crossing(values, self.scale)

    def _padded(self, coefficients: FloatArray) -> FloatArray:
        """Return coefficients of the core as those of all parameters: shape (1, d)."""
        d = len(self.model.parameter_names)
        return np.pad(coefficients, (0, d - len(coefficients)))[None]

    def _followed(self, theta: FloatArray, level: Level) -> FloatArray:
        """Interpolate where curves cross the level: shape (T, 1).

        Of several places it is that nearest to the middle of the data. It is infinite where a curve
        would cross beyond the grid, and NaN where it never does.
        """
        core, target = level.core(theta), level.targets(theta)
        found = np.full(len(theta), np.nan)
        with np.errstate(all="ignore"):
            P = np.asarray(evaluated(level.family, core, self.X), dtype=np.float64)
            logits = np.log(P) - np.log1p(-P)
            apart = np.clip(logits - logit(target)[:, None], -700.0, 700.0)
            between = apart[:, :-1] * apart[:, 1:] <= 0
            share = apart[:, :-1] / (apart[:, :-1] - apart[:, 1:])
        row, step = np.nonzero(between & np.isfinite(share))
        places = self.x[step] + share[row, step] * np.diff(self.x)[step]
        # the nearest is written last
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
    """Return on which side of the grid a curve would cross the level, if it may still do so."""
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
