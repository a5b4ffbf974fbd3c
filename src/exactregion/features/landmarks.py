"""Features of many rows from a few of them: Φ(x) = k(x, landmarks) M, for any x.

Where there are many rows, all that a kernel needs is chosen by a sample of them: scales,
bandwidth, landmarks, and the combinations of landmarks that hold nearly all of the trace. The
features of a block of rows are then a function of that block alone, so that rows may come in
pieces, from files and from other machines. The sample is one of inputs, never of outcomes: what it
leaves out costs a little power and no coverage.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from exactregion._typing import BoolArray, FloatArray, IntArray
from exactregion.data.sample import Distinct, Extent, Inputs, Shared, blocks, distinct_of
from exactregion.features.factors import factor, leading, pivoted_factor
from exactregion.features.grid import (
    SharedFeatures,
    grid_unit,
    on_grid,
    precision_of,
)
from exactregion.features.threads import single_thread
from exactregion.kernels import Gram, Kernel
from exactregion.kernels.base import SettledKernel

__all__ = [
    "LANDMARKS",
    "NODES",
    "SAMPLE_ROWS",
    "TOLERANCE",
    "Landmarks",
    "Table",
    "kernel_features",
    "sample_rows",
    "sampled",
]

SAMPLE_ROWS = 4096
"""Rows by which scales, bandwidth and landmarks are chosen."""

LANDMARKS = 256
"""Most landmarks, and most features."""

FEW_FEATURES = 32
"""So many features are kept as they are."""

TOLERANCE = 1e-4
"""Share of the trace that features may leave out, half by landmarks, half by combining them; more
only where `LANDMARKS` do not reach it."""

NODES = 4097
"""Places along one input at which features are computed; between them they are interpolated."""

ROUNDING = 1 + 1e-6
"""Features are at most √k(x, x) long, and this much more by rounding."""


def sample_rows(n: int) -> IntArray:
    """Choose rows of n, one in each of `SAMPLE_ROWS` equal parts: a function of n alone.

    Rows are counted in canonical order, so that the sample is spread over the inputs too.
    """
    rng = np.random.Generator(np.random.SFC64(n))
    place = np.arange(SAMPLE_ROWS) + rng.random(SAMPLE_ROWS)
    return np.minimum((place * (n / SAMPLE_ROWS)).astype(np.int64), n - 1)


@dataclass(frozen=True, eq=False)
class Table:
    """Features at equally spaced places along one input.

    Straight lines between them are as good as the kernel itself: they too are a function of the
    input alone, no longer than the features they join, and far quicker to come by.

    Attributes
    ----------
    low, high : float
        The range, that of the sample.
    rows : ndarray of shape (`NODES`, r)
        Features.
    """

    low: float
    high: float
    rows: FloatArray

    @classmethod
    def along(
        cls, sample: FloatArray, features: Callable[[FloatArray], FloatArray]
    ) -> Table | None:
        """Compute the table; None if there is more than one input, or no range."""
        low, high = float(sample.min()), float(sample.max())
        if sample.shape[1] != 1 or not low < high:
            return None
        return cls(low, high, features(np.linspace(low, high, NODES)[:, None]))

    def is_beyond(self, x: FloatArray) -> BoolArray:
        """Say which inputs the table does not reach."""
        return np.asarray((x < self.low) | (x > self.high))

    def read(self, x: FloatArray, unit: FloatArray, out: FloatArray) -> None:
        """Read the features of inputs off the table; those beyond it are meaningless."""
        from exactregion.features.lookup import interpolate  # Numba is slow to import

        step = (self.high - self.low) / (NODES - 1)
        interpolate(np.clip(x, self.low, self.high), self.low, step, self.rows, unit, out)


@dataclass(frozen=True, eq=False)
class Landmarks:
    """Features of any inputs, on the grid of exact sums.

    Attributes
    ----------
    kernel : SettledKernel
        With its scales and bandwidth.
    points : ndarray of shape (l, d)
        The landmarks, scaled.
    M : ndarray of shape (l, r)
        From k(x, landmarks) to features.
    unit : ndarray of shape (r,)
        Spacing of the grid.
    contrast : bool
        Whether ΦΦᵀ is B of the kernel on labelled data, not k.
    precision : numpy float type
        Of the features.
    table : Table or None
        Features along the one input, if there is one only.
    """

    kernel: SettledKernel
    points: FloatArray
    M: FloatArray
    unit: FloatArray
    contrast: bool
    precision: Any
    table: Table | None = None

    @classmethod
    def of(
        cls, kernel: SettledKernel, distinct: Distinct, extent: Extent, m: int, *, contrast: bool
    ) -> Landmarks:
        """Choose landmarks among sampled inputs, and combine them to as few features as it takes.

        Parameters
        ----------
        kernel : SettledKernel
            With its scales and bandwidth.
        distinct : Distinct
            The inputs in the sample.
        extent : Extent
            Of all data.
        m : int
            Number of data sets.
        contrast : bool
            Whether to factor B instead of k.
        """
        sample = kernel.scaled(np.asarray(distinct.points))
        between = kernel.contrast if contrast else kernel.between
        weights = distinct.weights / distinct.weights.sum()
        diagonal = float(between(sample[:1], sample[:1])[0, 0])
        gram = Gram(
            len(sample),
            lambda index: between(sample, sample[index]),
            np.full(len(sample), diagonal),
        )
        with single_thread():
            _, pivots = pivoted_factor(gram, weights, LANDMARKS, TOLERANCE / 2, step=8)
            points = sample[pivots]
            values, vectors = np.linalg.eigh(between(points, points))
            kept = values > 1e-10 * values[-1]
            M = vectors[:, kept] / np.sqrt(values[kept])
            M = M @ leading(between(sample, points) @ M, weights, left_out=diagonal * TOLERANCE / 2)
            table = Table.along(sample, lambda nodes: between(nodes, points) @ M)
        unit = grid_unit(np.full(M.shape[1], np.sqrt(diagonal) * ROUNDING), extent, m)
        return cls(kernel, points, M, unit, contrast, precision_of(extent), table)

    @property
    def width(self) -> int:
        """Number of features, r."""
        return int(self.M.shape[1])

    def features(self, X: FloatArray, p: FloatArray | None = None) -> FloatArray:
        """Compute the features of a block of inputs (b, d), whatever the candidate: shape (b, r).

        Call it for whole blocks and with one BLAS thread: a matrix product of another shape may
        differ in the last bit.
        """
        scaled = self.kernel.scaled(X)
        if self.table is None:
            return self._computed(scaled)
        x = scaled[:, 0]
        found = np.empty((len(x), self.width), dtype=self.precision)
        self.table.read(x, self.unit, found)
        beyond = self.table.is_beyond(x)
        if beyond.any():
            found[beyond] = self._computed(scaled[beyond])
        return found

    def _computed(self, scaled: FloatArray) -> FloatArray:
        between = self.kernel.contrast if self.contrast else self.kernel.between
        values = between(scaled, self.points) @ self.M
        rounded: FloatArray = on_grid(values, self.unit).astype(self.precision, copy=False)
        return rounded

    def information(self, Phi: FloatArray, p: FloatArray, trials: IntArray) -> None:
        """Want no information."""


def sampled(X: FloatArray, trials: IntArray, shared: Shared) -> Distinct:
    """Tell sampled rows apart; where none of them has a trial, they count alike."""
    return distinct_of(X, trials if trials.any() else np.ones_like(trials), shared)


def kernel_features(
    kernel: Kernel,
    inputs: Inputs,
    m: int,
    *,
    standardize: bool,
    contrast: bool = False,
    brief: bool = False,
) -> SharedFeatures:
    """Compute features Φ of all rows with ΦΦᵀ equal to k, or to B for `contrast`.

    By landmarks where there are many rows, if the kernel can compare any inputs; else by a factor
    of the Gram matrix of all distinct inputs. Where features are many, a `brief` factor is without
    those that weigh less than one row of data does, and in single precision.
    """
    if inputs.extent.is_large and not isinstance(inputs.X, tuple):
        rows = sample_rows(len(inputs))
        X = inputs.matrix
        distinct = sampled(X[rows], inputs.trials[rows], inputs.shared)
        settled = kernel.settle(distinct, standardize=standardize)
        if settled is not None:
            landmarks = Landmarks.of(settled, distinct, inputs.extent, m, contrast=contrast)
            return _of_all_rows(landmarks, X)
    bound = kernel.on(inputs, standardize=standardize)
    Phi = factor(bound.contrast if contrast else bound.gram, bound.points.weights)
    if not brief or Phi.shape[1] <= FEW_FEATURES:
        return SharedFeatures.rounded(Phi, bound.points, inputs, m)
    weights = bound.points.weights
    row = float(weights @ (Phi**2).sum(axis=1)) / inputs.total
    with single_thread():
        Phi = Phi @ leading(Phi, weights, least=row)
    return SharedFeatures.rounded(Phi, bound.points, inputs, m, brief=True)


def _of_all_rows(landmarks: Landmarks, X: FloatArray) -> SharedFeatures:
    values = np.empty((len(X), landmarks.width), dtype=landmarks.precision)
    with single_thread():
        for rows in blocks(len(X)):
            values[rows] = landmarks.features(X[rows])
    return SharedFeatures(values, landmarks.unit)
