"""Segments: how often something right is named, and how often what is off.

Columns have four values each, and all values and pairs of values are segments. Beside
`segment_test` stand p-values of segments that nobody adjusted, Holm's method over exact p-values of
segments alone, and Bonferroni's over normal z-values. Where one segment is bad there is also Holm's
method over `calibration_test` by group, with help that nobody has: it is told the two of six
columns that matter, and tests their four pairs of values alone.
"""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd
from scipy.special import expit, logit
from scipy.stats import norm

import exactregion as er
from exactregion.testing.groups import holm
from validation.rates import limits
from validation.rejections import LEVEL, SLACK
from validation.study import Case, generator

OURS = "exactregion segment_test"
BY_GROUP = "Holm over calibration_test(by=), told the columns"
METHODS = [OURS, BY_GROUP, "Holm over exact p-values", "Bonferroni over z-values", "unadjusted"]
RATES = {"even": 0.4, "rare": 0.04}
SHIFTS = {"even": 0.8, "rare": 1.2}
CASES = [
    *(
        Case({"bad": bad, "n": n, "columns": d, "outcomes": outcomes, "share": 0.0}, 400, 4000)
        for bad in ("none", "third")
        for n in (200, 2000)
        for d in (3, 7)
        for outcomes in RATES
    ),
    *(
        Case({"bad": "one", "n": 2000, "columns": 6, "outcomes": outcomes, "share": s}, 200, 2000)
        for outcomes in RATES
        for s in (0.02, 0.06, 0.2)
    ),
]


def rows(settings: dict[str, Any], repetition: int) -> list[dict[str, Any]]:
    """Let all methods name segments of one data set."""
    rng = generator(settings, repetition)
    n, d, outcomes = settings["n"], settings["columns"], settings["outcomes"]
    frame = pd.DataFrame({f"c{i}": rng.integers(0, 4, n) for i in range(d)})
    if settings["bad"] == "third":
        frame["c0"] = rng.integers(0, 3, n)
    elif settings["bad"] == "one":  # a pair of values with this share of the rows
        frame["c0"] = (rng.random(n) >= np.sqrt(settings["share"])).astype(int)
        frame["c1"] = (rng.random(n) >= np.sqrt(settings["share"])).astype(int)
    masks = _masks(frame)
    bad = {"none": None, "third": "c0 = 0", "one": "c0 = 0 and c1 = 0"}[settings["bad"]]
    off = np.zeros(n, dtype=bool) if bad is None else masks[bad]
    p = expit(logit(RATES[outcomes]) + rng.normal(size=n))
    shift = 1.0 if settings["bad"] == "third" else SHIFTS[outcomes]
    y = rng.random(n) < expit(logit(p) + shift * off)
    result = er.segment_test(y, p, masks, rng=rng)
    names = result.table.index
    with np.errstate(divide="ignore", invalid="ignore"):
        z = {s: abs((y - p)[m].sum()) / np.sqrt((p * (1 - p))[m].sum()) for s, m in masks.items()}
    normal = 2 * norm.sf([z.get(name, 0.0) for name in names])
    found = {
        OURS: result.table["pvalue_adjusted"].to_numpy(),
        "Holm over exact p-values": holm(result.table["pvalue"]),
        "Bonferroni over z-values": np.minimum(1, len(names) * normal),
        "unadjusted": result.table["pvalue"].to_numpy(),
    }
    right = np.array([s in masks and not (masks[s] & off).any() for s in names])
    if bad is None:
        right[:] = True
    more = []
    if settings["bad"] == "one":
        pvalue, number = _by_group(y, p, frame, rng)
        named = {"wrongly": False, "rightly": pvalue <= LEVEL + SLACK, "segments": number}
        more = [{"method": BY_GROUP, **named}]
    return more + [
        {
            "method": method,
            "wrongly": bool((pvalues[right] <= LEVEL + SLACK).any()),
            "rightly": bool(bad and pvalues[names == bad][0] <= LEVEL + SLACK),
            "segments": len(names),
        }
        for method, pvalues in found.items()
    ]


def _by_group(y: Any, p: Any, frame: pd.DataFrame, rng: Any) -> tuple[float, int]:
    """Test the pairs of values of two columns; give the bad pair's adjusted p-value."""
    pair = frame["c0"].astype(str) + frame["c1"].astype(str)
    groups = er.calibration_test(y, p, by=pair, rng=rng)
    return float(groups.loc["00", "pvalue_holm"]), len(groups)


def _masks(frame: pd.DataFrame) -> dict[str, Any]:
    """All values and pairs of values with 5 rows or more."""
    values = {
        name: {f"{name} = {v}": (frame[name] == v).to_numpy() for v in sorted(frame[name].unique())}
        for name in frame
    }
    masks = {text: rows for column in values.values() for text, rows in column.items()}
    for a, b in combinations(values, 2):
        for first, inside in values[a].items():
            masks |= {f"{first} and {s}": inside & rows for s, rows in values[b].items()}
    return {name: rows for name, rows in masks.items() if rows.sum() >= 5}


def tables(frame: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """Wrong namings without and with bad segments, and namings of one bad segment."""
    by = ["method", "n", "columns", "outcomes"]
    parts = {
        "size": (frame[frame["bad"] == "none"], by, "wrongly"),
        "strong": (frame[frame["bad"] == "third"], by, "wrongly"),
        "power": (frame[frame["bad"] == "one"], ["method", "share", "outcomes"], "rightly"),
    }
    found = {}
    for name, (part, keys, what) in parts.items():
        records = []
        for key, group in part.groupby(keys, sort=False):
            low, high = limits(int(group[what].sum()), len(group))
            records.append(
                dict(zip(keys, key, strict=True))
                | {"segments": group["segments"].mean(), "repetitions": len(group)}
                | {"rate": group[what].mean(), "low": low, "high": high}
            )
        table = pd.DataFrame(records)
        order = {method: place for place, method in enumerate(METHODS)}
        found[name] = table.sort_values("method", key=lambda s: s.map(order), kind="stable")
    return found
