"""Families of several classes against their formulas, written out literally."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

import exactregion as er

LEVELS = ["low", "mid", "high", "top"]
FAMILIES = {
    "multinomial": er.models.Multinomial(levels=LEVELS),
    "proportional odds": er.models.ProportionalOdds(levels=LEVELS),
}
THETAS = {
    "multinomial": [0.3, 1.0, -0.5, 0.4, 0.1, 0.2, -1.0, -0.7, 0.9],
    "proportional odds": [-0.6, 0.8, 1.3, 0.9, -0.5],
}


def data(n=25, seed=0):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, 2)), rng.integers(4, size=n)


def literal_probabilities(family, theta, x):
    if family == "multinomial":
        eta = [
            0.0,
            *(a + b @ x for a, b in zip(theta[::3], theta.reshape(3, 3)[:, 1:], strict=True)),
        ]
        odds = np.exp(eta)
        return odds / odds.sum()
    cuts = [theta[0], theta[0] + theta[1], theta[0] + theta[1] + theta[2]]
    below = [1 / (1 + np.exp(-(cut - theta[3:] @ x))) for cut in cuts]
    return np.diff([0.0, *below, 1.0])


def literal_scores(family, theta, x, step=1e-5):
    """∂ log P(Y = c | x) / ∂θ by differences: shape (C, d)."""
    columns = []
    for axis in np.eye(len(theta)):
        up, down = (literal_probabilities(family, theta + s * axis, x) for s in (step, -step))
        columns.append((np.log(up) - np.log(down)) / (2 * step))
    return np.stack(columns, axis=-1)


def literal_parts(family, theta, X, data_sets):
    """The score statistic of each data set, from the outcomes as classes."""
    P = np.array([literal_probabilities(family, theta, x) for x in X])
    S = np.array([literal_scores(family, theta, x) for x in X])
    information = sum(
        p * np.outer(s, s) for ps, ss in zip(P, S, strict=True) for p, s in zip(ps, ss, strict=True)
    )
    scores = np.array([sum(S[j, y] for j, y in enumerate(ys)) for ys in data_sets])
    return P, np.einsum("ia,ab,ib->i", scores, np.linalg.inv(information), scores)


@pytest.mark.parametrize("family", FAMILIES)
def test_probabilities_are_those_of_the_formula(family):
    X, _ = data()
    theta = np.array(THETAS[family])
    P = FAMILIES[family].probabilities(theta, X)
    expected = [literal_probabilities(family, theta, x) for x in X]
    assert np.allclose(P, expected, rtol=1e-12)


@pytest.mark.parametrize("family", FAMILIES)
def test_score_is_the_literal_one(family):
    X, y = data()
    theta = np.array(THETAS[family])
    region = er.ConfidenceRegion(FAMILIES[family], statistic="score", n_resamples=49, rng=1)
    found = region.fit(X, np.array(LEVELS)[y]).evaluate(theta)
    assert np.array_equal(found.labels[found.seat], y)
    P, Z = literal_parts(family, theta, X, found.labels)
    assert np.allclose(found.probabilities, P, atol=1e-12)
    assert np.allclose(found.Z, Z, rtol=1e-5)


@pytest.mark.parametrize("family", FAMILIES)
def test_combined_is_the_literal_one(family):
    """Score / d + 0.3 discrepancy / E[discrepancy], with the kernel of one class and another."""
    X, y = data()
    theta = np.array(THETAS[family])
    kernel = er.kernels.Gaussian(bandwidth=1.0)
    statistic = er.statistics.Combined(
        er.statistics.Score(),
        er.statistics.Discrepancy(kernel, standardize=False),
        weights=(1.0, 0.3),
    )
    region = er.ConfidenceRegion(FAMILIES[family], statistic=statistic, n_resamples=49, rng=1)
    found = region.fit(X, np.array(LEVELS)[y]).evaluate(theta)
    P, score = literal_parts(family, theta, X, found.labels)
    K = np.exp(-((X[:, None] - X) ** 2).sum(axis=-1) / 2)
    residuals = np.eye(4)[found.labels] - P
    discrepancy = np.einsum("ijc,jk,ikc->i", residuals, K, residuals)
    expected = sum(K[j, j] * (1 - (p**2).sum()) for j, p in enumerate(P))
    Z = score / len(theta) + 0.3 * discrepancy / expected
    # regions leave out features of the kernel that weigh little
    assert np.allclose(found.Z, Z, rtol=0.02)


def test_labels_are_those_of_one_uniform_per_row():
    """The class is the number of thresholds P(Y ≥ k) above the uniform of the row."""
    X, y = data(9)
    order = np.lexsort(X.T[::-1])
    theta = np.array(THETAS["multinomial"])
    region = er.ConfidenceRegion(FAMILIES["multinomial"], n_resamples=30, rng=4)
    found = region.fit(X, np.array(LEVELS)[y]).evaluate(theta)
    uniforms = region.fitted_.resampling.draws.of_block(0).random((30, 9))
    thresholds = found.probabilities[:, ::-1].cumsum(axis=1)[:, ::-1][:, 1:]
    drawn = np.empty((30, 9), dtype=int)
    drawn[:, order] = (uniforms[:, :, None] < thresholds[order]).sum(axis=-1)
    assert np.array_equal(np.delete(found.labels, found.seat, axis=0), drawn)


def test_maximum_likelihood_of_multinomial_is_that_of_scikit_learn():
    X, y = data(80, seed=3)
    region = er.ConfidenceRegion("multinomial", n_resamples=19, rng=0).fit(X, y)
    fitted = LogisticRegression(C=np.inf, tol=1e-10, max_iter=1000).fit(X, y)
    expected = np.column_stack([fitted.intercept_, fitted.coef_])
    found = region.maximum_likelihood_.reshape(3, 3)
    assert np.allclose(found, (expected - expected[0])[1:], atol=1e-4)


def test_maximum_likelihood_of_proportional_odds_is_that_of_statsmodels():
    ordinal = pytest.importorskip("statsmodels.miscmodels.ordinal_model")
    X, y = data(80, seed=3)
    region = er.ConfidenceRegion("proportional-odds", n_resamples=19, rng=0).fit(X, y)
    model = ordinal.OrderedModel(y, X, distr="logit")
    fitted = model.fit(method="bfgs", disp=False, gtol=1e-8)
    cuts = model.transform_threshold_params(fitted.params)[1:-1]
    assert np.allclose(region.maximum_likelihood_[3:], fitted.params[:2], atol=1e-4)
    assert np.allclose(region.model_.cut_points(region.maximum_likelihood_), cuts, atol=1e-4)
