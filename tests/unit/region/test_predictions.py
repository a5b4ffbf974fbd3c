"""Predictions at new inputs, and bands that do not depend on which inputs are asked for."""

import numpy as np
import pandas as pd
import pytest

import exactregion as er
from exactregion.models import Psychometric

FLIGHTS = er.datasets.oring()
MOTHS = er.datasets.budworm().assign(alive=lambda d: d["ntotal"] - d["ndead"])
TWO_AFC = er.datasets.two_afc()


@pytest.fixture(scope="module")
def moths():
    formula = "ndead + alive ~ sex + np.log2(dose)"
    return er.ConfidenceRegion.from_formula(formula, MOTHS, n_resamples=39, rng=0)


@pytest.fixture(scope="module")
def flights():
    return er.ConfidenceRegion.from_formula("y ~ temp", FLIGHTS, n_resamples=99, rng=0)


def test_a_row_for_each_row_with_its_index(moths):
    new = pd.DataFrame(
        {"sex": ["male", "female", "male"], "dose": [4, 64, 4]}, index=["a", "b", "c"]
    )
    table = moths.predict(new)
    assert list(table.index) == ["a", "b", "c"]
    assert table.loc["a"].equals(table.loc["c"])
    theta = moths.maximum_likelihood_
    logit = theta[0] + theta[1] * np.array([1, 0, 1]) + theta[2] * np.log2(new["dose"])
    np.testing.assert_allclose(table["estimate"], 1 / (1 + np.exp(-logit)))
    together, alone = moths.band(new), moths.band(new, joint=False)
    np.testing.assert_array_equal(table["simultaneous_lower"], together.lower)
    np.testing.assert_array_equal(table["simultaneous_upper"], together.upper)
    assert (table["simultaneous_certified"] == together.certified).all()
    np.testing.assert_array_equal(table["lower"], alone.lower)
    np.testing.assert_array_equal(table["upper"], alone.upper)


@pytest.mark.parametrize(("dose", "outside"), [(1, False), (32, False), (0.5, True), (33, True)])
def test_what_lies_outside_the_data_is_marked(moths, dose, outside):
    table = moths.predict(pd.DataFrame({"sex": ["male"], "dose": [dose]}))
    assert table["extrapolates"].tolist() == [outside]


def test_arrays_are_predicted_too():
    region = er.ConfidenceRegion("logistic", n_resamples=39, rng=0)
    region.fit(FLIGHTS["temp"].to_numpy(), FLIGHTS["y"])
    table = region.predict([31.0, 53.0])
    assert table["extrapolates"].tolist() == [True, False]
    assert list(table.index) == [0, 1]


# --- one input does not know of the others ------------------------------------------------------


def assert_alone_as_together(region, X, rows, **options):
    band = region.band(X, **options)
    for row in rows:
        alone = region.band(X[row : row + 1], **options)
        assert alone.lower[0] == band.lower[row]
        assert alone.upper[0] == band.upper[row]
    some = region.band(X[::-2], **options)
    np.testing.assert_array_equal(some.lower, band.lower[::-2])
    np.testing.assert_array_equal(some.upper, band.upper[::-2])


@pytest.mark.parametrize("certify", [None, False])
def test_proven_and_searched_bands(flights, certify):
    X = pd.DataFrame({"temp": np.linspace(31, 85, 37)})
    assert_alone_as_together(flights, X, (0, 9, 36), certify=certify)
    assert flights.band(X, certify=certify).certified == (certify is None)


def test_bands_of_three_parameters(moths):
    X = pd.DataFrame({"sex": "male", "dose": np.geomspace(1, 32, 35)})
    assert_alone_as_together(moths, X, (0, 33))


def test_bands_of_separated_data():
    x = np.arange(8.0)
    region = er.ConfidenceRegion("logistic", n_resamples=19, rng=0).fit(x[:, None], x > 3)
    assert_alone_as_together(region, np.array([[-1.0], [4.0], [9.0]]), (0,))


def test_bands_of_a_curved_family():
    few = TWO_AFC[::3]
    counts = np.column_stack([few["n_correct"], few["n_total"] - few["n_correct"]])
    region = er.ConfidenceRegion(Psychometric(), n_resamples=19, rng=0)
    region.fit(few[["level"]], counts)
    assert_alone_as_together(region, np.linspace(0.001, 0.01, 4)[:, None], (1,))


def test_no_member_leaves_a_proven_band(flights):
    outline = flights.outline()
    z = np.random.default_rng(3).standard_normal((4000, 2)) * 2.5
    theta = outline.window.theta(z)
    theta = theta[flights.contains(theta)]
    assert len(theta) > 500
    temp = np.linspace(20, 95, 60)
    band = flights.band(pd.DataFrame({"temp": temp}))
    P = flights.model_.probabilities(theta, temp)
    assert band.certified
    assert (band.lower <= P.min(axis=0)).all()
    assert (P.max(axis=0) <= band.upper).all()
