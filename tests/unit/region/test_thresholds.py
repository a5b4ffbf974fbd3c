"""Thresholds: in the user's units, for every family, and no member's outside of them."""

import numpy as np
import pandas as pd
import pytest

import exactregion as er
from exactregion.errors import InvalidTypeError, InvalidValueError
from exactregion.models import CLogLog, Function, LinearModel, Logistic, Probit, Psychometric
from exactregion.region.curves import Curves
from exactregion.region.search.ends import FocusedSearch
from exactregion.region.thresholds import ThresholdPlan

MOTHS = er.datasets.budworm().assign(alive=lambda d: d["ntotal"] - d["ndead"])
FLIGHTS = er.datasets.oring()
TWO_AFC = er.datasets.two_afc()
CORRECT = np.column_stack([TWO_AFC["n_correct"], TWO_AFC["n_total"] - TWO_AFC["n_correct"]])


def fitted(formula, data=MOTHS, n_resamples=39, **settings):
    return er.ConfidenceRegion.from_formula(
        formula, data, n_resamples=n_resamples, rng=0, **settings
    )


@pytest.fixture(scope="module")
def moths():
    return fitted("ndead + alive ~ sex + np.log2(dose)")


@pytest.fixture(scope="module")
def flights():
    return fitted("y ~ temp", FLIGHTS)


@pytest.fixture(scope="module")
def observer():
    model = Psychometric(guess=0.5, lapse="free")
    return er.ConfidenceRegion(model, n_resamples=19, rng=0).fit(TWO_AFC[["level"]], CORRECT)


# --- estimates ----------------------------------------------------------------------------------

# dose.p of the R package MASS, as in its help and in Venables and Ripley (2002), Modern Applied
# Statistics with S, section 7.2: base-2 logarithms of the dose, for females
PUBLISHED = {
    "logistic": {0.25: 2.231265, 0.50: 3.263587, 0.75: 4.295910},
    "probit": {0.25: 2.191229, 0.50: 3.257703, 0.75: 4.324177},
}


@pytest.mark.parametrize("model", PUBLISHED)
def test_estimates_are_those_of_dose_p(model):
    region = fitted("ndead + alive ~ sex + ldose", model=model, n_resamples=19)
    for probability, expected in PUBLISHED[model].items():
        plan = ThresholdPlan.read(region.fitted_, "ldose", probability, {"sex": "female"})
        assert plan.estimate() == pytest.approx(expected, abs=2e-6)


@pytest.mark.parametrize(
    ("term", "input"),
    [
        *(("ldose", "ldose"), ("np.log2(dose)", "dose"), ("np.log(dose)", "dose")),
        *(("np.log10(dose)", "dose"), ("scale(ldose)", "ldose"), ("np.log2(dose / 8)", "dose")),
    ],
)
def test_every_spelling_of_the_logarithm_gives_the_same_dose(moths, term, input):
    regions = fitted(f"ndead + alive ~ sex + {term}", n_resamples=19), moths
    found, expected = (
        ThresholdPlan.read(region.fitted_, name, 0.5, {"sex": "male"}).estimate()
        for region, name in zip(regions, (input, "dose"), strict=True)
    )
    assert (2**found if input == "ldose" else found) == pytest.approx(expected, rel=1e-5)


def test_the_interval_is_that_of_the_functional(moths, flights):
    even = flights.functional([[-1, 0], [0, 1]])
    assert (flights.threshold().lower, flights.threshold().upper) == (even.lower, even.upper)
    even = flights.functional([[-1, 0], [0, 1]], joint=True)
    joint = flights.threshold(joint=True)
    assert (joint.lower, joint.upper, joint.certified) == (even.lower, even.upper, True)
    assert joint.gap == even.gap
    logarithm = moths.functional([[-1, -1, 0], [0, 0, 1]])
    dose = moths.threshold("dose", at={"sex": "male"})
    # searched in other units, which take other paths to the same ends
    ends = [logarithm.lower, logarithm.upper]
    assert np.log2([dose.lower, dose.upper]) == pytest.approx(ends, abs=logarithm.gap)


