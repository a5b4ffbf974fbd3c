"""Spiegelhalter's statistic: whether predictions are as bold as they should be."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from exactregion._typing import FloatArray
from exactregion.features.landmarks import InputSummary
from exactregion.statistics.base import Candidates, Statistic, Term
from exactregion.statistics.measures import FromCentre


@dataclass(frozen=True)
class Spiegelhalter(Statistic, name="spiegelhalter"):
    """The excess of the Brier score over what it is expected to be, squared.

    Z_i = (Σ_j (1 - 2 p(x_j)) (k_ij - t_j p(x_j)))², k successes of t trials: the square of
    Spiegelhalter's z (1986) up to a factor that all data sets share. It detects over- and
    under-confidence best, and a shift of predictions around 1/2 not at all.
    """

    def terms(self, inputs: InputSummary) -> Sequence[Term]:
        """Sum 1 - 2p."""
        return [Term(_boldness, FromCentre(), bound=1.0)]


def _boldness(candidates: Candidates) -> FloatArray:
    return (1 - 2 * candidates.probabilities)[:, :, None]
