"""Paths of candidates: the numbers of the block engine, whatever was evaluated before and where."""

import itertools
from dataclasses import dataclass, replace

import numpy as np
import pytest
from scipy import sparse
from support.truths import STATISTICS

import exactregion as er
from exactregion.engine import (
    Paths,
    PreparedStatistic,
    incremental,
    statistics_of,
    statistics_of_many,
)
from exactregion.engine.compiled import choose_paths
from exactregion.engine.evaluate import WORTH_SORTING, path_order
from exactregion.engine.free import FreeLabels
from exactregion.engine.incremental import PathSet, _Loop, is_possible
from exactregion.features.grid import CandidateFeatures, SharedFeatures
from exactregion.features.landmarks import kernel_columns
from exactregion.kernels import Gaussian
from exactregion.ranking import rank_of
from exactregion.statistics import (
    Combined,
    Discrepancy,
    Embedding,
    FromCentre,
    FromMean,
    Neighborhood,
    Omnibus,
    Score,
    Statistic,
    Term,
)
from exactregion.statistics.focused import Focused

FOCUSED = Focused(lambda theta: np.eye(theta.shape[1])[1] + 0.1 * theta)


def region_of(kind="labels", *, model="logistic", statistic="combined", n=60, d=3, m=40):
    rng = np.random.default_rng([n, d, m])
    x = rng.normal(size=(n, d))
    y = rng.random(n) < 0.5
    if kind == "counts":
        y = rng.integers(0, 6, size=(n, 2)) + np.array([1, 0])
    region = er.ConfidenceRegion(
        model, statistic=statistic, n_resamples=m - 1, rng=3, accepted_ranks=(1, m - 1)
    )
    return region.fit(x, y)


def busy_places(d, *, number=6, rounds=40, seed=0):
    """Batches as a search asks for them: near a few places far apart, several in one batch."""
    rng = np.random.default_rng(seed)
    places = 1.5 * rng.normal(size=(number, d))
    for _ in range(rounds):
        which = np.sort(rng.integers(number, size=rng.integers(1, 8)))
        yield places[which] + 0.01 * rng.normal(size=(len(which), d))


@pytest.fixture
def always_followed(monkeypatch):
    """Follow paths even where drawing all labels would cost less."""
    monkeypatch.setattr(PathSet, "cost", lambda self, *args: (0.0, 1.0))


def prepared(region, statistic=None):
    fitted = region.fitted_
    m = fitted.resampling.m
    return PreparedStatistic.of(statistic or fitted.statistic, fitted.sample.inputs, m)


def follow(paths, region, theta, statistic=None):
    """Z along these paths, and by the block engine."""
    fitted = region.fitted_
    statistic = statistic or prepared(region)
    candidates = fitted.candidates(theta)
    at = statistic.at(candidates)
    assert is_possible(at, fitted.resampling)
    followed = paths.statistics_of(candidates, at)
    assert followed is not None
    return followed, statistics_of(candidates, fitted.resampling, statistic)


def paths_of(region):
    return PathSet(FreeLabels(region.fitted_.resampling))


# --- bit for bit --------------------------------------------------------------------------------


def small_region(kind, statistic, n=30, m=40):
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


@pytest.mark.usefixtures("always_followed")
@pytest.mark.parametrize("statistic", [name for name in STATISTICS if name != "callable"])
@pytest.mark.parametrize("kind", ["labels", "counts", "one trial or none"])
def test_same_bits_as_blocks(kind, statistic):
    region = small_region(kind, STATISTICS[statistic])
    theta = np.random.default_rng(1).normal(size=(25, 3))
    np.testing.assert_array_equal(*follow(paths_of(region), region, theta))


@pytest.mark.usefixtures("always_followed")
@pytest.mark.parametrize(("n", "m"), [(1, 2), (2, 3), (7, 9), (40, 17), (5, 200)])
def test_odd_sizes(n, m):
    """Loops that take several data sets at a time must do the rest as well."""
    theta = np.random.default_rng(1).normal(size=(9, 3))
    for statistic in (Discrepancy(), Score(), Embedding(), Neighborhood()):
        region = small_region("labels", statistic, n=n, m=m)
        np.testing.assert_array_equal(*follow(paths_of(region), region, theta))


