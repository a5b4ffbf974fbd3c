"""What a region implies: intervals, functionals, bands, decisions and risks."""

from exactregion.inference.curves import band, classify, risk
from exactregion.inference.intervals import functional, intervals
from exactregion.inference.reach import grid, outline
from exactregion.inference.results import Band, Interval, Risk

__all__ = [
    "Band",
    "Interval",
    "Risk",
    "band",
    "classify",
    "functional",
    "grid",
    "intervals",
    "outline",
    "risk",
]
