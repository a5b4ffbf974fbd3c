"""Features Φ of the inputs, on a dyadic grid where every sum over rows is exact.

With Φ rounded to multiples of a power of two, coarse enough that no sum needs more than 53
bits, the points v_i = Φᵀ k_i (k_i the successes of data set i) do not depend on the order of
summation: not on threads, chunks, BLAS or engine. Equal data sets then give equal points, and
mirrored ones mirrored points. Rounding looks at the inputs alone, so it changes power a little
and coverage not at all.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any, Protocol

import numpy as np
from scipy import sparse
from scipy.linalg import lapack
from threadpoolctl import ThreadpoolController

from exactregion._typing import FloatArray
from exactregion.kernels import Gram
from exactregion.resampling import blocks
from exactregion.sample import Distinct, Inputs

__all__ = [
    "CandidateFeatures",
    "Labels",
    "Projection",
    "SharedFeatures",
    "factor",
    "probability_bits",
    "single_thread",
    "trials_in_blocks",
]

PROBABILITY_BITS = 20
"""Expected successes are rounded to this many bits after the point in the centre of the cloud."""

BLOCK_BITS = 33
"""Bits for the expected successes of a block of rows; the other 20 of 53 are for the features."""

EXACT_POINTS = 2000
"""Up to this many distinct inputs the whole Gram matrix is factored."""

EXACT_FEATURES = 64
EXACT_SHARE = 4
LEFT_OUT = 1e-3
"""Features past 64, and past a quarter of the number of inputs, are left out once they make up no
more than this share of the trace: cost grows with their number, and the last tell little."""

NYSTROEM_RANK = 256
NYSTROEM_TOLERANCE = 1e-6
"""Above it: at most this many features, or fewer once this share of the trace is left."""


# --- exact sums -----------------------------------------------------------------------------------


class Projection(Protocol):
    """Whatever turns the successes of data sets, block by block of rows, into their points."""

    @property
    def width(self) -> int:
        """Dimension of the points, r."""

    def add(self, points: FloatArray, K: FloatArray, rows: slice) -> None:
        """Add to points (r, T, m) what successes K (T, m, b) in these rows contribute."""


def trials_in_blocks(inputs: Inputs) -> int:
    """Return the largest number of trials in one of the `blocks`."""
    return max(int(inputs.trials[rows].sum()) for rows in blocks(len(inputs)))


def probability_bits(inputs: Inputs) -> int:
    """Return the bits after the point of expected successes: fewer where there are many trials."""
    return max(0, min(PROBABILITY_BITS, BLOCK_BITS - trials_in_blocks(inputs).bit_length()))


def grid_unit(largest: FloatArray, inputs: Inputs, m: int) -> FloatArray:
    """Spacing of the grid for features up to `largest`, a power of two.

    Two kinds of sums must fit into 53 bits: m v_i - Σ_j v_j over all trials, and the centre Φᵀ(t
    p) within a block, where p has `probability_bits`.
    """
    of_points = (2 * m * inputs.total).bit_length()
    of_centre = probability_bits(inputs) + trials_in_blocks(inputs).bit_length()
    _, exponent = np.frexp(largest)
    return np.asarray(np.ldexp(1.0, exponent + max(of_points, of_centre) - 53))


def _on_grid(values: Any, unit: FloatArray) -> Any:
    return np.rint(values / unit) * unit


def _on_half_grid(values: FloatArray, unit: FloatArray) -> FloatArray:
    """Round to half units, so that p = 1/2 leaves mirrored data sets at equal distances."""
    return np.asarray(_on_grid(values, unit / 2))


def _probability_mass(probabilities: FloatArray, inputs: Inputs, rows: slice) -> FloatArray:
    """Compute the expected successes t p in these rows, on a grid of `probability_bits`."""
    scale = float(2 ** probability_bits(inputs))
    return np.rint(inputs.trials[rows] * probabilities[:, rows] * scale) / scale


@dataclass(frozen=True, eq=False)
class SharedFeatures:
    """Features of the inputs that all candidates share, dense or sparse: shape (n, r).

    Make them by `rounded`.
    """

    values: FloatArray | sparse.csr_array
    unit: FloatArray

    @classmethod
    def rounded(
        cls, values: FloatArray | sparse.csr_array, points: Distinct, inputs: Inputs, m: int
    ) -> SharedFeatures:
        """Round features (u, r) of distinct points to the grid, and repeat them by row."""
        place = points.place
        if sparse.issparse(values):
            unit = grid_unit(np.asarray(abs(values).max()), inputs, m)
            rounded = sparse.csr_array(values)
            rounded.data = _on_grid(rounded.data, unit)
            return cls(rounded[place], np.full(values.shape[1], float(unit)))
        unit = grid_unit(np.abs(values).max(axis=0), inputs, m)
        return cls(np.ascontiguousarray(_on_grid(values, unit)[place]), unit)

    @property
    def width(self) -> int:
        """Number of features, r."""
        return int(self.values.shape[1])

    def add(self, points: FloatArray, K: FloatArray, rows: slice) -> None:
        """Add Φᵀ k of these rows: one matrix product for all candidates and data sets."""
        flat = K.reshape(-1, K.shape[-1])
        points += (self.values[rows].T @ flat.T).reshape(points.shape)

    def centre(self, probabilities: FloatArray, inputs: Inputs) -> FloatArray:
        """Φᵀ(t p) on the grid, the centre of the cloud: shape (r, T)."""
        total = np.zeros((self.width, len(probabilities)))
        for rows in blocks(len(inputs)):
            mass = _probability_mass(probabilities, inputs, rows)
            total += _on_half_grid(self.values[rows].T @ mass.T, self.unit[:, None])
        return total


@dataclass(frozen=True, eq=False)
class CandidateFeatures:
    """Features that differ from candidate to candidate: shape (T, r, n).

    Make them by `rounded`.
    """

    values: FloatArray
    unit: FloatArray

    @classmethod
    def rounded(cls, values: FloatArray, inputs: Inputs, m: int) -> CandidateFeatures:
        """Round to the grid of each candidate and feature."""
        unit = grid_unit(np.abs(values).max(axis=-1), inputs, m)
        return cls(_on_grid(values, unit[:, :, None]), unit)

    @property
    def width(self) -> int:
        """Number of features, r."""
        return int(self.values.shape[1])

    def add(self, points: FloatArray, K: FloatArray, rows: slice) -> None:
        """Add Φ_θᵀ k of these rows, a matrix product a candidate."""
        points += (self.values[:, :, rows] @ K.transpose(0, 2, 1)).transpose(1, 0, 2)

    def centre(self, probabilities: FloatArray, inputs: Inputs) -> FloatArray:
        """Φ_θᵀ(t p) on the grid: shape (r, T)."""
        total = np.zeros(self.unit.shape)
        for rows in blocks(len(inputs)):
            mass = _probability_mass(probabilities, inputs, rows)
            total += _on_half_grid((self.values[:, :, rows] @ mass[:, :, None])[..., 0], self.unit)
        return total.T


@dataclass(frozen=True)
class Labels:
    """The data sets themselves as points, for statistics that want to see every row."""

    width: int

    def add(self, points: FloatArray, K: FloatArray, rows: slice) -> None:
        """Put the successes of these rows where they belong."""
        points[rows] = K.transpose(2, 0, 1)


# --- factors of Gram matrices ---------------------------------------------------------------------


def single_thread() -> Any:
    """Context in which BLAS uses one thread, for what must not depend on their number."""
    return _controller().limit(limits=1, user_api="blas")


@cache
def _controller() -> ThreadpoolController:
    return ThreadpoolController()


def factor(gram: Gram, weights: FloatArray) -> FloatArray:
    """Find features Φ (u, r) with ΦΦᵀ equal to the Gram matrix, or near it where it is large.

    Parameters
    ----------
    gram : Gram
        Over u points.
    weights : ndarray of shape (u,)
        Number of trials at each point; where there are more, the approximation is closer.
    """
    with single_thread():
        if gram.size <= EXACT_POINTS:
            return _pivoted_cholesky(gram)
        return _nystroem(gram, weights)


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


def _nystroem(gram: Gram, weights: FloatArray) -> FloatArray:
    """Partial factor by randomly pivoted Cholesky in blocks (Chen, Epperly, Tropp and Webber 2025).

    Pivots are drawn in proportion to what is left of the (weighted) diagonal, by a generator of
    its own: a function of the inputs alone.
    """
    rng = np.random.Generator(np.random.SFC64(0))
    features = np.empty((gram.size, NYSTROEM_RANK), order="F")
    left = gram.diagonal.copy()
    enough = NYSTROEM_TOLERANCE * (weights @ left)
    rank = 0
    while rank < NYSTROEM_RANK and weights @ left > enough:
        share = weights * left
        step = min(32, NYSTROEM_RANK - rank, int(np.count_nonzero(share)))
        pivots = np.sort(rng.choice(gram.size, step, replace=False, p=share / share.sum()))
        known = features[:, :rank]
        columns = gram.columns(pivots) - known @ known[pivots].T
        values, vectors = np.linalg.eigh(columns[pivots])
        kept = values > 1e-10 * values[-1]
        new = columns @ (vectors[:, kept] / np.sqrt(values[kept]))
        features[:, rank : rank + new.shape[1]] = new
        rank += new.shape[1]
        left = np.maximum(left - (new**2).sum(axis=1), 0.0)
        left[pivots] = 0.0
    return features[:, :rank].copy()
