"""ConfidenceRegion: membership, ranks and p-values that agree, and a fit that is all or nothing."""

import inspect

import numpy as np
import pandas as pd
import pytest

import exactregion as er
from exactregion.errors import (
    InvalidTypeError,
    InvalidValueError,
    ModelError,
    NotFittedError,
)
from exactregion.ranking import AcceptedRanks, rank_of
from exactregion.statistics import Discrepancy

RNG = np.random.default_rng(0)
X = RNG.normal(size=(30, 2))
Y = (RNG.random(30) < 1 / (1 + np.exp(-X[:, 0]))).astype(int)
THETAS = [0.0, 1.0, 0.0] + 0.6 * RNG.normal(size=(25, 3))


def region(**settings):
    return er.ConfidenceRegion(**{"model": "logistic", "n_resamples": 39, "rng": 0, **settings})


# --- answers ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "statistic", ["combined", "score", "discrepancy", "embedding", "neighborhood"]
)
def test_one_and_many_parameters_agree(statistic):
    fitted = region(statistic=statistic).fit(X, Y)
    ranks, pvalues, inside = fitted.rank(THETAS), fitted.pvalue(THETAS), fitted.contains(THETAS)
    assert ranks.shape == pvalues.shape == inside.shape == (25,)
    assert (ranks.dtype, pvalues.dtype, inside.dtype) == (np.int64, np.float64, np.bool_)
    np.testing.assert_array_equal(pvalues, (40 - ranks + 1) / 40)
    np.testing.assert_array_equal(inside, ranks <= 38)
    for index in (0, 7):
        theta = THETAS[index]
        evaluation = fitted.evaluate(theta)
        assert fitted.rank(theta) == evaluation.rank == ranks[index]
        assert fitted.pvalue(theta) == evaluation.pvalue == pvalues[index]
        assert fitted.contains(theta) == inside[index]
        assert evaluation.rank == rank_of(evaluation.Z, evaluation.seat)
    assert type(fitted.rank(theta)) is int
    assert type(fitted.pvalue(theta)) is float
    assert type(fitted.contains(theta)) is bool


def test_the_true_parameter_is_near_the_middle_and_a_wild_one_is_out():
    fitted = region().fit(X, Y)
    assert fitted.contains([0.0, 1.0, 0.0])
    assert fitted.pvalue([0.0, -5.0, 5.0]) == 1 / 40


def test_a_batch_may_be_empty_or_of_one():
    fitted = region().fit(X, Y)
    assert fitted.rank(np.empty((0, 3))).shape == (0,)
    assert fitted.contains(THETAS[:1]).shape == (1,)


def test_memory_changes_nothing():
    ranks = region().fit(X, Y).rank(THETAS)
    np.testing.assert_array_equal(region(batch=1).fit(X, Y).rank(THETAS), ranks)


def test_evaluation_holds_all_that_is_needed_to_rank_by_hand():
    theta = [0.2, 1.0, -0.5]
    statistic = Discrepancy("gaussian", 1.0, standardize=False)
    fitted = region(statistic=statistic).fit(X, Y)
    evaluation = fitted.evaluate(theta)
    assert evaluation.labels.shape == (40, 30)
    assert set(np.unique(evaluation.labels)) == {-1, 1}
    np.testing.assert_array_equal(evaluation.labels[evaluation.seat], 2 * Y - 1)
    p = 1 / (1 + np.exp(-(theta[0] + X @ theta[1:])))
    np.testing.assert_allclose(evaluation.probabilities, p)
    K = np.exp(-((X[:, None] - X) ** 2).sum(axis=-1) / 2)
    residuals = evaluation.labels - (2 * p - 1)
    Z = np.einsum("ij,jk,ik->i", residuals, K, residuals) / 30**2
    np.testing.assert_allclose(evaluation.Z, Z, rtol=1e-4)
    assert evaluation.rank == rank_of(Z, evaluation.seat)


def test_evaluation_of_counts_holds_successes():
    counts = RNG.integers(0, 5, (30, 2))
    evaluation = region().fit(X, counts).evaluate([0.0, 1.0, 0.0])
    np.testing.assert_array_equal(evaluation.labels[evaluation.seat], counts[:, 0])
    assert (evaluation.labels >= 0).all()
    assert (evaluation.labels <= counts.sum(axis=1)).all()


def test_evaluations_are_compared_without_error_and_shown_short():
    fitted = region().fit(X, Y)
    first, second = fitted.evaluate(THETAS[0]), fitted.evaluate(THETAS[0])
    assert (first == second) in (True, False)
    assert "labels" not in repr(first)


