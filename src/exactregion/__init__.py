"""Exact, finite-sample confidence regions and tests for the probability of a binary outcome."""

from importlib import import_module

from exactregion._version import __version__

TYPE_CHECKING = False  # as typing has it, which takes a while to load
if TYPE_CHECKING:
    from exactregion import datasets, errors, kernels, models, plotting, statistics
    from exactregion.calibration import CalibrationBelt, CalibrationBelts, calibration_belt
    from exactregion.errors import ExactRegionError
    from exactregion.estimator import RegionClassifier
    from exactregion.region import (
        Band,
        ClassBand,
        ConfidenceRegion,
        Evaluation,
        HypothesisTest,
        Interval,
        Risk,
        Summary,
        Threshold,
        compare_nested,
    )
    from exactregion.save import load
    from exactregion.testing import (
        CalibrationSize,
        ClassTestResult,
        ExactTestResult,
        PowerResult,
        SegmentTestResult,
        calibration_size,
        calibration_test,
        compare,
        model_test,
        power,
        segment_test,
    )

__all__ = [
    "Band",
    "CalibrationBelt",
    "CalibrationBelts",
    "CalibrationSize",
    "ClassBand",
    "ClassTestResult",
    "ConfidenceRegion",
    "Evaluation",
    "ExactRegionError",
    "ExactTestResult",
    "HypothesisTest",
    "Interval",
    "PowerResult",
    "RegionClassifier",
    "Risk",
    "SegmentTestResult",
    "Summary",
    "Threshold",
    "__version__",
    "calibration_belt",
    "calibration_size",
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
    "power",
    "segment_test",
    "statistics",
]

# Where each name is. NumPy, SciPy and Numba take seconds to load: the command must be able to stop
# in them as it does anywhere else, and it is loaded by way of this package.
_PUBLIC = {
    "calibration": ("CalibrationBelt", "CalibrationBelts", "calibration_belt"),
    "errors": ("ExactRegionError",),
    "estimator": ("RegionClassifier",),
    "region": (
        *("Band", "ClassBand", "ConfidenceRegion", "Evaluation", "HypothesisTest", "Interval"),
        *("Risk", "Summary", "Threshold", "compare_nested"),
    ),
    "save": ("load",),
    "testing": (
        *(
            "CalibrationSize",
            "ClassTestResult",
            "ExactTestResult",
            "PowerResult",
            "SegmentTestResult",
            "calibration_size",
        ),
        *("calibration_test", "compare", "model_test", "power", "segment_test"),
    ),
}
_HOMES = {name: module for module, names in _PUBLIC.items() for name in names}
_MODULES = {
    *("calibration", "datasets", "errors", "kernels", "models", "plotting", "region", "save"),
    *("statistics", "testing"),
}


def __getattr__(name: str) -> object:
    """Load a name when it is first used."""
    if name in _MODULES:
        return import_module(f"exactregion.{name}")
    if name in _HOMES:
        found: object = getattr(import_module(f"exactregion.{_HOMES[name]}"), name)
        globals()[name] = found
        return found
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    """List what is loaded at first use as well."""
    return sorted({*globals(), *__all__})
