"""Intervals for any functional of the parameters."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from exactregion._typing import FloatArray
from exactregion.data.reading import as_real, read_only
from exactregion.errors import InvalidTypeError, InvalidValueError
from exactregion.region.bounds import focused_bounds, joint_bounds, number_bounds
from exactregion.region.fitted import FittedRegion
from exactregion.region.intervals import Interval, interval_of
from exactregion.region.ratios import LinearRatios
from exactregion.region.search.ends import Bounds
from exactregion.region.search.extremes import Functionals
from exactregion.region.search.outline import estimate_of, outline_of

__all__ = ["differences", "functional_bounds", "functional_interval"]


def functional_interval(
    fitted: FittedRegion,
    g: Any,
    *,
    name: str | None = None,
    joint: bool = False,
    certify: bool | None = None,
) -> Interval:
    """Find the interval of a functional; see `ConfidenceRegion.functional`."""
    number = g if isinstance(g, LinearRatios) else None
    if number is None and not callable(g):
        number = _number(g, fitted.n_parameters)
    values = _vectorised(g) if number is None else number
    outline = outline_of(fitted)
    at_estimate = values(estimate_of(fitted)[0][None])[0, 0]
    at_members = values(outline.window.theta(outline.members()))
    if len(at_members) and np.isnan(at_members).all():
        raise InvalidValueError(
            "must give a number for members of the region. "
            f"Got NaN for all {len(at_members)} that were tried instead.",
            parameter="g",
        )
    bounds = functional_bounds(fitted, values, number, joint=joint, certify=certify)
    name = name or str(getattr(g, "__name__", "functional"))
    return interval_of(fitted, name, at_estimate, bounds)


def functional_bounds(
    fitted: FittedRegion,
    values: Functionals,
    number: LinearRatios | None,
    *,
    joint: bool,
    certify: bool | None,
) -> Bounds:
    """Bound one functional, θ (T, d) to (T, 1); `number` is the same, if linear or a ratio."""
    if joint:
        return joint_bounds(fitted, values, 1, numbers=number, certify=certify)
    if number is not None and (number.denominator is None or certify):
        return number_bounds(fitted, number, certify)
    if number is not None:
        # ranked by both statistics, which leaves fewer ratios without an end, but proves nothing
        return focused_bounds(fitted, number, number.gradient)
    return focused_bounds(fitted, values, lambda theta: differences(values, theta))


def _number(coefficients: Any, d: int) -> LinearRatios:
    """Read coefficients (d,), or (2, d) of a ratio."""
    try:
        values = as_real(coefficients)
    except (TypeError, ValueError):
        values = np.empty(0)
    if values.shape not in ((d,), (2, d)) or not np.isfinite(values).all():
        raise InvalidTypeError(
            f"must be callable, a number for each theta ({d},), or finite coefficients of shape "
            f"({d},) or (2, {d}). Got {type(coefficients).__name__} of shape "
            f"{np.shape(coefficients)} instead.",
            parameter="g",
        )
    if values.ndim == 1:
        return LinearRatios.linear(values[None])
    return LinearRatios(values[:1], np.zeros(1), values[1:])


def _vectorised(g: Callable[[FloatArray], Any]) -> Functionals:
    """Return a function of many θ, which checks that g returns one number each."""

    def values(theta: FloatArray) -> FloatArray:
        results = [g(one) for one in read_only(theta)]
        try:
            return as_real(results).reshape(len(theta), 1)
        except (TypeError, ValueError) as error:
            shape = np.shape(results[0])
            got = f"shape {shape}" if shape else type(results[0]).__name__
            raise InvalidValueError(
                f"must give one number for a theta of shape (d,). Got {got} instead.",
                parameter="g",
            ) from error

    return values


def differences(values: Functionals, theta: FloatArray) -> FloatArray:
    """Return central differences of one functional: shape (T, d)."""
    columns = []
    for index in range(theta.shape[1]):
        # near the cube root of the precision of doubles, which minimises the error of differences;
        # relative to θ, and to 1e-3 where it is smaller, so that no step vanishes at zero
        step = 1e-6 * np.maximum(1e-3, np.abs(theta[:, index]))
        shift = np.zeros_like(theta)
        shift[:, index] = step
        with np.errstate(all="ignore"):
            rise = values(theta + shift)[:, 0] - values(theta - shift)[:, 0]
        columns.append(rise / (2 * step))
    return np.nan_to_num(np.stack(columns, axis=-1), nan=0.0, posinf=0.0, neginf=0.0)
