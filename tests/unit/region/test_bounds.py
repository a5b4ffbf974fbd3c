"""Functionals that pass through infinity have no ends; zeros, jumps and far poles have."""

import numpy as np
import pytest

import exactregion as er
from exactregion.region.rays import directions
from exactregion.region.search.poles import passes_infinity
from exactregion.region.window import Window

FREE = np.array([[-np.inf, np.inf]] * 2)


def ball(radius, centre):
    return lambda theta: radius - np.linalg.norm(theta - centre, axis=1)


def passes(g, *, centre=(0.3, 0.4), radius=1.0, inside=None, origin=None, bounds=FREE):
    """Look for poles of g over a ball of members."""
    centre = np.asarray(centre, dtype=float)
    window = Window(centre if origin is None else np.asarray(origin, float), np.eye(2), bounds)
    members = 0.999 * radius * directions(2, 24, np.random.default_rng(0)) + centre - window.origin

    def functionals(theta):
        return np.reshape(g(theta), (len(theta), -1))

    return passes_infinity(functionals, inside or ball(radius, centre), window, members).tolist()


def even_odds(theta):
    with np.errstate(all="ignore"):
        return -theta[:, 0] / theta[:, 1]


# --- sets whose members are known ---------------------------------------------------------------


def test_slopes_of_both_signs_have_every_even_odds():
    assert passes(even_odds) == [True]
    assert passes(lambda theta: -even_odds(theta)) == [True]


@pytest.mark.parametrize(("offset", "unit"), [(7.0, 1e-3), (-300.0, 1.0), (2000.0, 0.01), (0, 1e3)])
def test_doses_far_from_zero_pass_infinity_all_the_same(offset, unit):
    """Such as years: they change sign at the pole, and back again just beside it."""
    assert passes(lambda theta: offset + unit * even_odds(theta)) == [True]
    assert passes(lambda theta: offset + unit * even_odds(theta), centre=(0.3, 1.4)) == [False]


def test_slopes_of_one_sign_have_not():
    assert passes(even_odds, centre=(0.3, 1.4)) == [False]
    assert passes(even_odds, centre=(0.3, -1.4)) == [False]


@pytest.mark.parametrize("slope", [0.0, 1e-12])
def test_the_origin_may_lie_on_the_pole(slope):
    assert passes(even_odds, origin=(0.3, slope)) == [True]


@pytest.mark.parametrize(
    "g",
    [
        lambda theta: theta[:, 1],
        lambda theta: 1e5 * theta[:, 1],
        lambda theta: np.cbrt(theta[:, 1]),
        lambda theta: np.sign(theta[:, 1]),
        lambda theta: np.where(theta[:, 1] > 0.1, 1e3, -1e3),
        lambda theta: np.where(theta[:, 1] > 0.1, theta[:, 0] + 9, theta[:, 0] - 9),
        lambda theta: np.full(len(theta), np.nan),
        lambda theta: np.full(len(theta), 3.0),
    ],
    ids=["zero", "steep", "cube root", "sign", "jump", "shift", "nan", "constant"],
)
def test_zeros_and_finite_jumps_are_no_poles(g):
    assert passes(g) == [False]


def test_a_pole_that_no_member_has_does_not_count():
    """Slopes of both signs, but none near zero."""
    apart = lambda theta: np.abs(theta[:, 1]) - 0.05  # noqa: E731
    assert passes(even_odds, inside=apart) == [False]
    assert passes(even_odds, inside=lambda theta: apart(theta) > 0) == [False]
    assert passes(even_odds, inside=lambda theta: np.ones(len(theta), bool)) == [True]


def test_members_on_one_side_of_the_pole_are_not_enough():
    assert passes(even_odds, inside=lambda theta: theta[:, 1]) == [False]


def test_a_pole_past_the_bounds_does_not_count():
    bounds = np.array([[-np.inf, np.inf], [1e-3, np.inf]])
    assert passes(even_odds, bounds=bounds) == [False]


def test_each_functional_is_looked_at_alone():
    def several(theta):
        return np.column_stack([theta[:, 1], even_odds(theta), theta[:, 0], 1 / theta[:, 0]])

    assert passes(several, centre=(3.0, 0.4)) == [False, True, False, False]
    assert passes(several, centre=(0.4, 3.0)) == [False, False, False, True]


# --- regions ------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def flat():
    """Outcomes that hardly depend on the dose."""
    x = np.linspace(-1, 1, 30)
    y = np.arange(30) % 3 == 0
    return er.ConfidenceRegion("logistic", n_resamples=99, rng=0).fit(x, y)


@pytest.fixture(scope="module")
def steep():
    x = np.linspace(-1, 1, 60)
    y = np.random.default_rng(0).random(60) < 1 / (1 + np.exp(-4 * x))
    return er.ConfidenceRegion("logistic", n_resamples=99, rng=0).fit(x, y)


@pytest.mark.parametrize("joint", [False, True])
def test_even_odds_are_open_on_both_sides_where_slopes_have_both_signs(flat, joint):
    slope = flat.functional(lambda theta: theta[1], joint=joint)
    assert -np.inf < slope.lower < 0 < slope.upper < np.inf
    dose = flat.functional(lambda theta: -theta[0] / theta[1], joint=joint)
    assert (dose.lower, dose.upper) == (-np.inf, np.inf)


@pytest.mark.parametrize("joint", [False, True])
def test_years_of_even_odds_are_open_too(joint):
    x = 2000 + np.linspace(-1, 1, 30)
    region = er.ConfidenceRegion("logistic", n_resamples=99, rng=0).fit(x, np.arange(30) % 3 == 0)
    year = region.functional(lambda theta: -theta[0] / theta[1], joint=joint)
    assert (year.lower, year.upper) == (-np.inf, np.inf)


@pytest.mark.parametrize("joint", [False, True])
def test_even_odds_have_ends_where_slopes_have_one_sign(steep, joint):
    assert steep.functional(lambda theta: theta[1], joint=joint).lower > 0
    dose = steep.functional(lambda theta: -theta[0] / theta[1], joint=joint)
    assert -1 < dose.lower < 0 < dose.upper < 1


@pytest.mark.parametrize("joint", [False, True])
def test_a_jump_has_ends(flat, joint):
    sign = flat.functional(lambda theta: 2 * np.sign(theta[1]) + 0.1 * theta[0], joint=joint)
    assert np.isfinite([sign.lower, sign.upper]).all()


def test_a_focused_interval_is_not_longer_than_the_joint_one():
    """An ED50 with rare outcomes: the score of the ED50 alone accepts θ that fit badly."""
    rng = np.random.default_rng(4)
    x = rng.normal(size=100)
    y = rng.random(100) < 1 / (1 + np.exp(3 - 1.5 * x))
    region = er.ConfidenceRegion("logistic", n_resamples=199, rng=0).fit(x, y)
    focused, joint = (region.functional(lambda th: -th[0] / th[1], joint=j) for j in (False, True))
    assert focused.upper - focused.lower < joint.upper - joint.lower
