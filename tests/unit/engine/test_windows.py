"""Regions of many rows: passes over chunks have the bits of the engines that see all rows."""

import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
from scipy.stats import binom

import exactregion as er
from exactregion.data import sources
from exactregion.engine import PreparedStatistic
from exactregion.engine.chunks import ChunkPlan
from exactregion.engine.flips import Flips
from exactregion.region.search.candidates import known_members
from exactregion.region.search.outline import outline_of
from exactregion.statistics.focused import Focused

N, M = 66_000, 12
RNG = np.random.default_rng(0)
X = RNG.normal(size=(N, 2))
P = np.round(1 / (1 + np.exp(-X[:, 0])), 5)
Y = RNG.random(N) < P
SETTINGS = {"n_resamples": M - 1, "rng": 3, "accepted_ranks": (1, M - 2)}
PATCHED = (
    "data.sample",
    "data.sources",
    "engine.rows",
    "engine.windows",
    "features.grid",
    "features.landmarks",
    "region.fitted",
    "region.scoring",
    "region.stored",
)
"""Modules that count rows in chunks."""


@pytest.fixture
def recalibrated():
    return er.ConfidenceRegion("recalibration", **SETTINGS).fit(P, Y)


def by_rows_in_memory(region, theta, statistic=None):
    """Compute Z by the engines that have all features in memory."""
    fitted = region.fitted_
    statistic = statistic or fitted.statistic
    prepared = PreparedStatistic.of(statistic, fitted.sample.inputs, fitted.resampling.m)
    return fitted.statistics(theta, prepared)


def by_all_labels(region, theta, statistic=None):
    """Compute Z by engines that draw all labels anew for each θ.

    Where nodes give the centre, those in memory differ in the digits that they round off, and in no
    rank; chunks have the same bits.
    """
    fitted = region.fitted_
    Z, by_nodes = by_rows_in_memory(region, theta, statistic), fitted.many_rows.rows.suited(theta)
    plan = fitted.many_rows.plan_for(statistic or fitted.statistic)
    drawn = np.array([fitted.many_rows._drawn(one, plan) for one in theta])
    np.testing.assert_array_equal(drawn.argsort(axis=1), Z.argsort(axis=1))
    np.testing.assert_allclose(np.sqrt(drawn), np.sqrt(Z), rtol=1e-4, atol=1e-3)
    np.testing.assert_array_equal(drawn[~by_nodes], Z[~by_nodes])
    return drawn


def test_same_bits_within_windows_and_outside(recalibrated):
    fitted, rng = recalibrated.fitted_, np.random.default_rng(1)
    near = fitted.start.theta(2 * rng.normal(size=(9, 2)))
    np.testing.assert_array_equal(fitted.statistics(near), by_all_labels(recalibrated, near))
    assert len(fitted.many_rows._windows) == 1
    # extreme ones: certain outcomes, no slope, a step function
    extreme = np.array([[0.0, 0.0], [50.0, 1.0], [0.0, -2000.0], [0.3, 1e-9]])
    mixed = np.vstack([near[:2], extreme])
    np.testing.assert_array_equal(fitted.statistics(mixed), by_all_labels(recalibrated, mixed))


def test_no_members_are_looked_for_elsewhere(recalibrated):
    # each θ that is tried takes as much memory as the data
    fitted = recalibrated.fitted_
    np.testing.assert_array_equal(known_members(fitted, 0), outline_of(fitted).starts())


def test_a_further_window_for_theta_elsewhere(recalibrated):
    fitted, rng = recalibrated.fitted_, np.random.default_rng(2)
    far = np.array([0.4, 1.3]) + 0.01 * rng.normal(size=(5, 2))
    np.testing.assert_array_equal(fitted.statistics(far), by_all_labels(recalibrated, far))
    assert len(fitted.many_rows._windows) == 2
    assert fitted.many_rows._windows[-1].window.holds(far).all()