def test_rows_may_come_in_any_order():
    order = RNG.permutation(30)
    one, other = region().fit(X, Y), region().fit(X[order], Y[order])
    np.testing.assert_array_equal(one.rank(THETAS), other.rank(THETAS))
    np.testing.assert_array_equal(
        one.evaluate(THETAS[0]).labels[:, order], other.evaluate(THETAS[0]).labels
    )


@pytest.mark.parametrize(
    ("y", "pos_label"),
    [
        (2 * Y - 1, None),
        (Y.astype(bool), None),
        (np.where(Y, "yes", "no"), "yes"),
        (np.column_stack([Y, 1 - Y]), None),
    ],
)
def test_outcomes_may_be_written_in_any_way(y, pos_label):
    fitted = region(pos_label=pos_label).fit(X, y)
    np.testing.assert_array_equal(fitted.rank(THETAS), region().fit(X, Y).rank(THETAS))


def test_a_model_of_objects():
    model = er.models.Function(
        lambda theta, words: np.array([theta[0] ** len(word) for word in words]),
        names=("letter",),
        bounds=[(0, 1)],
    )
    kernel = Discrepancy(lambda a, b: float(len(set(a) & set(b))))
    fitted = region(model=model, statistic=kernel).fit(["ab", "a", "bcd", "b"], [0, 1, 0, 1])
    assert fitted.pvalue([0.5]) == fitted.pvalue(0.5)
    assert fitted.pvalue([[0.5], [0.9]]).shape == (2,)


# --- what is fitted -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("settings", "coverage"),
    [
        ({}, 38 / 40),
        ({"confidence_level": 0.9}, 36 / 40),
        ({"confidence_level": 0.91}, 37 / 40),
        ({"accepted_ranks": (1, 40)}, 1.0),
        ({"accepted_ranks": (3, 38)}, 36 / 40),
        ({"accepted_ranks": [np.int64(3), np.int64(38)], "confidence_level": "unused"}, 36 / 40),
    ],
)
def test_coverage_is_what_it_is(settings, coverage):
    assert region(**settings).fit(X, Y).coverage_ == coverage


def test_accepted_ranks_may_leave_out_the_lowest():
    fitted = region(accepted_ranks=(20, 36)).fit(X, Y)
    ranks = fitted.rank(THETAS)
    np.testing.assert_array_equal(fitted.contains(THETAS), (ranks >= 20) & (ranks <= 36))
    assert (ranks < 20).any()
    assert (ranks > 36).any()
    assert fitted.accepted_ranks_ == AcceptedRanks(40, 20, 36)


def test_parameters_are_named_after_the_columns():
    fitted = region().fit(pd.DataFrame(X, columns=["dose", "age"]), Y)
    assert fitted.parameter_names_ == ("intercept", "dose", "age")
    assert fitted.model_.parameter_names == fitted.parameter_names_
    assert region().fit(X[:, 0], Y).parameter_names_ == ("intercept", "x")


def test_seeds():
    generator = np.random.default_rng(0)
    first = region(rng=generator).fit(X, Y).rank(THETAS)
    second = region(rng=generator).fit(X, Y).rank(THETAS)
    assert not np.array_equal(first, second)
    np.testing.assert_array_equal(first, region(rng=0).fit(X, Y).rank(THETAS))
    unseeded = [region(rng=None).fit(X, Y).rank(THETAS).tolist() for _ in range(2)]
    assert unseeded[0] != unseeded[1]


def test_fitting_again_replaces_the_fit():
    fitted = region().fit(X, Y)
    assert fitted.fit(X[:, 0], Y) is fitted
    assert fitted.parameter_names_ == ("intercept", "x")


def test_settings_are_kept_and_shown():
    assert repr(region()) == (
        "ConfidenceRegion('logistic', statistic='combined', confidence_level=0.95)"
    )
    assert "accepted_ranks=(1, 5)" in repr(region(accepted_ranks=(1, 5)))
    kept = region(confidence_level=0.8, pos_label="a", batch=7)
    assert (kept.confidence_level, kept.pos_label, kept.batch) == (0.8, "a", 7)


# --- bad input ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "ask",
    [
        lambda r: r.rank([0, 0, 0]),
        lambda r: r.pvalue([0, 0, 0]),
        lambda r: r.contains([0, 0, 0]),
        lambda r: r.evaluate([0, 0, 0]),
        lambda r: r.coverage_,
        lambda r: r.accepted_ranks_,
        lambda r: r.model_,
        lambda r: r.parameter_names_,
    ],
)
def test_nothing_is_known_before_fit(ask):
    with pytest.raises(NotFittedError, match=r"not fitted yet: call fit\(X, y\) first"):
        ask(region())


