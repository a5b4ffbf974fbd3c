"""The search, on sets whose shape is known."""

import numpy as np
import pytest
import statsmodels.api as sm

import exactregion as er
from exactregion.data.sample import Sample
from exactregion.ranking import AcceptedRanks
from exactregion.region.extremes import largest
from exactregion.region.grid import box_around, full_grid, refined_grid
from exactregion.region.outline import explore
from exactregion.region.rays import FAR, directions, trace
from exactregion.region.start import information_at, likely_parameters
from exactregion.region.window import Probe, Window, window_at

ACCEPTED = AcceptedRanks(20, 1, 18)


def free(d):
    return np.array([[-np.inf, np.inf]] * d)


def window(d, bounds=None):
    return Window(np.zeros(d), np.eye(d), free(d) if bounds is None else bounds)


def ball(radius, centre=0.0):
    return lambda theta: np.linalg.norm(theta - centre, axis=1) <= radius


def probe(inside, d, bounds=None):
    """A probe with rank 1 inside and 20 outside."""

    def judge(theta):
        return np.where(inside(theta), 1, 20), np.linalg.norm(theta, axis=1)

    return Probe(judge, free(d) if bounds is None else bounds)


# --- rays ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("d", [1, 2, 5, 10])
def test_rays_bracket_the_boundary_of_a_ball(d):
    along = directions(d, 60, np.random.default_rng(0))
    rays = trace(ball(3.0), window(d), along, first_step=1.0)
    np.testing.assert_allclose(np.linalg.norm(along, axis=1), 1)
    assert (rays.inner <= 3).all()
    assert (rays.outer > 3).all()
    assert (rays.outer - rays.inner <= 1e-3 * rays.outer).all()
    assert not rays.reentered.any()
    assert ball(3.0)(rays.members(window(d))).all()
    assert not ball(3.0)(rays.rejected(window(d))).any()


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
    np.testing.assert_array_equal(rays.members(window(2, bounds))[0], [1.0, 0.0])


def test_a_second_piece_on_a_ray_is_seen():
    two = lambda t: ball(1.0)(t) | ball(0.6, np.array([2.6, 0.0]))(t)  # noqa: E731
    rays = trace(two, window(2), np.array([[1.0, 0.0], [0.0, 1.0]]), first_step=0.5)
    assert rays.reentered.tolist() == [True, False]
    assert rays.outer[0] == pytest.approx(3.2, rel=5e-3)
    found = explore_set(two, 2)
    assert found.status == "disconnected"


def explore_set(inside, d, bounds=None):
    """Explore a known set from a logistic sample that only gives the scale."""
    rng = np.random.default_rng(1)
    X = rng.normal(size=(400, d - 1)) if d > 1 else np.ones((400, 1))
    model = er.models.Logistic(intercept=d > 1).bind([f"x{k}" for k in range(X.shape[1])])
    sample = Sample.from_data(X, np.arange(400) % 2)
    return explore(probe(inside, d, bounds), model, sample, ACCEPTED, np.random.default_rng(0))


@pytest.mark.parametrize(
    ("inside", "status"),
    [
        (ball(1.0), "bounded"),
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
    ends = largest(lambda t: t @ weights, inside, whitened, rng, radius=1.0)
    np.testing.assert_allclose(ends.reached, exact, rtol=5e-3)
    assert (ends.bound >= ends.reached).all()
    assert (ends.bound >= exact * 0.999).all()


def test_extremes_off_the_straight_path_are_found():
    """A bent set: the largest first coordinate is not on the ray along it."""
    bent = lambda t: (np.abs(t[:, 1] - t[:, 0] ** 2 / 2) < 0.4) & (np.abs(t[:, 0]) < 2)  # noqa: E731
    ends = largest(
        lambda t: t[:, :1], bent, window(2), np.random.default_rng(0), radius=1.0, rounds=200
    )
    assert ends.reached[0] > 1.9
    assert ends.bound[0] >= ends.reached[0]


def test_functional_without_end():
    half = lambda t: t[:, 0] > -1  # noqa: E731
    values = lambda t: np.column_stack([t[:, 0], -t[:, 0], np.tanh(t[:, 0])])  # noqa: E731
    ends = largest(values, half, window(2), np.random.default_rng(0), radius=1.0)
    assert np.isinf(ends.bound[0])
    assert ends.bound[1] == pytest.approx(1.0, abs=5e-3)
    assert ends.bound[2] == pytest.approx(1.0)  # the functional has an end although the set has not


# --- grids ----------------------------------------------------------------------------------------


def test_refined_grid_is_the_full_grid_for_less():
    box = np.array([[-2.0, 2.0], [-2.0, 2.0]])
    refined = refined_grid(probe(ball(1.0), 2), ACCEPTED, box, levels=7)
    full = full_grid(probe(ball(1.0), 2), ACCEPTED, box, 2**7 + 1)
    np.testing.assert_array_equal(refined.member, full.member)
    assert refined.evaluations < full.evaluations / 5
    assert refined.area == pytest.approx(np.pi, rel=0.01)
    inner, outer = refined.area_bracket
    assert inner < np.pi < outer
    assert refined.status == "bounded"


def test_one_parameter_on_a_grid():
    grid = refined_grid(probe(ball(1.0), 1), ACCEPTED, np.array([[-2.0, 3.0]]))
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
    grid = refined_grid(probe(inside, 2), ACCEPTED, np.array([[-2.0, 2.0]] * 2), levels=6)
    assert grid.pieces == pieces
    assert grid.status == status


def test_an_edge_that_is_a_bound_is_no_open_end():
    bounds = np.array([[0.0, 1.0], [-np.inf, np.inf]])
    grid = refined_grid(
        probe(ball(0.8), 2, bounds), ACCEPTED, np.array([[0.0, 1.0], [-1.0, 1.0]]), levels=6
    )
    assert grid.status == "bounded"


def test_box_holds_the_region():
    found = explore_set(ball(0.7), 2)
    box = box_around(found)
    assert (box[:, 0] < -0.7).all()
    assert (box[:, 1] > 0.7).all()
    assert (np.abs(box) < 3).all()


# --- where to start -------------------------------------------------------------------------------


def test_likely_parameters_are_near_maximum_likelihood():
    data = er.datasets.spector()
    X, y = data[["GPA", "TUCE", "PSI"]], data["GRADE"]
    sample = Sample.from_data(X, y)
    model = er.models.Logistic().bind(X.columns)
    likely = likely_parameters(model, sample)
    fit = sm.Logit(y, sm.add_constant(X)).fit(disp=0)
    assert (np.abs(likely - fit.params.to_numpy()) < fit.bse.to_numpy()).all()
    expected = np.linalg.inv(information_at(model, sample, fit.params.to_numpy()))
    np.testing.assert_allclose(np.sqrt(np.diag(expected)), fit.bse, rtol=1e-6)


@pytest.mark.parametrize(
    "model",
    [er.models.Logistic(), er.models.Probit(), er.models.CLogLog()],
)
def test_separated_data_have_a_finite_start(model):
    x = np.array([-2.0, -1.0, -0.5, 0.5, 1.0, 2.0])
    bound = model.bind(["x"])
    theta = likely_parameters(bound, Sample.from_data(x, x > 0))
    assert np.isfinite(theta).all()
    assert theta[1] > 0
    assert np.abs(theta).max() < 100


def test_window_of_a_singular_information_is_finite():
    made = window_at(np.zeros(3), np.diag([4.0, 0.0, 1.0]), free(3))
    assert np.isfinite(made.axes).all()
    assert np.linalg.matrix_rank(made.axes) == 3
