"""Z of many candidates: the same numbers whatever is worked on at once."""

import numpy as np
import pytest

from exactregion.data.sample import Sample
from exactregion.engine import (
    PreparedStatistic,
    blocks,
    check_batch,
    statistics_of,
    statistics_of_many,
)
from exactregion.errors import InvalidTypeError, InvalidValueError
from exactregion.models import Logistic, Probit
from exactregion.resampling import BLOCK_ROWS, Resampling
from exactregion.statistics import (
    Candidates,
    Combined,
    Custom,
    Discrepancy,
    Embedding,
    FromCentre,
    Neighborhood,
    Score,
    Statistic,
    Term,
)

STATISTICS = [
    Combined(),
    Custom(lambda labels, p, X: np.abs((labels - (2 * p - 1)).sum(axis=1))),
    Discrepancy("laplacian"),
    Embedding(),
    Neighborhood(),
    Score(),
]
IDS = [type(statistic).__name__ for statistic in STATISTICS]


class Setup:
    """A family on a data set, ready to compute Z."""

    def __init__(self, n, statistic, model=None, counts=False, m=20):
        rng = np.random.default_rng(n)
        X = rng.normal(size=(n, 2)).round(1)
        y = rng.integers(0, 4, (n, 2)) if counts else rng.integers(0, 2, n)
        self.sample = Sample.from_data(X, y)
        self.model = (model or Logistic()).bind(self.sample.inputs.names)
        self.resampling = Resampling(self.sample, m - 1, entropy=1)
        self.prepared = PreparedStatistic.of(statistic, self.sample.inputs, m)
        self.evaluated = []

    def candidates_at(self, theta):
        self.evaluated.append(len(theta))
        inputs = self.sample.inputs
        P = self.model.evaluate(theta, inputs.X)
        return Candidates(inputs, P, self.sample.is_counts, self.model, theta)

    def many(self, theta, batch=2**28):
        return statistics_of_many(
            theta, self.candidates_at, self.resampling, self.prepared, batch=batch
        )


def thetas(T):
    return np.random.default_rng(T).normal(size=(T, 3))


@pytest.mark.parametrize("statistic", STATISTICS, ids=IDS)
@pytest.mark.parametrize("counts", [False, True])
@pytest.mark.parametrize("model", [Logistic(), Probit()])
def test_batches_change_nothing(statistic, counts, model):
    setup = Setup(37, statistic, model, counts)
    theta = thetas(23)
    together = setup.many(theta)
    assert together.shape == (23, 20)
    np.testing.assert_array_equal(setup.many(theta, batch=1), together)
    np.testing.assert_array_equal(setup.many(theta, batch=150_000), together)
    alone = statistics_of(setup.candidates_at(theta[5:6]), setup.resampling, setup.prepared)
    np.testing.assert_array_equal(alone[0], together[5])


@pytest.mark.parametrize("statistic", STATISTICS, ids=IDS)
def test_batches_change_nothing_where_rows_come_in_blocks(statistic):
    setup = Setup(BLOCK_ROWS + 77, statistic, m=5)
    theta = thetas(4)
    np.testing.assert_array_equal(setup.many(theta, batch=1), setup.many(theta))


@pytest.mark.parametrize("statistic", STATISTICS, ids=IDS)
@pytest.mark.parametrize("counts", [False, True])
@pytest.mark.parametrize("cache_bytes", [0, 2**30])
def test_parts_of_the_data_sets(monkeypatch, statistic, counts, cache_bytes):
    """Uniforms that are kept, and those that are drawn part by part."""
    setup = Setup(60, statistic, counts=counts)
    theta = np.vstack([thetas(3), [[-800.0, 0.0, 0.0]]])  # the last one is certain of failures
    whole = setup.many(theta)
    setup.resampling = Resampling(setup.sample, 19, entropy=1, cache_bytes=cache_bytes)
    for most in (1, 60 * 4 * 7):
        monkeypatch.setattr(blocks, "MOST_LABELS", most)
        np.testing.assert_array_equal(setup.many(theta), whole)


def test_blocks_give_the_same_labels_as_the_resampling():
    n = BLOCK_ROWS + 77
    setup = Setup(n, Custom(lambda labels, p, X: labels @ np.arange(n)), m=4)
    theta = thetas(1)
    P = setup.candidates_at(theta).probabilities
    K = np.concatenate(
        [
            setup.resampling.successes(P[:, rows], rows)[0]
            for rows in (slice(0, BLOCK_ROWS), slice(BLOCK_ROWS, n))
        ],
        axis=1,
    )
    labels = 2 * setup.sample.inputs.to_user_order(K) - 1
    np.testing.assert_array_equal(setup.many(theta)[0], labels @ np.arange(n))


