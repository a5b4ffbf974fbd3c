"""Values of an input at which curves have a probability, as functionals of θ.

They are on a scale of the input on which a linear predictor may be linear, where they are ratios of
linear functions of θ, whose ends can be proven (`region.curves`). So are some of their differences
and ratios.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import expit, logit

from exactregion._typing import FloatArray
from exactregion.region.ratios import LinearRatios
from exactregion.region.search.extremes import Functionals

__all__ = ["IDENTITY", "SCALES", "Crossing", "Scale"]


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
