"""Columns of a file: which of them the options name, and what outcomes and probabilities hold."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from exactregion.cli.options import Columns, Outcome
from exactregion.cli.values import read_value, refuse_first
from exactregion.data.design import Design
from exactregion.data.formula import Terms, columns_of_terms, parse_formula
from exactregion.data.outcomes import outcome_values, read_outcomes
from exactregion.data.reading import percent_hint
from exactregion.data.table import Column, Table
from exactregion.errors import ArgumentError, InvalidValueError

if TYPE_CHECKING:
    import pandas as pd

MAX_LEVELS = 20
"""A column with more different words is an input only if it is named: it may be free text, or name
the rows."""

COLUMN_OPTIONS = ("probability", "by", "segments")
"""Options of some commands that name columns beside outcome and inputs."""


def _named(columns: Outcome, option: str) -> list[str]:
    """Return what an option names, if the command has that option."""
    return getattr(columns, option, None) or []


@dataclass(frozen=True)
class Roles:
    """Which columns of a table the options name, and as what.

    `left` are outcome and trials, or the columns of the left side of a formula, of which `sides`
    has the terms. `unused` are columns that cannot be inputs, where all others are, and
    `predictions` those that look like the predictions of other models.
    """

    numbers: list[str]
    groups: list[str]
    segments: list[str]
    left: list[str]
    inputs: list[str]
    unused: list[str] | None = None
    predictions: list[str] = field(default_factory=list)
    sides: tuple[Terms, Terms] | None = None

    @classmethod
    def of(
        cls, table: Table, columns: Outcome, *, all_inputs: bool = False, by_prefix: bool
    ) -> Roles:
        """Find the columns that the options name; all others are inputs if they may be."""
        given = (split_names(_named(columns, name), table.columns) for name in COLUMN_OPTIONS)
        numbers, groups, segments = given
        if by_prefix:
            numbers = with_prefix(numbers, [c for c in table.columns if c != columns.outcome])
        formula = getattr(columns, "formula", None)
        if formula is not None:
            names = list(dict.fromkeys(table.columns))
            sides = parse_formula(formula, names)
            left, inputs = (columns_of_terms(side, names) for side in sides)
            for name in left:
                check_outcome(Outcome(name, None, None), [*numbers, *groups, *segments])
            return cls(numbers, groups, segments, left, inputs, sides=sides)
        left = [name for name in (columns.outcome, columns.trials) if name is not None]
        inputs = split_names(_named(columns, "inputs"), table.columns)
        unused: list[str] | None = None
        predictions: list[str] = []
        if not inputs and all_inputs:
            inputs, unused, predictions = _possible_inputs(table, {*left, *numbers})
        check_outcome(columns, [*numbers, *groups, *inputs, *segments])
        return cls(numbers, groups, segments, left, inputs, unused, predictions)

    @property
    def are_counts(self) -> bool:
        """Whether the outcomes are successes among trials, or successes and failures."""
        return len(self.left if self.sides is None else self.sides[0]) == 2


def check_outcome(outcome: Outcome, others: Iterable[str | None]) -> None:
    """Raise an error if no outcome is named, or if it has another role as well."""
    if outcome.outcome is None:
        formula = ", or --formula outcome and inputs" if isinstance(outcome, Columns) else ""
        raise InvalidValueError(f"--outcome must name the column with the outcome{formula}.")
    if outcome.outcome in others:
        raise InvalidValueError(
            f"Column {outcome.outcome!r} is the outcome. It must not be an input, a probability or "
            "a group as well: no guarantee holds for what knows the outcome."
        )


def split_names(texts: Iterable[str], columns: Sequence[str]) -> list[str]:
    """Split names at commas, except in a text that is a name as it stands."""
    names: list[str] = []
    for text in texts:
        names += [text] if text in columns else [part.strip() for part in text.split(",")]
    return list(dict.fromkeys(filter(None, names)))


def with_prefix(names: list[str], columns: Sequence[str]) -> list[str]:
    """Replace one text that is no column by the columns whose names begin with it, if several do.

    Examples
    --------
    >>> with_prefix(["p_"], ["y", "p_cat", "p_dog"])
    ['p_cat', 'p_dog']
    """
    if len(names) != 1 or names[0] in columns:
        return names
    found = [name for name in columns if name.startswith(names[0].removesuffix("*"))]
    return found if len(found) > 1 else names


def _possible_inputs(table: Table, used: set[str]) -> tuple[list[str], list[str], list[str]]:
    """Return all other columns that can be inputs, those that cannot, and predictions."""

    def is_possible(name: str) -> bool:
        if table.columns.count(name) > 1 or table.column(name).missing.all():
            return False
        column = table.column(name)
        few = column.kind == "text" and 1 < column.values.nunique() <= MAX_LEVELS
        return few or column.kind in ("number", "boolean")

    names = [name for name in dict.fromkeys(table.columns) if name and name not in used]
    possible = list(filter(is_possible, names))
    predictions = [name for name in possible if _looks_predicted(table.column(name))]
    inputs = [name for name in possible if name not in predictions]
    return inputs, [name for name in names if name not in possible], predictions


def _looks_predicted(column: Column) -> bool:
    """Whether a column looks like predicted probabilities: fractions strictly between 0 and 1.

    Inputs that were scaled to 0 to 1 reach both ends. Which columns are inputs must not depend on
    the outcomes, and this does not.
    """
    if column.kind != "number":
        return False
    values = column.values[~column.missing].to_numpy(dtype=np.float64)
    inside = values.min() >= 0 and values.max() <= 1 and (values % 1 > 0).any()
    return bool(inside and not (values.min() == 0 and values.max() == 1))


def check_probabilities(table: Table, values: pd.Series[Any]) -> None:
    """Check that a column holds probabilities; the error names the row."""
    wrong = (values < 0) | (values > 1)
    hint = percent_hint(values.to_numpy())
    _refuse_first(table, values, wrong, "hold probabilities between 0 and 1", hint)


def outcome_of(columns: Outcome, frame: pd.DataFrame, design: Design | None) -> tuple[Any, str]:
    """Return the outcomes, and their name: those of a column, or of the left side of a formula."""
    if design is not None:
        return design.outcomes, design.outcome.strip("`")
    return frame[columns.outcome], str(columns.outcome)


def positive_of(columns: Outcome, y: pd.Series[Any]) -> object:
    """Read the positive class as the kind of values that the outcome has."""
    if columns.positive is None:
        return None
    positive = read_value(columns.positive, y)
    if positive is None:
        kind = "boolean" if y.dtype.kind == "b" else "number"
        raise InvalidValueError(
            f"must be a {kind}, as the outcome is. Got {columns.positive!r} instead.",
            parameter="pos_label",
        )
    return positive


def read_labels_or_counts(
    table: Table, frame: pd.DataFrame, columns: Outcome, design: Design | None
) -> tuple[Any, object, dict[str, Any]]:
    """Read labels or counts, the positive class, and what programs are told of them."""
    y, name = outcome_of(columns, frame, design)
    if columns.trials is not None:
        y = _read_counts(table, frame, columns)
    is_column = columns.trials is None and name in table.columns
    event = Outcome(name, None, columns.positive).event if is_column else name
    if hasattr(y, "columns"):
        event = str(y.columns[0])
    positive = positive_of(columns, y) if y.ndim == 1 else columns.positive
    try:
        found = read_outcomes(y, positive, name)
    except ArgumentError as error:
        if error.parameter == "pos_label" and y.ndim == 1:
            example = f" Add --positive {shlex.quote(str(np.unique(y)[-1]))}, for example."
            raise InvalidValueError(error.requirement + example, parameter="pos_label") from error
        if error.parameter != name:
            raise
        hint = ""
        if is_column and y.dtype.kind == "i" and y.min() >= 0:
            cure = "name the column of trials: --trials."
            if design is not None:
                cure = "write successes + failures in the formula."
            hint = f" If it counts successes, {cure}"
        raise InvalidValueError(f"Column {name!r} {error.requirement}{hint}") from error
    counts = {"successes": int(found.successes.sum()), "trials": int(found.trials.sum())}
    return y, positive, {**counts, "event": event}


def read_classes(
    table: Table, frame: pd.DataFrame, columns: Outcome, design: Design | None
) -> tuple[Any, object, dict[str, Any]]:
    """Read outcomes of several classes, and what programs are told of them."""
    refuse_first(
        (columns.positive is not None, "--positive goes with two classes only."),
        (columns.trials is not None, "--trials goes with two classes only."),
    )
    y, name = outcome_of(columns, frame, design)
    labels, numbers = np.unique(outcome_values(y, name), return_counts=True)
    found = dict(zip(map(str, labels.tolist()), numbers.tolist(), strict=True))
    return y, None, {"outcome": name, "classes": found}


def _read_counts(table: Table, frame: pd.DataFrame, outcome: Outcome) -> npt.NDArray[Any]:
    """Return successes and failures; an error names the row that has none."""
    k, t = frame[outcome.outcome], frame[outcome.trials]
    for values in (k, t):
        wrong = (values < 0) | (values != np.floor(values))
        _refuse_first(table, values, wrong, "hold whole numbers, 0 or more")
    if (k > t).any():
        row = frame.index[k > t][0]
        cell = f"{int(k.loc[row])} successes in {int(t.loc[row])} trials"
        raise table.wrong_cell(str(k.name), row, f"not exceed column {t.name!r}", cell, "")
    return np.column_stack([k, t - k])


def _refuse_first(
    table: Table, values: pd.Series[Any], wrong: pd.Series[bool], must: str, hint: str = ""
) -> None:
    """Raise an error that names the first value that is wrong, if one is."""
    if wrong.any():
        row = values.index[wrong][0]
        raise table.wrong_cell(str(values.name), row, must, f"{values.loc[row]:g}", hint)
