"""Shared uniforms, the seat, and the binomial quantiles that make alternatives of them."""

import numpy as np
import pytest
from scipy.stats import binom

from exactregion.data.sample import Sample
from exactregion.errors import InvalidTypeError, InvalidValueError
from exactregion.resampling import (
    BLOCK_ROWS,
    MAX_RESAMPLES,
    Resampling,
    _binomial_quantiles,
    blocks,
    check_n_resamples,
    fresh_entropy,
)

FALSE_ALARM = 1e-9


def resampling(n=10, n_resamples=19, entropy=1, trials=None, **settings):
    x = np.arange(float(n))
    y = np.zeros(n) if trials is None else np.column_stack([np.zeros(n), trials])
    return Resampling(Sample.from_data(x, y), n_resamples, entropy, **settings)


# --- alternatives -------------------------------------------------------------------------------


@pytest.mark.parametrize("trials", [0, 1, 2, 7, 60])
def test_alternatives_are_binomial_quantiles(trials):
    u = np.random.default_rng(trials).random(400)
    p = np.array([0.0, 1e-9, 0.02, 0.3, 0.5, 0.97, 1 - 1e-12, 1.0])
    thresholds = binom.sf(np.arange(trials), trials, p[:, None])  # P(K >= c), c = 1..trials
    expected = (u[None, :, None] < thresholds[:, None, :]).sum(axis=-1)
    np.testing.assert_array_equal(_binomial_quantiles(u, p, trials), expected)


def test_a_uniform_at_its_threshold_is_no_success():
    u = np.array([0.75, 0.25, 0.5, np.nextafter(0.25, 0), 0.0])
    assert _binomial_quantiles(u, np.array([0.5]), 1).tolist() == [[0, 1, 0, 1, 1]]
    assert _binomial_quantiles(u, np.array([0.5]), 2).tolist() == [[0, 1, 1, 2, 2]]


def test_certain_outcomes_are_certain():
    draws = resampling(4, 200, trials=[1, 1, 5, 5])
    K = np.delete(draws.successes(np.array([[0.0, 1.0, 0.0, 1.0]]), slice(0, 4)), draws.seat, 1)
    assert (K == [0, 1, 0, 5]).all()


def test_labels_are_positive_where_the_uniform_is_below_the_probability():
    draws = resampling(6, 30)
    P = np.random.default_rng(0).random((3, 6))
    K = draws.successes(P, slice(0, 6))
    assert K.shape == (3, 31, 6)
    U = draws.uniforms(slice(0, 6))
    np.testing.assert_array_equal(np.delete(K, draws.seat, axis=1), P[:, None, :] > U)


@pytest.mark.parametrize("entropy", range(6))
def test_the_original_has_its_seat(entropy):
    y = np.array([[3, 1], [0, 4], [2, 0], [0, 0]])
    draws = Resampling(Sample.from_data(np.arange(4.0), y), 5, entropy)
    K = draws.successes(np.full((2, 4), 0.5), slice(0, 4))
    np.testing.assert_array_equal(K[:, draws.seat], [[3, 0, 2, 0]] * 2)


def test_counts_of_one_trial_are_labels():
    P = np.random.default_rng(0).random((4, 10))
    labels = resampling().successes(P, slice(0, 10))
    counts = resampling(trials=np.ones(10)).successes(P, slice(0, 10))
    np.testing.assert_array_equal(labels, counts)


def test_rows_of_many_trials_do_not_touch_the_others():
    trials = np.array([1, 4, 1, 0, 9, 1, 1, 1, 1, 1])
    P = np.random.default_rng(0).random((4, 10))
    labels = resampling().successes(P, slice(0, 10))
    counts = resampling(trials=trials).successes(P, slice(0, 10))
    ones = trials == 1
    np.testing.assert_array_equal(labels[..., ones], counts[..., ones])
    assert (counts <= trials).all()


# --- uniforms -----------------------------------------------------------------------------------


@pytest.mark.parametrize("n", [1, BLOCK_ROWS - 1, BLOCK_ROWS, 2 * BLOCK_ROWS + 3])
def test_blocks_cover_the_rows_once(n):
    covered = np.concatenate([np.arange(n)[rows] for rows in blocks(n)])
    np.testing.assert_array_equal(covered, np.arange(n))


