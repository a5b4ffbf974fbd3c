"""model_test, compare and calibration_test: results, and what they say of bad input."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.linear_model import LogisticRegression

import exactregion as er
from exactregion.errors import (
    InvalidTypeError,
    InvalidValueError,
    ModelError,
    NotFittedError,
)
from exactregion.models import Recalibration
from exactregion.statistics import Combined, Discrepancy, Embedding
from exactregion.testing.groups import holm

RNG = np.random.default_rng(0)
X = RNG.normal(size=(40, 2))
P = 1 / (1 + np.exp(-2 * X[:, 0]))
Y = (RNG.random(40) < P).astype(int)
WRONG = 1 - P


def run(candidate=P, X=X, y=Y, **settings):
    return er.model_test(candidate, X, y, **{"rng": 0, "n_resamples": 99, **settings})


def same(a, b):
    return a.rank == b.rank and np.array_equal(a.null_distribution, b.null_distribution)


# --- results ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "statistic",
    [
        "discrepancy",
        "embedding",
        "neighborhood",
        Combined(Discrepancy(), Embedding()),
        lambda labels, p, X: np.abs((labels - (2 * p - 1)) @ X[:, 0]),
    ],
)
def test_a_false_candidate_ranks_high_and_a_true_one_need_not(statistic):
    false, true = run(WRONG, statistic=statistic), run(P, statistic=statistic)
    assert false.pvalue <= 0.05
    assert true.pvalue > 0.05
    for result in (false, true):
        assert result.n_resamples == 99
        assert result.null_distribution.shape == (99,)
        assert result.pvalue == (100 - result.rank + 1) / 100
        below = (result.null_distribution < result.statistic).sum()
        ties = (result.null_distribution == result.statistic).sum()
        assert 1 + below <= result.rank <= 1 + below + ties


def test_the_statistic_is_that_of_the_data():
    K = np.exp(-((X[:, None] - X) ** 2).sum(axis=-1) / 2)
    residuals = 2 * Y - 1 - (2 * P - 1)
    result = run(statistic=Discrepancy("gaussian", 1.0, standardize=False))
    assert result.statistic == pytest.approx(residuals @ K @ residuals / 40**2, rel=1e-4)


@pytest.mark.parametrize(
    "candidate",
    [
        P.tolist(),
        P[:, None],
        pd.Series(P, index=range(100, 140)),
        pl.Series(P),
        lambda X: 1 / (1 + np.exp(-2 * X[:, 0])),
    ],
)
def test_candidates_of_every_kind(candidate):
    assert same(run(candidate), run(P))


def test_a_classifier_is_asked_for_the_positive_class():
    text = np.where(Y == 1, "ill", "well")
    classifier = LogisticRegression().fit(X, text)
    ill = classifier.predict_proba(X)[:, 0]
    assert same(run(classifier, y=text, pos_label="ill"), run(ill))
    assert same(run(classifier, y=text, pos_label="well"), run(1 - ill, y=1 - Y))


@pytest.mark.parametrize("label", [-1, 1])
def test_a_classifier_of_minus_1_and_1_on_data_of_one_class(label):
    classifier = LogisticRegression().fit(X, 2 * Y - 1)
    y = np.full(5, label)
    expected = run(classifier.predict_proba(X[:5])[:, 1], X[:5], y == 1)
    assert same(run(classifier, X[:5], y), expected)


def test_frames_go_to_the_candidate_as_they_are():
    frame = pd.DataFrame(X, columns=["dose", "age"])
    candidate = lambda data: 1 / (1 + np.exp(-2 * data["dose"]))  # noqa: E731
    assert same(run(candidate, frame), run(P))


def test_rows_may_come_in_any_order_even_if_the_candidate_tells_equal_inputs_apart():
    coarse = np.round(X)
    order = np.random.default_rng(1).permutation(40)
    shuffled = run(P[order], coarse[order], Y[order])
    assert same(run(P, coarse, Y), shuffled)


def test_counts_and_objects():
    words = ["a", "bb", "ab", "b"]
    common = Discrepancy(lambda a, b: float(len(set(a) & set(b))))
    result = run([0.5, 0.2, 0.9, 0.5], words, [[3, 1], [0, 2], [1, 1], [4, 0]], statistic=common)
    assert 0.01 <= result.pvalue <= 1


def test_seeds():
    assert same(run(rng=3), run(rng=3))
    assert not same(run(rng=3), run(rng=4))
    assert not same(run(rng=None), run(rng=None))
    generator = np.random.default_rng(3)
    first, second = run(rng=generator), run(rng=generator)
    assert same(first, run(rng=3))
    assert not same(first, second)


def test_results_are_compared_without_error_and_shown_short():
    first, second = run(), run()
    assert (first == second) in (True, False)
    assert first != 3
    assert repr(first).startswith(f"ExactTestResult(pvalue={first.pvalue}, rank={first.rank}")
    assert "null_distribution" not in repr(first)


# --- bad input ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        ({3: np.nan}, r"Got nan instead, in 1 of 40 rows: 3\."),
        ({30: 1.5, 7: -0.5}, r"Got -0.5 instead, in 2 of 40 rows: 7, 30\."),
        (dict.fromkeys(range(9, 20), 2.0), "Got 2 instead, in 11 of 40 rows: 9, 10, 11, 12, 13, …"),
    ],
)
def test_what_is_no_probability_is_named_by_the_rows_of_the_user(bad, message):
    p = P.copy()
    p[list(bad)] = list(bad.values())
    for candidate in (p, lambda X: p):
        with pytest.raises(ModelError, match=f"between 0 and 1. {message}"):
            run(candidate)


@pytest.mark.parametrize(
    ("candidate", "error", "message"),
    [
        (P[:5], InvalidValueError, r"'candidate'.*shape \(40,\). Got \(5,\)"),
        (
            lambda X: np.column_stack([1 - P, P]),
            InvalidValueError,
            r"'candidate'.*Got \(40, 2\).*\[:, 1",
        ),
        ("model", InvalidTypeError, "'candidate'.*array of probabilities.*Got str"),
        (None, InvalidValueError, "'candidate'"),
        (LogisticRegression(), NotFittedError, "'candidate'.*must be fitted.*LogisticRegression"),
    ],
)
def test_what_is_no_candidate(candidate, error, message):
    with pytest.raises(error, match=message):
        run(candidate)


@pytest.mark.parametrize(
    ("settings", "error", "message"),
    [
        (
            {"X": np.where(np.arange(80) == 5, np.nan, 0.0).reshape(40, 2)},
            InvalidValueError,
            "row 2",
        ),
        ({"y": np.arange(40) % 3}, InvalidValueError, "'y'.*two classes. Got 3"),
        ({"y": Y[:7]}, InvalidValueError, "same number of rows. Got 40 and 7"),
        ({"y": np.where(Y, "a", "b")}, InvalidValueError, "'pos_label'"),
        ({"pos_label": 7}, InvalidValueError, r"'pos_label'.*\[0, 1\]. Got 7"),
        ({"statistic": "wald"}, InvalidValueError, "'statistic'.*'discrepancy'.*Got 'wald'"),
        ({"statistic": "score"}, InvalidValueError, "'statistic'.*fixed candidate.*'score'"),
        ({"statistic": "combined"}, InvalidValueError, "'statistic'.*fixed candidate.*'combined'"),
        ({"statistic": lambda labels, p, X: labels}, InvalidValueError, r"shape \(100, 40\)"),
        ({"n_resamples": 0}, InvalidValueError, "'n_resamples'.*Got 0"),
        ({"n_resamples": 2.5}, InvalidTypeError, "'n_resamples'.*Got float"),
        ({"rng": "seed"}, InvalidTypeError, "'rng'.*Got 'seed'"),
    ],
)
@pytest.mark.parametrize("many", [False, True])
def test_bad_arguments(settings, error, message, many):
    settings = {"X": X, "y": Y, "n_resamples": 99, "rng": 0, **settings}
    with pytest.raises(error, match=message):
        er.compare({"p": P}, **settings) if many else er.model_test(P, **settings)


# --- compare ------------------------------------------------------------------------------------


def test_compare_gives_a_row_a_candidate_with_what_model_test_gives():
    candidates = {"right": P, "wrong": WRONG, "flat": lambda X: np.full(len(X), 0.5)}
    table = er.compare(candidates, X, Y, n_resamples=99, rng=5)
    assert table.index.tolist() == ["right", "wrong", "flat"]
    assert table.index.name == "candidate"
    assert table.columns.tolist() == ["pvalue", "pvalue_holm", "rank", "statistic", "misfit"]
    for name, candidate in candidates.items():
        alone = run(candidate, rng=5)
        row = table.loc[name, ["pvalue", "rank", "statistic"]]
        assert tuple(row) == (alone.pvalue, alone.rank, alone.statistic)
    assert np.array_equal(table["pvalue_holm"], holm(table["pvalue"]))


def test_compare_draws_once_for_all():
    generator = np.random.default_rng(0)
    table = er.compare({"a": P, "b": P}, X, Y, n_resamples=99, rng=generator)
    assert table.loc["a"].equals(table.loc["b"])


@pytest.mark.parametrize(
    ("candidates", "got"), [([P], "list"), ({}, "none"), (P, "ndarray"), (None, "NoneType")]
)
def test_compare_needs_names(candidates, got):
    with pytest.raises(
        (InvalidTypeError, InvalidValueError), match=f"'candidates'.*Got {got} instead"
    ):
        er.compare(candidates, X, Y)


def test_compare_names_no_result_before_all_candidates_answered():
    with pytest.raises(ModelError, match=r"between 0 and 1. Got 3"):
        er.compare({"fine": P, "broken": np.full(40, 3.0)}, X, Y)


# --- calibration_test ---------------------------------------------------------------------------


def calibration(y=Y, p=P, **settings):
    return er.calibration_test(y, p, **{"rng": 0, "n_resamples": 99, **settings})


def test_predictions_are_their_own_input():
    result = calibration(statistic="discrepancy")
    assert same(result, run(P, P, statistic="discrepancy"))


def test_the_default_is_omnibus_at_the_identity_of_recalibration():
    region = er.ConfidenceRegion(Recalibration(), statistic="omnibus", n_resamples=99, rng=0)
    region.fit(P, Y)
    assert calibration().pvalue == region.pvalue([0, 1])
    assert same(calibration(statistic="omnibus"), calibration())
    assert calibration(statistic="score").pvalue == (
        er.ConfidenceRegion(Recalibration(), statistic="score", n_resamples=99, rng=0)
        .fit(P, Y)
        .pvalue([0, 1])
    )


def test_wrong_predictions_are_found_out():
    assert calibration().pvalue > 0.05
    assert calibration(p=WRONG).pvalue == 0.01
    assert calibration(p=P * 0.3).pvalue == 0.01


@pytest.mark.parametrize(("certain", "outcome"), [(0.0, 1), (1.0, 0)])
@pytest.mark.parametrize("statistic", [None, "score"])
def test_a_contradicted_certainty_has_the_smallest_pvalue(certain, outcome, statistic):
    p, y = P.copy(), Y.copy()
    p[4], y[4] = certain, outcome
    result = calibration(y, p, statistic=statistic)
    assert result.pvalue == 0.01
    assert result.statistic == np.inf
    y[4] = 1 - outcome
    assert calibration(y, p, statistic=statistic).statistic < np.inf


@pytest.mark.parametrize("make", [list, pd.Series, pl.Series])
def test_predictions_of_every_kind(make):
    assert same(calibration(p=make(P)), calibration())


def test_calibration_of_counts_and_of_text():
    counts = np.column_stack([Y, 1 - Y])
    assert same(calibration(counts), calibration())
    assert same(calibration(np.where(Y, "a", "b"), pos_label="a"), calibration())


@pytest.mark.parametrize(
    ("p", "message"),
    [
        (np.where(np.arange(40) == 6, np.nan, P), "row.* 6"),
        (np.where(np.arange(40) == 6, 1.5, P), "row.* 6"),
        (P[:7], "Got .*7"),
        (np.column_stack([P, P]), r"rows that add up to 1.*40 such"),
        (["high"] * 40, "number|probabilit"),
    ],
)
def test_bad_predictions_are_called_by_their_name(p, message):
    with pytest.raises(er.ExactRegionError, match=f"'y_prob'.*({message})"):
        calibration(p=p)


@pytest.mark.parametrize(
    ("y", "message"),
    [
        (np.where(np.arange(40) == 6, np.nan, Y), "row 6"),
        (np.arange(40) % 3, "two classes"),
    ],
)
def test_bad_outcomes_are_called_by_their_name(y, message):
    with pytest.raises(InvalidValueError, match=f"'y_true'.*{message}"):
        calibration(y=y)
