"""Rows in chunks: the numbers of the batch engine, whatever is added first and by whom."""

import pickle
from functools import reduce
from operator import add

import numpy as np
import pytest

import exactregion as er
from exactregion.data.sample import BLOCK_ROWS, CHUNK_ROWS, SAMPLED_ROWS, Extent, Sample
from exactregion.data.workers import map_in_order
from exactregion.engine import PreparedStatistic, statistics_with_parts
from exactregion.engine.chunks import BINS, Chunk, ChunkPlan, sums_of_chunk
from exactregion.errors import InvalidTypeError, InvalidValueError
from exactregion.features.landmarks import InputSummary, summary_of_chunk
from exactregion.kernels import Matern, Poisson
from exactregion.models import Recalibration
from exactregion.resampling import Draws, Resampling
from exactregion.statistics import (
    Candidates,
    Combined,
    Custom,
    Discrepancy,
    Embedding,
    Neighborhood,
    Omnibus,
    Score,
    Spiegelhalter,
)

N = 2 * CHUNK_ROWS + 777
M = 12
RNG = np.random.default_rng(0)
X = RNG.normal(size=(N, 2))
P = 1 / (1 + np.exp(-X[:, 0]))
Y = (RNG.random(N) < P).astype(int)
COUNTS = np.zeros((N, 2), dtype=int)
COUNTS[np.arange(N), Y] = 1
COUNTS[::1000] = RNG.integers(0, 5, COUNTS[::1000].shape)
CERTAIN = np.where(np.abs(P - 0.5) > 0.45, P > 0.5, P)
CERTAIN_Y = np.where(CERTAIN == P, Y, CERTAIN).astype(int)


def chunks_of(sample, p):
    inputs = sample.inputs
    for index, start in enumerate(range(0, len(p), CHUNK_ROWS)):
        rows = slice(start, start + CHUNK_ROWS)
        outcomes = inputs.trials[rows], sample.successes[rows]
        yield Chunk(index, inputs.matrix[rows], *outcomes, p[rows])


class Streamed:
    """A candidate on data in memory, worked on in chunks."""

    def __init__(self, statistic, X, y, p, *, calibration=False, m=M):
        self.sample = Sample.from_data(X, y).with_ties_ordered_by(p)
        self.p = p[self.sample.inputs.order]
        self.statistic, self.calibration = statistic, calibration
        self.draws = Draws(m - 1, entropy=5)
        summaries = [
            summary_of_chunk(chunk.index, chunk.X, chunk.trials, len(self.sample))
            for chunk in chunks_of(self.sample, self.p)
        ]
        self.summary = InputSummary.of_chunks(summaries, calibration=calibration)
        self.family = (Recalibration(), np.array([[0.0, 1.0]])) if calibration else (None, None)
        self.plan = ChunkPlan.of(statistic, self.summary, self.draws, *self.family)

    def parts(self):
        return [sums_of_chunk(chunk, self.plan) for chunk in chunks_of(self.sample, self.p)]

    def statistics(self, parts):
        return self.plan.statistics(reduce(add, parts))

    def batch(self):
        sample = self.sample
        candidates = Candidates(sample.inputs, self.p[None], sample.is_counts, *self.family)
        resampling = Resampling(self.sample, self.draws.n_resamples, self.draws.entropy)
        prepared = PreparedStatistic.of(self.statistic, self.sample.inputs, self.draws.m)
        return [Z[0] for Z in statistics_with_parts(candidates, resampling, prepared)]


MODEL = [
    (Discrepancy(), X),
    (Discrepancy(Matern(20.0), standardize=False), X),
    (Discrepancy(Poisson(0.2)), X[:, 0]),
    (Embedding("matern", 3.0), X[:, 0]),
    (Spiegelhalter(), X),
    (Combined(Discrepancy(), Embedding()), X),
]


