"""Algorithm I: weights of neighbours and smoothers, and the integrals of their estimates."""

import numpy as np
import pytest
from scipy.spatial.distance import cdist

from exactregion.data.sample import Sample
from exactregion.engine import PreparedStatistic
from exactregion.errors import InvalidTypeError, InvalidValueError
from exactregion.kernels import Gaussian, Laplacian, Precomputed
from exactregion.statistics import Neighborhood

RNG = np.random.default_rng(0)
X = RNG.normal(size=(14, 2))
SUCCESSES = RNG.integers(0, 2, (6, 14))
P = np.full(14, 0.5)


def features_of(statistic, X, trials=None):
    """Φ (n, nodes) in the order of the library's rows, and the trials of these."""
    n = len(X)
    y = np.zeros(n) if trials is None else np.column_stack([np.zeros(n), trials])
    inputs = Sample.from_data(X, y).inputs
    values = PreparedStatistic.of(statistic, inputs, 20).shared[0].values
    return (values if isinstance(values, np.ndarray) else values.toarray()), inputs


def neighbour_weights(inputs, nodes, k):
    """Weight of each trial at each node; those at one distance share what is left of k."""
    weights = np.zeros((len(inputs), len(nodes)))
    for column, distance in enumerate(cdist(inputs, nodes).T):
        left = k
        for level in np.unique(distance):
            there = np.flatnonzero(distance == level)
            taken = min(left, len(there))
            weights[there, column] = taken / len(there) / k
            left -= taken
    return weights


def distances_from_the_mean(weights, mass, successes):
    """∫ (f̂_i - mean of the f̂_j)² dμ."""
    estimates = (2 * successes - 1) @ weights
    return ((estimates - estimates.mean(axis=0)) ** 2) @ mass


# --- nearest neighbours -------------------------------------------------------------------------

SETTINGS = [
    Neighborhood(),
    Neighborhood(k=1),
    Neighborhood(k=7),
    Neighborhood(k=14),
    Neighborhood(k=5, nodes=6),
    Neighborhood(measure="uniform", nodes=50),
    Neighborhood(k=4, measure="uniform", domain=[(-9, 9), (0, 1)], nodes=50),
    Neighborhood(k=4, measure="monte_carlo", nodes=50),
    Neighborhood(kernel="gaussian", measure="monte_carlo", domain=[(-9, 9), (0, 1)], nodes=50),
    Neighborhood(kernel="gaussian"),
    Neighborhood(kernel="laplacian", bandwidth=0.1, nodes=5),
    Neighborhood(kernel="gaussian", measure="uniform", nodes=50),
    Neighborhood(kernel=lambda a, b: float(np.exp(-abs(a - b).sum())), measure="uniform", nodes=9),
]


@pytest.mark.parametrize("statistic", SETTINGS)
@pytest.mark.parametrize("trials", [None, np.array([1, 4, 0, 2, 1, 1, 3, 1, 1, 6, 1, 1, 2, 1])])
def test_weights_of_all_trials_sum_to_one_at_every_node(statistic, trials):
    Phi, inputs = features_of(statistic, X, trials)
    roots_of_mass = inputs.trials @ Phi
    assert (roots_of_mass > 0).all()
    assert (roots_of_mass**2).sum() == pytest.approx(1)
    assert (Phi >= 0).all()
    if statistic.measure == "uniform":
        np.testing.assert_allclose(roots_of_mass**2, 1 / len(roots_of_mass), rtol=1e-6)


@pytest.mark.parametrize("k", [1, 4, 13, 14])
@pytest.mark.parametrize("standardize", [True, False])
def test_nearest_neighbours_at_the_inputs(values_of, k, standardize):
    units = X * [1.0, 50.0]
    scaled = (units - units.mean(axis=0)) / units.std(axis=0) if standardize else units
    weights = neighbour_weights(scaled, scaled, k)
    Z = values_of(Neighborhood(k=k, standardize=standardize), units, SUCCESSES, P)
    expected = distances_from_the_mean(weights, np.full(14, 1 / 14), SUCCESSES)
    np.testing.assert_allclose(Z, expected, rtol=1e-6, atol=1e-15)


