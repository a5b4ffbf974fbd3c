"""Limits of how far a calibration curve is from the diagonal."""

import numpy as np
import pytest
from scipy.special import expit, logit

from exactregion.calibration.deviation import LARGEST_GROUPS, CurveBounds

CENTRES = [(0.0, 1.0), (0.4, 0.9), (0.0, 0.5), (1.0, 1.0), (-0.5, 2.0)]


def ellipse(n, centre, seed=0):
    """Return bounds over an ellipse of (a, b), and members of it."""
    rng = np.random.default_rng(seed)
    scores = logit(rng.beta(1.0, 2.0, size=n).clip(1e-4, 1 - 1e-4))
    X = np.column_stack([np.ones(n), scores])
    weight = expit(scores) * expit(-scores)
    C = 6 * np.linalg.inv((X * weight[:, None]).T @ X)
    knots = np.quantile(scores, np.linspace(0, 1, 15))
    K = np.column_stack([np.ones(15), knots])
    half = np.sqrt(np.einsum("ij,jk,ik->i", K, C, K))
    middle = K @ centre
    bounds = CurveBounds(knots, middle - half, middle + half, scores, np.full(n, 1 / n))
    angle, radius = rng.uniform(0, 2 * np.pi, 1500), np.sqrt(rng.random(1500))
    radius[:700] = 1
    directions = np.stack([np.cos(angle), np.sin(angle)]) * radius
    return bounds, np.array(centre) + (np.linalg.cholesky(C) @ directions).T


def deviations(theta, scores):
    a, b = theta[:, :1], theta[:, 1:]
    return np.abs(expit(a + b * scores) - expit(scores))


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
    one = CurveBounds.of(
        np.array([0.3]), np.array([0.4]), np.array([0.6]), np.full(5, 0.3), np.ones(5, dtype=int)
    )
    assert one.largest() == pytest.approx((0.1, 0.3, 0.3))
    assert one.mean() == pytest.approx((0.1, 0.3))
