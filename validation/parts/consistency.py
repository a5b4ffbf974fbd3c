"""Regions shrink to the truth: areas go as 1/n, and a false parameter is excluded.

The slope is that of log(median area) on log n for n = 100 to 3,200, with the standard error of a
bootstrap over data sets. The false parameter (1/2, 1.5) has the right prior and even the right
Bayes classifier; its probabilities are wrong by at most 0.09. A repetition is a data set, and its
number the seed of it in the whole package.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

import exactregion as er
from exactregion.paper import setting
from exactregion.paper.paper import enclosing_box
from exactregion.paper.setting import LikelihoodRatio
from validation.drawing import BLUE, GREEN, GREY, ORANGE, PURPLE, SKY, VERMILION, panels
from validation.parts.areas import title_of
from validation.rates import limits
from validation.study import Case

SIZES = (100, 200, 400, 800, 1600, 3200)
FALSE = (0.5, 1.5)
FIRST_SEED = 10_000
"""Data sets of the false parameter have seeds from here on."""

LEVELS = 6
WIDER = "I_knn, k = n^(4/5)"
WIDER_EVERY = 2
"""Of every so many data sets one has this region: it takes longest."""

CASES = [
    *(Case({"question": "area", "n": n}, 20, 200, 1) for n in SIZES),
    *(Case({"question": "false parameter", "n": n}, 100, 1000, 25) for n in (200, 800, 3200)),
]
COLOURS = {
    "I_knn": ORANGE,
    WIDER: "#A56A00",
    "I_gaussian": GREEN,
    "II_gaussian": SKY,
    "III_gaussian": BLUE,
    "score": PURPLE,
    "combined": VERMILION,
    "likelihood_ratio": GREY,
}


def rows(settings: dict[str, Any], repetition: int) -> list[dict[str, Any]]:
    """Measure all regions of one data set, or ask them for the false parameter."""
    if settings["question"] == "area":
        return _areas(settings["n"], repetition)
    return _memberships(settings["n"], FIRST_SEED + repetition)


def _areas(n: int, seed: int) -> list[dict[str, Any]]:
    data = setting.draw_data(seed, n)
    yardstick = LikelihoodRatio(data)
    box = first_box(yardstick)
    regions = {"likelihood_ratio": yardstick}
    compared = setting.compared_statistics(n)
    if seed % WIDER_EVERY == 0:
        uniform = {"measure": "uniform", "domain": (setting.DOMAIN,)}
        compared[WIDER] = er.statistics.Neighborhood(k=int(n**0.8), standardize=False, **uniform)
    regions |= {key: setting.fit_region(statistic, data) for key, statistic in compared.items()}
    return [{"region": key, "area": area_of(region, box)} for key, region in regions.items()]


def first_box(yardstick: Any) -> Any:
    """Four standard errors around maximum likelihood."""
    reach = 4 * np.sqrt(np.diag(np.linalg.inv(yardstick.information)))
    box = np.column_stack([yardstick.estimate - reach, yardstick.estimate + reach])
    return np.clip(box, [[0.0], [0.0]], [[1.0], [np.inf]])


def area_of(region: Any, box: Any) -> float:
    """Area on a grid that holds the region, ∞ if none does."""
    grid = region.grid(enclosing_box([region], box), levels=LEVELS)
    return float("inf") if grid.status == "unbounded" else float(grid.area)


def _memberships(n: int, seed: int) -> list[dict[str, Any]]:
    data = setting.draw_data(seed, n)
    found = []
    for key, statistic in setting.compared_statistics(n).items():
        region = setting.fit_region(statistic, data)
        rank = region.rank([FALSE, setting.TRUTH])
        inside = region.accepted_ranks_.holds(rank)
        found.append(
            {
                "region": key,
                "excluded": bool(not inside[0]),
                "last_rank": bool(rank[0] == setting.N_RESAMPLES + 1),
                "truth_inside": bool(inside[1]),
            }
        )
    return found


def tables(frame: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """Areas by n, their slopes, and how often the false parameter is excluded."""
    areas = frame[frame["question"] == "area"]
    asked = frame[frame["question"] != "area"]
    return {"areas": _medians(areas), "slopes": _slopes(areas), "false_parameter": _counts(asked)}


def _medians(areas: pd.DataFrame) -> pd.DataFrame:
    groups = areas.groupby(["region", "n"], sort=False)["area"]
    table = groups.agg(repetitions="size", median_area="median").reset_index()
    table["unbounded"] = groups.agg(lambda area: int(np.isinf(area).sum())).to_numpy()
    return table


def _slopes(areas: pd.DataFrame) -> pd.DataFrame:
    rng = np.random.default_rng(0)
    found = []
    for region, group in areas.groupby("region", sort=False):
        by_size = {int(n): some["area"].to_numpy() for n, some in group.groupby("n")}
        error = slope_error(by_size, rng)
        slope = slope_of(by_size)
        found.append({"region": region, "title": title_of(region), "slope": slope, "error": error})
    return pd.DataFrame(found)


def slope_of(by_size: dict[int, Any]) -> float:
    """Slope of log(median area) on log n, where both are finite."""
    medians = {n: np.median(values) for n, values in by_size.items()}
    usable = {n: area for n, area in medians.items() if 0 < area < np.inf}
    if len(usable) < 2:
        return np.nan
    return float(np.polyfit(np.log(list(usable)), np.log(list(usable.values())), 1)[0])


def slope_error(by_size: dict[int, Any], rng: np.random.Generator, times: int = 400) -> float:
    """Standard error of the slope, data sets drawn again with replacement."""
    slopes = []
    for _ in range(times):
        drawn = {n: rng.choice(values, len(values)) for n, values in by_size.items()}
        slopes.append(slope_of(drawn))
    return float(np.nanstd(slopes)) if np.isfinite(slopes).any() else np.nan


def _counts(asked: pd.DataFrame) -> pd.DataFrame:
    found = []
    for (region, n), group in asked.groupby(["region", "n"], sort=False):
        excluded = int(group["excluded"].sum())
        low, high = limits(excluded, len(group))
        inside = int(group["truth_inside"].sum())
        of_truth = limits(inside, len(group))
        found.append(
            {
                "region": region,
                "n": int(n),
                "repetitions": len(group),
                "excluded": excluded / len(group),
                "low": low,
                "high": high,
                "last_rank": group["last_rank"].mean(),
                "coverage": inside / len(group),
                "coverage_low": of_truth[0],
                "coverage_high": of_truth[1],
            }
        )
    return pd.DataFrame(found)


def figures(tables: dict[str, pd.DataFrame]) -> dict[str, Any]:
    """Draw areas and exclusions by n."""
    figure, (left, right) = panels(1, 2, size=(4.2, 3.6))
    areas, slopes = tables["areas"], tables["slopes"].set_index("region")
    for region, some in areas.groupby("region", sort=False):
        slope = slopes.loc[region]
        label = f"{slope['title']}: {slope['slope']:.2f} ± {slope['error']:.2f}"
        left.plot(some["n"], some["median_area"], "o-", ms=3.5, color=COLOURS[region], label=label)
    left.set(xscale="log", yscale="log", xlabel="n", title="median area, its slope below")
    for region, some in tables["false_parameter"].groupby("region", sort=False):
        place = 1.04 ** (list(COLOURS).index(region) - 4)
        ends = [some["excluded"] - some["low"], some["high"] - some["excluded"]]
        style = {"marker": "o", "ms": 3.5, "lw": 1, "color": COLOURS[region]}
        right.errorbar(some["n"] * place, some["excluded"], ends, **style)
    right.set(
        xscale="log",
        xlabel="n",
        ylim=(-0.03, 1.03),
        title="share that excludes the false parameter",
    )
    for axis, ticks in ((left, SIZES), (right, (200, 800, 3200))):
        axis.set_xticks(ticks, [f"{n:,}" for n in ticks])
        axis.minorticks_off()
        axis.title.set_fontsize(10)
    figure.legend(loc="outside lower center", ncols=3, fontsize=8, frameon=False)
    return {"consistency": figure}
