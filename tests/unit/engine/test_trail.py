"""Several standing paths: the numbers of the batch engine, whatever was asked before and where."""

import itertools

import numpy as np
import pytest

import exactregion as er
from exactregion.engine import Paths, statistics_of, statistics_of_many, trail
from exactregion.engine.many import WORTH_SORTING
from exactregion.engine.path import Path
from exactregion.engine.route import Ground, Route, steps
from exactregion.engine.trail import Trail
from exactregion.features.grid import CandidateFeatures, SharedFeatures
from exactregion.statistics import Combined, Discrepancy, Embedding, Neighborhood, Omnibus, Score
from exactregion.statistics.focused import Focused
from exactregion.statistics.measures import FromCentre, Whitened

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
def always_walked(monkeypatch):
    """Walk even where drawing all labels would cost less."""
    monkeypatch.setattr(Trail, "cost", lambda self, *args: (0.0, 1.0))


def walk(own, region, theta, statistic=None):
    """Z by this trail, and by the batch engine."""
    state = region.fitted_
    statistic = statistic or state.prepared
    candidates = region.fitted_.candidates(theta)
    walked = own.statistics_of(candidates, statistic.rule(candidates))
    assert walked is not None
    return walked, statistics_of(candidates, state.resampling, statistic)


def trail_of(region):
    return Trail(Ground(region.fitted_.resampling))


@pytest.mark.usefixtures("always_walked")
@pytest.mark.parametrize(
    "statistic", [Combined(), Score(), Discrepancy(), Embedding(), Neighborhood(), Omnibus()]
)
@pytest.mark.parametrize("kind", ["labels", "counts"])
def test_same_bits_as_batch_from_several_standing_paths(kind, statistic):
    if isinstance(statistic, Omnibus):
        statistic = Omnibus(Score(), Discrepancy(), er.statistics.Curvature())
    region = region_of(kind, statistic=statistic)
    own = trail_of(region)
    for theta in busy_places(4):
        walked, drawn = walk(own, region, theta)
        np.testing.assert_array_equal(walked, drawn)
    assert len(own.paths) > 2


@pytest.mark.usefixtures("always_walked")
@pytest.mark.parametrize("model", ["logistic", "probit", "cloglog"])
@pytest.mark.parametrize("kind", ["labels", "counts"])
def test_joint_and_focused_statistics_share_a_trail(kind, model):
    region = region_of(kind, model=model)
    state, own = region.fitted_, trail_of(region)
    focused = FOCUSED.prepare(state.sample.inputs, state.resampling.m)
    # far out, a cloglog model is certain, which is not walked
    size = 0.4 if model == "cloglog" else 1.0
    for turn, theta in enumerate(size * theta for theta in busy_places(4)):
        for statistic in (state.prepared, focused)[:: 1 if turn % 2 else -1]:
            walked, drawn = walk(own, region, theta, statistic)
            np.testing.assert_array_equal(walked, drawn)
    assert len(own.paths) > 2


def test_focused_logistic_is_a_row_of_the_score_and_probit_one_feature():
    theta = np.random.default_rng(0).normal(size=(3, 4))
    for model, measure, width in (("logistic", Whitened, 4), ("probit", FromCentre, 1)):
        region = region_of(model=model)
        state = region.fitted_
        candidates = region.fitted_.candidates(theta)
        rule = FOCUSED.prepare(state.sample.inputs, state.resampling.m).rule(candidates)
        (term,) = rule.terms
        assert isinstance(term.measure, measure)
        assert isinstance(term.projection, CandidateFeatures)
        assert term.projection.width == width
        if measure is Whitened:
            assert term.measure.W.shape == (3, 1, 4)


@pytest.mark.parametrize("model", ["logistic", "probit"])
def test_focused_is_the_efficient_score(model):
    """Z ∝ (∇gᵀ I⁻¹ s)², for labels that are seen through the identity."""
    region = region_of(model=model)
    state, theta = region.fitted_, np.array([[0.2, -0.5, 0.3, 0.1]])
    inputs, m = state.sample.inputs, state.resampling.m
    candidates = region.fitted_.candidates(theta)
    Z = statistics_of(candidates, state.resampling, FOCUSED.prepare(inputs, m))[0]
    p = candidates.probabilities[0]
    G = candidates.logit_gradient[0]
    labels = state.resampling.successes(p[None], slice(0, len(p)))[0]
    direction = np.linalg.solve(G.T @ ((p * (1 - p))[:, None] * G), FOCUSED.gradient(theta)[0])
    expected = ((labels - p) @ G @ direction) ** 2
    np.testing.assert_allclose(Z / Z.mean(), expected / expected.mean(), rtol=1e-3, atol=1e-6)


