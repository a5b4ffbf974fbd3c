"""The contract of a statistic: rows to numbers Z, by a rule that treats all rows alike.

A statistic is prepared once from the inputs (never the outcomes). For a batch of candidates it
gives a `Rule`: the projections that turn each of the m data sets into a point, how far points are
from their centre, and the function that makes Z of that. The engine owns everything in between.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from exactregion._typing import FloatArray
from exactregion.data.sample import Inputs
from exactregion.errors import InvalidTypeError, InvalidValueError
from exactregion.features.grid import Labels, Projection
from exactregion.models.base import Model
from exactregion.statistics.streamed import StreamRule, Survey

__all__ = [
    "Candidates",
    "Custom",
    "PreparedStatistic",
    "Rule",
    "Statistic",
    "Term",
    "no_family_error",
]


@dataclass(frozen=True, eq=False)
class Candidates:
    """A batch of T candidates on the rows of one data set.

    Attributes
    ----------
    inputs : Inputs
        The rows.
    probabilities : ndarray of shape (T, n)
        P(Y=+1|x) of each candidate in each row.
    is_counts : bool
        Whether rows are counts, not labels.
    model, theta : Model and ndarray of shape (T, d), or None
        Where the candidates come from a family.
    """

    inputs: Inputs
    probabilities: FloatArray
    is_counts: bool = False
    model: Model | None = None
    theta: FloatArray | None = None

    def __len__(self) -> int:
        """Return the number of candidates, T."""
        return len(self.probabilities)

    @property
    def family_theta(self) -> FloatArray:
        """The parameters; an error for fixed candidates."""
        return self._family[1]

    @cached_property
    def logit_gradient(self) -> FloatArray:
        """Gradient of logit P in θ: shape (T, n, d), one for all where it is the same."""
        model, theta = self._family
        asked = theta[:1] if model.has_constant_gradient else theta
        gradient = model.logit_gradient(asked, self.inputs.user_rows)[:, self.inputs.order]
        return np.broadcast_to(gradient, (len(theta), *gradient.shape[1:]))

    @property
    def has_constant_gradient(self) -> bool:
        """Whether the gradient is the same for every θ."""
        return self._family[0].has_constant_gradient

    @property
    def _family(self) -> tuple[Model, FloatArray]:
        if self.model is None or self.theta is None:
            raise no_family_error()
        return self.model, self.theta


def no_family_error() -> InvalidValueError:
    """Make the error for a score that is asked of a fixed candidate."""
    return InvalidValueError(
        "must not use the score for a fixed candidate, which "
        "has no parameters. Got 'score', 'combined' or 'omnibus' instead: use 'multiscale', "
        "'discrepancy', 'embedding' or 'neighborhood', or a ConfidenceRegion of a family.",
        parameter="statistic",
    )


class Statistic(ABC):
    """A recipe for Z; a subclass supplies `prepare`."""

    @property
    def collapses(self) -> bool:
        """Whether equal rows may be worked on as one row of counts."""
        return False

    @abstractmethod
    def prepare(self, inputs: Inputs, m: int) -> PreparedStatistic:
        """Do all that depends on the inputs and the number m of data sets alone."""

    def prepare_briefly(self, inputs: Inputs, m: int) -> PreparedStatistic:
        """Do the same with less to work on, where that changes Z by little."""
        return self.prepare(inputs, m)

    def stream(self, survey: Survey, m: int) -> StreamRule | None:
        """Do the same for rows that come in pieces; None where they must all be there at once."""
        return None


class PreparedStatistic(ABC):
    """A statistic made ready for the inputs of one data set; a subclass supplies `rule`."""

    @abstractmethod
    def rule(self, candidates: Candidates) -> Rule:
        """Do all that depends on the candidates alone."""


@dataclass(frozen=True, eq=False)
class Term:
    """One kind of points, and how far they lie from their centre.

    Attributes
    ----------
    projection : Projection
        What turns the m data sets of each candidate into points.
    measure : callable
        The points (r, T, m) to numbers (T, m). Engines compute those of
        `exactregion.statistics.measures` on the way, without keeping the points.
    """

    projection: Projection
    measure: Callable[[FloatArray], FloatArray]


def _the_only_one(measured: Sequence[FloatArray]) -> FloatArray:
    return measured[0]


@dataclass(frozen=True, eq=False)
class Rule:
    """The statistic at a batch of T candidates.

    Attributes
    ----------
    terms : tuple of Term
        What is measured.
    merge : callable
        The measures, an array (T, m) for each term, to Z of shape (T, m).
    """

    terms: tuple[Term, ...]
    merge: Callable[[Sequence[FloatArray]], FloatArray] = _the_only_one

    @property
    def projections(self) -> tuple[Projection, ...]:
        """The projection of each term."""
        return tuple(term.projection for term in self.terms)

    def values(self, points: Sequence[FloatArray]) -> FloatArray:
        """Turn the points (r, T, m) of each term into Z (T, m)."""
        pairs = zip(self.terms, points, strict=True)
        return self.merge([term.measure(own) for term, own in pairs])


@dataclass(frozen=True)
class Custom(Statistic):
    """Any function of labels and probabilities.

    Parameters
    ----------
    function : callable (labels (m, n), probabilities (n,), X) -> Z (m,)
        Labels are -1/+1; for counts they are numbers of successes. The function must treat all rows
        alike, or the rank is not exact. Columns, probabilities and X are in the order of your rows.

    Examples
    --------
    The number of surprises, as a statistic:

    >>> Custom(lambda labels, p, X: ((labels > 0) != (p > 0.5)).sum(axis=1))  # doctest: +ELLIPSIS
    Custom(function=<function <lambda> at ...>)
    """

    function: Callable[..., Any]

    def __post_init__(self) -> None:
        """Check the function."""
        if not callable(self.function):
            raise InvalidTypeError(
                f"of Custom must be callable. Got {type(self.function).__name__} instead.",
                parameter="function",
            )

    def prepare(self, inputs: Inputs, m: int) -> PreparedStatistic:
        """Remember the function."""
        return _PreparedCustom(self.function, Labels(len(inputs)))


@dataclass(frozen=True)
class _PreparedCustom(PreparedStatistic):
    function: Callable[..., Any]
    labels: Labels

    def rule(self, candidates: Candidates) -> Rule:
        def values(points: FloatArray) -> FloatArray:
            inputs = candidates.inputs
            data_sets = inputs.to_user_order(points.transpose(1, 2, 0)).astype(np.int64)
            if not candidates.is_counts:
                data_sets = 2 * data_sets - 1
            P = inputs.to_user_order(candidates.probabilities)
            pairs = zip(data_sets, P, strict=True)
            return np.stack([self._one(labels, p, inputs.user_rows) for labels, p in pairs])

        return Rule((Term(self.labels, values),))

    def _one(self, labels: Any, probabilities: FloatArray, X: Any) -> FloatArray:
        answer = self.function(labels, probabilities, X)
        try:
            Z = np.asarray(answer, dtype=np.float64)
        except (TypeError, ValueError) as error:
            raise InvalidTypeError(
                "A callable statistic must give one number a row of labels. "
                f"Got {type(answer).__name__} instead."
            ) from error
        if Z.shape != (len(labels),) or np.isnan(Z).any():
            raise InvalidValueError(
                "A callable statistic must give one number a row of labels, shape "
                f"({len(labels)},), without NaN. Got shape {Z.shape} with "
                f"{int(np.isnan(Z).sum())} NaN instead."
            )
        return Z
