"""The paper's constructs, written down literally, against the library.

Equations are numbered as in the paper; docs/theory/constructs.md lists them with these tests. Slow
and obvious on purpose. `evaluate` gives labels, seat and probabilities; from these each
formula is computed as the paper states it, and Z must agree up to a positive factor and a constant,
ranks exactly.
"""

from itertools import permutations

import numpy as np
import pytest
from scipy import stats
from scipy.integrate import quad_vec

import exactregion as er
from exactregion.features import grid as features
from exactregion.kernels import Poisson, Polynomial
from exactregion.ranking import AcceptedRanks, rank_of

N, M, SIGMA, K_NEAREST = 30, 20, 0.5, 5
THETAS = [(0.5, 1.0), (0.4, 1.3), (0.7, 0.6), (0.2, 2.5)]


def laplace_data(n=N, seed=3):
    rng = np.random.default_rng(seed)
    y = rng.choice([-1, 1], n)
    return y + rng.laplace(size=n), y


def literal_rank(Z, seat):
    """Number of data sets at or below the original, ties broken by the place in the row."""
    rank = 1
    for i in range(len(Z)):
        if i != seat and (Z[i] < Z[seat] or (Z[i] == Z[seat] and i < seat)):
            rank += 1
    return rank


def knn_estimate(x, inputs, labels, k):
    """Mean label of the k nearest inputs, by sorting distances."""
    nearest = np.argsort(np.abs(inputs - x), kind="stable")[:k]
    return labels[:, nearest].mean(axis=1)


def smoother_estimate(x, inputs, labels, kernel):
    weights = np.array([kernel(x, xj) for xj in inputs])
    return labels @ weights / weights.sum()


def sum_of_squared_distances(estimates, mass):
    """Z_i = Σ_j ∫ (f_i - f_j)² dμ with estimates (m, nodes) and the nodes' mass."""
    m = len(estimates)
    Z = np.zeros(m)
    for i in range(m):
        for j in range(m):
            Z[i] += np.sum((estimates[i] - estimates[j]) ** 2 * mass)
    return Z


def gaussian(a, b):
    return np.exp(-np.sum((np.asarray(a) - np.asarray(b)) ** 2) / (2 * SIGMA**2))


def laplacian(a, b):
    return np.exp(-np.sum(np.abs(np.asarray(a) - np.asarray(b))) / SIGMA)


def euclidean_laplacian(a, b):
    return np.exp(-np.sqrt(np.sum((np.asarray(a) - np.asarray(b)) ** 2)) / SIGMA)


def poisson(a, b, rho=0.4):
    """On the circle, for angles."""
    return (1 - rho**2) / (1 - 2 * rho * np.cos(a - b) + rho**2)


def labelled_poisson(a, b):
    """A product kernel on X × {-1, +1}: rows are compared where their labels agree."""
    return poisson(a[0], b[0]) * (a[1] == b[1])


def polynomial(degree, c):
    def kernel(a, b):
        return (np.sum(np.atleast_1d(a) * np.atleast_1d(b)) + c) ** degree

    return kernel


def algorithm_1_knn(x, labels, probabilities, low, high):
    """The neighbours can only change at a midpoint of two inputs: integrate between those."""
    midpoints = np.unique((x[:, None] + x[None, :]) / 2)
    edges = np.concatenate([[low], midpoints[(midpoints > low) & (midpoints < high)], [high]])
    centres = (edges[:-1] + edges[1:]) / 2
    estimates = np.array([knn_estimate(c, x, labels, K_NEAREST) for c in centres]).T
    return sum_of_squared_distances(estimates, np.diff(edges))


def algorithm_1_smoother_uniform(x, labels, probabilities, low, high):
    m = len(labels)

    def integrand(point):
        f = smoother_estimate(point, x, labels, gaussian)
        return np.array([np.sum((f[i] - f) ** 2) for i in range(m)])

    return quad_vec(integrand, low, high, epsabs=1e-13, epsrel=1e-12, limit=2000)[0]


