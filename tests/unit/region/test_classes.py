"""Regions of several classes: ranks, estimates, intervals, bands, status, and what is refused."""

import numpy as np
import pandas as pd
import polars as pl
import pytest

import exactregion as er
from exactregion.errors import InvalidTypeError, InvalidValueError

RNG = np.random.default_rng(5)
N = 24
X = RNG.normal(size=N)
LATENT = 1.2 * X + RNG.logistic(size=N)
CODES = (LATENT > -0.7).astype(int) + (LATENT > 0.7)
LEVELS = ["low", "mid", "high"]
LABELS = np.array(LEVELS)[CODES]
SETTINGS = {"n_resamples": 39, "rng": 0, "confidence_level": 0.9}
MODELS = {
    "multinomial": er.models.Multinomial(levels=LEVELS),
    "proportional-odds": er.models.ProportionalOdds(levels=LEVELS),
}
THETAS = {"multinomial": RNG.normal(size=(40, 4)), "proportional-odds": RNG.normal(size=(40, 3))}
THETAS["proportional-odds"][:, 1] = np.abs(THETAS["proportional-odds"][:, 1])
families = pytest.mark.parametrize("family", MODELS)


def fit(family, X=X, y=LABELS, **settings):
    model = MODELS.get(family, family)
    return er.ConfidenceRegion(model, **{**SETTINGS, **settings}).fit(X, y)


@pytest.fixture(scope="module", params=list(MODELS))
def region(request):
    return fit(request.param)


# --- ranks --------------------------------------------------------------------------------------


@pytest.mark.parametrize("statistic", ["score", "combined", "discrepancy", "omnibus"])
@pytest.mark.parametrize(("family", "sign"), [("multinomial", 1), ("proportional-odds", -1)])
def test_two_classes_are_labels(family, sign, statistic):
    """Ranks are those of `Logistic`, whose intercept is the cut point with the other sign."""
    y = (CODES > 0).astype(int)
    labels = er.ConfidenceRegion("logistic", statistic=statistic, **SETTINGS).fit(X, y)
    classes = er.ConfidenceRegion(family, statistic=statistic, **SETTINGS).fit(X, y)
    theta = np.random.default_rng(0).normal(size=(300, 2)) * [2, 4]
    assert np.array_equal(classes.rank(theta * [sign, 1]), labels.rank(theta))
    if sign == 1:
        Z = [each.fitted_.statistics(theta) for each in (classes, labels)]
        assert np.array_equal(*Z)


def test_a_batch_is_its_members_and_what_evaluate_says(region):
    family = next(name for name, model in MODELS.items() if type(model) is type(region.model_))
    thetas = THETAS[family]
    ranks = region.rank(thetas)
    assert ranks.tolist() == [region.rank(theta) for theta in thetas]
    assert np.array_equal(region.contains(thetas), ranks <= 36)
    for theta, rank in zip(thetas[:5], ranks[:5], strict=True):
        found = region.evaluate(theta)
        Z, seat = found.Z, found.seat
        assert rank == 1 + (Z[:seat] <= Z[seat]).sum() + (Z[seat + 1 :] < Z[seat]).sum()
        assert found.pvalue == region.pvalue(theta) == (40 - rank + 1) / 40
        assert np.array_equal(found.labels[seat], CODES)
        P = region.model_.probabilities(theta, X)
        assert np.allclose(found.probabilities, P, atol=1e-12)


@families
def test_no_rank_depends_on_the_order_of_rows_or_on_workers(family):
    order = np.random.default_rng(1).permutation(N)
    thetas = THETAS[family]
    expected = fit(family).rank(thetas)
    assert np.array_equal(fit(family, X[order], LABELS[order]).rank(thetas), expected)
    assert np.array_equal(fit(family, n_jobs=2, batch=1).rank(thetas), expected)


@families
def test_engines_agree_where_classes_are_impossible(family):
    """Paths and blocks give the same Z, to the last bit, also far out."""
    from exactregion.engine import statistics_of

    state = fit(family).fitted_
    thetas = np.concatenate([THETAS[family] * scale for scale in (1.0, 1e2, 1e4)])
    thetas[::5, 1] = 0.0
    state._paths.evaluated = 1000
    along = state.statistics(thetas)
    one_by_one = [
        statistics_of(state.candidates(theta[None]), state.resampling, state.prepared)[0]
        for theta in thetas
    ]
    assert np.array_equal(along, one_by_one)
    assert np.isinf(along[:, state.resampling.seat]).any()


def test_an_impossible_class_is_rejected():
    """A width of 0 leaves no probability to the class in the middle."""
    region = fit("proportional-odds")
    assert region.rank([0.0, 0.0, 1.0]) == 40
    assert region.rank([0.0, 1e-20, 1.0]) == 40


# --- outcomes -----------------------------------------------------------------------------------


