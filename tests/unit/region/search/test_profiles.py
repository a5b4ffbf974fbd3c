"""Searches follow regions that leave along a curve, which no straight step does."""

import numpy as np
import pytest
from scipy.special import expit, xlogy

import exactregion as er
from exactregion.errors import ModelError
from exactregion.region.search.outline import outline_of
from exactregion.region.search.plausible import deviance_of
from exactregion.region.search.profiles import CHOSEN, DISTANCES, likely_far_out


def curve(theta, x):
    """Flat curves have a slope near 0 and any threshold."""
    threshold, slope = theta.T[..., None]
    return expit(slope * (np.log(x) - threshold))


def region_of(slope, seed, bounds=None):
    rng = np.random.default_rng(seed)
    x = np.exp(rng.normal(size=60))
    y = (rng.random(60) < expit(slope * (np.log(x) - 0.3))).astype(int)
    family = er.models.Function(curve, names=("threshold", "slope"), bounds=bounds, vectorized=True)
    return er.ConfidenceRegion(family, n_resamples=99, rng=0).fit(x, y)


def far_out(region):
    outline = outline_of(region.fitted_)
    starts = outline.window.theta(outline.starts())
    return likely_far_out(region.fitted_, outline.window, starts)


def test_a_region_that_leaves_along_a_curve_is_called_unbounded():
    region = region_of(0.4, 0)
    y = region.fitted_.sample.successes
    constant = np.log(y.mean() / (1 - y.mean()))
    far = np.array([[a, -constant / a] for a in (-1e4, 1e4)])
    assert region.contains(far).all()
    assert region.status_ == "unbounded"
    for joint in (True, False):
        interval = region.intervals(joint=joint).loc["threshold"]
        assert (interval["lower"], interval["upper"]) == (-np.inf, np.inf)
    assert np.isfinite(region.intervals(joint=True).loc["slope", ["lower", "upper"]].tolist()).all()


def test_a_region_without_flat_curves_stays_bounded():
    region = region_of(3.0, 1)
    assert region.status_ == "bounded"
    assert not region.contains(far_out(region)).any()


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_other_parameters_move_to_where_the_outcomes_are_most_likely(seed):
    region = region_of(0.4, seed)
    theta = far_out(region)[::CHOSEN]
    y = region.fitted_.sample.successes
    constant = -2 * (xlogy(y, y.mean()) + xlogy(1 - y, 1 - y.mean())).sum()
    farthest = theta[[len(DISTANCES) - 1, 2 * len(DISTANCES) - 1]]
    assert farthest[0, 0] < -1e3 < 1e3 < farthest[1, 0]
    np.testing.assert_allclose(deviance_of(region.fitted_, farthest), constant, atol=0.1)


def test_parameters_with_bounds_on_both_sides_are_not_moved_beyond_them():
    region = region_of(1.0, 0, bounds=[(-5, 5), (0, 9)])
    assert far_out(region).shape == (0, 2)


def test_a_function_may_have_no_value_far_out():
    """Members far out have coordinates that are rounded, perhaps to θ without probabilities."""

    def hill(theta, x):
        half, slope = theta.T[..., None]
        return x**slope / (half**slope + x**slope)

    rng = np.random.default_rng([1, 12])
    x = rng.exponential(2, size=12) + 0.05
    y = (rng.random(12) < hill(np.array([[1.5, 1.2]]), x)[0]).astype(int)
    bounds = [(0, np.inf), (0, np.inf)]
    family = er.models.Function(hill, names=("ec50", "slope"), bounds=bounds, vectorized=True)
    region = er.ConfidenceRegion(family, n_resamples=199, rng=0).fit(x, y)
    interval = region.intervals(joint=True).loc["ec50"]
    assert (interval["lower"], interval["upper"]) == (0, np.inf)
    assert region.contains(np.array([[1e4, 0.02]]))


def test_lines_that_are_no_probabilities_everywhere_are_no_members():
    """Searches ask at bounds and along rays, where a line leaves the interval from 0 to 1."""

    def line(theta, x):
        return theta[:, :1] + theta[:, 1:] * x

    rng = np.random.default_rng(2)
    x = rng.uniform(size=50)
    y = (rng.random(50) < 0.2 + 0.5 * x).astype(int)
    bounds = [(0, 1), (-1, 1)]
    family = er.models.Function(line, names=("start", "rise"), bounds=bounds, vectorized=True)
    region = er.ConfidenceRegion(family, n_resamples=99, rng=0).fit(x, y)
    table = region.intervals(joint=True)
    tried = rng.uniform([0, -1], [1, 1], size=(2000, 2))
    tried = tried[np.abs(line(tried, x) - 0.5).max(axis=1) <= 0.5]
    members = tried[region.contains(tried)]
    assert len(members) > 20
    assert (members >= table["lower"].to_numpy()).all()
    assert (members <= table["upper"].to_numpy()).all()


@pytest.mark.parametrize(
    ("f", "names", "member"),
    [
        (lambda theta, x: np.broadcast_to(theta, (len(theta), len(x))), ("p",), [0.6]),
        (lambda theta, x: expit(theta[:, :1] * theta[:, 1:] * (x - 3)), ("a", "b"), [1.0, 1.0]),
    ],
    ids=["probabilities from 0 to 1 only", "a likelihood with a saddle"],
)
def test_a_family_with_members_is_not_called_empty(f, names, member):
    """The search starts at 0, where one has no probabilities around it, the other no gradient."""
    x = np.linspace(0.2, 6, 40)
    y = (np.random.default_rng(1).random(40) < expit(x - 3)).astype(int)
    family = er.models.Function(f, names=names, vectorized=True)
    region = er.ConfidenceRegion(family, n_resamples=59, rng=1, statistic="score").fit(x, y)
    assert region.contains(member)
    assert not region.is_empty_
    interval = region.intervals(joint=True).iloc[0]
    assert interval["lower"] <= member[0] <= interval["upper"]


def test_a_function_without_probabilities_at_the_start_is_an_error():
    family = er.models.Function(lambda theta, x: np.full(len(x), np.nan), names=("a",))
    region = er.ConfidenceRegion(family, n_resamples=19, rng=0).fit(np.arange(6.0), [0, 1] * 3)
    with pytest.raises(ModelError, match="Got nan at theta"):
        region.intervals()
