"""Columns made orthogonal to the score: what is left, and that every engine agrees on it."""

import numpy as np
import pytest

import exactregion as er
from exactregion import statistics
from exactregion.engine import Paths, PreparedStatistic, statistics_of_many
from exactregion.engine.evaluate import WORTH_SORTING
from exactregion.engine.terms import flat
from exactregion.errors import InvalidTypeError, InvalidValueError
from exactregion.kernels import Gaussian
from exactregion.models import CLogLog, Logistic, Probit, Psychometric
from exactregion.statistics import (
    Combined,
    Curvature,
    Custom,
    Discrepancy,
    Embedding,
    Multiscale,
    Neighborhood,
    Omnibus,
    Orthogonal,
    Score,
    Spiegelhalter,
)

RNG = np.random.default_rng(0)
X = RNG.normal(size=30)
TRIALS = 1 + np.arange(30) % 4
SUCCESSES = RNG.binomial(TRIALS, 0.5)
LABELS, COUNTS = RNG.integers(0, 2, 30), np.column_stack([SUCCESSES, TRIALS - SUCCESSES])
FAMILIES = {
    "logistic": (Logistic(), (0.3, 0.8)),
    "probit": (Probit(), (0.3, 0.8)),
    "cloglog": (CLogLog(), (-0.3, 0.5)),
    "psychometric": (Psychometric(Logistic(), guess=0.3, lapse="free"), (0.2, 1.5, 0.04)),
}
PARTS = [
    Discrepancy(),
    Discrepancy("laplacian", bandwidth=0.4),
    Embedding(),
    Neighborhood(),
    Neighborhood(measure="uniform", nodes=32),
    Neighborhood(kernel="gaussian"),
    Spiegelhalter(),
    Curvature(),
    Multiscale(),
    Combined(Discrepancy(), Spiegelhalter()),
]


def columns_at(statistic, y, model, theta, x=X):
    """Columns (T, n, r) of each term before they are rounded to the grid, and the candidates."""
    region = er.ConfidenceRegion(model, statistic=statistic, n_resamples=39, rng=1).fit(x, y)
    fitted = region.fitted_
    candidates = fitted.candidates(np.atleast_2d(np.asarray(theta, dtype=float)))
    return [term.columns(candidates) for term in flat(fitted.prepared.terms)], candidates


def inner_products(values, candidates):
    """ΦᵀWG of columns (T, n, r), as shares of the lengths of the columns."""
    P = candidates.probabilities
    weight = candidates.inputs.trials * P * (1 - P)
    G = candidates.logit_gradient
    products = np.einsum("tnr,tn,tnd->trd", values, weight, G)
    size = np.sqrt(np.einsum("tnr,tn->tr", values**2, weight))
    length = np.sqrt(np.einsum("tnd,tn->td", G**2, weight))
    return products / np.maximum(size[:, :, None] * length[:, None, :], 1e-300)


@pytest.mark.parametrize("y", [LABELS, COUNTS], ids=["labels", "counts"])
@pytest.mark.parametrize("family", FAMILIES)
def test_columns_are_orthogonal_to_the_score(family, y):
    columns, candidates = columns_at(Orthogonal(Multiscale()), y, *FAMILIES[family])
    assert len(columns) == 4
    for Phi in columns:
        assert np.abs(Phi).max() > 0.01
        assert np.abs(inner_products(Phi, candidates)).max() < 1e-12


@pytest.mark.parametrize("statistic", PARTS, ids=repr)
def test_any_statistic_made_of_sums(statistic):
    thetas = [[0.3, 0.8], [-1.0, 2.0], [0.0, 0.0]]
    columns, candidates = columns_at(Orthogonal(statistic), LABELS, "logistic", thetas)
    for Phi in columns:
        assert np.abs(inner_products(Phi, candidates)).max() < 1e-9


@pytest.mark.parametrize("y", [LABELS, COUNTS], ids=["labels", "counts"])
def test_is_the_formula(values_of, y):
    """Z = (2/N)² ‖Φ⊥ᵀ(k - t p)‖², for a kernel whose features all weigh more than one row."""
    trials = y.sum(axis=1) if y.ndim == 2 else np.ones(30)
    data = RNG.binomial(trials.astype(int), 0.5, size=(9, 30))
    theta = np.array([0.3, 0.8])
    p = Logistic().probabilities(theta, X)
    few = np.column_stack([X > 0.5, X < -0.5, np.abs(X) > 1]).astype(float)
    kernel = er.kernels.Precomputed(few @ few.T)
    G, W = np.column_stack([np.ones(30), X]), np.diag(trials * p * (1 - p))
    left = few - G @ np.linalg.solve(G.T @ W @ G, G.T @ W @ few)
    expected = (2 / trials.sum()) ** 2 * (((data - trials * p) @ left) ** 2).sum(axis=1)
    Z = values_of(
        Orthogonal(Discrepancy(kernel)),
        X,
        data,
        p,
        trials=trials.astype(int) if y.ndim == 2 else None,
        family=(Logistic(), theta),
    )
    np.testing.assert_allclose(Z, expected, rtol=1e-5)


def test_nothing_is_left_of_the_score_itself():
    columns, _ = columns_at(Orthogonal(Score()), LABELS, "logistic", [0.3, 0.8])
    assert not columns[0].any()
    region = er.ConfidenceRegion("logistic", statistic=Orthogonal(Score()), rng=0)
    assert np.ptp(region.fit(X, LABELS).evaluate([0.3, 0.8]).Z) == 0


