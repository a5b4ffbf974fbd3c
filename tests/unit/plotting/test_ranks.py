"""RankDisplay: what is drawn over the plane of two parameters."""

import numpy as np
import pytest
from support.pictures import legend_texts, notes

import exactregion as er
from exactregion.errors import InvalidTypeError, InvalidValueError
from exactregion.plotting import RankDisplay

SMALL = {"points": 15, "levels": 6}


@pytest.fixture(scope="module")
def built(oring):
    """The arrays of a picture, made once."""
    return vars(RankDisplay.from_region(oring, truth=(15.0, -0.23), **SMALL))


@pytest.fixture
def display(built):
    names = ("theta", "pvalues", "axes", "member", "names", "estimate", "coverage", "levels")
    kept = {name: built[name] for name in (*names, "status", "truth")}
    return RankDisplay(**kept)


def test_arrays_are_those_of_the_region(display, oring):
    some = np.random.default_rng(0).choice(len(display.theta), 20, replace=False)
    np.testing.assert_array_equal(display.pvalues[some], oring.pvalue(display.theta[some]))
    np.testing.assert_array_equal(display.estimate, oring.estimate_)
    assert display.coverage == oring.coverage_
    kept = (display.pvalues > display.levels[0]) & (display.pvalues <= display.levels[1])
    np.testing.assert_array_equal(kept, oring.contains(display.theta))


def test_contour_encloses_the_members(display):
    display.plot()
    corners = np.vstack([path.vertices for path in display.contour_.get_paths()])
    for axis, column, inside in zip(
        display.axes, corners.T, (display.member.any(1), display.member.any(0)), strict=True
    ):
        step = axis[1] - axis[0]
        assert column.min() == pytest.approx(axis[inside].min(), abs=step)
        assert column.max() == pytest.approx(axis[inside].max(), abs=step)


def test_labels_title_and_colour_bar(display):
    assert display.plot() is display
    ax = display.ax_
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("intercept", "temp")
    assert ax.get_title(loc="left") == "Exact 95% confidence region"
    assert bool(notes(ax)) == (display.status != "bounded")
    assert display.colorbar_.ax.get_ylabel() == "p-value"
    assert display.image_.get_clim() == (0, 1)
    np.testing.assert_array_equal(display.image_.get_array(), display.pvalues)
    (level,) = display.colorbar_.ax.lines
    np.testing.assert_allclose(level.get_ydata(), 0.05)
    assert display.figure_ is ax.figure


def test_estimate_and_truth_are_marked(display):
    display.plot()
    assert legend_texts(display.ax_) == ["95% region", "estimate", "truth"]
    drawn = {line.get_label(): line.get_xydata()[0] for line in display.ax_.lines}
    np.testing.assert_array_equal(drawn["estimate"], display.estimate)
    np.testing.assert_array_equal(drawn["truth"], (15.0, -0.23))


def test_truth_is_optional_and_the_axes_may_be_given(display, ax):
    display.truth = None
    assert display.plot(ax, cmap="viridis").ax_ is ax
    assert legend_texts(ax) == ["95% region", "estimate"]
    assert display.image_.get_cmap().name == "viridis"


def test_unbounded_is_said(separated):
    display = RankDisplay.from_region(separated, **SMALL)
    assert notes(display.ax_) == ["unbounded: the region goes on past the edge"]


def test_a_box_of_the_user_that_cuts_a_bounded_region_is_not_called_unbounded(oring):
    display = RankDisplay.from_region(oring, box=[(5, 20), (-0.3, -0.1)], **SMALL)
    assert display.ax_.get_xlim() == (5, 20)
    assert notes(display.ax_) == ["cut: the region goes on past the edge"]


def test_disconnected_is_said_with_the_pieces(display):
    display.status = "disconnected"
    display.member = np.zeros((65, 65), dtype=bool)
    display.member[10:20, 10:20] = display.member[40:45, 40:45] = True
    display.plot()
    assert notes(display.ax_) == ["disconnected: 2 pieces, the largest with 80% of the area"]


def test_empty_is_said_and_has_no_contour(bent):
    display = RankDisplay.from_region(bent, **SMALL)
    assert display.contour_ is None
    (note,) = notes(display.ax_)
    assert note.startswith("empty: no member of the family fits, p ≤ 0.025")
    assert legend_texts(display.ax_) == ["estimate, not a member"]
    assert display.ax_.lines[0].get_marker() == "x"


def test_both_levels_of_two_sided_ranks_are_on_the_colour_bar(built):
    names = ("theta", "pvalues", "axes", "member", "names", "estimate", "coverage")
    display = RankDisplay(**{name: built[name] for name in names}, levels=(0.1, 0.9)).plot()
    levels = {line.get_ydata()[0] for line in display.colorbar_.ax.lines}
    assert levels == {0.1, 0.9}


@pytest.mark.parametrize(
    ("truth", "error", "message"),
    [
        ((1.0,), InvalidValueError, "'truth' parameter must have 2 finite numbers"),
        ((1.0, np.nan), InvalidValueError, "'truth' parameter must have 2 finite numbers"),
        ("here", InvalidTypeError, "'truth' parameter must hold numbers. Got 'here' instead"),
    ],
)
def test_bad_truth(oring, truth, error, message):
    with pytest.raises(error, match=message):
        RankDisplay.from_region(oring, truth=truth)


def test_a_thin_region_can_be_drawn_upright(oring):
    display = RankDisplay.from_region(oring, upright=True, **SMALL)
    assert display.shear < -50  # about the mean temperature
    label = f"intercept + {-display.shear:g} · temp"
    assert display.ax_.get_xlabel() == label
    assert display.regular == (15, 15)
    places = display.places(display.theta[: 15 * 15]).reshape(15, 15, 2)
    np.testing.assert_allclose(places[:, 0, 0], np.linspace(*display.ax_.get_xlim(), 15))
    np.testing.assert_allclose(places[0, :, 1], np.linspace(*display.ax_.get_ylim(), 15))
    np.testing.assert_array_equal(display.pvalues, oring.pvalue(display.theta))


def test_an_upright_picture_chooses_its_box(oring):
    with pytest.raises(InvalidValueError, match="'box' parameter cannot be combined with upright"):
        RankDisplay.from_region(oring, upright=True, box=[(5, 20), (-0.3, -0.1)])


def test_the_boundary_has_members_inside(oring):
    display = RankDisplay.from_region(oring, upright=True, draw=False)
    edge = np.concatenate(display.boundary())
    middle = display.places(oring.estimate_)
    for scale, low, high in ((0.8, 0.95, 1.0), (1.3, 0.0, 0.05)):
        places = scale * edge + (1 - scale) * middle
        theta = places + display.shear * places[:, 1:] * [1, 0]
        assert low <= oring.contains(theta).mean() <= high


def test_needs_two_parameters(slope, three):
    for region, d in ((slope, 1), (three, 3)):
        with pytest.raises(InvalidValueError, match=f"two parameters. Got {d} instead"):
            RankDisplay.from_region(region)


def test_region_plot_draws_it(oring):
    assert isinstance(oring.plot(**SMALL), RankDisplay)
    with pytest.raises(InvalidValueError, match=r"'kind' parameter of plot .* Got 'pie' instead"):
        oring.plot("pie")
    with pytest.raises(er.errors.NotFittedError):
        er.ConfidenceRegion("logistic").plot()
