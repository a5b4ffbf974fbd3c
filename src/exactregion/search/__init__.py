"""Search: where a region is, how far it reaches, and the extremes of functionals over it."""

from exactregion.search.depth import Depth, radius_of
from exactregion.search.extremes import Extremes, largest
from exactregion.search.grid import Grid, box_around, full_grid, refined_grid
from exactregion.search.outline import Outline, explore
from exactregion.search.poles import passing_infinity
from exactregion.search.rays import Rays
from exactregion.search.window import Probe, Window, most_compatible

__all__ = [
    "Depth",
    "Extremes",
    "Grid",
    "Outline",
    "Probe",
    "Rays",
    "Window",
    "box_around",
    "explore",
    "full_grid",
    "largest",
    "most_compatible",
    "passing_infinity",
    "radius_of",
    "refined_grid",
]
