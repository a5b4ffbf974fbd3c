"""A confidence region: ranks of any parameter, where the members are, and what they imply."""

from exactregion.region.fitted import Evaluation
from exactregion.region.region import ConfidenceRegion
from exactregion.region.results import Band, Interval, Risk

__all__ = ["Band", "ConfidenceRegion", "Evaluation", "Interval", "Risk"]
