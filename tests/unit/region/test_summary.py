"""The table of coefficients."""

import json

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import minimize

import exactregion as er


@pytest.fixture(scope="module")
def region():
    flights = er.datasets.oring()
    return er.ConfidenceRegion.from_formula("y ~ temp", flights, n_resamples=199, rng=4)


@pytest.fixture(scope="module")
def summary(region):
    return region.summary()


def test_numbers_are_those_of_intervals_tests_and_likelihood(region, summary):
    table = summary.to_frame()
    intervals = region.intervals()
    pd.testing.assert_frame_equal(table[["lower", "upper"]], intervals[["lower", "upper"]])
    for name in region.parameter_names_:
        assert table.loc[name, "pvalue"] == region.test(f"{name} = 0").pvalue
    np.testing.assert_allclose(table["estimate"], [15.0429, -0.232163], rtol=1e-5)
    np.testing.assert_allclose(table["odds_upper"], np.exp(table["upper"]))
    assert table[["interval_certified", "pvalue_certified"]].all(axis=None)


def test_estimates_do_not_depend_on_the_seed(region):
    flights = er.datasets.oring()
    other = er.ConfidenceRegion.from_formula("y ~ temp", flights, n_resamples=19, rng=5)
    other.confidence_level = 0.9
    np.testing.assert_array_equal(region.maximum_likelihood_, other.maximum_likelihood_)


def test_the_likelihood_is_at_its_maximum():
    rng = np.random.default_rng(9)
    X = rng.normal(size=(60, 2)) * [1.0, 300.0]
    y = rng.random(60) < 1 / (1 + np.exp(-X @ [0.8, 0.002]))
    region = er.ConfidenceRegion("probit", n_resamples=19, confidence_level=0.9, rng=0).fit(X, y)

    def loss(theta):
        p = region.model_.probabilities(theta, X)
        return -np.log(np.where(y, p, 1 - p)).sum()

    found = minimize(loss, region.maximum_likelihood_ * 1.1, method="Nelder-Mead",
                     options={"xatol": 1e-9, "fatol": 1e-12, "maxiter": 4000})  # fmt: skip
    np.testing.assert_allclose(region.maximum_likelihood_, found.x, rtol=1e-3)


def test_separated_data_have_no_maximum_and_say_so():
    x = np.arange(8.0)
    region = er.ConfidenceRegion("logistic", n_resamples=19, rng=0).fit(x, x > 3)
    assert region.maximum_likelihood_ is None
    summary = region.summary(certify=False)
    np.testing.assert_array_equal(summary.table["estimate"], region.most_compatible_)
    assert "not finite" in " ".join(summary.notes)
    assert "separated" in " ".join(summary.notes)
    assert "∞" in str(summary)


def test_it_fits_into_80_columns_and_other_formats(summary):
    assert max(map(len, str(summary).splitlines())) <= 80
    assert "odds ratio" in summary._repr_html_()
    assert summary.to_markdown().count("\n") == 3
    assert "tabular" in summary.to_latex()
    plain = json.loads(json.dumps(summary.to_dict()))
    assert plain["parameters"]["temp"]["pvalue"] == summary.table.loc["temp", "pvalue"]


def test_long_names_are_shortened_and_escaped():
    rng = np.random.default_rng(3)
    name = "<b>a very long name of a column that would not fit into eighty columns</b>"
    X = pd.DataFrame({name: rng.normal(size=30)})
    y = rng.random(30) < 0.5
    summary = er.ConfidenceRegion("logistic", n_resamples=39, rng=0).fit(X, y).summary()
    assert max(map(len, str(summary).splitlines())) <= 80
    assert "<b>" not in summary._repr_html_()


def test_only_logistic_families_have_odds_ratios():
    x = np.repeat([-1.0, 0.0, 1.0], 10)
    y = np.random.default_rng(0).random(30) < 0.3 + 0.4 * (x > 0)
    model = er.models.Psychometric(guess=0.2, lapse="free")
    summary = er.ConfidenceRegion(model, n_resamples=39, rng=0).fit(x, y).summary()
    assert "odds_ratio" not in summary.table
    # a rate at its bound of zero is no usual hypothesis
    assert summary.table["pvalue"].notna().tolist() == [True, True, False]


def test_no_pvalue_is_less_than_the_notes_say():
    rng = np.random.default_rng(1)
    x = rng.normal(size=80)
    summary = er.ConfidenceRegion("logistic", n_resamples=39, rng=0).fit(
        x, x + rng.normal(size=80) > 3
    )
    found = summary.summary()
    (note,) = [note for note in found.notes if note.startswith("p-values")]
    least = float(note.split("less than ")[1].split(";")[0])
    assert (found.table["pvalue"] >= least).all()
    assert found.table["pvalue"].min() == least


def test_intervals_without_a_value_say_so():
    x, y = np.repeat([0.0, 1.0, 2.0], 40), np.repeat([0, 1, 0], 40)
    region = er.ConfidenceRegion("logistic", statistic="discrepancy", n_resamples=99, rng=0)
    found = region.fit(x, y).summary()
    assert region.intervals()["status"].tolist() == ["empty", "empty"]
    assert "intercept, x: no value fits" in " ".join(found.notes)
    assert "none" in str(found)


def test_an_interval_that_holds_a_rejected_zero_is_explained(summary):
    counts = np.array([[6, 14], [0, 20]])
    region = er.ConfidenceRegion("logistic", n_resamples=499, rng=1).fit([[1.0], [0.0]], counts)
    found = region.summary(certify=False)
    row = found.table.loc["x"]
    assert row["lower"] < 0 < row["upper"]
    assert row["pvalue"] < 0.05
    assert any(note.startswith("x: interval and p-value disagree") for note in found.notes)
    assert not any("disagree" in note for note in summary.notes)
