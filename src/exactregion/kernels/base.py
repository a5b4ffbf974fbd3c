"""The contract of a kernel, and the kernels that users define.

A kernel has settings, may choose scales from the inputs, and gives Gram matrices by columns. Users
define one by a Gram matrix, or by a function of any two objects.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from exactregion._typing import FloatArray, IntArray
from exactregion.data.reading import as_real, numeric
from exactregion.data.sample import Distinct, Inputs
from exactregion.errors import InvalidTypeError, InvalidValueError

CHECKED_POINTS = 1000
"""Kernels that users define are checked on at most this many points: a Gram matrix of 8 MB, whose
eigenvalues take a fraction of a second."""


@dataclass(frozen=True, eq=False)
class Gram:
    """A symmetric positive semidefinite matrix over u points, computed by columns.

    `columns` is a function of indices (q,) that gives the columns (u, q); `diagonal` is (u,).
    """

    columns: Callable[[IntArray], FloatArray]
    diagonal: FloatArray

    @property
    def size(self) -> int:
        """Number of points, u."""
        return len(self.diagonal)

    def half(self) -> Gram:
        """Return half the matrix."""
        return Gram(lambda index: self.columns(index) / 2, self.diagonal / 2)

    @classmethod
    def of_differences(
        cls, between: Callable[[FloatArray, FloatArray], FloatArray], points: FloatArray
    ) -> Gram:
        """Make the Gram matrix of a function of differences, whose diagonal is constant."""
        diagonal = np.full(len(points), between(points[:1], points[:1])[0, 0])
        return cls(lambda index: between(points, points[index]), diagonal)


class Kernel(ABC):
    """A symmetric positive semidefinite function of two inputs."""

    @abstractmethod
    def on(self, inputs: Inputs, *, standardize: bool) -> BoundKernel:
        """Bind the kernel to the distinct inputs of a data set."""

    def settle(self, distinct: Distinct, *, standardize: bool) -> SettledKernel | None:
        """Choose scales and bandwidth from some inputs; None for a kernel on given inputs only."""
        return None


@dataclass(frozen=True, eq=False)
class BoundKernel:
    """A kernel bound to `points`, the inputs of a data set that are distinct to the kernel.

    `gram` is k of these inputs, and `contrast` is B = (K_same - K_diff) / 2 of a kernel
    k = A + B yy' on X × {-1, +1}, for embeddings of labelled data. `cross` is a function of nodes
    (q, d) in the units of X that gives k(all points, nodes); None where there are no others.
    """

    points: Distinct
    gram: Gram
    contrast: Gram
    cross: Callable[[FloatArray], FloatArray] | None


class NumericKernel(Kernel):
    """A function of differences of numeric inputs; a subclass supplies `between`."""

    @abstractmethod
    def between(self, A: FloatArray, B: FloatArray) -> FloatArray:
        """Compute k for all pairs of scaled inputs."""

    def contrast(self, A: FloatArray, B: FloatArray) -> FloatArray:
        """Compute B = (K_same - K_diff) / 2 for all pairs; by default with K_diff = 0."""
        return self.between(A, B) / 2

    def settle(self, distinct: Distinct, *, standardize: bool) -> SettledKernel:
        """Take the inputs as they are."""
        width = numeric(distinct.points).shape[1]
        return SettledKernel(self, np.zeros(width), np.ones(width))

    def on(self, inputs: Inputs, *, standardize: bool) -> BoundKernel:
        """Scale the inputs and choose the bandwidth."""
        distinct = inputs.distinct
        settled = self.settle(distinct, standardize=standardize)
        kernel, points = settled.kernel, settled.scaled(numeric(distinct.points))
        return BoundKernel(
            distinct,
            Gram.of_differences(kernel.between, points),
            Gram.of_differences(kernel.contrast, points),
            lambda nodes: kernel.between(points, settled.scaled(nodes)),
        )


@dataclass(frozen=True, eq=False)
class SettledKernel:
    """A kernel whose scales and bandwidth are chosen, for any inputs."""

    kernel: NumericKernel
    centre: FloatArray
    scale: FloatArray

    def scaled(self, X: FloatArray) -> FloatArray:
        """Centre and scale the columns of inputs (n, d)."""
        return (X - self.centre) / self.scale


# --- kernels that users define --------------------------------------------------------------------
# They compare labelled data where labels agree, K_diff = 0: their contrast is half the Gram matrix.


@dataclass(frozen=True, eq=False)
class Precomputed(Kernel):
    """A Gram matrix that the user computed, rows and columns in the order of the user's rows.

    Parameters
    ----------
    gram : array-like of shape (n, n)
        k(x_i, x_j); symmetric and positive semidefinite.
    """

    gram: npt.ArrayLike

    def on(self, inputs: Inputs, *, standardize: bool) -> BoundKernel:
        """Pick the rows and columns of the distinct inputs."""
        K = _numbers(self.gram, "The 'gram' parameter of Precomputed must be a numeric matrix.")
        n = len(inputs)
        if K.shape != (n, n):
            raise InvalidValueError(
                f"of Precomputed must have shape ({n}, {n}), one row and one column per row of X. "
                f"Got {K.shape} instead.",
                parameter="gram",
            )
        # equal inputs may have different rows in the matrix: all count as distinct
        apart = inputs.rows_apart
        rows = inputs.order[apart.row]
        gram = Gram(lambda index: K[np.ix_(rows, rows[index])], K[rows, rows])
        _check_gram(gram)
        return BoundKernel(apart, gram, gram.half(), None)


@dataclass(frozen=True, eq=False)
class CallableKernel(Kernel):
    """Any function of two inputs, on any objects.

    Parameters
    ----------
    function : callable (a, b) -> float
        Symmetric and positive semidefinite. It is given two entries of X: rows as 1-D arrays, or
        objects.
    """

    function: Callable[[Any, Any], float]

    def on(self, inputs: Inputs, *, standardize: bool) -> BoundKernel:
        """Take the inputs as they are."""
        points = inputs.distinct.points
        one_number = "A callable kernel must give one number for a pair of inputs."

        def cross(nodes: Sequence[Any] | FloatArray) -> FloatArray:
            values = [[self.function(a, b) for b in nodes] for a in points]
            return _numbers(values, one_number).reshape(len(points), len(nodes))

        diagonal = _numbers([self.function(a, a) for a in points], one_number)
        gram = Gram(lambda index: cross([points[i] for i in index]), diagonal)
        _check_gram(gram)
        return BoundKernel(inputs.distinct, gram, gram.half(), cross)


def _numbers(values: Any, message: str) -> FloatArray:
    try:
        numbers = as_real(values)
    except (TypeError, ValueError) as error:
        raise InvalidTypeError(f"{message} Got {_kind(values)} instead.") from error
    if isinstance(values, list) and numbers.ndim > 2:
        raise InvalidTypeError(f"{message} Got arrays instead.")
    return numbers


def _kind(values: Any) -> str:
    while isinstance(values, list):
        values = values[0]
    return type(values).__name__


def _check_gram(gram: Gram) -> None:
    """Check that a Gram matrix is finite, symmetric and positive semidefinite."""
    last = gram.size - 1
    index = np.unique(np.linspace(0, last, CHECKED_POINTS).round().astype(np.int64))
    K = gram.columns(index)[index]
    if not np.isfinite(K).all():
        raise InvalidValueError("The kernel must give finite numbers. Got NaN or infinity instead.")
    largest = max(float(np.abs(K).max()), np.finfo(np.float64).tiny)
    skew = float(np.abs(K - K.T).max())
    if skew > 1e-8 * largest:
        raise InvalidValueError(
            "The kernel must be symmetric, k(a, b) = k(b, a). "
            f"Got values that differ by up to {skew:.3g} instead."
        )
    lowest = float(np.linalg.eigvalsh((K + K.T) / 2)[0])
    if lowest < -1e-8 * largest * len(K):
        raise InvalidValueError(
            "The kernel must be positive semidefinite. Got a Gram matrix with the eigenvalue "
            f"{lowest:.3g} instead."
        )
