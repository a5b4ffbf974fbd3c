"""Psychometric functions: a core between a guess rate and a lapse rate."""

import numpy as np
import pytest
from scipy import stats

import exactregion as er
from exactregion.errors import InvalidTypeError, InvalidValueError
from exactregion.models import CLogLog, Function, LaplaceMixture, Logistic, Probit, Psychometric

X = np.linspace(-3, 3, 13)
CORE = [0.3, 1.2]
CORES = {Logistic: stats.logistic, Probit: stats.norm, CLogLog: stats.gumbel_l}
RATES = [
    (0.5, 0.02, [], ()),
    (0.5, "free", [0.03], ("lapse",)),
    ("free", 0.01, [0.2], ("guess",)),
    ("free", "free", [0.2, 0.03], ("guess", "lapse")),
    (0, 1, [], ()),
]


@pytest.mark.parametrize("core", CORES, ids=lambda core: core.__name__)
@pytest.mark.parametrize(("guess", "lapse", "free", "names"), RATES)
def test_formula_names_and_bounds(core, guess, lapse, free, names):
    model = Psychometric(core(), guess=guess, lapse=lapse)
    values = iter(free)
    g, rate = (next(values) if given == "free" else given for given in (guess, lapse))
    expected = g + (1 - g - rate) * CORES[core].cdf(0.3 + 1.2 * X)
    np.testing.assert_allclose(model.probabilities(CORE + free, X), expected, rtol=1e-12)
    bound = model.bind(["level"])
    assert bound.parameter_names == ("intercept", "level", *names)
    assert bound.bounds == ((-np.inf, np.inf),) * 2 + ((0.0, 1.0),) * len(names)
    assert model.n_parameters(X) == 2 + len(names)


def test_defaults_are_a_two_alternative_task():
    model = Psychometric()
    assert (model.core, model.guess, model.lapse) == (Logistic(), 0.5, "free")


def test_rates_of_zero_leave_the_core():
    model = Psychometric(Probit(), guess=0.0, lapse=0.0)
    np.testing.assert_array_equal(model.probabilities(CORE, X), Probit().probabilities(CORE, X))
    np.testing.assert_allclose(
        model.logit_gradient(CORE, X), Probit().logit_gradient(CORE, X), rtol=1e-9
    )


@pytest.mark.parametrize(
    ("guess", "lapse"), [(0.0, 0.0), (1.0, 0.0), (0.0, 1.0), (1.0, 1.0), (0.7, 0.6), (0.1, 0.9)]
)
def test_all_free_rates_give_probabilities(guess, lapse):
    """Rates that add to more than one turn the curve around; none leaves [0, 1]."""
    model = Psychometric(guess="free", lapse="free")
    x = np.concatenate([X, [-1e3, 1e3]])
    P = model.probabilities([*CORE, guess, lapse], x)
    low, high = sorted([guess, 1 - lapse])
    assert low - 1e-15 <= P.min() <= P.max() <= high + 1e-15
    assert ((P >= 0) & (P <= 1)).all()
    np.testing.assert_array_equal(P[-2:], [guess, 1 - lapse])


@pytest.mark.parametrize("core", CORES, ids=lambda core: core.__name__)
@pytest.mark.parametrize("slope", [50.0, 1e3, 1e12])
def test_asymptotes(core, slope):
    """At its asymptotes the curve depends on the rates alone, and says so in its gradient."""
    model = Psychometric(core(), guess="free", lapse="free")
    theta = [0.0, slope, 0.25, 0.02]
    np.testing.assert_allclose(model.probabilities(theta, [-20.0, 20.0]), [0.25, 0.98], rtol=1e-15)
    gradient = model.logit_gradient(theta, [-20.0, 20.0])
    expected = [[0, 0, 1 / (0.25 * 0.75), 0], [0, 0, 0, -1 / (0.98 * 0.02)]]
    np.testing.assert_allclose(gradient, expected, rtol=1e-9, atol=1e-12)


def test_no_slope_of_its_own_where_guess_and_lapse_meet():
    model = Psychometric(guess=0.6, lapse=0.4)
    np.testing.assert_array_equal(model.logit_gradient(CORE, X), np.zeros((13, 2)))
    np.testing.assert_allclose(model.probabilities(CORE, X), 0.6, rtol=1e-15)


def test_bind_reaches_the_core_of_a_new_model():
    model = Psychometric(Logistic(intercept=False))
    assert model.bind(["level"]).core == Logistic(False, ("level",))
    assert model.core == Logistic(intercept=False)
    with pytest.raises(InvalidValueError, match="depend on the columns of X"):
        _ = model.parameter_names


@pytest.mark.parametrize(
    ("model", "theta", "message"),
    [
        (Psychometric(), [0, 1, 1.5], "must have a lapse between 0 and 1. Got 1.5 instead"),
        (
            Psychometric(guess="free"),
            [0, 1, -0.1, 0],
            "must have a guess between 0 and 1. Got -0.1",
        ),
        (
            Psychometric(guess="free"),
            [0, 1, 0, -0.1],
            "must have a lapse between 0 and 1. Got -0.1",
        ),
        (Psychometric(LaplaceMixture()), [2, 1, 0.1], "must have a p between 0 and 1. Got 2"),
        (
            Psychometric(Function(lambda th, x: th[0] + 0 * x, ["rate"], [(0, 1)])),
            [3, 0.1],
            "must have a rate between 0 and 1. Got 3",
        ),
        (Psychometric(), [0, 1], r"must have shape \(3,\) or \(T, 3\). Got \(2,\) instead"),
    ],
)
def test_theta_outside_the_bounds(model, theta, message):
    with pytest.raises(InvalidValueError, match=f"The 'theta' parameter {message}"):
        model.probabilities(theta, X)


@pytest.mark.parametrize("name", ["guess", "lapse"])
@pytest.mark.parametrize(
    "rate", [-0.1, 1.1, np.nan, "half", None, 0.5j, [0.5], np.array([0.1, 0.2])], ids=repr
)
def test_rates_that_are_no_rates(name, rate):
    message = f"'{name}' parameter must be between 0 and 1, or 'free'. Got .*instead"
    with pytest.raises(InvalidValueError, match=message):
        Psychometric(**{name: rate})


@pytest.mark.parametrize("core", ["logistic", Logistic, None])
def test_core_that_is_no_model(core):
    with pytest.raises(InvalidTypeError, match="'core' parameter must be a model"):
        Psychometric(core)


def test_region_with_a_free_lapse_rate():
    level = np.repeat([-2.0, -1.0, 0.0, 1.0, 2.0], 2)
    y = np.column_stack([[11, 10, 12, 13, 15, 16, 18, 18, 19, 20], [9, 10, 8, 7, 5, 4, 2, 2, 1, 0]])
    region = er.ConfidenceRegion(Psychometric(), n_resamples=99, rng=0).fit(level, y)
    assert region.parameter_names_ == ("intercept", "x", "lapse")
    np.testing.assert_array_equal(
        region.contains([[0.0, 1.3, 0.01], [0.0, -1.3, 0.01], [0.0, 1.3, 0.9]]),
        [True, False, False],
    )
