"""What is true in the study: families, parameters and inputs that data are drawn from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from exactregion.models import LaplaceMixture, Logistic, Model, Probit, Psychometric
from exactregion.paper.setting import LOCATIONS, TRUTH

__all__ = ["GUESS", "Truth", "label", "truth_of"]

SLOPES = {1: (1.0,), 3: (1.0, -0.7, 0.0), 5: (1.0, -0.7, 0.5, -0.3, 0.0)}
INTERCEPTS = {
    "balanced": dict.fromkeys(SLOPES, 0.3),
    # so that one outcome in ten is a success, with standard normal inputs
    "rare": {1: -2.56, 3: -2.72, 5: -2.83},
}
GUESS, LAPSE = 0.5, 0.02


@dataclass(frozen=True)
class Truth:
    """A family, the true parameter, and how inputs are drawn.

    Attributes
    ----------
    family : {"logistic", "probit", "psychometric", "laplace"}
        Which family.
    theta : ndarray of shape (d,)
        The true parameter.
    model : Model
        The family as the library has it.
    slopes : int
        Number of input columns.
    """

    family: str
    theta: np.ndarray
    model: Model
    slopes: int = 1

    def probabilities(self, X: np.ndarray) -> np.ndarray:
        """P(Y=1|x)."""
        names = [f"x{k}" for k in range(self.slopes)]
        return np.asarray(self.model.bind(names).probabilities(self.theta, X))

    def draw(self, rng: np.random.Generator, n: int) -> tuple[np.ndarray, np.ndarray]:
        """Inputs of shape (n, slopes), and outcomes 0.0 or 1.0."""
        X = self.inputs(rng, n)
        return X, (rng.random(n) < self.probabilities(X)).astype(float)

    def inputs(self, rng: np.random.Generator, n: int) -> np.ndarray:
        """Draw inputs: stimuli are spread evenly, the paper's come from its two densities."""
        if self.family == "psychometric":
            return rng.uniform(-2.5, 2.5, size=(n, 1))
        if self.family == "laplace":
            p, scale = TRUTH
            centre = np.where(rng.random(n) < p, *LOCATIONS)
            return (centre + rng.laplace(scale=scale, size=n))[:, None]
        return rng.normal(size=(n, self.slopes))


def truth_of(settings: dict[str, Any]) -> Truth:
    """Give the truth that the settings of a case name: family, and for linear ones the rest."""
    family = settings["family"]
    if family == "psychometric":
        model = Psychometric(Probit(), guess=GUESS, lapse="free")
        return Truth(family, np.array([0.0, 1.5, LAPSE]), model)
    if family == "laplace":
        return Truth(family, np.array(TRUTH), LaplaceMixture(locations=LOCATIONS))
    slopes = settings["slopes"]
    theta = np.array([INTERCEPTS[settings["outcomes"]][slopes], *SLOPES[slopes]])
    # a probit curve is steeper by about 1.7 at the same coefficients
    scale = 1.0 if family == "logistic" else 0.6
    model = Logistic() if family == "logistic" else Probit()
    return Truth(family, scale * theta, model, slopes)


def label(settings: dict[str, Any]) -> str:
    """Name a truth in tables and figures."""
    if settings["family"] == "laplace":
        return "Laplace mixture"
    if settings["family"] == "psychometric":
        return "psychometric, 2AFC"
    slopes = settings["slopes"]
    many = "slope" if slopes == 1 else "slopes"
    return f"{settings['family']}, {slopes} {many}, {settings['outcomes']}"
