"""Figures that README and docs quote are those of the records in validation/results.

In a sentence that a test looks for, # stands for a number.
"""

import ast
import json
import re
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import exactregion as er

ROOT = Path(__file__).parents[2]
HELD_OUT = ["step", "saturating", "two-sided threshold", "asymmetric S"]
NUMBER = r"(\d[\d,]*(?:\.\d+)?)"


def read(part, table):
    text = (ROOT / "validation" / "results" / f"{part}.json").read_text(encoding="utf-8")
    return pd.DataFrame(json.loads(text)[table])


@cache
def text_of(page):
    return " ".join((ROOT / page).read_text(encoding="utf-8").split())


README, EVIDENCE = text_of("README.md"), text_of("docs/evidence.md")
IN_SHORT = EVIDENCE[EVIDENCE.index("## In short") : EVIDENCE.index("## Coverage of joint regions")]


def expression_of(pattern):
    return re.escape(pattern).replace(r"\#", NUMBER)


def quoted(pattern, page=None):
    """Return the numbers in the place of each # of a sentence of a page, or of what is in short."""
    found = re.search(expression_of(pattern), IN_SHORT if page is None else text_of(page))
    assert found, f"{page} does not say: {pattern}"
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
    every = read("membership", "coverage")
    of_ours = every[(every.method == "exactregion, combined") & (every.nominal == 0.95)]
    assert of_ours.truth.nunique() == 9
    assert quoted("Nine truths, n from # to #, # data sets each") == [
        of_ours.n.min(),
        of_ours.n.max(),
        *of_ours.repetitions.unique(),
    ]
    assert quoted("of all #. The lowest") == [of_ours.repetitions.sum()]
    assert (ours.outside_simultaneous_limits == 0).all()
    others = [rates.loc[(name, 0.95)] for name in ("Wald", "likelihood ratio")]
    assert quoted(
        "Of Wald's regions # cells are (most cover too much), of the likelihood ratio's #"
    ) == [one.outside_simultaneous_limits for one in others]
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
    lengths = every.pivot_table(index=["truth", "n"], columns="method", values="to_wald")
    shortest = lengths.dropna(subset="Firth, profile").idxmin(axis=1)
    assert (shortest == "Firth, profile").all()  # as the README says
    measured = pd.read_parquet(ROOT / "validation" / "results" / "intervals.parquet")
    measured = measured[(measured.method == "exactregion, focused") & (measured.member == 1)]
    measured = measured[measured.lower.notna()].repetition
    assert quoted("lengths are of the first #)") == [measured.max() + 1]
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
    slopes = ours[ours.family.isin(["logistic", "probit"])].slopes
    assert quoted("predictors of # to # slopes") == [slopes.min(), slopes.max()]
    assert quoted("with # to # data sets each, cover the truth in # to # %") == [
        ours.repetitions.min(),
        ours.repetitions.max(),
        *percent(ours.rate.min(), ours.rate.max()),
    ]
    assert "none has exact limits below the level" in IN_SHORT
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
    page = "docs/evidence.md"
    assert quoted("Their ends lie # to # % of the length (medians)", page) == percent(
        searched.gap.min(), searched.gap.max()
    )
    for sentence, other in (
        ("beyond the farthest member found, by # to # % of the length", "exactness"),
        ("Searched ends lie # to # % of the length beyond", "proven_and_searched"),
    ):
        assert quoted(sentence, f"docs/theory/{other}.md") == percent(
            searched.gap.min(), searched.gap.max()
        )
    missed = searched[searched.outside > 0]
    assert quoted("data sets of the # have a member outside", page) == [searched.data_sets.max()]
    assert quoted("moths with immunes, by # to # % of the length", page) == [
        round(100 * end, 1) for end in (missed.farthest.min(), missed.farthest.max())
    ]


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
    check_what_the_evidence_says_of_coefficients(read("hypotheses", "power"), name)