def test_the_default_k_is_the_root_of_the_number_of_trials(values_of):
    np.testing.assert_array_equal(
        values_of(Neighborhood(), X, SUCCESSES, P), values_of(Neighborhood(k=3), X, SUCCESSES, P)
    )


@pytest.mark.parametrize("step", [1, 0.1, 1 / 3, 7])
@pytest.mark.parametrize("standardize", [True, False])
def test_trials_at_the_same_distance_share(step, standardize):
    n = 11
    Phi, _ = features_of(Neighborhood(k=2, standardize=standardize), np.arange(n) * step)
    weights = Phi * np.sqrt(n)
    inner = np.arange(1, n - 1)
    np.testing.assert_allclose(weights[inner, inner], 1 / 2, rtol=1e-6)
    np.testing.assert_allclose(weights[inner - 1, inner], 1 / 4, rtol=1e-6)
    np.testing.assert_allclose(weights[inner + 1, inner], 1 / 4, rtol=1e-6)


def test_few_nodes_are_spread_evenly_over_the_trials():
    Phi, inputs = features_of(Neighborhood(k=1, nodes=4), np.arange(8.0))
    np.testing.assert_allclose((inputs.trials @ Phi) ** 2, [1 / 4] * 4)
    assert np.flatnonzero(Phi.any(axis=1)).tolist() == [0, 2, 4, 6]


# --- one dimension, exactly ---------------------------------------------------------------------


@pytest.mark.parametrize("domain", [None, [(-0.5, 0.7)], [(-9.0, 9.0)]])
@pytest.mark.parametrize("k", [1, 3, 8, 12])
@pytest.mark.parametrize("repeated", [False, True])
def test_segments_give_the_integral(values_of, domain, k, repeated):
    rng = np.random.default_rng(k)
    x = rng.normal(size=12)
    if repeated:
        x = x[[0, 1, 2, 3, 4, 0, 1, 1, 1, 2, 5, 6]]
    successes = rng.integers(0, 2, (5, 12))
    low, high = domain[0] if domain else (x.min(), x.max())
    cells = 2000
    grid = low + (np.arange(cells) + 0.5) / cells * (high - low)
    weights = neighbour_weights(x[:, None], grid[:, None], k)
    expected = distances_from_the_mean(weights, np.full(cells, 1 / cells), successes)
    Z = values_of(Neighborhood(k=k, measure="uniform", domain=domain), x, successes, P[:12])
    np.testing.assert_allclose(Z, expected, rtol=0.01, atol=1e-3)


def test_segments_by_hand(values_of):
    # with k = 1 the inputs 0, 1, 3 own [0, 0.5], [0.5, 2] and [2, 3]
    Z = values_of(
        Neighborhood(k=1, measure="uniform"), [0.0, 3.0, 1.0], [[0, 0, 0], [1, 0, 0]], P[:3]
    )
    np.testing.assert_allclose(Z, [1 / 6, 1 / 6])
    Phi, _ = features_of(Neighborhood(k=1, measure="uniform"), [0.0, 3.0, 1.0])
    np.testing.assert_allclose(Phi**2, np.diag([0.5, 1.5, 1.0]) / 3, atol=1e-12)


def test_segments_of_one_input(values_of):
    Z = values_of(Neighborhood(k=2, measure="uniform"), [4.0, 4.0], [[0, 0], [1, 1]], P[:2])
    np.testing.assert_allclose(Z, [1, 1])


# --- kernel smoothers ---------------------------------------------------------------------------


@pytest.mark.parametrize("kernel", [Gaussian(0.8), Laplacian(0.8)])
def test_smoother_at_the_inputs(values_of, kernel):
    K = kernel.between(X, X)
    expected = distances_from_the_mean(K / K.sum(axis=0), np.full(14, 1 / 14), SUCCESSES)
    Z = values_of(Neighborhood(kernel=kernel, standardize=False), X, SUCCESSES, P)
    np.testing.assert_allclose(Z, expected, rtol=1e-6)


