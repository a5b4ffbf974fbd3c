"""RegionClassifier: scikit-learn's contract, and bounds that mean what they say."""

import pickle
import re

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy.sparse import csr_array
from scipy.stats import binom
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

import exactregion as er
from exactregion.errors import InvalidTypeError, InvalidValueError

RNG = np.random.default_rng(0)
X = RNG.normal(size=(40, 2))
Y = (RNG.random(40) < 1 / (1 + np.exp(-2 * X[:, 0]))).astype(int)
THETAS = RNG.normal([0.0, 2.0, 0.0], size=(20, 3))


def classifier(**settings):
    quick = {"statistic": "score", "n_resamples": 19, "random_state": 0}
    return er.RegionClassifier(**{**quick, **settings})


@pytest.fixture(scope="module")
def fitted():
    return classifier().fit(X, Y)


# --- scikit-learn -------------------------------------------------------------------------------


@parametrize_with_checks([classifier(random_state=None)])
def test_scikit_learn_accepts_it(estimator, check):
    """The checks raise where it is not as scikit-learn wants it."""
    settings = estimator.get_params()
    check(estimator)
    assert estimator.get_params() == settings


def test_defaults():
    assert er.RegionClassifier().get_params() == {
        "model": "logistic",
        "statistic": None,
        "confidence_level": 0.95,
        "n_resamples": 999,
        "random_state": None,
        "n_jobs": None,
    }


def test_pipeline():
    scaled = make_pipeline(StandardScaler(), classifier()).fit(X, Y)
    assert scaled.score(X, Y) > 0.7
    assert scaled.predict_proba(X).shape == (40, 2)


def test_cross_validation():
    scores = cross_val_score(classifier(), X, Y, cv=3)
    assert scores.shape == (3,)
    assert scores.mean() > 0.6
    assert cross_val_score(classifier(), X, Y, cv=3, scoring="roc_auc").mean() > 0.7


def test_grid_search_over_families_and_statistics():
    grid = {"model": ["logistic", er.models.Probit()], "statistic": ["score", "discrepancy"]}
    search = GridSearchCV(classifier(), grid, cv=2).fit(X, Y)
    assert len(search.cv_results_["params"]) == 4
    assert search.best_estimator_.predict_proba_interval(X[:2]).shape == (2, 2)


def test_clone_keeps_the_settings_and_not_the_fit(fitted):
    again = clone(fitted)
    assert again.get_params() == fitted.get_params()
    assert not hasattr(again, "region_")
    again = clone(again.set_params(model=er.models.Logistic()))
    np.testing.assert_array_equal(again.fit(X, Y).predict_proba(X), fitted.predict_proba(X))


def test_pickle(fitted):
    again = pickle.loads(pickle.dumps(fitted))
    np.testing.assert_array_equal(
        again.predict_proba_interval(X[:3]), fitted.predict_proba_interval(X[:3])
    )


@pytest.mark.parametrize("method", ["predict_proba_interval", "predict_set"])
def test_nothing_is_known_before_fit(method):
    with pytest.raises(NotFittedError, match="not fitted yet"):
        getattr(classifier(), method)(X)


# --- data ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
def test_a_frame_gives_its_names_to_the_parameters(fitted, frame):
    named = classifier().fit(frame({"age": X[:, 0], "dose": X[:, 1]}), Y)
    assert named.feature_names_in_.tolist() == ["age", "dose"]
    assert named.n_features_in_ == 2
    assert named.region_.parameter_names_ == ("intercept", "age", "dose")
    new = frame({"age": X[:4, 0], "dose": X[:4, 1]})
    np.testing.assert_array_equal(named.predict_proba(new), fitted.predict_proba(X[:4]))
    np.testing.assert_array_equal(
        named.predict_proba_interval(new), fitted.predict_proba_interval(X[:4])
    )
    with pytest.raises(ValueError, match="same order"):
        named.predict(new[["dose", "age"]])


def test_an_array_has_no_names(fitted):
    assert not hasattr(fitted, "feature_names_in_")
    assert fitted.region_.parameter_names_ == ("intercept", "x0", "x1")


def test_columns_may_be_called_what_arrays_call_theirs(fitted):
    """An array's columns are x0, x1; a frame that has them the other way round keeps its order."""
    named = classifier().fit(pd.DataFrame(X, columns=["x1", "x0"]), Y)
    with pytest.warns(UserWarning, match="valid feature names"):
        answer = named.predict_proba_interval(X[:4])
    np.testing.assert_array_equal(answer, fitted.predict_proba_interval(X[:4]))


