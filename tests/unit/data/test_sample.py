"""Data as users have them, read into the same numbers; and messages for what cannot be read."""

import numpy as np
import pandas as pd
import polars as pl
import pytest

from exactregion.data import sample as sample_module
from exactregion.data.sample import Inputs, Sample, numeric, read_inputs
from exactregion.errors import InvalidTypeError, InvalidValueError

FRAMES = [pd.DataFrame, pl.DataFrame]
SERIES = [pd.Series, pl.Series]


# --- inputs -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("X", "shape", "names"),
    [
        ([1, 2, 3], (3,), ("x",)),
        (np.array([True, False, True]), (3,), ("x",)),
        (np.array([1, 2, 3], dtype=object), (3,), ("x",)),
        (np.ones((3, 1), dtype=np.float32), (3, 1), ("x",)),
        ([[1, 2], [3, 4], [5, 6]], (3, 2), ("x0", "x1")),
        (pd.DataFrame({"a": [1, 2, 3], "b": [True, False, True]}), (3, 2), ("a", "b")),
        (pd.DataFrame(np.ones((3, 2))), (3, 2), ("0", "1")),
        (pd.DataFrame({"a": pd.array([1, 2, 3], dtype="Int64")}), (3, 1), ("a",)),
        (pl.DataFrame({"a": [1, 2, 3], "b": [0.5, 1.5, 2.5]}), (3, 2), ("a", "b")),
        (pd.Series([1, 2, 3], name="dose"), (3,), ("dose",)),
        (pl.Series("dose", [1, 2, 3]), (3,), ("dose",)),
        (pd.Series([1, 2, 3]), (3,), ("x",)),
        (pl.Series([1, 2, 3]), (3,), ("x",)),
    ],
)
def test_inputs_are_read_as_floats_with_a_name_a_column(X, shape, names):
    values, found = read_inputs(X)
    assert values.dtype == np.float64
    assert values.shape == shape
    assert found == names
    np.testing.assert_array_equal(values, np.asarray(X, dtype=np.float64))


@pytest.mark.parametrize("X", [["a", "bb"], [[1, 2], [3]], np.array(["a", "b"]), [{1}, {2}]])
def test_other_sequences_are_objects(X):
    values, names = read_inputs(X)
    assert values == tuple(X)
    assert names == ()


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_not_finite_input_is_named_by_row_and_column(bad):
    table = np.arange(6.0).reshape(3, 2)
    table[2, 1] = bad
    for X, column in [
        (table, "x1"),
        (table[:, 1], "x"),
        (pd.DataFrame(table, columns=["age", "dose"]), "dose"),
        (pl.DataFrame(table, schema=["age", "dose"]), "dose"),
    ]:
        with pytest.raises(
            InvalidValueError, match=rf"'X'.*finite.*Got {bad} in row 2, column '{column}'.*\(1 "
        ):
            read_inputs(X)


@pytest.mark.parametrize(
    "X",
    [
        pd.DataFrame({"a": [1.0, 2.0], "b": [1.0, None]}),
        pd.DataFrame({"a": [1.0, 2.0], "b": pd.array([1, None], dtype="Int64")}),
        pd.DataFrame({"a": [1.0, 2.0], "b": pd.array([True, None], dtype="boolean")}),
        pl.DataFrame({"a": [1.0, 2.0], "b": [1, None]}),
    ],
)
def test_missing_input_in_a_frame_is_named_by_row_and_column(X):
    with pytest.raises(InvalidValueError, match=r"'X'.*row 1, column 'b'"):
        read_inputs(X)


@pytest.mark.parametrize(
    "X", [[1.0, None, 2.0], np.ma.masked_array([1.0, 999.0, 2.0], mask=[False, True, False])]
)
def test_missing_input_in_a_sequence_is_named_by_row(X):
    with pytest.raises(InvalidValueError, match=r"'X'.*row 1"):
        read_inputs(X)


@pytest.mark.parametrize("frame", FRAMES)
def test_text_columns_are_named(frame):
    X = frame({"age": [1.0, 2.0], "sex": ["f", "m"], "site": ["u", "v"]})
    with pytest.raises(
        InvalidTypeError, match=r"must be numeric. Got 'sex' \(.*'site' \(.*formula"
    ):
        read_inputs(X)


def test_columns_of_the_same_name_are_named():
    with pytest.raises(InvalidValueError, match=r"'X'.*'a'"):
        read_inputs(pd.DataFrame([[1.0, 2.0], [3.0, 4.0]], columns=["a", "a"]))


