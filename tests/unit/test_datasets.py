"""Data sets are what their docstrings say."""

import inspect

import numpy as np
import pytest
import statsmodels.api as sm

import exactregion as er

PIMA = ["npreg", "glu", "bp", "skin", "bmi", "ped", "age", "type"]
CONTENTS = {
    "beetle": (8, ["logdose", "n", "killed"]),
    "birthwt": (189, ["low", "age", "lwt", "race", "smoke", "ptl", "ht", "ui", "ftv", "bwt"]),
    "budworm": (12, ["sex", "dose", "ldose", "ndead", "ntotal"]),
    "deguelin": (6, ["dose", "log10dose", "r", "n"]),
    "menarche": (25, ["Age", "Total", "Menarche"]),
    "oring": (23, ["temp", "pressure", "y", "n_failures"]),
    "pima_predictions": (332, ["p", "y"]),
    "pima_te": (332, PIMA),
    "pima_tr": (200, PIMA),
    "spector": (32, ["GPA", "TUCE", "PSI", "GRADE"]),
    "two_afc": (13, ["level", "n_correct", "n_total"]),
}
COUNTS = {
    "beetle": ("killed", "n", 291, 481),
    "budworm": ("ndead", "ntotal", 111, 240),
    "deguelin": ("r", "n", 210, 292),
    "menarche": ("Menarche", "Total", 2308, 3918),
    "two_afc": ("n_correct", "n_total", 837, 1170),
}
OUTCOMES = {
    "birthwt": ("low", 59),
    "oring": ("y", 7),
    "pima_predictions": ("y", 109),
    "spector": ("GRADE", 11),
}


def load(name):
    return getattr(er.datasets, name)()


def fit(outcomes, *columns, link=None):
    family = sm.families.Binomial(link)
    return sm.GLM(outcomes, np.column_stack(columns).astype(float), family=family).fit()


def counts(name):
    data = load(name)
    successes, trials, *_ = COUNTS[name]
    return np.column_stack([data[successes], data[trials] - data[successes]])


def pima_columns(data):
    return [np.ones(len(data)), *(data[name] for name in PIMA[:-1])]


# --- what the files hold --------------------------------------------------------------------------


def test_every_data_set_is_checked_here():
    assert er.datasets.__all__ == sorted(CONTENTS)
    assert {*COUNTS, *OUTCOMES, "pima_te", "pima_tr"} == set(CONTENTS)


@pytest.mark.parametrize("name", CONTENTS)
def test_rows_and_columns(name):
    rows, columns = CONTENTS[name]
    data = load(name)
    assert data.columns.tolist() == columns
    assert len(data) == rows
    assert data.index.tolist() == list(range(rows))
    assert not data.isna().any(axis=None)


@pytest.mark.parametrize("name", CONTENTS)
def test_docstring_has_rows_columns_and_source(name):
    rows, columns = CONTENTS[name]
    text = inspect.getdoc(getattr(er.datasets, name))
    assert f"{rows} rows, with the columns" in text
    assert [column for column in columns if f"``{column}``" not in text] == []
    assert "Source: " in text


@pytest.mark.parametrize("name", CONTENTS)
def test_frame_is_fresh_each_time(name):
    first = load(name)
    column = first.columns[0]
    first[column] = 0
    assert load(name)[column].astype(str).nunique() > 1


@pytest.mark.parametrize("name", COUNTS)
def test_counts_are_whole_possible_and_add_up(name):
    data = load(name)
    successes, trials, total_successes, total_trials = COUNTS[name]
    assert data[[successes, trials]].dtypes.tolist() == [np.int64, np.int64]
    assert data[successes].between(0, data[trials]).all()
    assert (data[successes].sum(), data[trials].sum()) == (total_successes, total_trials)
    docstring = inspect.getdoc(getattr(er.datasets, name))
    assert f'np.column_stack([d["{successes}"], d["{trials}"] - d["{successes}"]])' in docstring


@pytest.mark.parametrize("name", OUTCOMES)
def test_outcomes_are_zero_or_one_and_add_up(name):
    column, total = OUTCOMES[name]
    outcomes = load(name)[column]
    assert set(outcomes) == {0, 1}
    assert outcomes.sum() == total


@pytest.mark.parametrize(("name", "total"), [("pima_tr", 68), ("pima_te", 109)])
def test_pima_outcomes_are_words(name, total):
    outcomes = load(name)["type"]
    assert set(outcomes) == {"Yes", "No"}
    assert (outcomes == "Yes").sum() == total


# --- one by one -----------------------------------------------------------------------------------


def test_oring_is_the_data_of_23_flights():
    data = er.datasets.oring()
    assert data.columns.tolist() == ["temp", "pressure", "y", "n_failures"]
    assert data.shape == (23, 4)
    assert data["y"].sum() == 7
    assert data["n_failures"].sum() == 9
    assert (data["temp"].min(), data["temp"].max()) == (53, 81)
    np.testing.assert_array_equal(data["y"], data["n_failures"] > 0)


def test_beetle_doses_rise():
    assert er.datasets.beetle()["logdose"].is_monotonic_increasing


