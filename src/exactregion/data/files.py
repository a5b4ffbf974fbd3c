"""Files: written whole or not at all, JSON, and archives of a header in JSON with arrays.

An archive is a zip file that ``numpy.load`` opens too: ``header.json``, one ``.npy`` member per
array, and ``sha256``, a digest of all members, by which a complete file differs from one that was
cut, changed or put together from others. It holds no pickles.
"""

from __future__ import annotations

import hashlib
import io
import json
import math
import os
import zipfile
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any, BinaryIO, cast
from uuid import uuid4

import numpy as np
import numpy.typing as npt

from exactregion.errors import FileAccessError, FileFormatError, InvalidValueError

Arrays = dict[str, npt.NDArray[Any]]

HEADER, DIGEST, SUFFIX = "header.json", "sha256", ".npy"

MAX_PACKED = 2**28
"""Bytes that the packed members of an archive may unpack to, 256 MiB in all.

Packing shrinks zeros a thousandfold, so that a small file could fill the memory. What is larger is
stored as it is, and takes as much memory as it takes room on the disk.
"""

MAX_HEADER = 2**26
"""Bytes of a header, 64 MiB: objects of Python take up to twenty times the room of their JSON."""


def regular_file(path: Path) -> Path:
    """Return the file that a path leads to, links followed; it need not exist yet.

    Raises an error for a device, a pipe or a socket: it would be replaced when written, and may
    never end when read.
    """
    target = Path(os.path.realpath(path))
    if target.exists() and not target.is_file() and not target.is_dir():
        raise FileAccessError(
            f"{str(path)!r} must be a regular file. It is a device, a pipe or a socket instead: "
            "choose another name."
        )
    return target


def write_whole(path: Path, write: Callable[[BinaryIO], object]) -> Path:
    """Write a file by a function of a binary file, and return its path.

    It is written beside its place, and moved there when it is complete: whatever goes wrong, an old
    file stays as it was and no part of a new one is left behind. Links are followed, as by `open`.
    """
    target = regular_file(path)
    # a name of its own for each call: threads may write to the same path
    part = target.with_name(f".{uuid4().hex}.part")
    try:
        with part.open("xb") as file:
            write(file)
        part.replace(target)
    except OSError as error:
        reason = error.strerror or str(error)
        failed = FileAccessError(f"The file {str(path)!r} cannot be written: {reason}.")
        failed.strerror = error.strerror
        raise failed from error
    finally:
        part.unlink(missing_ok=True)
    return path


def json_text(content: Any, *, ensure_ascii: bool = False) -> str:
    """Write results as JSON, for people and programs; what is not finite becomes null."""
    text = json.dumps(finite(content), indent=2, ensure_ascii=ensure_ascii, allow_nan=False)
    return f"{text}\n"


def finite(content: Any) -> Any:
    """Turn what NumPy has into what JSON has; NaN and infinities into None."""
    if isinstance(content, Mapping):
        return {str(key): finite(value) for key, value in content.items()}
    if isinstance(content, Record):
        return content.to_dict()
    if isinstance(content, np.generic):
        return finite(content.item())
    if isinstance(content, (list, tuple, np.ndarray)):
        return [finite(value) for value in content]
    if isinstance(content, float) and not math.isfinite(content):
        return None
    return content


class Record:
    """A dataclass of results that programs can read: `to_dict` gives its fields as plain values."""

    def to_dict(self) -> dict[str, Any]:
        """Return the attributes as a dictionary of plain values, ready for JSON.

        Arrays become lists; NaN and infinities become None. Attributes that hold one number per
        data set, or the data, are left out.
        """
        return {
            one.name: finite(getattr(self, one.name))
            for one in fields(cast("Any", self))
            if not one.metadata.get("large")
        }


def pack(header: Mapping[str, Any], arrays: Arrays) -> bytes:
    """Return the bytes of an archive; equal headers and arrays give equal bytes."""
    members = {HEADER: json.dumps(header, allow_nan=False).encode()}
    if len(members[HEADER]) > MAX_HEADER:
        raise InvalidValueError(
            f"Text and settings must take at most {MAX_HEADER:,} bytes to be saved. "
            f"Got {len(members[HEADER]):,} instead: code text as numbers first."
        )
    for name, array in arrays.items():
        file = io.BytesIO()
        np.lib.format.write_array(file, array, allow_pickle=False)
        members[name + SUFFIX] = file.getvalue()
    members[DIGEST] = _digest(members)
    content = io.BytesIO()
    room = MAX_PACKED
    with zipfile.ZipFile(content, "w") as archive:
        for name, member in members.items():
            entry = zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0))  # the earliest date of a zip file
            if len(member) <= room:
                entry.compress_type = zipfile.ZIP_DEFLATED
                room -= len(member)
            entry.external_attr = 0o644 << 16
            archive.writestr(entry, member)
    return content.getvalue()


def unpack(file: BinaryIO, check_header: Callable[[Any], object]) -> tuple[dict[str, Any], Arrays]:
    """Read header and arrays of an archive; an error of any kind unless they are as written.

    The header is checked before all else, since a newer format may have other members.
    """
    if file.read(2) != b"PK":
        raise FileFormatError("it is not a file that exactregion saved (no npz archive)")
    with zipfile.ZipFile(file) as archive:
        entries = {entry.filename: entry for entry in archive.infolist()}
        if HEADER not in entries:
            raise FileFormatError(f"it is not a file that exactregion saved (no {HEADER} in it)")
        _check_entries(archive, file.seek(0, os.SEEK_END))
        header = json.loads(archive.read(HEADER))
        check_header(header)
        members = {name: archive.read(name) for name in entries}
    if members.pop(DIGEST, b"") != _digest(members):
        raise FileFormatError("it is damaged (its content does not match its digest)")
    del members[HEADER]
    arrays = {
        name.removesuffix(SUFFIX): np.lib.format.read_array(io.BytesIO(member), allow_pickle=False)
        for name, member in members.items()
    }
    for name, array in arrays.items():
        if array.dtype.kind not in "biuf":  # text of width 0 may have any number of entries
            raise FileFormatError(f"it is damaged ({name!r} must hold numbers)")
    return header, arrays


def _check_entries(archive: zipfile.ZipFile, size: int) -> None:
    """Raise an error for what no saved file has, before any of it is unpacked into memory."""
    # `zipfile` reads no more of a member than the size that is declared here.
    entries = archive.infolist()
    (name, count), *_ = Counter(entry.filename for entry in entries).most_common(1)
    if count > 1:
        raise FileFormatError(f"it is damaged ({count} members called {name!r})")
    sizes: Counter[bool] = Counter()
    for entry in entries:
        sizes[entry.compress_type == zipfile.ZIP_STORED] += entry.file_size
    stored, packed = sizes[True], sizes[False]
    header = archive.getinfo(HEADER).file_size
    if header > MAX_HEADER or packed > MAX_PACKED or stored > size:
        raise FileFormatError(
            f"it is not a file that exactregion saved (its {size:,} bytes unpack to "
            f"{stored + packed:,}, its header to {header:,})"
        )


def _digest(members: Mapping[str, bytes]) -> bytes:
    digest = hashlib.sha256()
    for name in sorted(members):
        digest.update(f"{name} {len(members[name])}\n".encode("utf-8", "surrogateescape"))
        digest.update(members[name])
    return digest.hexdigest().encode()
