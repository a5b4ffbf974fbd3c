"""The one picture of the theory: python docs/images/cloud.py makes docs/images/cloud.png.

23 flights, the logistic family and the score. Each of the m data sets is a point in the plane: how
many flights had damage, and how much warmer than average these flights were. Two candidates
draw two clouds; the observed flights are the same point in both.
"""

from pathlib import Path

import matplotlib as mpl
import numpy as np

import exactregion as er

HERE = Path(__file__).parent
CANDIDATES = {"temperature matters": (9.0, -0.14), "temperature does not matter": (-0.83, 0.0)}


def cloud(region, flights, theta):
    """Points of the m data sets, centre, and the ellipse that holds the accepted ones."""
    found = region.evaluate(theta)
    features = np.column_stack([np.ones(len(flights)), flights["temp"] - flights["temp"].mean()])
    points = (found.labels > 0) @ features
    p = found.probabilities
    centre = p @ features
    information = (features * (p * (1 - p))[:, None]).T @ features
    farthest = np.sort(found.Z)[region.accepted_ranks_.high - 1]
    around = np.linspace(0, 2 * np.pi, 200)
    circle = np.stack([np.cos(around), np.sin(around)], axis=-1)
    ellipse = centre + np.sqrt(farthest) * circle @ np.linalg.cholesky(information).T
    return found, points, centre, ellipse


def draw(ax, region, flights, title, theta):
    found, points, centre, ellipse = cloud(region, flights, theta)
    others = np.delete(points, found.seat, axis=0)
    m, inside = len(points), region.contains(theta)
    ax.plot(*others.T, ".", color="#4c78a8", alpha=0.35, label=f"{m - 1} data sets drawn from θ")
    ax.plot(*ellipse.T, color="#4c78a8", label=f"contains {region.coverage_:.0%} of the cloud")
    ax.plot(*centre, "+", color="black", markersize=12, label="centre: what θ predicts")
    ax.plot(*points[found.seat], "*", color="#e45756", markersize=16, label="the 23 flights")
    verdict = "in" if inside else "out"
    claim = f"θ = ({theta[0]:g}, {theta[1]:g}): {title}"
    answer = f"rank {found.rank} of {m}, p = {found.pvalue:.3f}, {verdict}"
    ax.set_title(f"{claim}\n{answer}", loc="left", fontsize="large")
    ax.set_xlabel("flights with damage")


def main():
    mpl.use("Agg")
    import matplotlib.pyplot as plt

    flights = er.datasets.oring()
    region = er.ConfidenceRegion("logistic", statistic="score", rng=0)
    region.fit(flights["temp"], flights["y"])
    figure, axes = plt.subplots(
        1, 2, figsize=(11, 4.8), sharex=True, sharey=True, layout="constrained"
    )
    for ax, (title, theta) in zip(axes, CANDIDATES.items(), strict=True):
        draw(ax, region, flights, title, theta)
    axes[0].set_ylabel("sum of their temperatures,\nrelative to the average flight (°F)")
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=4)
    figure.savefig(HERE / "cloud.png", dpi=110)


if __name__ == "__main__":
    main()
