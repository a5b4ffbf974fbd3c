"""Factors of Gram matrices, and sums on the dyadic grid that no order can change."""

from fractions import Fraction

import numpy as np
import pytest
from scipy import sparse

from exactregion.data.sample import Sample
from exactregion.features.factors import (
    EXACT_POINTS,
    NYSTROEM_RANK,
    NYSTROEM_TOLERANCE,
    factor,
    leading,
)
from exactregion.features.grid import (
    COMPACT_TRIALS,
    PROBABILITY_BITS,
    CandidateFeatures,
    Labels,
    SharedFeatures,
    grid_unit,
)
from exactregion.features.landmarks import FEW_FEATURES, InputSummary, kernel_columns
from exactregion.kernels import CallableKernel, Gaussian, Laplacian, Matern, Poisson, Precomputed
from exactregion.resampling import BLOCK_ROWS, MAX_RESAMPLES, blocks

M = 20


def inputs_of(X, trials=None):
    n = len(X)
    y = np.zeros(n) if trials is None else np.column_stack([np.zeros(n), trials])
    return Sample.from_data(X, y).inputs


def gram_of(kernel, inputs):
    return kernel.on(inputs, standardize=True).gram


def some_features(n, r=5, seed=0, trials=None):
    rng = np.random.default_rng(seed)
    inputs = inputs_of(np.arange(float(n)), trials)
    values = rng.normal(size=(n, r)) * 10.0 ** rng.integers(-8, 8, r)
    return values, inputs


# --- factors ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "kernel",
    [
        Gaussian(),
        Gaussian(0.05),
        Laplacian(),
        Matern(),
        Poisson(),
        CallableKernel(lambda a, b: a @ b),
    ],
)
@pytest.mark.parametrize("shape", [1, 2, (60, 1), (60, 3)])
def test_the_factor_gives_back_the_gram_matrix(kernel, shape):
    inputs = inputs_of(np.random.default_rng(0).normal(size=shape))
    gram = gram_of(kernel, inputs)
    Phi = factor(gram, inputs.distinct.weights)
    K = gram.columns(np.arange(gram.size))
    np.testing.assert_allclose(Phi @ Phi.T, K, atol=1e-10 * np.abs(K).max())


def test_the_factor_has_the_numerical_rank():
    inputs = inputs_of(np.random.default_rng(0).normal(size=(30, 3)))
    assert factor(gram_of(CallableKernel(lambda a, b: a @ b), inputs), np.ones(30)).shape == (30, 3)
    assert (
        factor(gram_of(Gaussian(), inputs_of(np.linspace(0, 1, 500))), np.ones(500)).shape[1] < 40
    )


def test_a_zero_gram_matrix_has_zero_features():
    inputs = inputs_of(np.arange(4.0))
    Phi = factor(gram_of(Precomputed(np.zeros((4, 4))), inputs), np.ones(4))
    assert len(Phi) == 4
    assert not Phi.any()


@pytest.fixture(scope="module")
def large():
    x = np.random.default_rng(0).normal(size=3000)
    inputs = inputs_of(x)
    assert len(x) > EXACT_POINTS
    return gram_of(Gaussian(), inputs), inputs.distinct.weights


def test_many_points_have_few_features_and_a_small_error(large):
    gram, weights = large
    Phi = factor(gram, weights)
    assert Phi.shape[1] <= NYSTROEM_RANK
    left = gram.diagonal - (Phi**2).sum(axis=1)
    assert left.min() > -1e-10
    assert weights @ left <= NYSTROEM_TOLERANCE * (weights @ gram.diagonal)
    some = np.arange(0, 3000, 100)
    np.testing.assert_allclose(Phi @ Phi[some].T, gram.columns(some), atol=1e-4)


def test_features_of_many_points_are_the_same_each_time(large):
    np.testing.assert_array_equal(factor(*large), factor(*large))


def test_many_points_of_a_rough_kernel_stop_at_the_largest_rank():
    inputs = inputs_of(np.linspace(0, 1, 2100))
    Phi = factor(gram_of(Laplacian(0.001), inputs), inputs.distinct.weights)
    assert Phi.shape == (2100, NYSTROEM_RANK)
    assert (Phi**2).sum(axis=1).max() <= 1 + 1e-10


