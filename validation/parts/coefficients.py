"""Coefficient tables of textbook data, beside exact conditional, profile and Wald.

Each case is a data set, run once, with 95 % intervals and p-values of "= 0". Exact conditional
results come from counting all data sets (`validation.peers.conditional`), where there are not too
many; its p-value is that of the exact score test. Profile and Wald are computed here.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from scipy.stats import chi2

import exactregion as er
from validation.peers.conditional import Conditional
from validation.peers.likelihood import Linear
from validation.study import Case

LEVEL = 0.95
TABLES = {
    # rows of inputs, successes, trials
    "drugDat": (
        ["sex", "treatment"],
        [(1, 1, 16, 27), (0, 1, 10, 19), (1, 0, 13, 32), (0, 0, 7, 21)],
    ),
    "UCLA": (["female", "apcalc"], [(0, 0, 1, 8), (0, 1, 7, 10), (1, 0, 1, 6), (1, 1, 6, 6)]),
    "6 of 20, 0 of 20": (["group"], [(1, 6, 20), (0, 0, 20)]),
}
SETS: dict[str, tuple[list[str], str, str | None]] = {
    # inputs, successes, trials
    "oring": (["temp"], "y", None),
    "budworm": (["male", "ldose"], "ndead", "ntotal"),
    "menarche": (["Age"], "Menarche", "Total"),
    "beetle": (["logdose"], "killed", "n"),
    "spector": (["GPA", "TUCE", "PSI"], "GRADE", None),
    "birthwt": (["age", "lwt", "smoke", "ht", "ui"], "low", None),
}
NAMES = (*SETS, *TABLES)
CASES = [Case({"data": name}, 1, 1, together=1) for name in NAMES]


def data_of(name: str) -> tuple[pd.DataFrame, np.ndarray, np.ndarray]:
    """Inputs, successes and trials."""
    if name in TABLES:
        columns, rows = TABLES[name]
        values = np.array(rows, dtype=float)
        return pd.DataFrame(values[:, :-2], columns=columns), *values[:, -2:].astype(int).T
    columns, successes, trials = SETS[name]
    data = getattr(er.datasets, name)()
    if "male" in columns:
        data = data.assign(male=data["sex"] == "male")
    ones = np.ones(len(data), dtype=int)
    total = ones if trials is None else data[trials].to_numpy(int)
    return data[columns].astype(float), data[successes].to_numpy(int), total


def rows(settings: dict[str, Any], repetition: int) -> list[dict[str, Any]]:
    """One row per slope."""
    inputs, successes, trials = data_of(settings["data"])
    y = successes if (trials == 1).all() else np.column_stack([successes, trials - successes])
    region = er.ConfidenceRegion("logistic", rng=repetition).fit(inputs, y)
    summary = region.summary()
    X = inputs.to_numpy(float)
    single = np.repeat(np.arange(len(X)), trials)
    outcomes = np.concatenate(
        [np.repeat([1.0, 0.0], [k, t - k]) for k, t in zip(successes, trials, strict=True)]
    )
    fit = Linear("logistic", X[single], outcomes)
    found = []
    for index, name in enumerate(inputs):
        ours = summary.table.loc[name]
        record = {
            "term": name,
            **{key: ours[key] for key in ("estimate", "lower", "upper", "pvalue")},
        }
        record |= {key: bool(ours[key]) for key in ("interval_certified", "pvalue_certified")}
        exact = Conditional.of(X, successes, trials, index)
        limits = {
            "conditional": None if exact is None else exact.interval(LEVEL),
            "profile": fit.profile(index + 1, LEVEL),
            "wald": fit.wald(np.eye(fit.d)[index + 1], fit.theta[index + 1], LEVEL)
            if fit.exists
            else None,
        }
        for peer, ends in limits.items():
            record[f"{peer}_lower"], record[f"{peer}_upper"] = (
                (np.nan, np.nan) if ends is None else ends
            )
        record["conditional_pvalue"] = np.nan if exact is None else exact.pvalue()
        without = Linear("logistic", np.delete(X[single], index, axis=1), outcomes)
        record["profile_pvalue"] = float(chi2.sf(2 * (fit.top - without.top), 1))
        error = np.sqrt(fit.covariance[index + 1, index + 1])
        record["wald_pvalue"] = (
            float(chi2.sf((fit.theta[index + 1] / error) ** 2, 1)) if fit.exists else np.nan
        )
        found.append(record)
    return found


def tables(frame: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """As they are, with the length of each interval over that of profile likelihood."""
    table = frame.drop(columns="repetition").copy()
    profile = table["profile_upper"] - table["profile_lower"]
    for name, low, high in (
        ("ours", "lower", "upper"),
        ("conditional", "conditional_lower", "conditional_upper"),
    ):
        ratio = (table[high] - table[low]) / profile
        table[f"{name}_over_profile"] = ratio.where(np.isfinite(ratio))
    return {"coefficients": table}
