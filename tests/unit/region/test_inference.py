"""What a region implies: intervals, functionals, bands, decisions, risks."""

import numpy as np
import pandas as pd
import pytest

import exactregion as er
from exactregion.errors import InvalidTypeError, InvalidValueError
from exactregion.region import fitted as membership

FLIGHTS = er.datasets.oring()


@pytest.fixture(scope="module")
def oring():
    return er.ConfidenceRegion("logistic", rng=0).fit(FLIGHTS["temp"], FLIGHTS["y"])


@pytest.fixture(scope="module")
def separated():
    x = np.array([-2.0, -1.5, -1.0, -0.5, 0.5, 1.0, 1.5, 2.0])
    return er.ConfidenceRegion("logistic", n_resamples=39, rng=1).fit(x, x > 0)


def boundary_of(region):
    """Members at the boundary that the search found."""
    outline = region.outline()
    return outline.window.theta(outline.rays.members())


def constant(theta, X):
    return np.broadcast_to(theta, (len(theta), len(X)))


@pytest.fixture(scope="module")
def empty():
    """A constant probability cannot make a sharp step."""
    x = np.linspace(-3, 3, 60)
    coin = er.models.Function(constant, ("p",), [(0, 1)], vectorized=True)
    return er.ConfidenceRegion(coin, statistic="discrepancy", n_resamples=99, rng=0).fit(x, x > 0)


def test_the_estimate_is_the_maximum_of_the_likelihood(oring):
    np.testing.assert_allclose(oring.estimate_, [15.0429, -0.2322], atol=5e-5)
    assert oring.estimate_kind_ == "maximum likelihood"
    np.testing.assert_array_equal(oring.estimate_, oring.maximum_likelihood_)
    np.testing.assert_array_equal(oring.intervals()["estimate"], oring.estimate_)
    assert oring.contains(oring.estimate_)


def test_the_estimate_of_separated_data_is_the_most_compatible():
    x = np.arange(12.0)
    region = er.ConfidenceRegion("logistic", n_resamples=39, rng=0).fit(x, x > 5)
    assert region.estimate_kind_ == "most compatible"
    assert region.maximum_likelihood_ is None
    np.testing.assert_array_equal(region.estimate_, region.most_compatible_)


def test_the_most_compatible_parameters_have_a_high_pvalue(oring):
    assert oring.pvalue(oring.most_compatible_) > 0.95
    assert oring.status_ == "bounded"
    assert not oring.is_empty_


def test_focused_intervals_are_near_the_references(oring):
    """Wald has [-0.444, -0.020] for the slope, exact conditional regression [-0.480, -0.044]."""
    table = oring.intervals()
    assert list(table.index) == ["intercept", "temp"]
    slope = table.loc["temp"]
    assert slope["lower"] == pytest.approx(-0.455, abs=0.03)
    assert slope["upper"] == pytest.approx(-0.030, abs=0.02)
    assert (table["status"] == "bounded").all()
    assert (table["lower"] < table["estimate"]).all()
    assert (table["estimate"] < table["upper"]).all()
    assert (table["gap"] < 0.021 * (table["upper"] - table["lower"])).all()
    assert (table["evaluations"] > 100).all()


def test_joint_intervals_are_wider_and_hold_the_members(oring):
    focused, joint = oring.intervals(), oring.intervals(joint=True)
    assert (joint["lower"] < focused["lower"]).all()
    assert (joint["upper"] > focused["upper"]).all()
    members = boundary_of(oring)
    assert oring.contains(members).all()
    assert (members >= joint["lower"].to_numpy() - 1e-9).all()
    assert (members <= joint["upper"].to_numpy() + 1e-9).all()


def test_ends_err_outwards(oring):
    """No member of a fine grid lies outside the joint interval."""
    joint = oring.intervals(joint=True)
    grid = oring.grid(levels=7)
    slopes = grid.axes[1][grid.member.any(axis=0)]
    assert slopes.min() >= joint.loc["temp", "lower"] - grid.resolution[1]
    assert slopes.max() <= joint.loc["temp", "upper"] + grid.resolution[1]


def test_functional_of_a_parameter_is_its_interval(oring):
    table = oring.intervals()
    slope = oring.functional(lambda th: th[1], name="slope")
    assert slope.name == "slope"
    width = table.loc["temp", "upper"] - table.loc["temp", "lower"]
    # a function is searched, and its ends lie beyond the members found
    assert slope.lower == pytest.approx(table.loc["temp", "lower"], abs=0.06 * width)
    assert slope.upper == pytest.approx(table.loc["temp", "upper"], abs=0.06 * width)
    assert slope.coverage == 0.95


def test_monotone_functionals_map_the_interval(oring):
    slope = oring.functional(lambda th: th[1], joint=True)
    ratio = oring.functional(lambda th: np.exp(10 * th[1]), name="odds ratio of 10 °F", joint=True)
    assert ratio.lower > 0
    tolerance = 0.03 * (slope.upper - slope.lower)
    assert np.log(ratio.lower) / 10 == pytest.approx(slope.lower, abs=tolerance)
    assert np.log(ratio.upper) / 10 == pytest.approx(slope.upper, abs=tolerance)