def test_numbers_that_nobody_gave_are_at_their_median_and_said():
    region = fitted("y ~ temp * pressure", FLIGHTS, n_resamples=19)
    found = region.threshold("temp")
    assert (found.at, found.assumed) == ({"pressure": 200.0}, ("pressure",))
    assert "at the median of inputs that are not named: pressure = 200" in repr(found)
    elsewhere = region.threshold("temp", at={"pressure": 50})
    assert elsewhere.assumed == ()
    a, b, c, ab = region.maximum_likelihood_
    for place in (found, elsewhere):
        p = place.at["pressure"]
        assert place.estimate == pytest.approx(-(a + c * p) / (b + ab * p), rel=1e-6)


def test_arrays_have_thresholds_too():
    region = er.ConfidenceRegion("cloglog", n_resamples=19, rng=0)
    region.fit(FLIGHTS["temp"].to_numpy(), FLIGHTS["y"])
    a, b = region.maximum_likelihood_
    expected = (np.log(-np.log(1 - 0.9)) - a) / b
    assert region.threshold("x", 0.9).estimate == pytest.approx(expected)


# --- no member outside --------------------------------------------------------------------------


def members_of(region, inside, number=3000):
    outline = region.outline()
    rng = np.random.default_rng(5)
    z = rng.standard_normal((number, len(outline.estimate))) * 10 ** rng.uniform(
        -1, 0.7, (number, 1)
    )
    theta = outline.window.theta(z)
    return theta[inside(theta)]


@pytest.mark.parametrize("compare", ["ratio", "difference"])
def test_no_member_has_a_threshold_outside_the_joint_interval(moths, compare):
    theta = members_of(moths, moths.contains)
    assert len(theta) > 300
    male = 2 ** (-(theta[:, 0] + theta[:, 1]) / theta[:, 2])
    female = 2 ** (-theta[:, 0] / theta[:, 2])
    found = moths.threshold("dose", at={"sex": "male"}, joint=True)
    both = moths.threshold(
        "dose", at={"sex": "male"}, relative_to={"sex": "female"}, compare=compare, joint=True
    )
    compared = male / female if compare == "ratio" else male - female
    for values, interval in ((male, found), (compared, both)):
        # searched ends may be short by a hundredth of the length
        slack = 0.01 * (interval.upper - interval.lower)
        assert interval.lower - slack <= values.min()
        assert values.max() <= interval.upper + slack
        assert values.max() - values.min() > 0.6 * (interval.upper - interval.lower)


def test_no_member_has_a_threshold_outside_a_proven_interval():
    flights = fitted("y ~ temp", FLIGHTS, n_resamples=199)
    theta = members_of(flights, flights.contains)
    found = flights.threshold("temp", 0.8, joint=True)
    values = (np.log(4) - theta[:, 0]) / theta[:, 1]
    assert found.certified
    assert found.lower <= values.min()
    assert values.max() <= found.upper


def test_no_member_of_the_focused_set_has_a_threshold_outside(moths):
    found = moths.threshold("dose", at={"sex": "male"})

    def gradient(theta):
        ratio = (theta[:, 0] + theta[:, 1]) / theta[:, 2]
        return np.stack([-np.ones(len(theta)), -np.ones(len(theta)), ratio], axis=1)

    search = FocusedSearch(moths.fitted_, gradient, alone=False)
    theta = members_of(moths, lambda theta: search.inside(theta) > 0)
    assert len(theta) > 100
    values = 2 ** (-(theta[:, 0] + theta[:, 1]) / theta[:, 2])
    slack = 0.01 * (found.upper - found.lower)
    assert found.lower - slack <= values.min()
    assert values.max() <= found.upper + slack


# --- families -----------------------------------------------------------------------------------


class Cauchit(LinearModel):
    def inverse_link(self, eta):
        return 0.5 + np.arctan(eta) / np.pi

    def logit_slope(self, eta):
        P = self.inverse_link(eta)
        return 1 / (np.pi * (1 + eta**2)) / (P * (1 - P))


