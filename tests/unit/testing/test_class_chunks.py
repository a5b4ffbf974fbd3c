"""Classes in memory, in chunks, in files and on a cluster: the same bits."""

import numpy as np
import pandas as pd
import pytest

import exactregion as er
from exactregion.errors import InvalidTypeError, InvalidValueError
from exactregion.statistics import Brier, ClassOmnibus, ClassWise, Joint, Neighborhood, Score

N = 66_000  # two chunks
RNG = np.random.default_rng(0)
P = RNG.dirichlet([1, 1, 1], size=N)
P[:50, 0] = 0
P /= P.sum(axis=1, keepdims=True)
Y = (RNG.exponential(size=P.shape) / np.where(P > 0, P, 1e-300)).argmin(axis=1)
TEXT = np.array(["cat", "dog", "bird"])[Y]
COLUMNS = ["p_cat", "p_dog", "p_bird"]
FRAME = pd.DataFrame(P, columns=COLUMNS).assign(y=TEXT, x=RNG.normal(size=N))
CLASSES = ["cat", "dog", "bird"]
SETTINGS = {"n_resamples": 19, "rng": 4}


def bits(result):
    """All numbers of a result, to the last bit."""
    arrays = [result.null_distribution, *(part.null_distribution for part in result.parts)]
    return (
        (result.rank, result.statistic, result.classes),
        [array.tobytes() for array in arrays],
        result.table.to_csv(),
    )


@pytest.fixture(scope="module")
def in_memory():
    return bits(er.calibration_test(TEXT, P, classes=CLASSES, **SETTINGS))


def test_parquet_and_columns_by_name(in_memory, tmp_path):
    path = tmp_path / "rows.parquet"
    FRAME.to_parquet(path, row_group_size=20_000)
    by_name = er.calibration_test("y", COLUMNS, data=path, classes=CLASSES, **SETTINGS)
    assert bits(by_name) == in_memory
    assert bits(er.calibration_test(TEXT, FRAME[COLUMNS[::-1]], n_jobs=2, **SETTINGS)) == in_memory


def test_memory_map(in_memory, tmp_path):
    np.save(tmp_path / "P.npy", P)
    mapped = np.load(tmp_path / "P.npy", mmap_mode="r")
    # without names the columns are those of the sorted labels, which takes a pass of its own
    order = [CLASSES.index(label) for label in sorted(CLASSES)]
    assert bits(er.calibration_test(TEXT, mapped, classes=CLASSES, **SETTINGS)) == in_memory
    np.save(tmp_path / "Q.npy", P[:, order])
    mapped = np.load(tmp_path / "Q.npy", mmap_mode="r")
    assert bits(er.calibration_test(TEXT, mapped, **SETTINGS)) == in_memory


def test_dask(in_memory):
    array = pytest.importorskip("dask.array")
    chunked = array.from_array(P, chunks=(17_000, 2))
    assert bits(er.calibration_test(TEXT, chunked, classes=CLASSES, **SETTINGS)) == in_memory


def test_models(tmp_path):
    """A candidate that is evaluated, and one that is a column, in memory and in chunks."""
    x = FRAME["x"].to_numpy()

    def candidate(x):
        x = np.asarray(x).reshape(len(x))
        scores = np.stack([0 * x, x, -x], axis=1)
        return np.exp(scores) / np.exp(scores).sum(axis=1, keepdims=True)

    settings = {"classes": CLASSES, "statistic": "discrepancy", **SETTINGS}
    whole = er.model_test(candidate, x, TEXT, **settings)
    assert whole.pvalue == 1 / 20
    np.save(tmp_path / "x.npy", x)
    mapped = np.load(tmp_path / "x.npy", mmap_mode="r")
    assert bits(er.model_test(candidate, mapped, TEXT, **settings)) == bits(whole)
    assert bits(er.model_test(candidate(x), x, TEXT, **settings)) == bits(whole)


def test_the_seed_of_the_data_is_the_same(tmp_path):
    many = np.sort(RNG.integers(15, size=70_000))  # the chunks have different labels
    Q = np.full((70_000, 15), 1 / 15)
    np.save(tmp_path / "Q.npy", Q)
    mapped = np.load(tmp_path / "Q.npy", mmap_mode="r")
    settings = {"statistic": "brier", "n_resamples": 19, "rng": "data"}
    assert (
        er.calibration_test(many, Q, **settings).seed
        == er.calibration_test(many, mapped, **settings).seed
    )


@pytest.mark.parametrize("statistic", [ClassOmnibus(Brier(), ClassWise(Score())), "temperature"])
def test_other_statistics_in_chunks(statistic):
    assert er.calibration_test(Y, P, statistic=statistic, **SETTINGS).n == N


def test_what_needs_all_rows_says_so(tmp_path):
    path = tmp_path / "rows.parquet"
    FRAME.to_parquet(path)
    with pytest.raises(InvalidTypeError, match="takes rows in chunks"):
        er.calibration_test(
            *("y", COLUMNS), data=path, classes=CLASSES, statistic=Joint(Neighborhood()), **SETTINGS
        )
    with pytest.raises(InvalidValueError, match=r"add up to 1.*row 65999"):
        er.calibration_test(
            *("y", COLUMNS),
            classes=CLASSES,
            data=FRAME.assign(p_cat=P[:, 0] + (FRAME.index == N - 1)),
            **SETTINGS,
        )
