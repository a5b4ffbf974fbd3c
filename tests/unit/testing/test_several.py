"""Several models, and several ways to group rows, in one call."""

import dask.dataframe as dd
import numpy as np
import pandas as pd
import polars as pl
import pytest

import exactregion as er
from exactregion.errors import InvalidTypeError, InvalidValueError
from exactregion.testing.groups import holm

RNG = np.random.default_rng(7)
N = 60
P = RNG.uniform(size=N)
Y = RNG.uniform(size=N) < P
MODELS = {"right": P, "cubed": P**3}
FRAME = pd.DataFrame({"y": Y, **MODELS, "site": list("ab") * (N // 2), "arm": [1, 2, 3] * (N // 3)})
SETTINGS = {"n_resamples": 99, "rng": 0}


def test_a_row_is_the_test_of_that_model_alone():
    table = er.calibration_test(Y, MODELS, **SETTINGS)
    assert (list(table.index), table.index.name) == (["right", "cubed"], "model")
    for name, p in MODELS.items():
        alone = er.calibration_test(Y, p, **SETTINGS)
        row = table.loc[name]
        assert (row["pvalue"], row["rank"], row["statistic"]) == (
            alone.pvalue,
            alone.rank,
            alone.statistic,
        )
        assert row["predicted"] == pytest.approx(p.mean())
    assert np.array_equal(table["pvalue_holm"], holm(table["pvalue"]))


@pytest.mark.parametrize(
    ("y", "models", "data"),
    [
        (Y, FRAME[["right", "cubed"]], None),
        (Y, pl.DataFrame(MODELS), None),
        (Y, pl.LazyFrame(MODELS), None),
        ("y", ["right", "cubed"], FRAME),
        ("y", {"right": "right", "cubed": "cubed"}, FRAME),
        ("y", ("right", "cubed"), pl.LazyFrame(FRAME)),
        (dd.from_pandas(FRAME["y"], 2), dd.from_pandas(FRAME[["right", "cubed"]], 2), None),
    ],
    ids=["pandas", "polars", "lazy", "names", "named names", "names in lazy", "dask"],
)
def test_several_models_come_in_many_ways(y, models, data):
    expected = er.calibration_test(Y, MODELS, **SETTINGS)
    assert er.calibration_test(y, models, data=data, **SETTINGS).equals(expected)


def test_a_generator_is_used_once_for_all_models():
    table = er.calibration_test(Y, {"a": P, "b": P}, rng=np.random.default_rng(3))
    assert table.loc["a"].equals(table.loc["b"])


def test_groups_of_several_models_are_adjusted_together():
    table = er.calibration_test(Y, MODELS, by=FRAME["site"], **SETTINGS)
    assert table.index.names == ["model", "site"]
    one = er.calibration_test(Y, P**3, by=FRAME["site"], **SETTINGS)
    assert table.loc["cubed", "pvalue"].to_dict() == one["pvalue"].to_dict()
    assert np.array_equal(table["pvalue_holm"], holm(table["pvalue"]))


@pytest.mark.parametrize("data", [None, FRAME], ids=["frame", "names"])
def test_several_ways_to_group(data):
    by = FRAME[["site", "arm"]] if data is None else ["site", "arm"]
    y, p = (Y, P) if data is None else ("y", "right")
    table = er.calibration_test(y, p, by=by, data=data, **SETTINGS)
    assert table.index.names == ["by", "group"]
    assert list(table.index) == [("site", "a"), ("site", "b"), ("arm", 1), ("arm", 2), ("arm", 3)]
    for column in ("site", "arm"):
        one = er.calibration_test(Y, P, by=FRAME[column], **SETTINGS)
        assert table.loc[column, "statistic"].to_dict() == one["statistic"].to_dict()
    assert np.array_equal(table["pvalue_holm"], holm(table["pvalue"]))


def test_one_or_more_of_the_models_that_are_right_is_rejected_seldom():
    """150 data sets, two models that are right, and one that is wrong.

    Predictions are drawn at random, so that their mean is right as well. A binomial(150, 0.1)
    number exceeds 28 with probability 4e-4.
    """
    rng, count = np.random.default_rng(11), 0
    for repetition in range(150):
        p = rng.beta(0.3, 3.0, size=25)
        y = rng.random(25) < p
        models = {"p": p, "mean": np.full(25, 0.3 / 3.3), "wrong": 1 - p}
        table = er.calibration_test(y, models, n_resamples=29, rng=repetition)
        count += (table.loc[["p", "mean"], "pvalue_holm"] <= 0.1).any()
    assert count <= 28


@pytest.mark.parametrize(
    ("models", "error", "message"),
    [
        ({}, InvalidValueError, r"'y_prob' parameter must have one or more models"),
        ({1: P}, InvalidTypeError, r"must have text as names of models. Got 1"),
        ({"a": P, "b": 100 * P}, InvalidValueError, r"y_prob\['b'\].* 0 and 1.*divide them by 100"),
        ({"a": P, "b": P[:3]}, InvalidValueError, r"same number of rows"),
        (100 * P, InvalidValueError, r"If these are percentages, divide them by 100"),
    ],
)
def test_what_are_no_models(models, error, message):
    for function in (er.calibration_test, er.calibration_belt):
        with pytest.raises(error, match=message):
            function(Y, models, n_resamples=19, rng=0)


@pytest.mark.parametrize(
    "both", [pd.DataFrame({0: 1 - P, 1: P}), np.column_stack([1 - P, P])], ids=["frame", "array"]
)
def test_two_columns_of_classes_are_one_model(both):
    settings = {"n_resamples": 19, "rng": 0}
    assert (
        er.calibration_test(Y, both, **settings).rank == er.calibration_test(Y, P, **settings).rank
    )
    one, two = (er.calibration_belt(Y, p, **settings) for p in (P, both))
    np.testing.assert_array_equal(one.lower, two.lower)


def test_a_column_is_named_once():
    with pytest.raises(InvalidValueError, match=r"'y_prob' .* once. Got 'right' more than once"):
        er.calibration_test("y", ["right", "right"], data=FRAME)


@pytest.mark.parametrize("name", ["random_state", "seed"])
@pytest.mark.parametrize(
    "call",
    [
        lambda **seed: er.calibration_test(Y, P, **seed),
        lambda **seed: er.calibration_belt(Y, P, **seed),
        lambda **seed: er.model_test(P, P, Y, **seed),
        lambda **seed: er.compare(MODELS, P, Y, **seed),
        lambda **seed: er.ConfidenceRegion("logistic", **seed),
    ],
)
def test_the_seed_by_another_name(call, name):
    with pytest.raises(InvalidTypeError, match=rf"'{name}' parameter is called 'rng' here: rng=5"):
        call(**{name: 5})


def test_the_seed_of_the_estimator():
    with pytest.raises(InvalidTypeError, match=r"called 'random_state' here: random_state=5"):
        er.RegionClassifier(rng=5)


def test_candidates_see_lazy_frames_collected():
    x = pl.LazyFrame({"x": P})
    lazy = er.model_test(lambda X: X["x"].to_numpy(), x, Y, **SETTINGS)
    assert lazy.statistic == er.model_test(P, P, Y, **SETTINGS).statistic
    region = er.ConfidenceRegion.from_formula(
        "y ~ right", pl.LazyFrame(FRAME), n_resamples=19, confidence_level=0.9, rng=0
    )
    assert len(region.band(pl.LazyFrame({"right": [0.5]})).lower) == 1
