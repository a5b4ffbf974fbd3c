"""Logistic, probit and complementary log-log regression."""

import numpy as np
import pytest
import statsmodels.api as sm
from scipy import stats
from scipy.special import expit, logit

import exactregion as er
from exactregion.errors import InvalidValueError
from exactregion.models import CLogLog, LaplaceMixture, Logistic, Probit, Recalibration

LINKS = {
    Logistic: (stats.logistic, sm.families.links.Logit),
    Probit: (stats.norm, sm.families.links.Probit),
    CLogLog: (stats.gumbel_l, sm.families.links.CLogLog),
}
KINDS = pytest.mark.parametrize("kind", LINKS, ids=lambda kind: kind.__name__)

RNG = np.random.default_rng(3)
X = RNG.normal(size=(30, 2))
Y = RNG.integers(0, 2, 30)
THETA = np.array([0.2, -0.7, 0.4])


@KINDS
def test_formula(kind):
    distribution, _ = LINKS[kind]
    expected = distribution.cdf(0.2 - 0.7 * X[:, 0] + 0.4 * X[:, 1])
    np.testing.assert_allclose(kind().probabilities(THETA, X), expected, rtol=1e-13)


@KINDS
def test_probabilities_and_score_are_those_of_a_generalised_linear_model(kind):
    _, link = LINKS[kind]
    glm = sm.GLM(Y, sm.add_constant(X), family=sm.families.Binomial(link()))
    P = kind().probabilities(THETA, X)
    score = (Y - P) @ kind().logit_gradient(THETA, X)
    np.testing.assert_allclose(P, glm.predict(THETA), rtol=1e-12)
    np.testing.assert_allclose(score, glm.score(THETA, scale=1.0), rtol=1e-9)


@KINDS
@pytest.mark.parametrize("x", [X[:, 0], X[:, :1]], ids=["(n,)", "(n, 1)"])
def test_without_intercept(kind, x):
    distribution, _ = LINKS[kind]
    model = kind(intercept=False)
    np.testing.assert_allclose(
        model.probabilities([1.5], x), distribution.cdf(1.5 * X[:, 0]), rtol=1e-13
    )
    assert model.n_parameters(x) == 1
    assert model.bind(["temp"]).parameter_names == ("temp",)
    assert model.logit_gradient([1.5], x).shape == (30, 1)


@KINDS
def test_bind_names_the_columns_of_a_new_model(kind):
    model = kind()
    bound = model.bind(["temp", "pressure"])
    assert bound.parameter_names == ("intercept", "temp", "pressure")
    assert bound.bounds == ((-np.inf, np.inf),) * 3
    assert bound.n_parameters(X) == 3
    assert bound.bind(["x"]).parameter_names == ("intercept", "x")
    assert model == kind()
    assert type(bound) is kind


@KINDS
@pytest.mark.parametrize("attribute", ["parameter_names", "bounds"])
def test_names_need_the_columns(kind, attribute):
    message = rf"parameters of {kind.__name__} depend on the columns of X: call bind\(names\) first"
    with pytest.raises(InvalidValueError, match=message):
        getattr(kind(), attribute)


@KINDS
@pytest.mark.parametrize("slope", [1e3, 1e15, 1e300, 1e308])
def test_large_predictors_are_certainties(kind, slope):
    middle = LINKS[kind][0].cdf(0.0)
    P = kind().probabilities([[0.0, slope], [0.0, -slope]], [-10.0, 0.0, 10.0])
    np.testing.assert_allclose(P, [[0.0, middle, 1.0], [1.0, middle, 0.0]])


@pytest.mark.parametrize(
    ("kind", "eta", "expected"),
    [
        (Logistic, -700.0, np.exp(-700.0)),
        (Probit, -30.0, stats.norm.cdf(-30.0)),
        (CLogLog, -50.0, np.exp(-50.0)),
        (CLogLog, -700.0, np.exp(-700.0)),
        (CLogLog, 750.0, 1.0),
    ],
)
def test_tails_keep_their_digits(kind, eta, expected):
    np.testing.assert_allclose(kind().probabilities([eta, 0.0], [1.0]), [expected], rtol=1e-12)


@pytest.mark.parametrize(
    ("kind", "eta", "expected"),
    [
        (Logistic, 1e300, 1.0),
        (Logistic, -1e300, 1.0),
        # Mills' ratio: φ(η) / (1 - Φ(η)) = |η| (1 + η⁻² + O(η⁻⁴))
        (Probit, 30.0, 30.0 * (1 + 30.0**-2)),
        (Probit, -30.0, 30.0 * (1 + 30.0**-2)),
        (Probit, 1e3, 1e3),
        (Probit, -1e8, 1e8),
        (Probit, 1e200, 1e200),
        (CLogLog, -30.0, 1.0),
        (CLogLog, -740.0, 1.0),
        (CLogLog, -1e3, 1.0),
        (CLogLog, 5.0, np.exp(5.0)),
        (CLogLog, 700.0, np.exp(700.0)),
    ],
)
def test_slope_of_the_logit_in_the_tails(kind, eta, expected):
    gradient = kind().logit_gradient([eta, 0.0], [2.0])
    np.testing.assert_allclose(gradient, [[expected, 2 * expected]], rtol=1e-5)


def test_cloglog_gradient_past_overflow_has_no_nan():
    assert not np.isnan(CLogLog().logit_gradient([0.0, 1e3], [-1.0, 0.0, 1.0])).any()


def test_zero_inputs_leave_the_intercept():
    np.testing.assert_array_equal(
        Logistic().probabilities([0.3, 1e300], np.zeros(4)), np.full(4, expit(0.3))
    )


def test_region_of_the_orings_names_its_columns():
    data = er.datasets.oring()
    frame = data[["temp", "pressure"]]
    region = er.ConfidenceRegion("probit", n_resamples=99, rng=0).fit(frame, data["y"])
    assert region.parameter_names_ == ("intercept", "temp", "pressure")
    assert region.model_ == Probit().bind(["temp", "pressure"])
    fitted = sm.GLM(
        data["y"], sm.add_constant(frame), sm.families.Binomial(sm.families.links.Probit())
    ).fit()
    assert region.contains(fitted.params.to_numpy())
    assert not region.contains([0.0, 1.0, 0.0])


def test_design_gives_the_linear_predictor():
    design = Logistic().bind(["a", "b"]).linear_design(X)
    np.testing.assert_allclose(Logistic().probabilities(THETA, X), expit(design @ THETA))
    np.testing.assert_array_equal(Probit(intercept=False).linear_design(X), X)


def test_design_of_recalibration_needs_finite_logits():
    p = np.array([0.2, 0.5, 0.9])
    np.testing.assert_allclose(Recalibration().linear_design(p)[:, 1], logit(p))
    assert Recalibration().linear_design(np.append(p, 1.0)) is None
    assert LaplaceMixture().linear_design(p) is None
