"""Coverage and length of the limits of deviations of a calibration belt.

Usage: python -m validation.deviations [repetitions]

For each n and true curve, data sets are drawn, and it is counted how often the true largest and
mean deviation lie within their limits, together, as they should at the level of the belt at least.
The mean upper limit for predictions that are right should shrink like 1/√n.
"""

from __future__ import annotations

import sys
from itertools import product

import numpy as np
from scipy.special import expit, logit
from scipy.stats import binom

import exactregion as er

CURVES = {"right": (0.0, 1.0), "shifted": (0.6, 1.0), "too extreme": (0.3, 0.6)}
SIZES = (100, 1000)
LEVEL, RESAMPLES = 0.9, 19


def main(repetitions: int) -> None:
    """Print one line per n and curve."""
    print("n      curve         covered           largest, mean of      mean, mean of")
    for n, (name, (a, b)) in product(SIZES, CURVES.items()):
        covered, found = 0, []
        for repetition in range(repetitions):
            rng = np.random.default_rng([n, len(name), repetition])
            p = rng.beta(1.0, 1.5, size=n)
            truth = expit(a + b * logit(p))
            settings = {"confidence_level": LEVEL, "n_resamples": RESAMPLES, "rng": repetition}
            belt = er.calibration_belt(rng.random(n) < truth, p, **settings)
            grid = logit(np.linspace(p.min(), p.max(), 2001))
            true = np.abs(expit(a + b * grid) - expit(grid)).max(), np.abs(truth - p).mean()
            limits = belt.largest_deviation, belt.mean_deviation
            pairs = zip(limits, true, strict=True)
            covered += all(one.lower <= value <= one.upper for one, value in pairs)
            found.append([(one.lower, one.upper) for one in limits])
        low, high = np.nanmean(found, axis=0).T
        surprise = binom.cdf(covered, repetitions, belt.coverage)
        print(
            f"{n:<6} {name:<13} {covered}/{repetitions} (p {surprise:.3f})  "
            f"[{low[0]:.3f}, {high[0]:.3f}]        [{low[1]:.3f}, {high[1]:.3f}]",
            flush=True,
        )


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 200)
