"""Frames with text: what a statistic is given, while the candidate keeps the frame as it is."""

import datetime as dt

import numpy as np
import pandas as pd
import polars as pl
import pytest

import exactregion as er
from exactregion.data.frames import as_pandas, encode_text
from exactregion.data.sample import Sample
from exactregion.errors import InvalidTypeError, InvalidValueError
from exactregion.kernels import scales_of

RNG = np.random.default_rng(11)
N = 60
AGE = RNG.normal(size=N)
SEX = RNG.choice(["female", "male"], N)
ARM = RNG.choice(["a", "b", "c"], N)
P = 1 / (1 + np.exp(-AGE))
Y = (RNG.random(N) < P).astype(int)
FRAME = pd.DataFrame({"age": AGE, "sex": SEX, "arm": ARM})


def run(X=FRAME, candidate=P, y=Y, **settings):
    result = er.model_test(candidate, X, y, **{"n_resamples": 39, "rng": 0, **settings})
    return result.pvalue, result.statistic, result.null_distribution.tolist()


# --- what the statistic is given ----------------------------------------------------------------


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame], ids=["pandas", "polars"])
def test_text_becomes_an_indicator_a_level_and_two_levels_one(make):
    X = make({"age": [3, 4, 5], "sex": ["m", "f", "m"], "arm": ["z", "x", "y"], "old": [True] * 3})
    found = encode_text(X)[0]
    assert found.columns.tolist() == ["age", "sex[m]", "arm[x]", "arm[y]", "arm[z]", "old"]
    np.testing.assert_array_equal(
        found, [[3, 1, 0, 0, 1, 1], [4, 0, 1, 0, 0, 1], [5, 1, 0, 1, 0, 1]]
    )


@pytest.mark.parametrize(
    "column",
    [
        np.array(["x", "y", "x"], dtype=object),
        pd.Series(["x", "y", "x"], dtype="string"),
        pd.Categorical(["x", "y", "x"], categories=["y", "never", "x"]),
        pd.Categorical(["x", "y", "x"], ordered=True),
    ],
)
def test_text_of_every_kind(column):
    found = encode_text(pd.DataFrame({"arm": column}))[0]
    assert found.columns.tolist() == ["arm[y]"]
    assert found["arm[y]"].tolist() == [0, 1, 0]


@pytest.mark.parametrize("kind", [pl.String, pl.Categorical, pl.Enum(["y", "x", "z"])])
def test_text_of_every_kind_of_polars(kind):
    found = encode_text(pl.DataFrame({"arm": pl.Series(["x", "y", "x"], dtype=kind)}))[0]
    assert found.columns.tolist() == ["arm[y]"]


def test_a_series_of_text_is_a_column():
    assert encode_text(pd.Series(["x", "y"], name="arm"))[0].columns.tolist() == ["arm[y]"]
    assert encode_text(pl.Series(["x", "x"]))[0].columns.tolist() == ["x[x]"]


def test_numbers_kept_as_objects_are_numbers():
    assert encode_text(pd.DataFrame({"a": np.array([1, 2.5], dtype=object)}))[0]["a"].tolist() == [
        1,
        2.5,
    ]


def test_categories_that_are_numbers_are_levels_in_their_order():
    found = encode_text(pd.DataFrame({"grade": pd.Categorical([10, 9, 1, 9])}))[0]
    assert found.columns.tolist() == ["grade[1]", "grade[9]", "grade[10]"]


@pytest.mark.parametrize(
    ("values", "days"),
    [
        (pd.to_datetime(["1970-01-02 00:00", "1970-01-03 12:00"]), [1, 2.5]),
        (pd.to_datetime(["1970-01-02", "1970-01-03"]).tz_localize("UTC"), [1, 2]),
        (pd.to_timedelta([1, 36], unit="h"), [1 / 24, 1.5]),
        (pl.Series([dt.date(1970, 1, 2), dt.date(1971, 1, 1)]), [1, 365]),
        (pl.Series([dt.timedelta(days=2), dt.timedelta(hours=12)]), [2, 0.5]),
    ],
)
def test_dates_and_durations_become_days(values, days):
    frame = (pl if isinstance(values, pl.Series) else pd).DataFrame({"when": values})
    np.testing.assert_allclose(encode_text(frame)[0]["when"], days)


@pytest.mark.parametrize(
    "X", [FRAME[["age"]], pl.DataFrame({"a": [1.0]}), AGE, ["a", "bb"], FRAME["age"], None]
)
def test_what_holds_no_text_stays_as_it_is(X):
    numbers, shared = encode_text(X)
    assert numbers is X
    assert shared == ()


@pytest.mark.parametrize(
    ("column", "error", "message"),
    [
        (["x", None, "y"], InvalidValueError, r"missing.*row 1, column 'c' instead \(1 such"),
        (["x", np.nan, None], InvalidValueError, r"missing.*row 1, column 'c' instead \(2 such"),
        (
            pd.Categorical(["x", None, "y"]),
            InvalidValueError,
            r"missing.*row 1, column 'c' instead",
        ),
        (
            ["x", 1, "y"],
            InvalidTypeError,
            r"numbers, text, categories or dates. Got 'c' \(Object\)",
        ),
        ([[1], [2], [3]], InvalidTypeError, "numbers, text, categories or dates. Got 'c'"),
        ([1 + 1j, 2, 3], InvalidTypeError, "Got 'c'"),
    ],
)
def test_what_is_no_column(column, error, message):
    frame = pd.DataFrame({"age": [1.0, 2.0, 3.0], "c": column})
    with pytest.raises(error, match=f"'X' parameter must .*{message}"):
        run(frame, [0.5] * 3, [0, 1, 1])


