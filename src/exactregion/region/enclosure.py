"""Bounds of ranks that hold for every θ in a box, for families with a linear predictor.

Z of a data set minus Z of the original is D = wᵀ M w + 2 wᵀ M e, where w is the difference of
their points, M the metric and e the residual of the original, v_0 - c. Over a box around a centre,

- η_j moves by at most r_j = Σ_a |x_ja| h_a, so that labels whose uniform lies outside the range of
  p_j are known;
- the columns of the score are g_j x_j, where g is the slope of the logit in η, 1 for logistic
  families. w moves by its slopes times δ, up to what g' does over the box;
- e and the information Σ_j t_j v_j g_j² x_j x_jᵀ, v = p (1 - p), are sums of products of numbers
  per row, each known to first order with a remainder (`Expansion`);
- the inverse of the information follows by (1 - E)⁻¹ = 1 + E + … with ‖E‖ < 1/2.

This gives D to first order with a remainder (`near`). In larger boxes, where the expansion says
nothing, Z of the original is bounded from below by (u·e)² / (uᵀ I u) with one direction u for the
whole box, and Z of an alternative from above by the smallest information in the box. Still larger
ones are decided by Pearson's statistic: s_iᵀ I⁻¹ s_i ≤ Σ_j (k_ij - t_j p_j)² / (t_j p_j (1 - p_j)),
which also bounds ‖v_i - c‖² / E_θ‖v_i - c‖².

What the engines compute differs from these formulas by rounding. Its share is part of every
remainder: expected successes are rounded to 2⁻²⁰ and centres to half a unit of the grid (see
`features.grid`), and the metric has the error of its eigenvalues, some 1e-14 times the condition
number. Columns are those that the engines use, already rounded, so that equal points are equal.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from scipy.optimize import brentq
from scipy.special import betaincinv, expit

from exactregion._typing import BoolArray, FloatArray, IntArray
from exactregion.data.sample import blocks
from exactregion.engine import PreparedStatistic
from exactregion.engine.blocks import IMPOSSIBLE
from exactregion.engine.information import SINGULAR
from exactregion.features.grid import grid_unit, probability_bits
from exactregion.models import LinearModel, Model
from exactregion.ranking import AcceptedRanks
from exactregion.region.fitted import FittedRegion
from exactregion.region.ratios import LinearRatios
from exactregion.region.window import Window
from exactregion.statistics import Combined, Discrepancy, Score, Statistic
from exactregion.statistics.focused import Focused
from exactregion.statistics.measures import Whitened

__all__ = ["BELOW", "OVERHEAD", "Boxes", "Enclosure", "can_enclose", "certain_predictors"]

BELOW, ABOVE = -1, 1
"""Verdicts about an alternative: Z below or above the original's all over the box; 0 is neither."""

OVERHEAD = 100
"""What an alternative costs in a box beside its labels, in comparisons of labels."""

BOX_WORK, LABEL_WORK = 3000, 50
"""What a box costs beside its alternatives, and what each label adds to it, in the same unit."""

MAX_CHANGE = 0.5
"""The expansion of the inverse information is used where its first term is at most this."""

WELL_CONDITIONED = 1e-9
"""Smallest eigenvalue of the information at a unit diagonal, as a share of the largest, for which
the floor of `engine.information`, 1e-12, is out of play all over a box."""

LABEL_ERROR = 1e-11
"""Relative error of the thresholds of counts, which are quantiles of beta distributions here and
tail probabilities where labels are drawn, and of probabilities that are computed by their logit."""

GAIN_ERROR = 1e-11
"""Relative error of the slope of a logit and of its curvature: a few hundred rounding errors."""


LOGIT_OF_IMPOSSIBLE = 37.5
"""Beyond this logit an outcome of the other kind has a probability below 2⁻⁵⁴, by a margin that is
larger than any rounding error."""


class Labels(NamedTuple):
    """The draws, k labels of each alternative: one per row, for counts one per trial.

    A label is 1 where its uniform is below the probability of its row.
    """

    uniforms: Any  # (M, k)
    observed: Any  # (k,): labels of the original
    wins_ties: Any  # (M,): whether the alternative counts as below the original where Z is equal
    matrix: Any  # (k, s): columns of the part that is measured by a matrix
    scalar: Any  # (k, r): columns of the part that is measured by a number
    matrix_columns: Any  # (s, k)
    scalar_columns: Any  # (r, k)
    moved_columns: Any  # (d · s, k): those of the matrix times the slopes of η
    group: Any  # (k,): equal for labels whose columns are equal for every θ


class FreeLabels(NamedTuple):
    """Bounds of the probability of each label, and what the far test needs, for B boxes."""

    low: Any  # (B, k)
    high: Any  # (B, k)
    odds_low: Any  # (B, k): largest (1 - p)² / (p (1 - p)) of a success
    odds_high: Any  # (B, k): the same of a failure
    limit: Any  # (B,): sums of them below this put an alternative below the original
    original: Any  # (B,): lower bound of Z of the original, or 0
    are_exact: Any  # (B,): whether points are the same to the last bit as those of the engines


