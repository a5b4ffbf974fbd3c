"""Sizes of regions of curved families by statistic: python -m validation.islands [--write].

A region may hold θ far from the others, whose likelihood is low. For each family and statistic this
prints, as means over data sets: the size of the region (the share of θ of a wide prior that are
members) and the lengths of its intervals, both relative to "combined"; and the share of members at
which twice the log-likelihood is more than 20 below its maximum.

Members are looked for among θ of the prior whose deviance difference is below 60. Beside the
statistics of the library there are three that were not chosen: the ratio to the cover alone, the
deviance from the saturated model, and a guard: "combined" at one rank more, where the likelihood is
at least β = 1/m of its mean over the cover, an e-value. It covers as well, by Markov's inequality.
"""

import argparse
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from scipy.special import expit, logsumexp, xlogy

import exactregion as er
from exactregion.models.cover import cover_of
from exactregion.statistics.likelihood import MEMBERS, Likelihood
from validation.study import write_tables

RESAMPLES, LEVEL = 199, 0.95
PRIOR, FARTHEST, LOOKED_AT, LOW = 1_000_000, 60.0, 400, 20.0


def weibull(theta, X):
    """A Weibull curve between one half and one minus the lapse rate."""
    scale, shape, lapse = theta.T[:, :, None]
    return 0.5 + (0.5 - lapse) * -np.expm1(-((np.ravel(X) / scale) ** shape))


def with_immunes(theta, X):
    """A logistic curve for those who are not immune."""
    intercept, slope, immune = theta.T[:, :, None]
    return (1 - immune) * expit(intercept + slope * np.ravel(X))


class Batched(er.models.Model):
    """A family of a function of many θ at once."""

    def __init__(self, function, bounds):
        """Name the parameters by numbers."""
        self._function, self._bounds = function, bounds

    parameter_names = ("a", "b", "c")

    @property
    def bounds(self):
        """The bounds given."""
        return self._bounds

    def evaluate(self, theta, X):
        """Call the function."""
        return self._function(theta, X)


def log_uniform(rng, low, high, size):
    """Draw numbers whose logarithms are uniform."""
    return low * (high / low) ** rng.random(size)


def of_curves(rng, size, *, centre, slope, negative, rate=None):
    """Draw intercepts and slopes of curves that pass one half, and a rate up to `rate`."""
    b = log_uniform(rng, *slope, size) * np.where(rng.random(size) < negative, -1, 1)
    columns = [-b * rng.uniform(*centre, size), b]
    return np.column_stack([*columns, *([] if rate is None else [rate * rng.random(size)])])


def weibull_prior(rng, size):
    """Draw scale and shape on a logarithmic scale, and a lapse rate."""
    scales = log_uniform(rng, 0.0005, 0.05, size), log_uniform(rng, 0.2, 15, size)
    return np.column_stack([*scales, 0.2 * rng.random(size)])


@dataclass(frozen=True)
class Case:
    """A family, its inputs, a wide prior, a truth, and successes that were observed if any."""

    model: Any
    X: Any
    trials: Any
    prior: Any
    truth: tuple
    observed: Any = None


def cases():
    """The families of the documentation, ten times the trials, and logistic curves."""
    answers = er.datasets.two_afc()
    moths = er.datasets.budworm().query("sex == 'female'")
    levels, line = np.linspace(-3, 3, 7), np.linspace(-2, 2, 20)
    free = np.inf
    in_bounds = Batched(weibull, ((0.0005, 0.05), (0.2, 15.0), (0.0, 0.2)))
    immunes = Batched(with_immunes, ((-free, free), (0.0, free), (0.0, 0.9)))
    psychometric = er.models.Psychometric(er.models.Logistic(), guess=0.5, lapse="free")

    def curves(**settings):
        return lambda rng, size: of_curves(rng, size, **settings)

    of_immunes = curves(centre=(-3, 9), slope=(0.1, 10), negative=0.0, rate=0.9)
    of_answers = curves(centre=(-6, 6), slope=(0.05, 30), negative=0.2, rate=0.5)
    of_lines = curves(centre=(-6, 6), slope=(0.05, 15), negative=0.3)
    x, t = answers["level"].to_numpy(), answers["n_total"].to_numpy()
    seen = answers["n_correct"].to_numpy()
    dead = moths["ndead"].to_numpy()
    at = (0.0045, 3.3, 0.005)
    return {
        "Weibull, 1,170": Case(in_bounds, x, t, weibull_prior, at, seen),
        "Weibull, 11,700": Case(in_bounds, x, 10 * t, weibull_prior, at),
        "immunes, 120": Case(
            immunes, np.arange(6.0), np.full(6, 20), of_immunes, (-3.0, 1.2, 0.15), dead
        ),
        "psychometric, 140": Case(
            psychometric, levels, np.full(7, 20), of_answers, (0.0, 1.0, 0.03)
        ),
        "psychometric, 280": Case(
            psychometric,
            levels,
            np.full(7, 40),
            of_answers,
            (0.0, 1.5, 0.05),
            np.array([18, 23, 19, 19, 22, 33, 31]),
        ),
        "logistic, 100": Case(er.models.Logistic(), line, np.full(20, 5), of_lines, (0.3, 1.0)),
        "logistic, rare": Case(er.models.Logistic(), line, np.full(20, 5), of_lines, (-3.0, 1.0)),
    }


