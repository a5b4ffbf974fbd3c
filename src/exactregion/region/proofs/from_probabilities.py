"""Bounds of ranks over boxes of θ, from bounds of probabilities alone, for any family.

Where Z depends on θ by its probabilities alone, Z of an alternative minus Z of the original is

    D = s (max_k (a_k + Σ_j k_j η_kj) - a_0 - Σ_j (k_j - k_0j) η_j) + (‖v - c‖² - ‖v_0 - c‖²) / E

for the likelihood ratio to members of the family with logits η_k (s = 2/d), and for the
discrepancy. Over a box the successes k_j of the alternative are known but for labels whose uniform
lies within the bounds of p_j; the logit η_j, the centre c and the expectation E are monotone
in each p_j, and have bounds. Nothing else depends on θ. Algorithms I and II measure the distance
from the mean of the m points: c = Φᵀ k̄ then, where the mean successes k̄_j of a row, counted over
all data sets, are monotone in p_j as well. Rounding of the engines is allowed for as
in `proofs.enclosure`.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from exactregion._typing import FloatArray, IntArray
from exactregion.data.sample import blocks
from exactregion.features.grid import grid_unit, probability_bits
from exactregion.ranking import AcceptedRanks
from exactregion.region.fitted import FittedRegion
from exactregion.region.proofs.charts import Chart
from exactregion.region.proofs.enclosure import (
    BOX_WORK,
    LABEL_WORK,
    OVERHEAD,
    Boxes,
    RankBounds,
)
from exactregion.region.proofs.inputs import thresholds_of
from exactregion.statistics import (
    Discrepancy,
    Embedding,
    FromCentre,
    FromMean,
    Largest,
    Neighborhood,
    Ratio,
)
from exactregion.statistics.likelihood import WEIGHT

__all__ = ["FromProbabilities", "uses_probabilities_alone", "work_for"]

ROUNDING = 1e-15
"""Rounding error of each addition, and of what is added, as a share of the summands' size."""

SLACK, LEAST = 1e-11, 1e-15
"""Relative and absolute error of bounds of probabilities, as computed: by links, by a user's own
functions, and by quantiles of beta distributions for counts. Below `LEAST` all are taken for 0."""

USUAL_BOXES, BOXES_PER_CHART, COMPARED, COLUMNS = 1500, 15, 0.2, 20
"""Boxes for two parameters near the region and in each chart, the share of alternatives that is
compared in a box, and columns per row, as measured for 7 to 60 rows."""


GROUP = 16
"""Most members of a group that is bounded at once. With larger ones fewer groups are bounded, and
more of them are too wide to decide; 8 to 32 take about as long."""

GROUP_VALUES = 4_000_000
"""Numbers kept to bound groups, 32 megabytes; where trials are very many, groups are larger."""


def uses_probabilities_alone(fitted: FittedRegion) -> bool:
    """Return whether Z depends on θ by its probabilities alone, in a way that is known here."""
    return type(fitted.statistic) in (Ratio, Discrepancy, Embedding, Neighborhood)


def work_for(fitted: FittedRegion, charts: Sequence[Chart]) -> float:
    """Estimate the work of proving the ends of two parameters, in comparisons of labels."""
    n, members = len(fitted.sample.inputs), getattr(fitted.statistic, "members", 0)
    each = members + COLUMNS * n + OVERHEAD
    return (USUAL_BOXES + BOXES_PER_CHART * len(charts)) * COMPARED * fitted.accepted.m * each


