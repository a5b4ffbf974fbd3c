"""Degrees of calibration belts: what a belt that can bend shows, and how much wider it is.

Predictions are uniform; the true curve is one of those of the tests of calibration, or bends as a
polynomial of degree 2 or 3 on the logit scale. Coverage and width are over the predictions 0.01,
0.02, ..., 0.99 that lie between the smallest and the largest one drawn. Belts are searched, with 99
resamples: what is compared is the families, on the same data and draws.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import pandas as pd
from scipy.special import expit, logit

import exactregion as er
from validation.parts.belts import AT
from validation.parts.calibration import CURVES
from validation.rates import limits
from validation.study import Case, generator

RESAMPLES = 99
SHAPES: dict[str, Any] = {
    "calibrated": lambda score: score,
    **CURVES,
    "square": lambda score: score - 0.3 * score**2,
    "cube": lambda score: 0.4 * score + 0.1 * score**3,
}
"""True logit by predicted logit."""

FORMS = {"asymmetric": "none", "wavy": "none", "square": "2", "cube": "3"}
"""Lowest degree of the family that has the true curve; 1 for the others."""

DEGREES = {200: (1, 2, 3), 500: (1, 2)}
"""Belts of degree 3 with 500 rows take longer than all the others."""

CASES = [Case({"shape": shape, "n": n}, 20, 400, 1) for n in DEGREES for shape in SHAPES]


def rows(settings: dict[str, Any], repetition: int) -> list[dict[str, Any]]:
    """Make the belts of all degrees of one data set."""
    rng = generator(settings, repetition)
    shape, n = settings["shape"], settings["n"]
    p = rng.uniform(size=n)
    y = rng.uniform(size=n) < expit(SHAPES[shape](logit(p)))
    at = AT[(p.min() <= AT) & (p.max() >= AT)]
    true, seed = expit(SHAPES[shape](logit(at))), int(rng.integers(2**32))
    found = []
    for degree in DEGREES[n]:
        begun = time.process_time()
        belt = er.calibration_belt(
            y, p, degree=degree, n_resamples=RESAMPLES, rng=seed, certify=False
        )
        seconds = time.process_time() - begun
        # an empty belt contains no curve, and says that none of its form fits
        lower, upper = (np.interp(at, belt.grid, end) for end in (belt.lower, belt.upper))
        found.append(
            {
                "degree": degree,
                "covers": bool(((lower <= true) & (true <= upper)).all()),
                "width": float((upper - lower).mean()),
                "departs": bool(belt.departures) or belt.status == "empty",
                "rejects": belt.pvalue <= 0.05,
                "seconds": seconds,
            }
        )
    return found


def tables(frame: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """Coverage, width and departures shown, by shape, n and degree."""
    keys = ["shape", "n", "degree"]
    records = []
    for key, group in frame.groupby(keys, sort=False):
        low, high = limits(int(group["covers"].sum()), len(group))
        records.append(
            dict(zip(keys, key, strict=True))
            | {"has_form": FORMS.get(str(key[0]), "1"), "repetitions": len(group)}
            | {"coverage": group["covers"].mean(), "low": low, "high": high}
            | {"width": group["width"].mean(), "departs": group["departs"].mean()}
            | {"rejects": group["rejects"].mean(), "seconds": group["seconds"].median()}
        )
    table = pd.DataFrame(records)
    straight = table[table["degree"] == 1].set_index(["shape", "n"])["width"]
    beside = straight.loc[list(table[["shape", "n"]].itertuples(index=False))].to_numpy()
    return {"degrees": table.assign(width_beside_1=table["width"] / beside)}