@pytest.mark.parametrize("model", [Logistic(), Probit(), CLogLog(), Cauchit()], ids=repr)
def test_links_are_inverse(model):
    P = np.array([0.01, 0.25, 0.5, 0.9])
    np.testing.assert_allclose(model.inverse_link(model.link(P)), P, rtol=1e-12)
    assert np.isneginf(model.link(np.array([0.0]))).all()


def test_half_way_between_guess_and_lapse(observer):
    half = observer.threshold()
    a, b, _ = observer.maximum_likelihood_
    assert half.probability is None
    assert half.estimate == pytest.approx(-a / b)
    higher = observer.threshold("level", 0.9)
    assert half.upper < higher.estimate
    width = observer.width()
    assert width.estimate == pytest.approx(2 * np.log(19) / b)
    assert 0 <= width.lower < width.estimate < width.upper


@pytest.mark.parametrize("probability", [0.5, 0.3])
def test_a_probability_that_guessing_exceeds(observer, probability):
    with pytest.raises(InvalidValueError, match=r"'probability' .* must be above the guess rate"):
        observer.threshold("level", probability)


def test_known_rates_are_taken_off():
    model = Psychometric(guess=0.5, lapse=0.1)
    region = er.ConfidenceRegion(model, n_resamples=19, rng=0).fit(TWO_AFC[["level"]], CORRECT)
    a, b = region.maximum_likelihood_
    expected = (np.log((0.8 - 0.5) / (0.9 - 0.8)) - a) / b
    plan = ThresholdPlan.read(region.fitted_, "level", 0.8, None)
    assert plan.estimate() == pytest.approx(expected)


def hill(theta, x):
    return x ** theta[:, 1:] / (theta[:, :1] ** theta[:, 1:] + x ** theta[:, 1:])


HILL = Function(hill, ("ec50", "slope"), [(1e-6, 1e6), (0, 50)], vectorized=True)
CURVES = {
    "own": (HILL, [[5.0, 1.0], [20.0, 3.0], [0.2, 0.5]]),
    "gaussian": ("gaussian", [[0.5, 1.0], [0.3, 2.0]]),
    "laplace": ("laplace", [[0.5, 1.0], [0.4, 0.8]]),
    "recalibration": ("recalibration", [[0.0, 1.0], [-0.5, 2.0]]),
}


@pytest.mark.parametrize(("model", "theta"), CURVES.values(), ids=CURVES)
def test_curves_have_the_probability_where_they_cross(model, theta):
    rng = np.random.default_rng(0)
    x = rng.uniform(0.05, 0.95, 30)
    region = er.ConfidenceRegion(model, n_resamples=19, rng=0).fit(x, rng.random(30) < x)
    curves = Curves.along(region.fitted_, pd.DataFrame({"x": x}), "x", {})
    theta = np.array(theta)
    places = curves.crossing(0.6).x(theta)[:, 0]
    P = [
        region.model_.probabilities(one, at) for one, at in zip(theta, places[:, None], strict=True)
    ]
    np.testing.assert_allclose(np.ravel(P), 0.6, atol=2e-4)


