"""The statistic of focused intervals: uniform ranks at the truth, the same bits in any batch."""

import numpy as np
import pytest
from support.truths import TRUTHS, assert_uniform, many_ranks_under

import exactregion as er
from exactregion.statistics.focused import Focused


def on_parameter(index):
    return Focused(lambda theta: np.broadcast_to(np.eye(theta.shape[1])[index], theta.shape))


@pytest.mark.parametrize("family", TRUTHS)
@pytest.mark.parametrize("n", [1, 5, 100])
def test_ranks_are_uniform(family, n):
    assert_uniform(many_ranks_under(TRUTHS[family], n, on_parameter(1), 500))


@pytest.mark.parametrize("family", TRUTHS)
@pytest.mark.parametrize("n", [5, 100])
def test_ranks_by_the_sum_with_the_regions_statistic_are_uniform(family, n):
    """What functionals are ranked by whose ends cannot be proven."""
    both = er.statistics.Combined(on_parameter(1), er.statistics.Combined())
    assert_uniform(many_ranks_under(TRUTHS[family], n, both, 500))


def test_batch_size_changes_nothing():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(37, 3))
    y = rng.random(37) < 0.5
    thetas = rng.normal(size=(300, 4))
    Z = [
        er.ConfidenceRegion(
            "logistic", statistic=on_parameter(2), n_resamples=39, rng=1, batch=batch
        )
        .fit(X, y)
        .fitted_.statistics(thetas)
        for batch in (1, 2**40)
    ]
    assert np.array_equal(*Z)
