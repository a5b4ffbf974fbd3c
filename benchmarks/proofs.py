"""What proven sets cost: seconds of one core, boxes and gaps. Run python benchmarks/proofs.py.

Seconds are those of the process, with one thread for linear algebra, after a small problem of the
same kind has loaded the compiled loops. They compare within one run, and between versions on the
same machine.
"""

import argparse
import time

import numpy as np
from threadpoolctl import threadpool_limits

import exactregion as er


def pima(n_resamples, seed):
    data = er.datasets.pima_predictions()
    return belt(data["y"].to_numpy(), data["p"].to_numpy(), n_resamples, seed)


def thousand(n_resamples, seed):
    rng = np.random.default_rng(2019)
    p = rng.beta(1.0, 2.0, size=1000)
    return belt(rng.random(1000) < p, p, n_resamples, seed)


def belt(y, p, n_resamples, seed):
    found = er.calibration_belt(y, p, n_resamples=n_resamples, rng=seed)
    return found.certified, found.evaluations, found.gap / float((found.upper - found.lower).max())


def oring(n_resamples, seed):
    flights = er.datasets.oring()
    region = er.ConfidenceRegion("logistic", n_resamples=n_resamples, rng=seed)
    return region.fit(flights["temp"].to_numpy(float), flights["y"])


def three(n_resamples, seed):
    rng = np.random.default_rng(2019)
    X = rng.normal(size=(100, 2))
    y = rng.random(100) < 1 / (1 + np.exp(-0.3 - X @ [1.0, -0.7]))
    region = er.ConfidenceRegion("logistic", n_resamples=n_resamples, rng=seed)
    return intervals(region.fit(X, y.astype(int)), joint=True, certify=True)


def intervals(region, **options):
    table = region.intervals(**options)
    gap = (table["gap"] / (table["upper"] - table["lower"])).max()
    return bool(table["certified"].all()), int(table["evaluations"].sum()), float(gap)


def band(region):
    found = region.band(np.linspace(31, 81, 26))
    return found.certified, found.evaluations, found.gap / float((found.upper - found.lower).max())


def all_of(region):
    results = [intervals(region, joint=True), intervals(region, joint=False), band(region)]
    certified, boxes, gaps = zip(*results, strict=True)
    return all(certified), sum(boxes), max(gaps)


TASKS = {
    "belt of 332 predictions": pima,
    "belt of 1,000 predictions": thousand,
    "O-ring, joint intervals": lambda m, seed: intervals(oring(m, seed), joint=True),
    "O-ring, focused intervals": lambda m, seed: intervals(oring(m, seed), joint=False),
    "O-ring, band": lambda m, seed: band(oring(m, seed)),
    "O-ring, all three of one fit": lambda m, seed: all_of(oring(m, seed)),
    "3 parameters, n = 100": three,
}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=3, help="runs of each, by seed")
    parser.add_argument("--only", default="", help="tasks whose names hold this text")
    options = parser.parse_args()
    print(f"{'':<32}{'seconds':>9}{'boxes':>9}{'gap':>8}  proven")
    for name, task in TASKS.items():
        if options.only not in name:
            continue
        task(19, 0)
        threadpool_limits(1)
        runs = []
        for seed in range(1 if task is three else options.seeds):
            started = time.process_time()
            found = task(999, seed)
            runs.append((time.process_time() - started, *found))
        seconds, proven, boxes, gaps = zip(*runs, strict=True)
        print(
            f"{name:<32}{np.median(seconds):>9.2f}{int(np.median(boxes)):>9}{max(gaps):>8.4f}"
            f"  {sum(proven)}/{len(proven)}",
            flush=True,
        )


if __name__ == "__main__":
    main()
