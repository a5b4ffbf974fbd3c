"""Statistics of rows that come in pieces: what they look at, and what they make of the sums.

A first pass over the rows gives a `Survey` of the inputs. From it a statistic says, by
`Statistic.stream`, which columns it wants of each row (on the grid of exact sums), and how far
points lie from their centre once all rows are summed. Columns are functions of one block of rows.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from exactregion._typing import FloatArray, IntArray
from exactregion.data.sample import Distinct, Extent
from exactregion.statistics.measures import squared_norms

__all__ = ["Columns", "FromPoint", "StreamRule", "StreamTerm", "Survey"]


@dataclass(frozen=True, eq=False)
class Survey:
    """What a first look at all rows tells of inputs and trials; never of outcomes.

    Attributes
    ----------
    extent : Extent
        Numbers of rows and trials.
    distinct : Distinct
        The inputs of a sample of rows.
    reach : ndarray of shape (2,), or None
        Where the inputs are predictions whose calibration is tested: the largest sizes of the
        gradient (1, logit p) of the recalibration family. None for a candidate without a family.
    """

    extent: Extent
    distinct: Distinct
    reach: FloatArray | None


class Columns(Protocol):
    """Numbers of each row that are summed over the successes of every data set."""

    @property
    def unit(self) -> FloatArray:
        """Spacing of the grid of each column: shape (r,)."""

    def features(self, X: FloatArray, p: FloatArray) -> FloatArray:
        """Compute the columns of a block of inputs (b, d) and probabilities (b,): shape (b, r)."""

    def information(self, Phi: FloatArray, p: FloatArray, trials: IntArray) -> FloatArray | None:
        """Sum the Fisher information of a block, where the statistic wants it: shape (r, r)."""


@dataclass(frozen=True, eq=False)
class FromPoint:
    """scale · ‖v_i - c‖², the distance from a centre (r, 1) that was summed beside the points."""

    centre: FloatArray
    scale: float = 1.0

    def __call__(self, points: FloatArray) -> FloatArray:
        """Measure points (r, 1, m): shape (1, m)."""
        return squared_norms(points - self.centre[:, :, None]) * self.scale


@dataclass(frozen=True, eq=False)
class StreamTerm:
    """One kind of points, and how far they lie from their centre.

    Attributes
    ----------
    columns : Columns
        What is summed.
    measure : callable
        The centre (r, 1) and the information (r, r) to a measure of points (r, 1, m).
    """

    columns: Columns
    measure: Callable[[FloatArray, FloatArray | None], Callable[[FloatArray], FloatArray]]


def _the_only_one(measured: Sequence[FloatArray]) -> FloatArray:
    return measured[0]


@dataclass(frozen=True, eq=False)
class StreamRule:
    """A statistic made ready for rows that come in pieces.

    Attributes
    ----------
    terms : tuple of StreamTerm
        What is measured.
    merge : callable
        The measures, an array (1, m) for each term, to Z of shape (1, m).
    """

    terms: tuple[StreamTerm, ...]
    merge: Callable[[Sequence[FloatArray]], FloatArray] = _the_only_one
