"""Save a fitted region to a file, and load it again."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from exactregion.data.files import write_whole
from exactregion.errors import (
    ExactRegionError,
    FileAccessError,
    FileFormatError,
    InvalidTypeError,
)
from exactregion.saving.archive import UNREADABLE, pack, unpack
from exactregion.saving.content import describe, rebuild

if TYPE_CHECKING:
    from exactregion.region import ConfidenceRegion

__all__ = ["load", "save"]


def save(region: ConfidenceRegion, path: str | os.PathLike[str]) -> Path:
    """Write a fitted region to a file; see `ConfidenceRegion.save`."""
    place = _as_path(path)
    content = pack(*describe(region))
    try:
        return write_whole(place, lambda file: file.write(content))
    except (OSError, ValueError) as error:
        raise FileAccessError(
            f"The 'path' parameter must be a file that can be written. "
            f"Got {str(place)!r} instead: {_reason(error)}."
        ) from error


def load(
    path: str | os.PathLike[str], *, model: Any = None, statistic: Any = None
) -> ConfidenceRegion:
    """Load a region that ``region.save(path)`` wrote.

    It is fitted, and gives the same rank for every θ as the one that was saved, to the last bit:
    the data, the settings and the seed of the draws are in the file. An integer `rng` comes back
    too; with any other the region draws afresh if it is fitted again. `batch`, `n_jobs` and
    `progress` are as for a new region. A file holds no pickle, and loading it runs no code of its
    own.

    Parameters
    ----------
    path : str or path
        The file.
    model, statistic : Model and Statistic or callable, optional
        The same as at the time, where they are made of functions of your own, which a file cannot
        hold. The error says so if one is needed.

    Returns
    -------
    ConfidenceRegion

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import exactregion as er
    >>> flights = er.datasets.oring()
    >>> region = er.ConfidenceRegion("logistic", rng=0).fit(flights["temp"], flights["y"])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     loaded = er.load(region.save(Path(folder) / "region.npz"))
    >>> loaded
    ConfidenceRegion('logistic', statistic='combined', confidence_level=0.95)
    >>> loaded.rank([15.0, -0.2]) == region.rank([15.0, -0.2])
    True
    """
    place = _as_path(path)
    try:
        content = place.read_bytes()
    except (OSError, ValueError) as error:
        raise FileAccessError(
            "The 'path' parameter must be a file that region.save wrote. "
            f"Got {str(place)!r} instead: {_reason(error)}."
        ) from error
    try:
        header, arrays = unpack(content)
        return rebuild(header, arrays, {"model": model, "statistic": statistic})
    except FileFormatError as error:
        raise FileFormatError(f"The file {str(place)!r} cannot be loaded: {error}.") from error
    except ExactRegionError:
        raise
    except UNREADABLE as error:
        reason = f"{type(error).__name__}: {error}"
        raise FileFormatError(
            f"The file {str(place)!r} cannot be loaded: the region cannot be made again ({reason})."
        ) from error


def _as_path(path: object) -> Path:
    if not isinstance(path, (str, os.PathLike)):
        raise InvalidTypeError(
            f"must be a path. Got {type(path).__name__} instead.", parameter="path"
        )
    return Path(path)


def _reason(error: OSError | ValueError) -> str:
    return getattr(error, "strerror", None) or str(error)
