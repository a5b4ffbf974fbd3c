"""Algorithm II against kernel mean embeddings written out on X × {-1, +1}."""

import numpy as np
import pytest

from exactregion.errors import InvalidTypeError, InvalidValueError
from exactregion.kernels import Gaussian, Laplacian, Matern
from exactregion.statistics import Embedding

RNG = np.random.default_rng(0)
X = RNG.normal(size=(12, 2))
SUCCESSES = RNG.integers(0, 2, (6, 12))
P = np.full(12, 0.5)


def literal(k, X, successes):
    """Σ_j ‖h_i - h_j‖², h_i the mean of k((x, y), ·) over a data set."""
    labels = 2 * successes - 1
    labelled = [np.column_stack([X, row]) for row in labels]
    inner = np.array([[k(a, b).mean() for b in labelled] for a in labelled])
    norms = np.diag(inner)
    return (norms[:, None] + norms - 2 * inner).sum(axis=1)


def assert_same_up_to_factor_and_constant(Z, paper):
    m = len(Z)
    np.testing.assert_allclose(m * (Z - Z[0]), paper - paper[0], rtol=1e-6, atol=1e-12)


@pytest.mark.parametrize(
    "kernel", [Gaussian(0.9), Laplacian(0.9), Laplacian(0.9, norm=2), Matern(0.9), Matern(0.9, 3.3)]
)
def test_the_label_is_one_more_coordinate(values_of, kernel):
    Z = values_of(Embedding(kernel, standardize=False), X, SUCCESSES, P)
    assert_same_up_to_factor_and_constant(Z, literal(kernel.between, X, SUCCESSES))


def test_other_kernels_compare_where_labels_agree(values_of):
    def on_labelled(a, b):
        return (a[:, :2] @ b[:, :2].T) * (a[:, 2:] == b[:, 2])

    Z = values_of(Embedding(lambda a, b: float(a @ b)), X, SUCCESSES, P)
    assert_same_up_to_factor_and_constant(Z, literal(on_labelled, X, SUCCESSES))


def test_z_is_the_distance_from_the_mean_embedding(values_of):
    B = (Gaussian(0.9).between(X, X) - Gaussian(0.9).between(X, X, 2.0)) / 2
    away = 2 * (SUCCESSES - SUCCESSES.mean(axis=0))
    Z = values_of(Embedding(Gaussian(0.9), standardize=False), X, SUCCESSES, P)
    np.testing.assert_allclose(Z, np.einsum("ij,jk,ik->i", away, B, away) / 12**2, rtol=1e-6)


def test_probabilities_matter_only_by_the_data_sets_they_draw(values_of):
    np.testing.assert_array_equal(
        values_of(Embedding(), X, SUCCESSES, P), values_of(Embedding(), X, SUCCESSES, P / 3)
    )


def test_counts_are_labels_that_share_an_input(values_of):
    trials = np.array([1, 3, 2, 5, 1])
    place = np.repeat(np.arange(5), trials)
    labels = RNG.integers(0, 2, (8, len(place)))
    successes = np.stack([np.bincount(place, row, 5) for row in labels]).astype(int)
    grouped = values_of(Embedding(), X[:5], successes, P[:5], trials=trials)
    expanded = values_of(Embedding(), X[place], labels, P[place])
    np.testing.assert_allclose(grouped, expanded, rtol=1e-9)


def test_equal_and_mirrored_data_sets_tie(values_of):
    half = RNG.integers(0, 2, (3, 12))
    Z = values_of(Embedding(), X, np.vstack([half, 1 - half, half, 1 - half]), P)
    for part in (Z[3:6], Z[6:9], Z[9:]):
        np.testing.assert_array_equal(part, Z[:3])


@pytest.mark.parametrize(
    ("settings", "error", "message"),
    [
        ({"kernel": "rbf"}, InvalidValueError, "'kernel'.*'gaussian'.*Got 'rbf'"),
        ({"kernel": None}, InvalidTypeError, "'kernel'.*Got None"),
        ({"bandwidth": 0}, InvalidValueError, "'bandwidth'.*Got 0"),
        ({"kernel": "poisson", "bandwidth": 1.0}, InvalidValueError, "'bandwidth'.*left out"),
    ],
)
def test_settings_are_checked_at_once(settings, error, message):
    with pytest.raises(error, match=message):
        Embedding(**settings)