@pytest.mark.parametrize(
    ("X", "error", "message"),
    [
        (np.zeros((2, 2, 2)), InvalidValueError, r"\(n,\) or \(n, d\).*Got \(2, 2, 2\)"),
        (np.array(3.0), InvalidValueError, r"\(n,\) or \(n, d\).*Got \(\)"),
        (np.zeros((3, 0)), InvalidValueError, r"d >= 1. Got \(3, 0\)"),
        (pd.DataFrame(index=[0, 1]), InvalidValueError, "at least one column"),
        ([1j, 2], InvalidTypeError, "real numbers. Got dtype complex128"),
        (np.array(["2020-01-01"], dtype="M8[D]"), InvalidTypeError, "real numbers.*datetime64"),
        (np.array([["a", 1]], dtype=object), InvalidTypeError, "one object per row.*dtype object"),
        ("abc", InvalidTypeError, "a frame or a sequence.*Got str"),
        (b"abc", InvalidTypeError, "a frame or a sequence.*Got bytes"),
        (None, InvalidTypeError, "a frame or a sequence.*Got NoneType"),
        (3.0, InvalidTypeError, "a frame or a sequence.*Got float"),
        ((v for v in [1.0]), InvalidTypeError, "a frame or a sequence.*Got generator"),
        ({"a": [1.0, 2.0]}, InvalidTypeError, "a frame or a sequence.*Got dict"),
        ({"a", "b"}, InvalidTypeError, "a frame or a sequence.*Got set"),
    ],
)
def test_what_is_no_input(X, error, message):
    with pytest.raises(error, match=f"The 'X' parameter.*{message}.* instead"):
        read_inputs(X)


def test_objects_where_numbers_are_needed():
    with pytest.raises(InvalidTypeError, match=r"must be numeric.*Got a sequence of str"):
        numeric(("a", "b"))


# --- outcomes -----------------------------------------------------------------------------------

TEXT = ["ill", "well", "ill"]


@pytest.mark.parametrize(
    ("y", "pos_label", "classes"),
    [
        ([-1, 1, -1], None, (-1, 1)),
        ([-1.0, 1.0, -1.0], None, (-1, 1)),
        ([0, 1, 0], None, (0, 1)),
        ([0.0, 1.0, 0.0], None, (0, 1)),
        ([1, 0, 1], 0, (1, 0)),
        ([1, 2, 1], 2, (1, 2)),
        (np.array([0, 1, 0], dtype=np.uint8), None, (0, 1)),
        ([False, True, False], None, (False, True)),
        (np.array([[0], [1], [0]]), None, (0, 1)),
        (TEXT, "well", ("ill", "well")),
        (np.array(TEXT, dtype=object), "well", ("ill", "well")),
        (pd.Series(TEXT), "well", ("ill", "well")),
        (pd.Series(TEXT, dtype="category"), "well", ("ill", "well")),
        (pd.Series(TEXT, dtype="string"), "well", ("ill", "well")),
        (pd.Series([0, 1, 0], dtype="Int64"), None, (0, 1)),
        (pd.Series([False, True, False], dtype="boolean"), None, (False, True)),
        (pd.Series([0, 1, 0], dtype="category"), None, (0, 1)),
        (pd.Series([0, 1, 0], index=[7, 8, 9]), None, (0, 1)),
        (pd.DataFrame({"y": [0, 1, 0]}), None, (0, 1)),
        (pl.Series([False, True, False]), None, (False, True)),
        (pl.Series(TEXT, dtype=pl.Categorical), "well", ("ill", "well")),
        (pl.Series(TEXT, dtype=pl.Enum(["ill", "well"])), "well", ("ill", "well")),
        (pl.DataFrame({"y": [0, 1, 0]}), None, (0, 1)),
    ],
)
def test_labels_of_every_kind(y, pos_label, classes):
    sample = Sample.from_data([1.0, 2.0, 3.0], y, pos_label=pos_label)
    assert sample.successes.tolist() == [0, 1, 0]
    assert sample.inputs.trials.tolist() == [1, 1, 1]
    assert sample.classes == classes
    assert not sample.is_counts
    assert len(sample) == len(sample.inputs) == sample.inputs.total == 3


@pytest.mark.parametrize(
    ("y", "pos_label", "successes"),
    [
        ([0, 0], None, [0, 0]),
        ([1, 1], None, [1, 1]),
        ([-1, -1], None, [0, 0]),
        ([True, True], None, [1, 1]),
        (["a", "a"], "a", [1, 1]),
        (["a", "a"], "b", [0, 0]),
    ],
)
def test_one_class_only(y, pos_label, successes):
    sample = Sample.from_data([1.0, 2.0], y, pos_label=pos_label)
    assert sample.successes.tolist() == successes


COUNTS = np.array([[2, 1], [0, 3], [4, 0]])


