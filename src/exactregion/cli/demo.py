"""What 23 flights say about O-rings and cold, for a terminal and in two pictures."""

from __future__ import annotations

from pathlib import Path

import numpy as np

import exactregion as er
from exactregion.cli.output import Page, write_picture
from exactregion.errors import MissingDependencyError

__all__ = ["PICTURES", "story"]

PICTURES = ("oring_region.png", "oring_band.png")
"""Files that `story` writes."""

MEMBERS = {
    "the published fit": (15.0429, -0.23216),
    "half as steep": (6.9, -0.11),
    "twice as steep": (31.0, -0.47),
    "no effect of temperature": (-0.83, 0.0),
    "warm is dangerous": (-8.8, 0.11),
}


def story(folder: Path, *, progress: bool = True) -> Page:
    """Tell the story, and write the pictures into the folder."""
    flights = er.datasets.oring()
    X, y = flights[["temp"]], flights["y"]
    region = er.ConfidenceRegion("logistic", rng=0, progress=progress).fit(X, y)
    page = Page("O-rings and cold: 23 shuttle flights before Challenger (launched at 31 °F)")
    page.facts(
        {
            "damaged, °F": ", ".join(map(str, sorted(flights["temp"][y == 1]))),
            "intact, °F": ", ".join(map(str, sorted(flights["temp"][y == 0]))),
        }
    )

    page.paragraph("Could these probabilities be true? (model_test, 999 resamples)")
    candidates = {
        "always 1 in 3": np.full(len(y), 1 / 3),
        "coin toss below 65 °F, else 1 in 20": np.where(X["temp"] < 65, 0.5, 0.05),
    }
    table = er.compare(candidates, X, y, rng=0)
    page.table(
        ["P(damage)", "p-value"], [(str(name), f"{p:.3f}") for name, p in table["pvalue"].items()]
    )

    page.paragraph("Which curves fit? P(damage) = 1 / (1 + exp(-(a + b·temp)))")
    members = list(MEMBERS.values())
    at_launch = region.model_.probabilities(members, [31.0])[:, 0]
    page.table(
        ["curve", "a", "b", "P(31 °F)", "p-value", "region"],
        [
            (name, f"{a:.2f}", f"{b:.3f}", f"{risk:.3f}", f"{p:.3f}", "in" if inside else "outside")
            for (name, (a, b)), risk, p, inside in zip(
                MEMBERS.items(),
                at_launch,
                region.pvalue(members),
                region.contains(members),
                strict=True,
            )
        ],
    )
    page.paragraph(
        "All (a, b) with a p-value above 0.05 make up the confidence region. It holds the true "
        f"pair with probability {region.coverage_:g}: exactly, at n = 23."
    )

    page.paragraph("What do they all say together?")
    slope = region.intervals().loc["temp"]
    even = region.functional(lambda theta: -theta[0] / theta[1])
    launches = np.array([31.0, 53.0, 65.0, 81.0])
    band = region.band(launches)
    page.facts(
        {
            "slope b": f"{slope['lower']:.3f} to {slope['upper']:.3f} (Wald: -0.444 to -0.020)",
            **{
                f"P(damage) at {x:.0f} °F": f"{low:.3f} to {high:.3f}, all at once"
                for x, low, high in zip(launches, band.lower, band.upper, strict=True)
            },
            "damage as likely as not": f"at {even.lower:.1f} to {even.upper:.1f} °F",
        }
    )
    try:
        displays = region.plot(), region.band(np.arange(31.0, 83.0)).plot(data=(X, y))
    except MissingDependencyError as error:
        page.paragraph(f"No pictures: {error}")
        return page
    for name, display in zip(PICTURES, displays, strict=True):
        write_picture(folder / name, display)
    return page
