"""Pages of belts: the belt, its departures, and the predictions below."""

import numpy as np
import pytest

import exactregion as er
from exactregion.report.belts import page_of_belt


def plots(page):
    return {plot.name: plot for plot in page.figures[0].root.children}


def columns(plot, glyph):
    return [
        renderer.data_source.data
        for renderer in plot.renderers
        if type(renderer.glyph).__name__ == glyph
    ]


def test_the_belt_is_drawn_as_it_is(belt):
    page = page_of_belt(belt)
    (area,) = columns(plots(page)["belt"], "VArea")
    assert (area["y1"] == belt.lower).all()
    assert (area["y2"] == belt.upper).all()
    assert plots(page)["belt"].x_range is plots(page)["histogram"].x_range


def test_departures_are_drawn_and_said(belt):
    assert [departure.side for departure in belt.departures] == ["above"]
    page = page_of_belt(belt)
    (off,) = columns(plots(page)["belt"], "MultiLine")
    (departure,) = belt.departures
    assert off["xs"] == [[departure.start, departure.stop]]
    words = page.sections[0].parts[1].texts
    assert len(words) == 1
    assert words[0].endswith("are too low: outcomes are more frequent than predicted.")
    assert page.verdict == "against"


def test_pointing_says_the_bounds_there(belt):
    pointer = page_of_belt(belt).figures[0].pointers[0]
    assert len(pointer.texts) == len(belt.grid) == len(pointer.mark["x0"])
    at = len(belt.grid) // 2
    assert pointer.start[at] <= belt.grid[at] <= pointer.stop[at]
    low, high = belt.lower[at], belt.upper[at]
    assert pointer.texts[at].startswith(
        f"predicted {belt.grid[at]:.3f}\nbetween {low:.3f} and {high:.3f}"
    )


def test_the_histogram_tells_events_from_others(belt):
    happened, others = columns(plots(page_of_belt(belt))["histogram"], "Quad")
    assert happened["top"].sum() == belt.successes.sum()
    assert -others["top"].sum() == (belt.trials - belt.successes).sum()


def test_the_table_has_intercept_and_slope(belt):
    table = page_of_belt(belt).sections[0].parts[2]
    assert [row[0] for row in table.rows] == ["intercept", "slope"]
    lower = float(table.rows[0][2].replace("−", "-"))
    assert lower == pytest.approx(belt.intervals.loc["intercept", "lower"], abs=0.01)


def test_a_belt_that_keeps_the_diagonal_says_so():
    rng = np.random.default_rng(0)
    p = rng.uniform(size=60)
    belt = er.calibration_belt(rng.uniform(size=60) < p, p, n_resamples=39, rng=0)
    page = page_of_belt(belt)
    assert belt.departures == ()
    assert page.verdict == "fits"
    assert page.sections[0].parts[1].texts == ["The diagonal stays within the belt everywhere."]


def test_an_empty_belt_has_a_page_without_a_belt():
    p = np.linspace(0.02, 0.98, 150)
    belt = er.calibration_belt(
        np.abs(p - 0.5) < 0.25, p, statistic="discrepancy", n_resamples=39, rng=0
    )
    assert belt.status == "empty"
    page = page_of_belt(belt)
    assert columns(plots(page)["belt"], "VArea") == []
    assert "there is no belt to draw" in page.sections[0].parts[1].texts[0]
    assert [pointer.plot for pointer in page.figures[0].pointers] == ["histogram"]


def test_a_belt_that_bends_says_so():
    p = np.linspace(0.05, 0.95, 40)
    y = np.random.default_rng(0).random(40) < p
    belt = er.calibration_belt(y, p, degree=2, n_resamples=39, rng=0)
    page = page_of_belt(belt)
    assert "degree=2, confidence_level=0.95" in page.code
    curves = "expit(intercept + slope · logit p + square · (logit p)²)"
    assert curves in page.assumptions[-1]
    assert ("Curves", curves) in page.facts
    table = page.sections[0].parts[2]
    assert table.caption.startswith("Quadratic recalibration")
    assert [row[0] for row in table.rows] == ["intercept", "slope", "square"]
    display = er.plotting.BeltDisplay.from_belt(belt)
    labels = display.ax_.get_legend_handles_labels()[1]
    assert "95% belt of degree 2, simultaneous" in labels
