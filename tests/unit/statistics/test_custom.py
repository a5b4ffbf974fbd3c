"""Statistics by name, and any callable as a statistic."""

import numpy as np
import pytest

import exactregion as er
from exactregion.errors import InvalidTypeError, InvalidValueError
from exactregion.statistics import (
    Combined,
    Custom,
    Discrepancy,
    Embedding,
    Neighborhood,
    Score,
    as_statistic,
)

X = np.array([3.0, 1.0, 2.0])
SUCCESSES = np.array([[0, 1, 0], [1, 1, 0], [0, 0, 1], [1, 0, 1]])
P = np.array([0.3, 0.1, 0.2])


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("combined", Combined),
        ("discrepancy", Discrepancy),
        ("embedding", Embedding),
        ("neighborhood", Neighborhood),
        ("score", Score),
    ],
)
def test_statistics_by_name(name, kind):
    assert type(as_statistic(name)) is kind
    ready = kind()
    assert as_statistic(ready) is ready


def test_unknown_name_lists_the_known_ones():
    with pytest.raises(
        InvalidValueError,
        match=r"'combined', 'curvature', 'discrepancy', 'embedding', 'likelihood', 'multiscale', "
        r"'neighborhood', 'omnibus', 'ratio', 'score', 'spiegelhalter'",
    ):
        as_statistic("wald")


@pytest.mark.parametrize("statistic", [None, 3, Score, ["score"]])
def test_what_is_no_statistic(statistic):
    with pytest.raises(
        InvalidTypeError, match=r"'statistic'.*a name, a statistic object or a callable"
    ):
        as_statistic(statistic)


def test_a_callable_is_given_everything_in_the_order_of_the_users_rows(values_of):
    seen = []

    def record(labels, probabilities, X):
        seen.append((labels, probabilities, X))
        return np.arange(4.0)

    assert isinstance(as_statistic(record), Custom)
    assert values_of(as_statistic(record), X, SUCCESSES, P).tolist() == [0, 1, 2, 3]
    labels, probabilities, inputs = seen[0]
    np.testing.assert_array_equal(labels, 2 * SUCCESSES - 1)
    np.testing.assert_array_equal(probabilities, P)
    np.testing.assert_array_equal(inputs, X)
    assert labels.dtype == np.int64


def test_counts_are_given_as_successes(values_of):
    successes = SUCCESSES * [4, 2, 3]
    Z = values_of(
        Custom(lambda labels, p, X: labels @ [1, 10, 100]), X, successes, P, trials=[5, 2, 3]
    )
    np.testing.assert_array_equal(Z, successes @ [1, 10, 100])


def test_objects_are_given_as_they_are(values_of):
    words = ["a", "bb", "c"]
    Z = values_of(
        Custom(lambda labels, p, X: labels @ [len(word) for word in X]), words, SUCCESSES, P
    )
    np.testing.assert_array_equal(Z, (2 * SUCCESSES - 1) @ [1, 2, 1])


def test_infinite_values_are_allowed(values_of):
    Z = values_of(Custom(lambda labels, p, X: [np.inf, 0, 1, -np.inf]), X, SUCCESSES, P)
    assert Z.tolist() == [np.inf, 0, 1, -np.inf]


@pytest.mark.parametrize(
    ("result", "message"),
    [
        (np.zeros(3), r"Got shape \(3,\) with 0 NaN"),
        (np.zeros((4, 1)), r"Got shape \(4, 1\) with 0 NaN"),
        (0.0, r"Got shape \(\) with 0 NaN"),
        ([0, np.nan, 1, np.nan], r"Got shape \(4,\) with 2 NaN"),
        (None, r"Got shape \(\) with 1 NaN"),
    ],
)
def test_a_callable_must_give_a_number_a_row(values_of, result, message):
    with pytest.raises(InvalidValueError, match=rf"callable statistic.*shape \(4,\).*{message}"):
        values_of(Custom(lambda labels, p, X: result), X, SUCCESSES, P)


def test_a_callable_that_gives_no_numbers(values_of):
    with pytest.raises(InvalidTypeError, match="callable statistic"):
        values_of(Custom(lambda labels, p, X: list("abcd")), X, SUCCESSES, P)


def test_the_function_must_be_callable():
    with pytest.raises(InvalidTypeError, match=r"'function'.*callable.*Got int"):
        Custom(5)


def test_a_callable_that_is_a_builtin_statistic_in_disguise_gives_its_ranks():
    x = np.random.default_rng(0).normal(size=25)
    y = np.arange(25) % 2
    K = np.exp(-(np.subtract.outer(x, x) ** 2) / 2)  # a callable sees the user's rows

    def discrepancy(labels, p, X):
        residuals = labels - (2 * p - 1)
        return np.einsum("ij,jk,ik->i", residuals, K, residuals)

    builtin = Discrepancy("gaussian", 1.0, standardize=False)
    ranks = [
        er.model_test(np.full(25, 0.375), x, y, statistic=statistic, rng=1).rank
        for statistic in (discrepancy, builtin)
    ]
    assert ranks[0] == ranks[1]
