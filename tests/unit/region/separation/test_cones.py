"""Cones in exact arithmetic: every answer comes with what proves it."""

import numpy as np
import pytest
from scipy.optimize import linprog, nnls

from exactregion.region.separation.cones import Cone, combines, farkas, integer_rows, null_space


def random_rows(seed):
    """Rows with directions left or not, full or singular, of few values or many."""
    rng = np.random.default_rng(seed)
    n, d = int(rng.integers(1, 25)), int(rng.integers(1, 5))
    discrete = rng.integers(-2, 3, size=(n, d)).astype(float)
    rows = discrete if seed % 2 else rng.normal(size=(n, d))
    if seed % 5:
        rows *= np.where(rows @ rng.normal(size=d) > 0, 1.0, -1.0)[:, None]
    return rows


def positive_somewhere(rows):
    """Which rows are positive at some u of the cone, by floating point."""
    n, d = rows.shape
    found = linprog(
        np.append(np.zeros(d), -np.ones(n)),
        np.hstack([-rows, np.eye(n)]),
        np.zeros(n),
        bounds=[(None, None)] * d + [(0, 1)] * n,
    )
    return found.x[d:] > 0.5


def test_integers_are_multiples_of_the_doubles():
    rows = np.array([[0.1, -3e200, 0.0], [1e-305, 1.0, 2.0], [0.0, 0.0, 0.0]])
    for row, whole in zip(rows, integer_rows(rows), strict=True):
        largest = int(np.abs(row).argmax())
        for value, integer in zip(row, whole, strict=True):
            assert (value == 0) == (integer == 0)
            if value:
                unit = whole[largest] / integer
                assert unit == pytest.approx(row[largest] / value, rel=1e-15)


def test_units_of_rows_do_not_matter():
    rows = integer_rows(np.array([[0.1, 0.2], [1e-30, 2e-30], [1.5, 3.0]]))
    assert rows[2].tolist() == [1, 2]
    assert rows[0][0] / rows[0][1] == 0.5


@pytest.mark.parametrize("seed", range(40))
def test_a_combination_of_some_rows_leaves_no_direction(seed):
    rows = random_rows(seed)
    b = np.random.default_rng(seed).integers(-3, 4, size=rows.shape[1])
    weights, _ = nnls(rows.T, b.astype(float))
    whole, target = integer_rows(rows), b.astype(object)
    if combines(whole[weights > 0], target):
        assert farkas(whole, target) is None


def test_weights_of_a_combination_are_exact():
    rows = integer_rows(np.array([[1.0, 2.0], [3.0, 1.0]]))
    assert combines(rows, np.array([4, 3], dtype=object))
    assert combines(rows, np.array([10**30, 2 * 10**30], dtype=object))
    assert not combines(rows, np.array([10**30, 2 * 10**30 + 1], dtype=object))
    assert not combines(rows, np.array([-4, -3], dtype=object))
    assert not combines(rows[:1], np.array([4, 3], dtype=object))
    # of dependent rows there are many combinations: nothing is said
    assert not combines(np.vstack([rows, rows[:1]]), np.array([4, 3], dtype=object))
    assert not combines(rows[:0], np.array([4, 3], dtype=object))


@pytest.mark.parametrize("seed", range(40))
def test_either_a_combination_or_a_direction(seed):
    rows = random_rows(seed)
    b = np.random.default_rng(seed).integers(-3, 4, size=rows.shape[1]).astype(object)
    whole = integer_rows(rows)
    v = farkas(whole, b)
    if v is not None:
        assert (whole @ v >= 0).all()
        assert b @ v < 0
        return
    found = linprog(np.zeros(len(rows)), A_eq=rows.T, b_eq=b.astype(float))
    assert found.success


@pytest.mark.parametrize("seed", range(60))
def test_relative_interior(seed):
    rows = random_rows(seed)
    cone = Cone.of(integer_rows(rows))
    expected = positive_somewhere(rows)
    if cone is None:
        assert not expected.any()
        assert np.linalg.matrix_rank(rows) == rows.shape[1]
        return
    np.testing.assert_array_equal(cone.positive, expected)
    for one in (cone, cone.centred()):
        values = one.rows @ one.interior
        assert (values[one.positive] > 0).all()
        assert not values[~one.positive].any()
        assert any(one.interior)
    assert not (cone.rows[~cone.positive] @ cone.basis).any()
    a = np.random.default_rng(seed).normal(size=rows.shape[1])
    most = linprog(-a, -rows, np.zeros(len(rows)), bounds=(-1, 1))
    assert cone.rises(integer_rows(a[None])[0]) == (most.fun < -1e-7)


def test_faces_of_an_orthant():
    cone = Cone.of(integer_rows(np.eye(3)))
    facets = list(cone.facets(10))
    assert sorted(facet.positive.sum() for facet in facets) == [2, 2, 2]
    edges = {edge.positive.tobytes() for facet in facets for edge in facet.facets(10)}
    assert len(edges) == 3
    assert all(not list(edge.facets(10)) for facet in facets for edge in facet.facets(10))
    assert all(cone.holds(facet) and not facet.holds(cone) for facet in facets)


def test_rows_that_follow_from_others_give_no_facets():
    cone = Cone.of(integer_rows(np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0], [2.0, 1.0]])))
    assert len(list(cone.facets(10))) == 2
    assert len(list(cone.facets(1))) <= 1


def test_faces_end_at_the_directions_along_which_nothing_changes():
    cone = Cone.of(integer_rows(np.array([[1.0, 1.0, 0.0], [1.0, 1.0, 1.0]])))
    assert cone.dimension == 3
    lines = [line for facet in cone.facets(10) for line in facet.facets(10)]
    assert [line.dimension for line in lines] == [1, 1]
    assert not any(line.positive.any() for line in lines)
    assert lines[0].interior[0] == -lines[0].interior[1] != 0


@pytest.mark.parametrize(("last", "separated"), [(1e-15, True), (0.0, True), (-1e-15, False)])
def test_nothing_is_too_close(last, separated):
    """x = 1 failed; x = 1 + last succeeded, and so did x = 2; x = 0 failed."""
    x = np.array([0.0, 1.0, 1.0 + last, 2.0])
    signs = np.array([-1.0, -1.0, 1.0, 1.0])
    cone = Cone.of(integer_rows(np.column_stack([signs, signs * x])))
    assert (cone is not None) == separated
    if separated:
        assert cone.positive.sum() == (4 if last else 2)


def test_null_space():
    rows = integer_rows(
        np.array([[1.0, 2.0, 3.0, 0.0], [2.0, 4.0, 6.0, 0.0], [0.0, 0.0, 1.0, 0.0]])
    )
    basis, columns = null_space(rows)
    assert basis.shape == (4, 2)
    assert columns == [0, 2]
    assert not (rows @ basis).any()
    assert null_space(rows[:0])[0].tolist() == np.eye(4, dtype=int).tolist()
