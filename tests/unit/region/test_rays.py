"""Rays bracket the boundary; depths of ranks say where to evaluate next, their sign decides."""

import numpy as np
import pytest
from scipy.stats import chi2

from exactregion.ranking import AcceptedRanks
from exactregion.region.rays import FAR, Depth, directions, radius_of, trace
from exactregion.region.window import Window

FREE = np.array([[-np.inf, np.inf]])


@pytest.mark.parametrize("d", [1, 2, 5, 20])
@pytest.mark.parametrize(
    ("m", "low", "high"),
    [(20, 1, 19), (20, 1, 20), (1000, 1, 950), (1000, 1, 1), (100, 6, 95), (100, 100, 100)],
)
def test_positive_exactly_where_accepted(d, m, low, high):
    accepted = AcceptedRanks(m, low, high)
    ranks = np.arange(1, m + 1)
    depth = Depth(accepted, d)(ranks)
    assert np.isfinite(depth).all()
    np.testing.assert_array_equal(depth > 0, accepted.holds(ranks))


def test_nothing_is_known_below_the_lowest_accepted_rank():
    depth = Depth(AcceptedRanks(100, 6, 95), 2)(np.arange(1, 101))
    assert (depth[:5] == 0).all()
    assert (depth[95:] < 0).all()


@pytest.mark.parametrize("d", [1, 3])
def test_deeper_the_lower_the_rank(d):
    depth = Depth(AcceptedRanks(50, 1, 45), d)(np.arange(1, 51))
    assert (np.diff(depth) < 0).all()
    assert depth[0] < 1


@pytest.mark.parametrize("d", [1, 2, 6])
@pytest.mark.parametrize("level", [0.5, 0.9, 0.95])
def test_about_one_minus_the_share_of_the_radius(d, level):
    """At r standard errors the rank is about m · P(χ²_d ≤ r²)."""
    m = 10_000
    depth = Depth(AcceptedRanks(m, 1, round(level * m)), d)
    R = np.sqrt(chi2.ppf(level, d))
    assert depth.radius == pytest.approx(R)
    assert radius_of(level, d) == pytest.approx(R)
    r = R * np.array([0.3, 0.5, 0.9, 1.0, 1.2])
    ranks = np.ceil(m * chi2.cdf(r**2, d)).astype(int)
    np.testing.assert_allclose(depth(ranks), 1 - r / R, atol=2e-3)


# --- rays -----------------------------------------------------------------------------------------


def window(d, bounds=None):
    return Window(np.zeros(d), np.eye(d), FREE.repeat(d, axis=0) if bounds is None else bounds)


def ball(radius, centre=0.0):
    return lambda theta: np.linalg.norm(theta - centre, axis=1) <= radius


def two_balls(theta):
    return ball(1.0)(theta) | ball(0.6, np.array([2.6, 0.0]))(theta)


@pytest.mark.parametrize("d", [1, 2, 5, 10])
def test_rays_bracket_the_boundary_of_a_ball(d):
    along = directions(d, 60, np.random.default_rng(0))
    rays = trace(ball(3.0), window(d), along, first_step=1.0)
    np.testing.assert_allclose(np.linalg.norm(along, axis=1), 1)
    assert (rays.inner <= 3).all()
    assert (rays.outer > 3).all()
    assert (rays.outer - rays.inner <= 1e-3 * rays.outer).all()
    assert not rays.reentered.any()
    assert ball(3.0)(window(d).theta(rays.members())).all()
    assert not ball(3.0)(along * rays.outer[:, None]).any()


def test_rays_that_never_leave_are_unbounded():
    rays = trace(
        lambda t: t[:, 0] > -2, window(2), directions(2, 4, np.random.default_rng(0)), first_step=1
    )
    assert np.isinf(rays.outer[0])  # along +x
    assert rays.inner[0] > FAR / 2
    assert rays.outer[2] == pytest.approx(2, rel=2e-3)  # along -x


def test_rays_end_at_the_bounds_of_the_parameters():
    bounds = np.array([[-1.0, 1.0], [-np.inf, np.inf]])
    rays = trace(ball(5.0), window(2, bounds), np.array([[1.0, 0.0], [0.0, 1.0]]), first_step=1.0)
    assert rays.at_bound.tolist() == [True, False]
    np.testing.assert_array_equal(window(2, bounds).theta(rays.members())[0], [1.0, 0.0])


