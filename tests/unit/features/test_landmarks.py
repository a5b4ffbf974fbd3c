"""Features of many rows from a few of them."""

import numpy as np
import pytest

from exactregion.data.sample import CHUNK_ROWS, Extent, Sample
from exactregion.features.grid import SINGLE_ROWS, add_products, grid_unit
from exactregion.features.landmarks import (
    COMPACT_TOLERANCE,
    FEW_FEATURES,
    LANDMARKS,
    SAMPLE_ROWS,
    TOLERANCE,
    InputSummary,
    Landmarks,
    kernel_columns,
    sample_rows,
)
from exactregion.kernels import CallableKernel, Gaussian, Laplacian, Matern, Poisson, Precomputed

N = CHUNK_ROWS + 500
LARGE = Extent(N, N, 4096, 1)
RNG = np.random.default_rng(0)


@pytest.mark.parametrize("n", [CHUNK_ROWS + 1, 10**6, 10**8 + 7])
def test_samples_are_spread_over_all_rows_and_depend_on_their_number_alone(n):
    rows = sample_rows(n)
    assert rows.shape == (SAMPLE_ROWS,)
    np.testing.assert_array_equal(rows, sample_rows(n))
    assert (np.diff(rows) >= 0).all()
    assert rows[0] >= 0
    assert rows[-1] < n
    assert np.diff(rows).max() <= 2 * n / SAMPLE_ROWS + 1


def landmarks_of(kernel, X, contrast=False, extent=LARGE, tolerance=TOLERANCE):
    sample = InputSummary(extent, X, np.ones(len(X), dtype=int)).sample
    settled = kernel.settle(sample, standardize=True)
    return Landmarks.of(settled, sample, tolerance, contrast=contrast), settled


def features_of(landmarks, X):
    unit = grid_unit(landmarks.bound, LARGE, 100)
    return landmarks.on_grid(X, unit, np.float32)


@pytest.mark.parametrize("kernel", [Gaussian(), Gaussian(0.25), Matern(nu=2.5), Poisson()])
@pytest.mark.parametrize("contrast", [False, True])
@pytest.mark.parametrize("tolerance", [TOLERANCE, COMPACT_TOLERANCE])
def test_features_leave_out_no_more_of_the_trace_than_they_say(kernel, contrast, tolerance):
    X = RNG.normal(size=(SAMPLE_ROWS, 1))
    landmarks, settled = landmarks_of(kernel, X, contrast, tolerance=tolerance)
    assert landmarks.M.shape[1] <= LANDMARKS
    between = settled.kernel.contrast if contrast else settled.kernel.between
    diagonal = between(np.zeros((1, 1)), np.zeros((1, 1)))[0, 0]
    for rows, share in ((X, tolerance), (RNG.normal(size=(4000, 1)), 2 * tolerance)):
        Phi = features_of(landmarks, rows).astype(float)
        left = diagonal - (Phi**2).sum(axis=1)
        assert left.mean() <= (share + 2e-5) * diagonal  # interpolated between NODES, on the grid
        assert left.min() >= -1e-3 * diagonal
    some = RNG.uniform(-2, 2, size=(300, 1))
    K = between(settled.scaled(some), settled.scaled(some))
    Phi = features_of(landmarks, some).astype(float)
    np.testing.assert_allclose(Phi @ Phi.T, K, atol=5 * tolerance * diagonal)


def test_a_rough_kernel_stops_at_the_most_landmarks():
    landmarks, _ = landmarks_of(Laplacian(0.01), RNG.normal(size=(SAMPLE_ROWS, 2)))
    assert len(landmarks.points) == LANDMARKS
    Phi = features_of(landmarks, RNG.normal(size=(100, 2)))
    assert (Phi.astype(float) ** 2).sum(axis=1).max() <= 1 + 1e-3


def test_equal_inputs_have_equal_features():
    landmarks, _ = landmarks_of(Gaussian(), RNG.normal(size=(SAMPLE_ROWS, 3)))
    X = np.repeat(RNG.normal(size=(512, 3)), 8, axis=0)
    Phi = features_of(landmarks, X).reshape(512, 8, -1)
    np.testing.assert_array_equal(Phi, np.broadcast_to(Phi[:, :1], Phi.shape))


def test_features_in_single_precision_have_exact_sums():
    landmarks, _ = landmarks_of(Gaussian(), RNG.normal(size=(SAMPLE_ROWS, 2)))
    Phi = features_of(landmarks, RNG.normal(size=(4096, 2)))
    assert Phi.dtype == np.float32
    steps = Phi.astype(float) / grid_unit(landmarks.bound, LARGE, 100)
    np.testing.assert_array_equal(steps, np.rint(steps))
    assert np.abs(steps).max() * SINGLE_ROWS <= 2**24
    K = RNG.integers(0, 2, (7, 4096)).astype(np.float32)
    total = np.zeros((7, Phi.shape[1]))
    add_products(total, K, Phi)
    np.testing.assert_array_equal(total, K.astype(float) @ Phi.astype(float))


@pytest.mark.parametrize("d", [1, 3])
def test_regions_have_fewer_landmarks_where_there_are_more_than_a_few(d):
    inputs = InputSummary(LARGE, RNG.normal(size=(SAMPLE_ROWS, d)), np.ones(SAMPLE_ROWS, dtype=int))
    usual, compact = (
        kernel_columns(Gaussian(), inputs, standardize=True, compact=compact)[0].M.shape[1]
        for compact in (False, True)
    )
    if d == 1:
        assert compact == usual <= FEW_FEATURES
    else:
        assert compact < usual / 2


def test_few_rows_keep_the_factor_of_all_of_them():
    x = RNG.normal(size=60)
    inputs = Sample.from_data(x, np.arange(60) % 2).inputs
    Phi, compact = kernel_columns(Gaussian(), InputSummary.in_memory(inputs), standardize=True)
    assert not compact
    place = inputs.distinct.place
    K = Gaussian().on(inputs, standardize=True).gram.columns(place)[place]
    np.testing.assert_allclose(Phi @ Phi.T, K, atol=1e-6)


def test_sampled_rows_without_trials_still_have_a_scale():
    distinct = InputSummary(LARGE, np.arange(6.0)[:, None], np.zeros(6, dtype=int)).sample
    assert distinct.weights.tolist() == [1.0] * 6


@pytest.mark.parametrize("kernel", [CallableKernel(lambda a, b: a @ b), Precomputed(np.eye(2))])
def test_kernels_from_outside_cannot_be_settled(kernel):
    distinct = InputSummary(LARGE, np.arange(6.0)[:, None], np.ones(6, dtype=int)).sample
    assert kernel.settle(distinct, standardize=True) is None
