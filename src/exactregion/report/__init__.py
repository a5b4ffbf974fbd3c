"""Reports: one HTML page that needs no network, for a test, a region or a belt.

The figures are drawn from the arrays of the Displays in `exactregion.plotting`, and answer the
pointer; all that they need is in the page. Bokeh and Jinja2 are loaded when a report is written,
not before.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from exactregion.data.files import write_whole
from exactregion.errors import MissingDependencyError

if TYPE_CHECKING:
    from exactregion.calibration import CalibrationBelt
    from exactregion.region import ConfidenceRegion
    from exactregion.report.page import Page
    from exactregion.testing.result import ExactTestResult

__all__ = ["write_belt_report", "write_region_report", "write_test_report"]


def write_test_report(
    result: ExactTestResult, path: str | Path, *, title: str | None = None
) -> Path:
    """Write the report of a test: its answer, the null distribution and the outcomes in groups.

    Parameters
    ----------
    result : ExactTestResult
        Returned by `model_test` or `calibration_test`.
    path : str or Path
        Where the page goes; an old one is replaced when the new one is complete.
    title : str, optional
        Heading of the page.

    Returns
    -------
    Path
        The page.
    """
    _check_packages("write_test_report")
    from exactregion.report.tests import page_of_test

    return _write(page_of_test(result, title), path)


def write_region_report(
    region: ConfidenceRegion, path: str | Path, *, title: str | None = None
) -> Path:
    """Write the report of a region: its answer, intervals, and parameters with their curves.

    Parameters
    ----------
    region : ConfidenceRegion
        Fitted.
    path, title
        As for `write_test_report`.

    Returns
    -------
    Path
        The page.
    """
    _check_packages("write_region_report")
    from exactregion.report.regions import page_of_region

    return _write(page_of_region(region, title), path)


def write_belt_report(belt: CalibrationBelt, path: str | Path, *, title: str | None = None) -> Path:
    """Write the report of a calibration belt: its answer, the belt, and the outcomes in groups.

    Parameters
    ----------
    belt : CalibrationBelt
        Returned by `calibration_belt`.
    path, title
        As for `write_test_report`.

    Returns
    -------
    Path
        The page.
    """
    _check_packages("write_belt_report")
    from exactregion.report.belts import page_of_belt

    return _write(page_of_belt(belt, title), path)


def _check_packages(caller: str) -> None:
    try:
        import bokeh  # noqa: F401
        import jinja2  # noqa: F401
    except ImportError as error:
        raise MissingDependencyError(
            f"{caller} requires Bokeh and Jinja2, which are not installed. "
            "Install them with: pip install exactregion[report]"
        ) from error


def _write(page: Page, path: str | Path) -> Path:
    from exactregion.report.page import render

    html = render(page).encode("utf-8")
    return write_whole(Path(path), lambda file: file.write(html))
