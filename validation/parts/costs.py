"""What certified results cost: seconds, boxes and gaps, beside those of the search alone.

Each repetition is a seed. Seconds are those of one core, of a first call after the compiled loops
were loaded.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd

import exactregion as er
from validation.study import Case

RESULTS = (
    "O-ring, joint intervals",
    "O-ring, focused intervals",
    "O-ring, band",
    "belt of 332 predictions",
    "3 parameters, n = 100, joint intervals",
)
CASES = [
    Case({"result": result, "certify": certify}, 1 if result.startswith("3") else 3, 5, together=1)
    for result in RESULTS
    for certify in (True, False)
    if certify or not result.startswith("belt")
]


def _oring(seed: int) -> er.ConfidenceRegion:
    flights = er.datasets.oring()
    region = er.ConfidenceRegion("logistic", rng=seed)
    return region.fit(flights["temp"].to_numpy(float), flights["y"])


def _three(seed: int) -> er.ConfidenceRegion:
    rng = np.random.default_rng(2019)
    X = rng.normal(size=(100, 2))
    y = rng.random(100) < 1 / (1 + np.exp(-0.3 - X @ [1.0, -0.7]))
    return er.ConfidenceRegion("logistic", rng=seed).fit(X, y.astype(int))


def _compute(settings: dict[str, Any], seed: int) -> dict[str, Any]:
    """Compute one result; `certify` is the default for two parameters, and asked for with three."""
    result, certify = settings["result"], settings["certify"]
    if result.startswith("belt"):
        pima = er.datasets.pima_predictions()
        belt = er.calibration_belt(pima["y"], pima["p"], rng=seed)
        width = belt.upper - belt.lower
        return {
            "certified": belt.certified,
            "boxes": belt.evaluations,
            "gap": belt.gap / float(width.max()),
            "width": float(width.mean()),
        }
    region = _three(seed) if result.startswith("3") else _oring(seed)
    how = {"certify": (True if result.startswith("3") else None) if certify else False}
    if result.endswith("band"):
        band = region.band(np.linspace(31, 81, 26), **how)
        width = band.upper - band.lower
        return {
            "certified": band.certified,
            "boxes": band.evaluations,
            "gap": band.gap / float(width.max()),
            "width": float(width.mean()),
        }
    table = region.intervals(joint="joint" in result, **how)
    length = table["upper"] - table["lower"]
    return {
        "certified": bool(table["certified"].all()),
        "boxes": int(
            table["evaluations"].max() if "joint" in result else table["evaluations"].sum()
        ),
        "gap": float((table["gap"] / length).max()),
        "width": float(length.mean()),
    }


def _timed(function: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    started, of_core = time.perf_counter(), time.process_time()
    found = function()
    return {
        **found,
        "seconds": time.perf_counter() - started,
        "of_core": time.process_time() - of_core,
    }


def rows(settings: dict[str, Any], repetition: int) -> list[dict[str, Any]]:
    """Compute a result with one seed, after a small one that loads all compiled loops."""
    x = np.arange(8.0)
    er.ConfidenceRegion("logistic", n_resamples=19, rng=0).fit(x, x % 3 > 0).intervals(certify=True)
    return [_timed(lambda: _compute(settings, repetition))]


def tables(frame: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """Medians over seeds."""
    groups = frame.groupby(["result", "certify"], sort=False)
    table = groups.agg(
        seeds=("repetition", "nunique"),
        certified=("certified", "mean"),
        gap=("gap", "max"),
        boxes=("boxes", "median"),
        seconds=("seconds", "median"),
        of_core=("of_core", "median"),
    ).reset_index()
    return {"costs": table}