BAD_SETTINGS = [
    ({"confidence_level": 0}, InvalidValueError, "'confidence_level'.*between 0 and 1.*Got 0"),
    ({"confidence_level": 1}, InvalidValueError, "'confidence_level'.*between 0 and 1.*Got 1"),
    ({"confidence_level": 1.5}, InvalidValueError, "'confidence_level'.*Got 1.5"),
    ({"confidence_level": "high"}, InvalidTypeError, "'confidence_level'.*number. Got str"),
    ({"confidence_level": True}, InvalidTypeError, "'confidence_level'.*number. Got bool"),
    ({"n_resamples": 0}, InvalidValueError, "'n_resamples'.*between 1 and.*Got 0"),
    ({"n_resamples": -1}, InvalidValueError, "'n_resamples'.*between 1 and.*Got -1"),
    ({"n_resamples": 2**20}, InvalidValueError, "'n_resamples'.*between 1 and.*Got 1048576"),
    ({"n_resamples": 18}, InvalidValueError, "'n_resamples'.*at least 19.*0.95. Got 18"),
    ({"n_resamples": 2.5}, InvalidTypeError, "'n_resamples'.*integer. Got float"),
    ({"n_resamples": True}, InvalidTypeError, "'n_resamples'.*integer. Got bool"),
    ({"accepted_ranks": (0, 5)}, InvalidValueError, r"'accepted_ranks'.*<= 40.*Got \(0, 5\)"),
    ({"accepted_ranks": (5, 4)}, InvalidValueError, r"'accepted_ranks'.*Got \(5, 4\)"),
    ({"accepted_ranks": (1, 41)}, InvalidValueError, r"'accepted_ranks'.*Got \(1, 41\)"),
    ({"accepted_ranks": 5}, InvalidTypeError, "'accepted_ranks'.*pair of integers.*Got 5"),
    ({"accepted_ranks": (1, 2, 3)}, InvalidTypeError, "'accepted_ranks'.*pair of integers"),
    ({"accepted_ranks": ("a", "b")}, InvalidTypeError, "'accepted_ranks'.*pair of integers"),
    ({"accepted_ranks": "15"}, InvalidTypeError, "'accepted_ranks'.*pair of integers.*Got '15'"),
    ({"accepted_ranks": (1.5, 9)}, InvalidTypeError, "'accepted_ranks'.*pair of integers"),
    ({"accepted_ranks": (True, 9)}, InvalidTypeError, "'accepted_ranks'.*pair of integers"),
    ({"rng": "seed"}, InvalidTypeError, "'rng'.*non-negative integer.*Got 'seed'"),
    ({"rng": -1}, InvalidValueError, "'rng'.*non-negative integer.*Got -1"),
    ({"batch": 0}, InvalidValueError, "'batch'.*positive.*Got 0"),
    ({"batch": 1.5}, InvalidTypeError, "'batch'.*Got float"),
    ({"statistic": "wald"}, InvalidValueError, "'statistic'.*'combined', .*'score'.*Got 'wald'"),
    ({"statistic": 3}, InvalidTypeError, "'statistic'.*Got 3"),
    (
        {"model": "tobit"},
        InvalidValueError,
        "'model'.*'cloglog'.*'logistic'.*'probit'.*Got 'tobit'",
    ),
    ({"model": lambda theta, X: X}, InvalidTypeError, "'model'.*models.Function"),
    ({"statistic": Discrepancy(lambda a, b: np.nan)}, InvalidValueError, "kernel must.*finite"),
    ({"pos_label": 5}, InvalidValueError, r"'pos_label'.*\[0, 1\]. Got 5"),
]


@pytest.mark.parametrize(("settings", "error", "message"), BAD_SETTINGS)
def test_bad_settings_leave_the_region_unfitted(settings, error, message):
    unfitted = region(**settings)
    with pytest.raises(error, match=message):
        unfitted.fit(X, Y)
    with pytest.raises(NotFittedError):
        unfitted.rank([0, 0, 0])


BAD_DATA = [
    (np.where(np.arange(60).reshape(30, 2) == 11, np.nan, X), Y, "'X'.*row 5, column 'x1'"),
    (X, np.where(np.arange(30) == 4, np.nan, Y), "'y'.*row 4"),
    (X, np.arange(30) % 3, "'y'.*two classes. Got 3"),
    (X, Y[:9], "same number of rows. Got 30 and 9"),
    (X[:0], Y[:0], "'X'.*at least one row"),
    (X, np.zeros((30, 2)), "'y'.*at least one trial"),
    (X, -np.ones((30, 2)), "counts in the 'y'.*0 or more"),
]


@pytest.mark.parametrize(("bad_X", "bad_y", "message"), BAD_DATA)
def test_bad_data_leave_the_fit_as_it_was(bad_X, bad_y, message):
    fitted = region().fit(X, Y)
    before = fitted.rank(THETAS)
    with pytest.raises(InvalidValueError, match=message):
        fitted.fit(bad_X, bad_y)
    np.testing.assert_array_equal(fitted.rank(THETAS), before)
    unfitted = region()
    with pytest.raises(InvalidValueError, match=message):
        unfitted.fit(bad_X, bad_y)
    with pytest.raises(NotFittedError):
        _ = unfitted.coverage_


