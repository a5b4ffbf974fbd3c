"""Statistics of outcomes with several classes, made of those of two.

A class is looked at through binary outcomes, its views: whether it is class c, or whether it is the
one with the largest probability. All views of a data set come from the same drawn classes, so that
any statistic of labels becomes one of classes. Beside them there are sums Σ_j g_j(y_j) of a number
per row and class, of which the Brier score is one.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from exactregion._typing import FloatArray, IntArray
from exactregion.errors import InvalidValueError
from exactregion.statistics.base import STATISTICS, Custom, Statistic, names_of_statistics
from exactregion.statistics.combined import Multiscale, Omnibus, WithParts, one_over_p
from exactregion.statistics.kernel import Discrepancy

LOWEST_LOG = 37.0
"""No logarithm of a probability is lower: those below 2⁻⁵³ count as 0, and log 2⁻⁵³ = -36.7."""


@dataclass(frozen=True)
class View:
    """A binary outcome: whether the class is number `which`, or the likeliest one where None.

    Its only input is its own probability, or else the inputs that all views share.
    """

    which: int | None
    by_probability: bool

    def successes(self, P: FloatArray) -> IntArray:
        """Return the class that counts as a success in each row of probabilities (n, C)."""
        return P.argmax(axis=1) if self.which is None else np.full(len(P), self.which)

    def probability(self, P: FloatArray) -> FloatArray:
        """Return the probability of a success in each row."""
        return P.max(axis=1) if self.which is None else np.ascontiguousarray(P[:, self.which])


def views_by_probability(n_classes: int) -> list[View]:
    """Return a view of each class, and last that of the likeliest one."""
    return [View(which, by_probability=True) for which in (*range(n_classes), None)]


@dataclass(frozen=True, eq=False)
class Measured:
    """What the engine measured of the m data sets, by what was looked at.

    Attributes
    ----------
    n_classes : int
        The number of classes, C.
    views : dict
        For each view and its statistic Z (m,), then those of the parts of the statistic.
    sums : dict
        For each sum its squared distance (m,) from what is expected.
    """

    n_classes: int
    views: dict[tuple[View, Statistic], list[FloatArray]]
    sums: dict[ClassSum, FloatArray]

    def of_views(self, statistic: ClassStatistic) -> list[list[FloatArray]]:
        """Return what was measured of the views of a statistic."""
        return [self.views[each] for each in statistic.views(self.n_classes)]


class ClassStatistic(ABC):
    """A rule for Z of data sets with several classes."""

    def views(self, n_classes: int) -> list[tuple[View, Statistic]]:
        """Return the binary outcomes that it looks at, each with a statistic."""
        return []

    def sums(self) -> list[ClassSum]:
        """Return the sums over classes that it looks at."""
        return []

    @abstractmethod
    def combine(self, measured: Measured) -> FloatArray:
        """Turn what was measured into Z (m,)."""

    @property
    def parts(self) -> tuple[ClassStatistic, ...]:
        """The statistics that it puts together; none where it is one itself."""
        return ()


class ClassSum(ClassStatistic):
    """(Σ_j g_j(y_j) - E)², with a number g per row and class; a subclass supplies `values`."""

    bound: float = 1.0

    @abstractmethod
    def values(self, P: FloatArray) -> FloatArray:
        """Compute g (n, C) from probabilities (n, C); none is larger than `bound` in size."""

    def sums(self) -> list[ClassSum]:
        """Return the sum itself."""
        return [self]

    def combine(self, measured: Measured) -> FloatArray:
        """Take the sum."""
        return measured.sums[self]


@dataclass(frozen=True)
class Brier(ClassSum):
    """The excess of the Brier score over what it is expected to be, squared.

    Σ_j ‖e_{y_j} - P_j‖² differs from its expectation by -2 Σ_j (P_j[y_j] - ‖P_j‖²): Spiegelhalter's
    statistic (1986), for any number of classes.
    """

    def values(self, P: FloatArray) -> FloatArray:
        """Return the probability of each class."""
        return P


@dataclass(frozen=True)
class Temperature(ClassSum):
    """The score of the temperature, squared: whether all logits should be larger, or smaller.

    Z = (Σ_j (log P_j[y_j] - Σ_c P_jc log P_jc))², the score of the family P^(1/T) / Σ P^(1/T) at
    T = 1, up to a factor that all data sets share.
    """

    bound = LOWEST_LOG

    def values(self, P: FloatArray) -> FloatArray:
        """Return the logarithms of probabilities; an impossible class is dealt with elsewhere."""
        return np.log(np.where(P > 0, P, 1.0))


@dataclass(frozen=True)
class Joint(ClassStatistic):
    """Σ_c Z⁽ᶜ⁾, a statistic of labels summed over the classes, with the inputs that all share.

    With Algorithm III of the paper this is the squared distance in the space of the matrix-valued
    kernel k I: ‖Σ_j Φ(x_j) ⊗ (e_{y_j} - P_j)‖². With x = P it is the squared kernel calibration
    error, up to a factor, which detects any miscalibration of all classes together. Algorithms I
    and II with vote shares of classes, and embeddings on X × classes, are sums over classes as
    well.

    Statistics that go by the smallest p-value of their parts do so after summing each part.

    Parameters
    ----------
    statistic : Statistic
        A statistic of labels; `Discrepancy` without standardised inputs by default, since
        probabilities have one scale.
    """

    statistic: Statistic = field(default_factory=lambda: Discrepancy(standardize=False))

    def views(self, n_classes: int) -> list[tuple[View, Statistic]]:
        """Look at every class."""
        return [(View(c, by_probability=False), self.statistic) for c in range(n_classes)]

    def combine(self, measured: Measured) -> FloatArray:
        """Add the classes, part by part."""
        statistic: Any = self.statistic
        together = statistic.together if isinstance(statistic, Multiscale) else statistic
        totals = [_total(Zs) for Zs in zip(*measured.of_views(self), strict=True)]
        is_omnibus = isinstance(together, Omnibus)
        return _harmonic(totals[1:], together.weights) if is_omnibus else totals[0]


@dataclass(frozen=True)
class ClassWise(ClassStatistic):
    """The mean over classes of a statistic of each class, whose probability is its only input.

    Parameters
    ----------
    statistic : Statistic
        A statistic of labels with the same scale for all classes; `Omnibus` by default.
    """

    statistic: Statistic = field(default_factory=Omnibus)

    def views(self, n_classes: int) -> list[tuple[View, Statistic]]:
        """Look at every class."""
        return [(View(c, by_probability=True), self.statistic) for c in range(n_classes)]

    def combine(self, measured: Measured) -> FloatArray:
        """Compute the mean."""
        return _total([Zs[0] for Zs in measured.of_views(self)]) / measured.n_classes


@dataclass(frozen=True)
class TopLabel(ClassStatistic):
    """A statistic of the largest probability, and of whether that class came true.

    Parameters
    ----------
    statistic : Statistic
        A statistic of labels; `Omnibus` by default.
    """

    statistic: Statistic = field(default_factory=Omnibus)

    def views(self, n_classes: int) -> list[tuple[View, Statistic]]:
        """Look at the likeliest class."""
        return [(View(None, by_probability=True), self.statistic)]

    def combine(self, measured: Measured) -> FloatArray:
        """Take the statistic."""
        return measured.of_views(self)[0][0]


class ClassOmnibus(WithParts, ClassStatistic):
    """Σ_k weight_k / p⁽ᵏ⁾, p⁽ᵏ⁾ the share of the m data sets whose Z⁽ᵏ⁾ is at least as large.

    The smallest of the p-values of the parts decides, as for `Omnibus`. By default the temperature,
    the Brier score, a kernel on the probabilities of all classes, each class by itself, and the top
    label.

    Parameters
    ----------
    *statistics : ClassStatistic
        The parts.
    weights : sequence of float, optional
        A positive weight for each part; equal by default.
    """

    part_type = ClassStatistic
    part_text = "statistics of classes, such as ClassWise()"

    @staticmethod
    def _default_parts() -> tuple[tuple[ClassStatistic, ...], tuple[float, ...]]:
        kernel = Joint(Discrepancy(standardize=False).compact())
        return (Temperature(), Brier(), kernel, ClassWise(), TopLabel()), (1.0,) * 5

    def views(self, n_classes: int) -> list[tuple[View, Statistic]]:
        """Return the views of all parts."""
        return [view for part in self.statistics for view in part.views(n_classes)]

    def sums(self) -> list[ClassSum]:
        """Return the sums of all parts."""
        return [each for part in self.statistics for each in part.sums()]

    def combine(self, measured: Measured) -> FloatArray:
        """Add the inverse p-values of the parts."""
        return _harmonic([part.combine(measured) for part in self.statistics], self.weights)


CLASS_STATISTICS: dict[str, type[ClassStatistic]] = {
    "brier": Brier,
    "classwise": ClassWise,
    "joint": Joint,
    "omnibus": ClassOmnibus,
    "temperature": Temperature,
    "toplabel": TopLabel,
}
"""The statistics of classes that have a name; those of labels are summed over classes."""


def name_of_class_statistic(written: str) -> str:
    """Return the name of a statistic that is written as a call.

    Examples
    --------
    >>> name_of_class_statistic("ClassOmnibus(Temperature(), Brier())")
    'omnibus'
    """
    kind = written.partition("(")[0]
    names = {one.__name__: name for name, one in CLASS_STATISTICS.items()}
    return names.get(kind, kind.lower())


def as_class_statistic(statistic: object, *, calibration: bool) -> ClassStatistic:
    """Turn a name, or a statistic of labels or of classes, into a statistic of classes.

    Examples
    --------
    >>> as_class_statistic("brier", calibration=True)
    Brier()
    >>> as_class_statistic("embedding", calibration=False)  # doctest: +ELLIPSIS
    Joint(statistic=Embedding(...))
    """
    if isinstance(statistic, ClassStatistic):
        return statistic
    if isinstance(statistic, str):
        if statistic == "joint" and not calibration:  # inputs have units, probabilities have none
            return Joint(Discrepancy())
        if statistic == "omnibus" and not calibration:
            return ClassOmnibus(
                Temperature(), Brier(), Joint(Multiscale()), ClassWise(), TopLabel()
            )
        if statistic in CLASS_STATISTICS:
            return CLASS_STATISTICS[statistic]()
        if statistic in STATISTICS:
            statistic = STATISTICS[statistic]()
    if not isinstance(statistic, Statistic) or isinstance(statistic, Custom):
        known = sorted({*CLASS_STATISTICS, *names_of_statistics(needs_family=False)})
        raise InvalidValueError(
            f"must be one of {known} for more than two classes, or an object of "
            f"exactregion.statistics. Got {statistic!r} instead.",
            parameter="statistic",
        )
    if statistic.needs_family:
        raise InvalidValueError(
            "must not need a family where classes share their inputs. Got "
            f"{statistic!r} instead: use ClassWise({statistic!r}), class by class.",
            parameter="statistic",
        )
    return Joint(statistic)


def _total(Zs: Sequence[FloatArray]) -> FloatArray:
    """Add Z (m,) of classes, one after the other."""
    total = Zs[0]
    for Z in Zs[1:]:
        total = total + Z
    return total


def _harmonic(Zs: Sequence[FloatArray], weights: Sequence[float]) -> FloatArray:
    """Add weight / p of each of several Z (m,)."""
    pairs = zip(weights, Zs, strict=True)
    return _total([weight * one_over_p(Z) for weight, Z in pairs])
