"""The contract of a family of probability models, P_θ(Y=+1|x)."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from exactregion._typing import FloatArray, IntArray
from exactregion.data.reading import as_real, numeric, percent_hint, read_inputs, read_only
from exactregion.errors import InvalidTypeError, InvalidValueError, ModelError

Bounds = tuple[tuple[float, float], ...]

SMALL_STEP = float(np.finfo(np.float64).eps ** (1 / 3))
"""First step of central differences, relative to the parameter: it balances their rounding error,
eps / step, and their truncation error, step²."""

WANTED_RISE = 1e-5
"""Change of the logit that is large beside its rounding error, about 1e-15: ten digits of a
difference are right. Steps that change it by less are lengthened."""


class Model(ABC):
    """A family of probability models.

    A subclass supplies `parameter_names` and one method, `evaluate`; `bounds` where parameters are
    bounded, `differentiate` where the gradient is easy, `probability_bounds` where sets are to be
    proven, and `bind` where the parameters depend on the columns of X. Rows must be treated one by
    one: the probability at a row may depend on θ and on that row of X only.
    `exactregion.models.check_model` checks all this.

    Examples
    --------
    >>> class Exponential(Model):
    ...     parameter_names = ("rate",)
    ...     bounds = ((0.0, np.inf),)
    ...
    ...     def evaluate(self, theta, X):
    ...         return -np.expm1(-theta * np.asarray(X))
    >>> Exponential().probabilities([0.5], [0.0, 1.0, 2.0]).round(3)
    array([0.   , 0.393, 0.632])
    """

    @property
    @abstractmethod
    def parameter_names(self) -> tuple[str, ...]:
        """A name for each parameter."""

    @property
    def bounds(self) -> Bounds:
        """(low, high) for each parameter, both ends allowed; infinite by default."""
        return ((-np.inf, np.inf),) * len(self.parameter_names)

    @abstractmethod
    def evaluate(self, theta: FloatArray, X: Any) -> FloatArray:
        """Compute P_θ(Y=+1|x) for a batch: θ of shape (T, d) and n rows give (T, n).

        The arrays are read-only; copy what is to be changed.
        """

    def on_rows(self, X: Any) -> Callable[[FloatArray], FloatArray] | None:
        """Return `evaluate` for these rows, in any order, with what depends on X alone done before.

        None where a family leaves it to `evaluate`.
        """
        return None

    def distinct_rows(self, X: Any) -> tuple[Any, IntArray] | None:
        """Return some rows of X, and for each row which of them has its probability at every θ.

        None where a family does not know of rows that share one.
        """
        return None

    def differentiate(self, theta: FloatArray, X: Any) -> FloatArray:
        """Gradient of logit P_θ(Y=+1|x) in θ for a batch: shape (T, n, d).

        Central differences by default, one-sided at a bound, with steps that are small relative to
        the parameter, or as large as it takes for the logit to change.
        """
        columns = []
        for index in range(theta.shape[1]):
            value = theta[:, index]
            # relative to the parameter itself, whose unit is the user's choice
            step = SMALL_STEP * np.where(value == 0, 1.0, np.abs(value))
            rise = np.abs(self._slope(theta, X, index, step)).max(axis=1) * step
            step = step * np.clip(WANTED_RISE / np.where(rise > 0, rise, np.inf), 1.0, None)
            columns.append(self._slope(theta, X, index, step))
        return np.stack(columns, axis=-1)

    def _slope(self, theta: FloatArray, X: Any, index: int, step: FloatArray) -> FloatArray:
        low, high = self.bounds[index]
        below, above = theta.copy(), theta.copy()
        below[:, index] = np.maximum(theta[:, index] - step, low)
        above[:, index] = np.minimum(theta[:, index] + step, high)
        with np.errstate(all="ignore"):
            rise = _logit(evaluated(self, above, X)) - _logit(evaluated(self, below, X))
        slope = rise / (above[:, index] - below[:, index])[:, None]
        return np.where(np.isfinite(slope), slope, 0.0)

    def probability_bounds(
        self, low: FloatArray, high: FloatArray, X: Any
    ) -> tuple[FloatArray, FloatArray] | None:
        """Bound P_θ(Y=+1|x) over boxes low ≤ θ ≤ high of shape (B, d): two arrays (B, n), or None.

        Ends of boxes may be infinite where parameters have no bounds. The bounds need not be the
        best, but must become so as a box shrinks. With this method, joint sets by the statistics
        "ratio", "discrepancy", "embedding" and "neighborhood" are proven where a limited amount of
        work is enough; without it, they are searched.

        Examples
        --------
        A probability that increases with the parameter is bounded by its values at the ends:

        >>> class Exponential(Model):
        ...     parameter_names = ("rate",)
        ...     bounds = ((0.0, np.inf),)
        ...
        ...     def evaluate(self, theta, X):
        ...         return -np.expm1(-theta * np.asarray(X))
        ...
        ...     def probability_bounds(self, low, high, X):
        ...         return self.evaluate(low, X), self.evaluate(high, X)
        >>> low, high = Exponential().probability_bounds(
        ...     np.array([[0.0]]), np.array([[0.5]]), [1.0, 2.0]
        ... )
        >>> low.round(3), high.round(3)
        (array([[0., 0.]]), array([[0.393, 0.632]]))
        """
        return None

    @property
    def default_statistic(self) -> str:
        """The statistic of regions of this family, if none is given.

        "combined" where the logit is linear in θ, or would be in other parameters; "ratio" in
        curved families, where its regions are smaller and have no parts far away that fit badly.
        """
        has_design = type(self).linear_design is not Model.linear_design
        is_linear = has_design or self.has_constant_gradient or self.natural() is not None
        return "combined" if is_linear else "ratio"

    @property
    def has_constant_gradient(self) -> bool:
        """Whether the gradient of the logit is the same for every θ, and is computed only once."""
        return False

    @property
    def has_known_link(self) -> bool:
        """Whether P is `inverse_link` of D θ, with D the `linear_design`, to its last few digits.

        Regions of many rows go through them in chunks then, since P can be bounded over many θ.
        """
        return False

    def linear_design(self, X: Any) -> FloatArray | None:
        """Return D (n, d) if P is a strictly increasing function of D θ in each row, else None."""
        return None

    def natural(self) -> Model | None:
        """Return the same family with parameters in which it is linear, if there is such a one.

        Its method `from_natural` takes its parameters (T, d) to those of this family: each one by
        an increasing or decreasing function of its own, within its bounds.
        """
        return None

    def bind(self, names: Sequence[str]) -> Model:
        """Return the model for inputs with these column names."""
        return self

    def check_inputs(self, X: Any) -> None:  # noqa: B027 (nothing to check by default)
        """Raise an error for inputs that the family can never take."""

    def for_inputs(self, X: Any) -> Model:
        """Return the model bound to the columns of X, where it is not bound to columns yet."""
        return self

    def n_parameters(self, X: Any) -> int:
        """Return the number of parameters for these inputs."""
        return len(self.for_inputs(X).parameter_names)

    def probabilities(self, theta: npt.ArrayLike, X: Any) -> FloatArray:
        """Compute P_θ(Y=+1|x) in each of n rows of X: shape (n,), or (T, n) for a batch of θ."""
        model = self.for_inputs(X)
        batch, single = model.as_batch(theta)
        P = check_probabilities(evaluated(model, batch, X), batch, n=len(X))
        return P[0] if single else P

    def logit_gradient(self, theta: npt.ArrayLike, X: Any) -> FloatArray:
        """Gradient of logit P_θ(Y=+1|x) in θ: shape (n, d), or (T, n, d) for a batch."""
        model = self.for_inputs(X)
        batch, single = model.as_batch(theta)
        with np.errstate(all="ignore"):
            gradient = model.differentiate(batch, read_only(X))
        return gradient[0] if single else gradient

    def as_batch(self, theta: npt.ArrayLike) -> tuple[FloatArray, bool]:
        """Check θ; return it as (T, d), and whether it was a single one."""
        names = self.parameter_names
        d = len(names)
        try:
            values = as_real(theta)
        except (TypeError, ValueError) as error:
            raise InvalidTypeError(
                f"must hold numbers. Got {theta!r} instead.", parameter="theta"
            ) from error
        if values.ndim == 0 and d == 1:
            values = values[None]
        if values.ndim not in (1, 2) or values.shape[-1] != d:
            raise InvalidValueError(
                f"must have shape ({d},) or (T, {d}). Got {values.shape} instead.",
                parameter="theta",
            )
        batch = read_only(np.ascontiguousarray(np.atleast_2d(values)))
        if not np.isfinite(batch).all():
            row, index = np.argwhere(~np.isfinite(batch))[0]
            raise InvalidValueError(
                "must hold finite numbers. "
                f"Got {batch[row, index]} at index {index} of theta {row} instead.",
                parameter="theta",
            )
        for column, name, (low, high) in zip(batch.T, names, self.bounds, strict=True):
            outside = np.flatnonzero((column < low) | (column > high))
            if len(outside):
                raise InvalidValueError(
                    f"must have a {name} between {low:g} and {high:g}. "
                    f"Got {_show(column[outside[0]])} instead.",
                    parameter="theta",
                )
        return batch, values.ndim == 1


class ColumnModel(Model):
    """A family whose parameters are named after the columns of X; a dataclass with this field."""

    feature_names: tuple[str, ...] | None

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of the columns of X; an error where they are not known yet."""
        if self.feature_names is None:
            raise InvalidValueError(
                f"The parameters of {type(self).__name__} depend on the columns of X: "
                "call bind(names) first."
            )
        return self.feature_names

    def bind(self, names: Sequence[str]) -> Self:
        """Return the model for inputs with these column names."""
        return replace(self, feature_names=tuple(names))  # type: ignore[type-var]

    def for_inputs(self, X: Any) -> Self:
        """Return the model bound to the columns of X, unless it is bound already."""
        if self.feature_names is not None:
            return self
        values, names = read_inputs(X)
        numeric(values)
        return self.bind(names)

    def check_inputs(self, X: Any) -> None:
        """Check that inputs are numbers."""
        as_matrix(X)


