"""The study runs in parts that resume, and its tables are those of its records."""

import json
import shutil
import sys
import warnings
from types import ModuleType

import numpy as np
import pandas as pd
import pytest
from support.effort import little_effort

import exactregion as er
from validation import study
from validation.parts import PARTS
from validation.rates import differs, limits, rate_table
from validation.study import Case, Part, generator, records_of


@pytest.fixture
def part(tmp_path, monkeypatch):
    """A part that counts how often it is asked."""
    module = ModuleType("validation.parts.counting")
    module.__doc__ = "How often it was asked.\n\nMore words."
    module.CASES = [Case({"n": n}, repetitions=5, full=9, together=2) for n in (10, 20)]
    module.asked = []

    def rows(settings, repetition):
        module.asked.append((settings["n"], repetition))
        return [{"value": generator(settings, repetition).random()}]

    def tables(frame):
        return {"means": frame.groupby("n")["value"].agg(["size", "mean"]).reset_index()}

    module.rows, module.tables = rows, tables
    monkeypatch.setitem(sys.modules, module.__name__, module)
    for name in ("RESULTS", "FIGURES", "SHARDS"):
        monkeypatch.setattr(study, name, tmp_path / name.lower())
    return Part("counting")


def run(part, **size):
    for task in part.tasks(**size):
        if not task.done:
            task.run()


def test_a_study_goes_on_where_it_stopped(part):
    assert part.title == "How often it was asked"
    first, *_ = part.tasks()
    first.run()
    assert part.module.asked == [(10, 0), (10, 1)]
    run(part)
    assert len(part.module.asked) == len(set(part.module.asked)) == 10
    run(part, full=True)
    assert len(set(part.module.asked)) == 18


def test_tables_are_made_of_what_is_done(part, tmp_path):
    assert part.finish() == {}
    run(part, at_most=3)
    table = part.finish()["means"]
    assert table["size"].tolist() == [3, 3]
    written = json.loads((tmp_path / "results" / "counting.json").read_text())
    assert written == {"means": records_of(table)}
    kept = pd.read_parquet(tmp_path / "results" / "counting.parquet")
    assert kept["repetition"].tolist() == [0, 1, 2] * 2


def test_a_study_goes_on_from_the_records_of_the_repository(part, tmp_path):
    run(part, at_most=3)
    before = part.finish()["means"]
    shutil.rmtree(tmp_path / "shards")
    part.module.asked.clear()
    run(part, at_most=4)
    assert part.module.asked == [(10, 2), (10, 3), (20, 2), (20, 3)]
    table = part.finish()["means"]
    assert table["size"].tolist() == [4, 4]
    assert not np.allclose(table["mean"], before["mean"])
    assert part.finish()["means"].equals(table)
    part.forget()
    assert part.finish() == {}


def test_many_records_are_not_kept_beside_the_tables(part, tmp_path, monkeypatch):
    run(part)
    part.finish()
    assert (tmp_path / "results" / "counting.parquet").exists()
    monkeypatch.setattr(study, "MOST_BYTES", 9)
    part.finish()
    assert not (tmp_path / "results" / "counting.parquet").exists()
    assert part.finish()["means"]["size"].tolist() == [5, 5]


def test_random_numbers_belong_to_a_repetition():
    one = generator({"n": 5}, 0).random(3)
    assert np.array_equal(generator({"n": 5}, 0).random(3), one)
    for other in (generator({"n": 5}, 1), generator({"n": 6}, 0)):
        assert not np.array_equal(other.random(3), one)


def test_limits_of_rates_are_exact():
    assert limits(0, 10) == pytest.approx((0.0, 1 - 0.025**0.1))
    assert limits(0, 0) == (0.0, 1.0)
    assert not differs(95, 100, 0.95)
    assert differs(80, 100, 0.95)
    frame = pd.DataFrame({"n": [1, 1, 2], "hit": [True, None, False]})
    assert rate_table(frame, "n", "hit")["rate"].tolist() == [1.0, 0.0]


QUICK = {
    "membership": {"n": 15},
    "coverage": {"data": "linear", "n": 15, "slopes": 1},
    "intervals": {"n": 15, "slopes": 1},
    "bands": {"n": 15, "slopes": 1},
    "psychometric": {"block": 5},
    "calibration": {"n": 50},
    "belts": {"n": 50},
    "degrees": {"n": 200},
    "misfit": {"n": 50, "inputs": 2},
    "goodness": {"n": 30},
    "wrong_family": {"n": 50},
    "hypotheses": {"n": 20, "inputs": "binary"},
    "coefficients": {"data": "6 of 20, 0 of 20"},
    "segments": {"n": 200, "columns": 3},
    "classes": {"classes": 3, "n": 100},
    "defaults": {"n": 50},
    "seeds": {"resamples": 99},
    "fixed_seeds": {"n": 1, "resamples": 49},
    "areas": {},
    "consistency": {"n": 100},
    "references": {},
    "proven": {"parameters": 1, "n": 10},
    "searched": {"family": "logistic", "parameters": 2, "n": 10},
    "costs": {"result": "O-ring, joint intervals"},
}


FEW = {
    # what the levels need
    "RESAMPLES": 19,
    "FEW_RESAMPLES": 19,
    "BOOTSTRAP": 99,
    "PROBES": 600,
    "DEGREES": {200: (1, 2)},
}


@pytest.fixture
def few_resamples(monkeypatch):
    """Let parts that leave resamples to the defaults, which are many, have few of them."""

    def with_few(make):
        def made(*args, **settings):
            if settings.get("n_resamples", 999) == 999:
                settings["n_resamples"] = 19
            return make(*args, **settings)

        return made

    for name in ("ConfidenceRegion", "calibration_belt"):
        monkeypatch.setattr(er, name, with_few(getattr(er, name)))
    with little_effort():  # a part that runs, runs with any effort
        yield


@pytest.mark.usefixtures("firth_by_numpy", "few_resamples")
@pytest.mark.parametrize("name", PARTS)
def test_every_part_runs_one_repetition(name, monkeypatch):
    module = Part(name).module
    for number, few in FEW.items():
        if type(getattr(module, number, None)) is type(few):
            monkeypatch.setattr(module, number, few)
    settings = [case.settings for case in module.CASES]
    assert len({json.dumps(one, sort_keys=True) for one in settings}) == len(settings)
    cases = [one for one in settings if QUICK[name].items() <= one.items()]
    assert cases
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # peers warn of what the study counts
        records = [{**cases[0], "repetition": 0, **row} for row in module.rows(cases[0], 0)]
    assert records
    assert all(isinstance(record, dict) for record in records)
    assert len(pd.DataFrame(records)) == len(records)


@pytest.mark.parametrize("name", PARTS)
def test_tables_in_the_repository_are_those_of_its_records(name):
    """Large records are not in the repository: their tables must be there all the same."""
    written = json.loads((study.RESULTS / f"{name}.json").read_text(encoding="utf8"))
    assert written
    records = study.RESULTS / f"{name}.parquet"
    if records.exists():
        tables = Part(name).module.tables(pd.read_parquet(records))
        for title, table in tables.items():
            again = pd.DataFrame(records_of(table))
            pd.testing.assert_frame_equal(pd.DataFrame(written[title]), again, rtol=1e-4)