def test_uniforms_do_not_depend_on_the_cache_or_the_order_of_access():
    n = 2 * BLOCK_ROWS + 5
    rows = list(blocks(n))
    kept, drawn = resampling(n, 3), resampling(n, 3, cache_bytes=0)
    forward = [kept.uniforms(part) for part in rows]
    backward = [drawn.uniforms(part) for part in reversed(rows)][::-1]
    for part, a, b in zip(rows, forward, backward, strict=True):
        np.testing.assert_array_equal(a, b)
        np.testing.assert_array_equal(kept.uniforms(part), a)
    assert kept.uniforms(rows[0]) is forward[0]
    assert drawn.uniforms(rows[0]) is not backward[0]


def test_blocks_have_uniforms_of_their_own():
    draws = resampling(2 * BLOCK_ROWS, 2)
    first, second = (draws.uniforms(rows) for rows in blocks(2 * BLOCK_ROWS))
    assert not np.isin(first, second).any()


def test_more_resamples_keep_the_first_ones():
    few, many = resampling(n_resamples=9), resampling(n_resamples=99)
    rows = slice(0, 10)
    np.testing.assert_array_equal(few.uniforms(rows), many.uniforms(rows)[:9])


def test_uniforms_are_set_by_the_seed_alone():
    rows = slice(0, 10)
    np.testing.assert_array_equal(
        resampling(entropy=5).uniforms(rows), resampling(entropy=5, trials=[3] * 10).uniforms(rows)
    )
    assert not np.isin(
        resampling(entropy=5).uniforms(rows), resampling(entropy=6).uniforms(rows)
    ).any()


# --- seat ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("m", [2, 5, 20])
def test_seat_is_uniform_over_seeds(m):
    seeds = 1500
    seats = [resampling(1, m - 1, entropy).seat for entropy in range(seeds)]
    counts = np.bincount(seats, minlength=m)
    assert len(counts) == m
    low, high = binom.ppf([FALSE_ALARM / m, 1 - FALSE_ALARM / m], seeds, 1 / m)
    assert (low <= counts).all()
    assert (counts <= high).all()


# --- seeds --------------------------------------------------------------------------------------


@pytest.mark.parametrize("rng", [0, np.int64(7), np.random.SeedSequence(3)])
def test_a_seed_gives_the_same_bits_each_time(rng):
    assert fresh_entropy(rng) == fresh_entropy(rng)


def test_seeds_differ():
    assert len({fresh_entropy(seed) for seed in range(100)}) == 100
    assert len({fresh_entropy(None) for _ in range(10)}) == 10


@pytest.mark.parametrize("make", [np.random.default_rng, np.random.PCG64])
def test_a_generator_is_advanced(make):
    rng, again = make(0), make(0)
    first, second = fresh_entropy(rng), fresh_entropy(rng)
    assert first != second
    assert [fresh_entropy(again), fresh_entropy(again)] == [first, second]


@pytest.mark.parametrize("rng", ["seed", 1.5, object()])
def test_rng_of_the_wrong_kind(rng):
    with pytest.raises(InvalidTypeError, match=r"'rng'.*non-negative integer.*Got"):
        fresh_entropy(rng)


@pytest.mark.parametrize("rng", [-1, [-1]])
def test_negative_rng(rng):
    with pytest.raises(InvalidValueError, match=r"'rng'.*non-negative integer.*Got .*-1"):
        fresh_entropy(rng)


# --- number of resamples ------------------------------------------------------------------------


@pytest.mark.parametrize("good", [1, 999, np.int32(19), MAX_RESAMPLES])
def test_numbers_of_resamples(good):
    assert check_n_resamples(good) == good
    assert type(check_n_resamples(good)) is int


@pytest.mark.parametrize("bad", [0, -1, MAX_RESAMPLES + 1])
def test_number_of_resamples_out_of_range(bad):
    with pytest.raises(
        InvalidValueError, match=f"'n_resamples'.*between 1 and {MAX_RESAMPLES}. Got {bad} instead"
    ):
        check_n_resamples(bad)


@pytest.mark.parametrize("bad", [2.5, 10.0, True, "99", None])
def test_number_of_resamples_of_the_wrong_kind(bad):
    with pytest.raises(InvalidTypeError, match=f"'n_resamples'.*integer. Got {type(bad).__name__}"):
        check_n_resamples(bad)
