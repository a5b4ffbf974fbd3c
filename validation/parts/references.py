"""Real data beside the numbers of established tools.

Each case is a data set, run once, with 95 % intervals of ours by search. Wald and profile limits
are computed here, by statsmodels; those of psignifit by psignifit. The other reference numbers are
quoted as text, from R 4.2.2 (MASS) and statsmodels 0.15.0.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd

import exactregion as er
from validation.peers.likelihood import Linear
from validation.peers.psychometric import credible_interval
from validation.study import Case

LEVEL = 0.95
CASES = [
    Case({"data": data}, 1, 1, together=1)
    for data in ("oring", "budworm", "menarche", "beetle", "two_afc")
]


def rows(settings: dict[str, Any], repetition: int) -> list[dict[str, Any]]:
    """The intervals of one data set, with the repetition as the seed."""
    return STUDIES[settings["data"]](lambda model, **more: _region(model, repetition, **more))


def tables(frame: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """As they are."""
    return {"references": frame.drop(columns="repetition")}


def _region(model: Any, seed: int, **more: Any) -> er.ConfidenceRegion:
    return er.ConfidenceRegion(model, n_resamples=999, rng=seed, **more)


def _counts(data: pd.DataFrame, successes: str, total: str) -> np.ndarray:
    return np.column_stack([data[successes], data[total] - data[successes]])


def _row(name: str, found: Any, reference: str, **peers: Any) -> dict[str, Any]:
    """One quantity; `found` has estimate, lower, upper and status."""
    record = {"quantity": name}
    for key in ("estimate", "lower", "upper", "status"):
        record[key] = found[key] if isinstance(found, pd.Series) else getattr(found, key)
    usual = {"wald": (np.nan, np.nan), "profile": (np.nan, np.nan), **peers}
    for peer, (low, high) in usual.items():
        record |= {f"{peer}_lower": low, f"{peer}_upper": high}
    return {**record, "reference": reference}


def _usual(X: Any, y: np.ndarray, index: int, *, intercept: bool = True) -> dict[str, Any]:
    """Wald and profile limits of one coefficient, on counts spread out to single trials."""
    X = np.asarray(X, dtype=float).reshape(len(y), -1)
    if y.ndim == 2:
        rows = np.repeat(np.arange(len(y)), y.sum(axis=1))
        outcomes = np.concatenate([np.repeat([1.0, 0.0], pair) for pair in y])
        X, y = X[rows], outcomes
    fit = Linear("logistic", X if intercept else X[:, 1:], y.astype(float))
    axis = np.eye(fit.d)[index]
    return {
        "wald": fit.wald(axis, fit.theta[index], LEVEL),
        "profile": fit.profile(index, LEVEL),
    }


def _oring(region_of: Callable[..., er.ConfidenceRegion]) -> list[dict[str, Any]]:
    data = er.datasets.oring()
    region = region_of("logistic").fit(data["temp"], data["y"])
    band = region.band(np.array([31.0]), joint=False)
    at_31 = pd.Series(
        {
            "estimate": float(band.estimate[0]),
            "lower": float(band.lower[0]),
            "upper": float(band.upper[0]),
            "status": "bounded",
        }
    )
    usual = _usual(data["temp"], data["y"].to_numpy(), 1)
    slope = region.intervals().loc["temp"]
    fit = Linear("logistic", data[["temp"]].to_numpy(float), data["y"].to_numpy(float))
    low, high = fit.band(np.array([[31.0]]), LEVEL, 1)
    return [
        _row("oring slope", slope, "exact conditional -0.480, -0.044", **usual),
        _row("oring P(damage) at 31 °F", at_31, "", wald=(float(low[0]), float(high[0]))),
    ]


def _budworm(region_of: Callable[..., er.ConfidenceRegion]) -> list[dict[str, Any]]:
    data = er.datasets.budworm()
    X = np.column_stack([data["sex"] == "female", data["sex"] == "male", data["ldose"]]) * 1.0
    y = _counts(data, "ndead", "ntotal")
    region = region_of(er.models.Logistic(intercept=False)).fit(X, y)
    # one column for the sexes and an intercept are the same model, with the same slope
    usual = _usual(X, y, 2, intercept=False)
    found = [_row("budworm log2 dose", region.intervals().loc["x2"], "", **usual)]
    references = {"female": "3.264 (SE 0.230)", "male": "2.229 (SE 0.226)"}
    for index, (sex, reference) in enumerate(references.items()):
        ed50 = region.functional(lambda th, index=index: -th[index] / th[2])
        found.append(_row(f"budworm ED50 {sex} (log2 dose)", ed50, reference))
    return found


def _menarche(region_of: Callable[..., er.ConfidenceRegion]) -> list[dict[str, Any]]:
    data = er.datasets.menarche()
    y = _counts(data, "Menarche", "Total")
    region = region_of("logistic").fit(data["Age"], y)
    age = region.functional(lambda th: -th[0] / th[1])
    usual = _usual(data["Age"], y, 1)
    return [
        _row("menarche slope", region.intervals().loc["Age"], "", **usual),
        _row("menarche age at 50 %", age, "13.007 (SE 0.039)"),
    ]


def _beetle(region_of: Callable[..., er.ConfidenceRegion]) -> list[dict[str, Any]]:
    data = er.datasets.beetle()
    y = _counts(data, "killed", "n")
    halves = {"logistic": 0.0, "probit": 0.0, "cloglog": np.log(np.log(2))}
    deviances = {"logistic": "0.081", "probit": "0.120", "cloglog": "0.751"}
    found = []
    for model, half in halves.items():
        region = region_of(model).fit(data["logdose"], y)
        narrow = er.statistics.Discrepancy(bandwidth=0.3)
        fit = region_of(model, statistic=narrow).fit(data["logdose"], y)
        ld50 = region.functional(lambda th, half=half: (half - th[0]) / th[1])
        reference = f"deviance p {deviances[model]}" + ("; LD50 1.7717" if half == 0 else "")
        found.append(
            _row(f"beetle LD50, {model}", ld50, reference)
            | {
                "largest_p": region.pvalue(region.estimate_),
                "largest_p_narrow_kernel": fit.pvalue(fit.estimate_),
            }
        )
    return found


def _two_afc(region_of: Callable[..., er.ConfidenceRegion]) -> list[dict[str, Any]]:
    data = er.datasets.two_afc()
    model = er.models.Psychometric(er.models.Probit(), guess=0.5, lapse="free")
    region = region_of(model).fit(1000 * data["level"], _counts(data, "n_correct", "n_total"))
    threshold = region.functional(lambda th: -th[0] / th[1] / 1000)
    columns = (data[name].to_numpy(float) for name in ("level", "n_correct", "n_total"))
    credible = credible_interval(*columns, LEVEL)
    return [_row("2AFC threshold", threshold, "psignifit 0.004646", psignifit=credible)]


STUDIES = {
    "oring": _oring,
    "budworm": _budworm,
    "menarche": _menarche,
    "beetle": _beetle,
    "two_afc": _two_afc,
}
