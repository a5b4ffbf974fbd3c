"""True probabilities that a model with main effects alone gets wrong, and that model at its best.

Inputs are standard normal. The model is the one nearest to the truth in likelihood, as a fit on
endless data would have it, so that what is wrong with it is its form. Only for the bad subgroup it
is the truth of all others.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from scipy.special import expit

__all__ = ["HELD_OUT", "KINDS", "Draw", "draw", "nearest"]

SLOPES = {2: (0.8, 0.8), 5: (0.8, 0.8, 0.4, 0.4, -0.4)}
ENDLESS = 20_000
"""Rows that stand for endless data, all with their true probabilities and not with outcomes."""

KINDS = (
    "true",
    "missing interaction",
    "missing quadratic",
    "one bad subgroup",
    "wrong link",
)


HELD_OUT: dict[str, Callable[[Any, Any], Any]] = {
    "step": lambda x, score: 1.0 * (x > 0),
    "saturating": lambda x, score: -0.95 * np.maximum(x, 0),
    "two-sided threshold": lambda x, score: 0.65 * (np.abs(x) > 1),
    "asymmetric S": lambda x, score: 2.0 * np.logaddexp(0, 2 * score),
}
"""Errors of the logit by the first input and the score that chose no default of the library: none
of them is among the shapes of `validation.wrongs`. All are equally strong in two inputs: twice the
expected log-likelihood ratio of 1,000 rows is 16 (15.7 to 16.2), as in `validation.wrongs`, so that
a test that knew the shape would find it in 98 % of data sets."""


class Draw(NamedTuple):
    """Inputs, outcomes in 0/1 and what the model predicts for them."""

    X: Any
    y: Any
    p: Any


def draw(kind: str, d: int, n: int, rng: np.random.Generator) -> Draw:
    """Draw n rows of d inputs."""
    X = rng.normal(size=(n, d))
    y = (rng.uniform(size=n) < truth(kind, X)).astype(int)
    return Draw(X, y, expit(_with_ones(X) @ model(kind, d)))


def truth(kind: str, X: Any) -> Any:
    """P(Y=1|x)."""
    first, second = X[:, 0], X[:, 1]
    score = X @ np.array(SLOPES[X.shape[1]])
    if kind == "missing interaction":
        return expit(score + 1.2 * first * second)
    if kind == "missing quadratic":
        return expit(score + 0.9 * (first**2 - 1))
    if kind == "one bad subgroup":
        return expit(score - 1.4 * ((first > 0) & (second > 0)))
    if kind == "wrong link":
        return 0.5 + np.arctan(4 * score) / np.pi  # the heavy tails of Cauchy's distribution
    if kind in HELD_OUT:
        return expit(score + HELD_OUT[kind](first, score))
    return expit(score)


@cache
def model(kind: str, d: int) -> Any:
    """Intercept and slopes of the logistic model with main effects alone."""
    usual = np.array([0.0, *SLOPES[d]])
    if kind in ("true", "one bad subgroup"):
        return usual
    X = np.random.default_rng(0).normal(size=(ENDLESS, d))
    return nearest(_with_ones(X), truth(kind, X), usual)


def nearest(design: Any, probabilities: Any, start: Any) -> Any:
    """Maximise the expected log-likelihood, by Newton's steps."""
    theta = start
    for _ in range(25):
        p = expit(design @ theta)
        information = (design * (p * (1 - p))[:, None]).T @ design
        theta = theta + np.linalg.solve(information, design.T @ (probabilities - p))
    return theta


def _with_ones(X: Any) -> Any:
    return np.column_stack([np.ones(len(X)), X])
