"""Sums of statistics, each brought to mean one."""

import itertools

import numpy as np
import pytest

from exactregion.data.sample import Sample
from exactregion.engine import PreparedStatistic
from exactregion.errors import InvalidTypeError, InvalidValueError
from exactregion.models import Logistic
from exactregion.statistics import (
    Candidates,
    Combined,
    Curvature,
    Custom,
    Discrepancy,
    Embedding,
    Neighborhood,
    Omnibus,
    Score,
    Spiegelhalter,
)

RNG = np.random.default_rng(0)
X = RNG.normal(size=16)
SUCCESSES = RNG.integers(0, 2, (9, 16))
P = np.full(16, 0.5)
FAMILY = (Logistic(), (0.0, 0.0))


@pytest.mark.parametrize(
    ("combined", "parts", "weights"),
    [
        (Combined(), (Score(), Discrepancy()), (1, 0.3)),
        (Combined(weights=(2, 5)), (Score(), Discrepancy()), (2, 5)),
        (Combined(Embedding(), Neighborhood()), (Embedding(), Neighborhood()), (1, 1)),
        (
            Combined(Score(), Score(), Embedding(), weights=[1, 2, 3]),
            (Score(), Score(), Embedding()),
            (1, 2, 3),
        ),
        (Combined(Discrepancy(), weights=np.array([4.0])), (Discrepancy(),), (4,)),
    ],
)
def test_it_is_the_weighted_sum_of_parts_over_their_expectations(
    values_of, combined, parts, weights
):
    """Expectations are those over all data sets of a fair coin, of which there are many."""
    every = np.array(list(itertools.product((0, 1), repeat=8)))
    X, P = RNG.normal(size=8), np.full(8, 0.5)
    Z = values_of(combined, X, every, P, family=FAMILY)
    expected = np.zeros(len(every))
    for part, weight in zip(parts, weights, strict=True):
        alone = values_of(part, X, every, P, family=FAMILY)
        expected += weight * alone / alone.mean()
    # the mean of all data sets is the expectation; from the mean of m points 1/m is missing
    np.testing.assert_allclose(Z, expected, rtol=1.1 / len(every))
    assert Z.mean() == pytest.approx(sum(weights), rel=1.1 / len(every))


def test_a_data_set_has_the_same_number_beside_any_others(values_of):
    Z = values_of(Combined(), X, SUCCESSES, P, family=FAMILY)
    few = values_of(Combined(), X, SUCCESSES[:3], P, family=FAMILY)
    np.testing.assert_allclose(few, Z[:3], rtol=1e-9)  # m moves the grid of features


@pytest.mark.parametrize("p", [0.5, 0.1])
@pytest.mark.parametrize("trials", [None, np.arange(16) % 4])
def test_expectations_are_those_of_simulated_data(p, trials):
    rng = np.random.default_rng(1)
    number = np.ones(16, dtype=int) if trials is None else trials
    successes = rng.binomial(number, p, size=(20_000, 16))
    y = successes[0] if trials is None else np.column_stack([successes[0], trials - successes[0]])
    inputs = Sample.from_data(X, y).inputs
    P = np.full((1, 16), p)
    theta = np.array([[np.log(p / (1 - p)), 0.0]])
    candidates = Candidates(inputs, P, trials is not None, Logistic().bind(("x",)), theta)
    for statistic in (Discrepancy(), Embedding(), Score(), Spiegelhalter()):
        at = PreparedStatistic.of(statistic, inputs, len(successes)).at(candidates)
        (term,) = at.terms
        points = np.zeros((term.features.width, 1, len(successes)))
        term.features.add(points, successes[None][:, :, inputs.order] * 1.0, slice(0, 16))
        mean, expected = term.values(points).mean(), term.expectation(len(successes))[0]
        assert mean == pytest.approx(expected, rel=0.05)


def test_the_mean_does_not_depend_on_the_order_of_the_data_sets(values_of):
    order = RNG.permutation(9)
    Z = values_of(Combined(), X, SUCCESSES, P, family=FAMILY)
    np.testing.assert_array_equal(
        values_of(Combined(), X, SUCCESSES[order], P, family=FAMILY), Z[order]
    )


def test_a_part_that_is_zero_everywhere_adds_zero(values_of):
    nothing = Custom(lambda labels, p, X: np.zeros(len(labels)))
    np.testing.assert_array_equal(
        values_of(Combined(nothing, Embedding()), X, SUCCESSES, P),
        values_of(Combined(Embedding()), X, SUCCESSES, P),
    )
    assert not values_of(Combined(nothing), X, SUCCESSES, P).any()


def test_an_infinite_value_stays_out_of_the_mean(values_of):
    given = Custom(lambda labels, p, X: np.array([3.0, np.inf, 1.0, 0.0, np.inf, 4.0]))
    Z = values_of(Combined(given), X, SUCCESSES[:6], P)
    np.testing.assert_allclose(Z, [1.5, np.inf, 0.5, 0, np.inf, 2])
    every = Custom(lambda labels, p, X: np.full(len(labels), np.inf))
    assert (values_of(Combined(every), X, SUCCESSES, P) == np.inf).all()


