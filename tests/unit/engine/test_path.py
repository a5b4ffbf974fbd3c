"""The path engine gives the numbers of the batch engine, bit for bit."""

import itertools

import numpy as np
import pytest
from support.truths import STATISTICS

import exactregion as er
from exactregion.engine import Paths, statistics_of, statistics_of_many
from exactregion.engine.many import WORTH_SORTING, serpentine
from exactregion.engine.path import Path, can_walk
from exactregion.engine.route import Ground
from exactregion.engine.trail import Trail
from exactregion.statistics import Discrepancy, Neighborhood, Score

RNG = np.random.default_rng(0)
WALKED = [name for name in STATISTICS if name != "callable"]


def region_of(kind, statistic, n=30, m=40):
    rng = np.random.default_rng([n, m])
    x = np.round(rng.normal(size=(n, 2)), 1)
    y = rng.random(n) < 0.5
    if kind == "counts":
        y = rng.integers(0, 6, size=(n, 2)) + np.array([1, 0])
    if kind == "one trial or none":
        y = np.column_stack([np.arange(n) % 2, np.zeros(n, dtype=int)])
    region = er.ConfidenceRegion(
        "logistic", statistic=statistic, n_resamples=m - 1, rng=3, accepted_ranks=(1, m - 1)
    )
    return region.fit(x, y)


def both_engines(region, theta):
    """Z by the batch engine, and by walking."""
    state = region.fitted_
    candidates = region.fitted_.candidates(theta)
    rule = state.prepared.rule(candidates)
    assert can_walk(rule, state.resampling)
    by_batch = statistics_of(candidates, state.resampling, state.prepared)
    return by_batch, Path(Ground(state.resampling)).statistics_of(candidates, rule)


@pytest.mark.parametrize("statistic", WALKED)
@pytest.mark.parametrize("kind", ["labels", "counts", "one trial or none"])
def test_same_bits_as_batch(kind, statistic):
    region = region_of(kind, STATISTICS[statistic])
    by_batch, by_path = both_engines(region, RNG.normal(size=(25, 3)))
    assert np.array_equal(by_batch, by_path)


@pytest.mark.parametrize(("n", "m"), [(1, 2), (2, 3), (7, 9), (40, 17), (5, 200)])
def test_odd_sizes(n, m):
    """Loops that take several data sets at a time must do the rest as well."""
    for statistic in (Discrepancy(), Score(), er.statistics.Embedding(), Neighborhood()):
        region = region_of("labels", statistic, n=n, m=m)
        by_batch, by_path = both_engines(region, RNG.normal(size=(9, 3)))
        assert np.array_equal(by_batch, by_path)


def test_blocks_of_rows():
    """Past a block the centre is rounded block by block."""
    x = RNG.normal(size=4100)
    region = er.ConfidenceRegion("logistic", statistic="combined", n_resamples=4, rng=0)
    region.accepted_ranks = (1, 4)
    region.fit(x, RNG.random(4100) < 0.5)
    by_batch, by_path = both_engines(region, RNG.normal(size=(4, 2)))
    assert np.array_equal(by_batch, by_path)


def test_the_way_does_not_matter():
    """Whatever came before, and in which order, Z is the same."""
    region = region_of("labels", er.statistics.Combined())
    state, theta = region.fitted_, RNG.normal(size=(12, 3))
    path = Path(Ground(state.resampling))

    def along(order):
        candidates = region.fitted_.candidates(theta[order])
        Z = np.empty((len(theta), state.resampling.m))
        Z[order] = path.statistics_of(candidates, state.prepared.rule(candidates))
        return Z

    first = along(np.arange(12))
    for _ in range(5):
        assert np.array_equal(along(RNG.permutation(12)), first)


def test_a_walker_for_features_that_change_sometimes():
    """The score of a logistic model walks; a certainty changes its features, and it goes on."""
    region = region_of("labels", Score())
    state, paths = region.fitted_, Paths(asked=WORTH_SORTING)
    theta = RNG.normal(size=(20, 3))
    theta[7] = [1000.0, 0.0, 0.0]  # certain everywhere

    def ask(paths):
        return statistics_of_many(
            theta, region.fitted_.candidates, state.resampling, state.prepared, batch=1, paths=paths
        )

    assert np.array_equal(ask(paths), ask(None))


