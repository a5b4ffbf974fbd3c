"""Sets that are proven by bounds of probabilities, up to infinity.

`python -m validation.charts` does the same with many more boxes and probes.
"""

import numpy as np
import pytest

import exactregion as er
from exactregion.region.bounds import is_charted
from exactregion.region.proofs.chart_bounds import can_chart
from exactregion.region.proofs.charts import charts_of
from exactregion.region.proofs.from_probabilities import FromProbabilities
from exactregion.region.search.ends import is_projected
from validation.charts import (
    DATA,
    FAMILIES,
    STATISTICS,
    Weibull,
    attack,
    check_charts,
    draw_region,
)

LEVELS = np.linspace(-2, 2, 7)
FIXED = er.models.Psychometric(guess=0.5, lapse=0.02)


def counts(correct):
    return np.column_stack([correct, 40 - np.array(correct)])


RISING, STEP = counts([19, 21, 24, 30, 35, 39, 39]), counts([20, 19, 21, 20, 20, 39, 39])


def fit(model, x=LEVELS, y=RISING, *, statistic="ratio", n_resamples=39, **settings):
    region = er.ConfidenceRegion(
        model, statistic=statistic, n_resamples=n_resamples, rng=0, **settings
    )
    return region.fit(x, y)


@pytest.fixture(scope="module")
def region():
    return fit(FIXED)


@pytest.mark.parametrize("family", FAMILIES)
def test_random_points_of_random_boxes_stay_within_bounds(family):
    told = 0.0
    # every second kind of data, the others with the next family
    for turn, data in list(enumerate(DATA))[list(FAMILIES).index(family) % 2 :: 2]:
        rng = np.random.default_rng([61, turn, *family.encode()])
        statistic = STATISTICS[(turn + len(family)) % len(STATISTICS)]
        fitted = draw_region(family, data, statistic, rng)
        if fitted is None:
            continue
        found = check_charts(fitted, rng, boxes=20, points=18)
        assert found.ranks == 0
        assert found.verdicts == 0
        told += found.told
    assert told > 0


def test_no_member_of_a_group_is_likelier_than_the_group(region):
    fitted = region.fitted_
    data = FromProbabilities(fitted, charts_of(fitted)[0], fitted.accepted).data
    assert len(data.group_start) > 8
    assert data.group_start[-1] == len(data.offsets)
    rng, trials = np.random.default_rng(3), fitted.sample.inputs.trials
    first = data.start[:-1] + np.arange(len(trials))
    close = 0
    for successes in rng.integers(0, trials + 1, size=(200, len(trials))):
        likelihoods = data.offsets + successes @ data.logits
        most = np.maximum.reduceat(likelihoods, data.group_start[:-1])
        bound = data.group_values[first + successes].sum(axis=0)
        assert (most <= bound).all()
        close += (bound < most + 0.1 * np.abs(most)).sum()
    assert close > 0.5 * 200 * len(most)


@pytest.mark.parametrize("intercept", [True, False])
def test_cones_share_all_parameters_and_no_predictor_changes_its_sign_in_one(intercept):
    rng = np.random.default_rng(0)
    x = rng.normal(size=(9, 1 if intercept else 2)).round(1)
    model = er.models.Psychometric(er.models.Logistic(intercept=intercept), lapse=0.1)
    fitted = fit(model, x, np.arange(9) % 2, n_resamples=19).fitted_
    charts = charts_of(fitted)
    theta = rng.normal(size=(500, 2))
    design = fitted.model.core.linear_design(fitted.sample.inputs.X)
    held = np.zeros(500)
    for chart in charts:
        held += (np.linalg.solve(chart.axes, theta.T) >= 0).all(axis=0)
        eta = design @ chart.axes
        assert (eta[:, 0] * eta[:, 1] > -1e-12).all()
    assert (held == 1).all()
    assert len(charts) == 2 * len(np.unique(x, axis=0))


