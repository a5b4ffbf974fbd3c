"""Coverage of results that were searched, where searches are at their weakest.

Truths with long, bent or open regions: a psychometric function with a free lapse rate, a Weibull
function as in the docs, and rare outcomes. Of each data set the focused intervals, the threshold,
and the simultaneous band at nine inputs are searched (``certify=False``), and compared with the
truth. A band has to hold at all inputs at once, and where the truth is a member of the region it
must lie within the band. A few seconds per data set.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
from scipy.special import expit

import exactregion as er
from validation.parts.searched import WEIBULL_BOUNDS, weibull
from validation.rates import rate_table
from validation.study import Case, generator

RESAMPLES, LEVEL = 99, 0.9
CASES = [
    Case({"truth": truth, "level": LEVEL}, 40, 400, together=2)
    for truth in ("psychometric, free lapse rate", "Weibull", "rare outcomes, n = 60")
]


def _drawn(
    truth: str, rng: np.random.Generator
) -> tuple[Any, np.ndarray, np.ndarray, np.ndarray, Callable[[np.ndarray], float]]:
    """Draw a model, inputs, outcomes; and give the true θ and the threshold as a function of θ."""
    if truth.startswith("rare"):
        theta = np.array([-2.6, 1.0])
        x = rng.normal(size=60)
        y = (rng.random(60) < expit(theta[0] + theta[1] * x)).astype(int)
        return er.models.Logistic(), x, y, theta, _even
    trials = np.full(7, 40)
    if truth == "Weibull":
        theta = np.array([0.008, 2.0, 0.03])
        x = np.array([0.002, 0.004, 0.006, 0.008, 0.012, 0.018, 0.03])
        names = ("scale", "shape", "lapse")
        model: Any = er.models.Function(weibull, names=names, bounds=WEIBULL_BOUNDS)
        successes = rng.binomial(trials, weibull(theta, x))
        return model, x, np.column_stack([successes, trials - successes]), theta, lambda t: t[0]
    theta, x = np.array([-0.4, 2.0, 0.04]), np.linspace(-2, 2, 7)
    p = 0.5 + (0.5 - theta[2]) * expit(theta[0] + theta[1] * x)
    successes = rng.binomial(trials, p)
    model = er.models.Psychometric(guess=0.5, lapse="free")
    return model, x, np.column_stack([successes, trials - successes]), theta, _even


def _even(theta: np.ndarray) -> float:
    """The input at which the linear predictor is zero."""
    return float(-theta[0] / theta[1]) if theta[1] else np.inf


def rows(settings: dict[str, Any], repetition: int) -> list[dict[str, Any]]:
    """Compare all results of one data set with the truth."""
    rng = generator(settings, repetition)
    model, x, y, theta, threshold = _drawn(settings["truth"], rng)
    region = er.ConfidenceRegion(
        model,
        confidence_level=LEVEL,
        n_resamples=RESAMPLES,
        rng=int(rng.integers(2**32)),
        pos_label=None if np.ndim(y) == 2 else 1,
    ).fit(x, y)
    is_member = bool(region.contains(theta))
    table = region.intervals(certify=False)
    at = np.linspace(x.min(), x.max(), 9)
    band = region.band(at, certify=False)
    P = region.model_.probabilities(theta, at)
    found = region.functional(threshold, name="threshold")
    holds = {
        f"focused interval, {name}": table["lower"].iloc[k] <= theta[k] <= table["upper"].iloc[k]
        for k, name in enumerate(table.index)
    }
    holds["threshold, focused"] = found.lower <= threshold(theta) <= found.upper
    holds["band, simultaneous"] = bool(((band.lower <= P) & (band.upper >= P)).all())
    missed = is_member and not holds["band, simultaneous"]
    return [
        {"of": kind, "covered": bool(yes), "missed": missed if kind.startswith("band") else None}
        for kind, yes in holds.items()
    ]


def tables(frame: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """Coverage by truth and result; a member missed is one that a band does not hold."""
    by = ["truth", "level", "of"]
    table = rate_table(frame, by, "covered")
    missed = frame.assign(missed=frame["missed"].astype(float)).groupby(by, sort=False)["missed"]
    table = table.merge(missed.mean().reset_index(), on=by)
    return {"coverage": table.assign(nominal=table["level"])}
