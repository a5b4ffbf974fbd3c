"""Smallest and largest values of functionals over a region.

Over the joint region the bounds of several functionals hold at once. A focused search is for one
functional alone: it ranks by the functional's own one-degree statistic, and is about as tight as a
Wald interval (docs/theory/focused.md).

A search finds members close to the ends. Where functionals are linear in θ or ratios of such, and
the family allows it, `proofs.paving` then proves that no member lies farther out. Other searches
are audited with random θ.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from numbers import Real

import numpy as np

from exactregion._typing import FloatArray
from exactregion.errors import InvalidValueError
from exactregion.region.fitted import FittedRegion
from exactregion.region.proofs.chart_bounds import (
    LogitsAt,
    can_chart,
    ends_in_charts,
    work_in_charts,
)
from exactregion.region.proofs.covering import covered_bounds
from exactregion.region.proofs.enclosure import OVERHEAD
from exactregion.region.proofs.inputs import can_enclose
from exactregion.region.proofs.paving import Paving, domain_below, domain_of, pave
from exactregion.region.proofs.splitting import (
    AcceptedBy,
    Domain,
    ProvenEnds,
    Scale,
    proven_ends,
    rules_over,
)
from exactregion.region.ratios import LinearRatios, OfParameters
from exactregion.region.search.ends import Bounds, FocusedSearch, is_projected, search_joint
from exactregion.region.search.extremes import Functionals
from exactregion.region.search.outline import joint_far_members, outline_of
from exactregion.region.separation.far import FarMembers, far_members

__all__ = [
    "affordable_work",
    "focused_bounds",
    "is_charted",
    "is_provable",
    "joint_bounds",
    "number_bounds",
    "paving_of",
]

USUAL_LARGEST, LARGEST = 2, 3
"""Most parameters for which ends are proven by default, and with ``certify=True``: boxes are many
more with every parameter."""

JOINT_GAP, FOCUSED_GAP, LARGEST_GAP = 0.01, 0.02, 0.05
"""Distance between a proven end and a member, as a share of the interval's length, at which boxes
are not split further. The side of a focused set is parallel to the end, and takes many more boxes;
so do three parameters, for which it is the last of these."""

WIDEST_GAP = 0.1
"""Proven ends that are farther than this from a member, since the budget ran out, are not used."""

BUDGET, LARGE_BUDGET = 1.5e9, 1e11
"""Comparisons of labels for proving the ends of one call by default, and with ``certify=True``:
some ten seconds, and ten minutes. Not seconds, so that results do not depend on the
machine."""

EMPTY_BUDGET = 3e8
"""The same where a search found no member: a set that is nearly but not quite empty would use up
any budget."""

SHARES = 8
"""Each half-open interval of a call may take this part of the budget, so that what is proven of one
does not depend on how many there are."""

USUAL_BOXES = 2100
"""Boxes for two parameters in which all alternatives would have to be compared for the same work:
ends are not proven by default where this would exceed the budget. With 1,000 resamples that is from
615 rows on. Belts of 332, 600 and 1,000 rows are proven in 1.5, 2.5 and 3.5 s of one core; that of
1,000 is searched in 0.7 s."""

USUAL_ROWS = 4096
"""Most rows for which ends are proven by default, however few resamples there are: boxes keep what
is known about each row. A belt with 49 resamples took 670 MB at 4,000 rows, 1.4 GB at 10,000."""

PROBES, PROBE_WORK = (300, 2000), 4e8
"""Fewest and most probes of an audit, and how many labels they may draw: a second or two."""


def joint_bounds(
    fitted: FittedRegion,
    g: Functionals,
    width: int,
    *,
    numbers: OfParameters | LogitsAt | None = None,
    certify: bool | None = False,
    each: bool = False,
    scale: Scale | None = None,
) -> Bounds:
    """Bound `width` functionals over the joint region.

    `numbers` are the same, if they are linear in θ, ratios of such, logits at inputs, or have
    bounds over boxes of θ; ends are then proven if `certify`, or if it is None and the region is
    small enough. With `each` the bounds of one do not depend on which others there are; numbers are
    then no ratios. `scale` is the function of each number that is reported, if it is not the number
    itself: gaps are to be small there.
    """
    if not width:
        return Bounds.empty(0)
    linear = numbers if isinstance(numbers, LinearRatios) else None

    def search(probes: int) -> Bounds:
        # a band has many functionals
        found = search_joint(fitted, g, width, numbers=linear, probes=probes, quick=each)
        return _with_open_ends(found, linear, lambda: joint_far_members(fitted))

    prove = None
    if isinstance(numbers, LinearRatios | LogitsAt) and is_charted(fitted, certify):
        prove = partial(_proven_in_charts, fitted, numbers=numbers, certify=certify, scale=scale)
    elif not isinstance(numbers, LogitsAt | None) and _is_affordable(fitted, certify):
        # one covering serves all linear numbers; with three parameters it costs more than a few
        is_linear = linear is not None and linear.denominator is None
        is_covered = each or (is_linear and fitted.n_parameters < LARGEST)
        domain = domain_of(fitted) if is_covered else None
        if domain is not None and linear is not None:
            return _proven_or_audited(
                fitted,
                search,
                lambda _: _covered(fitted, domain, linear, certify, scale),
                start=False,
            )
        prove = partial(
            _certified,
            fitted,
            numbers=numbers,
            certify=certify,
            rules=[(fitted.accepted, None)],
            gap=JOINT_GAP,
            scale=scale,
        )
    return _proven_or_audited(fitted, search, prove)


def _covered(
    fitted: FittedRegion,
    domain: Domain,
    numbers: LinearRatios,
    certify: bool | None,
    scale: Scale | None,
) -> Bounds:
    """Prove the ends of linear numbers by the boxes that cover the region."""
    return covered_bounds(
        fitted,
        domain,
        numbers,
        tolerance=_gap(fitted, JOINT_GAP),
        widest_gap=WIDEST_GAP,
        budget=_budget(is_empty=outline_of(fitted).rays is None, certify=certify),
        scale=scale,
    )


def _proven_or_audited(
    fitted: FittedRegion,
    search: Callable[[int], Bounds],
    prove: Callable[[Bounds], Bounds] | None,
    *,
    start: bool = True,
) -> Bounds:
    """Prove the ends that a search finds; audit the search where that is not possible.

    `search` takes the number of probes of an audit, 0 for none. A proof that does not `start` from
    what a search finds is given nothing.
    """
    if prove is None:
        return search(_probes_for(fitted))
    proven = prove(search(0) if start else Bounds.empty(0))
    if proven.certified.all():
        return proven
    audited = search(_probes_for(fitted))
    kept = proven.certified
    return Bounds(
        np.where(kept, proven.lower, audited.lower),
        np.where(kept, proven.upper, audited.upper),
        np.where(kept, proven.gaps, audited.gaps),
        kept,
        kept | audited.settled,
        audited.probes,
        proven.evaluations + audited.evaluations,
        proven.seconds + audited.seconds,
    )


def is_provable(fitted: FittedRegion, certify: bool | None) -> bool:
    """Return whether both ends of any linear functional are to be proven, and can be."""
    return _is_affordable(fitted, certify) and domain_of(fitted) is not None


def is_charted(fitted: FittedRegion, certify: bool | None) -> bool:
    """Return whether joint sets are to be proven in charts of all parameters, and can be."""
    largest = LARGEST if certify else USUAL_LARGEST
    if certify is False or fitted.n_parameters > largest or can_enclose(fitted):
        return False
    return can_chart(fitted) and (bool(certify) or work_in_charts(fitted) <= BUDGET)


def _is_affordable(fitted: FittedRegion, certify: bool | None) -> bool:
    return can_enclose(fitted) and affordable_work(fitted, fitted.n_parameters, certify) > 0


def affordable_work(fitted: FittedRegion, dimensions: int, certify: bool | None) -> float:
    """Return how many comparisons of labels a proof may take; zero for none."""
    largest_d = LARGEST if certify else USUAL_LARGEST
    if certify is False or dimensions > largest_d:
        return 0.0
    if certify:
        return LARGE_BUDGET
    work = USUAL_BOXES * fitted.accepted.m * (fitted.sample.inputs.total + OVERHEAD)
    return BUDGET if work <= BUDGET and len(fitted.sample) <= USUAL_ROWS else 0.0


def paving_of(fitted: FittedRegion, tolerance: float) -> Paving:
    """Cover a region by boxes; see `ConfidenceRegion.paving`."""
    if not (isinstance(tolerance, Real) and 0 < tolerance < 1):
        raise InvalidValueError(
            f"must be between 0 and 1. Got {tolerance!r} instead.", parameter="tolerance"
        )
    domain = domain_of(fitted) if is_provable(fitted, certify=True) else None
    if domain is None:
        raise InvalidValueError(
            "A paving needs a logistic, probit, cloglog or recalibration family with up to three "
            "parameters, a score, discrepancy or combined statistic, and outcomes that overlap: "
            "use grid() or intervals()."
        )
    return pave(fitted, domain, tolerance=tolerance, budget=LARGE_BUDGET)


def _probes_for(fitted: FittedRegion) -> int:
    """Return the number of probes of one audit, fewer where a rank takes long."""
    affordable = PROBE_WORK / (fitted.accepted.m * fitted.sample.inputs.total)
    return int(np.clip(affordable, *PROBES))


def focused_bounds(
    fitted: FittedRegion,
    g: Functionals,
    gradient: Callable[[FloatArray], FloatArray],
    *,
    number: LinearRatios | None = None,
    certify: bool | None = False,
    scale: Scale | None = None,
) -> Bounds:
    """Bound one functional over the θ accepted by its own statistic and by the joint region.

    In some curved families it is bounded over the joint region alone: see `is_projected`.
    `number` is the same, if it is linear in θ or a ratio of such; `certify` and `scale` are as for
    `joint_bounds`.
    """
    if is_projected(fitted):
        return joint_bounds(fitted, g, 1, numbers=number, certify=certify, scale=scale)
    alone = number is not None and can_enclose(fitted)
    linear = g if number is None and isinstance(g, LinearRatios) else number
    focused = FocusedSearch(fitted, gradient, numbers=linear, alone=alone)

    def search(probes: int) -> Bounds:
        found = focused.bounds(g, probes=probes)
        return _with_open_ends(found, number, lambda: far_members(fitted, focused.inside))

    prove = None
    if number is not None and _is_affordable(fitted, certify):
        prove = partial(
            _certified,
            fitted,
            numbers=number,
            certify=certify,
            rules=[(focused.joint, None), (focused.focused, number)],
            gap=FOCUSED_GAP,
            scale=scale,
        )
    return _proven_or_audited(fitted, search, prove)


def number_bounds(
    fitted: FittedRegion,
    number: LinearRatios,
    certify: bool | None,
    scale: Scale | None = None,
) -> Bounds:
    """Bound one number that is linear in θ, or a ratio of such, on its own."""
    return focused_bounds(
        fitted, number, number.gradient, number=number, certify=certify, scale=scale
    )


def _with_open_ends(
    found: Bounds, numbers: LinearRatios | None, find_far: Callable[[], FarMembers | None]
) -> Bounds:
    """Return the bounds with infinite ends where numbers that are linear have none."""
    linear = numbers is not None and numbers.denominator is None
    far = find_far() if linear else None
    if numbers is not None and far is not None and far.members:
        upper, lower = far.without_end(numbers.numerator), far.without_end(-numbers.numerator)
        found = replace(
            found,
            lower=np.where(lower, -np.inf, found.lower),
            upper=np.where(upper, np.inf, found.upper),
            gaps=np.where([lower, upper], 0.0, found.gaps),
            evaluations=found.evaluations + far.evaluations,
        )
    # nothing lies outside of all numbers
    everything = np.isneginf(found.lower) & np.isposinf(found.upper)
    return replace(found, certified=found.certified | everything)


def _gap(fitted: FittedRegion, gap: float) -> float:
    return LARGEST_GAP if fitted.n_parameters == LARGEST else gap


def _budget(*, is_empty: bool, certify: bool | None) -> float:
    """Return the work that a proof may take; less where it would be that the set is empty."""
    return LARGE_BUDGET if certify else EMPTY_BUDGET if is_empty else BUDGET


def _certified(
    fitted: FittedRegion,
    found: Bounds,
    *,
    numbers: OfParameters,
    certify: bool | None,
    rules: Sequence[AcceptedBy],
    gap: float,
    scale: Scale | None,
) -> Bounds:
    """Prove the ends of numbers, starting from those that a search found."""
    if found.certified.all():
        return found
    domain = domain_of(fitted)
    budget = _budget(is_empty=bool(np.isnan(found.lower).all()), certify=certify)
    if domain is not None:
        return _proven(fitted, found, numbers, rules, domain, gap=gap, budget=budget, scale=scale)
    if not isinstance(numbers, LinearRatios) or numbers.denominator is not None:
        return found
    parts = []
    for index, a in enumerate(numbers.numerator):
        part, domain = found.of(index), None
        # the end of a half-open interval, if all members beyond it lie in a box
        if np.isposinf(part.upper[0]) and np.isfinite(part.lower[0]):
            domain = domain_below(fitted, a, part.lower[0] + part.gaps[0, 0])
        elif np.isneginf(part.lower[0]) and np.isfinite(part.upper[0]):
            domain = domain_below(fitted, -a, part.gaps[1, 0] - part.upper[0])
        if domain is not None:
            number = numbers[index : index + 1]
            part = _proven(
                fitted, part, number, rules, domain, gap=gap, budget=budget / SHARES, scale=None
            )
        parts.append(part)
    return Bounds.joined(parts)


def _proven(
    fitted: FittedRegion,
    found: Bounds,
    numbers: OfParameters,
    rules: Sequence[AcceptedBy],
    domain: Domain,
    *,
    gap: float,
    budget: float,
    scale: Scale | None,
) -> Bounds:
    """Prove ends over a domain, which holds all members or those beyond the one end to prove."""
    window = domain.window
    known = np.stack([found.upper - found.gaps[1], -found.lower - found.gaps[0]], axis=1)
    known[np.isnan(known)] = -np.inf
    if domain is domain_of(fitted):
        # what a search calls open may have an end far out
        known[np.isposinf(known)] = -np.inf

    ends = proven_ends(
        rules_over(fitted, domain, *rules),
        domain,
        numbers.in_window(window),
        known.ravel(),
        tolerance=_gap(fitted, gap),
        budget=budget,
        scale=scale,
    )
    return _with_ends(found, ends, numbers.in_window(window).open_length)


def _proven_in_charts(
    fitted: FittedRegion,
    found: Bounds,
    *,
    numbers: LinearRatios | LogitsAt,
    certify: bool | None,
    scale: Scale | None,
) -> Bounds:
    """Prove ends over all parameters of a family; those that a search calls open stay so."""
    if found.certified.all():
        return found
    known = np.stack([found.upper - found.gaps[1], -found.lower - found.gaps[0]], axis=1)
    known[np.isnan(known)] = -np.inf
    ends, open_length = ends_in_charts(
        fitted,
        numbers,
        known.ravel(),
        tolerance=LARGEST_GAP if fitted.n_parameters == LARGEST else JOINT_GAP,
        budget=_budget(is_empty=bool(np.isnan(found.lower).all()), certify=certify),
        scale=scale,
    )
    return _with_ends(found, ends, open_length)


def _with_ends(found: Bounds, ends: ProvenEnds, open_length: FloatArray) -> Bounds:
    """Return the bounds with ends that are proven, where these are close to members."""
    if ends.is_empty:
        return Bounds.empty(len(found.lower), certified=True)
    bound, value = ends.bound.reshape(-1, 2), ends.value.reshape(-1, 2)
    has_no_end = np.isposinf(value)
    gaps = np.where(has_no_end, 0.0, bound - np.where(has_no_end, 0.0, value))
    left = gaps.max(axis=1)
    length = np.where(has_no_end.any(axis=1), open_length[::2], value.sum(axis=1))
    proven = np.isfinite(left) & (left <= WIDEST_GAP * length)
    return Bounds(
        np.where(proven, np.where(has_no_end[:, 1], -np.inf, -bound[:, 1]), found.lower),
        np.where(proven, np.where(has_no_end[:, 0], np.inf, bound[:, 0]), found.upper),
        np.where(proven, gaps.T[::-1], found.gaps),
        proven | found.certified,
        proven | found.settled,
        found.probes,
        found.evaluations + ends.boxes,
        found.seconds + ends.seconds,
    )
