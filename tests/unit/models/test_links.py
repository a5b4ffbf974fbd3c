"""Logits of linear families as functions of the linear predictor."""

import numpy as np
import pytest
from scipy.special import logit

from exactregion.models import CLogLog, Logistic, Probit

MODELS = {"probit": Probit(), "cloglog": CLogLog()}


@pytest.mark.parametrize("name", MODELS)
def test_the_logit_is_that_of_the_inverse_link(name):
    model, eta = MODELS[name], np.linspace(-3, 1.5, 50)
    np.testing.assert_allclose(model.logit_of(eta), logit(model.inverse_link(eta)), rtol=1e-9)


@pytest.mark.parametrize("name", MODELS)
def test_slope_and_curvature_are_derivatives(name):
    model, eta, step = MODELS[name], np.linspace(-8, 3.5, 200), 1e-5
    slope = (model.logit_of(eta + step) - model.logit_of(eta - step)) / (2 * step)
    np.testing.assert_allclose(model.logit_slope(eta), slope, rtol=1e-6)
    curvature = (model.logit_slope(eta + step) - model.logit_slope(eta - step)) / (2 * step)
    np.testing.assert_allclose(model.logit_curvature(eta), curvature, rtol=1e-4, atol=1e-8)


@pytest.mark.parametrize("name", MODELS)
def test_the_curvature_increases(name):
    """Proofs over boxes take its values at the ends for its bounds."""
    curvature = MODELS[name].logit_curvature(np.linspace(-30, 4, 5000))
    assert (np.diff(curvature) >= -1e-12 * np.abs(curvature[1:])).all()


def test_the_logit_of_a_logistic_family_is_the_predictor():
    eta = np.linspace(-800, 800, 9)
    assert Logistic().logit_of(eta).tolist() == eta.tolist()
    assert Logistic().logit_curvature(eta) is None
