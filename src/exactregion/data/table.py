"""Tables in files: CSV and Parquet, read into frames whose cells were checked.

A cell that cannot be used is named by its row, counted from 1 without the header, and by its line
in the file. Messages name the options of the command ``exactregion``, which reads these files.
"""

from __future__ import annotations

import codecs
import csv
import difflib
import gzip
import io
import re
import sys
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NoReturn

import numpy as np

from exactregion._typing import BoolArray
from exactregion.errors import FileAccessError, FileFormatError, InvalidValueError, optional_module

if TYPE_CHECKING:
    import pandas as pd

MISSING = frozenset({"", "NA", "N/A", "n/a", "NaN", "nan", "NULL", "null", "#N/A", "<NA>"})
"""Cells without a value."""

MISSING_NUMBERS = MISSING | {"None", "none", "."}
"""The same among numbers; among words "None" may be a word like others."""

BOOLEANS = {"true": True, "false": False}
NUMBER = r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?"
WITH_COMMA = NUMBER.replace(r"\.", ",")
INTEGER = r"[+-]?\d{1,18}"
LARGEST = 1e100
"""Numbers that are larger, in size, are no measurements: their squares, summed, would overflow."""

Kind = Literal["number", "boolean", "text", "mixed", "other"]
OTHER_DELIMITERS = {";": "';'", "\t": "tab", "|": "'|'"}


def did_you_mean(name: str, names: Iterable[str]) -> str:
    """Suggest the name that was probably meant, if there is one."""
    lower = {other.lower(): other for other in names}
    close = difflib.get_close_matches(name.lower(), lower, n=1)
    return f" Did you mean {lower[close[0]]!r}?" if close else ""


def shown_names(names: Sequence[str]) -> str:
    """List names, not too many of them."""
    shown = ", ".join(map(repr, names[:12]))
    return shown if len(names) <= 12 else f"{shown} and {len(names) - 12} more"


@dataclass(frozen=True, eq=False)
class Column:
    """One column: its values, where they are missing, and the cells as the file has them.

    The index has the rows, from 1. A mixed column has numbers in most rows and words in others;
    "other" is neither numbers nor text. `type_name` says what values that are not numbers are.
    """

    kind: Kind
    values: pd.Series[Any]
    missing: BoolArray
    cells: pd.Series[Any]
    type_name: str


