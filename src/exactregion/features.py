"""Features Φ of the inputs, on a dyadic grid where every sum over rows is exact.

With Φ rounded to multiples of a power of two, coarse enough that no sum needs more than 53
bits, the points v_i = Φᵀ k_i (k_i the successes of data set i) do not depend on the order of
summation: not on threads, chunks, BLAS or engine. Equal data sets then give equal points, and
mirrored ones mirrored points. Rounding looks at the inputs alone, so it changes power a little
and coverage not at all.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from threading import Lock
from typing import Any, Protocol

import numpy as np
from scipy import sparse
from scipy.linalg import lapack
from threadpoolctl import ThreadpoolController

from exactregion._typing import FloatArray, IntArray
from exactregion.kernels import Gram
from exactregion.sample import Distinct, Extent, Inputs, blocks

__all__ = [
    "SINGLE_ROWS",
    "CandidateFeatures",
    "Labels",
    "Projection",
    "SharedFeatures",
    "add_products",
    "centre_of_block",
    "factor",
    "grid_unit",
    "on_grid",
    "pivoted_factor",
    "precision_of",
    "probability_bits",
    "probability_mass",
    "single_thread",
]

PROBABILITY_BITS = 20
"""Expected successes are rounded to this many bits after the point in the centre of the cloud."""

BLOCK_BITS = 33
"""Bits for the expected successes of a block of rows; the other 20 of 53 are for the features."""

SINGLE_ROWS = 512
"""Rows whose sums are exact in single precision, where features have 24 - 9 bits."""

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


def probability_bits(extent: Extent) -> int:
    """Return the bits after the point of expected successes: fewer where there are many trials."""
    return max(0, min(PROBABILITY_BITS, BLOCK_BITS - extent.block_trials.bit_length()))


def grid_unit(
    largest: FloatArray, extent: Extent, m: int, *, single: bool | None = None
) -> FloatArray:
    """Spacing of the grid for features up to `largest`, a power of two.

    Two kinds of sums must fit into 53 bits: m v_i - Σ_j v_j over all trials, and the centre Φᵀ(t
    p) within a block, where p has `probability_bits`. Where products are made in single precision
    (`Extent.in_single` unless told), sums over `SINGLE_ROWS` rows must fit into 24 bits too.
    """
    of_points = (2 * m * extent.total).bit_length()
    of_centre = probability_bits(extent) + extent.block_trials.bit_length()
    bits = max(of_points, of_centre) - 53
    if extent.in_single if single is None else single:
        bits = max(bits, SINGLE_ROWS.bit_length() - 1 - 24)
    _, exponent = np.frexp(largest)
    return np.asarray(np.ldexp(1.0, exponent + bits))


def on_grid(values: Any, unit: FloatArray) -> Any:
    """Round to multiples of the unit."""
    return np.rint(values / unit) * unit


def _on_half_grid(values: FloatArray, unit: FloatArray) -> FloatArray:
    """Round to half units, so that p = 1/2 leaves mirrored data sets at equal distances."""
    return np.asarray(on_grid(values, unit / 2))


def probability_mass(probabilities: FloatArray, trials: IntArray, extent: Extent) -> FloatArray:
    """Compute the expected successes t p of a block, on a grid of `probability_bits`."""
    scale = float(2 ** probability_bits(extent))
    return np.asarray(np.rint(trials * probabilities * scale) / scale)


def centre_of_block(Phi: Any, mass: FloatArray, unit: FloatArray) -> FloatArray:
    """Φᵀ(t p) of a block on the grid, for features (b, r) and expected successes (T, b): (r, T)."""
    return _on_half_grid(np.asarray(Phi.T @ mass.T), unit[:, None])


def precision_of(extent: Extent) -> type[np.floating[Any]]:
    """Say in which precision features are kept and points are summed within `SINGLE_ROWS`."""
    return np.float32 if extent.in_single else np.float64


def add_products(total: FloatArray, K: FloatArray, Phi: Any) -> None:
    """Add K Φ to `total` (q, r) without any rounding, for successes (q, b) and features (b, r)."""
    if Phi.dtype != np.float32:
        total += K @ Phi
        return
    part = np.empty(total.shape, dtype=np.float32)
    for start in range(0, len(Phi), SINGLE_ROWS):
        rows = slice(start, start + SINGLE_ROWS)
        total += np.matmul(K[:, rows], Phi[rows], out=part)


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
        place, extent = points.place, inputs.extent
        if sparse.issparse(values):
            unit = grid_unit(np.asarray(abs(values).max()), extent, m, single=False)
            rounded = sparse.csr_array(values)
            rounded.data = on_grid(rounded.data, unit)
            return cls(rounded[place], np.full(values.shape[1], float(unit)))
        unit = grid_unit(np.abs(values).max(axis=0), extent, m)
        rounded = on_grid(values, unit).astype(precision_of(extent), copy=False)
        return cls(np.ascontiguousarray(rounded[place]), unit)

    @property
    def width(self) -> int:
        """Number of features, r."""
        return int(self.values.shape[1])

    def add(self, points: FloatArray, K: FloatArray, rows: slice) -> None:
        """Add Φᵀ k of these rows: one matrix product for all candidates and data sets."""
        flat = K.reshape(-1, K.shape[-1])
        if self.values.dtype != np.float32:
            points += (self.values[rows].T @ flat.T).reshape(points.shape)
            return
        sums = np.zeros((len(flat), self.width))
        add_products(sums, flat, self.values[rows])
        points += sums.T.reshape(points.shape)

    def centre(self, probabilities: FloatArray, inputs: Inputs) -> FloatArray:
        """Φᵀ(t p) on the grid, the centre of the cloud: shape (r, T)."""
        total = np.zeros((self.width, len(probabilities)))
        for rows in blocks(len(inputs)):
            mass = probability_mass(probabilities[:, rows], inputs.trials[rows], inputs.extent)
            total += centre_of_block(self.values[rows], mass, self.unit)
        return total


@dataclass(frozen=True, eq=False)
class CandidateFeatures:
    """Features that differ from candidate to candidate: shape (T, r, n).

    Make them by `rounded`.
    """

    values: FloatArray
    unit: FloatArray

    @classmethod
    def rounded(
        cls, values: FloatArray, inputs: Inputs, m: int, largest: FloatArray | None = None
    ) -> CandidateFeatures:
        """Round to the grid of each candidate and feature; `largest` is a bound of their size."""
        if largest is None:
            largest = np.abs(values).max(axis=-1)
        unit = grid_unit(largest, inputs.extent, m)
        rounded = on_grid(values, unit[:, :, None])
        return cls(rounded.astype(precision_of(inputs.extent), copy=False), unit)

    @property
    def width(self) -> int:
        """Number of features, r."""
        return int(self.values.shape[1])

    def add(self, points: FloatArray, K: FloatArray, rows: slice) -> None:
        """Add Φ_θᵀ k of these rows, a matrix product a candidate."""
        if self.values.dtype != np.float32:
            points += (self.values[:, :, rows] @ K.transpose(0, 2, 1)).transpose(1, 0, 2)
            return
        for candidate, own in enumerate(self.values):
            sums = np.zeros((K.shape[1], self.width))
            add_products(sums, K[candidate], own[:, rows].T)
            points[:, candidate] += sums.T

    def centre(self, probabilities: FloatArray, inputs: Inputs) -> FloatArray:
        """Φ_θᵀ(t p) on the grid: shape (r, T)."""
        total = np.zeros(self.unit.shape)
        for rows in blocks(len(inputs)):
            mass = probability_mass(probabilities[:, rows], inputs.trials[rows], inputs.extent)
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


@contextmanager
def single_thread() -> Iterator[None]:
    """Context in which BLAS uses one thread, for what must not depend on their number.

    The number is one for the whole process: the first thread that enters sets it, the last one that
    leaves sets it back.
    """
    with _limit.lock:
        if _limit.inside == 0:
            _limit.context = _controller().limit(limits=1, user_api="blas")
            _limit.context.__enter__()
        _limit.inside += 1
    try:
        yield
    finally:
        with _limit.lock:
            _limit.inside -= 1
            if _limit.inside == 0:
                _limit.context.__exit__(None, None, None)


@dataclass
class _Limit:
    inside: int = 0
    context: Any = None
    lock: Any = field(default_factory=Lock)


_limit = _Limit()


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
    more than the share `tolerance` of the trace is left.

    Returns
    -------
    features : ndarray of shape (u, r)
        The factor.
    pivots : ndarray of int
        The points that span it.
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
