"""Members outside results that were searched, and not proven.

Families, sizes and the cases of the docs, with ``certify=False``: joint and focused intervals,
simultaneous and pointwise bands, and the input of even odds. Each result is attacked with some
thousands of θ around and beyond its ends (`validation.members`). Distances are shares of the
length. Some ten seconds per data set.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import pandas as pd
from scipy.special import expit

import exactregion as er
from validation.members import EVEN, attacked, reported_by
from validation.parts.proven import drawn
from validation.study import Case, generator

PROBES = 6_000
FEW_RESAMPLES, RESAMPLES, LARGE = 199, 999, 100
"""Resamples of data with fewer rows than `LARGE`, and of others: regions of these are about
ellipsoids."""

NAMED = ("Weibull tutorial", "moths with immunes", "psychometric, free lapse rate")
KINDS = ("joint", "focused", "band", "pointwise band")
VISIBLE = 1e-4
"""Members that lie outside by a smaller share of the length are not counted: bands have ends such
as 1 - 10⁻⁷, where no reader sees the difference."""

SETTINGS = [
    *(
        ("logistic", d, n)
        for d, n in ((2, 10), (2, 23), (2, 200), (3, 50), (4, 60), (4, 200), (5, 100))
    ),
    *((family, 2, n) for family in ("probit", "cloglog", "Laplace mixture") for n in (30, 100)),
]
CASES = [
    *(Case({"family": f, "parameters": d, "n": n}, 10, 40, together=1) for f, d, n in SETTINGS),
    *(Case({"family": name, "parameters": 3, "n": 0}, 10, 40, together=1) for name in NAMED),
]


class WithImmunes(er.models.Model):
    """A logistic curve of the log dose for those who are not immune, as in the docs."""

    parameter_names = ("intercept", "slope", "immune")
    bounds = ((-np.inf, np.inf), (0.0, np.inf), (0.0, 0.9))

    def evaluate(self, theta: np.ndarray, X: Any) -> np.ndarray:
        intercept, slope, immune = theta.T[:, :, np.newaxis]
        return np.asarray((1 - immune) * expit(intercept + slope * np.ravel(X)))


WEIBULL_BOUNDS = [(0.0005, 0.05), (0.2, 15), (0, 0.2)]


def weibull(theta: np.ndarray, x: np.ndarray) -> np.ndarray:
    scale, shape, lapse = theta
    return np.asarray(0.5 + (0.5 - lapse) * -np.expm1(-((x / scale) ** shape)))


def named(name: str) -> tuple[Any, np.ndarray, np.ndarray, Any]:
    """The family, inputs and counts of a case of the docs, and its threshold."""
    if name == "Weibull tutorial":
        answers = er.datasets.two_afc()
        correct = answers["n_correct"].to_numpy()
        family = er.models.Function(
            weibull,
            names=("scale", "shape", "lapse"),
            bounds=WEIBULL_BOUNDS,
        )
        y = np.column_stack([correct, answers["n_total"] - correct])
        return family, answers["level"].to_numpy(float), y, _of_weibull
    if name == "moths with immunes":
        moths = er.datasets.budworm().query("sex == 'female'")
        y = np.column_stack([moths["ndead"], moths["ntotal"] - moths["ndead"]])
        return WithImmunes(), moths["ldose"].to_numpy(float), y, None
    correct = np.array([18, 23, 19, 19, 22, 33, 31])
    family = er.models.Psychometric(guess=0.5, lapse="free")
    return family, np.linspace(-2, 2, 7), np.column_stack([correct, 40 - correct]), _even


def _of_weibull(theta: np.ndarray) -> float:
    """The level with 75 % correct answers."""
    return float(theta[0] * (-np.log1p(-0.25 / (0.5 - theta[2]))) ** (1 / theta[1]))


def _even(theta: np.ndarray) -> float:
    """The input at which the linear predictor is zero."""
    return float(-theta[0] / theta[1]) if theta[1] else np.inf


def rows(settings: dict[str, Any], repetition: int) -> list[dict[str, Any]]:
    """Attack all that is reported of one data set; those of the docs are drawn again around."""
    rng = generator(settings, repetition)
    d = settings["parameters"]
    if settings["family"] in NAMED:
        model, X, y, threshold = named(settings["family"])
        if repetition:  # the data of the docs first, then others like them
            trials = y.sum(axis=1)
            successes = rng.binomial(trials, (y[:, 0] + 0.5) / (trials + 1))
            y = np.column_stack([successes, trials - successes])
    else:
        model, X, y = drawn(settings, rng)
        is_linear = settings["family"] != "Laplace mixture"
        threshold = EVEN if d == 2 and is_linear else None
    resamples = FEW_RESAMPLES if settings["n"] < LARGE else RESAMPLES
    region = er.ConfidenceRegion(
        model, n_resamples=resamples, rng=repetition, pos_label=None if np.ndim(y) == 2 else 1
    ).fit(X, y)
    table = X.reshape(len(X), -1)
    at = np.zeros((9, table.shape[1]))
    at[:, 0] = np.linspace(table[:, 0].min(), table[:, 0].max(), 9)
    at = at[:, 0] if np.ndim(X) == 1 else at
    started = time.process_time()
    reported = reported_by(region, certify=False, kinds=KINDS, at=at, ed50=threshold)
    seconds = time.process_time() - started
    attacks = attacked(region, reported, PROBES, rng)
    return [
        {
            "of": one.kind,
            "status": one.status,
            "gap": one.gap_share,
            "probes": attack.probes,
            "members": attack.members,
            "excess": attack.excess,
            "evaluations": one.evaluations,
            "seconds": seconds,
        }
        for one, attack in zip(reported, attacks, strict=True)
    ]


def tables(frame: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """Members outside by family, and by what is reported."""
    names = {"parameters": frame["parameters"].astype(str)}
    frame = frame.assign(**names)
    total = frame.groupby("of", sort=False).apply(_summary, include_groups=False).reset_index()
    by = ["family", "parameters", "of"]
    each = frame.groupby(by, sort=False).apply(_summary, include_groups=False).reset_index()
    return {"by result": total, "by family": each}


def _summary(some: pd.DataFrame) -> pd.Series:
    key = [name for name in ("family", "parameters", "n", "repetition") if name in some]
    sets = some.groupby(key)["excess"].max()
    return pd.Series(
        {
            "data_sets": len(sets),
            "unsettled": (some["status"] == "unsettled").mean(),
            "probes": int(some["probes"].sum()),
            "outside": (sets > VISIBLE).mean(),
            "by_1_percent": (sets > 0.01).mean(),
            "by_3_percent": (sets > 0.03).mean(),
            "farthest": sets.max(),
            "gap": some["gap"].median(),
            "evaluations": some["evaluations"].median(),
        }
    )
