"""Data under the truth, and exact bounds for uniform ranks."""

from dataclasses import dataclass, field, replace
from functools import cache, lru_cache
from itertools import islice
from typing import Any

import numpy as np
from scipy.stats import binom

import exactregion as er
from exactregion.engine import statistics_of
from exactregion.ranking import rank_of
from exactregion.resampling import Resampling, fresh_entropy, place_successes

M = 20
SUITE_FALSE_ALARM = 1e-6
SUITE_CHECKS = 400 * 2 * M
"""At most 400 sets of ranks are checked, each at every rank and every coverage q/m."""


@cache
def limits(repetitions, share):
    """The least and the most often that something with this probability may happen."""
    tail = SUITE_FALSE_ALARM / SUITE_CHECKS / 2
    return binom.ppf([tail, 1 - tail], repetitions, share)


def assert_uniform(ranks, m=M):
    """Every rank, and every coverage q/m, as often as exact binomial bounds allow."""
    ranks = np.asarray(ranks)
    for q in range(1, m + 1):
        for name, hits, share in (("rank", ranks == q, 1 / m), ("coverage", ranks <= q, q / m)):
            low, high = limits(len(ranks), share)
            assert low <= hits.sum() <= high, (
                f"{name} {q}/{m}: {hits.sum()} of {len(ranks)}, allowed {low:.0f} to {high:.0f}"
            )


@dataclass(eq=False)  # hashable, for what is kept
class Truth:
    """Data that a known member of a family makes."""

    model: Any
    theta: tuple
    inputs: Any
    trials: Any = None
    settings: dict = field(default_factory=dict)

    def draw(self, X, rng):
        return self.outcomes(self.probabilities(X), rng)

    def probabilities(self, X):
        return self.model.probabilities(self.theta, X)

    def outcomes(self, p, rng):
        if self.trials is None:
            return np.where(rng.random(len(p)) < p, 1, -1)
        trials = self.trials(len(p))
        successes = rng.binomial(trials, p)
        return np.column_stack([successes, trials - successes])


def normal(n, d=1, seed=0):
    return np.random.default_rng([n, d, seed]).normal(size=(n, d))


TRUTHS = {
    "logistic": Truth(er.models.Logistic(), (0.3, 1.0), normal),
    "mixture": Truth(er.models.LaplaceMixture(), (0.5, 1.0), lambda n: 2 * normal(n)[:, 0]),
    "psychometric": Truth(
        er.models.Psychometric(er.models.Logistic(), guess=0.5, lapse="free"),
        (0.0, 1.5, 0.05),
        normal,
    ),
    "counts": Truth(
        er.models.Logistic(), (-0.5, 0.8), normal, trials=lambda n: 1 + np.arange(n) * 7 % 13
    ),
}

# where careless code breaks
EDGE_CASES = {
    "all certain": (
        Truth(er.models.Logistic(intercept=False), (1e9,), lambda n: normal(n) + 0.1),
        8,
    ),
    "half certain": (
        Truth(
            er.models.Function(lambda th, x: np.where(x > 0, 1.0, th[0]), ("low",), [(0, 1)]),
            (0.4,),
            lambda n: normal(n)[:, 0],
        ),
        10,
    ),
    "repeated inputs": (
        Truth(er.models.Logistic(), (0.2, 0.5), lambda n: (np.arange(n) % 3).astype(float)),
        12,
    ),
    "one class": (Truth(er.models.Logistic(), (-6.0, 0.1), normal), 10),
    "constant feature": (
        Truth(
            er.models.Logistic(), (0.1, 0.3, 0.7), lambda n: np.insert(normal(n), 0, 5.0, axis=1)
        ),
        15,
    ),
    "more columns than rows": (
        Truth(er.models.Logistic(), (0.1,) * 9, lambda n: normal(n, 8)),
        5,
    ),
    "zero trials": (
        Truth(er.models.Logistic(), (0.1, 1.0), normal, trials=lambda n: np.arange(n) % 3),
        7,
    ),
}

STATISTICS = {
    "neighborhood": er.statistics.Neighborhood(),
    "neighborhood, uniform": er.statistics.Neighborhood(measure="uniform", nodes=64),
    "neighborhood, Monte Carlo": er.statistics.Neighborhood(measure="monte_carlo", nodes=64),
    "polynomial": er.statistics.Discrepancy("polynomial"),
    "smoother": er.statistics.Neighborhood(kernel="gaussian"),
    "embedding": er.statistics.Embedding(),
    "discrepancy": er.statistics.Discrepancy(),
    "multiscale": er.statistics.Multiscale(),
    "score": er.statistics.Score(),
    "omnibus": er.statistics.Omnibus(),
    "spiegelhalter": er.statistics.Spiegelhalter(),
    "curvature": er.statistics.Curvature(),
    "combined": er.statistics.Combined(),
    "orthogonal": er.statistics.Orthogonal(),
    "callable": lambda labels, p, X: (labels * (1 + np.arange(len(p)) % 2)).sum(axis=1) ** 2,
}


