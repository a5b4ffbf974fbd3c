"""Tests of a whole family: how often a true one is rejected, and which misfits are found.

The family is linear in the inputs, and fitted on the outcomes that it is tested with. The truth is
in it, or has a square, an interaction or another link beside.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from scipy.special import expit, ndtr

import exactregion as er
from exactregion.ranking import pvalue_of
from exactregion.region.hypotheses.goodness import DEFAULT
from exactregion.region.window import likely_parameters
from validation import misfits
from validation.peers.goodness import TESTS as PEERS
from validation.peers.likelihood import Linear
from validation.rejections import answer, losses, power_table, size_table
from validation.study import Case, generator

OURS = "exactregion goodness_of_fit"
JOINT = "exactregion largest joint p-value"
TESTS = [OURS, JOINT, *PEERS]

CASES = [
    Case({"kind": "true", "family": family, "inputs": 1, "n": n}, 400, 4000)
    for n in (30, 150)
    for family in ("logistic", "probit")
] + [
    Case({"kind": kind, "family": "logistic", "inputs": inputs, "n": 150}, 200, 2000)
    for kind, numbers in {
        "square of 0.6": (1,),
        "square of 1.0": (1,),
        "wave": (1,),
        "true": (2,),
        "missing quadratic": (2,),
        "missing interaction": (2,),
        "wrong link": (1, 2),
    }.items()
    for inputs in numbers
]


def truth(kind: str, family: str, X: Any) -> Any:
    """P(Y=1|x): one slope of one for a single input, `validation.misfits` for two."""
    if X.shape[1] > 1:
        return misfits.truth(kind, X)
    x = X[:, 0]
    if kind.startswith("square"):
        return expit(x + float(kind.rsplit(maxsplit=1)[-1]) * (x**2 - 1))
    if kind == "wave":
        return expit(x + 1.2 * np.sin(4 * x))
    if kind == "wrong link":
        return 0.5 + np.arctan(4 * x) / np.pi
    return expit(x) if family == "logistic" else ndtr(x)


def statistics() -> dict[str, Any]:
    """Give statistics that could be the default, to be compared at the most likely θ alone."""
    make = er.statistics

    def kernel(multiple: float) -> Any:
        return make.Discrepancy(er.kernels.Gaussian(multiple=multiple))

    return {
        "default": DEFAULT,
        "half": kernel(0.5),
        "usual": kernel(1.0),
        "twice": kernel(2.0),
        "multiscale": make.Multiscale(),
        "with curvature": make.Omnibus(*DEFAULT.statistics, make.Curvature()),
    }


def rows(settings: dict[str, Any], repetition: int) -> list[dict[str, Any]]:
    """Ask all tests about one data set."""
    rng = generator(settings, repetition)
    family, n = settings["family"], settings["n"]
    X = rng.normal(size=(n, settings["inputs"]))
    y = (rng.uniform(size=n) < truth(settings["kind"], family, X)).astype(int)
    region = er.ConfidenceRegion(family, rng=rng).fit(X, y)
    fit = region.goodness_of_fit()
    found = {OURS: fit.pvalue, JOINT: region.pvalue(region.estimate_)}
    fitted = region.fitted_
    likely = likely_parameters(fitted.model, fitted.sample)[None]
    for name, statistic in statistics().items():
        ranks = fitted.rank_function(er.statistics.Orthogonal(statistic))(likely)[0]
        found[name] = float(pvalue_of(ranks, fitted.accepted.m)[0])
    model = Linear(family, X, y.astype(float))
    peers = {name: answer(test, model) for name, test in PEERS.items()}
    return [found | peers | {"probed": fit.probed, "seconds": fit.seconds}]


def tables(frame: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """Size, power, losses, the power of statistics at one θ, and how far the search carries."""
    true = frame["kind"] == "true"
    by = ["kind", "family", "inputs", "n"]
    size = size_table(frame[true], by, lambda _: TESTS).drop(columns="kind")
    power = power_table(frame[~true], by, lambda _: TESTS, size, lambda _: OURS)
    names = list(statistics())
    at_likely = size_table(frame, by, lambda _: names).pivot_table(
        index=by, columns="test", values="rate", sort=False
    )
    growth = frame.groupby(by, sort=False)[[OURS, "default", "probed", "seconds"]].mean()
    return {
        "size": size,
        "power": power,
        "losses": losses(power, TESTS),
        "statistics": at_likely[names].reset_index(),
        "largest": growth.rename(
            columns={OURS: "mean_pvalue", "default": "mean_pvalue_at_likely"}
        ).reset_index(),
    }