# --- the grid -----------------------------------------------------------------------------------


@pytest.mark.parametrize("largest", [1.0, 0.3, 1e-12, 3e12, 0.0])
@pytest.mark.parametrize("m", [2, 1000, MAX_RESAMPLES + 1])
def test_the_grid_is_a_power_of_two_with_room_for_every_sum(largest, m):
    trials = np.array([1, 5, 1000])
    inputs = inputs_of(np.arange(3.0), trials)
    unit = float(grid_unit(np.array(largest), inputs.extent, m))
    assert np.frexp(unit)[0] == 0.5
    steps = Fraction(largest) / Fraction(unit)
    assert steps * 2 * m * int(trials.sum()) <= 2**53
    assert steps * int(trials.sum()) * 2**PROBABILITY_BITS <= 2**53


def test_blocks_count_their_trials():
    n = BLOCK_ROWS + 10
    trials = np.ones(n, dtype=int)
    trials[-1] = 10_000
    assert inputs_of(np.arange(float(n)), trials).extent.block_trials == 10_009


def test_rounding_is_to_the_nearest_multiple_of_the_grid():
    values, inputs = some_features(50)
    features = SharedFeatures.rounded(values, inputs.extent, M)
    assert (np.abs(features.values - values) <= features.unit / 2).all()
    steps = features.values / features.unit
    np.testing.assert_array_equal(steps, np.rint(steps))
    assert features.width == 5


def sum_in_some_order(values, weights, rng):
    """Σ_j weight_j φ_j, rows shuffled and added in chunks."""
    order = rng.permutation(len(values))
    chunks = np.array_split(order, rng.integers(1, 9))
    return sum((weights[chunk] @ values[chunk] for chunk in chunks), np.zeros(values.shape[1]))


def test_sums_do_not_depend_on_order_or_chunks():
    rng = np.random.default_rng(1)
    trials = rng.integers(1, 9, 300)
    values, inputs = some_features(300, trials=trials)
    features = SharedFeatures.rounded(values, inputs.extent, 1000)
    successes = rng.integers(0, trials + 1).astype(float)
    exact = [
        sum(Fraction(v) * int(k) for v, k in zip(column, successes, strict=True))
        for column in features.values.T.tolist()
    ]
    for _ in range(30):
        assert sum_in_some_order(features.values, successes, rng).tolist() == exact
    unrounded = {tuple(sum_in_some_order(values, successes, rng)) for _ in range(30)}
    assert len(unrounded) > 1


@pytest.mark.parametrize("n", [40, BLOCK_ROWS + 100])
def test_points_do_not_depend_on_the_other_candidates_and_data_sets(n):
    values, inputs = some_features(n)
    features = SharedFeatures.rounded(values, inputs.extent, M)
    K = np.random.default_rng(2).integers(0, 2, (3, M, n)).astype(float)
    points = np.zeros((5, 3, M))
    alone = np.zeros((5, 1, 1))
    for rows in blocks(n):
        features.add(points, K[:, :, rows], rows)
        features.add(alone, K[1:2, 7:8, rows], rows)
    np.testing.assert_array_equal(points[:, 1, 7], alone[:, 0, 0])
    np.testing.assert_array_equal(points[:, 2], features.values.T @ K[2].T)


def exact_centre(features, probabilities, inputs):
    """Σ over blocks of Σ_j φ_j (t_j p_j rounded) to the nearest half unit, in integers."""
    scale = 2**PROBABILITY_BITS
    mass = np.rint(inputs.trials * probabilities * scale).astype(int).tolist()
    steps = np.rint(features.values / features.unit).astype(int).tolist()
    halves = np.zeros(features.width)
    for rows in blocks(len(inputs)):
        pairs = list(zip(steps[rows], mass[rows], strict=True))
        for feature in range(features.width):
            total = sum(step[feature] * weight for step, weight in pairs)
            halves[feature] += round(Fraction(2 * total, scale))
    return halves / 2 * features.unit


