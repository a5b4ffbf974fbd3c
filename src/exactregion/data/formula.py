"""The terms of a formula, and the columns that they use.

formulaic parses and evaluates. What a formula may call is checked here, before any of it runs:
columns, the transforms of formulaic, and functions that work entry by entry. So a formula that
comes from a file can compute, and nothing else; and what would take forever or fill the memory is
refused: too many terms or columns, powers of plain numbers, and text that is multiplied.
"""

from __future__ import annotations

import ast
import math
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from inspect import signature
from typing import Any, cast

import numpy as np

from exactregion.data.table import did_you_mean
from exactregion.errors import (
    ExactRegionError,
    InvalidTypeError,
    InvalidValueError,
    optional_module,
)

BUILTINS = frozenset({"abs", "float", "int", "pow", "round"})
"""Functions of Python that a formula may call."""

OF_NUMPY = frozenset({"clip", "digitize", "e", "interp", "pi", "round", "select", "where"})
OF_COLUMNS = frozenset({"abs", "astype", "between", "clip", "isin", "round", "str", "where"})
OF_TEXT = frozenset({"contains", "endswith", "len", "lower", "startswith", "strip", "upper"})
ATTRIBUTES = OF_NUMPY | OF_COLUMNS | OF_TEXT
"""What a formula may take from NumPy, besides its ufuncs, and from columns."""

KINDS = frozenset({"bool", "category", "float", "float64", "int", "int64", "str"})
"""What a column may be turned into by ``astype``, as text."""

SYNTAX = (
    *(ast.Expression, ast.Name, ast.Load, ast.Constant, ast.Call, ast.keyword, ast.Attribute),
    *(ast.BinOp, ast.UnaryOp, ast.BoolOp, ast.Compare, ast.List, ast.Tuple, ast.Dict),
    *(ast.operator, ast.unaryop, ast.boolop, ast.cmpop),
)
"""What an expression may be made of."""

COUNTS = frozenset({"degree", "df", "levels"})
"""Arguments of transforms on which the number of their columns depends."""

MAX_COLUMNS = 1000
"""Columns that a formula may give: far more parameters than a region can be searched for."""

MAX_PRODUCTS = 100_000
"""Products of terms that formulaic may form on the way to them; each takes microseconds."""

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
        _check_products(formula, columns)
        context = {"__formulaic_variables_available__": list(columns)}
        parsed = formulaic.Formula(formula, _context=context)
    except ExactRegionError:
        raise
    except Exception as error:  # parsers raise many kinds on what is no formula
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
            if isinstance(node, ast.Name) and (name := aliases.get(node.id, node.id)) in columns:
                yield name
            elif _called(node) == "Q":
                yield _quoted(node)


def requested_columns(factor: Any) -> list[int]:
    """List the numbers of columns that the transforms of a factor ask for."""
    if factor.eval_method.value != "python":
        return []
    return [int(count) for count in _column_counts(_tree(factor.expr)[0])]


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


def _check_products(formula: str, columns: Sequence[str]) -> None:
    """Raise an error for a formula that formulaic would expand into too many products of terms."""
    parser = formulaic_module(".parser").DefaultFormulaParser()
    nodes = [parser.get_ast(formula, context={})]
    for node in nodes:  # which grows: a formula of many terms is too deep for recursion
        nodes.extend(getattr(node, "args", ()))
    counts: dict[int, float] = {}
    for node in reversed(nodes):
        parts = [counts[id(part)] for part in getattr(node, "args", ())]
        symbol = node.operator.symbol if hasattr(node, "operator") else None
        if symbol in ("**", "^"):
            power = _number(str(node.args[1]))
            count = max(power, math.prod([parts[0]] * int(min(power, MAX_PRODUCTS))))
        elif symbol in ("*", ":"):
            count = math.prod(parts) + sum(parts)
        else:
            count = sum(parts) if parts else float(len(columns) if symbol == "." else 1)
        if count > MAX_PRODUCTS:
            raise too_many(f"{formula!r}, which has powers or products of many terms,")
        counts[id(node)] = count


def _number(text: str) -> float:
    """Return the number that a text is; infinity if it is none."""
    try:
        return float(text)
    except ValueError:
        return math.inf