def evaluated(model: Model, theta: FloatArray, X: Any) -> FloatArray:
    """Evaluate a family at θ (T, d), whatever it does with what it is given: shape (T, n)."""
    # searches ask for θ far out, where an exponential overflows on its way to 0 or 1
    with np.errstate(over="ignore", under="ignore"):
        return model.evaluate(read_only(theta), read_only(X))


def as_matrix(X: Any, names: tuple[str, ...] | None = None) -> FloatArray:
    """Read inputs as an (n, d) matrix; columns of a frame go by name where names are known."""
    if isinstance(X, np.ndarray) and X.dtype == np.float64 and len(X) and np.isfinite(X).all():
        matrix = X.reshape(len(X), -1)
    else:
        values, columns = read_inputs(X)
        matrix = numeric(values).reshape(len(values), -1)
        if names is not None and hasattr(X, "columns") and columns != names:
            if set(columns) != set(names):
                raise InvalidValueError(
                    f"must have the columns {list(names)}. Got {list(columns)} instead.",
                    parameter="X",
                )
            return np.ascontiguousarray(matrix[:, [columns.index(name) for name in names]])
    if names is not None and matrix.shape[1] != len(names):
        raise InvalidValueError(
            f"must have {len(names)} columns, {list(names)}. Got {matrix.shape[1]} instead.",
            parameter="X",
        )
    return matrix


