"""What people and programs are told of a region: intervals, thresholds, and predictions."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import exactregion as er
from exactregion.cli.output import Page
from exactregion.plotting.formats import estimate_and_interval, percent
from exactregion.region.intervals import interval_records
from exactregion.region.places import values_text
from exactregion.region.summary import zero_tests
from exactregion.region.thresholds import ThresholdPlan

if TYPE_CHECKING:
    import pandas as pd

    from exactregion.report import TextTable

UNRECORDED = {"coverage", "probes", "evaluations", "seconds", "data_range"}
"""What JSON leaves out of a threshold."""

ENDS = ("lower", "upper")


@dataclass(frozen=True, eq=False)
class Description:
    """What people and programs are told of a region, part after part.

    `certified` says which results are proven; `tables` are those that the report cannot make.
    """

    region: er.ConfidenceRegion
    page: Page
    content: dict[str, Any] = field(default_factory=dict)
    certified: dict[str, bool] = field(default_factory=dict)
    tables: dict[str, TextTable] = field(default_factory=dict)

    @property
    def interval(self) -> str:
        """The heading of a column of intervals."""
        return f"{percent(self.region.coverage_)} interval"

    def add_parameters(self, *, joint: bool, pvalues: bool) -> None:
        """Add intervals of the parameters, and p-values of their being zero."""
        intervals = self.region.intervals()
        together = self.region.intervals(joint=True) if joint else None
        tests = zero_tests(self.region.fitted_, only_quick=not pvalues)
        names = ["parameter", "estimate", self.interval]
        rows = [[str(name), *estimate_and_interval(row)] for name, row in intervals.iterrows()]
        proven = intervals["certified"].items()
        self._certify("the intervals", {f"the interval of {name}": yes for name, yes in proven})
        if together is not None:
            names.append("all at once")
            for cells, (_, row) in zip(rows, together.iterrows(), strict=True):
                cells.append(estimate_and_interval(row)[1])
            self.certified["the intervals for all at once"] = bool(together["certified"].all())
        if any(tests):
            names.append("p (= 0)")
            for cells, test in zip(rows, tests, strict=True):
                cells.append("" if test is None else f"{test.pvalue:.4g}")
        self.page.table(names, rows)
        self.page.paragraph(f"Estimates: {self.region.estimate_kind_}.")
        self.content["intervals"] = interval_records(intervals)
        self.content["tests"] = [test.to_dict() for test in tests if test is not None] or None
        self.content["joint_intervals"] = None if together is None else interval_records(together)

    def add_thresholds(self, plans: Sequence[ThresholdPlan]) -> None:
        """Add what --ed looks for."""
        found = [plan.find() for plan in plans]
        self.content["thresholds"] = [
            {name: value for name, value in one.to_dict().items() if name not in UNRECORDED}
            for one in found
        ] or None
        if not found:
            return
        self._certify("the thresholds", {one.name: one.certified for one in found})
        names = ["where", "estimate", self.interval]
        rows = [[one.name, *estimate_and_interval(vars(one))] for one in found]
        outside = [one.extrapolates for one in found]
        self._add_table("Thresholds", [one.certified for one in found], names, rows, outside)
        assumed = {name: one.at[name] for one in found for name in one.assumed}
        if assumed:
            self.page.paragraph(
                f"Inputs that are not named are at their median: {values_text(assumed)}."
            )

    def add_predictions(
        self, places: pd.DataFrame, given: list[dict[str, Any]], others: dict[str, Any]
    ) -> None:
        """Add probabilities at the places of --at, of which `given` and `others` are known."""
        self.content["band"] = None
        if not given:
            return
        table, band = self.region.predict(places), self.region.band(places)
        names = ["probability at", "estimate", self.interval, "all at once"]
        rows: list[list[str]] = []
        self.content["band"] = records = []
        given = [place for place in given for _ in range(len(table) // len(given))]  # per class
        for place, found in zip(given, table.to_dict("records"), strict=True):
            named = {"class": found["class"]} if "class" in found else {}
            ends = [[found[f"{kind}{end}"] for end in ENDS] for kind in ("", "simultaneous_")]
            where = ": ".join([values_text(place), *map(str, named.values())])
            rows.append([where, f"{found['estimate']:.3f}", *map(_limits_text, ends)])
            records.append(
                {
                    "at": {**others, **place},
                    **named,
                    "estimate": found["estimate"],
                    **dict(zip(ENDS, ends[1], strict=True)),
                    "gap": band.gap,
                    **{f"individual_{end}": found[end] for end in ENDS},
                    "extrapolates": found["extrapolates"],
                }
            )
        certified = [*table["certified"], band.certified]
        self._add_table("Probabilities", certified, names, rows, list(table["extrapolates"]))
        self.certified["the limits for all places at once"] = band.certified
        self.certified["the limits at each place"] = bool(table["certified"].all())
        if others:
            self.page.paragraph(
                "Inputs that are not named have their median, or most frequent value: "
                f"{values_text(others)}."
            )

    def _certify(self, name: str, parts: dict[str, bool]) -> None:
        """Note which results are proven, under one name where all or none are."""
        same = len(set(parts.values())) == 1
        self.certified.update({name: all(parts.values())} if same else parts)

    def _add_table(
        self,
        what: str,
        certified: Sequence[bool],
        names: list[str],
        rows: list[list[str]],
        outside: Sequence[bool],
    ) -> None:
        """Add a table that says how its limits were found, and which rows are outside the data."""
        if any(outside):
            names = [*names, ""]
            for row, is_outside in zip(rows, outside, strict=True):
                row.append("outside the data" if is_outside else "")
        how = "limits were searched" + (", some are proven" if any(certified) else "")
        if all(certified):
            how = "limits are proven to leave out no member"
        self.tables[f"{what}: {how}"] = names, rows
        self.page.table(names, rows)


def _limits_text(ends: Sequence[float]) -> str:
    return "empty" if math.isnan(ends[0]) else f"[{ends[0]:.3f}, {ends[1]:.3f}]"
