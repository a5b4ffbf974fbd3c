"""Regions shrink to the truth: area ∝ 1/n, and a false parameter is excluded.

    python validation/consistency.py [--data-sets 8]

The slope is that of log(median area) on log n for n = 100 to 3,200, with the standard error of a
bootstrap over data sets. The false parameter (1/2, 1.5) has the right prior and even the right
Bayes classifier; its probabilities are wrong by at most 0.09. It must be outside the 90 % region
in every one of 100 data sets at n = 3,200.
"""

import argparse
import json
import sys
import time
from pathlib import Path

import numpy as np

import exactregion as er
from exactregion.experiments import setting
from exactregion.experiments.study import enclosing_box, likelihood_ratio
from exactregion.files import write_whole

RESULTS = Path(__file__).parent / "results" / "consistency.json"
SIZES = (100, 200, 400, 800, 1600, 3200)
GOAL, MARGIN = -1.0, 0.15
FALSE = (0.5, 1.5)
LEVELS = 6
WIDER = "I_knn, k = n^(4/5)"
WIDER_DATA_SETS = 4


def statistics_for(n):
    wider = er.statistics.Neighborhood(
        k=int(n**0.8), standardize=False, measure="uniform", domain=(setting.DOMAIN,)
    )
    return setting.compared_statistics(n) | {WIDER: wider}


def first_box(yardstick):
    """Four standard errors around maximum likelihood."""
    reach = 4 * np.sqrt(np.diag(np.linalg.inv(yardstick.information)))
    box = np.column_stack([yardstick.estimate - reach, yardstick.estimate + reach])
    return np.clip(box, [[0.0], [0.0]], [[1.0], [np.inf]])


def area_of(region, box):
    grid = region.grid(enclosing_box([region], box), levels=LEVELS)
    return float("inf") if grid.status == "unbounded" else grid.area


def areas(data_sets):
    """Area of each region at each n and data set."""
    found = {}
    for n in SIZES:
        begun = time.perf_counter()
        for seed in range(data_sets):
            data = setting.draw_data(seed, n)
            yardstick = likelihood_ratio(data)
            box = first_box(yardstick)
            regions = {"likelihood_ratio": yardstick}
            for key, statistic in statistics_for(n).items():
                if key != WIDER or seed < WIDER_DATA_SETS:
                    regions[key] = setting.fit_region(statistic, data)
            for key, region in regions.items():
                found.setdefault(key, {}).setdefault(n, []).append(area_of(region, box))
        print(f"n = {n}: {time.perf_counter() - begun:.0f} s", file=sys.stderr)
    return found


def slope_of(by_size):
    """Slope of log(median area) on log n."""
    medians = [np.median(by_size[n]) for n in SIZES]
    return float(np.polyfit(np.log(SIZES), np.log(medians), 1)[0])


def slope_error(by_size, rng, repetitions=400):
    """Standard error of the slope, data sets drawn again with replacement."""
    slopes = []
    for _ in range(repetitions):
        drawn = {n: rng.choice(values, len(values)) for n, values in by_size.items()}
        if all(0 < np.median(values) < np.inf for values in drawn.values()):
            slopes.append(slope_of(drawn))
    return float(np.std(slopes))


def exclusions(data_sets, n=SIZES[-1]):
    """How often each statistic excludes the false parameter, and how often by the last rank."""
    counts = {}
    for seed in range(data_sets):
        data = setting.draw_data(10_000 + seed, n)
        for key, statistic in setting.compared_statistics(n).items():
            region = setting.fit_region(statistic, data)
            row = counts.setdefault(key, {"excluded": 0, "last_rank": 0, "truth_inside": 0})
            rank = region.rank([FALSE, setting.TRUTH])
            inside = region.accepted_ranks_.holds(rank)
            row["excluded"] += int(not inside[0])
            row["last_rank"] += int(rank[0] == setting.N_RESAMPLES + 1)
            row["truth_inside"] += int(inside[1])
    return counts


def table(rows, data_sets):
    lines = [f"{'median area':<24}" + "".join(f"{n:>9}" for n in SIZES) + "    slope ± SE   goal"]
    for key, row in rows.items():
        medians = "".join(f"{row['median_area'][str(n)]:>9.4f}" for n in SIZES)
        met = "met" if row["goal_met"] else "missed"
        lines.append(f"{key:<24}{medians}{row['slope']:>9.2f} {row['slope_error']:>5.2f}   {met}")
    lines.append(f"\n{FALSE} at n = {SIZES[-1]}, {data_sets} data sets")
    lines.append(f"{'':<24}{'excluded':>10}{'last rank':>11}{'truth inside':>14}")
    for key, row in rows.items():
        if "excluded" in row:
            lines.append(
                f"{key:<24}{row['excluded']:>10}{row['last_rank']:>11}{row['truth_inside']:>14}"
            )
    return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data-sets", type=int, default=8)
    parser.add_argument("--exclusions", type=int, default=100)
    parser.add_argument("--out", type=Path, default=RESULTS)
    chosen = parser.parse_args()
    rng = np.random.default_rng(0)
    rows = {}
    for key, by_size in areas(chosen.data_sets).items():
        slope = slope_of(by_size)
        rows[key] = {
            "median_area": {str(n): float(np.median(by_size[n])) for n in SIZES},
            "areas": {str(n): [a if np.isfinite(a) else None for a in by_size[n]] for n in SIZES},
            "slope": slope,
            "slope_error": slope_error(by_size, rng),
            "goal_met": abs(slope - GOAL) <= MARGIN,
        }
    for key, counts in exclusions(chosen.exclusions).items():
        rows[key] |= counts
    print(table(rows, chosen.exclusions))
    answer = {
        "data_sets": chosen.data_sets,
        "m": setting.N_RESAMPLES + 1,
        "goal": [GOAL - MARGIN, GOAL + MARGIN],
        "false_parameter": list(FALSE),
        "exclusion_data_sets": chosen.exclusions,
        "regions": rows,
    }
    chosen.out.parent.mkdir(parents=True, exist_ok=True)
    text = json.dumps(answer, indent=1) + "\n"
    write_whole(chosen.out, lambda file: file.write(text.encode()))


if __name__ == "__main__":
    main()
