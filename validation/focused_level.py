"""Lengths of focused intervals by the ranks spent: python -m validation.focused_level [--write].

A focused interval is taken over {θ : R_g(θ) <= q + b, R(θ) <= m - b}, with R_g the rank by the
statistic of one functional g, R that by the region's, and b ranks spent (docs/theory/focused.md).
For each functional this prints lengths for several b, relative to the interval of the profile
likelihood (deviance difference below 3.84) on the same θ: the median over the data sets in which
that is bounded, and the share in which the focused interval is not. With "+" R_g is the rank by the
sum of the two statistics, each at mean one over the data sets; b = 0 spends nothing. The last
column is the projection of the joint region.

Members are looked for on rays from the maximum of the likelihood, up to 100 standard errors away.
An ED50 is unbounded where slopes of both signs, or members at the end of a ray, are among them:
its length counts as infinite.

"new" are other data sets of the two ED50s with 100 rows, drawn after a rule had been chosen by the
first ones.
"""

import argparse
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from scipy.special import xlogy

import exactregion as er
from exactregion.engine import PreparedStatistic
from exactregion.ranking import rank_of
from exactregion.region.window import likely_parameters, window_at
from exactregion.statistics.focused import Focused
from validation.study import write_tables

RESAMPLES, Q = 999, 950
SPENT, SPENT_OF_SUM = (1, 5, 10, 20), (0, 1, 5, 10)
CHI2 = 3.841458820694124
RADII = np.geomspace(0.1, 100, 70)
AGAIN, FIRST_NEW = ("ED50, balanced, 100", "ED50, rare, 100"), 100


@dataclass(frozen=True)
class Case:
    """A family, numbers of trials at its inputs, a truth, and a functional with its gradient."""

    model: Any
    trials: Any
    truth: tuple
    g: Any
    gradient: Any
    has_pole: bool = False


def slope(theta):
    """The second parameter."""
    return theta[:, 1]


def of_slope(theta):
    """Its gradient."""
    return np.broadcast_to(np.eye(theta.shape[1])[1], theta.shape)


