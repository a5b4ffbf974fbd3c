"""Kernels by their formulas, bandwidths by hand, and kernels from outside by their checks."""

import numpy as np
import pytest
from scipy.spatial.distance import cdist, pdist

from exactregion.data.sample import Sample
from exactregion.engine import PreparedStatistic
from exactregion.errors import InvalidTypeError, InvalidValueError
from exactregion.kernels import (
    CallableKernel,
    Gaussian,
    Laplacian,
    Matern,
    Poisson,
    Polynomial,
    Precomputed,
    as_kernel,
    scales_of,
    vectors,
)
from exactregion.kernels.vectors import LABEL_DISTANCE
from exactregion.statistics import Discrepancy

RNG = np.random.default_rng(0)
POINTS = RNG.normal(size=(12, 2))
VECTOR_KERNELS = [
    Gaussian(0.7),
    Laplacian(0.7),
    Laplacian(0.7, norm=2),
    Matern(0.7, nu=0.5),
    Matern(0.7, nu=1.5),
    Matern(0.7, nu=2.5),
    Matern(0.7, nu=3.1),
]


def inputs_of(X, y=None):
    return Sample.from_data(X, np.zeros(len(X)) if y is None else y).inputs


def gram_of(kernel, X, y=None, *, standardize=False, what="gram"):
    """The kernel at the distinct inputs, which come sorted."""
    gram = getattr(kernel.on(inputs_of(X, y), standardize=standardize), what)
    return gram.columns(np.arange(gram.size))


def sorted_rows(X):
    return np.unique(X, axis=0)


# --- formulas -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kernel", "metric", "formula"),
    [
        (Gaussian(0.7), "euclidean", lambda r: np.exp(-(r**2) / 2)),
        (Laplacian(0.7), "cityblock", lambda r: np.exp(-r)),
        (Laplacian(0.7, norm=2), "euclidean", lambda r: np.exp(-r)),
        (Matern(0.7, nu=0.5), "euclidean", lambda r: np.exp(-r)),
        (
            Matern(0.7, nu=1.5),
            "euclidean",
            lambda r: (1 + np.sqrt(3) * r) * np.exp(-np.sqrt(3) * r),
        ),
        (
            Matern(0.7, nu=2.5),
            "euclidean",
            lambda r: (1 + np.sqrt(5) * r + 5 * r**2 / 3) * np.exp(-np.sqrt(5) * r),
        ),
    ],
)
def test_formula_of_the_distance(kernel, metric, formula):
    points = sorted_rows(POINTS)
    expected = formula(cdist(points, points, metric) / 0.7)
    np.testing.assert_allclose(gram_of(kernel, POINTS), expected, rtol=1e-12)
    labelled = np.array([[0.0, 0.0, 0.0], [0.3, -1.0, LABEL_DISTANCE]])
    apart = kernel.between(labelled[:1, :2], labelled[1:, :2], LABEL_DISTANCE)[0, 0]
    assert apart == pytest.approx(formula(pdist(labelled, metric)[0] / 0.7), rel=1e-12)


def test_the_laplacian_of_the_1_norm_is_a_product_over_columns():
    together = Laplacian(0.7).between(POINTS, POINTS)
    columns = [Laplacian(0.7).between(column[:, None], column[:, None]) for column in POINTS.T]
    np.testing.assert_allclose(together, columns[0] * columns[1], rtol=1e-12)


def test_poisson_is_a_product_over_angles_that_are_never_scaled():
    rho, points = 0.4, sorted_rows(POINTS)
    gap = points[:, None] - points
    factors = (1 - rho**2) / (1 - 2 * rho * np.cos(gap) + rho**2)
    K = gram_of(Poisson(rho), POINTS, standardize=True)
    np.testing.assert_allclose(K, factors.prod(axis=-1), rtol=1e-12)
    np.testing.assert_allclose(gram_of(Poisson(rho), POINTS + 2 * np.pi), K, rtol=1e-9)


@pytest.mark.parametrize("nu", [0.5, 1.5, 2.5])
def test_matern_is_continuous_at_the_written_out_smoothnesses(nu):
    near = Matern(0.7, nu=nu + 1e-9).between(POINTS, POINTS)
    np.testing.assert_allclose(near, Matern(0.7, nu=nu).between(POINTS, POINTS), atol=1e-8)


