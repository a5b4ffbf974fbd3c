"""Regions that leave along a curve, and whether searches say so: python -m validation.curves.

Three families of one input have flat curves with one parameter near 0 and the other anywhere. For
each data set that other one is held far out, and the first is tried at 2,000 or 4,000 values: where
`contains` accepts one of them, the region has no end there. Prints one line per family and number
of rows.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy.special import expit

import exactregion as er
from validation.study import write_tables

TRIED = np.concatenate([sign * np.logspace(-7, 0.5, 2000) for sign in (-1, 1)])
RESAMPLES = 199


@dataclass(frozen=True)
class Family:
    """A family with its usual parameters, and how far out the first one is held."""

    f: Callable[[np.ndarray, np.ndarray], np.ndarray]
    truth: tuple[float, float]
    far: tuple[float, ...]
    is_positive: bool = True


def _by_threshold(theta: np.ndarray, x: np.ndarray) -> np.ndarray:
    a, b = theta.T[..., None]
    return expit(b * (np.log(x) - a))


def _hill(theta: np.ndarray, x: np.ndarray) -> np.ndarray:
    half, slope = theta.T[..., None]
    return expit(slope * np.log(x / half))


def _weibull(theta: np.ndarray, x: np.ndarray) -> np.ndarray:
    scale, shape = theta.T[..., None]
    return -np.expm1(-((x / scale) ** shape))


FAMILIES = {
    "expit(b (log x - a)), a": Family(_by_threshold, (0.3, 0.7), (-1e6, 1e6), is_positive=False),
    "Hill curve, half-maximal input": Family(_hill, (1.5, 0.7), (1e12,)),
    "Weibull curve, scale": Family(_weibull, (2.0, 0.7), (1e12,)),
}


def examine(family: Family, n: int, seed: int) -> tuple[list[bool], list[bool]]:
    """Return of each far end whether there are members, and whether the interval has no end."""
    rng = np.random.default_rng([13, n, seed])
    x = rng.exponential(2.0, size=n) + 0.05
    y = (rng.random(n) < family.f(np.array([family.truth]), x)[0]).astype(int)
    ends = (0.0 if family.is_positive else -np.inf, np.inf)
    model = er.models.Function(
        family.f, names=("first", "second"), bounds=[ends, ends], vectorized=True
    )
    region = er.ConfidenceRegion(model, n_resamples=RESAMPLES, rng=seed, pos_label=1).fit(x, y)
    interval = region.intervals(joint=True).iloc[0]
    members, said = [], []
    for far in family.far:
        tried = TRIED[TRIED > 0] if family.is_positive else TRIED
        theta = np.column_stack([np.full(len(tried), far), tried])
        members.append(bool(region.contains(theta).any()))
        said.append(bool(np.isinf(interval["lower" if far < 0 else "upper"])))
    return members, said


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--sets", type=int, default=20, help="data sets per family and size")
    parser.add_argument("--write", action="store_true", help="keep the table for the docs")
    asked = parser.parse_args()
    rows = []
    for name, family in FAMILIES.items():
        for n in (20, 60):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                found = [examine(family, n, seed) for seed in range(asked.sets)]
            members, said = (np.array(each) for each in zip(*found, strict=True))
            rows.append(
                {
                    "family": name,
                    "n": n,
                    "data_sets": asked.sets,
                    "ends": members.size,
                    "open": int(members.sum()),
                    "said_open": int((members & said).sum()),
                    "said_open_alone": int((~members & said).sum()),
                }
            )
            print(pd.DataFrame(rows[-1:]).to_string(index=False, header=len(rows) == 1), flush=True)
    if asked.write:
        write_tables("curves", {"curves": pd.DataFrame(rows)})


if __name__ == "__main__":
    main()
