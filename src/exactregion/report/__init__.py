"""Reports: one HTML page that needs no network, for a test, a region, a belt or segments.

The figures are drawn from the arrays of the Displays in `exactregion.plotting`, and answer the
pointer; all that they need is in the page. Bokeh and Jinja2 are loaded when a report is written,
not before.
"""

from __future__ import annotations

from os import PathLike
from pathlib import Path

from exactregion.calibration import CalibrationBelt
from exactregion.data.files import write_whole
from exactregion.errors import InvalidTypeError, optional_module
from exactregion.region import ConfidenceRegion
from exactregion.testing.result import ExactTestResult
from exactregion.testing.segment_result import SegmentTestResult

__all__ = ["write_report"]


def write_report(
    result: ExactTestResult | ConfidenceRegion | CalibrationBelt | SegmentTestResult,
    path: str | Path,
    *,
    title: str | None = None,
) -> Path:
    """Write the report of a result: its answer, figures and tables, and what they assume.

    Parameters
    ----------
    result : ExactTestResult, ConfidenceRegion, CalibrationBelt or SegmentTestResult
        Returned by `model_test`, `calibration_test`, `calibration_belt` or `segment_test`, or a
        fitted region.
    path : str or Path
        Where the page goes; an old one is replaced when the new one is complete.
    title : str, optional
        Heading of the page.

    Returns
    -------
    Path
        The page.

    Examples
    --------
    >>> import exactregion as er
    >>> flights = er.datasets.oring()
    >>> result = er.model_test([1 / 3] * 23, flights[["temp"]], flights["y"], rng=0)
    >>> write_report(result, "test.html")  # doctest: +SKIP
    """
    if not isinstance(path, str | PathLike):
        raise InvalidTypeError(
            f"must be a path. Got {type(path).__name__} instead.", parameter="path"
        )
    for package in ("bokeh", "jinja2"):
        optional_module(package, "A report", "report")
    from exactregion.report.belts import page_of_belt
    from exactregion.report.page import render
    from exactregion.report.regions import page_of_region
    from exactregion.report.segments import page_of_segments
    from exactregion.report.tests import page_of_test

    if isinstance(result, ExactTestResult):
        page = page_of_test(result, title)
    elif isinstance(result, CalibrationBelt):
        page = page_of_belt(result, title)
    elif isinstance(result, SegmentTestResult):
        page = page_of_segments(result, title)
    else:
        page = page_of_region(result, title)
    html = render(page).encode("utf-8")
    return write_whole(Path(path), lambda file: file.write(html))
