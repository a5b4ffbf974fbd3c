"""The contract of a statistic: which numbers it looks at per row, and how points are measured.

A statistic gives Z to each of the m data sets by a rule that treats all of them alike. It supplies
one method, `terms`, from the inputs alone (never the outcomes). A term says which columns Φ it sums
over the outcomes of a data set, v_i = Φᵀ k_i, and how far v_i is from the centre of the cloud. The
engines own everything else: rounding, centres, information, certainties, chunks of rows, and paths
of θ. Written once, a statistic works in memory, along paths, on files and on clusters.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
from scipy import sparse

from exactregion._typing import FloatArray, IntArray
from exactregion.data.reading import read_only
from exactregion.data.sample import Inputs
from exactregion.errors import InvalidTypeError, InvalidValueError
from exactregion.features.landmarks import InputSummary, Landmarks
from exactregion.models.base import Model
from exactregion.statistics.measures import Measure, OfLabels

STATISTICS: dict[str, type[Statistic]] = {}
"""The statistics that have a name; a subclass of `Statistic` adds itself by ``name="..."``."""


@dataclass(frozen=True, eq=False)
class Candidates:
    """A batch of T candidates on rows of data.

    Attributes
    ----------
    inputs : Inputs
        The rows: all of them in memory, or one of the chunks that they come in.
    probabilities : ndarray of shape (T, n)
        P(Y=+1|x) of each candidate in each row.
    is_counts : bool
        Whether rows are counts, not labels.
    model, theta : Model and ndarray of shape (T, d), or None
        Where the candidates come from a family.
    constant_gradient : ndarray of shape (1, n, d), optional
        That of the logit, where it is the same for every θ and known already; zero at a certainty.
    distinct : (ndarray of shape (T, k), ndarray of shape (n,)), optional
        Probabilities, and which of them each row has, where rows are known to share them.
    """

    inputs: Inputs
    probabilities: FloatArray
    is_counts: bool = False
    model: Model | None = None
    theta: FloatArray | None = None
    constant_gradient: FloatArray | None = None
    distinct: tuple[FloatArray, IntArray] | None = None

    def __post_init__(self) -> None:
        """Protect the arrays, which columns of users are computed from."""
        object.__setattr__(self, "probabilities", read_only(self.probabilities))
        object.__setattr__(self, "theta", read_only(self.theta))

    def __len__(self) -> int:
        """Return the number of candidates, T."""
        return len(self.probabilities)

    @cached_property
    def extremes(self) -> tuple[float, float]:
        """The smallest and the largest probability."""
        P = self.probabilities if self.distinct is None else self.distinct[0]
        return float(P.min()), float(P.max())

    @property
    def has_constant_gradient(self) -> bool:
        """Whether the gradient is the same for every θ."""
        return self.family[0].has_constant_gradient

    @cached_property
    def logit_gradient(self) -> FloatArray:
        """∂η, the gradient of logit P in θ: shape (T, n, d).

        Zero at a certainty, where the logit is infinite; of several classes it is what the score
        sums over the outcomes Y ≥ k, which is finite. One array for all candidates, broadcast,
        where it is the same for all.
        """
        model, theta = self.family
        P, (low, high) = self.probabilities, self.extremes
        gradient = self.constant_gradient
        if gradient is None:
            same = model.has_constant_gradient
            gradient = model.logit_gradient(theta[:1] if same else theta, self.inputs.user_rows)
            if not self.inputs.is_in_user_order:
                gradient = gradient[:, self.inputs.order]
            gradient = np.where(np.isfinite(gradient), gradient, 0.0)
        if not (low > 0 and high < 1) and self.inputs.levels == 1:
            gradient = np.where(((P > 0) & (P < 1))[:, :, None], gradient, 0.0)
        return np.broadcast_to(gradient, (len(P), *gradient.shape[1:]))

    @property
    def family(self) -> tuple[Model, FloatArray]:
        """The model and θ; an error for fixed candidates."""
        if self.model is None or self.theta is None:
            raise needs_family_error()
        return self.model, self.theta


@dataclass(frozen=True, eq=False)
class Term:
    """Numbers per row, and how far their sums over a data set are from what a candidate expects.

    Attributes
    ----------
    columns : callable, ndarray, sparse array, Landmarks or None
        Φ. A function of `Candidates` to (T, n, r), called with all rows or with a chunk of them; or
        an array (n, r) in the order of ``inputs.rows``, or features of a kernel, which all
        candidates share. None for `OfLabels`.
    measure : FromCentre, FromMean, Whitened or OfLabels
        From points v_i = Φᵀ k_i to numbers.
    bound : float or ndarray of shape (r,), optional
        No column is larger, in absolute value; a number for a single column. Columns that are
        functions of candidates need it where rows come in chunks. Where all rows are in memory, it
        is measured.
    compact : bool
        Whether sums may be made in single precision, with fewer bits per column.
    """

    columns: Callable[[Candidates], FloatArray] | FloatArray | sparse.csr_array | Landmarks | None
    measure: Measure
    bound: FloatArray | float | None = None
    compact: bool = False


Terms: TypeAlias = Term | Sequence["Terms"]
"""A term, or a list of them as several statistics together have it."""


class Statistic(ABC):
    """A rule for Z; a subclass supplies `terms`, and `combine` where there are several.

    Examples
    --------
    Outcomes weighted by how extreme their predictions are. With ``name="extremes"`` beside
    `Statistic` it would be available as ``statistic="extremes"`` too:

    >>> import exactregion as er
    >>> from exactregion.statistics import FromCentre, Statistic, Term
    >>> class Extremes(Statistic):
    ...     def terms(self, inputs):
    ...         def columns(candidates):
    ...             return ((2 * candidates.probabilities - 1) ** 3)[:, :, None]
    ...
    ...         return [Term(columns, FromCentre(), bound=1.0)]
    >>> y, p = [1, 0, 1, 1], [0.9, 0.2, 0.6, 0.3]
    >>> er.calibration_test(y, p, statistic=Extremes(), n_resamples=99, rng=0).pvalue > 0.05
    True
    """

    def __init_subclass__(cls, *, name: str | None = None, **kwargs: Any) -> None:
        """Add the statistic to those that have a name."""
        super().__init_subclass__(**kwargs)
        if name is None:
            return
        known = STATISTICS.get(name)
        if known is not None and known.__qualname__ != cls.__qualname__:
            raise InvalidValueError(
                f"of a statistic must be new. Got {name!r} instead, which is {known.__name__}.",
                parameter="name",
            )
        STATISTICS[name] = cls

    @abstractmethod
    def terms(self, inputs: InputSummary) -> Sequence[Terms]:
        """Return what is summed and measured: a list of terms, or of lists of terms."""

    def combine(self, values: Sequence[Any], expected: Sequence[Any]) -> FloatArray:
        """Turn what was measured into Z (T, m).

        `values` is a list like that of `terms`, with an array (T, m) in place of each term.
        `expected` is one with the expectation (T,) under the candidate, where it is known and
        `uses_expectations`; else None.
        """
        if len(values) != 1:
            raise InvalidTypeError(
                f"{type(self).__name__} must have a method combine(values, expected) for its "
                f"{len(values)} terms. Got none instead."
            )
        return np.asarray(values[0])

    @property
    def parts(self) -> tuple[Statistic, ...]:
        """The statistics that it puts together; none where it is one itself."""
        return ()

    def combine_parts(self, values: Sequence[Any], expected: Sequence[Any]) -> list[FloatArray]:
        """Turn what was measured into Z (T, m) of each of the `parts`, as each is on its own."""
        return []

    @property
    def needs_all_rows(self) -> bool:
        """Whether all rows must be in memory at once."""
        return False

    @property
    def needs_family(self) -> bool:
        """Whether candidates must come from a family with parameters."""
        return False

    @property
    def merges_equal_rows(self) -> bool:
        """Whether equal rows may be treated as one row of counts."""
        return True

    @property
    def uses_expectations(self) -> bool:
        """Whether `combine` uses the expectations of the terms."""
        return False

    def compact(self) -> Statistic:
        """Return the same statistic with fewer features, where that changes Z by little."""
        return self


def names_of_statistics(**properties: bool) -> list[str]:
    """List the statistics whose properties are as given, such as ``needs_family=False``."""
    if not properties:
        return sorted(STATISTICS)
    made = {name: as_made for name, kind in STATISTICS.items() if (as_made := _made(kind))}
    return sorted(
        name
        for name, statistic in made.items()
        if all(getattr(statistic, key) == value for key, value in properties.items())
    )


def _made(kind: type[Statistic]) -> Statistic | None:
    """Make a statistic without arguments; None where it needs some."""
    try:
        return kind()
    except TypeError:
        return None


def needs_family_error() -> InvalidValueError:
    """Make the error for the score of a fixed candidate."""
    return InvalidValueError(
        "must not use the score for a fixed candidate, which has no parameters. Got one of "
        f"{names_of_statistics(needs_family=True)}, or a statistic with such a part, instead: use "
        f"one of {names_of_statistics(needs_family=False)}, or a ConfidenceRegion of a family.",
        parameter="statistic",
    )


@dataclass(frozen=True)
class Custom(Statistic):
    """Any function of labels and probabilities.

    Parameters
    ----------
    function : callable (labels (m, n), probabilities (n,), X) -> Z (m,)
        Labels are -1/+1; for counts they are numbers of successes. The function must treat all rows
        alike, or the rank is not exact. Columns, probabilities and X are in the order of your rows;
        X is read-only.

    Examples
    --------
    The number of surprises, as a statistic:

    >>> Custom(lambda labels, p, X: ((labels > 0) != (p > 0.5)).sum(axis=1))  # doctest: +ELLIPSIS
    Custom(function=<function <lambda> at ...>)
    """

    function: Callable[..., Any]
    needs_all_rows = True
    merges_equal_rows = False

    def __post_init__(self) -> None:
        """Check the function."""
        if not callable(self.function):
            raise InvalidTypeError(
                f"of Custom must be callable. Got {type(self.function).__name__} instead.",
                parameter="function",
            )

    def terms(self, inputs: InputSummary) -> Sequence[Term]:
        """Look at the labels themselves."""
        return [Term(None, OfLabels(self.function))]
