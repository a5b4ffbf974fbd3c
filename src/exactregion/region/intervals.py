"""Intervals for parameters and for any functional of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from exactregion._typing import FloatArray
from exactregion.data.files import Record
from exactregion.data.reading import as_real, read_only
from exactregion.errors import InvalidTypeError, InvalidValueError
from exactregion.region.bounds import focused_bounds, joint_bounds, number_bounds
from exactregion.region.fitted import FittedRegion
from exactregion.region.natural import from_natural, natural_region
from exactregion.region.ratios import LinearRatios
from exactregion.region.search.ends import Bounds
from exactregion.region.search.extremes import Functionals
from exactregion.region.search.outline import estimate_of, outline_of

if TYPE_CHECKING:
    import pandas as pd

__all__ = [
    "Interval",
    "functional_bounds",
    "functional_interval",
    "interval_of",
    "interval_table",
    "parameter_intervals",
]


@dataclass(frozen=True)
class Interval(Record):
    """An interval for one number g(θ).

    Attributes
    ----------
    name : str
        What it is.
    estimate : float
        g at the estimate, `ConfidenceRegion.estimate_`.
    lower, upper : float
        The ends. Infinite where there is no end.
    status : str
        "bounded", "unbounded below", "unbounded above", "unbounded" or "empty"; "unsettled" if a
        search found ends, but kept missing members beyond them.
    coverage : float
        The interval covers the true value with at least this probability, at every n.
    gap : float
        Distance of the ends from members: the interval could be shorter by this much at each end.
    certified : bool
        Whether it is proven that no member lies outside the interval; else it was searched.
    probes : int
        Number of θ drawn at random to audit a search; those in the last audit missed no member.
    evaluations, seconds : int and float
        Number of θ evaluated, and time taken.
    """

    name: str
    estimate: float
    lower: float
    upper: float
    status: str
    coverage: float
    gap: float = field(repr=False)
    certified: bool
    probes: int = field(repr=False)
    evaluations: int = field(repr=False)
    seconds: float = field(repr=False)


def interval_table(
    fitted: FittedRegion, *, joint: bool = False, certify: bool | None = None
) -> pd.DataFrame:
    """Return the intervals of all parameters; see `ConfidenceRegion.intervals`."""
    import pandas as pd

    columns = ["estimate", "lower", "upper", "status", "gap", "certified"]
    columns += ["probes", "evaluations", "seconds"]
    found = parameter_intervals(fitted, joint=joint, certify=certify)
    rows = [[getattr(interval, column) for column in columns] for interval in found]
    names = pd.Index([interval.name for interval in found], name="parameter")
    return pd.DataFrame(rows, columns=columns, index=names).round({"seconds": 3})


def parameter_intervals(
    fitted: FittedRegion, *, joint: bool = False, certify: bool | None = None
) -> tuple[Interval, ...]:
    """Find the interval of each parameter, cut at the parameter's bounds; once per fit."""

    def find() -> tuple[Interval, ...]:
        estimate, _ = estimate_of(fitted)
        each = np.eye(len(estimate))
        natural = natural_region(fitted, certify)
        space = natural or fitted
        together = None
        if joint:
            numbers = LinearRatios.linear(each)
            together = joint_bounds(
                space, lambda theta: theta, len(estimate), numbers=numbers, certify=certify
            )
        found = []
        for index, name in enumerate(fitted.model.parameter_names):
            number = LinearRatios.linear(each[[index]])
            bounds = (
                number_bounds(space, number, certify) if together is None else together.of(index)
            )
            if natural is not None:
                bounds = from_natural(natural, index, bounds)
            limits = fitted.model.bounds[index]
            found.append(interval_of(fitted, name, estimate[index], bounds, limits))
        return tuple(found)

    return fitted.cached(("intervals", joint, certify), find)


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
    return focused_bounds(fitted, values, lambda theta: _differences(values, theta))


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


def _differences(values: Functionals, theta: FloatArray) -> FloatArray:
    """Return central differences of one functional: shape (T, d)."""
    columns = []
    for index in range(theta.shape[1]):
        # near the cube root of the precision of doubles, which minimises the error of differences
        step = 1e-6 * np.maximum(1e-3, np.abs(theta[:, index]))
        shift = np.zeros_like(theta)
        shift[:, index] = step
        with np.errstate(all="ignore"):
            rise = values(theta + shift)[:, 0] - values(theta - shift)[:, 0]
        columns.append(rise / (2 * step))
    return np.nan_to_num(np.stack(columns, axis=-1), nan=0.0, posinf=0.0, neginf=0.0)


def interval_of(
    fitted: FittedRegion,
    name: str,
    estimate: float,
    bounds: Bounds,
    limits: tuple[float, float] = (-np.inf, np.inf),
) -> Interval:
    """Return the bounds of one number as an interval, cut at its limits."""
    ends = bounds.lower[0], bounds.upper[0]
    lower, upper = np.clip(ends, *limits).tolist()
    return Interval(
        name,
        float(estimate),
        lower,
        upper,
        _status(*ends) if bounds.settled[0] or not np.isfinite(ends).all() else "unsettled",
        fitted.accepted.coverage,
        float(bounds.gap[0]),
        bool(bounds.certified[0]),
        bounds.probes,
        bounds.evaluations,
        bounds.seconds,
    )


def _status(lower: float, upper: float) -> str:
    if np.isnan(lower):
        return "empty"
    below, above = np.isinf(lower), np.isinf(upper)
    if below and above:
        return "unbounded"
    return "unbounded below" if below else "unbounded above" if above else "bounded"