def test_a_curve_that_never_has_the_probability():
    """Within a Laplace mixture the logit of P is bounded."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=30)
    region = er.ConfidenceRegion("laplace", n_resamples=19, rng=0).fit(x, x > rng.normal(size=30))
    curves = Curves.along(region.fitted_, pd.DataFrame({"x": x}), "x", {})
    assert np.isnan(curves.crossing(0.95).x(np.array([[0.5, 2.0]]))).all()
    plan = ThresholdPlan.read(region.fitted_, "x", 0.5, None)
    assert plan.find(certify=False).lower < plan.estimate()


# --- no end, nothing to find, and words ---------------------------------------------------------


def test_a_flat_curve_has_no_ends():
    rng = np.random.default_rng(1)
    data = pd.DataFrame({"dose": np.geomspace(1, 9, 30), "y": rng.random(30) < 0.5})
    found = fitted("y ~ np.log(dose)", data).threshold("dose")
    assert (found.lower, found.upper, found.status) == (0.0, np.inf, "unbounded")
    assert found.certified  # nothing lies outside
    assert "(unbounded, proven)" in repr(found)


def test_what_lies_outside_the_data_is_said(moths):
    found = moths.threshold("dose", 0.95, at={"sex": "female"})
    assert found.extrapolates
    assert "outside the data, which go from 1 to 32" in repr(found)
    assert not moths.threshold("dose", at={"sex": "female"}).extrapolates


def test_the_text_has_what_is_asked_for(flights):
    lines = repr(flights.threshold(joint=True)).splitlines()
    assert lines[0] == "temp at P = 0.5"
    assert lines[1] == "  estimate  64.79"
    assert lines[2].startswith("  95%       [")
    assert lines[2].endswith("proven)")


def test_plain_values(moths):
    found = moths.threshold("dose", at={"sex": "male"}, relative_to={"sex": "female"})
    record = found.to_dict()
    assert record["name"] == "dose at P = 0.5, male / female"
    assert record["compare"] == "ratio"
    assert record["relative_to"] == {"sex": "female"}
    assert record["estimate"] == found.estimate < 1


def test_the_table_has_each_level_and_probability(moths):
    table = moths.thresholds("dose", (0.5, 0.9))
    assert table["sex"].tolist() == ["female", "female", "male", "male"]
    assert table["probability"].tolist() == [0.5, 0.9, 0.5, 0.9]
    one = moths.threshold("dose", 0.9, at={"sex": "male"})
    assert table.loc[3, ["lower", "upper"]].tolist() == [one.lower, one.upper]
    assert len(moths.thresholds("dose", 0.5, at={"sex": "male"})) == 1


MISTAKES = {
    "input": (("tmp",), {}, r"'input' .* one of 'sex', 'dose'. Got 'tmp' instead"),
    "a term": (("np.log2(dose)",), {}, r"Name the column, 'dose'"),
    "a level": (("sex",), {"at": {"dose": 1}}, r"'sex' has levels instead"),
    "per cent": (("dose", 90), {"at": {"sex": "male"}}, r"Got 90 instead. Did you mean 0.9"),
    "no level": (("dose",), {}, r"'at' .* level of 'sex', one of 'female', 'male'"),
    "unknown level": (("dose",), {"at": {"sex": "m"}}, r"Got 'm' instead"),
    "unknown other": (("dose",), {"at": {"sx": "male"}}, r"Did you mean 'sex'"),
    "same": (
        ("dose",),
        {"at": {"sex": "male"}, "relative_to": {"sex": "male"}},
        r"'relative_to' .* must differ from 'at'",
    ),
    "compare alone": (("dose",), {"at": {"sex": "male"}, "compare": "ratio"}, r"goes with"),
    "compare": (
        ("dose",),
        {"at": {"sex": "male"}, "relative_to": {"sex": "female"}, "compare": "quotient"},
        r"'ratio' or 'difference'",
    ),
}


@pytest.mark.parametrize(("arguments", "options", "message"), MISTAKES.values(), ids=MISTAKES)
def test_mistakes_have_clear_messages(moths, arguments, options, message):
    with pytest.raises(InvalidValueError, match=message):
        moths.threshold(*arguments, **options)


def test_kinds_of_arguments(moths):
    with pytest.raises(InvalidTypeError, match="'input'"):
        moths.threshold(3)
    with pytest.raises(InvalidTypeError, match=r"'at' .* must map inputs to their values"):
        moths.threshold("dose", at="male")


@pytest.mark.parametrize("term", ["poly(dose, 2)", "bs(dose, df=4)", "dose + I(dose**2)"])
def test_curves_that_may_cross_more_than_once(term):
    region = fitted(f"ndead + alive ~ {term}", n_resamples=19)
    with pytest.raises(InvalidValueError, match=r"as it is or by its logarithm.*functional"):
        region.threshold("dose")
