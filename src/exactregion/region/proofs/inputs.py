"""Data, statistic and draws in the form that proofs over boxes need."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from scipy.optimize import brentq
from scipy.special import betaincinv

from exactregion._typing import FloatArray, IntArray
from exactregion.data.sample import blocks
from exactregion.engine import PreparedStatistic
from exactregion.features.grid import probability_bits
from exactregion.models import LinearModel, Model
from exactregion.region.fitted import FittedRegion
from exactregion.region.ratios import LinearRatios
from exactregion.region.window import Window
from exactregion.statistics import Combined, Discrepancy, Score, Statistic
from exactregion.statistics.focused import Focused
from exactregion.statistics.measures import Whitened

__all__ = [
    "Labels",
    "ProofInputs",
    "can_enclose",
    "certain_predictors",
    "curved_link",
    "has_known_link",
    "thresholds_of",
]

LOGIT_OF_IMPOSSIBLE = 37.5
"""Beyond this logit an outcome of the other kind has a probability below 2⁻⁵⁴, by a margin that is
larger than any rounding error."""


def can_enclose(fitted: FittedRegion) -> bool:
    """Return whether ranks of this family and statistic can be bounded over boxes."""
    return _weights(fitted.statistic) is not None and has_known_link(fitted)


def has_known_link(fitted: FittedRegion) -> bool:
    """Return whether the logit is a known function of a linear predictor."""
    model = fitted.model
    if not fitted.is_linear:
        return False
    return model.has_constant_gradient or curved_link(model) is not None


def curved_link(model: Model) -> LinearModel | None:
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


class Labels(NamedTuple):
    """The draws, k labels of each alternative: one per row, for counts one per trial.

    A label is 1 where its uniform is below the probability of its row.
    """

    uniforms: Any  # (M, k)
    surprises: Any  # (M, k): largest (1 - p)² / (p (1 - p)) of whatever the label is
    observed: Any  # (k,): labels of the original
    wins_ties: Any  # (M,): whether the alternative counts as below the original where Z is equal
    matrix: Any  # (k, s): columns of the part that is measured by a matrix
    scalar: Any  # (k, r): columns of the part that is measured by a number
    columns: Any  # (k, s + r): both
    by_column: Any  # (s + r, k)
    scalar_sizes: Any  # (k,): lengths of the columns
    moved_columns: Any  # (d · s, k): those of the matrix times the slopes of η
    group: Any  # (k,): equal for labels whose columns are equal for every θ


def thresholds_of(fitted: FittedRegion) -> tuple[FloatArray, IntArray, IntArray]:
    """Return the thresholds (M, k) of the labels of alternatives, their rows, and the original's.

    A label is 1 where p of its row is above the threshold: the uniform of a row, and for counts, of
    which each trial has a label, a quantile of it. Those of a row are in ascending order.
    """
    sample, resampling = fitted.sample, fitted.resampling
    trials = sample.inputs.trials
    U = np.concatenate([resampling.uniforms(rows) for rows in blocks(len(trials))], axis=1)
    row = np.repeat(np.arange(len(trials)), trials)
    count = np.arange(1, len(row) + 1) - np.repeat(np.cumsum(trials) - trials, trials)
    U = np.ascontiguousarray(U[:, row])
    if (trials > 1).any():
        # a row has at least c successes where p is above the quantile of its uniform
        U = betaincinv(count, trials[row] - count + 1, U)
    observed = (count <= sample.successes[row]).astype(np.int64)
    return np.asarray(U, dtype=np.float64), row.astype(np.int64), observed


class ProofInputs:
    """What the rank by one statistic depends on, in the coordinates of a window.

    `number` is the number that a focused statistic is for.
    """

    def __init__(
        self,
        fitted: FittedRegion,
        window: Window,
        number: LinearRatios | None = None,
    ) -> None:
        self.window, self.number = window, number
        inputs, theta = fitted.sample.inputs, window.origin[None]
        prepared, statistic = fitted.prepared, fitted.statistic
        if number is not None:
            statistic = Focused(number.gradient)
            prepared = PreparedStatistic.of(statistic, inputs, fitted.resampling.m)
        self.link = curved_link(fitted.model)
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

    def _read_terms(
        self, prepared: Any, weights: list[float], candidates: Any, design: FloatArray
    ) -> None:
        n, d = design.shape
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
        trials = fitted.sample.inputs.trials
        U, row, observed = thresholds_of(fitted)
        wins_ties = np.arange(len(U)) < fitted.resampling.seat
        self.row = row
        matrix, scalar = self.matrix[row], self.scalar[row]
        moved = self.moved_matrix.reshape(len(trials), -1)[row]
        columns = np.hstack([matrix, scalar])
        by_column, moved_columns = (np.ascontiguousarray(each.T) for each in (columns, moved))
        group = np.unique(self.matrix, axis=0, return_inverse=True)[1].ravel()[row]
        # a success needs p > u, and a failure p <= u
        with np.errstate(divide="ignore"):
            surprises = np.maximum((1 - U) / np.maximum(U, 1e-300), U / (1 - U))
        first = U, surprises, observed.astype(np.float64), wins_ties, matrix, scalar
        sizes = np.linalg.norm(scalar, axis=1)
        return Labels(*first, columns, by_column, sizes, moved_columns, group)

    def logits(self, eta: FloatArray) -> FloatArray:
        """Return the logits at linear predictors η."""
        return eta if self.link is None else self.link.logit_of(eta)
