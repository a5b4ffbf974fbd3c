"""Ends by rays alone: few ranks, close to those of a thorough search, and never called proven."""

import numpy as np
import pytest

import exactregion as er
from exactregion.region import fitted


def ends_of_ball(radius=2.0, d=3, **options):
    """Ends of two linear numbers over a ball: the first is its first coordinate."""
    from exactregion.region.search.along_rays import ends_along_rays
    from exactregion.region.window import Window

    bounds = np.tile([-np.inf, np.inf], (d, 1))
    window = Window(np.zeros(d), np.eye(d), bounds)
    numbers = np.stack([np.eye(d)[0], np.ones(d)], axis=1)
    return ends_along_rays(
        lambda theta: theta @ numbers,
        lambda theta: 1 - np.linalg.norm(theta, axis=1) / radius,
        window,
        np.random.default_rng(0),
        radius=1.5,
        **options,
    )


@pytest.mark.parametrize("tilts", [(), (0.5,)])
def test_ends_of_a_ball(tilts):
    ends = ends_of_ball(tilts=tilts)
    exact = np.array([2.0, 2 * np.sqrt(3)])
    assert (ends.value <= exact).all()
    assert (ends.bound >= exact).all()
    assert (ends.bound <= 1.05 * exact).all()
    assert ends.settled.all()


def test_few_ranks_of_many_data(monkeypatch):
    rng = np.random.default_rng(0)
    p = rng.uniform(0.05, 0.95, size=400)
    y = rng.random(400) < p
    options = {"n_resamples": 99, "rng": 0, "confidence_level": 0.9}
    thorough = er.ConfidenceRegion("recalibration", **options).fit(p, y)
    ends = thorough.intervals(joint=True, certify=False)
    monkeypatch.setattr(fitted, "MANY_LABELS", 0)
    quick = er.ConfidenceRegion("recalibration", **options).fit(p, y)
    found = quick.intervals(joint=True, certify=False)
    assert not found["certified"].any()
    assert (found["status"] == "bounded").all()
    length = ends["upper"] - ends["lower"]
    assert (np.abs(found["lower"] - ends["lower"]) < 0.1 * length).all()
    assert (np.abs(found["upper"] - ends["upper"]) < 0.1 * length).all()
    assert quick.fitted_._paths.evaluated < 200 < thorough.fitted_._paths.evaluated


@pytest.mark.parametrize(
    ("model", "by_rays"),
    [("recalibration", True), ("probit", True), (er.models.Psychometric(lapse="free"), False)],
)
def test_families_that_may_have_members_far_away_are_searched_thoroughly(
    monkeypatch, model, by_rays
):
    monkeypatch.setattr(fitted, "MANY_LABELS", 0)
    p = np.linspace(0.1, 0.9, 9)
    region = er.ConfidenceRegion(model, n_resamples=19, rng=0).fit(p, p > 0.4)
    assert region.fitted_.can_search_by_rays is by_rays