def check_probabilities(
    P: FloatArray, theta: FloatArray, *, n: int, first_row: int = 0
) -> FloatArray:
    """Check that P (T, n) of theta (T, d) holds probabilities; name rows and θ where it does not.

    d is 0 for a fixed candidate. Rows are counted from `first_row` of the user's.
    """
    try:
        P = as_real(P)
    except (TypeError, ValueError) as error:
        raise ModelError(f"The model must give real numbers. Got {error} instead.") from error
    if P.shape != (len(theta), n):
        raise ModelError(
            f"The model must give probabilities of shape {(len(theta), n)} (thetas, rows). "
            f"Got {P.shape} instead."
        )
    good = (P >= 0) & (P <= 1)
    if good.all():
        return P
    which = int(np.flatnonzero(~good.all(axis=1))[0])
    rows = np.flatnonzero(~good[which])
    shown = ", ".join(str(first_row + row) for row in rows[:5]) + (", …" if len(rows) > 5 else "")
    where = f" at theta = {theta[which].tolist()}" if theta.shape[1] else ""
    raise ModelError(
        "The probabilities of the candidate must be between 0 and 1. "
        f"Got {_show(P[which, rows[0]])}{where} instead, in {len(rows)} of {n} rows: {shown}."
        f"{'' if theta.shape[1] else percent_hint(P[which])}"
    )


def _show(value: float) -> str:
    """Write a number with few digits, but with all of them where fewer would be another number."""
    short = f"{value:g}"
    return short if float(short) == value else repr(float(value))


def _logit(P: FloatArray) -> FloatArray:
    return np.log(P) - np.log1p(-P)
