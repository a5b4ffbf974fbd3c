"""The picture at the top of the README: python docs/pictures.py."""

from pathlib import Path

import matplotlib as mpl
import numpy as np

import exactregion as er

HERE = Path(__file__).parent / "images"


def main():
    mpl.use("Agg")
    import matplotlib.pyplot as plt

    flights, predictions = er.datasets.oring(), er.datasets.pima_predictions()
    style = {"loc": "left", "fontsize": "large"}
    region = er.ConfidenceRegion("logistic", rng=0).fit(flights["temp"], flights["y"])
    figure, (left, middle, right) = plt.subplots(1, 3, figsize=(15, 4.4), layout="constrained")
    region.plot(ax=left)
    left.set_title("Which parameters fit? 23 flights, logistic", **style)
    band = region.band(np.arange(31.0, 83.0))
    band.plot(data=(flights["temp"], flights["y"]), ax=middle)
    middle.set_title("Which curves? P(damage) by temperature (°F)", **style)
    belt = er.calibration_belt(predictions["y"], predictions["p"], rng=0)
    belt.plot(ax=right)
    right.set_title(f"Can these predictions be true? p = {belt.pvalue:.2f}", **style)
    figure.savefig(HERE / "answers.png", dpi=110)


if __name__ == "__main__":
    HERE.mkdir(exist_ok=True)
    main()
