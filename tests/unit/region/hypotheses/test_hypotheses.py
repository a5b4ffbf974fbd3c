"""Exact tests of linear hypotheses."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import exactregion as er
from exactregion.region.hypotheses.equations import read_hypothesis

NAMES = ("intercept", "dose", "dose:sex", "sex[T.male]", "np.log2(x + 1)")


def data(seed, n=25):
    rng = np.random.default_rng([51, seed])
    x = rng.normal(size=n)
    return x, rng.random(n) < 1 / (1 + np.exp(0.5 - 0.8 * x))


@pytest.mark.parametrize(
    ("text", "rows", "values"),
    [
        ("dose = 0", [[0, 1, 0, 0, 0]], [0]),
        ("dose", [[0, 1, 0, 0, 0]], [0]),
        ("dose = 0, dose:sex = 0", [[0, 1, 0, 0, 0], [0, 0, 1, 0, 0]], [0, 0]),
        ("dose - sex[T.male] = 0", [[0, 1, 0, -1, 0]], [0]),
        ("2*(dose + 1) == np.log2(x + 1)/4 - 3", [[0, 2, 0, 0, -0.25]], [-5]),
        ("`dose:sex` * 3 = -1.5e1", [[0, 0, 3, 0, 0]], [-15]),
    ],
)
def test_equations_are_read(text, rows, values):
    hypothesis = read_hypothesis(text, NAMES)
    np.testing.assert_array_equal(hypothesis.matrix, rows)
    np.testing.assert_array_equal(hypothesis.values, values)


def test_mappings_matrices_and_parameters_are_read():
    by_name = read_hypothesis({"dose": 1, "intercept": -2.5}, NAMES[:2])
    assert by_name.text == "dose = 1, intercept = -2.5"
    rows = read_hypothesis([[1, -1], [0, 2]], NAMES[:2])
    assert rows.text == "intercept - dose = 0, 2 dose = 0"
    point = read_hypothesis([0.5, 1.0], NAMES[:2])
    np.testing.assert_array_equal(point.values, [0.5, 1.0])


@pytest.mark.parametrize(
    ("hypothesis", "message"),
    [
        ("dosage = 0", "'dosage' is no parameter"),
        ("dose * dose:sex = 0", "not linear"),
        ("dose ** 2 = 0", "not linear"),
        ("dose = ", "not an equation"),
        ("dose = 0 = 1", "one = in each equation"),
        ("dose = dose", "do not repeat or contradict"),
        ("dose = 0, dose = 1", "do not repeat or contradict"),
        ("dose / 0 = 1", "not linear"),
        ("__import__('os') = 0", "not linear"),
        ({"dosage": 0}, "must name parameters"),
        ([1.0, 2.0, 3.0], "must be equations"),
        ([["a"] * 5], "must be equations"),
        (None, "must be equations"),
    ],
)
def test_what_is_no_hypothesis_is_an_error(hypothesis, message):
    with pytest.raises(er.ExactRegionError, match=message):
        read_hypothesis(hypothesis, NAMES)


@pytest.mark.parametrize(
    ("model", "hypothesis"),
    [
        ("logistic", "x = 0"),
        ("logistic", "intercept + 0.5*x = 0.2"),
        ("probit", "intercept = 0"),
        ("probit", "intercept + 0.5*x = 0.2"),
        ("cloglog", "x = 0"),
        ("cloglog", "intercept = 0"),
    ],
)
def test_the_whole_line_is_searched(model, hypothesis):
    # the search evaluates θ one by one and refits by labels, the proof goes through all flips
    x, y = data(1, n=14)
    region = er.ConfidenceRegion(model, n_resamples=99, rng=3).fit(x, y)
    proven, searched = region.test(hypothesis), region.test(hypothesis, certify=False)
    assert proven.certified
    assert not searched.certified
    assert proven.pvalue >= searched.pvalue
    assert proven.pvalue - proven.gap <= searched.pvalue + 0.02
    assert region.fitted_.accepted.m * proven.gap == pytest.approx(0, abs=2)


def test_no_point_of_the_line_has_a_larger_pvalue():
    x, y = data(2)
    region = er.ConfidenceRegion("logistic", n_resamples=99, rng=0).fit(x, y)
    found = region.test("x = 0")
    # for an intercept alone, T is the squared difference of means over the pooled variance
    fitted = region.fitted_

    def statistic(labels, probabilities, X):
        ones = (np.asarray(labels) + 1) / 2
        p = (ones.sum(axis=1) + 0.5) / (ones.shape[1] + 1)
        x = np.asarray(X).ravel()
        return ((ones - p[:, None]) @ (x - x.mean())) ** 2 / (p * (1 - p))

    ranks = fitted.rank_function(er.statistics.as_statistic(statistic))
    theta = np.column_stack([np.linspace(-6, 4, 2001), np.zeros(2001)])
    joint = fitted.ranks(theta)[0] <= 99
    largest = (100 - ranks(theta)[0][joint] + 1).max()
    assert found.pvalue == pytest.approx(0.01 + largest / 100, abs=1e-9)


def test_two_by_two_tables_come_near_fisher_and_boschloo():
    table = [[6, 14], [0, 20]]
    region = er.ConfidenceRegion("logistic", n_resamples=1999, rng=0).fit([1.0, 0.0], table)
    found = region.test("x = 0")
    assert found.certified
    assert stats.boschloo_exact(table).pvalue < found.pvalue < 1.3 * stats.fisher_exact(table)[1]


def test_all_parameters_have_the_pvalue_of_the_region():
    x, y = data(3)
    region = er.ConfidenceRegion("logistic", n_resamples=99, rng=0).fit(x, y)
    found = region.test("intercept = 0.1, x = 0.7")
    assert found.pvalue == region.pvalue([0.1, 0.7])
    assert (found.df, found.spent, found.theta) == (2, 0.0, (0.1, 0.7))
    assert found.to_dict()["hypothesis"] == "intercept = 0.1, x = 0.7"


def test_families_without_a_linear_predictor_are_tested_too():
    x = np.repeat([0.5, 1.0, 2.0, 4.0], 12)
    rng = np.random.default_rng(5)
    y = rng.random(len(x)) < 0.5 + 0.45 / (1 + np.exp(-3 * np.log(x / 1.5)))
    model = er.models.Psychometric(guess=0.5)
    region = er.ConfidenceRegion(model, n_resamples=99, rng=0).fit(np.log(x), y)
    name = region.parameter_names_[1]
    found = region.test(f"{name} = 0")
    assert not found.certified
    assert found.theta is None or found.theta[1] == 0
    assert 0.02 <= found.pvalue <= 0.3


def test_bounds_are_respected():
    # guess and lapse are rates: the θ at which the p-value is largest must have such
    x = np.repeat([-2.0, 0.0, 2.0], 15)
    y = np.random.default_rng(6).random(45) < 0.1 + 0.8 / (1 + np.exp(-x))
    region = er.ConfidenceRegion(
        er.models.Psychometric(guess="free", lapse="free"), n_resamples=49, rng=0
    ).fit(x, y)
    names = region.parameter_names_
    found = region.test(f"{names[1]} = 1")
    assert found.theta is not None
    low, high = np.array(region.model_.bounds).T
    assert ((low <= found.theta) & (found.theta <= high)).all()
    assert found.theta[1] == pytest.approx(1.0)


def frame(n=30):
    rng = np.random.default_rng(8)
    a, b = rng.normal(size=n), rng.integers(0, 3, size=n)
    y = rng.random(n) < 1 / (1 + np.exp(-1.5 * a))
    return pd.DataFrame({"y": y.astype(int), "a": a, "b": b, "s": np.array(["u", "v", "w"])[b]})


def test_nested_formulas_are_compared():
    settings = {"n_resamples": 99, "rng": 0}
    found = er.compare_nested("y ~ 1", "y ~ a", frame(), **settings)
    region = er.ConfidenceRegion.from_formula("y ~ a", frame(), **settings)
    assert found.pvalue == region.test("a = 0").pvalue
    factor = er.compare_nested("y ~ a", "y ~ a + s", frame(), **settings)
    region = er.ConfidenceRegion.from_formula("y ~ a + s", frame(), **settings)
    assert factor.df == 2
    assert factor.pvalue == region.test("s[T.v] = 0, s[T.w] = 0").pvalue
    assert factor.pvalue > 0.05 > found.pvalue
    # b is a combination of the columns of s
    assert er.compare_nested("y ~ b", "y ~ s", frame(), **settings).df == 1


@pytest.mark.parametrize(
    ("small", "large", "message"),
    [
        ("y ~ a", "y ~ b", "combinations of those of 'large'"),
        ("y ~ a + s", "y ~ a", "combinations of those of 'large'"),
        ("y ~ a", "y ~ a", "must leave out something"),
        ("I(a > 0) ~ b", "y ~ a + b", "same outcomes"),
    ],
)
def test_formulas_that_are_not_nested_are_an_error(small, large, message):
    with pytest.raises(er.ExactRegionError, match=message):
        er.compare_nested(small, large, frame(), n_resamples=99, rng=0)


@pytest.mark.parametrize("formula", ["y ~ 1", "y ~"])
def test_a_region_needs_a_term_besides_the_intercept(formula):
    with pytest.raises(er.ExactRegionError, match="a term besides the intercept"):
        er.ConfidenceRegion.from_formula(formula, frame())


def test_many_rows_are_ranked_by_the_score_alone(monkeypatch):
    x, y = data(4, n=40)
    region = er.ConfidenceRegion("logistic", n_resamples=99, rng=0).fit(x, y)
    refitted = region.test("x = 0")
    monkeypatch.setattr("exactregion.region.hypotheses.linear.MOST_LABELS", 0)
    found = region.test("x = 0")
    assert not found.certified
    assert found.theta[1] == 0
    assert abs(found.pvalue - refitted.pvalue) < 0.1