def check_what_the_evidence_says_of_coefficients(power, name):
    page, key = "docs/evidence.md", ["inputs", "df", "n", "outcomes"]
    failed = power.query("inputs == 'binary' and n == 20 and outcomes == 'rare'").set_index("test")
    failed = failed.loc[["Wald", "likelihood ratio", "r*"]]
    assert {*failed.failed} == set(quoted("r* have none for # of #.", page)[:1])
    assert {*(failed.failed + failed.repetitions)} == set(
        quoted("r* have none for # of #.", page)[1:]
    )
    wide = power.pivot_table(index=key, columns="test", values="rate").reset_index()
    few, many = wide[wide.n == 20], wide[wide.n > 20]
    assert (few[name] >= few[["Wald", "Fisher"]].max(axis=1)).all()
    points = round(100 * (many["Wald"] - many[name]).max())
    assert quoted("it is up to # points below Wald's", page) == [points]
    points = percent((wide["Boschloo"] - wide[name]).max())
    assert quoted("two-by-two tables, finds up to # points more", page) == points
    up_to_50 = wide[wide.n <= 50].set_index(key)
    above = up_to_50.gt(up_to_50[name], axis=0)
    assert above["likelihood ratio, bootstrap"].all()
    assert (above["Firth, likelihood ratio"] | up_to_50["Firth, likelihood ratio"].isna()).all()
    assert above[["likelihood ratio", "r*"]].mean().between(0.4, 1, inclusive="left").all()
    size = read("hypotheses", "size_by_n").query("n <= 50").set_index("test").rate
    low, high, least, most = quoted(
        "the size of the likelihood ratio is # to # % there, that of the other three # to # %", page
    )
    assert size["likelihood ratio"].mul(100).round().between(low, high).all()
    others = size[["likelihood ratio, bootstrap", "r*", "Firth, likelihood ratio"]]
    assert others.mul(100).round().between(least, most).all()
    assert quoted("Each setting has # data sets (one slope of two: #)", page) == [
        power.repetitions.max(),
        power[(power.inputs == "two normal") & (power.df == 1)].repetitions.max(),
    ]


def test_tests_of_a_family():
    """The README and the evidence say what le Cessie's test finds more."""
    name, peer = "exactregion goodness_of_fit", "le Cessie-van Houwelingen"
    rows = read("goodness", "power")
    power = rows.pivot_table(index=["kind", "inputs"], columns="test", values="rate")
    assert (power[peer] >= power[name]).all()
    page = "docs/evidence.md"
    assert quoted("in every row**, and up to # points more", page) == [
        round(100 * (power[peer] - power[name]).max())
    ]
    one = power.loc[("wrong link", 1)]
    assert quoted("of one input in # % of # data sets, ours in # %") == [
        round(100 * one[peer]),
        rows.repetitions.max(),
        round(100 * one[name]),
    ]
    size = read("goodness", "size").set_index("test")
    assert size.size_holds[peer].all()
    assert quoted("there it rejects in # % of data sets or less", page) == percent(
        size.rate[name].max()
    )


def test_belts_that_bend():
    belts = read("degrees", "degrees")
    page = "docs/evidence.md"
    assert "Twelve data sets per row" in text_of(page)
    assert (belts.repetitions == 12).all()
    straight = belts[belts.has_form == "1"].groupby("degree").width_beside_1
    ends = straight.agg(["min", "max"]).round(1)
    assert quoted("degree 2 is # to # times as wide and one of degree 3 # to # times", page) == [
        *ends.loc[2],
        *ends.loc[3],
    ]


def test_segments():
    """Numbers of segments, and what power costs."""
    page, size = "docs/evidence.md", read("segments", "size")
    of_columns = size.groupby("columns").segments.max()
    few, many = quoted("about # overlapping segments from 3 columns, or about # from 7", page)
    assert abs(of_columns[3] - few) <= 2
    assert abs(of_columns[7] - many) <= 2
    power = read("segments", "power").groupby("method").segments.max().astype(int)
    assert quoted("testing # segments instead of #", page) == [power.max(), power.min()]


def test_textbook_data():
    page, rows = "docs/evidence.md", read("coefficients", "coefficients")
    ui = rows[rows.term == "ui"].iloc[0]
    assert quoted("(ui of birthwt: # compared with #)", page) == [
        round(ui.profile_pvalue, 3),
        round(ui.pvalue, 3),
    ]
    drug = rows[rows.data == "drugDat"].conditional_pvalue.round(4)
    assert quoted("p-values for drugDat are # and #", page) == drug.tolist()


def test_the_first_picture_of_the_theory():
    flights = er.datasets.oring()
    region = er.ConfidenceRegion("logistic", statistic="score", rng=0)
    pvalue = region.fit(flights["temp"], flights["y"]).pvalue([-0.83, 0.0])
    assert quoted("only # % of all data sets lie as far out", "docs/theory/index.md") == percent(
        pvalue
    )


