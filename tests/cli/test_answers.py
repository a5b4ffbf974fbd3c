"""The command says what the library computes, to people and to programs."""

import json
import re

import numpy as np
import pandas as pd
import pytest

import exactregion as er
from exactregion.cli.options import Family
from exactregion.data import formula
from exactregion.data.files import finite

FEW = ("--resamples", "39", "--seed", "0")
FEWEST = ("--resamples", "19", "--seed", "0")
FLIGHTS = er.datasets.oring()


def parsed(done):
    """Read the JSON object; NaN and infinities are errors."""

    def refuse(name):
        raise AssertionError(f"{name} in JSON")

    assert done.err == ""
    return json.loads(done.out, parse_constant=refuse)


@pytest.fixture(scope="module")
def sites():
    rng = np.random.default_rng(0)
    p = rng.uniform(0.02, 0.98, 100)
    site = rng.choice(["north", "south"], 100)
    frame = pd.DataFrame({"site": site, "y": (rng.random(100) < p).astype(int), "p": p})
    frame["q"] = np.where(site == "south", p**3, p)
    frame["x"] = rng.normal(size=100)
    return frame


# --- several classes ------------------------------------------------------------------------------


def test_fit_of_ordered_classes(run, save, tmp_path):
    rng = np.random.default_rng(2)
    dose = rng.normal(size=20).round(3)
    latent = dose + rng.logistic(size=20)
    grade = np.array(["low", "mid", "high"])[(latent > -1).astype(int) + (latent > 1)]
    path = save(pd.DataFrame({"dose": dose, "grade": grade}).to_csv(index=False))
    ask = ("fit", path, "--formula", "grade ~ dose", "--model", "proportional-odds")
    ask += FEWEST
    saved = tmp_path / "grades.npz"
    levels = ("--levels", "low,mid,high")
    found = parsed(run(*ask, *levels, "--json", "--at", "dose=0", "--save", saved, "--quiet"))
    region = er.ConfidenceRegion("proportional-odds", n_resamples=19, rng=0)
    region = region.fit(dose, grade, levels=["low", "mid", "high"])
    assert list(found["estimate"].values()) == region.estimate_.tolist()
    assert list(found["estimate"]) == ["low|mid", "width of mid", "dose"]
    assert found["classes"] == {name: int((grade == name).sum()) for name in sorted(set(grade))}
    assert [one["class"] for one in found["band"]] == ["low", "mid", "high"]
    assert all(one["lower"] < one["estimate"] < one["upper"] for one in found["band"])
    text = run("show", saved).out
    assert "Which proportional-odds curves fit?" in text
    assert "width of mid" in text
    assert er.load(saved).estimate_.tolist() == list(found["estimate"].values())
    for more, message in (
        ((), "--levels must say the order of the classes"),
        ((*levels, "--ed", "50"), "--ed goes with models of two classes only"),
        ((*levels, "--report", tmp_path / "page.html"), "--report goes with models of two"),
        ((*levels, "--positive", "low"), "--positive goes with two classes"),
    ):
        done = run(*ask, *more)
        assert done.code == 2
        assert message in " ".join(done.err.split())
    labels = ("fit", path, "--outcome", "grade", "--inputs", "dose", *levels)
    assert "--levels goes with --model multinomial or" in run(*labels).err


# --- test ---------------------------------------------------------------------------------------


