"""Power by simulation: rates, limits, sizes that are needed, determinism and messages."""

import functools

import numpy as np
import pandas as pd
import pytest
from scipy.stats import binom, binomtest

import exactregion as er

P = np.random.default_rng(0).beta(1, 3, size=500)


def mean_test(y, p, rng):
    """Two-sided normal test of the mean: quick, so that many simulations are."""
    from scipy.special import ndtr

    z = (y.sum() - np.sum(p)) / np.sqrt(np.sum(p * (1 - p)))
    return 2 * ndtr(-abs(z))


def test_under_the_truth_the_rate_is_the_level():
    found = er.power(P, P, n_observations=40, significance=0.1, n_simulations=400, rng=1)
    rejections = found.table.loc[40, "rejections"]
    low, high = binom.ppf([5e-7, 1 - 5e-7], 400, 0.1)  # 20 of 200 ranks: exactly the level
    assert low <= rejections <= high


def test_limits_are_those_of_clopper_and_pearson():
    found = er.power(
        P, shift=0.5, test=mean_test, n_observations=[50, 100], n_simulations=60, rng=0
    )
    for n, row in found.table.iterrows():
        limits = binomtest(int(row.rejections), 60).proportion_ci(0.95, method="exact")
        assert (row.lower, row.upper) == (limits.low, limits.high)
        assert row.power == row.rejections / 60 == np.mean(found.pvalues[n] <= 0.05)


def test_power_agrees_with_the_formula_for_a_mean():
    p = np.full(10, 0.5)
    found = er.power(
        p, np.full(10, 0.6), test=mean_test, n_observations=200, n_simulations=2000, rng=0
    )
    y = np.arange(201)
    rejected = [mean_test(np.repeat([1, 0], [k, 200 - k]), np.full(200, 0.5), 0) <= 0.05 for k in y]
    exact = binom.pmf(y, 200, 0.6)[rejected].sum()
    low, high = binom.ppf([5e-7, 1 - 5e-7], 2000, exact)
    assert low <= found.table.loc[200, "rejections"] <= high


@pytest.mark.parametrize("shift", [0.15, 0.4, 1.2])
def test_the_search_ends_with_neighbours_on_both_sides_of_the_target(shift):
    found = er.power(P, shift=shift, test=mean_test, n_simulations=100, rng=0)
    sizes = list(found.table.index)
    above = sizes.index(found.n_required)
    assert found.table["power"].iloc[above] >= 0.8
    assert found.table["power"].iloc[above - 1] < 0.8
    assert sizes[above] <= 1.1 * sizes[above - 1] + 1


def test_a_target_that_every_size_reaches_or_none():
    everywhere = er.power(P, shift=2, test=lambda y, p, rng: 0.0, n_simulations=5, rng=0)
    assert everywhere.n_required == min(everywhere.table.index) <= 6
    nowhere = er.power(P, shift=2, test=lambda y, p, rng: 1.0, n_simulations=2, rng=0)
    assert nowhere.n_required is None
    assert max(nowhere.table.index) == 51_200
    assert "not reached" in str(nowhere)


def test_a_size_is_enough_only_if_all_larger_ones_are():
    def odd(y, p, rng):
        return 0.0 if len(y) in (20, 40) else 1.0

    found = er.power(P, shift=1, test=odd, n_observations=[20, 30, 40], n_simulations=3, rng=0)
    assert found.n_required == 40


def test_same_seed_same_simulations_for_any_workers_and_other_sizes():
    settings = {"shift": 0.5, "n_simulations": 12, "rng": 5}
    alone = er.power(P, n_observations=60, **settings)
    again = er.power(P, n_observations=[30, 60], n_jobs=2, **settings)
    assert np.array_equal(alone.pvalues[60], again.pvalues[60])
    other = er.power(P, n_observations=60, **{**settings, "rng": 6})
    assert not np.array_equal(alone.pvalues[60], other.pvalues[60])


def test_rows_of_a_design_are_taken_equally_often():
    seen = []

    def look(y, X, rng):
        seen.append(np.bincount(X.astype(int)))
        return 1.0

    er.power(
        [0.0, 1.0, 2.0], [0.1, 0.5, 0.9], test=look, n_observations=[8, 9], n_simulations=4, rng=0
    )
    assert all(counts.max() - counts.min() <= 1 for counts in seen)
    assert {tuple(counts) for counts in seen if counts.sum() == 9} == {(3, 3, 3)}


@pytest.mark.parametrize("needed", [7, 8, 9, 10, 11])
def test_the_search_ends_where_few_rows_are_enough(needed):
    found = er.power(
        np.linspace(0.1, 0.9, 50),
        shift=0.3,
        n_simulations=2,
        rng=0,
        test=lambda y, X, rng: 0.0 if len(y) >= needed else 1.0,
    )
    assert needed <= found.n_required <= needed + 1


@pytest.mark.parametrize("kind", ["pandas", "polars", "list", "matrix"])
def test_inputs_of_every_kind(kind):
    frame = pd.DataFrame({"dose": [1.0, 2.0, 3.0, 4.0], "group": [0, 0, 1, 1]})
    if kind == "polars":
        X = pytest.importorskip("polars").from_pandas(frame)
    else:
        X = {"pandas": frame, "list": frame.to_numpy().tolist(), "matrix": frame.to_numpy()}[kind]
    shapes = set()

    def look(y, X, rng):
        shapes.add((type(X).__name__, np.shape(X)))
        return 0.5

    er.power(X, [0.1, 0.2, 0.3, 0.4], test=look, n_observations=6, n_simulations=2, rng=0)
    expected = {"list": "ndarray", "matrix": "ndarray"}.get(kind, "DataFrame")
    assert shapes == {(expected, (6, 2))}


