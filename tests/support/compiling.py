"""Compile the loops once, before several processes need them: python -m tests.support.compiling.

Numba keeps what it compiled beside the source, where all processes find it. Without this each
worker of a run of the tests, and the build of the site, would compile all of it at the same time.
"""

import numpy as np

import exactregion as er


def main():
    rng = np.random.default_rng(0)
    few = {"n_resamples": 19, "rng": 0}
    x = np.linspace(-2, 2, 14)
    y = (rng.random(14) < 1 / (1 + np.exp(-x))).astype(int)
    counts = np.column_stack([y + 1, 3 - y])
    for outcomes in (y, counts):
        for model in ("logistic", "probit"):
            region = er.ConfidenceRegion(model, **few).fit(x, outcomes)
            region.intervals(joint=True)
            region.intervals(certify=True)
            region.test("x = 0")
        region.goodness_of_fit()
    for statistic in ("score", "discrepancy", "embedding", "neighborhood", "likelihood"):
        region = er.ConfidenceRegion("logistic", statistic=statistic, **few).fit(x, y)
        region.rank(rng.normal(size=(50, 2)))
    curved = er.models.Psychometric(er.models.Logistic(), guess=0.5, lapse=0.02)
    for statistic in ("ratio", "discrepancy"):  # proven by probabilities alone
        er.ConfidenceRegion(curved, statistic=statistic, **few).fit(x, y).intervals(joint=True)
    for n in (70, 70_000):
        p = rng.random(n)
        happened = rng.random(n) < p
        er.calibration_test(happened, p, **few)
        er.model_test(p, p, happened, **few)
        shares = rng.dirichlet(np.ones(3), size=n)
        er.calibration_test(rng.integers(3, size=n), shares, classes=range(3), **few)
    classes = er.ConfidenceRegion("multinomial", **few).fit(x, np.arange(14) % 3)
    classes.rank(rng.normal(size=(30, 4)))


if __name__ == "__main__":
    main()
