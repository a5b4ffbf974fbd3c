"""Coverage and length of focused and joint intervals beside Wald's and profile likelihood's.

Logistic models with one and three slopes and the ED50 of the first, n = 15, 30, 100, level 95 %.

    python validation/intervals.py [--repetitions 200] [--resamples 199] [--out FILE]

prints a table and writes it as JSON. A peer whose fit does not exist (separated data) has no
interval: it is counted in "none", and its coverage is over the data sets where it has one.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from pathlib import Path

import numpy as np
from joblib import Parallel, delayed
from scipy.optimize import brentq
from scipy.special import expit
from scipy.stats import binom, chi2, norm

import exactregion as er

LEVEL = 0.95
SIZES = (15, 30, 100)
TRUTHS = {1: (0.3, 1.0), 3: (0.3, 1.0, -0.7, 0.0)}
RESULTS = Path(__file__).parent / "results" / "intervals.json"


def draw(slopes, n, seed):
    """Inputs and outcomes of one repetition."""
    rng = np.random.default_rng([slopes, n, seed])
    X = rng.normal(size=(n, slopes))
    theta = np.array(TRUTHS[slopes])
    return X, rng.random(n) < expit(theta[0] + X @ theta[1:])


# --- peers ----------------------------------------------------------------------------------------


def fit_logit(design, y, offset=0.0, start=None):
    """Maximum likelihood by Newton's method; None where it does not exist."""
    theta = np.zeros(design.shape[1]) if start is None else start
    for _ in range(50):
        p = expit(design @ theta + offset)
        information = design.T @ (design * (p * (1 - p))[:, None])
        if np.linalg.cond(information) > 1e10:
            return None
        step = np.linalg.solve(information, design.T @ (y - p))
        theta = theta + np.clip(step, -2, 2)
        if np.abs(step).max() < 1e-9:
            return theta if np.abs(theta).max() < 30 else None
    return None


def log_likelihood(design, y, theta, offset=0.0):
    eta = design @ theta + offset
    return float((y * eta - np.logaddexp(0, eta)).sum())


def wald(design, y, theta, gradient, value):
    p = expit(design @ theta)
    covariance = np.linalg.inv(design.T @ (design * (p * (1 - p))[:, None]))
    half = norm.ppf((1 + LEVEL) / 2) * np.sqrt(gradient @ covariance @ gradient)
    return value - half, value + half


def profile(deviance, value, scale):
    """Ends where the profile deviance crosses the χ² quantile; infinite where it does not."""
    cut = chi2.ppf(LEVEL, 1)
    ends = []
    for sign in (-1, 1):
        step, end = scale, sign * np.inf
        for _ in range(12):
            if deviance(value + sign * step) > cut:
                end = brentq(lambda v: deviance(v) - cut, value, value + sign * step, xtol=1e-6)
                break
            step *= 2
        ends.append(end)
    return tuple(ends)


def profile_parameter(design, y, theta, index):
    top = log_likelihood(design, y, theta)
    others = np.delete(design, index, axis=1)

    def deviance(value):
        offset = design[:, index] * value
        rest = fit_logit(others, y, offset)
        if rest is None:
            return 0.0
        return 2 * (top - log_likelihood(others, y, rest, offset))

    return profile(deviance, theta[index], wald_width(design, y, theta, index))


def wald_width(design, y, theta, index):
    axis = np.eye(len(theta))[index]
    low, high = wald(design, y, theta, axis, theta[index])
    return (high - low) / 2


def profile_ed50(design, y, theta):
    """The model in (slope, ED50): logit = slope · (x - ED50)."""
    top = log_likelihood(design, y, theta)
    value = -theta[0] / theta[1]

    def deviance(ed50):
        shifted = design[:, 1:] - ed50
        slope = fit_logit(shifted, y)
        return 0.0 if slope is None else 2 * (top - log_likelihood(shifted, y, slope))

    gradient = np.array([-1 / theta[1], theta[0] / theta[1] ** 2])
    low, high = wald(design, y, theta, gradient, value)
    return profile(deviance, value, (high - low) / 2)


# --- one data set ---------------------------------------------------------------------------------


def quantities(slopes):
    names = ["intercept", *[f"slope {k}" for k in range(1, slopes + 1)]]
    return names + (["ED50"] if slopes == 1 else [])


def true_value(name, slopes):
    theta = TRUTHS[slopes]
    return -theta[0] / theta[1] if name == "ED50" else theta[quantities(slopes).index(name)]


