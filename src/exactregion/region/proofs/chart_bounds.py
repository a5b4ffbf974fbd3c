"""Ends of numbers over a region, proven in charts that cover all parameters of a family."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np

from exactregion._typing import FloatArray
from exactregion.models.linear import predictor_bounds
from exactregion.region.fitted import FittedRegion
from exactregion.region.proofs.charts import Chart, charts_of
from exactregion.region.proofs.from_probabilities import (
    FromProbabilities,
    uses_probabilities_alone,
    work_for,
)
from exactregion.region.proofs.splitting import ProvenEnds, Scale, Span, proven_ends
from exactregion.region.ratios import LinearRatios, OverBoxes, both_signs
from exactregion.region.search.extremes import NO_END

__all__ = ["LogitsAt", "can_chart", "ends_in_charts", "work_in_charts"]

PATIENCE = 5e7
"""Work in a chart before progress is first looked at. Where Z of few data sets ties along a curve,
as distances from their mean do (11 rows, 9 resamples), bounds come no closer from 2e7 on."""

SMALLEST_HALF = 1e-9
"""Half width below which boxes are not split: in charts infinity is at 1."""


@dataclass(frozen=True, eq=False)
class LogitsAt:
    """The logits of P(Y=1|x) at rows of inputs X, between -`end` and `end`."""

    X: Any
    size: int
    end: float

    def __len__(self) -> int:
        """Return the number of rows."""
        return self.size


@dataclass(frozen=True, eq=False)
class _LogitsInChart:
    logits: LogitsAt
    chart: Chart

    far = np.inf

    @property
    def open_length(self) -> FloatArray:
        """One, about a standard error of a logit: shape (2G,)."""
        return np.ones(2 * len(self.logits))

    def at(self, t: FloatArray) -> FloatArray:
        values = self._logit(self.chart.model.evaluate(self.chart.theta(t), self.logits.X))
        return both_signs(values, -values)

    def top(self, centre: FloatArray, half: FloatArray) -> FloatArray:
        ends: Any = self.chart.probability_bounds(*self.chart.ends(centre, half), self.logits.X)
        low, high = (np.asarray(each, dtype=np.float64) for each in ends)
        low, high = np.nan_to_num(low, nan=0.0), np.nan_to_num(high, nan=1.0)
        error = 1e-11
        return both_signs(
            self._logit(np.minimum(high * (1 + error), 1.0)), -self._logit(low * (1 - error))
        )

    def _logit(self, P: FloatArray) -> FloatArray:
        with np.errstate(divide="ignore"):
            logits = np.log(P) - np.log1p(-P)
        return np.asarray(np.clip(logits, -self.logits.end, self.logits.end))


class _NumbersInChart:
    """Numbers that are linear in θ, or ratios of such."""

    def __init__(self, numbers: LinearRatios, chart: Chart, open_length: FloatArray) -> None:
        self.numbers, self.chart, self._length = numbers, chart, open_length
        self.slope = numbers.numerator @ chart.axes
        self.below = None if numbers.denominator is None else numbers.denominator @ chart.axes

    @property
    def open_length(self) -> FloatArray:
        """What the scales of the charts make of it at least: shape (2G,)."""
        return np.repeat(self._length, 2)

    @property
    def far(self) -> FloatArray | float:
        """As many standard errors as a search takes for infinity; no limit for ratios."""
        return NO_END * self.open_length if self.below is None else np.inf

    def at(self, t: FloatArray) -> FloatArray:
        values = self.numbers(self.chart.theta(t))
        return both_signs(values, -values)

    def top(self, centre: FloatArray, half: FloatArray) -> FloatArray:
        low, high = self.chart.ends(centre, half)
        smallest, largest = predictor_bounds(low, high, self.slope)
        smallest, largest = smallest + self.numbers.offset, largest + self.numbers.offset
        if self.below is not None:
            smallest, largest = self._ratios(low, high)
        error = 1e-12 * np.maximum(np.abs(smallest), np.abs(largest))
        error[~np.isfinite(error)] = 0.0
        return both_signs(largest + error, error - smallest)

    def _ratios(self, low: FloatArray, high: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Bound ratios, which are largest at a corner where the denominator keeps its sign."""
        below: Any = self.below
        least, most = predictor_bounds(low, high, below)
        keeps_sign = (least > 0) | (most < 0)
        corners = []
        with np.errstate(invalid="ignore", divide="ignore"):
            for sides in product((True, False), repeat=low.shape[1]):
                c = np.where(sides, high, low)
                above = predictor_bounds(c, c, self.slope)[0] + self.numbers.offset
                corners.append(above / predictor_bounds(c, c, below)[0])
        smallest = np.where(keeps_sign, np.min(corners, axis=0), -np.inf)
        largest = np.where(keeps_sign, np.max(corners, axis=0), np.inf)
        smallest = np.where(np.isnan(smallest), -np.inf, smallest)
        largest = np.where(np.isnan(largest), np.inf, largest)
        # with coordinates above 0 and coefficients of one sign, a ratio is a mean of theirs
        for g, (a, b) in enumerate(zip(self.slope, below, strict=True)):
            used = (a != 0) | (b != 0)
            one_sign = (b[used] > 0).all() or (b[used] < 0).all()
            if one_sign and self.numbers.offset[g] == 0 and (self.chart.low[used] >= 0).all():
                means = a[used] / b[used]
                smallest[:, g] = np.maximum(smallest[:, g], means.min())
                largest[:, g] = np.minimum(largest[:, g], means.max())
        return smallest, largest


