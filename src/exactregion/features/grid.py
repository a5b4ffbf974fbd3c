"""Features Φ of the inputs on a dyadic grid, where every sum over rows is exact.

With Φ rounded to multiples of a power of two, coarse enough that no sum needs more than 53
bits, the points v_i = Φᵀ k_i (k_i the successes of data set i) do not depend on the order of
summation: not on threads, chunks, BLAS or engine. Equal data sets then give equal points, and
mirrored ones mirrored points. Rounding looks at the inputs alone, so it changes power a little
and coverage not at all.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Protocol

import numpy as np
from scipy import sparse

from exactregion._typing import FloatArray, IntArray
from exactregion.data.sample import CHUNK_ROWS, Extent, Inputs, blocks

PROBABILITY_BITS = 20
"""Bits after the point of expected successes in the centre of the cloud. An error of 2⁻²¹ per row
is far below the standard deviation of a label, and leaves 33 of 53 bits for features and sums."""

BLOCK_BITS = 33
"""Bits for the expected successes of a block of rows; the other 20 of 53 are for the features."""

COMPACT_TRIALS = 4096
"""Most trials for which compact features are summed in single precision as a whole: they keep
24 - 12 bits or more."""

SINGLE_ROWS = 512
"""Rows whose sums are exact in single precision, where features have 24 - 9 bits."""


SINGLE_POWERS = 64
"""Columns between 2⁻⁶⁴ and 2⁶⁴ in size, and sums of their parts, are far from the ends of single
precision, 2⁻¹²⁶ and 2¹²⁸; others, of inputs in unusual units, are kept in double precision."""


class Features(Protocol):
    """Numbers per row that turn the successes of data sets into their points."""

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
    compact: bool = False,
) -> FloatArray:
    """Spacing of the grid for features up to `largest`, a power of two.

    Two kinds of sums must fit into 53 bits: m v_i - Σ_j v_j over all trials, and the centre Φᵀ(t
    p) within a block, where p has `probability_bits`. Where products are made in single precision
    (`Extent.in_single` by default), sums over `SINGLE_ROWS` rows must fit into 24 bits too; those
    over all trials where features are compact.
    """
    of_points = (2 * m * extent.total).bit_length()
    of_centre = probability_bits(extent) + extent.block_trials.bit_length()
    bits = max(of_points, of_centre) - 53
    if extent.in_single if single is None else single:
        bits = max(bits, SINGLE_ROWS.bit_length() - 1 - 24)
    if compact:
        bits = max(bits, extent.total.bit_length() - 24)
    _, exponent = np.frexp(largest)
    return np.asarray(np.ldexp(1.0, exponent + bits))


def on_grid(values: Any, unit: FloatArray) -> Any:
    """Round to multiples of the unit."""
    return np.rint(values / unit) * unit


def once(values: FloatArray) -> FloatArray:
    """Return what differs between candidates (T, …), or one (1, …) where all are the same."""
    return values[:1] if values.strides[0] == 0 else values


def precision_of(extent: Extent, largest: FloatArray) -> type[np.floating[Any]]:
    """Return the precision in which features are kept and points are summed within a block.

    The largest of each column must fit into it; sums are the same in both.
    """
    powers = np.abs(np.frexp(largest)[1])
    fits = extent.in_single and powers.max(initial=0) <= SINGLE_POWERS
    return np.float32 if fits else np.float64


def expected_successes(probabilities: FloatArray, trials: IntArray, extent: Extent) -> FloatArray:
    """Compute the expected successes t p of a block, on a grid of `probability_bits`."""
    scale = float(2 ** probability_bits(extent))
    return np.asarray(np.rint(trials * probabilities * scale) / scale)


def add_products(total: FloatArray, K: FloatArray, Phi: Any) -> None:
    """Add K Φ to `total` (q, r) without any rounding, for successes (q, b) and features (b, r)."""
    if Phi.dtype != np.float32:
        total += K @ Phi
        return
    part = np.empty(total.shape, dtype=np.float32)
    for start in range(0, len(Phi), SINGLE_ROWS):
        rows = slice(start, start + SINGLE_ROWS)
        total += np.matmul(K[:, rows], Phi[rows], out=part)


def sum_over_rows(n: int, of_block: Callable[[slice], FloatArray]) -> FloatArray:
    """Add what each block of rows contributes: within chunks first, then over chunks.

    Sums that are rounded have this one order, so that they are the same to the last bit whether
    rows are in memory or come in chunks.
    """
    total: Any = 0.0
    for start in range(0, n, CHUNK_ROWS):
        within: Any = 0.0
        for block in blocks(min(CHUNK_ROWS, n - start)):
            within = within + of_block(slice(start + block.start, start + block.stop))
        total = total + within
    return np.asarray(total)


@dataclass(frozen=True, eq=False)
class SharedFeatures:
    """Features that all candidates share, dense or sparse: shape (n, r).

    Make them with `rounded`.
    """

    values: FloatArray | sparse.csr_array
    unit: FloatArray
    compact: bool = False
    _grams: dict[int, FloatArray] = field(default_factory=dict, init=False, repr=False)
    _merged: list[tuple[IntArray, FloatArray]] = field(default_factory=list, init=False, repr=False)

    @classmethod
    def rounded(
        cls,
        values: FloatArray | sparse.csr_array,
        extent: Extent,
        m: int,
        *,
        compact: bool = False,
    ) -> SharedFeatures:
        """Round features (n, r) to the grid; compact ones are in single precision."""
        if sparse.issparse(values):
            unit = grid_unit(np.asarray(abs(values).max()), extent, m, single=False)
            rounded = sparse.csr_array(values)
            rounded.data = on_grid(rounded.data, unit)
            return cls(rounded, np.full(values.shape[1], float(unit)))
        compact = compact and extent.total <= COMPACT_TRIALS
        largest = np.abs(values).max(axis=0)
        unit = grid_unit(largest, extent, m, compact=compact)
        precision = np.float32 if compact else precision_of(extent, largest)
        rounded = on_grid(values, unit).astype(precision, copy=False)
        return cls(np.ascontiguousarray(rounded), unit, compact)

    @property
    def width(self) -> int:
        """Number of features, r."""
        return int(self.values.shape[1])

    @cached_property
    def largest(self) -> FloatArray:
        """The largest size in each column: shape (1, r)."""
        values: Any = self.values
        largest = abs(values).max(axis=0)
        dense: Any = largest.toarray() if sparse.issparse(largest) else largest  # type: ignore[attr-defined]
        return np.asarray(dense).reshape(1, -1)

    @cached_property
    def squared_lengths(self) -> FloatArray:
        """‖Φ_j‖² of each row: shape (n,)."""
        if sparse.issparse(self.values):
            return np.asarray((self.values * self.values).sum(axis=1)).ravel()
        return squared_lengths(np.asarray(self.values))

    def grams(self, levels: int) -> FloatArray:
        """Φ_k·Φ_l of the levels of each outcome: shape (1, n, L, L)."""
        if levels not in self._grams:
            values: Any = self.values
            dense = values.toarray() if sparse.issparse(values) else values  # type: ignore[attr-defined]
            self._grams[levels] = grams_of(dense[None], levels)
        return self._grams[levels]

    def merged(self, which: IntArray) -> FloatArray:
        """Sum dense features over rows that share a probability, by its number: shape (k, r)."""
        if not self._merged or self._merged[0][0] is not which:
            values: Any = self.values
            sums = np.zeros((which.max() + 1, self.width))
            np.add.at(sums, which, values)
            self._merged[:] = [(which, sums)]
        return self._merged[0][1]

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
        """Φᵀ(t p), the centre of the cloud, in half units of the grid: shape (r, T).

        Half units leave mirrored data sets at equal distances where p = 1/2.
        """
        total = np.zeros((self.width, len(probabilities)))
        for rows in blocks(len(inputs)):
            mass = expected_successes(probabilities[:, rows], inputs.trials[rows], inputs.extent)
            total += on_grid(np.asarray(self.values[rows].T @ mass.T), self.unit[:, None] / 2)
        return total


@dataclass(frozen=True, eq=False)
class CandidateFeatures:
    """Features that differ between candidates: shape (T, r, n).

    Make them with `rounded`.
    """

    values: FloatArray
    unit: FloatArray
    rows: FloatArray | None = None  # (n, r), where all candidates have the same

    @classmethod
    def rounded(
        cls, values: FloatArray, extent: Extent, m: int, bound: FloatArray | None = None
    ) -> CandidateFeatures:
        """Round to the grid of each candidate and feature; `bound` (r,) is their size, if known."""
        distinct = once(values)
        if bound is None:
            largest = np.abs(distinct).max(axis=-1)
        else:
            largest = np.broadcast_to(bound, distinct.shape[:2])
        unit = grid_unit(largest, extent, m)
        precision = precision_of(extent, largest)
        rounded = on_grid(distinct, unit[:, :, None]).astype(precision, copy=False)
        return cls(np.broadcast_to(rounded, values.shape), np.broadcast_to(unit, values.shape[:2]))

    @property
    def width(self) -> int:
        """Number of features, r."""
        return int(self.values.shape[1])

    def repeated(self, number: int) -> CandidateFeatures:
        """Return features of one candidate as those of several, and keep them by rows too."""
        rows = np.ascontiguousarray(self.values[0].T) if self.rows is None else self.rows
        shape = (number, *self.values.shape[1:])
        unit = np.broadcast_to(self.unit, (number, self.width))
        return CandidateFeatures(np.broadcast_to(self.values, shape), unit, rows)

    @cached_property
    def largest(self) -> FloatArray:
        """The largest size in each column: shape (T, r), or (1, r) where all are the same."""
        return np.asarray(np.abs(once(self.values)).max(axis=-1))

    @property
    def squared_lengths(self) -> FloatArray:
        """‖Φ_j‖² of each row: shape (T, n), or (1, n) where all candidates are the same."""
        return squared_lengths(np.moveaxis(once(self.values), 1, -1))

    def grams(self, levels: int) -> FloatArray:
        """Φ_k·Φ_l of the levels of each outcome: shape (T, n, L, L)."""
        return grams_of(np.moveaxis(once(self.values), 1, -1), levels)

    def add(self, points: FloatArray, K: FloatArray, rows: slice) -> None:
        """Add Φ_θᵀ k of these rows, one matrix product per candidate."""
        if self.values.dtype != np.float32:
            points += (self.values[:, :, rows] @ K.transpose(0, 2, 1)).transpose(1, 0, 2)
            return
        for candidate, values in enumerate(self.values):
            sums = np.zeros((K.shape[1], self.width))
            add_products(sums, K[candidate], values[:, rows].T)
            points[:, candidate] += sums.T

    def centre(self, probabilities: FloatArray, inputs: Inputs) -> FloatArray:
        """Φ_θᵀ(t p) in half units of the grid: shape (r, T)."""
        total = np.zeros(self.unit.shape)
        for rows in blocks(len(inputs)):
            mass = expected_successes(probabilities[:, rows], inputs.trials[rows], inputs.extent)
            products = (self.values[:, :, rows] @ mass[:, :, None])[..., 0]
            total += on_grid(products, self.unit / 2)
        return total.T


def grams_of(Phi: FloatArray, levels: int) -> FloatArray:
    """Products of the rows (T, n L, r) of one outcome, one feature after the other."""
    T, n, r = Phi.shape
    total = np.zeros((T, n // levels, levels, levels))
    for feature in range(r):
        column = Phi[..., feature].astype(np.float64, copy=False).reshape(T, -1, levels)
        total += column[..., :, None] * column[..., None, :]
    return total


def squared_lengths(Phi: FloatArray) -> FloatArray:
    """Sum squares over the last axis, one feature after the other: the same bits for any block."""
    total = np.zeros(Phi.shape[:-1])
    for feature in np.moveaxis(Phi, -1, 0):
        column = feature.astype(np.float64, copy=False)
        total += column * column
    return total


@dataclass(frozen=True)
class Labels:
    """The data sets themselves as points, for statistics that look at every row."""

    width: int

    def add(self, points: FloatArray, K: FloatArray, rows: slice) -> None:
        """Put the successes of these rows where they belong."""
        points[rows] = K.transpose(2, 0, 1)
