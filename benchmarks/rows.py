"""Belts and regions of many rows: process time in multiples of one calibration test, and memory.

    python benchmarks/rows.py 10000 100000 1000000

Each size runs in a process of its own, so that the peak of its memory can be told. Everything is
compiled before time is taken.
"""

from __future__ import annotations

import resource
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np

import exactregion as er

SIZES = (10_000, 100_000, 1_000_000)
RESAMPLES = 999
SMALL = 70_000
"""Rows of the first run, which compiles: more than a chunk, so that loops of large data are too."""


def data(n: int) -> tuple[Any, Any]:
    """Draw calibrated predictions and outcomes."""
    rng = np.random.default_rng(n)
    p = rng.uniform(0.02, 0.98, size=n)
    return rng.uniform(size=n) < p, p


def timed(call: Callable[[], Any]) -> tuple[float, Any]:
    """Return the process time of a call, and what it gives."""
    started = time.process_time()
    found = call()
    return time.process_time() - started, found


def measure(n: int) -> None:
    """Print one row of the table."""
    for size in (SMALL, min(n, SMALL)):
        y, p = data(size)
        er.calibration_belt(y, p, n_resamples=99, rng=0).intervals  # noqa: B018
    y, p = data(n)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    test, _ = timed(lambda: er.calibration_test(y, p, n_resamples=RESAMPLES, rng=0))
    seconds, belt = timed(lambda: er.calibration_belt(y, p, n_resamples=RESAMPLES, rng=0))
    intervals, _ = timed(lambda: belt.intervals)
    theta = np.array([[0.01, 1.0], [0.0, 1.01]])
    rank, _ = timed(lambda: belt.region.rank(theta))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    print(
        f"{n:>10,} {test:>9.2f} {seconds / test:>8.2f} {intervals / test:>10.2f} "
        f"{rank / test / len(theta):>8.4f} {belt.evaluations:>6} {peak / 1024:>8.0f} "
        f"{before / 1024:>8.0f}  {belt.status}, certified: {belt.certified}",
        flush=True,
    )


def main() -> None:
    """Run each size in its own process."""
    if sys.argv[1:2] == ["--one"]:
        measure(int(sys.argv[2]))
        return
    sizes = [int(size) for size in sys.argv[1:]] or SIZES
    print("      rows  test (s)     belt  intervals  one rank   ranks peak (MB)  before")
    for size in sizes:
        subprocess.run([sys.executable, __file__, "--one", str(size)], check=True)


if __name__ == "__main__":
    main()
