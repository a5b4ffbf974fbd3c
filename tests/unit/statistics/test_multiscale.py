"""Kernels of four widths, of which the clearest decides."""

import numpy as np
import pytest

import exactregion as er
from exactregion import kernels, statistics
from exactregion.data.sample import Sample
from exactregion.engine import PreparedStatistic
from exactregion.errors import InvalidTypeError, InvalidValueError
from exactregion.kernels import Gaussian, Laplacian, Matern, Poisson, Precomputed
from exactregion.kernels.vectors import VectorKernel
from exactregion.statistics import Discrepancy, Multiscale, Omnibus, as_statistic

RNG = np.random.default_rng(0)
X = RNG.normal(size=(25, 2)) * [1.0, 30.0]
SUCCESSES = RNG.integers(0, 2, (13, 25))
P = RNG.uniform(0.1, 0.9, 25)
WIDTHS = (0.25, 0.5, 1.0, 2.0)


def half_the_median(standardize):
    points = (X - X.mean(axis=0)) / (X.std(axis=0) if standardize else 1.0)
    pairs = (points[:, None] - points)[np.triu_indices(25, 1)]
    return np.sort(np.hypot(*pairs.T))[149] / 2  # the middle one of 300 pairs, from below


@pytest.mark.parametrize("standardize", [True, False])
def test_is_the_omnibus_of_four_discrepancies(values_of, standardize):
    width = half_the_median(standardize)
    parts = [
        Discrepancy(bandwidth=multiple * width, standardize=standardize) for multiple in WIDTHS
    ]
    expected = values_of(Omnibus(*parts), X, SUCCESSES, P)
    Z = values_of(Multiscale(standardize=standardize), X, SUCCESSES, P)
    np.testing.assert_array_equal(Z, expected)
    assert len(np.unique(expected)) > 5


@pytest.mark.parametrize(
    ("kernel", "part"),
    [("laplacian", Laplacian), ("matern", Matern), (Gaussian(), Gaussian), (Matern(), Matern)],
)
def test_any_kernel_with_a_bandwidth(values_of, kernel, part):
    parts = [Discrepancy(part(multiple=multiple)) for multiple in WIDTHS]
    np.testing.assert_array_equal(
        values_of(Multiscale(kernel), X, SUCCESSES, P),
        values_of(Omnibus(*parts), X, SUCCESSES, P),
    )


def test_a_multiple_of_the_user_widens_all_four(values_of):
    parts = [Discrepancy(Gaussian(multiple=3 * multiple)) for multiple in WIDTHS]
    np.testing.assert_array_equal(
        values_of(Multiscale(Gaussian(multiple=3)), X, SUCCESSES, P),
        values_of(Omnibus(*parts), X, SUCCESSES, P),
    )


def test_a_bandwidth_of_the_user_is_the_one_that_is_widened(values_of):
    parts = [Discrepancy(bandwidth=0.7 * multiple) for multiple in WIDTHS]
    np.testing.assert_array_equal(
        values_of(Multiscale(Gaussian(0.7)), X, SUCCESSES, P),
        values_of(Omnibus(*parts), X, SUCCESSES, P),
    )


def test_the_four_parts_differ(values_of):
    own = [values_of(part, X, SUCCESSES, P) for part in Multiscale().together.statistics]
    assert len(own) == 4
    for one in range(4):
        for other in range(one):
            assert not np.allclose(own[one], own[other])


@pytest.mark.parametrize(
    "statistic",
    [
        Multiscale(),
        Multiscale(standardize=False),
        Multiscale("laplacian"),
        Multiscale(Matern(nu=2.5), standardize=False),
    ],
)
def test_repr_gives_it_back(values_of, statistic):
    again = eval(repr(statistic), {**vars(statistics), **vars(kernels)})
    assert type(again) is Multiscale
    assert again == statistic
    assert repr(again) == repr(statistic)
    assert again.together.statistics == statistic.together.statistics
    assert again.together.weights == (1, 1, 1, 1)
    np.testing.assert_array_equal(
        values_of(again, X, SUCCESSES, P), values_of(statistic, X, SUCCESSES, P)
    )


@pytest.mark.parametrize(
    "kernel", [Precomputed(np.eye(25)), Poisson(), "poisson", lambda a, b: float(a @ b)]
)
def test_kernels_without_a_bandwidth_have_one_scale_only(kernel):
    with pytest.raises(InvalidValueError, match=r"'kernel'.*of Multiscale.*bandwidth.*Got"):
        Multiscale(kernel)


@pytest.mark.parametrize(("kernel", "error"), [("rbf", InvalidValueError), (3, InvalidTypeError)])
def test_what_is_no_kernel(kernel, error):
    with pytest.raises(error, match="'kernel'"):
        Multiscale(kernel)


def test_by_name_and_by_default():
    assert as_statistic("multiscale") == Multiscale()
    y = SUCCESSES[0]
    usual = er.model_test(P, X, y, n_resamples=99, rng=0)
    for statistic in ("multiscale", Multiscale()):
        named = er.model_test(P, X, y, n_resamples=99, rng=0, statistic=statistic)
        assert named.pvalue == usual.pvalue
        np.testing.assert_array_equal(named.null_distribution, usual.null_distribution)
    other = er.model_test(P, X, y, n_resamples=99, rng=0, statistic="discrepancy")
    assert not np.array_equal(other.null_distribution, usual.null_distribution)
    table = er.compare({"p": P}, X, y, n_resamples=99, rng=0)
    assert table["pvalue"].tolist() == [usual.pvalue]


def test_the_median_is_computed_once(monkeypatch):
    asked = []
    compute = VectorKernel.median_distance

    def counting(self, distinct, points):
        asked.append(self)
        return compute(self, distinct, points)

    monkeypatch.setattr(VectorKernel, "median_distance", counting)
    PreparedStatistic.of(Multiscale(), Sample.from_data(X, SUCCESSES[0]).inputs, 13)
    assert len(asked) == 1
    er.model_test(P, X, SUCCESSES[0], n_resamples=19, rng=0)
    assert len(asked) == 2


def test_it_finds_a_narrow_bump_and_a_wide_shift():
    rng = np.random.default_rng(2)
    x = rng.uniform(-1, 1, 400)
    bump = np.where(np.abs(x - 0.3) < 0.1, 0.95, 0.5)
    shift = np.full(400, 0.6)
    for truth in (bump, shift):
        y = rng.random(400) < truth
        assert er.model_test(np.full(400, 0.5), x, y, n_resamples=199, rng=0).pvalue <= 0.01


def test_counts_are_labels_that_share_an_input(values_of):
    trials = np.array([1, 3, 2, 5, 4])
    place = np.repeat(np.arange(5), trials)
    labels = RNG.integers(0, 2, (8, len(place)))
    successes = np.stack([np.bincount(place, row, 5) for row in labels]).astype(int)
    grouped = values_of(Multiscale(), X[:5], successes, P[:5], trials=trials)
    expanded = values_of(Multiscale(), X[:5][place], labels, P[:5][place])
    np.testing.assert_array_equal(grouped, expanded)
