"""Fixed candidates: arrays, classifiers, statsmodels results, callables."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
import statsmodels.api as sm
import statsmodels.formula.api as smf
from scipy.special import expit
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import make_column_transformer
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import SVC, LinearSVC

import exactregion as er
from exactregion.errors import InvalidTypeError, InvalidValueError, ModelError, NotFittedError
from exactregion.models import Logistic, fixed_probabilities

RNG = np.random.default_rng(8)
X = RNG.normal(size=(120, 2))
Y = (RNG.random(120) < expit(X @ [1.0, -0.5])).astype(int)
FRAME = pd.DataFrame(X, columns=["dose", "age"])
P = RNG.random(5)
X5 = np.arange(5.0)


def ask(candidate, X=X5, n=None, classes=None):
    return fixed_probabilities(candidate, X, len(X) if n is None else n, classes)


def assert_same_test(candidate, probabilities, X, y, **settings):
    """A candidate is tested as the probabilities it gives would be."""
    by_candidate, by_array = (
        er.model_test(c, X, y, n_resamples=19, rng=0, **settings)
        for c in (candidate, probabilities)
    )
    assert by_candidate.pvalue == by_array.pvalue
    assert by_candidate.statistic == by_array.statistic


# --- arrays and callables -------------------------------------------------------------------------


@pytest.mark.parametrize(
    "candidate",
    [
        P,
        list(P),
        tuple(P),
        pd.Series(P, index=[9, 3, 3, 1, 0]),
        pl.Series(P),
        P[:, None],
        pd.DataFrame({"p": P}),
        lambda X: P,
        lambda X: pd.Series(P),
        lambda X: P[:, None],
    ],
    ids=[
        "array",
        "list",
        "tuple",
        "pandas",
        "polars",
        "column",
        "frame",
        "callable",
        "callable to series",
        "callable to column",
    ],
)
def test_arrays_and_callables(candidate):
    np.testing.assert_array_equal(ask(candidate), P)


@pytest.mark.parametrize("p", [[0, 1, 0, 1, 1], [False, True, False, True, True]])
def test_certainties_are_probabilities(p):
    np.testing.assert_array_equal(ask(p), [0.0, 1.0, 0.0, 1.0, 1.0])


@pytest.mark.parametrize("inputs", [FRAME, pl.from_pandas(FRAME), X], ids=["pd", "pl", "np"])
def test_a_callable_is_given_the_users_own_inputs(inputs):
    seen = []
    er.model_test(lambda X: seen.append(X) or np.full(120, 0.5), inputs, Y, n_resamples=9, rng=0)
    # a copy, which it may change
    assert type(seen[0]) is type(inputs)
    assert seen[0] is not inputs
    np.testing.assert_array_equal(np.asarray(seen[0]), np.asarray(inputs))


def test_rows_keep_the_users_order():
    """The library sorts the rows; probabilities must follow the outcomes they belong to."""
    x = np.array([3.0, 1.0, 2.0, 0.0])
    y = np.array([1, 0, 1, 0])
    ask = {"statistic": "discrepancy", "n_resamples": 19, "rng": 0}
    right = er.model_test(y.astype(float), x, y, **ask)
    wrong = er.model_test(1.0 - y, x, y, **ask)
    assert right.statistic == 0
    assert wrong.statistic > 0


# --- scikit-learn ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "classifier",
    [
        LogisticRegression(),
        GaussianNB(),
        make_pipeline(StandardScaler(), LogisticRegression()),
        CalibratedClassifierCV(LinearSVC(), cv=3),
        GridSearchCV(LogisticRegression(), {"C": [0.1, 1.0]}, cv=2),
    ],
    ids=lambda classifier: type(classifier).__name__,
)
@pytest.mark.parametrize(
    ("labels", "pos_label"),
    [
        ((0, 1), None),
        ((-1, 1), None),
        ((False, True), None),
        (("sick", "well"), "sick"),
        (("sick", "well"), "well"),
        ((1, 2), 1),
    ],
)
def test_classifiers(classifier, labels, pos_label):
    y = np.array(labels)[Y]
    classifier = clone(classifier).fit(X[:80], y[:80])
    column = list(classifier.classes_).index(labels[1] if pos_label is None else pos_label)
    expected = classifier.predict_proba(X[80:])[:, column]
    assert_same_test(classifier, expected, X[80:], y[80:], pos_label=pos_label)


def test_pipeline_on_a_frame_with_categories():
    frame = FRAME.assign(dose=FRAME["dose"].round().astype(int))
    encoder = make_column_transformer(
        (OneHotEncoder(handle_unknown="ignore"), ["dose"]), remainder="passthrough"
    )
    pipeline = make_pipeline(encoder, LogisticRegression()).fit(frame[:80], Y[:80])
    expected = pipeline.predict_proba(frame[80:])[:, 1]
    np.testing.assert_array_equal(ask(pipeline, frame[80:], classes=(0, 1)), expected)
    assert_same_test(pipeline, expected, frame[80:], Y[80:])


def test_booleans_and_numbers_are_the_same_classes():
    classifier = LogisticRegression().fit(X[:80], Y[:80] == 1)
    assert_same_test(classifier, classifier.predict_proba(X[80:])[:, 1], X[80:], Y[80:])


def test_counts_take_the_second_class():
    classifier = LogisticRegression().fit(X[:80], Y[:80])
    counts = np.column_stack([Y[80:], 2 - Y[80:]])
    assert_same_test(classifier, classifier.predict_proba(X[80:])[:, 1], X[80:], counts)


@pytest.mark.parametrize(
    ("labels", "pos_label"), [((0, 1), None), ((-1, 1), None), (("n", "y"), "y")]
)
def test_held_out_outcomes_of_one_class(labels, pos_label):
    """A few held-out rows may all be positive; that does not make the classifier another one."""
    classifier = LogisticRegression().fit(X[:80], np.array(labels)[Y[:80]])
    expected = classifier.predict_proba(X[80:84])[:, 1]
    assert_same_test(classifier, expected, X[80:84], [labels[1]] * 4, pos_label=pos_label)


@pytest.mark.parametrize(
    "estimator",
    [LinearSVC(), SVC(), LinearRegression()],
    ids=lambda estimator: type(estimator).__name__,
)
def test_estimators_without_probabilities(estimator):
    message = (
        f"'candidate' parameter must give probabilities. Got {type(estimator).__name__}, which "
        "has no predict_proba, instead: wrap it in sklearn.calibration.CalibratedClassifierCV"
    )
    with pytest.raises(InvalidTypeError, match=message):
        er.model_test(clone(estimator).fit(X, Y), X, Y)


@pytest.mark.parametrize(
    "classifier",
    [
        LogisticRegression(),
        make_pipeline(StandardScaler(), LogisticRegression()),
        CalibratedClassifierCV(LinearSVC()),
        GridSearchCV(LogisticRegression(), {"C": [1.0]}),
    ],
    ids=lambda classifier: type(classifier).__name__,
)
def test_classifiers_that_are_not_fitted(classifier):
    message = f"'candidate' parameter must be fitted. Got {type(classifier).__name__} without"
    with pytest.raises(NotFittedError, match=message):
        er.model_test(classifier, X, Y)


@pytest.mark.parametrize(
    ("known", "y", "pos_label", "message"),
    [
        ((0, 1), (-1, 1), None, r"the two classes of y, \[-1, 1\]. Got .* the classes \[0, 1\]"),
        ((-1, 1), (0, 1), None, r"the two classes of y, \[0, 1\]. Got .* the classes \[-1, 1\]"),
        (
            ("no", "yes"),
            (0, 1),
            None,
            r"the two classes of y, \[0, 1\]. Got .* the classes \['no', 'yes'\]",
        ),
        ((1, 2), (2, 3), 3, r"the two classes of y, \[2, 3\]. Got .* the classes \[1, 2\]"),
    ],
)
def test_classifiers_with_other_classes(known, y, pos_label, message):
    training = np.array(known)[np.arange(120) % len(known)]
    classifier = LogisticRegression().fit(X, training)
    with pytest.raises(InvalidValueError, match=f"'candidate' parameter must have {message}"):
        er.model_test(classifier, X, np.array(y)[Y], pos_label=pos_label)


def test_three_classes_where_those_of_y_are_not_known():
    classifier = LogisticRegression().fit(X, np.arange(120) % 3)
    with pytest.raises(InvalidValueError, match=r"must have .*two.* with the classes \[0, 1, 2\]"):
        ask(classifier, X)


class Duck:
    """A classifier by its looks, with any answer."""

    classes_ = (0, 1)

    def __init__(self, answer):
        self.answer = answer

    def predict_proba(self, X):
        return self.answer


@pytest.mark.parametrize("answer", [P, P[:, None], 0.5], ids=["(n,)", "(n, 1)", "scalar"])
def test_classifiers_that_answer_in_another_shape(answer):
    with pytest.raises(er.ExactRegionError, match="Duck"):
        ask(Duck(answer))


def test_classifier_with_a_bad_answer():
    with pytest.raises(ModelError, match=r"between 0 and 1. Got nan instead, in 1 of 5 rows: 3"):
        ask(Duck(np.column_stack([P, [0.1, 0.2, 0.3, np.nan, 0.5]])))


# --- statsmodels ----------------------------------------------------------------------------------

ORING = er.datasets.oring()
TEMP = ORING[["temp"]].astype(float)
LINEAR = ORING[["temp", "pressure"]].astype(float)


def glm(exog):
    return sm.GLM(ORING["y"], exog, family=sm.families.Binomial()).fit()


def logit(exog):
    return sm.Logit(ORING["y"], exog).fit(disp=0)


@pytest.mark.parametrize("fit", [glm, logit], ids=["GLM", "Logit"])
@pytest.mark.parametrize("prepend", [True, False], ids=["first", "last"])
@pytest.mark.parametrize("inputs", [TEMP, LINEAR], ids=["one", "two"])
@pytest.mark.parametrize("kind", ["frame", "array"])
def test_results_with_a_constant(fit, inputs, prepend, kind):
    """X may have the constant or leave it out."""
    inputs = inputs if kind == "frame" else inputs.to_numpy()
    design = sm.add_constant(inputs, prepend=prepend)
    results = fit(design)
    expected = np.asarray(results.fittedvalues if fit is glm else results.predict())
    np.testing.assert_allclose(ask(results, design), expected, rtol=1e-12)
    np.testing.assert_allclose(ask(results, inputs), expected, rtol=1e-12)
    assert_same_test(results, ask(results, inputs), inputs, ORING["y"])


@pytest.mark.parametrize("fit", [glm, logit], ids=["GLM", "Logit"])
def test_results_on_one_column_without_a_second_dimension(fit):
    x = TEMP["temp"].to_numpy()
    results = fit(sm.add_constant(x))
    np.testing.assert_allclose(ask(results, x), results.predict(), rtol=1e-12)
    np.testing.assert_allclose(ask(results, TEMP["temp"]), results.predict(), rtol=1e-12)


def test_results_without_a_constant():
    results = glm(TEMP)
    np.testing.assert_allclose(ask(results, TEMP), expit(results.params["temp"] * TEMP["temp"]))


def test_a_constant_by_another_name():
    design = TEMP.assign(intercept=1.0)
    results = glm(design)
    np.testing.assert_allclose(ask(results, design), results.fittedvalues, rtol=1e-12)


@pytest.mark.parametrize(
    "results",
    [
        smf.glm("y ~ temp + np.log(pressure)", ORING, family=sm.families.Binomial()).fit(),
        smf.logit("y ~ temp + np.log(pressure)", ORING).fit(disp=0),
    ],
    ids=["glm", "logit"],
)
def test_results_of_a_formula(results):
    held_out = ORING[["temp", "pressure"]][5:]
    expected = results.predict(held_out)
    np.testing.assert_array_equal(ask(results, held_out), expected)
    assert_same_test(results, expected, held_out, ORING["y"][5:])


def test_a_formula_reads_text_columns_itself():
    data = ORING.assign(crew=np.where(np.arange(23) % 2, "odd", "even"))
    results = smf.glm("y ~ temp + crew", data, family=sm.families.Binomial()).fit()
    np.testing.assert_array_equal(ask(results, data), results.predict(data))


def test_results_that_are_no_probabilities():
    results = sm.OLS(ORING["y"], sm.add_constant(TEMP)).fit()
    with pytest.raises(
        ModelError, match=r"must be between 0 and 1. Got -0\.\d+ instead, in \d of 23"
    ):
        ask(results, TEMP)


def test_compare_takes_every_kind_at_once():
    candidates = {
        "array": np.full(23, 0.3),
        "callable": lambda X: expit(15.0 - 0.23 * X["temp"]),
        "glm": glm(sm.add_constant(TEMP)),
        "classifier": LogisticRegression().fit(TEMP, ORING["y"]),
    }
    table = er.compare(candidates, TEMP, ORING["y"], n_resamples=19, rng=0)
    assert list(table.index) == list(candidates)
    assert table["pvalue"].between(0.05, 1).all()


# --- what is no candidate -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("candidate", "error", "message"),
    [
        (np.full((5, 2), 0.5), InvalidValueError, r"Got \(5, 2\) instead: pass its column"),
        (lambda X: np.full((5, 2), 0.5), InvalidValueError, r"Got \(5, 2\) instead"),
        (np.full(4, 0.5), InvalidValueError, r"shape \(5,\). Got \(4,\) instead"),
        (lambda X: np.full(6, 0.5), InvalidValueError, r"shape \(5,\). Got \(6,\) instead"),
        (0.5, InvalidValueError, r"shape \(5,\). Got \(\) instead"),
        (None, InvalidValueError, r"shape \(5,\). Got \(\) instead"),
        (np.full((5, 3), 0.5), InvalidValueError, r"shape \(5,\). Got \(5, 3\) instead"),
        ("logistic", InvalidTypeError, "fitted classifier, .* or a callable. Got str instead"),
        (["low"] * 5, InvalidTypeError, "array of probabilities, .* Got list instead"),
        ({"p": P}, InvalidTypeError, "array of probabilities, .* Got dict instead"),
        (Logistic(), InvalidTypeError, "array of probabilities, .* Got Logistic instead"),
    ],
    ids=[
        "(n, 2)",
        "callable (n, 2)",
        "short",
        "callable long",
        "number",
        "None",
        "(n, 3)",
        "text",
        "list of text",
        "dict",
        "model",
    ],
)
def test_what_is_no_candidate(candidate, error, message):
    with pytest.raises(error, match=f"'candidate' parameter must .*{message}"):
        ask(candidate)


@pytest.mark.parametrize(
    ("p", "message"),
    [
        ([0.5, np.nan, 0.5, np.nan, 0.5], "Got nan instead, in 2 of 5 rows: 1, 3"),
        ([0.5, 0.5, 0.5, 0.5, 1.5], "Got 1.5 instead, in 1 of 5 rows: 4"),
        ([-0.25, 0.5, 2.0, 0.5, 0.5], "Got -0.25 instead, in 2 of 5 rows: 0, 2"),
        ([np.inf] * 5, "Got inf instead, in 5 of 5 rows: 0, 1, 2, 3, 4"),
        (pd.Series([0.5, 0.5, None, 0.5, 0.5]), "Got nan instead, in 1 of 5 rows: 2"),
        (pl.Series([0.5, 0.5, None, 0.5, 0.5]), "Got nan instead, in 1 of 5 rows: 2"),
    ],
)
@pytest.mark.parametrize("wrap", [lambda p: p, lambda p: lambda X: p], ids=["array", "callable"])
def test_what_is_no_probability_names_the_rows(p, message, wrap):
    with pytest.raises(ModelError, match=f"candidate must be between 0 and 1. {message}"):
        ask(wrap(p))


def test_many_bad_rows_are_cut_short():
    with pytest.raises(ModelError, match="in 9 of 9 rows: 0, 1, 2, 3, 4, …"):
        ask(np.full(9, 7.0), np.arange(9.0))


def test_rows_are_named_in_the_users_order():
    with pytest.raises(ModelError, match="Got 3 instead, in 1 of 4 rows: 0"):
        er.model_test([3.0, 0.5, 0.5, 0.5], [9.0, 1.0, 2.0, 3.0], [0, 1, 0, 1])
