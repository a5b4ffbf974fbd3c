"""What must not change a rank: order of rows, names, batches, threads, float type, units."""

from functools import cache

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from support.truths import STATISTICS
from threadpoolctl import threadpool_limits

import exactregion as er
from exactregion.data.sample import CHUNK_ROWS

BUILT_IN = [name for name in STATISTICS if name != "callable"]
every_statistic = pytest.mark.parametrize("statistic", BUILT_IN)
seeds = st.integers(0, 2**32 - 1)
few = settings(max_examples=10, deadline=None)


def data(seed, n=None, d=2):
    """Inputs with repetitions, labels and parameters, all from one seed."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 40)) if n is None else n
    X = np.round(rng.normal(size=(n, d)), 1)
    return X, rng.random(n) < 0.5, rng.normal(size=(6, d + 1)), rng


def region(X, y, statistic, **changes):
    options = {"confidence_level": 0.9, "n_resamples": 29, "rng": 1} | changes
    return er.ConfidenceRegion("logistic", statistic=STATISTICS[statistic], **options).fit(X, y)


@every_statistic
@few
@given(seed=seeds)
def test_order_of_rows(statistic, seed):
    X, y, thetas, rng = data(seed)
    order = rng.permutation(len(y))
    before, after = region(X, y, statistic), region(X[order], y[order], statistic)
    assert np.array_equal(before.rank(thetas), after.rank(thetas))
    assert np.array_equal(before.evaluate(thetas[0]).Z, after.evaluate(thetas[0]).Z)


@few
@given(seed=seeds)
def test_order_of_rows_with_counts_and_fixed_candidates(seed):
    X, _, thetas, rng = data(seed, d=1)
    counts = rng.integers(0, 4, size=(len(X), 2)) + np.array([1, 0])
    p = rng.random(len(X))  # not a function of X: repeated inputs have different probabilities
    order = rng.permutation(len(X))
    before, after = region(X, counts, "combined"), region(X[order], counts[order], "combined")
    assert np.array_equal(before.rank(thetas[:, :2]), after.rank(thetas[:, :2]))
    one = er.model_test(p, X, counts, n_resamples=29, rng=0)
    other = er.model_test(p[order], X[order], counts[order], n_resamples=29, rng=0)
    assert np.array_equal(one.null_distribution, other.null_distribution)
    assert one.rank == other.rank
    first = er.calibration_test(counts, p, n_resamples=29, rng=0)
    second = er.calibration_test(counts[order], p[order], n_resamples=29, rng=0)
    assert (first.rank, first.statistic) == (second.rank, second.statistic)


@few
@given(seed=seeds)
def test_names_of_classes(seed):
    X, y, thetas, _ = data(seed)
    ranks = region(X, y, "combined").rank(thetas)
    for other in (y.astype(int), y.astype(float), np.where(y, 1, -1)):
        assert np.array_equal(region(X, other, "combined").rank(thetas), ranks)
    text = np.where(y, "ill", "well")
    assert np.array_equal(region(X, text, "combined", pos_label="ill").rank(thetas), ranks)
    ones = np.column_stack([y, ~y]).astype(int)
    assert np.array_equal(region(X, ones, "combined").rank(thetas), ranks)


@few
@given(seed=seeds)
def test_kind_of_container(seed):
    X, y, thetas, _ = data(seed)
    ranks = region(X, y, "combined").rank(thetas)
    columns = {"a": X[:, 0], "b": X[:, 1]}
    assert np.array_equal(
        region(pd.DataFrame(columns), pd.Series(y), "combined").rank(thetas), ranks
    )
    assert np.array_equal(
        region(pl.DataFrame(columns), pl.Series(y), "combined").rank(thetas), ranks
    )
    assert np.array_equal(region(X.tolist(), y.tolist(), "combined").rank(thetas), ranks)
    assert np.array_equal(region(np.asfortranarray(X), y, "combined").rank(thetas), ranks)


@every_statistic
@few
@given(seed=seeds)
def test_float32_inputs_of_the_same_values(statistic, seed):
    X, y, thetas, _ = data(seed)
    single = X.astype(np.float32)
    double = single.astype(np.float64)
    assert np.array_equal(
        region(single, y, statistic).rank(thetas), region(double, y, statistic).rank(thetas)
    )


@pytest.mark.parametrize("statistic", STATISTICS)
def test_batch_size(statistic):
    """One θ at a time, hundreds, and 1024 at once: the same Z to the last bit."""
    X, y, _, rng = data(3, n=23)
    thetas = rng.normal(size=(1024, 3))
    Z = {
        batch: region(X, y, statistic, n_resamples=9, batch=batch).fitted_.statistics(thetas)
        for batch in (1, 100_000, 2**40)
    }
    assert np.array_equal(Z[1], Z[100_000])
    assert np.array_equal(Z[1], Z[2**40])
    fitted = region(X, y, statistic, n_resamples=9)
    assert np.array_equal(fitted.evaluate(thetas[7]).Z, Z[1][7])
    assert fitted.rank(thetas).tolist()[:50] == [fitted.rank(one) for one in thetas[:50]]


@every_statistic
def test_threads(statistic):
    """Factors, products and whitening with one and with two BLAS threads."""
    X, y, _, rng = data(4, n=400, d=20)
    thetas = rng.normal(scale=0.3, size=(40, 21))
    Z = []
    for threads in (1, 2):
        with threadpool_limits(threads, user_api="blas"):
            Z.append(region(X, y, statistic, n_resamples=199).fitted_.statistics(thetas))
    assert np.array_equal(*Z)


def test_threads_with_nystroem_features():
    X, y, _, rng = data(5, n=6000, d=3)
    X = X + rng.normal(size=X.shape)
    Z = []
    for threads in (1, 2):
        with threadpool_limits(threads, user_api="blas"):
            Z.append(region(X, y, "combined").fitted_.statistics(np.ones((3, 4))))
    assert np.array_equal(*Z)


@every_statistic
@few
@given(seed=seeds, power=st.integers(-950, 1000))
def test_units_of_the_inputs(statistic, seed, power):
    """Standardised inputs: a power of two as unit changes not even the last bit.

    Below 2⁻⁹⁵⁰ some inputs would be subnormal, and lose bits themselves.
    """
    X, y, thetas, _ = data(seed)
    scaled = thetas / [1, 2.0**power, 2.0**power]
    before, after = region(X, y, statistic), region(X * 2.0**power, y, statistic)
    assert np.array_equal(before.rank(thetas), after.rank(scaled))


@settings(max_examples=4, deadline=None)
@given(power=st.integers(-950, 1000))
@example(power=600)  # whose squares overflow
@pytest.mark.parametrize("statistic", ["score", "combined"])
def test_units_of_many_inputs(statistic, power):
    """Sums of many rows are made in single precision, which ends at 2⁻¹²⁶ and 2¹²⁸."""
    assert np.array_equal(of_many_inputs(statistic, power), of_many_inputs(statistic, 0))


@cache
def of_many_inputs(statistic, power):
    """Give Z of some θ for the same data in units of 2^-power."""
    X, y, _, rng = data(8, n=CHUNK_ROWS + 100)
    scaled = rng.normal(scale=0.01, size=(6, 3)) / [1, 2.0**power, 2.0**power]
    return region(X * 2.0**power, y, statistic, n_resamples=9).fitted_.statistics(scaled)


@few
@given(seed=seeds)
def test_more_alternatives_keep_the_first_ones(seed):
    X, y, thetas, _ = data(seed)
    few_rows = region(X, y, "discrepancy", n_resamples=19).evaluate(thetas[0])
    more_rows = region(X, y, "discrepancy", n_resamples=49).evaluate(thetas[0])
    first = np.delete(few_rows.labels, few_rows.seat, axis=0)
    assert np.array_equal(first, np.delete(more_rows.labels, more_rows.seat, axis=0)[:19])


@every_statistic
@few
@given(seed=seeds)
def test_equal_data_sets_tie(statistic, seed):
    """Few rows, many alternatives: equal labels must have equal Z, to the last bit."""
    X, y, thetas, _ = data(seed, n=4)
    ev = region(X, y, statistic, n_resamples=99).evaluate(thetas[0])
    of_labels = {}
    for labels, Z in zip(ev.labels, ev.Z, strict=True):
        assert of_labels.setdefault(labels.tobytes(), Z) == Z


@few
@given(seed=seeds)
def test_mirrored_data_sets_tie(seed):
    """With f = 0 a data set and its mirror image are equally far from the centre."""
    X, y, _, _ = data(seed, n=4)
    ev = region(X, y, "combined", n_resamples=99).evaluate(np.zeros(3))
    of_labels = {labels.tobytes(): Z for labels, Z in zip(ev.labels, ev.Z, strict=True)}
    for labels, Z in zip(ev.labels, ev.Z, strict=True):
        assert of_labels.get((-labels).tobytes(), Z) == Z


def test_many_rows_are_ordered_within_stretches():
    """Past CHUNK_ROWS the order of rows matters only across stretches."""
    rng = np.random.default_rng(0)
    n = CHUNK_ROWS + 1000
    x, y = rng.normal(size=n), rng.random(n) < 0.5
    order = np.concatenate(
        [rng.permutation(CHUNK_ROWS), CHUNK_ROWS + rng.permutation(n - CHUNK_ROWS)]
    )
    one = er.model_test(np.full(n, 0.5), x, y, n_resamples=9, rng=0)
    other = er.model_test(np.full(n, 0.5), x[order], y[order], n_resamples=9, rng=0)
    assert one.statistic == other.statistic
    assert np.array_equal(one.null_distribution, other.null_distribution)
