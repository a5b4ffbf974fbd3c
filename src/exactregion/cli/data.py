"""From a file and the options that name its columns to what the library takes."""

from __future__ import annotations

import re
import shlex
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from exactregion.cli.options import Columns, Outcome, Reading
from exactregion.cli.output import note, rows_text
from exactregion.data.classes import are_classes
from exactregion.data.design import Design
from exactregion.data.formula import columns_of_terms, parse_formula
from exactregion.data.outcomes import outcome_values, read_outcomes
from exactregion.data.reading import percent_hint
from exactregion.data.table import Column, Table, check_file, read_table
from exactregion.errors import ArgumentError, InvalidValueError, optional_module

if TYPE_CHECKING:
    import pandas as pd

MAX_LEVELS = 20
"""A column with more different words is an input only if it is named."""

CLUSTER_TIMEOUT = "20s"


@dataclass(frozen=True, eq=False)
class Data:
    """The rows and columns that a command uses, checked; the index of `frame` has the rows.

    `unused` are columns that cannot be inputs, where all others are, and `predictions` those that
    look like the predictions of other models; `numbers`, `groups` and `segments` are columns that
    options name. `y` has labels, or successes and failures; `positive` is None for 0/1, -1/+1 and
    counts; `event` says what a success is, such as "type = Yes". `classes` has the number of rows
    of each class, where the outcome has any number of them.
    """

    table: Table
    frame: pd.DataFrame
    inputs: list[str]
    unused: list[str] | None
    predictions: list[str]
    numbers: list[str]
    groups: list[str]
    segments: list[str]
    design: Design | None
    y: Any
    positive: object
    event: str
    successes: int
    trials: int
    classes: dict[str, int] | None = None  # rows of each, where there are several

    @property
    def head(self) -> dict[str, Any]:
        """Describe rows and outcomes for programs."""
        rows = {"n": len(self.frame), "dropped": len(self.table) - len(self.frame)}
        if self.classes is not None:
            return {**rows, "outcome": self.event, "classes": self.classes}
        return {
            **rows,
            **{name: getattr(self, name) for name in ("successes", "trials", "event")},
        }

    def to_dict(self) -> dict[str, Any]:
        """Describe rows, outcomes and inputs for programs."""
        formula = None if self.design is None else self.design.formula
        return {**self.head, "inputs": self.inputs, "formula": formula}

    def coded(self, outcome: Outcome) -> Design | None:
        """Return the design of the formula, or one that codes inputs which are words."""
        words = any(self.table.column(name).kind == "text" for name in self.inputs)
        if self.design is not None or not words:
            return self.design
        return Design.of_columns(self.frame, str(outcome.outcome), outcome.trials, self.inputs)


def facts_of(
    content: dict[str, Any],
    unused: Sequence[str] | None = None,
    predictions: Sequence[str] = (),
    files: int = 1,
) -> dict[str, str]:
    """Describe data in words; `unused` are columns that cannot be inputs, where all others are.

    `predictions` were left out because they look like those of other models.
    """
    facts = {"rows": rows_text(content) + (f" in {files:,} files" if files > 1 else "")}
    outcome = content.get("outcome", content.get("event"))
    found = f"{content['successes']:,} of {content['trials']:,}" if "successes" in content else ""
    if "classes" in content:
        found = ", ".join(f"{name} {number:,}" for name, number in content["classes"].items())
    between = ": " if "classes" in content else " in "
    facts["outcome"] = between.join(filter(None, [outcome, found]))
    if content.get("formula") is not None:
        facts["formula"] = content["formula"]
    elif content.get("inputs"):
        facts["inputs"] = ", ".join(content["inputs"])
        if unused is not None:
            without = f", without {', '.join(unused)}" if unused else ""
            facts["inputs"] += f" (all other columns{without})"
    if predictions:
        names = ", ".join(predictions)
        facts["left out"] = f"{names} (look like predictions; --inputs takes them)"
    return facts


def read_data(
    file: str,
    columns: Outcome,
    reading: Reading,
    *,
    numbers: Sequence[str] = (),
    groups: Sequence[str] = (),
    segments: Sequence[str] = (),
    all_inputs: bool = False,
    classes: bool | None = False,
    quiet: bool,
) -> Data:
    """Read the file, and take the columns that the options name.

    `numbers` are further columns that must hold numbers, `groups` columns of any kind, `segments`
    columns that may have missing values. With `all_inputs`, all other columns are inputs where none
    are named. With `classes` the outcome has any number of them, and `numbers` are probabilities,
    one column per class, named by what their names begin with perhaps; None leaves it to them.
    """
    formula, named_inputs = getattr(columns, "formula", None), getattr(columns, "inputs", None)
    if formula is None:
        check_outcome(columns, [*numbers, *groups])
    for name in ("outcome", "inputs", "trials"):
        if formula is not None and getattr(columns, name):
            raise InvalidValueError(
                f"--{name} must be left out where --formula names outcome and inputs."
            )
    table = _open_table(file, reading)
    numbers, groups = (split_names(texts, table.columns) for texts in (numbers, groups))
    if classes is not False:
        numbers = with_prefix(numbers, [c for c in table.columns if c != columns.outcome])
    sides = unused = None
    predictions: list[str] = []
    if formula is not None:
        names = list(dict.fromkeys(table.columns))
        sides = parse_formula(formula, names)
        left, inputs = (columns_of_terms(side, names) for side in sides)
    else:
        left = [name for name in (columns.outcome, columns.trials) if name is not None]
        inputs = split_names(named_inputs or (), table.columns)
        if not inputs and all_inputs:
            inputs, unused, predictions = _possible_inputs(table, {*left, *numbers})
        check_outcome(columns, [*numbers, *groups, *inputs])
    named = split_names(segments, table.columns)
    if named:
        check_outcome(columns, named)
    is_counts = len(left if sides is None else sides[0]) == 2
    frame = table.take(
        [*left, *numbers, *inputs, *groups],
        numbers=[*numbers, *(left if is_counts else ())],
        segments=named,
        drop_missing=reading.drop_missing,
    )
    if len(frame) < len(table):
        dropped, kept = (
            f"{n:,} row{'' if n == 1 else 's'}" for n in (len(table) - len(frame), len(frame))
        )
        note(f"Left out {dropped} with missing values; {kept} remain.", quiet=quiet)
    design = None
    if sides is not None:
        with _rows_of(table, frame):
            design = Design.from_formula(str(formula), frame, sides)
    if classes is None:
        is_one = len(numbers) < 2 or columns.trials is not None
        classes = not is_one and are_classes(frame[numbers], frame[columns.outcome], None, None)
    outcomes = (_read_classes if classes else _read_outcomes)(table, frame, columns, design)
    found = (inputs, unused, predictions, numbers, groups, named, design)
    return Data(table, frame, *found, *outcomes)