@pytest.mark.parametrize("nu", [0.05, 0.25, 0.5, 1.0, 2.5, 3.5, 30.0])
def test_matern_is_one_at_distance_zero_and_falls_with_it(nu):
    r = np.concatenate([[0.0, 1e-12, 1e-6], np.linspace(0.1, 5, 50)])[:, None]
    values = Matern(1.0, nu=nu).between(r, np.zeros((1, 1)))[:, 0]
    assert values[0] == pytest.approx(1, abs=1e-12)
    assert (np.diff(values) <= 1e-12).all()
    assert values[-1] < 0.2


def test_a_very_smooth_matern_is_nearly_gaussian():
    smooth = Matern(0.7, nu=50.0).between(POINTS, POINTS)
    np.testing.assert_allclose(smooth, Gaussian(0.7).between(POINTS, POINTS), atol=0.01)


@pytest.mark.parametrize("kernel", [*VECTOR_KERNELS, Poisson(0.6)])
@pytest.mark.parametrize("what", ["gram", "contrast"])
def test_gram_matrices_are_symmetric_and_positive_semidefinite(kernel, what):
    X = RNG.normal(size=(40, 2))
    K = gram_of(kernel, X, what=what)
    np.testing.assert_allclose(K, K.T, rtol=1e-12)
    assert np.linalg.eigvalsh(K)[0] > -1e-12 * len(K)


@pytest.mark.parametrize("kernel", VECTOR_KERNELS)
def test_contrast_is_half_of_same_minus_different(kernel):
    points = sorted_rows(POINTS)
    same = kernel.between(points, points)
    different = kernel.between(points, points, LABEL_DISTANCE)
    expected = (same - different) / 2
    np.testing.assert_allclose(gram_of(kernel, POINTS, what="contrast"), expected, rtol=1e-12)


@pytest.mark.parametrize(
    "kernel", [Poisson(), Precomputed(np.eye(12)), CallableKernel(lambda a, b: float(a @ b))]
)
def test_other_kernels_compare_where_labels_agree(kernel):
    gram, contrast = gram_of(kernel, POINTS), gram_of(kernel, POINTS, what="contrast")
    np.testing.assert_allclose(contrast, gram / 2)


@pytest.mark.parametrize(
    "kernel",
    [
        *VECTOR_KERNELS,
        Poisson(),
        Polynomial(3, 0.5),
        CallableKernel(lambda a, b: float(a @ b)),
        Precomputed(POINTS @ POINTS.T),
    ],
)
@pytest.mark.parametrize("what", ["gram", "contrast"])
def test_a_gram_gives_the_columns_asked_for_and_the_diagonal(kernel, what):
    gram = getattr(kernel.on(inputs_of(POINTS), standardize=True), what)
    K = gram.columns(np.arange(gram.size))
    assert K.shape == (12, 12)
    np.testing.assert_array_equal(gram.columns(np.array([3, 0])), K[:, [3, 0]])
    np.testing.assert_allclose(gram.diagonal, np.diag(K), rtol=1e-12)


@pytest.mark.parametrize("kernel", [Gaussian(0.7), Poisson(), CallableKernel(lambda a, b: a @ b)])
def test_cross_takes_nodes_in_the_units_of_the_inputs(kernel):
    bound = kernel.on(inputs_of(POINTS), standardize=True)
    K = bound.gram.columns(np.arange(12))
    np.testing.assert_allclose(bound.cross(sorted_rows(POINTS)), K, rtol=1e-12, atol=1e-15)


def test_a_large_data_set_does_not_cost_the_whole_gram_matrix():
    u, evaluated = 2500, 0

    class Counting(Gaussian):
        def between(self, A, B, label_distance=0.0):
            nonlocal evaluated
            evaluated += len(A) * len(B)
            return super().between(A, B, label_distance)

    PreparedStatistic.of(Discrepancy(Counting(0.5)), inputs_of(np.linspace(0, 1, u)), 20)
    assert evaluated < u * u / 2


# --- bandwidth and scale ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kernel", "metric"),
    [(Gaussian(), "euclidean"), (Laplacian(), "cityblock"), (Laplacian(norm=2), "euclidean")],
)
def test_default_bandwidth_is_half_the_median_distance(kernel, metric):
    median = np.sort(pdist(POINTS, metric))[32]  # the middle one of 66 pairs, from below
    settled = type(kernel)(**{**vars(kernel), "bandwidth": median / 2})
    np.testing.assert_allclose(gram_of(kernel, POINTS), gram_of(settled, POINTS), rtol=1e-12)