def test_test_of_one_column(run, save, sites):
    path = save(sites.to_csv(index=False))
    ask = ("test", path, "--outcome", "y", "--probability", "q", *FEW)
    expected = er.model_test(sites["q"], sites[["site", "x"]], sites["y"], n_resamples=39, rng=0)
    found = parsed(run(*ask, "--json"))
    (candidate,) = found["candidates"]
    own = ["kind", "pvalue", "rank", "z", "misfit", "parts", "size"]
    described = {key: expected.to_dict()[key] for key in own}
    assert candidate == {"name": "q", "pvalue_holm": expected.pvalue, **described}
    assert set(found) == {
        *("version", "command", "file", "n", "dropped", "successes", "trials", "event", "inputs"),
        *("formula", "statistic", "resamples", "seed", "candidates", "fail_below", "rejected"),
    }
    assert (found["version"], found["seed"], found["n"]) == (er.__version__, 0, 100)
    assert found["inputs"] == ["site", "x"]
    text = run(*ask).out
    assert f"{expected.pvalue:.4g} (rank {expected.rank} of 40)" in text
    assert "site, x (all other columns)" in text
    assert "p (look like predictions; --inputs takes them)" in text


def test_test_of_several_columns(run, save, sites):
    path = save(sites.to_csv(index=False))
    ask = ("test", path, "--outcome", "y", "--probability", "p", "--probability", "q")
    ask = (*ask, "--inputs", "p, x", "--statistic", "embedding", *FEW)
    table = er.compare(
        {"p": sites["p"], "q": sites["q"]},
        *(sites[["p", "x"]], sites["y"]),
        statistic="embedding",
        n_resamples=39,
        rng=0,
    )
    found = parsed(run(*ask, "--json"))
    assert [one["pvalue"] for one in found["candidates"]] == table["pvalue"].tolist()
    assert found["statistic"] == "embedding"
    lines = run(*ask).out
    pvalue, adjusted = table.loc["q", ["pvalue", "pvalue_holm"]]
    assert re.search(rf"^ q +{pvalue:.4g} +{adjusted:.4g}$", lines, re.M)


def test_test_of_a_published_curve(run, data):
    theta = (15.0429, -0.23216)
    region = er.ConfidenceRegion("logistic", n_resamples=39, rng=0)
    expected = region.fit(FLIGHTS[["temp"]], FLIGHTS["y"]).evaluate(theta)
    path = data / "oring.csv"
    for ask in (
        ("--formula", "y ~ temp", "--parameters", "15.0429,-0.23216"),
        ("--outcome", "y", "--inputs", "temp", "--parameters", "temp=-0.23216, intercept=15.0429"),
    ):
        found = parsed(run("test", path, *ask, *FEW, "--json"))
        (one,) = found["candidates"]
        assert (one["pvalue"], one["rank"]) == (expected.pvalue, expected.rank)
        assert one["z"] == expected.Z[expected.seat]


def test_few_resamples_are_enough_for_a_member(run, data):
    ask = ("--formula", "y ~ temp", "--parameters", "15,-0.2", "--resamples", "9")
    assert run("test", data / "oring.csv", *ask).code == 0


def test_test_by_formula_looks_at_the_columns_of_its_right_side(run, save, sites):
    path = save(sites.to_csv(index=False))
    by_formula = run("test", path, "--formula", "y ~ x", "--probability", "q", *FEW, "--json")
    ask = ("--outcome", "y", "--inputs", "x", "--probability", "q", *FEW, "--json")
    by_column = run("test", path, *ask)
    assert parsed(by_formula)["candidates"] == parsed(by_column)["candidates"]


def test_fail_below(run, save, sites):
    path = save(sites.assign(q=sites["p"] ** 3).to_csv(index=False))
    ask = ("test", path, "--outcome", "y", "--inputs", "p", *FEW)
    assert run(*ask, "--probability", "q", "--fail-below", "0.025").code == 1  # at or below
    assert run(*ask, "--probability", "q").code == 0
    done = run(*ask, "--probability", "p", "--fail-below", "2.5%")
    assert done.code == 0
    assert "Not rejected at the level 0.025 of --fail-below: p = " in " ".join(done.out.split())
    both = (*ask, "--probability", "p", "--probability", "q", "--json")
    assert "cannot be reached" in run(*both, "--fail-below", "0.025").err  # adjusted: 2/40 at least
    done = run(*both, "--fail-below", "0.05")
    assert done.code == 1
    assert parsed(done)["rejected"] is True


