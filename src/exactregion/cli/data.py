"""From a file and the options that name its columns to what the library takes."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from exactregion._typing import IntArray
from exactregion.cli.options import Columns, Outcome, Reading
from exactregion.cli.output import note
from exactregion.data.table import Table, read_table
from exactregion.errors import ArgumentError, InvalidValueError

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Data", "check_outcome", "check_probabilities", "facts_of", "read_boolean", "read_data"]

MAX_LEVELS = 20
"""A column with more different words is an input only if it is named."""


@dataclass(frozen=True, eq=False)
class Data:
    """The rows and columns that a command uses, checked; the index of `frame` has the rows.

    `y` has labels, or successes and failures; `positive` is None for 0/1, -1/+1 and counts; `event`
    says what a success is, such as "type = Yes". `unused` are columns that cannot be inputs, where
    all others are.
    """

    table: Table
    frame: pd.DataFrame
    inputs: list[str]
    formula: str | None
    unused: tuple[str, ...] | None
    y: Any
    positive: object
    event: str
    successes: int
    trials: int

    def to_dict(self) -> dict[str, Any]:
        """Describe the data for programs."""
        return {
            "n": len(self.frame),
            "dropped": len(self.table) - len(self.frame),
            "successes": self.successes,
            "trials": self.trials,
            "event": self.event,
            "inputs": self.inputs,
            "formula": self.formula,
        }

    def to_formula(self, outcome: Outcome) -> str | None:
        """Return the formula: the one given, or one that codes the inputs if some are words."""
        words = any(self.table.column(name).kind == "text" for name in self.inputs)
        if self.formula is not None or not words:
            return self.formula
        for name in self.frame.columns:
            if "`" in name:
                raise InvalidValueError(
                    f"Column {name!r} must be renamed: a formula cannot hold a `."
                )
        left = f"`{outcome.outcome}`"
        if outcome.trials is not None:
            left += f" + I(`{outcome.trials}` - `{outcome.outcome}`)"
        return f"{left} ~ {' + '.join(f'`{name}`' for name in self.inputs)}"


def facts_of(content: dict[str, Any], unused: Sequence[str] | None = None) -> dict[str, str]:
    """Describe data in words; `unused` are columns that cannot be inputs, where all others are."""
    dropped = content.get("dropped")
    event = f"{content['event']} in " if "event" in content else ""
    facts = {
        "rows": f"{content['n']:,}",
        "outcome": f"{event}{content['successes']:,} of {content['trials']:,}",
    }
    if dropped:
        facts["rows"] += f" ({dropped:,} with missing values left out)"
    if content.get("formula") is not None:
        facts["formula"] = content["formula"]
    elif content.get("inputs"):
        facts["inputs"] = ", ".join(content["inputs"])
        if unused is not None:
            without = f", without {', '.join(unused)}" if unused else ""
            facts["inputs"] += f" (all other columns{without})"
    return facts


def read_data(
    file: str,
    columns: Columns,
    reading: Reading,
    *,
    numbers: Sequence[str] = (),
    group: str | None = None,
    all_inputs: bool = False,
    quiet: bool,
) -> Data:
    """Read the file, and take the columns that the options name.

    `numbers` are further columns that must hold numbers, `group` one of any kind. All other columns
    are inputs if none are named and `all_inputs` is true.
    """
    if columns.formula is None:
        check_outcome(columns, [*numbers, group])
    for name in ("outcome", "inputs", "trials"):
        if columns.formula is not None and getattr(columns, name):
            raise InvalidValueError(
                f"--{name} must be left out where --formula names outcome and inputs."
            )
    table = _open_table(file, reading)
    unused = None
    if columns.formula is not None:
        left, inputs, counts, label = _columns_of(columns.formula, table)
    else:
        label, counts = columns.outcome, columns.trials is not None
        left = [name for name in (label, columns.trials) if name is not None]
        inputs = _split_names(columns.inputs or (), table.columns)
        if not inputs and all_inputs:
            inputs, unused = _possible_inputs(table, {*left, *numbers})
        check_outcome(columns, inputs)
    frame = table.take(
        [*left, *numbers, *inputs, *([] if group is None else [group])],
        numbers=[*numbers, *(left if counts else ())],
        drop_missing=reading.drop_missing,
    )
    if len(frame) < len(table):
        dropped, kept = (
            f"{n:,} row{'' if n == 1 else 's'}" for n in (len(table) - len(frame), len(frame))
        )
        note(f"Left out {dropped} with missing values; {kept} stay.", quiet=quiet)
    outcomes = _read_outcomes(table, frame, columns, label)
    return Data(table, frame, inputs, columns.formula, unused, *outcomes)


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


def check_probabilities(data: Data, name: str) -> None:
    """Check that a column holds probabilities."""
    values = data.frame[name]
    percentages = values.min() >= 0 and 1 < values.max() <= 100
    hint = " If these are percentages, divide them by 100." if percentages else ""
    wrong = (values < 0) | (values > 1)
    _refuse_first(data.table, values, wrong, "hold probabilities between 0 and 1", hint)


def _open_table(file: str, reading: Reading) -> Table:
    delimiter = reading.delimiter
    if delimiter is not None:
        delimiter = {"tab": "\t", "\\t": "\t", "space": " "}.get(delimiter, delimiter)
        if len(delimiter) != 1 or delimiter in '"\r\n':
            raise InvalidValueError(
                f"--delimiter must be one character, or tab. Got {reading.delimiter!r} instead."
            )
    if reading.decimal not in (".", ","):
        raise InvalidValueError(f"--decimal must be '.' or ','. Got {reading.decimal!r} instead.")
    if file == "-" and sys.stdin.isatty():
        note("Reading CSV from the terminal; Ctrl-D ends it.", quiet=False)
    return read_table(file, delimiter=delimiter, decimal=reading.decimal)


# --- columns ------------------------------------------------------------------------------------


def _split_names(texts: Iterable[str], columns: Sequence[str]) -> list[str]:
    """Split names at commas, except in a text that is a name as it stands.

    Examples
    --------
    >>> _split_names(["a, b", "weight, kg"], ["a", "b", "weight, kg"])
    ['a', 'b', 'weight, kg']
    """
    names: list[str] = []
    for text in texts:
        names += [text] if text in columns else [part.strip() for part in text.split(",")]
    return list(dict.fromkeys(filter(None, names)))


def _possible_inputs(table: Table, used: set[str]) -> tuple[list[str], tuple[str, ...]]:
    """Return all other columns that can be inputs, and those that cannot."""
    possible, unused = [], []
    for name in dict.fromkeys(table.columns):
        if not name or name in used:
            continue
        column = table.column(name) if table.columns.count(name) == 1 else None
        if column is None or column.missing.all():
            unused.append(name)
        elif column.kind in ("number", "boolean") or (
            column.kind == "text" and 1 < column.values.nunique() <= MAX_LEVELS
        ):
            possible.append(name)
        else:
            unused.append(name)
    return possible, tuple(unused)


def _columns_of(formula: str, table: Table) -> tuple[list[str], list[str], bool, str | None]:
    """Return the columns of both sides, whether the left has counts, and its column of labels."""
    from exactregion.data.formula import columns_of, parse_formula

    names = list(dict.fromkeys(table.columns))
    sides = parse_formula(formula, names)
    left, right = (
        list(dict.fromkeys(n for term in side for f in term.factors for n in columns_of(f, names)))
        for side in sides
    )
    # other left sides, such as I(score > 3), are evaluated
    label = left[0] if [str(term).strip("`") for term in sides[0]] == left[:1] else None
    return left, right, len(sides[0]) == 2, label


# --- outcomes -----------------------------------------------------------------------------------


def _read_outcomes(
    table: Table, frame: pd.DataFrame, columns: Columns, label: str | None
) -> tuple[Any, object, str, int, int]:
    """Read labels, counts, or what the left side of a formula computes: the last fields of Data."""
    from exactregion.data.design import Design
    from exactregion.data.reading import read_outcomes

    y: Any
    positive: Any = columns.positive
    if columns.trials is not None:
        y, name = _read_counts(table, frame, columns), str(columns.outcome)
        event = name
    elif label is not None:
        y, name = frame[label], label
        positive = None if positive is None else _as_value(positive, table.column(label).kind)
        event = Outcome(label, None, columns.positive).event
    else:
        design = Design.from_formula(str(columns.formula), frame)
        y, name = design.outcomes, design.outcome
        event = str(y.columns[0]) if hasattr(y, "columns") else name
    try:
        found = read_outcomes(y, positive, name)
    except ArgumentError as error:
        if error.parameter != name:
            raise
        hint = "" if label is None else _hint_of_counts(frame[label], columns)
        raise InvalidValueError(f"Column {name!r} {error.requirement}{hint}") from error
    return y, positive, event, int(found.successes.sum()), int(found.trials.sum())


def _hint_of_counts(labels: pd.Series[Any], columns: Columns) -> str:
    if labels.dtype.kind != "i" or labels.min() < 0:
        return ""
    if columns.formula is not None:
        return " If it counts successes, write successes + failures in the formula."
    return " If it counts successes, name the column of trials: --trials."


def _as_value(text: str, kind: str) -> object:
    """Read the class that --positive names as a value of a column of this kind."""
    value: object = text if kind == "text" else read_boolean(text) if kind == "boolean" else None
    if kind == "number":
        with suppress(ValueError):
            value = float(text)
    if value is None:
        raise InvalidValueError(
            f"must be a {kind}, as the column with the outcome holds. Got {text!r} instead.",
            parameter="pos_label",
        )
    return value


def read_boolean(text: str) -> bool | None:
    """Read true or false; None if it is neither."""
    return {"true": True, "1": True, "false": False, "0": False}.get(text.lower())


def _read_counts(table: Table, frame: pd.DataFrame, outcome: Outcome) -> IntArray:
    """Return successes and failures; an error names the row that has none."""
    k, t = frame[outcome.outcome], frame[outcome.trials]
    for values in (k, t):
        wrong = (values < 0) | (values != np.floor(values))
        _refuse_first(table, values, wrong, "hold whole numbers, 0 or more")
    if (k > t).any():
        row = frame.index[k > t][0]
        raise InvalidValueError(
            f"Column {k.name!r} must not exceed column {t.name!r}, but {table.where(row)} has "
            f"{int(k.loc[row])} successes in {int(t.loc[row])} trials."
        )
    return np.column_stack([k, t - k]).astype(np.int64)


def _refuse_first(
    table: Table, values: pd.Series[Any], wrong: pd.Series[bool], must: str, hint: str = ""
) -> None:
    """Raise an error that names the first value that is wrong, if one is."""
    if wrong.any():
        row = values.index[wrong][0]
        raise InvalidValueError(
            f"Column {values.name!r} must {must}, but {table.where(row)} has "
            f"{values.loc[row]:g}.{hint}"
        )
