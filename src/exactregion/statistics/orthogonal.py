"""A statistic of what no parameter of the family can explain.

Near the truth a change of θ changes the residuals k - t p by the columns of WG, with G the gradient
of the logit and W = diag t p (1 - p). Columns Φ⊥ with GᵀWΦ⊥ = 0 do not see that change: their sums
measure the misfit of the family, and their rank hardly depends on which θ near the truth it is
computed at. The same projection makes the scores of Neyman's C(α) tests.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy import sparse

from exactregion._typing import FloatArray
from exactregion.data.sample import Inputs, blocks
from exactregion.errors import InvalidTypeError
from exactregion.features.factors import leading
from exactregion.features.landmarks import InputSummary, Landmarks
from exactregion.features.threads import single_thread
from exactregion.statistics.base import Candidates, Statistic, Term, Terms
from exactregion.statistics.kernel import Discrepancy
from exactregion.statistics.measures import Largest, OfLabels, Whitened

SINGULAR = 1e-12
"""Directions of θ with less information than this share of the largest, on a scale where parameters
are alike, are not projected out: their eigenvectors would be rounding errors."""

NOTHING_LEFT = 1e-12
"""A column that keeps less than this share of its variance is in the span of the gradient but for
rounding errors, and is set to zero: whitening would enlarge the errors to the size of a column."""


@dataclass(frozen=True)
class Orthogonal(Statistic):
    """Any statistic that is made of sums, with columns made orthogonal to the score of the family.

    Φ⊥ = Φ - G (GᵀWG)⁻¹ GᵀWΦ at each θ, with G the gradient of the logit in θ (n × d) and
    W = diag t p (1 - p), takes the place of the columns Φ, so that sums Φ⊥ᵀ(k - t p) are
    uncorrelated with the score. Columns depend on inputs and θ alone: ranks are as exact as those
    of the statistic itself. It detects what is wrong with the family, and not which θ is wrong:
    use it to test families (`ConfidenceRegion.goodness_of_fit`), not to find regions.

    Kernels and local estimates keep those of their features that weigh at least as much as one row
    of data.

    Parameters
    ----------
    statistic : Statistic
        Any but `Custom`, which has no columns; `Discrepancy` by default.

    Examples
    --------
    >>> import numpy as np
    >>> import exactregion as er
    >>> x = np.linspace(-2, 2, 80)
    >>> y = np.random.default_rng(0).random(80) < 1 / (1 + np.exp(-2 * (x**2 - 1)))
    >>> residual = er.statistics.Orthogonal(er.statistics.Discrepancy())
    >>> region = er.ConfidenceRegion("logistic", statistic=residual, rng=0).fit(x, y)
    >>> region.pvalue([[0.4, 0.0], [0.6, 0.1]]).max() < 0.01
    np.True_
    """

    statistic: Statistic = field(default_factory=Discrepancy)

    needs_all_rows = True
    needs_family = True

    def __post_init__(self) -> None:
        """Check the statistic."""
        if not isinstance(self.statistic, Statistic):
            raise InvalidTypeError(
                "of Orthogonal must be a statistic, such as Discrepancy(). "
                f"Got {self.statistic!r} instead.",
                parameter="statistic",
            )

    @property
    def merges_equal_rows(self) -> bool:
        """Whether the statistic may treat equal rows as one row of counts."""
        return self.statistic.merges_equal_rows

    @property
    def uses_expectations(self) -> bool:
        """Whether the statistic uses expectations."""
        return self.statistic.uses_expectations

    def terms(self, inputs: InputSummary) -> Sequence[Terms]:
        """Return the terms of the statistic, with columns that are made orthogonal at each θ."""
        if inputs.rows is None:
            raise InvalidTypeError("Orthogonal must have all rows in memory.")
        return [_orthogonal(term, inputs.rows) for term in self.statistic.terms(inputs)]

    def combine(self, values: Sequence[Any], expected: Sequence[Any]) -> FloatArray:
        """Combine as the statistic does."""
        return self.statistic.combine(values, expected)


def _orthogonal(term: Terms, rows: Inputs) -> Terms:
    if not isinstance(term, Term):
        return [_orthogonal(each, rows) for each in term]
    if isinstance(term.measure, Largest | OfLabels):
        raise InvalidTypeError(
            "of Orthogonal must be made of sums over rows and their distances. Got a likelihood or "
            "a function of labels instead.",
            parameter="statistic",
        )
    columns: Any = term.columns
    if not callable(columns):
        columns = _Shared(_dense(term, rows))
    return Term(_Projected(columns), term.measure)


def _dense(term: Term, rows: Inputs) -> FloatArray:
    """Return shared columns as an array (n, r), with as few features as do the same."""
    columns: Any = term.columns
    if isinstance(columns, Landmarks):
        columns = _of_landmarks(columns, rows.matrix)
    if isinstance(columns, sparse.csr_array):
        columns = columns.toarray()
    Phi = np.asarray(columns, dtype=np.float64)
    if isinstance(term.measure, Whitened) or not rows.total:
        return Phi
    # lengths do not change when features are rotated; those that weigh less than one row of data
    # add little but time, which grows with their number at every θ
    weights = rows.trials.astype(np.float64)
    row = float(weights @ (Phi**2).sum(axis=1)) / rows.total
    with single_thread():
        return Phi @ leading(Phi, weights, least=row)


def _of_landmarks(landmarks: Landmarks, X: FloatArray) -> FloatArray:
    unit = np.ldexp(1.0, np.frexp(landmarks.bound)[1] - 50)  # as good as not rounded
    with single_thread():
        parts = [landmarks.on_grid(X[rows], unit, np.float64) for rows in blocks(len(X))]
    return np.concatenate(parts)


@dataclass(frozen=True, eq=False)
class _Shared:
    """Columns (n, r) that all candidates share, as a function of candidates."""

    values: FloatArray

    def __call__(self, candidates: Candidates) -> FloatArray:
        return np.broadcast_to(self.values, (len(candidates), *self.values.shape))


@dataclass(frozen=True, eq=False)
class _Projected:
    """Columns less what the gradient of the logit explains of them."""

    columns: Callable[[Candidates], FloatArray]

    def __call__(self, candidates: Candidates) -> FloatArray:
        Phi = np.asarray(self.columns(candidates))
        weight = _weights(candidates)
        with single_thread():  # last bits must not depend on the number of threads
            G = _whitened_gradient(candidates.logit_gradient, weight)
            weighted = (weight[:, :, None] * G).transpose(0, 2, 1)
            left = Phi - G @ (weighted @ Phi)
            # once more: what rounding errors of an ill-conditioned gradient left
            left -= G @ (weighted @ left)
        before, after = (np.einsum("tn,tnr->tr", weight, each**2) for each in (Phi, left))
        return np.asarray(np.where((after > NOTHING_LEFT * before)[:, None, :], left, 0.0))


def _weights(candidates: Candidates) -> FloatArray:
    """Return t p (1 - p) of each row as a share of the largest: far from all data it underflows."""
    P = candidates.probabilities
    weight = candidates.inputs.trials * P * (1 - P)
    largest = weight.max(axis=1, keepdims=True)
    return np.asarray(weight / np.where(largest > 0, largest, 1.0))


def _whitened_gradient(gradient: FloatArray, weight: FloatArray) -> FloatArray:
    """Return GA (T, n, d) with AᵀGᵀWGA the identity, zero in directions without information."""
    largest = np.abs(gradient).max(axis=1, keepdims=True)
    G = gradient / np.where(largest > 0, largest, 1.0)
    size = np.sqrt(np.einsum("tn,tnd->td", weight, G**2))
    G = G / np.where(size > 0, size, 1.0)[:, None, :]
    G = np.where((size > 0)[:, None, :], G, 0.0)
    values, vectors = np.linalg.eigh((weight[:, :, None] * G).transpose(0, 2, 1) @ G)
    known = values > SINGULAR * values.shape[1] * np.maximum(values[:, -1:], 0.0)
    scale = np.where(known, 1 / np.sqrt(np.where(known, values, 1.0)), 0.0)
    return np.asarray(G @ (vectors * scale[:, None, :]))
