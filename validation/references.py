"""Real data sets beside the numbers that established tools give on them.

    python validation/references.py [--resamples 999] [--seed 0]

prints a table and writes validation/results/references.json. The reference numbers are from R 4.2.2
(MASS, profile likelihood), statsmodels 0.15.0 and psignifit.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import numpy as np

import exactregion as er

RESULTS = Path(__file__).parent / "results" / "references.json"


def counts(data, successes, total):
    return np.column_stack([data[successes], data[total] - data[successes]])


def row(name, interval, reference):
    return {
        "quantity": name,
        "estimate": interval.estimate,
        "lower": interval.lower,
        "upper": interval.upper,
        "status": interval.status,
        "reference": reference,
    }


def parameter(region, name, label, reference):
    found = region.intervals().loc[name]
    keys = ("estimate", "lower", "upper", "status")
    return {"quantity": label, **{key: found[key] for key in keys}, "reference": reference}


def oring(options):
    data = er.datasets.oring()
    region = er.ConfidenceRegion("logistic", **options).fit(data["temp"], data["y"])
    reference = "Wald -0.444, -0.020; profile -0.516, -0.061; exact conditional -0.480, -0.044"
    band = region.band(np.array([31.0]), joint=False)
    at_31 = er.Interval(
        "", float(band.estimate[0]), float(band.lower[0]), float(band.upper[0]), "bounded",
        region.coverage_, 0.0, 0, 0.0,
    )  # fmt: skip
    return [
        parameter(region, "temp", "oring slope", reference),
        row("oring P(damage) at 31 °F", at_31, "Wald 0.48, 1.00"),
    ]


def budworm(options):
    data = er.datasets.budworm()
    X = np.column_stack([data["sex"] == "female", data["sex"] == "male", data["ldose"]]) * 1.0
    model = er.models.Logistic(intercept=False)
    region = er.ConfidenceRegion(model, **options).fit(X, counts(data, "ndead", "ntotal"))
    references = {"female": "3.264 (SE 0.230)", "male": "2.229 (SE 0.226)"}
    rows = [parameter(region, "x2", "budworm log2 dose", "profile 0.823, 1.339")]
    for index, sex in enumerate(references):
        ed50 = region.functional(lambda th, index=index: -th[index] / th[2])
        rows.append(row(f"budworm ED50 {sex} (log2 dose)", ed50, references[sex]))
    return rows


def menarche(options):
    data = er.datasets.menarche()
    region = er.ConfidenceRegion("logistic", **options)
    region.fit(data["Age"], counts(data, "Menarche", "Total"))
    age = region.functional(lambda th: -th[0] / th[1])
    return [
        parameter(region, "Age", "menarche slope", "profile 1.520, 1.751"),
        row("menarche age at 50 %", age, "13.007 (SE 0.039)"),
    ]


def beetle(options):
    data = er.datasets.beetle()
    y = counts(data, "killed", "n")
    halves = {"logistic": 0.0, "probit": 0.0, "cloglog": np.log(np.log(2))}
    deviances = {"logistic": "0.081", "probit": "0.120", "cloglog": "0.751"}
    rows = []
    for model, half in halves.items():
        region = er.ConfidenceRegion(model, **options).fit(data["logdose"], y)
        narrow = er.statistics.Discrepancy(bandwidth=0.3)
        fit = er.ConfidenceRegion(model, statistic=narrow, **options)
        fit.fit(data["logdose"], y)
        kept = f"largest p {region.pvalue(region.estimate_):.3f}"
        kernel = f"by a narrow kernel alone {fit.pvalue(fit.estimate_):.3f}"
        ld50 = region.functional(lambda th, half=half: (half - th[0]) / th[1])
        reference = f"deviance p {deviances[model]}" + ("; LD50 1.7717" if half == 0 else "")
        found = row(f"beetle LD50, {model}", ld50, reference)
        rows.append(found | {"status": f"{found['status']}; {kept}; {kernel}"})
    return rows


def two_afc(options):
    data = er.datasets.two_afc()
    model = er.models.Psychometric(er.models.Probit(), guess=0.5, lapse="free")
    region = er.ConfidenceRegion(model, **options)
    region.fit(1000 * data["level"], counts(data, "n_correct", "n_total"))
    threshold = region.functional(lambda th: -th[0] / th[1] / 1000)
    return [row("2AFC threshold", threshold, "0.004646, credible 0.00425, 0.00493")]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--resamples", type=int, default=999)
    parser.add_argument("--seed", type=int, default=0)
    parsed = parser.parse_args()
    options = {"n_resamples": parsed.resamples, "rng": parsed.seed}
    rows = [r for study in (oring, budworm, menarche, beetle, two_afc) for r in study(options)]
    for r in rows:
        ends = f"{r['estimate']:>9.4f}  [{r['lower']:.4f}, {r['upper']:.4f}]"
        print(f"{r['quantity']:<32} {ends:<34} {r['status']}\n{'':>34}{r['reference']}")
    RESULTS.write_text(json.dumps(rows, indent=1, default=float) + "\n")


if __name__ == "__main__":
    main()