@pytest.mark.usefixtures("always_followed")
def test_blocks_of_rows():
    """Past a block the centre is rounded block by block."""
    rng = np.random.default_rng(0)
    region = er.ConfidenceRegion("logistic", n_resamples=4, rng=0, accepted_ranks=(1, 4))
    region.fit(rng.normal(size=4100), rng.random(4100) < 0.5)
    np.testing.assert_array_equal(*follow(paths_of(region), region, rng.normal(size=(4, 2))))


@pytest.mark.usefixtures("always_followed")
@pytest.mark.parametrize("statistic", ["omnibus", "embedding"])
def test_more_rows_than_a_chunk_with_few_trials(statistic):
    """Features of many rows are in single precision; paths have the bits of the blocks still."""
    rng = np.random.default_rng(0)
    trials = (rng.random(66_000) < 0.5).astype(int)
    successes = trials * (rng.random(66_000) < 0.5)
    region = er.ConfidenceRegion(
        "logistic", statistic=statistic, n_resamples=9, rng=0, accepted_ranks=(1, 9)
    )
    region.fit(rng.normal(size=66_000), np.column_stack([successes, trials - successes]))
    np.testing.assert_array_equal(*follow(paths_of(region), region, 0.3 * rng.normal(size=(4, 2))))


@pytest.mark.usefixtures("always_followed")
@pytest.mark.parametrize("statistic", [Discrepancy(), Score(), Combined()], ids=repr)
@pytest.mark.parametrize("n", [1, 80, 4100])
@pytest.mark.parametrize("kind", ["labels", "counts"])
def test_rows_that_share_a_probability(kind, n, statistic):
    """Their features are summed before they are multiplied by it: within one block, for labels."""
    rng = np.random.default_rng(n)
    y = rng.random(n) < 0.5 if kind == "labels" else 1 + rng.integers(0, 3, (n, 2))
    region = er.ConfidenceRegion(
        er.models.LaplaceMixture(),
        statistic=statistic,
        n_resamples=9,
        rng=0,
        accepted_ranks=(1, 9),
    )
    region.fit(rng.laplace(scale=2, size=n), y)
    theta = [[0.4, 1.0], [0.5, 0.0], [0.0, 1.0], [0.6, 0.7]]
    assert region.fitted_.candidates(np.array(theta)).distinct[0].shape[1] < max(2, 0.9 * n)
    every = np.array(theta[:1] + theta[3:])
    np.testing.assert_array_equal(*follow(paths_of(region), region, every))
    # so many θ follow paths, certainties among them; one alone is left to the block engine
    alone = [int(region.rank(one)) for one in theta]
    np.testing.assert_array_equal(region.rank(np.tile(theta, (20, 1))), np.tile(alone, 20))


def test_the_order_of_a_grid_does_not_matter():
    rng = np.random.default_rng(0)
    region = er.ConfidenceRegion(
        er.models.LaplaceMixture(), statistic=Discrepancy(), n_resamples=19, rng=0
    )
    region.fit(rng.laplace(scale=2, size=70), rng.random(70) < 0.5)
    axes = np.linspace(0.3, 0.7, 30), np.linspace(0.6, 1.6, 30)
    theta = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, 2)
    first = region.rank(theta)
    shuffled = rng.permutation(len(theta))
    for order in (np.lexsort(theta.T), shuffled):
        np.testing.assert_array_equal(region.rank(theta[order]), first[order])


@pytest.mark.usefixtures("always_followed")
def test_the_order_of_candidates_does_not_matter():
    region = small_region("labels", Combined())
    rng = np.random.default_rng(0)
    theta, paths = rng.normal(size=(12, 3)), paths_of(region)
    first, _ = follow(paths, region, theta)
    for _ in range(5):
        order = rng.permutation(12)
        np.testing.assert_array_equal(follow(paths, region, theta[order])[0], first[order])


# --- through statistics_of_many -----------------------------------------------------------------