def test_a_failed_fit_does_not_advance_the_generator():
    generator = np.random.default_rng(0)
    with pytest.raises(InvalidValueError, match="two classes"):
        region(rng=generator).fit(X, np.arange(30) % 3)
    ranks = region(rng=generator).fit(X, Y).rank(THETAS)
    np.testing.assert_array_equal(ranks, region(rng=0).fit(X, Y).rank(THETAS))


def test_a_linear_model_needs_numbers():
    with pytest.raises(InvalidTypeError, match=r"must be numeric.*sequence of str"):
        region().fit(["a", "b"], [0, 1])


@pytest.mark.parametrize(
    ("theta", "error", "message"),
    [
        ([0, 0], InvalidValueError, r"'theta'.*shape \(3,\) or \(T, 3\). Got \(2,\)"),
        ([0, 0, 0, 0], InvalidValueError, r"'theta'.*Got \(4,\)"),
        (np.zeros((5, 2)), InvalidValueError, r"'theta'.*Got \(5, 2\)"),
        (np.zeros((1, 1, 3)), InvalidValueError, r"'theta'.*Got \(1, 1, 3\)"),
        (0.0, InvalidValueError, r"'theta'.*Got \(\)"),
        ([0, np.nan, 0], InvalidValueError, "'theta'.*finite.*Got nan at index 1 of theta 0"),
        ([[0, 0, 0], [0, 0, np.inf]], InvalidValueError, "Got inf at index 2 of theta 1"),
        ("abc", InvalidTypeError, "'theta'.*numbers. Got 'abc'"),
        ([[0, 0, 0], [0]], InvalidTypeError, "'theta'.*numbers"),
        (None, er.ExactRegionError, "'theta'"),
    ],
)
@pytest.mark.parametrize("method", ["rank", "pvalue", "contains", "evaluate"])
def test_what_is_no_parameter(theta, error, message, method):
    with pytest.raises(error, match=message):
        getattr(region().fit(X, Y), method)(theta)


def test_evaluate_takes_one_parameter():
    with pytest.raises(InvalidValueError, match=r"'theta' parameter of evaluate.*Got \(25, 3\)"):
        region().fit(X, Y).evaluate(THETAS)


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (
            lambda theta, x: theta[0] * x,
            r"Got 2.25 at theta = \[1.5\] instead, in 2 of 5 rows: 1, 3\.",
        ),
        (lambda theta, x: np.where(x < 0.5, np.nan, 0.5), r"Got nan at theta = \[1.5\].*rows: 2\."),
        (lambda theta, x: -x, r"Got -0.5 at theta = .*5 of 5 rows: 0, 1, 2, 3, 4\."),
    ],
)
def test_a_model_that_gives_no_probabilities_is_told_rows_and_parameter(function, message):
    model = er.models.Function(function, names=("a",))
    fitted = region(model=model, statistic="discrepancy").fit(
        [0.5, 1.5, 0.25, 1.0, 0.625], [0, 1, 1, 0, 1]
    )
    for ask in (fitted.rank, fitted.evaluate, fitted.contains):
        with pytest.raises(ModelError, match=f"between 0 and 1. {message}"):
            ask([1.5])


def test_of_many_parameters_the_one_that_fails_is_named():
    model = er.models.Function(lambda theta, x: theta[0] * x, names=("a",))
    fitted = region(model=model, statistic="discrepancy").fit([0.5, 0.75, 0.25], [0, 1, 1])
    with pytest.raises(ModelError, match=r"Got 1.5 at theta = \[2.0\] instead, in 1 of 3 rows: 1"):
        fitted.rank([[0.5], [1.0], [2.0]])


@pytest.mark.parametrize(
    "function", [lambda labels, p, X: labels, lambda labels, p, X: np.full(len(labels), np.nan)]
)
def test_a_callable_statistic_must_give_a_number_a_row(function):
    fitted = region(statistic=function).fit(X, Y)
    with pytest.raises(InvalidValueError, match=r"callable statistic.*shape \(40,\), without NaN"):
        fitted.rank([0, 0, 0])


@pytest.mark.parametrize("name", ["band", "threshold", "risk", "goodness_of_fit", "report"])
def test_methods_that_show_progress_keep_name_signature_and_documentation(name):
    method = getattr(er.ConfidenceRegion, name)
    assert method.__name__ == name
    assert method.__doc__
    assert list(inspect.signature(method).parameters)[:1] == ["self"]
    assert "args" not in inspect.signature(method).parameters
