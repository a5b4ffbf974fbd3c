"""Proven ends: no member lies outside, and one lies close by."""

import numpy as np
import pytest
from scipy.special import expit

import exactregion as er
from exactregion.ranking import AcceptedRanks
from exactregion.region import bounds
from exactregion.region.bounds import affordable_work
from exactregion.region.proofs.paving import domain_of
from exactregion.region.proofs.splitting import (
    PATIENCE,
    REPORTED_GAP,
    _Progress,
    allowed_excess,
)
from exactregion.region.search.ends import nearly_all_ranks
from exactregion.statistics.focused import focused_on


def logistic_data(seed, n, columns=1):
    rng = np.random.default_rng([40, seed])
    X = rng.normal(size=(n, columns))
    return X, (rng.random(n) < 1 / (1 + np.exp(-0.4 - X.sum(axis=1)))).astype(int)


def overlapping(seed, n, **settings):
    """A region of data that are not separated."""
    for attempt in range(100):
        X, y = logistic_data(1000 * seed + attempt, n)
        if 0 < y.sum() < n:
            region = er.ConfidenceRegion("logistic", n_resamples=99, **settings).fit(X, y)
            if domain_of(region.fitted_) is not None:
                return region
    raise AssertionError


def probes(region, window_scale, number, seed=0):
    """θ at random around the estimate, near and far."""
    rng = np.random.default_rng(seed)
    window = region.outline().window
    z = rng.standard_normal((number, len(window.origin)))
    return window.theta(z * rng.uniform(0, window_scale, size=(number, 1)))


@pytest.mark.parametrize(("seed", "n"), [(0, 10), (2, 25), (3, 60)])
def test_no_member_lies_outside_joint_intervals(seed, n):
    region = overlapping(seed, n, rng=seed)
    table = region.intervals(joint=True)
    assert table["certified"].all()
    assert (table["gap"] <= 0.0101 * (table["upper"] - table["lower"])).all()
    theta = probes(region, 8.0, 6_000)
    members = theta[region.contains(theta)]
    assert len(members) > 100
    assert (members >= table["lower"].to_numpy()).all()
    assert (members <= table["upper"].to_numpy()).all()


@pytest.mark.parametrize("kind", ["complete", "quasi", "group"])
def test_the_finite_end_of_a_half_open_interval_is_proven(kind):
    rng = np.random.default_rng([40, 7])
    x = rng.normal(size=20)
    y = x > 0.3
    if kind == "quasi":
        x, y = np.append(x, [0.3, 0.3]), np.append(y, [True, False])
    if kind == "group":
        x, y = (
            np.repeat([0.0, 1.0, 0.0], [21, 8, 20]),
            np.repeat([1, 0, 0, 1, 0], [13, 8, 8, 15, 5]),
        )
    region = er.ConfidenceRegion("logistic", n_resamples=39, rng=0).fit(x, y)
    for table in (region.intervals(joint=True), region.intervals()):
        slope = table.iloc[1]
        assert slope["status"].startswith("unbounded")
        assert slope["certified"]
        assert 0 < slope["gap"] < 0.1 * np.linalg.norm(region.outline().window.axes[1])
    # predictors are likely around members with any slope, so that these are found
    theta = rng.normal(size=(10_000, 2)) * 10.0 ** rng.uniform(-1, 2, size=(10_000, 1))
    members = theta[region.contains(theta)]
    slope = region.intervals(joint=True).iloc[1]
    assert len(members) > 100
    assert ((slope["lower"] <= members[:, 1]) & (members[:, 1] <= slope["upper"])).all()


@pytest.mark.parametrize(("seed", "n"), [(4, 12), (5, 40)])
def test_no_member_lies_outside_focused_intervals(seed, n):
    region = overlapping(seed, n, rng=seed)
    fitted, table = region.fitted_, region.intervals()
    assert table["certified"].all()
    theta = probes(region, 8.0, 6_000)
    m = fitted.accepted.m
    guarded = fitted.ranks(theta)[0] <= m - 1
    for index, along in enumerate(np.eye(2)):
        ranks = fitted.rank_function(focused_on(along))(theta)[0]
        members = theta[guarded & AcceptedRanks(m, 1, fitted.accepted.high + 1).holds(ranks)]
        assert len(members) > 100
        assert members[:, index].min() >= table["lower"].iloc[index]
        assert members[:, index].max() <= table["upper"].iloc[index]


