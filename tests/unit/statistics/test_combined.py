"""Sums of statistics, each brought to mean one."""

import numpy as np
import pytest

from exactregion.errors import InvalidTypeError, InvalidValueError
from exactregion.models import Logistic
from exactregion.statistics import (
    Combined,
    Custom,
    Discrepancy,
    Embedding,
    Neighborhood,
    Score,
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
def test_it_is_the_weighted_sum_of_parts_over_their_means(values_of, combined, parts, weights):
    Z = values_of(combined, X, SUCCESSES, P, family=FAMILY)
    expected = np.zeros(9)
    for part, weight in zip(parts, weights, strict=True):
        own = values_of(part, X, SUCCESSES, P, family=FAMILY)
        expected += weight * own / own.mean()
    np.testing.assert_allclose(Z, expected, rtol=1e-12)
    assert Z.mean() == pytest.approx(sum(weights))


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