@pytest.mark.parametrize("n", [30, BLOCK_ROWS + 50])
def test_the_centre_is_exact_whatever_the_batch(n):
    rng = np.random.default_rng(3)
    trials = rng.integers(0, 5, n)
    values, inputs = some_features(n, r=3, trials=trials)
    features = SharedFeatures.rounded(values, inputs.extent, M)
    P = rng.random((6, n))
    centres = features.centre(P, inputs)
    assert centres.shape == (3, 6)
    for candidate in (0, 5):
        np.testing.assert_array_equal(
            centres[:, candidate], features.centre(P[candidate, None], inputs)[:, 0]
        )
        np.testing.assert_array_equal(
            centres[:, candidate], exact_centre(features, P[candidate], inputs)
        )


def test_the_centre_of_successes_is_their_mean():
    values, inputs = some_features(200, trials=np.arange(200) % 4 + 1)
    features = SharedFeatures.rounded(values, inputs.extent, M)
    p = np.random.default_rng(4).random(200)
    expected = values.T @ (inputs.trials * p)
    tolerance = np.abs(values).sum(axis=0) * 4 * 2.0**-PROBABILITY_BITS
    assert (np.abs(features.centre(p[None], inputs)[:, 0] - expected) <= tolerance).all()


@pytest.mark.parametrize("seed", range(5))
def test_mirrored_data_sets_are_mirrored_in_the_centre_of_a_fair_coin(seed):
    values, inputs = some_features(9, seed=seed)
    features = SharedFeatures.rounded(values, inputs.extent, M)
    k = np.random.default_rng(seed).integers(0, 2, 9).astype(float)
    points = np.zeros((5, 1, 2))
    features.add(points, np.stack([k, 1 - k])[None], slice(0, 9))
    away = points[:, 0] - features.centre(np.full((1, 9), 0.5), inputs)
    np.testing.assert_array_equal(away[:, 0], -away[:, 1])


def test_sparse_features_do_what_dense_ones_do():
    rng = np.random.default_rng(5)
    values, inputs = some_features(60)
    values[rng.random(values.shape) < 0.7] = 0.0
    values /= np.abs(values).max(axis=0)  # the sparse grid is one for all columns
    dense = SharedFeatures.rounded(values, inputs.extent, M)
    thin = SharedFeatures.rounded(sparse.csr_array(values), inputs.extent, M)
    assert (thin.values.toarray() == dense.values).all()
    assert thin.width == dense.width
    K, P = rng.integers(0, 2, (2, M, 60)).astype(float), rng.random((2, 60))
    points = np.zeros((2, 5, 2, M))
    dense.add(points[0], K, slice(0, 60))
    thin.add(points[1], K, slice(0, 60))
    np.testing.assert_array_equal(points[0], points[1])
    np.testing.assert_array_equal(dense.centre(P, inputs), thin.centre(P, inputs))


# --- features of candidates ---------------------------------------------------------------------


def test_features_of_candidates_have_a_grid_each():
    rng = np.random.default_rng(6)
    values = rng.normal(size=(4, 2, 50)) * 10.0 ** np.arange(-4, 4).reshape(4, 2, 1)
    inputs = inputs_of(np.arange(50.0))
    features = CandidateFeatures.rounded(values, inputs.extent, M)
    assert features.unit.shape == (4, 2)
    assert features.width == 2
    assert (np.abs(features.values - values) <= features.unit[:, :, None] / 2).all()
    alone = CandidateFeatures.rounded(values[2:3], inputs.extent, M)
    np.testing.assert_array_equal(alone.values[0], features.values[2])


def test_points_and_centres_of_candidates_are_those_of_each_alone():
    rng = np.random.default_rng(7)
    n = BLOCK_ROWS + 60
    inputs = inputs_of(np.arange(float(n)))
    values = rng.normal(size=(3, 2, n))
    K, P = rng.integers(0, 2, (3, 4, n)).astype(float), rng.random((3, n))
    features = CandidateFeatures.rounded(values, inputs.extent, 4)
    centre = features.centre(P, inputs)
    points = np.zeros((2, 3, 4))
    for rows in blocks(n):
        features.add(points, K[:, :, rows], rows)
    for candidate in range(3):
        one = SharedFeatures.rounded(values[candidate].T.copy(), inputs.extent, 4)
        np.testing.assert_array_equal(one.values.T, features.values[candidate])
        np.testing.assert_array_equal(points[:, candidate], one.values.T @ K[candidate].T)
        np.testing.assert_array_equal(
            centre[:, candidate], one.centre(P[candidate, None], inputs)[:, 0]
        )


