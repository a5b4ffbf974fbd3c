"""Rows in Dask collections: the result of rows in memory, whatever the chunks and the workers."""

import os
import signal
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.tree import DecisionTreeClassifier
from support.clusters import loopback_cluster

import exactregion as er
from exactregion.data.sample import CHUNK_ROWS
from exactregion.engine import evaluate
from exactregion.errors import InvalidTypeError, InvalidValueError

da = pytest.importorskip("dask.array")
dd = pytest.importorskip("dask.dataframe")
distributed = pytest.importorskip("distributed")

N = CHUNK_ROWS + 777
RNG = np.random.default_rng(0)
X = RNG.normal(size=(N, 2))
P = 1 / (1 + np.exp(-X[:, 0]))
Y = (RNG.random(N) < P).astype(int)
FRAME = pd.DataFrame(
    {"a": X[:, 0], "b": X[:, 1], "p": P, "y": Y, "arm": np.where(X[:, 1] > 1, "new", "old")}
)
CHUNKS = [2, 4, 8]  # one, two and four for each of two workers


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


def chunked(values, number):
    return da.from_array(values, chunks=(-(-len(values) // number), *values.shape[1:]))


@pytest.fixture(scope="module")
def expected():
    return calibration(Y, P), model(P, X, Y)


# --- threads of this machine --------------------------------------------------------------------


@pytest.mark.parametrize("number", [1, 3, 50])
def test_arrays_with_any_chunks(number, expected):
    y, p, x = chunked(Y, number), chunked(P, number + 1), chunked(X, number)
    assert same(calibration(y, p), expected[0])
    assert same(model(p, x, y), expected[1])


def test_arrays_of_dask_and_numpy_mix(expected):
    assert same(calibration(Y, chunked(P, 5)), expected[0])
    columns = da.from_array(X, chunks=(40_000, 1))
    assert same(model(P, columns, chunked(Y, 2)), expected[1])


@pytest.mark.parametrize("number", [1, 7])
def test_frames(number, expected):
    frame = dd.from_pandas(FRAME, npartitions=number)
    assert same(calibration("y", "p", data=frame), expected[0])
    assert same(model("p", ["a", "b"], "y", data=frame), expected[1])
    assert same(calibration(frame["y"], frame["p"]), expected[0])
    asked = model(lambda part: 1 / (1 + np.exp(-part["a"])), ["a", "b"], "y", data=frame)
    assert same(asked, expected[1])


def test_classifiers():
    classifier = DecisionTreeClassifier(max_depth=3).fit(FRAME[["b", "a"]][:900], Y[:900])
    frame = dd.from_pandas(FRAME, npartitions=3)
    in_memory = model(classifier, FRAME[["a", "b"]], Y)
    assert same(model(classifier, ["a", "b"], "y", data=frame), in_memory)


def test_groups():
    in_memory = calibration(Y, P, by=FRAME["arm"])
    frame = dd.from_pandas(FRAME, npartitions=5)
    table = calibration("y", "p", by="arm", data=frame)
    pd.testing.assert_frame_equal(table, in_memory, rtol=1e-5)
    assert table["statistic"].tolist() == in_memory["statistic"].tolist()


def test_several_kernels_of_several_inputs():
    """The default of model_test."""
    multiscale = {"statistic": "multiscale"}
    arrays = (chunked(values, 3) for values in (P, X, Y))
    assert same(model(*arrays, **multiscale), model(P, X, Y, **multiscale))


def test_tasks_on_several_chunks(monkeypatch):
    """Of many rows; here there are three chunks, two of which one task works on."""
    from exactregion.data import dask_source

    monkeypatch.setattr(dask_source, "FEWEST_TASKS", 1)
    monkeypatch.setattr(dask_source, "MOST_AT_ONCE", 2)
    frame = pd.concat([FRAME, FRAME], ignore_index=True)
    parts = dd.from_pandas(frame, npartitions=5)
    source = dask_source.DaskSource.of_frame(parts, dask_source.Rows(None, "y", "p"))
    sizes = [len(rows.y) for rows in source.chunks()]
    assert sizes == [CHUNK_ROWS, CHUNK_ROWS, 2 * 777]
    assert source.each(lambda index, rows: (index, len(rows.y)), int) == list(enumerate(sizes))
    assert same(calibration("y", "p", data=parts), calibration(frame["y"], frame["p"]))
    by_group = calibration("y", "p", by="arm", data=parts)
    in_memory = calibration(frame["y"], frame["p"], by=frame["arm"])
    assert by_group["statistic"].tolist() == in_memory["statistic"].tolist()


def test_few_rows():
    assert same(calibration(chunked(Y[:90], 3), chunked(P[:90], 2)), calibration(Y[:90], P[:90]))


def test_errors():
    y, p = chunked(Y, 3), chunked(P, 3)
    with pytest.raises(InvalidValueError, match=r"chunks of known size.*compute_chunk_sizes\(\)"):
        calibration(y[y >= 0], p)
    with pytest.raises(InvalidValueError, match=rf"same number of rows. Got {N} and {N - 5}"):
        calibration(y[:-5], p)
    with pytest.raises(InvalidTypeError, match=r"'y_prob' parameter must be a Dask array or frame"):
        calibration(y, da.from_array(P).to_delayed()[0])
    with pytest.raises(InvalidValueError, match=r"Got 7.0 in row 66000"):
        calibration(y, da.where(da.arange(N, chunks=p.chunks) == 66_000, 7.0, p))
    with pytest.raises(InvalidValueError, match=r"two classes. Got 3 instead: 0, 1, 2"):
        calibration(da.where(da.arange(N, chunks=y.chunks) == 66_200, 2, y), p)
    with pytest.raises(InvalidValueError, match=r"'y_prob'.*\['a', 'b', 'p', 'y', 'arm'\].*'q'"):
        calibration("y", "q", data=dd.from_pandas(FRAME, npartitions=2))
    with pytest.raises(InvalidTypeError, match=r"takes rows in (pieces|chunks)"):
        calibration(y, p, statistic="neighborhood")


def test_sources_that_fail_late():
    def broken(block):
        raise OSError("the disk is gone")

    p = chunked(P, 3).map_blocks(broken, dtype=float)
    with pytest.raises(OSError, match=r"the disk is gone"):
        calibration(chunked(Y, 3), p)


# --- a cluster ----------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def client():
    """Two workers, each a process with one thread, on the loopback interface."""
    with (
        loopback_cluster(2) as cluster,
        distributed.Client(cluster, timeout=30) as client,
    ):
        yield client


class Deadly:
    """A candidate that ends the worker that evaluates it on the second chunk, once."""

    def __init__(self, mark, here):
        self.mark, self.here = Path(mark), here

    def __call__(self, X):
        if X[0, 0] == self.here and not self.mark.exists():
            self.mark.write_text(str(os.getpid()))
            os.kill(os.getpid(), signal.SIGKILL)
        return 1 / (1 + np.exp(-X[:, 0]))


@pytest.mark.parametrize("number", CHUNKS)
def test_a_cluster_has_the_result_of_memory(client, number, expected):
    assert same(calibration(chunked(Y, number), chunked(P, number)), expected[0])
    assert same(model(chunked(P, number), chunked(X, number), chunked(Y, number)), expected[1])


def test_a_worker_that_dies_changes_nothing(client, tmp_path, expected):
    before = set(client.run(os.getpid).values())
    deadly = Deadly(tmp_path / "died", X[CHUNK_ROWS, 0])
    assert same(model(deadly, chunked(X, 4), chunked(Y, 4)), expected[1])
    assert int(deadly.mark.read_text()) in before


@pytest.mark.parametrize("many_labels", [2**22, 1000], ids=["all labels", "a window"])
def test_many_theta_on_a_cluster_through_joblib(client, monkeypatch, many_labels):
    """joblib's own way to a cluster: the ranks are those of one process."""
    monkeypatch.setattr(evaluate, "MANY_LABELS", many_labels)
    joblib = pytest.importorskip("joblib")
    x = np.linspace(-2, 2, 40)
    theta = np.random.default_rng(1).normal(size=(300, 2))

    def ranks(**settings):
        region = er.ConfidenceRegion("logistic", n_resamples=39, rng=0, **settings)
        return region.fit(x, x > 0.3).rank(theta)

    with joblib.parallel_config(backend="dask"):
        spread = ranks(n_jobs=2, batch=2**18)
    assert np.array_equal(spread, ranks())
