"""Pictures: Display objects in scikit-learn's style, one per picture.

The constructor of a Display stores arrays, ``plot`` draws them with matplotlib, and class methods
such as ``from_region`` compute them and draw at once, or with ``draw=False`` only compute them.
matplotlib is loaded when a picture is drawn, not before; reports draw the same arrays without it.
"""

from __future__ import annotations

from typing import Any

from exactregion.errors import InvalidValueError
from exactregion.plotting.bands import BandDisplay
from exactregion.plotting.belt import BeltDisplay, BeltsDisplay
from exactregion.plotting.classes import ClassesDisplay
from exactregion.plotting.corner import CornerDisplay
from exactregion.plotting.curve import CurveDisplay
from exactregion.plotting.null import NullDisplay, NullsDisplay
from exactregion.plotting.pvalues import PValueDisplay
from exactregion.plotting.ranks import RankDisplay
from exactregion.plotting.reliability import reliability
from exactregion.plotting.segments import SegmentDisplay
from exactregion.region import ConfidenceRegion

__all__ = [
    "BandDisplay",
    "BeltDisplay",
    "BeltsDisplay",
    "ClassesDisplay",
    "CornerDisplay",
    "CurveDisplay",
    "NullDisplay",
    "NullsDisplay",
    "PValueDisplay",
    "RankDisplay",
    "SegmentDisplay",
    "display_region",
    "reliability",
]

KINDS: dict[str, type[PValueDisplay | RankDisplay | CornerDisplay | CurveDisplay]] = {
    "pvalue": PValueDisplay,
    "rank": RankDisplay,
    "corner": CornerDisplay,
    "curve": CurveDisplay,
}
"""Pictures of a region by name; the first three by the number of its parameters."""


def display_region(
    region: ConfidenceRegion, kind: str | None = None, **kwargs: Any
) -> PValueDisplay | RankDisplay | CornerDisplay | CurveDisplay:
    """Draw a region in the picture requested, or in that for its number of parameters.

    Parameters
    ----------
    region : ConfidenceRegion
        Fitted.
    kind : {"pvalue", "rank", "corner", "curve"}, optional
        The picture.
    **kwargs
        For `from_region` of the Display.
    """
    if kind is None:
        kind = list(KINDS)[min(len(region.parameter_names_), 3) - 1]
    if kind not in KINDS:
        raise InvalidValueError(
            f"of plot must be one of {list(KINDS)} or None. Got {kind!r} instead.", parameter="kind"
        )
    return KINDS[kind].from_region(region, **kwargs)