@dataclass(frozen=True, eq=False)
class Table:
    """Named columns with the same number of rows, read and checked when they are taken.

    `read` returns the column at a position, `line_of` the line of a row in a text file. `label` is
    what messages call the table.
    """

    label: str
    columns: tuple[str, ...]
    n_rows: int
    read: Callable[[int], Column]
    line_of: Callable[[int], int] | None = None
    decimal: str = "."

    def __len__(self) -> int:
        """Return the number of rows."""
        return self.n_rows

    def where(self, row: int) -> str:
        """Say where a row is, counted from 1 without the header."""
        return f"row {row}" if self.line_of is None else f"row {row} (line {self.line_of(row)})"

    def wrong_cell(self, name: str, row: int, must: str, cell: str, hint: str) -> InvalidValueError:
        """Make the error for a cell that a column must not have."""
        return InvalidValueError(
            f"Column {name!r} must {must}, but {self.where(row)} has {cell}.{hint}"
        )

    def column(self, name: str) -> Column:
        """Return a column; an error if there is none of this name, or more than one."""
        found = self.columns.count(name)
        if found == 0:
            raise InvalidValueError(
                f"{self.label} has no column {name!r}.{did_you_mean(name, self.columns)} "
                f"It has {shown_names(self.columns)}."
            )
        if found > 1:
            raise InvalidValueError(
                f"{self.label} has {found} columns named {name!r}. "
                "Give each a name of its own, so that it is clear which is meant."
            )
        return self.read(self.columns.index(name))

    def take(
        self,
        names: Iterable[str],
        *,
        numbers: Sequence[str] = (),
        segments: Sequence[str] = (),
        drop_missing: bool = False,
    ) -> pd.DataFrame:
        """Return columns, of which some must hold numbers, as a frame without missing values.

        Columns of segments may miss values, and may have numbers and words, which are words then.
        """
        import pandas as pd

        columns = {name: self.column(name) for name in (*names, *segments)}
        for name in segments:
            column = columns[name]
            if column.kind == "mixed":
                columns[name] = replace(column, kind="text", values=column.cells)
        for name, column in columns.items():
            if column.kind in ("mixed", "other") or (name in numbers and column.kind != "number"):
                self._refuse(name, column)
            if column.kind == "number":
                self._check_size(name, column)
        needed = {name: column for name, column in columns.items() if name not in segments}
        missing: BoolArray = np.any([column.missing for column in needed.values()], axis=0)
        if missing.any() and not drop_missing:
            self._refuse_missing(needed, int(missing.sum()))
        values = {name: column.values for name, column in needed.items()}
        for name in segments:
            values[name] = columns[name].values.mask(columns[name].missing)
        frame = pd.DataFrame(values)[~missing]
        if frame.empty:
            raise InvalidValueError(
                f"{self.label} has no row without missing values in {shown_names(tuple(columns))}."
            )
        return frame.astype({name: bool for name, c in needed.items() if c.kind == "boolean"})

    def _refuse(self, name: str, column: Column) -> NoReturn:
        if column.kind not in ("text", "mixed"):
            raise InvalidValueError(
                f"Column {name!r} must hold numbers. Got {column.type_name} instead."
            )
        present = column.cells[~column.missing].astype("str")
        wrong = present[~present.str.fullmatch(NUMBER if self.decimal == "." else WITH_COMMA)]
        cell, hint = wrong.iloc[0], ""
        if self.decimal == "." and re.fullmatch(WITH_COMMA, cell):
            hint = " If the comma separates decimals, add --decimal ','."
        elif self.decimal != "." and re.fullmatch(NUMBER, cell):
            hint = f" Decimals are separated by {self.decimal!r} here (--decimal)."
        elif re.fullmatch(rf"{NUMBER}\s*%", cell):
            hint = " Write per cents as shares: 0.25, not 25%."
        raise self.wrong_cell(name, int(wrong.index[0]), "hold numbers", repr(cell), hint)

    def _check_size(self, name: str, column: Column) -> None:
        wrong = (column.values.abs() > LARGEST) & ~column.missing
        if wrong.any():
            row = int(column.values.index[wrong][0])
            must = f"hold numbers between -{LARGEST:g} and {LARGEST:g}"
            hint = " If such cells have no value, leave them empty."
            raise self.wrong_cell(name, row, must, str(column.cells.loc[row])[:20], hint)

    def _refuse_missing(self, columns: dict[str, Column], rows: int) -> NoReturn:
        name, column = next((n, c) for n, c in columns.items() if c.missing.any())
        row = int(column.missing.argmax()) + 1
        cell = column.cells.loc[row]
        what = f"{cell!r} (no value)" if isinstance(cell, str) and cell else "an empty cell"
        others = f"; {rows} rows have missing values" if rows > 1 else ""
        raise InvalidValueError(
            f"Column {name!r} has {what} in {self.where(row)}{others}. "
            "Fill it in, or add --drop-missing to leave such rows out."
        )


def read_table(source: str | Path, *, delimiter: str | None = None, decimal: str = ".") -> Table:
    """Read a CSV file (UTF-8, packed by gzip or not) or a Parquet file, as its content says.

    "-" is standard input. Cells of a CSV file are separated by commas unless `delimiter` is given,
    or by tabs in ``.tsv`` files.
    """
    from_stdin = str(source) == "-"
    label = "Standard input" if from_stdin else f"The file {str(source)!r}"
    if not from_stdin:
        check_file(Path(source))
    content = sys.stdin.buffer.read() if from_stdin else Path(source).read_bytes()
    if content.startswith(b"\x1f\x8b"):
        try:
            content = gzip.decompress(content)
        except (OSError, EOFError, zlib.error) as error:
            raise FileFormatError(
                f"{label} begins like a gzip file, but cannot be unpacked: it is damaged or cut "
                "short."
            ) from error
    if not content:
        raise FileFormatError(f"{label} is empty.")
    suffix = Path(source).suffix.lower()
    if content.startswith(b"PAR1") or suffix in (".parquet", ".pq"):
        return _read_parquet(content, label)
    if delimiter is None and suffix == ".tsv":
        delimiter = "\t"
    return _read_csv(_decode(content, label), label, delimiter, decimal)


