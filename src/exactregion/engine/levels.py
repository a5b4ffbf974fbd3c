"""Rows whose outcomes are the levels of one: whether Y ≥ k, for k = 1..L, by one uniform.

An outcome of C = L + 1 classes is L such rows, one after the other. Each is a label, so that all
engines sum them as they sum labels. But labels of one outcome are not independent: with
q_k = P(Y ≥ k), class c has the probability q_c - q_{c+1}, and a sum Σ_k Φ_k 1{Y ≥ k} takes the
values a_c = Φ_1 + … + Φ_c. With one level all of this is what it is for labels.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from exactregion._typing import BoolArray, FloatArray

FEW_CLASSES = 4
"""Features of more classes are mostly zeros, and sparse."""


def class_probabilities(P: FloatArray, levels: int) -> FloatArray:
    """Turn P(Y ≥ k) of rows (T, n L) into P(Y = c), c = 0..L: shape (T, n, L + 1)."""
    q = P.reshape(len(P), -1, levels)
    ones, zeros = np.ones((*q.shape[:2], 1)), np.zeros((*q.shape[:2], 1))
    return np.asarray(-np.diff(np.concatenate([ones, q, zeros], axis=-1), axis=-1))


def can_be_drawn(P: FloatArray, levels: int) -> BoolArray:
    """Return which classes a uniform above 0 can give, a multiple of 2⁻⁵³: shape (T, n, L + 1)."""
    q = P.reshape(len(P), -1, levels)
    ones, zeros = np.ones((*q.shape[:2], 1)), np.zeros((*q.shape[:2], 1))
    first = np.maximum(np.ceil(np.concatenate([ones, q, zeros], axis=-1) * 2.0**53), 1.0)
    return np.asarray(first[..., 1:] < first[..., :-1])


def log_class_probabilities(P: FloatArray, levels: int) -> FloatArray:
    """Compute log P(Y = c) of rows (T, n L): shape (T, n, L + 1); NaN outside of [0, 1]."""
    q = P.reshape(len(P), -1, levels)
    with np.errstate(divide="ignore", invalid="ignore"):
        between = np.log(q[..., :-1] - q[..., 1:])
        return np.concatenate([np.log1p(-q[..., :1]), between, np.log(q[..., -1:])], axis=-1)


def numbers_of_classes(successes: Any, trials: Any, levels: int) -> FloatArray:
    """Turn how often Y ≥ k (n L,) into how often Y = c: shape (n, L + 1)."""
    k = np.asarray(successes, dtype=np.float64).reshape(-1, levels)
    total = np.asarray(trials, dtype=np.float64).reshape(-1, levels)[:, :1]
    ends = np.concatenate([total, k, np.zeros_like(total)], axis=1)
    return np.asarray(ends[:, :-1] - ends[:, 1:])


def values_of_classes(features: FloatArray, P: FloatArray, levels: int) -> FloatArray:
    """Compute a_c - E[a_Y] for features (T, d, n L) and P (T, n L): shape (T, d, n, L + 1)."""
    steps = features.reshape(*features.shape[:2], -1, levels)
    a = np.concatenate([np.zeros((*steps.shape[:3], 1)), np.cumsum(steps, axis=-1)], axis=-1)
    q = P.reshape(len(P), 1, -1, levels)
    return np.asarray(a - (steps * q).sum(axis=-1, keepdims=True))


def covariance_of(P: FloatArray, levels: int) -> FloatArray:
    """Compute Cov(1{Y ≥ k}, 1{Y ≥ l}) = q_max(k,l) - q_k q_l: shape (T, n, L, L)."""
    q = P.reshape(len(P), -1, levels)
    larger = np.maximum.outer(np.arange(levels), np.arange(levels))
    return np.asarray(q[..., larger] - q[..., :, None] * q[..., None, :])


def features_of_classes(values: Any, levels: int) -> Any:
    """Turn features Φ (n, r) of inputs into Φ_j ⊗ (e_k - e_{k-1}) of rows: (n L, r (L + 1)).

    A data set then has the point Σ_j Φ_j ⊗ e_{y_j}, up to a constant.
    """
    if levels == 1:
        return values
    contrasts = np.eye(levels, levels + 1, k=1) - np.eye(levels, levels + 1)
    if sparse.issparse(values) or levels >= FEW_CLASSES:
        # the product has rows in the order (j, k), columns in the order (feature, class)
        return sparse.csr_array(sparse.kron(sparse.csr_array(values), contrasts))
    return np.kron(values, contrasts)