def ed50(theta):
    """The input at which the core is one half."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return -theta[:, 0] / theta[:, 1]


def of_ed50(theta):
    """Its gradient."""
    rows = np.zeros_like(theta)
    with np.errstate(divide="ignore", invalid="ignore"):
        rows[:, 0], rows[:, 1] = -1 / theta[:, 1], theta[:, 0] / theta[:, 1] ** 2
    return np.nan_to_num(rows)


def cases():
    """Logistic slopes and ED50s, balanced and rare, and those of a psychometric function."""
    found = {}
    for n in (30, 100):
        for kind, truth in (("balanced", (0.0, 1.0)), ("rare", (-3.0, 1.5))):
            settings = er.models.Logistic(), np.ones(n, dtype=int), truth
            found[f"slope, {kind}, {n}"] = Case(*settings, slope, of_slope)
            found[f"ED50, {kind}, {n}"] = Case(*settings, ed50, of_ed50, has_pole=True)
    answers = er.models.Psychometric(er.models.Logistic(), guess=0.5, lapse="free")
    settings = answers, np.full(7, 40), (0.0, 1.5, 0.05)
    found["slope, psychometric, 280"] = Case(*settings, slope, of_slope)
    found["ED50, psychometric, 280"] = Case(*settings, ed50, of_ed50, has_pole=True)
    return found


def inputs_of(case, rng):
    """Levels for counts; for labels normal inputs, centred so that the truth is as rare as said."""
    if case.trials.max() > 1:
        return np.linspace(-3, 3, len(case.trials))
    return rng.normal(size=len(case.trials))


def rays(d, rng):
    """Return coordinates of points along rays, ray after ray, and the last point of each."""
    number = 90 if d == 2 else 200
    directions = rng.standard_normal((number, d))
    if d == 2:
        angle = 2 * np.pi * np.arange(number) / number
        directions = np.column_stack([np.cos(angle), np.sin(angle)])
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    z = (directions[:, None] * RADII[:, None]).reshape(-1, d)
    last = np.tile(np.arange(len(RADII)) == len(RADII) - 1, number)
    return np.vstack([np.zeros(d), z]), np.concatenate([[False], last])


def length(case, theta, last, kept):
    """Return the range of g over the members."""
    if not kept.any():
        return 0.0
    values = case.g(theta[kept])
    open_end = (kept & last).any()
    both = theta[kept, 1].min() < 0 < theta[kept, 1].max()
    return np.inf if open_end or (case.has_pole and both) else np.ptp(values)


def one_data_set(case, seed):
    """Return lengths relative to the profile likelihood; None where that has none."""
    rng = np.random.default_rng([seed, len(case.trials)])
    X = inputs_of(case, rng)
    model = case.model.for_inputs(X[:, None]).bind(["x"])
    successes = rng.binomial(case.trials, model.probabilities(case.truth, X))
    y = np.column_stack([successes, case.trials - successes])
    y = successes if case.trials.max() == 1 else y
    if case.trials.max() == 1 and not 0 < successes.sum() < len(y):
        return None
    fitted = er.ConfidenceRegion(case.model, n_resamples=RESAMPLES, rng=seed).fit(X, y).fitted_
    start = likely_parameters(fitted.model, fitted.sample)
    z, last = rays(len(start), rng)
    theta = window_at(fitted.model, fitted.sample, start).theta(z)
    with np.errstate(divide="ignore", invalid="ignore"):
        P = model.evaluate(theta, X)
        height = (xlogy(successes, P) + xlogy(case.trials - successes, 1 - P)).sum(axis=1)
    deviance = 2 * (np.nanmax(height) - height)
    profile = length(case, theta, last, deviance < CHI2)
    if not 0 < profile < np.inf:
        return None
    near = deviance < 200  # ranks of the others are m
    m, seat = RESAMPLES + 1, fitted.resampling.seat
    own = PreparedStatistic.of(Focused(case.gradient), fitted.sample.inputs, m)
    ranks = {key: np.full(len(theta), m) for key in ("own", "joint", "sum")}
    Z = {"own": fitted.statistics(theta[near], own), "joint": fitted.statistics(theta[near])}
    Z["sum"] = _scaled(Z["own"]) + _scaled(Z["joint"])
    for key, values in Z.items():
        ranks[key][near] = rank_of(values, seat)
    kept = {f"{b}": (ranks["own"] <= Q + b) & (ranks["joint"] <= m - b) for b in SPENT}
    for b in SPENT_OF_SUM:
        kept[f"+ {b}"] = (ranks["sum"] <= Q + b) & (ranks["joint"] <= m - b)
    kept["joint"] = ranks["joint"] <= Q
    return {name: length(case, theta, last, each) / profile for name, each in kept.items()}


def _scaled(Z):
    """Bring Z (T, m) to mean one, infinite ones apart."""
    finite = np.isfinite(Z)
    mean = np.where(finite, Z, 0.0).sum(axis=1) / np.maximum(finite.sum(axis=1), 1)
    return Z / np.where(mean > 0, mean, 1.0)[:, None]


def main():
    """Print one line per functional; with --write keep the lengths for the docs."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sets", type=int, default=24, help="data sets of each functional")
    parser.add_argument("--new", type=int, default=12, help="data sets drawn later")
    parser.add_argument("--only", default="", help="functionals whose names hold this")
    parser.add_argument("--write", action="store_true", help="keep the table for the docs")
    asked = parser.parse_args()
    names = [*(f"{b}" for b in SPENT), *(f"+ {b}" for b in SPENT_OF_SUM), "joint"]
    print(f"{'median, unbounded':<30}" + "".join(f"{name:>14}" for name in names), flush=True)
    rows = []
    for label, case in cases().items():
        if asked.only not in label:
            continue
        drawn = {label: range(asked.sets)}
        if label in AGAIN:
            drawn[f"{label}, new"] = range(FIRST_NEW, FIRST_NEW + asked.new)
        for name, seeds in drawn.items():
            found = [each for seed in seeds if (each := one_data_set(case, seed)) is not None]
            rows += [{"number": name, **each} for each in found]
            print(_line(name, names, found), flush=True)
    if asked.write:
        write_tables("focused_level", {"lengths": pd.DataFrame(rows)})


def _line(label, names, found):
    """Write medians and shares without an end."""
    line = f"{label + f' ({len(found)})':<30}"
    for name in names if found else ():
        values = np.array([each[name] for each in found])
        middle = np.quantile(values, 0.5, method="higher")
        line += f"{middle:8.2f}{np.isinf(values).mean():6.0%}"
    return line


if __name__ == "__main__":
    main()
