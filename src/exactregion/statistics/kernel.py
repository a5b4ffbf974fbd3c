"""Statistics of a kernel on the inputs: Algorithms II and III of the paper."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from exactregion.features.landmarks import InputSummary, kernel_columns
from exactregion.kernels import Precomputed, VectorKernel, as_kernel
from exactregion.statistics.base import Statistic, Term
from exactregion.statistics.measures import FromCentre, FromMean, Measure


@dataclass(frozen=True)
class _KernelStatistic(Statistic):
    """What Algorithms II and III share: a kernel, its bandwidth, and the scale of the inputs."""

    kernel: Any = "gaussian"
    bandwidth: float | None = None
    standardize: bool = True

    def __post_init__(self) -> None:
        """Check the kernel."""
        as_kernel(self.kernel, self.bandwidth)

    @property
    def needs_all_rows(self) -> bool:
        """Whether the kernel can compare the rows of one data set only."""
        return not isinstance(as_kernel(self.kernel, self.bandwidth), VectorKernel)

    @property
    def merges_equal_rows(self) -> bool:
        """Whether equal rows are equal to the kernel as well."""
        return not isinstance(as_kernel(self.kernel, self.bandwidth), Precomputed)

    def _term(
        self, inputs: InputSummary, measure: Measure, *, contrast: bool, compact: bool = False
    ) -> Term:
        columns, compact = kernel_columns(
            as_kernel(self.kernel, self.bandwidth),
            inputs,
            standardize=self.standardize,
            contrast=contrast,
            compact=compact,
        )
        return Term(columns, measure, compact=compact)


@dataclass(frozen=True)
class Discrepancy(_KernelStatistic, name="discrepancy"):
    """Algorithm III of the paper: how far the residuals are from zero in the space of a kernel.

    Z_i = ‖ (1/n) Σ_j (y_ij - f_θ(x_j)) k(x_j, ·) ‖² (eqs. 45 and 46) = ‖v_i - c_θ‖² / n², the
    distance of the data set's point from the exact centre c_θ = Φᵀ f_θ, with ΦΦᵀ = K. Ranks are
    exact with any kernel; against every false f they are consistent for a universal kernel on a
    compact domain (Theorem 4), as far as the features that are kept detect the difference.

    Parameters
    ----------
    kernel : str, Kernel or callable
        The kernel; Gaussian by default.
    bandwidth : float, optional
        Half the median distance by default.
    standardize : bool
        Scale inputs by their own spread; False keeps the user's units, as the paper does.
    """

    _is_compact = False

    def terms(self, inputs: InputSummary) -> Sequence[Term]:
        """Sum the features of the kernel."""
        # labels are 2k - 1, and successes k stand for them: twice the distance
        measure = FromCentre((2 / inputs.extent.total) ** 2)
        return [self._term(inputs, measure, contrast=False, compact=self._is_compact)]

    def compact(self) -> Discrepancy:
        """Leave out the features that weigh less than one row of data."""
        if type(self) is not Discrepancy:  # a subclass may have terms of its own
            return self
        return _CompactDiscrepancy(self.kernel, self.bandwidth, self.standardize)


class _CompactDiscrepancy(Discrepancy):
    _is_compact = True


@dataclass(frozen=True)
class Embedding(_KernelStatistic, name="embedding"):
    """Algorithm II of the paper: how far a data set's mean embedding is from all the others'.

    With h_i = (1/n) Σ_j k((x_j, y_ij), ·) (eq. 40) the paper's Z_i = Σ_j ‖h_i - h_j‖². A kernel on
    X × {-1, +1} is k = A + B yy' with B = (K_same - K_diff) / 2, so ‖h_i - h_j‖² = (y_i - y_j)ᵀ B
    (y_i - y_j) / n², and with ΦΦᵀ = B the rank is that of ‖v_i - v̄‖². No Gram matrix depends
    on θ.

    Gaussian, Laplacian, Matérn and polynomial kernels take the label as one more coordinate; others
    compare rows whose labels agree (K_diff = 0).

    Parameters
    ----------
    kernel : str, Kernel or callable
        The kernel; Gaussian by default.
    bandwidth : float, optional
        Half the median distance by default.
    standardize : bool
        Scale inputs by their own spread; False keeps the user's units, as the paper does.
    """

    def terms(self, inputs: InputSummary) -> Sequence[Term]:
        """Sum the features of B."""
        measure = FromMean((2 / inputs.extent.total) ** 2)
        return [self._term(inputs, measure, contrast=True)]
