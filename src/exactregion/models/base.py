"""The contract of a family of probability models, P_θ(Y=+1|x)."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from exactregion._typing import FloatArray
from exactregion.data.reading import numeric, read_inputs
from exactregion.errors import InvalidTypeError, InvalidValueError, ModelError

__all__ = ["Bounds", "Model", "as_matrix", "check_probabilities"]

Bounds = tuple[tuple[float, float], ...]

SMALL_STEP = float(np.finfo(np.float64).eps ** (1 / 3))
"""First step of differences, as a share of the parameter."""

WANTED_RISE = 1e-5
"""Change of the logit that is large beside its rounding error; steps grow to reach it."""


class Model(ABC):
    """A family of probability models.

    A subclass supplies `parameter_names` and one method, `evaluate`; `bounds` where parameters are
    bounded, `differentiate` where the gradient is easy, and `bind` where the parameters depend on
    the columns of X. Rows must be treated one by one: the probability at a row may depend on θ and
    on that row of X only. `exactregion.models.check_model` checks all this.
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
        """Compute P_θ(Y=+1|x) for a batch: θ of shape (T, d) and n rows give (T, n)."""

    def differentiate(self, theta: FloatArray, X: Any) -> FloatArray:
        """Gradient of logit P_θ(Y=+1|x) in θ for a batch: shape (T, n, d).

        Central differences by default, one-sided at a bound, with steps that are small beside the
        parameter, or as large as it takes for the logit to move.
        """
        columns = []
        for index in range(theta.shape[1]):
            value = theta[:, index]
            # relative to the parameter itself, whose unit is the user's choice
            step = SMALL_STEP * np.where(value == 0, 1.0, np.abs(value))
            reach = np.abs(self._slope(theta, X, index, step)).max(axis=1) * step
            step = step * np.clip(WANTED_RISE / np.where(reach > 0, reach, np.inf), 1.0, None)
            columns.append(self._slope(theta, X, index, step))
        return np.stack(columns, axis=-1)

    def _slope(self, theta: FloatArray, X: Any, index: int, step: FloatArray) -> FloatArray:
        low, high = self.bounds[index]
        below, above = theta.copy(), theta.copy()
        below[:, index] = np.maximum(theta[:, index] - step, low)
        above[:, index] = np.minimum(theta[:, index] + step, high)
        with np.errstate(all="ignore"):
            rise = _logit(self.evaluate(above, X)) - _logit(self.evaluate(below, X))
        slope = rise / (above[:, index] - below[:, index])[:, None]
        return np.where(np.isfinite(slope), slope, 0.0)

    @property
    def has_constant_gradient(self) -> bool:
        """Whether the gradient of the logit is the same for every θ: work that is done once."""
        return False

    def bind(self, names: Sequence[str]) -> Model:
        """Return the model for inputs with these column names."""
        return self

    def check_inputs(self, X: Any) -> None:  # noqa: B027 (nothing to check by default)
        """Raise an error for inputs that the family can never take."""

    def n_parameters(self, X: Any) -> int:
        """Return the number of parameters for these inputs."""
        return len(self.parameter_names)

    def probabilities(self, theta: npt.ArrayLike, X: Any) -> FloatArray:
        """Compute P_θ(Y=+1|x) in each row.

        Parameters
        ----------
        theta : array-like of shape (d,) or (T, d)
            One parameter, or a batch.
        X : array-like, frame, or what the model takes
            n rows of inputs.

        Returns
        -------
        ndarray of shape (n,) or (T, n)
        """
        batch, single = self.as_batch(theta, self.n_parameters(X))
        P = check_probabilities(self.evaluate(batch, X), batch, n=len(X))
        return P[0] if single else P

    def logit_gradient(self, theta: npt.ArrayLike, X: Any) -> FloatArray:
        """Gradient of logit P_θ(Y=+1|x) in θ: shape (n, d), or (T, n, d) for a batch."""
        batch, single = self.as_batch(theta, self.n_parameters(X))
        with np.errstate(all="ignore"):
            gradient = self.differentiate(batch, X)
        return gradient[0] if single else gradient

    def as_batch(self, theta: npt.ArrayLike, d: int) -> tuple[FloatArray, bool]:
        """Check θ, and give it as (T, d) with whether it was a single one."""
        try:
            values = np.asarray(theta, dtype=np.float64)
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
        batch = np.ascontiguousarray(np.atleast_2d(values))
        self._check_bounds(batch)
        return batch, values.ndim == 1

    def _check_bounds(self, batch: FloatArray) -> None:
        if not np.isfinite(batch).all():
            row, index = np.argwhere(~np.isfinite(batch))[0]
            raise InvalidValueError(
                "must hold finite numbers. "
                f"Got {batch[row, index]} at index {index} of theta {row} instead.",
                parameter="theta",
            )
        for index, (low, high) in enumerate(self.bounds_of(batch.shape[1])):
            outside = np.flatnonzero((batch[:, index] < low) | (batch[:, index] > high))
            if len(outside):
                raise InvalidValueError(
                    f"must have a {self.name_of(index, batch.shape[1])} "
                    f"between {low:g} and {high:g}. Got {_show(batch[outside[0], index])} instead.",
                    parameter="theta",
                )

    def bounds_of(self, d: int) -> Bounds:
        """Return the bounds of d parameters, also where the columns of X are not known yet."""
        return self.bounds

    def name_of(self, index: int, d: int) -> str:
        """Name one of d parameters, also where the columns of X are not known yet."""
        return self.parameter_names[index]


def as_matrix(X: Any, names: tuple[str, ...] | None = None) -> FloatArray:
    """Read inputs as an (n, d) matrix; columns of a frame go by name where names are known."""
    if isinstance(X, np.ndarray) and X.dtype == np.float64 and bool(np.isfinite(X).all()):
        return X.reshape(len(X), -1)
    values, columns = read_inputs(X)
    matrix = numeric(values).reshape(len(values), -1)
    if names is None or columns == names or not hasattr(X, "columns"):
        return matrix
    if set(columns) != set(names):
        raise InvalidValueError(
            f"must have the columns {list(names)}. Got {list(columns)} instead.", parameter="X"
        )
    return np.ascontiguousarray(matrix[:, [columns.index(name) for name in names]])


def check_probabilities(
    P: FloatArray, theta: FloatArray, *, n: int, first_row: int = 0
) -> FloatArray:
    """Check that a model gave probabilities, and name rows and θ where it did not.

    Parameters
    ----------
    P : ndarray of shape (T, n)
        What the model gave.
    theta : ndarray of shape (T, d)
        What it was asked for; d may be 0 for a fixed candidate.
    n : int
        The number of rows there must be.
    first_row : int
        The user's row that these rows begin with.
    """
    P = np.asarray(P, dtype=np.float64)
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
    )


def _show(value: float) -> str:
    """Write a number shortly, but never so shortly that it becomes another."""
    short = f"{value:g}"
    return short if float(short) == value else repr(float(value))


def _logit(P: FloatArray) -> FloatArray:
    return np.log(P) - np.log1p(-P)