def test_parquet(run, tmp_path, sites):
    sites.to_parquet(tmp_path / "sites.parquet")
    sites.to_csv(tmp_path / "sites.csv", index=False)
    ask = ("--outcome", "y", "--probability", "q", *FEW, "--json")
    first, second = (
        parsed(run("test", tmp_path / name, *ask)) for name in ("sites.parquet", "sites.csv")
    )
    assert first["candidates"] == second["candidates"]


# --- calibrate ----------------------------------------------------------------------------------


def test_calibrate_with_a_belt_and_groups(run, save, sites):
    sites = sites[:30]
    path = save(sites.to_csv(index=False))
    ask = ("calibrate", path, "--outcome", "y", "--probability", "q", "--by", "site", *FEW)
    guards = ("--fail-above", "0.9", "--fail-above", "mean-upper=0.001")
    done = run(*ask, "--json", "--grid", *guards)
    assert done.code == 1  # by the second guard
    found = json.loads(done.out)
    belt = er.calibration_belt(sites["y"], sites["q"], n_resamples=39, rng=0)
    groups = er.calibration_test(sites["y"], sites["q"], by=sites["site"], n_resamples=39, rng=0)
    assert (found["pvalue"], found["rank"]) == (belt.pvalue, belt.rank)
    assert found["coverage"] == belt.coverage
    assert found["belt"]["lower"] == belt.lower.tolist()
    assert found["belt"]["largest_deviation"] == belt.largest_deviation.to_dict()
    limits = (belt.largest_deviation.lower, belt.mean_deviation.upper)
    assert [one["value"] for one in found["fail_above"]] == list(limits)
    assert [one["exceeded"] for one in found["fail_above"]] == [False, True]
    assert found["misfit"] == belt.test.misfit.to_dict()
    assert [one["misfit"] for one in found["groups"]] == groups["misfit"].tolist()
    slope = found["belt"]["intervals"][1]
    assert slope["parameter"] == "slope"
    assert slope["upper"] == belt.intervals.loc["slope", "upper"]
    assert [one["side"] for one in found["belt"]["departures"]] == [
        departure.side for departure in belt.departures
    ]
    assert [one["pvalue_holm"] for one in found["groups"]] == groups["pvalue_holm"].tolist()
    assert [one["group"] for one in found["groups"]] == ["north", "south"]
    assert {"probability", "by", "statistic", "seed", "version", "n"} <= set(found)


def test_calibrate_for_people(run, save, sites):
    path = save(sites.to_csv(index=False))
    ask = ("calibrate", path, "--outcome", "y", "--probability", "q", "--by", "site", "--test-only")
    done = run(*ask, *FEW, "--fail-below", "0.05")
    assert done.code == 1  # by the group south
    assert re.search(r"^ south +\d+ +0\.\d+ +0\.\d+ +0\.025 +0\.05$", done.out, re.M)
    words = " ".join(done.out.split())
    assert "the smallest adjusted p-value of a group is 0.05" in words
    assert "Kinds of misfit: south: " in words


def test_a_rejection_at_any_level_names_the_misfit(run, save):
    path = save("y,p\n" + "1,0.5\n0,0.5\n" * 8 + "1,0.5\n" * 3)
    ask = ("calibrate", path, "--outcome", "y", "--probability", "p", "--test-only", *FEW)
    done = run(*ask, "--fail-below", "0.99")
    assert done.code == 1
    assert "Kind of misfit: " in done.out.replace("\n", " ")
    assert "Kind of misfit" not in run(*ask).out


def test_calibrate_says_how_far_off_at_most(run, save, sites):
    path = save(sites[:30].to_csv(index=False))
    ask = ("calibrate", path, "--outcome", "y", "--probability", "q", *FEW)
    done = run(*ask, "--fail-above", "0.95")
    assert done.code == 0
    words = " ".join(done.out.split())
    assert "confidence they are calibrated to within ±0." in words
    assert re.search(r"largest deviation +0\.\d+ +\[0(\.\d+)?, 0\.\d+\] +0", words)
    assert "Not above 0.95 of --fail-above: the lower limit of the largest deviation is" in words
    assert max(map(len, done.out.split("\n"))) <= 80