class MatrixPart(NamedTuple):
    """Z of a part with a matrix: centre, slopes and remainders, for B boxes."""

    metric: Any  # (B, s, s)
    metric_slopes: Any  # (B, d, s, s)
    linear: Any  # (B, s)
    linear_slopes: Any  # (B, d, s)
    norm: Any  # (B, s, s): remainders are measured by it
    curvature: Any  # (B, 3): remainder per squared size and per size of a point, and in any case
    free_factor: Any  # (B, 2): what free labels add, per size and per size times size of the point
    upper: Any  # (B, s, s): a metric that is larger all over the box
    residual: Any  # (B, s): of the original, at the centre
    drift: Any  # (B,): how far residuals move over the box, by the larger metric
    size: Any  # (B,): of the residual
    row_sizes: Any  # (B, k): largest sizes of the columns over the box, in the norm
    upper_sizes: Any  # (B, k): the same by the larger metric
    # where columns depend on θ, else of shape (0, k):
    gain: Any  # (B, k): g at the centre
    gain_slope: Any  # (B, k): its slope in η
    rest: Any  # (B, k): sizes of what both leave out
    upper_move: Any  # (B, k): how far columns move, by the larger metric
    move: Any  # (B, k): the same in the norm


class ScalarPart(NamedTuple):
    """The same for a part that is measured by one number times the squared length."""

    metric: Any  # (B,)
    metric_slopes: Any  # (B, d)
    linear: Any  # (B, r)
    linear_slopes: Any  # (B, d, r)
    row_sizes: Any  # (k,): lengths of the columns
    curvature: Any  # (B, 3)
    free_factor: Any  # (B, 2)
    upper: Any  # (B,)
    residual: Any  # (B, r)
    drift: Any  # (B,)


@dataclass(frozen=True, eq=False)
class Boxes:
    """Boxes of coordinates z, centre ± half (B, d).

    For each rule they carry its verdicts about the alternatives (B, M), since those of a box hold
    in its parts.
    """

    centre: FloatArray
    half: FloatArray
    verdicts: list[Any]

    def __len__(self) -> int:
        return len(self.centre)

    def __getitem__(self, which: Any) -> Boxes:
        return Boxes(self.centre[which], self.half[which], [rule[which] for rule in self.verdicts])

    def halves(self) -> Boxes:
        """Cut each box in two across its longest side."""
        rows = np.arange(len(self))
        longest = self.half.argmax(axis=1)
        half = self.half.copy()
        half[rows, longest] /= 2
        step = np.zeros_like(half)
        step[rows, longest] = half[rows, longest]
        return Boxes(
            np.concatenate([self.centre - step, self.centre + step]),
            np.concatenate([half, half]),
            [np.concatenate([rule, rule]) for rule in self.verdicts],
        )


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


def can_enclose(fitted: FittedRegion) -> bool:
    """Return whether ranks of this family and statistic can be bounded over boxes."""
    model, inputs = fitted.model, fitted.sample.inputs
    if model.linear_design(inputs.X) is None or _weights(fitted.statistic) is None:
        return False
    return model.has_constant_gradient or _curved(model) is not None


def _curved(model: Model) -> LinearModel | None:
    """Return the model if its logit is a known curved function of a linear predictor."""
    known = isinstance(model, LinearModel) and model.logit_curvature(np.zeros(1)) is not None
    return model if known else None  # type: ignore[return-value]


def _weights(statistic: Statistic) -> list[float] | None:
    """Return the weights of score and discrepancy; None for other statistics."""
    if type(statistic) is Combined:
        parts = [type(part) for part in statistic.statistics]
        return list(statistic.weights) if parts == [Score, Discrepancy] else None
    return [1.0] if type(statistic) in (Score, Discrepancy, Focused) else None


def certain_predictors(model: Model) -> tuple[float, float]:
    """Return the predictors below which failures are certain, and above which successes are."""
    if not isinstance(model, LinearModel):
        return -LOGIT_OF_IMPOSSIBLE, LOGIT_OF_IMPOSSIBLE

    def excess(eta: float, logit: float) -> float:
        return float(np.clip(model.logit_of(np.array([eta])), -1e3, 1e3)[0]) - logit

    # all links of the library have logits beyond ±38 at predictors within ±40
    low, high = (
        brentq(excess, -40.0, 40.0, args=(logit,), xtol=1e-6)
        for logit in (-LOGIT_OF_IMPOSSIBLE, LOGIT_OF_IMPOSSIBLE)
    )
    return low - 1e-5, high + 1e-5


