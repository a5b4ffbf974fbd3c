"""What kind of set a region is, and whether that is proven."""

from __future__ import annotations

from dataclasses import dataclass, replace

from exactregion.models import ClassModel
from exactregion.region.bounds import is_charted
from exactregion.region.fitted import FittedRegion
from exactregion.region.intervals import parameter_intervals
from exactregion.region.natural import natural_region
from exactregion.region.search.outline import joint_far_members, outline_of

__all__ = ["Status", "status_of"]


@dataclass(frozen=True)
class Status:
    """The kind of a region.

    Attributes
    ----------
    kind : {"bounded", "unbounded", "disconnected", "empty", "unsettled"}
        Disconnected regions are bounded, in several pieces. Unsettled ones look bounded, but a
        search kept missing members beyond the ends that it had found.
    certified : bool
        Whether it is proven that the region is bounded, unbounded or empty. That a bounded region
        has several pieces is searched; `ConfidenceRegion.paving` proves it.
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
    if natural_region(fitted, None) is not None or _has_proven_ends(fitted):
        is_split = outline.status == "disconnected"
        return Status("disconnected" if is_split else "bounded", certified=True)
    if far is not None or outline.status == "unbounded":
        return Status(outline.status, certified=False)
    # a search is audited: its rays alone would miss members far away
    statuses = {each.status for each in parameter_intervals(fitted, joint=True)}
    if any(status.startswith("unbounded") for status in statuses):
        return Status("unbounded", certified=False)
    return Status("unsettled" if "unsettled" in statuses else outline.status, certified=False)


def _has_proven_ends(fitted: FittedRegion) -> bool:
    """Return whether all parameters have ends that are proven in charts."""
    if not is_charted(fitted, None):
        return False
    intervals = parameter_intervals(fitted, joint=True)
    return all(each.certified and each.status == "bounded" for each in intervals)