def test_default_bandwidth_is_half_the_median_over_trials_at_different_inputs():
    # 64 pairs at distance 1, 8 at 4, 8 at 5, and those at distance 0 left out
    K = gram_of(Gaussian(), [0.0] * 8 + [1.0] * 8 + [5.0])
    np.testing.assert_allclose(K[0], np.exp(-np.array([0, 1, 25]) / (2 * 0.5**2)))


@pytest.mark.parametrize("kernel", [Gaussian(), Laplacian(), Matern()])
@pytest.mark.parametrize("standardize", [True, False])
def test_repeated_rows_are_the_same_as_counts(kernel, standardize):
    points, times = POINTS[:5], np.array([1, 4, 2, 7, 1])
    counts = np.column_stack([np.zeros(5), times])
    grouped = gram_of(kernel, points, counts, standardize=standardize)
    repeated = gram_of(kernel, np.repeat(points, times, axis=0), standardize=standardize)
    np.testing.assert_allclose(grouped, repeated, rtol=1e-12)


@pytest.mark.parametrize("multiple", [0.25, 1, 2.0])
@pytest.mark.parametrize("kernel", [Gaussian, Laplacian, Matern])
def test_a_multiple_is_of_the_default_bandwidth(kernel, multiple):
    metric = "cityblock" if kernel is Laplacian else "euclidean"
    width = multiple * np.sort(pdist(POINTS, metric))[32] / 2
    np.testing.assert_allclose(
        gram_of(kernel(multiple=multiple), POINTS), gram_of(kernel(width), POINTS), rtol=1e-12
    )


def test_a_multiple_leaves_a_bandwidth_of_the_user_alone():
    np.testing.assert_array_equal(
        gram_of(Gaussian(0.7, multiple=3.0), POINTS), gram_of(Gaussian(0.7), POINTS)
    )


@pytest.mark.parametrize("multiple", [0, -1.0, "wide", None, np.nan, np.inf, 1j])
def test_multiple_must_be_positive(multiple):
    with pytest.raises(InvalidValueError, match=r"'multiple'.*positive number. Got"):
        Gaussian(multiple=multiple)


def test_the_median_is_computed_once_for_each_distance_and_unit(monkeypatch):
    asked = []
    compute = Gaussian.median_distance

    def counting(self, distinct, points):
        asked.append(self.metric)
        return compute(self, distinct, points)

    monkeypatch.setattr(vectors.VectorKernel, "median_distance", counting)
    inputs = inputs_of(POINTS * [1.0, 3.0])
    for kernel in (Gaussian(), Gaussian(multiple=2), Matern(), Laplacian(norm=2), Gaussian(1.0)):
        kernel.on(inputs, standardize=True)
    assert asked == ["euclidean"]
    Laplacian().on(inputs, standardize=True)
    assert asked == ["euclidean", "cityblock"]
    own = Gaussian().on(inputs, standardize=False)
    assert asked == ["euclidean", "cityblock", "euclidean"]
    fresh = Gaussian().on(inputs_of(POINTS * [1.0, 3.0]), standardize=False)
    every = np.arange(12)
    np.testing.assert_array_equal(own.gram.columns(every), fresh.gram.columns(every))


def test_equal_inputs_have_bandwidth_one():
    np.testing.assert_array_equal(gram_of(Gaussian(), np.ones(5), standardize=True), [[1.0]])


def test_the_median_of_many_points_is_that_of_some_spread_among_them(monkeypatch):
    distinct = inputs_of(np.random.default_rng(0).normal(size=400)).distinct
    whole = Gaussian().median_distance(distinct, distinct.points)
    monkeypatch.setattr(vectors, "MEDIAN_POINTS", 100)
    assert Gaussian().median_distance(distinct, distinct.points) == pytest.approx(whole, rel=0.05)


@pytest.mark.parametrize("kernel", [Gaussian(), Gaussian(0.5), Laplacian(), Matern(nu=2.5)])
def test_units_change_nothing_where_inputs_are_standardised(kernel):
    in_other_units = POINTS * [1000.0, 0.01] + [5.0, -3.0]
    np.testing.assert_allclose(
        gram_of(kernel, POINTS, standardize=True),
        gram_of(kernel, in_other_units, standardize=True),
        rtol=1e-9,
    )


def test_a_bandwidth_is_in_the_units_of_the_user_where_they_are_kept():
    K = gram_of(Gaussian(2.0), [0.0, 10.0, 14.0])
    np.testing.assert_allclose(K[1], np.exp([-100 / 8, 0, -16 / 8]))


