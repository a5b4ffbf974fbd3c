"""Intervals of the parameters, and from them what kind of set a region is.

A family that is linear in other parameters, its natural ones, has its sets proven there; they are
then taken back to the parameters of the family.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from exactregion.data.files import Record
from exactregion.models import ClassModel
from exactregion.region.bounds import is_charted, is_provable, joint_bounds, number_bounds
from exactregion.region.fitted import FittedRegion
from exactregion.region.proofs.splitting import Scale, scale_of
from exactregion.region.ratios import LinearRatios
from exactregion.region.search.ends import Bounds
from exactregion.region.search.outline import estimate_of, joint_far_members, outline_of

if TYPE_CHECKING:
    import pandas as pd

__all__ = [
    "Interval",
    "Status",
    "interval_of",
    "interval_table",
    "natural_region",
    "number_text",
    "parameter_intervals",
    "status_of",
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
        Number of θ drawn at random to audit a search; the last audit found no member outside.
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


FOUND = ["estimate", "lower", "upper", "status", "gap", "certified"]
"""Columns of a table of intervals, without those that say what they took to find."""


def interval_table(
    fitted: FittedRegion, *, joint: bool = False, certify: bool | None = None
) -> pd.DataFrame:
    """Return the intervals of all parameters; see `ConfidenceRegion.intervals`."""
    import pandas as pd

    columns = [*FOUND, "probes", "evaluations", "seconds"]
    found = parameter_intervals(fitted, joint=joint, certify=certify)
    rows = [[getattr(interval, column) for column in columns] for interval in found]
    names = pd.Index([interval.name for interval in found], name="parameter")
    return pd.DataFrame(rows, columns=columns, index=names).round({"seconds": 3})


def interval_records(table: pd.DataFrame) -> list[dict[str, Any]]:
    """Describe the intervals of a table for programs."""
    records: Any = table[FOUND].rename_axis("parameter").reset_index().to_dict("records")
    return list(records)


def parameter_intervals(
    fitted: FittedRegion, *, joint: bool = False, certify: bool | None = None
) -> tuple[Interval, ...]:
    """Find the interval of each parameter, cut at the parameter's bounds; once per fit."""

    def find() -> tuple[Interval, ...]:
        model, estimate = fitted.model, estimate_of(fitted)[0]
        if joint:
            natural = natural_region(fitted, certify)
            together = _joint_bounds_of_parameters(natural or fitted, certify)
            bounds = [together.of(index) for index in range(len(estimate))]
        else:
            bounds = [_individual_bounds(fitted, index, certify) for index in range(len(estimate))]
        rows = zip(model.parameter_names, estimate, bounds, model.bounds, strict=True)
        return tuple(interval_of(fitted, *row) for row in rows)

    return fitted.cached(("intervals", joint, certify), find)


def _joint_bounds_of_parameters(fitted: FittedRegion, certify: bool | None) -> Bounds:
    """Bound all parameters over the joint region; natural ones as those of the family."""
    d, scale = fitted.n_parameters, _scale_of_family(fitted)
    found = joint_bounds(
        fitted,
        lambda theta: theta,
        d,
        numbers=LinearRatios.linear(np.eye(d)),
        certify=certify,
        scale=scale,
    )
    if scale is None:
        return found
    each = [found.of(index).mapped(scale_of(scale, index, d)) for index in range(d)]
    cost = {name: getattr(found, name) for name in ("probes", "evaluations", "seconds")}
    return replace(Bounds.joined(each), **cost)


def _individual_bounds(fitted: FittedRegion, index: int, certify: bool | None) -> Bounds:
    """Bound one parameter on its own, by natural parameters if there are any."""
    number = LinearRatios.linear(np.eye(fitted.n_parameters)[index : index + 1])
    natural = natural_region(fitted, certify)
    of_family = None if natural is None else _scale_of_family(natural)
    if natural is not None and of_family is not None:
        scale = scale_of(of_family, index, fitted.n_parameters)
        found = number_bounds(natural, number, certify, scale).mapped(scale)
        if np.isfinite(found.gap).all():
            return found
        # the proof did not tell whether there is an end
        certify = False
    return number_bounds(fitted, number, certify)