def algorithm_1_empirical(estimate):
    def formula(x, labels, probabilities, low, high):
        estimates = np.array([estimate(point, x, labels) for point in x]).T
        return sum_of_squared_distances(estimates, np.full(len(x), 1 / len(x)))

    return formula


def algorithm_1_monte_carlo(estimate, points, seed):
    """Equation 36: the mean over independent points that are uniform on the domain."""

    def formula(x, labels, probabilities, low, high):
        rng = np.random.default_rng(seed)
        nodes = [low + (high - low) * rng.random() for _ in range(points)]
        estimates = np.array([estimate(node, x, labels) for node in nodes]).T
        return sum_of_squared_distances(estimates, np.full(points, 1 / points))

    return formula


def algorithm_2(kernel):
    """Kernel mean embeddings of the labelled data, by Gram matrices of 2n points."""

    def formula(x, labels, probabilities, low, high):
        m, n = labels.shape
        Z = np.zeros(m)
        for i in range(m):
            for j in range(m):
                points = [(x[r], labels[i, r]) for r in range(n)]
                points += [(x[r], labels[j, r]) for r in range(n)]
                gram = np.array([[kernel(a, b) for b in points] for a in points])
                c = np.concatenate([np.full(n, 1 / n), np.full(n, -1 / n)])
                Z[i] += c @ gram @ c
        return Z

    return formula


def algorithm_3(kernel):
    """Discrepancy: ‖(1/n) Σ_j (y_ij - f(x_j)) k(x_j, ·)‖²."""

    def formula(x, labels, probabilities, low, high):
        m, n = labels.shape
        f = 2 * probabilities - 1
        Z = np.zeros(m)
        for i in range(m):
            for a in range(n):
                for b in range(n):
                    residuals = (labels[i, a] - f[a]) * (labels[i, b] - f[b])
                    Z[i] += residuals * kernel(x[a], x[b]) / n**2
        return Z

    return formula


LOW, HIGH = -3.0, 3.0
UNITS = {"standardize": False}
UNIFORM = {"measure": "uniform", "domain": [(LOW, HIGH)], "standardize": False}
CASES = {
    "I kNN, uniform": (er.statistics.Neighborhood(k=K_NEAREST, **UNIFORM), algorithm_1_knn, N),
    "I kNN, empirical": (
        er.statistics.Neighborhood(k=K_NEAREST, **UNITS),
        algorithm_1_empirical(lambda p, x, y: knn_estimate(p, x, y, K_NEAREST)),
        N,
    ),
    "I Gaussian, uniform": (
        er.statistics.Neighborhood(kernel="gaussian", bandwidth=SIGMA, **UNIFORM),
        algorithm_1_smoother_uniform,
        N,
    ),
    "I Gaussian, empirical": (
        er.statistics.Neighborhood(kernel="gaussian", bandwidth=SIGMA, **UNITS),
        algorithm_1_empirical(lambda p, x, y: smoother_estimate(p, x, y, gaussian)),
        N,
    ),
    "I Laplacian, empirical": (
        er.statistics.Neighborhood(kernel="laplacian", bandwidth=SIGMA, **UNITS),
        algorithm_1_empirical(lambda p, x, y: smoother_estimate(p, x, y, laplacian)),
        N,
    ),
    "II Gaussian": (er.statistics.Embedding("gaussian", SIGMA, **UNITS), algorithm_2(gaussian), 8),
    "II Laplacian": (
        er.statistics.Embedding("laplacian", SIGMA, **UNITS),
        algorithm_2(laplacian),
        8,
    ),
    "II Euclidean Laplacian": (
        er.statistics.Embedding("laplacian_euclidean", SIGMA, **UNITS),
        algorithm_2(euclidean_laplacian),
        8,
    ),
    "II Poisson": (
        er.statistics.Embedding(Poisson(0.4), **UNITS),
        algorithm_2(labelled_poisson),
        8,
    ),
    "II polynomial": (
        er.statistics.Embedding(Polynomial(3, 0.5), **UNITS),
        algorithm_2(polynomial(3, 0.5)),
        8,
    ),
    "III Gaussian": (
        er.statistics.Discrepancy("gaussian", SIGMA, **UNITS),
        algorithm_3(gaussian),
        N,
    ),
    "III Poisson": (
        er.statistics.Discrepancy(Poisson(0.4), **UNITS),
        algorithm_3(poisson),
        N,
    ),
    "III polynomial": (
        er.statistics.Discrepancy("polynomial", **UNITS),
        algorithm_3(polynomial(2, 1.0)),
        N,
    ),
    "I kNN, Monte Carlo": (
        er.statistics.Neighborhood(
            k=K_NEAREST, measure="monte_carlo", domain=[(LOW, HIGH)], nodes=60, seed=8, **UNITS
        ),
        algorithm_1_monte_carlo(lambda p, x, y: knn_estimate(p, x, y, K_NEAREST), 60, 8),
        N,
    ),
    "I Gaussian, Monte Carlo": (
        er.statistics.Neighborhood(
            kernel="gaussian",
            bandwidth=SIGMA,
            measure="monte_carlo",
            domain=[(LOW, HIGH)],
            nodes=60,
            seed=8,
            **UNITS,
        ),
        algorithm_1_monte_carlo(lambda p, x, y: smoother_estimate(p, x, y, gaussian), 60, 8),
        N,
    ),
}