def one_repetition(slopes, n, seed, resamples):
    """All intervals on one data set: {method: {quantity: (lower, upper)}}."""
    X, y = draw(slopes, n, seed)
    region = er.ConfidenceRegion(
        "logistic", confidence_level=LEVEL, n_resamples=resamples, rng=seed
    ).fit(X, y)
    found = {method: {} for method in ("focused", "joint", "Wald", "profile")}
    for method, joint in (("focused", False), ("joint", True)):
        table = region.intervals(joint=joint)
        for name, low, high in zip(
            quantities(slopes), table["lower"], table["upper"], strict=False
        ):
            found[method][name] = (low, high)
        if slopes == 1:
            ed50 = region.functional(lambda th: -th[0] / th[1], name="ED50", joint=joint)
            found[method]["ED50"] = (ed50.lower, ed50.upper)
    design = np.column_stack([np.ones(n), X])
    theta = fit_logit(design, y.astype(float))
    if theta is not None:
        for index in range(slopes + 1):
            name = quantities(slopes)[index]
            axis = np.eye(slopes + 1)[index]
            found["Wald"][name] = wald(design, y, theta, axis, theta[index])
            found["profile"][name] = profile_parameter(design, y.astype(float), theta, index)
        if slopes == 1:
            gradient = np.array([-1 / theta[1], theta[0] / theta[1] ** 2])
            found["Wald"]["ED50"] = wald(design, y, theta, gradient, -theta[0] / theta[1])
            found["profile"]["ED50"] = profile_ed50(design, y.astype(float), theta)
    return found


# --- the study ------------------------------------------------------------------------------------


def summarise(slopes, n, repetitions):
    """Coverage with its binomial check, and median length relative to Wald's on the same data."""
    rows = []
    for name in quantities(slopes):
        truth = true_value(name, slopes)
        for method in ("focused", "joint", "Wald", "profile"):
            ends = [r[method].get(name) for r in repetitions]
            have = [e for e in ends if e is not None and not np.isnan(e).any()]
            covered = sum(low <= truth <= high for low, high in have)
            ratios = [
                np.ptp(r[method][name]) / np.ptp(r["Wald"][name])
                for r in repetitions
                if name in r[method] and name in r["Wald"]
            ]
            none = len(ends) - len(have)
            trials = len(ends) if method in ("focused", "joint") else len(have)
            rows.append(
                {
                    "slopes": slopes,
                    "n": n,
                    "quantity": name,
                    "method": method,
                    "coverage": covered / trials,
                    "repetitions": trials,
                    "none": none,
                    "p_undercover": float(binom.cdf(covered, trials, LEVEL)),
                    "median_length_to_wald": float(np.median(ratios)),
                    "unbounded": float(np.mean([np.isinf(e).any() for e in have])),
                }
            )
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repetitions", type=int, default=200)
    parser.add_argument("--resamples", type=int, default=199)
    parser.add_argument("--slopes", type=int, nargs="+", default=list(TRUTHS), choices=list(TRUTHS))
    parser.add_argument("--sizes", type=int, nargs="+", default=list(SIZES))
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--out", type=Path, default=RESULTS)
    options = parser.parse_args()
    rows, begun = [], time.perf_counter()
    for slopes in options.slopes:
        for n in options.sizes:
            repetitions = Parallel(n_jobs=options.jobs)(
                delayed(one_repetition)(slopes, n, seed, options.resamples)
                for seed in range(options.repetitions)
            )
            rows += summarise(slopes, n, repetitions)
            print(f"{slopes} slopes, n = {n}: {time.perf_counter() - begun:.0f} s", file=sys.stderr)
    print(f"{'quantity':>31} {'method':>8} {'coverage':>9} {'to Wald':>8} {'open':>5} {'none':>5}")
    for r in rows:
        print(
            f"{r['slopes']} slopes, n = {r['n']:>4} {r['quantity']:>13} {r['method']:>8} "
            f"{r['coverage']:>9.3f} {r['median_length_to_wald']:>8.2f} {r['unbounded']:>5.2f} "
            f"{r['none']:>5}"
        )
    settings = {"repetitions": options.repetitions, "resamples": options.resamples}
    options.out.write_text(json.dumps({"settings": settings, "rows": rows}, indent=1) + "\n")


if __name__ == "__main__":
    main()
