"""Sentences that people read."""

import numpy as np
import pytest
from scipy.special import expit, logit

import exactregion as er
from exactregion.plotting import formats, wording

RNG = np.random.default_rng(5)
P = RNG.uniform(0.02, 0.98, size=80)
Y = RNG.uniform(size=80) < P


def belt_of(y, p, **settings):
    return er.calibration_belt(y, p, n_resamples=39, rng=0, **settings)


@pytest.mark.parametrize(
    ("pvalue", "text"),
    [(0.001, "1 time in 1,000"), (0.1, "1 time in 10"), (0.5, "50 times in 100"), (1.0, "always")],
)
def test_pvalues_as_odds(pvalue, text):
    assert wording.pvalue_text(pvalue) == text


@pytest.mark.parametrize(
    ("value", "width", "text"),
    [
        (-0.0688, 0.36, "−0.069"),
        (1234.56, 1.0, "1234.560"),
        (0.5, 1e9, "0.5"),
        (-1e-9, 10.0, "0.00"),
        (-np.inf, 1.0, "−∞"),
    ],
)
def test_numbers_have_the_digits_of_their_width(value, width, text):
    assert formats.number(value, width) == text


@pytest.mark.parametrize(
    ("share", "text"),
    [(0.95, "95%"), (0.955, "95.5%"), (45 / 49, "91.84%"), (0.99999, "99.999%")],
)
def test_less_than_all_is_never_100_percent(share, text):
    assert formats.percent(share) == text


def test_intervals_names_and_pieces():
    assert formats.number(-0.23218) == "−0.232"
    assert formats.interval_text(-np.inf, 28.8123, width=80.0) == "(−∞, 28.8]"
    assert formats.shortened("a name that is much too long", longest=10) == "a name th…"
    pieces = wording.set_detail("disconnected", np.ones(3), np.array([90.0, 6.0, 4.0]), "area")
    assert pieces == "3 pieces, the largest with 90% of the area"


def test_tests():
    good = er.model_test(P, P, Y, n_resamples=39, rng=0)
    bad = er.model_test(1 - P, P, Y, n_resamples=39, rng=0)
    assert "no evidence against the probabilities: they are not rej" in wording.answer_of(good)
    assert wording.answer_of(bad).startswith(
        "There is evidence against the probabilities: they are rejected at the level 0.05 "
        "(p = 0.025)."
    )
    assert "only 1 time in 40" in wording.answer_of(bad)
    assert "exact with 80 outcomes" in wording.guarantee_of(good)


def test_belts():
    answer = wording.answer_of(belt_of(Y, P))
    assert "no evidence of miscalibration: calibration is not rejected" in answer
    shifted = wording.answer_of(belt_of(Y, expit(logit(P) - 2)))
    assert "There is evidence of miscalibration: calibration is rejected" in shifted
    assert "are too low." in shifted
    certain = wording.answer_of(belt_of(np.append(Y, True), np.append(P, 0.0)))
    assert certain.startswith("1 outcome contradicts a prediction of exactly 0 or 1.")
    assert "p = 0.025, the smallest possible" in certain
    assert "probability at least 95%" in wording.guarantee_of(belt_of(Y, P))


def test_a_belt_that_is_empty():
    p = np.tile(np.linspace(0.02, 0.98, 60), 3)
    belt = belt_of((p > 0.33) & (p < 0.66), p, statistic="discrepancy")
    assert belt.status == "empty"
    assert "No logistic recalibration" in wording.answer_of(belt)
    assert wording.answer_of(belt).endswith("--degree 2 on the command line.")


def test_a_belt_that_bends():
    belt = belt_of(Y, P, degree=2, certify=False)
    assert "if that curve is a quadratic recalibration" in wording.guarantee_of(belt)
    assert "--degree" not in wording.answer_of(belt)
    assert "square" in wording.belt_text(belt)


def test_regions():
    x = np.linspace(-2, 2, 40)
    y = RNG.random(40) < expit(x)
    region = er.ConfidenceRegion("logistic", n_resamples=39, rng=0).fit(x, y)
    assert wording.answer_of(region).startswith("The estimate (maximum likelihood) is intercept = ")
    assert "95%" in wording.guarantee_of(region)
    assert "with 40 rows" in wording.guarantee_of(region)
    separated = er.ConfidenceRegion("logistic", n_resamples=39, rng=0).fit(x, x > 0)
    assert "intercept and x is unbounded" in wording.answer_of(separated)
    bent = er.ConfidenceRegion("logistic", statistic="discrepancy", n_resamples=39, rng=1)
    bent.fit(np.tile(x, 4), np.tile(np.abs(x) > 1, 4))
    assert wording.answer_of(bent).startswith("No member of the family fits")


def test_departures():
    text = wording.departure_text(er.calibration.Departure(0.1, 0.304, "above"))
    assert text == "predictions from 0.10 to 0.30 are too low"
    assert "around 0.40 are too high" in wording.departure_text(
        er.calibration.Departure(0.4, 0.4, "below")
    )
