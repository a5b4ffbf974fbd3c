"""What 23 flights say about O-rings and cold, for a terminal and in two pictures."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

import exactregion as er
from exactregion.data.files import write_whole

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["PICTURES", "story"]

PICTURES = ("oring_region.png", "oring_band.png")
"""Files that `story` writes."""

PUBLISHED = (15.0429, -0.23216)
"""Maximum likelihood of y ~ temp on these flights, as published many times."""

LAUNCHES = np.array([31.0, 53.0, 65.0, 81.0])

MEMBERS = {
    "the published fit": PUBLISHED,
    "half as steep": (6.9, -0.11),
    "twice as steep": (31.0, -0.47),
    "no effect of temperature": (-0.83, 0.0),
    "warm is dangerous": (-8.8, 0.11),
}


def story(folder: Path, *, progress: bool = True) -> str:
    """Write the text, and the pictures into the folder."""
    flights = er.datasets.oring()
    region = er.ConfidenceRegion(
        er.models.Logistic(), confidence_level=0.95, rng=0, progress=progress
    )
    region.fit(flights["temp"], flights["y"])
    return "\n\n".join(
        [
            "O-rings and cold: 23 shuttle flights before Challenger (launched at 31 °F)",
            _picture(flights["temp"].to_numpy(), flights["y"].to_numpy()),
            _candidates(flights),
            _family(region),
            _implied(region),
            _files(region, flights, folder),
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
    rows = [f"  {name:<36} p = {p:.3f}  {_bar(p)}" for name, p in table["pvalue"].items()]
    return "\n".join(
        [
            "Could these probabilities be true? (model_test, 999 resamples)",
            *rows,
            "  The published curve was fitted to these very flights, which flatters its",
            "  p-value; the others were not, and their p-values are exact.",
        ]
    )


def _family(region: er.ConfidenceRegion) -> str:
    pvalues = region.pvalue(list(MEMBERS.values()))
    at_launch = region.model_.probabilities(list(MEMBERS.values()), [31.0])[:, 0]
    lines = [
        "Which curves fit? P(damage) = 1 / (1 + exp(-(a + b·temp)))",
        f"  {'':<24} {'a':>6} {'b':>7} {'P(31 °F)':>9}  p-value",
    ]
    for (name, (a, b)), p, risk in zip(MEMBERS.items(), pvalues, at_launch, strict=True):
        verdict = "" if p > 1 - region.coverage_ else "  outside"
        chance = f"{risk:.3f}" if risk < 0.9995 else "> 0.999"
        lines.append(f"  {name:<24} {a:>6.2f} {b:>7.3f} {chance:>9}  {p:.3f} {_bar(p)}{verdict}")
    lines.append("  All (a, b) that are not outside make up the confidence region. It holds the")
    lines.append(f"  true pair with probability {region.coverage_:g}: exactly, at n = 23.")
    return "\n".join(lines)


def _implied(region: er.ConfidenceRegion) -> str:
    slope = region.intervals().loc["temp"]
    lines = [
        "What do they all say together?",
        f"  slope b, focused 95 % interval   [{slope['lower']:.3f}, {slope['upper']:.3f}]"
        "   (Wald: [-0.444, -0.020])",
    ]
    band = region.band(LAUNCHES)
    for x, low, high in zip(LAUNCHES, band.lower, band.upper, strict=True):
        note = {31.0: "  the launch", 81.0: "  the warmest flight"}.get(float(x), "")
        lines.append(f"  P(damage) at {x:.0f} °F, all at once   {low:.3f} to {high:.3f}{note}")
    even = region.functional(lambda th: -th[0] / th[1])
    lines.append(f"  damage is as likely as not at     {even.lower:.1f} to {even.upper:.1f} °F")
    return "\n".join(lines)


def _files(region: er.ConfidenceRegion, flights: pd.DataFrame, folder: Path) -> str:
    try:
        import matplotlib as mpl
    except ImportError:
        return "For the pictures: pip install exactregion[plot]"
    mpl.use("Agg")
    folder.mkdir(parents=True, exist_ok=True)
    data = (flights["temp"], flights["y"])
    displays = region.plot(), region.band(np.arange(31.0, 83.0)).plot(data=data)
    for name, display in zip(PICTURES, displays, strict=True):
        save = partial(display.figure_.savefig, dpi=150, format="png")
        write_whole(folder / name, save)
    return "\n".join(["Pictures:", *(f"  {folder / name}" for name in PICTURES)])


def _bar(pvalue: float, width: int = 16) -> str:
    return "█" * max(1, round(width * pvalue))
