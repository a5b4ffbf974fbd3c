"""Algorithm III: the kernel discrepancy of residuals."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from exactregion.features import SharedFeatures, factor
from exactregion.kernels import as_kernel
from exactregion.sample import Inputs
from exactregion.statistics.base import Candidates, PreparedStatistic, Rule, Statistic, Term
from exactregion.statistics.measures import FromCentre

__all__ = ["Discrepancy"]


@dataclass(frozen=True)
class Discrepancy(Statistic):
    """Algorithm III of the paper: how far the residuals are from zero in the space of a kernel.

    Z_i = ‖ (1/n) Σ_j (y_ij - f_θ(x_j)) k(x_j, ·) ‖² = ‖v_i - c_θ‖² / n², the distance of the
    data set's point from the exact centre c_θ = Φᵀ f_θ, with ΦΦᵀ = K.

    Parameters
    ----------
    kernel : str, Kernel or callable
        The kernel; Gaussian by default.
    bandwidth : float, optional
        The median distance by default.
    standardize : bool
        Scale inputs by their own spread; False keeps the user's units, as the paper does.
    """

    kernel: Any = "gaussian"
    bandwidth: float | None = None
    standardize: bool = True

    def __post_init__(self) -> None:
        """Check the kernel."""
        as_kernel(self.kernel, self.bandwidth)

    def prepare(self, inputs: Inputs, m: int) -> PreparedStatistic:
        """Factor the Gram matrix."""
        kernel = as_kernel(self.kernel, self.bandwidth).on(inputs, standardize=self.standardize)
        Phi = factor(kernel.gram, kernel.points.weights)
        return _PreparedDiscrepancy(SharedFeatures.rounded(Phi, kernel.points, inputs, m))


@dataclass(frozen=True, eq=False)
class _PreparedDiscrepancy(PreparedStatistic):
    features: SharedFeatures

    def rule(self, candidates: Candidates) -> Rule:
        P, inputs = candidates.probabilities, candidates.inputs
        # labels are 2k - 1, so distances double when successes k stand for them
        scale = (2 / inputs.total) ** 2
        return Rule((Term(self.features, FromCentre(self.features, P, inputs, scale)),))
