"""Where a search starts, and the coordinates it moves in."""

from functools import cache

import numpy as np
import pytest
import statsmodels.api as sm

import exactregion as er
from exactregion.data.sample import Sample
from exactregion.region.window import Window, axes_from, information_at, likely_parameters


def test_likely_parameters_are_near_maximum_likelihood():
    data = er.datasets.spector()
    X, y = data[["GPA", "TUCE", "PSI"]], data["GRADE"]
    sample = Sample.from_data(X, y)
    model = er.models.Logistic().bind(X.columns)
    likely = likely_parameters(model, sample)
    fit = sm.Logit(y, sm.add_constant(X)).fit(disp=0)
    assert (np.abs(likely - fit.params.to_numpy()) < fit.bse.to_numpy()).all()
    expected = np.linalg.inv(information_at(model, sample, fit.params.to_numpy()))
    np.testing.assert_allclose(np.sqrt(np.diag(expected)), fit.bse, rtol=1e-6)


@pytest.mark.parametrize(
    "model",
    [er.models.Logistic(), er.models.Probit(), er.models.CLogLog()],
)
def test_separated_data_have_a_finite_start(model):
    x = np.array([-2.0, -1.0, -0.5, 0.5, 1.0, 2.0])
    bound = model.bind(["x"])
    theta = likely_parameters(bound, Sample.from_data(x, x > 0))
    assert np.isfinite(theta).all()
    assert theta[1] > 0
    assert np.abs(theta).max() < 100


def test_axes_of_a_singular_information_are_finite():
    axes = axes_from(np.diag([4.0, 0.0, 1.0]))
    assert np.isfinite(axes).all()
    assert np.linalg.matrix_rank(axes) == 3


def test_coordinates_invert_theta():
    rng = np.random.default_rng(0)
    free = np.array([[-np.inf, np.inf]] * 3)
    window = Window(rng.normal(size=3), rng.normal(size=(3, 3)), free)
    z = rng.normal(size=(5, 3))
    np.testing.assert_allclose(window.coordinates(window.theta(z)), z)


# --- where to start, near a step ----------------------------------------------------------------


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("core", [er.models.Logistic(), er.models.Probit()])
def test_the_start_of_near_step_data_is_modest(core, seed):
    """The likelihood of a free lapse rate climbs for ever towards a step."""
    rng = np.random.default_rng(seed)
    level = np.sort(rng.uniform(-2, 2, 40))
    correct = np.where(level > 0.1, True, rng.random(40) < 0.5)
    model = er.models.Psychometric(core, guess=0.5, lapse="free").bind(["level"])
    theta = likely_parameters(model, Sample.from_data(level, correct))
    assert np.isfinite(theta).all()
    assert np.abs(theta).max() < 1e4


@pytest.mark.parametrize("seed", [0, 1, 4])
def test_the_estimate_of_near_step_data_is_modest(seed):
    """Where nothing is left to learn about the slope, a step of a standard error has no end."""
    rng = np.random.default_rng(seed)
    level = np.repeat(np.arange(-3.0, 4.0), 8)
    correct = np.where(level > 0, True, rng.random(56) < 0.5)
    correct[-1] = False
    model = er.models.Psychometric(er.models.Logistic(), guess=0.5, lapse="free")
    region = er.ConfidenceRegion(model, n_resamples=19, rng=0).fit(level, correct)
    assert np.isfinite(region.estimate_).all()
    assert np.abs(region.estimate_).max() < 1e4
    assert 0 <= region.estimate_[2] <= 1
    assert region.status_ in ("unbounded", "disconnected")  # a step fits: never "bounded"


@cache
def in_units(power):
    rng = np.random.default_rng(0)
    x = rng.normal(size=60)
    y = rng.random(60) < 1 / (1 + np.exp(-x))
    region = er.ConfidenceRegion("logistic", n_resamples=19, confidence_level=0.9, rng=0)
    return region.fit(x * 2.0**power, y)


@pytest.mark.parametrize("power", [-900, -560, 560, 900])
def test_inputs_in_extreme_units(power):
    """Their squares overflow or vanish; a search must find what it finds in usual units."""
    usual, other, unit = in_units(0), in_units(power), 2.0**power
    np.testing.assert_allclose(other.estimate_ * [1, unit], usual.estimate_, rtol=1e-9)
    expected = usual.intervals(certify=False)[["lower", "upper"]].to_numpy()
    found = other.intervals(certify=False)[["lower", "upper"]].to_numpy() * [[1], [unit]]
    np.testing.assert_allclose(found, expected, atol=0.5)