def test_band_is_around_the_estimate_and_holds_the_members(oring):
    x = np.array([31.0, 50.0, 65.0, 81.0])
    band = oring.band(x)
    assert (band.lower <= band.estimate).all()
    assert (band.estimate <= band.upper).all()
    assert ((band.lower >= 0) & (band.upper <= 1)).all()
    curves = oring.model_.probabilities(boundary_of(oring), x)
    assert (curves >= band.lower - 1e-9).all()
    assert (curves <= band.upper + 1e-9).all()
    assert 0 <= band.gap < 0.05  # at 31 °F, where the band is nearly all of [0, 1]
    assert band.evaluations > 0
    pointwise = oring.band(x[1:3], joint=False, certify=True)
    assert (pointwise.upper - pointwise.lower < (band.upper - band.lower)[1:3]).all()
    assert not pointwise.joint


def test_many_inputs_are_worked_on_in_parts(oring):
    x = np.linspace(31, 82, 40)
    band = oring.band(x)
    curves = oring.model_.probabilities(boundary_of(oring), x)
    assert (curves >= band.lower - 1e-9).all()
    assert (curves <= band.upper + 1e-9).all()
    assert (np.diff(band.estimate) < 0).all()
    few = oring.band(x[[0, 20, 39]])
    np.testing.assert_allclose(few.upper, band.upper[[0, 20, 39]], atol=0.04)
    np.testing.assert_allclose(few.lower, band.lower[[0, 20, 39]], atol=0.04)


def test_probabilities_far_out_stay_between_the_bounds():
    x = np.linspace(-2, 2, 400)
    y = np.random.default_rng(0).random(400) < 1 / (1 + np.exp(-2 * x))
    region = er.ConfidenceRegion("logistic", statistic="score", n_resamples=99, rng=0).fit(x, y)
    band = region.band([-40.0])
    assert 0 <= band.lower[0] < band.estimate[0] < band.upper[0] < 1e-20


def test_classify_abstains_where_the_band_holds_one_half(oring):
    x = np.array([31.0, 64.0, 80.0])
    band = oring.band(x)
    decided = oring.classify(x)
    assert decided.tolist() == [0, 0, -1]
    np.testing.assert_array_equal(decided == 0, (band.lower <= 0.5) & (band.upper >= 0.5))


def test_risk_bounds(oring):
    x = FLIGHTS["temp"].to_numpy(dtype=float)
    bayes = oring.risk(x)
    assert 0 <= bayes.lower < bayes.estimate < bayes.upper <= 0.5
    assert (bayes.pointwise_upper <= 0.5).all()
    assert bayes.gap < 0.03
    assert bayes.evaluations > 0
    always = oring.risk(x, classifier=np.ones(23, dtype=int))
    never = oring.risk(x, classifier=lambda x: np.zeros(len(x), dtype=int))
    assert always.estimate + never.estimate == pytest.approx(1)
    assert always.lower == pytest.approx(1 - never.upper, abs=0.01)
    assert bayes.estimate <= min(always.estimate, never.estimate)
    with pytest.raises(InvalidValueError, match=r"'classifier'.*shape \(23,\). Got shape \(2,\)"):
        oring.risk(x, classifier=[0, 1])


@pytest.mark.parametrize("classifier", [None, (FLIGHTS["temp"] < 60).astype(int).to_numpy()])
def test_no_member_has_a_risk_outside_proven_bounds(oring, classifier):
    x = FLIGHTS["temp"].to_numpy(dtype=float)
    risk = oring.risk(x, classifier=classifier)
    assert risk.certified
    z = np.random.default_rng(0).normal(scale=3, size=(3_000, 2))
    theta = oring.outline().window.theta(z)
    P = oring.model_.probabilities(theta[oring.contains(theta)], x)
    errors = np.minimum(P, 1 - P) if classifier is None else np.where(classifier == 1, 1 - P, P)
    mean = errors.mean(axis=1)
    assert len(mean) > 500
    assert risk.lower <= mean.min() < risk.lower + 0.03
    assert risk.upper - 0.03 < mean.max() <= risk.upper


def test_separated_data_have_one_finite_end(separated):
    assert separated.status_ == "unbounded"
    slope = separated.intervals().loc["x"]
    assert slope["status"] == "unbounded above"
    assert np.isinf(slope["upper"])
    assert 0 < slope["lower"] < 2
    band = separated.band(np.array([-1.0, 0.0, 1.0]))
    assert np.isfinite([band.lower, band.upper]).all()
    assert band.upper[2] == 1
    assert (band.lower <= band.upper).all()


def test_empty_region_says_so(empty):
    assert empty.is_empty_
    assert empty.status_ == "empty"
    table = empty.intervals(joint=True)
    assert table.loc["p", "status"] == "empty"
    assert np.isnan(table.loc["p", "lower"])
    assert np.isnan(empty.band(np.array([0.0])).lower).all()
    assert empty.grid().status == "empty"


