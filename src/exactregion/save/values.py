"""Settings, objects and frames as what JSON and a few arrays can hold.

An object is written as ``{"type": "Logistic", "settings": {…}}``, and its class is looked up among
those that the library exports, never imported. Functions cannot be written.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from inspect import signature
from numbers import Real
from typing import TYPE_CHECKING, Any

import numpy as np

from exactregion import kernels, models, statistics
from exactregion.data.files import Arrays
from exactregion.errors import FileFormatError, InvalidTypeError

if TYPE_CHECKING:
    import pandas as pd

TYPES: dict[str, type] = {
    name: kind
    for package in (kernels, models, statistics)
    for name in package.__all__
    if isinstance(kind := getattr(package, name), type)
    and issubclass(kind, (kernels.Kernel, models.Model, statistics.Statistic))
}
"""The classes that a file may name."""


def damaged(reason: str) -> FileFormatError:
    """Make the error for a file that does not hold what it should."""
    return FileFormatError(f"it is damaged ({reason})")


class UnsaveableError(InvalidTypeError):
    """A value is not made of numbers, text and objects of the library; says what it is."""


def encode(value: Any, place: str, arrays: Arrays) -> Any:  # noqa: PLR0911 (one per kind)
    """Turn a value into what JSON can hold; arrays go into `arrays`, named by their place."""
    if isinstance(value, np.generic):
        value = value.item()
    kind = type(value)
    if value is None or isinstance(value, (bool, int, str)):
        return value
    if isinstance(value, Real):
        return float(value) if math.isfinite(value) else {"float": str(float(value))}
    if kind in (list, tuple):
        parts = [encode(part, f"{place}.{index}", arrays) for index, part in enumerate(value)]
        return {kind.__name__: parts}
    if isinstance(value, Mapping) and all(isinstance(key, str) for key in value):
        return {"mapping": {key: encode(value[key], f"{place}.{key}", arrays) for key in value}}
    if kind is np.ndarray and value.dtype.kind in "biuf":
        arrays[place] = value
        return {"array": place}
    if TYPES.get(kind.__name__) is kind:
        settings = {name: getattr(value, name) for name in signature(kind).parameters}
        if isinstance(value, kernels.Precomputed):
            settings["gram"] = np.asarray(value.gram, dtype=np.float64)
        nodes = {name: encode(settings[name], f"{place}.{name}", arrays) for name in settings}
        return {"type": kind.__name__, "settings": nodes}
    if isinstance(getattr(value, "name", None), str) and value is _distribution(value.name):
        return {"distribution": value.name}
    name = getattr(value, "__name__", None)
    raise UnsaveableError(kind.__name__ + ("" if name is None else f" {name!r}"))


def decode(node: Any, arrays: Arrays) -> Any:  # noqa: PLR0911 (one per kind)
    """Turn what `encode` returned back into the value."""
    match node:
        case None | bool() | int() | float() | str():
            return node
        case {"array": name}:
            return arrays[name]
        case {"float": text}:
            return float(text)
        case {"list": parts}:
            return [decode(part, arrays) for part in parts]
        case {"tuple": parts}:
            return tuple(decode(part, arrays) for part in parts)
        case {"mapping": parts}:
            return {key: decode(part, arrays) for key, part in parts.items()}
        case {"distribution": name} if (found := _distribution(str(name))) is not None:
            return found
        case {"distribution": _}:
            raise damaged(f"{node!r} is not in scipy.stats")
        case {"type": name, "settings": parts} if str(name) in TYPES:
            settings = {key: decode(part, arrays) for key, part in parts.items()}
            # the parts of a combined statistic are positional arguments
            return TYPES[str(name)](*settings.pop("statistics", ()), **settings)
        case {"type": name, "settings": _}:
            raise damaged(f"{name!r} is none of {sorted(TYPES)}")
    raise damaged(f"{node!r} is no setting")


def encode_named(what: str, value: Any, place: str, arrays: Arrays) -> Any:
    """Encode a value that a file must hold; the error names it as the user does."""
    try:
        return encode(value, place, arrays)
    except UnsaveableError as error:
        raise InvalidTypeError(
            f"{what} must be made of numbers or text to be saved. Got {error} instead."
        ) from error


def _distribution(name: str) -> Any:
    """Return the continuous distribution of scipy.stats with this name, or None."""
    from scipy import stats  # slow to import

    found = getattr(stats, name, None)
    return found if isinstance(found, stats.rv_continuous) else None


def encode_frame(frame: pd.DataFrame, arrays: Arrays) -> list[dict[str, Any]]:
    """Describe the columns of a formula: numbers as arrays, categories by code, text by entry."""
    nodes: list[dict[str, Any]] = []
    for index, name in enumerate(frame.columns):
        column: Any = frame[name]
        what, place = f"The column {name!r} of the formula", f"columns.{index}"
        node: dict[str, Any] = {"name": str(name)}
        if hasattr(column, "cat"):
            levels = encode_named(what, column.cat.categories.tolist(), place, {})["list"]
            node |= {"array": place, "levels": levels, "ordered": bool(column.cat.ordered)}
            arrays[place] = column.cat.codes.to_numpy()
        elif column.dtype.kind in "biuf":
            node["array"] = place
            arrays[place] = column.to_numpy()
        else:
            node["entries"] = encode_named(what, column.tolist(), place, {})["list"]
        nodes.append(node)
    return nodes


def decode_frame(nodes: list[dict[str, Any]], arrays: Arrays) -> pd.DataFrame:
    """Turn the description of columns back into a frame."""
    import pandas as pd

    columns: dict[str, Any] = {}
    for node in nodes:
        if "entries" in node:
            column: Any = np.array(decode({"list": node["entries"]}, arrays), dtype=object)
        elif "levels" in node:
            levels = pd.Index(decode({"list": node["levels"]}, arrays))
            codes = arrays[node["array"]]
            column = pd.Categorical.from_codes(codes, levels, ordered=node["ordered"])
        else:
            column = arrays[node["array"]]
        columns[node["name"]] = column
    return pd.DataFrame(columns)