def test_calibrate_with_a_belt_that_bends(run, save, sites):
    sites = sites[:30]
    path = save(sites.to_csv(index=False))
    ask = ("calibrate", path, "--outcome", "y", "--probability", "q", *FEWEST, "--degree", "2")
    belt = er.calibration_belt(sites["y"], sites["q"], degree=2, n_resamples=19, rng=0)
    done = run(*ask, "--json")
    assert done.code == 0, done.err
    found = json.loads(done.out)["belt"]
    assert found["degree"] == 2
    assert [one["parameter"] for one in found["intervals"]] == ["intercept", "slope", "square"]
    assert found["largest_deviation"] == belt.largest_deviation.to_dict()
    assert found["mean_deviation"] == belt.mean_deviation.to_dict()
    words = run(*ask).out
    assert " quadratic recalibration " in words
    assert max(map(len, words.split("\n"))) <= 80


def test_test_only_is_the_same_test(run, data):
    ask = ("calibrate", data / "pima_predictions.csv", "--outcome", "y", "--probability", "p")
    found = parsed(run(*ask, *FEW, "--test-only", "--json"))
    frame = er.datasets.pima_predictions()
    expected = er.calibration_test(frame["y"], frame["p"], n_resamples=39, rng=0)
    assert (found["pvalue"], found["z"]) == (expected.pvalue, expected.statistic)
    assert (found["belt"], found["coverage"]) == (None, None)


def test_calibrate_counts(run, save):
    done = run(
        *("calibrate", save("k,n,p\n3,10,0.3\n9,10,0.9\n5,10,0.5\n")),
        *("--outcome", "k", "--trials", "n", "--probability", "p", "--test-only", *FEW),
    )
    assert done.code == 0, done.err
    assert "k in 17 of 30" in done.out


# --- fit ----------------------------------------------------------------------------------------


def test_fit_gives_what_the_region_gives(run, data):
    ask = ("fit", data / "oring.csv", "--outcome", "y", "--inputs", "temp", *FEW)
    ask = (*ask, "--ed", "50", "--at", "temp=31,65", "--at", "temp=81", "--joint")
    region = er.ConfidenceRegion("logistic", n_resamples=39, rng=0)
    region.fit(FLIGHTS[["temp"]], FLIGHTS["y"])
    done = run(*ask, "--json")
    found = parsed(done)
    focused, joint = region.intervals(), region.intervals(joint=True)
    for name, table in (("intervals", focused), ("joint_intervals", joint)):
        for row in found[name]:
            for key in ("estimate", "lower", "upper", "status"):
                assert row[key] == table.loc[row["parameter"], key]
    assert [test["pvalue"] for test in found["tests"]] == [
        region.test(f"{name} = 0").pvalue for name in region.parameter_names_
    ]
    (half,) = found["thresholds"]
    even = region.threshold("temp")
    for end in ("lower", "upper"):
        value = getattr(even, end)
        # infinite ends are null in JSON
        assert half[end] == (pytest.approx(value, rel=1e-9) if np.isfinite(value) else None)
    assert half["status"] == even.status
    table = region.predict(pd.DataFrame({"temp": [31.0, 65.0, 81.0]}))
    for key, column in (("upper", "simultaneous_upper"), ("individual_lower", "lower")):
        assert [one[key] for one in found["band"]] == table[column].tolist()
    assert [one["extrapolates"] for one in found["band"]] == [True, False, False]
    assert [one["at"] for one in found["band"]] == [{"temp": 31}, {"temp": 65}, {"temp": 81}]
    assert found["coverage"] == region.coverage_
    assert set(found) == {
        *("version", "command", "file", "n", "dropped", "successes", "trials", "event", "inputs"),
        *("formula", "model", "confidence_level", "statistic", "resamples", "seed", "coverage"),
        *("status", "pvalue", "estimate", "intervals", "joint_intervals", "tests", "band"),
        *("thresholds", "estimate_kind", "fail_below", "rejected"),
    }


