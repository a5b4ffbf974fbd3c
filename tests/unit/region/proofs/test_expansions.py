"""Boxes use the expansions of larger boxes: verdicts hold all the same."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import expit

import exactregion as er
from exactregion.ranking import AcceptedRanks
from exactregion.region.proofs import packed
from exactregion.region.proofs.enclosure import EXPANSION, Boxes, Enclosure
from exactregion.region.proofs.expansion import both_probabilities
from exactregion.region.proofs.packed import NONE
from exactregion.region.window import likely_parameters, window_at

M = 99


def fitted_to(family, *, trials=1, n=40, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=n)
    successes = rng.binomial(trials, expit(0.3 + x))
    y = successes if trials == 1 else np.column_stack([successes, trials - successes])
    return er.ConfidenceRegion(family, n_resamples=M, rng=seed).fit(x, y).fitted_


@pytest.mark.parametrize(("family", "trials"), [("logistic", 1), ("probit", 1), ("logistic", 5)])
def test_verdicts_of_parts_hold_by_the_expansion_of_the_whole(family, trials):
    fitted = fitted_to(family, trials=trials)
    window = window_at(fitted.model, fitted.sample, likely_parameters(fitted.model, fitted.sample))
    # with low = 2 no alternative is left out
    rule = Enclosure(fitted, window, AcceptedRanks(M + 1, 2, M))
    whole = Boxes(np.array([[1.5, -1.0]]), np.full((1, 2), 0.04), [np.zeros((1, M), dtype=np.int8)])
    rule.ranks(whole, 0)
    assert whole.within[0][0, EXPANSION] != NONE
    parts = whole.halves().halves()
    parts.verdicts[0][:] = 0
    number = rule.expansions.count
    lowest, highest = rule.ranks(parts, 0)
    assert rule.expansions.count == number  # none was expanded
    decided = (parts.verdicts[0] != 0).mean()
    assert decided > 0.9
    rng = np.random.default_rng(1)
    share = rng.uniform(-1, 1, size=(len(parts), 200, 2))
    share[:, :50] = np.sign(share[:, :50])
    theta = window.theta((parts.centre[:, None] + share * parts.half[:, None]).reshape(-1, 2))
    ranks = fitted.ranks(theta)[0].reshape(len(parts), -1)
    assert (lowest[:, None] <= ranks).all()
    assert (ranks <= highest[:, None]).all()


def test_intervals_agree_without_room_for_expansions(monkeypatch):
    region = er.ConfidenceRegion("logistic", n_resamples=M, rng=0)
    rng = np.random.default_rng(0)
    x = rng.normal(size=40)
    y = rng.random(40) < expit(0.3 + x)
    usual = region.fit(x, y).intervals(joint=True)
    for room in (0, 2**17):
        monkeypatch.setattr(packed, "LARGEST_STORE", room)
        table = (
            er.ConfidenceRegion("logistic", n_resamples=M, rng=0).fit(x, y).intervals(joint=True)
        )
        assert table["certified"].all()
        # both hold all members, and have one within their gap
        gap = usual["gap"] + table["gap"]
        assert ((table["lower"] - usual["lower"]).abs() <= gap).all()
        assert ((table["upper"] - usual["upper"]).abs() <= gap).all()


def test_expansions_that_no_box_is_in_are_dropped(monkeypatch):
    fitted = fitted_to("logistic")
    window = window_at(fitted.model, fitted.sample, likely_parameters(fitted.model, fitted.sample))
    rule = Enclosure(fitted, window, AcceptedRanks(M + 1, 2, M))
    centre = np.random.default_rng(0).normal(size=(30, 2))
    boxes = Boxes(centre, np.full((30, 2), 0.02), [np.zeros((30, M), dtype=np.int8)])
    rule.ranks(boxes, 0)
    assert rule.expansions.count == 30
    kept = boxes[[3, 20]]
    before = [array[boxes.within[0][[3, 20], EXPANSION]] for array in rule.expansions.arrays]
    monkeypatch.setattr(packed, "LARGEST_STORE", 0)
    rule.drop_unused(0, kept, [boxes])
    assert rule.expansions.count == 2
    for array, old in zip(rule.expansions.arrays, before, strict=True):
        np.testing.assert_array_equal(array[kept.within[0][:, EXPANSION]], old)
    # others have none any more
    others = np.delete(boxes.within[0][:, EXPANSION], [3, 20])
    assert (others == NONE).all()


def test_probabilities_of_both_outcomes_are_those_of_scipy():
    logit = np.concatenate([np.random.default_rng(0).uniform(-700, 700, 10_000), [0, 40, -40]])
    p, q = both_probabilities(logit)
    np.testing.assert_allclose(p, expit(logit), rtol=1e-15, atol=0)
    np.testing.assert_allclose(q, expit(-logit), rtol=1e-15, atol=0)
    assert both_probabilities(np.array([np.inf, -np.inf]))[0].tolist() == [1.0, 0.0]