def many(region, theta, **settings):
    fitted = region.fitted_
    return statistics_of_many(
        theta, fitted.candidates, fitted.resampling, fitted.prepared, **{"batch": 1, **settings}
    )


def test_a_certainty_among_others():
    """The score of a logistic model has constant features; a certainty changes them."""
    region = small_region("labels", Score())
    theta = np.random.default_rng(0).normal(size=(20, 3))
    theta[7] = [1000.0, 0.0, 0.0]  # certain everywhere
    along = many(region, theta, paths=Paths(evaluated=WORTH_SORTING))
    np.testing.assert_array_equal(along, many(region, theta))


@pytest.mark.parametrize("kind", ["labels", "counts"])
@pytest.mark.parametrize("statistic", [Score(), Combined(), Embedding()])
def test_all_but_certain_probabilities(kind, statistic, always_followed):
    """Below 2⁻⁵³, 0 and 1, in batches with others: the numbers and ranks of the block engine."""
    region = small_region(kind, statistic)
    rng, seat = np.random.default_rng(0), region.fitted_.resampling.seat
    theta = rng.normal(size=(40, 3)) * np.where(np.arange(40) % 3 == 0, 40.0, 1.0)[:, None]
    theta[5] = [1000.0, 0.0, 0.0]
    drawn = many(region, theta)
    paths = {"batch": 2**20, "paths": Paths(evaluated=WORTH_SORTING)}
    np.testing.assert_array_equal(many(region, theta, **paths), drawn)
    for_ranks = many(region, theta, only_ranks=True, **paths)
    np.testing.assert_array_equal(rank_of(for_ranks, seat), rank_of(drawn, seat))
    decided = np.isinf(drawn[:, seat])
    assert decided.any()
    assert not decided.all()
    np.testing.assert_array_equal(for_ranks[~decided], drawn[~decided])


@pytest.mark.parametrize("n_jobs", [None, 1, 2, 3])
def test_workers_and_calls(n_jobs):
    region = small_region("labels", Combined())
    theta, paths = np.random.default_rng(0).normal(size=(150, 3)), Paths()
    expected = many(region, theta, batch=2**20)
    for size in (10, 40, 150):
        Z = many(region, theta[:size], batch=2**20, n_jobs=n_jobs, paths=paths)
        np.testing.assert_array_equal(Z, expected[:size])
    assert paths.evaluated == 200
    assert len(paths._free) >= 1


def test_a_path_left_in_the_middle_is_not_used_again():
    region = small_region("labels", Discrepancy())
    fitted, paths, calls = region.fitted_, Paths(evaluated=WORTH_SORTING), itertools.count()

    def candidates_at(theta):
        if next(calls) == 4:
            raise KeyboardInterrupt
        return fitted.candidates(theta)

    def evaluate():
        theta = np.ones((40, 3)) * np.arange(40)[:, None] / 40
        return statistics_of_many(
            theta, candidates_at, fitted.resampling, fitted.prepared, batch=1, paths=paths
        )

    with pytest.raises(KeyboardInterrupt):
        evaluate()
    assert paths._free == []
    assert evaluate().shape == (40, 40)


def test_functions_of_labels_are_not_followed():
    region = small_region("labels", lambda labels, p, X: labels.sum(axis=1))
    at = prepared(region).at(region.fitted_.candidates(np.zeros((1, 3))))
    assert not is_possible(at, region.fitted_.resampling)
    assert region.rank(np.random.default_rng(0).normal(size=(50, 3))).shape == (50,)


def test_grids_are_followed_to_and_fro_whichever_axis_varies_fastest():
    axes = [0.0, 1.0, 2.0], [5.0, 6.0]
    grid = np.stack(np.meshgrid(*axes, indexing="ij"), -1).reshape(-1, 2)
    other = np.stack(np.meshgrid(*axes, indexing="xy"), -1).reshape(-1, 2)
    assert grid[path_order(grid)][:, 1].tolist() == [5, 6, 6, 5, 5, 6]
    assert grid[path_order(grid)].tolist() == other[path_order(other)].tolist()
    rng = np.random.default_rng(0)
    for theta in (rng.normal(size=(9, 3)), rng.normal(size=(9, 1)), np.zeros((4, 2)), grid[:1]):
        assert sorted(path_order(theta)) == list(range(len(theta)))


