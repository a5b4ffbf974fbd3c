"""Areas of the 90 % regions of the paper's experiment, relative to the likelihood-ratio region.

Every region on the same data; an empty region has area 0. The six statistics with m = 50 as in the
paper, and on some data sets score and combined with m = 500, and other choices of neighbours and
measure for Algorithm I, which show how much its area owes to them. A repetition is a data set, and
its number the seed of it in the whole package.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pandas as pd
from scipy.stats import chi2

import exactregion as er
from exactregion.paper import setting
from exactregion.paper.paper import study
from validation.drawing import BLUE, GREY, VERMILION, panels
from validation.rates import limits
from validation.study import Case

SMALL_M, LARGE_M = 50, 500
CASES = [
    Case({"statistics": "the six", "m": SMALL_M}, 50, 1000, 2),
    Case({"statistics": "score and combined", "m": LARGE_M}, 20, 300, 2),
    Case({"statistics": "other choices for I", "m": SMALL_M}, 20, 300, 2),
]
YARDSTICK = "likelihood_ratio"
GUARANTEES = {YARDSTICK: "asymptotic", "stripes": "at least"}
COLOURS = {"exact": BLUE, "asymptotic": VERMILION, "at least": GREY}


def statistics(name: str, n: int = setting.N_ROWS) -> dict[str, Any]:
    """Give the statistics of a case by their keys."""
    compared = setting.compared_statistics(n)
    if name == "the six":
        return compared
    if name == "score and combined":
        return {key: compared[key] for key in ("score", "combined")}
    uniform = {"measure": "uniform", "domain": (setting.DOMAIN,)}
    smoother = {"kernel": "gaussian", "bandwidth": setting.BANDWIDTH, "nodes": 128}
    wide = {"measure": "uniform", "domain": ((-4.0, 4.0),)}
    make = er.statistics.Neighborhood
    return {
        "I_knn, k = n^(2/3)": make(k=int(n ** (2 / 3)), standardize=False, **uniform),
        "I_knn, k = n^(4/5)": make(k=int(n ** (4 / 5)), standardize=False, **uniform),
        "I_knn, empirical measure": make(k=setting.neighbours(n), standardize=False),
        "I_gaussian, empirical measure": make(standardize=False, **smoother),
        "I_gaussian, on [-4, 4]": make(standardize=False, **wide, **smoother),
    }


def rows(settings: dict[str, Any], repetition: int) -> list[dict[str, Any]]:
    """Measure all regions of one data set."""
    done = study(
        repetition,
        points=None,
        statistics=statistics(settings["statistics"]),
        n_resamples=settings["m"] - 1,
    )
    relative, areas = done.relative_areas(), done.areas()
    found = [
        {
            "region": key,
            "area": areas[key],
            "relative_area": relative[key],
            "truth_inside": bool(region.contains_truth),
            "status": region.fine.status,
        }
        for key, region in done.regions.items()
        if key != YARDSTICK or settings["statistics"] == "the six"
    ]
    if settings["statistics"] == "the six":
        inside = bool(done.stripes.contains(setting.TRUTH))
        stripes = {"area": areas["stripes"], "relative_area": relative["stripes"]}
        found.append({"region": "stripes", **stripes, "truth_inside": inside, "status": "bounded"})
    return found


def tables(frame: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """Relative areas and coverage by region, and what theory expects of the score."""
    groups = frame.groupby(["statistics", "m", "region"], sort=False)
    areas = [
        {"statistics": statistics, "m": int(m), "region": region, **_summary(region, group)}
        for (statistics, m, region), group in groups
    ]
    expected = [{"m": m, "expected_mean": expected_of_the_score(m)} for m in (SMALL_M, LARGE_M)]
    return {"areas": pd.DataFrame(areas), "expected": pd.DataFrame(expected)}


def _summary(region: str, group: pd.DataFrame) -> dict[str, Any]:
    relative, inside = group["relative_area"], int(group["truth_inside"].sum())
    low, high = limits(inside, len(group))
    return {
        "title": title_of(region),
        "guarantee": GUARANTEES.get(region, "exact"),
        "repetitions": len(group),
        "relative_area": relative.mean(),
        "error": relative.sem(),
        "median": relative.median(),
        "nominal": setting.CONFIDENCE_LEVEL,
        "coverage": inside / len(group),
        "low": low,
        "high": high,
        "unbounded": int((group["status"] == "unbounded").sum()),
        "empty": int((group["status"] == "empty").sum()),
    }


def title_of(region: str) -> str:
    """Say what a region is called: "I_knn, k = n^(4/5)" has the title of I_knn before its k."""
    key, comma, rest = region.partition(",")
    return setting.TITLES.get(key, key) + comma + rest


def expected_of_the_score(m: int) -> float:
    """Mean relative area of the score region for large n: its χ²₂ threshold is estimated.

    It is the q-th smallest of m - 1 exponential variables, with mean 2 Σ 1/i over m - q ≤ i < m.
    """
    q = math.ceil(setting.CONFIDENCE_LEVEL * m - 1e-9)
    return 2 * sum(1 / i for i in range(m - q, m)) / chi2.ppf(setting.CONFIDENCE_LEVEL, 2)


def figures(tables: dict[str, pd.DataFrame]) -> dict[str, Any]:
    """Draw the mean relative areas with two standard errors."""
    areas = tables["areas"].iloc[::-1].reset_index(drop=True)
    figure, (axis,) = panels(1, 1, size=(6.6, 0.8 + 0.27 * len(areas)))
    for place, row in areas.iterrows():
        ends = np.array([-2, 2]) * np.nan_to_num(row["error"]) + row["relative_area"]
        colour = COLOURS[row["guarantee"]]
        axis.plot(ends, [place, place], color=colour, lw=1.4)
        axis.plot(row["relative_area"], place, "o", color=colour, ms=5)
    names = [
        title if m == SMALL_M else f"{title}, m = {m}"
        for title, m in zip(areas["title"], areas["m"], strict=True)
    ]
    axis.set_yticks(range(len(areas)), names)
    axis.axvline(1, color="#666666", lw=0.8, ls="--")
    axis.set(xscale="log", xlabel="mean area, relative to the likelihood-ratio region")
    ticks = [1, 1.5, 2, 3, 4, 6, 8]
    axis.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
    axis.minorticks_off()
    labels = ("coverage 90 %, exact", "90 % for large n", "at least 90 %")
    for label, colour in zip(labels, COLOURS.values(), strict=True):
        axis.plot([], [], "o", color=colour, label=label)
    axis.set_xlim(0.7, None)
    figure.legend(fontsize=8, frameon=False, loc="outside lower center", ncols=3)
    m = f"m = {SMALL_M}, two standard errors"
    axis.set_title(f"90 % regions of the paper's experiment, n = {setting.N_ROWS}, {m}", fontsize=9)
    return {"areas": figure}