@pytest.mark.usefixtures("always_walked")
@pytest.mark.parametrize("kind", ["labels", "counts"])
@pytest.mark.parametrize(("n", "d"), [(60, 3), (150, 4)])
def test_brief_features_and_the_score_walk_together(monkeypatch, kind, n, d):
    region = region_of(kind, n=n, d=d)
    state, own, calls = region.fitted_, trail_of(region), []
    loops = steps()

    def counting(name):
        loop = getattr(loops, name)
        monkeypatch.setattr(loops, name, lambda *args: (calls.append(name), loop(*args)))

    for name in ("walk_two", "walk_dense", "walk_labels"):
        counting(name)
    for theta in busy_places(d + 1, rounds=15):
        walked, drawn = walk(own, region, np.vstack([theta, theta[:1]]))
        np.testing.assert_array_equal(walked, drawn)
    assert set(calls) == {"walk_two"}
    score, kernel = state.prepared.rule(region.fitted_.candidates(np.zeros((2, d + 1)))).terms
    assert isinstance(score.projection, CandidateFeatures)
    assert isinstance(kernel.projection, SharedFeatures)
    assert kernel.projection.brief
    assert state.sample.inputs.distinct.weights.size > 32
    (walker,) = own.paths[0]._walkers
    assert [state.dtype for state in walker.states] == [np.float64, np.float32]


@pytest.mark.usefixtures("always_walked")
@pytest.mark.parametrize("statistic", ["combined", "score"])
@pytest.mark.parametrize("model", ["logistic", "probit"])
def test_one_theta_at_a_time_then_many_then_one(model, statistic):
    """Features that may never come again are walked by labels; later they have a walker."""
    region = region_of(model=model, statistic=statistic)
    own = trail_of(region)
    theta = np.vstack(list(busy_places(4, rounds=12)))
    for some in (theta[:9, None], [theta[9:20]], theta[20:, None], [theta]):
        for batch in some:
            walked, drawn = walk(own, region, batch)
            np.testing.assert_array_equal(walked, drawn)


@pytest.mark.usefixtures("always_walked")
def test_jumps_within_a_batch_start_from_the_nearest_path():
    """To and fro between far ends: two paths stand at them, and neither walks the way between."""
    region = region_of(statistic="discrepancy", n=200, m=60)
    own = trail_of(region)
    ends = np.array([[1.5, 0.2, 0, 0], [-1.5, 0.1, 0, 0]])
    theta = np.tile(ends, (8, 1)) + 1e-4 * np.arange(16)[:, None]
    walked, drawn = walk(own, region, theta)
    np.testing.assert_array_equal(walked, drawn)
    assert len(own.paths) == 2
    standing = own._places[:2]
    expected = region.fitted_.candidates(theta[-2:]).probabilities[:, :: trail.SPARE]
    np.testing.assert_array_equal(standing, expected)


@pytest.mark.usefixtures("always_walked")
def test_small_steps_stay_on_one_path():
    region = region_of(n=60)
    own = trail_of(region)
    way = np.linspace([0.0, 0, 0, 0], [1.0, 0, 0, 0], 400)
    for theta in np.split(way, 20):
        walked, drawn = walk(own, region, theta)
        np.testing.assert_array_equal(walked, drawn)
        last = region.fitted_.candidates(theta[-1:]).probabilities[0, :: trail.SPARE]
        np.testing.assert_array_equal(own._places[0], last)
    assert len(own.paths) == 1


def test_cost_counts_from_the_nearest_path():
    """A place where a path stands costs less to come back to than it did to go to."""
    region = region_of(statistic="discrepancy", n=200, m=60)
    own = trail_of(region)
    ends = np.array([[1.5, 0.2, 0, 0], [-1.5, 0.1, 0, 0]])
    candidates = region.fitted_.candidates(ends)
    rule = region.fitted_.prepared.rule(candidates)
    before, drawn = own.cost(candidates.probabilities, rule, [0, 1])
    route = Route.of(own.ground, candidates, rule)
    for start in (0, 1):
        path = Path(own.ground)
        path.follow(route, start, start + 1)
        own.paths.append(path)
        own._places[start] = candidates.probabilities[start, :: trail.SPARE]
    after, again = own.cost(candidates.probabilities, rule, [0, 1])
    assert after < before / 5
    assert again == drawn