def test_one_theta_after_the_other_keeps_one_state():
    """Features that differ by θ have one state, even where each call has one θ."""
    rng = np.random.default_rng(0)
    region = er.ConfidenceRegion("probit", statistic="score", n_resamples=19, rng=0)
    region.fit(rng.normal(size=40), rng.random(40) < 0.5)
    paths = Paths(evaluated=WORTH_SORTING)
    for theta in rng.normal(size=(30, 1, 2)):
        np.testing.assert_array_equal(many(region, theta, paths=paths), many(region, theta))
    assert len(paths._free[0].kinds) == 1


# --- several paths ------------------------------------------------------------------------------


@pytest.mark.usefixtures("always_followed")
@pytest.mark.parametrize(
    "statistic", [Combined(), Score(), Discrepancy(), Embedding(), Neighborhood(), Omnibus()]
)
@pytest.mark.parametrize("kind", ["labels", "counts"])
def test_same_bits_as_batch_from_several_standing_paths(kind, statistic):
    if isinstance(statistic, Omnibus):
        statistic = Omnibus(Score(), Discrepancy(), er.statistics.Curvature())
    region = region_of(kind, statistic=statistic)
    paths = paths_of(region)
    for theta in busy_places(4):
        followed, drawn = follow(paths, region, theta)
        np.testing.assert_array_equal(followed, drawn)
    assert paths.number > 1


@pytest.mark.usefixtures("always_followed")
@pytest.mark.parametrize("model", ["logistic", "probit", "cloglog"])
@pytest.mark.parametrize("kind", ["labels", "counts"])
def test_joint_and_focused_statistics_share_paths(kind, model):
    region = region_of(kind, model=model)
    fitted, paths = region.fitted_, paths_of(region)
    focused = prepared(region, FOCUSED)
    # far out, a cloglog model is certain, which is not followed
    size = 0.4 if model == "cloglog" else 1.0
    for turn, theta in enumerate(size * theta for theta in busy_places(4)):
        for statistic in (fitted.prepared, focused)[:: 1 if turn % 2 else -1]:
            followed, drawn = follow(paths, region, theta, statistic)
            np.testing.assert_array_equal(followed, drawn)
    assert paths.number > 2


@pytest.mark.parametrize("model", ["logistic", "probit"])
def test_focused_is_the_efficient_score(model):
    """Z ∝ (∇gᵀ I⁻¹ s)², for labels that are seen through the identity."""
    region = region_of(model=model)
    state, theta = region.fitted_, np.array([[0.2, -0.5, 0.3, 0.1]])
    candidates = region.fitted_.candidates(theta)
    Z = statistics_of(candidates, state.resampling, prepared(region, FOCUSED))[0]
    p = candidates.probabilities[0]
    G = candidates.logit_gradient[0]
    labels = state.resampling.successes(p[None], slice(0, len(p)))[0]
    direction = np.linalg.solve(G.T @ ((p * (1 - p))[:, None] * G), FOCUSED.gradient(theta)[0])
    expected = ((labels - p) @ G @ direction) ** 2
    np.testing.assert_allclose(Z / Z.mean(), expected / expected.mean(), rtol=1e-3, atol=1e-6)


@pytest.mark.usefixtures("always_followed")
@pytest.mark.parametrize("kind", ["labels", "counts"])
@pytest.mark.parametrize(("n", "d"), [(60, 3), (150, 4)])
def test_compact_features_are_summed_in_single_precision(kind, n, d):
    region = region_of(kind, n=n, d=d)
    paths = paths_of(region)
    for theta in busy_places(d + 1, rounds=15):
        followed, drawn = follow(paths, region, np.vstack([theta, theta[:1]]))
        np.testing.assert_array_equal(followed, drawn)
    score, kernel = prepared(region).at(region.fitted_.candidates(np.zeros((2, d + 1)))).terms
    assert isinstance(score.features, CandidateFeatures)
    assert isinstance(kernel.features, SharedFeatures)
    assert kernel.features.compact
    # the score is followed beside it: one flip moves the points of both
    (together,) = paths.kinds
    assert together.start.dtype == np.float32