@contextmanager
def _rows_of(table: Table, frame: pd.DataFrame) -> Iterator[None]:
    """Name rows in errors about terms as the file counts them, also where rows were left out."""
    try:
        yield
    except ArgumentError as error:
        text = re.sub(
            r"in row (\d+) of",
            lambda found: f"in {table.where(frame.index[int(found[1])])} of",
            error.requirement,
        )
        raise type(error)(text, parameter=error.parameter) from error


def read_value(text: str, column: pd.Series[Any]) -> object:
    """Read a value of the kind that a column holds; None if the text is of another kind."""
    if column.dtype.kind == "b":
        return {"true": True, "1": True, "false": False, "0": False}.get(text.lower())
    if column.dtype.kind in "iuf":
        with suppress(ValueError):
            return float(text)
        return None
    return text


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
    wrong = (values < 0) | (values > 1)
    hint = percent_hint(values.to_numpy())
    _refuse_first(data.table, values, wrong, "hold probabilities between 0 and 1", hint)


@contextmanager
def pieces(files: list[str], cluster: str | None, outcome: Outcome) -> Iterator[Any]:
    """Check Parquet files, and give them as data for a test, on a cluster if there is one."""
    if outcome.trials is not None:
        raise InvalidValueError("--trials goes with one file that is read as a whole.")
    for file in files:
        check_file(Path(file))
        if Path(file).suffix not in (".parquet", ".pq"):
            raise InvalidValueError(
                f"Several files, or a cluster, must be Parquet files. Got {file!r}: turn it into "
                "Parquet, or give one CSV file alone."
            )
    if cluster is None:
        yield sorted(files)
        return
    distributed = optional_module("distributed", "--cluster", "dask")
    try:
        client = distributed.Client(cluster, timeout=CLUSTER_TIMEOUT)
    except (OSError, ValueError) as error:
        raise InvalidValueError(
            "--cluster must be the address of a Dask scheduler, such as tcp://host:8786. "
            f"No scheduler answers at {cluster!r}."
        ) from error
    import dask.dataframe as dd

    with client:
        yield dd.read_parquet(sorted(files))


def empty_columns(file: str) -> dict[str, pd.Series[Any]]:
    """Return the columns of a Parquet file, of the same kinds but without rows."""
    parquet = optional_module("pyarrow.parquet", "A Parquet file", "parquet")
    frame = parquet.read_schema(file).empty_table().to_pandas()
    return {str(name): frame[name] for name in frame}


def head_of_pieces(successes: int, trials: int, outcome: Outcome) -> dict[str, Any]:
    """Describe rows and outcomes of files that were not read as a whole, as `Data.head` does."""
    counts = {"n": trials, "dropped": 0, "successes": successes, "trials": trials}
    return {**counts, "event": outcome.event}


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


def _read_outcomes(
    table: Table, frame: pd.DataFrame, columns: Outcome, design: Design | None
) -> tuple[Any, object, str, int, int]:
    """Read labels, counts, or what the left side of a formula computes: the last fields of Data."""
    y: Any
    if columns.trials is not None:
        y, name = _read_counts(table, frame, columns), str(columns.outcome)
    elif design is not None:
        y, name = design.outcomes, design.outcome.strip("`")
    else:
        y, name = frame[columns.outcome], str(columns.outcome)
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
    return y, positive, event, int(found.successes.sum()), int(found.trials.sum())


def _read_classes(
    table: Table, frame: pd.DataFrame, columns: Outcome, design: Design | None
) -> tuple[Any, object, str, int, int, dict[str, int]]:
    """Read outcomes of several classes: the last fields of Data."""
    for option, given in (("--positive", columns.positive), ("--trials", columns.trials)):
        if given is not None:
            raise InvalidValueError(f"{option} goes with two classes only.")
    y: Any = frame[columns.outcome] if design is None else design.outcomes
    name = str(columns.outcome) if design is None else design.outcome.strip("`")
    labels, numbers = np.unique(outcome_values(y, name), return_counts=True)
    found = dict(zip(map(str, labels.tolist()), numbers.tolist(), strict=True))
    return y, None, name, 0, len(frame), found


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
