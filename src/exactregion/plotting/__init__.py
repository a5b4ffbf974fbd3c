"""Pictures: Display objects in scikit-learn's style, one a picture.

The constructor of a Display stores arrays, ``plot`` draws them, and a class method computes them
from a region, a band or a test result and draws at once. matplotlib is loaded when a picture is
drawn, not before.
"""

from exactregion.plotting.bands import BandDisplay
from exactregion.plotting.belt import BeltDisplay
from exactregion.plotting.choice import display_region
from exactregion.plotting.corner import CornerDisplay
from exactregion.plotting.null import NullDisplay
from exactregion.plotting.pvalues import PValueDisplay
from exactregion.plotting.ranks import RankDisplay

__all__ = [
    "BandDisplay",
    "BeltDisplay",
    "CornerDisplay",
    "NullDisplay",
    "PValueDisplay",
    "RankDisplay",
    "display_region",
]
