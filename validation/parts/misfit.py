"""Tests of a model with its inputs: what they find that tests of its predictions alone do not.

The model has main effects alone; the truth has an interaction, a square, a bad subgroup or another
link beside them, in two inputs of two or of five; or, with 1,000 rows of two inputs, one of the
shapes that were held out when the defaults were chosen. Tests of calibration see the predictions
only.
"""

from __future__ import annotations

from typing import Any

import pandas as pd

import exactregion as er
from validation.misfits import HELD_OUT, KINDS, draw
from validation.peers.calibration import NAMES, peers
from validation.rejections import answer, draw_rates, losses, power_table, size_table
from validation.study import Case, generator

OURS = "exactregion multiscale (default)"
CALIBRATION = "exactregion calibration_test"
RESAMPLES = 199


def statistics() -> dict[str, Any]:
    """Give what `model_test` is asked with: the default, and the algorithms of the paper."""
    make = er.statistics
    return {
        OURS: make.Multiscale(),
        "exactregion discrepancy": make.Discrepancy(),
        "exactregion embedding": make.Embedding(),
        "exactregion neighborhood": make.Neighborhood(),
    }


REPETITIONS = {50: (200, 4000, 50), 200: (120, 2000, 20), 1000: (400, 600, 4)}
CASES = [
    Case({"kind": kind, "inputs": d, "n": n}, quick, full, together)
    for n, (quick, full, together) in REPETITIONS.items()
    for d in (2, 5)
    for kind in KINDS
]
CASES += [Case({"kind": kind, "inputs": 2, "n": 1000}, 400, 600, 4) for kind in HELD_OUT]
TESTS = [*statistics(), CALIBRATION, *NAMES]


def rows(settings: dict[str, Any], repetition: int) -> list[dict[str, Any]]:
    """Ask all tests about one data set."""
    rng = generator(settings, repetition)
    X, y, p = draw(settings["kind"], settings["inputs"], settings["n"], rng)
    ours = {"n_resamples": RESAMPLES, "rng": rng}
    found = {
        name: er.model_test(p, X, y, statistic=statistic, **ours).pvalue
        for name, statistic in statistics().items()
    }
    found[CALIBRATION] = er.calibration_test(y, p, **ours).pvalue
    tests = peers(rng, generator({**settings, "for": "peers"}, repetition))
    return [found | {name: answer(test, y, p) for name, test in tests.items()}]


def tables(frame: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """Size, power, and where another test that keeps its size is more powerful than the default."""
    true = frame["kind"] == "true"
    by = ["kind", "inputs", "n"]
    size = size_table(frame[true], by, lambda _: TESTS).drop(columns="kind")
    power = power_table(frame[~true], by, lambda _: TESTS, size, lambda _: OURS)
    return {"size": size, "power": power, "losses": losses(power, TESTS)}


def figures(tables: dict[str, pd.DataFrame]) -> dict[str, Any]:
    """Draw size, and power with two and with five inputs; what was held out has a table alone."""
    size, power = (
        tables[name].assign(panel=tables[name]["inputs"].astype(str) + " inputs")
        for name in ("size", "power")
    )
    drawn = {
        "misfit_size": draw_rates(
            size,
            "panel",
            title="A true model: a test at level 5 % should reject 5 %",
            power=False,
        )
    }
    titles = {2: "Misfit in two inputs: who finds it", 5: "Misfit in two of five inputs"}
    for inputs, some in power[power["kind"].isin(KINDS)].groupby("inputs", sort=False):
        drawn[f"misfit_power_{inputs}"] = draw_rates(some, "kind", title=titles[inputs], power=True)
    return drawn