@dataclass(frozen=True)
class OwnCompact(Statistic):
    """Distances of features that may be summed in single precision."""

    measure: object
    is_sparse: bool = False

    def terms(self, inputs):
        columns, _ = kernel_columns(Gaussian(), inputs, standardize=True, compact=True)
        if self.is_sparse:
            columns = sparse.csr_array(np.where(columns > np.median(columns), columns, 0.0))
        return [Term(columns, self.measure, compact=True)]


@pytest.mark.usefixtures("always_followed")
@pytest.mark.parametrize("measure", [FromMean(1.0), FromCentre(1.0)])
@pytest.mark.parametrize("is_sparse", [False, True])
def test_compact_terms_of_your_own_beside_others(measure, is_sparse):
    """A mean is taken of all columns of a point, and sparse features have points of their own."""
    own = OwnCompact(measure, is_sparse)
    region = region_of(statistic=Combined(Score(), Discrepancy(), own), n=150)
    paths = paths_of(region)
    followed, drawn = follow(paths, region, 0.1 * np.random.default_rng(0).normal(size=(9, 4)))
    np.testing.assert_array_equal(followed, drawn)
    alone = is_sparse or measure == FromMean(1.0)
    assert len(paths.kinds) == 1 + alone


@pytest.mark.parametrize("kind", ["labels", "counts"])
def test_parts_in_single_precision_add_up_to_features(kind):
    """Far apart in size, with a column of zeros: neither parts nor their sums are rounded."""
    region = region_of(kind)
    fitted = region.fitted_
    total = fitted.sample.inputs.total
    candidates = fitted.candidates(np.zeros((2, 4)))
    (term,) = prepared(region, Score()).at(candidates).terms
    scaled = term.features.rows * np.array([1.0, 2.0**-40, 0.0, 2.0**40])
    unit = term.features.unit * np.array([1.0, 2.0**-40, 1.0, 2.0**40])
    features = replace(term.features, rows=scaled, unit=unit)
    loop = _Loop.of(replace(term, features=features), fitted.resampling.m)
    assert loop.has_parts
    parts = [part.astype(float) for part in loop.parts()]
    np.testing.assert_array_equal(np.sum(parts, axis=0), scaled)
    assert len(parts) > 1
    for part in parts:
        # all that may be summed are multiples of the lowest bit of any of them
        lowest = [
            np.min([_lowest_bit(value) for value in column if value], initial=np.inf)
            for column in part.T
        ]
        largest = total * np.abs(part).max(axis=0)
        assert (largest < 2.0**24 * np.array(lowest)).all()


def _lowest_bit(value):
    numerator, denominator = float(value).as_integer_ratio()
    return (abs(numerator) & -abs(numerator)) / denominator


@pytest.mark.usefixtures("always_followed")
@pytest.mark.parametrize("statistic", ["combined", "score"])
@pytest.mark.parametrize("model", ["logistic", "probit"])
def test_one_theta_at_a_time_then_many_then_one(model, statistic):
    """Features that may never come again are followed by labels; later they have a state."""
    region = region_of(model=model, statistic=statistic)
    paths = paths_of(region)
    theta = np.vstack(list(busy_places(4, rounds=12)))
    for some in (theta[:9, None], [theta[9:20]], theta[20:, None], [theta]):
        for batch in some:
            followed, drawn = follow(paths, region, batch)
            np.testing.assert_array_equal(followed, drawn)


