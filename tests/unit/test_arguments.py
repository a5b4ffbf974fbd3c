"""Arguments of another kind: errors of the library that name them, and nothing converted."""

import numpy as np
import pandas as pd
import pytest

import exactregion as er
from exactregion import kernels, statistics
from exactregion.errors import FileAccessError, InvalidTypeError, InvalidValueError, ModelError

RNG = np.random.default_rng(0)
N = 40
X, Y, HALVES = RNG.normal(size=N), RNG.random(N) < 0.5, np.full(N, 0.5)
HUGE = 10**400


def fitted(model="logistic", X=X, y=Y, **settings):
    usual = {"n_resamples": 19, "confidence_level": 0.9, "rng": 0}
    return er.ConfidenceRegion(model, **(usual | settings)).fit(X, y)


@pytest.fixture(scope="module")
def region():
    return fitted()


@pytest.mark.parametrize(
    "theta",
    [
        np.ma.array([0.0, 1.0], mask=[False, True]),
        np.array(["2020-01-01", "2020-01-02"], dtype="M8[D]"),
        np.array([1, 2], dtype="m8[D]"),
        np.array([1 + 1j, 2]),
        ["0", "1"],
        [HUGE, 1],
    ],
    ids=["masked", "dates", "durations", "complex", "text", "huge"],
)
def test_theta_of_another_kind(region, theta):
    with pytest.raises(InvalidTypeError, match=r"'theta' parameter must hold numbers"):
        region.rank(theta)


@pytest.mark.parametrize(
    "p",
    [
        HALVES + 0.1j,
        np.ma.array(HALVES, mask=np.arange(N) == 3),
        np.zeros(N, dtype="m8[D]"),
        ["0.5"] * N,
    ],
    ids=["complex", "masked", "durations", "text"],
)
def test_probabilities_of_another_kind(p):
    for candidate in (p, lambda X: p):
        with pytest.raises(InvalidTypeError, match=r"'candidate'"):
            er.model_test(candidate, X, Y, n_resamples=19)
    with pytest.raises(ModelError, match=r"real numbers"):
        fitted(er.models.Function(lambda theta, x: p, ["a"])).rank([0.0])


def test_statistics_and_kernels_of_complex_numbers(region):
    with pytest.raises(InvalidTypeError, match=r"one number per row of labels"):
        fitted(statistic=lambda labels, p, X: np.full(len(labels), 1j)).rank([0.0, 0.0])
    kernel = kernels.Precomputed(np.eye(N) + 0j)
    with pytest.raises(InvalidTypeError, match=r"'gram'"):
        er.model_test(HALVES, X, Y, statistic=statistics.Discrepancy(kernel))


def test_numbers_that_are_too_large():
    with pytest.raises(InvalidValueError, match=r"'X' parameter must hold numbers up to 1.8e308"):
        fitted(X=[HUGE] + [1] * (N - 1))
    with pytest.raises(InvalidValueError, match=r"'y_prob'.*up to 1.8e308"):
        er.calibration_test(Y, [HUGE] + [0.5] * (N - 1))


@pytest.mark.parametrize("bandwidth", [1e300, 1e-320, 1e200, 1e-200])
@pytest.mark.parametrize("kernel", [kernels.Gaussian, kernels.Laplacian, kernels.Matern])
def test_bandwidths_whose_squares_are_no_doubles(kernel, bandwidth):
    with pytest.raises(InvalidValueError, match=r"'bandwidth'.*between 1e-150 and 1e\+150"):
        kernel(bandwidth)


def test_no_new_inputs(region):
    for method in (region.band, region.classify, region.risk):
        with pytest.raises(InvalidValueError, match=r"'X' parameter must have at least one row"):
            method([])
    with pytest.raises(InvalidValueError, match=r"at least one row"):
        region.model_.probabilities([0.0, 1.0], np.empty(0))


@pytest.mark.parametrize("points", [0, 1, -1, 2.5, True, (3,), (3, 0), "3"])
def test_points_of_a_grid(region, points):
    with pytest.raises(InvalidValueError, match=r"'points' parameter must be an integer of 2"):
        region.grid(points=points)


def test_levels_and_boxes_of_a_grid(region):
    with pytest.raises(InvalidValueError, match=r"'levels'"):
        region.grid(levels="3")
    for box in ("ab", [[0, np.inf], [0, 1]], [[0, 1j], [0, 1]]):
        with pytest.raises(InvalidValueError, match=r"'box' parameter must have a finite"):
            region.grid(box, points=3)
    with pytest.raises(InvalidValueError, match=r"'tolerance'"):
        region.paving(tolerance="0.1")


def test_numbers_of_workers():
    for n_jobs in ("2", 2.5, True):
        with pytest.raises(InvalidTypeError, match=r"'n_jobs' parameter must be an integer"):
            fitted(n_jobs=n_jobs)
        with pytest.raises(InvalidTypeError, match=r"'n_jobs'"):
            er.calibration_test(Y, HALVES, n_jobs=n_jobs)
    with pytest.raises(InvalidValueError, match=r"'n_jobs'"):
        fitted(n_jobs=0)


def test_parameters_of_one_name():
    with pytest.raises(InvalidValueError, match=r"different names.*rename the column"):
        fitted(X=pd.DataFrame({"intercept": X}))
    without = er.models.Logistic(intercept=False)
    assert fitted(without, X=pd.DataFrame({"intercept": X})).parameter_names_ == ("intercept",)


@pytest.mark.parametrize("joint", [False, True])
def test_a_functional_that_is_never_a_number(region, joint):
    with pytest.raises(InvalidValueError, match=r"'g' parameter must give a number"):
        region.functional(lambda theta: np.nan, joint=joint)


def test_constant_inputs_beside_which_a_half_is_nothing():
    statistic = statistics.Neighborhood(measure="uniform")
    ranks = [
        er.model_test(HALVES, np.full(N, x), Y, statistic=statistic, n_resamples=19, rng=0).rank
        for x in (0.0, 1e17, -1e300)
    ]
    assert ranks[0] == ranks[1] == ranks[2]


def test_reports_that_cannot_be_written(tmp_path):
    pytest.importorskip("bokeh")
    result = er.calibration_test(Y, HALVES, n_resamples=19, rng=0)
    with pytest.raises(FileAccessError, match=r"cannot be written: Is a directory"):
        result.report(tmp_path)
    with pytest.raises(FileAccessError, match=r"cannot be written: No such file"):
        result.report(tmp_path / "none" / "page.html")
    with pytest.raises(InvalidTypeError, match=r"'path' parameter must be a path"):
        result.report(3)
    assert not list(tmp_path.iterdir())
