"""How far points lie from the centre of their cloud: the numbers that statistics are made of.

Sums are written out coordinate after coordinate, so that they are the same to the last bit for
every data set, batch and engine.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np

from exactregion._typing import FloatArray
from exactregion.data.sample import Inputs

__all__ = ["FromCentre", "FromMean", "Whitened", "squared_norms"]


def squared_norms(points: FloatArray) -> FloatArray:
    """‖·‖² of points (r, T, m), coordinate after coordinate: shape (T, m)."""
    total = np.zeros(points.shape[1:])
    for coordinate in points:
        total += coordinate * coordinate
    return total


class Centred(Protocol):
    """Features that know the centre of their cloud."""

    def centre(self, probabilities: FloatArray, inputs: Inputs) -> FloatArray:
        """Φᵀ(t p) on the grid: shape (r, T)."""


@dataclass(frozen=True, eq=False)
class FromCentre:
    """scale · ‖v_i - c‖², the distance from the centre c = Φᵀ(t p) that a candidate expects.

    Attributes
    ----------
    features : SharedFeatures or CandidateFeatures
        Φ.
    probabilities : ndarray of shape (T, n)
        p of each candidate.
    inputs : Inputs
        The rows.
    scale : float
        A factor.
    """

    features: Centred
    probabilities: FloatArray
    inputs: Inputs
    scale: float = 1.0

    @cached_property
    def centre(self) -> FloatArray:
        """The centre of each candidate: shape (r, T)."""
        return self.features.centre(self.probabilities, self.inputs)

    def __call__(self, points: FloatArray) -> FloatArray:
        """Measure points (r, T, m): shape (T, m)."""
        return squared_norms(points - self.centre[:, :, None]) * self.scale


@dataclass(frozen=True)
class FromMean:
    """scale · ‖m v_i - Σ_j v_j‖²: m² times the distance from the mean, which is not rounded.

    Attributes
    ----------
    scale : float
        A factor.
    """

    scale: float = 1.0

    def __call__(self, points: FloatArray) -> FloatArray:
        """Measure points (r, T, m): shape (T, m)."""
        deviation = points.shape[-1] * points - points.sum(axis=-1, keepdims=True)
        return squared_norms(deviation) * self.scale


@dataclass(frozen=True, eq=False)
class Whitened:
    """‖W (v_i - c)‖², the distance from a centre in another metric.

    Attributes
    ----------
    centre : ndarray of shape (r, T)
        The centre c of each candidate.
    W : ndarray of shape (T, s, r)
        The metric is WᵀW.
    """

    centre: FloatArray
    W: FloatArray

    def __call__(self, points: FloatArray) -> FloatArray:
        """Measure points (r, T, m): shape (T, m)."""
        deviation = points - self.centre[:, :, None]
        whitened = np.zeros((self.W.shape[1], *deviation.shape[1:]))
        for a in range(len(whitened)):
            for b in range(len(deviation)):
                whitened[a] += self.W[:, a, b, None] * deviation[b]
        return squared_norms(whitened)
