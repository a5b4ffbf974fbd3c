"""Several models and groups on one command line; options that are given twice."""

import inspect
import json

import numpy as np
import pandas as pd
import pytest

import exactregion as er
from exactregion.cli import calibrate, examples, fit, test
from exactregion.testing.groups import table_of

FEW = ("--resamples", "39", "--seed", "0")
COMMANDS = {
    "calibrate": calibrate.calibrate,
    "test": test.run_test,
    "fit": fit.fit,
    "show": fit.show,
    "datasets": examples.datasets,
    "paper": examples.paper,
    "demo": examples.demo,
}
SINGLE = [
    (name, f"--{option.replace('_', '-')}")
    for name, command in COMMANDS.items()
    for option, parameter in inspect.signature(command).parameters.items()
    if not isinstance(parameter.default, bool)
    and type(parameter.annotation.__metadata__[0]).__name__ == "OptionInfo"
    and option not in ("inputs", "probability", "by", "at", "ed", "fail_above", "segments")
]


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    rng = np.random.default_rng(0)
    p = rng.uniform(0.02, 0.98, 80)
    frame = pd.DataFrame({"y": (rng.random(80) < p).astype(int), "p": p, "q": p**3})
    frame = frame.assign(site=list("ab") * 40, arm=[1, 2, 3, 4] * 20, x=rng.normal(size=80))
    file = tmp_path_factory.mktemp("several") / "rows.csv"
    frame.to_csv(file, index=False)
    frame.to_parquet(file.with_suffix(".parquet"))
    return file


def test_there_are_options_to_check():
    assert len(SINGLE) > 40


@pytest.mark.parametrize(("command", "option"), SINGLE, ids=" ".join)
def test_no_option_is_dropped_where_it_is_given_twice(run, path, command, option):
    file = {"datasets": ["oring"], "paper": [], "demo": []}.get(command, [path])
    needed = ["--probability", "p"] if command == "calibrate" else []
    value = "1" if option in ("--resamples", "--seed", "--jobs", "--degree") else "a b"
    done = run(command, *file, *needed, option, value, option, value)
    assert done.code == 2
    assert f"{option} must be given once. Got it 2 times instead" in done.err


def test_several_models_and_groups(run, path):
    ask = ("calibrate", path, "--outcome", "y", "--test-only", *FEW)
    repeated = ("--probability", "p", "--probability", "q", "--by", "site", "--by", "arm")
    commas = ("--probability", "p,q", "--by", "site,arm")
    found = json.loads(run(*ask, *repeated, "--json").out)
    assert json.loads(run(*ask, *commas, "--json").out) == found
    frame = pd.read_csv(path)
    settings = {"n_resamples": 39, "rng": 0}
    models = {name: frame[name] for name in ("p", "q")}
    table = er.calibration_test(frame["y"], models, **settings)
    for key in ("pvalue", "pvalue_holm", "rank"):
        assert [one[key] for one in found["models"]] == table[key].tolist()
    groups = er.calibration_test(frame["y"], models, by=frame[["site", "arm"]], **settings)
    assert [one["pvalue_holm"] for one in found["groups"]] == groups["pvalue_holm"].tolist()
    assert found["groups"][0]["model"] == "p"
    assert {one["by"] for one in found["groups"]} == {"site", "arm"}
    text = run(*ask, *commas).out
    assert "site (p)" in text
    assert "arm (q)" in text
    assert max(map(len, text.splitlines())) <= 80


def test_several_models_in_pieces(run, path):
    file = path.with_suffix(".parquet")
    ask = ("calibrate", file, file, "--outcome", "y", "--probability", "p,q", "--by", "site")
    found = json.loads(run(*ask, *FEW, "--json").out)
    assert [one["probability"] for one in found["models"]] == ["p", "q"]
    assert found["n"] == 160
    assert len(found["groups"]) == 4


def test_belts_of_several_models(run, path, tmp_path):
    ask = ("calibrate", path, "--outcome", "y", "--probability", "p,q", "--by", "site")
    picture, page = tmp_path / "new.png", tmp_path / "new.html"
    done = run(*ask, "--resamples", "19", "--plot", picture, "--report", page, "--confidence", "90")
    assert done.code == 0, done.err
    assert "intercept" in done.out
    assert picture.stat().st_size > 10_000
    html = page.read_text()
    for text in ("rows.csv", "Subgroups", "exactregion calibrate", "--by site", "y = 1"):
        assert text in html


def test_pictures_and_pages_of_several_tests(run, path, tmp_path):
    picture, page = tmp_path / "new.png", tmp_path / "new.html"
    ask = ("test", path, "--outcome", "y", "--probability", "p,q", "--plot", picture)
    done = run(*ask, "--report", page, *FEW, "--fail-below", "5%")
    assert done.code == 1
    assert "the smallest adjusted p-value is 0.05" in " ".join(done.out.split())
    assert picture.stat().st_size > 10_000
    assert "Test of 2 models" in page.read_text()


def test_several_candidates_with_a_formula(run, path):
    named = ("test", path, "--probability", "p,q", *FEW, "--json")
    by_formula = json.loads(run(*named, "--formula", "y ~ x").out)
    by_columns = json.loads(run(*named, "--outcome", "y", "--inputs", "x").out)
    assert by_formula["formula"] == "y ~ x"
    assert by_formula["candidates"] == by_columns["candidates"]


def test_predictions_of_other_models_are_no_inputs(run, path):
    ask = ("test", path, "--outcome", "y", "--probability", "p", *FEW, "--json")
    assert json.loads(run(*ask).out)["inputs"] == ["site", "arm", "x"]
    assert json.loads(run(*ask, "--inputs", "q,x").out)["inputs"] == ["q", "x"]


def test_inputs_scaled_to_0_and_1_stay_inputs(run, save):
    rows = "".join(f"{i % 2},0.{i + 3},{i / 5}\n" for i in range(6))
    done = run("test", save("y,p,x\n" + rows), "--outcome", "y", "--probability", "p", "--json")
    assert json.loads(done.out)["inputs"] == ["x"]


def test_rows_in_pieces_are_counted_from_one(run, path, tmp_path):
    file = tmp_path / "bad.parquet"
    pd.DataFrame({"y": [0, 1, 1], "p": [0.5, 20.0, 0.1]}).to_parquet(file)
    done = run("calibrate", file, file, "--outcome", "y", "--probability", "p")
    assert "--probability must be between 0 and 1. Got 20.0 in row 2 instead" in done.err
    assert "divide them by 100" in done.err


def test_a_table_of_results_has_all_rows_adjusted():
    result = er.calibration_test([0, 1, 1], [0.2, 0.7, 0.6], n_resamples=19, rng=0)
    table = table_of({"a": result, "b": result}, "model")
    assert (table["pvalue_holm"] == np.minimum(1, 2 * table["pvalue"])).all()
