"""Outlines, extremes and grids, on sets whose shape is known."""

import numpy as np
import pytest

import exactregion as er
from exactregion.data.sample import Sample
from exactregion.ranking import AcceptedRanks
from exactregion.region.grid import box_around, evaluate_grid
from exactregion.region.search.extremes import largest
from exactregion.region.search.outline import explore
from exactregion.region.window import RankFunction, Window

ACCEPTED = AcceptedRanks(20, 1, 18)
DEFINED = {"is_defined": lambda theta: np.ones(len(theta), dtype=bool)}


def free(d):
    return np.array([[-np.inf, np.inf]] * d)


def window(d, bounds=None):
    return Window(np.zeros(d), np.eye(d), free(d) if bounds is None else bounds)


def ball(radius, centre=0.0):
    return lambda theta: np.linalg.norm(theta - centre, axis=1) <= radius


def ranks(inside, d, bounds=None):
    """Rank 1 inside and 20 outside."""

    def function(theta):
        return np.where(inside(theta), 1, 20), np.linalg.norm(theta, axis=1)

    return RankFunction(function, free(d) if bounds is None else bounds)


# --- outlines -------------------------------------------------------------------------------------


def explore_set(inside, d):
    """Explore a known set from a logistic sample that only gives the scale."""
    rng = np.random.default_rng(1)
    X = rng.normal(size=(400, d - 1)) if d > 1 else np.ones((400, 1))
    model = er.models.Logistic(intercept=d > 1).bind([f"x{k}" for k in range(X.shape[1])])
    sample = Sample.from_data(X, np.arange(400) % 2)
    return explore(ranks(inside, d), model, sample, ACCEPTED, np.random.default_rng(0))


@pytest.mark.parametrize(
    ("inside", "status"),
    [
        (ball(1.0), "bounded"),
        (lambda t: ball(1.0)(t) | ball(0.6, np.array([2.6, 0.0]))(t), "disconnected"),
        (lambda t: t[:, 0] > -1, "unbounded"),
        (lambda t: np.zeros(len(t), bool), "empty"),
    ],
)
def test_kind_of_set_is_said(inside, status):
    found = explore_set(inside, 2)
    assert found.status == status
    assert found.evaluations > 0
    assert found.seconds > 0
    assert (found.rays is None) == (status == "empty")


# --- extremes -------------------------------------------------------------------------------------


@pytest.mark.parametrize("d", [1, 2, 5, 10])
def test_extremes_of_linear_functionals_over_an_ellipsoid(d):
    rng = np.random.default_rng(d)
    A = rng.normal(size=(d, d)) + 2 * np.eye(d)
    inside = lambda t: np.linalg.norm(np.linalg.solve(A, t.T), axis=0) <= 2.0  # noqa: E731
    weights = rng.normal(size=(d, 3))
    exact = 2.0 * np.linalg.norm(A.T @ weights, axis=0)
    whitened = Window(np.zeros(d), A, free(d))
    ends = largest(lambda t: t @ weights, inside, whitened, rng, radius=1.0, **DEFINED)
    np.testing.assert_allclose(ends.value, exact, rtol=5e-3)
    assert (ends.bound >= ends.value).all()
    assert (ends.bound >= exact * 0.999).all()


def test_extremes_off_the_straight_path_are_found():
    """A bent set: the largest first coordinate is not on the ray along it."""
    bent = lambda t: (np.abs(t[:, 1] - t[:, 0] ** 2 / 2) < 0.4) & (np.abs(t[:, 0]) < 2)  # noqa: E731
    ends = largest(
        lambda t: t[:, :1], bent, window(2), np.random.default_rng(0), radius=1.0, **DEFINED
    )
    assert ends.value[0] > 1.9
    assert ends.bound[0] >= ends.value[0]


def test_functional_without_end():
    half = lambda t: t[:, 0] > -1  # noqa: E731
    values = lambda t: np.column_stack([t[:, 0], -t[:, 0], np.tanh(t[:, 0])])  # noqa: E731
    ends = largest(values, half, window(2), np.random.default_rng(0), radius=1.0, **DEFINED)
    assert np.isinf(ends.bound[0])
    assert ends.bound[1] == pytest.approx(1.0, abs=5e-3)
    assert ends.bound[2] == pytest.approx(1.0)  # the functional has an end although the set has not


# --- grids ----------------------------------------------------------------------------------------


def test_refined_grid_is_the_full_grid_for_less():
    box = np.array([[-2.0, 2.0], [-2.0, 2.0]])
    refined = evaluate_grid(ranks(ball(1.0), 2), ACCEPTED, box, levels=7)
    full = evaluate_grid(ranks(ball(1.0), 2), ACCEPTED, box, points=2**7 + 1)
    np.testing.assert_array_equal(refined.member, full.member)
    assert refined.evaluations < full.evaluations / 5
    assert refined.area == pytest.approx(np.pi, rel=0.01)
    inner, outer = refined.area_bracket
    assert inner < np.pi < outer
    assert refined.status == "bounded"


def test_one_parameter_on_a_grid():
    grid = evaluate_grid(ranks(ball(1.0), 1), ACCEPTED, np.array([[-2.0, 3.0]]))
    assert grid.area == pytest.approx(2.0, abs=2 * grid.resolution[0])
    assert grid.evaluations < 100


@pytest.mark.parametrize(
    ("inside", "pieces", "status"),
    [
        (lambda t: ball(0.5)(t) | ball(0.4, np.array([1.3, 1.3]))(t), 2, "disconnected"),
        (lambda t: t[:, 0] > 0.1, 1, "unbounded"),
        (lambda t: np.zeros(len(t), bool), 0, "empty"),
    ],
)
def test_grid_says_what_kind_of_set_it_saw(inside, pieces, status):
    grid = evaluate_grid(ranks(inside, 2), ACCEPTED, np.array([[-2.0, 2.0]] * 2), levels=6)
    assert grid.pieces == pieces
    assert grid.status == status


def test_an_edge_that_is_a_bound_is_no_open_end():
    bounds = np.array([[0.0, 1.0], [-np.inf, np.inf]])
    grid = evaluate_grid(
        ranks(ball(0.8), 2, bounds), ACCEPTED, np.array([[0.0, 1.0], [-1.0, 1.0]]), levels=6
    )
    assert grid.status == "bounded"


def test_box_holds_the_region():
    found = explore_set(ball(0.7), 2)
    box = box_around(found)
    assert (box[:, 0] < -0.7).all()
    assert (box[:, 1] > 0.7).all()
    assert (np.abs(box) < 3).all()


def test_an_individual_interval_beside_an_empty_joint_region():
    x = np.linspace(0.1, 3, 40)
    family = er.models.Function(
        lambda theta, x: -np.expm1(-theta * x),
        names=("rate",),
        bounds=[(0, np.inf)],
        vectorized=True,
    )
    region = er.ConfidenceRegion(family, confidence_level=0.8, n_resamples=19, rng=0)
    region = region.fit(x, np.abs(x - 1.5) < 0.7)  # rises and falls, which the family cannot
    assert region.status_ == "empty"
    (row,) = region.intervals(certify=False).itertuples()
    assert row.lower < region.most_compatible_[0] < row.upper
