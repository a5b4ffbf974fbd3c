"""The columns that a formula uses: numbers, booleans, text and categories."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from exactregion.saving.archive import Arrays
from exactregion.saving.settings import decode, encode_called

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["decode_frame", "encode_frame"]


def encode_frame(frame: pd.DataFrame, place: str, arrays: Arrays) -> list[dict[str, Any]]:
    """Turn a frame into a description of each column; numbers go into `arrays`.

    Examples
    --------
    >>> import pandas as pd
    >>> encode_frame(pd.DataFrame({"dose": [1, 2], "sex": ["f", "m"]}), "columns", arrays := {})
    [{'name': 'dose', 'array': 'columns.0'}, {'name': 'sex', 'entries': ['f', 'm']}]
    >>> arrays
    {'columns.0': array([1, 2])}
    """
    return [
        {"name": str(name), **_encode_column(frame[name], f"{place}.{index}", arrays)}
        for index, name in enumerate(frame.columns)
    ]


def decode_frame(nodes: list[dict[str, Any]], arrays: Arrays) -> pd.DataFrame:
    """Turn the descriptions back into a frame."""
    import pandas as pd

    return pd.DataFrame({node["name"]: _decode_column(node, arrays) for node in nodes})


def _encode_column(column: pd.Series[Any], place: str, arrays: Arrays) -> dict[str, Any]:
    import pandas as pd

    if isinstance(column.dtype, pd.CategoricalDtype):
        arrays[place] = column.cat.codes.to_numpy()
        levels = _entries(column.name, column.cat.categories)
        return {"array": place, "levels": levels, "ordered": bool(column.cat.ordered)}
    if column.dtype.kind in "biuf":
        arrays[place] = column.to_numpy()
        return {"array": place}
    return {"entries": _entries(column.name, column)}


def _entries(name: object, values: Any) -> list[Any]:
    what = f"The column {name!r} of the formula"
    return [encode_called(what, value, "", {}) for value in values.tolist()]


def _decode_column(node: dict[str, Any], arrays: Arrays) -> Any:
    import pandas as pd

    if "entries" in node:
        return np.array([decode(entry, arrays) for entry in node["entries"]], dtype=object)
    array = arrays[node["array"]]
    if "levels" not in node:
        return array
    levels = [decode(level, arrays) for level in node["levels"]]
    return pd.Categorical.from_codes(array, categories=pd.Index(levels), ordered=node["ordered"])