@pytest.mark.usefixtures("always_followed")
def test_jumps_within_a_batch_start_from_the_nearest_path():
    """To and fro between far ends: two paths end there, and neither goes all the way between."""
    region = region_of(statistic="discrepancy", n=200, m=60)
    paths = paths_of(region)
    ends = np.array([[1.5, 0.2, 0, 0], [-1.5, 0.1, 0, 0]])
    theta = np.tile(ends, (8, 1)) + 1e-4 * np.arange(16)[:, None]
    followed, drawn = follow(paths, region, theta)
    np.testing.assert_array_equal(followed, drawn)
    assert paths.number == 2
    ends_of_paths = paths._places[:2]
    expected = region.fitted_.candidates(theta[-2:]).probabilities[:, :: incremental.EVERY]
    np.testing.assert_allclose(ends_of_paths, expected, atol=0.01)


@pytest.mark.usefixtures("always_followed")
def test_small_steps_stay_on_one_path():
    region = region_of(n=60)
    paths = paths_of(region)
    way = np.linspace([0.0, 0, 0, 0], [1.0, 0, 0, 0], 400)
    for theta in np.split(way, 20):
        followed, drawn = follow(paths, region, theta)
        np.testing.assert_array_equal(followed, drawn)
        last = region.fitted_.candidates(theta[-1:]).probabilities[0, :: incremental.EVERY]
        np.testing.assert_array_equal(paths._places[0], last)
    assert paths.number == 1


def test_places_where_paths_end_are_near():
    """A place where a path ends costs less to come back to than it did to go to."""
    some = np.array([[0.1, 0.2], [0.8, 0.9], [0.1, 0.25], [0.8, 0.85]])
    places = np.zeros((8, 2))
    order, path, origin, number, moved = choose_paths(some, places, 0, 8, 0.3)
    assert order.tolist() == [0, 2, 3, 1]
    assert (path.tolist(), origin.tolist(), number) == ([0, 1, 0, 1], [0, 1, 0, 0], 2)
    np.testing.assert_allclose(moved, 0.05 + 1.3 + 0.05)
    np.testing.assert_array_equal(places[:2], some[[2, 1]])
    order, path, origin, number, moved = choose_paths(some[::-1], places, number, 8, 0.3)
    assert order.tolist() == [0, 2, 1, 3]
    assert (path.tolist(), origin.tolist(), number) == ([1, 0, 1, 0], [1, 0, 1, 0], 2)
    np.testing.assert_allclose(moved, 0.15)


def test_a_full_set_of_paths_takes_the_nearest_however_far():
    some = np.array([[0.0, 0.0], [0.5, 0.5], [1.0, 1.0]])
    order, path, origin, number, _ = choose_paths(some, np.zeros((2, 2)), 0, 2, 0.1)
    assert order.tolist() == [0, 1, 2]
    assert (path.tolist(), origin.tolist(), number) == ([0, 1, 1], [0, 0, 1], 2)


def test_far_places_are_drawn_instead():
    region = region_of(statistic="discrepancy", n=200, m=100)
    paths = paths_of(region)
    theta = 5 * np.random.default_rng(0).normal(size=(1, 4))
    for _ in range(2):
        followed, drawn = follow(paths, region, 1e-3 * theta)
        np.testing.assert_array_equal(followed, drawn)
        candidates = region.fitted_.candidates(theta)
        assert paths.statistics_of(candidates, region.fitted_.prepared.at(candidates)) is None
        assert paths.number == 1


# --- copies -------------------------------------------------------------------------------------


@pytest.mark.usefixtures("always_followed")
@pytest.mark.parametrize("model", ["logistic", "probit"])
@pytest.mark.parametrize("statistic", ["combined", "score"])
def test_copies_of_a_path_leave_it_where_it_is(model, statistic):
    region = region_of(model=model, statistic=statistic, n=200)
    here = np.array([[0.1, 0, 0, 0], [0.1, 1e-6, 0, 0]])
    paths = paths_of(region)
    first, _ = follow(paths, region, here)
    assert paths.number == 1
    before = [[array[0].copy() for array in kind.ends] for kind in paths.kinds]
    followed, drawn = follow(paths, region, here + 0.7)
    np.testing.assert_array_equal(followed, drawn)
    assert paths.number > 1
    for kind, kept in zip(paths.kinds, before, strict=True):
        for array, was in zip(kind.ends, kept, strict=True):
            np.testing.assert_array_equal(array[0], was)
    np.testing.assert_array_equal(follow(paths, region, here)[0], first)