def test_a_second_piece_on_a_ray_is_seen():
    rays = trace(two_balls, window(2), np.array([[1.0, 0.0], [0.0, 1.0]]), first_step=0.5)
    assert rays.reentered.tolist() == [True, False]
    assert rays.outer[0] == pytest.approx(3.2, rel=5e-3)


# --- rays that follow depths --------------------------------------------------------------------


class Ball:
    """Ranks of an ideal region of radius R = √χ²_d(0.95), some of it shifted and stretched."""

    def __init__(self, d, m=1000, stretch=1.0, shift=0.0):
        self.depth = Depth(AcceptedRanks(m, 1, round(0.95 * m)), d)
        self.stretch, self.shift, self.d, self.m = stretch, shift, d, m
        self.evaluated = 0

    @property
    def window(self):
        return Window(np.zeros(self.d), np.eye(self.d), FREE.repeat(self.d, axis=0))

    def ranks(self, theta):
        self.evaluated += len(theta)
        r = np.linalg.norm((theta - self.shift) / self.stretch, axis=1)
        return np.clip(np.ceil(self.m * chi2.cdf(r**2, self.d)), 1, self.m).astype(int)

    def depths(self, theta):
        return self.depth(self.ranks(theta))

    def members(self, theta):
        return self.depths(theta) > 0


@pytest.mark.parametrize("tolerance", [1e-3, 4e-3])
@pytest.mark.parametrize(
    ("d", "stretch", "shift"), [(1, 1.0, 0.0), (2, 1.0, 0.3), (2, 1.4, 0.0), (5, 0.8, 0.1)]
)
def test_depths_save_evaluations_and_find_the_same_boundary(d, stretch, shift, tolerance):
    along = directions(d, 40, np.random.default_rng(0))
    rays, evaluated = {}, {}
    for kind in ("depths", "members"):
        ball = Ball(d, stretch=stretch, shift=shift)
        inside = getattr(ball, kind)
        rays[kind] = trace(
            inside,
            ball.window,
            along,
            first_step=ball.depth.radius,
            tolerance=tolerance,
            look_beyond=False,
        )
        evaluated[kind] = ball.evaluated
        found = rays[kind]
        assert (found.outer - found.inner <= tolerance * found.outer).all()
        assert (found.inner < found.outer).all()
        assert ball.members(ball.window.theta(found.members())).all()
        assert not ball.members(ball.window.theta(along * found.outer[:, None])).any()
    assert evaluated["depths"] < 0.6 * evaluated["members"]
    np.testing.assert_allclose(rays["depths"].outer, rays["members"].outer, rtol=2 * tolerance)


@pytest.mark.parametrize(
    "law",
    [
        lambda r: np.where(r <= 3, 1e-9, -1e9),
        lambda r: np.where(r <= 3, 1e9, -1e-9),
        lambda r: np.where(r <= 3, 0.5, 0.0),
        lambda r: np.where(r <= 3, 1.0 + np.cos(50 * r) / 2, -1.0 - np.cos(50 * r) / 2),
        lambda r: np.where(r <= 3, 1 - r / 100, -r),
    ],
    ids=["near the edge", "far from it", "unknown outside", "ragged", "far too deep"],
)
@pytest.mark.parametrize("first_step", [0.01, 1.0, 500.0])
def test_depths_that_mislead_change_no_boundary(law, first_step):
    evaluated = 0

    def inside(theta):
        nonlocal evaluated
        evaluated += len(theta)
        return law(np.linalg.norm(theta, axis=1))

    window = Window(np.zeros(2), np.eye(2), FREE.repeat(2, axis=0))
    along = directions(2, 12, np.random.default_rng(0))
    rays = trace(inside, window, along, first_step=first_step, look_beyond=False)
    assert (rays.inner <= 3).all()
    assert (rays.outer > 3).all()
    assert (rays.outer - rays.inner <= 1e-3 * rays.outer).all()
    assert evaluated < 100 * len(along)
