"""Limits of how far a calibration curve is from the diagonal."""

import numpy as np
import pytest
from numpy.polynomial.polynomial import polyval, polyvander
from scipy.special import expit, logit

from exactregion.calibration.deviation import LARGEST_GROUPS, CurveBounds
from exactregion.calibration.search import knots_between

CENTRES = [(0.0, 1.0), (0.4, 0.9), (0.0, 0.5), (1.0, 1.0), (-0.5, 2.0)]
BENT = [(0.0, 1.0, 0.0), (-0.5, 1.0, 0.3), (0.0, 1.0, 0.0, 0.0), (0.3, 0.5, -0.2, 0.1)]


def ellipse(n, centre, seed=0):
    """Return bounds over an ellipsoid of coefficients, and members of it."""
    rng = np.random.default_rng(seed)
    scores = logit(rng.beta(1.0, 2.0, size=n).clip(1e-4, 1 - 1e-4))
    d = len(centre)
    X = polyvander(scores, d - 1)
    weight = expit(scores) * expit(-scores)
    C = 6 * np.linalg.inv((X * weight[:, None]).T @ X)
    knots = logit(knots_between(*expit([scores.min(), scores.max()]), np.linalg.cholesky(C)))
    K = polyvander(knots, d - 1)
    half = np.sqrt(np.einsum("ij,jk,ik->i", K, C, K))
    middle = K @ centre
    ends = middle - half, middle + half
    bounds = CurveBounds(knots, *ends, scores, np.full(n, 1 / n), d - 1)
    directions = rng.normal(size=(d, 1500))
    directions /= np.linalg.norm(directions, axis=0)
    directions[:, 700:] *= rng.random(800) ** (1 / d)
    return bounds, np.array(centre) + (np.linalg.cholesky(C) @ directions).T


def deviations(theta, scores):
    return np.abs(expit(polyval(scores, theta.T)) - expit(scores))


@pytest.mark.parametrize("centre", BENT)
@pytest.mark.parametrize("n", [60, 600])
def test_no_curve_that_bends_is_outside(n, centre):
    bounds, members = ellipse(n, centre)
    grid = np.linspace(*bounds.knots[[0, -1]], 1001)
    lower, upper = bounds.at(grid)
    curves = polyval(grid, members.T)
    assert (curves >= lower - 1e-9).all()
    assert (curves <= upper + 1e-9).all()
    straight = [np.interp(grid, bounds.knots, ends) for ends in (bounds.lower, bounds.upper)]
    added = straight[0] - lower + upper - straight[1]
    assert (added < 0.2 * (straight[1] - straight[0])).all()
    lowest, highest, at = bounds.largest()
    largest = deviations(members, grid).max(axis=1)
    assert lowest <= largest.min() + 1e-4
    assert largest.max() <= highest <= 1.1 * largest.max()
    assert expit(bounds.knots[0]) <= at <= expit(bounds.knots[-1])
    mean = deviations(members, bounds.scores).mean(axis=1)
    low, high = bounds.mean()
    assert low <= mean.min()
    assert mean.max() <= high


@pytest.mark.parametrize("theta", [(-0.5, 1.0, 0.3), (0.3, 0.5, -0.2, 0.1)])
def test_one_curve_that_bends_stays_within_its_own_bounds(theta):
    """Straight lines between knots would cut it off, on one side where it bends up or down."""
    knots, grid = np.linspace(-3, 3, 7), np.linspace(-3, 3, 601)
    ends = polyval(knots, theta)
    bounds = CurveBounds(knots, ends, ends, grid, np.full(601, 1 / 601), len(theta) - 1)
    lower, upper = bounds.at(grid)
    curve = polyval(grid, theta)
    assert (lower - 1e-5 <= curve).all()
    assert (curve <= upper + 1e-5).all()
    # a parabola is one of its two bounds, the chord the other
    assert np.minimum(upper - curve, curve - lower).max() < 0.1
    assert np.maximum(upper - curve, curve - lower).max() > 0.03
    true = deviations(np.array([theta]), grid)
    lowest, highest, _ = bounds.largest()
    assert lowest - 1e-3 <= true.max() <= highest + 1e-3
    low, high = bounds.mean()
    assert low - 1e-3 <= true.mean() <= high + 1e-3
    assert high - low < 0.02


@pytest.mark.parametrize("centre", CENTRES)
@pytest.mark.parametrize("n", [30, 300, 2000])
def test_no_member_is_outside_and_some_are_close(n, centre):
    bounds, members = ellipse(n, centre)
    lowest, highest, at = bounds.largest()
    # predictions that are no knots and no grid points of the limits
    grid = logit(np.linspace(*expit(bounds.knots[[0, -1]]), 777))
    largest = deviations(members, grid).max(axis=1)
    assert lowest <= largest.min() + 1e-4
    assert largest.max() <= highest <= 1.05 * largest.max()
    assert expit(bounds.knots[0]) <= at <= expit(bounds.knots[-1])
    mean = deviations(members, bounds.scores).mean(axis=1)
    low, high = bounds.mean()
    assert low <= mean.min()
    assert mean.max() <= high <= 1.06 * mean.max()
    if lowest > 0.02:
        assert largest.min() <= 1.1 * lowest
        assert mean.min() <= 1.1 * low


def test_groups_of_many_predictions_widen_the_limits_by_little():
    bounds, _ = ellipse(LARGEST_GROUPS + 300, (0.4, 0.9))
    few, _ = ellipse(LARGEST_GROUPS, (0.4, 0.9))
    assert len(np.unique(bounds.scores)) > LARGEST_GROUPS
    theta = np.array([[0.4, 0.9]])
    at = deviations(theta, bounds.scores).mean()
    low, high = bounds.mean()
    assert low < at < high
    assert np.subtract(*few.mean()[::-1]) == pytest.approx(high - low, rel=0.3)


def test_limits_shrink_like_the_root_of_n():
    (few, _), (many, _) = ellipse(400, (0.0, 1.0)), ellipse(40_000, (0.0, 1.0))
    assert few.largest()[1] / many.largest()[1] == pytest.approx(10, rel=0.3)
    assert few.mean()[1] / many.mean()[1] == pytest.approx(10, rel=0.2)


def test_a_curve_without_an_end_can_be_anywhere():
    bounds, _ = ellipse(3000, (0.0, 1.0))
    upper = bounds.upper.copy()
    upper[-1] = np.inf
    open_ended = CurveBounds(bounds.knots, bounds.lower, upper, bounds.scores, bounds.weights)
    lowest, highest, _ = open_ended.largest()
    # next to the last knot there is no bound, down to the knot before it
    assert highest == pytest.approx(1 - expit(bounds.knots[-2]), abs=2e-3)
    assert lowest == 0
    assert open_ended.mean()[1] >= bounds.mean()[1]


def test_one_prediction():
    ends = logit([0.3]), logit([0.4]), logit([0.6])
    one = CurveBounds(*ends, np.full(5, logit(0.3)), np.full(5, 0.2))
    assert one.largest() == pytest.approx((0.1, 0.3, 0.3))
    assert one.mean() == pytest.approx((0.1, 0.3))
