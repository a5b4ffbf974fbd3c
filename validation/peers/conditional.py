"""Exact conditional logistic regression of one coefficient, by counting all data sets.

Given the sufficient statistics of all other coefficients, the distribution of Σ y x depends on
this coefficient alone: P(t; β) ∝ c(t) exp(β t), with c(t) the number of data sets that have the
same other statistics. All c(t) are found by adding one row after the other to a table over the
statistics, whose inputs are coded as whole numbers.

Tests order outcomes by their probability under β = 0, as Fisher's test does, or by the distance
from the conditional mean, the exact score test that LogXact reports; intervals hold all β that
neither one-sided test of half the level rejects.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import comb

import numpy as np
from scipy.optimize import brentq

__all__ = ["Conditional"]

MOST = 30_000_000
"""Entries of the table: what is larger is not counted."""


@dataclass(frozen=True, eq=False)
class Conditional:
    """The conditional distribution of one sufficient statistic.

    Attributes
    ----------
    t : ndarray
        Its possible values, ascending, in units of the input.
    weight : ndarray
        How many data sets have each, up to a common factor.
    observed : float
        The one observed.
    """

    t: np.ndarray
    weight: np.ndarray
    observed: float

    @classmethod
    def of(
        cls, X: np.ndarray, successes: np.ndarray, trials: np.ndarray, index: int
    ) -> Conditional | None:
        """Count the data sets for a column of X, beside an intercept; None if they are too many."""
        unit, low = _unit(X[:, index]), X[:, index].min()
        columns = [np.ones(len(X), dtype=np.int64)]
        columns += [_coded(X[:, k]) for k in range(X.shape[1]) if k != index]
        columns.append(_coded(X[:, index]))
        steps = np.column_stack(columns)
        fixed = successes @ steps[:, :-1]
        # others beyond their observed value never come back: all steps are at least zero
        shape = (*(fixed + 1), int(trials @ steps[:, -1]) + 1)
        if np.prod([float(size) for size in shape]) > MOST:
            return None
        table = np.zeros(shape)
        table[(0,) * len(shape)] = 1.0
        for step, number in zip(steps, trials, strict=True):
            table = _with_row(table, step, int(number))
        weight = table[tuple(fixed)]
        t = np.flatnonzero(weight)
        # the intercept's statistic is fixed, so that a shift of the input is one of t
        shifted = t * unit + low * fixed[0]
        return cls(shifted, weight[t] / weight.max(), float(successes @ X[:, index]))

    def probabilities(self, beta: float) -> np.ndarray:
        """P(t; β)."""
        logs = np.log(self.weight) + beta * self.t
        p = np.exp(logs - logs.max())
        return p / p.sum()

    def pvalue(self, kind: str = "score") -> float:
        """The exact p-value of β = 0."""
        p = self.probabilities(0.0)
        here = int(np.argmin(np.abs(self.t - self.observed)))
        far = -p if kind == "probability" else (self.t - p @ self.t) ** 2
        return float(p[far >= far[here] - 1e-9 * abs(far[here])].sum())

    def interval(self, level: float) -> tuple[float, float]:
        """The β that neither one-sided test rejects; open where the statistic is at its end."""
        tail, tolerance = (1 - level) / 2, 1e-9 * np.ptp(self.t)

        def above(beta: float) -> float:
            return float(self.probabilities(beta)[self.t >= self.observed - tolerance].sum()) - tail

        def below(beta: float) -> float:
            return float(self.probabilities(beta)[self.t <= self.observed + tolerance].sum()) - tail

        at_low, at_high = (
            self.observed <= self.t[0] + tolerance,
            self.observed >= self.t[-1] - tolerance,
        )
        return (
            -np.inf if at_low else _root(above, np.ptp(self.t)),
            np.inf if at_high else _root(below, np.ptp(self.t)),
        )


def _root(function: object, width: float) -> float:
    scale = 1.0 / max(width, 1e-12)
    while function(-scale) * function(scale) > 0:  # type: ignore[operator]
        scale *= 2
    return float(brentq(function, -scale, scale, xtol=1e-10))


def _unit(column: np.ndarray) -> float:
    """The largest decimal unit of which all differences are whole multiples."""
    apart = column - column.min()
    for digits in range(7):
        scaled = apart * 10.0**digits
        if np.allclose(scaled, np.round(scaled), atol=1e-6):
            return float(10.0**-digits * max(np.gcd.reduce(np.round(scaled).astype(np.int64)), 1))
    raise ValueError("inputs must be decimal numbers with at most 6 digits")


def _coded(column: np.ndarray) -> np.ndarray:
    return np.round((column - column.min()) / _unit(column)).astype(np.int64)


def _with_row(table: np.ndarray, step: np.ndarray, trials: int) -> np.ndarray:
    """Add the outcomes of one row to all data sets so far."""
    found = np.zeros_like(table)
    for k in range(trials + 1):
        moved = k * step
        if np.any(moved >= table.shape):
            break
        to = tuple(slice(int(s), None) for s in moved)
        at = tuple(slice(0, size - int(s)) for s, size in zip(moved, table.shape, strict=True))
        found[to] += comb(trials, k) * table[at]
    return found / max(found.max(), 1.0)
