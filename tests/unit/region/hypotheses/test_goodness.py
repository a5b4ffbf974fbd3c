"""The exact test of a whole family: valid, powerful, and searched well."""

import numpy as np
import pytest
from scipy.special import expit
from scipy.stats import binom, norm

import exactregion as er
from exactregion.errors import InvalidTypeError, InvalidValueError, NotFittedError
from exactregion.models import Logistic, Psychometric
from exactregion.region.hypotheses.goodness import GoodnessOfFit, goodness_of_fit
from exactregion.statistics import Discrepancy, Embedding, Multiscale, Neighborhood, Orthogonal

X = np.random.default_rng(0).normal(size=150)


def fit(x, y, model="logistic", m=200, rng=0, **settings):
    return er.ConfidenceRegion(model, n_resamples=m - 1, rng=rng, **settings).fit(x, y)


def drawn(p, seed):
    return np.random.default_rng([seed, 7]).random(len(p)) < p


BENT = drawn(expit(X + 1.2 * (X**2 - 1)), 1)
STRAIGHT = drawn(expit(X), 1)


@pytest.fixture(scope="module")
def straight():
    return fit(X, STRAIGHT)


@pytest.fixture(scope="module")
def found(straight):
    return straight.goodness_of_fit()


def test_a_missing_square_is_found_where_the_region_is_not_empty():
    line, square = fit(X, BENT), fit(np.column_stack([X, X**2]), BENT)
    assert line.goodness_of_fit().pvalue <= 0.02
    assert square.goodness_of_fit().pvalue > 0.05
    assert not line.is_empty_


def test_the_result_can_be_computed_again(straight, found):
    assert isinstance(found, GoodnessOfFit)
    assert (found.spent, found.proven) == (1 / 200, False)
    assert found.pvalue == (200 - found.rank + 1 + 1) / 200
    assert straight.rank(found.theta) <= 199  # in the joint region
    statistic = eval(found.statistic, {**vars(er.statistics), **vars(er.kernels)})
    again = fit(X, STRAIGHT, statistic=statistic)
    assert again.rank(found.theta) == found.rank
    assert found.evaluations > found.probed > 100
    assert found.seconds > 0


def test_no_theta_near_the_estimate_has_a_larger_pvalue(straight, found):
    """More probes than the search took, of several sizes, find nothing much larger."""
    orthogonal = fit(
        X, STRAIGHT, statistic=eval(found.statistic, {**vars(er.statistics), **vars(er.kernels)})
    )
    window = straight.outline().window
    rng = np.random.default_rng(5)
    z = np.concatenate([scale * rng.normal(size=(100, 2)) for scale in (0.3, 1.0, 2.0)])
    theta = window.theta(z)
    kept = theta[straight.rank(theta) <= 199]
    assert len(kept) > 200
    # two ranks of two hundred
    assert orthogonal.pvalue(kept).max() + found.spent <= found.pvalue + 0.01


def test_is_the_same_each_time(straight, found):
    assert straight.goodness_of_fit() is found
    again = fit(X, STRAIGHT, n_jobs=2).goodness_of_fit()
    assert (again.pvalue, again.rank, again.probed) == (found.pvalue, found.rank, found.probed)
    np.testing.assert_array_equal(again.theta, found.theta)


def test_a_statistic_by_name_or_object(straight):
    by_name = straight.goodness_of_fit(statistic="discrepancy")
    for statistic in (Discrepancy(), Orthogonal(Discrepancy())):
        same = straight.goodness_of_fit(statistic=statistic)
        assert (same.pvalue, same.statistic) == (by_name.pvalue, by_name.statistic)
    assert by_name.statistic == repr(Orthogonal(Discrepancy()))


def test_an_empty_joint_region_rejects_the_family_on_its_own():
    y = np.array([[100, 0], [0, 100], [0, 100], [100, 0]])  # no curve of the family is a valley
    result = fit(np.arange(4.0), y).goodness_of_fit()
    assert result.theta is None
    assert result.rank is None
    assert result.pvalue == result.spent == 1 / 200


FAMILIES = {
    "probit": ("probit", norm.cdf(X)),
    "cloglog": ("cloglog", 1 - np.exp(-np.exp(0.7 * X - 0.3))),
    "psychometric": (
        Psychometric(Logistic(), guess=0.5, lapse="free"),
        0.5 + 0.47 * expit(2 * X),
    ),
}


@pytest.mark.parametrize("family", FAMILIES)
def test_families(family):
    model, p = FAMILIES[family]
    result = fit(X, drawn(p, 3), model, m=40, confidence_level=0.9).goodness_of_fit()
    assert 0.05 < result.pvalue <= 1
    assert np.isfinite(result.theta).all()


def test_counts():
    dose = np.linspace(-2, 2, 8)
    trials = np.full(8, 30)

    def successes(p):
        found = np.random.default_rng(2).binomial(trials, p)
        return np.column_stack([found, trials - found])

    assert fit(dose, successes(expit(dose))).goodness_of_fit().pvalue > 0.05
    assert fit(dose, successes(expit(dose + dose**2 - 2))).goodness_of_fit().pvalue < 0.05


@pytest.mark.parametrize("n", [1, 2, 5, 8])
def test_few_rows_and_separated_ones(n):
    x = np.arange(n, dtype=float)
    result = fit(x, x > n / 2, m=40, confidence_level=0.9).goodness_of_fit()
    assert 1 / 40 <= result.pvalue <= 1


def test_a_true_family_is_rejected_no_more_often_than_the_level():
    x = np.linspace(-2, 2, 25)
    pvalues = [
        fit(x, drawn(expit(x), seed), m=20, rng=seed, confidence_level=0.8).goodness_of_fit().pvalue
        for seed in range(20)
    ]
    for level in (0.1, 0.2, 0.4):
        assert np.sum(np.array(pvalues) <= level + 1e-9) <= binom.ppf(1 - 1e-6, 20, level)


@pytest.mark.parametrize("statistic", [Multiscale(), Neighborhood(), Embedding()], ids=repr)
def test_any_algorithm_finds_a_missing_square(statistic):
    assert fit(X, BENT).goodness_of_fit(statistic=statistic).pvalue < 0.05


def test_what_it_does_not_take(straight):
    with pytest.raises(InvalidValueError, match="'statistic' parameter must be one of"):
        straight.goodness_of_fit(statistic="hosmer")
    with pytest.raises(InvalidTypeError, match="made of sums"):
        straight.goodness_of_fit(statistic=lambda labels, p, X: labels[:, 0])
    with pytest.raises(NotFittedError):
        er.ConfidenceRegion("logistic").goodness_of_fit()


def test_is_a_function_of_a_fitted_region(straight, found):
    assert goodness_of_fit(straight.fitted_) is found
