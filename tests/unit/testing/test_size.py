"""Descriptive numbers of miscalibration."""

import numpy as np
import pytest
from scipy.special import expit, logit
from scipy.stats import norm
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import brier_score_loss, log_loss

import exactregion as er

RNG = np.random.default_rng(4)
P = RNG.uniform(0.02, 0.98, size=600)
Y = RNG.random(600) < expit(0.5 + 0.6 * logit(P))
SIZE = er.calibration_size(Y, P)


def test_scores_and_their_parts():
    assert SIZE.brier == pytest.approx(brier_score_loss(Y, P))
    assert SIZE.log_loss == pytest.approx(log_loss(Y, P))
    for name in ("brier", "log_loss"):
        miscalibration, discrimination, uncertainty = (
            getattr(SIZE, f"{name}_{part}")
            for part in ("miscalibration", "discrimination", "uncertainty")
        )
        assert miscalibration - discrimination + uncertainty == pytest.approx(getattr(SIZE, name))
        assert miscalibration > 0
        assert discrimination > 0
    assert SIZE.brier_uncertainty == pytest.approx(Y.mean() * (1 - Y.mean()))


def test_level_and_slope():
    assert SIZE.difference == pytest.approx(Y.mean() - P.mean())
    fitted = LogisticRegression(C=1e9, tol=1e-10).fit(logit(P)[:, None], Y)
    assert SIZE.slope == pytest.approx(fitted.coef_[0, 0], rel=1e-3)
    assert SIZE.intercept == pytest.approx(fitted.intercept_[0], rel=1e-3)


def test_binned_error_is_that_of_the_definition():
    bins = np.minimum((15 * P).astype(int), 14)
    parts = [(bins == b).mean() * abs(Y[bins == b].mean() - P[bins == b].mean()) for b in set(bins)]
    assert SIZE.ece == pytest.approx(sum(parts))


def test_smooth_error_is_that_of_the_definition():
    """The kernel summed over reflections, the integral over a fine grid."""
    sigma, t = SIZE.smooth_ece, (np.arange(2000) + 0.5) / 2000
    images = np.concatenate([P + 2 * k for k in (-1, 0, 1)] + [2 * k - P for k in (0, 1, 2)])
    residuals = np.tile(Y - P, 6) / len(P)
    smoothed = norm.pdf(t[:, None], images, sigma) @ residuals
    assert np.abs(smoothed).mean() == pytest.approx(sigma, rel=5e-3)


def test_counts_are_labels_put_together():
    p = P.round(1)
    values = np.unique(p)
    counts = np.array([[Y[p == v].sum(), (~Y[p == v]).sum()] for v in values])
    together, apart = er.calibration_size(counts, values), er.calibration_size(Y, p)
    assert together.to_dict() == pytest.approx(apart.to_dict())


@pytest.mark.parametrize(
    ("y", "p"),
    [([1, 1, 0], [0.9, 0.8, 0.2]), ([1], [0.4]), ([1, 0], [0.5, 0.5]), ([1, 0], [1.0, 0.0])],
)
def test_slopes_that_are_not_there(y, p):
    size = er.calibration_size(y, p)
    assert np.isnan(size.slope)
    assert size.to_dict()["slope"] is None
    assert 0 <= size.smooth_ece <= 1


def test_a_contradicted_certainty_has_an_infinite_loss():
    assert er.calibration_size([1, 0], [0.0, 0.5]).log_loss == np.inf


def test_predictions_that_are_right_have_nothing_to_remove():
    size = er.calibration_size([1, 0, 1], [1.0, 0.0, 1.0])
    assert (size.brier, size.ece, size.smooth_ece) == (0, 0, 0)


def test_rows_in_chunks_have_about_the_same_size(tmp_path):
    rng = np.random.default_rng(0)
    p = rng.random(70_000)
    y = rng.random(70_000) < p**1.3
    path = tmp_path / "p.npy"
    np.save(path, p)
    mapped = np.load(path, mmap_mode="r")
    result = er.calibration_test(y, mapped, n_resamples=9, rng=0)
    exact = er.calibration_size(y, p)
    assert len(result.question.trials) <= 1000
    for name, value in exact.to_dict().items():
        assert getattr(result.size, name) == pytest.approx(value, abs=2e-3)
    assert result.misfit.kind.startswith("level")