@pytest.mark.parametrize(("statistic", "X"), MODEL, ids=[repr(one) for one, _ in MODEL])
def test_chunks_have_the_numbers_of_the_batch_engine(statistic, X):
    streamed = Streamed(statistic, X, Y, P)
    np.testing.assert_array_equal(streamed.statistics(streamed.parts()), streamed.batch())


@pytest.mark.parametrize("statistic", [Omnibus(), Score(), Combined()], ids=repr)
@pytest.mark.parametrize(("p", "y"), [(P, Y), (CERTAIN, CERTAIN_Y), (P.round(1), Y)])
def test_calibration_has_the_numbers_of_the_batch_engine(statistic, p, y):
    streamed = Streamed(statistic, p, y, p, calibration=True)
    np.testing.assert_array_equal(streamed.statistics(streamed.parts()), streamed.batch())


def test_counts_have_the_numbers_of_the_batch_engine():
    streamed = Streamed(Omnibus(), P, COUNTS, P, calibration=True)
    assert not streamed.summary.extent.in_single
    np.testing.assert_array_equal(streamed.statistics(streamed.parts()), streamed.batch())


def test_chunks_may_be_added_in_any_order():
    streamed = Streamed(Omnibus(), P, Y, P, calibration=True)
    a, b, c = streamed.parts()
    np.testing.assert_array_equal(
        streamed.statistics([a + (b + c)]), streamed.statistics([c, b, a])
    )


def test_plans_travel():
    streamed = Streamed(Omnibus(), P, Y, P, calibration=True)
    there = pickle.loads(pickle.dumps(streamed.plan))
    last = list(chunks_of(streamed.sample, streamed.p))[-1]
    here, elsewhere = sums_of_chunk(last, streamed.plan), sums_of_chunk(last, there)
    np.testing.assert_array_equal(here.points, elsewhere.points)
    np.testing.assert_array_equal(here.centre, elsewhere.centre)


def test_an_outcome_against_a_certainty_is_infinite():
    wrong = CERTAIN_Y.copy()
    row = int(np.flatnonzero(CERTAIN == 1)[3])
    wrong[row] = 0
    streamed = Streamed(Omnibus(), CERTAIN, wrong, CERTAIN, calibration=True)
    Z = streamed.statistics(streamed.parts())
    assert all(np.flatnonzero(np.isinf(each)).tolist() == [streamed.draws.seat] for each in Z)