def test_same_bits_from_theta_of_earlier_passes(recalibrated, monkeypatch):
    """Labels flip from the nearest θ that is known, whichever it is, and however many are kept."""
    fitted, rng = recalibrated.fitted_, np.random.default_rng(7)
    size = 0
    for several, kept in ((None, 13), (1.5, 1), (0, 0)):
        room = 2**26 if several is None else several * size
        monkeypatch.setattr("exactregion.engine.free_labels.VISITED_BYTES", room)
        for number in (6, 1, 6):
            theta = fitted.start.theta(2 * rng.normal(size=(number, 2)))
            theta[1:2] = fitted.start.origin
            expected = by_all_labels(recalibrated, theta)
            np.testing.assert_array_equal(fitted.statistics(theta), expected)
        (labels,) = fitted.many_rows._windows
        assert len(labels.visited) == kept
        size = sum(one.places.nbytes + one.offsets.nbytes for one in labels.visited[:1])
        labels.visited.clear()


def test_a_focused_statistic_takes_no_second_list(recalibrated):
    fitted = recalibrated.fitted_
    fitted.rank_function()(fitted.start.origin[None])
    blocks = fitted.many_rows._windows[0].blocks
    theta = fitted.start.theta(np.random.default_rng(3).normal(size=(5, 2)))
    focused = Focused(lambda theta: np.eye(theta.shape[1])[1] + 0.1 * theta)
    ready = fitted.ready(focused)
    assert isinstance(ready, ChunkPlan)
    expected = by_all_labels(recalibrated, theta, focused)
    np.testing.assert_array_equal(fitted.statistics(theta, ready), expected)
    assert fitted.many_rows._windows[0].blocks is blocks


@pytest.mark.parametrize("n_jobs", [None, 2])
@pytest.mark.parametrize("inputs", [1, 2])
def test_statistics_of_the_same_theta_share_one_pass(inputs, n_jobs, monkeypatch):
    """In either order, with the bits of each statistic alone, until other θ are asked for."""
    passes = []
    sums_at = Flips.of_terms

    def counted(flips, *arguments):
        passes.append(len(flips.offsets))
        return sums_at(flips, *arguments)

    monkeypatch.setattr(Flips, "of_terms", counted)
    focused = Focused(lambda theta: np.broadcast_to(np.eye(theta.shape[1])[1], theta.shape))
    found = []
    for order in ((focused, None), (None, focused), (None,), (focused,)):
        region = er.ConfidenceRegion("logistic", n_jobs=n_jobs, **SETTINGS).fit(X[:, :inputs], Y)
        fitted = region.fitted_
        fitted.rank_function()(fitted.start.origin[None])
        steps = np.random.default_rng(5).normal(size=(9, inputs + 1))
        theta = fitted.start.theta(np.clip(steps, -2, 2))
        passes.clear()
        Z = {}
        for statistic in order:
            ready = fitted.ready(statistic) if statistic else None
            Z[statistic] = fitted.statistics(theta, ready)
        assert sum(passes) == len(theta)
        np.testing.assert_array_equal(fitted.statistics(theta[::-2], ready), Z[order[-1]][::-2])
        assert sum(passes) == len(theta) or n_jobs == 2
        found.append(Z)
        fitted.statistics(theta + 1e-5, ready)
        assert sum(passes) >= 2 * len(theta)
    for one in found:
        for statistic, Z in one.items():
            np.testing.assert_array_equal(Z, found[0][statistic])


@pytest.mark.parametrize("statistic", ["combined", "embedding"])
def test_several_inputs_and_workers(statistic, monkeypatch):
    """Features of several inputs are kept in two bytes, and have the same bits."""
    monkeypatch.setattr(sources, "MOST_IN_MEMORY", 1000)
    region = er.ConfidenceRegion("logistic", statistic=statistic, n_jobs=2, **SETTINGS).fit(X, Y)
    theta = region.fitted_.start.theta(np.random.default_rng(4).normal(size=(5, 3)))
    found = region.fitted_.statistics(theta)
    np.testing.assert_array_equal(found, by_rows_in_memory(region, theta))
    (kept,) = region.fitted_.many_rows.rows._kept
    assert kept.multiples.dtype == np.int16
    assert isinstance(kept.multiples, np.memmap)


def test_same_bits_of_a_single_parameter():
    """The columns of one parameter are contiguous either way, and must not be scaled in place."""
    region = er.ConfidenceRegion(er.models.Probit(intercept=False), **SETTINGS).fit(X[:, 0], Y)
    theta = region.fitted_.start.theta(np.random.default_rng(12).normal(size=(5, 1)))
    found = region.fitted_.statistics(theta)
    np.testing.assert_array_equal(found, by_rows_in_memory(region, theta))


