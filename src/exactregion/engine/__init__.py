"""Engines: Z for many candidates. All give the same numbers; they differ in what they cost."""

from exactregion.engine.blocks import (
    DEFAULT_BATCH,
    check_batch,
    statistics_of,
    statistics_with_parts,
)
from exactregion.engine.evaluate import MANY_LABELS, Paths, SearchWindow, statistics_of_many
from exactregion.engine.terms import PreparedStatistic

__all__ = [
    "DEFAULT_BATCH",
    "MANY_LABELS",
    "Paths",
    "PreparedStatistic",
    "SearchWindow",
    "check_batch",
    "statistics_of",
    "statistics_of_many",
    "statistics_with_parts",
]
