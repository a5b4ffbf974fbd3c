"""Z of a data set minus Z of the original over boxes: to first order, with a bound of the rest.

A statistic has a part that is measured by a matrix, the score, and one that is measured by a
number, the discrepancy. `proofs.enclosure` has the formulas.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import Any, NamedTuple

import numpy as np

from exactregion._typing import FloatArray
from exactregion.engine.information import SINGULAR
from exactregion.features.grid import grid_unit
from exactregion.region.proofs.expansion import RowsOverBoxes
from exactregion.region.proofs.inputs import ProofInputs
from exactregion.region.proofs.metrics import (
    Direction,
    inverse_of,
    metric_along,
    remainders,
    size_of_error,
    sizes_of_rows,
    sizes_of_vectors,
)
from exactregion.region.proofs.packed import (
    DRIFT,
    FREE,
    HALF,
    IS_EXACT,
    IS_NEAR,
    LIMIT,
    LINEAR,
    METRIC,
    NORM,
    ORIGINAL,
    PER_SQUARE,
    RESIDUAL,
    SCALAR_DRIFT,
    SCALAR_FREE,
    SCALAR_LENGTH,
    SCALAR_METRIC,
    SCALAR_PER_SQUARE,
    SCALAR_UPPER,
    SIZE,
    SLOPES,
    UPPER,
    PackedBoxes,
)

__all__ = ["MatrixPart", "PartsOverBoxes", "ScalarPart", "chances_of_labels"]

MAX_CHANGE = 0.5
"""The expansion of the inverse information is used where its first term is at most this."""

WELL_CONDITIONED = 1e-9
"""Smallest eigenvalue of the information at a unit diagonal, as a share of the largest, for which
the floor of `engine.information`, 1e-12, is out of play all over a box."""

HOPELESS = 0.5
"""Share of its expectation that Pearson's statistic hardly ever stays below."""

LABEL_ERROR = 1e-11
"""Relative error of the thresholds of counts, which are quantiles of beta distributions here and
tail probabilities where labels are drawn, and of probabilities that are computed by their logit."""


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
    columns: Any  # arrays (B, n) for `packed`: sizes, and how columns move that depend on θ


class ScalarPart(NamedTuple):
    """The same for a part that is measured by one number times the squared length."""

    metric: Any  # (B,)
    metric_slopes: Any  # (B, d)
    linear: Any  # (B, r)
    linear_slopes: Any  # (B, d, r)
    curvature: Any  # (B, 3)
    free_factor: Any  # (B, 2)
    upper: Any  # (B,)
    residual: Any  # (B, r)
    drift: Any  # (B,)


