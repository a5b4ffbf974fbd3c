"""The report of a region: parameters to point at, curves, and intervals."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from exactregion.plotting import wording
from exactregion.report.bands import band_figure
from exactregion.report.candidates import Cloud, Line, Surface, pointable
from exactregion.report.curves import MOST_INPUTS, Curves, curves_along_inputs
from exactregion.report.facts import code_of, region_facts
from exactregion.report.figures import shortened
from exactregion.report.parts import Explorer, Page, Section, Words
from exactregion.report.planes import axis_names, plane_figure
from exactregion.report.tables import interval_table

if TYPE_CHECKING:
    from exactregion.region import ConfidenceRegion

__all__ = ["page_of_region"]


def page_of_region(region: ConfidenceRegion, title: str | None = None) -> Page:
    """Gather the page of a region."""
    with region._progress("report"):
        points = pointable(region)
        curves = curves_along_inputs(region, points.theta)
        focused, joint = region.intervals(), region.intervals(joint=True)
    level = wording.percent(region.coverage_)
    return Page(
        title=title or "Confidence region",
        question=_question(region),
        answer=wording.answer_of_region(region),
        guarantee=wording.guarantee_of_region(region),
        verdict=_verdict(region),
        facts=region_facts(region),
        sections=[
            Section(
                "Parameters and their curves",
                [_explorer(region, points, curves), Words(_remarks(region, curves))],
            ),
            Section(
                "Intervals",
                [
                    interval_table(f"Each parameter on its own, {level} each", focused),
                    interval_table(f"All parameters at once, {level} together", joint),
                    Words([_about_intervals(region)]),
                ],
                beside=True,
            ),
        ],
        assumptions=[
            "Rows are independent of each other.",
            "The true probabilities belong to the family, for some value of its parameters. If "
            "not, the region may miss what is nearest to them, or be empty.",
            "Whether one setting of the parameters is in the region is known exactly; the edges, "
            "intervals and bands were found by search.",
        ],
        code=code_of(region),
    )


def _question(region: ConfidenceRegion) -> str:
    names = [shortened(name, 30) for name in region.parameter_names_]
    if len(names) == 1:
        return f"Which values of {names[0]} fit the outcomes?"
    if len(names) > 4:
        return f"Which values of the {len(names)} parameters fit the outcomes?"
    return f"Which values of {', '.join(names[:-1])} and {names[-1]} fit the outcomes together?"


def _verdict(region: ConfidenceRegion) -> str:
    return {"empty": "against", "unbounded": "open"}.get(region.status_, "fits")


def _about_intervals(region: ConfidenceRegion) -> str:
    if region.is_empty_:
        return "These intervals suppose that the family is right, which the outcomes speak against."
    return (
        "Ends are the first values that were rejected, so that intervals are a little too wide "
        "rather than too short."
    )


def _explorer(
    region: ConfidenceRegion, points: Line | Surface | Cloud, curves: list[Curves]
) -> Explorer:
    ranks = region.accepted_ranks_
    return Explorer(
        plane=plane_figure(region, points),
        bands=[band_figure(region, one, number) for number, one in enumerate(curves)],
        inputs=[one.column.name for one in curves],
        hint=_hint(bool(curves)),
        parameters=[
            {
                "name": shortened(name),
                "digits": _digits(float(np.ptp(values))),
                "limits": ends.tolist(),
                "best": float(best),
            }
            for name, values, ends, best in zip(
                region.parameter_names_, points.theta.T, points.box, region.estimate_, strict=True
            )
        ],
        sliders=_sliders(region, points),
        pairs=isinstance(points, Cloud),
        ranks={"m": ranks.m, "low": ranks.low, "high": ranks.high},
    )


def _hint(curves: bool) -> str:
    shown = "its curve, rank and p-value" if curves else "its rank and p-value"
    return (
        f"Point at a setting of the parameters to see {shown}; tap or click to keep it. The "
        "sliders do the same."
    )


def _digits(width: float) -> int:
    return int(np.clip(2 - np.floor(np.log10(width / 2)), 0, 12)) if width > 0 else 3


def _sliders(region: ConfidenceRegion, points: Line | Surface | Cloud) -> list[dict[str, Any]]:
    names = region.parameter_names_
    if isinstance(points, Surface):
        return [
            {"label": name, "size": len(axis), "start": len(axis) // 2}
            for name, axis in zip(axis_names(region, points), points.axes, strict=True)
        ]
    label = names[0] if isinstance(points, Line) else "From best to worst fit"
    start = len(points.theta) // 2 if isinstance(points, Line) else 0
    return [{"label": label, "size": len(points.theta), "start": start}]


def _remarks(region: ConfidenceRegion, curves: list[Curves]) -> list[str]:
    remarks = []
    status = region.status_
    if status == "empty":
        pvalue = (region.accepted_ranks_.m - region.outline().rank + 1) / region.accepted_ranks_.m
        remarks.append(
            f"The search found no member. The least incompatible setting has a p-value of "
            f"{pvalue:.4g}."
        )
    if status == "unbounded":
        remarks.append(
            "The region goes on past the edge of the figure: it has no end in at least one "
            "direction, and the figure shows the part around the most compatible setting."
        )
    if status == "disconnected":
        remarks.append("The search met the region in several pieces; the band fills the gaps.")
    if not curves:
        remarks.append(
            "No curves are drawn: the inputs are not columns that vary, or the family has no "
            "probabilities between those of the data."
        )
    if len(curves) == MOST_INPUTS:
        remarks.append(f"Curves are shown along {MOST_INPUTS} inputs at most.")
    return remarks
