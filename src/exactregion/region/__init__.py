"""A confidence region: ranks of any parameter, where the members are, and what they imply."""

from exactregion.region.bands import Band, ClassBand
from exactregion.region.fitted import Evaluation, FittedRegion
from exactregion.region.hypotheses.goodness import GoodnessOfFit
from exactregion.region.hypotheses.linear import HypothesisTest
from exactregion.region.intervals import Interval
from exactregion.region.nested import compare_nested
from exactregion.region.proofs.paving import Paving
from exactregion.region.region import ConfidenceRegion
from exactregion.region.risk import Risk
from exactregion.region.summary import Summary
from exactregion.region.thresholds import Threshold

__all__ = [
    "Band",
    "ClassBand",
    "ConfidenceRegion",
    "Evaluation",
    "FittedRegion",
    "GoodnessOfFit",
    "HypothesisTest",
    "Interval",
    "Paving",
    "Risk",
    "Summary",
    "Threshold",
    "compare_nested",
]