def test_labels_keep_every_row():
    K = np.random.default_rng(8).integers(0, 3, (2, 4, 7)).astype(float)
    labels = Labels(7)
    points = np.zeros((7, 2, 4))
    labels.add(points, K[:, :, :3], slice(0, 3))
    labels.add(points, K[:, :, 3:], slice(3, 7))
    np.testing.assert_array_equal(points.transpose(1, 2, 0), K)


def test_the_last_of_many_features_are_left_out():
    """A rough kernel in many dimensions: all but a thousandth of its trace is kept."""
    x = np.random.default_rng(0).normal(size=(300, 4))
    inputs = Sample.from_data(x, np.arange(300) % 2).inputs
    kernel = Gaussian(multiple=2).on(inputs, standardize=True)
    found = factor(kernel.gram, kernel.points.weights)
    assert 64 < found.shape[1] < 150
    left = 1 - (found**2).sum() / kernel.gram.diagonal.sum()
    assert 0 <= left <= 1e-3


# --- the leading features -----------------------------------------------------------------------


def weighted_sizes(Phi, weights):
    return weights @ Phi**2


def test_leading_features_are_those_of_the_weighted_trace():
    rng = np.random.default_rng(9)
    Phi, weights = rng.normal(size=(40, 6)) * np.arange(1, 7), rng.integers(1, 9, 40).astype(float)
    rotation = leading(Phi, weights)
    np.testing.assert_allclose(rotation.T @ rotation, np.eye(6), atol=1e-12)
    rotated = Phi @ rotation
    np.testing.assert_allclose(rotated @ rotated.T, Phi @ Phi.T, atol=1e-10)
    G = (rotated * weights[:, None]).T @ rotated
    np.testing.assert_allclose(G, np.diag(np.diag(G)), atol=1e-9 * np.trace(G))
    assert (np.diff(weighted_sizes(rotated, weights)) < 0).all()
    singular = np.linalg.svd(Phi * np.sqrt(weights)[:, None], compute_uv=False)
    np.testing.assert_allclose(weighted_sizes(rotated, weights), singular**2)


@pytest.mark.parametrize(
    ("limits", "kept"),
    [
        ({}, 4),
        ({"left_out": 0.9}, 4),
        ({"left_out": 1.1}, 3),
        ({"left_out": 4.9}, 3),
        ({"left_out": 5.1}, 2),
        ({"left_out": 1e9}, 1),
        ({"least": 0.9}, 4),
        ({"least": 1.1}, 3),
        ({"least": 3.9}, 3),
        ({"least": 4.1}, 2),
        ({"least": 1e9}, 1),
        ({"left_out": 1.1, "least": 4.1}, 2),
        ({"left_out": 5.1, "least": 1.1}, 2),
    ],
)
def test_features_that_weigh_little_are_dropped(limits, kept):
    """Four features that have 1, 4, 9 and 16 of the weighted trace; half of each by weight two."""
    Phi = np.diag(np.sqrt([9.0, 1.0, 16.0, 4.0]) / np.sqrt(2))
    rotated = Phi @ leading(Phi, np.full(4, 2.0), **limits)
    np.testing.assert_allclose(weighted_sizes(rotated, np.full(4, 2.0)), [16, 9, 4, 1][:kept])


# --- compact features -----------------------------------------------------------------------------


@pytest.mark.parametrize("trials", [None, 13])
@pytest.mark.parametrize("n", [50, 300])
def test_sums_of_compact_features_are_exact_in_single_precision(n, trials):
    rng = np.random.default_rng(10)
    trials = np.ones(n, dtype=int) if trials is None else rng.integers(1, trials, n)
    values, inputs = some_features(n, trials=trials)
    features = SharedFeatures.rounded(values, inputs.extent, 1000, compact=True)
    assert features.compact
    assert features.values.dtype == np.float32
    assert (np.abs(features.values - values) <= features.unit / 2).all()
    exact = features.values.astype(float)
    for successes in (trials, rng.integers(0, trials + 1)):
        total = np.zeros(5, dtype=np.float32)
        for row in rng.permutation(np.repeat(np.arange(n), successes)):
            total += features.values[row]
        assert total.dtype == np.float32
        np.testing.assert_array_equal(total.astype(float), successes @ exact)