def test_no_member_leaves_a_band():
    region = overlapping(6, 30, rng=6)
    x = np.linspace(-3, 3, 7)
    band = region.band(x)
    assert band.certified
    assert not region.band(x, certify=False).certified
    theta = probes(region, 8.0, 6_000)
    P = region.model_.probabilities(theta[region.contains(theta)], x)
    assert (band.lower - 1e-12 <= P).all()
    assert (band.upper + 1e-12 >= P).all()


def test_a_belt_is_proven():
    rng = np.random.default_rng(7)
    p = rng.uniform(0.05, 0.95, size=80)
    belt = er.calibration_belt(rng.random(80) < p, p, n_resamples=99, rng=0)
    assert belt.certified
    theta = probes(belt.region, 6.0, 5_000)
    curves = belt.region.model_.probabilities(theta[belt.region.contains(theta)], belt.grid)
    assert (curves >= belt.lower - 1e-12).all()
    assert (curves <= belt.upper + 1e-12).all()


def test_counts_give_the_ends_of_their_members():
    dose = np.array([0.0, 1.0, 2.0, 3.0])
    y = np.array([[1, 9], [3, 7], [6, 4], [9, 1]])
    region = er.ConfidenceRegion("logistic", n_resamples=99, rng=0).fit(dose, y)
    table = region.intervals(joint=True)
    assert table["certified"].all()
    theta = probes(region, 6.0, 6_000)
    members = theta[region.contains(theta)]
    assert (members.min(axis=0) >= table["lower"]).all()
    assert (members.max(axis=0) <= table["upper"]).all()


def test_three_parameters_are_proven_where_asked_to():
    X, y = logistic_data(8, 25, columns=2)
    region = er.ConfidenceRegion("logistic", n_resamples=19, rng=8).fit(X, y)
    assert not region.intervals(joint=True)["certified"].any()
    table = region.intervals(joint=True, certify=True)
    assert table["certified"].all()
    assert (table["gap"] <= 0.0501 * (table["upper"] - table["lower"])).all()
    theta = probes(region, 8.0, 6_000)
    members = theta[region.contains(theta)]
    assert (members >= table["lower"].to_numpy()).all()
    assert (members <= table["upper"].to_numpy()).all()


def test_an_empty_region_is_proven_to_be_empty():
    x = np.linspace(-3, 3, 200)
    y = (np.abs(x) > 1.5).astype(int)
    region = er.ConfidenceRegion("logistic", n_resamples=99, rng=0).fit(x, y)
    table = region.intervals(joint=True)
    assert (table["status"] == "empty").all()
    assert table["certified"].all()


def test_separated_data_have_no_domain():
    x = np.linspace(-1, 1, 20)
    region = er.ConfidenceRegion("logistic", n_resamples=99, rng=0).fit(x, (x > 0).astype(int))
    assert domain_of(region.fitted_) is None
    table = region.intervals(joint=True)
    assert table.loc["intercept", ["lower", "upper"]].tolist() == [-np.inf, np.inf]
    # both ends are open; one is open, and the other proven
    assert table["certified"].tolist() == [True, True]
    assert table.loc["x", "status"] == "unbounded above"


def test_members_lie_within_the_domain():
    region = overlapping(9, 15, rng=9)
    domain = domain_of(region.fitted_)
    rng = np.random.default_rng(0)
    direction = rng.standard_normal((2000, 2))
    direction /= np.abs(direction).max(axis=1, keepdims=True)
    for length in (1.0, 1.5, 10.0, 1e3):
        theta = domain.window.theta(domain.centre + length * direction * domain.half)
        assert not region.contains(theta).any()
        # nor of the larger set that focused intervals are taken over
        assert not nearly_all_ranks(100).holds(region.rank(theta)).any()


def test_a_region_that_accepts_the_last_rank_has_no_domain():
    X, y = logistic_data(3, 60)
    region = er.ConfidenceRegion("logistic", n_resamples=99, accepted_ranks=(6, 100), rng=0)
    assert domain_of(region.fit(X, y).fitted_) is None


def test_without_budget_ends_are_those_of_the_search(monkeypatch):
    X, y = logistic_data(3, 60)
    region = er.ConfidenceRegion("logistic", n_resamples=39, rng=3).fit(X, y)
    searched = region.intervals(joint=True, certify=False)
    monkeypatch.setattr(bounds, "BUDGET", 1.0)
    table = region.intervals(joint=True)
    assert not table["certified"].any()
    assert table["lower"].tolist() == searched["lower"].tolist()


