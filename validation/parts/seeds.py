"""How much the answers move between seeds, by the number of resamples.

Each repetition is a seed, on the same data: 23 shuttle flights, 100 simulated rows with three
slopes, and 240 budworms. What is left of the seed is the standard deviation of an end between
seeds, as a share of the median length of its interval.

A seed takes about a second at 999 resamples, and several at 4,999.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

import exactregion as er
from validation.drawing import BLUE, GREEN, ORANGE, panels
from validation.peers.likelihood import quantile
from validation.study import Case
from validation.truths import truth_of

RESAMPLES = (99, 199, 499, 999, 1999, 4999)
DATA = ("oring", "three slopes", "budworm")
CASES = [
    Case({"data": data, "resamples": resamples}, 10, 40, together=max(1, 2000 // resamples))
    for data in DATA
    for resamples in RESAMPLES
]
KINDS = {"focused interval": BLUE, "joint interval": ORANGE, "band": GREEN}


def _data(name: str) -> tuple[Any, np.ndarray, np.ndarray, np.ndarray]:
    """The family, inputs, outcomes, and inputs for the band."""
    if name == "oring":
        flights = er.datasets.oring()
        x = flights["temp"].to_numpy(float)[:, None]
        return "logistic", x, flights["y"].to_numpy(), np.array([[31.0], [55.0], [65.0], [75.0]])
    if name == "budworm":
        moths = er.datasets.budworm()
        sex = (moths["sex"] == "male").to_numpy(float)
        X = np.column_stack([sex, moths["ldose"]])
        y = np.column_stack([moths["ndead"], moths["ntotal"] - moths["ndead"]])
        return "logistic", X, y, np.array([[0.0, 1.0], [0.0, 3.0], [1.0, 1.0], [1.0, 3.0]])
    truth = truth_of({"family": "logistic", "slopes": 3, "outcomes": "balanced"})
    X, y = truth.draw(np.random.default_rng(2019), 100)
    new = np.zeros((4, 3))
    new[:, 0] = [-1.5, -0.5, 0.5, 1.5]
    return truth.model, X, y == 1, new


def rows(settings: dict[str, Any], repetition: int) -> list[dict[str, Any]]:
    """All ends with one seed, and the p-value of one parameter."""
    model, X, y, new = _data(settings["data"])
    region = er.ConfidenceRegion(model, n_resamples=settings["resamples"], rng=repetition).fit(X, y)
    found = []
    for kind, joint in (("focused interval", False), ("joint interval", True)):
        table = region.intervals(joint=joint)
        found += [
            {"kind": kind, "which": str(name), "lower": lower, "upper": upper}
            for name, lower, upper in zip(table.index, table["lower"], table["upper"], strict=True)
        ]
    band = region.band(new)
    found += [
        {"kind": "band", "which": f"row {k}", "lower": lower, "upper": upper}
        for k, (lower, upper) in enumerate(zip(band.lower, band.upper, strict=True))
    ]
    pvalue = region.pvalue(_aside(X, y))
    return [*found, {"kind": "p-value", "which": "aside", "pvalue": pvalue}]


def _aside(X: np.ndarray, y: np.ndarray) -> np.ndarray:
    """A parameter on the Wald ellipsoid of level 90 %: its p-value is about 0.1."""
    import statsmodels.api as sm

    outcomes = y if np.ndim(y) == 2 else np.asarray(y, dtype=float)
    fit = sm.GLM(outcomes, sm.add_constant(X), family=sm.families.Binomial()).fit()
    step = fit.bse * np.resize([1.0, -1.0], len(fit.params))
    distance = step @ np.linalg.solve(fit.cov_params(), step)
    return np.asarray(fit.params + step * np.sqrt(quantile(0.9, len(step)) / distance))


def tables(frame: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """Standard deviations between seeds: of ends relative to the length, and of the p-value."""
    ends = frame[frame["kind"] != "p-value"]
    by = ["data", "kind", "which", "resamples"]
    spread = ends.groupby(by, sort=False).agg(
        seeds=("repetition", "nunique"),
        lower=("lower", _deviation),
        upper=("upper", _deviation),
    )
    lengths = (ends["upper"] - ends["lower"]).groupby([ends[name] for name in by], sort=False)
    share = spread[["lower", "upper"]].mean(axis=1) / lengths.median()
    one = share.rename("share").to_frame().assign(seeds=spread["seeds"]).reset_index()
    one = one[np.isfinite(one["share"])]
    summed = one.groupby(["data", "kind", "resamples"], sort=False).agg(
        seeds=("seeds", "first"), mean_share=("share", "mean"), largest_share=("share", "max")
    )
    pvalues = frame[frame["kind"] == "p-value"].groupby(["data", "resamples"], sort=False)
    moved = pvalues["pvalue"].agg(seeds="size", mean="mean", deviation="std").reset_index()
    return {"ends": summed.reset_index(), "pvalues": moved}


def _deviation(ends: pd.Series) -> float:
    """The standard deviation of finite ends; an end that is open for some seeds has none."""
    return float(ends.std()) if np.isfinite(ends).all() else np.nan


def figures(tables: dict[str, pd.DataFrame]) -> dict[str, Any]:
    """Log-log: standard deviation of an end against resamples, with the slope -1/2 beside it."""
    figure, axes = panels(1, len(DATA), size=(3.1, 2.8), sharey=True)
    for ax, (data, some) in zip(axes, tables["ends"].groupby("data", sort=False), strict=False):
        for kind, colour in KINDS.items():
            own = some[some["kind"] == kind].sort_values("resamples")
            style = {"color": colour, "marker": "o", "ms": 3, "lw": 1, "label": kind}
            ax.plot(own["resamples"], own["mean_share"], **style)
        at = np.array([RESAMPLES[0], RESAMPLES[-1]])
        ax.plot(at, 0.5 / np.sqrt(at), color="black", lw=0.8, ls=":", label="slope -1/2")
        ax.axvline(999, color="black", lw=0.6, alpha=0.4)
        ax.set(xscale="log", yscale="log")
        ax.set_title(str(data), fontsize=9)
        ax.set_xlabel("resamples", fontsize=9)
    axes[0].set_ylabel("deviation of an end / length", fontsize=9)
    handles, names = axes[0].get_legend_handles_labels()
    figure.legend(handles, names, loc="outside lower center", ncols=4, frameon=False, fontsize=9)
    return {"seeds": figure}
