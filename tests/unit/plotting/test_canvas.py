"""What the pictures share."""

import sys

import numpy as np
import pytest
from matplotlib.text import Text

from exactregion.errors import InvalidValueError, MissingDependencyError
from exactregion.plotting import (
    BandDisplay,
    CornerDisplay,
    NullDisplay,
    PValueDisplay,
    RankDisplay,
    canvas,
)
from exactregion.plotting.class_curves import ClassBandDisplay


def test_without_matplotlib_the_error_is_the_install_line(monkeypatch, oring, slope, three):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    display = NullDisplay(np.arange(3.0), statistic=1.0, pvalue=0.5, rank=3)
    asked = {
        "RankDisplay.from_region": oring.plot,
        "PValueDisplay.from_region": slope.plot,
        "CornerDisplay.from_region": three.plot,
        "NullDisplay.plot": display.plot,
    }
    for name, ask in asked.items():
        with pytest.raises(MissingDependencyError) as raised:
            ask()
        assert str(raised.value) == (
            f"{name} requires matplotlib, which is not installed. "
            "Install it with: pip install exactregion[plot]"
        )


def test_arrays_are_computed_without_matplotlib(monkeypatch, slope):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    display = PValueDisplay.from_region(slope, points=21, levels=6, draw=False)
    np.testing.assert_array_equal(display.pvalues, slope.pvalue(display.values[:, None]))
    assert not hasattr(display, "ax_")


@pytest.mark.parametrize("kind", ["ranks", "pvalues", "corner", "band"])
def test_names_are_text_and_no_formulas(kind, oring, slope, three):
    r"""A column may be called ``cost $\usd per $kg``, which matplotlib cannot read as a formula."""
    name = r"cost $\usd per $kg"
    if kind == "band":
        display = BandDisplay.from_band(oring.band(np.array([60.0, 70.0])), name=name)
    else:
        region, made = {
            "ranks": (oring, RankDisplay),
            "pvalues": (slope, PValueDisplay),
            "corner": (three, CornerDisplay),
        }[kind]
        display = made.from_region(region, draw=False)
        display.names = (name,) * len(display.names)
        display.plot()
    display.figure_.canvas.draw()
    shown = [text._preprocess_math(text.get_text()) for text in display.figure_.findobj(Text)]
    assert (name, False) in shown


def test_names_of_classes_are_text_too():
    x, share = np.array([0.0, 1.0]), np.full((2, 2), 0.5)
    name, classes = r"cost $\usd per $kg", (r"under $\usd 5$", "over")
    known = {"coverage": 0.95, "joint": True, "name": name}
    display = ClassBandDisplay(x, share, share, share, classes, **known).plot()
    display.figure_.canvas.draw()
    shown = [text._preprocess_math(text.get_text()) for text in display.figure_.findobj(Text)]
    assert {(name, False), (classes[0], False)} <= set(shown)


def test_axes_must_have_a_figure(ax):
    ax.remove()
    with pytest.raises(InvalidValueError, match="'ax' parameter must be axes of a figure"):
        NullDisplay(np.arange(3.0), statistic=1.0, pvalue=0.5, rank=3).plot(ax)


@pytest.mark.parametrize(
    ("by_rays", "by_grid", "said"),
    [
        ("bounded", "bounded", "bounded"),
        ("bounded", "disconnected", "disconnected"),
        ("unbounded", "disconnected", "unbounded"),
        ("bounded", "unbounded", "cut"),
        ("empty", "empty", "empty"),
        ("empty", "bounded", "bounded"),
        ("bounded", "empty", "bounded"),
    ],
)
def test_the_more_unusual_status_is_said(by_rays, by_grid, said):
    assert canvas.joint_status(by_rays, by_grid) == said


def test_the_box_of_an_unbounded_region_shows_the_estimate_well_inside(separated):
    outline = separated.outline()
    low, high = canvas.box_of(outline).T
    share = (outline.estimate - low) / (high - low)
    assert ((share > 0.05) & (share < 0.95)).all()