def test_levels_come_from_the_model_the_fit_or_the_categories():
    thetas = THETAS["proportional-odds"]
    expected = fit("proportional-odds").rank(thetas)
    odds = er.ConfidenceRegion("proportional-odds", **SETTINGS)
    categories = pd.Series(pd.Categorical(LABELS, LEVELS, ordered=True))
    for y in (categories, pl.Series(LABELS.tolist(), dtype=pl.Enum(LEVELS)), CODES, CODES * 2.5):
        assert np.array_equal(odds.fit(X, y).rank(thetas), expected)
    assert np.array_equal(odds.fit(X, LABELS, levels=LEVELS).rank(thetas), expected)
    assert er.ConfidenceRegion("multinomial").fit(X, LABELS).model_.labels == ("high", "low", "mid")
    four = odds.fit(X, LABELS, levels=[*LEVELS, "top"])
    assert four.parameter_names_ == ("low|mid", "width of mid", "width of high", "x")


def test_formulas_take_classes():
    frame = pd.DataFrame({"dose": X, "grade": pd.Categorical(LABELS, LEVELS, ordered=True)})
    region = er.ConfidenceRegion.from_formula(
        "grade ~ dose", frame, model="proportional-odds", **SETTINGS
    )
    assert region.parameter_names_ == ("low|mid", "width of mid", "dose")
    thetas = THETAS["proportional-odds"]
    assert np.array_equal(region.rank(thetas), fit("proportional-odds").rank(thetas))
    no_intercept = er.ConfidenceRegion.from_formula(
        "grade ~ dose - 1", frame, model="multinomial", **SETTINGS
    )
    assert no_intercept.parameter_names_ == ("mid:dose", "high:dose")


@pytest.mark.parametrize(
    ("family", "y", "settings", "message"),
    [
        ("multinomial", ["a"] * N, {}, "'y' parameter must have two classes or more"),
        ("proportional-odds", LABELS, {}, "'levels' parameter must say the order"),
        ("proportional-odds", pd.Series(LABELS, dtype="category"), {}, "say the order"),
        ("multinomial", LABELS[:-1], {}, "same number of rows"),
        ("multinomial", np.ones((N, 2), dtype=int), {}, "one label per row"),
        ("multinomial", LABELS, {"pos_label": "low"}, "'pos_label' parameter must be left out"),
        ("multinomial", LABELS, {"statistic": "ratio"}, "made of sums"),
        ("multinomial", LABELS, {"statistic": lambda labels, p, X: p.sum()}, "made of sums"),
        ("multinomial", LABELS, {"n_resamples": 2**20 - 1}, "at most 8 rows for 3 classes"),
    ],
)
def test_what_cannot_be_fitted(family, y, settings, message):
    with pytest.raises(InvalidValueError, match=message):
        er.ConfidenceRegion(family, **{**SETTINGS, **settings}).fit(X, y)


def test_unknown_and_useless_levels():
    unknown = r"must hold the classes \['low', 'mid'\]. Got 'high'"
    with pytest.raises(InvalidValueError, match=unknown):
        er.ConfidenceRegion("multinomial", **SETTINGS).fit(X, LABELS, levels=["low", "mid"])
    with pytest.raises(InvalidValueError, match="'levels' parameter must be left out for Logistic"):
        er.ConfidenceRegion("logistic", **SETTINGS).fit(X, CODES > 0, levels=[False, True])


# --- what is found ------------------------------------------------------------------------------


def test_members_lie_within_intervals_and_bands(region):
    assert region.status_ == "bounded"
    assert not region.certified_
    table, band = region.intervals(joint=True), region.band([-1.0, 0.5])
    assert isinstance(band, er.Band)  # one mechanism for two classes and for several
    assert band.lower.shape == band.estimate.shape == (2, len(band.classes))
    assert not table["certified"].any()
    assert (table["status"] == "bounded").all()
    outline = region.outline()
    rng, d = np.random.default_rng(0), len(region.parameter_names_)
    z = np.concatenate([scale * rng.standard_normal((500, d)) for scale in (0.5, 1, 2, 5)])
    ends = outline.members()
    z = np.concatenate([z, ends[rng.integers(len(ends), size=500)] + z[:500] / 4])
    theta = outline.window.theta(z)
    members = theta[region.contains(theta)]
    assert len(members) > 100
    assert ((members >= table["lower"].to_numpy()) & (members <= table["upper"].to_numpy())).all()
    probabilities = region.model_.probabilities(members, [-1.0, 0.5])
    assert (probabilities >= band.lower).all()
    assert (probabilities <= band.upper).all()
    assert not band.certified
    assert band.classes == tuple(LEVELS)
    assert np.allclose(band.estimate.sum(axis=1), 1)


def test_predictions_have_a_row_per_input_and_class():
    region = fit("proportional-odds", n_resamples=19)
    frame = pd.DataFrame({"x": [9.0, 9.0]}, index=["a", "b"])
    table = region.predict(frame)
    assert table.index.tolist() == ["a"] * 3 + ["b"] * 3
    assert table["class"].tolist() == LEVELS * 2
    assert table["extrapolates"].all()
    for kind in ("", "simultaneous_"):
        lower, upper = table[f"{kind}lower"], table[f"{kind}upper"]
        assert (lower >= 0).all()
        assert (lower < table["estimate"]).all()
        assert (upper > table["estimate"]).all()


