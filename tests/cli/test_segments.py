"""The command `segments`: the library's answer, for people and programs."""

import json

import numpy as np
import pandas as pd
import pytest
from support.clusters import loopback_cluster

import exactregion as er

ASK = ("--outcome", "y", "--probability", "p", "--segments", "sex,age", "--resamples", "99")


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"sex": rng.choice(["f", "m"], 800), "age": rng.integers(20, 80, 800)})
    frame["age"] = frame["age"].where(rng.random(800) > 0.1)
    frame["p"] = rng.uniform(size=800)
    wrong = (frame["sex"] == "m") & (frame["age"] > 60)
    frame["y"] = (rng.uniform(size=800) < np.where(wrong, frame["p"] ** 3, frame["p"])).astype(int)
    return frame


@pytest.fixture
def path(rows, save):
    return save(rows.to_csv(index=False))


@pytest.fixture(scope="module")
def expected(rows):
    return er.segment_test(rows["y"], rows["p"], rows[["sex", "age"]], n_resamples=99, rng=0)


def test_programs_read_all_segments(run, path, expected):
    done = run("segments", path, *ASK, "--json")
    found = json.loads(done.out)
    assert done.code == 0
    assert [found[key] for key in ("pvalue", "rank", "z")] == [
        *(expected.pvalue, expected.rank, expected.statistic)
    ]
    assert [row["segment"] for row in found["segments"]] == expected.table.index.tolist()
    assert "age is missing" in expected.table.index
    first = found["segments"][0]
    assert first["pvalue_adjusted"] == 0.01
    assert first["lower"] == pytest.approx(expected.table["lower"].iloc[0])
    assert found["edges"] == {"age": expected.edges["age"].tolist()}


def test_people_read_names_and_what_they_mean(run, path, expected):
    done = run("segments", path, *ASK, "--fail-below", "0.01")
    assert done.code == 1
    assert expected.table.index[0] in done.out
    assert "0.01 (rank 100 of 100)" in done.out
    assert "the smallest adjusted p-value is\n0.01." in done.out
    assert max(map(len, done.out.splitlines())) <= 80


def test_options_reach_the_library(run, rows, path, tmp_path):
    options = ("--depth", "1", "--min-rows", "150", "--bins", "3", "--confidence", "90%")
    more = ("--statistic", "recalibration", "--plot", tmp_path / "a.png", "--report")
    done = run("segments", path, *ASK, *options, *more, tmp_path / "a.html", "--json", "--seed", 3)
    expected = er.segment_test(
        *(rows["y"], rows["p"], rows[["sex", "age"]]),
        **{"depth": 1, "min_rows": 150, "bins": 3, "statistic": "recalibration"},
        **{"confidence_level": 0.9, "n_resamples": 99, "rng": 3},
    )
    found = json.loads(done.out)
    assert (found["pvalue"], found["z"]) == (expected.pvalue, expected.statistic)
    assert found["segments"][0]["upper"] == pytest.approx(expected.table["upper"].iloc[0])
    assert {"a.png", "a.html"} <= {file.name for file in tmp_path.iterdir()}


def test_words_among_numbers_are_words(run, save, rows):
    site = np.where(np.arange(800) % 4 == 0, "B", (np.arange(800) % 4).astype(str))
    path = save(rows.assign(sex=site).to_csv(index=False))
    names = [
        one["segment"] for one in json.loads(run("segments", path, *ASK, "--json").out)["segments"]
    ]
    assert {"sex = B", "sex = 1"} < set(names)


def test_files_and_a_cluster_have_the_result_of_one_file(run, rows, expected, tmp_path):
    files = [tmp_path / f"part{part}.parquet" for part in range(2)]
    for part, file in enumerate(files):
        rows.iloc[400 * part : 400 * (part + 1)].to_parquet(file)
    found = json.loads(run("segments", *files, *ASK, "--json").out)
    assert (found["n"], found["z"]) == (800, expected.statistic)
    with loopback_cluster(1) as cluster:
        address = cluster.scheduler_address
        done = run("segments", *files, *ASK, "--json", "--cluster", address)
    assert json.loads(done.out)["segments"] == found["segments"]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (("--segments", "y"), "Column 'y' is the outcome"),
        (("--segments", "sexx"), "Did you mean 'sex'?"),
        (("--depth", "0"), "--depth must be 1 or more. Got 0"),
        (("--bins", "1"), "--bins must be 2 or more. Got 1"),
        (("--min-rows", "900"), "--min-rows must leave at least one segment"),
        (("--statistic", "score"), "--statistic must be one of shift, recalibration"),
        (("--fail-below", "0.001"), "cannot be reached"),
        (("--confidence", "0.999"), "--resamples must be at least 999"),
    ],
)
def test_what_is_refused(run, path, line, message):
    done = run("segments", path, *ASK, *line)
    assert (done.code, done.out) == (2, "")
    assert message in done.err
