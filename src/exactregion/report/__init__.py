"""Reports: one HTML page that needs no network, for a test, a region, a belt, classes or segments.

The figures are drawn from the arrays of the Displays in `exactregion.plotting`, and answer the
pointer; all that they need is in the page. Bokeh and Jinja2 are loaded when a report is written,
not before.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from exactregion.calibration import CalibrationBelt, CalibrationBelts
from exactregion.data.files import write_whole
from exactregion.errors import InvalidTypeError, optional_module
from exactregion.region import ConfidenceRegion
from exactregion.testing.class_result import ClassTestResult
from exactregion.testing.result import ExactTestResult
from exactregion.testing.segment_result import SegmentTestResult

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["write_report"]

TextTable: TypeAlias = tuple[Sequence[str], list[list[str]]]
"""Names of columns, and rows whose first cell is their head."""

Reported: TypeAlias = (
    ExactTestResult
    | ClassTestResult
    | ConfidenceRegion
    | CalibrationBelt
    | CalibrationBelts
    | SegmentTestResult
    | Mapping[str, ExactTestResult]
)


def write_report(
    result: Reported,
    path: str | Path,
    *,
    title: str | None = None,
    groups: pd.DataFrame | None = None,
    belts: CalibrationBelts | None = None,
    tables: Mapping[str, TextTable] | None = None,
    about: Mapping[str, str] | None = None,
    command: str | None = None,
) -> Path:
    """Write the report of a result: its answer, figures and tables, and what they assume.

    Parameters
    ----------
    result : test result, ConfidenceRegion, CalibrationBelt or mapping
        Returned by `model_test`, `calibration_test`, `calibration_belt` or `segment_test`, or a
        fitted region. A mapping has the test, or the belt, of each of several models, by name.
    path : str or Path
        Where the page goes; an old one is replaced when the new one is complete.
    title : str, optional
        Heading of the page.
    groups : DataFrame, optional
        What `calibration_test` with `by` returned: subgroups for the page to list.
    belts : CalibrationBelts, optional
        Belts of the classes of a `ClassTestResult`, for its diagrams.
    tables : mapping of str to (names of columns, rows), optional
        Further tables of text by their captions, such as thresholds and predictions.
    about : mapping of str to str, optional
        Facts that the result does not know, for "Data and settings": ``{"File": "rows.csv"}``.
    command : str, optional
        The command line that made the page, for "Reproduce".

    Returns
    -------
    Path
        The page.

    Examples
    --------
    >>> import exactregion as er
    >>> flights = er.datasets.oring()
    >>> result = er.model_test([1 / 3] * 23, flights[["temp"]], flights["y"], rng=0)
    >>> write_report(result, "test.html", about={"File": "oring.csv"})  # doctest: +SKIP
    """
    if not isinstance(path, str | PathLike):
        raise InvalidTypeError(
            f"must be a path. Got {type(path).__name__} instead.", parameter="path"
        )
    for package in ("bokeh", "jinja2"):
        optional_module(package, "A report", "report")
    from exactregion.report.belts import page_of_belt, page_of_several
    from exactregion.report.classes import page_of_classes
    from exactregion.report.page import Section, Table, render
    from exactregion.report.regions import page_of_region
    from exactregion.report.segments import page_of_segments
    from exactregion.report.tests import page_of_test, section_of_groups

    if isinstance(result, ExactTestResult):
        page = page_of_test(result, title)
    elif isinstance(result, ClassTestResult):
        page = page_of_classes(result, title, belts)
    elif isinstance(result, CalibrationBelt):
        page = page_of_belt(result, title)
    elif isinstance(result, SegmentTestResult):
        page = page_of_segments(result, title)
    elif isinstance(result, Mapping):
        page = page_of_several(result, title)
    else:
        page = page_of_region(result, title)
    if groups is not None:
        page.sections.insert(1, section_of_groups(groups))
    if tables:
        further = [
            # as in the other tables of the page
            Table(caption, [name[:1].upper() + name[1:] for name in names], rows)
            for caption, (names, rows) in tables.items()
        ]
        page.sections.insert(1, Section("Further numbers", list(further)))
    facts = dict(about or {})
    # what the caller knows comes first, and instead of what the result knows by the same name
    page = replace(page, facts=[*facts.items(), *(f for f in page.facts if f[0] not in facts)])
    if command is not None:
        page = replace(page, code=f"# in a terminal\n{command}\n\n# in Python\n{page.code}")
    html = render(page).encode("utf-8")
    return write_whole(Path(path), lambda file: file.write(html))
