"""Many segments at once: numbers by hand, any source, and what is refused."""

import itertools

import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy.stats import binom, norm, poisson

import exactregion as er
from exactregion.data.segment_columns import ColumnLook
from exactregion.engine.segments import saddlepoint
from exactregion.testing.segment_result import share_limits


def made(n, seed=0):
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "sex": rng.choice(["f", "m"], n),
            "age": rng.integers(20, 80, n) * 1.0,
            "smoker": rng.random(n) < 0.3,
            "grade": pd.Categorical(rng.choice(["low", "high"], n), ["low", "high", "none"]),
        }
    )
    frame.loc[rng.random(n) < 0.1, "age"] = np.nan
    p = rng.beta(1, 3, n)
    y = (rng.random(n) < p).astype(int)
    return frame, p, y


FRAME, P, Y = made(600)


def run(segments=FRAME, p=P, y=Y, **options):
    return er.segment_test(y, p, segments, **{"n_resamples": 39, "rng": 0, **options})


def same(a, b):
    pd.testing.assert_frame_equal(a.table, b.table, check_exact=True)
    assert (a.pvalue, a.rank, a.statistic) == (b.pvalue, b.rank, b.statistic)
    np.testing.assert_array_equal(a.null_distribution, b.null_distribution)
    return True


def test_sizes_shares_and_names_are_those_of_the_rows():
    result = run(min_rows=15, depth=3)
    cut = result.edges["age"]
    ages = [FRAME["age"] <= cut[0], (FRAME["age"] > cut[0]) & (FRAME["age"] <= cut[1])]
    ages += [(FRAME["age"] > cut[1]) & (FRAME["age"] <= cut[2]), FRAME["age"] > cut[2]]
    low, mid, high = (f"{edge:g}" for edge in cut)
    names = [f"age ≤ {low}", f"age in ({low}, {mid}]", f"age in ({mid}, {high}]", f"age > {high}"]
    masks = {
        "sex": {f"sex = {v}": FRAME["sex"] == v for v in "fm"},
        "age": dict(zip(names, ages, strict=True)) | {"age is missing": FRAME["age"].isna()},
        "smoker": {f"smoker = {v}": FRAME["smoker"] == v for v in (True, False)},
        "grade": {f"grade = {v}": FRAME["grade"] == v for v in ("low", "high")},
    }
    expected = {"all rows": np.ones(600, dtype=bool)}
    for size in (1, 2, 3):
        for columns in itertools.combinations(masks, size):
            for values in itertools.product(*(masks[column] for column in columns)):
                inside = [masks[c][v] for c, v in zip(columns, values, strict=True)]
                expected[" and ".join(values)] = np.logical_and.reduce(inside)
    kept = {name: mask for name, mask in expected.items() if mask.sum() >= 15}
    assert set(result.table.index) == set(kept)
    assert result.left_out == sum(0 < mask.sum() < 15 for mask in expected.values())
    for name, mask in kept.items():
        row = result.table.loc[name]
        assert row["n"] == mask.sum()
        assert row["observed"] == Y[mask].mean()
        assert row["expected"] == pytest.approx(P[mask].mean(), rel=1e-9)
        w = P[mask] * (1 - P[mask])
        Z = saddlepoint(Y[mask].sum() - P[mask].sum(), w.sum(), (w * (1 - 2 * P[mask])).sum())
        assert row["statistic"] == pytest.approx(float(Z), rel=1e-6)
    assert result.table["statistic"].is_monotonic_decreasing
    assert result.table["pvalue_adjusted"].is_monotonic_increasing
    assert (result.table["pvalue"] <= result.table["pvalue_adjusted"]).all()
    assert result.pvalue == result.table["pvalue_adjusted"].min()


