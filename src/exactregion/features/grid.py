"""Features Φ of the inputs, on a dyadic grid where every sum over rows is exact.

With Φ rounded to multiples of a power of two, coarse enough that no sum needs more than 53
bits, the points v_i = Φᵀ k_i (k_i the successes of data set i) do not depend on the order of
summation: not on threads, chunks, BLAS or engine. Equal data sets then give equal points, and
mirrored ones mirrored points. Rounding looks at the inputs alone, so it changes power a little
and coverage not at all.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from scipy import sparse

from exactregion._typing import FloatArray, IntArray
from exactregion.data.sample import Distinct, Extent, Inputs, blocks

__all__ = [
    "SINGLE_ROWS",
    "CandidateFeatures",
    "Labels",
    "Projection",
    "SharedFeatures",
    "add_products",
    "centre_of_block",
    "grid_unit",
    "on_grid",
    "once",
    "precision_of",
    "probability_bits",
    "probability_mass",
]

PROBABILITY_BITS = 20
"""Expected successes are rounded to this many bits after the point in the centre of the cloud."""

BLOCK_BITS = 33
"""Bits for the expected successes of a block of rows; the other 20 of 53 are for the features."""

BRIEF_TRIALS = 4096
"""Trials up to which features of 24 - 12 bits or more are good enough to be summed in single
precision as a whole."""

SINGLE_ROWS = 512
"""Rows whose sums are exact in single precision, where features have 24 - 9 bits."""


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
    largest: FloatArray,
    extent: Extent,
    m: int,
    *,
    single: bool | None = None,
    brief: bool = False,
) -> FloatArray:
    """Spacing of the grid for features up to `largest`, a power of two.

    Two kinds of sums must fit into 53 bits: m v_i - Σ_j v_j over all trials, and the centre Φᵀ(t
    p) within a block, where p has `probability_bits`. Where products are made in single precision
    (`Extent.in_single` unless told), sums over `SINGLE_ROWS` rows must fit into 24 bits too; those
    over all trials where features are `brief`.
    """
    of_points = (2 * m * extent.total).bit_length()
    of_centre = probability_bits(extent) + extent.block_trials.bit_length()
    bits = max(of_points, of_centre) - 53
    if extent.in_single if single is None else single:
        bits = max(bits, SINGLE_ROWS.bit_length() - 1 - 24)
    if brief:
        bits = max(bits, extent.total.bit_length() - 24)
    _, exponent = np.frexp(largest)
    return np.asarray(np.ldexp(1.0, exponent + bits))


def on_grid(values: Any, unit: FloatArray) -> Any:
    """Round to multiples of the unit."""
    return np.rint(values / unit) * unit


def once(values: FloatArray) -> FloatArray:
    """Give what differs from candidate to candidate (T, …); one (1, …) where they are the same."""
    return values[:1] if values.strides[0] == 0 else values


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
    brief: bool = False

    @classmethod
    def rounded(
        cls,
        values: FloatArray | sparse.csr_array,
        points: Distinct,
        inputs: Inputs,
        m: int,
        *,
        brief: bool = False,
    ) -> SharedFeatures:
        """Round features (u, r) of distinct points to the grid, and repeat them by row.

        Brief ones are in single precision, where all sums are exact in it.
        """
        place, extent = points.place, inputs.extent
        if sparse.issparse(values):
            unit = grid_unit(np.asarray(abs(values).max()), extent, m, single=False)
            rounded = sparse.csr_array(values)
            rounded.data = on_grid(rounded.data, unit)
            return cls(rounded[place], np.full(values.shape[1], float(unit)))
        brief = brief and extent.total <= BRIEF_TRIALS
        unit = grid_unit(np.abs(values).max(axis=0), extent, m, brief=brief)
        precision = np.float32 if brief else precision_of(extent)
        rounded = on_grid(values, unit).astype(precision, copy=False)
        return cls(np.ascontiguousarray(rounded[place]), unit, brief)

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
        own = once(values)
        if largest is None:
            largest = np.abs(own).max(axis=-1)
        unit = grid_unit(largest, inputs.extent, m)
        rounded = on_grid(own, unit[:, :, None]).astype(precision_of(inputs.extent), copy=False)
        return cls(np.broadcast_to(rounded, values.shape), np.broadcast_to(unit, values.shape[:2]))

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
