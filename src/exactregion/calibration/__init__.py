"""The calibration belt: which recalibrations of predicted probabilities fit the outcomes."""

from exactregion.calibration.belt import CalibrationBelt, CalibrationBelts, Departure
from exactregion.calibration.deviation import Deviation
from exactregion.calibration.search import calibration_belt

__all__ = ["CalibrationBelt", "CalibrationBelts", "Departure", "Deviation", "calibration_belt"]
