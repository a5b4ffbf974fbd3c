"""What regions answer, as plain values."""

import json

import numpy as np

import exactregion as er


def test_all_answers_become_json():
    x = np.linspace(-2, 2, 30)
    y = np.random.default_rng(0).random(30) < 1 / (1 + np.exp(-x))
    region = er.ConfidenceRegion("logistic", n_resamples=39, rng=0).fit(x, y)
    band = region.band([0.0, 1.0])
    answers = {
        "interval": region.functional([0, 1]),
        "band": band,
        "risk": region.risk([0.0, 1.0]),
        "evaluation": region.evaluate([0.0, 1.0]),
        "test": region.test("x = 0"),
    }
    for answer in answers.values():
        content = answer.to_dict()
        assert json.loads(json.dumps(content, allow_nan=False)) == content
    assert band.to_dict()["lower"] == band.lower.tolist()
    assert answers["interval"].to_dict()["upper"] == answers["interval"].upper
    # what has one number per data set and row is left out
    assert set(answers["evaluation"].to_dict()) == {"seat", "rank", "pvalue"}


def test_what_is_not_finite_is_none():
    region = er.ConfidenceRegion("logistic", n_resamples=39, rng=0)
    region.fit(np.arange(8.0), np.arange(8) > 3)
    content = region.functional([0, 1]).to_dict()
    assert content["upper"] is None
    assert content["status"] == "unbounded above"