def test_scales_are_mean_and_standard_deviation_over_trials():
    X, times = np.array([[0.0, 1.0], [2.0, 5.0], [7.0, 6.0]]), np.array([1, 3, 2])
    distinct = inputs_of(X, np.column_stack([times, 0 * times])).distinct
    centre, scale = scales_of(distinct, standardize=True)
    rows = np.repeat(X, times, axis=0)
    np.testing.assert_allclose(centre, rows.mean(axis=0))
    np.testing.assert_allclose(scale, rows.std(axis=0))
    assert [part.tolist() for part in scales_of(distinct, standardize=False)] == [[0, 0], [1, 1]]


@pytest.mark.parametrize("constant", [0.0, 0.1, 1e9])
def test_a_constant_column_has_scale_one(constant):
    X = np.column_stack([np.full(30, constant), np.arange(30.0)])
    _, scale = scales_of(inputs_of(X).distinct, standardize=True)
    np.testing.assert_allclose(scale, [1.0, np.arange(30).std()])


@pytest.mark.parametrize("unit", [1e-200, 1e200])
def test_inputs_near_the_ends_of_the_floats_are_standardised_too(unit):
    np.testing.assert_allclose(
        gram_of(Gaussian(1.0), POINTS * unit, standardize=True),
        gram_of(Gaussian(1.0), POINTS, standardize=True),
        rtol=1e-9,
    )


# --- kernels from outside -----------------------------------------------------------------------


def test_a_callable_is_given_rows_or_objects():
    words = ["ab", "b", "abc", "b"]
    common = CallableKernel(lambda a, b: float(len(set(a) & set(b))))
    expected = [[2, 1, 2, 1], [1, 1, 1, 1], [2, 1, 3, 1], [1, 1, 1, 1]]
    assert gram_of(common, words).tolist() == expected
    linear = gram_of(CallableKernel(lambda a, b: float(a @ b)), POINTS)
    np.testing.assert_allclose(linear, sorted_rows(POINTS) @ sorted_rows(POINTS).T)


def test_precomputed_is_in_the_order_of_the_rows_of_the_user():
    x = np.array([3.0, 1.0, 2.0, 1.0])
    K = np.exp(-np.abs(np.subtract.outer(x, x)))
    ordered = [1, 1, 2, 3]
    np.testing.assert_array_equal(
        gram_of(Precomputed(K), x), np.exp(-np.abs(np.subtract.outer(ordered, ordered)))
    )
    objects = ["c", "a", "b", "a"]
    np.testing.assert_array_equal(gram_of(Precomputed(K.tolist()), objects), K)


@pytest.mark.parametrize("shape", [(3, 3), (12,), (12, 11)])
def test_precomputed_of_the_wrong_shape(shape):
    with pytest.raises(
        InvalidValueError,
        match=r"'gram'.*shape \(12, 12\).*Got " + str(shape).replace("(", r"\(")[:-1],
    ):
        gram_of(Precomputed(np.ones(shape)), POINTS)


def test_precomputed_that_is_no_matrix():
    with pytest.raises(InvalidTypeError, match="'gram'"):
        gram_of(Precomputed("gaussian"), POINTS)


OUTSIDE = {
    "callable": lambda f: CallableKernel(lambda a, b: f(float(a[0]), float(b[0]))),
    "precomputed": lambda f: Precomputed([[f(a, b) for b in POINTS[:, 0]] for a in POINTS[:, 0]]),
}


@pytest.mark.parametrize("make", OUTSIDE.values(), ids=OUTSIDE.keys())
@pytest.mark.parametrize(
    ("function", "message"),
    [
        (lambda a, b: a - b, "symmetric.*differ by up to"),
        (lambda a, b: -a * b, "positive semidefinite.*eigenvalue -"),
        (lambda a, b: abs(a - b), "positive semidefinite.*eigenvalue -"),
        (lambda a, b: np.nan, "finite.*Got NaN or infinity"),
        (lambda a, b: np.inf, "finite.*Got NaN or infinity"),
    ],
)
def test_what_is_no_kernel(make, function, message):
    with pytest.raises(InvalidValueError, match=f"The kernel must .*{message}"):
        gram_of(make(function), POINTS)


@pytest.mark.parametrize("value", ["near", [1.0, 2.0]])
def test_a_callable_that_gives_no_numbers(value):
    with pytest.raises(InvalidTypeError, match="kernel must"):
        gram_of(CallableKernel(lambda a, b: value), POINTS)