def can_chart(fitted: FittedRegion) -> bool:
    """Return whether ranks can be bounded over boxes of all parameters by their probabilities.

    Where the last rank is accepted, so are θ that make observed outcomes impossible.
    """
    is_known = uses_probabilities_alone(fitted) and fitted.accepted.high < fitted.accepted.m
    return is_known and charts_of(fitted) is not None


def work_in_charts(fitted: FittedRegion) -> float:
    """Estimate the comparisons of labels that proving the ends of two parameters takes."""
    charts: Any = charts_of(fitted)
    return work_for(fitted, charts)


def ends_in_charts(
    fitted: FittedRegion,
    numbers: LinearRatios | LogitsAt,
    known: FloatArray,
    *,
    tolerance: float,
    budget: float,
    scale: Scale | None = None,
) -> tuple[ProvenEnds, FloatArray]:
    """Bound the largest values of numbers and of their negatives over the joint region.

    Parameters and the result are as for `proven_ends`; what stands for the length of an interval
    without an end comes with it.
    """
    charts: Any = charts_of(fitted)
    length = np.ones(len(numbers))
    if isinstance(numbers, LinearRatios):
        sizes = [np.abs(numbers.numerator @ chart.axes) @ chart.scale for chart in charts]
        length = np.min(sizes, axis=0)

    def over(rule: FromProbabilities, known: FloatArray) -> ProvenEnds:
        chart = rule.chart

        in_chart: OverBoxes
        if isinstance(numbers, LogitsAt):
            in_chart = _LogitsInChart(numbers, chart)
        else:
            in_chart = _NumbersInChart(numbers, chart, length)
        return proven_ends(
            [rule],
            Span(*chart.box),
            in_chart,
            known,
            tolerance=tolerance,
            budget=budget,
            patience=PATIENCE,
            smallest=SMALLEST_HALF,
            scale=scale,
        )

    rule = FromProbabilities(fitted, charts[0], fitted.accepted)
    found: list[ProvenEnds] = []
    while len(found) < len(charts):
        rule = rule.on(charts[len(found)])
        found.append(over(rule, known))
        if (np.isposinf(found[-1].value) & ~np.isposinf(known)).any():
            # an end turned out to be open: the length was none, and the other end is too coarse
            known, found = found[-1].value, []
        else:
            known = found[-1].value
    return _joined(found), np.repeat(length, 2)


def _joined(found: Sequence[ProvenEnds]) -> ProvenEnds:
    return ProvenEnds(
        found[-1].value,
        np.max([ends.bound for ends in found], axis=0),
        all(ends.is_empty for ends in found),
        sum(ends.boxes for ends in found),
        sum(ends.seconds for ends in found),
        found[-1].left,
    )