@pytest.fixture
def unrounded(monkeypatch):
    """Switch the dyadic grid off, to compare formulas to more digits than the grid keeps."""
    monkeypatch.setattr(features, "on_grid", lambda values, unit: values)
    monkeypatch.setattr(features, "probability_bits", lambda inputs: 50)


def region_of(statistic, n, seed):
    x, y = laplace_data(n)
    model = er.models.LaplaceMixture(locations=(1, -1))
    region = er.ConfidenceRegion(
        model, statistic=statistic, confidence_level=0.9, n_resamples=M - 1, rng=seed
    )
    return x, y, region.fit(x, y)


def affine_error(Z, literal):
    """Largest distance of Z from the best a·literal + b, relative to the spread of Z."""
    design = np.column_stack([literal, np.ones(len(literal))])
    (a, b), *_ = np.linalg.lstsq(design, Z, rcond=None)
    assert a > 0
    return np.abs(design @ [a, b] - Z).max() / np.ptp(Z)


@pytest.mark.parametrize("name", CASES)
def test_statistic_is_the_papers_up_to_factor_and_constant(name, unrounded):
    statistic, formula, n = CASES[name]
    x, y, region = region_of(statistic, n, seed=5)
    for theta in THETAS[:2]:
        ev = region.evaluate(theta)
        assert np.array_equal(ev.labels[ev.seat], y)
        literal = formula(x, ev.labels, ev.probabilities, LOW, HIGH)
        assert affine_error(ev.Z, literal) < 1e-9


@pytest.mark.parametrize("name", CASES)
def test_ranks_are_the_papers(name):
    statistic, formula, n = CASES[name]
    for seed, theta in enumerate(THETAS[:2] if n < N else THETAS):
        x, _, region = region_of(statistic, n, seed)
        ev = region.evaluate(theta)
        literal = formula(x, ev.labels, ev.probabilities, LOW, HIGH)
        # equal data sets tie in the library; give the literal formula's rounding no say
        rounded = np.round(literal / np.ptp(literal), 11)
        assert ev.rank == literal_rank(rounded, ev.seat)
        assert ev.rank == region.rank(theta)
        assert ev.pvalue == (M - ev.rank + 1) / M


# --- the framework --------------------------------------------------------------------------------


def test_ranks_have_the_two_properties_of_a_ranking_function():
    """P1: the order of the others is nothing. P2: different data sets have different ranks."""
    values = [0.3, 1.5, 1.5, 2.0, -1.0]  # extended by their places, no two are equal
    elements = list(enumerate(values))

    def psi(first, others):
        row = sorted([first, *others])  # by place, as in the library
        return int(rank_of(np.array([value for _, value in row]), row.index(first)))

    for first in elements:
        others = [element for element in elements if element != first]
        assert len({psi(first, order) for order in permutations(others)}) == 1  # P1
    ranks = [psi(one, [e for e in elements if e != one]) for one in elements]
    assert sorted(ranks) == [1, 2, 3, 4, 5]  # P2