def test_tests_of_regions_and_other_statistics():
    def no_slope(y, x, rng):
        region = er.ConfidenceRegion("logistic", n_resamples=39, rng=rng).fit(x, y)
        return region.test([0.0, 0.0])

    x = np.linspace(-2, 2, 8)
    found = er.power(
        x,
        lambda x: 1 / (1 + np.exp(-3 * x)),
        test=no_slope,
        n_observations=24,
        n_simulations=5,
        rng=0,
    )
    assert found.table.loc[24, "power"] >= 0.8
    assert found.test == "no_slope"
    score = functools.partial(er.calibration_test, statistic="score", n_resamples=39)
    found = er.power(P, slope=0.2, test=score, n_observations=200, n_simulations=5, rng=0)
    assert found.test == "calibration_test"


def test_certain_predictions_stay_certain():
    p = np.array([0.0, 1.0, 0.5])
    outcomes = []

    def look(y, p, rng):
        outcomes.append((y[p == 0].sum(), (1 - y[p == 1]).sum()))
        return 1.0

    er.power(p, slope=0.0, test=look, n_observations=30, n_simulations=3, rng=0)
    assert set(outcomes) == {(0, 0)}


def test_text_records_and_html():
    found = er.power(
        P, shift=0.5, test=mean_test, n_observations=[50, 3000], n_simulations=40, rng=3
    )
    lines = str(found).splitlines()
    assert max(map(len, lines)) <= 80
    assert lines[-1] == "Power 0.8 is reached with n = 3,000."
    assert "mean_test at significance 0.05, 40 simulations per n" in lines[0]
    assert "3,000" in found._repr_html_()
    record = found.to_dict()
    assert record["n_required"] == 3000
    assert record["seed"] == 3
    assert [row["n"] for row in record["table"]] == [50, 3000]
    frame = found.to_frame()
    frame.loc[50, "power"] = 9
    assert found.table.loc[50, "power"] < 1


def test_progress_counts_data_sets_and_not_what_tests_count():
    from exactregion.engine import progress

    seen = []

    def noisy(y, p, rng):
        progress.advance(1000)
        return 1.0

    token = progress._DISPLAY.set(lambda label, number: seen.append(number))
    try:
        er.power(P, shift=1, test=noisy, n_observations=5, n_simulations=3, progress=True, rng=0)
    finally:
        progress._DISPLAY.reset(token)
    assert sum(seen) == 3


def test_nothing_is_printed(capsys):
    er.power(P, shift=1, test=mean_test, n_observations=5, n_simulations=3, progress=True, rng=0)
    assert "".join(capsys.readouterr()) == ""


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({}, "'truth' parameter must be given, or a 'shift' or 'slope'"),
        ({"truth": P, "shift": 1}, "'truth' parameter must be left out"),
        ({"truth": P[:3]}, "'truth' parameter must give one probability per row"),
        ({"truth": 2 * P + 1}, "between 0 and 1"),
        ({"shift": 1, "X": [1.0, 50.0]}, "'X' parameter must be between 0 and 1"),
        ({"shift": 1, "power": 80}, "'power' parameter must be between 0 and 1"),
        ({"shift": 1, "significance": 0}, "'significance' parameter must be between 0 and 1"),
        ({"shift": np.nan}, "'shift' parameter must be finite"),
        ({"slope": np.inf}, "'slope' parameter must be finite"),
        ({"shift": "a"}, "'shift' parameter must be a number"),
        ({"shift": 1, "significance": [0.05]}, "'significance' parameter must be a number"),
        ({"truth": [], "X": []}, "'X' parameter must be a sample of one row or more"),
        ({"shift": 1, "n_observations": 0}, "'n_observations' parameter must be 1 or more"),
        ({"shift": 1, "n_observations": 2.5}, "'n_observations' parameter must be an integer"),
        ({"shift": 1, "n_observations": []}, "'n_observations' parameter must have at least one"),
        ({"shift": 1, "n_simulations": True}, "'n_simulations' parameter must be an integer"),
        ({"shift": 1, "n_jobs": 0}, "'n_jobs' parameter"),
        ({"shift": 1, "seed": 0}, "is called 'rng' here"),
        ({"shift": 1, "test": "spiegelhalter"}, "'test' parameter must be a function"),
        ({"shift": 1, "test": lambda y, p, rng: "no"}, "'test' parameter must return a p-value"),
        ({"shift": 1, "test": lambda y, p, rng: np.nan}, "'test' parameter must return a p-value"),
        ({"shift": 1, "test": lambda y, p, rng: None}, "Got NoneType"),
        ({"shift": 1, "rng": "data"}, "'rng' parameter"),
    ],
)
def test_errors_name_the_argument(settings, message):
    given = {"X": P, "n_observations": 10, "n_simulations": 2, **settings}
    with pytest.raises(er.ExactRegionError, match=message):
        er.power(given.pop("X"), **given)
