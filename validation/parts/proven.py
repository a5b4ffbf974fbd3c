"""Members outside results that are proven: there must be none.

Data of known families, joint and focused intervals, simultaneous bands and the ED50, and three
cases where an earlier search was far off. Each result is attacked with θ that lie outside it
(`validation.members`): a member among them shows that the result is too short. Certified results
must have none. Distances are shares of the length.

With one and two parameters a data set takes some seconds, with three a minute.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
from scipy.special import expit

import exactregion as er
from exactregion.region.ratios import LinearRatios
from exactregion.region.separation.far import separation_of
from validation.members import attacked, reported_by
from validation.study import Case, generator

PROBES = 12_000
RESAMPLES = 199

FAMILIES: dict[str, Callable[[np.ndarray, int], tuple[Any, np.ndarray]]] = {
    # inputs (n, k) and the number of parameters to a model and the inputs that it takes
    "logistic": lambda X, d: (er.models.Logistic(intercept=d > 1), X),
    "probit": lambda X, d: (er.models.Probit(), X),
    "cloglog": lambda X, d: (er.models.CLogLog(), X),
    "recalibration": lambda X, d: (er.models.Recalibration(), expit(X[:, 0])),
    "Laplace mixture": lambda X, d: (er.models.LaplaceMixture(), X[:, 0]),
}
SIZES = {1: (10, 50, 200), 2: (10, 23, 50, 100, 200), 3: (25, 50, 100)}
SETTINGS = [
    *(("logistic", d, n) for d in (1, 2, 3) for n in SIZES[d]),
    *((family, 2, n) for family in list(FAMILIES)[1:] for n in (30, 100)),
]
NAMED = ("Weibull tutorial", "moths with immunes", "psychometric, free lapse rate")
CASES = [
    Case({"family": family, "parameters": d, "n": n}, 3 if d == 3 else 10, 20, together=1)
    for family, d, n in SETTINGS
] + [Case({"family": name, "parameters": 3, "n": 0}, 2, 10, together=1) for name in NAMED]


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


EVEN = LinearRatios(np.array([[-1.0, 0.0]]), np.zeros(1), np.array([[0.0, 1.0]]))
"""The same for two parameters, as a ratio that can be proven."""


def _even(theta: np.ndarray) -> float:
    """The input at which the linear predictor is zero."""
    return float(-theta[0] / theta[1]) if theta[1] else np.inf


def drawn(settings: dict[str, Any], rng: np.random.Generator) -> tuple[Any, np.ndarray, Any]:
    """Draw data that are not separated."""
    d, n = settings["parameters"], settings["n"]
    columns = max(1, d - 1)
    while True:
        X = rng.normal(size=(n, columns))
        intercept = rng.normal() if d > 1 else 0.0
        slopes = rng.normal(scale=1.2, size=columns)
        if settings["family"] == "Laplace mixture":
            slopes = np.abs(slopes)  # a scale is positive
        p = expit(intercept + X @ slopes)
        y = (rng.random(n) < p).astype(int)
        model, inputs = FAMILIES[settings["family"]](X, d)
        bound = model.natural() or model.for_inputs(inputs)
        if 0 < y.sum() < n and separation_of(bound.linear_design(inputs), y, np.ones(n)) is None:
            return model, inputs, y


def rows(settings: dict[str, Any], repetition: int) -> list[dict[str, Any]]:
    """Attack all that is reported of one data set, certified and searched."""
    rng = generator(settings, repetition)
    d = settings["parameters"]
    if settings["family"] in NAMED:
        model, X, y, threshold = named(settings["family"])
        modes = {"searched": False}
    else:
        model, X, y = drawn(settings, rng)
        is_linear = settings["family"] in ("logistic", "probit", "cloglog")
        threshold = EVEN if d == 2 and is_linear else None
        modes = {"certified": True if d == 3 else None, "searched": False}
    pos_label = None if np.ndim(y) == 2 else 1
    fitted = er.ConfidenceRegion(
        model, n_resamples=RESAMPLES, rng=repetition, pos_label=pos_label
    ).fit(X, y)
    first = X.reshape(len(X), -1)[:, 0]
    at = np.linspace(first.min(), first.max(), 9)
    if d == 3 and settings["family"] not in NAMED:
        at = np.column_stack([at, np.zeros(9)])
    found = []
    for mode, certify in modes.items():
        reported = reported_by(fitted, certify=certify, at=at, ed50=threshold)
        for one, attack in zip(reported, attacked(fitted, reported, PROBES, rng), strict=True):
            is_certified = bool(np.all(one.certified))
            found.append(
                {
                    "mode": mode,
                    "of": one.kind,
                    "certified": is_certified,
                    "status": one.status,
                    "gap": one.gap_share if is_certified else np.nan,
                    "probes": attack.probes,
                    "members": attack.members,
                    "excess": attack.excess,
                    "boxes": one.evaluations,
                    "seconds": one.seconds,
                }
            )
    return found


def tables(frame: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """Certified results by setting; others by what is reported."""
    asked = frame[frame["mode"] == "certified"]
    by = ["family", "parameters", "n", "of"]
    certified = asked.groupby(by, sort=False).apply(_certified, include_groups=False)
    searched = frame[~frame["certified"]]
    by = ["family", "parameters", "of"]
    settled = searched.groupby(by, sort=False).apply(_searched, include_groups=False)
    return {"certified": certified.reset_index(), "searched": settled.reset_index()}


def _certified(some: pd.DataFrame) -> pd.Series:
    proven = some[some["certified"]]
    return pd.Series(
        {
            "data_sets": some["repetition"].nunique(),
            "certified": some["certified"].mean(),
            "gap": proven["gap"].max(),
            "probes": int(proven["probes"].sum()),
            "with_members_outside": int((proven["excess"] > 0).sum()),
            "seconds": some["seconds"].median(),
            "boxes": some["boxes"].median(),
        }
    )


def _searched(some: pd.DataFrame) -> pd.Series:
    sets = some.groupby(["n", "repetition", "mode"])["excess"].max()
    return pd.Series(
        {
            "data_sets": len(sets),
            "unsettled": (some["status"] == "unsettled").mean(),
            "probes": int(some["probes"].sum()),
            "outside": (sets > 0).mean(),
            "by_1_percent": (sets > 0.01).mean(),
            "by_3_percent": (sets > 0.03).mean(),
            "farthest": sets.max(),
            "seconds": some["seconds"].median(),
        }
    )
