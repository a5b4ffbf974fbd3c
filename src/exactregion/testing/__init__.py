"""Exact tests of a fixed candidate, on data in memory, in files or on a cluster."""

from exactregion.testing.result import ExactTestResult
from exactregion.testing.segment_result import SegmentTestResult
from exactregion.testing.segments import segment_test
from exactregion.testing.tests import calibration_test, compare, model_test

__all__ = [
    "ExactTestResult",
    "SegmentTestResult",
    "calibration_test",
    "compare",
    "model_test",
    "segment_test",
]
