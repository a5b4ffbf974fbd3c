"""Models as people have them, on held-out data: tested as the probabilities they give would be."""

import lightgbm
import numpy as np
import pandas as pd
import polars as pl
import pytest
import statsmodels.api as sm
import statsmodels.formula.api as smf
import xgboost
from scipy.special import expit
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import make_column_transformer
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import LinearSVC
from statsmodels.formula import options as formula_options

import exactregion as er
from exactregion.errors import InvalidTypeError, InvalidValueError, ModelError, NotFittedError
from exactregion.models import fixed_probabilities

RNG = np.random.default_rng(5)
N, CUT = 160, 100
DATA = pd.DataFrame(
    {
        "age": RNG.normal(50.0, 10.0, N),
        "dose": RNG.uniform(1.0, 4.0, N),
        "sex": RNG.choice(["female", "male"], N),
    }
)
DATA["ill"] = (RNG.random(N) < expit((DATA["age"] - 50) / 10 - (DATA["sex"] == "male"))).astype(int)
TRAIN, TEST = DATA[:CUT], DATA[CUT:]
NUMBERS = ["age", "dose"]
Y = TEST["ill"]


def ask(candidate, X, classes=None):
    return fixed_probabilities(candidate, X, len(X), classes)


def assert_close(given, expected):
    """Equal to the last digit but one, which hangs on how a matrix lies in memory."""
    np.testing.assert_allclose(given, np.asarray(expected), rtol=1e-12)


def assert_tested_as(candidate, expected, X=TEST[NUMBERS], y=Y, **settings):
    given, same = (
        er.model_test(c, X, y, n_resamples=19, rng=0, **settings)
        for c in (candidate, np.asarray(expected, dtype=np.float64))
    )
    assert (given.pvalue, given.statistic) == (same.pvalue, same.statistic)


# --- scikit-learn -------------------------------------------------------------------------------


def coded():
    """Code the text, keep the numbers."""
    return make_column_transformer(
        (OneHotEncoder(), ["sex"]), (StandardScaler(), NUMBERS), remainder="drop"
    )


@pytest.mark.parametrize(
    "classifier",
    [
        make_pipeline(coded(), LogisticRegression()),
        CalibratedClassifierCV(make_pipeline(coded(), LinearSVC()), cv=2),
        GridSearchCV(
            make_pipeline(coded(), LogisticRegression()), {"logisticregression__C": [0.1, 1]}, cv=2
        ),
    ],
    ids=lambda classifier: type(classifier).__name__,
)
@pytest.mark.parametrize(("labels", "pos_label"), [((0, 1), None), (("ill", "well"), "ill")])
def test_pipelines_with_text_columns(classifier, labels, pos_label):
    columns = [*NUMBERS, "sex"]
    y = np.array(labels)[DATA["ill"]]
    classifier.fit(TRAIN[columns], y[:CUT])
    positive = list(classifier.classes_).index(pos_label or labels[1])
    expected = classifier.predict_proba(TEST[columns])[:, positive]
    assert_tested_as(classifier, expected, TEST[columns], y[CUT:], pos_label=pos_label)
    moved = TEST[["sex", "ill", *NUMBERS]]
    np.testing.assert_array_equal(
        ask(classifier, moved, (labels[0], labels[1])),
        ask(classifier, TEST[columns], (labels[0], labels[1])),
    )


def boosted_by_xgboost():
    return xgboost.XGBClassifier(n_estimators=3, max_depth=2, n_jobs=1)


def boosted_by_lightgbm():
    return lightgbm.LGBMClassifier(n_estimators=3, min_child_samples=5, n_jobs=1, verbose=-1)


CLASSIFIERS = {
    "logistic": LogisticRegression,
    "forest": lambda: RandomForestClassifier(5, random_state=0),
    "pipeline": lambda: make_pipeline(StandardScaler(), LogisticRegression()),
    "calibrated": lambda: CalibratedClassifierCV(LinearSVC(), cv=2),
    "xgboost": boosted_by_xgboost,
    "lightgbm": boosted_by_lightgbm,
}