@pytest.mark.parametrize("family", ["probit", "cloglog"])
def test_no_member_lies_outside_where_the_logit_is_curved(family):
    X, y = logistic_data(3, 40)
    region = er.ConfidenceRegion(family, n_resamples=39, rng=3).fit(X, y)
    table, band = region.intervals(joint=True), region.band(np.linspace(-2, 2, 5))
    assert table["certified"].all()
    assert band.certified
    theta = probes(region, 8.0, 6_000)
    members = theta[region.contains(theta)]
    assert len(members) > 100
    assert (members >= table["lower"].to_numpy()).all()
    assert (members <= table["upper"].to_numpy()).all()
    P = region.model_.probabilities(members, band.X)
    assert (band.lower - 1e-12 <= P).all()
    assert (band.upper + 1e-12 >= P).all()
    # the band is close to the members
    assert (P.max(axis=0) > band.upper - 0.1).all()
    assert (P.min(axis=0) < band.lower + 0.1).all()


@pytest.mark.parametrize("model", [er.models.LaplaceMixture(), er.models.GaussianMixture()])
def test_mixtures_are_proven_by_their_natural_parameters(model):
    rng = np.random.default_rng(11)
    y = rng.random(60) < 0.5
    x = np.where(y, 1, -1) + rng.laplace(size=60)
    region = er.ConfidenceRegion(model, n_resamples=99, rng=0).fit(x, y.astype(int))
    table, focused, band = region.intervals(joint=True), region.intervals(), region.band([0.0, 1.0])
    assert table["certified"].all()
    assert focused["certified"].all()
    assert band.certified
    assert region.certified_
    assert region.status_ == "bounded"
    low, high = table["lower"].to_numpy(), table["upper"].to_numpy()
    wide = high - low
    theta = rng.uniform(np.maximum(low - wide, [0, 0.01]), high + wide, size=(6_000, 2))
    theta = theta[theta[:, 0] <= 1]
    members = theta[region.contains(theta)]
    assert len(members) > 100
    assert (members >= low).all()
    assert (members <= high).all()
    assert (members.max(axis=0) > high - 0.1 * wide).all()
    P = region.model_.probabilities(members, [0.0, 1.0])
    assert (band.lower - 1e-12 <= P).all()
    assert (band.upper + 1e-12 >= P).all()


@pytest.mark.parametrize("seed", range(4))
def test_a_mixture_whose_scale_has_no_end_is_proven_within_its_bounds(seed):
    """The natural slope may be 0; below it there are θ of the logistic family, not of this one."""
    rng = np.random.default_rng(seed)
    x, y = rng.normal(size=30), rng.integers(2, size=30)
    region = er.ConfidenceRegion(er.models.LaplaceMixture(), n_resamples=59, rng=seed).fit(x, y)
    table, band = region.intervals(joint=True), region.band([-1.0, 0.5])
    assert table["certified"].all()
    assert band.certified
    assert (region.status_, region.certified_) == ("unbounded", True)
    low, high = table["lower"].to_numpy(), table["upper"].to_numpy()
    assert high[1] == np.inf
    # half of them far out
    scale = np.append(rng.uniform(0.1, 8, 3_000), 10 ** rng.uniform(1, 8, 3_000))
    theta = np.column_stack([rng.random(6_000), scale])
    members = theta[region.contains(theta)]
    assert members[:, 1].max() > 1e7
    assert (members >= low).all()
    assert (members <= high).all()
    assert (members[:, 0].max() > high[0] - 0.05) & (members[:, 0].min() < low[0] + 0.05)
    P = region.model_.probabilities(members, [-1.0, 0.5])
    assert (band.lower - 1e-12 <= P).all()
    assert (band.upper + 1e-12 >= P).all()


def test_gaps_are_small_on_the_scale_that_is_reported():
    """One per cent of a logit's interval may be a large share of that of its probability."""
    region = overlapping(3, 23, rng=3)
    band = region.band(np.linspace(-2, 2, 9))
    assert band.certified
    assert band.gap <= 0.021 * (band.upper - band.lower).max()
    mixture = er.ConfidenceRegion(er.models.LaplaceMixture(), n_resamples=59, rng=0)
    rng = np.random.default_rng(3)
    y = np.arange(60) % 2
    table = mixture.fit(2 * y - 1 + rng.laplace(size=60), y).intervals()
    assert table["certified"].all()
    assert (table["gap"] <= 0.021 * (table["upper"] - table["lower"])).all()