@pytest.mark.parametrize(("mean", "k"), [(0.01, 1), (0.5, 4), (2, 8), (5, 0), (20, 40), (20, 5)])
def test_the_statistic_is_the_deviate_of_a_tail(mean, k):
    tail = poisson.sf(k - 1, mean) if k > mean else poisson.cdf(k, mean)
    assert saddlepoint(k - mean, mean, mean) == pytest.approx(norm.isf(tail), abs=0.04)
    p = mean / 400
    tail = binom.sf(k - 1, 400, p) if k > mean else binom.cdf(k, 400, p)
    V = mean * (1 - p)
    found = saddlepoint(k - mean, V, V * (1 - 2 * p))
    assert found == pytest.approx(norm.isf(tail), abs=0.04)


def test_the_statistic_grows_with_the_distance_and_is_never_undefined():
    for V, third in ((0.0, 0.0), (1e-12, 1e-12), (0.5, 0.4), (20.0, -15.0), (100.0, 0.0)):
        for S in (np.linspace(0, 50, 999), np.linspace(0, -50, 999)):
            Z = saddlepoint(S, np.array([V]), np.array([third]))
            assert np.isfinite(Z).all()
            assert (np.diff(Z) >= 0).all()


def test_limits_of_shares_hold_for_unequal_probabilities():
    # exactly: the distribution of a sum of unequal Bernoulli variables, by convolution
    rng = np.random.default_rng(0)
    for tail in (0.025, 0.25):
        for n in (1, 2, 5, 12):
            low, high = share_limits(np.arange(n + 1), np.full(n + 1, n), tail)
            for _ in range(200):
                pi = rng.beta(0.1, 0.1 * rng.integers(1, 30), n)
                law = np.ones(1)
                for one in pi:
                    law = np.convolve(law, [1 - one, one])
                assert law[low > pi.mean() + 1e-12].sum() <= tail + 1e-9
                assert law[high < pi.mean() - 1e-12].sum() <= tail + 1e-9


def test_the_envelope_is_where_the_largest_statistic_is_not_exceeded():
    result = run(n_resamples=99, confidence_level=0.9)
    table = result.table
    critical = np.sort(result.null_distribution)[89]
    inside = (table["envelope_low"] <= table["difference"]) & (
        table["difference"] <= table["envelope_high"]
    )
    assert (inside == (table["statistic"] <= critical)).all()


def test_rows_may_come_in_any_order():
    order = np.random.default_rng(1).permutation(600)
    p = np.round(P, 1)  # with ties
    assert same(run(p=p), run(FRAME.iloc[order], p[order], Y[order]))


def test_frames_of_any_library_and_columns_by_name():
    frame = FRAME.assign(grade=FRAME["grade"].astype(str))
    assert same(run(frame), run(pl.from_pandas(frame)))
    table = frame.assign(p=P, y=Y)
    assert same(run(frame), run(list(frame.columns), "p", "y", data=table))
    assert same(run(frame[["sex"]]), run(frame["sex"]))
    assert run(frame["sex"].to_list()).table.index[0].startswith("segment = ")


def test_own_segments_may_overlap():
    masks = {"men": FRAME["sex"] == "m", "smokers": FRAME["smoker"], "nobody": np.zeros(600)}
    result = run(masks)
    assert set(result.table.index) == {"all rows", "men", "smokers"}
    assert (result.left_out, result.columns, result.depth) == (1, (), 1)
    assert result.table.loc["men", "n"] == (FRAME["sex"] == "m").sum()
    matrix = np.column_stack(list(masks.values())).astype(int)
    renamed = {"men": "segment 0", "smokers": "segment 1"}
    named = run(matrix).table
    pd.testing.assert_frame_equal(result.table.rename(index=renamed), named, check_index_type=False)
    many = {f"s{i}": np.random.default_rng(i).random(600) < 0.3 for i in range(130)}
    found = run(many).table
    assert all(found.loc[name, "n"] == mask.sum() for name, mask in many.items())


