"""Pictures of calibration belts."""

import numpy as np
import pytest
from scipy.special import expit, logit
from sklearn.linear_model import LogisticRegression
from support.pictures import legend_texts, notes

import exactregion as er
from exactregion.plotting import BeltDisplay

RNG = np.random.default_rng(6)
P = RNG.uniform(0.02, 0.98, size=90)
Y = RNG.uniform(size=90) < P


@pytest.fixture(scope="module")
def belt():
    return er.calibration_belt(Y, P, n_resamples=39, rng=0)


@pytest.fixture(scope="module")
def shifted():
    return er.calibration_belt(Y, expit(logit(P) - 2), n_resamples=39, rng=0)


def test_belt_and_histogram(belt):
    display = belt.plot()
    *texts, last = legend_texts(display.ax_)
    belt_words = ["95% belt, simultaneous", "estimate", "observed, 95% exact limits"]
    assert texts == ["calibrated", *belt_words]
    assert last.startswith("within ±0.")
    assert last.endswith(" everywhere")
    assert display.ax_.get_title(loc="left") == (
        f"Calibration: exact p-value {belt.pvalue:.4g} (n = 90)"
    )
    assert display.histogram_ax_.get_xlabel() == "predicted probability"
    heights = np.array([patch.get_height() for patch in display.histogram_ax_.patches])
    assert heights[heights > 0].sum() == Y.sum()
    assert -heights[heights < 0].sum() == (~Y).sum()
    assert np.array_equal(display.line_.get_ydata(), belt.estimate)


def test_departures_are_marked(shifted):
    display = shifted.plot()
    assert "outside the belt" in legend_texts(display.ax_)
    assert "are too low" in notes(display.ax_)[0]


def test_on_given_axes(belt, ax):
    display = belt.plot(ax=ax)
    assert display.ax_ is ax
    assert display.histogram_ax_ is None
    assert ax.get_xlabel() == "predicted probability"


def test_empty_belt_draws_diagonal_and_points():
    p = np.tile(np.linspace(0.02, 0.98, 60), 3)
    display = BeltDisplay.from_predictions(
        (p > 0.33) & (p < 0.66), p, statistic="discrepancy", n_resamples=39, rng=0
    )
    assert legend_texts(display.ax_) == ["calibrated", "observed, 95% exact limits"]
    assert "empty" in notes(display.ax_)[0]


def test_from_estimator_uses_the_positive_class():
    X = RNG.normal(size=(160, 1))
    y = np.where(RNG.uniform(size=160) < expit(X[:, 0]), "yes", "no")
    classifier = LogisticRegression().fit(X[:80], y[:80])
    display = BeltDisplay.from_estimator(
        classifier, X[80:], y[80:], pos_label="no", n_resamples=19, rng=0, confidence_level=0.9
    )
    assert np.allclose(display.y_prob, classifier.predict_proba(X[80:])[:, 0])
    assert display.successes.sum() == (y[80:] == "no").sum()


def test_style_of_the_belt(belt):
    display = belt.plot(color="green")
    assert np.allclose(display.band_.get_facecolor()[0, :3], (0, 0.5, 0), atol=0.01)
