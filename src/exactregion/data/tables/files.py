"""From a file, or standard input, to the cells in it."""

from __future__ import annotations

import codecs
import csv
import difflib
import gzip
import io
import shlex
import sys
import zlib
from collections.abc import Iterator
from pathlib import Path

from exactregion.errors import FileAccessError, FileFormatError

__all__ = ["check_file", "decoded", "is_standard_input", "label_of", "read_bytes", "records"]


def is_standard_input(source: str | Path) -> bool:
    """Say whether a source means standard input."""
    return str(source) == "-"


def label_of(source: str | Path) -> str:
    """Name a source as messages begin."""
    return "Standard input" if is_standard_input(source) else f"The file {str(source)!r}"


def read_bytes(source: str | Path) -> bytes:
    """Read what is in a file or in standard input, unpacked where it is packed by gzip."""
    content = sys.stdin.buffer.read() if is_standard_input(source) else _file_bytes(Path(source))
    if not content.startswith(b"\x1f\x8b"):
        return content
    try:
        return gzip.decompress(content)
    except (OSError, EOFError, zlib.error) as error:
        raise FileFormatError(
            f"{label_of(source)} begins like a gzip file, but cannot be unpacked: it is damaged "
            "or cut short."
        ) from error


def check_file(path: Path) -> None:
    """Raise an error if a file is not there, or cannot be read.

    Parameters
    ----------
    path : Path
        The file.
    """
    try:
        with path.open("rb"):
            return
    except FileNotFoundError as error:
        raise FileAccessError(f"There is no file {str(path)!r}.{_similar(path)}") from error
    except IsADirectoryError as error:
        raise FileAccessError(f"{str(path)!r} is a folder. Give a file in it.") from error
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise FileAccessError(f"The file {str(path)!r} cannot be read: {reason}.") from error


def _file_bytes(path: Path) -> bytes:
    check_file(path)
    return path.read_bytes()


def _similar(path: Path) -> str:
    if not path.parent.is_dir():
        return f" There is no folder {str(path.parent)!r} either."
    names = [other.name for other in path.parent.iterdir()]
    close = difflib.get_close_matches(path.name, names, n=1)
    return f" Did you mean {str(path.parent / close[0])!r}?" if close else ""


def decoded(content: bytes, source: str | Path) -> str:
    """Decode UTF-8, with or without a byte order mark."""
    label = label_of(source)
    if content.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        raise FileFormatError(f"{label} is in UTF-16. {_as_utf8(source, 'UTF-16')}")
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
            f"{_as_utf8(source, 'LATIN1')}"
        ) from error


def _as_utf8(source: str | Path, encoding: str) -> str:
    cure = 'Save it as UTF-8 (spreadsheets call it "CSV UTF-8")'
    if is_standard_input(source):
        return f"{cure}, or pipe it through: iconv -f {encoding} -t UTF-8"
    return f"{cure}, or: iconv -f {encoding} -t UTF-8 {shlex.quote(str(source))} > utf8.csv"


def records(text: str, label: str, delimiter: str) -> Iterator[tuple[list[str], int]]:
    """Yield the records of a CSV file that are not blank, each with the line where it begins."""
    reader = csv.reader(
        io.StringIO(text, newline=""), delimiter=delimiter, skipinitialspace=True, strict=True
    )
    line = 1
    try:
        for record in reader:
            if len(record) > 1 or (record and record[0].strip()):
                yield record, line
            line = reader.line_num + 1
    except csv.Error as error:
        raise FileFormatError(
            f"{label} cannot be read at line {line}: a quotation mark is not closed, or text "
            "follows a closing one."
        ) from error
