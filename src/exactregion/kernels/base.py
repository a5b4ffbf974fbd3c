"""A kernel is a small object with settings; tied to inputs it gives Gram matrices by columns."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass

from exactregion._typing import FloatArray, IntArray
from exactregion.data.sample import Distinct, Inputs

__all__ = ["BoundKernel", "Gram", "Kernel", "SettledKernel"]


@dataclass(frozen=True, eq=False)
class Gram:
    """A symmetric positive semidefinite matrix over u points, a column at a time.

    Attributes
    ----------
    size : int
        Number of points, u.
    columns : callable
        Indices (q,) to the columns (u, q).
    diagonal : ndarray of shape (u,)
        The diagonal.
    """

    size: int
    columns: Callable[[IntArray], FloatArray]
    diagonal: FloatArray


class Kernel(ABC):
    """A symmetric positive semidefinite function of two inputs."""

    @abstractmethod
    def on(self, inputs: Inputs, *, standardize: bool) -> BoundKernel:
        """Tie the kernel to the distinct inputs of a data set."""

    def settle(self, distinct: Distinct, *, standardize: bool) -> SettledKernel | None:
        """Choose scales and bandwidth by some inputs; None if others cannot be compared then."""
        return None


class SettledKernel(ABC):
    """A kernel whose scales and bandwidth are chosen, for any inputs."""

    @abstractmethod
    def scaled(self, X: FloatArray) -> FloatArray:
        """Bring inputs (n, d) in the units of the user to those of the kernel."""

    @abstractmethod
    def between(self, A: FloatArray, B: FloatArray) -> FloatArray:
        """Compute k for all pairs of scaled inputs."""

    @abstractmethod
    def contrast(self, A: FloatArray, B: FloatArray) -> FloatArray:
        """Compute B = (K_same - K_diff) / 2 for all pairs of scaled inputs."""


@dataclass(frozen=True, eq=False)
class BoundKernel:
    """A kernel tied to the distinct inputs of a data set.

    Attributes
    ----------
    points : Distinct
        The inputs that the kernel tells apart.
    gram : Gram
        k of these inputs.
    contrast : Gram
        B = (K_same - K_diff) / 2 of a kernel k = A + B yy' on X × {-1, +1}, for embeddings of
        labelled data.
    cross : callable or None
        Nodes (q, d) in the units of X to k(all points, nodes); None where there are no others.
    """

    points: Distinct
    gram: Gram
    contrast: Gram
    cross: Callable[[FloatArray], FloatArray] | None

    @classmethod
    def comparing_equal_labels(
        cls, points: Distinct, gram: Gram, cross: Callable[[FloatArray], FloatArray] | None
    ) -> BoundKernel:
        """Tie a kernel that knows nothing of labels: K_diff = 0."""
        half = Gram(gram.size, lambda index: gram.columns(index) / 2, gram.diagonal / 2)
        return cls(points, gram, half, cross)
