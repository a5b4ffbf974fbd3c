"""The data of a question: which rows, which inputs, which outcomes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from exactregion.cli.columns import (
    default_inputs,
    frame_of,
    open_table,
    split_names,
)
from exactregion.cli.options import Outcome, Reading
from exactregion.cli.outcomes import Outcomes, read_outcomes
from exactregion.data.tables import Table
from exactregion.errors import InvalidValueError

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Asked", "Columns", "ask", "check_outcome_apart", "formula_for"]


@dataclass(frozen=True)
class Columns:
    """What a command was told about columns.

    Attributes
    ----------
    outcome : Outcome
        The outcome, by column.
    inputs : list of str or None
        The inputs, by column.
    formula : str or None
        Both, by formula.
    numbers : tuple of str
        Other columns that are needed, and must hold numbers.
    groups : str or None
        Another column that is needed.
    any_inputs : bool
        Whether all other columns are the inputs if none are named.
    formula_allowed : bool
        Whether the command takes a formula.
    """

    outcome: Outcome
    inputs: list[str] | None
    formula: str | None
    numbers: tuple[str, ...] = ()
    groups: str | None = None
    any_inputs: bool = False
    formula_allowed: bool = True


@dataclass(frozen=True, eq=False)
class Asked:
    """The data of a question, checked.

    Attributes
    ----------
    table : Table
        The file.
    frame : DataFrame
        The rows and columns used; its index has the rows of the file.
    inputs : list of str
        Columns that are inputs.
    outcomes : Outcomes
        What happened.
    formula : str or None
        The formula, if there is one.
    left_out : list of str
        Columns that could not serve as inputs, where all others were taken.
    """

    table: Table
    frame: pd.DataFrame
    inputs: list[str]
    outcomes: Outcomes
    formula: str | None = None
    left_out: tuple[str, ...] | None = None

    @property
    def X(self) -> pd.DataFrame:  # noqa: N802 (as in the library)
        """The inputs."""
        return self.frame[self.inputs]

    @property
    def dropped(self) -> int:
        """Number of rows left out."""
        return len(self.table) - len(self.frame)

    def facts(self) -> dict[str, str]:
        """Say in words what the data are."""
        facts = {"rows": f"{len(self.frame):,}", "outcome": self.outcomes.summary}
        if self.dropped:
            facts["rows"] += f" ({self.dropped:,} with missing values left out)"
        if self.formula is not None:
            return {**facts, "formula": self.formula}
        inputs = ", ".join(self.inputs)
        if self.left_out is not None:
            inputs += " (all other columns"
            inputs += f", without {', '.join(self.left_out)})" if self.left_out else ")"
        return {**facts, "inputs": inputs}

    def content(self) -> dict[str, Any]:
        """Say the same for programs."""
        return {
            "n": len(self.frame),
            "dropped": self.dropped,
            "successes": self.outcomes.successes,
            "trials": self.outcomes.trials,
            "event": self.outcomes.event,
            "inputs": self.inputs,
            "formula": self.formula,
        }


def ask(file: str, columns: Columns, reading: Reading, *, quiet: bool) -> Asked:
    """Read the file, and take from it what the question needs.

    Parameters
    ----------
    file : str
        The file.
    columns : Columns
        What to take.
    reading : Reading
        How to read it.
    quiet : bool
        Do not say how many rows were left out.
    """
    _check_choice(columns)
    table = open_table(file, reading)
    settings = {"drop_missing": reading.drop_missing, "quiet": quiet}
    if columns.formula is not None:
        return _by_formula(table, columns.formula, columns, settings)
    options = columns.outcome
    others = [options.outcome, options.trials, *columns.numbers]
    inputs = split_names(columns.inputs, table.columns)
    left_out = None
    if not inputs and columns.any_inputs:
        inputs, cannot = default_inputs(table, [name for name in others if name])
        left_out = tuple(cannot)
    check_outcome_apart(options, [*inputs, *columns.numbers, columns.groups])
    numbers = [*columns.numbers]
    if options.trials is not None:
        numbers += [options.outcome or "", options.trials]
    frame = frame_of(table, [*others, *inputs, columns.groups], numbers=numbers, **settings)
    outcomes = read_outcomes(table, frame, options)
    return Asked(table, frame, inputs, outcomes, left_out=left_out)


def check_outcome_apart(options: Outcome, others: list[str | None]) -> None:
    """Raise an error if the outcome has another role as well.

    Parameters
    ----------
    options : Outcome
        The outcome, by column.
    others : list of str or None
        Columns with other roles.
    """
    if options.outcome in others:
        raise InvalidValueError(
            f"Column {options.outcome!r} is the outcome. It must not be an input, a probability or "
            "a group as well: no guarantee holds for what knows the outcome."
        )


def _check_choice(columns: Columns) -> None:
    options = columns.outcome
    if columns.formula is None:
        if options.outcome is None:
            raise InvalidValueError(
                "--outcome must name the column with the outcome"
                + (", or --formula outcome and inputs." if columns.formula_allowed else ".")
            )
        return
    for option, value in (
        ("--outcome", options.outcome),
        ("--inputs", columns.inputs),
        ("--trials", options.trials),
    ):
        if value:
            raise InvalidValueError(
                f"{option} must be left out where --formula names outcome and inputs."
            )


# --- formulas -----------------------------------------------------------------------------------


def _by_formula(table: Table, formula: str, columns: Columns, settings: dict[str, Any]) -> Asked:
    from exactregion.data.formula import columns_of, parse_formula

    names = list(dict.fromkeys(table.columns))
    sides = [
        [list(columns_of(factor, names)) for term in side for factor in term.factors]
        for side in parse_formula(formula, names)
    ]
    left, right = ([name for group in side for name in group] for side in sides)
    counts = left if len(sides[0]) == 2 else []
    frame = frame_of(
        table, [*left, *right, *columns.numbers], numbers=[*columns.numbers, *counts], **settings
    )
    outcomes = _outcomes_by_formula(table, frame, formula, columns.outcome)
    return Asked(table, frame, list(dict.fromkeys(right)), outcomes, formula)


def _outcomes_by_formula(
    table: Table, frame: pd.DataFrame, formula: str, options: Outcome
) -> Outcomes:
    from exactregion.data.design import Design
    from exactregion.data.reading import read_outcomes as read_any

    design = Design.from_formula(formula, frame)
    name = str(getattr(design.outcomes, "name", ""))
    if name in table.columns:
        return read_outcomes(table, frame, Outcome(name, None, options.positive), by_formula=True)
    found = read_any(design.outcomes, options.positive, design.outcome)
    event = design.outcome if not found.is_counts else str(design.outcomes.columns[0])
    return Outcomes(
        design.outcomes,
        options.positive,
        event,
        int(found.successes.sum()),
        int(found.trials.sum()),
    )


def formula_for(asked: Asked, options: Outcome) -> tuple[str, pd.DataFrame]:
    """Write the formula that codes columns of words, and the frame that it speaks of.

    Parameters
    ----------
    asked : Asked
        Data whose outcome and inputs were named by column.
    options : Outcome
        The columns of the outcome.
    """
    frame = asked.frame
    left = [options.outcome or ""]
    if options.trials is not None:
        failures = f"{options.trials} without {options.outcome}"
        frame = frame.assign(**{failures: frame[options.trials] - frame[left[0]]})
        left.append(failures)
    odd = next((name for name in [*left, *asked.inputs] if "`" in name), None)
    if odd is not None:
        raise InvalidValueError(f"Column {odd!r} must be renamed: a formula cannot hold a `.")
    sides = (" + ".join(f"`{name}`" for name in side) for side in (left, asked.inputs))
    return " ~ ".join(sides), frame