@pytest.mark.parametrize(
    "y",
    [
        COUNTS,
        COUNTS.tolist(),
        COUNTS.astype(float),
        pd.DataFrame(COUNTS, columns=["won", "lost"]),
        pd.DataFrame(COUNTS, columns=["won", "lost"]).astype("Int64"),
        pd.DataFrame(COUNTS),
        pl.DataFrame(COUNTS, schema=["won", "lost"]),
    ],
)
def test_counts_are_successes_and_failures(y):
    sample = Sample.from_data([1.0, 2.0, 3.0], y)
    assert sample.successes.tolist() == [2, 0, 4]
    assert sample.inputs.trials.tolist() == [3, 3, 4]
    assert sample.is_counts
    assert sample.classes is None
    assert sample.inputs.total == 10


@pytest.mark.parametrize(
    ("y", "row"),
    [
        ([0, np.nan, 1], 1),
        ([0, 1, np.inf], 2),
        ([None, 0, 1], 0),
        ([1, pd.NA, 0], 1),
        (np.ma.masked_array([0, 1, 1], mask=[False, False, True]), 2),
        (pd.Series([0, None, 1], dtype="Int64"), 1),
        (pl.Series([0, None, 1]), 1),
        (pl.Series([0.0, float("nan"), 1.0]), 1),
        ([[1, 1], [1, 1], [np.nan, 1]], 2),
        ([[1, 1], [1, None], [1, 1]], 1),
        (pd.DataFrame({"won": pd.array([1, None, 1], dtype="Int64"), "lost": [1, 1, 1]}), 1),
    ],
)
def test_missing_outcome_is_named_by_row(y, row):
    with pytest.raises(InvalidValueError, match=rf"'y'.*missing or infinite.*row {row} .*\(1 such"):
        Sample.from_data([1.0, 2.0, 3.0], y)


@pytest.mark.parametrize(
    "y",
    [
        ["a", None, "a"],
        ["a", np.nan, "a"],
        pd.Series(["a", None, "a"]),
        pd.Series(["a", None, "a"], dtype="category"),
        pl.Series(["a", None, "a"]),
    ],
)
def test_missing_text_outcome_is_no_class(y):
    with pytest.raises(InvalidValueError, match=r"'y'.*missing or infinite.*row 1 .*\(1 such"):
        Sample.from_data([1.0, 2.0, 3.0], y, pos_label="a")


@pytest.mark.parametrize(
    ("y", "pos_label", "error", "message"),
    [
        ([0, 1, 2], None, InvalidValueError, "'y'.*two classes. Got 3 instead: 0, 1, 2"),
        ([-1, 0, 1], None, InvalidValueError, "'y'.*two classes. Got 3 instead: -1, 0, 1"),
        (list("abc"), "a", InvalidValueError, "two classes. Got 3 instead: 'a', 'b', 'c'"),
        (["a", "b", "a"], None, InvalidValueError, r"'pos_label'.*of \['a', 'b'\]. Got None"),
        ([1, 2, 1], None, InvalidValueError, r"'pos_label'.*of \[1, 2\]. Got None"),
        ([-1, 0, -1], None, InvalidValueError, r"'pos_label'.*of \[-1, 0\]. Got None"),
        (["a", "b", "a"], "c", InvalidValueError, r"'pos_label'.*\['a', 'b'\]. Got 'c'"),
        ([0, 1], None, InvalidValueError, "'X' and 'y'.*same number of rows. Got 3 and 2"),
        ([], None, InvalidValueError, "'X' and 'y'.*same number of rows. Got 3 and 0"),
        (np.ones((3, 3)), None, InvalidValueError, r"'y'.*shape.*Got \(3, 3\)"),
        (np.ones((1, 3)), None, InvalidValueError, r"'y'.*shape.*Got \(1, 3\)"),
        ("abc", None, InvalidTypeError, "'y'.*one entry per row. Got str"),
        (None, None, InvalidTypeError, "'y'.*one entry per row. Got NoneType"),
        ([[1, 2], [3], [4]], None, InvalidValueError, "'y'"),
        ([[1, 1], [-1, 1], [1, 1]], None, InvalidValueError, r"0 or more. Got \[-1, 1\] in row 1"),
        ([[1, 1], [1, 1], [0.5, 1]], None, InvalidValueError, r"whole.*Got \[0.5, 1.0\] in row 2"),
        ([[1e300, 1], [1, 1], [1, 1]], None, InvalidValueError, "counts in the 'y' parameter"),
        ([["a", "b"]] * 3, None, InvalidTypeError, "whole numbers. Got dtype <U1"),
        (np.zeros((3, 2), int), None, InvalidValueError, "'y'.*one trial. Got only zero counts"),
        (COUNTS, 1, InvalidValueError, "'pos_label'.*left out.*successes and failures. Got 1"),
    ],
)
def test_what_is_no_outcome(y, pos_label, error, message):
    with pytest.raises(error, match=message):
        Sample.from_data([1.0, 2.0, 3.0], y, pos_label=pos_label)


