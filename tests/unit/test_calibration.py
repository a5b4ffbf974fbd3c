"""The calibration belt."""

import json
from functools import cache

import numpy as np
import pytest
from scipy.special import expit, logit
from scipy.stats import binom

import exactregion as er
from exactregion.calibration import Departure
from exactregion.calibration.search import KNOTS
from exactregion.errors import InvalidValueError

RNG = np.random.default_rng(2)
P = RNG.uniform(0.02, 0.98, size=120)
Y = RNG.uniform(size=120) < P


def belt_of(y=Y, p=P, **settings):
    return er.calibration_belt(y, p, **({"n_resamples": 99, "rng": 0} | settings))


@pytest.fixture(scope="module")
def calibrated():
    return belt_of()


@pytest.fixture(scope="module")
def quick():
    """For what only has to be the same."""
    return belt_of(n_resamples=19)


@pytest.fixture(scope="module")
def overconfident():
    return belt_of(p=expit(3 * logit(P)))


def test_a_calibrated_model(calibrated):
    assert calibrated.pvalue == er.calibration_test(Y, P, n_resamples=99, rng=0).pvalue > 0.05
    assert calibrated.departures == ()
    assert calibrated.coverage == 0.95
    assert calibrated.contradicted == 0
    assert (calibrated.lower <= calibrated.grid).all()
    assert (calibrated.grid <= calibrated.upper).all()
    assert calibrated.grid[[0, -1]] == pytest.approx([P.min(), P.max()])
    rows = calibrated.intervals
    assert list(rows.index) == ["intercept", "slope"]
    assert rows.loc["intercept", "lower"] < 0 < rows.loc["intercept", "upper"]
    assert rows.loc["slope", "lower"] < 1 < rows.loc["slope", "upper"]


def test_an_overconfident_model(overconfident):
    assert overconfident.pvalue == 0.01
    low, high = overconfident.departures
    assert (low.side, high.side) == ("above", "below")
    assert low.stop < 0.5 < high.start
    assert overconfident.intervals.loc["slope", "upper"] < 1


def test_the_belt_is_outside_all_curves_of_the_region(calibrated):
    """Between the knots too, where it is not searched."""
    region = calibrated.region
    z = np.random.default_rng(0).normal(size=(400, 2)) * 2
    theta = region.outline().window.theta(z)
    members = theta[region.contains(theta)]
    curves = region.model_.probabilities(members, calibrated.grid)
    assert len(members) > 50
    inside = (curves >= calibrated.lower - 1e-9) & (curves <= calibrated.upper + 1e-9)
    # a search may miss a corner of the ragged set, but not more than that
    assert inside.mean() > 0.999
    assert (curves <= calibrated.upper + 0.01).all()
    assert (curves >= calibrated.lower - 0.01).all()


def test_knots_cost_little_width(calibrated):
    """Searched at every point, the band is no more than five per cent narrower."""
    at = calibrated.grid[10:-10:60]
    searched = calibrated.region.band(at)
    width = np.interp(at, calibrated.grid, calibrated.upper - calibrated.lower)
    assert (width / (searched.upper - searched.lower)).max() < 1.05
    assert len(calibrated.grid) > KNOTS


def test_coverage_of_the_belt():
    """The true curve is within the belt in about 90 % of 30 data sets or more."""
    covered = deviations = 0
    for seed in range(30):
        rng = np.random.default_rng([seed, 40])
        p = rng.uniform(size=30)
        y = rng.uniform(size=30) < expit(0.4 + 0.7 * logit(p))
        belt = belt_of(y, p, confidence_level=0.9, n_resamples=9, rng=seed)
        truth = expit(0.4 + 0.7 * logit(belt.grid))
        is_covered = bool(((belt.lower <= truth) & (truth <= belt.upper)).all())
        covered += is_covered
        largest = np.abs(truth - belt.grid).max()
        mean = np.abs(expit(0.4 + 0.7 * logit(p)) - p).mean()
        found = (belt.largest_deviation, largest), (belt.mean_deviation, mean)
        held = all(one.lower <= true <= one.upper for one, true in found)
        deviations += held
        assert held or not is_covered  # a curve within the belt is within the limits
    assert binom.cdf(covered, 30, 0.9) > 1e-6
    assert binom.cdf(deviations, 30, 0.9) > 1e-6