def test_ids_and_prose_are_refused():
    frame = FRAME.assign(id=[f"patient {k}" for k in range(N)])
    with pytest.raises(
        InvalidValueError,
        match=r"'X' .* at most 50 levels in a text column. Got 60 in column 'id' instead: leave",
    ):
        run(frame)
    assert (
        len(encode_text(pd.DataFrame({"site": [f"{k % 50}" for k in range(N)]}))[0].columns) == 50
    )


def test_missing_numbers_and_dates_are_named():
    for column in ([1.0, None], [pd.Timestamp("2020-01-01"), pd.NaT]):
        frame = pd.DataFrame({"c": column, "t": ["x", "y"]})
        with pytest.raises(InvalidValueError, match=r"'X'.*Got nan in row 1, column 'c'"):
            run(frame, [0.5, 0.5], [0, 1])


def test_a_name_that_an_indicator_takes():
    frame = pd.DataFrame({"sex[m]": [1.0, 2.0], "sex": ["f", "m"]})
    with pytest.raises(InvalidValueError, match=r"different names. Got \['sex\[m\]'\]"):
        run(frame, [0.5, 0.5], [0, 1])


# --- tests with text columns --------------------------------------------------------------------


@pytest.mark.parametrize("statistic", ["discrepancy", "embedding", "neighborhood"])
def test_two_levels_count_just_as_much_as_0_and_1(statistic):
    numbers = pd.DataFrame({"age": AGE, "sex": (SEX == "male").astype(int)})
    assert run(FRAME[["age", "sex"]], statistic=statistic) == run(numbers, statistic=statistic)


def test_the_candidate_is_given_the_frame_as_it_is():
    seen = []
    by_frame = run(candidate=lambda X: seen.append(X) or P)
    pd.testing.assert_frame_equal(seen[0], FRAME)
    assert by_frame == run()
    table = er.compare({"p": lambda X: np.where(X["sex"] == "male", P, P)}, FRAME, Y, rng=0)
    assert table.loc["p", "pvalue"] == er.model_test(P, FRAME, Y, rng=0).pvalue


def test_the_order_of_rows_and_categories_changes_nothing():
    order = np.random.default_rng(0).permutation(N)
    expected = run()
    assert run(FRAME.iloc[order], P[order], Y[order]) == expected
    for levels in (["a", "b", "c"], ["c", "a", "b"], ["b", "unused", "c", "a"]):
        coded = FRAME.assign(arm=pd.Categorical(ARM, categories=levels))
        assert run(coded) == expected
    assert run(pl.from_pandas(FRAME)) == expected


def test_a_candidate_that_is_wrong_for_one_level_is_found_out():
    wrong_for_c = np.where(ARM == "c", 0.9, P)
    assert run(candidate=wrong_for_c, n_resamples=199)[0] <= 0.05
    assert run(n_resamples=199)[0] > 0.05


def test_levels_are_all_at_the_same_distance_and_a_text_column_is_spread_as_a_number_is():
    shares = np.repeat(list("abcd"), [1, 4, 15, 40])
    numbers, shared = encode_text(pd.DataFrame({"age": AGE, "arm": shares}))
    inputs = Sample.from_data(numbers, Y, shared=shared).inputs
    centre, scale = scales_of(inputs.distinct, standardize=True)
    spread = ((inputs.matrix - centre) / scale).var(axis=0)
    assert spread[0] == pytest.approx(1)
    assert spread[1:].sum() == pytest.approx(1)
    assert len(set(scale[1:])) == 1


def test_a_constant_text_column_changes_no_distance():
    assert run(FRAME[["age"]].assign(site="north"))[0] == run(FRAME[["age"]])[0]


def test_inputs_of_the_question_are_named():
    result = er.model_test(P, FRAME, Y, n_resamples=9, rng=0)
    assert result.question.inputs == ("age", "sex[male]", "arm[a]", "arm[b]", "arm[c]")


def test_regions_point_to_formulas():
    with pytest.raises(
        InvalidTypeError, match=r"Got 'sex' .*'arm' .*ConfidenceRegion.from_formula"
    ):
        er.ConfidenceRegion("logistic").fit(FRAME, Y)


# --- pandas frames ------------------------------------------------------------------------------


def test_polars_becomes_pandas_with_what_is_missing():
    frame = pl.DataFrame(
        {"a": [1, None], "b": [True, False], "c": ["x", None], "d": [dt.date(2020, 1, 1)] * 2}
    )
    found = as_pandas(frame, "data")
    assert found.isna().to_numpy().tolist() == [
        [False, False, False, False],
        [True, False, True, False],
    ]
    assert [found[name].dtype.kind for name in "abd"] == ["f", "b", "M"]


def test_names_that_are_the_same_as_text():
    with pytest.raises(InvalidValueError, match=r"different names, as text. Got .*1.*'1'"):
        as_pandas(pd.DataFrame([[1, 2]], columns=[1, "1"]), "data")