def test_domain_of_the_papers_experiment():
    """The share of Laplace inputs, at 1 or -1 with scale 1, between -3 and 3."""
    share = 1 - (np.exp(-2) + np.exp(-4)) / 2
    assert quoted("$[-3, 3]$, which contains # % of the inputs", "docs/theory/paper.md") == [
        round(100 * share)
    ]


def test_focused_intervals_by_the_ranks_spent():
    """What the text says about the tables of validation.focused_level, which the page reads."""
    lengths = read("focused_level", "lengths").set_index("number").astype(float).fillna(np.inf)
    grouped = lengths.groupby(level=0)
    median = grouped.quantile(0.5, interpolation="higher")
    unbounded = grouped.agg(lambda column: np.isinf(column).mean())
    assert "of slopes by at most 2 %" in text_of("docs/theory/focused.md")
    linear = median.index.str.startswith("slope") & ~median.index.str.contains("psychometric")
    assert (median["5"] / median["1"])[linear].max() < 1.025
    of_ed50 = ~median.index.str.contains("slope|new|psychometric")
    assert (unbounded["5"] < unbounded["1"])[of_ed50].all()
    rare = median.loc["ED50, rare, 100"]
    alone = rare[["1", "5", "10", "20"]]
    assert alone.min() >= 2.5
    assert alone.min() > rare["joint"] > rare["+ 5"]
    shown = median[~linear & ~median.index.str.contains("30")]
    assert (shown["+ 5"] <= shown["5"] + 0.005).all()
    curved = shown[shown.index.str.contains("psychometric")]
    assert (curved["+ 5"] > curved["joint"]).all()


def test_islands():
    """What the text says about the tables of validation.islands, which the pages read."""
    page = "docs/theory/focused.md"
    table = read("islands", "sizes")
    assert "as means over 10 data sets" in text_of(page)
    assert "means over ten data sets" in text_of("docs/theory/proven_and_searched.md")
    assert (table.data_sets == 10).all()
    low = table.pivot_table(index="family", columns="statistic", values="low")
    assert (low[["likelihood", "ratio"]] == 0).all().all()  # "no islands"
    assert low["guard"].max() > 0  # "some islands remain"
    size = table.pivot_table(index="family", columns="statistic", values="size")
    logistic = size.index.str.startswith("logistic")
    assert (size[logistic][["likelihood", "ratio"]] > 0.9).all().all()  # "at most a tenth larger"
    many = size.index == "Weibull, 11,700"
    assert (size[~logistic & ~many]["ratio"] < 1).all()
    few = size[~logistic & ~many & (size.index != "immunes, 120")]
    assert (few["ratio alone"] <= few["ratio"]).all()
    assert (size[many]["ratio alone"] > size[many]["ratio"]).all()
    assert (size[many]["likelihood"] < size[many]["ratio"]).all()


def test_individual_intervals():
    """Projections are about as long as focused intervals with three parameters, not with two."""
    assert "12 data sets per row" in text_of("docs/theory/proven_and_searched.md")
    table = read("individual", "lengths")
    assert (table.data_sets == 12).all()
    wide = table.set_index(["lapse", "trials", "number", "kind"]).length.astype(float).unstack()
    wide = wide.dropna()  # a median that is infinite is no number in JSON
    ratio = wide["joint"] / wide["focused"]
    assert ratio.loc["free"].between(0.8, 1.1).all()
    assert (ratio.loc["known"] > 1).all()


def test_features_left_out():
    power, page = (
        read("tolerance", "power").query("shape != 'nothing'"),
        "docs/theory/algorithms.md",
    )
    is_region = power.of == "region"
    tests, regions = power[~is_region], power[is_region]
    assert "of nine shapes" in text_of(page)
    assert len(tests) == 9
    found = tests.data_sets * (tests.more - tests.fewer)
    assert quoted("which found # more misfit in # data sets", page) == [
        round(found.sum()),
        tests.data_sets.sum(),
    ]
    changed = "the p-value of a parameter by # on average, where another seed changes it by #, and"
    excluded = "excludes it in # of # data sets (# with a hundredth)"
    fewer, more = ((regions.data_sets * regions[which]).sum() for which in ("fewer", "more"))
    assert quoted(f"{changed} {excluded}", page) == [
        round(regions.difference.mean(), 3),
        round(regions.of_seeds.mean(), 3),
        round(fewer),
        regions.data_sets.sum(),
        round(more),
    ]


