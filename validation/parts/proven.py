"""Members outside results that are proven: there must be none.

Data of known families, joint and focused intervals, simultaneous bands and the ED50. Each result is
attacked with θ that lie outside it (`validation.members`): a member among them would show that the
proof is wrong. Distances are shares of the length.

With one and two parameters a data set takes some seconds, with three a minute.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
from scipy.special import expit

import exactregion as er
from exactregion.region.separation.directions import separation_of
from validation.members import EVEN, attacked, reported_by
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
PSYCHOMETRIC = "psychometric"
SIZES = {1: (10, 50, 200), 2: (10, 23, 50, 100, 200), 3: (25, 50, 100)}
SETTINGS = [
    *(("logistic", d, n) for d in (1, 2, 3) for n in SIZES[d]),
    *((family, 2, n) for family in list(FAMILIES)[1:] for n in (30, 100)),
    *((PSYCHOMETRIC, d, n) for d, n in ((2, 70), (2, 210), (3, 210))),
]
CASES = [
    Case({"family": family, "parameters": d, "n": n}, 4 if d == 3 else 11, 20, together=1)
    for family, d, n in SETTINGS
]


def drawn(settings: dict[str, Any], rng: np.random.Generator) -> tuple[Any, np.ndarray, Any]:
    """Draw data that are not separated; psychometric ones are counts at seven levels."""
    d, n = settings["parameters"], settings["n"]
    if settings["family"] == PSYCHOMETRIC:
        levels, trials = np.linspace(-2, 2, 7), n // 7
        chance = 0.5 + 0.48 * expit(rng.uniform(1, 2.5) * (levels - rng.uniform(-0.5, 1)))
        correct = rng.binomial(trials, chance)
        family = er.models.Psychometric(guess=0.5, lapse="free" if d == 3 else 0.02)
        return family, levels, np.column_stack([correct, trials - correct])
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
    """Attack all that is reported of one data set."""
    rng = generator(settings, repetition)
    d = settings["parameters"]
    model, X, y = drawn(settings, rng)
    has_ed50 = settings["family"] in ("logistic", "probit", "cloglog", PSYCHOMETRIC)
    fitted = er.ConfidenceRegion(
        model, n_resamples=RESAMPLES, rng=repetition, pos_label=1 if y.ndim == 1 else None
    ).fit(X, y)
    table = X.reshape(len(X), -1)
    at = np.zeros((9, table.shape[1]))
    at[:, 0] = np.linspace(table[:, 0].min(), table[:, 0].max(), 9)
    at = at[:, 0] if X.ndim == 1 else at
    threshold = EVEN if d == 2 and has_ed50 else None
    reported = reported_by(fitted, certify=True if d == 3 else None, at=at, ed50=threshold)
    found = []
    for one, attack in zip(reported, attacked(fitted, reported, PROBES, rng), strict=True):
        is_certified = bool(np.all(one.certified))
        found.append(
            {
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
    """Certified results by setting."""
    by = ["family", "parameters", "n", "of"]
    certified = frame.groupby(by, sort=False).apply(_certified, include_groups=False)
    return {"certified": certified.reset_index()}


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
