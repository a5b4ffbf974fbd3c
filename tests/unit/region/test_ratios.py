"""Numbers that are linear in θ, or ratios of such."""

import numpy as np
import pytest

import exactregion as er
from exactregion.region.ratios import LinearRatios
from exactregion.region.window import Window
from exactregion.statistics.focused import Focused

EVEN = [[-1.0, 0.0], [0.0, 1.0]]
"""Coefficients of the input with even odds, -a/b."""


def random_numbers(rng, d, number=3):
    numerator, denominator = rng.normal(size=(2, number, d))
    return LinearRatios(numerator, rng.normal(size=number), denominator)


def test_values_and_gradients_are_those_of_the_formula():
    rng = np.random.default_rng(0)
    numbers, theta = random_numbers(rng, 3, number=1), rng.normal(size=(20, 3))
    a, b, c = numbers.numerator[0], numbers.denominator[0], numbers.offset[0]
    np.testing.assert_allclose(numbers(theta)[:, 0], (theta @ a + c) / (theta @ b))
    steps = 1e-6 * np.eye(3)
    slopes = [(numbers(theta + s) - numbers(theta - s))[:, 0] / 2e-6 for s in steps]
    exact = np.stack(slopes, axis=-1)
    found = numbers.gradient(theta)
    # up to its length and sign
    cosine = (exact * found).sum(axis=1) / np.linalg.norm(exact, axis=1)
    np.testing.assert_allclose(np.abs(cosine / np.linalg.norm(found, axis=1)), 1.0, rtol=1e-6)


@pytest.mark.parametrize("linear", [True, False])
def test_values_at_own_points_are_those_at_all_points(linear):
    """To the last bit: what is said of one number must not depend on the others."""
    rng = np.random.default_rng(1)
    numbers = LinearRatios.linear(rng.normal(size=(4, 3))) if linear else random_numbers(rng, 3, 4)
    both, theta = numbers.with_negatives(), rng.normal(size=(8, 5, 3))
    theta[0, 0] = 1e308  # which overflows
    with np.errstate(all="ignore"):
        everywhere = both(theta.reshape(-1, 3)).reshape(8, 5, 8)
        np.testing.assert_array_equal(
            both(theta[0]), np.hstack([numbers(theta[0]), -numbers(theta[0])])
        )
    own = np.stack([everywhere[number, :, number] for number in range(8)])
    np.testing.assert_array_equal(both.at_own(theta), own)
    some = np.array([6, 1])
    np.testing.assert_array_equal(both[some].at_own(theta[some]), own[some])


@pytest.mark.parametrize("seed", range(5))
def test_no_value_in_a_box_is_above_its_top(seed):
    rng = np.random.default_rng(seed)
    d = int(rng.integers(1, 4))
    bounds = np.tile([-np.inf, np.inf], (d, 1))
    window = Window(rng.normal(size=d), rng.normal(size=(d, d)), bounds)
    numbers = random_numbers(rng, d) if seed % 2 else LinearRatios.linear(rng.normal(size=(3, d)))
    inside = numbers.in_window(window)
    centre, half = rng.normal(size=(50, d)), rng.uniform(0, 0.5, size=(50, d))
    top = inside.top(centre, half)
    assert top.shape == (50, 6)
    assert np.isfinite(top).any()
    for _ in range(50):
        z = centre + half * rng.uniform(-1, 1, size=centre.shape)
        values = inside.at(z)
        np.testing.assert_allclose(values[:, ::2], numbers(window.theta(z)))
        assert (values <= top + 1e-9 * np.abs(top)).all()


def test_a_box_with_a_pole_has_no_top():
    window = Window(np.zeros(2), np.eye(2), np.tile([-np.inf, np.inf], (2, 1)))
    numbers = LinearRatios(np.array([[1.0, 0.0]]), np.zeros(1), np.array([[0.0, 1.0]]))
    top = numbers.in_window(window).top(np.array([[1.0, 0.0]]), np.array([[0.1, 0.1]]))
    assert np.isposinf(top).all()


@pytest.mark.parametrize("joint", [False, True])
def test_no_member_has_an_ed50_outside_a_proven_interval(joint):
    rng = np.random.default_rng(3)
    x = rng.normal(size=60)
    y = (rng.random(60) < 1 / (1 + np.exp(-0.5 - 2 * x))).astype(int)
    region = er.ConfidenceRegion("logistic", n_resamples=199, rng=0).fit(x, y)
    even = region.functional(EVEN, name="even odds", joint=joint, certify=True)
    assert even.certified
    assert even.status == "bounded"
    assert even.lower < -region.estimate_[0] / region.estimate_[1] < even.upper
    assert even.gap <= 0.0201 * (even.upper - even.lower)
    window, fitted = region.outline().window, region.fitted_
    theta = window.theta(rng.standard_normal((20_000, 2)) * rng.uniform(0, 6, size=(20_000, 1)))
    inside = region.contains(theta)
    if not joint:
        number = LinearRatios(np.array(EVEN[:1]), np.zeros(1), np.array(EVEN[1:]))
        own = fitted.rank_function(Focused(number.gradient))(theta)[0]
        inside = (fitted.ranks(theta)[0] <= 199) & (own <= fitted.accepted.high + 1)
    values = -theta[inside, 0] / theta[inside, 1]
    assert len(values) > 100
    assert values.min() >= even.lower
    assert values.max() <= even.upper


def test_focused_ratios_are_those_of_a_function_unless_proven(oring):
    searched = oring.functional(EVEN)
    assert not searched.certified
    assert searched.probes > 0
    function = oring.functional(lambda th: -th[0] / th[1])
    length = function.upper - function.lower
    assert searched.lower == pytest.approx(function.lower, abs=0.05 * length)
    assert searched.upper == pytest.approx(function.upper, abs=0.05 * length)


def test_coefficients_of_a_contrast_are_those_of_a_parameter(oring):
    slope, table = oring.functional([0.0, 1.0]), oring.intervals()
    assert slope.certified
    assert (slope.lower, slope.upper) == tuple(table.loc["temp", ["lower", "upper"]])


def test_a_ratio_through_infinity_has_no_ends(oring):
    """Slopes of both signs fit, so that every temperature may have even odds."""
    flat = er.ConfidenceRegion("logistic", n_resamples=99, rng=0).fit(
        np.arange(30.0), np.tile([0, 1], 15)
    )
    even = flat.functional(EVEN, joint=True)
    assert (even.lower, even.upper) == (-np.inf, np.inf)
    assert even.certified


@pytest.fixture(scope="module")
def oring():
    flights = er.datasets.oring()
    return er.ConfidenceRegion("logistic", n_resamples=199, rng=0).fit(
        flights["temp"], flights["y"]
    )
