"""Any callable as a family of models."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from exactregion._typing import FloatArray
from exactregion.data.reading import as_real
from exactregion.errors import InvalidTypeError, InvalidValueError, ModelError
from exactregion.models.base import Bounds, Model

__all__ = ["Function"]


class Function(Model):
    """A family given by a function of θ and X.

    Parameters
    ----------
    f : callable (theta (d,), X) -> (n,)
        Probabilities of the positive class in each row of X. In a region X is a float array of
        shape (n,) or (n, d), in the order of your rows, also where fit was given a frame. Arrays
        are read-only: copy what is to be changed.
    names : sequence of str
        A name for each parameter.
    bounds : sequence of (low, high), optional
        Bounds of each parameter; infinite by default.
    vectorized : bool
        Whether f takes a batch, theta (T, d), and gives (T, n). Its values for one theta should
        not depend on the others, to the last bit: those of matrix products may.

    Examples
    --------
    >>> hill = Function(
    ...     lambda th, x: x ** th[1] / (th[0] ** th[1] + x ** th[1]),
    ...     names=("ec50", "slope"),
    ...     bounds=[(0, np.inf), (0, np.inf)],
    ... )
    >>> hill.probabilities([2.0, 1.0], np.array([1.0, 2.0, 4.0])).round(3)
    array([0.333, 0.5  , 0.667])
    """

    parameter_names: tuple[str, ...] = ()
    bounds: Bounds = ()

    def __init__(
        self,
        f: Callable[..., Any],
        names: Sequence[str],
        bounds: Sequence[tuple[float, float]] | None = None,
        *,
        vectorized: bool = False,
    ) -> None:
        if not callable(f):
            raise InvalidTypeError(
                f"of Function must be callable. Got {type(f).__name__} instead.", parameter="f"
            )
        if isinstance(names, str):
            raise InvalidTypeError(
                f"of Function must be a sequence of names. Got the string {names!r} instead.",
                parameter="names",
            )
        if not names:
            raise InvalidValueError(
                "of Function must name at least one parameter. Got none instead.", parameter="names"
            )
        pairs = [(-np.inf, np.inf)] * len(names) if bounds is None else bounds
        if len(pairs) != len(names) or not all(low < high for low, high in pairs):
            raise InvalidValueError(
                f"of Function must have a (low, high) with low < high for each of the {len(names)} "
                f"names. Got {bounds!r} instead.",
                parameter="bounds",
            )
        self.f = f
        self.names = self.parameter_names = tuple(names)
        self.vectorized = vectorized
        self.bounds = tuple((float(low), float(high)) for low, high in pairs)

    def __repr__(self) -> str:
        return f"Function({getattr(self.f, '__name__', self.f)!r}, names={self.parameter_names})"

    def evaluate(self, theta: FloatArray, X: Any) -> FloatArray:
        """Call the function, once for each θ unless it is vectorized."""
        if self.vectorized:
            return self._call(theta, X)
        rows = [self._call(one, X) for one in theta]
        for row in rows:
            if row.shape != (len(X),):
                raise ModelError(
                    "The 'f' parameter of Function must give one probability per row, shape "
                    f"({len(X)},). Got {row.shape} instead."
                )
        return np.array(rows).reshape(len(rows), len(X))

    def _call(self, theta: FloatArray, X: Any) -> FloatArray:
        values = self.f(theta, X)
        try:
            return as_real(values)
        except (TypeError, ValueError) as error:
            raise ModelError(
                "The 'f' parameter of Function must give real numbers. "
                f"Got {type(values).__name__} instead."
            ) from error