class PartsOverBoxes:
    """The numbers that `region.verdicts.judge` needs, for boxes centre ± half (B, d).

    Attributes
    ----------
    rows : RowsOverBoxes
        What they are sums of.
    matrix, scalar : MatrixPart and ScalarPart
        The two parts of the statistic; one of them may have no columns.
    near : ndarray of shape (B,)
        Whether the expansion holds.
    original : ndarray of shape (B,)
        Lower bound of Z of the original.
    """

    def __init__(self, rule: ProofInputs, centre: FloatArray, half: FloatArray) -> None:
        self.rule, self.centre, self.half = rule, centre, half
        self.rows = RowsOverBoxes(rule, centre, half)
        self.corners = np.array(list(product((-1.0, 1.0), repeat=half.shape[1])))
        self.near = np.ones(len(centre), dtype=np.bool_)
        self.original = np.zeros(len(centre))
        self.error = np.full(len(centre), 1e-12)
        self.matrix = self._bound_matrix()
        self.scalar = self._bound_scalar()

    def packed(self) -> PackedBoxes:
        """Return all of it, for compiled loops."""
        rule, rows, matrix, scalar = self.rule, self.rows, self.matrix, self.scalar
        with np.errstate(divide="ignore", over="ignore"):
            odds_low, odds_high = rows.q_low / rows.p_low, rows.p_high / rows.q_high
        per_row = [
            _with_rounding(odds_low, rows.q_low),
            _with_rounding(odds_high, rows.p_high),
            *matrix.columns,
        ]
        (B, d), s = self.half.shape, rule.matrix.shape[1]
        by_label = _by_label(rule, per_row)
        numbers = np.empty((B, HALF + 2 * d))
        numbers[:, ORIGINAL], numbers[:, LIMIT] = self.original, self._pearson_limit()
        numbers[:, IS_NEAR], numbers[:, IS_EXACT] = self.near, ~rows.has_certainties
        numbers[:, PER_SQUARE:FREE], numbers[:, FREE:DRIFT] = matrix.curvature, matrix.free_factor
        numbers[:, DRIFT], numbers[:, SIZE] = matrix.drift, matrix.size
        numbers[:, SCALAR_METRIC], numbers[:, SCALAR_UPPER] = scalar.metric, scalar.upper
        numbers[:, SCALAR_PER_SQUARE:SCALAR_FREE] = scalar.curvature[:, :2]
        numbers[:, SCALAR_FREE:SCALAR_DRIFT] = scalar.free_factor
        numbers[:, SCALAR_DRIFT] = scalar.drift
        numbers[:, SCALAR_LENGTH] = np.linalg.norm(scalar.residual, axis=1)
        numbers[:, HALF : HALF + d], numbers[:, HALF + d :] = self.half, scalar.metric_slopes
        forms = np.empty((B, 3 + d, s, s))
        forms[:, NORM], forms[:, METRIC], forms[:, UPPER] = matrix.norm, matrix.metric, matrix.upper
        forms[:, SLOPES + 1 :] = matrix.metric_slopes
        lines = np.empty((B, 2 + d, s + rule.scalar.shape[1]))
        for part, at in ((matrix, np.s_[:s]), (scalar, np.s_[s:])):
            lines[:, LINEAR, at], lines[:, RESIDUAL, at] = part.linear, part.residual
            lines[:, SLOPES:, at] = part.linear_slopes
        return PackedBoxes(by_label, numbers, forms, lines)

    def _bound_matrix(self) -> MatrixPart:
        rule, rows, half = self.rule, self.rows, self.half
        if not rule.matrix.shape[1]:
            (B, d), n, zero = half.shape, len(rule.trials), np.zeros
            return MatrixPart(
                zero((B, 0, 0)), zero((B, d, 0, 0)), zero((B, 0)), zero((B, d, 0)), zero((B, 0, 0)),
                zero((B, 3)), zero((B, 2)), zero((B, 0, 0)), zero((B, 0)), zero(B), zero(B),
                [zero((B, n))] * 2,
            )  # fmt: skip
        weight = rule.matrix_weight
        self._bound_units()
        information = np.tensordot(rows.weight.value, rule.squares, axes=1)
        inverse, condition = inverse_of(information)
        self.near &= condition < 1 / WELL_CONDITIONED
        self.error += 1e-14 * np.minimum(condition, 1e20)
        norm = weight * inverse
        slopes = np.tensordot(rows.weight.slope, rule.moved_squares, axes=1)
        relative = np.einsum("bac,btcd->btad", inverse, slopes)
        size_of_slopes = np.sqrt(np.abs(np.einsum("btad,btda->bt", relative, relative)))
        first = (size_of_slopes * half).sum(axis=1)
        sizes = sizes_of_rows(rule.squares, norm)
        unit_size = size_of_error(self.unit / 2, norm) * (rule.link is not None)
        second = (rows.weight.rest * sizes**2).sum(axis=1) / weight
        # columns are rounded to the grid: (Φ + ε)(Φ + ε)ᵀ - ΦΦᵀ
        rounded = unit_size[:, None] * (2 * rows.gain.largest * sizes + unit_size[:, None])
        second += (rule.trials * rows.largest_v * rounded).sum(axis=1) / weight
        change = first + second
        self.near &= change < MAX_CHANGE
        remainder = second + change**2 / (1 - np.minimum(change, MAX_CHANGE))
        metric = norm
        metric_slopes = -np.einsum("btad,bdc->btac", relative, norm)
        if rule.number is not None:
            # a focused statistic has no weight
            norm = inverse
            direction = Direction.of(rule.number, rule.window, self.centre, half, inverse)
            metric, metric_slopes = metric_along(direction, inverse, metric_slopes)
            first, remainder = direction.moves_of_metric(first, remainder)
            self.near &= np.isfinite(remainder)
        residual = rows.pull.value @ rule.matrix
        residual_slopes = np.tensordot(rows.pull.slope, rule.moved_matrix, axes=1)
        bend = (rows.pull.rest * sizes).sum(axis=1)
        bend += rows.surprise.largest.sum(axis=1) * unit_size
        bend += size_of_error(self.centre_error, norm)
        moved = (sizes_of_vectors(residual_slopes, norm) * half).sum(axis=1)
        size = sizes_of_vectors(residual[:, None], norm)[:, 0]
        curvature, free_factor = remainders(first, remainder, moved, bend, size, self.error)
        other_grid = np.where(rows.has_certainties, size_of_error(self.finer_grid, norm), 0.0)
        curvature[:, 1] += 2 * other_grid
        curvature[:, 2] = other_grid * (2 * (size + moved + bend) + other_grid)
        linear = 2 * np.einsum("bac,bc->ba", metric, residual)
        linear_slopes = 2 * np.einsum("btac,bc->bta", metric_slopes, residual)
        linear_slopes += 2 * np.einsum("bac,btc->bta", metric, residual_slopes)
        upper, upper_sizes, drift = self._larger_metric(residual_slopes)
        if rule.number is None:
            self.original = self._original_from_below(inverse, residual, residual_slopes)
            self.original[np.isinf(drift)] = 0.0
        columns = self._sizes_of_columns(sizes, unit_size, upper, upper_sizes)
        return MatrixPart(
            metric, metric_slopes, linear, linear_slopes, norm, curvature, free_factor, upper,
            residual, drift, size, columns,
        )  # fmt: skip

    def _sizes_of_columns(
        self, sizes: FloatArray, unit_size: FloatArray, upper: FloatArray, upper_sizes: FloatArray
    ) -> list[FloatArray]:
        """Return sizes of the columns, and how they move where they depend on θ."""
        rule, gain = self.rule, self.rows.gain
        if rule.link is None:
            return [sizes, upper_sizes]
        unit, upper_unit = unit_size[:, None], size_of_error(self.unit / 2, upper)[:, None]
        moved = gain.first + gain.rest
        return [
            gain.largest * sizes + unit,
            gain.largest * upper_sizes + upper_unit,
            gain.value,
            gain.slope,
            gain.rest * sizes + unit,
            moved * upper_sizes + upper_unit,
            moved * sizes + unit,
        ]

    def _bound_units(self) -> None:
        """Bound the grid of the columns, and what its rounding adds to centres: shape (B, s)."""
        rule = self.rule
        unit = rule.matrix_unit[None]
        if rule.link is not None:
            largest = (self.rows.gain.largest[:, :, None] * np.abs(rule.matrix)).max(axis=1)
            # twice as large, since natural parameters may have columns of another power of two
            unit = 2 * grid_unit(np.minimum(largest, 1e300), rule.extent, rule.m)
        self.unit = np.broadcast_to(unit, (len(self.half), rule.matrix.shape[1]))
        self.centre_error = self.unit * rule.centre_units
        # where a probability is exactly 1, its columns are zero, and the grid may be finer
        self.finer_grid = self.unit / 2 * rule.total

    def _bound_scalar(self) -> ScalarPart:
        rule, rows, half = self.rule, self.rows, self.half
        (B, d), r = half.shape, rule.scalar.shape[1]
        sizes, squares = rule.scalar_sizes, rule.scalar_sizes**2
        metric, metric_slopes = np.full(B, rule.scalar_weight), np.zeros((B, d))
        first, remainder, upper = np.zeros(B), np.zeros(B), metric
        if rule.by_expectation and r:
            expected = rows.v.value @ squares
            positive = np.where(expected > 0, expected, 1.0)
            slopes = rows.v.slope @ (rule.x * squares[:, None]) / positive[:, None]
            first = (np.abs(slopes) * half).sum(axis=1)
            second = rows.v.rest @ squares / positive
            change = first + second
            self.near &= (change < MAX_CHANGE) & (expected > 0)
            remainder = second + change**2 / (1 - np.minimum(change, MAX_CHANGE))
            metric = rule.scalar_weight / positive
            metric_slopes = -metric[:, None] * slopes
            smallest = (rule.trials * rows.smallest_v) @ squares
            with np.errstate(divide="ignore"):
                upper = rule.scalar_weight / smallest
            self.original = np.where(smallest > 0, self.original, 0.0)
        residual = rows.surprise.value @ rule.scalar
        residual_slopes = np.tensordot(rows.surprise.slope, rule.moved_scalar, axes=1)
        bend = rows.surprise.rest @ sizes + rule.scalar_error
        moved = (np.linalg.norm(residual_slopes, axis=2) * half).sum(axis=1)
        size = np.linalg.norm(residual, axis=1)
        curvature, free_factor = remainders(first, remainder, moved, bend, size, self.error)
        drift = self._largest_move(residual_slopes, None) + bend
        if r and not rule.matrix.shape[1]:
            # the discrepancy alone: its own lower bound, and a drift that p in [0, 1] limits
            p = rows.mean.value / rule.trials
            widest = np.maximum(rows.p_high - p, p - rows.p_low) * rule.trials + rule.row_error
            drift = np.minimum(drift, widest @ sizes + rule.scalar_error)
            self.original = metric * np.maximum(size - drift, 0.0) ** 2 * (1 - 1e-9)
        linear = 2 * metric[:, None] * residual
        linear_slopes = 2 * metric_slopes[:, :, None] * residual[:, None]
        linear_slopes = linear_slopes + 2 * metric[:, None, None] * residual_slopes
        scale = metric[:, None]
        return ScalarPart(
            metric, metric_slopes, linear, linear_slopes, scale * curvature, scale * free_factor,
            upper, residual, drift,
        )  # fmt: skip

    def _larger_metric(self, slopes: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return a metric above that of any θ in the box, sizes in it, and the drift of residuals.

        The drift is infinite where the smallest information is not well conditioned.
        """
        rule, rows = self.rule, self.rows
        smallest = rule.trials * rows.smallest_v * rows.least_gain**2
        upper, condition = inverse_of(np.tensordot(smallest, rule.squares, axes=1))
        upper *= rule.matrix_weight
        self.is_inverted = np.isfinite(condition)
        sizes = sizes_of_rows(rule.squares, upper)
        if rule.link is not None:
            # the information of rounded columns may be smaller by this share
            unit = size_of_error(self.unit / 2, upper)[:, None]
            rounded = unit * (2 * rows.gain.largest * sizes + unit)
            lost = (rule.trials * rows.largest_v * rounded).sum(axis=1) / rule.matrix_weight
            self.is_inverted &= lost < MAX_CHANGE
            condition[lost >= MAX_CHANGE] = np.inf
            factor = 1 / (1 - np.minimum(lost, MAX_CHANGE))
            upper, sizes = upper * factor[:, None, None], sizes * np.sqrt(factor)[:, None]
        drift = self._largest_move(slopes, upper)
        drift += (rows.pull.rest * sizes).sum(axis=1)
        if rule.link is not None:
            drift += rows.surprise.largest.sum(axis=1) * size_of_error(self.unit / 2, upper)
        drift += size_of_error(self.centre_error + self.finer_grid, upper)
        return upper, sizes, np.where(condition < 1 / WELL_CONDITIONED, drift, np.inf)

    def _largest_move(self, slopes: FloatArray, norm: FloatArray | None) -> FloatArray:
        """Bound ‖Σ_a δ_a slope_a‖, which is largest at a corner of the box."""
        moves = np.einsum("kt,bt,bta->bka", self.corners, self.half, slopes)
        if norm is None:
            return np.asarray(np.linalg.norm(moves, axis=2).max(axis=1))
        return np.asarray(sizes_of_vectors(moves, norm).max(axis=1))

    def _original_from_below(
        self, inverse: FloatArray, residual: FloatArray, slopes: FloatArray
    ) -> FloatArray:
        """Bound Z of the original by (u·e)² / (uᵀ I u) for u = I⁻¹ e at the centre."""
        u = np.einsum("bac,bc->ba", inverse, residual)
        moves = np.abs(np.einsum("ba,bta->bt", u, slopes)) * self.half
        least = np.einsum("ba,ba->b", u, residual) - moves.sum(axis=1)
        along = np.abs(u @ self.rule.matrix.T)
        least -= (self.rows.pull.rest * along).sum(axis=1)
        return self._squared_over_information(least - self._rounding_along(u), u)

    def _rounding_along(self, u: FloatArray) -> FloatArray:
        """Bound what the grid changes of u·e."""
        error = self.centre_error + self.finer_grid
        if self.rule.link is not None:
            error = error + self.unit / 2 * self.rows.surprise.largest.sum(axis=1)[:, None]
        return np.asarray((np.abs(u) * error).sum(axis=1))

    def _squared_over_information(self, least: FloatArray, u: FloatArray) -> FloatArray:
        rule, rows = self.rule, self.rows
        weights = rule.trials * rows.largest_v
        columns = np.abs(u @ rule.matrix.T) * rows.gain.largest
        diagonal = (weights * rows.gain.largest**2) @ rule.matrix**2
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
        rule, rows = self.rule, self.rows
        if rule.number is not None or not rule.matrix_weight:
            return np.zeros(len(self.half))
        u = self.centre @ rule.window.axes.T
        along = u @ rule.matrix.T
        gains = rows.least_gain, rows.gain.largest
        surprises = (
            rule.successes - rule.trials * rows.p_low + rule.row_error,
            rule.successes - rule.trials * rows.p_high - rule.row_error,
        )
        ends = [along * gain * surprise for gain in gains for surprise in surprises]
        lowest, highest = np.minimum.reduce(ends), np.maximum.reduce(ends)
        farthest = np.maximum(lowest.sum(axis=1), -highest.sum(axis=1))
        original = self._squared_over_information(farthest - self._rounding_along(u), u)
        weight = rule.matrix_weight + rule.scalar_weight * (rule.scalar.shape[1] > 0)
        # expected is one per label: hardly any alternative is that far below it
        least = HOPELESS * len(rule.row)
        if not (original > weight * least).any():
            return np.zeros(len(original))
        # what the rounding of centres may add: by the smallest information in the box
        added = size_of_error(self.centre_error, self.matrix.upper / rule.matrix_weight)
        added = np.where(self.is_inverted, added, self._largest_rounding())
        if rule.scalar.shape[1]:
            scale = np.sqrt(self.scalar.upper / rule.scalar_weight)
            added = np.maximum(added, rule.scalar_error * scale)
        added = np.where(np.isfinite(added), added, np.inf)
        limit = np.maximum(np.sqrt(original / weight) - added, 0.0) ** 2
        return np.where(limit > least, limit, 0.0)

    def _largest_rounding(self) -> FloatArray:
        """Bound the size of the rounding of centres where the information may be singular.

        The engines bring it to a unit diagonal, whose largest eigenvalue is at least one, and give
        all others a floor, a share of that.
        """
        rule, rows = self.rule, self.rows
        columns = rows.least_gain[:, :, None] * np.abs(rule.matrix) - self.unit[:, None] / 2
        # next to 1 a probability is rounded, and v with it, by up to 2⁻⁵³
        weights = rule.trials * np.maximum(rows.smallest_v - 2.5e-16, 0.0)
        diagonal = (weights[:, :, None] * np.maximum(columns, 0.0) ** 2).sum(axis=1)
        with np.errstate(divide="ignore"):
            squares = (self.centre_error**2 / diagonal).sum(axis=1)
        return np.asarray(np.sqrt(squares / (SINGULAR * rule.matrix.shape[1])) * (1 + 1e-9))


LAST_PLACE = 2.5e-16
"""More than two units in the last place of numbers next to 1."""


def chances_of_labels(rule: ProofInputs, p_low: FloatArray, p_high: FloatArray) -> FloatArray:
    """Bound the probability of each label (B, 2, k), with rounding, by that of its row (B, n)."""
    slack = LABEL_ERROR if rule.is_counts or rule.link is not None else 1e-15
    # next to 1 probabilities of the engines may be another unit in the last place
    low = p_low - slack * np.minimum(p_low, 1 - p_low) - LAST_PLACE
    high = p_high + slack * np.minimum(p_high, 1 - p_high) + LAST_PLACE
    return _by_label(rule, [np.maximum(low, 0.0), np.minimum(high, 1.0)])


def _by_label(rule: ProofInputs, per_row: Sequence[FloatArray]) -> FloatArray:
    """Put numbers per row (B, n) together by label: shape (B, number, k)."""
    by_label = np.empty((len(per_row[0]), len(per_row), len(rule.row)))
    for index, values in enumerate(per_row):
        by_label[:, index] = values[:, rule.row] if rule.is_counts else values
    return by_label


def _with_rounding(odds: FloatArray, share: FloatArray) -> FloatArray:
    """Allow for expected successes on a grid of 2⁻²⁰ in the odds of an outcome.

    A residual of less than half a unit becomes zero, and another one at most doubles; those above
    a thousandth change by less than a part in a thousand.
    """
    small = np.minimum(share, 1e-3)
    return np.asarray(np.maximum(4 * small / (1 - small), 1.002 * np.minimum(odds, 1e300)))