def test_birthwt_low_is_less_than_2500_grams():
    data = er.datasets.birthwt()
    np.testing.assert_array_equal(data["low"], data["bwt"] < 2500)
    assert set(data["race"]) == {1, 2, 3}
    for column in ("smoke", "ht", "ui"):
        assert set(data[column]) == {0, 1}


def test_budworm_is_two_sexes_by_six_doses():
    data = er.datasets.budworm()
    assert (data["ntotal"] == 20).all()
    np.testing.assert_array_equal(data["ldose"], np.log2(data["dose"]))
    for sex in ("male", "female"):
        assert data.loc[data["sex"] == sex, "dose"].tolist() == [1, 2, 4, 8, 16, 32]


def test_deguelin_dose_is_the_power_of_its_logarithm():
    data = er.datasets.deguelin()
    np.testing.assert_allclose(data["dose"], 10 ** data["log10dose"])


def test_menarche_goes_from_none_to_all():
    data = er.datasets.menarche()
    assert data["Age"].is_monotonic_increasing
    assert data["Menarche"].head(3).tolist() == [0, 0, 0]
    assert data.iloc[-1].tolist() == [17.58, 1049, 1049]


def test_two_afc_has_90_trials_per_level():
    data = er.datasets.two_afc()
    assert (data["n_total"] == 90).all()
    assert data["level"].is_monotonic_increasing


def test_spector_14_students_were_taught_by_the_new_method():
    data = er.datasets.spector()
    assert data["PSI"].value_counts().to_dict() == {0: 18, 1: 14}


def test_pima_parts_share_no_row():
    train, test = er.datasets.pima_tr(), er.datasets.pima_te()
    assert set(train.itertuples(index=False)).isdisjoint(test.itertuples(index=False))


def test_pima_predictions_are_those_of_the_training_part():
    train, test = er.datasets.pima_tr(), er.datasets.pima_te()
    predictions = er.datasets.pima_predictions()
    np.testing.assert_array_equal(predictions["y"], test["type"] == "Yes")
    fitted = fit((train["type"] == "Yes").astype(float), *pima_columns(train))
    expected = fitted.predict(np.column_stack(pima_columns(test)))
    np.testing.assert_allclose(predictions["p"], expected, atol=1e-6)


# --- numbers that established tools give on them --------------------------------------------------


def test_oring_logistic_fit():
    data = er.datasets.oring()
    fitted = fit(data["y"], np.ones(23), data["temp"])
    np.testing.assert_allclose(fitted.params, [15.0429, -0.23216], rtol=5e-5)
    np.testing.assert_allclose(fitted.bse, [7.3786, 0.10824], rtol=5e-5)


def test_budworm_logistic_fit_by_sex():
    data = er.datasets.budworm()
    female, male = data["sex"] == "female", data["sex"] == "male"
    fitted = fit(counts("budworm"), female, male, data["ldose"])
    np.testing.assert_allclose(fitted.params, [-3.4732, -2.3724, 1.0642], rtol=5e-5)
    a_female, a_male, slope = fitted.params
    np.testing.assert_allclose([-a_male / slope, -a_female / slope], [2.2293, 3.2636], rtol=5e-5)


def test_menarche_logistic_fit():
    fitted = fit(counts("menarche"), np.ones(25), er.datasets.menarche()["Age"])
    intercept, slope = fitted.params
    np.testing.assert_allclose(slope, 1.63197, rtol=5e-5)
    np.testing.assert_allclose(-intercept / slope, 13.0066, rtol=5e-5)


@pytest.mark.parametrize(
    ("link", "deviance"),
    [
        (sm.families.links.Logit(), 11.23),
        (sm.families.links.Probit(), 10.12),
        (sm.families.links.CLogLog(), 3.45),
    ],
    ids=["logit", "probit", "cloglog"],
)
def test_beetle_deviance_by_link(link, deviance):
    fitted = fit(counts("beetle"), np.ones(8), er.datasets.beetle()["logdose"], link=link)
    np.testing.assert_allclose(fitted.deviance, deviance, atol=0.005)


def test_beetle_logistic_fit():
    fitted = fit(counts("beetle"), np.ones(8), er.datasets.beetle()["logdose"])
    intercept, slope = fitted.params
    np.testing.assert_allclose(slope, 34.270, rtol=5e-5)
    np.testing.assert_allclose(-intercept / slope, 1.7717, rtol=5e-5)


def test_spector_logistic_fit():
    data = er.datasets.spector()
    fitted = fit(data["GRADE"], np.ones(32), data["GPA"], data["TUCE"], data["PSI"])
    np.testing.assert_allclose(fitted.params, [-13.0213, 2.8261, 0.0952, 2.3787], atol=1e-4)


def test_pima_predictions_brier_score_and_calibration_slope():
    data = er.datasets.pima_predictions()
    np.testing.assert_allclose(np.mean((data["p"] - data["y"]) ** 2), 0.1393, atol=5e-5)
    fitted = fit(data["y"], np.ones(332), np.log(data["p"] / (1 - data["p"])))
    np.testing.assert_allclose(fitted.params, [-0.088, 0.953], atol=5e-4)
