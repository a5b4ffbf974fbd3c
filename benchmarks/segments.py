"""Many segments of many rows, beside drawing the uniforms: python benchmarks/segments.py.

Prints seconds of this process, their ratio, and the peak of memory. `--rows` makes it smaller.
"""

import argparse
import json
import resource
import time

import numpy as np
import pandas as pd

import exactregion as er


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--columns", type=int, default=10)
    parser.add_argument("--values", type=int, default=5)
    parser.add_argument("--resamples", type=int, default=999)
    asked = parser.parse_args()
    rng = np.random.default_rng(0)
    n = asked.rows
    values = np.arange(asked.values).astype(str)
    codes = rng.integers(0, asked.values, (asked.columns, n))
    frame = pd.DataFrame(
        {f"c{i}": pd.Categorical.from_codes(c, values) for i, c in enumerate(codes)}
    )
    p = rng.beta(1, 4, n)
    y = (rng.random(n) < p).astype(int)
    few = slice(0, 2000)
    er.segment_test(y[few], p[few], frame[few], n_resamples=19, rng=0)  # compiles
    before = peak()
    begun = time.process_time()
    result = er.segment_test(y, p, frame, n_resamples=asked.resamples, rng=0)
    test = time.process_time() - begun
    after = peak()
    begun = time.process_time()
    generator, block = np.random.Generator(np.random.SFC64(0)), np.empty(4096)
    for _ in range(n * asked.resamples // 4096):
        generator.random(out=block)
    uniforms = time.process_time() - begun
    print(
        json.dumps(
            {
                "rows": n,
                "segments": len(result.table),
                "resamples": asked.resamples,
                "seconds": round(test, 2),
                "seconds of uniforms": round(uniforms, 2),
                "ratio": round(test / uniforms, 2),
                "MB more at the peak": round((after - before) / 1024),
            }
        )
    )


def peak():
    """Give the largest memory of the process so far, in kB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


if __name__ == "__main__":
    main()