def test_counts_are_so_many_labels():
    frame, p = pd.DataFrame({"site": list("aabbcc")}), [0.2, 0.5, 0.1, 0.9, 0.5, 0.5]
    counts = np.array([[3, 17], [11, 9], [0, 20], [18, 2], [10, 10], [40, 0]])
    result = run(frame, p, counts, n_resamples=199)
    assert result.table.index[0] == "site = c"
    assert result.table.loc["site = c", "n"] == 60
    assert result.named().index.tolist()[0] == "site = c"


def test_a_contradicted_certainty_is_named_with_the_least_p_value():
    p = np.where(FRAME["sex"] == "m", P, 0.0)
    y = np.where(FRAME["sex"] == "m", Y, 0)
    y[np.flatnonzero(FRAME["sex"] == "f")[0]] = 1
    result = run(p=p, y=y)
    assert result.pvalue == 1 / 40
    assert np.isinf(result.table.loc["sex = f", "statistic"])
    assert np.isfinite(result.table.loc["sex = m", "statistic"])
    assert result.table.loc["sex = f", "pvalue_adjusted"] == 1 / 40


def test_recalibration_sees_predictions_that_are_too_extreme_in_a_segment():
    rng = np.random.default_rng(2)
    p = rng.uniform(0.02, 0.98, 2000)
    site = rng.choice(list("abcd"), 2000)
    true = np.where(site == "b", 0.5 + 0.3 * (p - 0.5), p)
    y = rng.random(2000) < true
    frame = pd.DataFrame({"site": site})
    assert run(frame, p, y).pvalue > 0.05
    assert run(frame, p, y, statistic="recalibration").named().index[0] == "site = b"


def test_combinations_with_the_rows_of_a_simpler_one_are_left_out():
    frame = pd.DataFrame({"a": FRAME["sex"], "b": FRAME["sex"].str.upper(), "c": "x"})
    assert set(run(frame).table.index) == {"all rows", "a = f", "a = m", "b = F", "b = M"}


def test_numbers_are_cut_at_values_of_the_data():
    frame = pd.DataFrame({"x": np.r_[np.zeros(500), np.arange(1, 101)], "k": np.arange(600) % 5})
    result = run(frame, depth=1)
    assert result.edges["x"].tolist() == [0.0]
    assert {"x ≤ 0", "x > 0", "k = 4"} < set(result.table.index)
    result = run(frame, depth=1, bins={"x": [10.5, 50]})
    assert {"x ≤ 10.5", "x in (10.5, 50]", "x > 50"} < set(result.table.index)
    assert run(frame[["k"]], bins={"k": 3}).table.index.str.startswith("k = ").sum() == 5
    mostly = pd.DataFrame({"x": np.r_[np.full(500, 100.0), np.arange(100)]})
    assert run(mostly).edges["x"].tolist() == [99.0]


# --- rows that are not in memory ---


@pytest.fixture(scope="module")
def large(tmp_path_factory):
    """More rows than one chunk, in files that are cut elsewhere."""
    frame, p, y = made(70_000, seed=1)
    frame = frame.assign(grade=frame["grade"].astype(str), p=p, y=y)
    frame["x"] = np.random.default_rng(2).normal(size=70_000)
    folder = tmp_path_factory.mktemp("rows")
    for part, rows in enumerate(np.array_split(np.arange(70_000), 3)):
        frame.iloc[rows].to_parquet(folder / f"part{part}.parquet", row_group_size=9_000)
    return frame, folder


@pytest.mark.parametrize("statistic", ["shift", "recalibration"])
def test_files_and_clusters_have_the_numbers_of_memory_bit_for_bit(large, statistic):
    frame, folder = large
    columns = ["sex", "age", "smoker", "grade", "x"]
    options = {"n_resamples": 19, "statistic": statistic}
    expected = run(frame[columns], frame["p"], frame["y"], **options)
    assert same(expected, run(columns, "p", "y", data=str(folder), n_jobs=2, **options))
    parts = dd.from_pandas(frame, npartitions=5)
    assert same(expected, run(columns, "p", "y", data=parts, **options))
    assert same(expected, run(parts[columns], parts["p"], parts["y"], **options))


