"""Exact, finite-sample confidence regions and tests for the probability of a binary outcome."""

from exactregion import datasets, errors, kernels, models, statistics
from exactregion._version import __version__
from exactregion.errors import ExactRegionError
from exactregion.region import ConfidenceRegion, Evaluation
from exactregion.testing import ExactTestResult, calibration_test, compare, model_test

__all__ = [
    "ConfidenceRegion",
    "Evaluation",
    "ExactRegionError",
    "ExactTestResult",
    "__version__",
    "calibration_test",
    "compare",
    "datasets",
    "errors",
    "kernels",
    "model_test",
    "models",
    "statistics",
]