@pytest.mark.parametrize("statistic", ["combined", "score"])
@pytest.mark.parametrize("family", ["probit", "cloglog"])
def test_same_bits_where_the_gradient_changes_with_theta(family, statistic):
    region = er.ConfidenceRegion(family, statistic=statistic, n_jobs=2, **SETTINGS).fit(X, Y)
    fitted, rng = region.fitted_, np.random.default_rng(8)
    near = fitted.start.theta(2 * rng.normal(size=(11, 3)))
    np.testing.assert_array_equal(fitted.statistics(near), by_rows_in_memory(region, near))
    assert len(fitted.many_rows._windows) == 1
    far = np.array([[0.0, 0.0, 0.0], [50.0, 1.0, 0.0], [0.0, -9.0, 1.0]])
    mixed = np.vstack([near[:2], far])
    np.testing.assert_array_equal(fitted.statistics(mixed), by_rows_in_memory(region, mixed))


def test_same_bits_where_a_grid_was_not_the_right_one():
    """The grid of a gradient is known after a pass: those that were wrong are summed again."""
    region = er.ConfidenceRegion("probit", **SETTINGS).fit(X, Y)
    fitted = region.fitted_
    theta = fitted.start.theta(np.random.default_rng(9).normal(size=(6, 3)))
    fitted.rank_function()(theta[:1])
    (labels,) = fitted.many_rows._windows
    for factor in (1e-3, 4.0, 1.0):
        labels.largest *= factor
        np.testing.assert_array_equal(fitted.statistics(theta), by_rows_in_memory(region, theta))
    focused = Focused(lambda theta: np.eye(theta.shape[1])[1] + 0.1 * theta)
    ready = fitted.ready(focused)
    assert isinstance(ready, ChunkPlan)
    expected = by_rows_in_memory(region, theta, focused)
    np.testing.assert_array_equal(fitted.statistics(theta, ready), expected)


@pytest.mark.parametrize("family", ["logistic", "probit"])
def test_same_bits_of_counts(family, monkeypatch):
    monkeypatch.setattr(sources, "MOST_IN_MEMORY", 1000)
    rng = np.random.default_rng(10)
    trials = rng.integers(0, 5, size=N)
    successes = rng.binomial(trials, P)
    counts = np.column_stack([successes, trials - successes])
    region = er.ConfidenceRegion(family, n_jobs=2, **SETTINGS).fit(X, counts)
    assert isinstance(region.fitted_.sample.inputs.trials, np.memmap)
    fitted = region.fitted_
    assert fitted.many_rows is not None
    near = fitted.start.theta(2 * rng.normal(size=(5, 3)))
    np.testing.assert_array_equal(fitted.statistics(near), by_rows_in_memory(region, near))
    again = fitted.start.theta(2 * rng.normal(size=(3, 3)))
    far = np.array([[0.0, 0.0, 0.0], [50.0, 1.0, 0.0]])
    mixed = np.vstack([again, far])
    np.testing.assert_array_equal(fitted.statistics(mixed), by_rows_in_memory(region, mixed))


@pytest.mark.parametrize("family", ["logistic", "probit"])
def test_same_bits_where_outcomes_are_certain_near_the_estimate(family, monkeypatch):
    """Far inputs make outcomes certain at some θ of a window, or ruled out: no label is redrawn."""
    rng = np.random.default_rng(11)
    x = rng.normal(size=N)
    x[:20], x[20:40] = np.linspace(30, 45, 20), np.linspace(-45, -30, 20)
    y = rng.random(N) < 1 / (1 + np.exp(-x))
    y[0] = True
    region = er.ConfidenceRegion(family, **SETTINGS).fit(x, y)
    fitted = region.fitted_
    theta = fitted.start.theta(rng.normal(size=(24, 2)))
    Z = by_rows_in_memory(region, theta)
    P = fitted.candidates(theta).probabilities
    certain = (P == 1).any(axis=1)
    assert certain.any()
    monkeypatch.setattr("exactregion.engine.windows.ManyRows._drawn", None)
    np.testing.assert_array_equal(fitted.statistics(theta), Z)
    # one failure where every θ of the window is certain of a success, or is not
    y[np.argmax(x)] = False
    region = er.ConfidenceRegion(family, **SETTINGS).fit(x, y)
    theta = region.fitted_.start.theta(rng.normal(size=(24, 2)))
    Z = by_rows_in_memory(region, theta)
    np.testing.assert_array_equal(region.fitted_.statistics(theta), Z)


