"""From files and the options that name their columns to what the library takes."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from exactregion.cli.options import Columns, Outcome, Predictions, Reading
from exactregion.cli.outcomes import (
    check_probabilities,
    outcome_of,
    read_classes,
    read_labels_or_counts,
)
from exactregion.cli.output import note, rows_text
from exactregion.cli.values import labels_in, refuse_first
from exactregion.data.classes import are_classes
from exactregion.data.design import Design
from exactregion.data.formula import Terms, columns_of_terms, parse_formula
from exactregion.data.table import (
    Column,
    Table,
    check_file,
    did_you_mean,
    read_table,
    shown_names,
)
from exactregion.errors import ArgumentError, InvalidValueError, optional_module

if TYPE_CHECKING:
    import pandas as pd

MAX_LEVELS = 20
"""A column with more different words is an input only if it is named: it may be free text, or name
the rows."""

CLUSTER_TIMEOUT = "20s"
"""Long enough for a scheduler that is just starting, and short enough to notice a wrong address."""


@dataclass(frozen=True, eq=False)
class Data:
    """The columns that a command uses: their values, or their names in `chunks` of Parquet files.

    `head` describes rows and outcomes for programs; `y` has labels, or successes and failures;
    `positive` is None for 0/1, -1/+1 and counts. `unused` are columns that cannot be inputs, where
    all others are, and `predictions` those that look like the predictions of other models. With
    `several` the outcome has any number of classes; `labels` are those of --classes.
    """

    head: dict[str, Any]
    frame: pd.DataFrame  # without rows where they come in chunks
    y: Any
    numbers: list[str]
    groups: list[str]
    segments: list[str]
    inputs: list[str] = field(default_factory=list)
    unused: list[str] | None = None
    predictions: list[str] = field(default_factory=list)
    design: Design | None = None
    positive: object = None
    several: bool = False
    labels: list[object] | None = None
    chunks: Any = None

    def take(self, names: str | list[str]) -> Any:
        """Return one column or several, as the library takes them."""
        return self.frame[names] if self.chunks is None else names

    def to_dict(self) -> dict[str, Any]:
        """Describe rows, outcomes and inputs for programs."""
        formula = None if self.design is None else self.design.formula
        return {**self.head, "inputs": self.inputs, "formula": formula}

    def coded(self, outcome: Outcome) -> Design | None:
        """Return the design of the formula, or one that codes inputs which are words."""
        words = any(self.frame[name].dtype.kind not in "biuf" for name in self.inputs)
        if self.design is not None or not words:
            return self.design
        return Design.of_columns(self.frame, str(outcome.outcome), outcome.trials, self.inputs)


def facts_of(
    content: dict[str, Any],
    unused: Sequence[str] | None = None,
    predictions: Sequence[str] = (),
    files: int = 1,
) -> dict[str, str]:
    """Describe data in words: `content` for programs, and columns that `Data` has left out."""
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


@contextmanager
def open_predictions(
    files: list[str], cluster: str | None, columns: Predictions, reading: Reading, *, quiet: bool
) -> Iterator[Data]:
    """Read one file as a whole; give several, or those for a cluster, as chunks of rows."""
    if len(files) == 1 and cluster is None:
        yield read_data(files[0], columns, reading, quiet=quiet)
        return
    check_outcome(columns, [*columns.probability, *_named(columns, "by")])
    with _open_chunks(files, cluster, columns) as chunks:
        parquet = optional_module("pyarrow.parquet", "A Parquet file", "parquet")
        frame = parquet.read_schema(files[0]).empty_table().to_pandas()
        names, outcome = list(map(str, frame.columns)), str(columns.outcome)
        given = (split_names(_named(columns, name), names) for name in COLUMN_OPTIONS)
        numbers, groups, segments = given
        check_outcome(columns, [*numbers, *groups, *segments])
        if outcome not in names:
            raise InvalidValueError(
                f"The file {files[0]!r} has no column {outcome!r}.{did_you_mean(outcome, names)} "
                f"It has {shown_names(names)}."
            )
        prefixed = with_prefix(numbers, names)
        if columns.classes is None:
            if prefixed != numbers:
                raise InvalidValueError(
                    f"--classes must name the class of each column that begins with "
                    f"{numbers[0]!r}: the files are read in chunks."
                )
            head: dict[str, Any] = {"event": columns.event}
            found: dict[str, Any] = {"positive": columns.positive}
        else:
            head = {"outcome": outcome}
            labels = labels_in("--classes", columns.classes, frame[outcome])
            found = {"several": True, "labels": labels}
        yield Data(head, frame, outcome, prefixed, groups, segments, **found, chunks=chunks)


COLUMN_OPTIONS = ("probability", "by", "segments")
"""Options of some commands that name columns beside outcome and inputs."""


def _named(columns: Outcome, option: str) -> list[str]:
    """Return what an option names, if the command has that option."""
    return getattr(columns, option, None) or []


def counted(head: dict[str, Any], successes: int | None, trials: int) -> dict[str, Any]:
    """Describe rows and outcomes, as the test counted them where they came in chunks."""
    if "n" in head:
        return head
    counts = {} if successes is None else {"successes": successes, "trials": trials}
    return {"n": trials, "dropped": 0, **counts, **head}


def read_data(
    file: str,
    columns: Outcome,
    reading: Reading,
    *,
    all_inputs: bool = False,
    several: bool | None = None,
    quiet: bool,
) -> Data:
    """Read the file, and take the columns that the options name.

    With `all_inputs`, all other columns are inputs where none are named. With `several` the outcome
    has any number of classes; by default --classes decides, or the columns of --probability, of
    which there is then one per class, perhaps named by what their names begin with.
    """
    _check_named_once(columns)
    table = _open_table(file, reading)
    roles = _Roles.of(table, columns, all_inputs=all_inputs, by_prefix=several is None)
    frame = roles.take(table, reading, quiet=quiet)
    design = None
    if isinstance(columns, Columns) and roles.sides is not None:
        with _rows_of(table, frame):
            design = Design.from_formula(str(columns.formula), frame, roles.sides)
    classes = getattr(columns, "classes", None)
    if several is None:
        y, _ = outcome_of(columns, frame, design)
        may_be = len(roles.numbers) > 1 and not roles.are_counts
        several = classes is not None or (
            may_be and are_classes(frame[roles.numbers], y, None, None)
        )
    if all_inputs and not roles.inputs:
        left_out = f" but {', '.join(roles.predictions)}, which look like predictions,"
        raise InvalidValueError(
            f"{table.label} has no other columns{left_out if roles.predictions else ''} for "
            "the test to look for structure in. Name some with --inputs, or test the calibration "
            "of the probabilities: exactregion calibrate."
        )
    read = read_classes if several else read_labels_or_counts
    y, positive, head = read(table, frame, columns, design)
    for name in () if several else roles.numbers:
        check_probabilities(table, frame[name])
    return Data(
        {"n": len(frame), "dropped": len(table) - len(frame), **head},
        frame,
        y,
        roles.numbers,
        roles.groups,
        roles.segments,
        roles.inputs,
        roles.unused,
        roles.predictions,
        design,
        positive,
        several,
        None if classes is None else labels_in("--classes", classes, y),
    )


def _check_named_once(columns: Outcome) -> None:
    """Check that outcome and inputs are named by --formula or by options of their own, not both."""
    if getattr(columns, "formula", None) is None:
        check_outcome(columns, ())
        return
    left_out = "must be left out where --formula names outcome and inputs."
    fields = ("outcome", "inputs", "trials")
    refuse_first(*((getattr(columns, name), f"--{name} {left_out}") for name in fields))


@dataclass(frozen=True)
class _Roles:
    """Which columns of a table the options name, and as what.

    `left` are outcome and trials, or the columns of the left side of a formula, of which `sides`
    has the terms.
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
    def of(cls, table: Table, columns: Outcome, *, all_inputs: bool, by_prefix: bool) -> _Roles:
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

    def take(self, table: Table, reading: Reading, *, quiet: bool) -> pd.DataFrame:
        """Return the columns, and say how many rows were left out."""
        frame = table.take(
            [*self.left, *self.numbers, *self.inputs, *self.groups],
            numbers=[*self.numbers, *(self.left if self.are_counts else ())],
            segments=self.segments,
            drop_missing=reading.drop_missing,
        )
        dropped = len(table) - len(frame)
        if dropped:
            counts = (f"{n:,} row{'' if n == 1 else 's'}" for n in (dropped, len(frame)))
            note("Left out {} with missing values; {} remain.".format(*counts), quiet=quiet)
        return frame


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


@contextmanager
def _open_chunks(files: list[str], cluster: str | None, outcome: Outcome) -> Iterator[Any]:
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
