"""Rows from memory maps, Parquet files and frames: the result of rows in memory."""

from itertools import pairwise

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest
from sklearn.linear_model import LogisticRegression

import exactregion as er
from exactregion.data.sample import CHUNK_ROWS
from exactregion.errors import (
    FileAccessError,
    FileFormatError,
    InvalidTypeError,
    InvalidValueError,
    ModelError,
)

N = 2 * CHUNK_ROWS + 777
RNG = np.random.default_rng(0)
X = RNG.normal(size=(N, 2))
P = 1 / (1 + np.exp(-X[:, 0]))
Y = (RNG.random(N) < P).astype(int)
ARM = np.where(RNG.random(N) < 0.6, "new", np.where(RNG.random(N) < 0.1, "rare", "old"))
FRAME = pd.DataFrame(
    {"a": X[:, 0], "b": X[:, 1], "p": P, "y": Y, "ill": np.where(Y, "yes", "no"), "arm": ARM}
)
CUTS = [0, 50_000, 50_001, 110_000, N]
GROUPS = [70_000, 10, 3333, 65_536]


def calibration(y, p, **settings):
    return er.calibration_test(y, p, **{"n_resamples": 19, "rng": 0, **settings})


def model(candidate, X, y, **settings):
    """Test with one kernel: the three of the default take eight times as long."""
    settings = {"statistic": "discrepancy", "n_resamples": 19, "rng": 0, **settings}
    return er.model_test(candidate, X, y, **settings)


def same(a, b):
    return (
        a.rank == b.rank
        and a.statistic == b.statistic
        and np.array_equal(a.null_distribution, b.null_distribution)
    )


@pytest.fixture(scope="module")
def expected():
    return calibration(Y, P), model(P, X, Y)


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """Four files with row groups of all sizes."""
    folder = tmp_path_factory.mktemp("data")
    for part, (start, stop) in enumerate(pairwise(CUTS)):
        table = pa.Table.from_pandas(FRAME[start:stop], preserve_index=False)
        pq.write_table(table, folder / f"part{part}.parquet", row_group_size=GROUPS[part])
    return folder


def mapped(folder, **arrays):
    for name, values in arrays.items():
        np.save(folder / f"{name}.npy", values)
    return [np.load(folder / f"{name}.npy", mmap_mode="r") for name in arrays]


# --- the same result ----------------------------------------------------------------------------


def test_memory_maps(tmp_path, expected):
    x, y, p = mapped(tmp_path, x=X, y=Y, p=P)
    assert same(calibration(y, p), expected[0])
    assert same(model(p, x, y), expected[1])
    assert same(model(p, x, y, n_jobs=2), expected[1])
    assert same(model(lambda x: 1 / (1 + np.exp(-x[:, 0])), x, Y), expected[1])


def test_memory_maps_of_other_types(tmp_path):
    p32 = P.astype(np.float32)
    y, p = mapped(tmp_path, y=Y.astype(bool), p=p32[:, None])
    assert same(calibration(y, p), calibration(Y, p32.astype(float)))


def test_memory_maps_of_counts(tmp_path):
    counts = np.column_stack([Y, 1 - Y])
    counts[::5000] += 2
    y, p = mapped(tmp_path, y=counts, p=P)
    assert same(calibration(y, p), calibration(counts, P))


def test_parquet_files_however_they_are_named(files, expected):
    by_name = sorted(str(file) for file in files.iterdir())
    for data in (files, f"{files}/*.parquet", by_name, ds.dataset(by_name)):
        assert same(calibration("y", "p", data=data), expected[0])
    assert same(model("p", ["a", "b"], "y", data=files), expected[1])


def test_several_kernels_of_several_inputs(tmp_path):
    """The default of model_test, on few rows past one chunk."""
    n = CHUNK_ROWS + 777
    pq.write_table(pa.Table.from_pandas(FRAME[:n]), tmp_path / "data.parquet")
    multiscale = {"statistic": "multiscale"}
    in_memory = model(P[:n], X[:n], Y[:n], **multiscale)
    streamed = model("p", ["a", "b"], "y", data=tmp_path / "data.parquet", **multiscale)
    assert same(streamed, in_memory)


def test_files_are_read_in_sorted_order(files, expected):
    assert same(calibration("y", "p", data=f"{files}/part[0123].parquet"), expected[0])
    backwards = [files / f"part{part}.parquet" for part in (3, 2, 1, 0)]
    assert not same(calibration("y", "p", data=backwards), expected[0])


@pytest.mark.parametrize(
    "convert", [pd.DataFrame, pl.DataFrame, lambda frame: frame.to_dict("list")]
)
def test_frames_in_memory(convert, expected):
    data = convert(FRAME[["a", "b", "p", "y"]])
    assert same(calibration("y", "p", data=data), expected[0])
    assert same(model("p", ["a", "b"], "y", data=data), expected[1])


def test_candidates_are_asked_chunk_by_chunk(files, expected):
    asked = []

    def candidate(frame):
        asked.append(len(frame))
        return 1 / (1 + np.exp(-frame["a"]))

    assert same(model(candidate, ["a", "b"], "y", data=files), expected[1])
    assert asked == [CHUNK_ROWS, CHUNK_ROWS, 777]