@pytest.mark.parametrize("make", CLASSIFIERS.values(), ids=CLASSIFIERS)
@pytest.mark.parametrize("fitted_on", ["frame", "array"])
def test_frames_and_arrays_give_the_same_without_a_warning(make, fitted_on):
    X, new = TRAIN[NUMBERS], TEST[NUMBERS]
    if fitted_on == "array":
        X, own = X.to_numpy(), new.to_numpy()
    else:
        own = new
    classifier = make().fit(X, TRAIN["ill"])
    expected = classifier.predict_proba(own)[:, 1]
    for inputs in (new, new.to_numpy(), new.to_numpy().tolist()):
        np.testing.assert_allclose(ask(classifier, inputs), expected, rtol=1e-12)
    assert_tested_as(classifier, expected)


@pytest.mark.parametrize("make", CLASSIFIERS.values(), ids=CLASSIFIERS)
def test_columns_go_by_name_and_inputs_may_have_more(make):
    """A library that takes them by place would give other probabilities, and say nothing."""
    classifier = make().fit(TRAIN[NUMBERS], TRAIN["ill"])
    expected = classifier.predict_proba(TEST[NUMBERS])[:, 1]
    for inputs in (TEST[["dose", "age"]], TEST[["sex", "dose", "age"]]):
        np.testing.assert_allclose(ask(classifier, inputs), expected, rtol=1e-12)
    assert_tested_as(classifier, expected, TEST[["sex", "dose", "age"]])


def test_polars_frames_go_by_name_too():
    classifier = LogisticRegression().fit(TRAIN[NUMBERS], TRAIN["ill"])
    expected = classifier.predict_proba(TEST[NUMBERS])[:, 1]
    np.testing.assert_array_equal(ask(classifier, pl.from_pandas(TEST[["dose", "age"]])), expected)


@pytest.mark.parametrize("fitted_on", ["frame", "array"])
def test_a_single_column_needs_no_second_dimension(fitted_on):
    X = TRAIN[["age"]] if fitted_on == "frame" else TRAIN[["age"]].to_numpy()
    classifier = LogisticRegression().fit(X, TRAIN["ill"])
    own = TEST[["age"]] if fitted_on == "frame" else TEST[["age"]].to_numpy()
    expected = classifier.predict_proba(own)[:, 1]
    for inputs in (TEST["age"], TEST["age"].to_numpy(), TEST["age"].rename("other")):
        np.testing.assert_allclose(ask(classifier, inputs), expected, rtol=1e-12)


def test_a_column_that_is_missing_is_the_classifiers_to_miss():
    classifier = LogisticRegression().fit(TRAIN[NUMBERS], TRAIN["ill"])
    with pytest.raises(ValueError, match=r"(?s)feature names.*dose"):
        ask(classifier, TEST[["age"]])


# --- boosting by itself -------------------------------------------------------------------------


def test_boosters_ask_for_a_function():
    raw = boosted_by_xgboost().fit(TRAIN[NUMBERS], TRAIN["ill"]).get_booster()
    with pytest.raises(InvalidTypeError, match=r"Booster of xgboost.*xgboost.DMatrix\(X\)"):
        ask(raw, TEST[NUMBERS])
    candidate = lambda X: raw.predict(xgboost.DMatrix(X))  # noqa: E731
    assert_tested_as(candidate, candidate(TEST[NUMBERS]))

    classifier = boosted_by_lightgbm().fit(TRAIN[NUMBERS], TRAIN["ill"])
    with pytest.raises(InvalidTypeError, match=r"Booster of lightgbm.* such as booster.predict"):
        ask(classifier.booster_, TEST[NUMBERS])
    expected = classifier.predict_proba(TEST[NUMBERS])[:, 1]
    assert_tested_as(classifier.booster_.predict, expected)


# --- statsmodels --------------------------------------------------------------------------------


def glm(y, exog):
    return sm.GLM(y, exog, family=sm.families.Binomial()).fit()


FITS = {
    "Logit": lambda y, exog: sm.Logit(y, exog).fit(disp=0),
    "Probit": lambda y, exog: sm.Probit(y, exog).fit(disp=0),
    "GLM": glm,
    "Logit regularized": lambda y, exog: sm.Logit(y, exog).fit_regularized(alpha=0.1, disp=0),
}


