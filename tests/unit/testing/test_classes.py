"""Probabilities of several classes: what may be given, what is refused, what comes back."""

import json

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression

import exactregion as er
from exactregion.data.classes import MatchedClasses
from exactregion.errors import InvalidTypeError, InvalidValueError
from exactregion.statistics import Brier, ClassOmnibus, ClassWise, Joint, Temperature, TopLabel

N = 60
RNG = np.random.default_rng(2)
X = RNG.normal(size=(N, 2))
P = RNG.dirichlet([1, 1, 1], size=N)
CODES = (RNG.exponential(size=P.shape) / P).argmin(axis=1)
NAMES = np.array(["ant", "bee", "cow"])
TEXT = NAMES[CODES]
SETTINGS = {"n_resamples": 39, "rng": 1}


def run(y=TEXT, P=P, **settings):
    return er.calibration_test(y, P, **{**SETTINGS, **settings})


def same(a, b):
    return a.rank == b.rank and np.array_equal(a.null_distribution, b.null_distribution)


WHOLE = run()


@pytest.mark.parametrize(
    "arguments",
    [
        {"y": CODES},
        {"y": CODES.astype(float)},
        {"y": TEXT.tolist(), "P": P.tolist()},
        {"y": pd.Series(TEXT, dtype="category")},
        {"P": pd.DataFrame(P, columns=NAMES)},
        {"P": pd.DataFrame(P[:, ::-1], columns=NAMES[::-1])},
        {"P": pd.DataFrame(P[:, [1, 2, 0]], columns=["p_bee", "p_cow", "p_ant"])},
        {"P": pd.DataFrame(P)},
        {"y": CODES, "P": pd.DataFrame(P, columns=["p0", "p1", "p2"])},
        {"P": P[:, [2, 0, 1]], "classes": ["cow", "ant", "bee"]},
        {"P": P.astype(np.float32).astype(np.float64) * (1 + 1e-9), "statistic": None},
    ],
)
def test_classes_are_matched_to_columns(arguments):
    result = run(**arguments)
    assert result.classes in (tuple(NAMES), (0, 1, 2))
    assert result.rank == WHOLE.rank


def test_columns_of_a_table():
    frame = pd.DataFrame(P, columns=NAMES).assign(y=TEXT)
    names = NAMES.tolist()
    assert same(er.calibration_test("y", names, data=frame, classes=names, **SETTINGS), WHOLE)


def test_rows_may_come_in_any_order():
    order = RNG.permutation(N)
    assert same(run(TEXT[order], P[order]), WHOLE)
    test = er.model_test(P, X, TEXT, **SETTINGS)
    assert same(er.model_test(P[order], X[order], TEXT[order], **SETTINGS), test)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"P": P * 1.01}, r"'y_prob'.*add up to 1, within 0.0015. Got 1.01 in row 0.*60 such.*sum"),
        ({"P": 100 * P}, r"add up to 1.*percentages, divide them by 100"),
        ({"P": P - [0.9, 0, -0.9]}, r"0 or more. Got -0.* column 'x0'"),
        ({"P": np.where(np.arange(N)[:, None] == 4, np.nan, P)}, r"finite.*nan in row 4"),
        ({"P": P[:7]}, r"same number of rows. Got 7 and 60"),
        ({"y": np.where(np.arange(N) == 3, "elk", TEXT)}, r"'classes'.*3 columns.*has 4 classes"),
        (
            {"y": np.where(np.arange(N) == 3, "elk", TEXT), "classes": NAMES},
            r"'y_true'.*\['ant', 'bee', 'cow'\]. Got 'elk' in row 3",
        ),
        ({"y": np.where(CODES == 2, "bee", TEXT)}, r"'classes'.*has 2 classes, \['ant', 'bee'\]"),
        ({"classes": ["ant", "bee"]}, r"'classes'.*3 columns"),
        ({"classes": ["ant", "bee", "bee"]}, r"'classes'.*each once"),
        ({"P": P[:, 0], "classes": NAMES}, r"'y_prob'.*one column per class.*Got \(60,\)"),
        ({"P": P[:, :1], "classes": ["ant"]}, r"'y_prob'.*one column per class.*Got \(60, 1\)"),
        ({"P": pd.DataFrame(P, columns=["u", "v", "w"])}, r"named after the classes.*\['u', 'v'"),
        ({"y": [None, *TEXT[1:]]}, r"'y_true'.*missing.*row 0"),
        ({"y": np.eye(3)[CODES]}, r"'y_true'.*shape"),
        ({"pos_label": "ant"}, r"'pos_label'.*two classes. Got 'ant' with 3"),
        ({"by": TEXT}, r"'by'.*two classes"),
        ({"statistic": "score"}, r"'statistic'.*ClassWise\(Score"),
        ({"statistic": "wald"}, r"'statistic'.*'brier'.*Got 'wald'"),
        ({"statistic": lambda labels, p, X: labels.sum(axis=1)}, r"'statistic'.*more than two"),
    ],
)
def test_what_is_refused(arguments, message):
    with pytest.raises(er.ExactRegionError, match=message):
        run(**arguments)


