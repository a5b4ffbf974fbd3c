"""The contract of a kernel: settings, scales chosen from the inputs, Gram matrices by columns."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from exactregion._typing import FloatArray, IntArray
from exactregion.data.reading import numeric
from exactregion.data.sample import Distinct, Inputs

__all__ = ["BoundKernel", "Gram", "Kernel", "NumericKernel", "SettledKernel"]


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
