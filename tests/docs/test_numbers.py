"""Figures that the README quotes are those of the records in validation/results."""

import json
import re
from pathlib import Path

import pandas as pd
import pytest

ROOT = Path(__file__).parents[2]
HELD_OUT = ["step", "saturating", "two-sided threshold", "asymmetric S"]
README = " ".join((ROOT / "README.md").read_text(encoding="utf-8").split())


def read(part, table):
    text = (ROOT / "validation" / "results" / f"{part}.json").read_text(encoding="utf-8")
    return pd.DataFrame(json.loads(text)[table])


def quoted(pattern):
    """Return the numbers in the place of each # of a sentence of the README."""
    number = r"(\d[\d,]*(?:\.\d+)?)"
    found = re.search(re.escape(pattern).replace(r"\#", number), README)
    assert found, f"the README does not say: {pattern}"
    return [float(text.replace(",", "")) for text in found.groups()]


def percent(*shares):
    return [round(100 * share, 1) for share in shares]


def test_joint_regions():
    rates = read("membership", "ours").set_index(["method", "nominal"])
    ours = rates.loc["exactregion, combined"]
    assert quoted("cover the truth in # % (# %) of all") == percent(*ours.pooled[[0.95, 0.90]])
    assert quoted("The lowest of the # cells has # %") == [
        ours.cells[0.95],
        *percent(ours.lowest[0.95]),
    ]
    assert quoted("none of the # cells is off") == [ours.cells[0.95]]
    assert (ours.outside_simultaneous_limits == 0).all()
    others = [rates.loc[(name, 0.95)] for name in ("Wald", "likelihood ratio")]
    assert quoted(
        "Of Wald's regions # cells are (most cover too much), of the likelihood ratio's #"
    ) == [one.outside_simultaneous_limits for one in others]
    every = read("membership", "coverage")
    wald = every[(every.method == "Wald") & (every.nominal == 0.95)]
    assert (wald.low > 0.95).sum() > 2 * (wald.high < 0.95).sum()  # as the README says
    none = every[(every.n == 10) & (every.method == "Wald")].none
    assert quoted("in # to # % of data sets at n = 10") == [
        round(100 * end) for end in (none.min(), none.max())
    ]


def test_intervals():
    every = read("intervals", "by_kind")
    every = every[(every.level == 0.95) & (every.quantity == "parameters")]
    ours = every[every.method == "exactregion, focused"]
    settings, repetitions = quoted("for single parameters, # settings, # data sets each")
    assert (settings, repetitions) == (len(ours), ours.repetitions.min())
    assert quoted("focused ones cover # to # % in every setting") == [
        round(100 * end) for end in (ours.rate_among_all.min(), ours.rate_among_all.max())
    ]
    assert quoted("median lengths of # to # times Wald's") == [
        round(end, 2) for end in (ours.to_wald.min(), ours.to_wald.max())
    ]
    assert quoted("The exact limits of a single setting reach down to # %") == percent(
        ours.low.min()
    )
    firth = every[every.method == "Firth, profile"].rate.min()
    assert quoted("where they exist they cover # % or more") == [int(100 * firth)]
    profile = every[every.method == "profile likelihood"].rate_among_all.sort_values()
    assert quoted("Profile likelihood covers # to # % in the four hardest settings") == [
        round(100 * end) for end in (profile.iloc[0], profile.iloc[3])
    ]


def test_coverage_of_what_is_read():
    every = read("coverage", "coverage")
    ours = every[every.level == 0.95]
    assert quoted("# results in # settings at the 95 % level") == [
        len(ours),
        len(ours.groupby(["data", "family", "slopes", "outcomes", "n"])),
    ]
    assert quoted("with # to # data sets each, cover the truth in # to # %") == [
        ours.repetitions.min(),
        ours.repetitions.max(),
        *percent(ours.rate.min(), ours.rate.max()),
    ]
    assert "none has exact limits below the level" in README
    assert (ours.high >= 0.95).all()
    assert quoted("in # such cases the ends were looked for") == [ours.checked.sum()]
    assert ours.missed.max() == 0  # as the README says too


