"""Algorithm III against its formula, Z = (y - f)ᵀ K (y - f) / n²."""

import numpy as np
import pytest

from exactregion.errors import InvalidTypeError, InvalidValueError
from exactregion.kernels import Gaussian, Laplacian, Matern, Precomputed
from exactregion.statistics import Discrepancy

RNG = np.random.default_rng(0)
X = RNG.normal(size=(15, 2))
P = RNG.integers(0, 257, 15) / 256
SUCCESSES = RNG.integers(0, 2, (8, 15))


def formula(K, successes, p):
    residuals = 2 * successes - 1 - (2 * p - 1)
    return np.einsum("ij,jk,ik->i", residuals, K, residuals) / len(p) ** 2


@pytest.mark.parametrize("kernel", [Gaussian(0.5), Laplacian(0.5), Matern(0.5)])
def test_it_is_the_squared_norm_of_the_residuals(values_of, kernel):
    Z = values_of(Discrepancy(kernel, standardize=False), X, SUCCESSES, P)
    np.testing.assert_allclose(Z, formula(kernel.between(X, X), SUCCESSES, P), rtol=1e-6)


def test_standardised_inputs_and_half_the_median_distance_are_the_default(values_of):
    scaled = (X - X.mean(axis=0)) / X.std(axis=0)
    distances = np.hypot(*(scaled[:, None] - scaled)[np.triu_indices(15, 1)].T)
    kernel = Gaussian(np.sort(distances)[52] / 2)
    Z = values_of(Discrepancy(), X, SUCCESSES, P)
    np.testing.assert_allclose(Z, formula(kernel.between(scaled, scaled), SUCCESSES, P), rtol=1e-6)


def test_any_probability_is_good_to_twenty_bits(values_of):
    p = RNG.random(15)
    Z = values_of(Discrepancy(Gaussian(0.5), standardize=False), X, SUCCESSES, p)
    np.testing.assert_allclose(Z, formula(Gaussian(0.5).between(X, X), SUCCESSES, p), rtol=1e-4)


def test_a_precomputed_kernel_is_used_as_it_is(values_of):
    A = RNG.normal(size=(15, 15))
    Z = values_of(Discrepancy(Precomputed(A @ A.T)), X, SUCCESSES, P)
    np.testing.assert_allclose(Z, formula(A @ A.T, SUCCESSES, P), rtol=1e-6)


def test_a_precomputed_kernel_may_tell_rows_with_the_same_inputs_apart(values_of):
    A = RNG.normal(size=(15, 15))
    Z = values_of(Discrepancy(Precomputed(A @ A.T)), np.arange(15) % 4, SUCCESSES, P)
    np.testing.assert_allclose(Z, formula(A @ A.T, SUCCESSES, P), rtol=1e-6)


def test_counts_are_labels_that_share_an_input(values_of):
    trials = np.array([1, 3, 2, 5, 1])
    p = np.array([4, 128, 77, 200, 256]) / 256
    place = np.repeat(np.arange(5), trials)
    labels = RNG.integers(0, 2, (8, len(place)))
    successes = np.stack([np.bincount(place, row, 5) for row in labels]).astype(int)
    grouped = values_of(Discrepancy(), X[:5], successes, p, trials=trials)
    expanded = values_of(Discrepancy(), X[place], labels, p[place])
    np.testing.assert_allclose(grouped, expanded, rtol=1e-9)


@pytest.mark.parametrize("seed", range(4))
def test_mirrored_data_sets_tie_under_a_fair_coin(values_of, seed):
    rng = np.random.default_rng(seed)
    k = rng.integers(0, 2, (4, 9))
    Z = values_of(Discrepancy(), rng.normal(size=9), np.vstack([k, 1 - k]), np.full(9, 0.5))
    np.testing.assert_array_equal(Z[:4], Z[4:])


def test_the_true_centre_has_no_discrepancy(values_of):
    k = np.array([[0, 1, 1, 0], [1, 1, 1, 0]])
    Z = values_of(Discrepancy(), [1.0, 2.0, 3.0, 4.0], k, k[0])
    assert Z[0] == 0
    assert Z[1] > 0


@pytest.mark.parametrize(
    ("settings", "error", "message"),
    [
        ({"kernel": "rbf"}, InvalidValueError, "'kernel'.*'gaussian'.*Got 'rbf'"),
        ({"kernel": 3}, InvalidTypeError, "'kernel'.*Got 3"),
        ({"bandwidth": -1}, InvalidValueError, "'bandwidth'.*Got -1"),
        ({"kernel": "poisson", "bandwidth": 1.0}, InvalidValueError, "'bandwidth'.*left out"),
    ],
)
def test_settings_are_checked_at_once(settings, error, message):
    with pytest.raises(error, match=message):
        Discrepancy(**settings)
