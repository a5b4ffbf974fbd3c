"""Probes, and searches that are audited by them."""

from functools import cache

import numpy as np
import pytest

import exactregion as er
from exactregion.models import Psychometric
from exactregion.region.search import ends
from exactregion.region.search.candidates import (
    draw_probes,
    known_members,
    plausible_probes,
)
from exactregion.region.search.extremes import Extremes
from exactregion.region.search.plausible import (
    plausible_to,
    spread,
)
from exactregion.region.window import window_at


@cache  # tests only read it, and searches of the same region are not repeated
def psychometric(seed):
    rng = np.random.default_rng([50, seed])
    level = np.linspace(-2, 2, 7)
    correct = rng.binomial(40, 0.5 + 0.48 / (1 + np.exp(-2 * level)))
    model = Psychometric(guess=0.5, lapse="free")
    # steps without an end are members by this statistic, and not by the default one
    region = er.ConfidenceRegion(model, statistic="combined", n_resamples=199, rng=seed)
    return region.fit(level, np.column_stack([correct, 40 - correct]))


def test_probes_stay_within_the_bounds_of_parameters():
    outline = psychometric(0).outline()
    members = outline.members()
    theta = draw_probes(outline.window, members, members, 3000, np.random.default_rng(0))
    assert theta.shape == (3000, 3)
    assert np.isfinite(theta).all()
    assert ((theta[:, 2] >= 0) & (theta[:, 2] <= 1)).all()
    assert np.abs(theta[:, :2]).max() > 1e4  # some look for regions without an end


@pytest.mark.parametrize(
    "seed", [1, *(pytest.param(seed, marks=pytest.mark.audit) for seed in (0, 2))]
)
def test_few_members_lie_outside_an_audited_interval(seed):
    region = psychometric(seed)
    table = region.intervals(joint=True)
    assert (table["probes"] > 0).all()
    outline = region.outline()
    known = outline.members()
    theta = draw_probes(outline.window, known, known, 5000, np.random.default_rng(1))
    members = theta[region.contains(theta)]
    assert len(members) > 200
    slack = np.nan_to_num(0.05 * (table["upper"] - table["lower"]), posinf=0.0).astype(float)
    outside = (members < table["lower"].to_numpy() - slack) | (
        members > table["upper"].to_numpy() + slack
    )
    assert outside.any(axis=1).mean() <= 0.01


def test_steep_psychometric_functions_have_no_end():
    """A step between two levels fits as well, however steep."""
    region = psychometric(1)
    theta = np.array([[1e5 * shift, 1e5, 0.05] for shift in np.linspace(-2, 2, 41)])
    assert region.contains(theta).any()
    assert region.intervals(joint=True).loc["x", "upper"] == np.inf


def test_a_step_as_estimate_hides_no_other_curves():
    """These outcomes are fitted best by a step, whose standard errors are enormous."""
    rng, level = np.random.default_rng(131), np.arange(1.0, 8.0)
    truth = np.array([-4.8, 1.2, 0.0])
    correct = rng.binomial(10, Psychometric().probabilities(truth, level))
    region = er.ConfidenceRegion("psychometric", n_resamples=99, rng=131)
    region.fit(level, np.column_stack([correct, 10 - correct]))
    assert region.contains(truth)
    table = region.intervals()
    assert (table["lower"] <= truth).all()
    assert (truth <= table["upper"]).all()
    assert table.loc["lapse", "lower"] == 0
    assert table.loc["x", "lower"] > 0.03  # proven: 0.046 or 0.063, by the kind of processor


@pytest.fixture(scope="module")
def two_branches():
    """Steep curves with a large lapse rate fit these answers, and flat ones with none."""
    correct = np.array([18, 23, 19, 19, 22, 33, 31])
    region = er.ConfidenceRegion(Psychometric(guess=0.5), n_resamples=199, rng=4)
    return region.fit(np.arange(1.0, 8.0), np.column_stack([correct, 40 - correct]))


def test_steep_curves_have_thresholds_all_over_the_gap_between_two_levels(two_branches):
    steps = np.array([[-at * 1e4, 1e4, 0.27] for at in np.linspace(4.01, 4.99, 99)])
    members = steps[two_branches.contains(steps)]
    smallest = (-members[:, 0] / members[:, 1]).min()
    assert smallest < 4.1
    found = two_branches.threshold(certify=False)
    assert found.lower <= smallest + 0.01 * (found.upper - found.lower)
    assert found.lower > 3.5


