"""Tests of linear hypotheses, such as that a coefficient is zero or two of them are equal.

The p-value of A θ = b is the largest of any θ that satisfies it (`hypotheses.largest_pvalue`).
Data sets are ranked by the score for A θ, with the other parameters refitted to each of them where
the family has a linear predictor (`hypotheses.refitted`), and else by the score at θ and the
region's own statistic.
"""

from __future__ import annotations

import textwrap
import time
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from scipy.linalg import null_space

from exactregion._typing import FloatArray
from exactregion.data.files import Record
from exactregion.models.restricted import Restricted
from exactregion.region.bounds import affordable_work
from exactregion.region.fitted import FittedRegion
from exactregion.region.hypotheses.equations import Hypothesis
from exactregion.region.hypotheses.largest_pvalue import (
    SHORT,
    USUAL,
    LargestPValue,
    ranks_spent,
    search_largest,
)
from exactregion.region.hypotheses.on_line import largest_on_line
from exactregion.region.hypotheses.refitted import Refit
from exactregion.region.proofs.inputs import can_enclose, curved_link, has_known_link
from exactregion.region.search.ends import focused_statistic
from exactregion.region.window import Window, likely_parameters, window_at
from exactregion.statistics import as_statistic
from exactregion.statistics.focused import focused_on

__all__ = ["HypothesisTest", "hypothesis_test"]

MOST_LABELS = 2**20
"""Rows times data sets up to which parameters are refitted to each of these: a tenth of a second
for each θ. With more rows the score at θ hardly depends on the others any more."""


@dataclass(frozen=True)
class HypothesisTest(Record):
    """The outcome of a test of a linear hypothesis.

    Attributes
    ----------
    hypothesis : str
        What was tested.
    pvalue : float
        Where the hypothesis holds, P(pvalue ≤ α) ≤ α for every α and every n; if it is not
        `certified`, as far as the search found the largest p-value.
    df : int
        Number of equations.
    theta : tuple of float or None
        The θ of the hypothesis that fits best; None if the joint region at level 1 - `spent`
        contains none, which rejects the hypothesis on its own.
    spent : float
        β, which is part of the p-value: the joint region over which the largest p-value was taken
        misses the truth with this probability. Zero for a hypothesis about all parameters.
    certified : bool
        Whether it is proven that no θ of the hypothesis has a larger p-value; else it was searched.
    gap : float
        How much smaller the p-value of `theta` is, with `spent`: what the proof left open.
    evaluations, seconds : int and float
        Number of θ and boxes evaluated, and time taken.
    """

    hypothesis: str
    pvalue: float
    df: int
    theta: tuple[float, ...] | None
    spent: float
    certified: bool
    gap: float = field(repr=False)
    evaluations: int = field(repr=False)
    seconds: float = field(repr=False)

    def __str__(self) -> str:
        """Return hypothesis and p-value as text of 80 columns."""
        degrees = f"{self.df} degree{'' if self.df == 1 else 's'} of freedom"
        how = "proven" if self.certified else "searched"
        said = textwrap.fill(self.hypothesis, 80, subsequent_indent="  ")
        return f"{said}\n  p-value  {self.pvalue:.4g} ({degrees}, {how})"


def hypothesis_test(
    fitted: FittedRegion, hypothesis: Hypothesis, certify: bool | None
) -> HypothesisTest:
    """Test a hypothesis; see `ConfidenceRegion.test`."""
    started = time.perf_counter()
    found = _largest(fitted, hypothesis, certify)
    return HypothesisTest(
        hypothesis.text,
        found.pvalue,
        len(hypothesis.matrix),
        None if found.theta is None else tuple(float(value) for value in found.theta),
        found.spent / found.m,
        found.is_proven,
        found.gap / found.m,
        found.evaluations,
        time.perf_counter() - started,
    )


def _largest(fitted: FittedRegion, hypothesis: Hypothesis, certify: bool | None) -> LargestPValue:
    """Find the largest p-value of any θ that satisfies a hypothesis."""
    m, (r, d) = fitted.accepted.m, hypothesis.matrix.shape
    if r == d:
        batch, _ = fitted.as_batch(np.linalg.solve(hypothesis.matrix, hypothesis.values))
        rank = int(fitted.ranks(batch)[0][0])
        return LargestPValue(batch[0], rank, 0, m, 1, 1, is_proven=True)
    spent = ranks_spent(m)
    origin, axes = _parametrisation(fitted, hypothesis)
    window = _window_on(fitted, origin, axes)
    is_linear = has_known_link(fitted)
    focused = focused_on(hypothesis.matrix[0] if r == 1 else hypothesis.matrix)
    statistic: Any = focused_statistic(fitted, focused, alone=is_linear)
    effort = USUAL
    if is_linear and m * len(fitted.sample) <= MOST_LABELS:
        inputs, link = fitted.sample.inputs, curved_link(fitted.model)
        design: Any = fitted.model.linear_design(inputs.X)
        trials = inputs.trials.astype(np.float64)
        refit = Refit(link, design, trials, hypothesis.matrix, origin, axes)
        budget = affordable_work(fitted, 1, certify) if d - r == 1 and can_enclose(fitted) else 0.0
        proven = largest_on_line(fitted, window, refit, spent, budget) if budget else None
        if proven is not None:
            return proven
        # functions of labels get rows in the order of the user
        design, trials = inputs.to_user_order(design.T).T, inputs.to_user_order(trials)
        refit = replace(refit, design=design, trials=trials)
        statistic, effort = as_statistic(refit.of_labels), SHORT
    start = window.origin[None]
    return search_largest(
        fitted, statistic, window, start, spent=spent, is_allowed=hypothesis.holds, effort=effort
    )


def _parametrisation(fitted: FittedRegion, hypothesis: Hypothesis) -> tuple[FloatArray, FloatArray]:
    """Return a θ of the hypothesis (d,) and its directions (d, k), from the inputs alone."""
    A, b = hypothesis.matrix, hypothesis.values
    involved = A.any(axis=0)
    if involved.sum() == len(A):
        # parameters with a given value: the others are free, within their bounds
        origin = np.zeros(A.shape[1])
        origin[involved] = np.linalg.solve(A[:, involved], b)
        return origin, np.eye(A.shape[1])[:, ~involved]
    design = fitted.model.linear_design(fitted.sample.inputs.X)
    unit = np.ones(A.shape[1])
    if design is not None:
        size = np.abs(design).max(axis=0)
        unit = 1 / np.where(size > 0, size, 1.0)
    origin = unit * np.linalg.lstsq(A * unit, b, rcond=None)[0]
    return origin, unit[:, None] * null_space(A * unit)


def _window_on(fitted: FittedRegion, origin: FloatArray, axes: FloatArray) -> Window:
    """Return coordinates on the θ of a hypothesis, around the most likely one."""
    part = Restricted(fitted.model, origin, axes)
    within = window_at(part, fitted.sample, likely_parameters(part, fitted.sample))
    bounds = np.array(fitted.model.bounds, dtype=np.float64)
    return Window(part.theta(within.origin[None])[0], axes @ within.axes, bounds)
