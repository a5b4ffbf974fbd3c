"""Power by how much features leave out: python -m validation.tolerance [--write].

Misfits of several shapes, small enough to be found in some data sets only, in predictions and in a
candidate with three inputs. Each data set is tested, and asked whether the candidate is a member of
the region of its family, with features that leave out little and more of the trace of the kernel
(`features.landmarks.TOLERANCE`, and `COMPACT_TOLERANCE` of regions). Prints how often each finds
the misfit, by how much p-values differ, and by how much they do between two seeds.
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
TOLERANCES = {"TOLERANCE": (1e-4, 1e-2), "COMPACT_TOLERANCE": (1e-2, 1e-1)}
"""More and fewer features: of tests, and of regions."""

WHAT = {"TOLERANCE": "test", "COMPACT_TOLERANCE": "region"}

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


Pvalue = Callable[[int], float]
"""A seed to a p-value."""


def predictions(shape: Shape, rng: np.random.Generator) -> tuple[Pvalue, Pvalue]:
    """Draw predictions and outcomes; return their test, and that of θ = (0, 1) by a region."""
    p = rng.uniform(0.001, 0.999, size=ROWS)
    y = rng.random(ROWS) < np.clip(shape(p), 0, 1)

    def test(seed: int) -> float:
        return er.calibration_test(y, p, n_resamples=RESAMPLES, rng=seed).pvalue

    return test, lambda seed: member("recalibration", p, y, [0, 1], seed)


def candidate(shape: Shape, rng: np.random.Generator) -> tuple[Pvalue, Pvalue]:
    """Draw three inputs and outcomes; return the test of a logistic curve, and that by a region."""
    X, theta = rng.normal(size=(ROWS, 3)), [0.3, 1, -0.5, 0]
    predictor = X @ theta[1:] + theta[0]
    y = rng.random(ROWS) < expit(predictor + shape(X))

    def test(seed: int) -> float:
        return er.model_test(expit(predictor), X, y, n_resamples=RESAMPLES, rng=seed).pvalue

    return test, lambda seed: member("logistic", X, y, theta, seed)


def member(model: str, X: Any, y: Any, theta: list[float], seed: int) -> float:
    """Return the p-value of a parameter by a region."""
    region = er.ConfidenceRegion(model, n_resamples=RESAMPLES, rng=seed).fit(X, y)
    return float(region.pvalue(theta))


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--sets", type=int, default=40, help="data sets per shape")
    parser.add_argument("--write", action="store_true", help="keep the table for the docs")
    asked = parser.parse_args()
    rows = []
    for draw, shapes in ((predictions, OF_PREDICTIONS), (candidate, OF_INPUTS)):
        for name, shape in shapes.items():
            found = {constant: np.empty((asked.sets, 3)) for constant in TOLERANCES}
            for seed in range(asked.sets):
                calls = draw(shape, np.random.default_rng(seed))
                for (constant, both), call in zip(TOLERANCES.items(), calls, strict=True):
                    more, fewer = (_with(constant, tolerance, call, seed) for tolerance in both)
                    found[constant][seed] = more, fewer, call(seed + asked.sets)
            for constant, p_values in found.items():
                rows.append(
                    {
                        "of": f"{draw.__name__}, {WHAT[constant]}",
                        "shape": name,
                        "data_sets": asked.sets,
                        "more": (p_values[:, 0] <= LEVEL).mean(),
                        "fewer": (p_values[:, 1] <= LEVEL).mean(),
                        "difference": np.abs(p_values[:, 0] - p_values[:, 1]).mean(),
                        "of_seeds": np.abs(p_values[:, 1] - p_values[:, 2]).mean(),
                    }
                )
                print(rows[-1], flush=True)
    if asked.write:
        write_tables("tolerance", {"power": pd.DataFrame(rows)})


def _with(constant: str, tolerance: float, call: Pvalue, seed: int) -> float:
    usual = getattr(landmarks, constant)
    setattr(landmarks, constant, tolerance)
    try:
        return call(seed)
    finally:
        setattr(landmarks, constant, usual)


if __name__ == "__main__":
    main()