def test_smoother_on_a_domain(values_of):
    x = X[:, 0]
    cells = 20_000
    K = Gaussian(0.3).between(x[:, None], -2 + (np.arange(cells)[:, None] + 0.5) / cells * 3)
    expected = distances_from_the_mean(K / K.sum(axis=0), np.full(cells, 1 / cells), SUCCESSES)
    statistic = Neighborhood(
        kernel="gaussian", bandwidth=0.3, standardize=False, measure="uniform", domain=[(-2, 1)]
    )
    np.testing.assert_allclose(values_of(statistic, x, SUCCESSES, P), expected, rtol=1e-4)


def test_smoother_on_a_domain_of_two_dimensions(values_of):
    side = np.linspace(-1, 1, 41)[:-1] + 0.025
    nodes = np.stack(np.meshgrid(side, side * 2), axis=-1).reshape(-1, 2)
    K = Gaussian(0.8).between(X, nodes)
    mass = np.full(len(nodes), 1 / len(nodes))
    expected = distances_from_the_mean(K / K.sum(axis=0), mass, SUCCESSES)
    statistic = Neighborhood(
        kernel=Gaussian(0.8), standardize=False, measure="uniform", domain=[(-1, 1), (-2, 2)]
    )
    Z = values_of(statistic, X, SUCCESSES, P)
    np.testing.assert_allclose(Z, expected, rtol=0.05)
    np.testing.assert_array_equal(Z, values_of(statistic, X, SUCCESSES, P))


def test_smoother_of_a_precomputed_kernel(values_of):
    K = Gaussian(0.8).between(X, X)
    np.testing.assert_allclose(
        values_of(Neighborhood(kernel=Precomputed(K)), X, SUCCESSES, P),
        values_of(Neighborhood(kernel=Gaussian(0.8), standardize=False), X, SUCCESSES, P),
        rtol=1e-9,
    )


def test_smoother_where_a_gap_is_so_wide_that_weights_nearly_vanish(values_of):
    x = np.concatenate([np.linspace(0, 1, 7), np.linspace(9, 10, 7)])
    statistic = Neighborhood(
        kernel="gaussian", bandwidth=0.05, standardize=False, measure="uniform"
    )
    Z = values_of(statistic, x, SUCCESSES, P)
    assert np.isfinite(Z).all()
    assert (Z > 0).all()


# --- all of them --------------------------------------------------------------------------------


@pytest.mark.parametrize("statistic", SETTINGS)
def test_counts_are_labels_that_share_an_input(values_of, statistic):
    trials = np.array([1, 3, 2, 5, 4])
    place = np.repeat(np.arange(5), trials)
    labels = RNG.integers(0, 2, (8, len(place)))
    successes = np.stack([np.bincount(place, row, 5) for row in labels]).astype(int)
    half = np.full(len(place), 0.5)
    grouped = values_of(statistic, X[:5], successes, half[:5], trials=trials)
    expanded = values_of(statistic, X[:5][place], labels, half)
    np.testing.assert_allclose(grouped, expanded, rtol=1e-9, atol=1e-12)


def test_counts_are_labels_that_share_an_input_in_one_dimension(values_of):
    statistic = Neighborhood(k=4, measure="uniform")
    trials = np.array([1, 3, 2, 5, 4])
    place = np.repeat(np.arange(5), trials)
    labels = RNG.integers(0, 2, (8, len(place)))
    successes = np.stack([np.bincount(place, row, 5) for row in labels]).astype(int)
    half = np.full(len(place), 0.5)
    grouped = values_of(statistic, X[:5, 0], successes, half[:5], trials=trials)
    np.testing.assert_allclose(
        grouped, values_of(statistic, X[:5, 0][place], labels, half), rtol=1e-9
    )