def test_fit_with_words_is_the_formula(run, data):
    path = data / "budworm.csv"
    ask = ("--ed", "ldose=50,sex=male", "--at", "sex=male,ldose=2", *FEWEST, "--json")
    by_column = parsed(
        run("fit", path, "--outcome", "ndead", "--trials", "ntotal", "--inputs", "sex,ldose", *ask)
    )
    written = "ndead + I(ntotal - ndead) ~ sex + ldose"
    by_formula = parsed(run("fit", path, "--formula", written, *ask))
    for key in ("successes", "trials", "estimate", "intervals", "thresholds", "band"):
        assert by_column[key] == by_formula[key]
    theta = list(by_column["estimate"].values())
    (half,) = by_column["thresholds"]
    assert half["estimate"] == pytest.approx(-(theta[0] + theta[1]) / theta[2])
    assert half["at"] == {"sex": "male"}


def test_levels_and_comparisons(run, data):
    ask = ("--outcome", "ndead", "--trials", "ntotal", "--inputs", "sex,ldose", *FEWEST)
    ask = ("fit", data / "budworm.csv", *ask, "--relative-to", "sex=male")
    found = parsed(run(*ask, "--ed", "50,90", "--json"))["thresholds"]
    assert [one["at"]["sex"] for one in found] == [
        "female",
        "female",
        "male",
        "male",
        *["female"] * 2,
    ]
    assert [one["probability"] for one in found] == [0.5, 0.9] * 3
    assert [one["compare"] for one in found] == [None] * 4 + ["difference"] * 2
    assert [one["extrapolates"] for one in found[:2]] == [False, True]
    text = run(*ask, "--ed", "ldose=90,sex=female").out
    assert "ldose at P = 0.9, female - male" in text
    assert "outside the data" in text


def test_the_threshold_and_width_of_an_observer(run, save):
    path = save(er.datasets.two_afc()[::3].to_csv(index=False))
    ask = ("--outcome", "n_correct", "--trials", "n_total", "--inputs", "level")
    ask = (*ask, "--model", "psychometric", "--guess", "0.5", "--lapse", "0.02", *FEWEST)
    found = parsed(run("fit", path, *ask, "--ed", "half", "--json"))
    assert found["model"] == "psychometric"
    assert [row["parameter"] for row in found["intervals"]] == ["intercept", "level"]
    half, width = found["thresholds"]
    assert half["name"] == "level at 50% of the rise"
    assert width["name"] == "level, width of 5% to 95% of the rise"


def test_a_formula_is_parsed_once(run, data, monkeypatch):
    parsed_formulas = []
    parse = formula.parse_formula

    def count(text, columns):
        parsed_formulas.append(text)
        return parse(text, columns)

    for module in ("data.formula", "data.design", "cli.columns"):
        monkeypatch.setattr(f"exactregion.{module}.parse_formula", count)
    ask = ("--formula", "y ~ temp + pressure", "--ed", "temp=50", "--resamples", "19")
    assert run("fit", data / "oring.csv", *ask).code == 0
    assert parsed_formulas == ["y ~ temp + pressure"]


def test_what_a_formula_computes_may_have_a_positive_class(run, data):
    ask = ("--parameters", "15,-0.2", *FEW, "--json")
    path = data / "oring.csv"
    plain = parsed(run("test", path, "--formula", "y ~ temp", *ask))
    made = parsed(run("test", path, "--formula", "I(2 * y) ~ temp", *ask, "--positive", "2"))
    assert made["candidates"] == plain["candidates"]


