"""Several Parquet files, and a cluster."""

import json

import numpy as np
import pandas as pd
import pytest
from support.clusters import loopback_cluster

import exactregion as er

COLUMNS = ("--outcome", "y", "--probability", "p", "--resamples", "19")


@pytest.fixture(scope="module")
def parts(tmp_path_factory):
    """Three files with more rows than one chunk in all."""
    folder, rng = tmp_path_factory.mktemp("parts"), np.random.default_rng(0)
    files = [str(folder / f"part{number}.parquet") for number in range(3)]
    for file in files:
        p = rng.uniform(size=25_000)
        y = (rng.uniform(size=25_000) < p).astype(int)
        group = rng.choice(["a", "b"], size=25_000)
        pd.DataFrame({"p": p, "y": y, "group": group}).to_parquet(file, row_group_size=9_000)
    return files


@pytest.fixture(scope="module")
def expected(parts):
    frame = pd.concat([pd.read_parquet(file) for file in parts], ignore_index=True)
    return er.calibration_test(frame["y"], frame["p"], n_resamples=19, rng="data")


def test_several_files_have_the_result_of_memory(run, parts, expected):
    done = run("calibrate", *parts[::-1], *COLUMNS, "--json", "--by", "group")
    found = json.loads(done.out)
    assert done.code == 0
    assert (found["n"], found["rank"], found["z"]) == (75_000, expected.rank, expected.statistic)
    assert found["belt"] is None
    assert [group["group"] for group in found["groups"]] == ["a", "b"]


def test_people_are_told_of_files(run, parts):
    done = run("calibrate", *parts, *COLUMNS)
    assert "75,000 in 3 files" in done.out


def test_a_cluster_has_the_result_of_memory(run, parts, expected):
    with loopback_cluster(1) as cluster:
        done = run("calibrate", *parts, *COLUMNS, "--json", "--cluster", cluster.scheduler_address)
    found = json.loads(done.out)
    assert (found["rank"], found["z"]) == (expected.rank, expected.statistic)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (("nowhere.parquet",), "There is no file 'nowhere.parquet'"),
        (("--by", "y"), "Column 'y' is the outcome"),
        (("--trials", "p"), "--trials goes with one file"),
        (("--drop-missing",), "--drop-missing goes with one file"),
        (("--by", "site"), "site"),
    ],
)
def test_what_is_wrong_is_said(run, parts, line, message):
    done = run("calibrate", *parts, *COLUMNS, *line)
    assert (done.code, done.out) == (2, "")
    assert message in done.err


@pytest.mark.parametrize("more", [(), ("--classes", "0,1")])
def test_an_outcome_that_is_not_there(run, parts, more):
    done = run("calibrate", *parts, "--outcome", "z", "--probability", "p", *more)
    assert (done.code, done.out) == (2, "")
    assert "has no column 'z'" in done.err


def test_several_csv_files(run, parts, tmp_path):
    (tmp_path / "one.csv").write_text("y,p\n1,0.5\n")
    done = run("calibrate", str(tmp_path / "one.csv"), parts[0], *COLUMNS)
    assert done.code == 2
    assert "must be Parquet files" in done.err


def test_no_scheduler_answers(run, parts, monkeypatch):
    monkeypatch.setattr("exactregion.cli.data.CLUSTER_TIMEOUT", "1s")
    done = run("calibrate", parts[0], *COLUMNS, "--cluster", "tcp://127.0.0.1:1")
    assert done.code == 2
    assert "No scheduler answers at 'tcp://127.0.0.1:1'" in done.err


def test_the_outcome_is_no_prediction_whatever_it_is_called(run, tmp_path):
    rng = np.random.default_rng(1)
    files = [str(tmp_path / f"part{number}.parquet") for number in range(2)]
    for file in files:
        P = rng.dirichlet([2, 2, 2], 40)
        frame = pd.DataFrame(P, columns=["p_cat", "p_cow", "p_dog"])
        frame["p_seen"] = rng.choice(["cat", "cow", "dog"], 40)
        frame.to_parquet(file)
    line = ("--outcome", "p_seen", "--probability", "p_", "--classes", "cat,cow,dog")
    done = run("calibrate", *files, *line, "--resamples", "19", "--json")
    assert done.code == 0
    assert json.loads(done.out)["probability"] == ["p_cat", "p_cow", "p_dog"]


def test_the_positive_class_may_be_a_number(run, tmp_path):
    files = [tmp_path / "a.parquet", tmp_path / "b.parquet"]
    for file in files:
        pd.DataFrame({"y": [0, 1, 1, 0] * 3, "p": 0.4}).to_parquet(file)
    done = run("calibrate", *files, *COLUMNS, "--positive", "0", "--json")
    assert done.code == 0, done.err
    assert json.loads(done.out)["successes"] == 12
    done = run("calibrate", *files, *COLUMNS, "--positive", "no")
    assert done.code == 2
    assert "--positive must be a number" in done.err
