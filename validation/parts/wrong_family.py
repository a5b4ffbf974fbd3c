"""A family that is wrong: which member its regions cover, whether they are empty, what tests say.

The family is a logistic line in one input. The truth is such a line, or has a square beside it, or
is a step between two probabilities. The member closest to the truth is the one of the smallest
Kullback-Leibler divergence, to which maximum likelihood tends as n grows. No region here promises
to cover it; those of a robust ("sandwich") covariance do, for large n.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pandas as pd
from scipy.special import expit
from scipy.stats import norm

import exactregion as er
from validation.misfits import nearest
from validation.peers.likelihood import Linear, quantile
from validation.rates import rate_table
from validation.rejections import LEVEL, SLACK
from validation.study import Case, generator

RESAMPLES = 199
CONFIDENCE = 0.95
EVERY = {50: 4, 200: 10, 1000: 20}
"""`goodness_of_fit` takes most of the time: it tests one of so many data sets, by n."""

TESTED = 400
"""Data sets from which these are taken; of the right family there are more, for coverage."""

OURS = {"exactregion, combined": "combined", "exactregion, score": "score"}
PEERS = ("likelihood ratio", "Wald", "Wald, robust covariance")
TRUTHS = {
    "line": expit,
    "square": lambda x: expit(x + 0.6 * (x**2 - 1)),
    "step": lambda x: np.where(x > 0, 0.8, 0.2),
}
CASES = [
    Case({"truth": truth, "n": n}, 4000 if truth == "line" else 400, 4000, together=20)
    for n in EVERY
    for truth in TRUTHS
]


@cache
def closest(truth: str) -> Any:
    """Intercept and slope of the member closest to the truth, over standard normal inputs."""
    x = norm.ppf((np.arange(20_000) + 0.5) / 20_000)
    return nearest(np.column_stack([np.ones_like(x), x]), TRUTHS[truth](x), np.array([0.0, 1.0]))


def rows(settings: dict[str, Any], repetition: int) -> list[dict[str, Any]]:
    """Ask all regions about the closest member, and the tests about the family."""
    rng = generator(settings, repetition)
    n, theta = settings["n"], closest(settings["truth"])
    x = rng.normal(size=n)
    y = (rng.uniform(size=n) < TRUTHS[settings["truth"]](x)).astype(float)
    found: dict[str, Any] = {}
    for name, statistic in OURS.items():
        region = er.ConfidenceRegion(
            "logistic", statistic=statistic, n_resamples=RESAMPLES, rng=rng
        )
        region.fit(x[:, None], y)
        found[name] = bool(region.contains(theta))
        # one member is enough; only where the estimate is none, the region is searched for others
        found[f"{name}, empty"] = not region.contains(region.estimate_) and region.is_empty_
        if statistic == "combined":
            asked = repetition < TESTED and repetition % EVERY[n] == 0
            found["goodness_of_fit"] = region.goodness_of_fit().pvalue if asked else np.nan
    return [found | _peers(Linear("logistic", x[:, None], y), theta)]


def _peers(model: Linear, theta: Any) -> dict[str, Any]:
    """Whether the regions of maximum likelihood cover θ; None where there is no maximum."""
    if not model.exists:
        return dict.fromkeys(PEERS)
    cut = quantile(CONFIDENCE, model.d)
    scores = model.design * (model.y - expit(model.design @ model.theta))[:, None]
    apart = model.information @ (theta - model.theta)
    robust = apart @ np.linalg.solve(scores.T @ scores, apart)
    distances = (model.deviance(theta), model.wald_distance(theta), robust)
    return {name: bool(value <= cut) for name, value in zip(PEERS, distances, strict=True)}


def tables(frame: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """Coverage of the closest member, and how often the family is rejected, by two tests."""
    by = ["truth", "n"]
    names = [*OURS, *PEERS]
    coverage = [rate_table(frame, by, name).assign(method=name) for name in names]
    asked = frame.dropna(subset=["goodness_of_fit"])
    rejected = {f"empty, {name}": frame[by].assign(hit=frame[f"{name}, empty"]) for name in OURS}
    rejected["goodness_of_fit"] = asked[by].assign(hit=asked["goodness_of_fit"] <= LEVEL + SLACK)
    rejections = [rate_table(some, by, "hit").assign(test=name) for name, some in rejected.items()]
    return {
        "coverage": pd.concat(coverage, ignore_index=True),
        "rejections": pd.concat(rejections, ignore_index=True),
    }
