"""The same question to each group."""

import numpy as np
import pandas as pd
import polars as pl
import pytest

import exactregion as er
from exactregion.errors import InvalidValueError
from exactregion.testing.groups import holm

RNG = np.random.default_rng(5)
P = RNG.uniform(size=60)
Y = RNG.uniform(size=60) < P
GROUP = np.array(["b", "a", "c"] * 20)


def by_group(y=Y, p=P, by=GROUP, **settings):
    return er.calibration_test(y, p, by=by, n_resamples=99, rng=0, **settings)


def test_holm_against_the_definition():
    p = np.random.default_rng(0).uniform(size=7) ** 3
    order = np.argsort(p)
    expected = [min(1, max((7 - j) * p[order[j]] for j in range(i + 1))) for i in range(7)]
    assert np.allclose(holm(p)[order], expected)


def test_holm_rejects_no_more_often_than_asked_where_all_are_true():
    """400 families of 5 exact p-values: a false rejection in at most 5 % of them, and a bit."""
    p = np.ceil(20 * np.random.default_rng(1).uniform(size=(400, 5))) / 20
    assert np.mean([(holm(row) <= 0.05).any() for row in p]) < 0.09


def test_a_row_is_the_test_of_that_group_alone():
    table = by_group()
    assert list(table.index) == ["a", "b", "c"]
    for group, row in table.iterrows():
        rows = group == GROUP
        alone = er.calibration_test(Y[rows], P[rows], by=GROUP[rows], n_resamples=99, rng=0)
        assert row.drop("pvalue_holm").equals(alone.loc[group].drop("pvalue_holm"))
        assert row["n"] == 20
        assert row["observed"] == Y[group == GROUP].mean()
        assert row["predicted"] == pytest.approx(P[group == GROUP].mean())
    assert np.allclose(table["pvalue_holm"], holm(table["pvalue"]))


def test_finds_the_one_bad_group():
    wrong = np.where(GROUP == "c", 1 - P, P)
    table = by_group(p=wrong)
    assert list(table.index[table["pvalue_holm"] <= 0.05]) == ["c"]


@pytest.mark.parametrize(
    "by",
    [
        GROUP.tolist(),
        pd.Series(GROUP, index=np.arange(60)[::-1]),
        pl.Series(GROUP),
        pd.Series(pd.Categorical(GROUP, categories=["a", "b", "c", "unused"])),
    ],
)
def test_kinds_of_groups(by):
    assert by_group(by=by).equals(by_group())


def test_the_name_of_the_groups_is_kept():
    assert by_group(by=pd.Series(GROUP, name="site")).index.name == "site"
    assert by_group().index.name == "group"


def test_groups_that_have_no_order():
    mixed = np.array([1, "x"] * 30, dtype=object)
    assert set(by_group(by=mixed).index) == {1, "x"}


def test_a_contradicted_certainty_in_one_group():
    p, y = P.copy(), Y.copy()
    p[0], y[0] = 0.0, True
    table = by_group(y=y, p=p)
    assert table.loc["b", "pvalue"] == 0.01


def test_counts():
    counts = np.column_stack([Y, ~Y]).astype(int) * 2
    assert by_group(y=counts)["n"].to_list() == [40, 40, 40]


@pytest.mark.parametrize(
    ("by", "message"),
    [
        (GROUP[:5], r"'by' parameter must have one group per row, shape \(60,\)\. Got \(5,\)"),
        (np.zeros((60, 2)), r"one group per row, shape \(60,\)\. Got \(60, 2\)"),
        (np.where(np.arange(60) == 7, None, GROUP), "missing values. Got one in row 7 instead"),
        (["a", float("nan")] * 30, "missing values. Got one in row 1 instead"),
    ],
)
def test_bad_groups(by, message):
    with pytest.raises(InvalidValueError, match=message):
        by_group(by=by)


def test_a_group_without_trials():
    counts = np.column_stack([Y, ~Y]).astype(int)
    counts[GROUP == "b"] = 0
    with pytest.raises(InvalidValueError, match=r"at least one trial each.*none instead, 'b'"):
        by_group(y=counts)
