"""A family restricted to part of its parameters: θ = origin + axes · φ."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from exactregion._typing import FloatArray
from exactregion.models.base import Bounds, Model


@dataclass(frozen=True, eq=False)
class Restricted(Model):
    """The members θ = origin + axes · φ of a family, with parameters φ.

    Parameters
    ----------
    family : Model
        The whole family, bound to its inputs.
    origin, axes : ndarrays of shape (d,) and (d, k)
        A member, and the directions in which φ moves it.
    """

    family: Model
    origin: FloatArray
    axes: FloatArray

    @property
    def parameter_names(self) -> tuple[str, ...]:
        """Numbers, since directions have no names."""
        return tuple(f"direction {index}" for index in range(self.axes.shape[1]))

    @property
    def bounds(self) -> Bounds:
        """Those of the family where a direction moves one parameter alone; else infinite."""
        found = []
        for axis in self.axes.T:
            moved = np.flatnonzero(axis)
            ends = np.array([-np.inf, np.inf])
            if len(moved) == 1:
                index = moved[0]
                ends = (np.array(self.family.bounds[index]) - self.origin[index]) / axis[index]
            found.append((float(ends.min()), float(ends.max())))
        return tuple(found)

    def theta(self, phi: FloatArray) -> FloatArray:
        """Return the family's parameters (T, d) of φ (T, k)."""
        return np.asarray(self.origin + phi @ self.axes.T)

    def evaluate(self, theta: FloatArray, X: Any) -> FloatArray:
        """Compute the probabilities of the family."""
        return self.family.evaluate(self.theta(theta), X)

    def differentiate(self, theta: FloatArray, X: Any) -> FloatArray:
        """Take the gradient along the directions."""
        return np.asarray(self.family.differentiate(self.theta(theta), X) @ self.axes)