def test_small_batches_work_on_one_candidate_at_a_time():
    setup = Setup(37, Discrepancy())
    setup.many(thetas(9), batch=1)
    assert set(setup.evaluated) == {1}
    assert sum(setup.evaluated) <= 10  # one more to see how large a candidate is


def test_large_batches_work_on_all_candidates_at_once():
    setup = Setup(37, Discrepancy())
    setup.many(thetas(9))
    assert max(setup.evaluated) == 9


def test_no_candidates_have_no_statistics():
    assert Setup(37, Discrepancy()).many(np.empty((0, 3))).shape == (0, 20)


def test_a_statistic_that_gives_nan_is_no_reason_to_accept():
    class Undefined(Statistic):
        def terms(self, inputs):
            return [Term(lambda candidates: candidates.probabilities[:, :, None], FromCentre())]

        def combine(self, values, expected):
            return np.full_like(values[0], np.nan)

    with pytest.raises(InvalidValueError, match="NaN at theta"):
        Setup(37, Undefined()).many(thetas(2))


def test_columns_of_a_wrong_shape_are_an_error():
    class Flat(Statistic):
        def terms(self, inputs):
            return [Term(lambda candidates: candidates.probabilities, FromCentre())]

    with pytest.raises(InvalidValueError, match=r"\(candidates, rows, columns\), \(1, 37, r\)"):
        Setup(37, Flat()).many(thetas(2))


@pytest.mark.parametrize("batch", [1, 2**40, np.int64(5)])
def test_batches(batch):
    assert check_batch(batch) == batch
    assert type(check_batch(batch)) is int


@pytest.mark.parametrize("batch", [0, -1])
def test_batch_must_be_positive(batch):
    with pytest.raises(InvalidValueError, match=f"'batch'.*positive number of bytes. Got {batch}"):
        check_batch(batch)


@pytest.mark.parametrize("batch", [2.5, True, "1 GB", None])
def test_batch_must_be_a_whole_number(batch):
    with pytest.raises(InvalidTypeError, match=f"'batch'.*bytes. Got {type(batch).__name__}"):
        check_batch(batch)


# --- outcomes that a candidate holds impossible -------------------------------------------------


def ordinary(P, y):
    """Which data sets of a constant statistic are finite: those without impossible outcomes."""
    sample = Sample.from_data(np.arange(len(P)) * 1.0, y)
    resampling = Resampling(sample, 19, entropy=1)
    candidates = Candidates(sample.inputs, np.array([P], dtype=float), sample.is_counts)
    constant = Custom(lambda labels, p, X: np.zeros(len(labels)))
    prepared = PreparedStatistic.of(constant, sample.inputs, resampling.m)
    Z = statistics_of(candidates, resampling, prepared)[0]
    others = np.delete(Z, resampling.seat)
    assert (others == 0).all()  # alternatives are drawn from the candidate
    return Z[resampling.seat] == 0


@pytest.mark.parametrize(
    ("y", "possible"),
    [([0, 1, 0, 1], True), ([1, 1, 0, 1], False), ([0, 0, 0, 1], False), ([1, 0, 1, 0], False)],
)
def test_labels_against_certainties(y, possible):
    assert ordinary([0.0, 1.0, 0.0, 1.0], y) == possible


@pytest.mark.parametrize(
    ("successes", "possible"),
    [([0, 2, 3], True), ([0, 4, 3], True), ([1, 2, 3], False), ([0, 2, 2], False)],
)
def test_counts_against_certainties(successes, possible):
    counts = np.column_stack([successes, np.subtract([3, 4, 3], successes)])
    assert ordinary([0.0, 0.5, 1.0], counts) == possible


@pytest.mark.parametrize("p", [2.0**-53, 1 - 2.0**-53])
def test_what_is_possible_is_no_certainty(p):
    assert ordinary([p, 0.5], [p < 0.5, 1])


@pytest.mark.parametrize("p", [1e-300, 2.0**-54, 1 - 2.0**-54])
def test_what_no_draw_can_give_is_impossible(p):
    """Uniforms are multiples of 2⁻⁵³: smaller probabilities cannot be told from 0."""
    assert not ordinary([p, 0.5], [p < 0.5, 1])