@pytest.mark.parametrize("X", [[], np.empty((0, 2)), pd.DataFrame({"a": []})])
def test_no_rows(X):
    with pytest.raises(InvalidValueError, match=r"'X'.*at least one row. Got 0"):
        Sample.from_data(X, [])


# --- order --------------------------------------------------------------------------------------


def test_order_is_lexicographic_in_the_inputs_then_the_trials_and_never_in_the_outcomes():
    X = np.array([[1, 5], [0, 9], [1, 4], [1, 4], [0, 9]])
    y = np.array([[1, 0], [0, 2], [3, 0], [0, 1], [2, 0]])
    sample = Sample.from_data(X, y)
    assert sample.inputs.order.tolist() == [1, 4, 3, 2, 0]
    assert sample.successes.tolist() == [0, 2, 0, 3, 1]
    assert sample.inputs.trials.tolist() == [2, 2, 1, 3, 1]
    np.testing.assert_array_equal(sample.inputs.X, X[sample.inputs.order])


def test_order_holds_within_chunks(monkeypatch):
    monkeypatch.setattr(sample_module, "CHUNK_ROWS", 3)
    inputs = Sample.from_data([3, 2, 1, 0, 5, 4, -1], np.zeros(7)).inputs
    assert inputs.X.tolist() == [1, 2, 3, 0, 4, 5, -1]


def test_objects_stay_in_the_order_given():
    sample = Sample.from_data(["c", "a", "b"], [0, 1, 1])
    assert sample.inputs.X == ("c", "a", "b")
    assert sample.inputs.order.tolist() == [0, 1, 2]


def test_to_user_order_undoes_the_order_on_the_last_axis():
    X = np.random.default_rng(0).normal(size=20)
    inputs = Sample.from_data(X, np.zeros(20)).inputs
    np.testing.assert_array_equal(inputs.to_user_order(inputs.X), X)
    np.testing.assert_array_equal(inputs.to_user_order(np.stack([inputs.X] * 3)), [X] * 3)


def test_ties_are_ordered_by_further_numbers():
    X, y = [2.0, 1.0, 1.0, 1.0], [0, 1, 0, 1]
    sample = Sample.from_data(X, y).with_ties_ordered_by(np.array([0.1, 0.9, 0.2, 0.5]))
    assert sample.inputs.order.tolist() == [2, 3, 1, 0]
    assert sample.inputs.X.tolist() == [1, 1, 1, 2]
    assert sample.successes.tolist() == [0, 1, 1, 0]


def test_without_ties_nothing_moves():
    sample = Sample.from_data([2.0, 1.0], [0, 1])
    assert sample.with_ties_ordered_by(np.array([0.0, 1.0])) is sample


# --- distinct inputs ----------------------------------------------------------------------------


def test_distinct_gathers_repeated_rows_and_leaves_out_rows_without_trials():
    X = [[5.0, 0.0], [1.0, 2.0], [5.0, -0.0], [9.0, 9.0], [1.0, 2.0]]
    inputs = Sample.from_data(X, [[1, 0], [1, 2], [0, 1], [0, 0], [2, 0]]).inputs
    distinct = inputs.distinct
    assert distinct.points.tolist() == [[1, 2], [5, 0]]
    assert distinct.weights.tolist() == [5, 2]
    used = inputs.trials > 0
    np.testing.assert_array_equal(distinct.points[distinct.place[used]], inputs.X[used])
    np.testing.assert_array_equal(inputs.X[distinct.row], distinct.points)
    assert (inputs.trials[distinct.row] > 0).all()


def test_distinct_objects_are_all_those_with_trials():
    inputs = Sample.from_data(["a", "b", "a", "c"], [[0, 0], [1, 0], [2, 1], [0, 1]]).inputs
    distinct = inputs.distinct
    assert distinct.points == ("b", "a", "c")
    assert distinct.weights.tolist() == [1, 3, 1]
    assert distinct.place[1:].tolist() == [0, 1, 2]
    assert distinct.row.tolist() == [1, 2, 3]


def test_matrix_has_a_column_an_input():
    one = np.ones(2, dtype=int)
    assert Inputs(np.array([1.0, 2.0]), one, ("x",), one).matrix.tolist() == [[1], [2]]
    with pytest.raises(InvalidTypeError, match="must be numeric"):
        _ = Inputs(("a", "b"), one, (), one).matrix
