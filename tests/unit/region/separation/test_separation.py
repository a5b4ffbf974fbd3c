"""Unbounded regions: what is said of them is what `contains` says far out."""

import numpy as np
import pytest

import exactregion as er
from exactregion.models import CLogLog, Logistic, Probit
from exactregion.region.separation import directions
from exactregion.region.separation.directions import separation_of
from exactregion.region.separation.far import far_members

GROUPS = np.array([[13, 8], [0, 8], [15, 5]])  # successes and failures


def fit(X, y, model="logistic", rng=0, **settings):
    return er.ConfidenceRegion(model, rng=rng, n_resamples=99, **settings).fit(X, y)


def both_ways(d):
    return np.vstack([np.eye(d), -np.eye(d)])


def check(region):
    """What is said of a region is what `contains` says far out."""
    found = far_members(region.fitted_)
    for member in found.members:
        assert region.contains(member.theta)
        u = member.face.direction
        assert region.contains(member.theta + np.outer([1e3, 1e5], u)).all()
        assert member.face.opens(u)[0]
        assert found.without_end(u)[0]
    d = region.fitted_.n_parameters
    without, ends = found.without_end(both_ways(d)), found.with_end(both_ways(d))
    assert not (without & ends).any()
    assert (without.any()) == (found.status == "unbounded")
    assert ends.all() == (found.status == "bounded")
    return found


# --- cases that are known -------------------------------------------------------------------------


@pytest.mark.parametrize("model", ["logistic", "probit", "cloglog"])
@pytest.mark.parametrize("expanded", [False, True])
def test_a_group_without_successes(model, expanded):
    X, y = np.array([[0.0], [1.0], [0.0]]), GROUPS
    if expanded:
        X = np.repeat(X, GROUPS.sum(axis=1), axis=0)
        y = np.concatenate([np.repeat([1, 0], pair) for pair in GROUPS])
    region = fit(X, y, model)
    found = check(region)
    assert found.status == "unbounded"
    np.testing.assert_array_equal(found.separation.direction, [0.0, -1.0])
    assert region.contains([found.members[0].theta[0], -100_000.0])
    np.testing.assert_array_equal(found.without_end(both_ways(2)), [False, False, False, True])
    np.testing.assert_array_equal(found.with_end(both_ways(2)), [True, True, True, False])
    # the predictor of the second group, and those of the others
    np.testing.assert_array_equal(found.without_end([[-1.0, -1.0], [-1.0, 0.0]]), [True, False])


def test_outcomes_that_overlap_leave_no_direction():
    found = check(fit(np.arange(8.0), [0, 0, 1, 0, 1, 0, 1, 1]))
    assert found.separation is None
    assert found.status == "bounded"
    assert found.evaluations == 0


def test_outcomes_that_are_all_equal():
    found = check(fit(np.arange(8.0), np.ones(8), pos_label=1))
    assert found.separation.certain.all()
    np.testing.assert_array_equal(found.without_end(both_ways(2)), [True, True, False, True])


def test_rows_with_both_outcomes_and_rows_without_trials():
    X = np.column_stack([np.ones(4), [0.0, 1.0, 2.0, 5.0]])
    found = separation_of(X, [0, 2, 3, 0], [4, 3, 3, 0])
    assert found.certain.tolist() == [True, False, True, False]
    assert found.undecided.tolist() == [False, True, False, False]
    np.testing.assert_array_equal(found.direction, [-1.0, 1.0])
    assert separation_of(X, [1, 2, 3, 0], [4, 3, 3, 0]) is None


@pytest.mark.parametrize("seed", range(12))
def test_a_shortcut_changes_no_answer(monkeypatch, seed):
    """Whether a direction is nearly open, with and without weights from floating point."""
    rng = np.random.default_rng(seed)
    n, d = int(rng.integers(2, 40)), int(rng.integers(1, 5))
    X = np.round(rng.normal(size=(n, d)), 1) if seed % 2 else rng.normal(size=(n, d))
    if seed % 3 == 0:
        X[:, -1] = X[:, 0] * 3 * (1 + 1e-16 * rng.normal(size=n))
    y = rng.random(n) < 1 / (1 + np.exp(-3 * X[:, 0]))
    rows = directions.SignedRows.of(np.column_stack([np.ones(n), X]), y * 1, np.ones(n, dtype=int))
    a = np.vstack([both_ways(d + 1), rng.normal(size=(4, d + 1))])
    found = [rows.nearly_opens(one) for one in a]
    monkeypatch.setattr(directions, "combines", lambda *_: False)
    assert found == [rows.nearly_opens(one) for one in a]


