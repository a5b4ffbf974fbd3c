"""Factors of Gram matrices: features Φ with ΦΦᵀ = K, or near it with fewer of them."""

from __future__ import annotations

import numpy as np
from scipy.linalg import lapack

from exactregion._typing import FloatArray, IntArray
from exactregion.features.threads import single_thread
from exactregion.kernels import Gram

EXACT_POINTS = 2000
"""Up to this many distinct inputs the whole Gram matrix is factored: 32 MB, and about a second."""

EXACT_FEATURES = 64
EXACT_SHARE = 4
LEFT_OUT = 1e-3
"""Features past 64, and past a quarter of the number of inputs, are left out once they make up no
more than this share of the trace: cost grows with their number, and the last tell little."""

NYSTROEM_RANK = 256
NYSTROEM_TOLERANCE = 1e-6
"""Above it: at most this many features, so that those of 65,536 rows take 128 MiB, or fewer once
this share of the trace is left."""


def factor(gram: Gram, weights: FloatArray) -> FloatArray:
    """Find features Φ (u, r) with ΦΦᵀ equal to the Gram matrix, or near it where it is large.

    Where a point has more trials, its weight, the approximation is closer.
    """
    with single_thread():
        if gram.size <= EXACT_POINTS:
            return _pivoted_cholesky(gram)
        return pivoted_factor(gram, weights, NYSTROEM_RANK, NYSTROEM_TOLERANCE)[0]


def _pivoted_cholesky(gram: Gram) -> FloatArray:
    """Factor up to rounding error, or up to `LEFT_OUT` where the numerical rank is high."""
    K = gram.columns(np.arange(gram.size))
    lower, pivots, rank, _ = lapack.dpstrf(K, lower=1)
    features = np.empty((gram.size, max(rank, 1)))
    features[pivots - 1] = np.tril(lower)[:, : max(rank, 1)]
    if rank == 0:
        features[:] = 0.0
    share = np.cumsum((features**2).sum(axis=0)) / max(float(np.trace(K)), 1e-300)
    enough = 1 + int(np.searchsorted(share, 1 - LEFT_OUT))
    kept = max(EXACT_FEATURES, gram.size // EXACT_SHARE, enough)
    return np.ascontiguousarray(features[:, :kept])


def pivoted_factor(
    gram: Gram, weights: FloatArray, most: int, tolerance: float, step: int = 32
) -> tuple[FloatArray, IntArray]:
    """Partial factor by randomly pivoted Cholesky in blocks (Chen, Epperly, Tropp and Webber 2025).

    Pivots are drawn in proportion to what is left of the (weighted) diagonal, by a generator of
    its own, `step` at once: a function of the inputs alone. It ends at `most` features, or once no
    more than the share `tolerance` of the trace is left. Returns the factor (u, r), and the points
    that span it.
    """
    rng = np.random.Generator(np.random.SFC64(0))
    features = np.empty((gram.size, most), order="F")
    left = gram.diagonal.copy()
    enough = tolerance * (weights @ left)
    rank = 0
    found: list[IntArray] = []
    while rank < most and weights @ left > enough:
        share = weights * left
        number = min(step, most - rank, int(np.count_nonzero(share)))
        pivots = np.sort(rng.choice(gram.size, number, replace=False, p=share / share.sum()))
        known = features[:, :rank]
        columns = gram.columns(pivots) - known @ known[pivots].T
        values, vectors = np.linalg.eigh(columns[pivots])
        kept = values > 1e-10 * values[-1]
        new = columns @ (vectors[:, kept] / np.sqrt(values[kept]))
        features[:, rank : rank + new.shape[1]] = new
        rank += new.shape[1]
        found.append(pivots)
        left = np.maximum(left - (new**2).sum(axis=1), 0.0)
        left[pivots] = 0.0
    return features[:, :rank].copy(), np.concatenate([np.empty(0, dtype=np.int64), *found])


def leading(
    Phi: FloatArray, weights: FloatArray, *, left_out: float = 0.0, least: float = 0.0
) -> FloatArray:
    """Find the rotation (r, s) of features (u, r) to their leading ones, the most important first.

    Those that together have no more than `left_out` of the weighted trace Σ_j t_j ‖Φ_j‖² are
    dropped, and those that have less than `least` each.
    """
    values, vectors = np.linalg.eigh((Phi * weights[:, None]).T @ Phi)
    sums = np.cumsum(np.maximum(values, 0.0))
    dropped = max(np.searchsorted(sums, left_out, side="right"), np.searchsorted(values, least))
    return np.asarray(vectors[:, min(int(dropped), len(values) - 1) :][:, ::-1])