def test_sums_count_outcomes_by_probability():
    streamed = Streamed(Discrepancy(), X, COUNTS, P)
    expected, successes, trials = reduce(add, streamed.parts()).bins
    assert len(trials) == BINS
    assert trials.sum() == COUNTS.sum()
    assert successes.sum() == COUNTS[:, 0].sum()
    np.testing.assert_allclose(expected.sum(), P @ COUNTS.sum(axis=1), rtol=1e-5)
    upper = P >= 0.5
    assert successes[BINS // 2 :].sum() == COUNTS[upper, 0].sum()


def test_nan_is_no_reason_to_accept():
    streamed = Streamed(Discrepancy(), X, Y, P)
    sums = reduce(add, streamed.parts())
    sums.points[0, 0] = np.nan
    with pytest.raises(InvalidValueError, match=r"must give numbers. Got NaN"):
        streamed.statistics([sums])


# --- what the tests do with it ------------------------------------------------------------------


def same(a, b):
    return a.rank == b.rank and np.array_equal(a.null_distribution, b.null_distribution)


# with one kernel: the three of the default take eight times as long
QUICK = {"statistic": "discrepancy", "n_resamples": M - 1, "rng": 0}


def model(**settings):
    return er.model_test(P, X, Y, **{**QUICK, **settings})


def test_a_region_and_a_test_agree_on_many_rows():
    region = er.ConfidenceRegion(
        "logistic", statistic="discrepancy", n_resamples=39, rng=3, confidence_level=0.9
    ).fit(X, Y)
    found = region.evaluate([0.0, 1.0, 0.0])
    ask = {"statistic": "discrepancy", "n_resamples": 39, "rng": 3}
    tested = er.model_test(found.probabilities, X, Y, **ask)
    assert tested.rank == found.rank
    np.testing.assert_array_equal(np.delete(found.Z, found.seat), tested.null_distribution)


def test_threads_change_nothing():
    assert same(model(n_jobs=3), model())


def test_rows_may_come_in_any_order_within_a_chunk():
    order = np.arange(N)
    RNG.shuffle(order[:CHUNK_ROWS])
    RNG.shuffle(order[CHUNK_ROWS : 2 * CHUNK_ROWS])
    coarse = X.round(1)
    shuffled = er.model_test(P[order], coarse[order], Y[order], **QUICK)
    assert same(shuffled, er.model_test(P, coarse, Y, **QUICK))


@pytest.mark.parametrize(
    "statistic",
    [
        Neighborhood(nodes=8),
        Custom(lambda labels, p, X: np.abs((labels - (2 * p - 1)).sum(axis=1))),
    ],
    ids=["Neighborhood", "Custom"],
)
def test_statistics_that_want_all_rows_at_once_have_them_in_memory(statistic):
    assert model(statistic=statistic).rank <= M
    wrong = er.model_test(1 - P, X, Y, statistic=statistic, n_resamples=M - 1, rng=0)
    assert wrong.rank >= (M if isinstance(statistic, Neighborhood) else 1)


def test_false_candidates_are_found():
    assert er.model_test(0.98 * P, X, Y, n_resamples=99, rng=0).pvalue == 1 / 100
    wavy = np.clip(P + 0.03 * np.sin(20 * P), 0, 1)
    assert er.calibration_test(Y, wavy, n_resamples=199, rng=0).pvalue <= 0.02


def test_columns_without_a_bound_need_all_rows(tmp_path):
    tested = er.model_test(P, X, Y, statistic="curvature", n_resamples=M - 1, rng=0)
    assert tested.rank <= M  # in memory their size is measured
    np.save(tmp_path / "p.npy", P)
    mapped = np.load(tmp_path / "p.npy", mmap_mode="r")
    with pytest.raises(
        InvalidTypeError, match=r"'statistic'.*bound where rows come in chunks.*Got Curvature"
    ):
        er.model_test(mapped, X, Y, statistic="curvature", n_resamples=M - 1, rng=0)


def test_the_score_needs_a_family():
    with pytest.raises(InvalidValueError, match=r"must not use the score for a fixed candidate"):
        model(statistic="score")


def test_text_columns_share_a_scale_on_many_rows():
    import pandas as pd

    arm = np.array(list("abc"))[np.arange(N) % 3]
    frame = pd.DataFrame({"x": X[:, 0], "arm": arm})
    biased = np.clip(np.where(arm == "a", P + 0.05, P), 0, 1)
    assert er.model_test(biased, frame, Y, n_resamples=99, rng=0).pvalue == 0.01


# --- extents and workers ------------------------------------------------------------------------


def test_extents_of_parts_add_up():
    trials = RNG.integers(0, 4, CHUNK_ROWS + BLOCK_ROWS + 3)
    parts = [Extent.of(trials[:CHUNK_ROWS]), Extent.of(trials[CHUNK_ROWS:])]
    assert Extent.together(parts) == Extent.of(trials)
    assert Extent.of(trials).is_large
    assert not Extent.of(trials[:CHUNK_ROWS]).is_large
    assert Extent.of(trials[:CHUNK_ROWS]).is_sampled
    assert not Extent.of(trials[:SAMPLED_ROWS]).is_sampled


def test_workers_give_answers_in_order_and_pass_errors_on():
    import time

    def slow_at_first(x):
        time.sleep(0.02 / (x + 1))
        return x * x

    assert list(map_in_order(slow_at_first, range(7), 3)) == [x * x for x in range(7)]
    with pytest.raises(ZeroDivisionError):
        list(map_in_order(lambda x: 1 / (x - 2), range(5), 2))
