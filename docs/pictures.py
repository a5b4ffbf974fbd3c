"""The picture at the top of the README: python docs/pictures.py."""

from pathlib import Path

import matplotlib as mpl
import numpy as np
from sklearn.ensemble import GradientBoostingClassifier

import exactregion as er

HERE = Path(__file__).parent / "images"


def main():
    mpl.use("Agg")
    import matplotlib.pyplot as plt

    flights = er.datasets.oring()
    style = {"loc": "left", "fontsize": "large"}
    region = er.ConfidenceRegion("logistic", rng=0).fit(flights["temp"], flights["y"])
    figure, (left, middle, right) = plt.subplots(1, 3, figsize=(15, 4.4), layout="constrained")
    region.plot(ax=left)
    left.set_title("Which parameters fit? 23 flights, logistic", **style)
    band = region.band(np.arange(31.0, 83.0))
    band.plot(data=(flights["temp"], flights["y"]), ax=middle)
    middle.set_title("Which curves? P(damage) by temperature (°F)", **style)
    belt = er.calibration_belt(*predictions_of_boosted_trees(), rng=0)
    belt.plot(ax=right)
    right.set_title(f"Can these predictions be true? p = {belt.pvalue:.3f}", **style)
    figure.savefig(HERE / "answers.png", dpi=110)


def predictions_of_boosted_trees():
    """Outcomes of 332 women, and predictions by trees that learned from 200 others."""
    old, new = er.datasets.pima_tr(), er.datasets.pima_te()
    inputs = ["npreg", "glu", "bp", "skin", "bmi", "ped", "age"]
    trees = GradientBoostingClassifier(random_state=0).fit(old[inputs], old["type"])
    return new["type"] == "Yes", trees.predict_proba(new[inputs])[:, 1]


if __name__ == "__main__":
    HERE.mkdir(exist_ok=True)
    main()
