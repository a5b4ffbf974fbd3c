"""CornerDisplay: projections of regions with several parameters."""

from itertools import pairwise

import numpy as np
import pytest
from support.pictures import notes

import exactregion as er
from exactregion.errors import InvalidValueError
from exactregion.plotting import CornerDisplay


@pytest.fixture(scope="module", autouse=True)
def quick_searches():
    """Give searches all their time: members must reach the ends, and not go beyond."""


SQUARE = np.array([[-1, -1, -1], [1, -1, 1], [1, 1, -1], [-1, 1, 1], [0, 0, 0]], dtype=float)


def corner(**changes):
    arrays = {
        "members": SQUARE,
        "intervals": np.array([[-1.1, 1.1]] * 3),
        "limits": np.array([[-1.5, 1.5]] * 3),
        "names": ("a", "b", "c"),
        "estimate": np.array([0.1, 0.2, 0.3]),
        "coverage": 0.95,
    }
    return CornerDisplay(**(arrays | changes))


def legend(display):
    return display.ax_[0, 0].get_legend()


def legend_texts(display):
    return [text.get_text() for text in legend(display).get_texts()]


def test_panels_fill_the_lower_triangle():
    display = corner().plot()
    drawn = np.array([[ax is not None for ax in row] for row in display.ax_])
    np.testing.assert_array_equal(drawn, np.tri(3, dtype=bool))
    assert [display.ax_[2, k].get_xlabel() for k in range(3)] == ["a", "b", "c"]
    assert [display.ax_[k, 0].get_ylabel() for k in range(3)] == ["", "b", "c"]
    assert display.figure_ is display.ax_[0, 0].figure


def test_hulls_are_those_of_the_members():
    display = corner().plot()
    for row, column in ((1, 0), (2, 0), (2, 1)):
        (patch,) = display.ax_[row, column].patches
        corners = {tuple(point) for point in patch.get_xy()}
        assert corners == {(-1, -1), (-1, 1), (1, -1), (1, 1)}


def test_estimate_and_truth_are_in_every_panel():
    display = corner(truth=np.array([0.5, 0.6, 0.7])).plot()
    for row, column in ((1, 0), (2, 0), (2, 1)):
        estimate, truth = display.ax_[row, column].lines
        np.testing.assert_array_equal(estimate.get_xydata(), [display.estimate[[column, row]]])
        np.testing.assert_array_equal(truth.get_xydata(), [display.truth[[column, row]]])
    assert legend_texts(display) == ["projection", "joint interval", "estimate", "truth"]


def test_intervals_are_on_the_diagonal():
    display = corner(intervals=np.array([[-1.1, 1.1], [-np.inf, 1.0], [0.0, np.inf]])).plot()
    shown = [notes(display.ax_[k, k]) for k in range(3)]
    assert shown == [["a", "[−1.10, 1.10]"], ["b", "(−∞, 1.00]"], ["c", "[0.00, ∞)"]]
    bars = [display.ax_[k, k].lines[0].get_xdata() for k in range(3)]
    np.testing.assert_array_equal(bars, [(-1.1, 1.1), (-1.5, 1.0), (0.0, 1.5)])
    markers = [[line.get_marker() for line in display.ax_[k, k].lines[1:3]] for k in range(3)]
    assert markers == [["|", "|"], ["<", "|"], ["|", ">"]]


def test_title_and_status():
    assert legend(corner().plot()).get_title().get_text() == "Exact 95%\nconfidence region"
    assert legend_texts(corner(status="unbounded").plot())[-1] == (
        "unbounded:\nthe region goes on past the edge"
    )
    assert legend_texts(corner(status="disconnected").plot())[-1] == (
        "disconnected:\nthe hulls bridge the gaps"
    )


def test_empty_has_no_hull_and_no_interval():
    nothing = {"members": np.empty((0, 3)), "intervals": np.full((3, 2), np.nan)}
    display = corner(**nothing, status="empty").plot()
    said = ["estimate, not a member", "empty:\nno member of the family fits"]
    assert legend_texts(display) == said
    assert [len(display.ax_[row, column].patches) for row, column in ((1, 0), (2, 1))] == [0, 0]
    assert notes(display.ax_[0, 0]) == ["a"]
    assert display.ax_[1, 0].lines[0].get_marker() == "x"


def test_axes_of_subplots_are_divided(ax):
    display = corner().plot(ax)
    assert display.figure_ is ax.figure
    assert not ax.axison
    display = corner().plot(ax.figure.subplots(2, 2)[1, 1], facecolor="0.5")
    assert display.ax_[1, 0].patches[0].get_facecolor()[:3] == (0.5, 0.5, 0.5)
    with pytest.raises(InvalidValueError, match="'ax' parameter of a corner plot"):
        corner().plot(ax.figure.add_axes((0, 0, 1, 1)))


@pytest.mark.parametrize("d", [2, 6])
def test_labels_of_a_row_keep_apart(d):
    rng = np.random.default_rng(d)
    scale = 10.0 ** rng.integers(-3, 3, d)
    display = CornerDisplay(
        rng.normal(size=(50, d)) * scale,
        np.column_stack([-3 * scale, 3 * scale]),
        np.column_stack([-3.3 * scale, 3.3 * scale]),
        names=tuple(f"parameter {k}" for k in range(d)),
        estimate=np.zeros(d),
        coverage=0.95,
    ).plot()
    display.figure_.draw_without_rendering()
    labels = [
        label.get_window_extent()
        for column in range(d)
        for label in display.ax_[d - 1, column].get_xticklabels()
    ]
    assert len(labels) >= 2 * d
    canvas = display.figure_.bbox
    for axis in [ax.yaxis for ax in display.ax_[1:, 0]] + [ax.xaxis for ax in display.ax_[-1]]:
        label = axis.label.get_window_extent()
        assert canvas.contains(*label.min)
        assert canvas.contains(*label.max)
        assert not any(label.overlaps(tick.get_window_extent()) for tick in axis.get_ticklabels())
    for left, right in pairwise(labels):
        assert left.x1 < right.x0
    for column in range(d):
        widths = [text.get_window_extent().width for text in display.ax_[column, column].texts]
        assert max(widths) < display.ax_[column, column].get_window_extent().width * 1.05


@pytest.fixture
def searched():
    """Three parameters, which no other file has searched quickly."""
    data = er.datasets.spector()
    region = er.ConfidenceRegion("logistic", n_resamples=39, rng=0)
    return region.fit(data[["GPA", "PSI"]], data["GRADE"])


def test_members_are_members_and_reach_the_joint_intervals(searched):
    display = searched.plot(rays=90)
    assert isinstance(display, CornerDisplay)
    assert display.names == searched.parameter_names_
    assert searched.contains(display.members).all()
    low, high = display.members.min(axis=0), display.members.max(axis=0)
    width = np.diff(display.intervals)[:, 0]
    assert (low >= display.intervals[:, 0] - 1e-9 * width).all()
    assert (high <= display.intervals[:, 1] + 1e-9 * width).all()
    assert ((high - low) / width > 0.8).all()


def test_unbounded_hulls_run_off_the_picture(separated):
    display = separated.plot("corner", rays=40)
    assert legend_texts(display)[-1].startswith("unbounded")
    assert separated.contains(display.members).all()
    assert display.members[:, 1].max() > display.limits[1, 1]


def test_empty_region(bent):
    display = bent.plot("corner")
    assert len(display.members) == 0
    assert legend_texts(display)[-1].startswith("empty")


def test_needs_two_parameters(slope):
    with pytest.raises(InvalidValueError, match=r"two or more parameters. Got 1 instead"):
        slope.plot("corner")