@pytest.mark.parametrize(
    "classes",
    [
        np.array(["ill", "well"]),
        np.array(["ill", "well"], dtype=object),
        np.array([False, True]),
        np.array([-1, 1]),
        np.array([3.0, 7.0]),
    ],
)
def test_any_two_classes(fitted, classes):
    named = classifier().fit(X, classes[Y])
    np.testing.assert_array_equal(named.classes_, classes)
    np.testing.assert_array_equal(named.predict(X), classes[fitted.predict(X)])
    np.testing.assert_array_equal(named.predict_proba(X), fitted.predict_proba(X))
    np.testing.assert_array_equal(named.predict_set(X[:3]), fitted.predict_set(X[:3]))


def test_a_series_of_strings_and_what_the_region_makes_of_it():
    y = pd.Series(np.where(Y, "well", "ill"), dtype="category")
    named = classifier().fit(X, y)
    assert named.classes_.tolist() == ["ill", "well"]
    risk = named.region_.risk(X[:5], classifier=named)
    assert 0 <= risk.lower <= risk.estimate <= risk.upper <= 1


@pytest.mark.parametrize(
    ("y", "message"),
    [
        (["a"] * 40, "must have two classes. Got one class instead: ['a']."),
        (np.arange(40) % 3, "must have two classes. Got 3 instead: 0, 1, 2. Only binary"),
        (np.arange(40) % 7, "Got 7 instead: 0, 1, 2, 3, 4, …."),
        (np.column_stack([Y, 1 - Y]), "y should be a 1d array"),
        (X[:, 0], "Unknown label type: continuous"),
    ],
)
def test_other_outcomes_are_refused(y, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        classifier().fit(X, y)


def test_sparse_inputs_are_refused():
    with pytest.raises(TypeError, match="dense data is required"):
        classifier().fit(csr_array(X), Y)


@pytest.mark.parametrize(
    ("settings", "error", "message"),
    [
        ({"model": "tree"}, InvalidValueError, "The 'model' parameter must be one of"),
        ({"statistic": "best"}, InvalidValueError, "The 'statistic' parameter must be"),
        ({"n_resamples": 5}, InvalidValueError, "The 'n_resamples' parameter must be at least 19"),
        ({"random_state": -1}, InvalidValueError, "The 'random_state' parameter must be None"),
        ({"random_state": "a"}, InvalidTypeError, "a numpy.random.Generator. Got 'a' instead."),
    ],
)
def test_wrong_settings_are_named_at_fit(settings, error, message):
    with pytest.raises(error, match=re.escape(message)):
        classifier(**settings).fit(X, Y)


# --- random numbers -----------------------------------------------------------------------------


def test_random_state_is_the_rng_of_the_region():
    region = er.ConfidenceRegion("logistic", statistic="score", n_resamples=99, rng=7).fit(X, Y)
    again = classifier(n_resamples=99, random_state=7).fit(X, Y).region_
    np.testing.assert_array_equal(again.rank(THETAS), region.rank(THETAS))


@pytest.mark.parametrize("make", [np.random.RandomState, np.random.default_rng])
def test_generators_are_repeated_by_their_seed_and_advanced_by_fit(make):
    def ranks(state):
        estimator = classifier(n_resamples=99, random_state=state)
        return [estimator.fit(X, Y).region_.rank(THETAS) for _ in range(2)]

    one, other = ranks(make(3)), ranks(make(3))
    np.testing.assert_array_equal(one, other)
    assert (one[0] != one[1]).any()


def test_workers_change_nothing(monkeypatch):
    monkeypatch.setattr("exactregion.engine.evaluate.batch_size", lambda *_: 5)  # work for many
    alone, together = (classifier(n_jobs=jobs).fit(X, Y) for jobs in (1, 2))
    np.testing.assert_array_equal(alone.predict_proba(X), together.predict_proba(X))
    np.testing.assert_array_equal(
        alone.predict_proba_interval(X[:1]), together.predict_proba_interval(X[:1])
    )


# --- answers ------------------------------------------------------------------------------------


def test_predictions_are_those_of_the_estimate(fitted):
    theta = fitted.region_.estimate_
    P = 1 / (1 + np.exp(-(theta[0] + X @ theta[1:])))
    assert fitted.region_.contains(theta)
    np.testing.assert_allclose(fitted.predict_proba(X), np.column_stack([1 - P, P]))
    np.testing.assert_allclose(fitted.decision_function(X), 2 * P - 1)
    np.testing.assert_array_equal(fitted.predict(X), P > 0.5)


@pytest.mark.parametrize("joint", [True, False])
def test_intervals_are_the_band_and_hold_the_prediction(fitted, joint):
    few = X[:4]
    intervals = fitted.predict_proba_interval(few, joint=joint)
    band = fitted.region_.band(few, joint=joint)
    np.testing.assert_array_equal(intervals, np.column_stack([band.lower, band.upper]))
    P = fitted.predict_proba(few)[:, 1]
    assert (intervals[:, 0] <= P).all()
    assert (intervals[:, 1] >= P).all()


def test_sets_say_which_classes_the_members_decide_for():
    fitted = classifier(n_resamples=99).fit(X, Y)
    few = np.array([[-6.0, 0.0], [-0.2, 0.0], [0.2, 0.0], [6.0, 0.0]])
    lower, upper = fitted.predict_proba_interval(few).T
    sets = fitted.predict_set(few)
    assert sets.dtype == np.bool_
    np.testing.assert_array_equal(sets, np.column_stack([lower <= 0.5, upper >= 0.5]))
    decided = fitted.region_.classify(few)
    np.testing.assert_array_equal(sets[:, 1].astype(int) - sets[:, 0], decided)
    assert {-1, 0, 1} == set(decided)
    assert sets[np.arange(4), fitted.predict(few)].all()  # the prediction is always allowed


def test_separated_data():
    x = np.linspace(-3, 3, 30)[:, None]
    separated = classifier(n_resamples=99).fit(x, x[:, 0] > 0)
    assert separated.region_.status_ == "unbounded"
    assert separated.score(x, x[:, 0] > 0) == 1
    new = np.array([[-3.0], [0.0], [3.0]])
    intervals = separated.predict_proba_interval(new)
    assert (intervals[0, 0], intervals[2, 1]) == (0, 1)
    assert intervals[0, 1] < 0.5 < intervals[2, 0]
    np.testing.assert_array_equal(
        separated.predict_set(new), [[True, False], [True, True], [False, True]]
    )


def test_a_family_that_does_not_fit_allows_no_class():
    high = er.models.Function(
        lambda th, x: np.broadcast_to(th, (len(th), len(x))),
        ("p",),
        [(0.99, 1.0)],
        vectorized=True,
    )
    rejected = classifier(model=high).fit(X, Y)
    assert rejected.region_.is_empty_
    assert np.isnan(rejected.predict_proba_interval(X)).all()
    assert not rejected.predict_set(X).any()
    assert (rejected.predict(X) == 1).all()


# --- coverage -----------------------------------------------------------------------------------

REPETITIONS = 30
FALSE_ALARM = 1e-8


def test_intervals_hold_the_truth_as_often_as_promised():
    """All at once; so do then the sets, which follow from the intervals."""
    x = np.linspace(-2, 2, 25)[:, None]
    new = np.array([[-3.0], [0.2], [2.5]])
    truth, wrong = (1 / (1 + np.exp(-(0.3 + slope * new[:, 0]))) for slope in (1.0, -1.0))
    right_inside, wrong_inside = 0, 0
    for seed in range(REPETITIONS):
        y = np.random.default_rng([seed, 5]).random(25) < 1 / (1 + np.exp(-(0.3 + x[:, 0])))
        if y.all() or not y.any():  # with one class there is nothing to fit: counted as a miss
            continue
        found = classifier(confidence_level=0.9, n_resamples=9, random_state=seed).fit(x, y)
        lower, upper = found.predict_proba_interval(new).T
        right_inside += ((lower <= truth) & (truth <= upper)).all()
        wrong_inside += ((lower <= wrong) & (wrong <= upper)).all()
    assert found.region_.coverage_ == 0.9
    least = binom.ppf(FALSE_ALARM, REPETITIONS, 0.9)
    assert right_inside >= least
    assert wrong_inside < least  # the bound is able to fail


# --- the package --------------------------------------------------------------------------------


def test_the_package_lists_it_and_loads_it_at_first_use():
    assert er.RegionClassifier.__module__ == "exactregion.estimator"
    assert {"RegionClassifier", "ConfidenceRegion", "__version__"} <= set(dir(er))
    with pytest.raises(AttributeError, match="module 'exactregion' has no attribute 'nothing'"):
        _ = er.nothing


def test_families_of_several_classes_are_refused():
    x, y = np.arange(6.0)[:, None], np.array([0, 1, 0, 1, 1, 0])
    with pytest.raises(ValueError, match="'model' parameter must be a family of two classes"):
        er.RegionClassifier("multinomial").fit(x, y)
