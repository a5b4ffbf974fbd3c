"""Which picture shows a region."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from exactregion.errors import InvalidValueError
from exactregion.plotting.corner import CornerDisplay
from exactregion.plotting.pvalues import PValueDisplay
from exactregion.plotting.ranks import RankDisplay

if TYPE_CHECKING:
    from exactregion.region import ConfidenceRegion

__all__ = ["display_region"]

KINDS: dict[str, type[PValueDisplay] | type[RankDisplay] | type[CornerDisplay]] = {
    "pvalue": PValueDisplay,
    "rank": RankDisplay,
    "corner": CornerDisplay,
}


def display_region(
    region: ConfidenceRegion, kind: str | None = None, **kwargs: Any
) -> PValueDisplay | RankDisplay | CornerDisplay:
    """Draw a region in the picture asked for, or that fits the number of parameters.

    Parameters
    ----------
    region : ConfidenceRegion
        Fitted.
    kind : {"pvalue", "rank", "corner"}, optional
        The picture.
    **kwargs
        For `from_region` of the Display.
    """
    if kind is None:
        kind = ("pvalue", "rank", "corner")[min(len(region.parameter_names_), 3) - 1]
    if kind not in KINDS:
        raise InvalidValueError(
            f"of plot must be one of {list(KINDS)} or None. Got {kind!r} instead.", parameter="kind"
        )
    return KINDS[kind].from_region(region, **kwargs)