class CountData(NamedTuple):
    """Draws, outcomes and columns that do not depend on θ."""

    thresholds: Any  # (M, k): a row has as many successes as it has thresholds below p
    start: Any  # (n + 1,): where those of each row are, in ascending order
    successes: Any  # (n,): of the original
    wins_ties: Any  # (M,): whether the alternative counts as below where Z is equal
    basis: Any  # (n, r): columns whose sums give the likelihoods of members
    weights: Any  # (r, K): of each member
    offsets: Any  # (K,)
    logits: Any  # (n, K): of each member in each row
    group_start: Any  # (G + 1,): where the members of each group are
    group_values: Any  # (k + n, G): most of the likelihood that a row adds, by its successes
    highest: float  # the largest of them for the original
    scalar: Any  # (n, s): columns of the distance from a centre
    scalar_sizes: Any  # (n,): their lengths
    scalar_error: float  # rounding of the centre


class CountBounds(NamedTuple):
    """Bounds over B boxes."""

    p_low: Any  # (B, n)
    p_high: Any  # (B, n)
    eta_low: Any  # (B, n): of the logit, times its factor in Z
    eta_high: Any  # (B, n)
    unit: Any  # (B,): largest error of logits on the grid
    slack: Any  # (B,): rounding errors of likelihoods
    residual: Any  # (B, s): of the original, at the middle of the bounds
    half_range: Any  # (B, n): half the range of expected successes
    total_range: Any  # (B,): the same times the lengths of columns, summed
    smallest_scale: Any  # (B,): smallest factor of the discrepancy in Z
    largest_scale: Any  # (B,)


