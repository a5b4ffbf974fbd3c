"""Engines: Z for many candidates. All give the same numbers; they differ in what they cost."""

from exactregion.engine.batch import DEFAULT_BATCH, check_batch, statistics_of
from exactregion.engine.many import Paths, statistics_of_many

__all__ = ["DEFAULT_BATCH", "Paths", "check_batch", "statistics_of", "statistics_of_many"]
