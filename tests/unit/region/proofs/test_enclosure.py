"""Bounds of ranks over boxes: no θ in a box may have a rank outside them."""

import numpy as np
import pytest

import exactregion as er
from exactregion.engine import PreparedStatistic
from exactregion.ranking import AcceptedRanks, rank_of
from exactregion.region.proofs.enclosure import Boxes, Enclosure
from exactregion.region.proofs.inputs import can_enclose
from exactregion.region.ratios import LinearRatios
from exactregion.region.window import likely_parameters, window_at
from exactregion.statistics import Combined, Discrepancy, Score
from exactregion.statistics.focused import Focused

STATISTICS = [
    "combined",
    "score",
    "discrepancy",
    Combined(Score(), Discrepancy(bandwidth=0.3), weights=(1, 2)),
]
BOXES, POINTS = 40, 16


def random_region(rng):
    """A small data set of some kind, with a region that accepts no more than the middle ranks."""
    n, columns, m = int(rng.integers(3, 60)), int(rng.integers(1, 4)), int(rng.choice([20, 100]))
    X = rng.normal(size=(n, columns))
    kind = rng.choice(["plain", "ties", "units", "recalibration"])
    if kind == "ties":
        X = np.round(X)
    if kind == "units":
        X = X * rng.choice([1e-3, 1.0, 1e3], size=columns) + rng.choice([0.0, 100.0])
    score = (X - X.mean(axis=0)) / np.maximum(X.std(axis=0), 1e-9)
    p = 1 / (1 + np.exp(-rng.normal() - score @ rng.normal(size=columns)))
    link = rng.choice([er.models.Logistic, er.models.Probit, er.models.CLogLog])
    model = link(intercept=columns < 3)
    if kind == "recalibration":
        model, X = er.models.Recalibration(), p
    y = (rng.random(n) < p).astype(int)
    if rng.random() < 0.3:
        trials = rng.integers(0, 7, size=n)
        trials[0] = 3
        successes = rng.binomial(trials, p)
        y = np.column_stack([successes, trials - successes])
    return er.ConfidenceRegion(
        model,
        statistic=STATISTICS[rng.integers(len(STATISTICS))],
        n_resamples=m - 1,
        confidence_level=0.9,
        pos_label=None if y.ndim == 2 else 1,
        rng=int(rng.integers(2**31)),
    ).fit(X, y)


@pytest.mark.parametrize("seed", range(30))
def test_ranks_stay_within_their_bounds(seed):
    rng = np.random.default_rng([30, seed])
    fitted = random_region(rng).fitted_
    window = window_at(fitted.model, fitted.sample, likely_parameters(fitted.model, fitted.sample))
    d, m = len(window.origin), fitted.resampling.m
    number = random_number(rng, d) if rng.random() < 0.4 else None
    # with low = 2 no alternative is left out
    rule = Enclosure(fitted, window, AcceptedRanks(m, 2, m - 1), number)
    centre = rng.normal(size=(BOXES, d)) * 10.0 ** rng.uniform(-1, 1.8, size=(BOXES, 1))
    half = 10.0 ** rng.uniform(-4, 1.5, size=(BOXES, 1)) * rng.uniform(0.2, 1, size=(BOXES, d))
    boxes = Boxes(centre, half, [np.zeros((BOXES, m - 1), dtype=np.int8)])
    lowest, highest = rule.ranks(boxes, 0)

    share = rng.uniform(-1, 1, size=(BOXES, POINTS, d))
    share[:, : POINTS // 2] = np.sign(share[:, : POINTS // 2])  # corners
    theta = window.theta((centre[:, None] + share * half[:, None]).reshape(-1, d))
    prepared = None
    if number is not None:
        prepared = PreparedStatistic.of(Focused(number.gradient), fitted.sample.inputs, m)
    Z = fitted.statistics(theta, prepared)
    seat = fitted.resampling.seat
    ranks = rank_of(Z, seat).reshape(BOXES, POINTS)
    assert (lowest[:, None] <= ranks).all()
    assert (ranks <= highest[:, None]).all()
    assert ((highest - lowest) < m - 1).any()  # some boxes are told something

    others = np.delete(Z, seat, axis=1).reshape(BOXES, POINTS, m - 1)
    original = Z[:, seat].reshape(BOXES, POINTS, 1)
    is_below = np.where(np.arange(m - 1) < seat, others <= original, others < original)
    verdicts = boxes.verdicts[0][:, None]
    assert is_below[np.broadcast_to(verdicts == -1, is_below.shape)].all()
    # θ that make an observed outcome impossible have the last rank, which `highest` allows for
    assert not (is_below & np.isfinite(original) & (verdicts == 1)).any()


def random_number(rng, d):
    """A number that is linear in θ, or a ratio of such."""
    denominator = rng.normal(size=(1, d)) if rng.random() < 0.5 else None
    return LinearRatios(rng.normal(size=(1, d)), rng.normal(size=1), denominator)


def test_verdicts_of_a_box_hold_in_its_halves():
    fitted = er.ConfidenceRegion("logistic", rng=3).fit(*two_groups()).fitted_
    window = window_at(fitted.model, fitted.sample, likely_parameters(fitted.model, fitted.sample))
    rule = Enclosure(fitted, window, AcceptedRanks(1000, 2, 999))
    box = Boxes(np.array([[2.0, -1.0]]), np.full((1, 2), 0.25), [np.zeros((1, 999), np.int8)])
    lowest, highest = rule.ranks(box, 0)
    halves = box.halves()
    assert halves.half.tolist() == [[0.125, 0.25]] * 2
    assert halves.centre.tolist() == [[1.875, -1.0], [2.125, -1.0]]
    inner_lowest, inner_highest = rule.ranks(halves, 0)
    assert (inner_lowest >= lowest).all()
    assert (inner_highest <= highest).all()
    assert (inner_highest - inner_lowest).max() < (highest - lowest)[0]


def test_only_families_with_a_linear_predictor_are_enclosed():
    x, y = two_groups()
    for model, statistic, possible in [
        ("logistic", "combined", True),
        ("logistic", "score", True),
        ("logistic", "discrepancy", True),
        ("logistic", "embedding", False),
        ("logistic", "neighborhood", False),
        ("probit", "combined", True),
        ("cloglog", "score", True),
        (er.models.Psychometric(), "combined", False),
    ]:
        region = er.ConfidenceRegion(model, statistic=statistic, n_resamples=19, rng=0).fit(x, y)
        assert can_enclose(region.fitted_) is possible


def two_groups():
    x = np.linspace(-2, 2, 30)
    return x, (np.random.default_rng(5).random(30) < 1 / (1 + np.exp(-x))).astype(int)