def test_classes_must_be_a_list():
    with pytest.raises(InvalidTypeError, match=r"'classes'.*list"):
        run(classes="ant")
    with pytest.raises(InvalidValueError, match="weights"):
        ClassOmnibus(Brier(), weights=(1, 2))
    with pytest.raises(InvalidTypeError, match="ClassWise"):
        ClassOmnibus(er.statistics.Score())


def test_a_class_that_never_occurs_is_a_class():
    Q = np.column_stack([0.7 * P, np.full(N, 0.3)])
    result = run(CODES, Q)
    assert result.classes == (0, 1, 2, 3)
    assert result.pvalue == 1 / 40
    assert result.table.loc[3, "observed"] == 0
    frame = pd.DataFrame(Q, columns=[*NAMES, "dog"])
    assert run(TEXT, frame).classes == ("ant", "bee", "cow", "dog")


def test_a_class_that_was_held_impossible_is_a_contradiction():
    Q = P.copy()
    Q[5] = np.eye(3)[(CODES[5] + 1) % 3]
    for statistic in ("omnibus", "brier", "temperature", "joint"):
        result = run(P=Q, statistic=statistic)
        assert np.isinf(result.statistic)
        assert result.pvalue == 1 / 40
    assert result.to_dict()["z"] is None


def test_certain_predictions_that_came_true_leave_it_to_the_seat():
    result = run(P=np.eye(3)[CODES])
    assert np.ptp([*result.null_distribution, result.statistic]) == 0


@pytest.mark.parametrize(
    "statistic",
    [Brier(), Temperature(), Joint(), ClassWise(), TopLabel(), ClassOmnibus(Brier(), TopLabel())],
)
def test_results_can_be_read(statistic):
    result = run(statistic=statistic)
    assert json.loads(json.dumps(result.to_dict()))["pvalue"] == result.pvalue
    assert repr(statistic).startswith(type(statistic).__name__)
    assert f"p = {result.pvalue:.4g}" in str(result)
    assert "<table" in result._repr_html_()
    looks_at_classes = isinstance(statistic, Joint | ClassWise)
    assert result.table["pvalue"].iloc[:3].notna().all() == looks_at_classes
    assert ("top label" in result.table.index) == isinstance(statistic, TopLabel | ClassOmnibus)


def test_the_table_of_classes():
    sharp = P**4 / (P**4).sum(axis=1, keepdims=True)
    result = run(P=sharp, n_resamples=199)
    shares = [(name == TEXT).mean() for name in NAMES]
    np.testing.assert_allclose(result.table["observed"].iloc[:3], shares)
    np.testing.assert_allclose(result.table["expected"].iloc[:3], sharp.mean(axis=0))
    np.testing.assert_allclose(result.table.loc["top label", "expected"], sharp.max(axis=1).mean())
    assert result.pvalue == 1 / 200
    assert "top label" in result.named().index
    assert result.clearest in result.named().index
    assert (result.table["pvalue_adjusted"] >= result.table["pvalue"]).all()


def test_several_models_of_classes():
    table = run(P={"as made": P, "even": np.full((N, 3), 1 / 3)})
    assert table.loc["as made", "rank"] == WHOLE.rank
    assert list(table.index) == ["as made", "even"]
    assert (table["pvalue_holm"] >= table["pvalue"]).all()
    two = run(CODES == 0, {"both": np.column_stack([1 - P[:, 0], P[:, 0]])})
    assert two.loc["both", "rank"] == run(CODES == 0, P[:, 0]).rank
    with pytest.raises(InvalidValueError, match=r"y_prob\['off'\].*add up to 1"):
        run(P={"as made": P, "off": 2 * P})