def test_belts_of_many_rows():
    text = (ROOT / "benchmarks" / "results" / "rows.json").read_text(encoding="utf-8")
    belts = [round(row["in_tests"]) for row in json.loads(text) if row["of"] == "belt"]
    words = {2: "two", 3: "three", 4: "four", 5: "five", 6: "six"}
    said = f"{words[min(belts)]} to {words[max(belts)]} times as long with 10,000 rows and more"
    assert said in text_of("docs/howto/large_n.md")


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
    said = quoted("are # for score and combined, # for I (Gaussian), # for III, # for II, and")
    names = ["combined", "I_gaussian", "III_gaussian", "II_gaussian"]
    assert said == area[names].tolist()
    others = read("areas", "areas").set_index("title").relative_area.round(2)
    assert quoted("nearest neighbours # with k = √n and # with k = n^(4/5)") == [
        area["I_knn"],
        others["I, nearest neighbours, k = n^(4/5)"],
    ]
    slopes = read("consistency", "slopes").set_index("region").slope
    assert quoted("with k = √n as n^-#.") == [round(-slopes.pop("I_knn"), 2)]
    assert slopes.between(-1.1, -0.9).all()  # "about as 1/n"
    assert quoted("(m = #, # data sets)") == [
        50,
        read("areas", "areas").query("statistics == 'the six'").repetitions.max(),
    ]
    excluded = read("consistency", "false_parameter").query("n == 3200")
    assert quoted("A false parameter is excluded in # of # data sets at n = #") == [
        (excluded.excluded * excluded.repetitions).min(),
        excluded.repetitions.min(),
        3200,
    ]


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
        assert quoted(sentence, "README.md") == [round(ratio, digits)], what
    text = (ROOT / "benchmarks" / "results" / "rows.json").read_text(encoding="utf-8")
    of_million = {row["of"]: row["in_tests"] for row in json.loads(text) if row["rows"] == 10**6}
    belt = quoted("A belt of 10⁶ rows takes # times as long as", "README.md")
    assert belt == [round(of_million["belt"], 1)]
    slopes = quoted("intervals of three slopes # times", "README.md")
    assert slopes == [round(of_million["slopes"])]
    (millions,) = quoted("and # million times less than its own formula", "README.md")
    assert millions == round(ratios["literal II / II"] / 1e6, 1)


DESCRIBED = (
    "regions of 95 % (90 %) cover",
    "sets at n = 10",
    "at the 95 % level",
    "Outside proven intervals",
    "each tried with some 60,000 θ",
    "95 % intervals for single parameters",
    "rare outcomes up to n = 100",
    "At n = 200, five kinds",
    "and at n = 50",
    "With 200 rows of two inputs",
    "at level 5 %",
    "with 20 rows, a binary input",
    "find more with 20 and 50 rows",
    "of 3 and 10 classes",
    "a step with 200 rows, 95 % regions",
    "Areas shrink about as 1/n",
    "With 999 resamples an end",
    "n in {1, 5, 20, 100} within exact binomial bounds (500 repetitions each",
    "`make audit`: 20,000 each",
    "(1,000 rows,",
)
"""Parts of sentences of the evidence in short whose numbers are settings, not results."""


def test_no_number_of_the_evidence_in_short_is_unchecked():
    texts = {
        node.value
        for node in ast.walk(ast.parse(Path(__file__).read_text(encoding="utf-8")))
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and "#" in node.value
    }
    covered = [
        found.span()
        for pattern in (*texts, *DESCRIBED)
        for found in re.finditer(expression_of(pattern), IN_SHORT)
    ]
    free = [
        IN_SHORT[max(0, found.start() - 40) : found.end() + 20]
        for found in re.finditer(NUMBER, IN_SHORT)
        if not any(low <= found.start() < high for low, high in covered)
    ]
    assert free == []


def test_the_readme_quotes_the_evidence_in_short():
    quoted_there = README[README.index("## Evidence") : README.index("## Speed and large data")]
    sentences = re.split(r"(?<=[.:]) |- \*\*", quoted_there[quoted_there.index("- **") :])
    assert len(sentences) > 10
    assert [one for one in sentences if one.strip() not in IN_SHORT] == []