def test_own_segments_of_memory_maps_and_dask_arrays(large, tmp_path):
    frame, _ = large
    masks = np.column_stack([frame["sex"] == "m", frame["age"] > 50, frame["smoker"]])
    expected = run(masks, frame["p"], frame["y"], n_resamples=19)
    np.save(tmp_path / "masks.npy", masks)
    mapped = np.load(tmp_path / "masks.npy", mmap_mode="r")
    assert same(expected, run(mapped, frame["p"], frame["y"], n_resamples=19))
    lazy = da.from_array(masks, chunks=(11_000, 1))
    arrays = (da.from_array(frame[c].to_numpy(), chunks=9_999) for c in ("p", "y"))
    assert same(expected, run(lazy, *arrays, n_resamples=19))


def test_looks_at_chunks_add_up():
    parts = [pd.Series([1.0, 2.0], name="x"), pd.Series([None, None], name="x", dtype=object)]
    looks = [ColumnLook.of(part, index, 4, 10) for index, part in enumerate(parts)]
    for look in (looks[0] + looks[1], looks[1] + looks[0]):
        assert (look.kind, look.values, look.missing) == ("numbers", frozenset({1.0, 2.0}), True)
    text = ColumnLook.of(pd.Series(["a"], name="x"), 2, 4, 10)
    with pytest.raises(er.errors.InvalidTypeError, match=r"column 'x' with text and other values"):
        looks[0] + text


# --- what is refused ---


@pytest.mark.parametrize(
    ("segments", "options", "message"),
    [
        (FRAME.assign(Y=1), {"y": pd.Series(Y, name="y")}, "must not have the outcome as a column"),
        (FRAME.assign(died=np.where(Y, "yes", "no")), {}, "'died = (yes|no)' instead, which"),
        ({"ill": Y == 1}, {}, "'ill' instead, which has all positive outcomes"),
        (
            FRAME.assign(both=[f"{sex}{y}" for sex, y in zip(FRAME["sex"], Y, strict=True)]),
            {},
            "Got column 'both' instead, each of whose values has positive outcomes alone",
        ),
        (["sex", "y"], {"data": FRAME.assign(p=P, y=Y), "p": "p", "y": "y"}, "the outcome as a c"),
        (
            pd.DataFrame({"id": pd.Categorical(np.arange(100_000).astype(str))}),
            {"p": np.full(100_000, 0.5), "y": np.arange(100_000) % 2},
            "at most 1,000 different values.* put its values into groups first",
        ),
        ({"nobody": np.zeros(600)}, {}, "must have at least one segment with outcomes"),
        (np.ones((600, 0)), {}, r"and at least one. Got \(600, 0\)"),
        (np.ones((2, 600)), {}, "must have the same number of rows. Got 2 and 600"),
        (FRAME.assign(tags=[["a"]] * 600), {}, "column 'tags' of list"),
        (
            pd.DataFrame({"a": ["1 and b = 2", "1"] * 300, "b": ["2", "2", "3"] * 200}),
            {},
            "'a = 1 and b = 2' more than once",
        ),
        (FRAME.assign(id=np.arange(600).astype(str)), {"min_rows": 300}, None),
        (
            pd.DataFrame({"id": np.arange(1001).astype(str)}),
            {"p": np.full(1001, 0.5), "y": np.arange(1001) % 2},
            "at most 1,000 different values. Got more in column 'id'",
        ),
        (FRAME[:599], {}, "must have the same number of rows. Got 599 and 600"),
        (np.ones((599, 2)), {}, "must have the same number of rows. Got 599 and 600"),
        (np.full((600, 2), 0.5), {}, r"must hold 0 and 1 .* Got 0.5 in row 0, column 'segment 0'"),
        (np.full((600, 2), np.nan), {}, "Got nan in row 0"),
        (np.full((600, 2), "a"), {}, "give columns of text as a frame"),
        (np.zeros((600, 2, 2)), {}, r"must have shape \(n, S\)"),
        ({"a": Y, 1: Y, "1": Y}, {}, "'1' more than once"),
        ({"all rows": Y}, {}, "none called 'all rows'"),
        ({}, {}, "at least one segment"),
        ({"a": Y, "b": Y[:5]}, {}, r"Got \(5,\) for 'b'"),
        (FRAME[[]], {}, "at least one column"),
        (FRAME[["sex", "sex"]], {}, "'sex'"),
        (FRAME.assign(day=pd.Timestamp("2020-01-01")), {}, "column 'day' of Timestamp"),
        (FRAME.assign(odd=["a", 1] * 300), {}, "column 'odd' with text and other values"),
        (FRAME, {"min_rows": 601}, "Got none with 601 outcomes"),
        (FRAME, {"min_rows": 0}, "must be 1 or more. Got 0"),
        (FRAME, {"depth": 0}, "must be 1 or more. Got 0"),
        (FRAME, {"depth": 1.5}, "must be an integer. Got float"),
        (FRAME, {"bins": 1}, "must be 2 or more. Got 1"),
        (FRAME, {"bins": {"age": [3, 2]}}, "ascending order"),
        (FRAME, {"bins": {"agee": 3}}, "must name columns of the segments"),
        (FRAME, {"bins": {"sex": [1, 2]}}, "Got column 'sex'"),
        ({"a": Y}, {"depth": 2}, "not with segments of your own"),
        ({"a": Y}, {"bins": 2}, "not with segments of your own"),
        (FRAME, {"statistic": "score"}, "must be one of shift, recalibration. Got 'score'"),
        (FRAME, {"confidence_level": 0.99}, "must be at least 99"),
        (FRAME, {"n_jobs": 0}, "must be a number of workers"),
        (FRAME, {"n_resamples": 2**19, "min_rows": 2, "depth": 3}, "must leave at most 63"),
        ("sex", {}, "must be a frame, a mapping"),
        (["sex", "nothing"], {"data": FRAME.assign(p=P, y=Y), "p": "p", "y": "y"}, "'nothing'"),
    ],
)  # fmt: skip
def test_what_is_refused(segments, options, message):
    if message is None:
        assert run(segments, **options).left_out > 500
        return
    with pytest.raises(er.ExactRegionError, match=message):
        run(segments, **options)


