"""The file: a header in JSON and arrays, in one zip archive that ``numpy.load`` opens too.

A digest over all members tells a whole file from one that was cut, changed or put together from
others. It holds no pickles.
"""

from __future__ import annotations

import hashlib
import io
import json
import struct
import zipfile
import zlib
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from exactregion._version import __version__
from exactregion.errors import FileFormatError

__all__ = ["FORMAT", "UNREADABLE", "Arrays", "pack", "unpack"]

FORMAT = 1
"""Number of the format that is written, and the highest that is read."""

Arrays = dict[str, npt.NDArray[Any]]

KIND = "exactregion.ConfidenceRegion"
HEADER, DIGEST, SUFFIX = "header.json", "sha256", ".npy"
EPOCH = (1980, 1, 1, 0, 0, 0)
"""The time of all members, so that the same region is the same file."""

UNREADABLE = (
    ArithmeticError,
    AttributeError,
    EOFError,
    LookupError,
    MemoryError,
    NotImplementedError,
    OSError,
    RuntimeError,
    TypeError,
    ValueError,
    struct.error,
    zipfile.BadZipFile,
    zlib.error,
)
"""What reading raises where bytes, or what they say, are not what they should be."""


def pack(header: Mapping[str, Any], arrays: Arrays) -> bytes:
    """Write a header and arrays as the bytes of a file.

    Examples
    --------
    >>> header, arrays = unpack(pack({"a": 1}, {"x": np.arange(3)}))
    >>> header["a"], arrays["x"]
    (1, array([0, 1, 2]))
    """
    about = {"kind": KIND, "format": FORMAT, "version": __version__}
    members = {HEADER: json.dumps(about | dict(header), allow_nan=False).encode()}
    members |= {name + SUFFIX: _array_bytes(array) for name, array in arrays.items()}
    members[DIGEST] = _digest(members).encode()
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, member in members.items():
            entry = zipfile.ZipInfo(name, EPOCH)
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.external_attr = 0o644 << 16
            archive.writestr(entry, member)
    return content.getvalue()


def unpack(content: bytes) -> tuple[dict[str, Any], Arrays]:
    """Read header and arrays from the bytes of a file; an error unless they are as written."""
    if not content.startswith(b"PK"):
        raise FileFormatError("it is not a region saved by exactregion (no npz archive)")
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            members = {name: archive.read(name) for name in archive.namelist()}
    except UNREADABLE as error:
        raise FileFormatError(f"it is damaged ({error})") from error
    header = _read_header(members)
    if members.pop(DIGEST, b"") != _digest(members).encode():
        raise FileFormatError("it is damaged (its content does not match its digest)")
    del members[HEADER]
    try:
        arrays = {name.removesuffix(SUFFIX): _read_array(data) for name, data in members.items()}
    except UNREADABLE as error:
        raise FileFormatError(f"it is damaged ({error})") from error
    return header, arrays


def _read_header(members: Mapping[str, bytes]) -> dict[str, Any]:
    if HEADER not in members:
        raise FileFormatError(f"it is not a region saved by exactregion (no {HEADER} in it)")
    try:
        header = json.loads(members[HEADER])
    except UNREADABLE as error:
        raise FileFormatError(f"it is damaged ({HEADER} is not JSON: {error})") from error
    if not isinstance(header, dict) or header.get("kind") != KIND:
        raise FileFormatError(f"it is not a region saved by exactregion ({HEADER} says otherwise)")
    number = header.get("format")
    if not isinstance(number, int) or isinstance(number, bool) or number < 1:
        raise FileFormatError(f"it is damaged (format {number!r})")
    if number > FORMAT:
        raise FileFormatError(
            f"it was saved by exactregion {header.get('version')}, format {number}; this is "
            f"exactregion {__version__}, which reads up to format {FORMAT}: upgrade with "
            "pip install --upgrade exactregion"
        )
    return header


def _array_bytes(array: npt.NDArray[Any]) -> bytes:
    content = io.BytesIO()
    np.lib.format.write_array(content, array, allow_pickle=False)
    return content.getvalue()


def _read_array(content: bytes) -> npt.NDArray[Any]:
    array: npt.NDArray[Any] = np.lib.format.read_array(io.BytesIO(content), allow_pickle=False)
    return array


def _digest(members: Mapping[str, bytes]) -> str:
    digest = hashlib.sha256()
    for name in sorted(members):
        digest.update(f"{name} {len(members[name])}\n".encode("utf-8", "surrogateescape"))
        digest.update(members[name])
    return digest.hexdigest()