def ranks_under(truth, n, statistic, repetitions, first_seed=0):
    """Ranks of the truth over repetitions with fresh outcomes, draws and seat."""
    X = truth.inputs(n)
    ranks = []
    for repetition in range(first_seed, first_seed + repetitions):
        y = truth.draw(X, np.random.default_rng([repetition, n]))
        region = er.ConfidenceRegion(
            truth.model,
            statistic=statistic,
            confidence_level=0.9,
            n_resamples=M - 1,
            rng=repetition,
        )
        ranks.append(region.fit(X, y).rank(truth.theta))
    return ranks


def many_ranks_under(truth, n, statistic, repetitions, first_seed=0):
    """The same ranks many times faster: what depends on the inputs alone is prepared once.

    The inputs are fixed, so features, probabilities and their checks are the same each time; only
    outcomes, uniforms and seat are new, and they go through the same engine.
    """
    state = fitted_once(truth, n, statistic, first_seed)
    drawn = kept_draws if repetitions <= MOST_KEPT else draws_of
    return ranks_at(state, truth.theta, drawn(truth, n, repetitions, first_seed))


def fitted_once(truth, n, statistic, first_seed):
    X = truth.inputs(n)
    region = er.ConfidenceRegion(
        truth.model, statistic=statistic, confidence_level=0.9, n_resamples=M - 1, rng=0
    )
    return region.fit(X, truth.draw(X, np.random.default_rng([first_seed, n]))).fitted_


def draws_of(truth, n, repetitions, first_seed):
    """Yield outcomes, uniforms and seats of many repetitions, which no statistic changes."""
    p = truth.probabilities(truth.inputs(n))
    seeds = range(first_seed, first_seed + repetitions)
    outcomes = (truth.outcomes(p, np.random.default_rng([seed, n])) for seed in seeds)
    sample = fitted_once(truth, n, "score", first_seed).sample
    order = sample.inputs.order
    successes = ((y > 0) * 1 if truth.trials is None else y[:, 0] for y in outcomes)
    yield from repetitions_of(sample, (k[order] for k in successes), seeds)


MOST_KEPT = 1000
"""Repetitions whose draws fit into memory."""


@lru_cache(maxsize=2)
def kept_draws(truth, n, repetitions, first_seed):
    """Keep draws for the next test, which has the same truth and another statistic.

    To make them takes several times as long as to rank by them.
    """
    return list(draws_of(truth, n, repetitions, first_seed))


TOGETHER = 100
"""Repetitions that go through the engine at once, as if they were so many candidates."""


def ranks_of_repetitions(state, theta, successes, seeds):
    """Ranks of θ for other outcomes of a fitted region, each with draws and a seat of its own."""
    return ranks_at(state, theta, repetitions_of(state.sample, successes, seeds))


def repetitions_of(sample, successes, seeds):
    """Yield other outcomes of the same inputs, many at a time, with draws of their own."""
    every = (
        Resampling(replace(sample, successes=each.astype(np.int64)), M - 1, fresh_entropy(seed))
        for each, seed in zip(successes, seeds, strict=True)
    )
    while part := list(islice(every, TOGETHER)):
        yield Repetitions(part)


def ranks_at(state, theta, together):
    """Ranks of θ in all repetitions, by the statistic of a fitted region."""
    ranks = []
    for repetitions in together:
        every = repetitions.every
        candidates = state.candidates(np.tile(np.asarray(theta, dtype=float), (len(every), 1)))
        Z = statistics_of(candidates, repetitions, state.prepared)
        ranks += [int(rank_of(z[None], one.seat)[0]) for z, one in zip(Z, every, strict=True)]
    return ranks


@dataclass(frozen=True)
class Repetitions:
    """Draws of several repetitions, which the engine takes for those of as many candidates."""

    every: list[Resampling]
    drawn: dict = field(default_factory=dict)

    @property
    def m(self):
        return self.every[0].m

    def uniforms(self, rows):
        key = rows.start, rows.stop
        if key not in self.drawn:
            self.drawn[key] = np.concatenate([one.uniforms(rows) for one in self.every])
        return self.drawn[key]

    def parts(self, P, rows, size):
        """Yield the successes of `size` data sets at a time, of all repetitions: (T, size, b)."""
        sample = self.every[0].sample
        U = self.uniforms(rows)
        precision = np.float32 if sample.inputs.extent.in_single else np.float64
        K = np.empty((1, *U.shape), dtype=precision)
        trials, observed = sample.inputs.trials[rows], sample.successes[rows]
        place_successes(K, U, P[:1], trials=trials, observed=observed, seat=None)
        alternatives = K.reshape(len(self.every), self.m - 1, -1)
        labels = np.empty((len(self.every), self.m, len(observed)), dtype=precision)
        for all_sets, others, one in zip(labels, alternatives, self.every, strict=True):
            all_sets[: one.seat], all_sets[one.seat + 1 :] = others[: one.seat], others[one.seat :]
            all_sets[one.seat] = one.sample.successes[rows]
        for first in range(0, self.m, size):
            yield labels[:, first : first + size]
