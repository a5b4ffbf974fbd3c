"""Free labels of a window: the numbers of the block engine, from one pass over the rows."""

import numpy as np
import pytest
from support.truths import STATISTICS

import exactregion as er
from exactregion.engine import PreparedStatistic, SearchWindow, evaluate, statistics_of
from exactregion.engine.free import FreeLabels
from exactregion.statistics import Combined, Discrepancy, Embedding, Score
from exactregion.statistics.focused import Focused

FOCUSED = Focused(lambda theta: np.eye(theta.shape[1])[1] + 0.1 * theta)


@pytest.fixture
def large(monkeypatch):
    """Take data of every size for too large to sort all uniforms."""
    monkeypatch.setattr(evaluate, "MANY_LABELS", 0)


@pytest.fixture
def drawn(monkeypatch):
    """Count the candidates whose labels are all drawn."""
    counts = []

    def counted(candidates, *args):
        counts.append(len(candidates))
        return statistics_of(candidates, *args)

    monkeypatch.setattr(evaluate, "statistics_of", counted)
    return counts


def region_of(kind="labels", *, statistic="combined", n=300, d=2, m=60, model="logistic", seed=0):
    rng = np.random.default_rng([n, d, m, seed])
    x = rng.normal(size=(n, d))
    y = rng.random(n) < 1 / (1 + np.exp(-x[:, 0]))
    if kind == "counts":
        trials = rng.integers(0, 6, size=n)
        successes = rng.binomial(trials, 0.4)
        y = np.column_stack([successes, trials - successes])
    region = er.ConfidenceRegion(
        model, statistic=statistic, n_resamples=m - 1, rng=3, accepted_ranks=(1, m - 3)
    )
    return region.fit(x, y)


def near(region, number=30, scale=1.5, seed=1):
    """Return θ within a few standard errors."""
    window = region.fitted_._search_window()
    middle = window.examples.mean(axis=0)
    z = np.random.default_rng(seed).normal(size=(number, len(middle)))
    return middle + scale * z / np.sqrt(len(region.fitted_.sample))


def by_blocks(region, theta, statistic=None):
    fitted = region.fitted_
    prepared = statistic or fitted.prepared
    return np.concatenate(
        [statistics_of(fitted.candidates(one[None]), fitted.resampling, prepared) for one in theta]
    )


@pytest.mark.usefixtures("large")
@pytest.mark.parametrize(
    "statistic", [Score(), Discrepancy(), Combined(), Embedding(), FOCUSED, "multiscale"]
)
@pytest.mark.parametrize("kind", ["labels", "counts"])
def test_same_bits_as_blocks(drawn, kind, statistic):
    region = region_of(kind, statistic=statistic)
    theta = near(region)
    np.testing.assert_array_equal(region.fitted_.statistics(theta), by_blocks(region, theta))
    assert not drawn


@pytest.mark.parametrize("name", [name for name in STATISTICS if name != "callable"])
def test_same_ranks_whichever_engine_runs(monkeypatch, name):
    """Statistics whose columns change with θ are left to the block engine."""
    region, again = (region_of(statistic=STATISTICS[name], n=80, m=40) for _ in range(2))
    theta = near(region, number=40)
    ranks = region.rank(theta)
    monkeypatch.setattr(evaluate, "MANY_LABELS", 0)
    np.testing.assert_array_equal(again.rank(theta), ranks)


@pytest.mark.usefixtures("large")
def test_several_blocks_and_chunks_of_rows():
    region = region_of(n=66_000, m=12)
    theta = near(region, number=6)
    np.testing.assert_array_equal(region.fitted_.statistics(theta), by_blocks(region, theta))


@pytest.mark.usefixtures("large")
def test_outside_of_the_window(drawn):
    """θ that leave the window are evaluated all the same, others by their free labels."""
    region = region_of()
    theta = near(region, number=12)
    theta[[3, 7]] *= 20
    np.testing.assert_array_equal(region.fitted_.statistics(theta), by_blocks(region, theta))
    assert drawn == [1, 1]
    # another window holds them where there are several
    far = near(region, number=12) + 2.0
    np.testing.assert_array_equal(region.fitted_.statistics(far), by_blocks(region, far))
    assert drawn == [1, 1]
    assert len(region.fitted_._paths.windows()) == 2


@pytest.mark.usefixtures("large")
@pytest.mark.parametrize("contradicted", [False, True])
def test_certain_rows(drawn, monkeypatch, contradicted):
    """Predictions of exactly 0 and 1 stay so for every θ near the estimate."""
    rng = np.random.default_rng(2)
    p = np.concatenate([rng.uniform(0.05, 0.95, size=200), np.zeros(5), np.ones(5)])
    y = rng.random(210) < p
    y[-1] = not contradicted
    region = er.ConfidenceRegion("recalibration", n_resamples=39, rng=0, confidence_level=0.9)
    region.fit(p, y)
    theta = np.array([0.0, 1.0]) + 0.05 * rng.normal(size=(9, 2))
    P = region.fitted_.candidates(theta).probabilities
    # an outcome that contradicts every positive slope leaves the estimate elsewhere
    window = SearchWindow(P.min(axis=0), P.max(axis=0), theta[:2])
    monkeypatch.setattr(type(region.fitted_), "_search_window", lambda self: window)
    Z = region.fitted_.statistics(theta)
    np.testing.assert_array_equal(Z, by_blocks(region, theta))
    assert not drawn
    assert np.isposinf(Z[:, region.fitted_.resampling.seat]).all() == contradicted


@pytest.mark.parametrize(("below", "above"), [(0, 1), (1, 0)])
def test_just_below_and_above_the_switch(monkeypatch, drawn, below, above):
    region = region_of(n=100, m=50)
    monkeypatch.setattr(evaluate, "MANY_LABELS", 100 * 50 - above)
    theta = near(region, number=40)
    np.testing.assert_array_equal(region.fitted_.statistics(theta), by_blocks(region, theta))
    assert (not region.fitted_._paths.windows()) == bool(below)
    assert not drawn


@pytest.mark.usefixtures("large")
def test_a_second_statistic_takes_no_second_list():
    region = region_of(statistic="score")
    fitted, theta = region.fitted_, near(region)
    fitted.statistics(theta)
    listed = fitted._paths.windows()[0].arrays
    prepared = PreparedStatistic.of(Combined(), fitted.sample.inputs, fitted.resampling.m)
    found = fitted.statistics(theta, prepared)
    np.testing.assert_array_equal(found, by_blocks(region, theta, prepared))
    assert fitted._paths.windows()[0].arrays is listed


@pytest.mark.parametrize("width", [0.0, 0.1, 1.0])
def test_what_is_listed_is_what_bounds_say(width):
    """From nothing free to everything free."""
    region = region_of(n=50, m=30)
    fitted = region.fitted_
    P = fitted.candidates(np.zeros((1, 3))).probabilities[0]
    low, high = np.clip(P - width, 0, 1), np.clip(P + width, 0, 1)
    labels = FreeLabels(fitted.resampling, (low, high))
    labels.sum_known([np.ones((50, 1))])
    first, uniforms, owner = labels.arrays
    U = fitted.resampling.uniforms(slice(0, 50))
    for row in range(50):
        inside = (low[row] <= U[:, row]) & (U[:, row] < high[row])
        here = slice(first[row], first[row + 1])
        np.testing.assert_array_equal(uniforms[here], np.sort(U[inside, row]))
        sets = np.flatnonzero(inside)
        assert set(owner[here]) == set(sets + (sets >= fitted.resampling.seat))
