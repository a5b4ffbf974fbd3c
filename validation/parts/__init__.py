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
    "segments",
    "defaults",
    "seeds",
    "areas",
    "consistency",
    "references",
    "proven",
    "costs",
)
