"""Under the truth ranks are uniform and coverage is q/m: every statistic, family and tiny n."""

import itertools

import numpy as np
import pytest
from support.truths import (
    EDGE_CASES,
    STATISTICS,
    TRUTHS,
    M,
    assert_uniform,
    many_ranks_under,
    ranks_under,
)

import exactregion as er

FITTED, QUICK, LONG = 5, 500, 20_000
SIZES = (1, 5, 20, 100)

grid = pytest.mark.parametrize(
    ("family", "n", "statistic"), list(itertools.product(TRUTHS, SIZES, STATISTICS))
)
edges = pytest.mark.parametrize(
    ("case", "statistic"), list(itertools.product(EDGE_CASES, STATISTICS))
)


def assert_ranks_are_uniform(truth, n, statistic):
    """Ranks are uniform, and those of fitted regions are the same."""
    ranks = many_ranks_under(truth, n, statistic, QUICK)
    assert_uniform(ranks)
    assert ranks_under(truth, n, statistic, FITTED) == ranks[:FITTED]


@grid
def test_ranks_are_uniform(family, n, statistic):
    assert_ranks_are_uniform(TRUTHS[family], n, STATISTICS[statistic])


@edges
def test_ranks_are_uniform_in_edge_cases(case, statistic):
    truth, n = EDGE_CASES[case]
    assert_ranks_are_uniform(truth, n, STATISTICS[statistic])


@pytest.mark.audit
@grid
def test_ranks_are_uniform_long(family, n, statistic):
    ranks = many_ranks_under(TRUTHS[family], n, STATISTICS[statistic], LONG, first_seed=10**6)
    assert_uniform(ranks)


@pytest.mark.audit
@edges
def test_ranks_are_uniform_in_edge_cases_long(case, statistic):
    truth, n = EDGE_CASES[case]
    assert_uniform(many_ranks_under(truth, n, STATISTICS[statistic], LONG, first_seed=10**6))


@pytest.mark.parametrize("n", [1, 5, 100])
def test_model_test_is_exact(n):
    p = np.linspace(0.05, 0.95, n)
    ranks = []
    for seed in range(QUICK):
        y = np.random.default_rng([seed, 7]).random(n) < p
        ranks.append(er.model_test(p, np.arange(n) * 1.0, y, n_resamples=M - 1, rng=seed).rank)
    assert_uniform(ranks)


@pytest.mark.parametrize("n", [1, 5, 100])
def test_calibration_test_is_exact(n):
    p = np.concatenate([[0.0, 1.0], np.random.default_rng(n).random(n)])
    ranks = []
    for seed in range(QUICK):
        y = np.random.default_rng([seed, 8]).random(len(p)) < p
        ranks.append(er.calibration_test(y, p, n_resamples=M - 1, rng=seed).rank)
    assert_uniform(ranks)


# ranks are the same whichever are accepted: whether they are uniform is asked once
@pytest.mark.parametrize(
    ("low", "high", "repetitions"), [(1, 18, 100), (2, 20, 100), (4, 13, QUICK)]
)
def test_coverage_of_any_accepted_ranks(low, high, repetitions):
    """The general (m, p, q) of Theorem 1."""
    truth = TRUTHS["logistic"]
    X = truth.inputs(9)
    ranks, inside = [], []
    for seed in range(repetitions):
        y = truth.draw(X, np.random.default_rng([seed, 9]))
        region = er.ConfidenceRegion(
            truth.model, n_resamples=M - 1, rng=seed, accepted_ranks=(low, high)
        ).fit(X, y)
        ranks.append(region.rank(truth.theta))
        inside.append(region.contains(truth.theta))
    assert region.coverage_ == (high - low + 1) / M
    assert_uniform(ranks)
    assert np.array_equal(inside, [low <= rank <= high for rank in ranks])


def test_all_rows_equal_leaves_it_to_the_seat():
    """Where every data set is the same the rank is the place of the original."""
    truth, n = EDGE_CASES["all certain"]
    X = truth.inputs(n)
    y = truth.draw(X, np.random.default_rng(0))
    for statistic in STATISTICS.values():
        region = er.ConfidenceRegion(
            truth.model, statistic=statistic, confidence_level=0.9, n_resamples=M - 1, rng=3
        )
        ev = region.fit(X, y).evaluate(truth.theta)
        assert (ev.labels == y).all()
        assert ev.rank == ev.seat + 1
