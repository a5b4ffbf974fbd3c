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
from scipy.special import logit
from scipy.stats import chi2, monte_carlo_test, norm

from validation.peers.likelihood import log_likelihood, maximise_logistic

__all__ = [
    "NAMES",
    "brier_monte_carlo",
    "by_group",
    "cox_ratio",
    "giviti_belt",
    "giviti_test",
    "hosmer_lemeshow",
    "hosmer_lemeshow_monte_carlo",
    "kernel_error",
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

MOST_FOR_KERNEL = 200
"""Rows up to which the study asks the kernel test: its matrices grow with the square of n."""


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


def hosmer_lemeshow_monte_carlo(
    y: Any, p: Any, rng: np.random.Generator, groups: int = 10
) -> float:
    """The same χ² ranked among those of outcomes drawn from p: valid at every n, as ours is."""
    order = np.argsort(p, kind="stable")
    size = np.array([len(part) for part in np.array_split(order, groups)])
    starts = np.r_[0, np.cumsum(size)[:-1]]
    expected = np.add.reduceat(p[order], starts)
    variance = expected * (1 - expected / size)
    drawn = rng.uniform(size=(RESAMPLES, len(p))) < p[order]
    counts = np.add.reduceat(np.vstack([y[order], drawn]).astype(float), starts, axis=1)
    values = ((counts - expected) ** 2 / variance).sum(axis=1)
    # equal data sets give sums that may differ by rounding; ties count against rejection
    return float((values >= values[0] * (1 - 1e-9)).mean())


def cox_ratio(y: Any, p: Any) -> float:
    """Likelihood ratio of Cox's recalibration (1958): intercept 0 and slope 1 of the logit.

    It has two degrees of freedom, and refuses predictions of 0 and 1, whose logit is infinite, and
    outcomes for which the likelihood has no finite maximum.
    """
    score = logit(p)
    if not np.isfinite(score).all():
        raise ValueError("predictions of 0 or 1 have no logit")
    ones, zeros = score[y == 1], score[y == 0]
    if not (len(ones) and len(zeros)):
        raise ValueError("all outcomes are equal: there is no finite maximum")
    if ones.min() >= zeros.max() or zeros.min() >= ones.max():
        raise ValueError("the outcomes are separated: there is no finite maximum")
    design = np.column_stack([np.ones(len(p)), score])
    top = log_likelihood("logistic", design @ maximise_logistic(design, y[None])[0], y)
    return float(chi2.sf(2 * (top - log_likelihood("logistic", score, y)), 2))


def kernel_error(y: Any, p: Any, rng: np.random.Generator) -> float:
    """Squared kernel calibration error (Widmann, Lindsten and Zachariah 2019), asymptotic test.

    The unbiased estimate Σ_{i≠j} e_i e_j k(p_i, p_j) / (n (n - 1)), e = y - p, which is that of
    both classes up to a factor. Its distribution is that of a degenerate U-statistic, found by
    the bootstrap of Arcones and Giné: rows drawn with replacement, terms centred. Laplacian kernel
    with the median distance of the predictions as its width.
    """
    n, residual = len(p), y - p
    apart = np.abs(p[:, None] - p)
    H = np.exp(-apart / np.median(apart[np.triu_indices(n, 1)])) * np.outer(residual, residual)
    np.fill_diagonal(H, 0.0)
    means = H.sum(axis=1) / (n - 1)
    centred = H - means[:, None] - means + means.mean()
    np.fill_diagonal(centred, 0.0)
    weights = rng.multinomial(n, np.full(n, 1 / n), size=RESAMPLES).astype(float)
    drawn = ((weights @ centred) * weights).sum(axis=1)
    return float((1 + (drawn >= H.sum()).sum()) / (RESAMPLES + 1))


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
    "Cox, likelihood ratio": cox_ratio,
}
"""The tests that draw nothing, by the names they have in tables."""

BRIER = "SciPy Monte Carlo, Brier score"
GROUPED = "Monte Carlo Hosmer-Lemeshow"
KERNEL = "kernel calibration error"
NAMES = (*FIXED, BRIER, GROUPED)


def peers(
    rng: np.random.Generator, own: np.random.Generator
) -> dict[str, Callable[[Any, Any], float]]:
    """Give all tests by name but the kernel's; SciPy's draws from `rng`, and ours from `own`.

    Apart, so that a test can be added without other random numbers for those after it.
    """
    brier = {BRIER: partial(brier_monte_carlo, rng=rng)}
    return FIXED | brier | {GROUPED: partial(hosmer_lemeshow_monte_carlo, rng=own)}


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
