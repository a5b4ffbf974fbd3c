"""Algorithm II: kernel mean embeddings of the labelled data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from exactregion.data.sample import Inputs
from exactregion.features.landmarks import Landmarks, kernel_features
from exactregion.kernels import Precomputed, as_kernel
from exactregion.statistics.base import PreparedStatistic, Statistic
from exactregion.statistics.cloud import PreparedCloud
from exactregion.statistics.measures import FromMean
from exactregion.statistics.streamed import StreamRule, StreamTerm, Survey

__all__ = ["Embedding"]


@dataclass(frozen=True)
class Embedding(Statistic):
    """Algorithm II of the paper: how far a data set's mean embedding is from all the others'.

    With h_i = (1/n) Σ_j k((x_j, y_ij), ·) the paper's Z_i = Σ_j ‖h_i - h_j‖². A kernel on X ×
    {-1, +1} is k = A + B yy' with B = (K_same - K_diff) / 2, so ‖h_i - h_j‖² = (y_i - y_j)ᵀ B
    (y_i - y_j) / n², and with ΦΦᵀ = B the rank is that of ‖v_i - v̄‖². No Gram matrix depends
    on θ.

    Gaussian, Laplacian and Matérn kernels take the label as one more coordinate; others compare
    rows whose
    labels agree (K_diff = 0).

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
        """Factor B."""
        kernel = as_kernel(self.kernel, self.bandwidth)
        features = kernel_features(kernel, inputs, m, standardize=self.standardize, contrast=True)
        return PreparedCloud(features, scale=(2 / inputs.total) ** 2, m=m)

    def stream(self, survey: Survey, m: int) -> StreamRule | None:
        """Choose landmarks."""
        kernel = as_kernel(self.kernel, self.bandwidth)
        settled = kernel.settle(survey.distinct, standardize=self.standardize)
        if settled is None:
            return None
        landmarks = Landmarks.of(settled, survey.distinct, survey.extent, m, contrast=True)
        measure = FromMean((2 / survey.extent.total) ** 2 / m**2)
        return StreamRule((StreamTerm(landmarks, lambda *_: measure),))