def test_columns_that_change_with_theta_are_left_to_other_engines():
    region = er.ConfidenceRegion("logistic", statistic="omnibus", **SETTINGS).fit(X[:, 0], Y)
    assert isinstance(region.fitted_.ready(region.fitted_.statistic), PreparedStatistic)
    psychometric = er.ConfidenceRegion("psychometric", **SETTINGS).fit(X[:, 0], Y)
    assert psychometric.fitted_.many_rows is None


def test_files_maps_and_clusters_have_the_ranks_of_arrays(recalibrated, tmp_path, monkeypatch):
    monkeypatch.setattr(sources, "MOST_IN_MEMORY", 1000)
    frame = pd.DataFrame({"y": np.where(Y, "yes", "no"), "p": P})
    frame[:7000].to_parquet(tmp_path / "0.parquet")
    frame[7000:].to_parquet(tmp_path / "1.parquet")
    np.save(tmp_path / "p.npy", P)
    theta = recalibrated.fitted_.start.theta(np.random.default_rng(5).normal(size=(6, 2)))
    theta[0] = 5.0
    ranks = recalibrated.rank(theta)

    def again(X, y, data=None):
        positive = None if data is None else "yes"
        region = er.ConfidenceRegion("recalibration", pos_label=positive, **SETTINGS)
        return region.fit(X, y, data=data)

    regions = [
        again("p", "y", str(tmp_path / "*.parquet")),
        again("p", "y", dd.from_pandas(frame, npartitions=5)),
        again(np.load(tmp_path / "p.npy", mmap_mode="r"), Y.astype(int)),
        again(da.from_array(P, chunks=20_001), da.from_array(Y, chunks=9000)),
    ]
    for region in regions:
        assert isinstance(region.fitted_.sample.inputs.X, np.memmap)
        np.testing.assert_array_equal(region.rank(theta), ranks)
    # the rows are all there, in the order of the user
    first = regions[0].fitted_.sample
    np.testing.assert_array_equal(first.user_outcomes[0], Y)
    np.testing.assert_array_equal(first.inputs.user_rows, P)
    assert first.classes == ("no", "yes")


def test_seeds_from_the_data_do_not_depend_on_where_rows_are(tmp_path):
    pd.DataFrame({"y": Y, "p": P}).to_parquet(tmp_path / "rows.parquet")
    given = er.ConfidenceRegion("recalibration", n_resamples=19, rng="data").fit(P, Y)
    read = er.ConfidenceRegion("recalibration", n_resamples=19, rng="data")
    read.fit("p", "y", data=tmp_path / "rows.parquet")
    assert given.fitted_.seed == read.fitted_.seed
    assert given.fitted_.seed is not None


def test_ranks_are_uniform_under_the_truth(monkeypatch):
    """The original goes the way of the alternatives: chunks of few rows, windows around estimates.

    Windows depend on the outcomes, by the estimate. Were a window part of a definition, and not of
    the work alone, the ranks of the truth would not be uniform.
    """
    for module in PATCHED:
        monkeypatch.setattr(f"exactregion.{module}.CHUNK_ROWS", 40)
    monkeypatch.setattr("exactregion.data.sample.SAMPLED_ROWS", 40)
    monkeypatch.setattr("exactregion.features.landmarks.SAMPLE_ROWS", 30)
    truth, m, repetitions = np.array([0.2, 0.8]), 5, 240
    inside, rng = 0, np.random.default_rng(6)
    p = rng.uniform(0.1, 0.9, size=50)
    for repetition in range(repetitions):
        y = rng.random(50) < er.models.Recalibration().probabilities(truth, p)
        region = er.ConfidenceRegion(
            "recalibration", n_resamples=m - 1, rng=repetition, accepted_ranks=(1, 3)
        ).fit(p, y)
        assert region.fitted_.many_rows is not None
        near = truth + 0.01 * rng.normal(size=(3, 2))
        inside += bool(region.contains(np.vstack([truth, near]))[0])
        assert region.fitted_.many_rows._windows
    low, high = binom.ppf([1e-6, 1 - 1e-6], repetitions, 3 / m)
    assert low <= inside <= high
