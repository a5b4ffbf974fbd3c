"""How deep inside a region a rank says that θ is: a search that knows need not bisect."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.special import gammaincinv

from exactregion._typing import FloatArray, IntArray
from exactregion.ranking import AcceptedRanks

__all__ = ["Depth", "radius_of"]


def radius_of(level: float, d: int) -> float:
    """Radius of the asymptotic region in standard errors, √χ²_d(level)."""
    return float(np.sqrt(2 * gammaincinv(d / 2, level)))


@dataclass(frozen=True)
class Depth:
    """Depths of ranks: positive inside, about 1 - r/R at r standard errors where the end is at R.

    They follow the asymptotic law of d parameters, and decide where a search asks next; what is
    inside is decided by the sign, which is that of the ranks.

    Attributes
    ----------
    accepted : AcceptedRanks
        Which ranks are inside.
    d : int
        Degrees of freedom.
    """

    accepted: AcceptedRanks
    d: int

    @property
    def radius(self) -> float:
        """Where the end is expected, in standard errors."""
        return radius_of(self._end, self.d)

    @property
    def _end(self) -> float:
        """Share of the ranks up to the end: less than one, past which there is no radius."""
        return min(self.accepted.high / self.accepted.m, 1 - 0.25 / self.accepted.m)

    def __call__(self, ranks: IntArray) -> FloatArray:
        """Give the depth of each rank."""
        return np.asarray(self._table[ranks])

    @cached_property
    def _table(self) -> FloatArray:
        m = self.accepted.m
        ranks = np.arange(m + 1)
        share = np.clip((ranks - 0.5) / m, 0.25 / m, None)
        end = gammaincinv(self.d / 2, self._end)
        depth = 1 - np.sqrt(gammaincinv(self.d / 2, share) / end)
        # nothing is known about how far a rank below the lowest accepted one is
        return np.where(ranks < self.accepted.low, 0.0, depth)
