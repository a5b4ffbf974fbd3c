"""From files and the options that name their columns to what the library takes."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from exactregion.cli.columns import (
    Roles,
    check_outcome,
    check_probabilities,
    outcome_of,
    positive_of,
    read_classes,
    read_labels_or_counts,
    with_prefix,
)
from exactregion.cli.options import Columns, Outcome, Predictions, Reading
from exactregion.cli.output import note, rows_text
from exactregion.cli.values import labels_in, refuse_first
from exactregion.data.classes import are_classes
from exactregion.data.design import Design
from exactregion.data.table import Table, check_file, parquet_columns, read_table
from exactregion.errors import ArgumentError, InvalidValueError, optional_module

if TYPE_CHECKING:
    import pandas as pd

CLUSTER_TIMEOUT = "20s"
"""Long enough for a scheduler that is just starting, and short enough to notice a wrong address."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Data(Roles):
    """The columns that a command uses: their values, or their names in `chunks` of Parquet files.

    `head` says of rows, outcomes and inputs what is known before the test; `y` has labels, or
    successes and failures; `positive` is None for 0/1, -1/+1 and counts. With `several` the outcome
    has any number of classes; `labels` are those of --classes.
    """

    files: list[str]
    head: dict[str, Any]
    frame: pd.DataFrame  # without rows where they come in chunks
    y: Any
    design: Design | None = None
    positive: object = None
    several: bool = False
    labels: list[object] | None = None
    table: Table | None = None
    chunks: Any = None

    def take(self, names: str | list[str]) -> Any:
        """Return one column or several, as the library takes them."""
        return self.frame[names] if self.chunks is None else names

    def describe(
        self, command: str, successes: int | None = None, trials: int = 0
    ) -> dict[str, Any]:
        """Describe files, rows, outcomes and inputs for programs.

        Rows that came in chunks are those that the test counted.
        """
        counts = {} if self.chunks is None else {"n": trials, "dropped": 0}
        if self.chunks is not None and successes is not None:
            counts |= {"successes": successes, "trials": trials}
        return {"command": command, "file": " ".join(self.files), **counts, **self.head}

    def coded(self) -> Design | None:
        """Return the design of the formula, or one that codes inputs which are words."""
        words = any(self.frame[name].dtype.kind not in "biuf" for name in self.inputs)
        if self.design is not None or not words:
            return self.design
        outcome, *trials = self.left
        return Design.of_columns(self.frame, outcome, trials[0] if trials else None, self.inputs)


def single(names: list[str]) -> Any:
    """Return the only name, or all of them."""
    return names[0] if len(names) == 1 else names


def facts_of(content: dict[str, Any], data: Data | None = None) -> dict[str, str]:
    """Describe data in words: what programs are told, and columns that were left out."""
    facts = {"rows": rows_text(content)}
    if data is not None and len(data.files) > 1:
        facts["rows"] += f" in {len(data.files):,} files"
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
        if data is not None and data.unused is not None:
            without = f", without {', '.join(data.unused)}" if data.unused else ""
            facts["inputs"] += f" (all other columns{without})"
    if data is not None and data.predictions:
        names = ", ".join(data.predictions)
        facts["left out"] = f"{names} (look like predictions; --inputs takes them)"
    return facts


@contextmanager
def open_predictions(
    files: list[str], cluster: str | None, columns: Predictions, reading: Reading, *, quiet: bool
) -> Iterator[Data]:
    """Read one file as a whole; give several, or those for a cluster, as chunks of rows."""
    if len(files) == 1 and cluster is None:
        data = read_data(files[0], columns, reading, quiet=quiet)
        with rows_named_by(data.table, data.frame):
            yield data
        return
    check_outcome(columns, ())
    if reading.drop_missing:
        raise InvalidValueError("--drop-missing goes with one file that is read as a whole.")
    with _open_chunks(files, cluster, columns) as chunks:
        table, name, classes = parquet_columns(files[0]), str(columns.outcome), columns.classes
        roles = Roles.of(table, columns, by_prefix=classes is not None)
        outcomes = table.column(name).values
        if classes is not None:
            head = {"outcome": name}
            labels = labels_in("--classes", classes, outcomes)
            found: dict[str, Any] = {"several": True, "labels": labels}
        elif with_prefix(roles.numbers, table.columns) == roles.numbers:
            head = {"event": columns.event}
            found = {"positive": positive_of(columns, outcomes)}
        else:
            raise InvalidValueError(
                f"--classes must name the class of each column that begins with "
                f"{roles.numbers[0]!r}: the files are read in chunks."
            )
        found |= {"files": files, "frame": outcomes.to_frame(), "chunks": chunks}
        yield Data(**vars(roles), **found, head=head, y=name)


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
    roles = Roles.of(table, columns, all_inputs=all_inputs, by_prefix=several is None)
    frame = _take(roles, table, reading, quiet=quiet)
    formula = getattr(columns, "formula", None)
    with rows_named_by(table, frame):
        design = None if formula is None else Design.from_formula(formula, frame, roles.sides)
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
    with rows_named_by(table, frame):
        y, positive, head = read(table, frame, columns, design)
    for name in () if several else roles.numbers:
        check_probabilities(table, frame[name])
    of_rows = {"n": len(frame), "dropped": len(table) - len(frame)}
    has_inputs = isinstance(columns, Columns)
    of_inputs = {"inputs": roles.inputs, "formula": formula} if has_inputs else {}
    return Data(
        **vars(roles),
        files=[file],
        head={**of_rows, **head, **of_inputs},
        frame=frame,
        y=y,
        design=design,
        positive=positive,
        several=several,
        labels=None if classes is None else labels_in("--classes", classes, y),
        table=table,
    )


def _take(roles: Roles, table: Table, reading: Reading, *, quiet: bool) -> pd.DataFrame:
    """Return the columns, and say how many rows were left out."""
    frame = table.take(
        [*roles.left, *roles.numbers, *roles.inputs, *roles.groups],
        numbers=[*roles.numbers, *(roles.left if roles.are_counts else ())],
        segments=roles.segments,
        drop_missing=reading.drop_missing,
    )
    dropped = len(table) - len(frame)
    if dropped:
        counts = (f"{n:,} row{'' if n == 1 else 's'}" for n in (dropped, len(frame)))
        note("Left out {} with missing values; {} remain.".format(*counts), quiet=quiet)
    return frame


@contextmanager
def rows_named_by(table: Table | None, frame: pd.DataFrame) -> Iterator[None]:
    """Name rows in errors as the file counts them, also where some were left out."""
    try:
        yield
    except ArgumentError as error:
        if error.row is None or table is None:
            raise
        text = error.requirement_in(table.where(frame.index[error.row]))
        raise type(error)(text, parameter=error.parameter) from error


def _check_named_once(columns: Outcome) -> None:
    """Check that outcome and inputs are named by --formula or by options of their own, not both."""
    if getattr(columns, "formula", None) is None:
        check_outcome(columns, ())
        return
    left_out = "must be left out where --formula names outcome and inputs."
    fields = ("outcome", "inputs", "trials")
    refuse_first(*((getattr(columns, name), f"--{name} {left_out}") for name in fields))


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
