"""The commands with one column of probabilities per class."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import exactregion as er


@pytest.fixture
def animals(tmp_path, monkeypatch):
    """A folder with files of predictions that are too sure of themselves."""
    rng = np.random.default_rng(1)
    P = rng.dirichlet([1, 0.6, 1.4], 200)
    codes = (rng.random(200)[:, None] > np.cumsum(P, axis=1)).sum(axis=1)
    P = P**2 / (P**2).sum(axis=1, keepdims=True)
    frame = pd.DataFrame(P.round(4), columns=["p_bird", "p_cat", "p_dog"])
    frame.insert(0, "species", np.array(["bird", "cat", "dog"])[codes])
    frame["code"], frame["site"] = codes, rng.choice(list("abc"), 200)
    frame.to_csv(tmp_path / "animals.csv", index=False)
    frame[:120].to_parquet(tmp_path / "a.parquet")
    frame[120:].to_parquet(tmp_path / "b.parquet")
    monkeypatch.chdir(tmp_path)
    return frame


WORDS = ["--outcome", "species", "--resamples", "99", "--seed", "0"]


@pytest.mark.parametrize("named", ["p_bird,p_cat,p_dog", "p_", "p_*"])
def test_columns_of_classes_are_tested_together(animals, run, named):
    done = run("calibrate", "animals.csv", *WORDS, "--probability", named, "--json")
    found = json.loads(done.out)
    names = ["p_bird", "p_cat", "p_dog"]
    result = er.calibration_test(animals["species"], animals[names], n_resamples=99, rng=0)
    assert done.code == 0
    assert found["pvalue"] == result.pvalue
    assert found["classes"] == ["bird", "cat", "dog"]
    assert found["probability"] == names
    assert found["statistic"] == "omnibus"
    assert [row["class"] for row in found["table"]] == ["bird", "cat", "dog", "top label"]


def test_people_see_a_table_and_what_is_off(animals, run):
    words = [*WORDS, "--probability", "p_", "--fail-below", "5%"]
    done = run("calibrate", "animals.csv", *words)
    assert done.code == 1
    assert "top label" in done.out
    assert "Shown to be off: " in " ".join(done.out.split())
    assert "Rejected at the level 0.05" in done.out
    assert max(map(len, done.out.splitlines())) <= 100


def test_files_of_pieces_give_the_same(animals, run):
    words = [*WORDS, "--probability", "p_", "--json"]
    whole = json.loads(run("calibrate", "animals.csv", *words).out)
    classes = ["--classes", "bird,cat,dog"]
    pieces = json.loads(run("calibrate", "a.parquet", "b.parquet", *words, *classes).out)
    assert pieces["pvalue"] == whole["pvalue"]
    assert pieces["table"] == whole["table"]


def test_classes_may_be_named(animals, run):
    odd = animals.rename(columns={"p_bird": "s0", "p_cat": "s1", "p_dog": "s2"})
    odd.to_csv("odd.csv", index=False)
    words = ["--probability", "s0,s1,s2", "--resamples", "99", "--seed", "0", "--json"]
    done = run("calibrate", "odd.csv", "--outcome", "species", *words)
    assert done.code == 2
    assert "named after the classes" in done.err
    by_text = run(
        "calibrate", "odd.csv", "--outcome", "species", "--classes", "bird,cat,dog", *words
    )
    by_number = run("calibrate", "odd.csv", "--outcome", "code", "--classes", "0,1,2", *words)
    assert json.loads(by_text.out)["rank"] == json.loads(by_number.out)["rank"]
    done = run("calibrate", "odd.csv", "--outcome", "code", "--classes", "a,b,c", *words)
    assert (done.code, "numbers" in done.err) == (2, True)


def test_picture_and_page_are_written(animals, run):
    words = [*WORDS, "--probability", "p_", "--plot", "a.png", "--report", "a.html"]
    done = run("calibrate", "animals.csv", *words)
    assert done.code == 0, done.err
    text = Path("a.html").read_text(encoding="utf-8")
    assert "Reliability diagrams" in text
    assert 'id="class-3"' in text
    assert Path("a.png").read_bytes()[:4] == b"\x89PNG"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--by", "site"], "--by must be left out"),
        (["--fail-above", "0.1"], "--fail-above must be left out"),
        (["--positive", "cat"], "--positive goes with"),
        (["--statistic", "shift"], "--statistic must be one of"),
        (["--confidence", "0.9"], "--confidence goes with --belts"),
        (["--degree", "2"], "--degree goes with --belts"),
        (["--belts", "--test-only"], "--belts and --test-only"),
    ],
)
def test_what_goes_with_one_class_is_refused(animals, run, words, message):
    done = run("calibrate", "animals.csv", *WORDS, "--probability", "p_", *words)
    assert done.code == 2
    assert message in done.err


def test_segments_of_classes(animals, run):
    words = [*WORDS, "--probability", "p_", "--segments", "site", "--json"]
    whole = json.loads(run("segments", "animals.csv", *words).out)
    classes = ["--classes", "bird,cat,dog"]
    pieces = json.loads(run("segments", "a.parquet", "b.parquet", *words, *classes).out)
    assert whole["segments"] == pieces["segments"]
    assert {row["segment"] for row in whole["segments"]} >= {"all rows: cat", "site = a: dog"}
    done = run(
        "segments", "animals.csv", *WORDS, "--probability", "p_cat,p_dog", "--segments", "site"
    )
    assert done.code == 2
    assert "add up to 1" in done.err or "one column per class" in done.err


def test_probabilities_of_classes_are_tested_against_inputs(animals, run):
    words = [*WORDS, "--probability", "p_", "--inputs", "site"]
    found = json.loads(run("test", "animals.csv", *words, "--json").out)
    names = ["p_bird", "p_cat", "p_dog"]
    settings = {"n_resamples": 99, "rng": 0}
    result = er.model_test(animals[names], animals[["site"]], animals["species"], **settings)
    assert found["pvalue"] == result.pvalue
    assert (found["command"], found["inputs"]) == ("test", ["site"])
    done = run("test", "animals.csv", *words)
    assert done.code == 0, done.err
    assert "evidence against the probabilities" in " ".join(done.out.split())


def test_levels_that_are_whole_numbers_stay_whole(animals, run):
    words = ["--outcome", "code", "--inputs", "p_cat", "--model", "multinomial"]
    words += ["--levels", "0,1,2", "--resamples", "19", "--confidence", "0.9", "--seed", "0"]
    animals[:20].to_csv("few.csv", index=False)
    found = json.loads(run("fit", "few.csv", *words, "--json").out)
    assert "1:p_cat" in found["estimate"]


def test_a_member_of_a_family_of_classes_is_refused(animals, run):
    words = ["--formula", "species ~ p_cat", "--model", "multinomial", "--parameters", "0,0,0,0"]
    done = run("test", "animals.csv", *words)
    assert done.code == 2
    assert "use exactregion fit" in " ".join(done.err.split())


def test_a_picture_of_the_region_of_classes_is_refused(animals, run):
    words = ["--formula", "species ~ p_cat", "--model", "multinomial", "--picture", "region"]
    done = run("fit", "animals.csv", *words, "--plot", "a.png")
    assert done.code == 2
    assert "--picture region goes with models of two classes" in " ".join(done.err.split())