class RatioAlone(Likelihood):
    """The likelihood ratio to the cover, without score and discrepancy."""

    def combine(self, values, expected):
        """Leave out the other parts."""
        return values[2] - values[3]


def saturated(trials):
    """Return the deviance from the model that fits every row."""

    def statistic(successes, p, X):
        failures = trials - successes
        own = xlogy(successes, p) + xlogy(failures, 1 - p)
        best = xlogy(successes, successes / trials) + xlogy(failures, failures / trials)
        return (best - own).sum(axis=1)

    return statistic


def log_likelihood(P, successes, trials):
    """Return log L of each curve (T, n), up to a constant."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return (xlogy(successes, P) + xlogy(trials - successes, 1 - P)).sum(axis=-1)


def one_data_set(case, successes, seed):
    """Return size, share of members of low likelihood, and lengths, for each statistic."""
    rng = np.random.default_rng([seed, 1])
    model = case.model.for_inputs(case.X[:, None]).bind(["x"])
    theta = case.prior(rng, PRIOR)
    P = model.evaluate(theta, case.X)
    height = log_likelihood(P, successes, case.trials)
    deviance = 2 * (np.nanmax(height) - height)
    near = np.flatnonzero(deviance < FARTHEST)
    share = len(near) / PRIOR
    near = rng.permutation(near)[:LOOKED_AT]
    theta, deviance, height = theta[near], deviance[near], height[near]

    y = np.column_stack([successes, case.trials - successes])
    statistics = {
        "combined": "combined",
        "score": "score",
        "likelihood": "likelihood",
        "likelihood, 256": Likelihood(members=256),
        "ratio": "ratio",
        "ratio alone": RatioAlone(),
        "saturated": saturated(case.trials),
    }
    found = {}
    for name, statistic in statistics.items():
        region = er.ConfidenceRegion(
            case.model, statistic=statistic, n_resamples=RESAMPLES, rng=seed
        )
        ranks = region.fit(case.X, y).rank(theta)
        found[name] = ranks <= LEVEL * (RESAMPLES + 1)
        if name == "combined":
            others = cover_of(model, region.fitted_.sample.inputs, MEMBERS)
            levels = log_likelihood(model.evaluate(others, case.X), successes, case.trials)
            evidence = logsumexp(levels) - np.log(len(levels)) - height
            allowed = ranks <= LEVEL * (RESAMPLES + 1) + 1
            found["guard"] = allowed & (evidence < np.log(RESAMPLES + 1))
    return {
        name: [
            share * kept.mean(),
            (deviance[kept] > LOW).mean() if kept.any() else 0.0,
            *(np.ptp(theta[kept], axis=0) if kept.any() else np.zeros(theta.shape[1])),
        ]
        for name, kept in found.items()
    }


def main():
    """Print one line per family and statistic; with --write keep them for the docs."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sets", type=int, default=10)
    parser.add_argument("--of", default="", help="only families whose name holds this")
    parser.add_argument("--write", action="store_true", help="keep the table for the docs")
    asked = parser.parse_args()
    sets, rows = asked.sets, []
    print(f"{'family, trials':<18} {'statistic':<15} {'size':>6} {'low':>7}  lengths")
    for label, case in cases().items():
        if asked.of not in label:
            continue
        model = case.model.for_inputs(case.X[:, None]).bind(["x"])
        p = model.evaluate(np.array([case.truth]), case.X)[0]
        draws = [np.random.default_rng([seed, 0]).binomial(case.trials, p) for seed in range(sets)]
        if case.observed is not None:
            draws[0] = case.observed
        found = [one_data_set(case, successes, seed) for seed, successes in enumerate(draws)]
        means = {name: np.mean([each[name] for each in found], axis=0) for name in found[0]}
        usual = means["combined"]
        for name, (size, low, *lengths) in means.items():
            relative = np.array(lengths) / usual[2:]
            row = {"family": label, "statistic": name, "data_sets": sets, "low": low}
            row |= {f"length_{place}": one for place, one in enumerate(relative, start=1)}
            rows.append(row | {"size": size / usual[0]})
            ratios = " ".join(f"{ratio:5.2f}" for ratio in relative)
            print(
                f"{label:<18} {name:<15} {size / usual[0]:6.2f} {100 * low:6.1f}%  {ratios}",
                flush=True,
            )
    if asked.write:
        write_tables("islands", {"sizes": pd.DataFrame(rows)})


if __name__ == "__main__":
    main()
