"""Coverage of joint regions at the true parameter.

No search: a region covers if it holds the true θ. Ours beside the Wald ellipsoid and the
likelihood-ratio region with their χ² quantiles, on the same data. Where no finite maximum of the
likelihood exists, the peers have no region; their coverage is given among the data sets where they
have one, and among all. For the likelihood ratio there is a third way, taking the supremum.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

import exactregion as er
from validation.drawing import BLUE, GREY, ORANGE, VERMILION, panels
from validation.peers.likelihood import Linear, quantile
from validation.peers.psychometric import MaximumLikelihood
from validation.rates import limits, rate_table
from validation.study import Case, generator
from validation.truths import Truth, label, truth_of

SIZES = (10, 15, 20, 30, 50, 100, 500)
LEVELS = (0.9, 0.95)
STATISTICS = ("combined", "score", "discrepancy")
RESAMPLES = 199
TRUTHS: list[dict[str, Any]] = [
    *(
        {"family": "logistic", "slopes": slopes, "outcomes": outcomes}
        for slopes in (1, 3, 5)
        for outcomes in ("balanced", "rare")
    ),
    {"family": "probit", "slopes": 1, "outcomes": "balanced"},
    {"family": "psychometric", "slopes": 1, "outcomes": "balanced"},
    {"family": "laplace", "slopes": 1, "outcomes": "balanced"},
]
CASES = [
    Case({**truth, "n": n}, *((200, 4000) if n < 500 else (100, 2000)), together=50)
    for truth in TRUTHS
    for n in SIZES
]
NAMES = {name: f"exactregion, {name}" for name in STATISTICS} | {
    "wald": "Wald",
    "ratio": "likelihood ratio",
    "supremum": "likelihood ratio, supremum",
}
CASE = ["family", "slopes", "outcomes", "n"]


def rows(settings: dict[str, Any], repetition: int) -> list[dict[str, Any]]:
    """Rank the truth by each statistic, and measure its distance from the peers' estimate."""
    rng = generator(settings, repetition)
    truth = truth_of(settings)
    X, y = truth.draw(rng, settings["n"])
    seed = int(rng.integers(2**32))
    ranks = {}
    for name in STATISTICS:
        region = er.ConfidenceRegion(
            truth.model, statistic=name, n_resamples=RESAMPLES, rng=seed
        ).fit(X, y == 1)
        ranks[f"rank_{name}"] = region.rank(truth.theta)
    return [{**ranks, **_peers(truth, X, y), "d": len(truth.theta)}]


def _peers(truth: Truth, X: np.ndarray, y: np.ndarray) -> dict[str, float]:
    """Distances of the truth, χ² with d degrees of freedom for large n; NaN where there is none."""
    if truth.family == "psychometric":
        fit = MaximumLikelihood(truth.model.bind(["x"]), X, y)
        wald = fit.wald_distance(truth.theta) if fit.inside else np.nan
        return _distances(wald, fit.deviance(truth.theta), exists=fit.exists)
    if truth.family == "laplace":
        return _laplace(truth, X, y)
    linear = Linear(truth.family, X, y)
    wald = linear.wald_distance(truth.theta) if linear.exists else np.nan
    return _distances(wald, linear.deviance(truth.theta), exists=linear.exists)


def _distances(wald: float, deviance: float, *, exists: bool) -> dict[str, float]:
    return {"wald": wald, "ratio": deviance if exists else np.nan, "supremum": deviance}


def _laplace(truth: Truth, X: np.ndarray, y: np.ndarray) -> dict[str, float]:
    """The mixture is logistic in its log density ratio at scale 1, with slope 1 / scale ≥ 0."""
    ratio = truth.model.advantage(X)[:, None]
    p, scale = truth.theta
    linear = Linear("logistic", ratio, y)
    there = np.array([np.log(p / (1 - p)), 1 / scale])
    intercept, slope = linear.theta
    if slope <= 0:
        flat = Linear("logistic", np.empty((len(y), 0)), y)
        deviance = 2 * (flat.top - linear.log_likelihood(there))
        return _distances(np.nan, deviance, exists=False)
    if not linear.exists:
        return _distances(np.nan, linear.deviance(there), exists=False)
    p_hat = 1 / (1 + np.exp(-intercept))
    jacobian = np.diag([p_hat * (1 - p_hat), -1 / slope**2])
    apart = truth.theta - np.array([p_hat, 1 / slope])
    spread = jacobian @ linear.covariance @ jacobian
    try:
        wald = float(apart @ np.linalg.solve(spread, apart))
    except np.linalg.LinAlgError:  # a slope so large that its scale has no variance left
        wald = np.nan
    return _distances(wald, linear.deviance(there), exists=True)