def check_file(path: Path) -> None:
    """Raise an error if there is no such file, or if it cannot be read."""
    try:
        if path.is_char_device() or path.is_block_device():  # which may have no end
            raise FileAccessError(
                f"{str(path)!r} is a device. Give a file, or - for standard input."
            )
        with path.open("rb"):
            return
    except FileAccessError:
        raise
    except FileNotFoundError as error:
        hint = f" There is no folder {str(path.parent)!r} either."
        if path.parent.is_dir():
            names = [other.name for other in path.parent.iterdir()]
            close = difflib.get_close_matches(path.name, names, n=1)
            hint = f" Did you mean {str(path.parent / close[0])!r}?" if close else ""
        raise FileAccessError(f"There is no file {str(path)!r}.{hint}") from error
    except IsADirectoryError as error:
        raise FileAccessError(f"{str(path)!r} is a folder. Give a file in it.") from error
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise FileAccessError(f"The file {str(path)!r} cannot be read: {reason}.") from error


def _decode(content: bytes, label: str) -> str:
    """Decode UTF-8, with or without a byte order mark."""
    cure = 'Save it as UTF-8 (spreadsheets call it "CSV UTF-8"), or convert it by iconv'
    if content.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        raise FileFormatError(f"{label} is in UTF-16. {cure} -f UTF-16.")
    if content.startswith(b"PK\x03\x04"):
        raise FileFormatError(
            f"{label} looks like a spreadsheet, or another zip file. Export its table as CSV first."
        )
    if b"\0" in content:
        raise FileFormatError(
            f"{label} is neither text nor Parquet: it holds zero bytes. Export it as CSV first."
        )
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise FileFormatError(
            f"{label} is not in UTF-8: line {line} has the byte 0x{content[error.start]:02x}. "
            f"{cure} -f LATIN1."
        ) from error


def _read_csv(text: str, label: str, delimiter: str | None, decimal: str) -> Table:
    import pandas as pd

    separator = delimiter or ","
    try:
        cells = pd.read_csv(
            io.StringIO(text),
            sep=separator,
            header=None,
            index_col=False,
            dtype="str",
            na_filter=False,
            skipinitialspace=True,
        )
    except pd.errors.EmptyDataError as error:
        raise FileFormatError(f"{label} is empty.") from error
    except pd.errors.ParserError as error:
        _check_records(text, label, delimiter, strict=True)
        raise FileFormatError(f"{label} cannot be read as CSV: {error}") from error
    columns = tuple(str(name).strip() for name in cells.iloc[0])
    if delimiter is None and len(columns) == 1 and (other := _other_delimiter(columns)):
        raise FileFormatError(f"{label} has one column only, {columns[0]!r}. {other}")
    cells = cells.iloc[1:]
    if cells.empty:
        raise FileFormatError(f"{label} has column names, but no rows below them.")
    # pandas fills rows that are too short with empty cells
    if (cells.iloc[:, -1] == "").any():
        _check_records(text, label, delimiter)

    @cache
    def read(position: int) -> Column:
        return _csv_column(cells[position], decimal)

    def line_of(row: int) -> int:
        return next(islice(_records(text, separator), row, None))[1]

    return Table(label, columns, len(cells), read, line_of, decimal)


def _records(text: str, delimiter: str, *, strict: bool = False) -> Iterator[tuple[list[str], int]]:
    """Yield the records of a CSV file that are not blank, each with the line where it begins."""
    lines = list(io.StringIO(text, newline=""))
    reader = csv.reader(lines, delimiter=delimiter, skipinitialspace=True, strict=strict)
    begins = 1
    for record in reader:
        if len(record) > 1 or lines[reader.line_num - 1].strip():
            yield record, begins
        begins = reader.line_num + 1


def _check_records(text: str, label: str, delimiter: str | None, *, strict: bool = False) -> None:
    """Raise an error for the first record that is not as wide as the header, or open to the end."""
    header: list[str] = []
    line = 0
    try:
        records = _records(text, delimiter or ",", strict=strict)
        for row, (record, line) in enumerate(records):
            header = header or record
            if len(record) != len(header):
                count = f"{len(record)} cell{'s' if len(record) > 1 else ''}"
                cure = "A cell with the delimiter in it must be quoted."
                if delimiter is None:
                    cure = _other_delimiter(header) or cure
                raise FileFormatError(
                    f"{label} has {count} in row {row} (line {line}), where the header has "
                    f"{len(header)}. {cure}"
                )
    except csv.Error as error:
        raise FileFormatError(
            f"{label} cannot be read after line {line}: a quotation mark is not closed, or text "
            "follows a closing one."
        ) from error