@pytest.mark.parametrize("fit", FITS.values(), ids=FITS)
@pytest.mark.parametrize("kind", ["frame", "array"])
@pytest.mark.parametrize("name", ["const", "one"])
@pytest.mark.parametrize("place", [0, 1, 2])
def test_results_find_their_constant(fit, kind, name, place):
    train, test = TRAIN[NUMBERS].copy(), TEST[NUMBERS].copy()
    for frame in (train, test):
        frame.insert(place, name, 1.0)
    new = TEST[NUMBERS]
    if kind == "array":
        train, test, new = train.to_numpy(), test.to_numpy(), new.to_numpy()
    results = fit(TRAIN["ill"].to_numpy(), train)
    expected = np.asarray(results.predict(test))
    assert_close(ask(results, test), expected)
    assert_close(ask(results, new), expected)
    assert_tested_as(results, ask(results, new), new)


def test_a_regularized_glm():
    design = sm.add_constant(TRAIN[NUMBERS])
    results = sm.GLM(TRAIN["ill"], design, family=sm.families.Binomial()).fit_regularized(
        alpha=0.01, maxiter=2000
    )
    expected = results.predict(sm.add_constant(TEST[NUMBERS]))
    assert_close(ask(results, TEST[["dose", "age"]]), expected)


@pytest.mark.parametrize("make", [lambda data: data, pl.from_pandas], ids=["pandas", "polars"])
def test_columns_of_results_go_by_name(make):
    results = glm(TRAIN["ill"], sm.add_constant(TRAIN[NUMBERS]))
    expected = results.predict(sm.add_constant(TEST[NUMBERS]))
    moved = make(TEST[["sex", "dose", "age"]])
    assert_close(ask(results, moved), expected)
    assert_tested_as(results, ask(results, moved), moved)


def test_results_of_an_array_take_the_columns_of_a_frame_by_place():
    results = glm(TRAIN["ill"], sm.add_constant(TRAIN[NUMBERS].to_numpy()))
    expected = results.predict(sm.add_constant(TEST[NUMBERS].to_numpy()))
    assert_close(ask(results, TEST[NUMBERS]), expected)


def test_a_constant_that_is_not_one():
    twos = np.column_stack([TRAIN["age"], np.full(CUT, 2.0)])
    results = glm(TRAIN["ill"], twos)
    expected = results.predict(np.column_stack([TEST["age"], np.full(N - CUT, 2.0)]))
    assert_close(ask(results, TEST["age"]), expected)


def test_levels_that_add_up_to_a_constant_are_all_needed():
    train, test = (pd.get_dummies(part["sex"], dtype=float) for part in (TRAIN, TEST))
    results = glm(TRAIN["ill"], train)
    assert_close(ask(results, test), results.predict(test))
    with pytest.raises(InvalidValueError, match=r"columns \['female', 'male'\] that the candidate"):
        ask(results, test[["male"]])


@pytest.mark.parametrize(
    ("X", "message"),
    [
        (TEST[["age"]], r"must have the columns \['age', 'dose'\] .*Got \['age'\] instead"),
        (TEST[["age"]].to_numpy(), r"the 2 columns \['age', 'dose'\] .*Got 1 instead"),
        (np.ones((60, 4)), r"the 2 columns \['age', 'dose'\] .*Got 4 instead"),
    ],
)
def test_columns_that_results_miss(X, message):
    results = glm(TRAIN["ill"], sm.add_constant(TRAIN[NUMBERS]))
    with pytest.raises(InvalidValueError, match=f"'X' parameter {message}|{message}"):
        ask(results, X)


