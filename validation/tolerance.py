"""Power by how much features leave out: python -m validation.tolerance [--write].

Misfits of several shapes, small enough to be found in some data sets only, in predictions and in a
candidate with three inputs. Each data set is tested, and asked whether the candidate is a member of
the region of its family, with features that leave out little and more of the trace of the kernel
(`features.landmarks.TOLERANCE`, and `COMPACT_TOLERANCE` of regions). Prints how often each finds
the misfit, by how much p-values differ, and by how much they do between two seeds.
"""

from __future__ import annotations

import argparse
from collections import defaultdict
from collections.abc import Callable

import numpy as np
import pandas as pd
from scipy.special import expit, logit

import exactregion as er
from exactregion.features import landmarks
from validation.study import write_tables

ROWS, RESAMPLES, LEVEL = 70_000, 99, 0.05
TOLERANCES = {"TOLERANCE": (1e-4, 1e-2), "COMPACT_TOLERANCE": (1e-2, 1e-1)}
"""More and fewer features: of tests, and of regions."""

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


Pvalues = dict[str, Callable[[int], float]]
"""By the constant that it depends on, what turns a seed into a p-value."""


def predictions(shape: Shape, rng: np.random.Generator) -> Pvalues:
    """Draw predictions and outcomes; return their test. Regions of one input have few features."""
    p = rng.uniform(0.001, 0.999, size=ROWS)
    y = rng.random(ROWS) < np.clip(shape(p), 0, 1)

    def test(seed: int) -> float:
        return er.calibration_test(y, p, n_resamples=RESAMPLES, rng=seed).pvalue

    return {"TOLERANCE": test}


def candidate(shape: Shape, rng: np.random.Generator) -> Pvalues:
    """Draw three inputs and outcomes; return the test of a logistic curve, and that by a region."""
    X, theta = rng.normal(size=(ROWS, 3)), [0.3, 1, -0.5, 0]
    predictor = X @ theta[1:] + theta[0]
    y = rng.random(ROWS) < expit(predictor + shape(X))

    def test(seed: int) -> float:
        return er.model_test(expit(predictor), X, y, n_resamples=RESAMPLES, rng=seed).pvalue

    def member(seed: int) -> float:
        region = er.ConfidenceRegion("logistic", n_resamples=RESAMPLES, rng=seed).fit(X, y)
        return float(region.pvalue(theta))

    return {"TOLERANCE": test, "COMPACT_TOLERANCE": member}


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--sets", type=int, default=40, help="data sets per shape")
    parser.add_argument("--write", action="store_true", help="keep the table for the docs")
    asked = parser.parse_args()
    rows = []
    for draw, shapes in ((predictions, OF_PREDICTIONS), (candidate, OF_INPUTS)):
        for name, shape in shapes.items():
            found: dict[str, list[list[float]]] = defaultdict(list)
            for seed in range(asked.sets):
                for constant, p_value in draw(shape, np.random.default_rng(seed)).items():
                    more, fewer = (_with(constant, t, p_value, seed) for t in TOLERANCES[constant])
                    found[constant].append([more, fewer, p_value(seed + asked.sets)])
            for constant, p_values in found.items():
                more, fewer, other_seed = np.array(p_values).T
                rows.append(
                    {
                        "of": draw.__name__ if constant == "TOLERANCE" else "region",
                        "shape": name,
                        "data_sets": asked.sets,
                        "more": (more <= LEVEL).mean(),
                        "fewer": (fewer <= LEVEL).mean(),
                        "difference": np.abs(more - fewer).mean(),
                        "of_seeds": np.abs(fewer - other_seed).mean(),
                    }
                )
                print(rows[-1], flush=True)
    if asked.write:
        write_tables("tolerance", {"power": pd.DataFrame(rows)})


def _with(constant: str, tolerance: float, p_value: Callable[[int], float], seed: int) -> float:
    usual = getattr(landmarks, constant)
    setattr(landmarks, constant, tolerance)
    try:
        return p_value(seed)
    finally:
        setattr(landmarks, constant, usual)


if __name__ == "__main__":
    main()
