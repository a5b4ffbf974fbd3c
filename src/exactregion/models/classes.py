"""Families for outcomes with several classes, P_θ(Y=c|x): multinomial logistic, proportional odds.

The engines work on binary rows. An outcome with the levels 0..C-1 is C - 1 of them, whether Y ≥ k
for k = 1..C-1, which share one uniform. So a family gives P(Y ≥ k | x) for rows (x, k), and what
the score sums over their outcomes.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt
from scipy.special import expit, log_expit, logsumexp

from exactregion._typing import FloatArray, IntArray
from exactregion.errors import InvalidTypeError, InvalidValueError, ModelError
from exactregion.models.base import Bounds, ColumnModel, as_matrix
from exactregion.models.linear import Logistic

NEGLIGIBLE = 2.0**-200
"""Steps of a score that are smaller count as zero, and widths of a class as no smaller: no outcome
tells them apart, and squares neither vanish nor overflow."""


@dataclass(frozen=True)
class ClassModel(ColumnModel):
    """A family of probabilities of C classes; a subclass supplies three methods.

    Parameters
    ----------
    levels : sequence, optional
        The classes as y has them, in order; by default those that y declares or has.
    feature_names : tuple of str, optional
        Names of the columns of X; set by `bind`.
    """

    levels: tuple[Any, ...] | None = None
    feature_names: tuple[str, ...] | None = None
    is_ordered: ClassVar[bool] = False

    def __post_init__(self) -> None:
        """Check the levels."""
        if self.levels is None:
            return
        if isinstance(self.levels, str) or not isinstance(self.levels, Sequence | np.ndarray):
            raise InvalidTypeError(
                f"must be a list of the classes in order. Got {self.levels!r} instead.",
                parameter="levels",
            )
        levels = tuple(np.asarray(self.levels, dtype=object).tolist())
        if len(levels) < 2 or len(set(levels)) < len(levels):
            raise InvalidValueError(
                f"must be two classes or more, each once. Got {list(levels)} instead.",
                parameter="levels",
            )
        object.__setattr__(self, "levels", levels)

    @property
    def default_statistic(self) -> str:
        """Score and discrepancy: likelihood ratios to other members are for two classes."""
        return "combined"

    @abstractmethod
    def thresholds(self, theta: FloatArray, X: FloatArray) -> FloatArray:
        """Compute P_θ(Y ≥ k | x), k = 1..C-1, for a batch: shape (T, n, C - 1)."""

    @abstractmethod
    def score_steps(self, theta: FloatArray, X: FloatArray) -> FloatArray:
        """Compute s_k - s_{k-1}, s_c = ∂ log P_θ(Y = c | x) / ∂θ: shape (T or 1, n, C - 1, d).

        Σ_k (s_k - s_{k-1}) (1{Y ≥ k} - P(Y ≥ k)) is then the score s_Y.
        """

    @abstractmethod
    def log_probabilities(self, theta: FloatArray, X: FloatArray) -> FloatArray:
        """Compute log P_θ(Y = c | x), c = 0..C-1, without cancellation: shape (T, n, C)."""

    def limits_on_directions(self, X: FloatArray, codes: IntArray) -> FloatArray | None:
        """Return rows a (r, d) with a·u ≥ 0 for all directions u that keep outcomes possible.

        Those of outcomes `codes` (n,), however far one goes; None for families that are not linear.
        """
        return None

    def score_of(self, theta: FloatArray, X: FloatArray, c: int) -> FloatArray:
        """Compute s_c = ∂ log P_θ(Y = c | x) / ∂θ of one class: shape (T, n, d)."""
        with np.errstate(all="ignore"):
            steps = self.score_steps(theta, X)
            # s_0 is what makes the expectation of the score zero
            first = -(self.thresholds(theta, X)[..., None] * steps).sum(axis=2)
            found = first + steps[:, :, :c].sum(axis=2)
        return np.where(np.isfinite(found), found, 0.0)

    @property
    def labels(self) -> tuple[Any, ...]:
        """The classes in order; an error where they are not known yet."""
        if self.levels is None:
            raise InvalidValueError(
                f"The parameters of {type(self).__name__} depend on the classes: "
                "give levels, the classes in order."
            )
        return self.levels

    def with_levels(self, levels: Sequence[Any]) -> Self:
        """Return the model for outcomes with these classes, in order."""
        return replace(self, levels=tuple(levels))

    def probabilities(self, theta: npt.ArrayLike, X: Any) -> FloatArray:
        """Compute P_θ(Y = c | x) in each of n rows of X: shape (n, C), or (T, n, C) for a batch."""
        model = self.for_inputs(X)
        batch, single = model.as_batch(theta)
        P = np.exp(model.log_probabilities(batch, as_matrix(X, model.feature_names)))
        if np.isnan(P).any():
            raise ModelError(
                "The model must give probabilities. Got numbers too large for doubles instead."
            )
        return P[0] if single else P

    def evaluate(self, theta: FloatArray, X: Any) -> FloatArray:
        """Compute P_θ(Y ≥ k | x) for rows (x, k), or for rows x where C = 2: shape (T, rows)."""
        found = self.on_rows(X)
        return found(theta)

    def on_rows(self, X: Any) -> Callable[[FloatArray], FloatArray]:
        """Read rows (x, k) once; those of one x are computed together where they are."""
        x, which = self._inputs_of(X)

        def evaluate(theta: FloatArray) -> FloatArray:
            # rounding must not let P(Y ≥ k) rise with k: labels would not be those of a class
            q = np.minimum.accumulate(self.thresholds(theta, x), axis=-1)
            return _of_rows(q, which)

        return evaluate

    def differentiate(self, theta: FloatArray, X: Any) -> FloatArray:
        """Compute what the score sums over the outcomes of rows (x, k): shape (T, rows, d)."""
        x, which = self._inputs_of(X)
        steps = _of_rows(self.score_steps(theta, x), which)
        return np.broadcast_to(steps, (len(theta), *steps.shape[1:]))

    def _inputs_of(self, X: Any) -> tuple[FloatArray, IntArray | None]:
        """Return the inputs x of rows (x, k), and k - 1 of each; None for all k of each x."""
        rows, number = as_matrix(X), len(self.labels) - 1
        if number == 1:
            return rows, None
        x, k = rows[:, :-1], rows[:, -1]
        if len(x) % number == 0:
            first = x[::number]
            is_whole = np.array_equal(k, np.tile(np.arange(1.0, number + 1), len(first)))
            if is_whole and np.array_equal(x, np.repeat(first, number, axis=0)):
                return np.ascontiguousarray(first), None
        return np.ascontiguousarray(x), k.astype(np.int64) - 1


def _of_rows(values: FloatArray, which: IntArray | None) -> FloatArray:
    """Put values (T, n, C - 1, …) of inputs into those of rows (x, k): shape (T, rows, …)."""
    if which is None:
        return values.reshape(len(values), -1, *values.shape[3:])
    return values[:, np.arange(len(which)), which]


@dataclass(frozen=True)
class Multinomial(ClassModel):
    """Multinomial logistic regression, P(Y = c) = exp(η_c) / Σ_b exp(η_b), η_0 = 0.

    The first class is the baseline, and every other class has a linear predictor of its own:
    exp of a slope is the odds ratio of the class relative to the baseline. Parameters are
    named after class and column, "virginica:width".

    Parameters
    ----------
    levels : sequence, optional
        The classes, the baseline first; by default the categories of y, or its labels, sorted.
    feature_names : tuple of str, optional
        Names of the columns of X; set by `bind`.
    intercept : bool
        Whether each predictor has an intercept.

    Examples
    --------
    >>> model = Multinomial(levels=["low", "mid", "high"])
    >>> model.probabilities([0.0, 1.0, -1.0, 2.0], [0.0, 1.0]).round(3)
    array([[0.422, 0.422, 0.155],
           [0.155, 0.422, 0.422]])
    >>> model.bind(["dose"]).parameter_names
    ('mid:intercept', 'mid:dose', 'high:intercept', 'high:dose')
    """

    intercept: bool = True

    @property
    def parameter_names(self) -> tuple[str, ...]:
        """Class by class but for the baseline: the intercept, if any, and the columns of X."""
        names = (("intercept",) if self.intercept else ()) + self.columns
        return tuple(f"{level}:{name}" for level in self.labels[1:] for name in names)

    @property
    def has_constant_gradient(self) -> bool:
        """Whether the steps of the score are the same for every θ."""
        return type(self) is Multinomial

    def _predictors(self, theta: FloatArray, X: FloatArray) -> FloatArray:
        """Compute η_0 = 0, η_1, …: shape (C, T, n)."""
        model = Logistic(intercept=self.intercept)
        parts = np.split(theta, len(self.labels) - 1, axis=1)
        others = [model.linear_predictor(part, X) for part in parts]
        return np.stack([np.zeros_like(others[0]), *others])

    def thresholds(self, theta: FloatArray, X: FloatArray) -> FloatArray:
        """Compute the odds of the last classes against the first; with C = 2 it is the logit."""
        eta = self._predictors(theta, X)
        with np.errstate(invalid="ignore"):
            below = np.logaddexp.accumulate(eta[:-1], axis=0)
            above = np.logaddexp.accumulate(eta[:0:-1], axis=0)[::-1]
            return np.ascontiguousarray(np.moveaxis(expit(above - below), 0, -1))

    def score_steps(self, theta: FloatArray, X: FloatArray) -> FloatArray:
        """Compute (1, x) ⊗ (e_k - e_{k-1}), since s_c = (1, x) ⊗ (e_c - p) in C - 1 blocks."""
        rows, number = Logistic(intercept=self.intercept).linear_design(X), len(self.labels) - 1
        contrasts = np.eye(number) - np.eye(number, k=-1)
        steps = contrasts[None, :, :, None] * rows[:, None, None, :]
        return np.asarray(steps.reshape(1, len(rows), number, -1))

    def limits_on_directions(self, X: FloatArray, codes: IntArray) -> FloatArray | None:
        """Return the design of η_y - η_b, for each other class b."""
        design, C = Logistic(intercept=self.intercept).linear_design(X), len(self.labels)
        blocks = np.vstack([np.zeros(C - 1), np.eye(C - 1)])  # the baseline has no parameters
        differences = blocks[codes][:, None, :] - blocks  # (n, C, C - 1)
        rows = differences[..., None] * design[:, None, None, :]
        others = np.arange(C) != codes[:, None]
        return np.asarray(rows[others].reshape(-1, (C - 1) * design.shape[1]))

    def log_probabilities(self, theta: FloatArray, X: FloatArray) -> FloatArray:
        """Compute η_c - log Σ_b exp(η_b)."""
        eta = self._predictors(theta, X)
        with np.errstate(invalid="ignore"):
            return np.ascontiguousarray(np.moveaxis(eta - logsumexp(eta, axis=0), 0, -1))


@dataclass(frozen=True)
class ProportionalOdds(ClassModel):
    """Proportional odds for ordered classes, P(Y ≤ k) = expit(c_k - x·β), with one β for all k.

    Also known as cumulative or ordered logit; signs are those of `polr` in R and of `OrderedModel`
    in statsmodels. A positive slope makes higher classes likelier, and exp(β) is the odds ratio
    of Y > k, whatever k is. The cut points must increase. So the parameters are the first cut
    point, named "low|mid" after the classes on both sides, then the distance of each further one
    from the one before, "width of mid", at least 0, and the slopes; `cut_points` adds them up.

    Parameters
    ----------
    levels : sequence, optional
        The classes from the lowest to the highest; by default the categories of y, if these are
        ordered, or its labels, if these are numbers.
    feature_names : tuple of str, optional
        Names of the columns of X; set by `bind`.

    Examples
    --------
    >>> model = ProportionalOdds(levels=["low", "mid", "high"])
    >>> model.probabilities([-1.0, 2.0, 1.0], [0.0, 1.0]).round(3)
    array([[0.269, 0.462, 0.269],
           [0.119, 0.381, 0.5  ]])
    >>> model.bind(["dose"]).parameter_names
    ('low|mid', 'width of mid', 'dose')
    >>> model.cut_points([-1.0, 2.0, 1.0])
    array([-1.,  1.])
    """

    is_ordered: ClassVar[bool] = True

    @property
    def parameter_names(self) -> tuple[str, ...]:
        """The first cut point, the widths of the classes between two, and the columns of X."""
        low, *middle, high = map(str, self.labels)
        first = f"{low}|{middle[0] if middle else high}"
        return (first, *(f"width of {level}" for level in middle), *self.columns)

    @property
    def bounds(self) -> Bounds:
        """Widths are 0 or more."""
        widths = ((0.0, np.inf),) * (len(self.labels) - 2)
        return ((-np.inf, np.inf), *widths, *(((-np.inf, np.inf),) * len(self.columns)))

    def cut_points(self, theta: npt.ArrayLike) -> FloatArray:
        """Return the cut points c_1 ≤ … ≤ c_{C-1} of θ: shape (C - 1,), or (T, C - 1)."""
        return np.cumsum(np.asarray(theta)[..., : len(self.labels) - 1], axis=-1)

    def _predictors(self, theta: FloatArray, X: FloatArray) -> FloatArray:
        """Compute x·β - c_k: shape (T, n, C - 1)."""
        number = len(self.labels) - 1
        shifted = np.concatenate([-theta[:, :1], theta[:, number:]], axis=1)
        first = Logistic().linear_predictor(shifted, X)
        above = np.cumsum(theta[:, 1:number], axis=1)
        above = np.concatenate([np.zeros((len(theta), 1)), above], axis=1)
        return np.asarray(first[:, :, None] - above[:, None, :])

    def thresholds(self, theta: FloatArray, X: FloatArray) -> FloatArray:
        """Compute expit(x·β - c_k)."""
        return np.asarray(expit(self._predictors(theta, X)))

    def score_steps(self, theta: FloatArray, X: FloatArray) -> FloatArray:
        """Compute differences of s_c.

        With q_k = P(Y ≥ k), where x·β - c_k moves for both ends of class c by δ, s_c is
        (1 - q_c - q_{c+1}) δ; where its upper cut point alone moves up, it is
        q_{c+1} (1 - q_{c+1}) / p_c.
        """
        eta = self._predictors(theta, X)
        T, n, number = eta.shape
        q = np.concatenate([np.ones((T, n, 1)), expit(eta), np.zeros((T, n, 1))], axis=-1)
        common = 1 - q[..., :-1] - q[..., 1:]
        design = Logistic().linear_design(X) * np.array([-1.0] + [1.0] * X.shape[1])
        shared = common[..., None] * design[:, None, :]
        steps = np.empty((T, n, number, theta.shape[1]))
        moved = np.diff(shared, axis=2)
        steps[..., 0], steps[..., number:] = moved[..., 0], moved[..., 1:]
        ratio = np.exp(log_expit(eta[..., 1:]) - log_expit(eta[..., :-1]))
        of_width = ratio / np.maximum(-np.expm1(-theta[:, None, 1:number]), NEGLIGIBLE)
        for index in range(1, number):
            scores = np.where(np.arange(number + 1) > index, -common, 0.0)
            scores[..., index] = of_width[..., index - 1]
            steps[..., index] = np.diff(scores, axis=-1)
        return np.where(np.abs(steps) < NEGLIGIBLE, 0.0, steps)

    def limits_on_directions(self, X: FloatArray, codes: IntArray) -> FloatArray | None:
        """Return the design of x·β - c_y, of c_{y+1} - x·β, and of the widths."""
        number, d = len(self.labels) - 1, len(self.labels) - 1 + X.shape[1]
        above = np.zeros((number + 2, number))  # c_k as a sum of the first parameters
        above[1:-1] = np.tri(number)
        lower = np.hstack([-above[codes], X])[codes > 0]
        upper = np.hstack([above[codes + 1], -X])[codes < number]
        return np.vstack([lower, upper, np.eye(d)[1:number]])

    def log_probabilities(self, theta: FloatArray, X: FloatArray) -> FloatArray:
        """Compute log(q_c - q_{c+1}) as log q_c + log(1 - q_{c+1}) + log(1 - exp(-width))."""
        eta = self._predictors(theta, X)
        none = np.zeros((*eta.shape[:2], 1))
        with np.errstate(divide="ignore"):
            between = np.log(-np.expm1(-theta[:, None, 1 : eta.shape[2]]))
        between = np.broadcast_to(between, (*eta.shape[:2], between.shape[-1]))
        lower = np.concatenate([none, log_expit(eta)], axis=-1)
        upper = np.concatenate([log_expit(-eta), none], axis=-1)
        return np.asarray(lower + upper + np.concatenate([none, between, none], axis=-1))
