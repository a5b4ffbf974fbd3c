"""Linear hypotheses A θ = b, read from equations, mappings and matrices."""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from exactregion._typing import BoolArray, FloatArray
from exactregion.errors import InvalidTypeError, InvalidValueError

__all__ = ["Hypothesis", "read_hypothesis"]

SAME = 1e-9
"""Hypotheses hold up to this share of the largest summand: far above the rounding errors of a sum,
near 1e-16, and far below what bounds of a family move a θ by that cannot satisfy one."""


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
    found = np.zeros(len(names) + 1)
    match node:
        case ast.Constant(value=int() | float() as value) if not isinstance(value, bool):
            found[-1] = value
        case ast.Name(id=name) if re.fullmatch(r"p\d+", name) and int(name[1:]) < len(places):
            found[list(names).index(places[int(name[1:])])] = 1.0
        case ast.Name(id=name):
            raise ValueError(f"{name!r} is no parameter")
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            found -= _linear(operand, places, names)
        case ast.UnaryOp(op=ast.UAdd(), operand=operand):
            found += _linear(operand, places, names)
        case ast.BinOp(left=left, op=operator, right=right):
            sides = (_linear(side, places, names) for side in (left, right))
            found += _combined(operator, *sides)
        case _:
            raise ValueError("it is not linear")
    return found


def _combined(operator: ast.operator, first: FloatArray, second: FloatArray) -> Any:
    """Return the coefficients of a sum, difference, product or ratio of two linear expressions."""
    match operator:
        case ast.Add():
            return first + second
        case ast.Sub():
            return first - second
        case ast.Mult() if not first[:-1].any():
            return first[-1] * second
        case ast.Mult() if not second[:-1].any():
            return second[-1] * first
        case ast.Div() if not second[:-1].any() and second[-1]:
            return first / second[-1]
    raise ValueError("it is not linear")


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