def test_lemma_1_on_all_permutations():
    """The rank of a uniformly permuted row is uniform, ties or none, at a uniform seat."""
    for values in ([4.0, 1.0, 3.0, 2.0], [1.0, 1.0, 2.0, 1.0], [0.0] * 4):
        ranks = [
            int(rank_of(np.array(row), seat)) for row in permutations(values) for seat in range(4)
        ]
        assert np.bincount(ranks)[1:].tolist() == [24] * 4


def test_theorem_1_on_all_data_sets_of_three_coins():
    """P(p ≤ rank ≤ q) = (q - p + 1) / m, summed over all labels, alternatives and seats."""
    chance = {1: 0.3, -1: 0.7}
    m = 3
    found = {(low, high): 0.0 for low in range(1, m + 1) for high in range(low, m + 1)}
    for labels in np.ndindex(*(2,) * m):
        y = 2 * np.array(labels) - 1
        Z = (y - (2 * 0.3 - 1.0)) ** 2  # Algorithm III with one row
        for seat in range(m):
            rank = rank_of(Z, seat)
            for low, high in found:
                if AcceptedRanks(m, low, high).holds(rank):
                    found[low, high] += np.prod([chance[label] for label in y]) / m
    for (low, high), probability in found.items():
        assert probability == pytest.approx((high - low + 1) / m, abs=1e-12)
        assert AcceptedRanks(m, low, high).coverage == pytest.approx((high - low + 1) / m)


def mixture_f(p, positive, negative):
    """Equation 9: f(x) of two densities."""
    return (p * positive - (1 - p) * negative) / (p * positive + (1 - p) * negative)


@pytest.mark.parametrize("theta", THETAS)
def test_mixture_is_equation_9(theta):
    p, scale = theta
    x = np.linspace(-4, 4, 33)
    for model, density in (
        (er.models.LaplaceMixture((1, -1)), stats.laplace),
        (er.models.GaussianMixture((1, -1)), stats.norm),
    ):
        f = mixture_f(p, density.pdf(x, 1, scale), density.pdf(x, -1, scale))
        np.testing.assert_allclose(2 * model.probabilities(theta, x) - 1, f, atol=1e-12)


@pytest.mark.parametrize("theta", THETAS)
def test_mixture_in_several_dimensions_is_equation_9(theta):
    p, scale = theta
    X = np.random.default_rng(1).normal(size=(20, 3)) * 2
    plus, minus = (1.0, 0.0, 0.5), (-1.0, 2.0, 0.5)
    for kind, density in (
        (er.models.LaplaceMixture, stats.laplace),
        (er.models.GaussianMixture, stats.norm),
    ):
        densities = [density.pdf(X, where, scale).prod(axis=1) for where in (plus, minus)]
        f = mixture_f(p, *densities)
        general = er.models.Mixture(
            density, density, {"loc": plus}, {"loc": minus}, shared=("scale",)
        )
        for model in (kind((plus, minus)), general):
            np.testing.assert_allclose(2 * model.probabilities(theta, X) - 1, f, atol=1e-11)
    whole = stats.multivariate_normal
    densities = [whole.pdf(X, where, scale**2 * np.eye(3)) for where in (plus, minus)]
    isotropic = er.models.GaussianMixture((plus, minus))
    found = 2 * isotropic.probabilities(theta, X) - 1
    np.testing.assert_allclose(found, mixture_f(p, *densities), atol=1e-11)