def test_classifiers_find_their_columns_and_the_positive_class(files):
    classifier = LogisticRegression().fit(FRAME[:500][["b", "a"]], FRAME["ill"][:500])
    frame = FRAME[["a", "b"]]
    in_memory = model(classifier, frame, FRAME["ill"], pos_label="yes")
    streamed = model(classifier, ["a", "b"], "ill", data=files, pos_label="yes")
    assert streamed.rank == in_memory.rank
    np.testing.assert_allclose(streamed.null_distribution, in_memory.null_distribution, rtol=1e-6)


def test_groups(files, tmp_path):
    in_memory = calibration(Y, P, by=FRAME["arm"])
    from_files = calibration("y", "p", by="arm", data=files)
    assert from_files.index.name == "arm"
    pd.testing.assert_frame_equal(from_files, in_memory, rtol=1e-5)
    for column in ("pvalue", "rank", "statistic", "n", "observed"):
        assert from_files[column].tolist() == in_memory[column].tolist()
    y, p = mapped(tmp_path, y=Y, p=P)
    assert calibration(y, p, by=ARM)["statistic"].tolist() == in_memory["statistic"].tolist()


def test_lists_and_series_beside_memory_maps(tmp_path, expected):
    (p,) = mapped(tmp_path, p=P)
    counted_by_halves = np.arange(N) / 2  # pandas 2 takes slices of such an index by label
    assert same(calibration(Y.tolist(), p), expected[0])
    assert same(calibration(pd.Series(Y, counted_by_halves), p), expected[0])
    assert same(model(p, X.tolist(), pl.Series(Y)), expected[1])
    groups = calibration(Y, P, by=ARM)["statistic"].tolist()
    for by in (ARM.tolist(), pd.Series(ARM, counted_by_halves), pl.Series(ARM)):
        assert calibration(Y.tolist(), p, by=by)["statistic"].tolist() == groups


def test_a_column_that_pandas_saved_as_its_index(tmp_path):
    few = FRAME[:500].set_index("p")
    few.to_parquet(tmp_path / "few.parquet")
    result = model("p", ["a", "b"], "y", data=tmp_path / "few.parquet")
    assert same(result, model(P[:500], X[:500], Y[:500]))


def test_few_rows_go_to_memory(tmp_path):
    few = FRAME[:300]
    few.to_parquet(tmp_path / "few.parquet")
    y, p = mapped(tmp_path, y=Y[:300], p=P[:300])
    assert same(calibration(y, p), calibration(Y[:300], P[:300]))
    data = tmp_path / "few.parquet"
    assert same(calibration("y", "p", data=data), calibration(Y[:300], P[:300]))
    nearest = model("p", ["a", "b"], "y", data=data, statistic="neighborhood")
    assert same(nearest, model(P[:300], X[:300], Y[:300], statistic="neighborhood"))
    assert len(calibration("y", "p", by="arm", data=data)) == 3


def test_the_question_tells_of_rows_that_are_not_kept(files):
    asked = calibration("y", "p", data=files).question
    assert asked.kind == "calibration"
    assert asked.trials.sum() == N
    assert asked.successes.sum() == Y.sum()
    assert len(asked.trials) <= 1000
    np.testing.assert_allclose(asked.probabilities @ asked.trials, P.sum(), rtol=1e-5)


def test_progress_goes_to_stderr(files, monkeypatch, capfd):
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TTY_INTERACTIVE", "1")
    calibration("y", "p", data=files, progress=True)
    out, err = capfd.readouterr()
    assert out == ""
    assert "rows processed" in err


# --- what goes wrong ----------------------------------------------------------------------------


@pytest.fixture
def damaged(tmp_path):
    """Write a data set with one entry changed."""

    def write(column, row, value):
        frame = FRAME.copy()
        if isinstance(value, str) or value is None:
            frame[column] = frame[column].astype(object)
        frame.loc[row, column] = value
        frame.to_parquet(tmp_path / "damaged.parquet")
        return tmp_path / "damaged.parquet"

    return write


@pytest.mark.parametrize(
    ("column", "row", "value", "message"),
    [
        ("p", 70_123, np.nan, "'y_prob'.*finite numbers. Got nan in row 70123"),
        ("p", 131_000, 1.5, "'y_prob'.*between 0 and 1. Got 1.5 in row 131000"),
        ("y", 131_001, 2, r"'y_true'.*two classes. Got 3 instead: 0, 1, 2"),
        ("y", 131_002, None, "'y_true'.*missing or infinite values. Got one in row 131002"),
    ],
)
def test_bad_rows_are_named(damaged, column, row, value, message):
    with pytest.raises(InvalidValueError, match=message):
        calibration("y", "p", data=damaged(column, row, value))


