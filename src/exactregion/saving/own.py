"""Models and statistics that a file cannot hold, because functions are a part of them.

The file says what they looked like, and what Z was at one θ. The user passes them again, and is
told where they are not the same.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, NoReturn

import numpy as np

from exactregion._typing import FloatArray
from exactregion.errors import FileFormatError, InvalidValueError
from exactregion.region import ConfidenceRegion
from exactregion.region.window import likely_parameters
from exactregion.saving.archive import Arrays
from exactregion.saving.settings import UnsaveableError, encode

__all__ = ["describe_own", "is_own", "known_by", "recognise", "take_own"]

SHOWN = 200
"""Most characters of a description."""

THETA, Z = "known.theta", "known.Z"

SAME = 1e-6
"""Z may differ by this share of the largest, as it does between machines."""


def describe_own(value: object, name: str, arrays: Arrays) -> Any:
    """Encode a model or statistic, or leave a note of what the user has to pass again."""
    inside: Arrays = {}
    try:
        node = encode(value, name, inside)
    except UnsaveableError:
        return {"own": _without_addresses(value)}
    arrays |= inside
    return node


def is_own(node: Any) -> bool:
    """Say whether there is only a note."""
    return isinstance(node, dict) and "own" in node


def known_by(region: ConfidenceRegion) -> Arrays:
    """Give a θ and its Z, to know model and statistic by when they are passed again."""
    state = region.fitted_
    try:
        with np.errstate(all="ignore"):
            theta = likely_parameters(state.model, state.sample)
            return {THETA: theta, Z: region.evaluate(theta).Z}
    except Exception:  # users' functions fail in ways of their own, and the file is whole without
        return {}


def take_own(settings: Mapping[str, Any], passed: Mapping[str, Any]) -> dict[str, Any]:
    """Check that what the user passes is what the file lacks, and return it."""
    lacking = {name: settings[name]["own"] for name in passed if is_own(settings[name])}
    for name, value in passed.items():
        if value is not None and name not in lacking:
            raise InvalidValueError(
                f"must be left out, since the file holds the {name} itself. Got {value!r} instead.",
                parameter=name,
            )
    missing = [name for name in lacking if passed[name] is None]
    if missing:
        were = " and ".join(f"{name} {lacking[name]}" for name in missing)
        arguments = ", ".join(f"{name}=..." for name in missing)
        raise InvalidValueError(
            f"The region was fitted with the {were}, which a file cannot hold: pass the same to "
            f"exactregion.load(path, {arguments})."
        )
    return {name: passed[name] for name in lacking}


def recognise(
    region: ConfidenceRegion, names: object, used: Mapping[str, Any], arrays: Arrays
) -> None:
    """Raise an error if a region is not the one that was saved, by its parameters and known Z."""
    if list(region.parameter_names_) != names:
        _refuse(used, f"the parameters {list(region.parameter_names_)}, which were {names},")
    if THETA not in arrays:
        return
    theta, saved = arrays[THETA], arrays[Z]
    if theta.shape != (len(region.parameter_names_),) or saved.shape != (region.n_resamples + 1,):
        raise FileFormatError(f"it is damaged (shapes of {THETA} and {Z})")
    if not _alike(region.evaluate(theta).Z, saved):
        _refuse(used, f"other values of the statistic at theta = {theta.tolist()}")


def _refuse(used: Mapping[str, Any], found: str) -> NoReturn:
    if not used:
        raise FileFormatError(f"it is damaged (the region has {found})")
    names = " and ".join(repr(name) for name in used)
    raise InvalidValueError(
        f"The {names} passed must be what the region was fitted with. Got {found} instead."
    )


def _alike(found: FloatArray, saved: FloatArray) -> bool:
    finite = np.isfinite(saved)
    if not np.array_equal(found[~finite], saved[~finite], equal_nan=True):
        return False
    gaps = np.abs(found[finite] - saved[finite])
    return bool((gaps <= SAME * np.abs(saved[finite]).max(initial=0.0)).all())


def _without_addresses(value: object) -> str:
    text = re.sub(r" at 0x[0-9a-fA-F]+", "", repr(value))
    return text if len(text) <= SHOWN else text[: SHOWN - 1] + "…"
