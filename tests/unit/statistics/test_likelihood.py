"""The likelihood ratio against a cover: its formula, and the islands that it removes."""

import numpy as np
import pytest
from scipy.stats import binom

import exactregion as er
from exactregion.data.sample import Sample
from exactregion.errors import InvalidTypeError, InvalidValueError
from exactregion.models.cover import clipped_logit, cover_of
from exactregion.statistics import Discrepancy, Likelihood, Ratio, Score
from exactregion.statistics.likelihood import MEMBERS

LEVELS = np.arange(-3.0, 4.0)
TRIALS = np.full(7, 40)
MODEL = er.models.Psychometric(er.models.Logistic(), guess=0.5, lapse="free")
THETA = (0.1, 1.2, 0.04)


def weibull(theta, x):
    scale, shape, lapse = theta
    return 0.5 + (0.5 - lapse) * -np.expm1(-((x / scale) ** shape))


def inputs_of(X, trials):
    return Sample.from_data(X, np.column_stack([trials, 0 * trials])).inputs


def test_formula(values_of):
    p = MODEL.bind(["x"]).probabilities(THETA, LEVELS)
    successes = np.random.default_rng(0).binomial(TRIALS, p, size=(9, 7))
    asked = {"trials": TRIALS, "family": (MODEL, THETA)}
    Z = values_of(Likelihood(), LEVELS, successes, p, **asked)
    score = values_of(Score(), LEVELS, successes, p, **asked)
    discrepancy = values_of(Discrepancy(), LEVELS, successes, p, **asked)
    usual = (4 / TRIALS.sum() ** 2) * (TRIALS * p * (1 - p)).sum()  # k(x, x) = 1
    model = MODEL.bind(["x"])
    others = model.probabilities(cover_of(model, inputs_of(LEVELS, TRIALS), MEMBERS), LEVELS)
    others = 1 / (1 + np.exp(-clipped_logit(others, TRIALS.sum())))
    ratios = binom.logpmf(successes[:, None], TRIALS, others).sum(axis=-1)
    ratios = ratios.max(axis=1) - binom.logpmf(successes, TRIALS, p).sum(axis=-1)
    expected = (score + 2 * np.maximum(ratios, 0)) / 3 + 0.3 * discrepancy / usual
    np.testing.assert_allclose(Z, expected, rtol=1e-3)
    Z = values_of(Ratio(), LEVELS, successes, p, **asked)
    np.testing.assert_allclose(Z, 2 * ratios / 3 + 0.3 * discrepancy / usual, rtol=1e-3, atol=2e-3)


def test_excludes_an_island_that_the_score_keeps():
    """The tutorial's data: at this θ twice the log-likelihood is 25.7 below its maximum."""
    answers = er.datasets.two_afc()
    y = np.column_stack([answers["n_correct"], answers["n_total"] - answers["n_correct"]])
    bounds = [(0.0005, 0.05), (0.2, 15), (0, 0.2)]
    family = er.models.Function(weibull, names=("scale", "shape", "lapse"), bounds=bounds)
    pvalue = {}
    for statistic in ("combined", "likelihood", "ratio"):
        region = er.ConfidenceRegion(family, statistic=statistic, n_resamples=199, rng=0)
        region = region.fit(answers["level"], y)
        pvalue[statistic] = region.pvalue([0.0047, 7.4, 0.042])
        assert region.contains([0.005, 3.5, 0.01])
    assert pvalue["combined"] > 0.1  # the control: without the ratio it is a member
    assert pvalue["likelihood"] < 0.01
    assert pvalue["ratio"] < 0.01


def test_members_lie_apart_and_in_bounds():
    theta = cover_of(MODEL.bind(["x"]), inputs_of(LEVELS, TRIALS), 64)
    assert theta.shape == (64, 3)
    assert ((theta[:, 2] >= 0) & (theta[:, 2] <= 1)).all()
    curves = MODEL.bind(["x"]).probabilities(theta, LEVELS)
    points = 2 * np.sqrt(TRIALS) * np.arcsin(np.sqrt(curves))
    distances = np.linalg.norm(points[:, None] - points, axis=-1)[np.triu_indices(64, 1)]
    assert distances.min() > 3


@pytest.mark.parametrize("shift", [0.0, 2000.0])
def test_every_curve_has_a_member_near(shift):
    """Whatever the units: years far from zero make intercept and slope depend on each other."""
    X = LEVELS / 3 + shift
    model = er.models.Logistic().bind(["x"])
    curves = model.probabilities(cover_of(model, inputs_of(X, TRIALS), 256), X)
    points = 2 * np.sqrt(TRIALS) * np.arcsin(np.sqrt(curves))
    rng = np.random.default_rng(0)
    slope = rng.uniform(-5, 5, 200)
    theta = np.column_stack([-slope * (shift + rng.uniform(-1, 1, 200)), slope])
    asked = 2 * np.sqrt(TRIALS) * np.arcsin(np.sqrt(model.probabilities(theta, X)))
    nearest = np.linalg.norm(asked[:, None] - points, axis=-1).min(axis=1)
    assert nearest.max() < 3


def test_order_of_rows_changes_nothing():
    rng = np.random.default_rng(0)
    X = rng.normal(size=30)
    y = rng.random(30) < 0.8
    order = rng.permutation(30)
    regions = [
        er.ConfidenceRegion(MODEL, statistic="likelihood", n_resamples=99, rng=3).fit(X[o], y[o])
        for o in (np.arange(30), order)
    ]
    assert regions[0].rank(THETA) == regions[1].rank(THETA)


def test_many_rows():
    """Members are compared by some of the rows, and counted in all."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=1000)
    y = rng.random(1000) < MODEL.bind(["x"]).probabilities(THETA, X)
    region = er.ConfidenceRegion(MODEL, statistic="likelihood", n_resamples=99, rng=0).fit(X, y)
    assert region.contains(region.estimate_)
    assert not region.contains([-40.0, 40.0, 0.1])


def test_errors():
    with pytest.raises(InvalidValueError, match="members"):
        Likelihood(members=0)
    with pytest.raises(InvalidValueError, match="Ratio must be an integer"):
        Ratio(members=0)
    with pytest.raises(InvalidValueError, match="family"):
        er.model_test(np.full(4, 0.5), np.arange(4.0), [0, 1, 0, 1], statistic="likelihood")
    region = er.ConfidenceRegion(MODEL, n_resamples=19, confidence_level=0.9, rng=0)
    region = region.fit(LEVELS, np.column_stack([TRIALS - 5, 0 * TRIALS + 5]))
    with pytest.raises(InvalidTypeError, match="distances"):
        region.goodness_of_fit(statistic="likelihood")


def test_saved(tmp_path):
    successes = np.array([18, 23, 19, 19, 22, 33, 31])
    y = np.column_stack([successes, TRIALS - successes])
    region = er.ConfidenceRegion(MODEL, statistic=Likelihood(members=32), n_resamples=99, rng=0)
    region.fit(LEVELS, y).save(tmp_path / "region.npz")
    again = er.load(tmp_path / "region.npz")
    assert again.rank(THETA) == region.rank(THETA)


def test_members_of_a_family_with_gradients_that_overflow():
    model = er.models.Psychometric(er.models.Probit(), guess="free", lapse=0.0).bind(["x"])
    cover = cover_of(model, inputs_of(1e3 * LEVELS, TRIALS), 64)
    assert len(cover) > 8
    assert np.isfinite(cover).all()