@pytest.mark.parametrize("engine", ["patsy", "formulaic"])
@pytest.mark.parametrize("kind", ["logit", "probit", "glm"])
def test_results_of_a_formula_have_their_own_design(engine, kind, monkeypatch):
    monkeypatch.setattr(formula_options, "formula_engine", engine)
    formula = "ill ~ np.log(age) + C(sex)"
    if kind == "glm":
        results = smf.glm(formula, TRAIN, family=sm.families.Binomial()).fit()
    else:
        results = getattr(smf, kind)(formula, TRAIN).fit(disp=0)
    expected = results.predict(TEST)
    moved = TEST[["sex", "age"]]
    assert_close(ask(results, moved), expected)
    assert_close(ask(results, pl.from_pandas(moved)), expected)
    assert_tested_as(results, ask(results, moved), moved)
    with pytest.raises(InvalidTypeError, match=r"'X' parameter must be a frame.*np.log.*ndarray"):
        ask(results, TEST[NUMBERS].to_numpy())


def test_results_of_counts():
    dose = np.array([1.0, 2.0, 3.0, 4.0])
    counts = np.array([[1, 9], [3, 7], [6, 4], [9, 1]])
    results = glm(counts, sm.add_constant(dose))
    assert_close(ask(results, dose), results.predict(sm.add_constant(dose)))
    assert_tested_as(results, ask(results, dose), dose, counts[:, ::-1])


def test_results_of_another_family_are_no_probabilities():
    results = sm.GLM(
        TRAIN["dose"], sm.add_constant(TRAIN[["age"]]), family=sm.families.Poisson()
    ).fit()
    with pytest.raises(ModelError, match=r"between 0 and 1. Got 2\.\d+ instead, in 60 of 60 rows"):
        ask(results, TEST[["age"]])


def test_a_model_of_statsmodels_is_not_yet_fitted():
    with pytest.raises(NotFittedError, match=r"Got a model, Logit, instead: pass the results"):
        ask(sm.Logit(TRAIN["ill"], TRAIN[NUMBERS]), TEST[NUMBERS])


# --- anything else ------------------------------------------------------------------------------

P5 = np.array([0.1, 0.2, 0.3, 0.4, 0.5])


class Tensor:
    """What a tensor of PyTorch with a gradient does: no array before it is detached."""

    def __init__(self, values, steps=()):
        self.values, self.steps = values, steps

    def __array__(self, *args, **kwargs):
        raise RuntimeError("Can't call numpy() on Tensor that requires grad.")

    def detach(self):
        return Tensor(self.values, (*self.steps, "detach"))

    def cpu(self):
        return Tensor(self.values, (*self.steps, "cpu"))

    def numpy(self):
        assert self.steps == ("detach", "cpu")
        return self.values


@pytest.mark.parametrize(
    "answer",
    [
        Tensor(P5.astype(np.float32)),
        Tensor(P5[:, None]),
        P5[:, None],
        P5.tolist(),
        pd.Series(P5, index=[4, 3, 2, 1, 0]),
        pl.Series(P5),
    ],
    ids=["tensor", "(n, 1) tensor", "(n, 1)", "list", "pandas", "polars"],
)
def test_functions_may_answer_in_many_ways(answer):
    np.testing.assert_allclose(ask(lambda X: answer, np.arange(5.0)), P5, rtol=1e-7)


def test_a_network_of_pytorch():
    torch = pytest.importorskip("torch")
    network = torch.nn.Sequential(torch.nn.Linear(2, 1), torch.nn.Sigmoid())
    inputs = TEST[NUMBERS].to_numpy()
    candidate = lambda X: network(torch.from_numpy(X.astype("float32")))  # noqa: E731
    expected = candidate(inputs).detach().numpy()[:, 0]
    assert_tested_as(candidate, expected, inputs)


@pytest.mark.parametrize("kind", [LogisticRegression, xgboost.XGBClassifier, Tensor])
def test_a_class_is_not_yet_a_candidate(kind):
    with pytest.raises(InvalidTypeError, match=f"Got the class {kind.__name__} instead: make one"):
        ask(kind, TEST[NUMBERS])


def test_an_object_that_only_predicts_asks_for_a_callable():
    class Network:
        def predict(self, X):
            return np.full((len(X), 1), 0.5)

        def __call__(self, X):
            return self.predict(X)

    with pytest.raises(InvalidTypeError, match=r"Network, which has no predict_proba.*callable X"):
        ask(Network(), TEST[NUMBERS])
    np.testing.assert_array_equal(ask(Network().predict, TEST[NUMBERS]), 0.5)
