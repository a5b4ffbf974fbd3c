"""Reading the files that come with the package."""

from __future__ import annotations

from importlib.resources import files
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["read"]


def read(name: str) -> pd.DataFrame:
    """Read the CSV file of this name that lies beside this module."""
    import pandas as pd

    with files("exactregion.datasets").joinpath(name).open(encoding="utf8") as file:
        return pd.read_csv(file)
