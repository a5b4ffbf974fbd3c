"""Tests of calibration and belts that people use today, each as a plain function of y and p.

A test gives its p-value for outcomes y in 0/1 and predictions p that were made without them. What
fails raises, or gives NaN; `validation.rejections` counts both.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any
from unittest.mock import patch

import numpy as np
from scipy.stats import chi2, monte_carlo_test, norm

__all__ = [
    "NAMES",
    "brier_monte_carlo",
    "by_group",
    "giviti_belt",
    "giviti_test",
    "hosmer_lemeshow",
    "mapie_kolmogorov_smirnov",
    "mapie_kuiper",
    "mapie_spiegelhalter",
    "peers",
    "relplot_band",
    "spiegelhalter",
    "spiegelhalter_z",
]

RESAMPLES = 199
"""As many as our own test draws in the study."""


def hosmer_lemeshow(y: Any, p: Any, groups: int = 10) -> float:
    """Hosmer and Lemeshow's χ² over groups of equal size, ordered by prediction.

    With as many degrees of freedom as groups: that is the limit for predictions from elsewhere.
    The well-known groups - 2 are for a model that was fitted on these same outcomes.
    """
    parts = np.array_split(np.argsort(p, kind="stable"), groups)
    size = np.array([len(part) for part in parts])
    observed = np.array([y[part].sum() for part in parts])
    expected = np.array([p[part].sum() for part in parts])
    variance = expected * (1 - expected / size)
    return float(chi2.sf(((observed - expected) ** 2 / variance).sum(), groups))


def spiegelhalter_z(y: Any, p: Any) -> float:
    """Spiegelhalter's z: about standard normal under calibration, positive if over-confident."""
    weight = 1 - 2 * p
    return float(((y - p) * weight).sum() / np.sqrt((weight**2 * p * (1 - p)).sum()))


def spiegelhalter(y: Any, p: Any) -> float:
    """Spiegelhalter's z, two-sided."""
    return float(2 * norm.sf(abs(spiegelhalter_z(y, p))))


def mapie_spiegelhalter(y: Any, p: Any) -> float:
    """MAPIE's p-value of the same z. It is one-sided: small for over-confidence only."""
    from mapie.metrics.calibration import spiegelhalter_p_value

    return float(spiegelhalter_p_value(y, p))


def mapie_kolmogorov_smirnov(y: Any, p: Any) -> float:
    """MAPIE's test of the largest cumulative difference, as of a Brownian motion."""
    from mapie.metrics.calibration import kolmogorov_smirnov_p_value

    return float(kolmogorov_smirnov_p_value(y, p))


def mapie_kuiper(y: Any, p: Any) -> float:
    """MAPIE's test of the range of cumulative differences, as of a Brownian motion."""
    from mapie.metrics.calibration import kuiper_p_value

    return float(kuiper_p_value(y, p))


def giviti_test(y: Any, p: Any) -> float:
    """Give the GiViTI test of the package calibration-belt, whose polynomials begin at degree 1.

    That is the test for predictions from elsewhere.
    """
    from calibration import CalibrationBelt

    return float(CalibrationBelt(y, p).test()[1])


def brier_monte_carlo(y: Any, p: Any, rng: np.random.Generator) -> float:
    """Brier score in SciPy's Monte Carlo test, two-sided: valid at every n, as ours is.

    Ties count against rejection there, so that its size is 5 % or a little less.
    """

    def draw(size: Any) -> Any:
        return (rng.uniform(size=size) < p).astype(float)

    def brier(drawn: Any, axis: int = -1) -> Any:
        return ((drawn - p) ** 2).mean(axis=axis)

    return float(
        monte_carlo_test(y.astype(float), draw, brier, n_resamples=RESAMPLES, axis=-1).pvalue
    )


FIXED: dict[str, Callable[[Any, Any], float]] = {
    "Hosmer-Lemeshow": hosmer_lemeshow,
    "Spiegelhalter": spiegelhalter,
    "MAPIE Spiegelhalter (one-sided)": mapie_spiegelhalter,
    "MAPIE Kolmogorov-Smirnov": mapie_kolmogorov_smirnov,
    "MAPIE Kuiper": mapie_kuiper,
    "calibration-belt": giviti_test,
}
"""The tests that draw nothing, by the names they have in tables."""

MONTE_CARLO = "SciPy Monte Carlo, Brier score"
NAMES = (*FIXED, MONTE_CARLO)


def peers(rng: np.random.Generator) -> dict[str, Callable[[Any, Any], float]]:
    """Give all tests by name; what one of them draws comes from this generator."""
    return FIXED | {MONTE_CARLO: partial(brier_monte_carlo, rng=rng)}


def by_group(test: Callable[[Any, Any], float], y: Any, p: Any, group: Any) -> float:
    """Smallest Holm-adjusted p-value of a test that is made in each group on its own."""
    members = [group == name for name in np.unique(group)]
    return min(1.0, len(members) * min(test(y[own], p[own]) for own in members))


def giviti_belt(y: Any, p: Any, level: float = 0.95) -> tuple[Any, Any, Any]:
    """Predictions, lower and upper ends of the GiViTI belt."""
    import calibration

    with patch.object(calibration, "tqdm", iter):  # its progress bar would tear ours
        ends = calibration.CalibrationBelt(y, p).calculate_boundaries(level)
    at, lower, upper = ends.T
    return at, lower, upper


def relplot_band(y: Any, p: Any, seed: int) -> tuple[Any, Any, Any]:
    """Predictions, lower and upper ends of relplot's 95 % bootstrap band of a smoothed curve."""
    import relplot

    np.random.seed(seed)  # noqa: NPY002  it draws from the generator that all share
    found = relplot.prepare_rel_diagram(p, y, report_CE=False)
    return found["mesh"], found["lower"], found["upper"]
