"""Calibration belts at 95 %: how often they hold the whole true curve, and how wide they are.

Predictions are uniform; the true curve is expit(a + b logit p), the diagonal or another. Coverage
and width are over the predictions 0.01, 0.02, ..., 0.99 that lie between the smallest and the
largest one drawn. relplot's band promises less: it is made point by point, of a smoothed curve. The
test part of pima comes last, beside numbers of the R packages that people use. All belts are
made of the first data sets of each setting, and ours after that where the true curve is no member
of its region; where it is, the belt covers it.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
from scipy.special import expit, logit

import exactregion as er
from validation.drawing import BLUE, GREY, VERMILION, panels
from validation.peers.calibration import (
    giviti_belt,
    giviti_test,
    relplot_band,
    spiegelhalter,
)
from validation.rates import limits
from validation.study import Case, generator

Belt = tuple[Any, Any, Any]
"""Predictions, lower ends and upper ends."""

OURS = "exactregion"
LEVEL = 0.95
AT = np.linspace(0.01, 0.99, 99)
CURVES = {"calibrated": (0.0, 1.0), "shifted and over-confident": (0.5, 0.7)}
"""Intercept and slope of the true curve on the logit scale."""

NUMBERS = (50, 200, 1000)
MEASURED = 60
"""Data sets of each setting of which all belts are made."""

CASES = [
    *(Case({"curve": curve, "n": n}, 400, 1000, 4) for n in NUMBERS for curve in CURVES),
    Case({"curve": "pima", "n": 332}, 1, 1),
]

RMS = {
    "intercept": -0.088,
    "slope": 0.953,
    "p-value, Spiegelhalter": 0.986,
    "p-value, belt": 0.112,
}
"""What val.prob of the R package rms and the GiViTI belt of R say about pima's predictions."""

COLOURS = {OURS: BLUE, "calibration-belt": VERMILION, "relplot": GREY}
MARKERS = {OURS: "o", "calibration-belt": "s", "relplot": "^"}


def rows(settings: dict[str, Any], repetition: int) -> list[dict[str, Any]]:
    """Make all belts of one data set."""
    if settings["curve"] == "pima":
        return _pima()
    rng = generator(settings, repetition)
    intercept, slope = CURVES[settings["curve"]]
    p = rng.uniform(size=settings["n"])
    y = (rng.uniform(size=len(p)) < expit(intercept + slope * logit(p))).astype(int)
    at = AT[(p.min() <= AT) & (p.max() >= AT)]
    true = expit(intercept + slope * logit(at))
    ours, seed = rng.integers(2**32, size=2).tolist()
    belts: dict[str, Callable[[], Belt]] = {
        OURS: lambda: _exact_belt(y, p, ours),
        "calibration-belt": lambda: giviti_belt(y, p, LEVEL),
        "relplot": lambda: relplot_band(y, p, seed),
    }
    if repetition >= MEASURED:
        region = er.ConfidenceRegion("recalibration", confidence_level=LEVEL, rng=ours)
        if region.fit(p, y).contains([intercept, slope]):
            return [{"method": OURS, "covers": True, "share_covered": 1.0}]
        belts = {OURS: belts[OURS]}
    return [{"method": name, **_measure(name, make, at, true)} for name, make in belts.items()]


def _exact_belt(y: Any, p: Any, seed: int) -> Belt:
    belt = er.calibration_belt(y, p, confidence_level=LEVEL, rng=seed)
    return belt.grid, belt.lower, belt.upper


def _measure(name: str, make: Callable[[], Belt], at: Any, true: Any) -> dict[str, Any]:
    """Width and coverage of a belt; missing where a peer fails."""
    begun = time.perf_counter()
    try:
        grid, lower, upper = make()
    except Exception as error:
        if name == OURS:
            raise
        return {"failure": type(error).__name__}
    seconds = time.perf_counter() - begun
    lower, upper = np.interp(at, grid, lower), np.interp(at, grid, upper)
    inside = (lower <= true) & (true <= upper)
    return {
        "covers": bool(inside.all()),
        "share_covered": float(inside.mean()),
        "width": float((upper - lower).mean()),
        "seconds": seconds,
    }


