"""Families of users: any callable as a family, and a check of the contract of `Model`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from exactregion._typing import FloatArray
from exactregion.data.reading import as_real
from exactregion.errors import InvalidTypeError, InvalidValueError, ModelError
from exactregion.models.base import Bounds, Model
from exactregion.models.classes import ClassModel


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


def check_model(model: Model, X: Any, theta: Any = None) -> None:
    """Check that a model keeps the contract on these inputs; raise `ModelError` if it does not.

    Checked are: names and bounds; shapes for one θ and for a batch; that a batch gives what its
    members give alone; probabilities between 0 and 1; the same values when called again; that each
    row depends on itself alone; and, if the model has a gradient of its own, that it agrees with
    differences.

    Parameters
    ----------
    model : Model
        The family to check.
    X : ndarray of shape (n,) or (n, d)
        Inputs to check it on, a few rows of your data.
    theta : array-like of shape (T, d), optional
        Parameters to check it at; drawn within the bounds by default.

    Examples
    --------
    >>> from exactregion import models
    >>> check_model(models.Logistic(), np.linspace(-2, 2, 7))
    """
    if not isinstance(model, Model):
        raise ModelError(
            f"A model must derive from exactregion.models.Model. Got {type(model).__name__} "
            "instead: derive from it, or wrap a function in exactregion.models.Function."
        )
    X = np.asarray(X, dtype=np.float64)
    columns = 1 if X.ndim == 1 else X.shape[1]
    model = model.bind([f"x{column}" for column in range(columns)])
    _check_names(model)
    batch = _draw(model.bounds) if theta is None else np.atleast_2d(np.asarray(theta, dtype=float))
    P = model.probabilities(batch, X)
    _check_values(model, batch, X, P)
    if isinstance(model, ClassModel):
        _check_classes(model, batch, X.reshape(len(X), -1), P)
    else:
        _check_gradient(model, batch, X, P)


def _require(condition: bool, message: str) -> None:
    if not condition:
        raise ModelError(message)


def _check_names(model: Model) -> None:
    names, bounds = model.parameter_names, model.bounds
    _require(
        isinstance(names, tuple) and bool(names) and all(isinstance(name, str) for name in names),
        "The 'parameter_names' of a model must be a tuple of one or more strings. "
        f"Got {names!r} instead.",
    )
    _require(
        len(set(names)) == len(names),
        f"The 'parameter_names' of a model must differ from each other. Got {names!r} instead.",
    )
    _require(
        len(bounds) == len(names) and all(low < high for low, high in bounds),
        "The 'bounds' of a model must have a (low, high) with low < high for each of the "
        f"{len(names)} parameters. Got {bounds!r} instead.",
    )


def _draw(bounds: Bounds, size: int = 5) -> FloatArray:
    """Draw parameters within the bounds, and not far from a bound that there is."""
    low, high = np.array(bounds, dtype=np.float64).T
    cases = [np.isfinite(low) & np.isfinite(high), np.isfinite(low), np.isfinite(high)]
    start = np.select(cases, [low, low + 0.2, high - 2.0], -1.0)
    stop = np.select(cases, [high, low + 2.0, high - 0.2], 1.0)
    return np.random.default_rng(0).uniform(start, stop, (size, len(bounds)))


def _check_values(model: Model, batch: FloatArray, X: FloatArray, P: FloatArray) -> None:
    _require(
        np.array_equal(P, model.probabilities(batch, X)),
        "A model must give the same probabilities when called again. Got others instead.",
    )
    alone = np.stack([model.probabilities(one, X) for one in batch])
    _require(
        np.allclose(P, alone, rtol=1e-12, atol=1e-15),
        "A model must give for a batch what it gives for each of its parameters alone. "
        f"Got a difference of {np.abs(P - alone).max():.3g} instead.",
    )
    part = np.arange(len(X))[::-1][: max(1, len(X) // 2)]
    difference = np.abs(model.probabilities(batch, X[part]) - P[:, part]).max()
    _require(
        bool(difference <= 1e-12),
        "The probability of a row must depend on θ and on that row of X only. Got a change of "
        f"{difference:.3g} when the other rows were left out instead.",
    )


def _check_classes(model: ClassModel, batch: FloatArray, X: FloatArray, P: FloatArray) -> None:
    """Check that thresholds and scores of several classes are those of their probabilities."""
    above = P[..., ::-1].cumsum(axis=-1)[..., ::-1]
    difference = np.abs(above[..., 1:] - model.thresholds(batch, X)).max()
    _require(
        bool(np.abs(above[..., 0] - 1).max() <= 1e-9) and bool(difference <= 1e-9),
        "The 'thresholds' of a model must be the sums of its last probabilities, and all of these "
        f"must add up to 1. Got a difference of {difference:.3g} instead.",
    )
    step = 1e-6
    for c in range(P.shape[-1]):
        moves = [step * axis for axis in np.eye(batch.shape[1])]
        rises = [
            model.log_probabilities(batch + move, X) - model.log_probabilities(batch - move, X)
            for move in moves
        ]
        numerical = np.stack([rise[..., c] for rise in rises], axis=-1) / (2 * step)
        difference = np.abs(model.score_of(batch, X, c) - numerical).max()
        _require(
            bool(difference <= 1e-4 * (1 + np.abs(numerical).max())),
            "The 'score_steps' of a model must be differences of the gradients of its log "
            f"probabilities. Got a difference of up to {difference:.3g} instead.",
        )


def _check_gradient(model: Model, batch: FloatArray, X: FloatArray, P: FloatArray) -> None:
    gradient = model.logit_gradient(batch, X)
    expected = (*P.shape, batch.shape[1])
    _require(
        gradient.shape == expected,
        f"The gradient of a model must have shape (T, n, d), {expected}. "
        f"Got {gradient.shape} instead.",
    )
    _require(
        not model.has_constant_gradient or np.allclose(gradient, gradient[:1]),
        "The gradient of a model that 'has_constant_gradient' must be the same for every θ. "
        "Got different ones instead.",
    )
    with np.errstate(all="ignore"):
        numerical = Model.differentiate(model, batch, X)
    # near certainty differences of the logit are mostly rounding error
    inner = (P > 1e-3) & (P < 1 - 1e-3)
    difference = np.abs(gradient - numerical)[inner]
    allowed = 1e-4 * (1 + np.abs(numerical))[inner]
    _require(
        bool((difference <= allowed).all()),
        "The gradient of a model must be that of logit P in θ. Got a difference from central "
        f"differences of up to {difference.max(initial=0.0):.3g} instead.",
    )