def test_families_that_are_not_linear():
    x, y = np.arange(8.0), [0, 0, 0, 0, 1, 1, 1, 1]
    assert far_members(fit(x, y, "laplace").fitted_) is None
    assert far_members(fit(np.linspace(0, 1, 8), y, "recalibration").fitted_) is None
    found = check(fit(np.linspace(0.1, 0.9, 8), y, "recalibration"))
    assert found.status == "unbounded"


def test_nothing_is_said_where_impossible_outcomes_are_accepted():
    region = fit(np.arange(8.0), [0, 0, 1, 0, 1, 0, 1, 1], accepted_ranks=(6, 100))
    assert region.contains([0.0, -1e6])
    assert far_members(region.fitted_) is None


def test_without_intercept():
    x = np.array([-2.0, -1.0, 1.0, 2.0])
    found = check(fit(x, [0, 0, 1, 1], Logistic(intercept=False)))
    np.testing.assert_array_equal(found.separation.direction, [1.0])
    assert found.with_end([-1.0])[0]


# --- near ties, units and collinear columns -------------------------------------------------------

STEPS = np.array([0.0, 1.0, 2.0, 3.0, 3.0, 4.0, 5.0, 6.0])


@pytest.mark.parametrize("offset", [0.0, 1950.0])
@pytest.mark.parametrize("unit", [1e-6, 1.0, 1e150])
@pytest.mark.parametrize("gap", [0.0, 1e-3, 1e-9])
def test_near_ties(offset, unit, gap):
    x = (offset + STEPS + gap * (np.arange(8) > 3)) * unit
    found = check(fit(x, [0, 0, 0, 0, 1, 1, 1, 1]))
    assert found.status == "unbounded"
    assert found.separation.certain.sum() == (8 if gap else 6)
    overlapping = check(fit(x, [0, 0, 0, 1, 0, 1, 1, 1]))
    assert (overlapping.separation is None) == (gap > 0)


def test_a_difference_that_doubles_cannot_show_proves_nothing():
    x = STEPS + 2e-13 * (np.arange(8) > 3)
    assert check(fit(x, [0, 0, 0, 1, 0, 1, 1, 1])).status == "unknown"


@pytest.mark.parametrize(
    "column", [lambda x: x, lambda x: 2 * x, lambda x: 0 * x, lambda x: 0 * x + 3.7]
)
def test_collinear_columns(column):
    x = np.random.default_rng(0).normal(size=30)
    found = check(fit(np.column_stack([x, column(x)]), np.arange(30) % 2))
    assert found.status == "unbounded"
    assert not found.separation.certain.any()
    # predictors of rows are bounded, parameters are not
    rows = np.column_stack([np.ones(30), x, column(x)])
    assert found.with_end(np.vstack([rows[:3], -rows[:3]])).all()


def test_columns_that_are_collinear_but_for_rounding():
    rng = np.random.default_rng(0)
    x = rng.normal(size=30)
    found = check(fit(np.column_stack([x, 0.1 * x]), np.arange(30) % 2))
    assert found.status == "unknown"
    tenths = rng.integers(0, 20, size=30) * 0.1
    assert (
        check(fit(np.column_stack([tenths, 0.3 * tenths]), np.arange(30) % 2)).status == "unbounded"
    )


def test_points_on_a_line_are_read_as_decimals():
    """Failures below x + z = 1, successes above it, both on it."""
    x = np.array([0.1, 0.2, 0.3, 0.4, 0.7, 0.9, 0.1, 0.8])
    on = np.column_stack([x, 1 - x])
    off = np.array([[0.1, 0.3], [0.2, 0.1], [0.5, 0.4], [0.6, 0.5], [0.9, 0.9], [0.3, 0.8]])
    y = np.concatenate([np.arange(8) % 2, off.sum(axis=1) > 1])
    found = check(fit(np.vstack([on, off]), y))
    assert found.status == "unbounded"
    np.testing.assert_array_equal(found.separation.certain.sum(), len(off))
    np.testing.assert_allclose(
        found.separation.direction / found.separation.direction[1], [-1, 1, 1]
    )
    # new points on the line, and beside it
    a = np.array([[1.0, 0.6, 0.4], [1.0, 0.6, 0.5], [1.0, 0.25, 0.75]])
    np.testing.assert_array_equal(found.without_end(a), [False, True, False])
    np.testing.assert_array_equal(found.with_end(a), [True, False, True])


