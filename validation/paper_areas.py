"""Areas of the 90 % regions of the paper's experiment, relative to the likelihood-ratio χ² region.

    python validation/paper_areas.py [--data-sets 10] [--more 40] [--out FILE]

Every region on the same data; mean over the data sets, an empty region with area 0. On the first
data sets: the six statistics with m = 50 as in the paper, score and combined with m = 500 too, and
other choices of neighbours and measure for Algorithm I. On more data sets: the six statistics,
because areas at m = 50 differ by 15 % and more from data set to data set and ten of them leave much
to luck.
"""

import argparse
import json
import math
import sys
import time
from pathlib import Path

import numpy as np
from scipy.stats import chi2

import exactregion as er
from exactregion.experiments import setting
from exactregion.experiments.study import study
from exactregion.files import write_whole

RESULTS = Path(__file__).parent / "results" / "paper_areas.json"
GOALS = {"combined": 1.05, "score": 1.03, "III_gaussian": 1.6}
PAPERS_OWN = ("I_knn", "I_gaussian", "III_gaussian")
LARGE_M = 500
OTHER = " *"
"""Marks other choices than the experiment's, which have a box of their own."""


def variants(n):
    """Other sensible choices for Algorithm I: they show how much its area owes to them."""
    uniform = {"measure": "uniform", "domain": (setting.DOMAIN,)}
    smoother = {"kernel": "gaussian", "bandwidth": setting.BANDWIDTH, "nodes": 128}
    make = er.statistics.Neighborhood
    return {
        "I_knn, k = n^(2/3)": make(k=int(n ** (2 / 3)), standardize=False, **uniform),
        "I_knn, k = n^(4/5)": make(k=int(n ** (4 / 5)), standardize=False, **uniform),
        "I_knn, empirical measure": make(k=setting.neighbours(n), standardize=False),
        "I_gaussian, empirical measure": make(standardize=False, **smoother),
        "I_gaussian, on [-4, 4]": make(
            standardize=False, measure="uniform", domain=((-4.0, 4.0),), **smoother
        ),
    }


def expected_of_the_score(m):
    """Mean relative area of the score region for large n: its χ²₂ threshold is estimated.

    It is the q-th smallest of m - 1 exponential variables, with mean 2 Σ 1/i over m - q ≤ i < m.
    """
    q = math.ceil(setting.CONFIDENCE_LEVEL * m - 1e-9)
    return 2 * sum(1 / i for i in range(m - q, m)) / chi2.ppf(setting.CONFIDENCE_LEVEL, 2)


class Rows(dict):
    """What was measured, a row a region."""

    def add(self, name, relative, inside, status="bounded"):
        row = self.setdefault(name, {"relative_areas": [], "truth_inside": 0, "status": {}})
        row["relative_areas"].append(relative)
        row["truth_inside"] += inside
        row["status"][status] = row["status"].get(status, 0) + 1

    def add_all(self, done, suffix=""):
        relative = done.relative_areas()
        for key, found in done.regions.items():
            self.add(key + suffix, relative[key], found.contains_truth, found.fine.status)
        if not suffix:
            self.add("stripes", relative["stripes"], bool(done.stripes.contains(setting.TRUTH)))

    def summarise(self):
        for row in self.values():
            areas = np.array(row["relative_areas"])
            row["mean"] = float(areas.mean())
            row["standard_error"] = float(areas.std(ddof=1) / math.sqrt(len(areas)))
            row["median"] = float(np.median(areas))


def measure(seeds, *, thorough):
    """Areas on these data sets; thorough adds m = 500 and the variants."""
    rows = Rows()
    compared = setting.compared_statistics(setting.N_ROWS)
    few = {key: compared[key] for key in ("score", "combined")}
    for seed in seeds:
        begun = time.perf_counter()
        rows.add_all(study(seed, points=None, statistics=compared))
        if thorough:
            large = study(seed, points=None, statistics=few, n_resamples=LARGE_M - 1)
            rows.add_all(large, f", m = {LARGE_M}")
            rows.add_all(study(seed, points=None, statistics=variants(setting.N_ROWS)), OTHER)
        print(f"data set {seed}: {time.perf_counter() - begun:.0f} s", file=sys.stderr)
    for suffix in (f", m = {LARGE_M}", OTHER):
        rows.pop(f"likelihood_ratio{suffix}", None)
    rows.summarise()
    return rows


def judge(rows):
    """Say which goals are met, and by how much the areas are off."""
    means = {key: row["mean"] for key, row in rows.items()}
    goals = {}
    for key, goal in GOALS.items():
        for name in (key, f"{key}, m = {LARGE_M}"):
            if name in means:
                goals[f"{name}: {means[name]:.3f}, at most {goal}"] = means[name] <= goal
    others = min(means["I_knn"], means["I_gaussian"])
    goals["III the smallest of the paper's three"] = means["III_gaussian"] < others
    return goals


def table(rows, goals, data_sets):
    lines = [
        f"{data_sets} data sets, n = {setting.N_ROWS}, m = 50: area relative to that of the "
        "likelihood-ratio region",
        f"{'':<32}{'mean':>7}{'± SE':>7}{'median':>8}{'truth in':>10}",
    ]
    for key, row in rows.items():
        lines.append(
            f"{key:<32}{row['mean']:>7.3f}{row['standard_error']:>7.3f}{row['median']:>8.3f}"
            f"{row['truth_inside']:>7}/{data_sets}"
        )
    lines += [f"{'met   ' if met else 'missed'}  {goal}" for goal, met in goals.items()]
    return "\n".join(lines) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data-sets", type=int, default=10)
    parser.add_argument("--more", type=int, default=40)
    parser.add_argument("--out", type=Path, default=RESULTS)
    chosen = parser.parse_args()
    parts = {"first": measure(range(chosen.data_sets), thorough=True)}
    if chosen.more:
        beyond = range(chosen.data_sets, chosen.data_sets + chosen.more)
        parts["more"] = measure(beyond, thorough=False)
    answer = {
        "n": setting.N_ROWS,
        "m": setting.N_RESAMPLES + 1,
        "expected_score": {str(m): expected_of_the_score(m) for m in (50, LARGE_M)},
    }
    for name, rows in parts.items():
        count = len(rows["score"]["relative_areas"])
        print(table(rows, judge(rows), count))
        answer[name] = {"data_sets": count, "goals": judge(rows), "regions": rows}
    print(
        f"score, expected for large n: m = 50 {expected_of_the_score(50):.3f}, "
        f"m = {LARGE_M} {expected_of_the_score(LARGE_M):.3f}"
    )
    chosen.out.parent.mkdir(parents=True, exist_ok=True)
    text = json.dumps(answer, indent=1) + "\n"
    write_whole(chosen.out, lambda file: file.write(text.encode()))


if __name__ == "__main__":
    main()
