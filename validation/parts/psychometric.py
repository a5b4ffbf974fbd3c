"""Thresholds of psychometric functions, beside psignifit's credible intervals.

A two-alternative task: seven stimulus levels, small blocks of trials, a normal curve from the guess
rate 1/2 up to one minus a lapse rate that nobody knows. The threshold is where the curve is
halfway. Credible intervals rest on priors, which help where the truth is as they expect: one of the
two truths here is near the middle of the stimuli, the other at the rim.

Ours are computed on the first data sets of each setting, and all lengths are those of these data
sets. After that they are computed only where the truth is no member of the region, of which both
of our intervals are projections; where it is, they cover it.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from scipy.special import ndtr

import exactregion as er
from validation.drawing import BLUE, PURPLE, panels
from validation.peers.psychometric import credible_interval
from validation.rates import rate_table
from validation.study import Case, generator
from validation.truths import GUESS

RESAMPLES = 999
LEVELS = np.linspace(-2, 2, 7)
THRESHOLDS = {"middle": 0.2, "rim": 1.5}
SLOPE, LAPSE = 1.5, 0.02
MEASURED = 12
"""Data sets of each setting on which all intervals are computed."""

CASE = ["threshold", "block", "level"]
OURS, JOINT, PSIGNIFIT = "exactregion, focused", "exactregion, joint", "psignifit"
CASES = [
    Case({"threshold": threshold, "block": block, "level": level}, 100, 300, together=2)
    for threshold in THRESHOLDS
    for block, level in ((5, 0.95), (10, 0.95), (20, 0.95), (20, 0.9), (40, 0.95))
]


def rows(settings: dict[str, Any], repetition: int) -> list[dict[str, Any]]:
    """All intervals on one data set."""
    rng = generator(settings, repetition)
    true, block, level = THRESHOLDS[settings["threshold"]], settings["block"], settings["level"]
    p = GUESS + (1 - GUESS - LAPSE) * ndtr(SLOPE * (LEVELS - true))
    correct = rng.binomial(block, p)
    model = er.models.Psychometric(er.models.Probit(), guess=GUESS, lapse="free")
    region = er.ConfidenceRegion(
        model, confidence_level=level, n_resamples=RESAMPLES, rng=int(rng.integers(2**32))
    ).fit(LEVELS, np.column_stack([correct, block - correct]))
    trials = np.full(len(LEVELS), block)
    member = region.contains([-SLOPE * true, SLOPE, LAPSE])
    found = {OURS: (np.nan, np.nan), JOINT: (np.nan, np.nan)}
    if not member or repetition < MEASURED:
        found = {OURS: _threshold(region, joint=False), JOINT: _threshold(region, joint=True)}
    found[PSIGNIFIT] = credible_interval(LEVELS, correct, trials, level)
    return [
        {
            "method": method,
            "lower": lower,
            "upper": upper,
            "true": true,
            "member": None if method == PSIGNIFIT else member,
        }
        for method, (lower, upper) in found.items()
    ]


def _threshold(region: er.ConfidenceRegion, *, joint: bool) -> tuple[float, float]:
    """Our interval; a search that breaks down counts as none."""
    try:
        found = region.functional(lambda th: -th[0] / th[1], name="threshold", joint=joint)
    except (er.ExactRegionError, np.linalg.LinAlgError):
        return np.nan, np.nan
    return found.lower, found.upper


def tables(frame: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """Coverage among all data sets, the shares of none and of open intervals, and lengths."""
    by = [*CASE, "method"]
    looked_for = frame["lower"].notna() & frame["upper"].notna()
    inside = (frame["lower"] <= frame["true"]) & (frame["true"] <= frame["upper"])
    measured = frame["repetition"] < MEASURED
    # a member whose interval was not looked for is covered; one that broke down is not
    assumed = (frame["member"].astype(float) == 1) & ~measured
    frame = frame.assign(
        covered=inside | assumed,
        none=~(looked_for | assumed),
        length=(frame["upper"] - frame["lower"]).where(measured),
    )
    # an interval must cover what a member has: where it does not, the search fell short
    member = (frame["member"].astype(float) == 1) & measured
    frame["missed"] = np.where(member, ~frame["covered"], np.nan)
    frame["open"] = np.where(frame["length"].notna(), np.isinf(frame["length"]), np.nan)
    usual = frame.loc[frame["method"] == PSIGNIFIT, [*CASE, "repetition", "length"]]
    frame = frame.merge(usual, on=[*CASE, "repetition"], suffixes=("", "_usual"))
    frame["to_psignifit"] = frame["length"] / frame["length_usual"]
    table = rate_table(frame, by, "covered")
    lengths = frame.groupby(by, sort=False).agg(
        none=("none", "mean"),
        open=("open", "mean"),
        length=("length", "median"),
        to_psignifit=("to_psignifit", "median"),
        missed=("missed", "mean"),
    )
    return {"thresholds": table.assign(nominal=table["level"]).merge(lengths.reset_index(), on=by)}


def figures(tables: dict[str, pd.DataFrame]) -> dict[str, Any]:
    """Coverage and median length of 95 % intervals, by block size."""
    table = tables["thresholds"].query("level == 0.95")
    figure, axes = panels(2, 2, sharex=True, sharey="row")
    for column, (threshold, some) in enumerate(table.groupby("threshold", sort=False)):
        above, below = axes[column], axes[2 + column]
        above.axhline(0.95, color="black", lw=0.8)
        for shift, (method, colour) in enumerate({OURS: BLUE, PSIGNIFIT: PURPLE}.items()):
            own = some[some["method"] == method].sort_values("block")
            at = own["block"] * (0.98 + 0.04 * shift)
            errors = [own["rate"] - own["low"], own["high"] - own["rate"]]
            style = {"color": colour, "marker": "o", "ms": 3, "lw": 1, "label": method}
            above.errorbar(at, own["rate"], errors, **style)
            finite = np.isfinite(own["length"].astype(float))
            below.plot(at[finite], own["length"][finite], **style)
        where = "in the middle" if threshold == "middle" else "at the rim"
        above.set_title(f"threshold {where} of the stimuli", fontsize=9)
        below.set_xlabel("trials per level", fontsize=9)
        below.set_xscale("log")
        below.set_xticks([5, 10, 20, 40], labels=["5", "10", "20", "40"])
        below.minorticks_off()
    axes[0].set_ylabel("coverage", fontsize=9)
    axes[2].set_ylabel("median length, if finite", fontsize=9)
    axes[2].set_yscale("log")
    handles, names = axes[0].get_legend_handles_labels()
    figure.legend(handles, names, loc="outside lower center", ncols=2, frameon=False, fontsize=9)
    return {"psychometric": figure}