class Enclosure:
    """Bounds of the rank by one statistic over boxes in the coordinates of a window.

    `number` is the number that a focused statistic is for.
    """

    def __init__(
        self,
        fitted: FittedRegion,
        window: Window,
        accepted: AcceptedRanks,
        number: LinearRatios | None = None,
    ) -> None:
        self.window, self.accepted, self.number = window, accepted, number
        inputs, theta = fitted.sample.inputs, window.origin[None]
        prepared, statistic = fitted.prepared, fitted.statistic
        if number is not None:
            statistic = Focused(number.gradient)
            prepared = PreparedStatistic.of(statistic, inputs, fitted.resampling.m)
        self.link = _curved(fitted.model)
        design: Any = fitted.model.linear_design(inputs.X)
        self.certain = certain_predictors(fitted.model)
        self.x = design @ window.axes
        self.eta = design @ window.origin
        # the rounding of η: a few units in the last place of its largest summand
        self.eta_error = 1e-14 * (1 + np.abs(design * window.origin).sum(axis=1))
        self.z_error = 1e-14 * (np.abs(design) @ np.abs(window.axes)).T
        self.trials = inputs.trials.astype(np.float64)
        self.successes = fitted.sample.successes.astype(np.float64)
        self.is_counts = bool((inputs.trials > 1).any())
        # at θ = 0 no probability is 0 or 1, so that no row's columns are left out
        candidates = fitted.candidates(np.zeros_like(theta))
        self._read_terms(prepared, _weights(statistic) or [], candidates, design)
        n_blocks = len(list(blocks(len(inputs))))
        self.extent, self.m = inputs.extent, fitted.resampling.m
        self.centre_units, self.total = n_blocks / 4, inputs.total
        self.scalar_error = float(np.linalg.norm(self.scalar_unit)) / 4 * n_blocks
        self.row_error = 2.0 ** -(probability_bits(inputs.extent) + 1)
        self.draws = self._draws(fitted)
        self.M = len(self.draws.uniforms)
        self.undecided = np.zeros(self.M, dtype=np.int64)
        self.work = 0

    def _read_terms(
        self, prepared: Any, weights: list[float], candidates: Any, design: FloatArray
    ) -> None:
        n, d = self.x.shape
        matrix, self.matrix_unit, self.matrix_weight = np.empty((n, 0)), np.empty(0), 0.0
        scalar, self.scalar_unit, self.scalar_weight = np.empty((n, 0)), np.empty(0), 0.0
        self.by_expectation = len(weights) > 1
        for term, weight in zip(prepared.at(candidates).terms, weights, strict=True):
            features: Any = term.features
            if isinstance(term.measure, Whitened):
                # columns that depend on θ are rounded for each θ, and are multiples of the design
                matrix = np.asarray(features.values[0], dtype=np.float64).T
                matrix = matrix if self.link is None else design
                self.matrix_unit = np.asarray(features.unit[0])
                self.matrix_weight = weight / d if self.by_expectation else weight
            else:
                values: Any = features.values
                dense: Any = values.toarray() if sparse.issparse(values) else values  # type: ignore[attr-defined]
                scalar = np.asarray(dense, dtype=np.float64)
                self.scalar_unit = features.unit
                self.scalar_weight = weight if self.by_expectation else 1.0
        self.matrix, self.scalar = np.ascontiguousarray(matrix), np.ascontiguousarray(scalar)
        self.squares = np.einsum("na,nb->nab", matrix, matrix)
        self.moved_squares = np.einsum("nt,nab->ntab", self.x, self.squares)
        self.moved_matrix = np.einsum("nt,na->nta", self.x, matrix)
        self.moved_scalar = np.einsum("nt,na->nta", self.x, scalar)
        self.scalar_sizes = np.linalg.norm(scalar, axis=1)

    def _draws(self, fitted: FittedRegion) -> Labels:
        sample, resampling = fitted.sample, fitted.resampling
        trials = sample.inputs.trials
        U = np.concatenate([resampling.uniforms(rows) for rows in blocks(len(trials))], axis=1)
        row = np.repeat(np.arange(len(trials)), trials)
        count = np.arange(1, len(row) + 1) - np.repeat(np.cumsum(trials) - trials, trials)
        U = np.ascontiguousarray(U[:, row])
        if self.is_counts:
            # a row has at least c successes where p is above the quantile of its uniform
            U = betaincinv(count, trials[row] - count + 1, U)
        observed = (count <= sample.successes[row]).astype(np.int64)
        wins_ties = np.arange(len(U)) < resampling.seat
        self.row = row
        matrix, scalar = self.matrix[row], self.scalar[row]
        moved = self.moved_matrix.reshape(len(trials), -1)[row]
        columns = [np.ascontiguousarray(each.T) for each in (matrix, scalar, moved)]
        group = np.unique(self.matrix, axis=0, return_inverse=True)[1].ravel()[row]
        first = U, observed.astype(np.float64), wins_ties, matrix, scalar
        return Labels(*first, columns[0], columns[1], columns[2], group)

    def per_label(self, values: FloatArray) -> FloatArray:
        """Repeat numbers per row (…, n) for each label of the row: (…, k)."""
        return np.ascontiguousarray(values[..., self.row])

    def ranks(
        self, boxes: Boxes, index: int, *, complete: bool = False
    ) -> tuple[IntArray, IntArray]:
        """Bound the rank over each box: lowest and highest.

        The verdicts of the boxes, those at `index`, are updated. A box is left as soon as it is
        clear that it is not outside by high ranks: the highest rank may then be the last. With
        `complete` all alternatives are compared.
        """
        from exactregion.region.verdicts import judge  # Numba is slow to import

        # far out numbers overflow; what is not a number decides nothing
        with np.errstate(all="ignore"):
            bounds = _OverBoxes(self, boxes.centre, boxes.half)
            labels = bounds.labels()
        verdicts = boxes.verdicts[index]
        self.work += len(boxes) * (BOX_WORK + LABEL_WORK * len(self.row))
        self.work += judge(
            verdicts,
            np.argsort(-self.undecided, kind="stable"),
            self.undecided,
            self.M if complete or self.accepted.low > 1 else self.M - self.accepted.high,
            self.draws,
            labels,
            bounds.matrix,
            bounds.scalar,
            boxes.half,
            bounds.near,
        )
        lowest, highest = 1 + (verdicts == BELOW).sum(axis=1), 1 + (verdicts != ABOVE).sum(axis=1)
        last = self.M + 1
        # such an outcome gives the last rank: all over a box, or in a part of it
        impossible = self._is_impossible(bounds.p_high, bounds.q_low, 1 - 1e-6)
        doubtful = self._is_impossible(bounds.p_low, bounds.q_high, 1 + 1e-6)
        return np.where(impossible, last, lowest), np.where(impossible | doubtful, last, highest)

    def _is_impossible(self, p: FloatArray, q: FloatArray, margin: float) -> BoolArray:
        """Return where an observed outcome is impossible for these p and 1 - p.

        p is 1 from 1 - 2⁻⁵⁴ on, and cannot be 1 below 1 - 2⁻⁵³.
        """
        success = (p < margin * IMPOSSIBLE) & (self.successes > 0)
        failure = q < margin * IMPOSSIBLE * (0.5 if margin < 1 else 1.0)
        return np.asarray((success | (failure & (self.successes < self.trials))).any(axis=1))

    def logits(self, eta: FloatArray) -> FloatArray:
        """Return the logits at linear predictors η."""
        return eta if self.link is None else self.link.logit_of(eta)


