"""Shares of repetitions, with exact limits: the table that every part of the study ends in."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd
from scipy.special import betaincinv

__all__ = ["differs", "limits", "rate_table"]


def limits(successes: int, trials: int, level: float = 0.95) -> tuple[float, float]:
    """Exact (Clopper-Pearson) confidence limits of a share."""
    if trials == 0:
        return 0.0, 1.0
    # quantiles of beta distributions: a thousandth of the time of scipy.stats.binomtest
    k, n, tail = int(successes), int(trials), (1 - level) / 2
    low = 0.0 if k == 0 else float(betaincinv(k, n - k + 1, tail))
    high = 1.0 if k == n else float(betaincinv(k + 1, n - k, 1 - tail))
    return low, high


def differs(successes: int, trials: int, nominal: float, level: float = 0.95) -> bool:
    """Say whether the nominal rate is outside the exact limits of the one found."""
    low, high = limits(successes, trials, level)
    return not low <= nominal <= high


def rate_table(
    frame: pd.DataFrame, by: str | Sequence[str], column: str, level: float = 0.95
) -> pd.DataFrame:
    """Give repetitions, rate and its exact limits by group; missing values count for nothing."""
    by = [by] if isinstance(by, str) else list(by)
    known = frame.dropna(subset=[column])
    counted = (
        known.assign(hit=known[column].astype(bool))
        .groupby(by, sort=False, dropna=False)["hit"]
        .agg(repetitions="size", hits="sum")
        .reset_index()
    )
    ends = [
        limits(k, n, level) for k, n in zip(counted["hits"], counted["repetitions"], strict=True)
    ]
    counted["rate"] = counted["hits"] / counted["repetitions"]
    counted["low"] = [low for low, _ in ends]
    counted["high"] = [high for _, high in ends]
    return counted.drop(columns="hits")
