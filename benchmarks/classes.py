"""Several classes beside two, and many rows of them from a file: python benchmarks/classes.py.

First the cost of `calibration_test` with C classes relative to two classes with as many outcomes,
n (C - 1), medians of some runs; then rows streamed from a memory map, with their peak of memory.
`--rows` makes the second part smaller; 0 leaves it out.
"""

import argparse
import json
import resource
import statistics
import tempfile
import time
from pathlib import Path

import numpy as np

import exactregion as er


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--classes", type=int, default=10)
    parser.add_argument("--resamples", type=int, default=99)
    asked = parser.parse_args()
    for n in (200, 2000):
        for C in (3, 10):
            print(json.dumps({"n": n, "classes": C} | beside_two(n, C)))
    if asked.rows:
        print(json.dumps(streamed(asked.rows, asked.classes, asked.resamples)))


def beside_two(n, C):
    """Give the time relative to two classes with the same number of outcomes."""
    many, two = made(n, C), made(n * (C - 1), 2)
    settings = {"n_resamples": 999, "rng": 0}
    times = {"classes": [], "two": []}
    for _ in range(4):  # the first compiles
        for name, (y, P) in (("classes", many), ("two", (two[0], two[1][:, 1]))):
            begun = time.process_time()
            er.calibration_test(y, P, **settings)
            times[name].append(time.process_time() - begun)
    several, binary = (statistics.median(times[name][1:]) for name in times)
    return {"ratio": round(several / binary, 2)}


def streamed(n, C, resamples):
    """Give the time relative to the uniforms, and the memory above that of a tenth of the rows."""
    with tempfile.TemporaryDirectory() as folder:
        peaks = []
        for rows in (n // 10, n):
            y, P = made(rows, C)
            np.save(Path(folder) / "P.npy", P)
            del P
            mapped = np.load(Path(folder) / "P.npy", mmap_mode="r")
            begun = time.process_time()
            er.calibration_test(y, mapped, n_resamples=resamples, rng=0)
            seconds = time.process_time() - begun
            del mapped
            peaks.append(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)
    begun = time.process_time()
    generator, block = np.random.Generator(np.random.SFC64(0)), np.empty(4096)
    for _ in range(n * resamples // 4096):
        generator.random(out=block)
    uniforms = time.process_time() - begun
    return {
        "rows": n,
        "classes": C,
        "resamples": resamples,
        "ratio to uniforms": round(seconds / uniforms, 1),
        "peak MB": [round(peak) for peak in peaks],
        "MB of the probabilities": round(8 * n * C / 2**20),
    }


def made(n, C):
    """Draw probabilities and outcomes; the latter go first since they take less memory."""
    rng = np.random.default_rng(0)
    P = rng.dirichlet(np.ones(C), n)
    y = (rng.random(n)[:, None] > np.cumsum(P, axis=1)).sum(axis=1)
    return np.minimum(y, C - 1), P


if __name__ == "__main__":
    main()
