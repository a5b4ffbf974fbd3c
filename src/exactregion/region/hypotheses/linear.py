"""Exact tests of linear hypotheses, such as that a coefficient is zero or two of them are equal.

The p-value of A θ = b is the largest of any θ that satisfies it (`hypotheses.largest_pvalue`).
Data sets are ranked by the score for A θ, with the other parameters refitted to each of them where
the family has a linear predictor (`hypotheses.refitted`), and else by the score at θ and the
region's own statistic.
"""

from __future__ import annotations

import ast
import re
import textwrap
import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from scipy.linalg import null_space

from exactregion._typing import BoolArray, FloatArray
from exactregion.data.files import Record
from exactregion.errors import InvalidTypeError, InvalidValueError
from exactregion.models.restricted import Restricted
from exactregion.ranking import AcceptedRanks
from exactregion.region.bounds import affordable_work
from exactregion.region.fitted import FittedRegion
from exactregion.region.hypotheses.largest_pvalue import (
    SHORT,
    USUAL,
    LargestPValue,
    ranks_spent,
    search_largest,
)
from exactregion.region.hypotheses.refitted import Refit, largest_on_line
from exactregion.region.proofs.inputs import can_enclose, curved_link, has_known_link
from exactregion.region.search.ends import focused_statistic
from exactregion.region.window import Window, likely_parameters, window_at
from exactregion.statistics import as_statistic
from exactregion.statistics.focused import focused_on

__all__ = ["Hypothesis", "HypothesisTest", "hypothesis_test", "read_hypothesis"]

MOST_LABELS = 2**20
"""Rows times data sets up to which parameters are refitted to each of these: a tenth of a second
for each θ. With more rows the score at θ hardly depends on the others any more."""

SAME = 1e-9
"""Hypotheses hold up to this share of the largest summand: bounds of a family may keep θ from
satisfying one."""


@dataclass(frozen=True, eq=False)
class Hypothesis:
    """A θ = b, with A (r, d) of full rank r and b (r,), and how it reads."""

    matrix: FloatArray
    values: FloatArray
    text: str

    def holds(self, theta: FloatArray) -> BoolArray:
        """Return which θ (T, d) satisfy it, up to rounding."""
        size = np.abs(theta) @ np.abs(self.matrix.T) + np.abs(self.values)
        return np.asarray((np.abs(theta @ self.matrix.T - self.values) <= SAME * size).all(axis=1))


