"""The parts of the study, in the order they run."""

PARTS = (
    "membership",
    "intervals",
    "bands",
    "psychometric",
    "calibration",
    "belts",
    "misfit",
    "goodness",
    "hypotheses",
    "coefficients",
    "segments",
    "classes",
    "defaults",
    "seeds",
    "fixed_seeds",
    "areas",
    "consistency",
    "references",
    "proven",
    "costs",
)