class FromProbabilities(RankBounds):
    """Bounds of the rank over boxes in the coordinates of a chart."""

    def __init__(self, fitted: FittedRegion, chart: Chart, accepted: AcceptedRanks) -> None:
        self.fitted, self.chart = fitted, chart
        inputs = fitted.sample.inputs
        self.trials = inputs.trials.astype(np.float64)
        self.factor, self.scalar_weight, self.by_expectation = 0.0, 1.0, False
        self.from_mean = False
        self.data = self._read()
        super().__init__(fitted.sample, accepted, len(self.data.thresholds))
        self.last = np.zeros(self.M, dtype=np.int64)
        self.row_error = 2.0 ** -(probability_bits(inputs.extent) + 1)
        starts = self.data.start if self.from_mean else np.zeros(1, dtype=np.int64)
        self.pooled = [
            np.sort(self.data.thresholds[:, first:last], axis=None)
            for first, last in pairwise(starts)
        ]

    def on(self, chart: Chart) -> FromProbabilities:
        """Return the same for boxes of another chart; draws are read once."""
        other = copy.copy(self)
        other.chart = chart
        return other

    def _read(self) -> CountData:
        fitted, inputs = self.fitted, self.fitted.sample.inputs
        n, successes = len(inputs), fitted.sample.successes.astype(np.float64)
        at = fitted.prepared.at(fitted.candidates(self.chart.likely[None]))
        basis, rows, scalar = np.zeros((n, 0)), np.zeros((0, 1)), np.zeros((n, 0))
        scalar_error, highest = 0.0, 0.0
        for term in at.terms:
            features: Any = term.features
            if isinstance(term.measure, FromCentre | FromMean):
                values: Any = features.values
                dense: Any = values.toarray() if sparse.issparse(values) else values  # type: ignore[attr-defined]
                scalar = np.asarray(dense, dtype=np.float64)
                self.from_mean = isinstance(term.measure, FromMean)
                if not self.from_mean:  # the mean of the points is not rounded
                    n_blocks = len(list(blocks(n)))
                    scalar_error = float(np.linalg.norm(features.unit)) / 4 * n_blocks
            elif isinstance(term.measure, Largest) and term.metric.shape[1] > 1:
                rows = term.metric[0]
                basis = np.asarray(features.values[0], dtype=np.float64).T
                highest = float((rows[:, :-1] @ (basis.T @ successes) + rows[:, -1]).max())
        if isinstance(fitted.statistic, Ratio):
            self.factor, self.scalar_weight = 2 / fitted.n_parameters, WEIGHT
            self.by_expectation = True
        thresholds = thresholds_of(fitted)[0]
        start = np.concatenate([[0], np.cumsum(inputs.trials)])
        most = max(1, GROUP_VALUES // (inputs.total + n))
        order, group_start = _in_groups(basis @ rows[:, :-1].T, self.trials, most)
        rows = rows[order]
        weights = np.ascontiguousarray(rows[:, :-1].T)
        logits, offsets = np.ascontiguousarray(basis @ weights), np.ascontiguousarray(rows[:, -1])
        return CountData(
            thresholds, start, successes, np.arange(len(thresholds)) < fitted.resampling.seat,
            np.ascontiguousarray(basis), weights, offsets, logits, group_start,
            _values_of_groups(logits, offsets, inputs.trials, group_start, self.factor), highest,
            np.ascontiguousarray(scalar), np.linalg.norm(scalar, axis=1), scalar_error,
        )  # fmt: skip

    def ranks(
        self, boxes: Boxes, index: int, *, complete: bool = False
    ) -> tuple[IntArray, IntArray]:
        """Bound the rank over each box."""
        from exactregion.region.proofs.count_verdicts import judge_counts  # Numba is slow to import

        p_low, p_high = self.probabilities(boxes.centre, boxes.half)
        verdicts = boxes.verdicts[index]
        self.work += len(boxes) * (BOX_WORK + LABEL_WORK * len(self.trials))
        self.work += judge_counts(
            verdicts,
            self.order(),
            self.undecided,
            self.last,
            self.spare(complete=complete),
            self.data,
            self._bounds(p_low, p_high),
        )
        ends = (p_low, 1 - p_low), (p_high, 1 - p_high)
        return self.bounds_of(verdicts, *self.last_ranks(*ends, 1.0))

    def probabilities(self, centre: FloatArray, half: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Bound the probabilities over boxes of t (B, d), with the error of their computation."""
        inputs = self.fitted.sample.inputs
        found: Any = self.chart.probability_bounds(*self.chart.ends(centre, half), inputs.user_rows)
        low, high = (np.asarray(each, dtype=np.float64)[:, inputs.order] for each in found)
        # what is not a number bounds nothing
        low, high = np.nan_to_num(low, nan=0.0), np.nan_to_num(high, nan=1.0)
        low, high = low * (1 - SLACK) - LEAST, high * (1 + SLACK) + LEAST
        return np.clip(low, 0.0, 1.0), np.clip(high, 0.0, 1.0)

    def _bounds(self, p_low: FloatArray, p_high: FloatArray) -> CountBounds:
        data, trials, inputs = self.data, self.trials, self.fitted.sample.inputs
        with np.errstate(divide="ignore"):
            eta_low, eta_high = (np.log(p) - np.log1p(-p) for p in (p_low, p_high))
        # finite from the inside: probabilities of exactly 0 and 1 have other rules
        eta_low, eta_high = np.minimum(eta_low, 36.0), np.maximum(eta_high, -700.0)
        largest = np.minimum(np.maximum(np.abs(eta_low), np.abs(eta_high)).max(axis=1), 750.0)
        unit = grid_unit(largest, inputs.extent, self.fitted.resampling.m) * self.factor
        likelihoods = np.abs(data.offsets).max(initial=0.0) + largest * trials.sum() * self.factor
        fewest, most = self._centre_successes(p_low, p_high)
        half_range = (most - fewest) / 2 + (1e-14 * trials if self.from_mean else self.row_error)
        residual = (data.successes - (fewest + most) / 2) @ data.scalar
        scale = np.full((2, len(p_low)), self.scalar_weight)
        if self.by_expectation:
            squares = trials * data.scalar_sizes**2
            low_v, high_v = p_low * (1 - p_low), p_high * (1 - p_high)
            holds_half = (p_low <= 0.5) & (p_high >= 0.5)
            largest_v = np.where(holds_half, 0.25, np.maximum(low_v, high_v))
            expected = np.stack([largest_v @ squares, np.minimum(low_v, high_v) @ squares])
            with np.errstate(divide="ignore"):
                scale = self.scalar_weight / expected * np.array([[1 - 1e-9], [1 + 1e-9]])
        if self.factor:
            eta_low, eta_high = eta_low * self.factor, eta_high * self.factor
        total_range = half_range @ data.scalar_sizes
        # in one order of axes, or Numba compiles the verdicts for each that comes: 7 s
        p_low, p_high, eta_low, eta_high, half_range = map(
            np.ascontiguousarray, (p_low, p_high, eta_low, eta_high, half_range)
        )
        return CountBounds(
            p_low, p_high, eta_low, eta_high, unit,
            1e-13 * likelihoods, residual, half_range, total_range, *scale,
        )  # fmt: skip

    def _centre_successes(
        self, p_low: FloatArray, p_high: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        """Bound the successes (B, n) that the centre stands for: expected ones, or their mean."""
        if not self.from_mean:
            return self.trials * p_low, self.trials * p_high
        fewest, most = (
            np.stack([np.searchsorted(own, p[:, j]) for j, own in enumerate(self.pooled)], axis=1)
            for p in (p_low, p_high)
        )
        m = self.M + 1
        return (self.data.successes + fewest) / m, (self.data.successes + most) / m

    def widest(self, boxes: Boxes) -> IntArray:
        """Return across which coordinate a box is best cut: (B,).

        The one without whose width the bounds of the probabilities would be the closest.
        """
        widths = []
        for a in range(boxes.half.shape[1]):
            half = boxes.half.copy()
            half[:, a] = 0.0
            low, high = self.probabilities(boxes.centre, half)
            widths.append(
                (np.arcsin(np.sqrt(high)) - np.arcsin(np.sqrt(low))) @ np.sqrt(self.trials)
            )
        return np.asarray(np.argmin(widths, axis=0))


def _in_groups(logits: FloatArray, trials: FloatArray, most: int) -> tuple[IntArray, IntArray]:
    """Order members (K,) so that groups of them lie close together, and say where these start.

    Groups are halved across the row in which they are widest, until there would be too many.
    """
    K = logits.shape[1]
    if not K:
        return np.empty(0, dtype=np.int64), np.zeros(1, dtype=np.int64)
    P = 1 / (1 + np.exp(-logits))
    points = np.sqrt(trials)[:, None] * np.arcsin(np.sqrt(P))
    groups = [np.arange(K)]
    while len(groups[0]) > GROUP and 2 * len(groups) <= most:
        halves = []
        for group in groups:
            widest = np.ptp(points[:, group], axis=1).argmax()
            ordered = group[np.argsort(points[widest, group], kind="stable")]
            halves += [ordered[: (len(group) + 1) // 2], ordered[(len(group) + 1) // 2 :]]
        groups = [group for group in halves if len(group)]
    return np.concatenate(groups), np.concatenate([[0], np.cumsum([len(g) for g in groups])])


def _values_of_groups(
    logits: FloatArray, offsets: FloatArray, trials: IntArray, start: IntArray, factor: float
) -> FloatArray:
    """Return the largest k η + a over the members of each group, for k = 0 to t in each row.

    The offset of a member is the sum of its a over rows. Any such a would do; with those of its
    probabilities k η + a is about the log-likelihood of the row, which is small.
    """
    n, K = logits.shape
    if not K:
        return np.empty((0, 0))
    shares = -factor * trials[:, None] * np.logaddexp(0.0, logits / factor)
    shares += (offsets - shares.sum(axis=0)) / n
    values = []
    for own, share, t in zip(logits, shares, trials, strict=True):
        k = np.arange(t + 1)[:, None]
        largest = np.maximum.reduceat(k * own + share, start[:-1], axis=1)
        size = t * np.abs(own).max() + np.abs(share).max()
        values.append(largest + ROUNDING * (n + 10) * size)
    return np.ascontiguousarray(np.concatenate(values))
