"""Several statistics as one: by their sum, or by the smallest of their p-values."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from exactregion._typing import FloatArray
from exactregion.data.sample import Inputs
from exactregion.errors import InvalidTypeError, InvalidValueError
from exactregion.statistics.base import Candidates, PreparedStatistic, Rule, Statistic
from exactregion.statistics.curvature import Curvature
from exactregion.statistics.discrepancy import Discrepancy
from exactregion.statistics.score import Score
from exactregion.statistics.spiegelhalter import Spiegelhalter
from exactregion.statistics.streamed import StreamRule, Survey

__all__ = ["Combined", "Omnibus"]

NARROW = 0.125
"""Bandwidth of the narrow kernel of `Omnibus`, in units of the spread of each input."""


class _Sum(Statistic):
    """Σ_k weight_k · scaled(Z⁽ᵏ⁾); a subclass says how parts are brought to one scale."""

    def __init__(self, *statistics: Statistic, weights: Sequence[float] | None = None) -> None:
        name = type(self).__name__
        for statistic in statistics:
            if not isinstance(statistic, Statistic):
                raise InvalidTypeError(
                    f"The parts of {name} must be statistics, such as Score(). "
                    f"Got {statistic!r} instead."
                )
        parts, usual = self._usual_parts()
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
                f"of {name} must have a positive number for each of the "
                f"{len(self.statistics)} parts. Got {weights!r} instead.",
                parameter="weights",
            )

    @staticmethod
    @abstractmethod
    def _usual_parts() -> tuple[tuple[Statistic, ...], tuple[float, ...]]:
        """Give the parts and weights where the user names none."""

    @staticmethod
    @abstractmethod
    def _scaled(Z: FloatArray) -> FloatArray:
        """Bring Z (T, m) to the common scale, by a rule that treats the m data sets alike."""

    def __repr__(self) -> str:
        """Show parts and weights."""
        parts = ", ".join(repr(statistic) for statistic in self.statistics)
        return f"{type(self).__name__}({parts}, weights={self.weights})"

    @property
    def collapses(self) -> bool:
        """Whether equal rows may be worked on as one row of counts: where all parts may."""
        return all(statistic.collapses for statistic in self.statistics)

    def prepare(self, inputs: Inputs, m: int) -> PreparedStatistic:
        """Prepare each part."""
        parts = tuple(self._prepared(statistic, inputs, m) for statistic in self.statistics)
        return _PreparedSum(parts, self.weights, self._scaled)

    @staticmethod
    def _prepared(statistic: Statistic, inputs: Inputs, m: int) -> PreparedStatistic:
        return statistic.prepare(inputs, m)

    def stream(self, survey: Survey, m: int) -> StreamRule | None:
        """Stream where all parts do."""
        rules = [statistic.stream(survey, m) for statistic in self.statistics]
        kept = [rule for rule in rules if rule is not None]
        if len(kept) < len(rules):
            return None
        terms = tuple(term for rule in kept for term in rule.terms)
        return StreamRule(terms, _merge_of(kept, self.weights, self._scaled))


@dataclass(frozen=True, eq=False)
class _PreparedSum(PreparedStatistic):
    parts: tuple[PreparedStatistic, ...]
    weights: tuple[float, ...]
    scaled: Callable[[FloatArray], FloatArray]

    def rule(self, candidates: Candidates) -> Rule:
        rules = [part.rule(candidates) for part in self.parts]
        terms = tuple(term for rule in rules for term in rule.terms)
        return Rule(terms, _merge_of(rules, self.weights, self.scaled))


def _merge_of(
    rules: Sequence[Rule | StreamRule],
    weights: Sequence[float],
    scaled: Callable[[FloatArray], FloatArray],
) -> Callable[[Sequence[FloatArray]], FloatArray]:
    """Make the sum of what the parts make of their own measures."""

    def merge(measured: Sequence[FloatArray]) -> FloatArray:
        remaining = iter(measured)
        total = np.zeros_like(measured[0])
        for rule, weight in zip(rules, weights, strict=True):
            own = [next(remaining) for _ in rule.terms]
            total += weight * scaled(rule.merge(own))
        return total

    return merge


class Combined(_Sum):
    """Σ_k weight_k · Z⁽ᵏ⁾ / mean(Z⁽ᵏ⁾), the means over the m data sets.

    By default score + 0.3 · discrepancy: near the power of the score, and consistent against every
    false f. Regions are searched by it, so kernels with many features leave out those that weigh
    less than one row of data does: Z changes a little, ranks stay exact, and searches take a
    fraction of the time.

    Parameters
    ----------
    *statistics : Statistic
        The parts; ``Score(), Discrepancy()`` by default.
    weights : sequence of float, optional
        A positive weight for each part; (1, 0.3) for the default parts, else equal.
    """

    @staticmethod
    def _usual_parts() -> tuple[tuple[Statistic, ...], tuple[float, ...]]:
        return (Score(), Discrepancy()), (1.0, 0.3)

    @staticmethod
    def _prepared(statistic: Statistic, inputs: Inputs, m: int) -> PreparedStatistic:
        return statistic.prepare_briefly(inputs, m)

    @staticmethod
    def _scaled(Z: FloatArray) -> FloatArray:
        """Z / mean(Z) over the finite ones of each row; 0/0 is 0.

        They are rounded before they are added, so that no sum is, and the mean does not depend on
        the order of the data sets.
        """
        known = np.isfinite(Z)
        finite = Z if known.all() else np.where(known, Z, 0.0)
        _, exponent = np.frexp(np.abs(finite).max(axis=-1, keepdims=True))
        bits = 53 - Z.shape[-1].bit_length() - exponent
        total = np.rint(np.ldexp(finite, bits)).sum(axis=-1, keepdims=True)
        number = np.maximum(known.sum(axis=-1, keepdims=True), 1)
        mean = np.ldexp(total / number, -bits)  # the sum itself may be too large
        return np.asarray(Z / np.where(mean > 0, mean, 1.0))


class Omnibus(_Sum):
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
    def _usual_parts() -> tuple[tuple[Statistic, ...], tuple[float, ...]]:
        kernels = Discrepancy(), Discrepancy(bandwidth=NARROW)
        return (Score(), Spiegelhalter(), Curvature(), *kernels), (1.0, 1.0, 0.5, 0.5, 0.5)

    @staticmethod
    def _scaled(Z: FloatArray) -> FloatArray:
        """1 / p of each data set among the m; equal ones have equal p."""
        smaller = [np.searchsorted(np.sort(row), row) for row in Z]
        m = Z.shape[-1]
        return np.asarray(m / (m - np.array(smaller).reshape(Z.shape)))
