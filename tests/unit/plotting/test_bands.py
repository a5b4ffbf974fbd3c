"""BandDisplay: the band, its data, and where it does not decide."""

import numpy as np
import pandas as pd
import pytest
from support.pictures import legend_texts, notes, spans

import exactregion as er
from exactregion.errors import InvalidTypeError, InvalidValueError
from exactregion.plotting import BandDisplay

X = np.array([0.0, 1.0, 2.0, 3.0, 4.0])
LOWER = np.array([0.0, 0.1, 0.3, 0.7, 0.9])


def band(**changes):
    answers = {
        "X": X,
        "lower": LOWER,
        "upper": LOWER + 0.1,
        "estimate": LOWER + 0.05,
        "coverage": 0.95,
        "joint": True,
        "status": "bounded",
        "gap": 0.001,
        "certified": True,
        "probes": 0,
        "evaluations": 1,
        "seconds": 0.0,
    }
    return er.Band(**(answers | changes))


def test_band_and_estimate_are_drawn():
    display = band().plot()
    assert isinstance(display, BandDisplay)
    np.testing.assert_array_equal(display.line_.get_xydata(), np.column_stack([X, LOWER + 0.05]))
    corners = display.band_.get_paths()[0].vertices
    for x, low in zip(X, LOWER, strict=True):
        heights = corners[corners[:, 0] == x, 1]
        assert (heights.min(), heights.max()) == (low, low + 0.1)
    ax = display.ax_
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("x", "P(Y = 1 | x)")
    assert notes(ax) == []
    assert display.figure_ is ax.figure


@pytest.mark.parametrize(("joint", "word"), [(True, "simultaneous"), (False, "individual")])
def test_the_legend_names_the_kind_and_its_coverage(joint, word):
    ax = band(joint=joint, coverage=0.9).plot().ax_
    assert legend_texts(ax)[:2] == [f"90% {word} band", "estimate"]


def test_undecided_zone_is_where_the_band_holds_a_half():
    ax = band().plot().ax_
    np.testing.assert_allclose(spans(ax), [(2.25, 2.5)])
    assert legend_texts(ax)[-1] == "undecided: band contains 1/2"


def test_no_zone_where_all_is_decided_and_several_where_not():
    high = np.full(5, 0.8)
    assert len(band(lower=high, upper=high + 0.1).plot().ax_.patches) == 0
    wave = np.array([0.4, 0.8, 0.4, 0.8, 0.4])
    ax = band(lower=wave, upper=np.full(5, 0.9)).plot().ax_
    np.testing.assert_allclose(spans(ax), [(0, 0.25), (1.75, 2.25), (3.75, 4)])
    assert legend_texts(ax).count("undecided: band contains 1/2") == 1


def test_labels_are_ticks_outside_of_the_curve():
    x, y = pd.Series([0.5, 0.5, 3.0], name="dose"), [0, 1, 1]
    ax = band().plot((x, y)).ax_
    assert ax.get_xlabel() == "dose"
    (ticks,) = [line for line in ax.lines if line.get_label() == "data (n = 3)"]
    np.testing.assert_array_equal(ticks.get_xdata(), x)
    heights = ticks.get_ydata()
    assert heights[0] < 0
    assert (heights[1:] > 1).all()
    low, high = ax.get_ylim()
    assert ((heights > low) & (heights < high)).all()
    assert ticks.get_marker() == "|"


def test_counts_are_shares_with_sizes():
    counts = np.array([[0, 10], [15, 5], [0, 0], [40, 0]])
    ax = band().plot(([0.0, 1.0, 2.0, 3.0], counts), name="age").ax_
    (circles,) = [c for c in ax.collections if c.get_label() == "observed shares (n = 70)"]
    np.testing.assert_allclose(circles.get_offsets(), [(0, 0), (1, 0.75), (3, 1)])
    assert (np.diff(circles.get_sizes()) > 0).all()
    assert ax.get_xlabel() == "age"


def test_inputs_are_sorted_and_may_be_a_slice_of_a_table():
    table = np.column_stack([np.full(5, 7.0), X[::-1]])
    turned = {name: getattr(band(), name)[::-1] for name in ("lower", "upper", "estimate")}
    display = band(X=table, **turned).plot()
    np.testing.assert_array_equal(display.x, X)
    np.testing.assert_array_equal(display.lower, LOWER)


def test_options_and_axes(ax):
    display = band().plot(ax=ax, color="red")
    assert display.ax_ is ax
    assert tuple(display.band_.get_facecolor()[0][:3]) == (1, 0, 0)


@pytest.mark.parametrize("status", ["unbounded", "disconnected", "empty"])
def test_unusual_regions_are_said(status):
    (note,) = notes(band(status=status).plot().ax_)
    assert note.startswith(status)


def test_empty_region_has_no_band(bent):
    display = bent.band(np.linspace(-2, 2, 5)).plot()
    assert spans(display.ax_) == []
    assert legend_texts(display.ax_) == ["estimate, not a member"]


def test_of_a_region(oring):
    flights = er.datasets.oring()
    found = oring.band(np.linspace(55, 80, 6))
    display = found.plot(data=(flights[["temp"]], flights["y"]))
    np.testing.assert_array_equal(display.upper, found.upper)
    assert legend_texts(display.ax_)[-1] == "data (n = 23)"


@pytest.mark.parametrize(
    ("changes", "data", "error", "message"),
    [
        ({"X": np.ones(5)}, None, InvalidValueError, "differ in 0 of 1 columns"),
        ({"X": np.column_stack([X, X])}, None, InvalidValueError, "differ in 2 of 2 columns"),
        ({}, X, InvalidTypeError, r"must be a pair \(x, y\). Got ndarray instead"),
        ({}, (np.ones((2, 2)), [0, 1]), InvalidValueError, "one input column.* Got 2 instead"),
        ({}, (X, [0, 1]), InvalidValueError, "same number of rows. Got 5 and 2 instead"),
    ],
)
def test_what_cannot_be_drawn(changes, data, error, message):
    with pytest.raises(error, match=message):
        band(**changes).plot(data)
