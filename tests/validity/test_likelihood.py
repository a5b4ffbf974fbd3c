"""The likelihood ratio against a cover of the family: uniform ranks, the same bits in any batch.

The cover takes a while to find and depends on inputs alone, so it is found once per case here.
"""

import numpy as np
import pytest
from support.truths import EDGE_CASES, TRUTHS, assert_uniform, many_ranks_under

import exactregion as er
from exactregion.statistics import Likelihood, Ratio


@pytest.mark.parametrize("family", TRUTHS)
@pytest.mark.parametrize("n", [1, 5, 100])
def test_ranks_are_uniform(family, n):
    assert_uniform(many_ranks_under(TRUTHS[family], n, Likelihood(), 500))


@pytest.mark.parametrize("family", TRUTHS)
@pytest.mark.parametrize("n", [1, 20])
def test_ranks_by_the_ratio_alone_are_uniform(family, n):
    assert_uniform(many_ranks_under(TRUTHS[family], n, Ratio(members=256), 500))


@pytest.mark.parametrize("case", EDGE_CASES)
def test_ranks_are_uniform_in_edge_cases(case):
    truth, n = EDGE_CASES[case]
    assert_uniform(many_ranks_under(truth, n, Likelihood(), 500))


def test_a_cover_that_looks_at_the_original_is_caught():
    """A negative control: a member near the observed labels spoils the ranks."""
    p, ranks = np.full(20, 0.4), []
    for seed in range(200):
        labels = np.random.default_rng(seed).random((20, 20)) < p
        near = np.where(labels[0], 0.9, 0.1)  # the original is the first row here
        Z = np.where(labels, np.log(near / p), np.log((1 - near) / (1 - p))).sum(axis=1)
        ranks.append(1 + int((Z[1:] < Z[0]).sum()))
    with pytest.raises(AssertionError):
        assert_uniform(ranks)


def test_batch_and_path_change_nothing():
    truth = TRUTHS["psychometric"]
    X = truth.inputs(37)
    y = truth.draw(X, np.random.default_rng(0))
    thetas = np.array(truth.theta) * np.random.default_rng(1).uniform(0.5, 1.5, (80, 3))
    Z = []
    for batch in (1, 2**40):
        region = er.ConfidenceRegion(
            truth.model, statistic="likelihood", n_resamples=39, rng=1, batch=batch
        ).fit(X, y)
        Z += [region.fitted_.statistics(thetas), region.fitted_.statistics(thetas)]
        Z.append(np.concatenate([region.fitted_.statistics(theta[None]) for theta in thetas]))
    assert all(np.array_equal(Z[0], other) for other in Z[1:])