def test_classifiers_functions_and_arrays_are_candidates():
    classifier = LogisticRegression().fit(X, TEXT)
    result = er.model_test(classifier, X, TEXT, **SETTINGS)
    assert result.classes == ("ant", "bee", "cow")
    assert list(result.table.index) == ["ant", "bee", "cow"]
    for candidate in (classifier.predict_proba(X), classifier.predict_proba):
        assert same(er.model_test(candidate, X, TEXT, **SETTINGS), result)
    frame = pd.DataFrame(X, columns=["dose", "age"])
    assert same(er.model_test(classifier.predict_proba(X), frame, TEXT, **SETTINGS), result)
    few = TEXT != "cow"  # a class of the classifier that does not occur here
    assert er.model_test(classifier, X[few], TEXT[few], **SETTINGS).classes == result.classes
    candidates = {"logit": classifier, "even": lambda X: np.full((len(X), 3), 1 / 3)}
    table = er.compare(candidates, X, TEXT, **SETTINGS)
    assert table.loc["logit", "rank"] == result.rank
    assert table.loc["even", "rank"] == er.model_test(candidates["even"], X, TEXT, **SETTINGS).rank


def test_two_columns_of_several_candidates_are_labels():
    both = np.column_stack([1 - P[:, 0], P[:, 0]])
    table = er.compare({"both": both, "one": P[:, 0]}, X, CODES == 0, **SETTINGS)
    assert table.loc["both", "statistic"] == table.loc["one", "statistic"]
    named = er.compare({"both": both}, X, TEXT == "ant", classes=[False, True], **SETTINGS)
    assert named.loc["both", "rank"] == table.loc["one", "rank"]


def test_objects_and_text_are_inputs():
    words = ["a" * (1 + k % 4) for k in range(N)]
    kernel = lambda a, b: float(min(len(a), len(b)))  # noqa: E731
    statistic = er.statistics.Discrepancy(kernel)
    assert er.model_test(P, words, TEXT, statistic=statistic, **SETTINGS).kind == "model"
    frame = pd.DataFrame({"arm": np.where(CODES, "new", "old"), "x": X[:, 0]})
    assert er.model_test(P, frame, TEXT, **SETTINGS).n == N


@pytest.mark.parametrize(
    ("found", "named", "labels", "columns"),
    [
        (["cat", "car"], ("p_cat", "p_car", "p_a"), ("a", "car", "cat"), (2, 1, 0)),
        ([1, 2], ("k3", "k2", "k1"), (1, 2, 3), (2, 1, 0)),
        ([0.0, 1.0], ("p_0", "p_1", "p_2"), (0.0, 1.0, 2), (0, 1, 2)),
        ([10, 9], ("9", "10", "11"), (9, 10, 11), (0, 1, 2)),
        ([True, False], ("False", "True"), (False, True), (0, 1)),
    ],
)
def test_names_of_columns(found, named, labels, columns):
    matched = MatchedClasses.of(found, len(named), named)
    assert (matched.labels, matched.columns) == (labels, columns)


@pytest.mark.parametrize("labels", [[1, 2], [True, False]])
def test_labels_that_may_be_of_other_columns_are_refused(labels):
    rng = np.random.default_rng(0)
    P = rng.dirichlet([1, 1, 1], 20)
    y = rng.choice(labels, 20)
    with pytest.raises(InvalidValueError, match="must name the class of each of the 3 columns"):
        er.calibration_test(y, P, n_resamples=19, rng=0)
    assert er.calibration_test(y, P, n_resamples=19, rng=0, classes=[*labels, 3]).n == 20


def test_the_seed_of_the_data_does_not_depend_on_the_order_of_columns():
    rng = np.random.default_rng(0)
    P = rng.dirichlet([1, 1, 1], 30)
    y = rng.choice(["a", "b", "c"], 30)
    one = er.calibration_test(y, P, n_resamples=19, rng="data", classes=["a", "b", "c"])
    two = er.calibration_test(
        y, P[:, [2, 0, 1]], n_resamples=19, rng="data", classes=["c", "a", "b"]
    )
    assert (one.seed, one.rank) == (two.seed, two.rank)


def test_probabilities_with_three_decimals_are_taken():
    P = np.array([[0.333, 0.333, 0.333], [0.0005, 0.9995, 0.001]])
    assert er.calibration_test(["a", "b"], P, n_resamples=19, rng=0, classes=["a", "b", "c"]).n == 2
    with pytest.raises(InvalidValueError, match="add up to 1"):
        er.calibration_test(["a"], [[0.332, 0.333, 0.333]], n_resamples=19, classes=["a", "b", "c"])
