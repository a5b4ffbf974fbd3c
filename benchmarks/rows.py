"""Belts and regions of many rows: process time in multiples of one calibration test, and memory.

    python benchmarks/rows.py 10000 100000 1000000
    python benchmarks/rows.py --cluster 10000000 100000000

For each number of rows: a belt, and the joint and focused intervals of a logistic region with three
slopes, each in a process of its own, so that the peak of its memory can be told. Rows come from
memory maps. Everything is compiled before time is taken. "Width" is the mean width of the
belt, and of the joint intervals, times √n. All is written to results/rows.json.

With --cluster: one calibration test of Parquet files on two workers of a local Dask cluster, with
19 resamples. What it takes per row is written to results/cluster.json.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import suppress
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

FILE_ROWS = 4_000_000
"""Rows of a Parquet file."""


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


def forget_peak() -> None:
    """Let `peak` start anew, so that it is not that of what was compiled, or drawn, before."""
    with suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5", encoding="ascii")


def measure(kind: str, n: int, m: int) -> dict[str, Any]:
    """Return one row of the table."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for size in (SMALL, min(n, SMALL)):
            X, p, y = data(size, folder)
            KINDS[kind](X, p, y, 49)
            er.calibration_test(y, p, n_resamples=49, rng=0)
        X, p, y = data(n, folder)
        forget_peak()
        before = peak()
        seconds, (width, evaluations, words) = timed(lambda: KINDS[kind](X, p, y, m))
        after = peak()
        test, _ = timed(lambda: er.calibration_test(y, p, n_resamples=m, rng=0))
    return {
        "rows": n,
        "of": kind,
        "test_seconds": round(test, 2),
        "in_tests": round(seconds / test, 2),
        "ranks": int(evaluations),
        "width_root_n": round(width * n**0.5, 2),
        "peak_mb": round(after),
        "peak_before_mb": round(before),
        "status": words,
    }


def write_down(name: str, found: list[dict[str, Any]]) -> None:
    """Write records to the results."""
    path = Path(__file__).parent / "results" / f"{name}.json"
    lines = ",\n".join(json.dumps(row) for row in found)
    path.write_text(f"[\n{lines}\n]\n", encoding="utf-8")


def write_files(n: int, folder: Path) -> None:
    """Write predictions and outcomes of n rows to Parquet files, five bytes per row."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    rng = np.random.default_rng(n)
    for number, start in enumerate(range(0, n, FILE_ROWS)):
        size = min(FILE_ROWS, n - start)
        p = rng.uniform(0.02, 0.98, size).astype(np.float32)
        y = (rng.random(size) < p).astype(np.int8)
        pq.write_table(pa.table({"p": p, "y": y}), folder / f"{number:04}.parquet")


def cluster(sizes: list[int]) -> None:
    """Test files of each size on two workers, and write down time and memory."""
    import dask.dataframe as dd
    from dask.distributed import Client, LocalCluster

    options = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": None}
    found = []
    with LocalCluster(host="127.0.0.1", **options) as workers, Client(workers) as client:

        def used() -> float:
            return sum(client.run(time.process_time).values()) + time.process_time()

        for n in (FILE_ROWS, *sizes):  # the first compiles
            with tempfile.TemporaryDirectory() as name:
                write_files(n, Path(name))
                frame = dd.read_parquet(name)
                started, before = time.perf_counter(), used()
                result = er.calibration_test("y", "p", data=frame, n_resamples=19, rng=0)
                row = {
                    "rows": n,
                    "pvalue": result.pvalue,
                    "seconds": round(time.perf_counter() - started, 1),
                    "process_seconds": round(used() - before, 1),
                    "nanoseconds_per_row": round(1e9 * (used() - before) / n, 1),
                    "worker_peak_mb": round(max(client.run(peak).values())),
                    "client_peak_mb": round(peak()),
                }
            print(row, flush=True)
            found.append(row)
            write_down("cluster", found[1:])


def main() -> None:
    """Run each kind and size in its own process."""
    if sys.argv[1:2] == ["--cluster"]:
        cluster([int(size) for size in sys.argv[2:]])
        return
    if sys.argv[1:2] == ["--one"]:
        print(json.dumps(measure(sys.argv[2], int(sys.argv[3]), RESAMPLES)))
        return
    sizes = [int(size) for size in sys.argv[1:]] or SIZES
    found = []
    for kind in KINDS:
        for size in sizes:
            command = [sys.executable, __file__, "--one", kind, str(size)]
            answer = subprocess.run(command, check=True, capture_output=True, text=True).stdout
            print(answer, end="", flush=True)
            found.append(json.loads(answer))
            write_down("rows", found)


if __name__ == "__main__":
    main()
