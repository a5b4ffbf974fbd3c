"""Settings as JSON and arrays: numbers, text, and the models, statistics and kernels made of them.

An object becomes ``{"type": "Logistic", "settings": {…}}``. Only classes that the library exports
come back: a name in a file is looked up among them, never imported.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass
from numbers import Real
from typing import Any

import numpy as np

from exactregion import kernels, models, statistics
from exactregion.errors import FileFormatError, InvalidTypeError
from exactregion.saving.archive import Arrays

__all__ = ["TYPES", "UnsaveableError", "decode", "encode", "encode_called"]

TYPES: dict[str, type] = {
    name: kind
    for module in (kernels, models, statistics)
    for name, kind in vars(module).items()
    if name in module.__all__
    and isinstance(kind, type)
    and issubclass(kind, (kernels.Kernel, models.Model, statistics.Statistic))
}
"""The classes that a file can name: those that the library exports."""

PARTS = {"statistics", "weights"}
"""What a sum of statistics is made of: the first are its positional arguments."""


class UnsaveableError(InvalidTypeError):
    """Something is not made of numbers, text and settings of the library."""

    def __init__(self, what: str, found: str) -> None:
        super().__init__(
            f"{what} must be made of numbers or text to be saved. Got {found} instead."
        )
        self.found = found


def encode(value: Any, place: str, arrays: Arrays) -> Any:
    """Turn a value into what JSON can hold; arrays go into `arrays`, named by their place.

    Examples
    --------
    >>> arrays = {}
    >>> encode(models.LaplaceMixture(locations=(1.0, -1.0)), "model", arrays)
    {'type': 'LaplaceMixture', 'settings': {'locations': {'tuple': [1.0, -1.0]}}}
    """
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, (bool, int, str)):
        return value
    if isinstance(value, Real):
        return float(value) if math.isfinite(value) else {"float": str(float(value))}
    if type(value) in (list, tuple) or _is_mapping_by_name(value):
        return _encode_parts(value, place, arrays)
    return _encode_object(value, place, arrays)


def encode_called(what: str, value: Any, place: str, arrays: Arrays) -> Any:
    """Encode a value; the error calls it what the user calls it."""
    try:
        return encode(value, place, arrays)
    except UnsaveableError as error:
        raise UnsaveableError(what, error.found) from error


def decode(node: Any, arrays: Arrays) -> Any:
    """Turn what `encode` made back into the value."""
    if node is None or isinstance(node, (bool, int, float, str)):
        return node
    for tag, read in READERS.items():
        if isinstance(node, dict) and tag in node:
            return read(node, arrays)
    raise FileFormatError(f"it is damaged ({node!r} is no setting)")


def _encode_parts(value: Any, place: str, arrays: Arrays) -> Any:
    if isinstance(value, Mapping):
        return {"mapping": {key: encode(value[key], f"{place}.{key}", arrays) for key in value}}
    parts = [encode(part, f"{place}.{index}", arrays) for index, part in enumerate(value)]
    return {"tuple" if isinstance(value, tuple) else "list": parts}


def _encode_object(value: Any, place: str, arrays: Arrays) -> Any:
    if type(value) is np.ndarray and value.dtype.kind in "biuf":
        arrays[place] = value
        return {"array": place}
    settings = _settings_of(value)
    if settings is not None:
        entries = {key: encode(settings[key], f"{place}.{key}", arrays) for key in settings}
        return {"type": type(value).__name__, "settings": entries}
    if _is_named_distribution(value):
        return {"distribution": value.name}
    name = getattr(value, "__name__", None)
    shown = type(value).__name__ + ("" if name is None else f" {name!r}")
    raise UnsaveableError(place, shown)


def _is_mapping_by_name(value: object) -> bool:
    return isinstance(value, Mapping) and all(isinstance(key, str) for key in value)


def _settings_of(value: Any) -> dict[str, Any] | None:
    """Give the arguments that make an equal object; None if that is not known."""
    if TYPES.get(type(value).__name__) is not type(value):
        return None
    if isinstance(value, kernels.Precomputed):
        return {"gram": np.asarray(value.gram, dtype=np.float64)}
    if is_dataclass(value):
        return {field.name: getattr(value, field.name) for field in fields(value)}
    return dict(vars(value)) if set(vars(value)) <= PARTS else None


def _make(node: dict[str, Any], arrays: Arrays) -> Any:
    kind = TYPES.get(str(node["type"]))
    if kind is None:
        raise FileFormatError(f"it is damaged ({node['type']!r} is none of {sorted(TYPES)})")
    settings = {key: decode(entry, arrays) for key, entry in node["settings"].items()}
    return kind(*settings.pop("statistics", ()), **settings)


def _is_named_distribution(value: Any) -> bool:
    if not (hasattr(value, "logpdf") and isinstance(getattr(value, "name", None), str)):
        return False
    from scipy import stats

    return isinstance(value, stats.rv_continuous) and getattr(stats, value.name, None) is value


def _named_distribution(node: dict[str, Any], arrays: Arrays) -> Any:
    from scipy import stats

    distribution = getattr(stats, str(node["distribution"]), None)
    if not isinstance(distribution, stats.rv_continuous):
        raise FileFormatError(f"it is damaged ({node!r} is not in scipy.stats)")
    return distribution


READERS: dict[str, Callable[[dict[str, Any], Arrays], Any]] = {
    "array": lambda node, arrays: arrays[node["array"]],
    "distribution": _named_distribution,
    "float": lambda node, arrays: float(node["float"]),
    "list": lambda node, arrays: [decode(part, arrays) for part in node["list"]],
    "mapping": lambda node, arrays: {
        key: decode(entry, arrays) for key, entry in node["mapping"].items()
    },
    "tuple": lambda node, arrays: tuple(decode(part, arrays) for part in node["tuple"]),
    "type": _make,
}
"""How each kind of node is read, by the key that it has."""
