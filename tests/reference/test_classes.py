"""The formulas of docs/theory/classes.md, literally: the library agrees."""

import numpy as np
import pytest
from scipy.spatial.distance import pdist

import exactregion as er
from exactregion.data.sample import Inputs
from exactregion.engine.chunks import Chunk
from exactregion.engine.classes import measured_at_once
from exactregion.resampling import Draws
from exactregion.statistics import (
    Brier,
    ClassWise,
    Discrepancy,
    Embedding,
    Joint,
    Neighborhood,
    Spiegelhalter,
    Temperature,
    TopLabel,
)

C, N, M = 3, 12, 8
RNG = np.random.default_rng(5)
P = RNG.dirichlet(np.ones(C), size=N)
P = P[np.lexsort(P.T[::-1])]  # canonical order, so that data sets can be compared row by row
X = np.sort(RNG.normal(size=N))
Y = RNG.integers(C, size=N)
DRAWS = Draws(M - 1, 99)


def data_sets():
    """Classes of the m data sets, drawn by one uniform per row and C - 1 thresholds."""
    U = DRAWS.of_block(0).random((M - 1, N))
    alternatives = [
        [sum(u < P[j, c:].sum() for c in range(1, C)) for j, u in enumerate(row)] for row in U
    ]
    return np.array([*alternatives[: DRAWS.seat], Y, *alternatives[DRAWS.seat :]])


def measured(statistic, inputs):
    table = Chunk(0, inputs, np.ones(N, dtype=int), Y, P)
    every = Inputs(inputs, np.ones(N, dtype=int), ("x",), np.arange(N))
    return statistic.combine(measured_at_once(table, every, statistic, DRAWS)[0])


def unit(c):
    return np.eye(C)[c]


def gaussian(a, b, width):
    return np.exp(-np.sum((a - b) ** 2) / (2 * width**2))


