"""Curvature against (e₃ᵀ I⁻¹ s)² written out, and what it sees that the score does not."""

import numpy as np
import pytest
from scipy.optimize import fsolve
from scipy.special import expit, logit

import exactregion as er
from exactregion.data.sample import Sample
from exactregion.engine import PreparedStatistic, statistics_of
from exactregion.models import Recalibration
from exactregion.ranking import rank_of
from exactregion.resampling import Draws, Resampling, fresh_entropy
from exactregion.statistics import Candidates, Curvature, Score

RNG = np.random.default_rng(0)
N = 24
P = RNG.integers(20, 237, N) / 256
SUCCESSES = RNG.integers(0, 2, (11, N))


def formula(successes, p, trials):
    """(e₃ᵀ I⁻¹ s)² up to the length of I⁻¹ e₃, whose largest entry is made one."""
    s, information = np.zeros((len(successes), 3)), np.zeros((3, 3))
    for j in range(len(p)):
        if not 0 < p[j] < 1:
            continue
        g = np.array([1.0, logit(p[j]), logit(p[j]) ** 2])
        information += trials[j] * p[j] * (1 - p[j]) * np.outer(g, g)
        for i in range(len(successes)):
            s[i] += g * (successes[i, j] - trials[j] * p[j])
    direction = np.linalg.inv(information)[:, 2]
    return (s @ (direction / np.abs(direction).max())) ** 2


def agrees(Z, expected):
    return np.allclose(Z, expected, rtol=1e-6, atol=1e-6 * expected.mean())


def test_labels(values_of):
    Z = values_of(Curvature(), P, SUCCESSES, P)
    assert agrees(Z, formula(SUCCESSES, P, np.ones(N)))


def test_counts(values_of):
    trials = RNG.integers(0, 6, N)
    successes = RNG.integers(0, trials + 1, (11, N))
    Z = values_of(Curvature(), P, successes, P, trials=trials)
    assert agrees(Z, formula(successes, P, trials))


def test_inputs_do_not_matter_only_predictions_do(values_of):
    X = RNG.normal(size=(N, 3))
    np.testing.assert_allclose(
        values_of(Curvature(), X, SUCCESSES, P), values_of(Curvature(), P, SUCCESSES, P), rtol=1e-9
    )


def test_certainties_add_nothing(values_of):
    """Where the logit is infinite, the gradient counts as zero."""
    p = P.copy()
    p[[2, 5, 9]] = [0.0, 1.0, 1.0]
    Z = values_of(Curvature(), np.arange(N), SUCCESSES, p)
    assert agrees(Z, formula(SUCCESSES, p, np.ones(N)))
    assert np.isfinite(Z).all()


@pytest.mark.parametrize(
    "levels", [[0.3], [0.5], [0.999], [0.2, 0.7], [0.1, 0.9], [0.0, 1.0], [0.0, 0.4, 1.0]]
)
def test_no_curve_without_three_different_predictions(values_of, levels):
    p = np.resize(levels, N).astype(float)
    assert not values_of(Curvature(), np.arange(N), SUCCESSES, p).any()


def test_three_different_predictions_are_enough(values_of):
    p = np.resize([0.25, 0.5, 0.875], N)
    Z = values_of(Curvature(), np.arange(N), SUCCESSES, p)
    assert (Z > 0).any()
    assert agrees(Z, formula(SUCCESSES, p, np.ones(N)))


def test_equal_predictions_leave_all_to_the_seat():
    y = RNG.random(40) < 0.5
    result = er.calibration_test(y, np.full(40, 0.5), statistic="curvature", rng=0, n_resamples=39)
    assert result.statistic == 0
    assert not result.null_distribution.any()


@pytest.mark.parametrize("seed", range(3))
def test_mirrored_predictions_and_outcomes_tie(values_of, seed):
    """l² does not know the sign of l: failures of 1 - p are successes of p."""
    rng = np.random.default_rng(seed)
    k = rng.integers(0, 2, (5, N))
    p = rng.integers(20, 237, N) / 256
    np.testing.assert_allclose(
        values_of(Curvature(), np.arange(N), k, p),
        values_of(Curvature(), np.arange(N), 1 - k, 1 - p),
        rtol=1e-6,
        atol=1e-9,
    )


def bent(n, seed, curve=0.3):
    """Predictions, and outcomes whose curve bends with no shift and no stretch on the whole."""
    rng = np.random.default_rng(seed)
    p = expit(rng.normal(scale=1.5, size=n))
    score = logit(p)

    def truth(shift, stretch):
        return expit(shift + stretch * score + curve * score**2)

    def unexplained(at):
        left = truth(*at) - p
        return left.sum(), (left * score).sum()

    return p, rng.random(n) < truth(*fsolve(unexplained, (0.0, 1.0)))


@pytest.mark.parametrize("seed", range(3))
def test_it_finds_a_bend_that_the_score_misses(seed):
    p, y = bent(800, seed)
    pvalues = {
        name: er.calibration_test(y, p, statistic=name, n_resamples=199, rng=0).pvalue
        for name in ("curvature", "score")
    }
    assert pvalues["curvature"] <= 0.01
    assert pvalues["score"] > 0.05


def test_it_leaves_shift_and_stretch_to_the_score():
    rng = np.random.default_rng(0)
    p = expit(rng.normal(size=600))
    y = rng.random(600) < expit(0.5 + 1.3 * logit(p))
    pvalues = {
        statistic: er.calibration_test(y, p, statistic=statistic, n_resamples=199, rng=0).pvalue
        for statistic in (Curvature(), Score())
    }
    assert pvalues[Score()] <= 0.01
    assert pvalues[Curvature()] > 0.05


@pytest.mark.parametrize("kind", ["labels", "counts"])
def test_rows_in_pieces_have_the_rank_of_rows_in_memory(tmp_path, kind):
    p, y = bent(66_000, 0, curve=0.01)
    if kind == "counts":
        y = np.column_stack([2 * y, 1 - y])
    np.save(tmp_path / "p.npy", p)
    np.save(tmp_path / "y.npy", y)
    mapped = (np.load(tmp_path / f"{name}.npy", mmap_mode="r") for name in "yp")
    streamed = er.calibration_test(*mapped, statistic="curvature", n_resamples=19, rng=0)
    sample, draws = Sample.from_data(p, y), Draws(19, fresh_entropy(0))
    family = Recalibration(), np.array([[0.0, 1.0]])
    in_order = p[sample.inputs.order][None]
    candidates = Candidates(sample.inputs, in_order, sample.is_counts, *family)
    prepared = PreparedStatistic.of(Curvature(), sample.inputs, 20)
    Z = statistics_of(candidates, Resampling(sample, 19, draws.entropy), prepared)[0]
    assert streamed.rank == rank_of(Z, draws.seat)
    assert streamed.statistic > 0
    np.testing.assert_array_equal(streamed.null_distribution, np.delete(Z, draws.seat))