def test_other_inputs_are_at_their_median_and_said(run, data):
    ask = ("--outcome", "y", "--inputs", "temp,pressure", "--at", "temp=31", "--ed", "temp=50")
    done = run("fit", data / "oring.csv", *ask, "--resamples", "19")
    text = " ".join(done.out.split())
    assert "Inputs that are not named have their median" in text
    assert "Inputs that are not named are at their median" in text
    assert text.count("pressure = 200") == 2


def test_places_by_names_with_commas_and_equals_signs(run, save):
    rows = "".join(f"{row % 2},{row},{row % 5}\n" for row in range(20))
    path = save('y,"age, years",x=1\n' + rows)
    ask = ("fit", path, "--outcome", "y", "--inputs", "age, years", "--inputs", "x=1", *FEW)
    found = parsed(run(*ask, "--at", "x=1 = 2, age, years=3,4", "--json"))
    assert [one["at"] for one in found["band"]] == [{"age, years": age, "x=1": 2} for age in (3, 4)]


def test_mixtures(run, data):
    ask = ("fit", data / "oring.csv", "--outcome", "y", "--inputs", "temp", "--model", "gaussian")
    done = run(*ask, "--locations", "55,75", "--resamples", "19", "--confidence", "0.8", "--json")
    found = parsed(done)
    assert found["model"] == "gaussian"
    assert [row["parameter"] for row in found["intervals"]] == ["p", "scale"]


def test_options_make_families():
    assert Family("probit").to_model() == er.models.Probit()
    assert Family("psychometric").to_model() == er.models.Psychometric(guess=0.5, lapse="free")
    assert Family("psychometric", guess="free", lapse="0.01").to_model() == er.models.Psychometric(
        guess="free", lapse=0.01
    )
    assert Family("laplace", locations="2,-1").to_model() == er.models.LaplaceMixture((2.0, -1.0))


def test_separated_data_have_open_intervals(run, save):
    path = save("y,x\n" + "".join(f"{int(x > 5)},{x}\n" for x in range(12)))
    ask = ("fit", path, "--outcome", "y", "--inputs", "x", "--resamples", "39")
    found = parsed(run(*ask, "--json"))
    slope = found["intervals"][1]
    assert (slope["upper"], slope["status"]) == (None, "unbounded above")
    assert "∞)" in run(*ask).out


def test_an_empty_region_rejects_the_family(run, save):
    path = save("k,n,x\n" + "".join(f"{60 * (3 <= x <= 8)},60,{x}\n" for x in range(12)))
    ask = ("fit", path, "--outcome", "k", "--trials", "n", "--inputs", "x", "--resamples", "39")
    done = run(*ask, "--at", "x=3", "--fail-below", "0.05")
    assert done.code == 1
    assert "No member of the family fits" in done.out
    assert re.search(r"^ x = 3 +\S+ +empty +empty$", done.out, re.M)


def test_what_json_cannot_hold_becomes_null():
    content = {"a": np.float64("nan"), "b": [np.inf, 1.0, np.int64(2)], "c": np.array([-np.inf])}
    assert finite(content) == {"a": None, "b": [None, 1.0, 2], "c": [None]}


def test_confidence_has_three_spellings(run, data):
    ask = ("fit", data / "oring.csv", "--outcome", "y", "--inputs", "temp", "--resamples", "19")
    outputs = {run(*ask, "--confidence", level).out for level in ("0.8", "80", "80%")}
    assert len(outputs) == 1
    assert "80%" in outputs.pop()


def test_same_file_same_answer(run, data):
    ask = ("fit", data / "oring.csv", "--outcome", "y", "--inputs", "temp", "--resamples", "19")
    first = run(*ask).out
    made = re.search(r"seed (\d+)", first)
    assert made is not None
    assert run(*ask, "--seed", made.group(1)).out == first
    assert run(*ask, "--seed", "1").out != first
    assert run(*ask, "--jobs", "2").out == first
