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
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import numpy.typing as npt

from exactregion.errors import FileAccessError, FileFormatError

Arrays = dict[str, npt.NDArray[Any]]

HEADER, DIGEST, SUFFIX = "header.json", "sha256", ".npy"


def write_whole(path: Path, write: Callable[[BinaryIO], object]) -> Path:
    """Write a file by a function of a binary file, and return its path.

    It is written beside its place, and moved there when it is complete: whatever goes wrong, an old
    file stays as it was and no part of a new one is left behind.
    """
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        with part.open("wb") as file:
            write(file)
        part.replace(path)
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
    if isinstance(content, np.generic):
        return finite(content.item())
    if isinstance(content, (list, tuple, np.ndarray)):
        return [finite(value) for value in content]
    if isinstance(content, float) and not math.isfinite(content):
        return None
    return content


def pack(header: Mapping[str, Any], arrays: Arrays) -> bytes:
    """Return the bytes of an archive; equal headers and arrays give equal bytes."""
    members = {HEADER: json.dumps(header, allow_nan=False).encode()}
    for name, array in arrays.items():
        file = io.BytesIO()
        np.lib.format.write_array(file, array, allow_pickle=False)
        members[name + SUFFIX] = file.getvalue()
    members[DIGEST] = _digest(members)
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, member in members.items():
            entry = zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0))  # the earliest date of a zip file
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.external_attr = 0o644 << 16
            archive.writestr(entry, member)
    return content.getvalue()


def unpack(content: bytes, check_header: Callable[[Any], object]) -> tuple[dict[str, Any], Arrays]:
    """Read header and arrays of an archive; an error of any kind unless they are as written.

    The header is checked before all else, since a newer format may have other members.
    """
    if not content.startswith(b"PK"):
        raise FileFormatError("it is not a file that exactregion saved (no npz archive)")
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    if HEADER not in members:
        raise FileFormatError(f"it is not a file that exactregion saved (no {HEADER} in it)")
    header = json.loads(members[HEADER])
    check_header(header)
    if members.pop(DIGEST, b"") != _digest(members):
        raise FileFormatError("it is damaged (its content does not match its digest)")
    del members[HEADER]
    return header, {
        name.removesuffix(SUFFIX): np.lib.format.read_array(io.BytesIO(member), allow_pickle=False)
        for name, member in members.items()
    }


def _digest(members: Mapping[str, bytes]) -> bytes:
    digest = hashlib.sha256()
    for name in sorted(members):
        digest.update(f"{name} {len(members[name])}\n".encode("utf-8", "surrogateescape"))
        digest.update(members[name])
    return digest.hexdigest().encode()