def test_nothing_is_proven_where_rows_are_too_close_to_tell_apart():
    x = np.append(LEVELS, LEVELS[4] + 1e-9)
    assert can_chart(fit(FIXED, x, np.vstack([RISING, [20, 20]])).fitted_) is False


def test_bounds_between_rates_hold_at_random_parameters():
    rng = np.random.default_rng(1)
    model = er.models.Psychometric(guess="free", lapse="free").bind(["x"])
    centre, half = rng.normal(size=(50, 4)), rng.uniform(size=(50, 4))
    low, high = centre - half, centre + half
    low[:, 2:], high[:, 2:] = np.sort(rng.uniform(size=(2, 50, 2)), axis=0)
    X = rng.normal(size=(12, 1))
    least, most = model.probability_bounds(low, high, X)
    for share in rng.uniform(size=(30, 50, 4)):
        P = model.evaluate(low + share * (high - low), X)
        assert (least <= P + 1e-12).all()
        assert (most >= P - 1e-12).all()


def test_joint_sets_of_a_psychometric_function_are_proven_and_no_member_lies_outside(region):
    table = region.intervals(joint=True)
    assert table["certified"].all()
    assert (table["gap"] <= 0.0101 * (table["upper"] - table["lower"])).all()
    assert (region.status_, region.certified_) == ("bounded", True)
    tried, members = attack(region.fitted_, np.random.default_rng(0), probes=6000)
    assert tried > 3000
    assert members == 0


def test_bands_and_thresholds_are_proven_too(region):
    band = region.band(np.array([-1.0, 0.3, 1.0]))
    threshold = region.functional([[-1, 0], [0, 1]], joint=True)
    assert band.certified
    assert threshold.certified
    theta = np.random.default_rng(2).normal([0.0, 2.0], [1.0, 1.5], size=(2000, 2))
    theta = theta[region.contains(theta)]
    P = region.model_.probabilities(theta, band.X)
    assert len(theta) > 100
    assert ((band.lower <= P) & (band.upper >= P)).all()
    even = -theta[:, 0] / theta[:, 1]
    assert ((threshold.lower <= even) & (even <= threshold.upper)).all()


def test_a_search_alone_is_not_called_proven(region):
    assert not region.intervals(joint=True, certify=False)["certified"].any()
    assert not is_charted(region.fitted_, False)
    assert not is_charted(fit(FIXED, statistic="combined").fitted_, True)


def test_steps_leave_a_slope_without_an_end_and_the_other_end_is_proven():
    table = fit(FIXED, y=STEP).intervals(joint=True)
    slope = table.iloc[1]
    assert slope["status"] == "unbounded above"
    assert slope["certified"]
    assert 0 < slope["lower"] < 20


def test_three_parameters_are_proven_if_asked_to():
    model = er.models.Psychometric(guess=0.5, lapse="free")
    few = fit(model, LEVELS[::3], RISING[::3], n_resamples=19, confidence_level=0.8)
    assert not few.intervals(joint=True)["certified"].any()
    table = few.intervals(joint=True, certify=True)
    assert table["certified"].all()
    assert table.loc["lapse", "lower"] == 0


class Exponential(er.models.Model):
    parameter_names = ("rate",)
    bounds = ((0.0, np.inf),)

    def evaluate(self, theta, X):
        return -np.expm1(-theta * np.ravel(X))


class BoundedExponential(Exponential):
    def probability_bounds(self, low, high, X):
        return self.evaluate(low, X), self.evaluate(high, X)


