"""Features of a kernel: an exact factor of few rows, or landmarks for many.

Where there are many rows, all that a kernel needs is chosen by a sample of them: scales,
bandwidth, landmarks, and the combinations of landmarks that hold nearly all of the trace. The
features Φ(x) = k(x, landmarks) M of a block of rows are then a function of that block alone, so
that rows may come in chunks, from files and from other machines. The sample is one of inputs, never
of outcomes: what it leaves out costs a little power and no coverage.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy.special import logit

from exactregion._typing import FloatArray, IntArray
from exactregion.data.sample import CHUNK_ROWS, Distinct, Extent, Inputs, Shared, distinct_of
from exactregion.features.factors import factor, leading, pivoted_factor
from exactregion.features.grid import on_grid
from exactregion.features.threads import single_thread
from exactregion.kernels import Gram, Kernel
from exactregion.kernels.base import SettledKernel

SAMPLE_ROWS = 4096
"""Rows that scales, bandwidth and landmarks are chosen by: a bandwidth then has a relative error of
about 1/√4096, and a factor of the sample takes less time than one pass over 10⁶ rows."""

LANDMARKS = 256
"""Most landmarks, and most features: the products of a pass over the rows grow with them, and the
sums of 1,000 data sets are 2 MB, which stay in the cache."""

FEW_FEATURES = 32
"""So many features are kept as they are: fewer would not make a search noticeably faster."""

TOLERANCE = 1e-2
"""Share of the trace that features may leave out, half by landmarks, half by combining them: the
squared distance of residuals loses as much of its expectation, Σ_j p_j (1 - p_j) ‖Φ_j‖². More only
where `LANDMARKS` do not reach it. What is left out are many features that weigh little: with 1e-4
there are twice as many, which found one more misfit in 360 data sets (validation/tolerance.py)."""

COMPACT_TOLERANCE = 0.1
"""The same for compact features, by which regions are searched, if there are more than a few: with
three inputs a third as many. The score says more about parameters, and p-values change by a tenth
of what another seed changes (validation/tolerance.py)."""

NODES = 4097
"""Places along one input at which features are computed; between them they are interpolated. With a
bandwidth σ of a fiftieth of the range the error is h²/(8σ²), 2e-5 of the largest, where h is the
spacing; it changes power alone, since all data sets have the same features."""

ROUNDING = 1 + 1e-6
"""Features are at most √k(x, x) long, and this much more by rounding."""


# --- inputs, and summaries of them ----------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class InputSummary:
    """What statistics may look at: the inputs in memory, or a summary of those that are not."""

    extent: Extent
    sample_inputs: FloatArray | None  # (s, d), the rows of a sample
    sample_trials: IntArray | None  # (s,)
    rows: Inputs | None = None  # all inputs; None where they come in chunks
    shared: Shared = ()
    largest_logit: float | None = None  # |logit p| of predictions that come in chunks

    @classmethod
    def in_memory(cls, inputs: Inputs) -> InputSummary:
        """Summarise inputs that are all in memory."""
        if not inputs.extent.is_sampled or isinstance(inputs.X, tuple):
            return cls(inputs.extent, None, None, inputs)
        sample = sample_rows(len(inputs))
        return cls(
            inputs.extent, inputs.matrix[sample], inputs.trials[sample], inputs, inputs.shared
        )

    @classmethod
    def of_chunks(
        cls, chunks: Iterable[ChunkSummary], *, calibration: bool, shared: Shared = ()
    ) -> InputSummary:
        """Put the summaries of all chunks together, in their order."""
        parts = list(chunks)
        return cls(
            Extent.together(part.extent for part in parts),
            np.concatenate([part.sample_inputs for part in parts]),
            np.concatenate([part.sample_trials for part in parts]),
            shared=shared,
            largest_logit=max(part.largest_logit for part in parts) if calibration else None,
        )

    @cached_property
    def sample(self) -> Distinct:
        """The distinct inputs of the sample; where none of them has a trial, all count alike."""
        X, trials = np.asarray(self.sample_inputs), np.asarray(self.sample_trials)
        return distinct_of(X, trials if trials.any() else np.ones_like(trials), self.shared)


@dataclass(frozen=True, eq=False)
class ChunkSummary:
    """The part of an `InputSummary` that one chunk of rows contributes."""

    extent: Extent
    sample_inputs: FloatArray
    sample_trials: IntArray
    largest_logit: float


def summary_of_chunk(index: int, X: FloatArray, trials: IntArray, n: int) -> ChunkSummary:
    """Summarise chunk number `index` of n rows in all, in canonical order."""
    sample = sample_rows(n)
    rows = sample[sample // CHUNK_ROWS == index] - index * CHUNK_ROWS
    uncertain = X[(X[:, 0] > 0) & (X[:, 0] < 1), 0]
    largest = 0.0
    if len(uncertain):
        largest = float(np.abs(logit(np.array([uncertain.min(), uncertain.max()]))).max())
    return ChunkSummary(Extent.of(trials), X[rows], trials[rows], largest)


def sample_rows(n: int) -> IntArray:
    """Choose rows of n, one in each of `SAMPLE_ROWS` equal parts: a function of n alone.

    Rows are counted in canonical order, so that the sample is spread over the inputs too.
    """
    rng = np.random.Generator(np.random.SFC64(n))
    place = np.arange(SAMPLE_ROWS) + rng.random(SAMPLE_ROWS)
    return np.minimum((place * (n / SAMPLE_ROWS)).astype(np.int64), n - 1)


# --- features ---------------------------------------------------------------------------------


def kernel_columns(
    kernel: Kernel,
    inputs: InputSummary,
    *,
    standardize: bool,
    contrast: bool = False,
    compact: bool = False,
) -> tuple[FloatArray | Landmarks, bool]:
    """Return features Φ with ΦΦᵀ equal to k, or to B for `contrast`, and whether they are compact.

    Landmarks where there are many rows, if the kernel can compare any inputs; else an array (n, r),
    the factor of the Gram matrix of all distinct inputs. A compact factor leaves out the features
    that weigh less than one row of data, and compact landmarks more than others; with few features
    there is no need for it.
    """
    if inputs.extent.is_sampled and inputs.sample_inputs is not None:
        settled = kernel.settle(inputs.sample, standardize=standardize)
        if settled is not None:
            found = Landmarks.of(settled, inputs.sample, TOLERANCE, contrast=contrast)
            if compact and found.M.shape[1] > FEW_FEATURES:
                found = Landmarks.of(settled, inputs.sample, COMPACT_TOLERANCE, contrast=contrast)
            return found, False
    if inputs.rows is None:
        raise TypeError(f"{kernel!r} compares the rows of a data set only.")
    bound = kernel.on(inputs.rows, standardize=standardize)
    weights = bound.points.weights
    Phi = factor(bound.contrast if contrast else bound.gram, weights)
    compact = compact and Phi.shape[1] > FEW_FEATURES
    if compact:
        row = float(weights @ (Phi**2).sum(axis=1)) / inputs.extent.total
        with single_thread():
            Phi = Phi @ leading(Phi, weights, least=row)
    return Phi[bound.points.place], compact


@dataclass(frozen=True, eq=False)
class Landmarks:
    """Features of any inputs, from a few of them."""

    kernel: SettledKernel
    points: FloatArray  # (l, d), the landmarks, scaled
    M: FloatArray  # (l, r), from k(x, landmarks) to features
    between: Callable[[FloatArray, FloatArray], FloatArray]  # k, or B for labelled data
    largest: float  # no feature is larger
    table: _Table | None = None  # features along the input, if there is one only

    @classmethod
    def of(
        cls, kernel: SettledKernel, sample: Distinct, tolerance: float, *, contrast: bool
    ) -> Landmarks:
        """Choose landmarks in a sample, and combine them to as few features as possible.

        They leave out the share `tolerance` of the trace, if `LANDMARKS` are enough for it.
        """
        scaled = kernel.scaled(np.asarray(sample.points))
        between = kernel.kernel.contrast if contrast else kernel.kernel.between
        weights = sample.weights / sample.weights.sum()
        diagonal = float(between(scaled[:1], scaled[:1])[0, 0])
        gram = Gram.of_differences(between, scaled)
        with single_thread():
            _, pivots = pivoted_factor(gram, weights, LANDMARKS, tolerance / 2, step=8)
            points = scaled[pivots]
            values, vectors = np.linalg.eigh(between(points, points))
            kept = values > 1e-10 * values[-1]
            M = vectors[:, kept] / np.sqrt(values[kept])
            left_out = diagonal * tolerance / 2
            M = M @ leading(between(scaled, points) @ M, weights, left_out=left_out)
            table = _Table.along(scaled, lambda nodes: between(nodes, points) @ M)
        return cls(kernel, points, M, between, float(np.sqrt(diagonal) * ROUNDING), table)

    @property
    def bound(self) -> FloatArray:
        """An upper bound of each feature: shape (r,)."""
        return np.full(self.M.shape[1], self.largest)

    def on_grid(self, X: FloatArray, unit: FloatArray, precision: Any) -> FloatArray:
        """Compute the features of a block of inputs (b, d), rounded to the grid: shape (b, r).

        Call it for whole blocks and with one BLAS thread: a matrix product of another shape may
        differ in the last bit.
        """
        found = np.empty((len(X), len(unit)), dtype=precision)
        self.write(X, unit, found, 0)
        return found

    def write(self, X: FloatArray, unit: FloatArray, out: FloatArray, first: int) -> None:
        """Write what `on_grid` returns into columns `first`, … of `out`."""
        scaled = self.kernel.scaled(X)
        columns = slice(first, first + len(unit))
        if self.table is None:
            out[:, columns] = self._computed(scaled, unit)
            return
        x = scaled[:, 0]
        self.table.read(x, unit, out, first)
        if x.min() < self.table.low or x.max() > self.table.high:
            beyond = (x < self.table.low) | (x > self.table.high)
            out[beyond, columns] = self._computed(scaled[beyond], unit)

    def _computed(self, scaled: FloatArray, unit: FloatArray) -> Any:
        return on_grid(self.between(scaled, self.points) @ self.M, unit)


@dataclass(frozen=True, eq=False)
class _Table:
    """Features at equally spaced places along one input, over the range of the sample.

    Straight lines between them are as good as the kernel itself: they too are a function of the
    input alone, no longer than the features they join, and far quicker to compute.
    """

    low: float
    high: float
    rows: FloatArray

    @classmethod
    def along(
        cls, sample: FloatArray, features: Callable[[FloatArray], FloatArray]
    ) -> _Table | None:
        """Compute the table; None if there is more than one input, or no range."""
        low, high = float(sample.min()), float(sample.max())
        if sample.shape[1] != 1 or not low < high:
            return None
        return cls(low, high, features(np.linspace(low, high, NODES)[:, None]))

    def read(self, x: FloatArray, unit: FloatArray, out: FloatArray, first: int) -> None:
        """Interpolate the features of inputs; those beyond the table are meaningless."""
        from exactregion.features.lookup import interpolate  # Numba is slow to import

        interpolate(x, self.low, self.high, self.rows, unit, out, first)