def test_the_compact_grid_has_room_for_the_largest_sum():
    """All rows at the largest value: the sum is below 2²⁴ units, and not below 2²² of them."""
    for n in (33, 64, 1000, COMPACT_TRIALS):
        inputs = inputs_of(np.arange(float(n)))
        features = SharedFeatures.rounded(np.full((n, 1), 0.99), inputs.extent, M, compact=True)
        units = float(features.values.astype(float).sum() / features.unit[0])
        assert 2**22 < units <= 2**24


def test_many_trials_and_sparse_features_are_not_compact():
    for n, compact in ((COMPACT_TRIALS // 2, True), (COMPACT_TRIALS // 2 + 1, False)):
        values, inputs = some_features(n, r=2, trials=np.full(n, 2))
        features = SharedFeatures.rounded(values, inputs.extent, M, compact=True)
        assert features.compact is compact
        assert features.values.dtype == (np.float32 if compact else np.float64)
    thin = sparse.csr_array(np.eye(9))
    inputs = inputs_of(np.arange(9.0))
    assert not SharedFeatures.rounded(thin, inputs.extent, M, compact=True).compact
    values, inputs = some_features(9)
    assert not SharedFeatures.rounded(values, inputs.extent, M).compact


def test_points_and_centres_of_compact_features_are_exact():
    values, inputs = some_features(200)
    features = SharedFeatures.rounded(values, inputs.extent, M, compact=True)
    K = np.random.default_rng(11).integers(0, 2, (2, M, 200)).astype(float)
    points = np.zeros((5, 2, M))
    features.add(points, K, slice(0, 200))
    exact = features.values.astype(float)
    np.testing.assert_array_equal(points[:, 1], exact.T @ K[1].T)
    P = np.random.default_rng(12).random((2, 200))
    same = SharedFeatures(exact, features.unit)
    np.testing.assert_array_equal(features.centre(P, inputs), same.centre(P, inputs))
    np.testing.assert_array_equal(
        features.centre(P, inputs)[:, 0], exact_centre(same, P[0], inputs)
    )


def kernel_features(inputs, compact=False):
    summary = InputSummary.in_memory(inputs)
    values, compact = kernel_columns(Gaussian(), summary, standardize=True, compact=compact)
    return SharedFeatures.rounded(values, inputs.extent, M, compact=compact)


@pytest.mark.parametrize("n", [60, 150])
def test_a_compact_kernel_leaves_out_what_weighs_less_than_a_row(n):
    rng = np.random.default_rng(13)
    inputs = inputs_of(rng.normal(size=(n, 4)), rng.integers(1, 4, n))
    whole = kernel_features(inputs)
    compact = kernel_features(inputs, compact=True)
    assert not whole.compact
    assert compact.compact
    assert whole.width > FEW_FEATURES
    assert 1 <= compact.width < whole.width
    weights = inputs.trials.astype(float)
    scaled = whole.values * np.sqrt(weights)[:, None]
    sizes = np.linalg.svd(scaled, compute_uv=False) ** 2
    row = sizes.sum() / weights.sum()
    assert compact.width == np.count_nonzero(sizes >= row)
    np.testing.assert_allclose(
        weighted_sizes(compact.values.astype(float), weights), sizes[: compact.width], rtol=1e-3
    )
    # what is left out is what the singular vectors past the last say
    left = scaled @ scaled.T
    kept = compact.values.astype(float) * np.sqrt(weights)[:, None]
    gap = np.linalg.norm(left - kept @ kept.T, 2)
    assert gap == pytest.approx(sizes[compact.width], rel=1e-2)


def test_few_features_are_kept_as_they_are():
    inputs = inputs_of(np.linspace(0, 1, 300))
    whole = kernel_features(inputs)
    compact = kernel_features(inputs, compact=True)
    assert whole.width <= FEW_FEATURES
    assert not compact.compact
    np.testing.assert_array_equal(compact.values, whole.values)
