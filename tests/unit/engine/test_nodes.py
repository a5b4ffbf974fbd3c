"""Nodes stand for all rows of one input: sums are those of the rows, labels stay exact."""

import numpy as np
import pytest
from scipy.special import expit

import exactregion as er
from exactregion.engine import nodes
from exactregion.engine.nodes import ORDER, Cells, Nodes

RNG = np.random.default_rng(0)
N = 20_000
UNITS = 2**30
"""Units in 1: rounding to half units makes no difference."""

INPUTS = {
    "normal": RNG.normal(size=N),
    "heavy tails": RNG.standard_cauchy(N),
    "skewed": np.exp(2 * RNG.normal(size=N)),
    "few values": RNG.integers(0, 7, size=N) / 3,
    "one value": np.full(N, 2.5),
    "two values": np.where(np.arange(N) < 3, 0.0, 1.0),
    "years": 2000 + 10 * RNG.normal(size=N),
    "large unit": 1e150 * RNG.normal(size=N),
    "small unit": 1e-150 * RNG.normal(size=N),
}


def design_of(x, powers):
    return np.stack([x**power for power in powers], axis=-1)


def cells_of(design):
    return Cells.of(design[::7], lambda: np.array_split(design, 11))


def near(x, powers, number=20):
    """Draw θ of plausible curves: moderate at the middle, steep up to 2 per quartile distance."""
    low, middle, high = np.quantile(x, [0.25, 0.5, 0.75])
    spread = (high - low) or abs(middle)
    theta = RNG.uniform(-2, 2, size=(number, len(powers)))
    with np.errstate(divide="ignore", under="ignore"):
        theta /= spread ** np.array(powers)
    if 0 in powers:
        theta[:, 0] -= theta[:, 1:] @ middle ** np.array(powers[1:])
    return theta


@pytest.mark.parametrize("powers", [(1,), (0, 1), (0, 1, 2), (0, 1, 2, 3)], ids=str)
@pytest.mark.parametrize("kind", INPUTS)
def test_sums_are_those_of_all_rows(kind, powers):
    x = INPUTS[kind]
    with np.errstate(over="ignore", under="ignore"):
        design = design_of(x, powers)
    cells = cells_of(design)
    if not np.isfinite(design).all():
        return
    columns, products = RNG.normal(size=(N, 3)), RNG.normal(size=(N, 2)) + 1
    values = (x, UNITS * columns, products)
    parts = zip(*(np.array_split(each, 11) for each in values), strict=True)
    found = Nodes.of(cells, parts)
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        theta = near(x, powers)
        theta = theta[np.isfinite(theta).all(axis=1)]
        theta = theta[cells.suit(theta)]
    if powers == (0, 1) and kind in ("normal", "few values", "years"):
        assert len(theta) > 5
    centre, information = found.at(theta)
    for one, expected, varies in zip(theta, centre, information, strict=True):
        p = expit(design @ one)
        assert 1e-14 < p.min() <= p.max() < 1 - 1e-14
        # errors of 1e-9 per row, of either sign, and sums in half units
        np.testing.assert_allclose(expected / UNITS, p @ columns, rtol=0, atol=1e-9 * N)
        np.testing.assert_allclose(varies, (p * (1 - p)) @ products, rtol=0, atol=1e-9 * N)


def test_rows_of_sparse_cells_are_nodes_themselves():
    x = np.concatenate([RNG.uniform(size=5000), [50.0, -70.0, 50.0, 1e6]])
    cells = cells_of(design_of(x, (0, 1)))
    assert sorted(cells.scores[ORDER * len(cells.crowded) :]) == [-70.0, 50.0, 50.0, 1e6]
    first, weights = cells.weights(x[-4:], 0)
    np.testing.assert_array_equal(cells.scores[first], x[-4:])
    np.testing.assert_array_equal(weights, np.eye(ORDER)[[0] * 4])


def test_the_same_bits_alone_and_in_a_batch():
    x = INPUTS["normal"]
    cells = cells_of(design_of(x, (0, 1)))
    found = Nodes.of(cells, [(x, RNG.normal(size=(N, 40)), RNG.normal(size=(N, 9)))])
    theta = near(x, (0, 1))
    for whole, alone in zip(
        found.at(theta), zip(*map(found.at, theta[:, None]), strict=True), strict=True
    ):
        np.testing.assert_array_equal(whole, np.concatenate(alone))


def test_the_centre_of_mirror_images_is_exact():
    """Sums times 1/2 are multiples of half a unit: labels and their opposites are as far off."""
    x, columns = INPUTS["normal"], RNG.integers(-2000, 2000, size=(N, 5)).astype(float)
    found = Nodes.of(cells_of(design_of(x, (0, 1))), [(x, columns, np.zeros((N, 0)))])
    np.testing.assert_array_equal(found.at(np.zeros((1, 2)))[0][0], columns.sum(axis=0) / 2)


def test_theta_that_do_not_suit():
    """Curves too steep for the cells, and those that are all but certain at some row."""
    cells = cells_of(design_of(INPUTS["normal"], (0, 1)))
    spread = np.subtract(*np.quantile(INPUTS["normal"], [0.75, 0.25]))
    theta = [[0.3, 1.0], [0.0, 17 / spread], [33.0, 0.1], [np.inf, 0.0], [np.nan, 1.0]]
    np.testing.assert_array_equal(cells.suit(np.array(theta)), [True, False, False, False, False])


def test_designs_that_are_not_powers_of_one_number():
    x = INPUTS["normal"]
    two = np.column_stack([np.ones(N), x, RNG.normal(size=N)])
    late = design_of(x, (0, 1, 2))
    late[-1, 2] += 1
    scaled = np.column_stack([np.full(N, 2.0), x])
    for design in (two, late, scaled):
        assert cells_of(design) is None


def test_too_many_nodes_are_none_at_all(monkeypatch):
    monkeypatch.setattr(nodes, "MOST_NODES", 1000)
    assert cells_of(design_of(INPUTS["few values"], (0, 1))) is not None
    assert cells_of(design_of(INPUTS["heavy tails"], (0, 1))) is None
    # cells whose numbers have more digits than a float
    x = np.concatenate([np.linspace(0, 1e-20, N), [1.0]])
    assert cells_of(design_of(x, (0, 1))) is None


@pytest.mark.parametrize("width", [0.0, 0.01, 0.3])
@pytest.mark.parametrize("m", [20, 60])
def test_labels_are_those_of_probabilities(width, m, monkeypatch):
    """However few labels their logits tell: with the widest guard, probabilities tell most."""
    exact = nodes.guard_of
    told = []

    def wider(low, high, size):
        told.append(len(low))
        return exact(low, high, size) + np.float32(width)

    monkeypatch.setattr("exactregion.engine.windows.guard_of", wider)
    n = 66_000
    rng = np.random.default_rng(1)
    p = expit(2 * rng.normal(size=n))
    region = er.ConfidenceRegion("recalibration", n_resamples=m - 1, rng=2)
    fitted = region.fit(p, rng.random(n) < p).fitted_
    theta = fitted.start.theta(2 * rng.normal(size=(12, 2)))
    ready = fitted.ready(fitted.statistic)
    found = [fitted.statistics(some) for some in (theta, theta[::-1], theta[:3])]
    drawn = np.array([fitted.many_rows._drawn(one, ready) for one in theta])
    assert told
    assert fitted.many_rows.rows.suited(theta).all()
    for Z, expected in zip(found, (drawn, drawn[::-1], drawn[:3]), strict=True):
        np.testing.assert_array_equal(Z, expected)
