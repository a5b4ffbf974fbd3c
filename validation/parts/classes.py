"""Probabilities of several classes: how often right ones are rejected, and which wrong ones found.

The default statistic is compared with its parts, and with what people do by hand: one test of each
class and one of the confidence, all exact, by Bonferroni's rule.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from scipy.special import softmax

import exactregion as er
from validation.rejections import losses, power_table, size_table
from validation.study import Case, generator

OURS = "exactregion"
BONFERRONI = "classes and confidence, Bonferroni"
CONFIDENCE = "confidence alone"
PARTS = ["temperature", "brier", "joint", "classwise", "toplabel"]
TESTS = [OURS, BONFERRONI, CONFIDENCE]

STRENGTH = {100: 1.0, 500: 0.5, 2000: 0.25}
"""Misfits are about as clear with many rows as with 100."""

FEW = 20
"""Data sets per case with 2,000 rows, which take seconds each."""

CASES = [
    Case({"kind": "right", "classes": C, "n": n}, FEW if n == 2000 else 100, 2000)
    for C in (3, 10)
    for n in STRENGTH
] + [
    Case({"kind": kind, "classes": C, "n": n}, FEW if n == 2000 else 50, 1000)
    for kind in (
        "over-confident",
        "under-confident",
        "two classes swapped",
        "one bad class",
        "blurred",
    )
    for C in (3, 10)
    for n in STRENGTH
]


def predictions(kind: str, logits: Any, strength: float) -> Any:
    """Make predictions from the true logits (n, C)."""
    P = softmax(logits, axis=1)
    if kind == "over-confident":
        return softmax((1 + 0.5 * strength) * logits, axis=1)
    if kind == "under-confident":
        return softmax(logits / (1 + 0.7 * strength), axis=1)
    if kind == "two classes swapped":  # in this share of rows
        rows = np.arange(len(P)) < strength * len(P)
        P[rows, :2] = P[rows, 1::-1]
        return P
    if kind == "one bad class":
        shifted = logits.copy()
        shifted[:, 0] += 1.2 * strength
        return softmax(shifted, axis=1)
    if kind == "blurred":  # the logits of other rows are mixed in
        mixed = logits + 0.8 * np.sqrt(strength) * np.roll(logits, 1, axis=0)
        return softmax(mixed / np.sqrt(1 + 0.64 * strength), axis=1)
    return P


def rows(settings: dict[str, Any], repetition: int) -> list[dict[str, Any]]:
    """Test the predictions of one data set."""
    rng = generator(settings, repetition)
    n, C = settings["n"], settings["classes"]
    logits = 1.5 * rng.normal(size=(n, C))
    P = predictions(settings["kind"], logits, STRENGTH[n])
    y = (rng.exponential(size=P.shape) / softmax(logits, axis=1)).argmin(axis=1)
    result = er.calibration_test(y, P, rng=rng, classes=range(C))
    alone = result.table["pvalue"]
    found = {OURS: result.pvalue, CONFIDENCE: alone["top label"]}
    found[BONFERRONI] = min(1.0, len(alone) * float(alone.min()))
    return [found | {part.name: part.pvalue for part in result.parts}]


def tables(frame: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """Size, power, losses, and the power of the parts."""
    by = ["kind", "classes", "n"]
    right = frame["kind"] == "right"
    size = size_table(frame[right], by, lambda _: TESTS).drop(columns="kind")
    power = power_table(frame[~right], by, lambda _: TESTS, size, lambda _: OURS)
    parts = size_table(frame, by, lambda _: PARTS).pivot_table(
        index=by, columns="test", values="rate", sort=False
    )
    return {
        "size": size,
        "power": power,
        "losses": losses(power, TESTS),
        "parts": parts[PARTS].reset_index(),
    }
