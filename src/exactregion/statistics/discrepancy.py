"""Algorithm III: the kernel discrepancy of residuals."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from exactregion.data.sample import Inputs
from exactregion.features.grid import SharedFeatures
from exactregion.features.landmarks import Landmarks, kernel_features
from exactregion.kernels import Precomputed, as_kernel
from exactregion.statistics.base import Candidates, PreparedStatistic, Rule, Statistic, Term
from exactregion.statistics.measures import FromCentre
from exactregion.statistics.streamed import FromPoint, StreamRule, StreamTerm, Survey

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
        Half the median distance by default.
    standardize : bool
        Scale inputs by their own spread; False keeps the user's units, as the paper does.
    """

    kernel: Any = "gaussian"
    bandwidth: float | None = None
    standardize: bool = True

    def __post_init__(self) -> None:
        """Check the kernel."""
        as_kernel(self.kernel, self.bandwidth)

    @property
    def collapses(self) -> bool:
        """Whether equal rows may become one row of counts: not where the kernel knows rows."""
        return not isinstance(as_kernel(self.kernel, self.bandwidth), Precomputed)

    def prepare(self, inputs: Inputs, m: int) -> PreparedStatistic:
        """Factor the Gram matrix."""
        return self._prepared(inputs, m, brief=False)

    def prepare_briefly(self, inputs: Inputs, m: int) -> PreparedStatistic:
        """Factor it without the features that weigh less than one row of data does."""
        return self._prepared(inputs, m, brief=True)

    def _prepared(self, inputs: Inputs, m: int, *, brief: bool) -> PreparedStatistic:
        kernel = as_kernel(self.kernel, self.bandwidth)
        features = kernel_features(kernel, inputs, m, standardize=self.standardize, brief=brief)
        return _PreparedDiscrepancy(features)

    def stream(self, survey: Survey, m: int) -> StreamRule | None:
        """Choose landmarks."""
        kernel = as_kernel(self.kernel, self.bandwidth)
        settled = kernel.settle(survey.distinct, standardize=self.standardize)
        if settled is None:
            return None
        landmarks = Landmarks.of(settled, survey.distinct, survey.extent, m, contrast=False)
        scale = _scale(survey.extent.total)
        return StreamRule((StreamTerm(landmarks, lambda centre, _: FromPoint(centre, scale)),))


@dataclass(frozen=True, eq=False)
class _PreparedDiscrepancy(PreparedStatistic):
    features: SharedFeatures

    def rule(self, candidates: Candidates) -> Rule:
        P, inputs = candidates.probabilities, candidates.inputs
        measure = FromCentre(self.features, P, inputs, _scale(inputs.total))
        return Rule((Term(self.features, measure),))


def _scale(total: int) -> float:
    """1/n², and twice the distance: labels are 2k - 1, and successes k stand for them."""
    return (2 / total) ** 2