@pytest.mark.usefixtures("always_followed")
def test_features_that_come_later_begin_on_paths_that_are_there():
    """Where their points leave less room, paths beyond it are left."""
    region, other = (region_of(statistic=each, n=200) for each in ("score", "combined"))
    paths = paths_of(region)
    for theta in busy_places(4, number=9):
        follow(paths, region, theta)
    before = paths.number
    assert before > 2
    for statistic in (prepared(other), prepared(region), prepared(other, Neighborhood())):
        for theta in busy_places(4, number=9):
            followed, drawn = follow(paths, region, theta, statistic)
            np.testing.assert_array_equal(followed, drawn)
    assert len(paths.kinds) == 3


@pytest.mark.usefixtures("always_followed")
def test_features_that_come_later_may_take_the_room_of_paths(monkeypatch):
    region = region_of(statistic="score", n=200, m=300)
    paths = paths_of(region)
    for theta in busy_places(4, number=9):
        follow(paths, region, theta)
    before = paths.number
    monkeypatch.setattr(incremental, "MOST_BYTES", 2 * paths.size)
    for theta in busy_places(4, number=9):
        followed, drawn = follow(paths, region, theta, prepared(region, Discrepancy()))
        np.testing.assert_array_equal(followed, drawn)
    assert before > 2
    assert paths.number == 1


# --- limits -------------------------------------------------------------------------------------


@pytest.mark.usefixtures("always_followed")
@pytest.mark.parametrize("most", [1, 2, 3])
def test_no_more_paths_than_allowed(monkeypatch, most):
    monkeypatch.setattr(incremental, "MOST_PATHS", most)
    region = region_of()
    paths = paths_of(region)
    for theta in busy_places(4, number=9):
        followed, drawn = follow(paths, region, theta)
        np.testing.assert_array_equal(followed, drawn)
    assert paths.number == most


@pytest.mark.usefixtures("always_followed")
@pytest.mark.parametrize("model", ["logistic", "probit"])
@pytest.mark.parametrize("room", [0.5, 2.5, 4])
def test_no_more_memory_than_allowed(monkeypatch, model, room):
    region = region_of(model=model)
    one = paths_of(region)
    follow(one, region, np.eye(4))
    most = int(room * one.size)
    monkeypatch.setattr(incremental, "MOST_BYTES", most)
    paths = paths_of(region)
    for theta in busy_places(4, number=9):
        followed, drawn = follow(paths, region, np.vstack([theta, theta[-1:] + 0.01]))
        np.testing.assert_array_equal(followed, drawn)
    assert paths.number == max(1, int(room))
    assert all(len(kind.ends[0]) >= paths.number for kind in paths.kinds)


@pytest.mark.parametrize("n_jobs", [None, 2])
@pytest.mark.parametrize("most", [2, 128])
def test_calls_and_workers_with_few_or_many_paths(monkeypatch, most, n_jobs):
    monkeypatch.setattr(incremental, "MOST_PATHS", most)
    region = region_of()
    paths = Paths(evaluated=WORTH_SORTING)
    for some in busy_places(4, rounds=12):
        theta = np.repeat(some, 12, axis=0)
        theta += 1e-3 * np.random.default_rng(1).normal(size=theta.shape)
        Z = many(region, theta, batch=2**22, n_jobs=n_jobs, paths=paths)
        np.testing.assert_array_equal(Z, many(region, theta, batch=2**22))
    assert all(1 <= each.number <= most for each in paths._free)
    assert any(each.number for each in paths._free)


@pytest.mark.usefixtures("always_followed")
def test_features_of_one_theta_asked_twice_leave_no_state_behind():
    """Equal θ in a batch have equal features, and may still never come again."""
    region = region_of(model="probit", statistic="score")
    paths = paths_of(region)
    for theta in busy_places(4, rounds=20):
        followed, drawn = follow(paths, region, theta[[0, 0]])
        np.testing.assert_array_equal(followed, drawn)
    assert len(paths.kinds) == 1
