"""Intervals for parameters and for any functional of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from exactregion._typing import FloatArray
from exactregion.errors import InvalidTypeError, InvalidValueError
from exactregion.region.extremes import Functionals
from exactregion.region.reach import Reach, focused_reach, joint_reach, outline
from exactregion.region.results import Interval

if TYPE_CHECKING:
    import pandas as pd

    from exactregion.region import ConfidenceRegion

__all__ = ["functional", "intervals"]


def intervals(region: ConfidenceRegion, *, joint: bool = False) -> pd.DataFrame:
    """Make a table of intervals, a row a parameter; see `ConfidenceRegion.intervals`."""
    import pandas as pd

    names = region.parameter_names_
    estimate = outline(region).estimate
    d = len(names)
    bounds = np.array(region.model_.bounds)
    rows = []
    together = joint_reach(region, lambda theta: theta, d) if joint else None
    for index, name in enumerate(names):
        if joint:
            found = _interval(region, name, float(estimate[index]), together, index)
        else:
            reach = _focused_on(region, index)
            found = _interval(region, name, float(estimate[index]), reach)
        lower, upper = np.clip([found.lower, found.upper], *bounds[index])
        cost = found.evaluations, round(found.seconds, 3)
        rows.append((found.estimate, lower, upper, found.status, found.resolution, *cost))
    columns = ["estimate", "lower", "upper", "status", "resolution", "evaluations", "seconds"]
    return pd.DataFrame(rows, columns=columns, index=pd.Index(names, name="parameter"))


def _focused_on(region: ConfidenceRegion, index: int) -> Reach | None:
    def gradient(theta: FloatArray) -> FloatArray:
        return np.broadcast_to(np.eye(theta.shape[1])[index], theta.shape)

    return focused_reach(region, lambda theta: theta[:, [index]], gradient)


def functional(
    region: ConfidenceRegion,
    g: Callable[[FloatArray], Any],
    *,
    name: str | None = None,
    joint: bool = False,
) -> Interval:
    """Find the interval of a functional; see `ConfidenceRegion.functional`."""
    if not callable(g):
        raise InvalidTypeError(
            f"must be callable, a number for each theta (d,). Got {type(g).__name__} instead.",
            parameter="g",
        )
    values = _vectorised(g)
    estimate = outline(region).estimate
    at_estimate = float(values(estimate[None])[0, 0])
    label = name or str(getattr(g, "__name__", "functional"))
    if joint:
        reach = joint_reach(region, values, 1)
    else:
        reach = focused_reach(region, values, lambda theta: _differences(values, theta))
    return _interval(region, label, at_estimate, reach)


def _vectorised(g: Callable[[FloatArray], Any]) -> Functionals:
    def values(theta: FloatArray) -> FloatArray:
        answers = [g(one) for one in theta]
        try:
            numbers = np.asarray(answers, dtype=np.float64)
        except (TypeError, ValueError) as error:
            raise InvalidValueError(
                "must give one number for a theta of shape (d,). "
                f"Got {type(answers[0]).__name__} instead.",
                parameter="g",
            ) from error
        if numbers.size != len(theta):
            raise InvalidValueError(
                "must give one number for a theta of shape (d,). "
                f"Got shape {numbers.shape[1:]} instead.",
                parameter="g",
            )
        return numbers.reshape(len(theta), 1)

    return values


def _differences(values: Functionals, theta: FloatArray) -> FloatArray:
    """Central differences of one functional: shape (T, d)."""
    columns = []
    for index in range(theta.shape[1]):
        step = 1e-6 * np.maximum(1e-3, np.abs(theta[:, index]))
        moved = np.zeros_like(theta)
        moved[:, index] = step
        with np.errstate(all="ignore"):
            rise = values(theta + moved)[:, 0] - values(theta - moved)[:, 0]
        columns.append(rise / (2 * step))
    return np.nan_to_num(np.stack(columns, axis=-1), nan=0.0, posinf=0.0, neginf=0.0)


def _status(lower: float, upper: float) -> str:
    below, above = np.isinf(lower), np.isinf(upper)
    if below and above:
        return "unbounded"
    return "unbounded below" if below else "unbounded above" if above else "bounded"


def _interval(
    region: ConfidenceRegion, name: str, estimate: float, reach: Reach | None, which: int = 0
) -> Interval:
    coverage = region.coverage_
    if reach is None:
        nan = float("nan")
        return Interval(name, estimate, nan, nan, "empty", coverage, nan, 0, 0.0)
    lower, upper = float(reach.lower[which]), float(reach.upper[which])
    resolution = float(reach.resolution[which])
    status = _status(lower, upper)
    return Interval(
        name, estimate, lower, upper, status, coverage, resolution, reach.evaluations, reach.seconds
    )