def test_proven_and_searched_sets():
    proven = read("proven", "certified")
    sets = proven.groupby(["family", "parameters", "n"]).data_sets.max().sum()
    assert quoted("ED50s of # data sets (six families") == [sets]
    assert proven.family.nunique() == 6
    assert quoted("we tried # million θ: none is a member") == [round(proven.probes.sum() / 1e6, 1)]
    assert proven.with_members_outside.sum() == 0
    joint = proven[~proven.of.str.contains("focused")].groupby("parameters").gap.max()
    assert quoted(
        "by at most # % of their length at each end, with three parameters # %"
    ) == percent(joint[:2].max(), joint[3])
    searched = read("searched", "by result").set_index("of")
    assert quoted("Searched ones of # data sets") == [searched.data_sets.max()]
    assert quoted(
        "outside joint intervals in # data set, outside individual ones in #, outside pointwise "
        "limits in #, outside bands in #"
    ) == [
        round(searched.outside[of] * searched.data_sets[of])
        for of in ("joint interval", "focused interval", "pointwise band", "band")
    ]
    assert quoted("by at most # % of the length.") == [round(100 * searched.farthest.max(), 1)]
    assert (searched.outside <= 0.01).all()


def test_open_ends_of_the_ed50():
    every = read("intervals", "by_kind").query("level == 0.95 and quantity == 'ED50'")
    shares = [
        round(100 * (part.open * part.repetitions).sum() / part.repetitions.sum())
        for part in (
            every[every.method == name] for name in ("exactregion, focused", "profile likelihood")
        )
    ]
    assert quoted(
        "For the ED50 ours are open in # % of data sets, profile likelihood's in # %"
    ) == (shares)
    wald = every[(every.method == "Wald") & (every.outcomes == "rare") & (every.n <= 100)].rate
    assert quoted("and cover # to # % with rare outcomes up to n = 100") == [
        round(100 * end) for end in (wald.min(), wald.max())
    ]


def test_bands():
    every = read("bands", "bands").query("level == 0.95 and method == 'exactregion'")
    total = every.repetitions.sum()
    covered = round(100 * (every.rate * every.repetitions).sum() / total)
    assert quoted("cover the whole curve in # % of # data sets") == [covered, total]
    worst = every.loc[every.rate.idxmin()]
    assert quoted("(in # % of # in the worst setting)") == [
        round(100 * worst.rate),
        worst.repetitions,
    ]
    assert quoted("# to # times as wide as Scheffé's") == [
        round(end, 2) for end in (every.to_scheffe.min(), every.to_scheffe.max())
    ]


def test_calibration_tests():
    kinds = ["asymmetric", "over-confident", "shifted", "under-confident", "wavy"]
    power = read("calibration", "power").query("n == 200 and predictions == 'uniform'")
    power = power[power.kind.isin(kinds)].pivot_table(index="test", columns="kind", values="rate")
    least = power.min(axis=1)
    peers = least.drop([name for name in least.index if name.startswith("exactregion")])
    ours = power.loc["exactregion"]
    said = quoted("the least power of ours is # %, that of any peer # % or less")
    assert said == [round(100 * least["exactregion"]), round(100 * peers.max())]
    others = power.loc[peers.index].drop(columns="wavy").min(axis=1).max()
    assert quoted("Without the wavy kind the best peer has # %") == [round(100 * others)]
    few = read("calibration", "power").query("n == 50 and predictions == 'uniform'")
    few = few[few.kind.isin(kinds) & (few.test == "exactregion")].rate.min()
    assert quoted("at n = 50 the least power of ours is only # %") == [round(100 * few)]
    assert quoted("(Spiegelhalter # % compared with # % for under-confidence") == [
        round(100 * share)
        for share in (power.loc["Spiegelhalter", "under-confident"], ours["under-confident"])
    ]
    assert quoted("Hosmer-Lemeshow # % compared with # % for waves)") == [
        round(100 * share) for share in (power.loc["Hosmer-Lemeshow", "wavy"], ours["wavy"])
    ]


def test_tests_with_inputs():
    power = read("misfit", "power").query("n == 200")
    ours = power[power.test.str.contains("multiscale")].set_index(["inputs", "kind"])
    kinds = ["missing interaction", "missing quadratic", "one bad subgroup"]
    assert quoted("rows of two inputs, # data sets each") == [ours.repetitions.min()]
    found = [ours.rate[2, kind] for kind in kinds]
    assert quoted("and a bad subgroup in # to # %, but a wrong link in # %") == [
        round(100 * share)
        for share in (min(found), max(found), 0.0001 + ours.rate[2, "wrong link"])
    ]
    assert quoted("with five inputs the interaction in # %") == [
        round(100 * ours.rate[5, "missing interaction"])
    ]
    assert ours.rate[5, "wrong link"] == 0
    held_out = read("misfit", "power").query("kind in @HELD_OUT")
    held_out = held_out[held_out.test.str.contains("multiscale")]
    assert held_out.repetitions.nunique() == 1
    assert quoted("(1,000 rows, # data sets each) it finds # to # %") == [
        held_out.repetitions.min(),
        *(round(100 * share) for share in (held_out.rate.min(), held_out.rate.max())),
    ]


