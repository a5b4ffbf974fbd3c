"""Small real data sets, with where they come from."""

from __future__ import annotations

from importlib.resources import files
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["oring"]


def oring() -> pd.DataFrame:
    """O-ring failures on 23 flights of the space shuttle before the Challenger accident.

    One row a flight: ``temp`` (joint temperature at launch, °F), ``pressure`` (leak check
    pressure, psi), ``y`` (1 if any of the six primary O-rings was damaged) and ``n_failures`` (how
    many were). On 28 January 1986 Challenger was launched at 31 °F.

    Source: Dalal, Fowlkes and Hoadley (1989), "Risk analysis of the space shuttle: pre-Challenger
    prediction of failure", JASA 84, 945-957, as in the data set SpaceShuttle of the R package vcd;
    the flight whose O-rings were not recovered is left out.

    Examples
    --------
    >>> oring()[["temp", "y"]].head(2)
       temp  y
    0    66  0
    1    70  1
    """
    return _read("oring.csv")


def _read(name: str) -> pd.DataFrame:
    import pandas as pd

    with files(__name__).joinpath(name).open(encoding="utf8") as file:
        return pd.read_csv(file)