def test_summary_has_odds_ratios_of_slopes():
    summary = fit("proportional-odds", n_resamples=19).summary()
    table = summary.to_frame()
    assert summary.settings["rows"] == "24"
    assert summary.settings["classes"] == f"3 ({', '.join(map(str, np.bincount(CODES)))})"
    assert table["odds_ratio"].isna().tolist() == [True, True, False]
    assert table.loc["x", "odds_lower"] == np.exp(table.loc["x", "lower"])
    assert np.isnan(table.loc["width of mid", "pvalue"])  # 0 is an end of its range
    assert not table[["interval_certified", "pvalue_certified"]].to_numpy().any()
    assert 0 < table.loc["x", "pvalue"] < 0.2
    again = fit("proportional-odds", n_resamples=19).test("x = 0")
    assert again.pvalue == table.loc["x", "pvalue"]
    assert "width of mid" in str(summary)


@pytest.mark.parametrize(
    ("family", "y", "opens"),
    [
        ("multinomial", [0, 0, 0, 1, 1, 1, 2, 2, 2], [True] * 4),
        ("multinomial", [0, 0, 0, 1, 2, 1, 2, 1, 2], [True] * 4),
        ("proportional-odds", [0, 0, 0, 1, 1, 1, 2, 2, 2], [True, True, True]),
    ],
)
def test_separated_classes_have_no_end(family, y, opens):
    """No maximum of the likelihood, and a status that says so; members are found far out."""
    # where all data sets are equal far out, the seat decides: of this seed it is accepted
    region = er.ConfidenceRegion(family, n_resamples=19, rng=0).fit(np.arange(9.0), y)
    assert region.fitted_.resampling.seat < 19
    assert region.maximum_likelihood_ is None
    assert region.status_ == "unbounded"
    assert not region.certified_
    table = region.intervals(joint=True)
    infinite = np.isinf(table["lower"]) | np.isinf(table["upper"])
    assert infinite.tolist() == opens
    member = region.fitted_.cached("far members", lambda: None).members[0]
    far = member.theta + np.array([[1e3], [1e5]]) * member.face.direction
    assert region.contains(far).all()


def test_a_class_that_never_occurs_leaves_the_region_open():
    model = er.models.Multinomial(levels=[*LEVELS, "top"])
    region = er.ConfidenceRegion(model, n_resamples=19, rng=0).fit(X, LABELS)
    assert region.maximum_likelihood_ is None
    assert region.status_ == "unbounded"


# --- the rest -----------------------------------------------------------------------------------


@families
def test_saved_regions_come_back(family, tmp_path):
    region = fit(family, rng=3)
    loaded = er.load(region.save(tmp_path / "region.npz"))
    thetas = THETAS[family]
    assert np.array_equal(loaded.rank(thetas), region.rank(thetas))
    assert loaded.model_ == region.model_
    assert repr(loaded) == repr(region)
    frame = pd.DataFrame({"dose": X, "grade": LABELS})
    formula = er.ConfidenceRegion.from_formula(
        "grade ~ dose", frame, model=MODELS[family], **SETTINGS
    )
    again = er.load(formula.save(tmp_path / "formula.npz"))
    assert np.array_equal(again.rank(thetas), formula.rank(thetas))


@pytest.mark.parametrize(
    ("call", "instead"),
    [
        (lambda region: region.threshold("x"), "band"),
        (lambda region: region.thresholds("x"), "band"),
        (lambda region: region.width("x"), "band"),
        (lambda region: region.classify([0.0]), "predict"),
        (lambda region: region.risk([0.0]), "predict"),
        (lambda region: region.goodness_of_fit(), "model_test"),
        (lambda region: region.report("region.html"), "summary"),
    ],
)
def test_what_several_classes_have_no_answer_to(region, call, instead):
    with pytest.raises(InvalidTypeError, match=f"families of two classes.*use.*{instead}"):
        call(region)


def test_the_picture_has_a_band_per_class():
    pytest.importorskip("matplotlib")
    display = fit("proportional-odds", n_resamples=19).plot(points=3)
    assert len(display.bands_) == len(display.lines_) == 3
    assert [text.get_text() for text in display.ax_.get_legend().get_texts()] == LEVELS
    assert display.lower.shape == (3, 3)
    assert (display.lower <= display.estimate).all()
    assert (display.estimate <= display.upper).all()


def test_measurements_are_no_classes():
    rng = np.random.default_rng(0)
    with pytest.raises(er.errors.InvalidValueError, match="must hold classes"):
        er.ConfidenceRegion("multinomial", n_resamples=19).fit(
            rng.normal(size=9), rng.normal(size=9)
        )
