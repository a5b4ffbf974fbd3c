"""The conservative region that the paper compares itself with: one stripe for p, one for λ.

It needs more than the other regions do: that x | y is Laplace, and not only that P(Y=+1|x) is what
two Laplace densities make it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from exactregion._typing import BoolArray, FloatArray, IntArray

__all__ = ["Stripes", "two_stripes"]


@dataclass(frozen=True)
class Stripes:
    """The intersection of two stripes, {p in an interval} and {λ in an interval}: a rectangle.

    Attributes
    ----------
    p, scale : (float, float)
        The intervals; λ may be without an upper end.
    coverage : float
        P(truth in the rectangle), at least.
    """

    p: tuple[float, float]
    scale: tuple[float, float]
    coverage: float

    @property
    def area(self) -> float:
        """Area of the rectangle."""
        return (self.p[1] - self.p[0]) * (self.scale[1] - self.scale[0])

    def contains(self, theta: npt.ArrayLike) -> BoolArray:
        """Say which of θ = (p, λ), shape (2,) or (T, 2), are inside."""
        p, scale = np.moveaxis(np.asarray(theta, dtype=np.float64), -1, 0)
        in_p = (self.p[0] <= p) & (p <= self.p[1])
        return np.asarray(in_p & (self.scale[0] <= scale) & (scale <= self.scale[1]))


def two_stripes(
    x: FloatArray,
    y: IntArray,
    locations: tuple[float, float] = (1.0, -1.0),
    confidence_level: float = 0.9,
) -> Stripes:
    """Bound p by Hoeffding and λ by Chebyshev, each at level 1 - α/2: together at least 1 - α.

    Labels are in [0, 1] when coded so, and Hoeffding's inequality gives
    |p̂ - p| ≤ √(log(2/δ) / 2n) with probability at least 1 - δ. The residuals r = x - μ_y are
    Laplace(0, λ): E r² = 2λ² and Var r² = 24λ⁴ - 4λ⁴ = 20λ⁴, so that for the variance
    v = Σ r²/n Chebyshev's inequality gives |v/λ² - 2| ≤ c = √(20 / nδ) with probability at least
    1 - δ, and v / (2 + c) ≤ λ² ≤ v / (2 - c), without an upper end if c ≥ 2. Here δ = α/2, and
    the union bound does the rest, at every n.

    Parameters
    ----------
    x, y : ndarrays of shape (n,)
        Inputs, and labels -1/+1.
    locations : (float, float)
        The known (μ₊, μ₋).
    confidence_level : float
        1 - α.

    Examples
    --------
    >>> from exactregion.paper.setting import draw_data
    >>> data = draw_data(seed=0)
    >>> bool(two_stripes(data.x, data.y).contains((0.5, 1.0)))
    True
    """
    n, delta = len(y), (1 - confidence_level) / 2
    share = float(np.mean(y > 0))
    reach = math.sqrt(math.log(2 / delta) / (2 * n))
    variance = float(np.mean((x - np.where(y > 0, *locations)) ** 2))
    c = math.sqrt(20 / (n * delta))
    upper = math.sqrt(variance / (2 - c)) if c < 2 else math.inf
    return Stripes(
        p=(max(0.0, share - reach), min(1.0, share + reach)),
        scale=(math.sqrt(variance / (2 + c)), upper),
        coverage=confidence_level,
    )
