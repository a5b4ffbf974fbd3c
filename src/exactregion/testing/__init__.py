"""Exact tests of a fixed candidate, on data in memory, in files or on a cluster."""

from exactregion.testing.class_result import ClassTestResult
from exactregion.testing.misfit import Misfit, Part
from exactregion.testing.planning import PowerResult, power
from exactregion.testing.result import ExactTestResult
from exactregion.testing.segment_result import SegmentTestResult
from exactregion.testing.segments import segment_test
from exactregion.testing.size import CalibrationSize, calibration_size
from exactregion.testing.tests import calibration_test, compare, model_test

__all__ = [
    "CalibrationSize",
    "ClassTestResult",
    "ExactTestResult",
    "Misfit",
    "Part",
    "PowerResult",
    "SegmentTestResult",
    "calibration_size",
    "calibration_test",
    "compare",
    "model_test",
    "power",
    "segment_test",
]