def test_searches_start_from_members_of_both_branches(two_branches):
    fitted, window = two_branches.fitted_, two_branches.outline().window
    members = window.theta(known_members(fitted, 0))
    assert two_branches.contains(members).all()
    assert (members[:, 1] > 100).sum() > 20
    assert (members[:, 1] < 2).sum() > 20
    steep = members[members[:, 1] > 100]
    assert np.ptp(-steep[:, 0] / steep[:, 1]) > 0.5


def test_nothing_is_as_likely_as_that_which_is_impossible(two_branches):
    fitted = two_branches.fitted_
    members = two_branches.outline().window.theta(known_members(fitted, 0))
    rng = np.random.default_rng(0)
    assert spread(fitted, members, -1.0, 10, rng).shape == (0, 3)


def test_a_search_that_keeps_missing_members_says_so(monkeypatch):
    region = er.ConfidenceRegion("probit", n_resamples=99, rng=0)
    x = np.linspace(-2, 2, 40)
    region.fit(x, (np.random.default_rng(2).random(40) < 1 / (1 + np.exp(-x))).astype(int))
    steps = np.array([[0.5, 0.0], [-0.5, 0.0], [0.0, 0.5], [0.0, -0.5]])
    draws = region.outline().window.theta(steps)
    assert region.contains(draws).all()

    def stay(g, inside, window, rng, **options):
        """Stay where the search started, or at a member beyond that an audit has found."""
        z = np.zeros((g(window.origin[None]).shape[1], 2))
        z = z if options["also"] is None else options["also"]
        values = np.diagonal(g(window.theta(z))).copy()
        return Extremes(values, values, z)

    monkeypatch.setattr(er.region.search.ends, "AUDITS", 1)
    monkeypatch.setattr(er.region.search.ends, "plausible_probes", lambda *args: draws)
    monkeypatch.setattr(er.region.search.ends, "largest", stay)
    table = region.intervals(joint=True, certify=False)
    assert (table["status"] == "unsettled").all()
    assert (table["upper"] >= draws.max(axis=0)).all()
    assert region.band(x[:2], certify=False).status == "unsettled"


def test_members_are_plausible_and_far_ones_are_not_ranked():
    region = psychometric(0)
    is_plausible = plausible_to(region.fitted_)
    outline = region.outline()
    assert is_plausible(outline.window.theta(outline.members())).all()
    assert not is_plausible(np.array([[0.0, -2.0, 0.5]])).any()
    assert is_plausible(plausible_probes(region.fitted_, 900, 1)).mean() > 0.8


def test_individual_intervals_are_not_empty_where_a_joint_member_is_one_of_theirs(monkeypatch):
    """A search that starts where no member is near."""
    region = psychometric(0)
    fitted = region.fitted_
    away = window_at(fitted.model, fitted.sample, np.array([9.0, -9.0, 0.01]))
    monkeypatch.setattr(ends, "central_window", lambda fitted: away)
    monkeypatch.setattr(ends, "most_compatible", lambda *args: (away.origin, 0))
    monkeypatch.setattr(ends, "START_POINTS", 0)
    slope = np.eye(3)[1]
    search = ends.FocusedSearch(fitted, lambda t: np.broadcast_to(slope, t.shape), alone=False)
    assert not search.inside(away.origin[None])[0] > 0
    found = search.bounds(lambda theta: theta[:, 1:2], probes=0)
    assert found.lower[0] <= region.estimate_[1] <= found.upper[0]


def test_the_gap_of_a_half_open_interval_is_that_of_its_end():
    x, y = np.array([1.0, 2.0, 2.0, 3.0, 4.0]), np.array([0, 0, 1, 1, 1])
    region = er.ConfidenceRegion("logistic", n_resamples=99, rng=0).fit(x, y)
    slope = region.intervals(joint=True).loc["x"]
    assert slope["status"] == "unbounded above"
    assert 0 < slope["gap"] < 0.05 * (slope["estimate"] - slope["lower"])
