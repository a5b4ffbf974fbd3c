"""Segments: the p-value of all is exact, and no right segment is named too often."""

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit, logit
from scipy.stats import binom

import exactregion as er

REPEATED = pytest.mark.parametrize(
    "repetitions", [100, pytest.param(1000, marks=pytest.mark.audit)]
)


def most(repetitions):
    """More rejections at 5 % than this are no chance."""
    return int(binom.isf(1e-6, repetitions, 0.05))


def namings(repetitions, n, rate, bad, statistic="shift", **options):
    """Count rejections, data sets with a wrong naming, and such by p-values of segments alone."""
    rejected = wrongly = alone = 0
    for seed in range(repetitions):
        rng = np.random.default_rng([seed, n])
        frame = pd.DataFrame({name: rng.choice(list("uvw"), n) for name in "abc"})
        p = expit(logit(rate) + rng.normal(size=n))
        off = (frame["a"] == "u").to_numpy() & bad
        y = rng.random(n) < expit(logit(p) + 2 * off)
        result = er.segment_test(
            *(y.astype(int), p, frame),
            **{"n_resamples": 19, "rng": seed, "statistic": statistic, **options},
        )
        table = result.table
        named = [table.index[table[key] <= 0.05] for key in ("pvalue_adjusted", "pvalue")]
        right = [any(not (off & inside(frame, one)).any() for one in names) for names in named]
        rejected += result.pvalue <= 0.05
        wrongly += right[0]
        alone += right[1]
    return rejected, wrongly, alone


def inside(frame, name):
    """Find the rows of a segment by its name."""
    rows = np.ones(len(frame), dtype=bool)
    for part in name.split(" and ") if name != "all rows" else ():
        column, value = part.split(" = ")
        rows &= (frame[column] == value).to_numpy()
    return rows


@REPEATED
@pytest.mark.parametrize(
    ("n", "rate", "options"),
    [
        (12, 0.3, {"min_rows": 1}),
        (60, 0.02, {"min_rows": 1, "depth": 3}),
        (60, 0.3, {"min_rows": 5, "statistic": "recalibration"}),
    ],
)
def test_the_p_value_is_exact_and_namings_are_right(n, rate, options, repetitions):
    rejected, wrongly, alone = namings(repetitions, n, rate, bad=False, **options)
    assert binom.ppf(1e-6, repetitions, 0.05) <= rejected <= most(repetitions)
    assert wrongly == rejected
    assert alone > most(repetitions)  # the test can fail: p-values of segments alone name wrongly


@REPEATED
@pytest.mark.parametrize("statistic", ["shift", "recalibration"])
def test_namings_are_right_where_other_segments_are_off(statistic, repetitions):
    rejected, wrongly, _ = namings(repetitions, 90, 0.2, bad=True, statistic=statistic, min_rows=3)
    assert rejected > repetitions / 2
    assert wrongly <= most(repetitions)


@REPEATED
def test_intervals_hold_for_all_segments_together(repetitions):
    missed = 0
    for seed in range(repetitions):
        rng = np.random.default_rng([seed, 1])
        frame = pd.DataFrame({name: rng.choice(list("uv"), 40) for name in "abc"})
        true, p = rng.beta(0.3, 0.5, 40), rng.random(40)
        result = er.segment_test(
            (rng.random(40) < true).astype(int), p, frame, n_resamples=19, rng=0, min_rows=1
        )
        for name, row in result.table.iterrows():
            rows = inside(frame, name)
            if not row["lower"] <= (true - p)[rows].mean() <= row["upper"]:
                missed += 1
                break
    assert missed <= most(repetitions)