def test_kernel_calibration_error():
    width = 0.5 * np.sort(pdist(P))[(N * (N - 1) // 2 - 1) // 2]
    expected = []
    for y in data_sets():
        Z = 0.0
        for i in range(N):
            for j in range(N):
                residuals = (unit(y[i]) - P[i]) @ (unit(y[j]) - P[j])
                Z += gaussian(P[i], P[j], width) * residuals
        expected.append(4 * Z / N**2)  # labels -1/+1 are twice as far apart as 0/1
    np.testing.assert_allclose(measured(Joint(), P), expected, rtol=1e-4)


def test_algorithm_three_on_inputs():
    statistic = Joint(Discrepancy(bandwidth=0.7, standardize=False))
    expected = [
        sum(
            gaussian(X[i], X[j], 0.7) * (unit(y[i]) - P[i]) @ (unit(y[j]) - P[j])
            for i in range(N)
            for j in range(N)
        )
        for y in data_sets()
    ]
    np.testing.assert_allclose(measured(statistic, X) * N**2 / 4, expected, rtol=1e-4)


def test_algorithm_two_embeds_inputs_and_classes():
    """Σ_j ‖h_i - h_j‖² for the kernel k(x, x') 1{c = c'}, up to scale and shift: equal order."""
    width = 0.7
    share = -np.expm1(-(2.0**2) / (2 * width**2)) / 2  # of the label as a coordinate

    def inner(y, z):
        return sum(
            gaussian(X[i], X[j], width) * share * (y[i] == z[j]) for i in range(N) for j in range(N)
        )

    every = data_sets()
    G = np.array([[inner(y, z) for z in every] for y in every])
    squared = np.diag(G)[:, None] + np.diag(G) - 2 * G
    expected = squared.sum(axis=1) / M - squared.sum() / (2 * M**2)  # ‖h_i - h̄‖²
    found = measured(Joint(Embedding(bandwidth=width, standardize=False)), X)
    np.testing.assert_allclose(found * N**2 / 4, expected, rtol=1e-4)


def test_algorithm_one_compares_vote_shares():
    """kNN estimates f_i(x) of all classes at the data points, Σ_j ∫ ‖f_i - f_j‖²."""
    k = 4
    neighbours = [np.argsort(np.abs(X - x), kind="stable")[:k] for x in X]
    every = data_sets()
    votes = np.array(
        [[np.mean([unit(y[j]) for j in near], axis=0) for near in neighbours] for y in every]
    )  # (m, nodes, C)
    away = votes - votes.mean(axis=0)
    expected = 4 * (away**2).sum(axis=2).mean(axis=1)
    found = measured(Joint(Neighborhood(k=k)), X)
    np.testing.assert_allclose(found, expected, rtol=1e-6)


def test_brier_and_temperature():
    brier, temperature = [], []
    for y in data_sets():
        losses = [np.sum((unit(y[j]) - P[j]) ** 2) for j in range(N)]
        means = [sum(P[j, c] * np.sum((unit(c) - P[j]) ** 2) for c in range(C)) for j in range(N)]
        brier.append((sum(losses) - sum(means)) ** 2 / 4)
        logs = [np.log(P[j, y[j]]) - P[j] @ np.log(P[j]) for j in range(N)]
        temperature.append(sum(logs) ** 2)
    np.testing.assert_allclose(measured(Brier(), P), brier, rtol=1e-6)
    np.testing.assert_allclose(measured(Temperature(), P), temperature, rtol=1e-6)


def test_temperature_is_the_score_of_its_family():
    def log_likelihood(b):
        Q = P**b / (P**b).sum(axis=1, keepdims=True)
        return np.log(Q[np.arange(N), Y]).sum()

    slope = (log_likelihood(1 + 1e-6) - log_likelihood(1 - 1e-6)) / 2e-6
    np.testing.assert_allclose(measured(Temperature(), P)[DRAWS.seat], slope**2, rtol=1e-4)


def test_views_of_one_class_are_labels():
    top, largest = P.argmax(axis=1), P.max(axis=1)
    expected_top, expected_each = [], []
    for y in data_sets():
        expected_top.append(np.sum((1 - 2 * largest) * ((y == top) - largest)) ** 2)
        each = [np.sum((1 - 2 * P[:, c]) * ((y == c) - P[:, c])) ** 2 for c in range(C)]
        expected_each.append(np.mean(each))
    np.testing.assert_allclose(measured(TopLabel(Spiegelhalter()), P), expected_top, rtol=1e-5)
    np.testing.assert_allclose(measured(ClassWise(Spiegelhalter()), P), expected_each, rtol=1e-5)


@pytest.mark.parametrize("n", [1, 30, 400])
@pytest.mark.parametrize("statistic", [None, "discrepancy", "spiegelhalter"])
def test_two_classes_have_the_ranks_of_labels(n, statistic):
    rng = np.random.default_rng(n)
    p = rng.random(n)
    y = (rng.random(n) < p).astype(int)
    settings = {"statistic": statistic, "n_resamples": 99, "rng": 3}
    both = er.calibration_test(y, np.column_stack([1 - p, p]), **settings)
    assert both.rank == er.calibration_test(y, p, **settings).rank
    x = rng.normal(size=n)
    settings["statistic"] = statistic or "multiscale"
    both = er.model_test(np.column_stack([1 - p, p]), x, y, **settings)
    np.testing.assert_array_equal(
        both.null_distribution, er.model_test(p, x, y, **settings).null_distribution
    )


@pytest.mark.parametrize("statistic", [Discrepancy(standardize=False), Embedding(), Neighborhood()])
def test_two_classes_as_classes_have_the_ranks_of_labels(statistic):
    """The sum over two classes is twice the statistic of labels: no draw differs."""
    rng = np.random.default_rng(8)
    p = np.sort(rng.random(25))
    y = (rng.random(25) < p).astype(int)
    both = np.column_stack([1 - p, p])
    order = np.arange(25)
    table = Chunk(0, p[:, None], np.ones(len(y), dtype=int), y, both)
    every = Inputs(p, np.ones(25, dtype=int), ("x",), order)
    joint = Joint(statistic)
    draws = Draws(99, 12)
    Z = joint.combine(measured_at_once(table, every, joint, draws)[0])
    from exactregion.data.sample import Sample
    from exactregion.engine import PreparedStatistic, statistics_of
    from exactregion.resampling import Resampling
    from exactregion.statistics import Candidates

    labels = Resampling(Sample(every, y, False, None), 99, 12)
    prepared = PreparedStatistic.of(statistic, every, 100)
    expected = statistics_of(Candidates(every, p[None]), labels, prepared)[0]
    np.testing.assert_allclose(Z, 2 * expected, rtol=1e-6, atol=1e-12)