def test_values_of_one_row_each_are_not_taken_for_the_outcome():
    ids = pd.DataFrame({"id": np.arange(600).astype(str)})
    assert len(run(ids, min_rows=1).table) == 601


def test_empty_segments_are_left_out_and_those_of_one_row_are_tested():
    result = run({"nobody": np.zeros(600), "one": np.arange(600) == 3, "f": FRAME["sex"] == "f"})
    assert set(result.table.index) == {"all rows", "one", "f"}
    assert result.left_out == 1
    assert result.table.loc["one", "n"] == 1
    assert result.table.loc["one", "pvalue_adjusted"] > 0.05
    rare = FRAME.assign(site=np.where(np.arange(600) == 3, "x", "z"))
    assert not any("site = x" in name for name in run(rare).table.index)
    assert "site = x" in run(rare, min_rows=1, depth=1).table.index


@pytest.mark.parametrize(
    "values", [["a", None, "b"], [1.5, np.nan, 2.0], [True, None, False]], ids=str
)
def test_missing_values_are_a_segment_of_their_own(values):
    result = run(pd.DataFrame({"x": pd.array(values * 200)}))
    assert result.table.loc["x is missing", "n"] == 200
    assert len(result.table) == 4


def test_one_row_and_many_columns():
    one = run({"only": [1]}, [0.3], [1])
    assert set(one.table.index) == {"all rows", "only"}
    many = pd.DataFrame(np.zeros((600, 300)) + np.arange(600)[:, None] % 2)
    many.columns = many.columns.astype(str)
    with pytest.raises(er.errors.InvalidValueError, match=r"more than 20,000 ways"):
        run(many)
    assert run(many, depth=1).table["n"].tolist().count(300) == 600