# --- names and settings -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "kernel"),
    [
        ("gaussian", Gaussian()),
        ("laplacian", Laplacian()),
        ("laplacian_euclidean", Laplacian(norm=2)),
        ("matern", Matern()),
        ("poisson", Poisson()),
        ("polynomial", Polynomial()),
    ],
)
def test_kernels_by_name(name, kernel):
    assert as_kernel(name) == kernel
    assert as_kernel(kernel) is kernel


def test_a_bandwidth_goes_to_the_kernel():
    assert as_kernel("laplacian_euclidean", 0.5) == Laplacian(0.5, norm=2)
    assert as_kernel(Matern(nu=2.5), 0.5) == Matern(0.5, nu=2.5)


def test_a_callable_is_a_kernel():
    assert isinstance(as_kernel(lambda a, b: 1.0), CallableKernel)


def test_unknown_kernel_name_lists_the_known_ones():
    with pytest.raises(
        InvalidValueError,
        match=r"'kernel'.*'gaussian', 'laplacian', 'laplacian_euclidean', 'matern', 'poisson'",
    ):
        as_kernel("rbf")


@pytest.mark.parametrize("kernel", [5, None, [Gaussian()], Gaussian])
def test_what_is_not_even_a_candidate_for_a_kernel(kernel):
    with pytest.raises(InvalidTypeError, match="'kernel' parameter must be a name, a kernel or"):
        as_kernel(kernel)


@pytest.mark.parametrize("bandwidth", [0, -1.0, "wide", np.nan, np.inf, 1j])
def test_bandwidth_must_be_positive(bandwidth):
    with pytest.raises(InvalidValueError, match=r"'bandwidth'.*positive number.*Got"):
        Gaussian(bandwidth)
    with pytest.raises(InvalidValueError, match=r"'bandwidth'.*positive number.*Got"):
        as_kernel("gaussian", bandwidth)


@pytest.mark.parametrize(
    "kernel", ["poisson", "polynomial", lambda a, b: 1.0, Precomputed(np.eye(2))]
)
def test_bandwidth_for_a_kernel_without(kernel):
    with pytest.raises(InvalidValueError, match=r"'bandwidth'.*left out for \w+.*Got 1.5"):
        as_kernel(kernel, 1.5)


@pytest.mark.parametrize("norm", [0, 3, "1", None])
def test_norm_must_be_one_or_two(norm):
    with pytest.raises(InvalidValueError, match=r"'norm'.*1 or 2. Got"):
        Laplacian(norm=norm)


@pytest.mark.parametrize("nu", [0, -1, np.inf, np.nan, "rough"])
def test_smoothness_must_be_positive(nu):
    with pytest.raises(InvalidValueError, match=r"'nu'.*above 0, and at most 100. Got"):
        Matern(nu=nu)


@pytest.mark.parametrize("rho", [0, 1, -0.5, np.nan, "half"])
def test_concentration_must_be_between_zero_and_one(rho):
    with pytest.raises(InvalidValueError, match=r"'rho'.*between 0 and 1.*Got"):
        Poisson(rho)


def test_a_kernel_without_bandwidth_must_be_tied_to_inputs_first():
    with pytest.raises(InvalidValueError, match=r"bandwidth.*chosen by Kernel.on"):
        Gaussian().between(POINTS, POINTS)


@pytest.mark.parametrize("kernel", [Gaussian(), Poisson()])
def test_objects_need_a_kernel_from_outside(kernel):
    with pytest.raises(InvalidTypeError, match=r"must be numeric.*sequence of str"):
        gram_of(kernel, ["a", "b"])


@pytest.mark.parametrize("settings", [{"degree": 0}, {"degree": 2.0}, {"degree": True}, {"c": -1}])
def test_settings_of_a_polynomial(settings):
    (name,) = settings
    with pytest.raises(InvalidValueError, match=f"'{name}' parameter of Polynomial"):
        Polynomial(**settings)


def test_a_polynomial_that_overflows_is_told():
    with pytest.raises(InvalidValueError, match=r"'X' parameter.*small enough.*degree 4"):
        gram_of(Polynomial(4), 1e90 * POINTS)


def test_a_polynomial_is_one_of_scaled_inputs():
    scaled = sorted_rows((POINTS - POINTS.mean(axis=0)) / POINTS.std(axis=0))
    found = gram_of(Polynomial(2), POINTS, standardize=True)
    np.testing.assert_allclose(found, (scaled @ scaled.T + 1) ** 2, rtol=1e-9)
