"""The calibration test's size and power, the belt's width, and a real data set beside rms.

    python validation/calibration.py [--repetitions 4000] [--belts 20]

Size: predictions that are true, at n = 20, 50, 100; the share of p-values ≤ 0.05 with its exact
95 % binomial limits. Power at n = 200 and level 5 %, where the true logit is 2 logit p
(under-confident predictions) and ½ logit p (over-confident), beside Spiegelhalter's z: two-sided,
and one-sided as some packages have it. Width: mean over 99 predictions from 0.01 to 0.99 of the
95 % belt on calibrated predictions. Predictions are uniform throughout.
"""

import argparse
import json
import sys
from pathlib import Path

import numpy as np
from scipy.special import expit, logit
from scipy.stats import binomtest, norm

import exactregion as er
from exactregion.files import write_whole

HERE = Path(__file__).parent
RESULTS = HERE / "results" / "calibration.json"
LEVEL = 0.05
RESAMPLES = 199
TRUTHS = {"under-confident, slope 2": 2.0, "over-confident, slope 1/2": 0.5}
PIMA_RMS = {"slope": 0.953, "intercept": -0.088, "Spiegelhalter p": 0.986, "belt p (GiViTI)": 0.112}


def draw(seed, n, slope=1.0):
    """Uniform predictions p, and outcomes with logit slope · logit p."""
    rng = np.random.default_rng([seed, n, int(10 * slope)])
    p = rng.uniform(size=n)
    return p, rng.uniform(size=n) < expit(slope * logit(p))


def spiegelhalter(y, p):
    """Spiegelhalter's z: standard normal under calibration, positive for over-confidence."""
    top = ((y - p) * (1 - 2 * p)).sum()
    return top / np.sqrt(((1 - 2 * p) ** 2 * p * (1 - p)).sum())


def rates(n, slope, repetitions):
    """Rejections at level 5 % of each test, on the same data."""
    pvalues = {"exactregion": [], "Spiegelhalter, two-sided": [], "Spiegelhalter, one-sided": []}
    for seed in range(repetitions):
        p, y = draw(seed, n, slope)
        test = er.calibration_test(y, p, n_resamples=RESAMPLES, rng=seed)
        z = spiegelhalter(y, p)
        pvalues["exactregion"].append(test.pvalue)
        pvalues["Spiegelhalter, two-sided"].append(2 * norm.sf(abs(z)))
        pvalues["Spiegelhalter, one-sided"].append(norm.sf(z))
    return {
        name: rate(int((np.array(p) <= LEVEL).sum()), repetitions) for name, p in pvalues.items()
    }


def rate(rejected, repetitions):
    limits = binomtest(rejected, repetitions).proportion_ci(0.95)
    return {"rate": rejected / repetitions, "low": limits.low, "high": limits.high}


def widths(n, belts):
    found = []
    at = np.linspace(0.01, 0.99, 99)
    for seed in range(belts):
        p, y = draw(seed, n)
        belt = er.calibration_belt(y, p, rng=seed)
        found.append(np.interp(at, belt.grid, belt.upper - belt.lower).mean())
    return {"mean": float(np.mean(found)), "error": float(np.std(found, ddof=1) / belts**0.5)}


def pima():
    """Our answers on the test part of pima, whose model was fitted on the training part."""
    data = er.datasets.pima_predictions()
    belt = er.calibration_belt(data["y"], data["p"], rng=0)
    ours = {
        name: {key: round(float(row[key]), 3) for key in ("estimate", "lower", "upper")}
        for name, row in belt.intervals.iterrows()
    }
    return {"pvalue": belt.pvalue, **ours, "Spiegelhalter z": spiegelhalter(data["y"], data["p"])}


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--repetitions", type=int, default=4000)
    parser.add_argument("--belts", type=int, default=20)
    asked = parser.parse_args()
    found = {"repetitions": asked.repetitions, "resamples": RESAMPLES, "belts": asked.belts}
    found["size"] = {n: rates(n, 1.0, asked.repetitions) for n in (20, 50, 100)}
    found["power"] = {name: rates(200, slope, asked.repetitions) for name, slope in TRUTHS.items()}
    for title in ("size", "power"):
        for setting, tests in found[title].items():
            for name, r in tests.items():
                print(
                    f"{title} {setting}: {name} {r['rate']:.4f} [{r['low']:.4f}, {r['high']:.4f}]"
                )
    found["width"] = {}
    for n in (50, 200, 1000):
        found["width"][n] = widths(n, asked.belts)
        print(f"belt width n = {n}: {found['width'][n]}", file=sys.stderr)
    found["pima"] = {"exactregion": pima(), "rms val.prob": PIMA_RMS}
    print(json.dumps(found["pima"], indent=1))
    text = json.dumps(found, indent=1) + "\n"
    write_whole(RESULTS, lambda file: file.write(text.encode()))


if __name__ == "__main__":
    main()
