"""The height of a curve without guesses and lapses at which it has a probability."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from exactregion._typing import FloatArray
from exactregion.errors import InvalidValueError
from exactregion.models import Model, Psychometric

__all__ = ["Level"]


@dataclass(frozen=True, eq=False)
class Level:
    """The height of the core at which a curve has a probability, or itself the height `of_core`.

    P = guess + (1 - guess - lapse) F for psychometric families; else P = F.
    """

    model: Model
    probability: float | None
    of_core: float = 0.5

    def __post_init__(self) -> None:
        guess, lapse = (getattr(self.model, name, 0.0) for name in ("guess", "lapse"))
        low = 0.0 if guess == "free" else float(guess)
        high = 1.0 if lapse == "free" else 1 - float(lapse)
        if self.probability is not None and not low < self.probability < high:
            raise InvalidValueError(
                f"must be above the guess rate, {guess}, and below one minus the lapse rate, "
                f"{lapse}. Got {self.probability} instead; without it the threshold is half way "
                "between the two.",
                parameter="probability",
            )

    @property
    def family(self) -> Model:
        """The core."""
        return self.model.core if isinstance(self.model, Psychometric) else self.model

    @property
    def is_constant(self) -> bool:
        """Whether the height of the core is the same for all θ."""
        rates = (getattr(self.model, name, 0.0) for name in ("guess", "lapse"))
        return self.probability is None or "free" not in rates

    def core(self, theta: FloatArray) -> FloatArray:
        """Return the parameters of the core."""
        return self.model.split(theta)[0] if isinstance(self.model, Psychometric) else theta

    def targets(self, theta: FloatArray) -> FloatArray:
        """Compute the height of the core for θ (T, d); NaN where P never has the probability."""
        if self.is_constant:
            return np.full(len(theta), self._target())
        model: Any = self.model
        _, guess, lapse = model.split(theta)
        with np.errstate(divide="ignore", invalid="ignore"):
            height = ((self.probability - guess) / (1 - guess - lapse))[:, 0]
        height = np.broadcast_to(height, len(theta))
        return np.where((height > 0) & (height < 1), height, np.nan)

    def _target(self) -> float:
        if self.probability is None:
            return self.of_core
        if not isinstance(self.model, Psychometric):
            return self.probability
        guess, lapse = float(self.model.guess), float(self.model.lapse)
        return (self.probability - guess) / (1 - guess - lapse)

    def predictor(self) -> float:
        """Compute the linear predictor at the height, if that is constant."""
        return float(self._link(np.array([self._target()]))[0])

    def predictors(self, theta: FloatArray) -> FloatArray:
        """Compute the linear predictor at the height for θ (T, d)."""
        return self._link(self.targets(theta))

    def _link(self, heights: FloatArray) -> FloatArray:
        family: Any = self.family
        return np.asarray(family.link(heights))
