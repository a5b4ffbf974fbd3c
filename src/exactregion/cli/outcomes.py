"""Outcomes and probabilities of a file: read and checked, with errors that name its rows."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from exactregion.cli.options import Outcome
from exactregion.cli.values import read_value, refuse_first
from exactregion.data.design import Design
from exactregion.data.outcomes import outcome_values, read_outcomes
from exactregion.data.reading import percent_hint
from exactregion.data.table import Table
from exactregion.errors import ArgumentError, InvalidValueError

if TYPE_CHECKING:
    import pandas as pd


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
    positive: object = columns.positive
    if columns.positive is not None and y.ndim == 1:
        positive = read_value(columns.positive, y)
        if positive is None:
            kind = "boolean" if y.dtype.kind == "b" else "number"
            raise InvalidValueError(
                f"must be a {kind}, as the outcome is. Got {columns.positive!r} instead.",
                parameter="pos_label",
            )
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
