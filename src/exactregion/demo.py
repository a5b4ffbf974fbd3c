"""The O-ring story, told in a terminal: ``python -m exactregion.demo``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

import exactregion as er

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["main", "story"]

PUBLISHED = (15.0429, -0.23216)
"""Maximum likelihood of y ~ temp on these flights, as published many times."""

ASKED = {
    "the published fit": PUBLISHED,
    "half as steep": (6.9, -0.11),
    "twice as steep": (31.0, -0.47),
    "no effect of temperature": (-0.83, 0.0),
    "warm is dangerous": (-8.8, 0.11),
}


def main() -> None:
    """Print the story."""
    print(story())


def story() -> str:
    """Tell what 23 flights say about O-rings and cold, with exact p-values."""
    flights = er.datasets.oring()
    return "\n\n".join(
        [
            "O-rings and cold: 23 shuttle flights before Challenger (launched at 31 °F)",
            _picture(flights["temp"].to_numpy(), flights["y"].to_numpy()),
            _candidates(flights),
            _family(flights),
        ]
    )


def _picture(temperature: Any, damaged: Any) -> str:
    low, high = 50, 84
    lines = []
    for value, name in ((1, "damaged"), (0, "intact")):
        counts = np.bincount(temperature[damaged == value] - low, minlength=high - low)
        marks = "".join(str(count) if count else "·" for count in counts)
        lines.append(f"  {name:>8}  {marks}")
    ruler = "".join(f"{degree:<5}" for degree in range(low, high, 5))
    return "\n".join([*lines, f"  {'°F':>8}  {ruler}"])


def _candidates(flights: pd.DataFrame) -> str:
    X, y = flights[["temp"]], flights["y"]
    a, b = PUBLISHED
    candidates = {
        "logistic, published": lambda X: 1 / (1 + np.exp(-(a + b * X["temp"]))),
        "always 1 in 3": np.full(len(y), 1 / 3),
        "coin toss below 65 °F, else 1 in 20": np.where(X["temp"] < 65, 0.5, 0.05),
    }
    table = er.compare(candidates, X, y, rng=0)
    lines = ["Could these probabilities be true? (model_test, 999 resamples)"]
    for name, row in table.iterrows():
        lines.append(f"  {name:<36} p = {row['pvalue']:.3f}  {_bar(row['pvalue'])}")
    lines.append("  The published curve was fitted to these very flights, which flatters its")
    lines.append("  p-value; the others were not, and their p-values are exact.")
    return "\n".join(lines)


def _family(flights: pd.DataFrame) -> str:
    X, y = flights["temp"], flights["y"]
    region = er.ConfidenceRegion(er.models.Logistic(), confidence_level=0.95, rng=0).fit(X, y)
    pvalues = region.pvalue(list(ASKED.values()))
    at_launch = region.model_.probabilities(list(ASKED.values()), [31.0])[:, 0]
    lines = [
        "Which curves fit? P(damage) = 1 / (1 + exp(-(a + b·temp)))",
        f"  {'':<24} {'a':>6} {'b':>7} {'P(31 °F)':>9}  p-value",
    ]
    for (name, (a, b)), p, risk in zip(ASKED.items(), pvalues, at_launch, strict=True):
        verdict = "" if p > 1 - region.coverage_ else "  outside"
        chance = f"{risk:.3f}" if risk < 0.9995 else "> 0.999"
        lines.append(f"  {name:<24} {a:>6.2f} {b:>7.3f} {chance:>9}  {p:.3f} {_bar(p)}{verdict}")
    lines.append("  All (a, b) that are not outside make up the confidence region. It holds the")
    lines.append(f"  true pair with probability {region.coverage_:g}: exactly, at n = 23.")
    return "\n".join(lines)


def _bar(pvalue: float, width: int = 16) -> str:
    return "█" * max(1, round(width * pvalue))


if __name__ == "__main__":
    main()