def test_a_wrong_family():
    covered = read("wrong_family", "coverage").set_index(["truth", "n", "method"])
    many = covered.loc[("step", 1000, "exactregion, combined")]
    covered = covered.loc[("step", 200, "exactregion, combined")]
    assert quoted("cover the closest line in # % of # data sets") == [
        round(100 * covered.rate),
        covered.repetitions,
    ]
    rejected = read("wrong_family", "rejections").set_index(["truth", "n", "test"])
    assert rejected.rate["step", 200, "empty, exactregion, combined"] == 0
    empty = rejected.rate["step", 1000, "empty, exactregion, combined"]
    assert quoted("With 1,000 rows regions cover that line in # % and are empty in # %") == [
        round(100 * share) for share in (many.rate, empty)
    ]
    said = quoted("`goodness_of_fit` rejects in # of #. With 50 rows it rejects in # of #.")
    tested = [rejected.loc[("step", n, "goodness_of_fit")] for n in (200, 50)]
    assert said == [
        number for row in tested for number in (round(row.rate * row.repetitions), row.repetitions)
    ]


def test_tests_of_coefficients():
    name = "exactregion region.test"
    size = read("hypotheses", "size_by_n").query("test == @name").rate
    assert quoted("reject a true hypothesis in # to # % of data sets") == percent(
        size.min(), size.max()
    )
    power = read("hypotheses", "power").set_index("test")
    worst = power.loc[name].rate.min()
    at = power[(power.n == 20) & (power.inputs == "binary") & (power.outcomes == "rare")]
    assert at.rate[name] == worst
    assert quoted("# % of # data sets (Boschloo's test: # %)") == [
        *percent(worst),
        at.repetitions[name],
        *percent(at.rate["Boschloo"]),
    ]


def test_classes():
    power = read("classes", "power").query("test == 'exactregion'")
    assert quoted("find five kinds of error in # to # % of # to # data sets") == [
        round(100 * power.rate.min()),
        round(100 * power.rate.max()),
        power.repetitions.min(),
        power.repetitions.max(),
    ]
    worst = power.loc[power.rate.idxmin()]
    assert (worst.kind, worst.classes) == ("one bad class", 10)


def test_the_experiment_of_the_paper():
    areas = read("areas", "areas").query("statistics == 'the six' and m == 50")
    area = areas.set_index("region").relative_area.round(2)
    assert area["score"] == area["combined"]
    said = quoted("are # for score and combined, # for I (Gaussian), # for III, # for II")
    names = ["combined", "I_gaussian", "III_gaussian", "II_gaussian"]
    assert said == area[names].tolist()
    excluded = read("consistency", "false_parameter").query("n == 3200").excluded
    assert quoted("a false parameter is excluded in # of # data sets at n = #") == [100, 100, 3200]
    assert (excluded == 1).all()


@pytest.mark.parametrize("kind", ["focused interval", "joint interval"])
def test_seeds(kind):
    shares = read("seeds", "ends").query("resamples == 999 and kind == @kind").mean_share
    low, high = quoted("an end moves by # to # % of its interval's length")
    assert ((100 * shares).round() >= low).all()
    assert ((100 * shares).round() <= high).all()


def test_speed():
    text = (ROOT / "benchmarks" / "results" / "ratios.json").read_text(encoding="utf-8")
    ratios = {row["what"]: row["ratio"] for row in json.loads(text)["ratios"]}
    ten_million = "calibration_test / uniforms alone, n = 10,000,000, m = 100"
    for sentence, what, digits in (
        ("take # times as long as evaluating the model there", "III: region.rank(grid)", 1),
        ("(# times if that is done in small parts)", "III / the model's evaluation in parts", 1),
        ("# times less than the formula as it stands", "literal III / III", 0),
        ("Algorithm II # times as long as III", "II / III", 1),
        ("take # times as long as drawing the uniforms alone", ten_million, 1),
        ("uniforms alone (# by the clock with", f"{ten_million}, n_jobs=2, by the clock", 1),
    ):
        exact = [what] if what in ratios else [name for name in ratios if name.startswith(what)]
        (ratio,) = (ratios[name] for name in exact)
        assert quoted(sentence) == [round(ratio, digits)], what
    text = (ROOT / "benchmarks" / "results" / "rows.json").read_text(encoding="utf-8")
    of_million = {row["of"]: row["in_tests"] for row in json.loads(text) if row["rows"] == 10**6}
    assert quoted("A belt of 10⁶ rows takes # times as long as") == [round(of_million["belt"], 1)]
    assert quoted("intervals of three slopes # times") == [round(of_million["slopes"])]
    (millions,) = quoted("and # million times less than its own formula")
    assert millions == round(ratios["literal II / II"] / 1e6, 1)
