"""Results on stdout, as text for people or JSON for programs; notes on stderr; files."""

from __future__ import annotations

import codecs
import os
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import typer
from rich import box
from rich.cells import cell_len
from rich.console import Console, RenderableType
from rich.table import Table
from rich.text import Text

from exactregion._version import __version__
from exactregion.cli import options as opt
from exactregion.cli.values import read_level
from exactregion.data.files import json_text, regular_file, write_whole
from exactregion.engine.progress import showing
from exactregion.errors import FileAccessError, InvalidValueError, optional_module
from exactregion.testing.result import RankedResult

NARROWEST = 12
"""Names in a table keep this much room, however wide the numbers are."""

WIDEST = 100
"""Lines of text are not longer than this even in a wide terminal: they would be hard to read."""

# what streams without Unicode show instead
PLAIN = {"−": "-", "∞": "inf", "≤": "<=", "≥": ">=", "…": "...", "θ": "theta", "·": "|", "–": "-"}

SUFFIXES = {"--plot": (".png", ".pdf", ".svg"), "--report": (".html", ".htm"), "--save": (".npz",)}
PACKAGES = {"--plot": ("matplotlib",), "--report": ("bokeh", "jinja2")}

DPI = 150
"""Of pictures: sharp on most screens, and 30 to 120 kB."""

COMMAND: ContextVar[str] = ContextVar("COMMAND")
"""The command line that runs, as it would be typed."""

ROUNDING = 1e-12
"""Adjusted p-values are products, whose last digit may be off."""


def printable(text: str) -> str:
    """Replace characters that would control a terminal."""
    return "".join(c if c.isprintable() or c == "\n" else "�" for c in text)


def shorten(name: str, width: int) -> str:
    """Cut a long name in the middle."""
    name = printable(name).replace("\n", "�")
    if len(name) <= width:
        return name
    left = width // 2
    return f"{name[:left]}…{name[len(name) - (width - left) + 2 :]}"


def note(text: str, *, quiet: bool) -> None:
    """Write a sentence to stderr, beside the results."""
    if not quiet:
        sys.stderr.write(printable(text) + "\n")


def plain_streams() -> None:
    """Let streams without Unicode show plain letters instead of failing; check that they are open.

    Python has no stream where the shell closed it. The next file that is opened would take its
    number, and whatever libraries print would go into that file.
    """
    if sys.stderr is None:
        sys.stderr = Path(os.devnull).open("w", encoding="utf-8")  # noqa: SIM115
    if sys.stdout is None:
        raise FileAccessError("Standard output is closed. Send it to /dev/null to see no results.")

    def replace(error: UnicodeError) -> tuple[str, int]:
        if not isinstance(error, UnicodeEncodeError):
            raise error
        text = error.object[error.start : error.end]
        return "".join(PLAIN.get(character, "?") for character in text), error.end

    codecs.register_error("exactregion", replace)
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="exactregion")


