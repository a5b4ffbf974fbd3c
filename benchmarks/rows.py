"""Belts and regions of many rows: process time in multiples of one calibration test, and memory.

    python benchmarks/rows.py 10000 100000 1000000

For each number of rows: a belt, and the joint and focused intervals of a logistic region with three
slopes, each in a process of its own, so that the peak of its memory can be told. Rows come from
memory maps. Everything is compiled before time is taken. "Width" is the mean width of the
belt, and of the joint intervals, times √n.
"""

from __future__ import annotations

import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import exactregion as er

SIZES = (10_000, 100_000, 1_000_000)
RESAMPLES = 999
SMALL = 70_000
"""Rows of the first run, which compiles: more than a chunk, so that loops of large data are too."""

PART = 2**18
"""Rows that are drawn at once."""


def data(n: int, folder: Path) -> tuple[Any, Any, Any]:
    """Draw inputs, calibrated predictions and outcomes, and return them as memory maps."""
    rng = np.random.default_rng(n)
    shapes = {"X": (n, 3), "p": (n,), "y": (n,)}
    maps: dict[str, Any] = {}
    for name, shape in shapes.items():
        dtype = bool if name == "y" else float
        maps[name] = np.lib.format.open_memmap(
            folder / f"{n}{name}.npy", mode="w+", dtype=dtype, shape=shape
        )
    for start in range(0, n, PART):
        rows = slice(start, min(start + PART, n))
        X = rng.normal(size=(rows.stop - start, 3))
        p = 1 / (1 + np.exp(-X @ [1.0, -0.5, 0.0] - 0.3))
        maps["X"][rows], maps["p"][rows] = X, p
        maps["y"][rows] = rng.uniform(size=len(p)) < p
    maps.clear()
    X, p, y = (np.load(folder / f"{n}{name}.npy", mmap_mode="r") for name in shapes)
    return X, p, y


def belt(X: Any, p: Any, y: Any, m: int) -> tuple[float, float, str]:
    """Find a belt; return its mean width, the number of ranks and what is said of it."""
    found = er.calibration_belt(y, p, n_resamples=m, rng=0)
    words = f"{found.status}, certified: {found.certified}"
    return float((found.upper - found.lower).mean()), found.evaluations, words


def slopes(X: Any, p: Any, y: Any, m: int) -> tuple[float, float, str]:
    """Fit a logistic region with three slopes, and find its joint and focused intervals."""
    region = er.ConfidenceRegion("logistic", n_resamples=m, rng=0).fit(X, y)
    joint = region.intervals(joint=True)
    evaluations = joint["evaluations"].sum() + region.intervals()["evaluations"].sum()
    return float((joint["upper"] - joint["lower"]).mean()), evaluations, region.status_


KINDS: dict[str, Callable[[Any, Any, Any, int], tuple[float, float, str]]] = {
    "belt": belt,
    "slopes": slopes,
}


def timed(call: Callable[[], Any]) -> tuple[float, Any]:
    """Return the process time of a call, and what it gives."""
    started = time.process_time()
    found = call()
    return time.process_time() - started, found


def peak() -> float:
    """Return the most memory that the process has used so far, in MB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def measure(kind: str, n: int, m: int) -> None:
    """Print one row of the table."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for size in (SMALL, min(n, SMALL)):
            KINDS[kind](*data(size, folder), 49)
        X, p, y = data(n, folder)
        before = peak()
        seconds, (width, evaluations, words) = timed(lambda: KINDS[kind](X, p, y, m))
        after = peak()
        test, _ = timed(lambda: er.calibration_test(y, p, n_resamples=m, rng=0))
    print(
        f"{n:>10,} {kind:>7} {test:>9.2f} {seconds / test:>9.2f} {evaluations:>6.0f} "
        f"{width * n**0.5:>7.2f} {after:>10.0f} {before:>8.0f}  {words}",
        flush=True,
    )


def main() -> None:
    """Run each kind and size in its own process."""
    if sys.argv[1:2] == ["--one"]:
        measure(sys.argv[2], int(sys.argv[3]), RESAMPLES)
        return
    sizes = [int(size) for size in sys.argv[1:]] or SIZES
    print("      rows          test (s)  in tests  ranks   width  peak (MB)   before")
    for kind in KINDS:
        for size in sizes:
            subprocess.run([sys.executable, __file__, "--one", kind, str(size)], check=True)


if __name__ == "__main__":
    main()
