"""Coverage given one seed, and with a seed made from the data.

Exactness is an average over the draws. For a seed that stays the same while data change, the
coverage of the true parameter is near its nominal value, not equal to it. Inputs are the same in
all data sets, as in an experiment that is repeated; each data set is ranked with 20 fixed seeds,
and with ``rng="data"``.
"""

from __future__ import annotations

from typing import Any

import pandas as pd

import exactregion as er
from validation.rates import rate_table
from validation.study import Case, generator
from validation.truths import truth_of

SEEDS = range(20)
LEVEL = 0.9
CASES = [
    Case({"n": n, "resamples": resamples}, 400, 4000, together=50)
    for n in (1, 20, 50)
    for resamples in (49, 199, 999)
]


def rows(settings: dict[str, Any], repetition: int) -> list[dict[str, Any]]:
    """Whether the true parameter is in the region, by seed."""
    truth = truth_of({"family": "logistic", "slopes": 1, "outcomes": "balanced"})
    X = truth.inputs(generator(settings, 2**32 - 1), settings["n"])
    y = generator(settings, repetition).random(settings["n"]) < truth.probabilities(X)
    found = []
    for seed in (*SEEDS, "data"):
        region = er.ConfidenceRegion(
            truth.model, confidence_level=LEVEL, n_resamples=settings["resamples"], rng=seed
        )
        covered = bool(region.fit(X, y).contains(truth.theta))
        found.append({"seed": str(seed), "covered": covered})
    return found


def tables(frame: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """Coverage of the seed with the least and the greatest, and of the seed of the data."""
    rates = rate_table(frame, ["n", "resamples", "seed"], "covered")
    by_seed = rates[rates["seed"] != "data"].groupby(["n", "resamples"], sort=False)["rate"]
    table = by_seed.agg(least="min", mean="mean", greatest="max").reset_index()
    of_data = rates[rates["seed"] == "data"].drop(columns="seed")
    return {"coverage": table.merge(of_data, on=["n", "resamples"]).assign(nominal=LEVEL)}
