"""Reports: one HTML page that needs no network, for a test, a region or a belt.

The figures can be pointed at; all that they need is in the page. Bokeh and Jinja2 are loaded when a
report is written, not before.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from exactregion.data.files import write_whole
from exactregion.errors import MissingDependencyError

if TYPE_CHECKING:
    from exactregion.calibration import CalibrationBelt
    from exactregion.region import ConfidenceRegion
    from exactregion.report.parts import Page
    from exactregion.testing.result import ExactTestResult

__all__ = ["write_belt_report", "write_region_report", "write_test_report"]


def write_test_report(
    result: ExactTestResult, path: str | Path, *, title: str | None = None
) -> Path:
    """Write the report of a test: its answer, the null distribution and the groups behind it.

    Parameters
    ----------
    result : ExactTestResult
        What `model_test` or `calibration_test` gave.
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
    """Write the report of a region: its answer, intervals, and curves to point at.

    Parameters
    ----------
    region : ConfidenceRegion
        Fitted.
    path : str or Path
        Where the page goes; an old one is replaced when the new one is complete.
    title : str, optional
        Heading of the page.

    Returns
    -------
    Path
        The page.
    """
    _check_packages("write_region_report")
    from exactregion.report.regions import page_of_region

    return _write(page_of_region(region, title), path)


def write_belt_report(belt: CalibrationBelt, path: str | Path, *, title: str | None = None) -> Path:
    """Write the report of a calibration belt: its answer, the belt, and where it is off.

    Parameters
    ----------
    belt : CalibrationBelt
        What `calibration_belt` gave.
    path : str or Path
        Where the page goes; an old one is replaced when the new one is complete.
    title : str, optional
        Heading of the page.

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
    from exactregion.report.rendering import render

    html = render(page).encode("utf-8")
    return write_whole(Path(path), lambda file: file.write(html))