def _other_delimiter(header: Sequence[str]) -> str:
    """Name the option for a delimiter that the header has more often than commas, if any."""
    text = ",".join(header)
    other = max(OTHER_DELIMITERS, key=text.count)
    if text.count(other) <= text.count(","):
        return ""
    shown = OTHER_DELIMITERS[other]
    return f"It looks separated by {shown}: add --delimiter {shown}."


def _csv_column(cells: pd.Series[str], decimal: str) -> Column:
    """Find out whether cells hold numbers, booleans or words; space around them does not count."""
    cells = cells.str.strip()
    missing = cells.isin(MISSING_NUMBERS).to_numpy(dtype=np.bool_)
    present = cells[~missing]
    if len(present) and present.str.lower().isin(BOOLEANS).all():
        return Column("boolean", cells.str.lower().map(BOOLEANS), missing, cells, "true and false")
    if present.str.fullmatch(NUMBER if decimal == "." else WITH_COMMA).all():
        text = cells.str.replace(decimal, ".", regex=False).mask(missing, "nan")
        # integers where all are, since ids may have more digits than a float
        kind = np.int64 if text.str.fullmatch(INTEGER).all() else np.float64
        numbers = text.astype("object").astype(kind)
        return Column("number", numbers, missing, cells, "numbers")
    if present.str.fullmatch(f"{NUMBER}|{WITH_COMMA}").mean() > 0.5:
        return Column("mixed", cells, missing, cells, "text")
    missing = cells.isin(MISSING).to_numpy(dtype=np.bool_)
    return Column("text", cells.mask(missing), missing, cells, "text")


DAMAGED = "{} is not a Parquet file, or it is damaged."


def _read_parquet(content: bytes, label: str) -> Table:
    pa = optional_module("pyarrow", label, "parquet")
    pq = optional_module("pyarrow.parquet", label, "parquet")
    damaged = DAMAGED.format(label)
    try:
        file = pq.ParquetFile(pa.BufferReader(content))
        names, n_rows = file.schema_arrow.names, file.metadata.num_rows
    except Exception as error:  # pyarrow raises many kinds on damaged bytes
        raise FileFormatError(damaged) from error
    if not n_rows:
        raise FileFormatError(f"{label} has columns, but no rows.")

    @cache
    def read(position: int) -> Column:
        try:
            column = _parquet_column(file.read(columns=[names[position]]).column(0))
        except Exception as error:  # as above
            raise FileFormatError(damaged) from error
        if len(column.values) != n_rows:
            raise FileFormatError(damaged)
        return column

    return Table(label, tuple(names), n_rows, read)


def parquet_columns(file: str) -> Table:
    """Return the columns of a Parquet file as a table without rows."""
    parquet = optional_module("pyarrow.parquet", "A Parquet file", "parquet")
    label = f"The file {file!r}"
    try:
        empty = parquet.read_schema(file).empty_table()
    except Exception as error:  # as above
        raise FileFormatError(DAMAGED.format(label)) from error

    def read(position: int) -> Column:
        return _parquet_column(empty.column(position))

    return Table(label, tuple(empty.column_names), 0, read)


def _parquet_column(array: Any) -> Column:
    import pandas as pd
    from pyarrow import types

    if types.is_dictionary(array.type):
        array = array.cast(array.type.value_type)
    if types.is_decimal(array.type):
        array = array.cast("float64")
    kind: Kind = "other"
    if types.is_boolean(array.type):
        kind = "boolean"
    elif types.is_integer(array.type) or types.is_floating(array.type):
        kind = "number"
    elif types.is_string(array.type) or types.is_large_string(array.type):
        kind = "text"
    values = array.to_pandas()
    values.index = pd.RangeIndex(1, len(values) + 1)
    missing = np.array(values.isna(), dtype=np.bool_)
    if kind == "number":
        missing |= ~np.isfinite(values.to_numpy(dtype=np.float64, na_value=np.nan))
    return Column(kind, values, missing, values, str(array.type))
