"""Tests of calibration: how often they reject true predictions, and how often false ones.

True predictions come uniform, rare (about one outcome in five), extreme (near 0 and 1), and from a
model of two inputs. False ones are false in seven ways, chosen so that a good test finds them in
30 to 90 % of data sets at n = 200. Each test sees the same data; with a bad subgroup each is made
by group as well, and adjusted by Holm.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from scipy.special import expit, logit

import exactregion as er
from validation import misfits
from validation.peers.calibration import (
    KERNEL,
    MOST_FOR_KERNEL,
    NAMES,
    by_group,
    kernel_error,
    peers,
)
from validation.rejections import answer, draw_rates, losses, power_table, size_table
from validation.study import Case, generator

OURS = "exactregion"
INPUTS = "exactregion, model_test on inputs"
BY_GROUP = ", by group"
RESAMPLES = 199
SHARE_OF_GROUP, SHIFT_OF_GROUP = 0.25, 1.2

CURVES = {
    "over-confident": lambda score: 0.6 * score,
    "under-confident": lambda score: 1.6 * score,
    "shifted": lambda score: score + 0.4,
    "asymmetric": lambda score: np.where(score > 0, 0.4 * score, score),
    "wavy": lambda score: score + 1.2 * np.sin(3 * score),
}
"""True logit by predicted logit."""

PREDICTIONS = {
    "uniform": lambda n, rng: rng.uniform(size=n),
    "rare": lambda n, rng: rng.beta(2, 8, size=n),
    "extreme": lambda n, rng: expit(rng.normal(scale=5, size=n)),
}
SUBGROUP, INTERACTION = "one bad subgroup", "missing interaction"

SETTINGS = [
    *({"kind": "true", "predictions": name} for name in (*PREDICTIONS, "model")),
    *({"kind": kind, "predictions": "uniform"} for kind in CURVES),
    {"kind": SUBGROUP, "predictions": "model"},
    {"kind": INTERACTION, "predictions": "model"},
]
REPETITIONS = {50: (600, 4000, 100), 200: (400, 4000, 50), 1000: (120, 2000, 10)}
LEAST_FOR_SIZE = 400
"""A rate of 5 % takes more data sets to be seen than a power does."""

CASES = [
    Case(
        {**settings, "n": n},
        max(quick, LEAST_FOR_SIZE) if settings["kind"] == "true" else quick,
        full,
        together,
    )
    for n, (quick, full, together) in REPETITIONS.items()
    for settings in SETTINGS
]


def draw(settings: dict[str, Any], rng: np.random.Generator) -> tuple[Any, ...]:
    """Draw outcomes, predictions, the group of each row, and inputs if there are any."""
    kind, n = settings["kind"], settings["n"]
    group = rng.uniform(size=n) < SHARE_OF_GROUP
    if settings["predictions"] != "model":
        p = PREDICTIONS[settings["predictions"]](n, rng)
        score = logit(p)
        true = expit(CURVES[kind](score) if kind in CURVES else score)
        return (rng.uniform(size=n) < true).astype(int), p, group, None
    data = misfits.draw(INTERACTION if kind == INTERACTION else "true", 2, n, rng)
    if kind != SUBGROUP:
        return data.y, data.p, group, data.X
    true = expit(logit(data.p) + SHIFT_OF_GROUP * group)
    return (rng.uniform(size=n) < true).astype(int), data.p, group, data.X


def rows(settings: dict[str, Any], repetition: int) -> list[dict[str, Any]]:
    """Ask all tests about one data set."""
    rng = generator(settings, repetition)
    y, p, group, X = draw(settings, rng)
    ours = {"n_resamples": RESAMPLES, "rng": rng}
    found = {OURS: er.calibration_test(y, p, **ours).pvalue}
    own = generator({**settings, "for": "peers"}, repetition)
    tests = peers(rng, own)
    found |= {name: answer(test, y, p) for name, test in tests.items()}
    wanted = asked(settings)
    if OURS + BY_GROUP in wanted:
        table = er.calibration_test(y, p, by=group, **ours)
        found[OURS + BY_GROUP] = float(table["pvalue_holm"].min())
        for name, test in tests.items():
            found[name + BY_GROUP] = answer(by_group, test, y, p, group)
    if INPUTS in wanted:
        found[INPUTS] = er.model_test(p, X, y, **ours).pvalue
    if KERNEL in wanted:
        found[KERNEL] = answer(kernel_error, y, p, own)
    return [found]


def asked(settings: dict[str, Any]) -> list[str]:
    """Name the tests that are made with these settings."""
    names = [OURS, *NAMES]
    if settings["n"] <= MOST_FOR_KERNEL:
        names.append(KERNEL)
    if settings["predictions"] != "model":
        return names
    if settings["kind"] in ("true", INTERACTION):
        names.insert(1, INPUTS)
    if settings["kind"] in ("true", SUBGROUP):
        names += [name + BY_GROUP for name in (OURS, *NAMES)]
    return names


def tables(frame: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """Size, power, and where a peer that keeps its size is more powerful."""
    true = frame["kind"] == "true"
    by = ["kind", "predictions", "n"]
    size = size_table(frame[true], by, asked).drop(columns="kind")
    power = power_table(frame[~true], by, asked, size, _ours)
    names = [*NAMES, KERNEL, *(name + BY_GROUP for name in NAMES)]
    return {"size": size, "power": power, "losses": losses(power, names)}


def _ours(test: str) -> str:
    return OURS + BY_GROUP if test.endswith(BY_GROUP) else OURS


def figures(tables: dict[str, pd.DataFrame]) -> dict[str, Any]:
    """Draw size and power."""
    size, power = tables["size"], tables["power"]
    whole = ~size["test"].str.endswith(BY_GROUP) & (size["test"] != INPUTS)
    curves = power[power["kind"].isin(CURVES)]
    others = power[~power["kind"].isin(CURVES)]
    return {
        "calibration_size": draw_rates(
            size[whole],
            "predictions",
            title="True predictions: a test at level 5 % should reject 5 % of them",
            power=False,
        ),
        "calibration_power": draw_rates(
            curves,
            "kind",
            title="False predictions: the more a test rejects, the better, if its size holds",
            power=True,
            columns=3,
        ),
        "calibration_groups": draw_rates(
            others,
            "kind",
            title="False for some rows: by group, or by inputs that the tests of p do not see",
            power=True,
        ),
    }
