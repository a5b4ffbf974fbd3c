"""From a file to a table."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from exactregion.data.tables.cells import Column, Kind, read_cells
from exactregion.data.tables.files import decoded, label_of, read_bytes, records
from exactregion.data.tables.table import Table
from exactregion.errors import FileFormatError, MissingDependencyError

__all__ = ["read_table"]

OTHER_DELIMITERS = {";": "';'", "\t": "tab", "|": "'|'"}

CHUNK = 50_000
"""Rows of a CSV file that are held as Python objects at a time."""


def read_table(source: str | Path, *, delimiter: str | None = None, decimal: str = ".") -> Table:
    """Read a CSV file (UTF-8, packed by gzip or not) or a Parquet file.

    Parameters
    ----------
    source : str or Path
        The file; "-" is standard input. What is in it decides whether it is Parquet.
    delimiter : str, optional
        What separates the cells of a CSV file: a comma by default, a tab in ``.tsv`` files.
    decimal : {".", ","}
        What separates decimals in a CSV file.

    Returns
    -------
    Table
    """
    content = read_bytes(source)
    label = label_of(source)
    if not content:
        raise FileFormatError(f"{label} is empty.")
    suffix = Path(source).suffix.lower()
    if content.startswith(b"PAR1") or suffix in (".parquet", ".pq"):
        return _read_parquet(content, label)
    if delimiter is None and suffix == ".tsv":
        delimiter = "\t"
    return _read_csv(decoded(content, source), label, delimiter, decimal)


def _read_csv(text: str, label: str, delimiter: str | None, decimal: str) -> Table:
    import pandas as pd

    rows = records(text, label, delimiter or ",")
    header, _ = next(rows, ([], 0))
    columns = [name.strip() for name in header]
    if not columns:
        raise FileFormatError(f"{label} is empty.")
    if delimiter is None and len(columns) == 1:
        _suspect_delimiter(columns[0], label)
    frames, lines = [], []
    checked = _same_width(rows, len(columns), label)
    while chunk := list(itertools.islice(checked, CHUNK)):
        frames.append(pd.DataFrame([record for record, _ in chunk], dtype="str"))
        lines += [line for _, line in chunk]
    if not frames:
        raise FileFormatError(f"{label} has column names, but no rows below them.")
    cells = pd.concat(frames, ignore_index=True)
    cells.index += 1

    def read(position: int) -> Column:
        return read_cells(cells[position], decimal)

    return Table(label, columns, len(cells), read, lines=np.array(lines), decimal=decimal)


def _suspect_delimiter(name: str, label: str) -> None:
    for delimiter, shown in OTHER_DELIMITERS.items():
        if delimiter in name:
            raise FileFormatError(
                f"{label} has one column only, {name!r}. It looks separated by {shown}: "
                f"add --delimiter {shown}."
            )


def _same_width(
    rows: Iterator[tuple[list[str], int]], width: int, label: str
) -> Iterator[tuple[list[str], int]]:
    for number, (record, line) in enumerate(rows, start=1):
        if len(record) != width:
            cells = f"{len(record)} cell{'s' if len(record) > 1 else ''}"
            raise FileFormatError(
                f"{label} has {cells} in row {number} (line {line}), where the header has {width}. "
                "A cell with the delimiter in it must be quoted."
            )
        yield record, line


# --- Parquet ------------------------------------------------------------------------------------


def _read_parquet(content: bytes, label: str) -> Table:
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ImportError as error:
        raise MissingDependencyError(
            "Parquet files need pyarrow: pip install exactregion[parquet]"
        ) from error
    damaged = f"{label} is not a Parquet file, or it is damaged."
    try:
        file = pq.ParquetFile(pa.BufferReader(content))
    except (pa.ArrowException, OSError) as error:
        raise FileFormatError(damaged) from error
    names, rows = file.schema_arrow.names, file.metadata.num_rows
    if not rows:
        raise FileFormatError(f"{label} has columns, but no rows.")

    def read(position: int) -> Column:
        try:
            array = file.read(columns=[names[position]]).column(0)
        except (pa.ArrowException, OSError) as error:
            raise FileFormatError(damaged) from error
        return _parquet_column(array)

    return Table(label, names, rows, read)


def _parquet_column(array: Any) -> Column:
    import pandas as pd
    from pyarrow import types

    if types.is_dictionary(array.type):
        array = array.cast(array.type.value_type)
    if types.is_decimal(array.type):
        array = array.cast("float64")
    values = array.to_pandas()
    values.index = pd.RangeIndex(1, len(values) + 1)
    missing = np.array(values.isna(), dtype=np.bool_)
    kind = _parquet_kind(array.type)
    if kind == "number":
        missing |= ~np.isfinite(values.to_numpy(dtype=np.float64, na_value=np.nan))
    first = int(missing.argmin()) + 1 if kind == "text" else None
    return Column(kind, values, missing, values, first, str(array.type))


def _parquet_kind(kind: Any) -> Kind:
    from pyarrow import types

    if types.is_boolean(kind):
        return "boolean"
    if types.is_integer(kind) or types.is_floating(kind):
        return "number"
    if types.is_string(kind) or types.is_large_string(kind):
        return "text"
    return "other"
