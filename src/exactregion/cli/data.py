"""From a file and the options that name its columns to what the library takes."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from exactregion.cli.options import Outcome, Reading
from exactregion.cli.output import note
from exactregion.data.table import Table, did_you_mean, read_table
from exactregion.errors import InvalidValueError

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Data", "Outcomes", "boolean", "check_outcome", "check_probabilities", "read_data"]

MAX_LEVELS = 20
"""A column with more different words is an input only if it is named."""


@dataclass(frozen=True, eq=False)
class Outcomes:
    """Outcomes as the library takes them, and in words.

    `y` has labels, or successes and failures; `positive` is None for 0/1, -1/+1 and counts; `event`
    says what a success is, such as "type = Yes"; `successes` and `trials` are those of all rows.
    """

    y: Any
    positive: object
    event: str
    successes: int
    trials: int


@dataclass(frozen=True, eq=False)
class Data:
    """The rows and columns that a command uses, checked; the index of `frame` has the rows.

    `unused` are columns that cannot be inputs, where all others are.
    """

    table: Table
    frame: pd.DataFrame
    inputs: list[str]
    outcomes: Outcomes
    formula: str | None = None
    unused: tuple[str, ...] | None = None

    @property
    def n_dropped(self) -> int:
        """Number of rows left out."""
        return len(self.table) - len(self.frame)

    def facts(self) -> dict[str, str]:
        """Describe the data in words."""
        found = self.outcomes
        rows = f"{len(self.frame):,}"
        if self.n_dropped:
            rows += f" ({self.n_dropped:,} with missing values left out)"
        outcome = f"{found.event} in {found.successes:,} of {found.trials:,}"
        if self.formula is not None:
            return {"rows": rows, "outcome": outcome, "formula": self.formula}
        inputs = ", ".join(self.inputs)
        if self.unused is not None:
            without = f", without {', '.join(self.unused)}" if self.unused else ""
            inputs += f" (all other columns{without})"
        return {"rows": rows, "outcome": outcome, "inputs": inputs}

    def to_dict(self) -> dict[str, Any]:
        """Describe the data for programs."""
        return {
            "n": len(self.frame),
            "dropped": self.n_dropped,
            "successes": self.outcomes.successes,
            "trials": self.outcomes.trials,
            "event": self.outcomes.event,
            "inputs": self.inputs,
            "formula": self.formula,
        }

    def to_formula(self, outcome: Outcome) -> str | None:
        """Return the formula: the one given, or one that codes the inputs if some are words."""
        if self.formula is not None or all(
            self.table.column(name).kind != "text" for name in self.inputs
        ):
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


def read_data(
    file: str,
    outcome: Outcome,
    reading: Reading,
    *,
    inputs: list[str] | None = None,
    formula: str | None = None,
    numbers: Sequence[str] = (),
    group: str | None = None,
    all_inputs: bool = False,
    quiet: bool,
) -> Data:
    """Read the file, and take the columns that the options name.

    `numbers` are further columns that must hold numbers, `group` one of any kind. All other columns
    are inputs if none are named and `all_inputs` is true.
    """
    if formula is None:
        check_outcome(outcome, [*numbers, group])
    for name, value in (
        ("outcome", outcome.outcome),
        ("inputs", inputs),
        ("trials", outcome.trials),
    ):
        if formula is not None and value:
            raise InvalidValueError(
                f"--{name} must be left out where --formula names outcome and inputs."
            )
    table = _open(file, reading)
    unused = None
    if formula is not None:
        left, names, counts, label = _columns_of(formula, table)
    else:
        label, counts = outcome.outcome, outcome.trials is not None
        left = [name for name in (label, outcome.trials) if name is not None]
        names = _split_names(inputs or (), table.columns)
        if not names and all_inputs:
            names, unused = _possible_inputs(table, {*left, *numbers})
        check_outcome(outcome, names)
    columns = [*left, *numbers, *names, *([] if group is None else [group])]
    numbers = [*numbers, *(left if counts else ())]
    frame = table.take(columns, numbers=numbers, drop_missing=reading.drop_missing)
    if outcome.trials is not None:
        outcomes = _read_counts(table, frame, outcome)
    elif label is not None:
        outcomes = _read_labels(table, frame[label], outcome.positive, by_formula=bool(formula))
    else:
        outcomes = _evaluate_outcomes(str(formula), frame, outcome.positive)
    data = Data(table, frame, names, outcomes, formula, unused)
    if data.n_dropped:
        dropped, kept = (f"{n:,} row{'' if n == 1 else 's'}" for n in (data.n_dropped, len(frame)))
        note(f"Left out {dropped} with missing values; {kept} stay.", quiet=quiet)
    return data


def check_outcome(outcome: Outcome, others: Iterable[str | None]) -> None:
    """Raise an error if no outcome is named, or if it has another role as well."""
    if outcome.outcome is None:
        raise InvalidValueError("--outcome must name the column with the outcome.")
    if outcome.outcome in others:
        raise InvalidValueError(
            f"Column {outcome.outcome!r} is the outcome. It must not be an input, a probability or "
            "a group as well: no guarantee holds for what knows the outcome."
        )


def check_probabilities(data: Data, name: str) -> None:
    """Check that a column holds probabilities."""
    values = data.frame[name]
    hint = ""
    if values.min() >= 0 and 1 < values.max() <= 100:
        hint = " If these are percentages, divide them by 100."
    wrong = (values < 0) | (values > 1)
    _refuse_first(data.table, values, wrong, "hold probabilities between 0 and 1", hint)


def _open(file: str, reading: Reading) -> Table:
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

    def is_possible(name: str) -> bool:
        if table.columns.count(name) > 1 or table.column(name).missing.all():
            return False
        column = table.column(name)
        if column.kind == "text":
            return 1 < column.values.nunique() <= MAX_LEVELS
        return column.kind in ("number", "boolean")

    others = [name for name in dict.fromkeys(table.columns) if name and name not in used]
    possible = [name for name in others if is_possible(name)]
    return possible, tuple(name for name in others if name not in possible)


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


def _read_labels(
    table: Table, labels: pd.Series[Any], positive: str | None, *, by_formula: bool
) -> Outcomes:
    """Read labels of two classes."""
    name, found = str(labels.name), sorted(labels.unique().tolist())
    if len(found) > 2:
        hint = ""
        if all(isinstance(value, int) and value >= 0 for value in found):
            cure = "name the column of trials: --trials"
            cure = "write successes + failures in the formula" if by_formula else cure
            hint = f" If it counts successes, {cure}."
        raise InvalidValueError(
            f"Column {name!r} must have two classes. It has {len(found)}: {_classes(found)}.{hint}"
        )
    kind = table.column(name).kind
    pos_label = None if positive is None else _pos_label(name, found, positive, kind)
    if positive is None and not (set(found) <= {0, 1} or set(found) <= {-1, 1}):
        raise InvalidValueError(
            f"Column {name!r} has the class{'es' if found[1:] else ''} {_classes(found)}. "
            f"Say which one counts: --positive {_class_text(found[-1])}."
        )
    event = 1 if pos_label is None else pos_label
    successes = int((labels == event).sum())
    return Outcomes(labels, pos_label, f"{name} = {_class_text(event)}", successes, len(labels))


def _pos_label(name: str, found: list[Any], text: str, kind: str) -> object:
    """Return the class that --positive names, of the kind that the column holds."""
    by_text = {_class_text(value): value for value in found}
    label: object = by_text.get(text, text if kind == "text" else None)
    if label is None and kind == "boolean":
        label = boolean(text)
    elif label is None:
        try:
            label = float(text)
        except ValueError:
            label = None
    # the class that is meant need not occur where only one does
    if label in found or (len(found) == 1 and label is not None):
        return label
    raise InvalidValueError(
        f"--positive must be one of the classes of column {name!r}, {_classes(found)}. "
        f"Got {text!r} instead.{did_you_mean(text, by_text)}"
    )


def boolean(text: str) -> bool | None:
    """Read true or false, None if it is neither."""
    return {"true": True, "1": True, "false": False, "0": False}.get(text.lower())


def _class_text(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) else f"{value!s}"


def _classes(values: list[Any]) -> str:
    shown = ", ".join(repr(_class_text(value)) for value in values[:5])
    return shown if len(values) <= 5 else f"{shown}, …"


def _read_counts(table: Table, frame: pd.DataFrame, outcome: Outcome) -> Outcomes:
    """Read numbers of successes and of trials."""
    if outcome.positive is not None:
        raise InvalidValueError("--positive must be left out where --trials is given.")
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
    if not t.sum():
        raise InvalidValueError(f"Column {t.name!r} has no trials: all its cells are 0.")
    counts = np.column_stack([k, t - k]).astype(np.int64)
    return Outcomes(counts, None, str(k.name), int(k.sum()), int(t.sum()))


def _evaluate_outcomes(formula: str, frame: pd.DataFrame, positive: str | None) -> Outcomes:
    """Read outcomes that a formula computes, or two columns of counts."""
    from exactregion.data.design import Design
    from exactregion.data.reading import read_outcomes

    design = Design.from_formula(formula, frame)
    found = read_outcomes(design.outcomes, positive, design.outcome)
    event = str(design.outcomes.columns[0]) if found.is_counts else design.outcome
    successes, trials = int(found.successes.sum()), int(found.trials.sum())
    return Outcomes(design.outcomes, positive, event, successes, trials)


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