@pytest.mark.parametrize(
    "statistic",
    [Discrepancy(), Neighborhood(), Omnibus(Discrepancy(), Curvature()), Embedding()],
    ids=repr,
)
@pytest.mark.parametrize("y", [LABELS, COUNTS], ids=["labels", "counts"])
@pytest.mark.parametrize("family", ["logistic", "psychometric"])
def test_has_one_answer_along_a_path(family, y, statistic):
    model, theta = FAMILIES[family]
    settings = {"statistic": Orthogonal(statistic), "n_resamples": 39, "rng": 2}
    fitted = er.ConfidenceRegion(model, **settings).fit(X, y).fitted_
    steps = np.stack(np.meshgrid(np.linspace(-1, 1, 7), np.linspace(-1, 4, 7)), -1).reshape(-1, 2)
    theta = np.column_stack([steps, np.tile(theta[2:], (len(steps), 1))])
    prepared = PreparedStatistic.of(fitted.statistic, fitted.sample.inputs, 40)

    def evaluate(paths, batch=2**24):
        arguments = theta, fitted.candidates, fitted.resampling, prepared
        return statistics_of_many(*arguments, batch=batch, paths=paths)

    Z = evaluate(None)
    np.testing.assert_array_equal(evaluate(Paths(evaluated=WORTH_SORTING)), Z)
    np.testing.assert_array_equal(evaluate(None, batch=1), Z)
    assert len(np.unique(Z)) > 40


@pytest.mark.filterwarnings("error")
def test_certain_rows_and_directions_without_information():
    """Far out rows are certain, or the only uncertain ones weigh next to nothing."""
    statistic = Orthogonal(Omnibus(Discrepancy(), Curvature()))
    region = er.ConfidenceRegion("logistic", statistic=statistic, n_resamples=39, rng=0)
    repeated = np.column_stack([X, X, np.ones(30)])  # equal columns, and two intercepts
    region.fit(repeated, X > 0)
    theta = [[0.1, 1.0, 1.0, 0.1], [0, 1e3, 0, 0], [0, 1e9, 0, 0], [-700, 0, 0, 0], [40, 0, 0, 0]]
    ranks = region.rank(theta)
    assert ((ranks >= 1) & (ranks <= 40)).all()
    columns, candidates = columns_at(statistic, X > 0, "logistic", theta[0], repeated)
    assert np.abs(inner_products(columns[0], candidates)).max() < 1e-12


@pytest.mark.parametrize("n", [1, 2, 3])
def test_few_rows(n):
    region = er.ConfidenceRegion("logistic", statistic=Orthogonal(), n_resamples=19, rng=0)
    region.fit(np.arange(n, dtype=float), np.arange(n) % 2 == 0)
    assert 1 <= region.rank([0.1, 0.2]) <= 20


def test_many_rows_use_landmarks():
    rng = np.random.default_rng(3)
    x = rng.normal(size=70_000)
    y = rng.random(len(x)) < 1 / (1 + np.exp(-x))
    columns, candidates = columns_at(Orthogonal(), y, "logistic", [0.0, 1.0], x)
    assert columns[0].shape[2] < 64
    assert np.abs(inner_products(columns[0], candidates)).max() < 1e-12


def test_is_blind_to_a_wrong_parameter_and_sees_a_wrong_family():
    x = np.linspace(-2, 2, 200)
    y = np.random.default_rng(1).random(200) < 1 / (1 + np.exp(-(x + 1.5 * (x**2 - 1))))
    regions = [
        er.ConfidenceRegion("logistic", statistic=Orthogonal(), n_resamples=199, rng=0).fit(
            inputs, y
        )
        for inputs in (x, np.column_stack([x, x**2]))
    ]
    wrong, right = [-0.1, 0.9], [-1.5, 1.0, 1.5]
    assert regions[0].pvalue(wrong) <= 0.01
    assert regions[1].pvalue(right) > 0.1
    # half a standard error away the plain statistic moves, and this one hardly does
    near = np.array(right) + np.array([0.1, 0.0, 0.0])
    assert abs(regions[1].pvalue(near) - regions[1].pvalue(right)) < 0.1


def test_wants_a_family_and_a_statistic_with_columns():
    with pytest.raises(InvalidValueError, match="must not use the score"):
        er.model_test(np.full(30, 0.5), X, LABELS, statistic=Orthogonal(), rng=0)
    with pytest.raises(InvalidTypeError, match=r"'statistic' parameter of Orthogonal.*'score'"):
        Orthogonal("score")
    custom = Orthogonal(Omnibus(Discrepancy(), Custom(lambda labels, p, X: labels[:, 0])))
    with pytest.raises(InvalidTypeError, match=r"made of sums over rows.*function of labels"):
        er.ConfidenceRegion("logistic", statistic=custom, rng=0).fit(X, LABELS)


def test_repr_and_file_give_it_back(tmp_path):
    statistic = Orthogonal(Discrepancy(Gaussian(multiple=2.0)))
    again = eval(repr(statistic), {**vars(statistics), "Gaussian": Gaussian})
    assert again == statistic
    region = er.ConfidenceRegion("logistic", statistic=statistic, n_resamples=39, rng=0)
    region.fit(X, LABELS)
    loaded = er.load(region.save(tmp_path / "region.npz"))
    assert loaded.rank([0.1, 0.4]) == region.rank([0.1, 0.4])