def test_far_places_are_drawn_instead():
    region = region_of(statistic="discrepancy", n=200, m=100)
    own = trail_of(region)
    theta = 5 * np.random.default_rng(0).normal(size=(20, 4))
    candidates = region.fitted_.candidates(theta)
    assert own.statistics_of(candidates, region.fitted_.prepared.rule(candidates)) is None
    assert own.paths == []
    walked, drawn = walk(own, region, theta[:1] + 1e-3 * theta)
    np.testing.assert_array_equal(walked, drawn)
    assert len(own.paths) == 1


# --- copies -------------------------------------------------------------------------------------


def arrays_of(path):
    for walker in path._walkers:
        yield from (walker.place, walker.above, walker.below, *walker.states)


@pytest.mark.parametrize("model", ["logistic", "probit"])
@pytest.mark.parametrize("statistic", ["combined", "neighborhood"])
def test_copies_do_not_share_state(model, statistic):
    region = region_of(model=model, statistic=statistic)
    state = region.fitted_
    here = np.array([[0.1, 0, 0, 0], [0, 0, 0, 0]])
    there = here + 0.7

    def ask(path, theta):
        candidates = region.fitted_.candidates(theta)
        return path.statistics_of(candidates, state.prepared.rule(candidates))

    path = Path(Ground(state.resampling))
    first = ask(path, here)
    other = path.copy()
    assert other.size == path.size > 0
    before = [array.copy() for array in arrays_of(path)]
    ask(other, there)
    for array, kept in zip(arrays_of(path), before, strict=True):
        np.testing.assert_array_equal(array, kept)
    for ours, theirs in itertools.product(arrays_of(path), arrays_of(other)):
        assert not np.shares_memory(ours, theirs)
    assert any((a != b).any() for a, b in zip(arrays_of(path), arrays_of(other), strict=True))
    np.testing.assert_array_equal(ask(path, here), first)
    np.testing.assert_array_equal(ask(other, here), first)


# --- limits -------------------------------------------------------------------------------------


@pytest.mark.usefixtures("always_walked")
@pytest.mark.parametrize("most", [1, 2, 3])
def test_no_more_paths_than_allowed(monkeypatch, most):
    monkeypatch.setattr(trail, "MOST_PATHS", most)
    region = region_of()
    own = trail_of(region)
    for theta in busy_places(4, number=9):
        walked, drawn = walk(own, region, theta)
        np.testing.assert_array_equal(walked, drawn)
    assert len(own.paths) == most


@pytest.mark.usefixtures("always_walked")
@pytest.mark.parametrize("model", ["logistic", "probit"])
@pytest.mark.parametrize("room", [0.5, 2.5, 4])
def test_no_more_memory_than_allowed(monkeypatch, model, room):
    region = region_of(model=model)
    one = trail_of(region)
    walk(one, region, np.eye(4))
    most = int(room * one.paths[0].size)
    monkeypatch.setattr(trail, "MOST_BYTES", most)
    own = trail_of(region)
    for theta in busy_places(4, number=9):
        walked, drawn = walk(own, region, np.vstack([theta, theta[-1:] + 0.01]))
        np.testing.assert_array_equal(walked, drawn)
    assert len(own.paths) == max(1, int(room))
    assert sum(path.size for path in own.paths) <= max(most, one.paths[0].size)


@pytest.mark.parametrize("n_jobs", [None, 2])
@pytest.mark.parametrize("most", [2, 128])
def test_calls_and_workers_with_few_or_many_paths(monkeypatch, most, n_jobs):
    monkeypatch.setattr(trail, "MOST_PATHS", most)
    region = region_of()
    state, paths = region.fitted_, Paths(asked=WORTH_SORTING)
    for some in busy_places(4, rounds=12):
        theta = np.repeat(some, 12, axis=0)
        theta += 1e-3 * np.random.default_rng(1).normal(size=theta.shape)
        Z = statistics_of_many(
            theta,
            region.fitted_.candidates,
            state.resampling,
            state.prepared,
            batch=2**22,
            n_jobs=n_jobs,
            paths=paths,
        )
        candidates = region.fitted_.candidates(theta)
        drawn = statistics_of(candidates, state.resampling, state.prepared)
        np.testing.assert_array_equal(Z, drawn)
    assert all(1 <= len(own.paths) <= most for own in paths._free)
    assert any(own.paths for own in paths._free)


@pytest.mark.usefixtures("always_walked")
def test_features_of_one_theta_asked_twice_leave_no_walker_behind():
    """Equal θ in a batch have equal features, and may still never come again."""
    region = region_of(model="probit", statistic="score")
    own = trail_of(region)
    for theta in busy_places(4, rounds=20):
        walked, drawn = walk(own, region, theta[[0, 0]])
        np.testing.assert_array_equal(walked, drawn)
    assert all(len(path._walkers) == 1 for path in own.paths)
