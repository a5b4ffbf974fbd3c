"""What a picture of a region shows."""

import pytest

from exactregion.plotting import extent


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
    assert extent.joint_status(by_rays, by_grid) == said


def test_the_box_of_an_unbounded_region_shows_the_estimate_well_inside(separated):
    outline = separated.outline()
    low, high = extent.box_of(outline).T
    share = (outline.estimate - low) / (high - low)
    assert ((share > 0.05) & (share < 0.95)).all()