def tables(frame: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """Coverage by case, method and level; and how many of ours differ from q/m."""
    coverage = pd.concat(
        [_coverage(frame, name, level) for name in NAMES for level in LEVELS], ignore_index=True
    )
    return {"coverage": coverage, "ours": _ours(coverage)}


def _coverage(frame: pd.DataFrame, name: str, level: float) -> pd.DataFrame:
    """Coverage where there is a region, with its limits, and among all data sets."""
    if name in STATISTICS:
        has = pd.Series(data=True, index=frame.index)
        covered = frame[f"rank_{name}"] <= round(level * (RESAMPLES + 1))
    else:
        has = frame[name].notna()
        covered = frame[name] <= frame["d"].map(lambda d: quantile(level, d))
    marked = frame[CASE].assign(has=has, covered=covered)
    among_all = rate_table(marked, CASE, "covered")
    where = rate_table(marked[has], CASE, "covered")
    among_all = among_all[[*CASE, "repetitions", "rate"]]
    table = among_all.merge(where, how="left", on=CASE, suffixes=("", "_where"))
    table = table.rename(
        columns={"rate": "rate_among_all", "repetitions_where": "with_region", "rate_where": "rate"}
    )
    table["with_region"] = table["with_region"].fillna(0).astype(int)
    table["none"] = 1 - table["with_region"] / table["repetitions"]
    shown = ["repetitions", "rate", "low", "high", "none", "rate_among_all"]
    table = table.assign(truth=_labels(table), method=NAMES[name], nominal=level)
    return table[["truth", *CASE, "method", "nominal", *shown]]


def _labels(table: pd.DataFrame) -> list[str]:
    return [label(row) for row in table.to_dict("records")]


def _ours(coverage: pd.DataFrame) -> pd.DataFrame:
    """Count the cells whose limits leave the nominal level out.

    By chance that is one in twenty, and none if the limits hold all at once (Bonferroni, 99 %).
    """
    found = []
    cells = int(coverage["method"].str.startswith("exactregion").sum())
    for (method, nominal), some in coverage.groupby(["method", "nominal"], sort=False):
        counted = some[some["none"] < 1]
        having = (counted["repetitions"] * (1 - counted["none"])).round().astype(int)
        hits = (counted["rate"] * having).round().astype(int)
        wide = [limits(k, n, 1 - 0.01 / cells) for k, n in zip(hits, having, strict=True)]
        outside = (counted["low"] > nominal) | (counted["high"] < nominal)
        apart = [not low <= nominal <= high for low, high in wide]
        found.append(
            {
                "method": method,
                "nominal": nominal,
                "cells": len(some),
                "outside_limits": int(outside.sum()),
                "by_chance": 0.05 * len(some),
                "outside_simultaneous_limits": sum(apart),
                "lowest": float(counted["rate"].min()),
                "highest": float(counted["rate"].max()),
                "pooled": hits.sum() / having.sum(),
            }
        )
    return pd.DataFrame(found)


def figures(tables: dict[str, pd.DataFrame]) -> dict[str, Any]:
    """Coverage of the 95 % regions against n, a panel a truth."""
    coverage = tables["coverage"].query("nominal == 0.95")
    figure, axes = panels(3, 3, sharex=True, sharey=True)
    colours = {"exactregion, combined": BLUE, "likelihood ratio": ORANGE, "Wald": VERMILION}
    for ax, (truth, some) in zip(axes, coverage.groupby("truth", sort=False), strict=False):
        none = some[some["method"] == "likelihood ratio"]
        ax.fill_between(
            none["n"], 0.5, 0.5 + none["none"] / 2, color=GREY, alpha=0.25, lw=0, label="none"
        )
        ax.axhline(0.95, color="black", lw=0.8)
        for shift, (method, colour) in enumerate(colours.items()):
            own = some[some["method"] == method].dropna(subset="rate")
            at = own["n"] * (0.95 + 0.05 * shift)
            errors = [own["rate"] - own["low"], own["high"] - own["rate"]]
            ax.errorbar(at, own["rate"], errors, color=colour, marker="o", ms=3, lw=1, label=method)
        ax.set_xscale("log")
        ax.set_xticks([10, 30, 100, 500], labels=["10", "30", "100", "500"])
        ax.minorticks_off()
        ax.set_ylim(0.5, 1.005)
        ax.set_title(str(truth), fontsize=9)
    for ax in axes[6:]:
        ax.set_xlabel("n", fontsize=9)
    for ax in axes[::3]:
        ax.set_ylabel("covers the truth", fontsize=9)
    handles, names = axes[0].get_legend_handles_labels()
    says = {
        "likelihood ratio": "likelihood ratio, where there is a maximum",
        "Wald": "Wald, where there is one",
        "none": "share of data sets without a maximum (full height: all)",
    }
    names = [says.get(name, name) for name in names]
    figure.legend(handles, names, loc="outside lower center", ncols=2, frameon=False, fontsize=9)
    return {"membership": figure}