def test_same_seed_same_belt(quick):
    assert np.array_equal(belt_of(n_resamples=19).upper, quick.upper)
    one = belt_of(n_resamples=19, rng=np.random.default_rng(7))
    other = belt_of(n_resamples=19, rng=np.random.default_rng(7))
    assert np.array_equal(one.lower, other.lower)
    assert one.region.rank([0.0, 1.0]) == other.region.rank([0.0, 1.0])


def test_certain_predictions_that_came_true_leave_the_belt_alone(quick):
    p, y = np.append(P, [0.0, 1.0]), np.append(Y, [False, True])
    belt = belt_of(y, p, n_resamples=19)
    assert belt.contradicted == 0
    assert np.array_equal(belt.lower, quick.lower)
    assert len(belt.y_prob) == 122


def test_a_contradicted_certainty_is_an_exact_rejection(quick):
    p, y = np.append(P, [0.0, 1.0, 1.0]), np.append(Y, [True, False, True])
    belt = belt_of(y, p, n_resamples=19)
    assert belt.contradicted == 2
    assert belt.pvalue == 0.05 < quick.pvalue
    assert np.array_equal(belt.lower, quick.lower)


def test_counts_and_labels_give_the_same_belt(quick):
    belt = belt_of(np.column_stack([Y, ~Y]).astype(int), n_resamples=19)
    assert np.array_equal(belt.upper, quick.upper)
    assert belt.pvalue == quick.pvalue


def test_constant_predictions():
    belt = belt_of(np.arange(30) < 12, np.full(30, 0.4))
    assert belt.grid.tolist() == [0.4]
    assert belt.lower[0] < 0.4 < belt.upper[0]
    assert belt.departures == ()
    wrong = belt_of(np.arange(60) < 50, np.full(60, 0.4))
    assert wrong.departures == (Departure(0.4, 0.4, "above"),)


def test_perfectly_separated_predictions():
    p = np.linspace(0.05, 0.95, 12)
    belt = belt_of(p > 0.5, p, n_resamples=19, certify=False)
    assert belt.status == "unbounded"
    assert ((belt.lower >= 0) & (belt.upper <= 1)).all()
    assert belt.intervals.loc["slope", "status"] == "unbounded above"


def test_the_intervals_of_a_belt_are_found_as_the_belt_is():
    p = np.linspace(0.1, 0.9, 30)
    y = np.random.default_rng(0).random(30) < p
    searched, usual = (belt_of(y, p, n_resamples=19, certify=how) for how in (False, None))
    assert (searched.certified, searched.intervals["certified"].any()) == (False, False)
    assert usual.certified
    assert usual.intervals["certified"].all()


def test_only_certain_predictions():
    with pytest.raises(InvalidValueError, match="Got only 0 and 1 instead: use calibration_test"):
        belt_of([0, 1, 1], [0.0, 1.0, 1.0])


def test_text_labels(quick):
    words = np.where(Y, "ill", "well")
    belt = belt_of(words, pos_label="ill", n_resamples=19)
    assert belt.pvalue == quick.pvalue
    assert np.array_equal(belt.upper, quick.upper)


def test_bad_predictions():
    with pytest.raises(InvalidValueError, match="'y_prob' parameter must be between 0 and 1"):
        belt_of(p=P + 1)


def test_a_prediction_next_to_nothing():
    """At p of 5e-324 the belt has the bounds 0 and 1, not numbers that are all but these."""
    belt = belt_of(np.append(Y[:40], False), np.append(P[:40], 5e-324), n_resamples=19)
    assert belt.lower[0] == 0
    assert all(departure.start > 1e-300 for departure in belt.departures)