@pytest.mark.parametrize("statistic", ["ratio", "discrepancy"])
def test_a_family_of_ones_own_is_proven_by_the_bounds_of_its_probabilities(statistic):
    x, y = np.array([0.2, 0.5, 1.0, 2.0, 4.0]), counts([5, 12, 19, 30, 38])
    with_bounds, without = (
        fit(model(), x, y, statistic=statistic) for model in (BoundedExponential, Exponential)
    )
    rates = np.linspace(0.05, 3, 200)[:, None]
    assert np.array_equal(with_bounds.rank(rates), without.rank(rates))
    proven = with_bounds.intervals(joint=True).iloc[0]
    assert proven["certified"]
    assert not without.intervals(joint=True).iloc[0]["certified"]
    members = rates[with_bounds.contains(rates)]
    assert proven["lower"] <= members.min() <= members.max() <= proven["upper"]


def test_an_empty_region_is_proven_empty():
    falling = counts([39, 2, 39, 2, 39, 2, 39])
    region = fit(FIXED, y=falling, statistic="discrepancy")
    assert (region.status_, region.certified_) == ("empty", True)


def test_bounds_that_are_not_numbers_prove_nothing_wrong():
    class Undefined(BoundedExponential):
        def probability_bounds(self, low, high, X):
            return np.full((len(low), len(X)), np.nan), np.full((len(low), len(X)), np.nan)

    x, y = np.array([0.2, 0.5, 1.0, 2.0, 4.0]), counts([5, 12, 19, 30, 38])
    assert (
        not fit(Undefined(), x, y, n_resamples=19, confidence_level=0.8)
        .intervals(joint=True)["certified"]
        .any()
    )


def test_a_weibull_curve_with_a_lapse_rate_is_proven():
    x, y = np.array([0.5, 1.0, 1.5, 2.0, 3.0]), counts([20, 24, 29, 36, 39])
    region = fit(Weibull(), x, y, n_resamples=19, confidence_level=0.8)
    table = region.intervals(joint=True, certify=True)
    assert table["certified"].all()


def test_a_distance_from_the_mean_of_the_points_is_proven_for_linear_families():
    x, y = np.linspace(-2, 2, 12), np.array([0, 0, 1, 0, 0, 1, 0, 1, 1, 0, 1, 1])
    region = fit(er.models.Logistic(), x, y, statistic="embedding", pos_label=1)
    table = region.intervals(joint=True)
    assert table["certified"].all()
    rng = np.random.default_rng(5)
    theta = rng.normal(size=(3000, 2)) * 10.0 ** rng.uniform(-1, 1.5, size=(3000, 1))
    members = theta[region.contains(theta)]
    assert len(members) > 50
    assert (members >= table["lower"].to_numpy()).all()
    assert (members <= table["upper"].to_numpy()).all()


def test_a_proof_gives_up_where_data_sets_tie_along_a_curve():
    y = np.array([0, 0, 1, 1, 0, 0, 1, 1, 1, 0, 1])
    settings = {"statistic": "embedding", "n_resamples": 9, "confidence_level": 0.8}
    region = fit("logistic", np.linspace(-2, 2, 11), y, **settings)
    # 420,000 boxes where it went on until the budget of all charts was used up
    assert region.intervals(joint=True)["evaluations"].max() < 150_000


def test_families_have_a_default_statistic_and_a_region_takes_another_one():
    assert er.ConfidenceRegion("logistic").statistic == "combined"
    assert er.ConfidenceRegion("psychometric").statistic == "ratio"
    assert er.ConfidenceRegion(Weibull()).statistic == "ratio"
    assert er.ConfidenceRegion(FIXED, statistic="combined").statistic == "combined"


def test_with_a_free_rate_individual_intervals_are_projections_of_the_region():
    free = fit(
        er.models.Psychometric(guess=0.5, lapse="free"), n_resamples=19, confidence_level=0.9
    )
    assert is_projected(free.fitted_)
    assert not is_projected(fit(FIXED).fitted_)
    threshold = [[-1, 0, 0], [0, 1, 0]]
    ends = ["lower", "upper", "certified"]
    alone, joint = (
        free.functional(threshold, joint=joint, certify=False) for joint in (False, True)
    )
    assert [getattr(alone, end) for end in ends] == [getattr(joint, end) for end in ends]
