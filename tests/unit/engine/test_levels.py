"""Outcomes of several classes as rows Y ≥ k: probabilities, covariances, features."""

import numpy as np
import pytest
from scipy import sparse

import exactregion as er
from exactregion.engine import levels, statistics_of

P = np.array([[0.9, 0.4, 0.1, 0.7, 0.7, 0.0]])
CLASSES = np.array([[[0.1, 0.5, 0.3, 0.1], [0.3, 0.0, 0.7, 0.0]]])


def test_probabilities_of_classes():
    assert np.allclose(levels.class_probabilities(P, 3), CLASSES)
    logs = levels.log_class_probabilities(P, 3)
    assert np.allclose(np.exp(logs), CLASSES)
    assert np.array_equal(levels.class_probabilities(P, 1)[..., 1], P)


def test_numbers_of_classes():
    codes = np.array([2, 0, 3])
    successes = (codes[:, None] > np.arange(3)).ravel()
    assert np.array_equal(levels.numbers_of_classes(successes, np.ones(9), 3), np.eye(4)[codes])


def test_covariance_is_that_of_the_classes():
    """Σ_c p_c (1{c ≥ k} - q_k) (1{c ≥ l} - q_l), written out."""
    found = levels.covariance_of(P, 3)
    for row, p in enumerate(CLASSES[0]):
        reached = np.arange(4)[:, None] >= np.arange(1, 4)
        centred = reached - p @ reached
        assert np.allclose(found[0, row], np.einsum("c,ck,cl->kl", p, centred, centred))


def test_values_of_classes_have_mean_zero_and_the_information_of_the_covariance():
    features = np.random.default_rng(0).normal(size=(1, 2, 6))
    values = levels.values_of_classes(features, P, 3)
    assert np.allclose((values * CLASSES[:, None]).sum(axis=-1), 0)
    steps = features.reshape(1, 2, 2, 3)
    expected = np.einsum("tank,tnkl,tbnl->tab", steps, levels.covariance_of(P, 3), steps)
    found = np.einsum("tanc,tnc,tbnc->tab", values, CLASSES, values)
    assert np.allclose(found, expected)


@pytest.mark.parametrize("number", [1, 2, 5])
def test_features_add_up_to_those_of_the_class(number):
    Phi = np.random.default_rng(1).normal(size=(7, 3))
    codes = np.random.default_rng(2).integers(number + 1, size=7)
    labels = (codes[:, None] > np.arange(number)).ravel().astype(float)
    features = levels.features_of_classes(Phi, number)
    assert sparse.issparse(features) == (number == 5)
    point = features.T @ labels
    if number == 1:
        assert np.array_equal(features, Phi)
        return
    first = np.eye(number + 1)[0]
    expected = sum(
        np.kron(row, np.eye(number + 1)[code] - first) for row, code in zip(Phi, codes, strict=True)
    )
    assert np.allclose(point, expected)


def test_which_classes_uniforms_can_give():
    """A class is drawn where a multiple of 2⁻⁵³ above 0 lies in [P(Y ≥ c + 1), P(Y ≥ c))."""
    tiny, unit = 1e-30, 2.0**-53
    q = np.array([[1.0, tiny, 0.5, 0.5 - unit / 2, 0.25 + unit / 2, 0.25]])
    found = levels.can_be_drawn(q, 2)[0]
    assert found.tolist() == [[False, True, False], [True, False, True], [True, True, True]]


@pytest.mark.parametrize("family", ["multinomial", "proportional-odds"])
def test_paths_and_blocks_agree_with_many_classes(family):
    rng = np.random.default_rng(3)
    x, y = rng.normal(size=15), rng.integers(6, size=15)
    region = er.ConfidenceRegion(family, n_resamples=29, rng=0).fit(x, y, levels=list(range(6)))
    state, d = region.fitted_, len(region.parameter_names_)
    theta = np.abs(rng.normal(size=(60, d))) * np.repeat([[1.0], [30.0]], 30, axis=0)
    state._paths.evaluated = 1000
    one_by_one = [
        statistics_of(state.candidates(one[None]), state.resampling, state.prepared)[0]
        for one in theta
    ]
    assert np.array_equal(state.statistics(theta), one_by_one)