class Page:
    """Text for people, from top to bottom, below a heading."""

    def __init__(self, heading: str) -> None:
        self._console = Console(highlight=False, markup=False, emoji=False)
        self._console.width = min(self._console.width, WIDEST)
        self._parts: list[RenderableType] = [Text(printable(heading), style="bold"), ""]

    def paragraph(self, *texts: str) -> None:
        """Add sentences, each text that is not empty with an empty line below."""
        for text in filter(None, texts):
            self._parts += [Text(printable(text)), ""]

    def facts(self, facts: Mapping[str, str]) -> None:
        """Add facts, each on a line with its name."""
        table = Table.grid(padding=(0, 2), pad_edge=False)
        table.add_column(no_wrap=True)
        table.add_column(ratio=1)
        for name, fact in facts.items():
            table.add_row(Text(f"  {name}", style="dim"), Text(printable(fact)))
        self._parts += [table, ""]

    def table(self, columns: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
        """Add a table: names in the first column, which are cut; then numbers, which never are."""
        numbers = list(zip(columns[1:], *(row[1:] for row in rows), strict=True))
        taken = sum(max(map(cell_len, cells)) + 3 for cells in numbers) + 2
        room = max(NARROWEST, self._console.width - taken)
        table = Table(box=box.SIMPLE_HEAD, show_edge=False)
        table.add_column(Text(shorten(columns[0], room)), no_wrap=True)
        for name in columns[1:]:
            table.add_column(Text(shorten(name, room)), justify="right", no_wrap=True)
        for first, *others in rows:
            table.add_row(Text(shorten(first, room)), *(Text(printable(cell)) for cell in others))
        # Rich would cut numbers where the table is wider than the terminal
        unlimited = self._console.options.update(max_width=1000)
        table.width = self._console.measure(table, options=unlimited).maximum
        self._parts += [table, ""]

    def show(self) -> None:
        """Print the page on stdout."""
        with self._console.capture() as captured:
            for part in self._parts:
                self._console.print(part, crop=False)
        lines = captured.get().rstrip().split("\n")
        sys.stdout.write("".join(f"{line.rstrip()}\n" for line in lines))


def print_json(content: Mapping[str, Any]) -> None:
    """Print one JSON object on stdout; what is not finite becomes null."""
    unicode = (sys.stdout.encoding or "").lower().replace("-", "") == "utf8"
    sys.stdout.write(json_text(content, ensure_ascii=not unicode))


def rows_text(content: Mapping[str, Any]) -> str:
    """Say how many rows there are, and how many were left out."""
    text = f"{content['n']:,}"
    left_out = content.get("dropped")
    return f"{text} ({left_out:,} with missing values left out)" if left_out else text


def draws_text(content: Mapping[str, Any]) -> str:
    """Say which statistic was used, and what was drawn."""
    text = f"{content['statistic']}, {content['resamples']:,} resamples"
    return text if content["seed"] is None else f"{text}, seed {content['seed']}"


def pvalue_text(result: RankedResult) -> str:
    """Write a p-value and its rank."""
    return f"{result.pvalue:.4g} (rank {result.rank:,} of {result.n_resamples + 1:,})"


def check_target(option: str, path: Path, *, force: bool) -> None:
    """Check that a file can be written, before the work that goes into it."""
    suffixes = SUFFIXES.get(option, ())
    if suffixes and path.suffix.lower() not in suffixes:
        listed = " or ".join(filter(None, [", ".join(suffixes[:-1]), suffixes[-1]]))
        raise InvalidValueError(f"{option} must end in {listed}. Got {str(path)!r} instead.")
    for package in PACKAGES.get(option, ()):
        optional_module(package, option, option.removeprefix("--"))
    if path.is_dir():
        raise InvalidValueError(f"{option} must be a file. {str(path)!r} is a folder.")
    folder = regular_file(path).parent if path.is_symlink() or path.exists() else path.parent
    if not folder.is_dir():
        raise InvalidValueError(f"{option}: there is no folder {str(folder)!r}.")
    if path.exists() and not force:
        raise InvalidValueError(
            f"{option}: the file {str(path)!r} exists. Add --force to replace it, or choose "
            "another name."
        )
    if not os.access(folder, os.W_OK | os.X_OK):
        raise InvalidValueError(f"{option}: the folder {str(folder)!r} cannot be written to.")


def make_folder(folder: Path, names: Iterable[str], *, force: bool) -> None:
    """Make the folder of --out if need be, and check that files can be written into it."""
    if folder.exists() and not folder.is_dir():
        raise InvalidValueError(f"--out must be a folder. {str(folder)!r} is a file.")
    folder.mkdir(parents=True, exist_ok=True)
    for name in names:
        check_target("--out", folder / name, force=force)


def write_picture(path: Path, display: Any) -> None:
    """Write the figure of a Display."""
    save = partial(display.figure_.savefig, format=path.suffix[1:].lower(), dpi=DPI)
    write_whole(path, save)


def _about(content: Mapping[str, Any]) -> dict[str, str]:
    """Describe file and rows for the head of a report."""
    about = {"File": str(content["file"]), "Rows": rows_text(content)}
    outcome = content.get("event", content.get("outcome"))
    return about if outcome is None else {**about, "Outcome": str(outcome)}


class Decision(NamedTuple):
    """The p-value that --fail-below looks at, what it is, and what is wrong if it is small."""

    pvalue: float
    name: str = "p ="
    reason: str = ""


@dataclass(frozen=True)
class Output:
    """Where results go: files are checked first, then written."""

    panel: ClassVar[str] = opt.RESULTS

    fail_below: str | None = opt.option(
        "ALPHA", "Exit with code 1 if the p-value is at or below ALPHA."
    )
    json: bool = opt.flag("--json", "Print one JSON object.")
    plot: Path | None = opt.option("FILE", "Draw a picture: .png, .pdf or .svg.")
    report: Path | None = opt.option("FILE", "Write a report for the browser: .html.")
    force: bool = opt.flag("--force", "Replace files that exist.")
    quiet: bool = opt.flag("--quiet", "No progress and no notes on stderr.")

    @property
    def progress(self) -> bool:
        """Whether progress is shown."""
        return not (self.quiet or self.json)

    @property
    def alpha(self) -> float | None:
        """The level of --fail-below."""
        return None if self.fail_below is None else read_level(self.fail_below, "--fail-below")

    def check(self, resamples: int, save: Path | None = None) -> None:
        """Check the level, and the files that are to be written, before any work."""
        self.check_level(resamples)
        for option, path in (("plot", self.plot), ("report", self.report), ("save", save)):
            if path is not None:
                check_target(f"--{option}", path, force=self.force)

    def check_level(self, resamples: int, n_tests: int = 1) -> None:
        """Raise an error for a level below the smallest p-value, adjusted for tests."""
        alpha, smallest = self.alpha, n_tests / (resamples + 1)
        # as numbers in floating point, 5% may be below 1/20
        if alpha is not None and alpha < smallest * (1 - 1e-9):
            needed = int(-(-n_tests // alpha)) - 1
            raise InvalidValueError(
                f"--fail-below {alpha:g} cannot be reached: the smallest p-value with --resamples "
                f"{resamples} is {smallest:g}. Use --resamples {needed} or more."
            )

    def finish(
        self,
        page: Page,
        content: dict[str, Any],
        result: Any,
        decision: Decision,
        *,
        failed: bool = False,
        save: Path | None = None,
        draw: Callable[[], Any] | None = None,
        **reported: Any,
    ) -> None:
        """Print the results, write the files, and exit with 1 if --fail-below or `failed` says so.

        `page` is for people, `content` for programs. `result` reports and saves itself, and draws
        itself unless `draw` does, or is a mapping with the tests of several models. `reported` is
        what the report shows besides, such as groups.
        """
        pvalue, name, reason = decision
        rejected = None if self.alpha is None else pvalue <= self.alpha * (1 + ROUNDING)
        if self.json:
            decided = {"fail_below": self.alpha, "rejected": rejected}
            print_json({"version": __version__, **content, **decided})
        else:
            if rejected is not None:
                word = "Rejected" if rejected else "Not rejected"
                text = f"{word} at the level {self.alpha:g} of --fail-below: {name} {pvalue:.4g}."
                page.paragraph(f"{text} {reason}" if rejected and reason else text)
            page.show()
        sys.stdout.flush()
        if save is not None:
            result.save(save)
        with showing("picture", show=self.progress and hasattr(result, "parameter_names_")):
            if self.plot is not None:
                from exactregion.plotting import NullsDisplay

                if draw is None:
                    draws = hasattr(result, "plot")
                    draw = result.plot if draws else partial(NullsDisplay.from_results, result)
                write_picture(self.plot, draw())
            if self.report is not None:
                from exactregion.report import write_report

                about, command = _about(content), COMMAND.get(None)
                write_report(result, self.report, about=about, command=command, **reported)
        for path in (save, self.plot, self.report):
            if path is not None:
                note(f"Wrote {path}", quiet=self.quiet)
        if rejected or failed:
            raise typer.Exit(1)