def test_the_belt_says_what_the_search_did(calibrated):
    assert 0 < calibrated.gap < 0.05
    assert calibrated.evaluations > 100
    assert calibrated.seconds > 0


def test_memory_maps_of_many_rows_are_not_summarised(tmp_path, monkeypatch):
    """The test of very many rows remembers bins; the belt must still see every row."""
    searched = []

    def not_searched(region, p, certify):
        searched.append(len(region.fitted_.sample))
        raise InterruptedError

    monkeypatch.setattr(er.calibration.search, "_belt", not_searched)
    rng = np.random.default_rng(0)
    p = np.memmap(tmp_path / "p", dtype=float, mode="w+", shape=66_000)
    p[:] = rng.uniform(0.1, 0.9, 66_000)
    with pytest.raises(InterruptedError):
        er.calibration_belt(rng.uniform(size=66_000) < p, p, n_resamples=19, rng=0)
    assert searched == [66_000]


def test_deviations_of_members_are_within_the_limits(overconfident):
    region, largest, mean = (
        overconfident.region,
        overconfident.largest_deviation,
        overconfident.mean_deviation,
    )
    theta = region.outline().window.theta(np.random.default_rng(0).normal(size=(400, 2)) * 2)
    members = theta[region.contains(theta)]
    p = overconfident.y_prob
    curves = region.model_.probabilities(members, overconfident.grid)
    far = np.abs(curves - overconfident.grid).max(axis=1)
    average = np.abs(region.model_.probabilities(members, p) - p).mean(axis=1)
    assert len(members) > 50
    assert largest.lower <= far.min() <= far.max() <= largest.upper
    assert mean.lower <= average.min() <= average.max() <= mean.upper
    assert 0 < largest.lower < largest.estimate < largest.upper
    assert largest.certified == overconfident.certified
    assert p.min() <= largest.at <= p.max()
    assert mean.at is None


def test_within_is_yes_no_or_undecided(calibrated, overconfident):
    assert calibrated.within(0.9) is True
    assert overconfident.within(0.01) is False
    assert calibrated.within(0.01) is None
    assert overconfident.within(0.01, mean=True) is False
    for wrong in (0, 1.0, -0.1, "0.1", True, np.nan):
        with pytest.raises(InvalidValueError, match=r"'tolerance' .*must be between 0 and 1"):
            calibrated.within(wrong)


def test_an_empty_belt_has_no_limits():
    """A curve that goes up and down again: no shift and stretch fits."""
    p = np.linspace(0.02, 0.98, 400)
    y = np.random.default_rng(0).random(400) < np.where(np.abs(p - 0.5) < 0.25, 0.95, 0.05)
    belt = belt_of(y, p, n_resamples=39)
    assert belt.status == "empty"
    assert np.isnan([belt.largest_deviation.upper, belt.mean_deviation.lower]).all()
    assert belt.within(0.5) is None
    assert "no limit" in str(belt)
    json.dumps(belt.to_dict(), allow_nan=False)


def test_what_a_belt_prints(overconfident):
    text, page = str(overconfident), overconfident._repr_html_()
    assert max(map(len, text.split("\n"))) <= 80
    text = " ".join(text.split())
    for words in ("Kind of misfit: spread", "intercept", "slope", "largest deviation", "±0."):
        assert words in text
        assert words in page
    assert "<table>" in page


def test_the_dictionary_of_a_belt(calibrated):
    content = json.loads(json.dumps(calibrated.to_dict(), allow_nan=False))
    assert content["pvalue"] == calibrated.pvalue
    assert content["coverage"] == 0.95
    keys = "degree status contradicted gap certified intervals departures"
    assert list(content["belt"]) == [*keys.split(), "largest_deviation", "mean_deviation"]
    assert content["belt"]["largest_deviation"]["upper"] == calibrated.largest_deviation.upper
    assert [row["parameter"] for row in content["belt"]["intervals"]] == ["intercept", "slope"]
    assert len(calibrated.to_dict(grid=True)["belt"]["lower"]) == 201


