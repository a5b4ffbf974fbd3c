"""Peers that the study writes down itself agree with packages, and refuse what they must."""

import numpy as np
import pytest
import statsmodels.api as sm
from scipy.special import expit, logit
from scipy.stats import chi2

from validation.peers.calibration import (
    cox_ratio,
    hosmer_lemeshow,
    hosmer_lemeshow_monte_carlo,
    kernel_error,
)
from validation.peers.coefficients import bootstrap_ratio, firth_ratio, modified_root
from validation.peers.goodness import hosmer_lemeshow_bootstrap
from validation.peers.likelihood import Linear, log_likelihood, maximise_logistic


@pytest.fixture
def data():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 2))
    return X, (rng.uniform(size=80) < expit(X[:, 0])).astype(float)


def test_many_fits_at_once_are_those_of_statsmodels(data):
    X, y = data
    design = sm.add_constant(X)
    outcomes = np.array([y, np.roll(y, 7), 1 - y])
    expected = [sm.Logit(each, design).fit(disp=False).params for each in outcomes]
    assert maximise_logistic(design, outcomes) == pytest.approx(np.array(expected), abs=1e-6)


def test_separated_outcomes_come_close_to_the_supremum():
    x = np.arange(20.0)
    design, y = np.column_stack([np.ones(20), x]), (x > 9.5).astype(float)
    theta = maximise_logistic(design, y[None])[0]
    assert log_likelihood("logistic", design @ theta, y) > -0.01


def test_recalibration_by_cox_is_a_likelihood_ratio(data):
    X, y = data
    p = expit(0.3 + 0.5 * X[:, 0])
    fit = sm.Logit(y, sm.add_constant(logit(p))).fit(disp=False)
    ratio = 2 * (fit.llf - (y * np.log(p) + (1 - y) * np.log1p(-p)).sum())
    assert cox_ratio(y, p) == pytest.approx(chi2.sf(ratio, 2))


@pytest.mark.parametrize(
    ("y", "p", "reason"),
    [
        ([0, 1, 1, 0], [0.2, 1.0, 0.5, 0.4], "no logit"),
        ([1, 1, 1, 1], [0.2, 0.9, 0.5, 0.4], "equal"),
        ([0, 1, 1, 0], [0.2, 0.9, 0.5, 0.4], "separated"),
    ],
)
def test_cox_refuses(y, p, reason):
    with pytest.raises(ValueError, match=reason):
        cox_ratio(np.array(y), np.array(p))


def test_firth_refuses_equal_outcomes(data):
    with pytest.raises(ValueError, match="class"):
        firth_ratio(data[0], np.ones(80))


@pytest.mark.usefixtures("firth_by_numpy")
def test_tests_of_slopes_agree_where_rows_are_many():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(500, 1))
    y = (rng.uniform(size=500) < expit(0.2 * X[:, 0])).astype(float)
    full, none = Linear("logistic", X, y), sm.Logit(y, np.ones(500)).fit(disp=False)
    ratio = chi2.sf(2 * (full.top - none.llf), 1)
    assert modified_root(X, y) == pytest.approx(ratio, rel=0.1)
    assert firth_ratio(X, y) == pytest.approx(ratio, rel=0.1)
    assert bootstrap_ratio(X, y, 1, rng) == pytest.approx(ratio, abs=0.1)


def test_resampled_tests_of_calibration_agree_with_their_limits():
    rng = np.random.default_rng(2)
    p = rng.uniform(0.1, 0.9, size=300)
    y = (rng.uniform(size=300) < p).astype(int)
    monte_carlo = hosmer_lemeshow_monte_carlo(y, p, rng)
    assert monte_carlo == pytest.approx(hosmer_lemeshow(y, p), abs=0.15)
    assert kernel_error(y, p, rng) > 0.05
    wrong = (rng.uniform(size=300) < p**3).astype(int)
    for test in (hosmer_lemeshow_monte_carlo, kernel_error):
        assert test(wrong, p, rng) <= 0.01


def test_bootstrap_of_a_fit(data):
    X, y = data
    assert hosmer_lemeshow_bootstrap(Linear("logistic", X, y)) > 0.05
    with pytest.raises(ValueError, match="logistic"):
        hosmer_lemeshow_bootstrap(Linear("probit", X, y))
