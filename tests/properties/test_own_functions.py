"""Functions of users that change what they are given: ranks and the users' arrays stay."""

from contextlib import suppress

import numpy as np
import pandas as pd
import polars as pl
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import expit

import exactregion as er
from exactregion.kernels import CallableKernel
from exactregion.statistics import Discrepancy, FromCentre, Statistic, Term

few = settings(max_examples=10, deadline=None)
DAMAGES = {
    "fill": lambda array: array.fill(0.3),
    "double": lambda array: np.multiply(array, 2, out=array),
    "sort": lambda array: array.sort(axis=0),
    "entry": lambda array: array.__setitem__(0, 0.5),
}
damages = st.sampled_from(sorted(DAMAGES))
seeds = st.integers(0, 2**32 - 1)


def damage(kind, *arrays):
    """Change arrays if they can be; a function that cannot goes on as if nothing had happened."""
    for array in arrays:
        if isinstance(array, np.ndarray):
            with suppress(ValueError):
                DAMAGES[kind](array)
        elif hasattr(array, "iloc"):
            array.iloc[0] = 0.5
        elif isinstance(array, list):
            array[0] = 0.5
        else:
            array[0, 0] = 0.5


class Line(er.models.Model):
    """A logistic family that damages what it is given, if it is to."""

    parameter_names = ("a", "b")
    kind = None

    def evaluate(self, theta, X):
        P = expit(theta[:, :1] + theta[:, 1:] * X)
        if self.kind:
            damage(self.kind, theta, X)
        return P


class Tails(Statistic):
    """A statistic that damages probabilities and inputs, if it is to."""

    kind = None

    def terms(self, inputs):
        def columns(candidates):
            found = np.abs(candidates.probabilities - 0.5)[:, :, None] * 1.0
            if self.kind:
                damage(self.kind, candidates.probabilities, candidates.theta, candidates.inputs.X)
            return found

        if self.kind:
            damage(self.kind, inputs.rows.X, inputs.rows.trials, inputs.rows.order)
        return [Term(columns, FromCentre())]


def data(seed):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=12)
    return x, rng.random(12) < 0.5, rng.normal(size=(40, 2))


def ranks(model, statistic, x, y, thetas):
    region = er.ConfidenceRegion(
        model, statistic=statistic, confidence_level=0.9, n_resamples=19, rng=0
    ).fit(x, y)
    return [region.rank(thetas).tolist(), region.rank(thetas[0]), region.rank(thetas).tolist()]


@few
@given(seed=seeds, kind=damages)
def test_models_and_statistics(seed, kind):
    x, y, thetas = data(seed)
    kept = x.copy(), y.copy(), thetas.copy()
    model, statistic = Line(), Tails()
    pairs = [(model, statistic), (model, "score"), (model, "likelihood")]
    before = [ranks(*pair, x, y, thetas) for pair in pairs]
    assert all(first == last for first, _, last in before)
    model.kind = statistic.kind = kind
    assert [ranks(*pair, x, y, thetas) for pair in pairs] == before
    for array, copy in zip((x, y, thetas), kept, strict=True):
        assert np.array_equal(array, copy)


@few
@given(seed=seeds, kind=damages)
def test_plain_functions(seed, kind):
    x, y, thetas = data(seed)
    kept = x.copy(), y.copy(), thetas.copy()

    def family(theta, x):
        p = expit(theta[0] + theta[1] * x)
        damage(kind, theta, x)
        return p

    def statistic(labels, p, x):
        Z = np.abs(((labels > 0) - p) @ x)
        damage(kind, labels, p, x)
        return Z

    model = er.models.Function(family, ["a", "b"])
    first, _, last = ranks(model, statistic, x, y, thetas)
    assert first == last == ranks(Line(), statistic, x, y, thetas)[0]
    for array, copy in zip((x, y, thetas), kept, strict=True):
        assert np.array_equal(array, copy)


@few
@given(seed=seeds, kind=damages)
def test_fixed_candidates_and_kernels(seed, kind):
    x, y, _ = data(seed)

    def candidate(X):
        values = np.asarray(X, dtype=float).ravel()
        p = expit(values)
        damage(kind, X)
        return p

    def kernel(a, b):
        value = float(np.exp(-((a - b) ** 2).sum()))
        damage(kind, a, b)
        return value

    settings = {"statistic": Discrepancy(CallableKernel(kernel)), "n_resamples": 19, "rng": 0}
    expected = er.model_test(expit(x), x, y, **settings).rank
    for X in (
        x.copy(),
        x[:, None].copy(),
        x.tolist(),
        pd.DataFrame({"x": x}),
        pl.DataFrame({"x": x}),
    ):
        assert [er.model_test(candidate, X, y, **settings).rank for _ in range(2)] == [expected] * 2
        assert np.array_equal(np.asarray(X).ravel(), x)


def test_functionals_of_a_search():
    x, y, _ = data(1)
    region = er.ConfidenceRegion("logistic", n_resamples=19, confidence_level=0.9, rng=0).fit(x, y)

    def damaging(theta):
        value = theta[0]
        damage("fill", theta)
        return value

    kept = region.estimate_.copy()
    first, second = (region.functional(g) for g in (lambda theta: theta[0], damaging))
    assert (first.lower, first.upper) == (second.lower, second.upper)
    assert np.array_equal(region.estimate_, kept)
