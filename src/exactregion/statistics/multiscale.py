"""Algorithm III at several scales at once, so that nobody has to choose a bandwidth."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from exactregion.data.sample import Inputs
from exactregion.errors import InvalidValueError
from exactregion.kernels import VectorKernel, as_kernel
from exactregion.statistics.base import PreparedStatistic, Statistic
from exactregion.statistics.combined import Omnibus
from exactregion.statistics.discrepancy import Discrepancy
from exactregion.statistics.streamed import StreamRule, Survey

__all__ = ["Multiscale"]

MULTIPLES = (0.25, 0.5, 1.0, 2.0)
"""Bandwidths, in multiples of the usual one."""


@dataclass(frozen=True)
class Multiscale(Statistic):
    """Algorithm III with kernels of four widths, of which the clearest decides.

    Which bandwidth has power depends on the kind of misfit, and that nobody knows beforehand: a
    wide kernel finds shifts, a narrow one waves and bumps. Here they are a quarter, a half, once
    and twice as wide as usual, put together as `Omnibus` does: data sets are ranked by the harmonic
    mean of their p-values, all alike, so that ranks are as exact.

    Parameters
    ----------
    kernel : str or Kernel
        A kernel with a bandwidth; Gaussian by default.
    standardize : bool
        Scale inputs by their own spread; False keeps the user's units.

    Examples
    --------
    >>> [round(part.kernel.multiple, 2) for part in Multiscale().together.statistics]
    [0.25, 0.5, 1.0, 2.0]
    """

    kernel: Any = "gaussian"
    standardize: bool = True

    def __post_init__(self) -> None:
        """Check the kernel."""
        if not isinstance(as_kernel(self.kernel), VectorKernel):
            raise InvalidValueError(
                "of Multiscale must be one with a bandwidth, such as "
                f"'gaussian'. Got {self.kernel!r} instead.",
                parameter="kernel",
            )

    @property
    def together(self) -> Omnibus:
        """The statistic that it is made of."""
        kernel: Any = as_kernel(self.kernel)
        setting = "multiple" if kernel.bandwidth is None else "bandwidth"
        widths = [{setting: share * getattr(kernel, setting)} for share in MULTIPLES]
        kernels = [replace(kernel, **width) for width in widths]
        return Omnibus(*(Discrepancy(own, standardize=self.standardize) for own in kernels))

    @property
    def collapses(self) -> bool:
        """Whether equal rows may be worked on as one row of counts: always."""
        return True

    def prepare(self, inputs: Inputs, m: int) -> PreparedStatistic:
        """Factor the Gram matrix of each width."""
        return self.together.prepare(inputs, m)

    def stream(self, survey: Survey, m: int) -> StreamRule | None:
        """Choose landmarks for each width."""
        return self.together.stream(survey, m)
