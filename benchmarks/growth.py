"""Growth of time and memory with rows, data sets, parameters, θ and segments.

    python benchmarks/growth.py
    python benchmarks/growth.py --largest 10000000

Seconds are those of the processor, medians of three runs where one is short, and memory is the
peak of the process: one process per kind of growth, from small to large. Slopes are those at the
end of each curve, where fixed costs count least. The picture and the numbers are kept in
benchmarks/results.
"""

import argparse
import json
import subprocess
import sys
import time
from pathlib import Path
from statistics import median

import numpy as np
import pandas as pd

import exactregion as er
from exactregion.data.files import write_whole

RESULTS = Path(__file__).parent / "results"
SHORT = 2.0
"""Seconds below which a run is repeated: the first may load what only many rows need."""


def predictions(n):
    rng = np.random.default_rng(0)
    p = rng.uniform(size=n)
    return rng.uniform(size=n) < p, p


def calibration(n, n_resamples):
    y, p = predictions(n)
    return lambda: er.calibration_test(y, p, n_resamples=n_resamples, rng=0)


def groups(n, n_resamples):
    y, p = predictions(n)
    by = np.arange(n) % 10
    return lambda: er.calibration_test(y, p, by=by, n_resamples=n_resamples, rng=0)


def belt(n, n_resamples):
    y, p = predictions(n)
    return lambda: er.calibration_belt(y, p, n_resamples=n_resamples, rng=0)


def region(d, n_resamples, n=300):
    """Fit a logistic family with d slopes, and return it with a function that makes θ near it."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, d))
    y = rng.random(n) < 1 / (1 + np.exp(-X[:, 0]))
    fitted = er.ConfidenceRegion("logistic", n_resamples=n_resamples, rng=0).fit(X, y)
    start = np.concatenate([[0.0, 1.0], np.zeros(d - 1)])
    return fitted, lambda number: start + 0.1 * rng.normal(size=(number, d + 1))


def ranks(number, d, n_resamples):
    """Rank so many θ in turn; sorting the uniforms is part of it, once."""
    fitted, theta_near = region(d, n_resamples)
    theta = theta_near(number)
    return lambda: fitted.rank(theta)


def segments(number):
    rng = np.random.default_rng(0)
    y, p = predictions(20_000)
    columns = pd.DataFrame({"group": rng.integers(number, size=len(p)).astype(str)})
    return lambda: er.segment_test(y, p, columns, n_resamples=199, min_rows=1, depth=1, rng=0)


ROWS = [10**2, 10**3, 10**4, 10**5, 10**6, 10**7]
AXES = {
    "rows": ("calibration_test, m = 100", ROWS, lambda n: calibration(n, 99)),
    "rows in ten groups": ("calibration_test(by=…), m = 100", ROWS, lambda n: groups(n, 99)),
    "rows of a belt": ("calibration_belt, m = 1,000", ROWS, lambda n: belt(n, 999)),
    "data sets": (
        "calibration_test, 20,000 rows",
        [50, 200, 1000, 3000, 10_000],
        lambda m: calibration(20_000, m - 1),
    ),
    "slopes": (
        "ranks of 300 θ, 300 rows, m = 1,000",
        [1, 2, 3, 5, 7, 10],
        lambda d: ranks(300, d, 999),
    ),
    "parameters θ": (
        "ranks, two slopes, 300 rows, m = 200",
        [10, 100, 1000, 10_000],
        lambda number: ranks(number, 2, 199),
    ),
    "segments": (
        "segment_test, 20,000 rows, m = 200",
        [2, 8, 32, 128, 512],
        segments,
    ),
}
"""What grows: what is measured, at which sizes, and how a call of a size is made."""


def peak_memory():
    """Peak of the resident memory of this process in MB: getrusage inherits that of the parent."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM")) / 1024


def seconds_of(call):
    begun = time.process_time()
    call()
    return time.process_time() - begun


def measure(axis, largest):
    """Print one line of JSON per size."""
    _, sizes, make = AXES[axis]
    make(sizes[1])()  # loads what all sizes need
    for size in sizes:
        if sizes is ROWS and size > largest:
            break
        runs = [seconds_of(make(size))]
        if runs[0] < SHORT:
            runs += [seconds_of(make(size)) for _ in range(2)]
        print(json.dumps([size, median(runs), peak_memory()]), flush=True)


def slope_of(sizes, values):
    """Slope between the two largest sizes, in logarithms."""
    return float(np.log(values[-1] / values[-2]) / np.log(sizes[-1] / sizes[-2]))


def picture(found):
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(
        2,
        len(found),
        figsize=(2.5 * len(found), 5.4),
        layout="constrained",
        sharex="col",
        sharey="row",
    )
    for (above, below), (axis, rows) in zip(axes.T, found.items(), strict=True):
        sizes, seconds, memory = np.array(rows).T
        above.loglog(sizes, seconds, marker="o", color="C0")
        below.loglog(sizes, memory, marker="o", color="C1")
        above.set_title(
            f"{AXES[axis][0]}\nslope at the end {slope_of(sizes, seconds):.2f}", fontsize="small"
        )
        below.set(xlabel=axis, ylim=(50, 5000))
        for ax in (above, below):
            ax.spines[["top", "right"]].set_visible(False)
    axes[0, 0].set_ylabel("seconds of processor time")
    axes[1, 0].set_ylabel("peak memory, MB")
    figure.savefig(RESULTS / "growth.png", dpi=110)


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--largest", type=int, default=10**6, help="most rows")
    parser.add_argument("--only", choices=AXES, help="one kind of growth; keeps no results")
    parser.add_argument("--measure", choices=AXES, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.measure:
        measure(options.measure, options.largest)
        return
    found = {}
    for axis in [options.only] if options.only else AXES:
        command = [sys.executable, __file__, "--measure", axis, "--largest", str(options.largest)]
        done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
        found[axis] = [json.loads(line) for line in done.stdout.splitlines()]
        sizes, seconds, memory = np.array(found[axis]).T
        print(
            f"{AXES[axis][0]}: {seconds[0]:.3f} to {seconds[-1]:.3f} s from {sizes[0]:,.0f} to "
            f"{sizes[-1]:,.0f} {axis}, slope at the end {slope_of(sizes, seconds):.2f}; peak "
            f"{memory[0]:.0f} to {memory[-1]:.0f} MB",
            flush=True,
        )
    if not options.only:
        picture(found)
        text = json.dumps(found, indent=1) + "\n"
        write_whole(RESULTS / "growth.json", lambda file: file.write(text.encode()))


if __name__ == "__main__":
    main()
