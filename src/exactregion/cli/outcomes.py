"""Outcomes in a file: two classes, or numbers of successes among trials."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from exactregion.cli.options import Outcome
from exactregion.data.tables import Table, did_you_mean
from exactregion.errors import InvalidValueError

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Outcomes", "read_outcomes"]


@dataclass(frozen=True, eq=False)
class Outcomes:
    """Outcomes as the library takes them, and in words.

    Attributes
    ----------
    y : Series or ndarray of shape (n, 2)
        Labels, or successes and failures.
    positive : object
        The positive class of labels, None where it goes without saying.
    event : str
        What a success is, such as "type = Yes".
    successes, trials : int
        In all rows.
    """

    y: Any
    positive: object
    event: str
    successes: int
    trials: int

    @property
    def summary(self) -> str:
        """Count successes in words."""
        return f"{self.event} in {self.successes:,} of {self.trials:,}"


def read_outcomes(
    table: Table, frame: pd.DataFrame, options: Outcome, *, by_formula: bool = False
) -> Outcomes:
    """Read labels of two classes, or numbers of successes among trials.

    Parameters
    ----------
    table : Table
        The file.
    frame : DataFrame
        What was taken from it.
    options : Outcome
        Which columns, and which class counts.
    by_formula : bool
        Whether a formula named the outcome, for the message.
    """
    name = options.outcome or ""
    if options.trials is not None:
        return _read_counts(table, frame, name, options)
    labels = frame[name]
    found = sorted(labels.unique().tolist())
    if len(found) > 2:
        raise InvalidValueError(
            f"Column {name!r} must have two classes. It has {len(found)}: {_shown(found)}."
            + _counts_hint(found, by_formula=by_formula)
        )
    positive = _positive_class(table, name, found, options.positive)
    successes = int((labels == (1 if positive is None else positive)).sum())
    event = f"{name} = {_show(1 if positive is None else positive)}"
    return Outcomes(labels, positive, event, successes, len(labels))


def _counts_hint(found: list[Any], *, by_formula: bool) -> str:
    if not all(isinstance(value, int) and value >= 0 for value in found):
        return ""
    cure = (
        "write successes + failures in the formula"
        if by_formula
        else "name the column of trials: --trials"
    )
    return f" If it counts successes, {cure}."


def _positive_class(table: Table, name: str, found: list[Any], asked: str | None) -> object:
    if asked is None:
        if set(found) <= {0, 1} or set(found) <= {-1, 1}:
            return None
        raise InvalidValueError(
            f"Column {name!r} has the {'classes' if len(found) > 1 else 'class'} {_shown(found)}. "
            f"Say which one counts: --positive {_show(found[-1])}."
        )
    shown = {_show(value): value for value in found}
    if asked in shown:
        return shown[asked]
    kind = table.column(name).kind
    typed = _typed(asked, kind)
    if typed in found or (len(found) == 1 and typed is not None):
        return typed
    raise InvalidValueError(
        f"--positive must be one of the classes of column {name!r}, {_shown(found)}. "
        f"Got {asked!r} instead.{did_you_mean(asked, shown)}"
    )


def _typed(text: str, kind: str) -> object:
    if kind == "text":
        return text
    if kind == "boolean":
        return {"true": True, "1": True, "false": False, "0": False}.get(text.lower())
    try:
        return float(text)
    except ValueError:
        return None


def _show(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) else f"{value!s}"


def _shown(values: list[Any]) -> str:
    return ", ".join(repr(_show(value)) for value in values[:5]) + (
        "" if len(values) <= 5 else ", …"
    )


def _read_counts(table: Table, frame: pd.DataFrame, name: str, options: Outcome) -> Outcomes:
    if options.positive is not None:
        raise InvalidValueError("--positive must be left out where --trials is given.")
    trials_name = options.trials or ""
    k, t = frame[name], frame[trials_name]
    for column in (name, trials_name):
        values = frame[column]
        wrong = values[(values < 0) | (values != np.floor(values))]
        if len(wrong):
            raise InvalidValueError(
                f"Column {column!r} must hold whole numbers, 0 or more, but "
                f"{table.where(int(wrong.index[0]))} has {wrong.iloc[0]:g}."
            )
    more = frame[k > t]
    if len(more):
        row = int(more.index[0])
        raise InvalidValueError(
            f"Column {name!r} must not exceed column {trials_name!r}, but {table.where(row)} has "
            f"{int(k.loc[row])} successes in {int(t.loc[row])} trials."
        )
    if not t.sum():
        raise InvalidValueError(f"Column {trials_name!r} has no trials: all its cells are 0.")
    counts = np.column_stack([k, t - k]).astype(np.int64)
    return Outcomes(counts, None, name, int(k.sum()), int(t.sum()))
