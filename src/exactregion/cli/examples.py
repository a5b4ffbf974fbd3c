"""Commands that need no file: ``datasets``, ``paper`` and ``demo``."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from exactregion.cli import options as opt
from exactregion.cli.output import (
    Page,
    check_packages,
    check_target,
    make_folder,
    note,
    print_json,
)
from exactregion.data.files import write_whole

__all__ = ["DATASETS_EXAMPLES", "DEMO_EXAMPLES", "PAPER_EXAMPLES", "datasets", "demo", "paper"]

DATASETS_EXAMPLES = """
Examples:
  exactregion datasets
  exactregion datasets oring --out oring.csv"""
PAPER_EXAMPLES = "\nExample:\n  exactregion paper --out figures"
DEMO_EXAMPLES = "\nExample:\n  exactregion demo --out oring-story"

FOLDER = "Folder for the files; made if need be."
FORCE = opt.flag("--force", "Replace files that exist.")
QUIET = opt.flag("--quiet", "No progress and no notes on stderr.")


def _names() -> list[str]:
    from exactregion import datasets as known

    return known.__all__


@opt.with_options
def datasets(
    name: str | None = opt.argument("NAME", "Print this one as CSV.", None, opt.offer(_names)),
    out: Path | None = opt.option(None, "FILE", "Write it to a file instead."),
    force: bool = FORCE,
    json: bool = opt.flag("--json", "List them as one JSON object."),
    quiet: bool = QUIET,
) -> None:
    """List the data sets that come along, or print one as CSV."""
    from exactregion import datasets as known

    if name is None:
        _list_datasets(json=json)
        return
    opt.check_choice("NAME", name, known.__all__)
    if out is not None:
        check_target("--out", out, force=force)
    text = getattr(known, name)().to_csv(index=False, lineterminator="\n")
    if out is None:
        sys.stdout.write(text)
        return
    write_whole(out, lambda file: file.write(text.encode()))
    note(f"Wrote {out}", quiet=quiet)


def _list_datasets(*, json: bool) -> None:
    from exactregion import datasets as known

    found: list[dict[str, Any]] = []
    facts: dict[str, str] = {}
    for name in known.__all__:
        load = getattr(known, name)
        frame = load()
        about = str(load.__doc__).partition("\n")[0].replace("`", "")
        columns = list(frame.columns)
        found.append({"name": name, "rows": len(frame), "columns": columns, "about": about})
        facts[name] = f"{about}\n{len(frame)} rows: {', '.join(columns)}"
    if json:
        print_json({"datasets": found})
        return
    page = Page("Data sets that come along")
    page.facts(facts)
    page.paragraph("exactregion datasets NAME prints one as CSV.")
    page.show()


@opt.with_options
def paper(
    out: Path = opt.option(None, "FOLDER", FOLDER, Path("exactregion-paper")),
    seed: int = opt.option(None, "NUMBER", "Of data and draws.", 0),
    force: bool = FORCE,
    quiet: bool = QUIET,
) -> None:
    """Repeat the experiment of the paper: its figure and its numbers.

    Writes paper.png, paper.pdf and paper.json.
    """
    from exactregion.paper import paper as experiment

    opt.Draws(seed=seed)  # checks the seed
    check_packages("--plot", "The figure")
    make_folder(out, experiment.FILES, force=force)
    files = experiment.run(out, seed, progress=lambda text: note(f"{text} …", quiet=quiet))
    sys.stdout.write("".join(f"{file}\n" for file in files))


@opt.with_options
def demo(
    out: Path = opt.option(None, "FOLDER", FOLDER, Path("exactregion-demo")),
    force: bool = FORCE,
    quiet: bool = QUIET,
) -> None:
    """Show what 23 flights say about O-rings and cold, in the terminal and two pictures."""
    from exactregion.cli import demo as oring

    make_folder(out, oring.PICTURES, force=force)
    oring.story(out, progress=not quiet).show()
    for name in oring.PICTURES:
        if (out / name).exists():
            note(f"Wrote {out / name}", quiet=quiet)
