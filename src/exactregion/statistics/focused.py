"""The score statistic of functionals g(θ): what focused intervals and hypotheses rank by."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from exactregion._typing import FloatArray
from exactregion.features.landmarks import InputSummary
from exactregion.statistics.base import Statistic, Term
from exactregion.statistics.measures import Whitened
from exactregion.statistics.score import gradient_columns


@dataclass(frozen=True)
class Focused(Statistic):
    """The score in the direction that matters for one functional of θ.

    Z_i = (∇gᵀ I_θ⁻¹ s_i)² / (∇gᵀ I_θ⁻¹ ∇g), the efficient score of g with all other directions
    profiled out, as in a Wald interval, but ranked exactly. For r functionals with the gradients in
    the rows of G it is s_iᵀ I_θ⁻¹ Gᵀ (G I_θ⁻¹ Gᵀ)⁻¹ G I_θ⁻¹ s_i.

    Parameters
    ----------
    gradient : callable
        θ of shape (T, d) to ∇g of shape (T, d), or to those of r functionals of shape (T, r, d).
    """

    gradient: Callable[[FloatArray], FloatArray]
    needs_family = True

    def terms(self, inputs: InputSummary) -> Sequence[Term]:
        """Sum the gradient of the logit, and look along I⁻¹ ∇g."""

        def along(W: FloatArray, theta: FloatArray | None) -> FloatArray:
            gradient = _unit(self.gradient(np.asarray(theta)))
            if gradient.ndim == 3:
                # an orthonormal basis of the directions, where the information is the identity
                basis = np.linalg.qr(W @ np.swapaxes(gradient, 1, 2))[0]
                return np.asarray(np.swapaxes(basis, 1, 2) @ W)
            target = np.einsum("tab,tb->ta", W, gradient)
            return _unit(np.einsum("ta,tab->tb", _unit(target), W))[:, None, :]

        return [Term(gradient_columns, Whitened(along))]


def focused_on(coefficients: FloatArray) -> Focused:
    """Return the statistic for linear functionals with these coefficients, (d,) or (r, d)."""
    return Focused(lambda theta: np.broadcast_to(coefficients, (len(theta), *coefficients.shape)))


def _unit(vectors: FloatArray) -> FloatArray:
    """Bring each row to a largest entry of one; its length changes no rank."""
    size = np.abs(vectors).max(axis=-1, keepdims=True)
    return np.asarray(vectors / np.where(size > 0, size, 1.0))
