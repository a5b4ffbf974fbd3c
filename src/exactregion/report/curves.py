"""Curves of P(Y=1|x) along each input: the band, and those of many parameters."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from exactregion._typing import FloatArray
from exactregion.report.figures import shortened
from exactregion.report.inputs import Column, as_inputs, columns_of

if TYPE_CHECKING:
    from exactregion.region import ConfidenceRegion

__all__ = ["MOST_INPUTS", "STEPS", "Curves", "curves_along_inputs"]

MOST_INPUTS = 6
MOST_HELD = 8

POINTS = 41, 25
"""Points of a curve along a single input, and along each of several."""

STEPS = 65_535
"""Probabilities are kept in the page as whole numbers of this many steps."""


@dataclass(frozen=True, eq=False)
class Curves:
    """Curves along one input, the others held.

    Attributes
    ----------
    column : Column
        The input.
    held : str
        What the others are held at; empty if there are none.
    x : ndarray of shape (k,)
        Places of the input on its axis.
    lower, upper, estimate : ndarrays of shape (k,)
        The band, simultaneous over all inputs shown, and the curve of the estimate.
    steps : ndarray of shape (T, k)
        The curve of each parameter, in `STEPS`.
    """

    column: Column
    held: str
    x: FloatArray
    lower: FloatArray
    upper: FloatArray
    estimate: FloatArray
    steps: npt.NDArray[np.uint16]


def curves_along_inputs(region: ConfidenceRegion, theta: FloatArray) -> list[Curves]:
    """Compute the curves along each input that varies; none where there is nothing to follow.

    Parameters
    ----------
    region : ConfidenceRegion
        Fitted.
    theta : ndarray of shape (T, d)
        Parameters whose curves are wanted.
    """
    columns = columns_of(region)
    varying = [one for one in columns if one.levels is None or len(one.levels) > 1][:MOST_INPUTS]
    if not varying:
        return []
    paths = [one.path(POINTS[len(varying) > 1]) for one in varying]
    rows = [_rows(columns, one, path) for one, path in zip(varying, paths, strict=True)]
    together = {name: np.concatenate([part[name] for part in rows]) for name in rows[0]}
    X = _answered(region, together)
    if X is None:
        return []
    band = region.band(X)
    P = region.model_.probabilities(theta, X)
    cuts = np.cumsum([len(path) for path in paths])[:-1]
    answers = (band.lower, band.upper, band.estimate, np.round(STEPS * P).astype(np.uint16))
    split = zip(*(np.split(values, cuts, axis=-1) for values in answers), strict=True)
    return [
        Curves(one, _held(columns, one), one.places(path), *parts)
        for one, path, parts in zip(varying, paths, split, strict=True)
    ]


def _answered(region: ConfidenceRegion, rows: dict[str, npt.NDArray[Any]]) -> Any:
    """Give the rows as the family takes them; None if it has no answer between the data."""
    try:
        X = as_inputs(region, rows)
        region.model_.probabilities(region.estimate_, X)
    except Exception:  # whatever a function or a formula of the user's may raise
        return None
    return X


def _rows(
    columns: list[Column], varied: Column, path: npt.NDArray[Any]
) -> dict[str, npt.NDArray[Any]]:
    """Give rows that differ in one input only."""
    held = {one.name: _repeated(one.typical, len(path)) for one in columns}
    return held | {varied.name: path.astype(object)}


def _repeated(value: Any, times: int) -> npt.NDArray[Any]:
    column = np.empty(times, dtype=object)
    column[:] = [value] * times
    return column


def _held(columns: list[Column], varied: Column) -> str:
    held = [f"{shortened(one.name)} = {one.text(one.typical)}" for one in columns if one != varied]
    more = len(held) - MOST_HELD
    return ", ".join(held[:MOST_HELD]) + (f" and {more} more" if more > 0 else "")
