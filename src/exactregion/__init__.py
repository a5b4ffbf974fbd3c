"""Exact, finite-sample confidence regions and tests for the probability of a binary outcome."""

from typing import TYPE_CHECKING, Any

from exactregion import datasets, errors, kernels, models, plotting, statistics
from exactregion._version import __version__
from exactregion.calibration import CalibrationBelt, calibration_belt
from exactregion.errors import ExactRegionError
from exactregion.region import (
    Band,
    ConfidenceRegion,
    Evaluation,
    HypothesisTest,
    Interval,
    Risk,
    Summary,
    compare_nested,
)
from exactregion.save import load
from exactregion.testing import calibration_test, compare, model_test
from exactregion.testing.result import ExactTestResult

if TYPE_CHECKING:
    from exactregion.estimator import RegionClassifier

__all__ = [
    "Band",
    "CalibrationBelt",
    "ConfidenceRegion",
    "Evaluation",
    "ExactRegionError",
    "ExactTestResult",
    "HypothesisTest",
    "Interval",
    "RegionClassifier",
    "Risk",
    "Summary",
    "__version__",
    "calibration_belt",
    "calibration_test",
    "compare",
    "compare_nested",
    "datasets",
    "errors",
    "kernels",
    "load",
    "model_test",
    "models",
    "plotting",
    "statistics",
]


def __getattr__(name: str) -> Any:
    """Load what needs scikit-learn at first use."""
    if name == "RegionClassifier":
        from exactregion.estimator import RegionClassifier

        return RegionClassifier
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    """List what is loaded at first use as well."""
    return sorted({*globals(), *__all__})
