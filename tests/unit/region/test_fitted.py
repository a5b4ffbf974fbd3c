"""A FittedRegion ranks by any statistic, and searches once for each result."""

import pickle
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import exactregion as er
from exactregion.region import fitted as module
from exactregion.resampling import Resampling

FLIGHTS = er.datasets.oring()
LAUNCH = np.array([31.0, 53.0, 70.0])


@pytest.fixture
def region():
    return er.ConfidenceRegion("logistic", n_resamples=99, rng=0).fit(FLIGHTS["temp"], FLIGHTS["y"])


@pytest.fixture
def evaluated(monkeypatch):
    """The number of θ in each call of the engine."""
    counts, honest = [], module.statistics_of_many

    def counted(theta, *args, **kwargs):
        counts.append(len(theta))
        return honest(theta, *args, **kwargs)

    monkeypatch.setattr(module, "statistics_of_many", counted)
    return counts


REQUESTS = {
    "outline": lambda region: region.outline(),
    "focused intervals": lambda region: region.intervals(),
    "joint intervals": lambda region: region.intervals(joint=True),
    "band": lambda region: region.band(LAUNCH),
    "pointwise band": lambda region: region.band(LAUNCH[:1], joint=False),
    "classify": lambda region: region.classify(LAUNCH),
}


@pytest.mark.parametrize("request_", REQUESTS.values(), ids=REQUESTS)
def test_a_result_is_searched_for_once(region, evaluated, request_):
    request_(region)
    assert sum(evaluated) > 0
    evaluated.clear()
    request_(region)
    assert evaluated == []


@pytest.mark.parametrize(
    ("certify", "joint", "is_searched"),
    # proven bands follow from the boxes that the first one needed
    [(None, True, False), (None, False, True), (False, True, True)],
)
def test_other_inputs_and_kinds_of_bands(region, evaluated, certify, joint, is_searched):
    first = region.band(LAUNCH, certify=certify)
    evaluated.clear()
    second = region.band(LAUNCH + 1, joint=joint, certify=certify)
    assert (sum(evaluated) > 0) == is_searched
    assert (second.lower != first.lower).all()


def test_what_users_do_to_a_result_does_not_change_the_next(region):
    table, band = region.intervals(), region.band(LAUNCH)
    expected_table, expected_lower = table.copy(), band.lower.copy()
    table.iloc[:, :3] = 0.0
    band.lower[:] = 0.5
    pd.testing.assert_frame_equal(region.intervals(), expected_table)
    np.testing.assert_array_equal(region.band(LAUNCH).lower, expected_lower)


def test_a_new_fit_forgets(region, evaluated):
    before = region.intervals(joint=True)
    region.fit(FLIGHTS["temp"], 1 - FLIGHTS["y"])
    evaluated.clear()
    after = region.intervals(joint=True)
    assert sum(evaluated) > 0
    assert after.loc["temp", "estimate"] > 0 > before.loc["temp", "estimate"]


def test_results_of_other_draws_are_not_shared(region):
    region.outline()
    state = region.fitted_
    draws = Resampling(state.sample, 99, entropy=1)
    other = er.ConfidenceRegion.from_fitted(replace(state, resampling=draws))
    fresh = er.ConfidenceRegion("logistic", n_resamples=99, rng=0)
    fresh.fit(FLIGHTS["temp"], FLIGHTS["y"])
    fresh = er.ConfidenceRegion.from_fitted(replace(fresh.fitted_, resampling=draws))
    np.testing.assert_array_equal(other.outline().rays.outer, fresh.outline().rays.outer)
    assert not np.array_equal(other.outline().rays.outer, region.outline().rays.outer)


def test_memory_is_bounded_and_the_outline_is_kept(region, evaluated):
    state = region.fitted_
    outline = region.outline()
    for index in range(2 * module.KEPT_RESULTS):
        state.cached(("number", index), lambda: 0)
        assert region.outline() is outline
    assert len(state._results) <= module.KEPT_RESULTS


def test_a_copy_keeps_results_and_ranks(region, evaluated):
    table = region.intervals()
    copy = pickle.loads(pickle.dumps(region))
    evaluated.clear()
    pd.testing.assert_frame_equal(copy.intervals(), table)
    assert evaluated == []
    theta = [[15.0, -0.23], [10.0, -0.1]]
    np.testing.assert_array_equal(copy.rank(theta), region.rank(theta))


def test_ranks_by_another_statistic_are_those_of_a_region_with_it(region):
    theta = np.array([[15.0, -0.23], [10.0, -0.1], [5.0, 0.0]])
    score = er.statistics.Score()
    by_score = er.ConfidenceRegion("logistic", statistic=score, n_resamples=99, rng=0)
    expected = by_score.fit(FLIGHTS["temp"], FLIGHTS["y"]).rank(theta)
    ranks = region.fitted_.rank_function(score)
    for _ in range(2):
        np.testing.assert_array_equal(ranks(theta)[0], expected)
    assert ranks.evaluations == 6