class _OverBoxes:
    """The numbers that `judge` needs, for a batch of boxes; see the module's docstring."""

    def __init__(self, rule: Enclosure, centre: FloatArray, half: FloatArray) -> None:
        self.rule, self.centre, self.half = rule, centre, half
        eta = rule.eta + centre @ rule.x.T
        size = np.abs(rule.x).T
        linear = half @ size
        self.radius = linear + rule.eta_error + (np.abs(centre) + half) @ rule.z_error
        self.eta_low, self.eta_high = eta - self.radius, eta + self.radius
        low, middle, high = rule.logits(self.eta_low), rule.logits(eta), rule.logits(self.eta_high)
        p, q = expit(middle), expit(-middle)  # 1 - p without cancellation
        self.p_low, self.p_high = expit(low), expit(high)
        self.q_low, self.q_high = expit(-low), expit(-high)
        self.has_certainties = ((self.q_high < 1.2e-16) | (self.p_low == 0)).any(axis=1)
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
        self.corners = np.array(list(product((-1.0, 1.0), repeat=half.shape[1])))
        self.near = np.ones(len(centre), dtype=np.bool_)
        self.original = np.zeros(len(centre))
        self.error = np.full(len(centre), 1e-12)
        self.matrix = self._bound_matrix()
        self.scalar = self._bound_scalar()

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

    def labels(self) -> FreeLabels:
        rule = self.rule
        slack = LABEL_ERROR if rule.is_counts or rule.link is not None else 1e-15
        limit = self._pearson_limit()
        with np.errstate(divide="ignore", over="ignore"):
            odds_low, odds_high = self.q_low / self.p_low, self.p_high / self.q_high
        low = self.p_low - slack * np.minimum(self.p_low, self.q_low)
        high = self.p_high + slack * np.minimum(self.p_high, self.q_high) + 1e-16
        return FreeLabels(
            rule.per_label(np.maximum(low, 0.0)),
            rule.per_label(np.minimum(high, 1.0)),
            rule.per_label(_with_rounding(odds_low, self.q_low)),
            rule.per_label(_with_rounding(odds_high, self.p_high)),
            limit,
            self.original,
            ~self.has_certainties,
        )

    def _bound_matrix(self) -> MatrixPart:
        rule, half = self.rule, self.half
        if not rule.matrix.shape[1]:
            B, d, k, zero = *half.shape, len(rule.row), np.zeros
            return MatrixPart(
                zero((B, 0, 0)), zero((B, d, 0, 0)), zero((B, 0)), zero((B, d, 0)), zero((B, 0, 0)),
                zero((B, 3)), zero((B, 2)), zero((B, 0, 0)), zero((B, 0)), zero(B), zero(B),
                zero((B, k)), zero((B, k)), *[zero((0, k))] * 5,
            )  # fmt: skip
        weight = rule.matrix_weight
        self._bound_units()
        information = np.tensordot(self.weight.value, rule.squares, axes=1)
        inverse, condition = _inverse(information)
        self.near &= condition < 1 / WELL_CONDITIONED
        self.error += 1e-14 * np.minimum(condition, 1e20)
        norm = weight * inverse
        slopes = np.tensordot(self.weight.slope, rule.moved_squares, axes=1)
        relative = np.einsum("bac,btcd->btad", inverse, slopes)
        size_of_slopes = np.sqrt(np.abs(np.einsum("btad,btda->bt", relative, relative)))
        first = (size_of_slopes * half).sum(axis=1)
        sizes = _sizes(rule.matrix, norm)
        unit_size = _size_of_error(self.unit / 2, norm) * (rule.link is not None)
        second = (self.weight.rest * sizes**2).sum(axis=1) / weight
        # columns are rounded to the grid: (Φ + ε)(Φ + ε)ᵀ - ΦΦᵀ
        rounded = unit_size[:, None] * (2 * self.gain.largest * sizes + unit_size[:, None])
        second += (rule.trials * self.largest_v * rounded).sum(axis=1) / weight
        change = first + second
        self.near &= change < MAX_CHANGE
        remainder = second + change**2 / (1 - np.minimum(change, MAX_CHANGE))
        metric = norm
        metric_slopes = -np.einsum("btad,bdc->btac", relative, norm)
        if rule.number is not None:
            # a focused statistic has no weight
            norm = inverse
            direction = _direction(rule.number, rule.window, self.centre, half, inverse)
            metric, metric_slopes = _along(direction, inverse, metric_slopes)
            first, remainder = direction.moves_of_metric(first, remainder)
            self.near &= np.isfinite(remainder)
        residual = self.pull.value @ rule.matrix
        residual_slopes = np.tensordot(self.pull.slope, rule.moved_matrix, axes=1)
        bend = (self.pull.rest * sizes).sum(axis=1)
        bend += self.surprise.largest.sum(axis=1) * unit_size
        bend += _size_of_error(self.centre_error, norm)
        moved = (_sizes_of(residual_slopes, norm) * half).sum(axis=1)
        size = _sizes_of(residual[:, None], norm)[:, 0]
        curvature, free_factor = _remainders(first, remainder, moved, bend, size, self.error)
        other_grid = np.where(self.has_certainties, _size_of_error(self.finer_grid, norm), 0.0)
        curvature[:, 1] += 2 * other_grid
        curvature[:, 2] = other_grid * (2 * (size + moved + bend) + other_grid)
        linear = 2 * np.einsum("bac,bc->ba", metric, residual)
        linear_slopes = 2 * np.einsum("btac,bc->bta", metric_slopes, residual)
        linear_slopes += 2 * np.einsum("bac,btc->bta", metric, residual_slopes)
        upper, upper_sizes, drift = self._larger_metric(residual_slopes)
        if rule.number is None:
            self.original = self._original_from_below(inverse, residual, residual_slopes)
            self.original[np.isinf(drift)] = 0.0
        own = self._own_columns(sizes, unit_size, upper, upper_sizes)
        return MatrixPart(
            metric, metric_slopes, linear, linear_slopes, norm, curvature, free_factor, upper,
            residual, drift, size, *own,
        )  # fmt: skip

    def _own_columns(
        self, sizes: FloatArray, unit_size: FloatArray, upper: FloatArray, upper_sizes: FloatArray
    ) -> list[FloatArray]:
        """Return sizes of the columns, and how they move where they depend on θ."""
        rule, gain = self.rule, self.gain
        if rule.link is None:
            none = np.zeros((0, len(rule.row)))
            return [*map(rule.per_label, (sizes, upper_sizes)), *[none] * 5]
        unit, upper_unit = unit_size[:, None], _size_of_error(self.unit / 2, upper)[:, None]
        moved = gain.first + gain.rest
        per_row = (
            gain.largest * sizes + unit,
            gain.largest * upper_sizes + upper_unit,
            gain.value,
            gain.slope,
            gain.rest * sizes + unit,
            moved * upper_sizes + upper_unit,
            moved * sizes + unit,
        )
        return [rule.per_label(each) for each in per_row]

    def _bound_units(self) -> None:
        """Bound the grid of the columns, and what its rounding adds to centres: shape (B, s)."""
        rule = self.rule
        unit = rule.matrix_unit[None]
        if rule.link is not None:
            largest = (self.gain.largest[:, :, None] * np.abs(rule.matrix)).max(axis=1)
            # twice as large, since natural parameters may have columns of another power of two
            unit = 2 * grid_unit(np.minimum(largest, 1e300), rule.extent, rule.m)
        self.unit = np.broadcast_to(unit, (len(self.half), rule.matrix.shape[1]))
        self.centre_error = self.unit * rule.centre_units
        # where a probability is exactly 1, its columns are zero, and the grid may be finer
        self.finer_grid = self.unit / 2 * rule.total

    def _bound_scalar(self) -> ScalarPart:
        rule, half = self.rule, self.half
        (B, d), r = half.shape, rule.scalar.shape[1]
        sizes, squares = rule.scalar_sizes, rule.scalar_sizes**2
        metric, metric_slopes = np.full(B, rule.scalar_weight), np.zeros((B, d))
        first, remainder, upper = np.zeros(B), np.zeros(B), metric
        if rule.by_expectation and r:
            expected = self.v.value @ squares
            positive = np.where(expected > 0, expected, 1.0)
            slopes = self.v.slope @ (rule.x * squares[:, None]) / positive[:, None]
            first = (np.abs(slopes) * half).sum(axis=1)
            second = self.v.rest @ squares / positive
            change = first + second
            self.near &= (change < MAX_CHANGE) & (expected > 0)
            remainder = second + change**2 / (1 - np.minimum(change, MAX_CHANGE))
            metric = rule.scalar_weight / positive
            metric_slopes = -metric[:, None] * slopes
            smallest = (rule.trials * self.smallest_v) @ squares
            with np.errstate(divide="ignore"):
                upper = rule.scalar_weight / smallest
            self.original = np.where(smallest > 0, self.original, 0.0)
        residual = self.surprise.value @ rule.scalar
        residual_slopes = np.tensordot(self.surprise.slope, rule.moved_scalar, axes=1)
        bend = self.surprise.rest @ sizes + rule.scalar_error
        moved = (np.linalg.norm(residual_slopes, axis=2) * half).sum(axis=1)
        size = np.linalg.norm(residual, axis=1)
        curvature, free_factor = _remainders(first, remainder, moved, bend, size, self.error)
        drift = self._largest_move(residual_slopes, None) + bend
        if r and not rule.matrix.shape[1]:
            # the discrepancy alone: its own lower bound, and a drift that p in [0, 1] limits
            p = self.mean.value / rule.trials
            widest = np.maximum(self.p_high - p, p - self.p_low) * rule.trials + rule.row_error
            drift = np.minimum(drift, widest @ sizes + rule.scalar_error)
            self.original = metric * np.maximum(size - drift, 0.0) ** 2 * (1 - 1e-9)
        linear = 2 * metric[:, None] * residual
        linear_slopes = 2 * metric_slopes[:, :, None] * residual[:, None]
        linear_slopes = linear_slopes + 2 * metric[:, None, None] * residual_slopes
        scale = metric[:, None]
        return ScalarPart(
            metric, metric_slopes, linear, linear_slopes, rule.per_label(sizes), scale * curvature,
            scale * free_factor, upper, residual, drift,
        )  # fmt: skip

    def _larger_metric(self, slopes: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return a metric above that of any θ in the box, sizes in it, and the drift of residuals.

        The drift is infinite where the smallest information is not well conditioned.
        """
        rule = self.rule
        smallest = rule.trials * self.smallest_v * self.least_gain**2
        upper, condition = _inverse(np.tensordot(smallest, rule.squares, axes=1))
        upper *= rule.matrix_weight
        self.is_inverted = np.isfinite(condition)
        sizes = _sizes(rule.matrix, upper)
        if rule.link is not None:
            # the information of rounded columns may be smaller by this share
            unit = _size_of_error(self.unit / 2, upper)[:, None]
            rounded = unit * (2 * self.gain.largest * sizes + unit)
            lost = (rule.trials * self.largest_v * rounded).sum(axis=1) / rule.matrix_weight
            self.is_inverted &= lost < MAX_CHANGE
            condition[lost >= MAX_CHANGE] = np.inf
            factor = 1 / (1 - np.minimum(lost, MAX_CHANGE))
            upper, sizes = upper * factor[:, None, None], sizes * np.sqrt(factor)[:, None]
        drift = self._largest_move(slopes, upper)
        drift += (self.pull.rest * sizes).sum(axis=1)
        if rule.link is not None:
            drift += self.surprise.largest.sum(axis=1) * _size_of_error(self.unit / 2, upper)
        drift += _size_of_error(self.centre_error + self.finer_grid, upper)
        return upper, sizes, np.where(condition < 1 / WELL_CONDITIONED, drift, np.inf)

    def _largest_move(self, slopes: FloatArray, norm: FloatArray | None) -> FloatArray:
        """Bound ‖Σ_a δ_a slope_a‖, which is largest at a corner of the box."""
        moves = np.einsum("kt,bt,bta->bka", self.corners, self.half, slopes)
        if norm is None:
            return np.asarray(np.linalg.norm(moves, axis=2).max(axis=1))
        return np.asarray(_sizes_of(moves, norm).max(axis=1))

    def _original_from_below(
        self, inverse: FloatArray, residual: FloatArray, slopes: FloatArray
    ) -> FloatArray:
        """Bound Z of the original by (u·e)² / (uᵀ I u) for u = I⁻¹ e at the centre."""
        u = np.einsum("bac,bc->ba", inverse, residual)
        moves = np.abs(np.einsum("ba,bta->bt", u, slopes)) * self.half
        least = np.einsum("ba,ba->b", u, residual) - moves.sum(axis=1)
        along = np.abs(u @ self.rule.matrix.T)
        least -= (self.pull.rest * along).sum(axis=1)
        return self._squared_over_information(least - self._rounding_along(u), u)

    def _rounding_along(self, u: FloatArray) -> FloatArray:
        """Bound what the grid changes of u·e."""
        error = self.centre_error + self.finer_grid
        if self.rule.link is not None:
            error = error + self.unit / 2 * self.surprise.largest.sum(axis=1)[:, None]
        return np.asarray((np.abs(u) * error).sum(axis=1))

    def _squared_over_information(self, least: FloatArray, u: FloatArray) -> FloatArray:
        rule = self.rule
        weights = rule.trials * self.largest_v
        columns = np.abs(u @ rule.matrix.T) * self.gain.largest
        diagonal = (weights * self.gain.largest**2) @ rule.matrix**2
        if rule.link is not None:
            columns += (np.abs(u) * self.unit / 2).sum(axis=1)[:, None]
            # (a + b)² is at most 2 a² + 2 b²
            diagonal = 2 * diagonal + 2 * weights.sum(axis=1)[:, None] * (self.unit / 2) ** 2
        along = (weights * columns**2).sum(axis=1)
        # what the floor of the eigenvalues may add to the information
        along += 2 * SINGULAR * u.shape[1] ** 2 * (u**2 * diagonal).sum(axis=1)
        with np.errstate(divide="ignore", invalid="ignore"):
            bound = rule.matrix_weight * least**2 / along
        return np.where((least > 0) & np.isfinite(bound), bound * (1 - 1e-9), 0.0)

    def _pearson_limit(self) -> FloatArray:
        """Return below which value of Pearson's statistic an alternative is below the original.

        The direction u is that of the box, seen from the origin.
        """
        rule = self.rule
        if rule.number is not None or not rule.matrix_weight:
            return np.zeros(len(self.half))
        u = self.centre @ rule.window.axes.T
        along = u @ rule.matrix.T
        gains = self.least_gain, self.gain.largest
        surprises = (
            rule.successes - rule.trials * self.p_low + rule.row_error,
            rule.successes - rule.trials * self.p_high - rule.row_error,
        )
        ends = [along * gain * surprise for gain in gains for surprise in surprises]
        lowest, highest = np.minimum.reduce(ends), np.maximum.reduce(ends)
        least = np.maximum(lowest.sum(axis=1), -highest.sum(axis=1))
        original = self._squared_over_information(least - self._rounding_along(u), u)
        weight = rule.matrix_weight + rule.scalar_weight * (rule.scalar.shape[1] > 0)
        # what the rounding of centres may add: by the smallest information in the box
        added = _size_of_error(self.centre_error, self.matrix.upper / rule.matrix_weight)
        if rule.scalar.shape[1]:
            scale = np.sqrt(self.scalar.upper / rule.scalar_weight)
            added = np.maximum(added, rule.scalar_error * scale)
        added = np.where(self.is_inverted & np.isfinite(added), added, np.inf)
        return np.asarray(np.maximum(np.sqrt(original / weight) - added, 0.0) ** 2)


def _with_rounding(odds: FloatArray, share: FloatArray) -> FloatArray:
    """Allow for expected successes on a grid of 2⁻²⁰ in the odds of an outcome.

    A residual of less than half a unit becomes zero, and another one at most doubles; those above
    a thousandth change by less than a part in a thousand.
    """
    small = np.minimum(share, 1e-3)
    return np.asarray(np.maximum(4 * small / (1 - small), 1.002 * np.minimum(odds, 1e300)))


def _inverse(information: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the inverse, and the condition number at a unit diagonal (infinite: not inverted)."""
    size = np.sqrt(np.einsum("baa->ba", information))
    unit = 1 / np.where(size > 0, size, 1.0)
    scaled = information * unit[:, :, None] * unit[:, None, :]
    good = (size > 0).all(axis=1) & np.isfinite(scaled).all(axis=(1, 2))
    scaled[~good] = np.eye(size.shape[1])
    values = np.linalg.eigvalsh(scaled)
    good &= values[:, 0] > SINGULAR * values[:, -1]
    scaled[~good] = np.eye(size.shape[1])
    inverse = np.linalg.inv(scaled) * unit[:, :, None] * unit[:, None, :]
    condition = np.where(good, values[:, -1] / np.where(good, values[:, 0], 1.0), np.inf)
    return inverse, condition


def _sizes(rows: FloatArray, norm: FloatArray) -> FloatArray:
    """Compute √(φ_jᵀ G φ_j) of each row in each box: shape (B, n)."""
    squares = ((rows @ norm) * rows).sum(axis=-1)
    return np.asarray(np.sqrt(np.maximum(squares, 0.0)))


def _sizes_of(vectors: FloatArray, norm: FloatArray) -> FloatArray:
    """Compute the same of vectors (B, k, s) of each box: shape (B, k)."""
    return np.asarray(np.sqrt(np.maximum(((vectors @ norm) * vectors).sum(axis=-1), 0.0)))


def _size_of_error(error: FloatArray, norm: FloatArray) -> FloatArray:
    """Bound the size of a vector whose entries are at most `error`."""
    return np.asarray(np.sqrt(np.einsum("ba,bac,bc->b", error, np.abs(norm), error)))


class Direction(NamedTuple):
    """The gradient of a number over B boxes, as a share of its size at the centre."""

    value: FloatArray  # (B, d)
    slopes: FloatArray  # (B, d, d): one row per coordinate z
    first: FloatArray  # (B,): size of the slopes over the box
    rest: FloatArray  # (B,)

    def moves_of_metric(self, first: FloatArray, rest: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Bound the moves of I⁻¹ g gᵀ I⁻¹ by those of I⁻¹, to first order and the rest."""
        own = self.first + self.rest
        rest = rest * (1 + own) + first * own + self.rest
        first = first + self.first
        return 2 * first, 2 * rest + (first + rest) ** 2


def _direction(
    number: LinearRatios, window: Window, centre: FloatArray, half: FloatArray, inverse: FloatArray
) -> Direction:
    """Expand the gradient of a number, which is constant or linear in θ."""
    theta = window.origin + centre @ window.axes.T
    value, steps = number.gradient(theta), np.zeros((*centre.shape, centre.shape[1]))
    rounding = np.zeros(len(centre))
    if number.denominator is not None:
        a, b = number.numerator[0], number.denominator[0]
        linear = np.outer(b @ window.axes, a) - np.outer(a @ window.axes, b)
        steps = np.broadcast_to(linear, steps.shape)
        # the cancellation between the two summands
        large = np.abs(theta @ b)[:, None] * np.abs(a)
        large = large + np.abs(theta @ a + number.offset[0])[:, None] * np.abs(b)
        rounding = 1e-13 * _size_of_error(large, inverse)
    size = np.maximum(_sizes_of(value[:, None], inverse)[:, 0], 1e-150)
    first = (_sizes_of(steps, inverse) * half).sum(axis=1)
    return Direction(
        value / size[:, None], steps / size[:, None, None], first / size, rounding / size
    )


def _along(
    direction: Direction, inverse: FloatArray, slopes: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Metric b bᵀ of a focused statistic, b = I⁻¹ g, and its slopes.

    g is divided by its size at the centre, a number that all data sets share and that changes no
    comparison.
    """
    b = np.einsum("bac,bc->ba", inverse, direction.value)
    b_slopes = np.einsum("btac,bc->bta", slopes, direction.value)
    b_slopes += np.einsum("bac,btc->bta", inverse, direction.slopes)
    outer = np.einsum("bta,bc->btac", b_slopes, b)
    return np.einsum("ba,bc->bac", b, b), outer + np.swapaxes(outer, 2, 3)


def _remainders(  # noqa: PLR0917 (six numbers of one formula)
    first: FloatArray,
    remainder: FloatArray,
    moved: FloatArray,
    bend: FloatArray,
    size: FloatArray,
    error: FloatArray,
) -> tuple[FloatArray, FloatArray]:
    """Bound what the first order leaves out, per size of w: `curvature` and `free_factor`.

    With M = M₀ + M₁ + M₂ (‖M₁‖ ≤ first, ‖M₂‖ ≤ remainder) and e = e₀ + e₁ + e₂ (‖e₀‖ = size,
    ‖e₁‖ ≤ moved, ‖e₂‖ ≤ bend), M e is known up to `left_out`, and its first order is at most
    first · size + moved. The error of rounding is relative to all of it.
    """
    left_out = first * (moved + bend) + remainder * (size + moved + bend) + bend
    per_size = 2 * (left_out + error * size)
    curvature = np.stack([remainder + error, per_size, np.zeros_like(size)], axis=-1)
    in_first = first * size + moved
    free_factor = np.stack([2 * (in_first + left_out), first + remainder], axis=-1)
    return curvature, free_factor
