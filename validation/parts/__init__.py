"""The parts of the study, in the order they run."""

PARTS = (
    "membership",
    "intervals",
    "bands",
    "psychometric",
    "calibration",
    "belts",
    "degrees",
    "misfit",
    "goodness",
    "hypotheses",
    "coefficients",
    "segments",
    "defaults",
    "seeds",
    "fixed_seeds",
    "areas",
    "consistency",
    "references",
    "proven",
    "costs",
)
