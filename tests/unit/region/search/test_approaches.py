"""Members beyond ends: a population outside moves towards them."""

import numpy as np
from scipy.special import expit

import exactregion as er
from exactregion.region.search.approaches import approached
from exactregion.region.search.ends import FocusedSearch
from exactregion.region.window import Window

PIECE, RADIUS = np.array([2.0, 1.5]), 0.02


def depth(theta):
    """The unit disk, and a piece of its own that random θ hardly ever hit."""
    of_piece = RADIUS - np.linalg.norm(theta - PIECE, axis=1)
    return np.maximum(1 - np.linalg.norm(theta, axis=1), of_piece)


def search(functionals, bound, *, rounds, probes=None):
    rng = np.random.default_rng(0)
    window = Window(np.zeros(2), np.eye(2), np.array([[-np.inf, np.inf]] * 2))
    return approached(
        functionals,
        depth,
        window,
        np.random.default_rng(1),
        bound=np.asarray(bound),
        probes=rng.uniform(-4, 4, size=(300, 2)) if probes is None else probes,
        is_defined=lambda theta: np.ones(len(theta), dtype=np.bool_),
        rounds=rounds,
    )


def test_a_small_piece_beyond_an_end_is_found():
    end = [1.05]
    assert not search(lambda theta: theta[:, :1], end, rounds=0).any()  # no probe hits it
    found = search(lambda theta: theta[:, :1], end, rounds=50)
    assert np.linalg.norm(found[0] - PIECE) < RADIUS


def test_nothing_is_found_where_there_is_nothing():
    assert not search(lambda theta: -theta[:, :1], [1.05], rounds=50).any()
    assert not search(lambda theta: theta[:, :1], [1e9], rounds=5).any()  # nor probed


def test_fewer_probes_than_a_population():
    close = PIECE + np.array([[0.3, 0.1], [-0.2, 0.1], [0.1, -0.3]])
    found = search(lambda theta: theta[:, :1], [1.05], rounds=50, probes=close)
    assert np.linalg.norm(found[0] - PIECE) < RADIUS


def test_no_probes_find_nothing():
    none = np.empty((0, 2))
    assert not search(lambda theta: theta[:, :1], [1.05], rounds=5, probes=none).any()


def test_what_is_found_for_one_functional_does_not_depend_on_others():
    alone = search(lambda theta: theta[:, :1], [1.05], rounds=50)
    beside = search(
        lambda theta: np.column_stack([theta[:, 1], theta[:, 0], -theta[:, 0]]),
        [1.2, 1.05, 1.05],
        rounds=50,
    )
    np.testing.assert_array_equal(beside[1], alone[0])


class WithImmunes(er.models.Model):
    """A logistic curve of those who are not immune, without bounds of its probabilities."""

    parameter_names = ("intercept", "slope", "immune")
    bounds = ((-np.inf, np.inf), (0.0, np.inf), (0.0, 0.9))

    def evaluate(self, theta, X):
        intercept, slope, immune = theta.T[:, :, np.newaxis]
        return (1 - immune) * expit(intercept + slope * np.ravel(X))


def test_a_thin_branch_of_steep_curves_is_found():
    """Three of a thousand θ beyond the end that is found first are members."""
    dead = np.array([0, 1, 4, 6, 15, 16])
    region = er.ConfidenceRegion(WithImmunes(), n_resamples=199, rng=5)
    region.fit(np.arange(6.0), np.column_stack([dead, 20 - dead]))
    member = np.array([[-5.66376587, 3.08726696, 0.4332288]])
    focused = FocusedSearch(
        region.fitted_, lambda theta: np.broadcast_to([0.0, 1.0, 0.0], theta.shape), alone=False
    )
    assert focused.inside(member)[0] > 0
    assert region.intervals().loc["slope", "upper"] > member[0, 1]