def test_the_excess_that_is_allowed_holds_on_both_scales():
    value = np.array([2.0, 6.0])  # logits from -6 to 2
    one = np.ones(2)
    plain = allowed_excess(value, one, 0.01, None)
    assert plain == pytest.approx([0.08, 0.08])
    upper, lower = allowed_excess(value, one, 0.01, expit)
    most = REPORTED_GAP * (expit(2) - expit(-6))
    assert 0 < upper <= 0.08
    assert lower == 0.08
    assert expit(2 + upper) - expit(2) <= most
    steep = allowed_excess(np.array([8.0, -1.0]), one, 0.05, np.exp)  # from 1 to 8
    assert np.exp(8 + steep[0]) - np.exp(8) == pytest.approx(0.05 * (np.exp(8) - np.e), rel=1e-3)
    # an end that is open, and one that is unknown
    assert allowed_excess(np.array([1.0, np.inf]), one, 0.01, expit)[0] <= 0.01
    assert allowed_excess(np.array([1.0, -np.inf]), one, 0.01, expit)[0] == 0


def test_a_paving_holds_all_members():
    region = overlapping(6, 25, rng=6)
    paving = region.paving(tolerance=0.1)
    theta = probes(region, 6.0, 5_000)
    z = paving.window.coordinates(theta)

    def within(boxes):
        return np.array(
            [(np.abs(one - boxes[0]) <= boxes[1] + 1e-9).all(axis=1).any() for one in z]
        )

    is_member, is_inside = region.contains(theta), within(paving.inside)
    is_open = within(paving.open)
    assert not (is_member & ~is_inside & ~is_open).any()
    assert is_member[is_inside & ~is_open].all()
    smallest, largest = paving.area
    assert 0.9 * largest <= smallest <= largest
    assert smallest <= region.grid().area <= largest
    assert paving.pieces == 1
    assert not paving.is_empty


def test_a_paving_counts_pieces():
    """Labels and one parameter: the accepted ranks from 2 on leave out the middle."""
    rng = np.random.default_rng(2)
    x = rng.normal(size=50)
    y = (rng.random(50) < 1 / (1 + np.exp(-x))).astype(int)
    region = er.ConfidenceRegion(
        er.models.Logistic(intercept=False), n_resamples=99, accepted_ranks=(60, 95), rng=0
    ).fit(x, y)
    assert region.paving(tolerance=0.1).pieces >= 2


def test_a_paving_of_an_empty_region_has_no_box():
    x = np.linspace(-3, 3, 200)
    region = er.ConfidenceRegion("logistic", n_resamples=99, rng=0)
    region.fit(x, (np.abs(x) > 1.5).astype(int))
    paving = region.paving()
    assert paving.is_empty
    assert paving.area == (0.0, 0.0)
    assert region.is_empty_
    assert region.certified_


def test_pavings_need_a_family_that_is_proven():
    x, y = np.linspace(-1, 1, 20), np.tile([0, 1], 10)
    region = er.ConfidenceRegion(er.models.Psychometric(), n_resamples=19, rng=0).fit(x, y)
    with pytest.raises(er.errors.InvalidValueError, match=r"linear predictor|logistic"):
        region.paving()
    with pytest.raises(er.errors.InvalidValueError, match=r"'tolerance'.*between 0 and 1"):
        region.paving(tolerance=2)


def test_splitting_ends_where_it_brings_no_bound_closer():
    progress = _Progress(4.0, PATIENCE)
    pole = np.array([0.2, np.inf])
    assert not progress.is_over(PATIENCE, pole)
    assert not progress.is_over(3 * PATIENCE, pole)  # too early to tell
    assert not progress.is_over(5 * PATIENCE, pole / [2, 1])
    assert progress.is_over(21 * PATIENCE, pole / [2, 1])


def test_many_rows_are_not_proven_by_default(monkeypatch):
    # boxes keep what is known about each row, however few resamples there are
    X = np.linspace(-2, 2, 60)
    y = np.arange(60) % 3 == 0
    region = er.ConfidenceRegion("logistic", n_resamples=19, rng=0).fit(X, y)
    assert affordable_work(region.fitted_, 2, None) > 0
    monkeypatch.setattr(bounds, "USUAL_ROWS", 59)
    assert affordable_work(region.fitted_, 2, None) == 0
    assert affordable_work(region.fitted_, 2, True) > 0
