"""Individual intervals of psychometric functions: python -m validation.individual [--write].

A focused interval ranks by the score along its own number, beside the region's statistic. The
projection of the joint region needs no statistic of its own, and covers at least as often. For
thresholds and slopes this prints, for families with a known and with a free lapse rate and for
several numbers of trials: the share of intervals without an end, the median length of the others,
and the share that covers; "infinite" lengths count as longer than any.
"""

import argparse

import numpy as np
import pandas as pd

import exactregion as er
from exactregion.region.bounds import joint_bounds
from exactregion.region.ratios import LinearRatios
from exactregion.region.search.ends import FocusedSearch
from validation.study import write_tables

RESAMPLES, PROBES = 99, 2000
LEVELS = np.linspace(-2, 2, 7)
TRUTH = (-0.3, 1.5, 0.03)
BLOCKS = {TRUTH[2]: (10, 20), "free": (40, 100)}
"""Trials per level, where the lapse rate is known and where it is free."""
NUMBERS = {
    "threshold": LinearRatios(np.array([[-1.0, 0.0]]), np.zeros(1), np.array([[0.0, 1.0]])),
    "slope": LinearRatios.linear(np.array([[0.0, 1.0]])),
}


def padded(number, d):
    """Return the number for a family with d parameters."""
    zeros = np.zeros((1, d - 2))
    below = number.denominator
    return LinearRatios(
        np.hstack([number.numerator, zeros]),
        number.offset,
        None if below is None else np.hstack([below, zeros]),
    )


def one_data_set(lapse, block, seed):
    """Return lower and upper end by number and kind."""
    rng = np.random.default_rng([seed, block])
    model = er.models.Psychometric(er.models.Logistic(), guess=0.5, lapse=lapse)
    p = 0.5 + (0.5 - TRUTH[2]) / (1 + np.exp(-TRUTH[0] - TRUTH[1] * LEVELS))
    correct = rng.binomial(block, p)
    y = np.column_stack([correct, block - correct])
    region = er.ConfidenceRegion(model, statistic="ratio", n_resamples=RESAMPLES, rng=seed)
    fitted = region.fit(LEVELS, y).fitted_
    found = {}
    for name, of_core in NUMBERS.items():
        number = padded(of_core, fitted.n_parameters)
        search = FocusedSearch(fitted, number.gradient, alone=False)
        found[name, "focused"] = search.bounds(number, probes=PROBES)
        found[name, "joint"] = joint_bounds(fitted, number, 1)
    return {key: (ends.lower[0], ends.upper[0]) for key, ends in found.items()}


def main():
    """Print one line per family, number of trials, number and kind; --write keeps them."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sets", type=int, default=12)
    parser.add_argument("--write", action="store_true", help="keep the table for the docs")
    asked = parser.parse_args()
    sets, rows = asked.sets, []
    true = {"threshold": -TRUTH[0] / TRUTH[1], "slope": TRUTH[1]}
    print("lapse rate  trials  number     kind      open  median  shorter  covers")
    for lapse, blocks in BLOCKS.items():
        for block in blocks:
            found = [one_data_set(lapse, block, seed) for seed in range(sets)]
            lengths = {key: np.array([np.diff(each[key])[0] for each in found]) for key in found[0]}
            for (name, kind), length in lengths.items():
                ends = np.array([each[name, kind] for each in found])
                other = lengths[name, "joint" if kind == "focused" else "focused"]
                covers = (ends[:, 0] <= true[name]) & (true[name] <= ends[:, 1])
                rows.append(
                    {
                        "lapse": "free" if lapse == "free" else "known",
                        "trials": len(LEVELS) * block,
                        "number": name,
                        "kind": kind,
                        "data_sets": sets,
                        "open": np.isinf(length).mean(),
                        "length": np.median(length),
                        "covers": covers.mean(),
                    }
                )
                print(
                    f"{lapse!s:<11} {7 * block:>6}  {name:<10} {kind:<8} "
                    f"{np.isinf(length).mean():5.2f} {np.median(length):7.2f} "
                    f"{(length < other).mean():8.2f} {covers.mean():7.3f}",
                    flush=True,
                )
    if asked.write:
        write_tables("individual", {"lengths": pd.DataFrame(rows)})


if __name__ == "__main__":
    main()