def test_bad_inputs_and_candidates_are_named(damaged, files):
    with pytest.raises(InvalidValueError, match=r"'X'.*Got inf in row 70000, column 'b'"):
        model("p", ["a", "b"], "y", data=damaged("b", 70_000, np.inf))
    with pytest.raises(ModelError, match=r"Got 2 instead.*rows: 131000"):
        model("p", ["a", "b"], "y", data=damaged("p", 131_000, 2.0))
    with pytest.raises(ModelError, match=r"Got -1 .*: 0, 1, 2"):
        model(lambda frame: np.full(len(frame), -1.0), "a", "y", data=files)
    with pytest.raises(InvalidTypeError, match=r"must be numeric. Got 'arm'"):
        model("p", ["a", "arm"], "y", data=files)
    with pytest.raises(InvalidValueError, match=r"one probability per row"):
        model(lambda frame: np.full(3, 0.5), "a", "y", data=files)


def test_columns_that_are_not_there(files):
    message = r"'y_prob' parameter must name columns of 'data', \['a', 'b', 'p'.*Got 'prob'"
    for data in (files, FRAME):
        with pytest.raises(InvalidValueError, match=message):
            calibration("y", "prob", data=data)
    with pytest.raises(InvalidValueError, match=r"'X'.*Got 'c'"):
        model("p", ["a", "c"], "y", data=files)
    with pytest.raises(InvalidTypeError, match=r"'y_prob' parameter must name a column.*ndarray"):
        calibration("y", P, data=files)


def test_labels_of_two_classes_need_a_positive_one(files):
    with pytest.raises(InvalidValueError, match=r"'pos_label'.*\['no', 'yes'\]"):
        calibration("ill", "p", data=files)
    with pytest.raises(InvalidValueError, match=r"'pos_label'.*Got 'maybe'"):
        calibration("ill", "p", data=files, pos_label="maybe")
    assert same(calibration("ill", "p", data=files, pos_label="yes"), calibration(Y, P))


@pytest.mark.parametrize("statistic", ["neighborhood", lambda labels, p, X: labels.sum(axis=1)])
def test_statistics_that_want_all_rows_at_once_say_so(files, statistic):
    with pytest.raises(
        InvalidTypeError, match=r"takes rows in (pieces|chunks).*'discrepancy'.*Got"
    ):
        model("p", ["a", "b"], "y", data=files, statistic=statistic)


def test_files_that_are_not_there_or_not_parquet(tmp_path):
    with pytest.raises(FileAccessError, match=r"Parquet files.*nothing\*.parquet"):
        calibration("y", "p", data=tmp_path / "nothing*.parquet")
    with pytest.raises(FileAccessError, match=r"names none"):
        calibration("y", "p", data=tmp_path)
    (tmp_path / "text.parquet").write_text("hello")
    with pytest.raises(FileFormatError, match=r"must name Parquet files"):
        calibration("y", "p", data=tmp_path / "text.parquet")


def test_files_that_are_damaged_in_the_middle(files, tmp_path):
    content = bytearray((files / "part0.parquet").read_bytes())
    content[4:-20_000] = bytes(len(content) - 20_004)
    (tmp_path / "a.parquet").write_bytes(content)
    (tmp_path / "b.parquet").write_bytes((files / "part3.parquet").read_bytes())
    with pytest.raises(FileFormatError, match=r"The data cannot be read"):
        calibration("y", "p", data=tmp_path)


def test_no_rows(tmp_path):
    FRAME[:0].to_parquet(tmp_path / "none.parquet")
    with pytest.raises(InvalidValueError, match=r"at least one row. Got 0"):
        calibration("y", "p", data=tmp_path / "none.parquet")


@pytest.mark.parametrize("data", [3, ["a", 3], lambda: None])
def test_data_of_another_kind(data):
    with pytest.raises(InvalidTypeError, match=r"'data' parameter must be a frame, a pyarrow data"):
        calibration("y", "p", data=data)


def test_lengths_that_differ(tmp_path):
    y, p = mapped(tmp_path, y=Y[:-1], p=P)
    with pytest.raises(InvalidValueError, match=rf"same number of rows. Got {N} and {N - 1}"):
        calibration(y, p)


@pytest.mark.parametrize("n", [300, N])
def test_groups_of_another_kind(tmp_path, n):
    y, p = mapped(tmp_path, y=Y[:n], p=P[:n])
    for rows in ((y, p), (Y[:n], P[:n])):
        with pytest.raises(InvalidValueError, match=r"'by'"):
            calibration(*rows, by=ARM[: n - 1])
        with pytest.raises(InvalidValueError, match=r"'by'.*one group per row"):
            calibration(*rows, by=ARM[:n, None])
        with pytest.raises((InvalidTypeError, InvalidValueError), match=r"'by'.*per row"):
            calibration(*rows, by=iter(ARM))
        with pytest.raises(InvalidTypeError, match=r"'by'.*told apart.*Got dict"):
            calibration(*rows, by=[{}] * n)


def test_zero_counts(tmp_path):
    y, p = mapped(tmp_path, y=np.zeros((N, 2), dtype=int), p=P)
    with pytest.raises(InvalidValueError, match=r"at least one trial"):
        calibration(y, p)


def test_groups_that_are_missing(damaged):
    with pytest.raises(InvalidValueError, match=r"'by'.*missing values. Got one in row 70001 inst"):
        calibration("y", "p", by="arm", data=damaged("arm", 70_001, None))
