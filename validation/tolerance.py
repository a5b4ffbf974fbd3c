"""Power of tests by how much features leave out: python -m validation.tolerance [--write].

Misfits of several shapes, small enough to be found in some data sets only, in predictions and in a
candidate with three inputs. Each data set is tested with features that leave out little and more
of the trace of the kernel (`features.landmarks.TOLERANCE`). Prints how often each finds the misfit,
and the largest difference of p-values.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
from scipy.special import expit, logit

import exactregion as er
from exactregion.features import landmarks
from validation.study import write_tables

ROWS, RESAMPLES, LEVEL = 70_000, 99, 0.05
TOLERANCES = (1e-4, 1e-2)

Shape = Callable[[np.ndarray], np.ndarray]

OF_PREDICTIONS: dict[str, Shape] = {
    "wave": lambda p: p + 0.072 * np.sin(6 * np.pi * p) * p * (1 - p),
    "fine wave": lambda p: p + 0.12 * np.sin(16 * np.pi * p) * p * (1 - p),
    "bump": lambda p: p + 0.035 * np.exp(-(((p - 0.7) / 0.04) ** 2)),
    "step": lambda p: p + 0.012 * (np.abs(p - 0.35) < 0.1),
    "curvature": lambda p: expit(logit(p) + 0.01 * (logit(p) ** 2 - 3)),
    "nothing": lambda p: p,
}
"""Predictions to the true probabilities."""

OF_INPUTS: dict[str, Shape] = {
    "product": lambda X: 0.05 * X[:, 0] * X[:, 1] * X[:, 2],
    "wave": lambda X: 0.1 * np.sin(4 * X[:, 0] + 3 * X[:, 1]),
    "corner": lambda X: 0.7 * ((X[:, 0] > 1) & (X[:, 1] > 1)),
    "ball": lambda X: 0.7 * (np.linalg.norm(X - 1, axis=1) < 0.6),
}
"""Inputs to what is added to the true logit."""


def predictions(shape: Shape, rng: np.random.Generator) -> Callable[[int], Any]:
    """Draw predictions and outcomes; return their test, given a seed."""
    p = rng.uniform(0.001, 0.999, size=ROWS)
    y = rng.random(ROWS) < np.clip(shape(p), 0, 1)
    return lambda seed: er.calibration_test(y, p, n_resamples=RESAMPLES, rng=seed)


def candidate(shape: Shape, rng: np.random.Generator) -> Callable[[int], Any]:
    """Draw three inputs and outcomes; return the test of a logistic curve."""
    X = rng.normal(size=(ROWS, 3))
    predictor = X @ [1, -0.5, 0] + 0.3
    y = rng.random(ROWS) < expit(predictor + shape(X))
    return lambda seed: er.model_test(expit(predictor), X, y, n_resamples=RESAMPLES, rng=seed)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--sets", type=int, default=40, help="data sets per shape")
    parser.add_argument("--write", action="store_true", help="keep the table for the docs")
    asked = parser.parse_args()
    rows = []
    for draw, shapes in ((predictions, OF_PREDICTIONS), (candidate, OF_INPUTS)):
        for name, shape in shapes.items():
            p_values = []
            for seed in range(asked.sets):
                test = draw(shape, np.random.default_rng(seed))
                p_values.append([_with(tolerance, test, seed) for tolerance in TOLERANCES])
            found = (np.array(p_values) <= LEVEL).mean(axis=0)
            words = ", ".join(
                f"{t:g}: {rate:.0%}" for t, rate in zip(TOLERANCES, found, strict=True)
            )
            largest = np.ptp(p_values, axis=1).max()
            print(f"{draw.__name__}, {name}: {words}; p-values differ by {largest:.2f}", flush=True)
            row = {"of": draw.__name__, "shape": name, "data_sets": asked.sets}
            rows.append(row | dict(zip(("more", "fewer"), found, strict=True)))
    if asked.write:
        write_tables("tolerance", {"power": pd.DataFrame(rows)})


def _with(tolerance: float, test: Callable[[int], Any], seed: int) -> float:
    usual, landmarks.TOLERANCE = landmarks.TOLERANCE, tolerance
    try:
        return float(test(seed).pvalue)
    finally:
        landmarks.TOLERANCE = usual


if __name__ == "__main__":
    main()
