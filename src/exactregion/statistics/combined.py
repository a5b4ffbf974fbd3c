"""Several statistics as one: by their sum, or by the smallest of their p-values."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from exactregion._typing import FloatArray
from exactregion.errors import InvalidTypeError, InvalidValueError
from exactregion.features.landmarks import InputSummary
from exactregion.kernels import VectorKernel, as_kernel
from exactregion.statistics.base import Statistic, Terms
from exactregion.statistics.kernel import Discrepancy
from exactregion.statistics.score import Curvature, Score
from exactregion.statistics.spiegelhalter import Spiegelhalter

NARROW = 0.125
"""Bandwidth of the narrow kernel of `Omnibus`, in units of the spread of each input: predictions
that are uniform have a range of 3.5 standard deviations, 28 of these bandwidths."""

MULTIPLES = (0.25, 0.5, 1.0, 2.0)
"""Bandwidths of `Multiscale`, in multiples of the usual one: chosen by the study of defaults
(validation/parts/defaults.py), in which they have 10 points more power than a single one."""

MAX_PARTS = 64
"""Statistics in a sum; each costs as much as it does alone, and more are a mistake."""


class WithParts:
    """Statistics with weights that make up one; a subclass says of which kind they are."""

    part_type: ClassVar[type] = Statistic
    part_text: ClassVar[str] = "statistics, such as Score()"

    def __init__(self, *statistics: Any, weights: Sequence[float] | None = None) -> None:
        name = type(self).__name__
        for statistic in statistics:
            if not isinstance(statistic, self.part_type):
                raise InvalidTypeError(
                    f"The parts of {name} must be {self.part_text}. Got {statistic!r} instead."
                )
        if len(statistics) > MAX_PARTS:
            raise InvalidValueError(
                f"{name} takes at most {MAX_PARTS} statistics. Got {len(statistics)} instead."
            )
        parts, usual = self._default_parts()
        if weights is None:
            weights = (1.0,) * len(statistics) if statistics else usual
        self.statistics = statistics or parts
        try:
            self.weights = tuple(float(weight) for weight in weights)
        except (TypeError, ValueError):
            self.weights = ()
        if len(self.weights) != len(self.statistics) or not all(
            0 < w < np.inf for w in self.weights
        ):
            raise InvalidValueError(
                f"of {name} must have a positive number for each of the {len(self.statistics)} "
                f"parts. Got {weights!r} instead.",
                parameter="weights",
            )

    @staticmethod
    @abstractmethod
    def _default_parts() -> tuple[tuple[Any, ...], tuple[float, ...]]:
        """Return the parts and weights where the user names none."""

    def __repr__(self) -> str:
        """Show parts and weights."""
        parts = ", ".join(repr(statistic) for statistic in self.statistics)
        return f"{type(self).__name__}({parts}, weights={self.weights})"

    @property
    def parts(self) -> tuple[Any, ...]:
        """The statistics that are put together."""
        return self.statistics


class _Sum(WithParts, Statistic):
    """Σ_k weight_k · scaled(Z⁽ᵏ⁾); a subclass says how parts are brought to one scale."""

    @staticmethod
    @abstractmethod
    def _scaled(Z: FloatArray, expected: FloatArray | None) -> FloatArray:
        """Bring Z (T, m) to the common scale, by a rule that treats the m data sets alike."""

    @property
    def needs_all_rows(self) -> bool:
        """Whether any part needs all rows at once."""
        return any(statistic.needs_all_rows for statistic in self.statistics)

    @property
    def needs_family(self) -> bool:
        """Whether any part needs a family."""
        return any(statistic.needs_family for statistic in self.statistics)

    @property
    def merges_equal_rows(self) -> bool:
        """Whether all parts may treat equal rows as one row of counts."""
        return all(statistic.merges_equal_rows for statistic in self.statistics)

    @property
    def uses_expectations(self) -> bool:
        """Whether any part uses expectations."""
        return any(statistic.uses_expectations for statistic in self.statistics)

    def terms(self, inputs: InputSummary) -> Sequence[Terms]:
        """Return the terms of each part."""
        return [self._part(statistic).terms(inputs) for statistic in self.statistics]

    @staticmethod
    def _part(statistic: Statistic) -> Statistic:
        return statistic

    def combine_parts(self, values: Sequence[Any], expected: Sequence[Any]) -> list[FloatArray]:
        """Let each part combine its own terms."""
        parts = zip(self.statistics, values, expected, strict=True)
        return [statistic.combine(measured, known) for statistic, measured, known in parts]

    def combine(self, values: Sequence[Any], expected: Sequence[Any]) -> FloatArray:
        """Add what the parts make of their own terms."""
        total = None
        Zs = self.combine_parts(values, expected)
        for statistic, weight, Z, known in zip(
            self.statistics, self.weights, Zs, expected, strict=True
        ):
            # the expectation of a term is that of the part only if Z is what the term measures
            plain = type(statistic).combine is Statistic.combine
            scaled = weight * self._scaled(Z, known[0] if plain else None)
            total = scaled if total is None else total + scaled
        return np.asarray(total)


class Combined(_Sum, name="combined"):
    """Σ_k weight_k · Z⁽ᵏ⁾ / E_θ[Z⁽ᵏ⁾], each part at mean one under the candidate.

    By default score/d + 0.3 · discrepancy / E_θ[discrepancy]: near the power of the score, and
    consistent against every false f that the features of the discrepancy detect. The expectations
    are known: d for the score, and (4/n²) Σ_j k(x_j, x_j) p_j (1 - p_j) for the discrepancy, so
    that Z of a data set depends on nothing but its own labels and θ. A part whose expectation is
    not known is divided by its mean over the m data sets.

    Regions are searched by it, so kernels with many features leave out those that weigh less than
    one row of data: Z changes a little, ranks stay exact, and searches take a fraction of the time.

    Parameters
    ----------
    *statistics : Statistic
        The parts; ``Score(), Discrepancy()`` by default.
    weights : sequence of float, optional
        A positive weight for each part; (1, 0.3) for the default parts, else equal.
    """

    uses_expectations = True

    @staticmethod
    def _default_parts() -> tuple[tuple[Statistic, ...], tuple[float, ...]]:
        return (Score(), Discrepancy()), (1.0, 0.3)

    @staticmethod
    def _part(statistic: Statistic) -> Statistic:
        return statistic.compact()

    @staticmethod
    def _scaled(Z: FloatArray, expected: FloatArray | None) -> FloatArray:
        """Z / E[Z]; 0/0 is 0."""
        if expected is None:
            expected = np.array([_mean(row[np.isfinite(row)]) for row in Z])
        return np.asarray(Z / np.where(expected > 0, expected, 1.0)[:, None])


def _mean(values: FloatArray) -> float:
    """Compute a mean that does not depend on the order of the values, and does not overflow."""
    largest = float(np.abs(values).max(initial=0.0))
    if largest == 0:
        return 0.0
    return largest * (math.fsum(values / largest) / len(values))


def one_over_p(Z: FloatArray) -> FloatArray:
    """Compute 1/p of each data set, p the share of all whose Z (m,) is at least as large."""
    smaller = np.searchsorted(np.sort(Z), Z)
    return np.asarray(len(Z) / (len(Z) - smaller))


class Omnibus(_Sum, name="omnibus"):
    """Σ_k weight_k / p⁽ᵏ⁾, p⁽ᵏ⁾ the share of the m data sets whose Z⁽ᵏ⁾ is at least as large.

    The smallest of the p-values of the parts decides, so that each kind of misfit is found about as
    well as by the part that is made for it. It is the harmonic mean of p-values; no theory of its
    distribution is needed, since the m data sets are ranked by it like by any other number.

    By default the score, Spiegelhalter's statistic, and with half the weight the curvature and a
    wide and a narrow kernel: shifted, over- and under-confident, bent and wavy probabilities.

    Parameters
    ----------
    *statistics : Statistic
        The parts; ``Score(), Spiegelhalter(), Curvature(), Discrepancy(),
        Discrepancy(bandwidth=0.125)`` by default.
    weights : sequence of float, optional
        A positive weight for each part; (1, 1, 0.5, 0.5, 0.5) for the default parts, else equal.
    """

    @staticmethod
    def _default_parts() -> tuple[tuple[Statistic, ...], tuple[float, ...]]:
        kernels = Discrepancy(), Discrepancy(bandwidth=NARROW)
        return (Score(), Spiegelhalter(), Curvature(), *kernels), (1.0, 1.0, 0.5, 0.5, 0.5)

    @staticmethod
    def _scaled(Z: FloatArray, expected: FloatArray | None) -> FloatArray:
        """1 / p of each data set among the m; equal ones have equal p."""
        return np.array([one_over_p(row) for row in Z]).reshape(Z.shape)


@dataclass(frozen=True)
class Multiscale(Statistic, name="multiscale"):
    """Algorithm III with kernels of four widths, of which the clearest decides.

    Which bandwidth has power depends on the kind of misfit, which is not known in advance: a wide
    kernel finds shifts, a narrow one waves and bumps. Here they are a quarter, a half, once and
    twice as wide as usual, put together as `Omnibus` does: data sets are ranked by the harmonic
    mean of their p-values, all alike, so that ranks are exact.

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
                "of Multiscale must be one with a bandwidth, such as 'gaussian'. "
                f"Got {self.kernel!r} instead.",
                parameter="kernel",
            )

    @property
    def together(self) -> Omnibus:
        """The statistic that it is made of."""
        kernel: Any = as_kernel(self.kernel)
        setting = "multiple" if kernel.bandwidth is None else "bandwidth"
        widths = [{setting: share * getattr(kernel, setting)} for share in MULTIPLES]
        kernels = [replace(kernel, **width) for width in widths]
        return Omnibus(*(Discrepancy(each, standardize=self.standardize) for each in kernels))

    @property
    def parts(self) -> tuple[Statistic, ...]:
        """One statistic per width, from the narrowest to the widest."""
        return self.together.parts

    def combine_parts(self, values: Sequence[Any], expected: Sequence[Any]) -> list[FloatArray]:
        """Return Z of each width."""
        return self.together.combine_parts(values, expected)

    def terms(self, inputs: InputSummary) -> Sequence[Terms]:
        """Sum the features of each width."""
        return self.together.terms(inputs)

    def combine(self, values: Sequence[Any], expected: Sequence[Any]) -> FloatArray:
        """Combine the widths as `Omnibus` does."""
        return self.together.combine(values, expected)
