"""Statistics: how unlike the others each of the m data sets is."""

from exactregion.errors import InvalidTypeError, InvalidValueError
from exactregion.features.landmarks import InputSummary
from exactregion.statistics.base import (
    STATISTICS,
    Candidates,
    Custom,
    Statistic,
    Term,
    names_of_statistics,
)
from exactregion.statistics.classes import (
    Brier,
    ClassOmnibus,
    ClassStatistic,
    ClassSum,
    ClassWise,
    Joint,
    Temperature,
    TopLabel,
    as_class_statistic,
)
from exactregion.statistics.combined import Combined, Multiscale, Omnibus
from exactregion.statistics.kernel import Discrepancy, Embedding
from exactregion.statistics.likelihood import Likelihood, Ratio
from exactregion.statistics.measures import FromCentre, FromMean, Largest, Whitened
from exactregion.statistics.neighborhood import Neighborhood
from exactregion.statistics.orthogonal import Orthogonal
from exactregion.statistics.score import Curvature, Score
from exactregion.statistics.spiegelhalter import Spiegelhalter

__all__ = [
    "STATISTICS",
    "Brier",
    "Candidates",
    "ClassOmnibus",
    "ClassStatistic",
    "ClassSum",
    "ClassWise",
    "Combined",
    "Curvature",
    "Custom",
    "Discrepancy",
    "Embedding",
    "FromCentre",
    "FromMean",
    "InputSummary",
    "Joint",
    "Largest",
    "Likelihood",
    "Multiscale",
    "Neighborhood",
    "Omnibus",
    "Orthogonal",
    "Ratio",
    "Score",
    "Spiegelhalter",
    "Statistic",
    "Temperature",
    "Term",
    "TopLabel",
    "Whitened",
    "as_class_statistic",
    "as_statistic",
    "names_of_statistics",
]


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
        if statistic in STATISTICS:
            return STATISTICS[statistic]()
        raise InvalidValueError(
            f"must be one of {names_of_statistics()}, a statistic object or a callable (labels, "
            f"probabilities, X) -> Z. Got {statistic!r} instead.",
            parameter="statistic",
        )
    if callable(statistic) and not isinstance(statistic, type):
        return Custom(statistic)
    raise InvalidTypeError(
        f"must be a name, a statistic object or a callable. Got {statistic!r} instead.",
        parameter="statistic",
    )
