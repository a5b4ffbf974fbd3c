"""Exact tests of a fixed candidate, on data in memory, in files or on a cluster."""

from exactregion.testing.result import ExactTestResult
from exactregion.testing.tests import calibration_test, compare, model_test

__all__ = ["ExactTestResult", "calibration_test", "compare", "model_test"]
