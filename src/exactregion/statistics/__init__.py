"""Statistics: how unlike the others each of the m data sets is."""

from exactregion.errors import InvalidTypeError, InvalidValueError
from exactregion.statistics.base import Candidates, Custom, PreparedStatistic, Rule, Statistic, Term
from exactregion.statistics.combined import Combined, Omnibus
from exactregion.statistics.curvature import Curvature
from exactregion.statistics.discrepancy import Discrepancy
from exactregion.statistics.embedding import Embedding
from exactregion.statistics.multiscale import Multiscale
from exactregion.statistics.neighborhood import Neighborhood
from exactregion.statistics.score import Score
from exactregion.statistics.spiegelhalter import Spiegelhalter

__all__ = [
    "STATISTIC_NAMES",
    "Candidates",
    "Combined",
    "Curvature",
    "Custom",
    "Discrepancy",
    "Embedding",
    "Multiscale",
    "Neighborhood",
    "Omnibus",
    "PreparedStatistic",
    "Rule",
    "Score",
    "Spiegelhalter",
    "Statistic",
    "Term",
    "as_statistic",
]

_BY_NAME: dict[str, type[Statistic]] = {
    "combined": Combined,
    "curvature": Curvature,
    "discrepancy": Discrepancy,
    "embedding": Embedding,
    "multiscale": Multiscale,
    "neighborhood": Neighborhood,
    "omnibus": Omnibus,
    "score": Score,
    "spiegelhalter": Spiegelhalter,
}

STATISTIC_NAMES = tuple(sorted(_BY_NAME))
"""The statistics that have a name."""


def as_statistic(statistic: object) -> Statistic:
    """Turn a name, a callable or a statistic into a statistic.

    Examples
    --------
    >>> as_statistic("score")
    Score()
    """
    if isinstance(statistic, Statistic):
        return statistic
    if isinstance(statistic, str):
        if statistic in _BY_NAME:
            return _BY_NAME[statistic]()
        raise InvalidValueError(
            f"must be one of {list(STATISTIC_NAMES)}, a statistic object "
            f"or a callable (labels, probabilities, X) -> Z. Got {statistic!r} instead.",
            parameter="statistic",
        )
    if callable(statistic) and not isinstance(statistic, type):
        return Custom(statistic)
    raise InvalidTypeError(
        f"must be a name, a statistic object or a callable. Got {statistic!r} instead.",
        parameter="statistic",
    )