def test_counts_are_labels_that_share_an_input(values_of):
    trials = np.array([1, 3, 2, 5, 4])
    place = np.repeat(np.arange(5), trials)
    labels = RNG.integers(0, 2, (8, len(place)))
    successes = np.stack([np.bincount(place, row, 5) for row in labels]).astype(int)
    half = np.full(len(place), 0.5)
    grouped = values_of(Combined(), X[:5], successes, half[:5], trials=trials, family=FAMILY)
    expanded = values_of(Combined(), X[place], labels, half, family=FAMILY)
    np.testing.assert_allclose(grouped, expanded, rtol=1e-9)


@pytest.mark.parametrize("parts", [(), (Score(), Discrepancy())])
@pytest.mark.parametrize(
    "weights",
    [(1,), (1, 2, 3), (1, 0), (1, -0.3), (1, np.nan), (1, np.inf), (1, "a"), "ab", 1.0],
)
def test_weights_must_be_positive_and_as_many_as_parts(parts, weights):
    with pytest.raises(
        (InvalidValueError, InvalidTypeError),
        match=r"'weights' parameter of Combined.*positive number for each of the 2 parts. Got",
    ):
        Combined(*parts, weights=weights)


def test_weights_may_be_an_array(values_of):
    np.testing.assert_array_equal(
        values_of(Combined(weights=np.array([1.0, 0.3])), X, SUCCESSES, P, family=FAMILY),
        values_of(Combined(), X, SUCCESSES, P, family=FAMILY),
    )


@pytest.mark.parametrize("part", ["score", Score, 3])
def test_parts_must_be_statistics(part):
    with pytest.raises(InvalidTypeError, match=r"parts of Combined.*such as Score\(\). Got"):
        Combined(part, Discrepancy())


def test_a_fixed_candidate_has_no_score_but_other_parts(values_of):
    with pytest.raises(InvalidValueError, match="not use the score for a fixed candidate"):
        values_of(Combined(), X, SUCCESSES, P)
    assert values_of(Combined(Embedding(), Discrepancy()), X, SUCCESSES, P).shape == (9,)


def test_repr_shows_parts_and_weights():
    assert repr(Combined(Score(), weights=(2.0,))) == "Combined(Score(), weights=(2.0,))"


# --- the common scale ---------------------------------------------------------------------------


@pytest.mark.parametrize("m", [2, 9, 1000])
@pytest.mark.parametrize("spread", [0, 1, 40, 300])
def test_the_scale_does_not_depend_on_the_order_to_the_last_bit(m, spread):
    rng = np.random.default_rng([m, spread])
    Z = rng.random((4, m)) * 10.0 ** rng.uniform(-spread, spread / 2, (4, m))
    Z[1, ::3] = np.inf
    scaled = Combined._scaled(Z, None)
    for _ in range(20):
        order = rng.permutation(m)
        np.testing.assert_array_equal(Combined._scaled(Z[:, order], None), scaled[:, order])


@pytest.mark.parametrize("unit", [1e-300, 1e-9, 1.0, 1e9, 1e300])
def test_the_scale_is_the_mean(unit):
    Z = unit * np.random.default_rng(0).chisquare(2, (3, 1000))
    np.testing.assert_allclose(
        Combined._scaled(Z, None), Z / Z.mean(axis=1, keepdims=True), rtol=1e-9, atol=0
    )


def test_rows_are_scaled_apart_and_infinities_left_out():
    inf = np.inf
    Z = np.array([[1.0, 3.0, inf, 0.0], [inf, inf, inf, inf], [0.0, 0, 0, 0], [inf, 0, 0, 0]])
    expected = [[0.75, 2.25, inf, 0], [inf, inf, inf, inf], [0, 0, 0, 0], [inf, 0, 0, 0]]
    np.testing.assert_array_equal(Combined._scaled(Z, None), expected)
    for row, alone in zip(Z, expected, strict=True):
        np.testing.assert_array_equal(Combined._scaled(row[None], None)[0], alone)


def test_equal_data_sets_tie_whatever_the_others_are(values_of):
    twice = np.vstack([SUCCESSES, SUCCESSES[:4]])
    Z = values_of(Combined(), X, twice, P, family=FAMILY)
    np.testing.assert_array_equal(Z[:4], Z[9:])


# --- usual parts --------------------------------------------------------------------------------


def test_usual_parts_and_weights():
    assert Combined().statistics == (Score(), Discrepancy())
    assert Combined().weights == (1, 0.3)
    kernels = Discrepancy(), Discrepancy(bandwidth=0.125)
    assert Omnibus().statistics == (Score(), Spiegelhalter(), Curvature(), *kernels)
    assert Omnibus().weights == (1, 1, 0.5, 0.5, 0.5)


def test_omnibus_of_its_usual_parts(values_of):
    p = np.linspace(0.1, 0.9, 16)
    parts = *Omnibus().statistics[:3], Discrepancy("gaussian"), Discrepancy(bandwidth=1 / 8)
    named = Omnibus(*parts, weights=(1, 1, 0.5, 0.5, 0.5))
    Z = values_of(Omnibus(), X, SUCCESSES, p, family=FAMILY)
    np.testing.assert_array_equal(values_of(named, X, SUCCESSES, p, family=FAMILY), Z)
    without = Omnibus(*parts[:2], *parts[3:], weights=(1, 1, 0.5, 0.5))
    assert not np.array_equal(values_of(without, X, SUCCESSES, p, family=FAMILY), Z)


def test_rows_that_must_be_told_apart_are_not_put_together():
    assert Omnibus().merges_equal_rows
    assert not Omnibus(
        Curvature(), Custom(lambda labels, p, X: labels.sum(axis=1))
    ).merges_equal_rows