# --- random data ----------------------------------------------------------------------------------


@pytest.mark.parametrize("slopes", [1, 2, 3])
@pytest.mark.parametrize("seed", range(6))
def test_quasi_separated(slopes, seed):
    """Levels of the first input, with both outcomes at the first of two or the second of three."""
    rng = np.random.default_rng([slopes, seed])
    X = rng.normal(size=(40, slopes))
    X[:, 0] = rng.integers(seed % 2, 3, size=40)
    y = np.where(X[:, 0] == 1, rng.random(40) < 0.5, X[:, 0] == 2)
    model = (Logistic, Probit, CLogLog)[seed % 3]()
    region = fit(X, y, model, rng=seed)
    found = check(region)
    assert found.status == "unbounded"
    first = np.asarray(region.fitted_.sample.inputs.X)[:, 0]
    assert found.separation.certain[first == first.max()].all()


@pytest.mark.parametrize("slopes", [1, 2, 3])
@pytest.mark.parametrize("seed", range(6))
def test_completely_separated(slopes, seed):
    """All data sets are equal far out: the seat decides, there and nowhere else."""
    rng = np.random.default_rng([slopes, seed])
    X = rng.normal(size=(25, slopes))
    y = X @ rng.normal(size=slopes) > 0
    region = fit(X, y, rng=seed)
    found = check(region)
    assert not found.separation.undecided.any()
    seat = region.fitted_.resampling.seat + 1
    accepted = bool(region.accepted_ranks_.holds(np.array(seat)))
    assert region.rank(1e6 * found.separation.direction) == seat
    assert accepted == (found.members[0].face is found.separation)


@pytest.mark.parametrize("slopes", [1, 2, 3])
def test_faces_are_searched_where_the_seat_rejects(slopes):
    rng = np.random.default_rng(slopes)
    X = rng.normal(size=(15, slopes))
    y = X @ rng.normal(size=slopes) > 0
    regions = (fit(X, y, rng=seed) for seed in range(1000))
    region = next(each for each in regions if each.fitted_.resampling.seat >= 96)
    found = check(region)
    assert found.status == "unbounded"
    assert all(member.face is not found.separation for member in found.members)
    assert not region.contains(1e6 * found.separation.direction)
    for member in found.members:
        assert member.face.undecided.any()


@pytest.mark.parametrize("seed", range(12))
def test_not_separated(seed):
    rng = np.random.default_rng(seed)
    n, slopes = int(rng.integers(10, 100)), 1 + seed % 3
    X = rng.normal(size=(n, slopes))
    # each of the first 2 d points has a copy with the other outcome, and they span all directions
    y = rng.random(n) < 0.5
    X = np.vstack([X, X[: 2 * slopes + 2]])
    y = np.concatenate([y, ~y[: 2 * slopes + 2]])
    found = check(fit(X, y))
    assert found.separation is None
    assert found.status == "bounded"


# --- the search -----------------------------------------------------------------------------------


def test_many_rows_are_read_in_part():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(20_000, 2))
    design = np.column_stack([np.ones(len(x)), x])
    y = rng.random(len(x)) < 0.5
    assert separation_of(design, y, np.ones(len(x))) is None


def test_the_search_is_the_same_each_time_and_for_any_seed():
    X, y = np.array([[0.0], [1.0], [0.0]]), GROUPS
    first, again = (far_members(fit(X, y).fitted_) for _ in range(2))
    other = far_members(fit(X, y, rng=1).fitted_)
    for found in (again, other):
        np.testing.assert_array_equal(found.members[0].theta, first.members[0].theta)


def test_other_sets_than_the_joint_region():
    region = fit(np.array([[0.0], [1.0], [0.0]]), GROUPS)
    seen = []

    def narrow(theta):
        """Members are those with an intercept close to 2, which the search starts far from."""
        seen.append(len(theta))
        return 0.5 - np.abs(theta[:, 0] - 2)

    found = far_members(region.fitted_, narrow)
    assert found.status == "unbounded"
    assert abs(found.members[0].theta[0] - 2) < 0.5
    assert found.evaluations == sum(seen)
    nowhere = far_members(region.fitted_, lambda theta: np.full(len(theta), -1.0))
    assert nowhere.status == "unknown"
    assert not nowhere.without_end(both_ways(2)).any()
    np.testing.assert_array_equal(nowhere.with_end(both_ways(2)), [True, True, True, False])