def too_many(what: str) -> InvalidValueError:
    """Make the error for a formula with too many terms or columns."""
    return InvalidValueError(
        f"must give at most {MAX_COLUMNS:,} columns. Got {what} instead: use fewer terms, or fewer "
        "levels of text.",
        parameter="formula",
    )


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
        if isinstance(node, ast.Call) and _called(node) == "cbind" and "cbind" not in columns:
            sides = [ast.unparse(part) for part in node.args]
            counts = " + ".join(s if s.isidentifier() else f"I({s})" for s in sides)
            raise InvalidValueError(
                "must have counts as successes + failures. "
                f"Got {ast.unparse(node)!r} instead: write {counts} on the left side.",
                parameter="formula",
            )
        if isinstance(node, ast.Name) and aliases.get(node.id, node.id) not in known:
            raise _unknown(aliases.get(node.id, node.id), columns, known)
        if _called(node) == "Q":
            _quoted(node)  # which column it is must be known without running it
        if _may_explode(node) and not _names(node, aliases) & set(columns):
            raise InvalidValueError(
                "must take powers of columns only, and small numbers. "
                f"Got {ast.unparse(node)!r} instead: write the number.",
                parameter="formula",
            )
        if not _is_pure(node):
            raise InvalidValueError(
                "must use columns, transforms of formulaic, and functions "
                f"that work entry by entry. Got {ast.unparse(node)!r} instead: make such a column "
                "in the data first.",
                parameter="formula",
            )
        if max(_column_counts(node), default=0) > MAX_COLUMNS:
            raise too_many(repr(ast.unparse(node)))


def _names(node: ast.AST, aliases: Mapping[str, str]) -> set[str]:
    names = (part.id for part in ast.walk(node) if isinstance(part, ast.Name))
    return {aliases.get(name, name) for name in names}


def _called(node: ast.AST) -> str:
    """Return the name of the function or method that a node calls, or nothing."""
    function = node.func if isinstance(node, ast.Call) else None
    return str(getattr(function, "id", "") or getattr(function, "attr", ""))


def _may_explode(node: ast.AST) -> bool:
    """Whether a node without columns may be a whole number without end, which takes forever."""
    # 64 bits are what NumPy computes with; sums and products have no more bits than their parts.
    if isinstance(node, ast.BinOp) and isinstance(node.op, (ast.Pow, ast.LShift)):
        return True
    numbers = [part.value for part in ast.walk(node) if isinstance(part, ast.Constant)]
    bits = sum(number.bit_length() for number in numbers if isinstance(number, int))
    return _called(node) in BUILTINS or (isinstance(node, (ast.Constant, ast.BinOp)) and bits > 62)


def _quoted(node: ast.AST) -> str:
    """Return the column that ``Q("a name")`` stands for; an error if it is not written out."""
    match node:
        case ast.Call(args=[ast.Constant(value=str(name))], keywords=[]):
            return name
    raise InvalidValueError(
        f"must have one text in Q(…), the name of a column. Got {ast.unparse(node)!r} instead.",
        parameter="formula",
    )


def _column_counts(node: ast.AST) -> Iterator[float]:
    """Yield the numbers of columns that calls of transforms ask for: ``df=4`` or ``levels=[…]``."""
    for call in ast.walk(node):
        transform = formulaic_module(".transforms").TRANSFORMS.get(_called(call))
        if not isinstance(call, ast.Call) or not callable(transform):
            continue
        try:
            names = list(signature(transform).parameters)
        except ValueError:
            continue
        given = dict(zip(names, call.args, strict=False))
        given |= {str(keyword.arg): keyword.value for keyword in call.keywords}
        for name in COUNTS & set(given):
            try:
                value = ast.literal_eval(given[name])
            except ValueError:
                yield math.inf  # computed: nobody knows how many
                continue
            yield len(value) if isinstance(value, (list, tuple)) else _number(str(value or 0))


def _is_pure(node: ast.AST) -> bool:
    """Whether an expression may have this node."""
    match node:
        case ast.Constant(value=value):
            pure = value is None or isinstance(value, (bool, int, float, str))
        case ast.BinOp(left=left, right=right):  # 'a' * 9 and '%9d' % x are text of any length
            pure = not (_is_literal(left) or _is_literal(right))
        case ast.Call(func=ast.Attribute(attr="astype")):
            kinds = [getattr(kind, "value", getattr(kind, "id", None)) for kind in node.args]
            pure = len(kinds) == 1 and kinds[0] in KINDS and not node.keywords
        case ast.Attribute(value=ast.Name(id="contr"), attr=name):
            pure = not name.startswith("_")
        case ast.Attribute(value=ast.Name(id="np"), attr=name):
            pure = _is_ufunc(name) or name in ATTRIBUTES
        case ast.Attribute(value=owner, attr=name):
            pure = name in ATTRIBUTES and not _is_literal(owner)
        case _:
            pure = isinstance(node, SYNTAX)
    return pure


def _is_literal(node: ast.AST) -> bool:
    """Whether a node is text or a list that is written out."""
    is_text = isinstance(node, ast.Constant) and isinstance(node.value, str)
    return is_text or isinstance(node, (ast.List, ast.Tuple, ast.Dict))


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