@pytest.mark.parametrize("n_jobs", [None, 1, 2, 3])
def test_workers_and_calls(n_jobs):
    region = region_of("labels", er.statistics.Combined())
    state, theta = region.fitted_, RNG.normal(size=(150, 3))
    expected = statistics_of_many(
        theta, region.fitted_.candidates, state.resampling, state.prepared, batch=2**20
    )
    paths = Paths()
    for size in (10, 40, 150):
        Z = statistics_of_many(
            theta[:size],
            region.fitted_.candidates,
            state.resampling,
            state.prepared,
            batch=2**20,
            n_jobs=n_jobs,
            paths=paths,
        )
        assert np.array_equal(Z, expected[:size])
    assert paths.asked == 200
    assert len(paths._free) >= 1


def test_a_path_left_in_the_middle_is_not_used_again():
    region = region_of("labels", Discrepancy())
    state, paths, calls = region.fitted_, Paths(asked=WORTH_SORTING), itertools.count()

    def candidates_at(theta):
        if next(calls) == 4:
            raise KeyboardInterrupt
        return region.fitted_.candidates(theta)

    def ask():
        theta = np.ones((40, 3)) * np.arange(40)[:, None] / 40
        return statistics_of_many(
            theta, candidates_at, state.resampling, state.prepared, batch=1, paths=paths
        )

    with pytest.raises(KeyboardInterrupt):
        ask()
    assert paths._free == []
    assert ask().shape == (40, 40)


def test_what_cannot_be_walked():
    region = region_of("labels", lambda labels, p, X: labels.sum(axis=1))
    state = region.fitted_
    rule = state.prepared.rule(region.fitted_.candidates(np.zeros((1, 3))))
    assert not can_walk(rule, state.resampling)
    assert region.rank(RNG.normal(size=(50, 3))).shape == (50,)


def test_far_jumps_are_drawn_and_near_ones_walked():
    region = region_of("labels", Discrepancy(), n=200, m=100)
    state = region.fitted_
    trail = Trail(Ground(state.resampling))

    def walks(theta):
        candidates = region.fitted_.candidates(theta)
        rule = state.prepared.rule(candidates)
        walked, drawn = trail.cost(candidates.probabilities, rule)
        return walked < drawn

    ends = np.array([[30.0, 0.0, 0.0], [-30.0, 0.0, 0.0]])
    assert not walks(np.tile(ends, (10, 1)))
    assert walks(np.linspace(*(ends / 30), 50))


def test_serpentine_of_a_grid_and_of_anything():
    grid = np.stack(np.meshgrid([0.0, 1.0, 2.0], [5.0, 6.0], indexing="ij"), -1).reshape(-1, 2)
    assert grid[serpentine(grid)][:, 1].tolist() == [5, 6, 6, 5, 5, 6]
    for theta in (RNG.normal(size=(9, 3)), RNG.normal(size=(9, 1)), np.zeros((4, 2)), grid[:1]):
        assert sorted(serpentine(theta)) == list(range(len(theta)))


def test_one_theta_after_the_other_keeps_one_walker():
    """Features that differ by θ have one walker, even where each call has one θ."""
    x = RNG.normal(size=40)
    region = er.ConfidenceRegion("probit", statistic="score", n_resamples=19, rng=0)
    region.fit(x, RNG.random(40) < 0.5)
    state, paths = region.fitted_, Paths(asked=WORTH_SORTING)
    for theta in RNG.normal(size=(30, 1, 2)):
        one = statistics_of_many(
            theta, region.fitted_.candidates, state.resampling, state.prepared, batch=1, paths=paths
        )
        again = statistics_of(region.fitted_.candidates(theta), state.resampling, state.prepared)
        assert np.array_equal(one, again)
    assert all(len(path._walkers) == 1 for path in paths._free[0].paths)


@pytest.mark.parametrize("statistic", ["omnibus", "embedding"])
def test_more_rows_than_a_stretch_with_few_trials(statistic):
    """Features of many rows are in single precision; the walk has the bits of the batch still."""
    rng = np.random.default_rng(0)
    trials = (rng.random(66_000) < 0.5).astype(int)
    successes = trials * (rng.random(66_000) < 0.5)
    region = er.ConfidenceRegion(
        "logistic", statistic=statistic, n_resamples=9, rng=0, accepted_ranks=(1, 9)
    )
    region.fit(rng.normal(size=66_000), np.column_stack([successes, trials - successes]))
    by_batch, by_path = both_engines(region, 0.3 * RNG.normal(size=(4, 2)))
    assert np.array_equal(by_batch, by_path)
