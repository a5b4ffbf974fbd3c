"""Files that are written whole or not at all."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO

__all__ = ["write_whole"]


def write_whole(path: Path, write: Callable[[BinaryIO], object]) -> Path:
    """Write a file beside its place and move it there when it is complete.

    Whatever goes wrong, an old file stays as it was and no part of a new one is left behind.

    Parameters
    ----------
    path : Path
        Where the file goes.
    write : callable
        Writes the content to a binary file.

    Returns
    -------
    Path
        The file.
    """
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        with part.open("wb") as file:
            write(file)
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)
    return path