def _pima() -> list[dict[str, Any]]:
    """Numbers of ours and of peers on the test part of pima, fitted on its training part."""
    data = er.datasets.pima_predictions()
    y, p = np.asarray(data["y"]).astype(int), np.asarray(data["p"])
    belt = er.calibration_belt(y, p, rng=0)
    found = [
        {
            "method": OURS,
            "quantity": name,
            **{key: float(row[key]) for key in ("estimate", "lower", "upper")},
        }
        for name, row in belt.intervals.iterrows()
    ]
    pvalues = {
        (OURS, "p-value"): belt.pvalue,
        ("calibration-belt", "p-value, belt"): giviti_test(y, p),
        ("written out", "p-value, Spiegelhalter"): spiegelhalter(y, p),
    }
    pvalues |= {("R: rms, GiViTI", name): value for name, value in RMS.items()}
    return found + [
        {"method": method, "quantity": name, "estimate": value}
        for (method, name), value in pvalues.items()
    ]


def tables(frame: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """Coverage and width by method, width beside ours on the same data, and pima."""
    is_pima = frame["curve"] == "pima"
    drawn = frame[~is_pima]
    keys = ["curve", "n", "repetition"]
    own = drawn[drawn["method"] == OURS].set_index(keys)["width"]
    relative = drawn["width"].to_numpy() / own.loc[list(drawn[keys].itertuples(index=False))]
    drawn = drawn.assign(relative_width=relative.to_numpy())
    groups = drawn.groupby(["curve", "n", "method"], sort=False)
    found = {
        "belts": pd.DataFrame(
            [
                {**dict(zip(("curve", "n", "method"), key, strict=True)), **_summary(group)}
                for key, group in groups
            ]
        )
    }
    if is_pima.any():
        columns = ["method", "quantity", "estimate", "lower", "upper"]
        found["pima"] = frame.loc[is_pima, columns].reset_index(drop=True)
    return found


def _summary(group: pd.DataFrame) -> dict[str, Any]:
    made = group.dropna(subset=["covers"])
    covered = int(made["covers"].astype(bool).sum())
    low, high = limits(covered, len(made))
    measured = made[made["repetition"] < MEASURED]
    return {
        "repetitions": len(made),
        "failed": len(group) - len(made),
        "nominal": LEVEL,
        "coverage": covered / len(made) if len(made) else np.nan,
        "low": low,
        "high": high,
        "pointwise_coverage": made["share_covered"].mean(),
        "width": measured["width"].mean(),
        "width_error": measured["width"].sem(),
        "width_beside_ours": measured["relative_width"].mean(),
        "seconds": measured["seconds"].median(),
    }


def figures(tables: dict[str, pd.DataFrame]) -> dict[str, Any]:
    """Draw coverage and width by n."""
    belts = tables["belts"]
    curves = list(dict.fromkeys(belts["curve"]))
    figure, axes = panels(2, len(curves), size=(4.0, 2.8), sharex=True, sharey="row")
    for column, curve in enumerate(curves):
        upper, lower = axes[column], axes[column + len(curves)]
        for place, method in enumerate(COLOURS):
            some = belts[(belts["curve"] == curve) & (belts["method"] == method)]
            at = some["n"] * 1.06 ** (place - 1)
            style = {"color": COLOURS[method], "marker": MARKERS[method], "ms": 5, "capsize": 2}
            ends = [some["coverage"] - some["low"], some["high"] - some["coverage"]]
            upper.errorbar(at, some["coverage"], ends, ls="none", label=method, **style)
            lower.errorbar(at, some["width"], 1.96 * some["width_error"], lw=1.2, **style)
        upper.axhline(LEVEL, color="#666666", lw=0.8, ls="--")
        upper.set_title(curve, fontsize=10)
        lower.set(xscale="log", xlabel="n", ylim=(0, None))
        lower.set_xticks(NUMBERS, [f"{n:,}" for n in NUMBERS])
        lower.minorticks_off()
    axes[0].set(ylabel="whole curve inside", ylim=(-0.04, 1.04))
    axes[len(curves)].set_ylabel("mean width")
    handles, labels = axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=3, frameon=False)
    figure.suptitle("Calibration belts at 95 %", fontsize=11)
    return {"belts": figure}
