"""Probes, and searches that are audited by them."""

import numpy as np
import pytest

import exactregion as er
from exactregion.models import Psychometric
from exactregion.region.search.candidates import draw_probes, plausible_probes, plausible_to
from exactregion.region.search.extremes import Extremes


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


@pytest.mark.parametrize("seed", range(3))
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
    assert table.loc["x", "lower"] > 0.05  # proven: 0.063


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
    assert len(plausible_probes(region.fitted_, 900, 1)) < 800


def test_the_gap_of_a_half_open_interval_is_that_of_its_end():
    x, y = np.array([1.0, 2.0, 2.0, 3.0, 4.0]), np.array([0, 0, 1, 1, 1])
    region = er.ConfidenceRegion("logistic", n_resamples=99, rng=0).fit(x, y)
    slope = region.intervals(joint=True).loc["x"]
    assert slope["status"] == "unbounded above"
    assert 0 < slope["gap"] < 0.05 * (slope["estimate"] - slope["lower"])
