"""Numbers per row over boxes of θ: to first order around the centre, with a bound of the rest."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from exactregion._typing import FloatArray
from exactregion.region.proofs.inputs import ProofInputs

__all__ = ["Expansion", "Predictors", "RowsOverBoxes", "both_probabilities"]

GAIN_ERROR = 1e-11
"""Relative error of the slope of a logit and of its curvature: a few hundred rounding errors."""


class Expansion(NamedTuple):
    """Numbers per row over B boxes: at the centre, to first order, and a bound of the rest."""

    value: FloatArray  # (B, n)
    slope: FloatArray  # (B, n): in η
    first: FloatArray  # (B, n): largest size of the slope times the change of η
    rest: FloatArray  # (B, n)

    def times(self, other: Expansion) -> Expansion:
        """Expand the product."""
        a, b = np.abs(self.value), np.abs(other.value)
        value = self.value * other.value
        slope = self.value * other.slope + self.slope * other.value
        first = a * other.first + self.first * b
        rest = self.rest * (b + other.first + other.rest)
        rest = rest + self.first * (other.first + other.rest) + a * other.rest
        return Expansion(value, slope, first, rest)

    @property
    def largest(self) -> FloatArray:
        """Bound of the absolute value."""
        return np.asarray(np.abs(self.value) + self.first + self.rest)


class Predictors(NamedTuple):
    """Linear predictors over B boxes: at the centre, their ends, and half their range."""

    middle: FloatArray  # (B, n)
    low: FloatArray  # (B, n)
    high: FloatArray  # (B, n)
    linear: FloatArray  # (B, n): without rounding

    @classmethod
    def over(cls, rule: ProofInputs, centre: FloatArray, half: FloatArray) -> Predictors:
        """Bound them over boxes centre ± half (B, d)."""
        middle, linear = rule.eta + centre @ rule.x.T, half @ np.abs(rule.x).T
        radius = linear + rule.eta_error + (np.abs(centre) + half) @ rule.z_error
        return cls(middle, middle - radius, middle + radius, linear)


def both_probabilities(logit: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return p and 1 - p, without cancellation, to a few units in the last place."""
    odds = np.exp(-np.abs(logit))
    large = 1 / (1 + odds)
    small = odds * large
    rises = logit > 0
    return np.where(rises, large, small), np.where(rises, small, large)


class RowsOverBoxes:
    """What each row has over boxes centre ± half (B, d) of coordinates z.

    Attributes
    ----------
    p_low, p_high, q_low, q_high : ndarrays of shape (B, n)
        p and 1 - p at the smallest and at the largest predictor.
    smallest_v, largest_v : ndarrays of shape (B, n)
        Bounds of v = p (1 - p).
    mean, surprise : Expansion
        Expected successes, and successes minus those.
    v, gain, weight, pull : Expansion
        t v for t trials, the slope g of the logit in η, t v g², and the surprise times g.
    least_gain : ndarray of shape (B, n)
        Lower bound of g.
    has_certainties : ndarray of shape (B,)
        Whether a probability may be exactly 0 or 1.
    """

    def __init__(self, rule: ProofInputs, centre: FloatArray, half: FloatArray) -> None:
        self.rule = rule
        eta, self.eta_low, self.eta_high, linear = Predictors.over(rule, centre, half)
        self.radius = (self.eta_high - self.eta_low) / 2
        low, middle, high = rule.logits(self.eta_low), rule.logits(eta), rule.logits(self.eta_high)
        p, q = both_probabilities(middle)
        self.p_low, self.q_low = both_probabilities(low)
        self.p_high, self.q_high = both_probabilities(high)
        self.has_certainties = ((self.q_high < 1.2e-16) | (self.p_low < 1e-300)).any(axis=1)
        v, ends = p * q, (self.p_low * self.q_low, self.p_high * self.q_high)
        self.smallest_v = np.minimum(*ends)
        self.largest_v = np.where((low < 0) & (high > 0), 0.25, np.maximum(*ends))
        self.gain, self.least_gain, bend_of_gain = self._expand_gain(eta)
        g, most = self.gain.value, self.gain.largest
        skew = np.maximum(np.abs(self.q_low - self.p_low), np.abs(self.q_high - self.p_high))
        # by the logit, |p''| = v |1 - 2p| is at most √3/18, and |v''| = v |1 - 6v| at most 1/8
        bend = np.minimum(self.largest_v * skew, 0.0963)
        bend_v = np.abs(1 - 6 * self.smallest_v), np.abs(1 - 6 * self.largest_v)
        bend_v = np.minimum(self.largest_v * np.maximum(*bend_v), 0.125)
        half_square = 0.5 * self.radius**2
        rounding = 2 * (self.radius - linear)
        t = rule.trials
        mean = Expansion(
            t * p,
            t * v * g,
            t * v * g * linear,
            t * (half_square * (bend * most**2 + self.largest_v * bend_of_gain) + rounding * most),
        )
        rest_v = half_square * (bend_v * most**2 + bend * bend_of_gain) + rounding * most
        self.v = Expansion(
            t * v, t * v * (q - p) * g, t * v * np.abs(q - p) * g * linear, t * rest_v
        )
        self.mean = mean
        self.surprise = Expansion(
            rule.successes - mean.value, -mean.slope, mean.first, mean.rest + rule.row_error
        )
        self.weight = self.v.times(self.gain.times(self.gain))
        self.pull = self.surprise.times(self.gain)

    def _expand_gain(self, eta: FloatArray) -> tuple[Expansion, FloatArray, FloatArray]:
        """Expand g, the slope of the logit in η; return also its smallest value and largest |g'|.

        g' increases, so that g is convex: it is smallest where g' = 0, or at an end.
        """
        link = self.rule.link
        if link is None:
            one, none = np.ones((1, 1)), np.zeros((1, 1))
            return Expansion(one, none, none, none), one, none
        # beyond, outcomes are certain, and the engines leave their columns out
        middle, least, most = (
            np.clip(each, *self.rule.certain) for each in (eta, self.eta_low, self.eta_high)
        )
        slope: Any = link.logit_curvature(middle)
        low: Any = link.logit_curvature(least)
        high: Any = link.logit_curvature(most)
        value = link.logit_slope(middle)
        ends = link.logit_slope(least), link.logit_slope(most)
        # g is convex, so that it is farthest above its tangent at an end
        rest = np.maximum(
            ends[0] - value + slope * (middle - least), ends[1] - value - slope * (most - middle)
        )
        # no first order where a part of the box is beyond: the centre may be as well
        whole = (least == self.eta_low) & (most == self.eta_high)
        slope = np.where(whole, slope, 0.0)
        steepest = np.maximum(np.abs(low), np.abs(high))
        rest = np.where(whole, rest, steepest * (most - least)) * (1 + 1e-9) + GAIN_ERROR * value
        gain = Expansion(value, slope, np.abs(slope) * self.radius, rest)
        smallest = np.minimum(*ends)
        turns = (low < 0) & (high > 0)
        smallest = np.where(turns, np.minimum(smallest, value - gain.first - rest), smallest)
        return gain, np.maximum(smallest * (1 - 1e-9), 0.0), steepest
