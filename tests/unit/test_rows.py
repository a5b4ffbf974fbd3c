"""Belts and regions of rows in files, memory maps and clusters are those of rows in memory."""

import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
from support.effort import little_effort

import exactregion as er
from exactregion.errors import InvalidValueError

rng = np.random.default_rng(0)
P = rng.uniform(size=80)
FRAME = pd.DataFrame({"y": (rng.uniform(size=80) < P).astype(int), "p": P, "squared": P**2})
SETTINGS = {"n_resamples": 19, "confidence_level": 0.9, "rng": 0}


@pytest.fixture(scope="module")
def reference():
    return er.calibration_belt(FRAME["y"], P, **SETTINGS)


@pytest.fixture
def files(tmp_path):
    FRAME[:30].to_parquet(tmp_path / "0.parquet")
    FRAME[30:].to_parquet(tmp_path / "1.parquet")
    np.save(tmp_path / "p.npy", P)
    return tmp_path


def test_columns_of_files_and_frames(reference, files):
    for data in (str(files / "*.parquet"), FRAME, dd.from_pandas(FRAME, npartitions=3)):
        belt = er.calibration_belt("y", "p", data=data, **SETTINGS)
        np.testing.assert_array_equal(belt.lower, reference.lower)
        np.testing.assert_array_equal(belt.upper, reference.upper)
        assert belt.pvalue == reference.pvalue


def test_memory_maps_and_dask_arrays(reference, files):
    mapped = np.load(files / "p.npy", mmap_mode="r")
    for y, p in ((FRAME["y"], mapped), (da.from_array(FRAME["y"].to_numpy()), da.from_array(P))):
        belt = er.calibration_belt(y, p, **SETTINGS)
        np.testing.assert_array_equal(belt.lower, reference.lower)


def test_several_columns_are_several_models(reference, files):
    belts = er.calibration_belt("y", ["p", "squared"], data=files, **SETTINGS)
    np.testing.assert_array_equal(belts["p"].lower, reference.lower)
    assert list(belts) == ["p", "squared"]


def test_a_column_that_is_not_there(files):
    with pytest.raises(InvalidValueError, match="must name columns of 'data'"):
        er.calibration_belt("y", "q", data=files, **SETTINGS)


def test_regions_of_files_and_clusters(files):
    region = er.ConfidenceRegion("logistic", n_resamples=19, rng=0)
    theta = np.random.default_rng(1).normal(size=(30, 2))
    ranks = region.fit(FRAME[["p"]], FRAME["y"]).rank(theta)
    for data in (str(files / "*.parquet"), FRAME, dd.from_pandas(FRAME, npartitions=3)):
        again = er.ConfidenceRegion("logistic", n_resamples=19, rng=0).fit(["p"], "y", data=data)
        assert again.parameter_names_ == ("intercept", "p")
        np.testing.assert_array_equal(again.rank(theta), ranks)
    lazy = er.ConfidenceRegion("logistic", n_resamples=19, rng=0).fit(
        da.from_array(P, chunks=30), da.from_array(FRAME["y"].to_numpy(), chunks=30)
    )
    np.testing.assert_array_equal(lazy.rank(theta), ranks)


@pytest.fixture
def quick_searches():
    with little_effort():
        yield


@pytest.mark.usefixtures("quick_searches")
def test_belts_of_many_rows(tmp_path):
    """More than a chunk of rows, some with certain predictions, which belts set apart."""
    rng = np.random.default_rng(2)
    p = rng.uniform(size=66_000)
    p[:3], p[3:5], p[5] = 0.0, 1.0, 0.0
    y = rng.uniform(size=len(p)) < p
    y[5] = True
    settings = {"n_resamples": 9, "confidence_level": 0.9, "rng": "data"}
    given = er.calibration_belt(y, p, **settings)
    assert given.contradicted == 1
    assert len(given.region.fitted_.sample) == len(p) - 6
    np.testing.assert_array_equal(np.sort(given.y_prob), np.sort(p))
    assert given.successes.sum() == y.sum()
    assert given.trials.sum() == len(p)
    assert given.status == "bounded"
    frame = pd.DataFrame({"y": np.where(y, "yes", "no"), "p": p})
    frame.to_parquet(tmp_path / "rows.parquet", row_group_size=20_000)
    data = (tmp_path / "rows.parquet", dd.from_pandas(frame, npartitions=3))
    for where in data:
        belt = er.calibration_belt("y", "p", data=where, pos_label="yes", **settings)
        np.testing.assert_array_equal(belt.lower, given.lower)
        np.testing.assert_array_equal(belt.upper, given.upper)
        assert belt.pvalue == given.pvalue
        assert belt.largest_deviation == given.largest_deviation