@dataclass(frozen=True)
class HypothesisTest(Record):
    """The outcome of a test of a linear hypothesis.

    Attributes
    ----------
    hypothesis : str
        What was tested.
    pvalue : float
        Exact: where the hypothesis holds, P(pvalue ≤ α) ≤ α for every α and every n.
    df : int
        Number of equations.
    theta : tuple of float or None
        The θ of the hypothesis that fits best; None if the joint region at level 1 - `spent` holds
        none, which rejects the hypothesis on its own.
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
    m, (r, d) = fitted.accepted.m, hypothesis.matrix.shape
    if r == d:
        batch, _ = fitted.as_batch(np.linalg.solve(hypothesis.matrix, hypothesis.values))
        found = LargestPValue(batch[0], int(fitted.ranks(batch)[0][0]), 0, m, 1, 1)
        return _result(hypothesis, found, started, certified=True)
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
        joint = AcceptedRanks(m, 1, m - spent)
        line = largest_on_line(fitted, window, refit, joint, budget) if budget else None
        if line is not None:
            lowest = None if line.theta is None else m - line.count
            found = LargestPValue(line.theta, lowest, spent, m, 0, line.evaluations)
            return _result(hypothesis, found, started, certified=True, gap=line.gap / m)
        # functions of labels get rows in the order of the user
        design, trials = inputs.to_user_order(design.T).T, inputs.to_user_order(trials)
        refit = replace(refit, design=design, trials=trials)
        statistic, effort = as_statistic(refit.of_labels), SHORT
    found = search_largest(
        fitted,
        statistic,
        window,
        window.origin[None],
        spent=spent,
        is_allowed=hypothesis.holds,
        effort=effort,
    )
    return _result(hypothesis, found, started, certified=False)


def _result(
    hypothesis: Hypothesis,
    found: LargestPValue,
    started: float,
    *,
    certified: bool,
    gap: float = 0.0,
) -> HypothesisTest:
    return HypothesisTest(
        hypothesis.text,
        found.pvalue,
        len(hypothesis.matrix),
        None if found.theta is None else tuple(float(value) for value in found.theta),
        found.spent / found.m,
        certified,
        gap,
        found.evaluations,
        time.perf_counter() - started,
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


def read_hypothesis(hypothesis: Any, names: Sequence[str]) -> Hypothesis:
    """Read equations, a mapping of names to values, a matrix A of A θ = 0, or one θ."""
    if isinstance(hypothesis, str):
        rows = [_equation(part, names) for part in _equations(hypothesis)]
        matrix, values = np.array([row[:-1] for row in rows]), np.array([-row[-1] for row in rows])
        text = ", ".join(" ".join(part.split()) for part in _equations(hypothesis))
    elif isinstance(hypothesis, dict):
        unknown = [name for name in hypothesis if name not in names]
        if unknown or not hypothesis:
            raise InvalidValueError(
                f"must name parameters, {_listed(names)}. Got {unknown or 'none'} instead.",
                parameter="hypothesis",
            )
        matrix = np.array([np.eye(len(names))[list(names).index(name)] for name in hypothesis])
        values = np.array(list(hypothesis.values()), dtype=np.float64)
        text = ", ".join(f"{name} = {value:g}" for name, value in hypothesis.items())
    else:
        matrix, values = _numbers(hypothesis, len(names))
        text = ", ".join(
            f"{_combination(row, names)} = {value:g}"
            for row, value in zip(matrix, values, strict=True)
        )
    if not matrix.any(axis=1).all() or np.linalg.matrix_rank(matrix) < len(matrix):
        raise InvalidValueError(
            f"must be equations that do not repeat or contradict each other. Got {text!r} instead.",
            parameter="hypothesis",
        )
    return Hypothesis(matrix, values, text)


def _numbers(hypothesis: Any, d: int) -> tuple[FloatArray, FloatArray]:
    """Read one θ (d,), or the rows A (r, d) of A θ = 0."""
    try:
        values = np.asarray(hypothesis, dtype=np.float64)
    except (TypeError, ValueError):
        values = np.empty(0)
    if values.ndim not in (1, 2) or values.shape[-1:] != (d,) or not np.isfinite(values).all():
        raise InvalidTypeError(
            'must be equations such as "x = 0", a mapping of names to values, finite numbers '
            f"({d},) for all parameters, or a matrix (r, {d}) whose products with theta are zero. "
            f"Got {type(hypothesis).__name__} of shape {np.shape(hypothesis)} instead.",
            parameter="hypothesis",
        )
    return (np.eye(d), values) if values.ndim == 1 else (values, np.zeros(len(values)))


def _equations(text: str) -> list[str]:
    """Split at commas outside of parentheses and brackets."""
    depth, parts = 0, [""]
    for character in text:
        depth += (character in "([") - (character in ")]")
        if character == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += character
    return [part.strip() for part in parts]


def _equation(text: str, names: Sequence[str]) -> FloatArray:
    """Read one equation: the coefficients of the parameters and the constant of left - right."""
    # the longest name first, so that "dose:sex" is not read as "dose"
    longest = sorted(names, key=len, reverse=True)
    pattern = "|".join(rf"(?<!\w){re.escape(name)}(?!\w)" for name in longest)
    places: list[str] = []

    def place(match: re.Match[str]) -> str:
        places.append(match.group())
        return f" p{len(places) - 1} "

    sides = re.sub(pattern, place, text.replace("`", "")).replace("==", "=").split("=")
    try:
        left, *right = (ast.parse(side.strip(), mode="eval").body for side in sides)
        forms = [_linear(side, places, names) for side in (left, *right)]
    except (SyntaxError, ValueError, TypeError, ZeroDivisionError, OverflowError) as error:
        problem = error if isinstance(error, ValueError) else "not an equation"
        raise InvalidValueError(
            f'must be linear equations of parameters, such as "{names[-1]} = 0". Got {text!r} '
            f"instead: {problem}. The parameters are {_listed(names)}.",
            parameter="hypothesis",
        ) from None
    if len(forms) > 2:
        raise InvalidValueError(
            f"must have one = in each equation, and commas between them. Got {text!r} instead.",
            parameter="hypothesis",
        )
    return forms[0] - (forms[1] if len(forms) == 2 else 0.0)


def _linear(node: ast.expr, places: Sequence[str], names: Sequence[str]) -> FloatArray:
    """Return the coefficients of a linear expression, the constant last: shape (d + 1,)."""
    d = len(names)
    found = np.zeros(d + 1)
    match node:
        case ast.Constant(value=int() | float() as value) if not isinstance(value, bool):
            found[d] = value
        case ast.Name(id=name) if re.fullmatch(r"p\d+", name) and int(name[1:]) < len(places):
            found[list(names).index(places[int(name[1:])])] = 1.0
        case ast.Name(id=name):
            raise ValueError(f"{name!r} is no parameter")
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            found -= _linear(operand, places, names)
        case ast.UnaryOp(op=ast.UAdd(), operand=operand):
            found += _linear(operand, places, names)
        case ast.BinOp(left=left, op=operator, right=right):
            first, second = _linear(left, places, names), _linear(right, places, names)
            if isinstance(operator, ast.Mult) and first[:d].any():
                first, second = second, first
            is_product = isinstance(operator, ast.Mult) and not first[:d].any()
            is_ratio = isinstance(operator, ast.Div) and not second[:d].any() and second[d]
            if isinstance(operator, ast.Add | ast.Sub):
                found += first + (second if isinstance(operator, ast.Add) else -second)
            elif is_product or is_ratio:
                found += first[d] * second if is_product else first / float(second[d])
            else:
                raise ValueError("it is not linear")
        case _:
            raise ValueError("it is not linear")
    return found


def _combination(row: FloatArray, names: Sequence[str]) -> str:
    """Write a linear combination of parameters."""
    terms: list[str] = []
    for coefficient, name in zip(row, names, strict=True):
        if coefficient:
            size = "" if abs(coefficient) == 1 else f"{abs(coefficient):g} "
            sign = ("- " if terms else "-") if coefficient < 0 else ("+ " if terms else "")
            terms.append(f"{sign}{size}{name}")
    return " ".join(terms) or "0"


def _listed(names: Sequence[str]) -> str:
    return ", ".join(repr(name) for name in names)
