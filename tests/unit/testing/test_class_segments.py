"""Segments of several classes: numbers by hand, any source, two classes, and what is refused."""

import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest

import exactregion as er
from exactregion.engine.chunks import Chunk
from exactregion.engine.classes import DrawnClasses
from exactregion.engine.segments import saddlepoint
from exactregion.errors import InvalidValueError
from exactregion.ranking import rank_of
from exactregion.resampling import Draws, fresh_entropy

LABELS = np.array(["bird", "cat", "dog"])


def made(n, seed=0, wrong=0.0):
    """Rows whose probability of a bird is too large by this much on the log scale in one site."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame({"sex": rng.choice(["f", "m"], n), "site": rng.choice(list("abc"), n)})
    P = rng.dirichlet([1.0, 0.5, 1.5], n)
    true = P.copy()
    true[frame["site"] == "b", 0] *= np.exp(-wrong)
    true /= true.sum(axis=1, keepdims=True)
    codes = (rng.random(n)[:, None] > np.cumsum(true, axis=1)).sum(axis=1)
    return frame, P, LABELS[np.minimum(codes, 2)]


FRAME, P, Y = made(500)


def run(frame=FRAME, p=P, y=Y, **options):
    return er.segment_test(y, p, frame, **{"n_resamples": 39, "rng": 0, **options})


def same(a, b):
    pd.testing.assert_frame_equal(a.table, b.table, check_exact=True)
    assert (a.pvalue, a.rank, a.classes) == (b.pvalue, b.rank, b.classes)
    return True


def test_the_statistic_is_that_of_each_class_in_each_segment():
    result = run(depth=1)
    assert result.classes == ("bird", "cat", "dog")
    assert len(result.table) == 3 * (1 + 2 + 3)
    codes = np.searchsorted(LABELS, Y)
    keys = [FRAME["sex"].to_numpy(), FRAME["site"].to_numpy()]
    order = np.lexsort([*P.T[::-1], *keys[::-1]])
    chunk = Chunk(0, None, np.ones(len(P), dtype=int), codes[order], P[order])
    draws = Draws(39, fresh_entropy(0))
    drawn = DrawnClasses(chunk, draws).of(slice(0, 500))
    largest = np.zeros(40)
    masks = {"all rows": np.full(500, True)}
    masks |= {f"sex = {v}": keys[0] == v for v in "fm"} | {
        f"site = {v}": keys[1] == v for v in "abc"
    }
    for name, inside in masks.items():
        for c, label in enumerate(LABELS):
            p, rows = P[order][inside[order], c], result.table.loc[f"{name}: {label}"]
            V, third = (p * (1 - p)).sum(), (p * (1 - p) * (1 - 2 * p)).sum()
            K = (drawn[:, inside[order]] == c).sum(axis=1)
            Z = saddlepoint(K - p.sum(), V, third)
            assert rows["statistic"] == pytest.approx(Z[draws.seat], rel=1e-9)
            assert rows["observed"] == (Y[inside] == label).mean()
            assert rows["n"] == inside.sum()
            largest = np.maximum(largest, Z)
    assert result.rank == rank_of(largest, draws.seat)


def test_a_class_that_is_off_in_one_segment_is_named():
    frame, p, y = made(1500, seed=3, wrong=1.2)
    result = run(frame, p, y, n_resamples=199)
    assert result.pvalue == 1 / 200
    assert result.named().index[0] == "site = b: bird"
    assert result.to_dict()["classes"] == ["bird", "cat", "dog"]


@pytest.mark.parametrize("statistic", ["shift", "recalibration"])
def test_order_of_rows_and_columns_does_not_matter(statistic):
    reference = run(statistic=statistic)
    order = np.random.default_rng(1).permutation(500)
    assert same(reference, run(FRAME.iloc[order], P[order], Y[order], statistic=statistic))
    turned = pd.DataFrame(P, columns=["p_bird", "p_cat", "p_dog"])[["p_dog", "p_bird", "p_cat"]]
    assert same(reference, run(p=turned, statistic=statistic))
    given = run(p=P[:, [2, 0, 1]], classes=["dog", "bird", "cat"], statistic=statistic)
    assert same(reference, given)


def test_files_and_clusters_give_the_same(tmp_path):
    table = pd.DataFrame(P, columns=["p_bird", "p_cat", "p_dog"]).assign(y=Y, **FRAME)
    names = ("y", ["p_bird", "p_cat", "p_dog"], ["sex", "site"])
    settings = {"classes": list(LABELS), "n_resamples": 39, "rng": 0}
    for part in range(2):
        table[250 * part : 250 * (part + 1)].to_parquet(tmp_path / f"{part}.parquet")
    reference = run()
    for data in (table, tmp_path / "*.parquet", dd.from_pandas(table, npartitions=3)):
        source = str(data) if hasattr(data, "glob") else data
        assert same(reference, er.segment_test(*names, data=source, **settings))


def test_rows_in_several_chunks_add_up():
    frame, p, y = made(70_000, seed=1)
    one, two = (run(frame, p, y, n_jobs=jobs) for jobs in (1, 2))
    assert same(one, two)
    table = one.table.loc["site = a: cat"]
    assert table["observed"] == pytest.approx((y[frame["site"] == "a"] == "cat").mean())


def test_two_classes_are_labels():
    y = np.where(Y == "cat", "cat", "other")
    two = np.column_stack([P[:, 1], 1 - P[:, 1]])
    a = run(p=two, y=y, pos_label="cat")
    b = run(p=P[:, 1], y=y == "cat")
    pd.testing.assert_frame_equal(a.table, b.table, check_exact=True)
    assert a.classes == ()


def test_names_of_segments_that_are_right_are_rare():
    """Under the truth something is named in about 5 of 100 data sets."""
    named = 0
    for seed in range(60):
        frame, p, y = made(150, seed=1000 + seed)
        named += len(run(frame, p, y, rng=seed, n_resamples=19).named()) > 0
    assert named <= 10  # binomial(60, 0.05) exceeds this 1 time in 4,000


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"p": P[:, :2], "y": Y}, r"add up to 1"),
        ({"y": np.where(np.arange(500) == 7, "fish", Y)}, r"classes"),
        ({"classes": ["bird", "cat"]}, r"each of the 3 columns"),
        ({"pos_label": "cat"}, r"two classes"),
    ],
)
def test_what_is_refused(change, message):
    with pytest.raises(InvalidValueError, match=message):
        run(**change)