def test_polynomial_kernel_in_two_dimensions_is_its_formula(unrounded):
    rng = np.random.default_rng(6)
    X, p = rng.normal(size=(12, 2)), rng.random(12)
    y = rng.random(12) < p
    for c, degree in ((0.0, 1), (1.0, 2), (0.3, 3)):
        kernel = Polynomial(degree, c)
        third = er.statistics.Discrepancy(kernel, standardize=False)
        second = er.statistics.Embedding(kernel, standardize=False)
        formula = polynomial(degree, c)

        def labelled(a, b, formula=formula):
            return formula(np.append(*a), np.append(*b))

        for statistic, literal in (
            (third, algorithm_3(formula)),
            (second, algorithm_2(labelled)),
        ):
            seen = []

            def spy(labels, probabilities, X, literal=literal, seen=seen):
                seen.append(literal(X, labels, probabilities, LOW, HIGH))
                return seen[0]

            settings = {"n_resamples": 6, "rng": 1}
            result = er.model_test(p, X, y, statistic=statistic, **settings)
            er.model_test(p, X, y, statistic=spy, **settings)
            Z = np.append(result.null_distribution, result.statistic)
            assert affine_error(np.sort(Z), np.sort(seen[0])) < 1e-9


def test_alternatives_follow_the_shared_uniforms():
    """Two θ see the same uniforms: where the probability rises, labels only turn to +1."""
    _, _, region = region_of("discrepancy", N, seed=1)
    low, high = region.evaluate((0.3, 1.0)), region.evaluate((0.6, 1.0))
    assert low.seat == high.seat
    assert (high.probabilities >= low.probabilities).all()
    assert (high.labels >= low.labels).all()
    assert (high.labels != low.labels).any()


def test_fine_integration_agrees_with_exact_pieces():
    """The exact pieces of the nearest-neighbour integral, against a plain fine grid."""
    statistic, _, _ = CASES["I kNN, uniform"]
    x, _, region = region_of(statistic, N, seed=5)
    ev = region.evaluate(THETAS[1])
    grid = np.linspace(LOW, HIGH, 20_001)[:-1] + (HIGH - LOW) / 40_000
    estimates = np.array([knn_estimate(point, x, ev.labels, K_NEAREST) for point in grid]).T
    literal = sum_of_squared_distances(estimates, np.full(len(grid), (HIGH - LOW) / len(grid)))
    assert affine_error(ev.Z, literal) < 1e-3


def test_score_is_its_formula():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(25, 2))
    y = rng.random(25) < 0.4
    region = er.ConfidenceRegion("logistic", statistic="score", n_resamples=M - 1, rng=2).fit(X, y)
    theta = np.array([0.2, -0.5, 0.3])
    ev = region.evaluate(theta)
    design = np.column_stack([np.ones(25), X])
    p = 1 / (1 + np.exp(-design @ theta))
    information = design.T @ np.diag(p * (1 - p)) @ design
    scores = ((ev.labels + 1) / 2 - p) @ design
    literal = [s @ np.linalg.inv(information) @ s for s in scores]
    assert pytest.approx(literal, rel=1e-4) == ev.Z  # the grid keeps 2⁻²⁰ of the probabilities
    assert ev.rank == literal_rank(np.round(literal, 9), ev.seat)


def test_combined_is_its_formula():
    """score/d + 0.3 · discrepancy / E[discrepancy], E = (4/n²) Σ_j k(x_j, x_j) p_j (1 - p_j)."""
    x, y = laplace_data()
    settings = {"n_resamples": M - 1, "rng": 4}
    model = er.models.LaplaceMixture()
    found = {
        name: er.ConfidenceRegion(model, statistic=name, **settings).fit(x, y).evaluate((0.4, 1.2))
        for name in ("score", "discrepancy", "combined")
    }
    p = found["combined"].probabilities
    expected = 4 / len(x) ** 2 * (p * (1 - p)).sum()  # k(x, x) = 1 for the Gaussian kernel
    literal = found["score"].Z / 2 + 0.3 * found["discrepancy"].Z / expected
    # the factor of the kernel may leave out a thousandth of its trace
    assert pytest.approx(literal, rel=1e-3) == found["combined"].Z
    assert found["combined"].rank == literal_rank(found["combined"].Z, found["combined"].seat)
