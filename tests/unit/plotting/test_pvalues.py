"""PValueDisplay: the p-value function of one parameter."""

import numpy as np
import pytest
from support.pictures import notes, spans

import exactregion as er
from exactregion.errors import InvalidValueError
from exactregion.plotting import PValueDisplay

SMALL = {"points": 61, "levels": 8}


def curve(**changes):
    values = np.linspace(0, 10, 101)
    arrays = {
        "values": values,
        "pvalues": np.exp(-((values - 4) ** 2)),
        "ends": np.array([[2.0, 6.0]]),
        "names": ("rate",),
        "estimate": np.array([4.0]),
        "coverage": 0.9,
        "levels": (0.1, 1.0),
    }
    return PValueDisplay(**(arrays | changes)).plot()


def test_function_level_set_and_ends_are_drawn():
    display = curve()
    ax = display.ax_
    np.testing.assert_array_equal(display.line_.get_ydata(), display.pvalues)
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("rate", "p-value")
    assert ax.get_title(loc="left") == "Exact 90% confidence set of rate"
    assert spans(ax) == [(2.0, 6.0)]
    assert notes(ax) == ["2.00", "6.00"]
    legend = [text.get_text() for text in ax.get_legend().get_texts()]
    assert legend == ["p-value", "level 0.1", "90% set", "estimate"]
    level = next(line for line in ax.lines if line.get_label() == "level 0.1")
    assert set(level.get_ydata()) == {0.1}


def test_estimate_and_truth_lie_on_the_function():
    ax = curve(truth=np.array([5.0])).ax_
    drawn = {line.get_label(): line.get_xydata()[0] for line in ax.lines}
    np.testing.assert_allclose(drawn["estimate"], (4.0, 1.0))
    np.testing.assert_allclose(drawn["truth"], (5.0, np.exp(-1)))


def test_endless_side_is_shaded_to_the_edge_without_a_mark():
    ax = curve(ends=np.array([[2.0, np.inf]]), status="unbounded").ax_
    assert spans(ax) == [(2.0, 10.0)]
    assert notes(ax) == ["2.00", "unbounded: the region goes on past the edge"]


def test_pieces_are_shaded_apart_and_counted():
    ax = curve(ends=np.array([[1.0, 2.0], [3.0, 6.0]]), status="disconnected").ax_
    assert spans(ax) == [(1.0, 2.0), (3.0, 6.0)]
    assert notes(ax)[-1] == "disconnected: 2 pieces, the largest with 75% of the length"


def test_empty_is_said():
    display = curve(pvalues=np.full(101, 0.02), ends=np.empty((0, 2)), status="empty")
    assert spans(display.ax_) == []
    assert notes(display.ax_) == ["empty: no member of the family fits, p ≤ 0.02 at all points"]
    assert "estimate, not a member" in [line.get_label() for line in display.ax_.lines]


def test_arrays_are_those_of_the_region(slope):
    display = slope.plot(truth=-0.2, **SMALL)
    assert isinstance(display, PValueDisplay)
    np.testing.assert_array_equal(display.pvalues, slope.pvalue(display.values[:, None]))
    assert (np.diff(display.values) > 0).all()
    assert {-0.2, *display.estimate} <= set(display.values)
    lower, upper = display.ends.min(), display.ends.max()
    assert not slope.contains([[lower], [upper]]).any()
    accepted = display.values[slope.contains(display.values[:, None])]
    inside = (accepted[:, None] > display.ends[:, 0]) & (accepted[:, None] < display.ends[:, 1])
    assert inside.any(axis=1).all()


def test_pieces_between_the_points_of_the_refined_grid_are_found():
    wave = er.models.Function(
        lambda th, x: 0.5 + 0.45 * np.sin(th[:, :1] * x),
        names=("frequency",),
        bounds=[(0, 12)],
        vectorized=True,
    )
    x = np.repeat(np.linspace(0, 3, 7), 6)
    y = np.random.default_rng(0).random(len(x)) < 0.5 + 0.45 * np.sin(4 * x)
    region = er.ConfidenceRegion(wave, n_resamples=99, rng=1).fit(x, y)
    display = region.plot(box=[(0, 12)], points=121, levels=5)
    accepted = display.values[region.contains(display.values[:, None])]
    inside = (accepted[:, None] > display.ends[:, 0]) & (accepted[:, None] < display.ends[:, 1])
    assert inside.any(axis=1).all()
    assert notes(display.ax_)[-1].startswith(f"disconnected: {len(display.ends)} pieces")


def test_a_bound_of_the_parameter_is_an_end():
    coin = er.models.Function(
        lambda th, x: np.full((len(th), len(x)), th[:, :1]),
        names=("p",),
        bounds=[(0, 1)],
        vectorized=True,
    )
    region = er.ConfidenceRegion(coin, statistic="score", n_resamples=99, rng=0)
    display = region.fit(np.zeros(9), np.ones(9)).plot(**SMALL)
    assert display.ends.max() == 1.0
    assert display.status in ("bounded", "disconnected")


def test_needs_one_parameter(oring):
    with pytest.raises(InvalidValueError, match=r"one parameter. Got 2 instead: use region.plot"):
        oring.plot("pvalue")
