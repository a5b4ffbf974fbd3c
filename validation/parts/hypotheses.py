"""Tests of coefficients: how often a true hypothesis is rejected, and how often a wrong one.

The family is logistic with one or two inputs, continuous or discrete. The hypothesis says that the
first slope is zero, or both of two. Data sets with separated or equal outcomes are kept: tests that
need a finite maximum count as failed where there is none, and Firth's where all outcomes are equal.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from scipy.special import expit
from scipy.stats import boschloo_exact, chi2, fisher_exact, norm

import exactregion as er
from validation.peers.coefficients import bootstrap_ratio, firth_ratio, modified_root
from validation.peers.likelihood import Linear, log_likelihood, maximise
from validation.rejections import answer, losses, power_table, size_table
from validation.study import Case, generator

OURS = "exactregion region.test"
BOOTSTRAP = "likelihood ratio, bootstrap"
ALWAYS = [OURS, "Wald", "likelihood ratio", BOOTSTRAP]
ONE = ["r*", "Firth, likelihood ratio"]
TABLES = ["Fisher", "Boschloo"]
TESTS = [*ALWAYS, *ONE, *TABLES]
EQUAL = dict.fromkeys([OURS, BOOTSTRAP, *TABLES], 1.0)
"""What tests say where all outcomes are equal; the others have no answer."""

INTERCEPTS = {"even": 0.0, "rare": -2.0}

CASES = [
    Case(
        {"slope": slope, "inputs": inputs, "df": df, "n": n, "outcomes": outcomes},
        100 if df == 1 and inputs == "two normal" else 400,
        4000,
    )
    for slope in (0.0, 1.0)
    for n in (20, 50, 200)
    for inputs, df in (("normal", 1), ("binary", 1), ("two normal", 1), ("two normal", 2))
    for outcomes in INTERCEPTS
    if not (inputs == "two normal" and df == 1 and n == 200)
]


def rows(settings: dict[str, Any], repetition: int) -> list[dict[str, Any]]:
    """Ask all tests about one data set."""
    rng = generator(settings, repetition)
    n, df = settings["n"], settings["df"]
    if settings["inputs"] == "binary":
        X = np.repeat([0.0, 1.0], [n // 2, n - n // 2])[:, None]
    else:
        X = rng.normal(size=(n, 1 if settings["inputs"] == "normal" else 2))
    slopes = np.r_[settings["slope"], np.zeros(X.shape[1] - 1)]
    if X.shape[1] == 2 and df == 1:
        slopes[1] = 1.0  # the other input matters
    y = (rng.uniform(size=n) < expit(INTERCEPTS[settings["outcomes"]] + X @ slopes)).astype(float)
    if y.min() == y.max():
        known = dict.fromkeys(TESTS, np.nan) | EQUAL
        return [known | {"certified": True, "seconds": 0.0}]
    frame = pd.DataFrame(X, columns=["a", "b"][: X.shape[1]])
    region = er.ConfidenceRegion("logistic", n_resamples=399, rng=rng).fit(frame, y)
    found = region.test("a = 0" if df == 1 else "a = 0, b = 0")
    peers = peers_of(settings, repetition, X, y)
    known = dict.fromkeys(TESTS, np.nan) | {OURS: found.pvalue} | peers
    return [known | {"certified": found.certified, "seconds": found.seconds}]


def peers_of(settings: dict[str, Any], repetition: int, X: Any, y: Any) -> dict[str, float]:
    """Ask the tests of others; what the bootstrap draws comes from a generator of its own."""
    df, own = settings["df"], generator({**settings, "for": "peers"}, repetition)
    found = {"Wald": answer(_wald, X, y, df), "likelihood ratio": answer(_ratio, X, y, df)}
    found[BOOTSTRAP] = answer(bootstrap_ratio, X, y, df, own)
    if df == 1:
        found |= dict(
            zip(ONE, (answer(modified_root, X, y), answer(firth_ratio, X, y)), strict=True)
        )
    if settings["inputs"] == "binary":
        table = [[((y == k) & (X[:, 0] == x)).sum() for k in (0, 1)] for x in (0.0, 1.0)]
        found["Fisher"] = answer(lambda: fisher_exact(table)[1])
        found["Boschloo"] = answer(lambda: boschloo_exact(table).pvalue)
    return found


def _wald(X: Any, y: Any, df: int) -> float:
    design = np.column_stack([np.ones(len(y)), X])
    if not Linear("logistic", X, y).exists:
        return float("nan")
    theta = maximise("logistic", design, y)
    p = expit(design @ theta)
    covariance = np.linalg.inv(design.T @ (design * (p * (1 - p))[:, None]))
    tested = slice(1, 1 + df)
    part = theta[tested]
    if df == 1:
        return float(2 * norm.sf(abs(part[0]) / np.sqrt(covariance[1, 1])))
    return float(chi2.sf(part @ np.linalg.solve(covariance[tested, tested], part), df))


def _ratio(X: Any, y: Any, df: int) -> float:
    design = np.column_stack([np.ones(len(y)), X])
    if not Linear("logistic", X, y).exists:
        return float("nan")
    small = np.delete(design, range(1, 1 + df), axis=1)
    tops = [log_likelihood("logistic", D @ maximise("logistic", D, y), y) for D in (design, small)]
    return float(chi2.sf(2 * (tops[0] - tops[1]), df))


def _asked(settings: dict[str, Any]) -> list[str]:
    one = ONE if settings["df"] == 1 else []
    return [*ALWAYS, *one, *(TABLES if settings["inputs"] == "binary" else [])]


def tables(frame: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """Size, power, where another test is more powerful, and what it costs."""
    true = frame["slope"] == 0
    by = ["slope", "inputs", "df", "n", "outcomes"]
    size = size_table(frame[true], by, _asked).drop(columns="slope")
    by_n = [
        size_table(frame[true], ["n"], lambda _: ALWAYS),
        size_table(frame[true & (frame["df"] == 1)], ["n"], lambda _: ONE),
        size_table(frame[true & (frame["inputs"] == "binary")], ["n"], lambda _: TABLES),
    ]
    found = {"size": size, "size_by_n": pd.concat(by_n, ignore_index=True)}
    if (~true).any():
        power = power_table(frame[~true], by, _asked, size, lambda _: OURS)
        found |= {"power": power, "losses": losses(power, TESTS)}
    cost = frame.groupby(by[1:], sort=False)[["certified", "seconds"]].mean()
    return found | {"cost": cost.reset_index()}
