"""Commands that need no file: ``datasets``, ``paper`` and ``demo``."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np

import exactregion as er
from exactregion.cli import options as opt
from exactregion.cli.output import Page, check_target, make_folder, note, print_json, write_picture
from exactregion.cli.values import check_choice
from exactregion.data.files import write_whole
from exactregion.errors import MissingDependencyError, optional_module
from exactregion.paper import paper as experiment

DATASETS_EXAMPLES = """
Examples:
  exactregion datasets
  exactregion datasets oring --out oring.csv"""
PAPER_EXAMPLES = "\nExample:\n  exactregion paper --out figures"
DEMO_EXAMPLES = "\nExample:\n  exactregion demo --out oring-story"

FOLDER = "Folder for the files; created if needed."
FORCE = opt.flag("--force", "Replace files that exist.")
QUIET = opt.flag("--quiet", "No progress and no notes on stderr.")

PICTURES = ("oring_region.png", "oring_band.png")
"""Files that `story` writes."""

MEMBERS = {
    "the published fit": (15.0429, -0.23216),
    "half as steep": (6.9, -0.11),
    "twice as steep": (31.0, -0.47),
    "no effect of temperature": (-0.83, 0.0),
    "warm is dangerous": (-8.8, 0.11),
}
"""Curves of the demo: intercept and slope."""


@opt.with_options
def datasets(
    name: str | None = opt.argument(
        "NAME", "Print this one as CSV.", None, opt.offer(er.datasets.__all__)
    ),
    out: Path | None = opt.option("FILE", "Write it to a file instead."),
    force: bool = FORCE,
    json: bool = opt.flag("--json", "List them as one JSON object."),
    quiet: bool = QUIET,
) -> None:
    """List the bundled data sets, or print one as CSV."""
    if name is None:
        _list_datasets(json=json)
        return
    check_choice("NAME", name, er.datasets.__all__)
    if out is not None:
        check_target("--out", out, force=force)
    text = getattr(er.datasets, name)().to_csv(index=False, lineterminator="\n")
    if out is None:
        sys.stdout.write(text)
        return
    write_whole(out, lambda file: file.write(text.encode()))
    note(f"Wrote {out}", quiet=quiet)


def _list_datasets(*, json: bool) -> None:
    found: list[dict[str, Any]] = []
    facts: dict[str, str] = {}
    for name in er.datasets.__all__:
        load = getattr(er.datasets, name)
        frame = load()
        about = str(load.__doc__).partition("\n")[0].replace("`", "")
        columns = list(frame.columns)
        found.append({"name": name, "rows": len(frame), "columns": columns, "about": about})
        facts[name] = f"{about}\n{len(frame)} rows: {', '.join(columns)}"
    if json:
        print_json({"datasets": found})
        return
    page = Page("Bundled data sets")
    page.facts(facts)
    page.paragraph("exactregion datasets NAME prints one as CSV.")
    page.show()


@opt.with_options
def paper(
    out: Path = opt.option("FOLDER", FOLDER, Path("exactregion-paper")),
    seed: int = opt.option("NUMBER", "Seed of data and draws.", 0),
    force: bool = FORCE,
    quiet: bool = QUIET,
) -> None:
    """Repeat the experiment of the paper: its figure, one with more regions, and numbers.

    Writes paper.png and paper.pdf, extended.png and extended.pdf, and paper.json.
    """
    opt.Draws(seed=seed)  # checks the seed
    optional_module("matplotlib", "The figure", "plot")
    make_folder(out, experiment.FILES, force=force)
    files = experiment.run(out, seed, progress=lambda text: note(f"{text} …", quiet=quiet))
    sys.stdout.write("".join(f"{file}\n" for file in files))


@opt.with_options
def demo(
    out: Path = opt.option("FOLDER", FOLDER, Path("exactregion-demo")),
    force: bool = FORCE,
    quiet: bool = QUIET,
) -> None:
    """Show what 23 flights say about O-rings and cold, in the terminal and two pictures."""
    make_folder(out, PICTURES, force=force)
    story(out, progress=not quiet).show()
    for name in PICTURES:
        if (out / name).exists():
            note(f"Wrote {out / name}", quiet=quiet)


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
    pvalues = er.compare(candidates, X, y, rng=0)["pvalue"]
    page.table(["P(damage)", "p-value"], [(str(name), f"{p:.3f}") for name, p in pvalues.items()])
    _show_curves(page, region)
    _show_bounds(page, region)
    try:
        displays = region.plot(), region.band(np.arange(31.0, 83.0)).plot(data=(X, y))
    except MissingDependencyError as error:
        page.paragraph(f"No pictures: {error}")
        return page
    for name, display in zip(PICTURES, displays, strict=True):
        write_picture(folder / name, display)
    return page


def _show_curves(page: Page, region: er.ConfidenceRegion) -> None:
    """Look up some curves in the region."""
    page.paragraph("Which curves fit? P(damage) = 1 / (1 + exp(-(a + b·temp)))")
    members = list(MEMBERS.values())
    found = zip(
        MEMBERS.items(),
        region.model_.probabilities(members, [31.0])[:, 0],
        region.pvalue(members),
        region.contains(members),
        strict=True,
    )
    page.table(
        ["curve", "a", "b", "P(31 °F)", "p-value", "region"],
        [
            (name, f"{a:.2f}", f"{b:.3f}", f"{risk:.3f}", f"{p:.3f}", "in" if inside else "outside")
            for (name, (a, b)), risk, p, inside in found
        ],
    )
    page.paragraph(
        "All (a, b) with a p-value above 0.05 make up the confidence region. It holds the true "
        f"pair with probability {region.coverage_:g}: exactly, at n = 23."
    )


def _show_bounds(page: Page, region: er.ConfidenceRegion) -> None:
    """Bound the slope, probabilities and the temperature of even odds."""
    page.paragraph("What do they all say together?")
    slope = region.intervals().loc["temp"]
    even = region.threshold("temp")
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