def test_bounded_parameters_stay_in_their_bounds():
    d = er.datasets.two_afc()[::3]
    y = np.column_stack([d["n_correct"], d["n_total"] - d["n_correct"]])
    model = er.models.Psychometric(guess=0.5, lapse="free")
    region = er.ConfidenceRegion(model, n_resamples=19, rng=0).fit(np.log(d["level"]), y)
    lapse = region.intervals(joint=True).loc["lapse"]
    assert 0 <= lapse["lower"] <= lapse["upper"] <= 1


def test_new_inputs_by_name_and_their_errors():
    data = er.datasets.spector()
    X = data[["GPA", "PSI"]]
    region = er.ConfidenceRegion("logistic", n_resamples=99, rng=0).fit(X, data["GRADE"])
    one = region.band(X.head(2))
    other = region.band(X[["PSI", "GPA"]].head(2))
    np.testing.assert_array_equal(one.lower, other.lower)
    swapped = er.ConfidenceRegion("logistic", n_resamples=99, rng=0)
    swapped.fit(X.rename(columns={"GPA": "x1", "PSI": "x0"}), data["GRADE"])
    array = X.to_numpy()[:2]
    np.testing.assert_array_equal(swapped.band(array).estimate, one.estimate)
    with pytest.raises(InvalidValueError, match=r"'X'.*the 2 columns.*\['GPA', 'PSI'\]. Got 1"):
        region.band(X[["GPA"]])


@pytest.mark.parametrize(
    ("g", "error", "message"),
    [
        ("slope", InvalidTypeError, "'g'.*callable.*Got str"),
        (lambda th: th, InvalidValueError, r"'g'.*one number.*Got shape \(2,\)"),
        (lambda th: "steep", InvalidValueError, "'g'.*one number.*Got str"),
    ],
)
def test_functionals_that_are_none(oring, g, error, message):
    with pytest.raises(error, match=message):
        oring.functional(g)


def test_grid_needs_one_or_two_parameters(oring):
    data = er.datasets.spector()
    region = er.ConfidenceRegion("logistic", n_resamples=99, rng=0)
    region.fit(data[["GPA", "TUCE", "PSI"]], data["GRADE"])
    with pytest.raises(InvalidValueError, match=r"one or two parameters\. Got 4"):
        region.grid()
    with pytest.raises(InvalidValueError, match=r"'box'.*low < high for each of the 2"):
        oring.grid(box=[(1, 0), (0, 1)])


def test_same_seed_same_answer_for_any_number_of_jobs():
    settings = {"n_resamples": 39, "rng": 3, "batch": 100_000}
    tables = [
        er.ConfidenceRegion("logistic", n_jobs=jobs, **settings)
        .fit(FLIGHTS["temp"], FLIGHTS["y"])
        .intervals(joint=True)
        .drop(columns="seconds")
        for jobs in (None, 1, 2)
    ]
    pd.testing.assert_frame_equal(tables[0], tables[1], check_exact=True)
    pd.testing.assert_frame_equal(tables[0], tables[2], check_exact=True)


def test_interrupted_search_leaves_the_region_usable(monkeypatch):
    region = er.ConfidenceRegion("logistic", n_resamples=99, rng=0)
    region.fit(FLIGHTS["temp"], FLIGHTS["y"])
    before = region.rank([15.0, -0.23])
    honest, calls = membership.statistics_of_many, []

    def interrupted(*args, **kwargs):
        calls.append(1)
        if len(calls) == 5:
            raise KeyboardInterrupt
        return honest(*args, **kwargs)

    monkeypatch.setattr(membership, "statistics_of_many", interrupted)
    with pytest.raises(KeyboardInterrupt):
        region.intervals()
    monkeypatch.undo()
    assert region.rank([15.0, -0.23]) == before
    fresh = er.ConfidenceRegion("logistic", n_resamples=99, rng=0)
    fresh.fit(FLIGHTS["temp"], FLIGHTS["y"])
    pd.testing.assert_frame_equal(
        region.intervals().drop(columns="seconds"), fresh.intervals().drop(columns="seconds")
    )


def test_accepted_ranks_with_a_lower_end():
    """A region of ranks 5 to 90 is a shell; the search finds members of it."""
    region = er.ConfidenceRegion("logistic", n_resamples=99, rng=0, accepted_ranks=(5, 90))
    region.fit(FLIGHTS["temp"], FLIGHTS["y"])
    assert 5 <= region.rank(region.estimate_) <= 90
    assert region.status_ in {"bounded", "disconnected", "unbounded"}


def test_eight_parameters():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 7))
    theta = np.linspace(-0.5, 0.5, 8)
    y = rng.random(120) < 1 / (1 + np.exp(-theta[0] - X @ theta[1:]))
    region = er.ConfidenceRegion("logistic", statistic="score", n_resamples=19, rng=0).fit(X, y)
    table = region.intervals(joint=True)
    assert region.status_ == "bounded"
    assert np.isfinite(table[["lower", "upper"]]).all(axis=None)
    assert region.contains(theta)
    assert (table["lower"] <= theta).all()
    assert (theta <= table["upper"]).all()
    assert (table["upper"] - table["lower"] < 4).all()
