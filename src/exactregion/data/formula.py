"""The terms of a formula, and the columns that they use.

formulaic parses and evaluates. What a formula may call is checked here, before any of it runs:
columns, the transforms of formulaic, and functions that work entry by entry. So a formula that
comes from a file can compute, and nothing else; powers of plain numbers, which could take forever,
are refused.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Collection, Iterator, Sequence
from typing import Any, cast

import numpy as np

from exactregion.data.table import did_you_mean
from exactregion.errors import InvalidTypeError, InvalidValueError, optional_module

BUILTINS = frozenset({"abs", "float", "int", "pow", "round"})
"""Functions of Python that a formula may call."""

OF_NUMPY = frozenset({"clip", "digitize", "e", "interp", "pi", "round", "select", "where"})
OF_COLUMNS = frozenset({"abs", "astype", "between", "clip", "isin", "round", "str", "where"})
OF_TEXT = frozenset({"contains", "endswith", "len", "lower", "startswith", "strip", "upper"})
ATTRIBUTES = OF_NUMPY | OF_COLUMNS | OF_TEXT
"""What a formula may take from NumPy, besides its ufuncs, and from columns."""

OUT_OF_SCOPE = frozenset({"lag"})
"""Transforms that use other rows, which are independent here and come in any order."""

Terms = Sequence[Any]
"""Terms of formulaic."""


def formulaic_module(name: str = "") -> Any:
    """Load formulaic or a module of it; an error with the install line if it is missing."""
    return optional_module(f"formulaic{name}", "A formula", "formula")


def parse_formula(formula: object, columns: Sequence[str]) -> tuple[Terms, Terms]:
    """Return the terms of the left and of the right side."""
    if not isinstance(formula, str):
        raise InvalidTypeError(
            f"must be text, such as 'damage ~ temp'. Got {type(formula).__name__} instead.",
            parameter="formula",
        )
    formulaic = formulaic_module()
    try:
        # parsing runs parts of expressions, so they are checked first
        for expression in _expressions(formula):
            _check_expression(expression, columns)
        context = {"__formulaic_variables_available__": list(columns)}
        parsed = formulaic.Formula(formula, _context=context)
    except (formulaic.errors.FormulaicError, SyntaxError) as error:
        raise unreadable(formula, error) from error
    left, right = getattr(parsed, "lhs", None), getattr(parsed, "rhs", None)
    if not all(isinstance(side, formulaic.SimpleFormula) for side in (left, right)):
        raise InvalidValueError(
            "must have outcomes on the left of one ~ and terms on the "
            f"right, such as 'damage ~ temp'. Got {formula!r} instead.",
            parameter="formula",
        )
    sides = cast(Terms, left), cast(Terms, right)
    for factor in (factor for side in sides for term in side for factor in term.factors):
        if factor.eval_method.value == "lookup" and factor.expr not in columns:
            raise _unknown(factor.expr, columns)
    return sides


def columns_of(factor: Any, columns: Collection[str]) -> Iterator[str]:
    """Yield the columns that a factor of a term uses."""
    if factor.eval_method.value == "lookup":
        yield factor.expr
    elif factor.eval_method.value == "python":
        tree, aliases = _tree(factor.expr)
        for node in ast.walk(tree):
            name: object = None
            if isinstance(node, ast.Name):
                name = aliases.get(node.id, node.id)
            elif isinstance(node, ast.Constant) and "Q(" in factor.expr:
                name = node.value  # Q("a name") is another way to write `a name`
            if isinstance(name, str) and name in columns:
                yield name


def columns_of_terms(terms: Terms, columns: Collection[str]) -> list[str]:
    """List the columns that terms use, each once."""
    factors = [factor for term in terms for factor in term.factors]
    return list(dict.fromkeys(name for f in factors for name in columns_of(f, columns)))


def unreadable(formula: str, error: Exception) -> InvalidValueError:
    """Make the error for a formula that cannot be read or evaluated."""
    lines = re.sub(r"\x1b\[[\d;]*m", "", str(error)).strip().split("\n")
    return InvalidValueError(
        f"must be one that can be evaluated on the data. Got {formula!r} instead: {lines[0]}",
        parameter="formula",
    )


def _expressions(formula: str) -> Iterator[str]:
    """Yield the parts of a formula that are expressions of Python."""
    tokens = formulaic_module(".parser.algos.tokenize").tokenize(formula)
    for token in formulaic_module(".parser.algos.sanitize_tokens").sanitize_tokens(tokens):
        if token.kind is token.Kind.PYTHON:
            yield token.token


def _tree(expression: str) -> tuple[ast.Expression, dict[str, str]]:
    """Parse an expression; names in backticks become aliases."""
    aliases: dict[str, str] = {}
    code = formulaic_module(".utils.code").sanitize_variable_names(expression, {}, aliases)
    return ast.parse(code, mode="eval"), aliases


def _check_expression(expression: str, columns: Sequence[str]) -> None:
    """Raise an error for what a formula must not call."""
    known = {*columns, *formulaic_module(".transforms").TRANSFORMS, *BUILTINS} - OUT_OF_SCOPE
    tree, aliases = _tree(expression)
    for alias, name in aliases.items():
        if alias != name and alias in known:
            raise InvalidValueError(
                f"The columns that a formula uses must not have names as similar as {name!r} "
                f"and {alias!r}: rename one of them."
            )
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and aliases.get(node.id, node.id) not in known:
            raise _unknown(aliases.get(node.id, node.id), columns, known)
        if _is_plain_power(node, aliases, columns):
            raise InvalidValueError(
                "must take powers of columns only. "
                f"Got {ast.unparse(node)!r} instead: write the number.",
                parameter="formula",
            )
        if isinstance(node, (ast.Attribute, ast.Subscript, ast.Lambda)) and not _is_pure(node):
            raise InvalidValueError(
                "must use columns, transforms of formulaic, and functions "
                f"that work entry by entry. Got {ast.unparse(node)!r} instead: make such a column "
                "in the data first.",
                parameter="formula",
            )


def _is_plain_power(node: ast.AST, aliases: dict[str, str], columns: Collection[str]) -> bool:
    """Whether a node raises one plain number to another, which may take forever."""
    is_power = isinstance(node, ast.BinOp) and isinstance(node.op, (ast.Pow, ast.LShift))
    called = isinstance(node, ast.Call) and getattr(node.func, "id", "") == "pow"
    if not is_power and not called:
        return False
    names = {aliases.get(part.id, part.id) for part in ast.walk(node) if isinstance(part, ast.Name)}
    return not names & set(columns)


def _is_pure(node: ast.expr) -> bool:
    if not isinstance(node, ast.Attribute):
        return False
    owner = node.value.id if isinstance(node.value, ast.Name) else None
    if owner == "contr":
        return not node.attr.startswith("_")
    return (owner == "np" and _is_ufunc(node.attr)) or node.attr in ATTRIBUTES


def _is_ufunc(name: str) -> bool:
    return isinstance(vars(np).get(name), np.ufunc)


def _unknown(
    name: str, columns: Sequence[str], known: Collection[str] | None = None
) -> InvalidValueError:
    hint = did_you_mean(name, known or columns)
    if known and _is_ufunc(name):
        hint = f" Did you mean 'np.{name}'?"
    return InvalidValueError(
        f"must use columns of the data, {list(columns)}. Got {name!r} instead.{hint}",
        parameter="formula",
    )
