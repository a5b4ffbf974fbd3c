"""CurveDisplay: the curve, its data, its threshold, and what lies outside the data."""

import numpy as np
import pandas as pd
import pytest
from support.pictures import legend_texts

import exactregion as er
from exactregion.errors import InvalidValueError
from exactregion.models import Psychometric
from exactregion.plotting import CurveDisplay

FLIGHTS = er.datasets.oring()
MOTHS = er.datasets.budworm().assign(alive=lambda d: d["ntotal"] - d["ndead"])
TWO_AFC = er.datasets.two_afc()


@pytest.fixture(scope="module")
def moths():
    formula = "ndead + alive ~ sex + np.log2(dose)"
    return er.ConfidenceRegion.from_formula(formula, MOTHS, n_resamples=39, rng=0)


@pytest.fixture(scope="module")
def flights():
    return er.ConfidenceRegion.from_formula("y ~ temp", FLIGHTS, n_resamples=39, rng=0)


def test_curve_band_and_threshold(flights):
    display = flights.plot("curve")
    assert isinstance(display, CurveDisplay)
    band = flights.band(pd.DataFrame({"temp": display.x}))
    np.testing.assert_array_equal(display.lower, band.lower)
    assert (display.x[0], display.x[-1]) == (53, 81)
    first, second, third, fourth = legend_texts(display.ax_)
    assert (first[-4:], second, third) == ("band", "maximum likelihood", "data (n = 23)")
    assert fourth.startswith("P = 0.5: 6")
    assert display.threshold.estimate == pytest.approx(64.79, abs=0.01)
    heights = np.interp(display.threshold.estimate, display.x, display.estimate)
    assert heights == pytest.approx(0.5, abs=1e-3)


def test_the_levels_that_are_drawn(moths):
    display = moths.plot("curve", at={"sex": "male"})
    assert display.is_logarithmic
    assert display.ax_.get_xscale() == "log"
    assert display.trials.tolist() == [20] * 6
    assert display.successes.tolist() == MOTHS.query("sex == 'male'")["ndead"].tolist()
    with pytest.raises(InvalidValueError, match=r"'at' .* level of 'sex'"):
        moths.plot("curve")


def test_guess_and_lapse_levels():
    few = TWO_AFC[::3]
    counts = np.column_stack([few["n_correct"], few["n_total"] - few["n_correct"]])
    region = er.ConfidenceRegion(Psychometric(lapse=0.02), n_resamples=19, rng=0)
    display = region.fit(few[["level"]], counts).plot("curve")
    assert display.limits == {"guess": 0.5, "1 − lapse": 0.98}
    assert display.height == pytest.approx(0.74)
    assert [text.get_text() for text in display.ax_.texts] == ["guess 0.5", "1 − lapse 0.98"]
    assert legend_texts(display.ax_)[-1].startswith("threshold: ")


def test_what_lies_outside_the_data_is_dotted(flights):
    display = flights.plot("curve", x=(31, 90))
    assert "outside the data" in legend_texts(display.ax_)
    np.testing.assert_array_equal(display.line_.get_xdata()[[0, -1]], [53, 81])
    band = flights.band(pd.DataFrame({"temp": np.linspace(40, 60, 5)}))
    ax = band.plot(data=(FLIGHTS["temp"], FLIGHTS["y"])).ax_
    assert "outside the data" in legend_texts(ax)
    assert "outside the data" not in legend_texts(flights.plot("curve").ax_)


def test_a_curve_without_a_single_threshold():
    region = er.ConfidenceRegion.from_formula("y ~ poly(temp, 2)", FLIGHTS, n_resamples=19, rng=0)
    assert region.plot("curve").threshold is None
    with pytest.raises(InvalidValueError, match="as it is or by its logarithm"):
        region.plot("curve", probability=0.5)


def test_many_labels_at_few_inputs_are_drawn_as_shares():
    x = np.repeat([1.0, 2.0, 3.0, 4.0], 10)
    y = np.random.default_rng(0).random(40) < x / 5
    region = er.ConfidenceRegion("logistic", n_resamples=19, rng=0).fit(x, y)
    display = CurveDisplay.from_region(region, draw=False)
    assert display.trials.tolist() == [10] * 4
    assert display.successes.tolist() == [int(y[x == one].sum()) for one in (1, 2, 3, 4)]


@pytest.mark.parametrize("x", [(3, 3), (5, 1), 4, (0, np.inf)])
def test_the_range_is_checked(flights, x):
    with pytest.raises(InvalidValueError, match=r"'x' .* must be a pair"):
        flights.plot("curve", x=x)