@pytest.mark.parametrize("statistic", SETTINGS)
def test_equal_and_mirrored_data_sets_tie(values_of, statistic):
    Z = values_of(statistic, X, np.vstack([SUCCESSES, 1 - SUCCESSES]), P)
    np.testing.assert_array_equal(Z[:6], Z[6:])


# --- settings -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"k": 3, "kernel": "gaussian"}, "either k or a kernel. Got k=3 and kernel='gaussian'"),
        ({"bandwidth": 1.0}, "'bandwidth'.*come with a kernel. Got bandwidth=1.0"),
        ({"kernel": "gaussian", "bandwidth": -1.0}, "'bandwidth'.*positive.*Got -1.0"),
        ({"kernel": "rbf"}, "'kernel'.*'gaussian'.*Got 'rbf'"),
        ({"measure": "counting"}, "'measure'.*'empirical', 'uniform', 'monte.*Got 'counting'"),
        ({"domain": [(0, 1)]}, "'domain'.*measure='uniform' or .*Got measure='empirical'"),
        ({"nodes": 0}, "'nodes'.*between 1 and 16,384. Got 0"),
        ({"measure": "monte_carlo", "seed": -1}, "'seed'.*not negative. Got -1"),
        ({"measure": "monte_carlo", "seed": 0.5}, "'seed'.*not negative. Got 0.5"),
        ({"nodes": 2.5}, "'nodes'.*between 1 and 16,384. Got 2.5"),
    ],
)
def test_settings_that_do_not_fit_together_are_told_at_once(settings, message):
    with pytest.raises(InvalidValueError, match=message):
        Neighborhood(**settings)


@pytest.mark.parametrize("k", [0, 15, -1, 2.5, "3"])
def test_k_must_be_a_number_of_trials(k):
    with pytest.raises(
        InvalidValueError, match=r"'k'.*between 1 and the number of trials, 14. Got"
    ):
        features_of(Neighborhood(k=k), X)


def test_k_counts_trials():
    features_of(Neighborhood(k=20), X[:2], trials=[15, 5])
    with pytest.raises(InvalidValueError, match=r"trials, 20. Got 21"):
        features_of(Neighborhood(k=21), X[:2], trials=[15, 5])


@pytest.mark.parametrize(
    "domain",
    [
        (0, 1),
        [(0, 1)],
        [(0, 1), (2, 1)],
        [(0, 1), (1, 1)],
        [(0, 1), (0, np.inf)],
        [(0, 1), (0, np.nan)],
        [(0, 1), (0, 1), (0, 1)],
        [(0, 1), (0,)],
        "everywhere",
    ],
)
@pytest.mark.parametrize("kernel", [None, "gaussian"])
def test_domain_must_have_an_interval_a_column(domain, kernel):
    statistic = Neighborhood(kernel=kernel, measure="uniform", domain=domain)
    with pytest.raises(InvalidValueError, match=r"'domain'.*\(low, high\).*2 columns of X. Got"):
        features_of(statistic, X)


def test_a_precomputed_kernel_knows_no_other_points():
    statistic = Neighborhood(kernel=Precomputed(np.eye(14)), measure="uniform")
    with pytest.raises(InvalidValueError, match=r"'measure'.*'empirical' for a precomputed kernel"):
        features_of(statistic, X)


@pytest.mark.parametrize(
    "statistic",
    [Neighborhood(), Neighborhood(kernel=lambda a, b: float(a == b), measure="uniform")],
)
def test_objects_have_no_distances_and_no_domain(statistic):
    with pytest.raises(InvalidTypeError, match=r"must be numeric.*sequence of str"):
        features_of(statistic, ["a", "b", "c"])


def test_objects_have_a_smoother():
    Phi, _ = features_of(Neighborhood(kernel=lambda a, b: float(a == b)), ["a", "b", "a"])
    expected = np.array([[1 / 2, 0, 1 / 2], [0, 1, 0], [1 / 2, 0, 1 / 2]]) / np.sqrt(3)
    np.testing.assert_allclose(Phi, expected, rtol=1e-6)
