"""Psychometric functions: P_θ(Y=+1|x) = guess + (1 - guess - lapse) · F_θ(x)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from numbers import Real
from typing import Any, Literal

import numpy as np

from exactregion._typing import FloatArray
from exactregion.errors import InvalidTypeError, InvalidValueError
from exactregion.models.base import Bounds, Model
from exactregion.models.linear import Logistic

__all__ = ["Psychometric"]


@dataclass(frozen=True)
class Psychometric(Model):
    """A core model between a guess rate and one minus a lapse rate.

    Parameters
    ----------
    core : Model
        The model of the probability without guesses and lapses, F_θ.
    guess, lapse : float in [0, 1], or "free"
        Known rates, or "free" for a rate that is a parameter after those of the core.

    Examples
    --------
    A two-alternative task: the guess rate is known, the lapse rate is not.

    >>> model = Psychometric(Logistic(), guess=0.5, lapse="free").bind(["level"])
    >>> model.parameter_names
    ('intercept', 'level', 'lapse')
    >>> model.probabilities([0.0, 1.0, 0.02], [-9.0, 0.0, 9.0]).round(3)
    array([0.5 , 0.74, 0.98])
    """

    core: Model = field(default_factory=Logistic)
    guess: float | Literal["free"] = 0.5
    lapse: float | Literal["free"] = "free"

    def __post_init__(self) -> None:
        if not isinstance(self.core, Model):
            raise InvalidTypeError(
                f"must be a model, such as Logistic(). Got {self.core!r} instead.",
                parameter="core",
            )
        for name in ("guess", "lapse"):
            rate = getattr(self, name)
            free = isinstance(rate, str) and rate == "free"
            if not free and not (isinstance(rate, Real) and 0 <= float(rate) <= 1):
                raise InvalidValueError(
                    f"must be between 0 and 1, or 'free'. Got {rate!r} instead.",
                    parameter=name,
                )

    @property
    def _free_rates(self) -> tuple[str, ...]:
        return tuple(name for name in ("guess", "lapse") if getattr(self, name) == "free")

    @property
    def parameter_names(self) -> tuple[str, ...]:
        """The parameters of the core, then the free rates."""
        return self.core.parameter_names + self._free_rates

    @property
    def bounds(self) -> Bounds:
        """The bounds of the core; rates in [0, 1]."""
        return self.core.bounds + ((0.0, 1.0),) * len(self._free_rates)

    def bind(self, names: Sequence[str]) -> Psychometric:
        """Return the model for inputs with these column names."""
        return replace(self, core=self.core.bind(names))

    def check_inputs(self, X: Any) -> None:
        """Check what the core checks."""
        self.core.check_inputs(X)

    def for_inputs(self, X: Any) -> Psychometric:
        """Return the model with its core bound to the columns of X."""
        return replace(self, core=self.core.for_inputs(X))

    def split(self, theta: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return the parameters of the core (T, c), and the guess and lapse rates (T or 1, 1)."""
        cut = theta.shape[1] - len(self._free_rates)
        rates = iter(theta[:, cut:].T)
        guess, lapse = (
            next(rates)[:, None] if name in self._free_rates else np.full((1, 1), float(rate))
            for name, rate in (("guess", self.guess), ("lapse", self.lapse))
        )
        return theta[:, :cut], guess, lapse

    def evaluate(self, theta: FloatArray, X: Any) -> FloatArray:
        """Compute guess + (1 - guess - lapse) F, as a mean of its two asymptotes."""
        core, guess, lapse = self.split(theta)
        F = self.core.evaluate(core, X)
        return guess * (1 - F) + (1 - lapse) * F

    def differentiate(self, theta: FloatArray, X: Any) -> FloatArray:
        """Compute dP / (P (1 - P)) by the chain rule."""
        core, guess, lapse = self.split(theta)
        F = self.core.evaluate(core, X)
        P = self.evaluate(theta, X)
        in_core = ((1 - guess - lapse) * F * (1 - F))[:, :, None] * self.core.differentiate(core, X)
        rates = {"guess": 1 - F, "lapse": -F}
        in_rates = [rates[name][:, :, None] for name in self._free_rates]
        return np.concatenate([in_core, *in_rates], axis=-1) / (P * (1 - P))[:, :, None]

    def probability_bounds(
        self, low: FloatArray, high: FloatArray, X: Any
    ) -> tuple[FloatArray, FloatArray] | None:
        """Bound P by the bounds of the core and of the rates."""
        cut = low.shape[1] - len(self._free_rates)
        core = self.core.probability_bounds(low[:, :cut], high[:, :cut], X)
        return None if core is None else self.bounds_between(core, low[:, cut:], high[:, cut:])

    def bounds_between(
        self, core: tuple[FloatArray, FloatArray], low: FloatArray, high: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        """Bound P by bounds (B, n) of the core and ends (B, k) of the free rates.

        P increases with the guess rate and decreases with the lapse rate. In the core it is linear.
        """
        (_, *smallest), (_, *largest) = self.split(low), self.split(high)
        lowest = [smallest[0] * (1 - F) + (1 - largest[1]) * F for F in core]
        highest = [largest[0] * (1 - F) + (1 - smallest[1]) * F for F in core]
        return np.minimum(*lowest), np.maximum(*highest)