# --- curves that bend --------------------------------------------------------------------------

TOO_HIGH_AT_BOTH_ENDS = np.random.default_rng(4).random(120) < expit(logit(P) - 0.6 * logit(P) ** 2)


@cache
def belt_that_bends(degree):
    return belt_of(TOO_HIGH_AT_BOTH_ENDS, degree=degree, n_resamples=19)


@pytest.fixture(scope="module", params=[2, 3])
def bent(request):
    return belt_that_bends(request.param)


def members_of(belt, scale):
    region = belt.region
    z = np.random.default_rng(1).normal(size=(1500, belt.degree + 1)) * scale
    theta = region.outline().window.theta(z)
    return theta[region.contains(theta)]


def test_a_belt_that_bends_contains_the_curves_of_its_region(bent):
    members = members_of(bent, 1.5)
    curves = bent.region.model_.probabilities(members, bent.grid)
    assert len(members) > 50
    # searched: a corner of the ragged set may be missed
    inside = (curves >= bent.lower - 1e-9) & (curves <= bent.upper + 1e-9)
    assert inside.mean() > 0.999
    assert (curves <= bent.upper + 0.02).all()
    assert (curves >= bent.lower - 0.02).all()
    assert not bent.certified


def test_deviations_of_curves_that_bend(bent):
    members = members_of(bent, 1.5)
    probabilities = bent.region.model_.probabilities
    far = np.abs(probabilities(members, bent.grid) - bent.grid).max(axis=1)
    average = np.abs(probabilities(members, P) - P).mean(axis=1)
    largest, mean = bent.largest_deviation, bent.mean_deviation
    assert largest.lower <= far.min() <= far.max() <= largest.upper + 0.02
    assert mean.lower <= average.min() + 0.01
    assert average.max() <= mean.upper + 0.01
    assert mean.upper < 1.5 * average.max()
    assert 0 < mean.lower < mean.estimate < mean.upper < largest.upper
    assert not mean.certified


def test_what_a_straight_belt_cannot_show():
    straight = belt_of(TOO_HIGH_AT_BOTH_ENDS, n_resamples=19, certify=False)
    bends = belt_that_bends(2)
    assert straight.pvalue == bends.pvalue == 0.05
    assert straight.degree == 1
    assert {part.side for part in bends.departures} == {"below"}
    assert bends.departures[-1].stop > 0.8
    assert list(bends.intervals.index) == ["intercept", "slope", "square"]
    assert bends.intervals.loc["square", "estimate"] < -0.2
    assert bends.to_dict()["belt"]["degree"] == 2
    assert "quadratic recalibration" not in str(straight)


def test_the_degree_of_several_belts():
    p = {"a": P[:25], "b": P[:25] ** 2}
    belts = belt_of(Y[:25], p, degree=2, n_resamples=19, certify=False)
    assert [belt.degree for belt in belts.values()] == [2, 2]


@pytest.mark.parametrize("degree", [0, 4, 2.5, "2", None, True])
def test_bad_degrees(degree):
    with pytest.raises(InvalidValueError, match=r"'degree' .*must be 1, 2 or 3.* Got"):
        belt_of(degree=degree)


@pytest.mark.parametrize("degree", [2, 3])
def test_a_bend_takes_more_predictions_than_its_degree(degree):
    few = np.tile([0.2, 0.7], 30)
    with pytest.raises(InvalidValueError, match=r"less than the number of different .*, 2: .* Got"):
        belt_of(np.arange(60) % 3 == 0, few, degree=degree)


def test_extreme_predictions_and_a_bend():
    p = np.append(P[:40], [1e-16, 5e-324, 1 - 1e-16])
    belt = belt_of(np.append(Y[:40], [False, False, True]), p, degree=2, n_resamples=19)
    assert ((belt.lower >= 0) & (belt.upper <= 1) & (belt.lower <= belt.upper)).all()
    assert 0 <= belt.mean_deviation.lower <= belt.mean_deviation.upper <= 1