def _scale_of_family(fitted: FittedRegion) -> Scale | None:
    """Return what turns the natural parameters (…, d) of a region into those of its family."""
    from_natural: Any = getattr(fitted.model, "from_natural", None)
    if from_natural is None:
        return None
    return lambda values: from_natural(values.reshape(-1, values.shape[-1])).reshape(values.shape)


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
        _kind(*ends) if bounds.settled[0] or not np.isfinite(ends).all() else "unsettled",
        fitted.accepted.coverage,
        float(bounds.gap[0]),
        bool(bounds.certified[0]),
        bounds.probes,
        bounds.evaluations,
        bounds.seconds,
    )


def _kind(lower: float, upper: float) -> str:
    if np.isnan(lower):
        return "empty"
    below, above = np.isinf(lower), np.isinf(upper)
    if below and above:
        return "unbounded"
    return "unbounded below" if below else "unbounded above" if above else "bounded"


def number_text(value: float, *, digits: int = 3) -> str:
    """Write a number with four digits; `digits` are those of large ones, after the point."""
    if np.isnan(value):
        return "none"
    if np.isinf(value):
        return "∞" if value > 0 else "-∞"
    value += 0.0  # no negative zero
    return f"{value:.4g}" if abs(value) < 1e5 else f"{value:.{digits}e}"


def natural_region(fitted: FittedRegion, certify: bool | None) -> FittedRegion | None:
    """Return the region of the natural parameters, if sets can be proven there; else None.

    It has the same data and draws, and its members are those of the region: the score does not
    depend on how a family is parametrised, but for the rounding of its columns, which
    `proofs.enclosure` allows for.
    """
    return fitted.cached(("natural", certify), lambda: _find_natural(fitted, certify))


def _find_natural(fitted: FittedRegion, certify: bool | None) -> FittedRegion | None:
    model: Any = fitted.model.natural()
    if model is None or certify is False:
        return None
    natural = replace(fitted, model=model)
    if not is_provable(natural, certify):
        return None
    found = _joint_bounds_of_parameters(natural, certify)
    # an end at infinity is one only if a member is there
    return natural if (found.certified & np.isfinite(found.gap)).all() else None


@dataclass(frozen=True)
class Status:
    """The kind of a region: bounded, unbounded, disconnected, empty or unsettled.

    Disconnected regions are bounded, in several pieces. Unsettled ones look bounded, but a search
    kept missing members beyond the ends that it had found. If `certified`, it is proven that the
    region is bounded, unbounded or empty. Several pieces are searched; `ConfidenceRegion.paving`
    proves them.
    """

    kind: str
    certified: bool


def status_of(fitted: FittedRegion) -> Status:
    """Find out what kind of set a region is, once per fit; of several classes by search alone."""

    def find() -> Status:
        found = _find_status(fitted)
        return replace(found, certified=False) if isinstance(fitted.model, ClassModel) else found

    return fitted.cached("status", find)


def _find_status(fitted: FittedRegion) -> Status:
    outline, far = outline_of(fitted), joint_far_members(fitted)
    if outline.status == "empty":
        intervals = parameter_intervals(fitted, joint=True)
        is_proven = all(each.certified and each.status == "empty" for each in intervals)
        return Status("empty", is_proven)
    if far is not None and (far.members or far.status == "bounded"):
        return Status(outline.status, certified=True)
    has_natural = natural_region(fitted, None) is not None
    if has_natural or is_charted(fitted, None):
        intervals = parameter_intervals(fitted, joint=True)
        is_bounded = all(each.status == "bounded" for each in intervals)
        # of natural parameters a member at infinity is known, in charts only one far out
        if all(each.certified for each in intervals) and (is_bounded or has_natural):
            kind = "disconnected" if outline.status == "disconnected" else "bounded"
            return Status(kind if is_bounded else "unbounded", certified=True)
    if far is not None or outline.status == "unbounded":
        return Status(outline.status, certified=False)
    # a search is audited: its rays alone would miss members far away
    statuses = {each.status for each in parameter_intervals(fitted, joint=True)}
    if any(status.startswith("unbounded") for status in statuses):
        return Status("unbounded", certified=False)
    return Status("unsettled" if "unsettled" in statuses else outline.status, certified=False)
