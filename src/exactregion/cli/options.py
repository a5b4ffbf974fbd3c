"""Options that commands share, in groups; a command takes a group as one argument.

A group is a dataclass whose fields are options. `with_options` spreads the fields over the
signature that Typer reads, and puts them together again for the command.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from dataclasses import dataclass, fields, is_dataclass
from pathlib import Path
from typing import Annotated, Any, TypeAlias, get_type_hints

import typer

from exactregion.cli import completion
from exactregion.statistics import STATISTIC_NAMES

__all__ = [
    "COLUMNS",
    "FAMILY",
    "METHOD",
    "READING",
    "RESULTS",
    "Confidence",
    "Data",
    "Draws",
    "FailBelow",
    "Formula",
    "Inputs",
    "Jobs",
    "Outcome",
    "Output",
    "Probability",
    "Reading",
    "flag",
    "with_options",
]

COLUMNS = "Columns"
FAMILY = "Family"
METHOD = "Method"
READING = "Reading the file"
RESULTS = "Results"


def flag(name: str, text: str, panel: str | None = None) -> Any:
    """Make an option without a value.

    Parameters
    ----------
    name, text, panel : str
        Its name, what it does, and the panel of the help it stands in.
    """
    return typer.Option(name, help=text, metavar="", rich_help_panel=panel)


Data: TypeAlias = Annotated[
    str,
    typer.Argument(
        metavar="FILE",
        help="CSV or Parquet file with a header; - reads CSV from standard input.",
        show_default=False,
    ),
]

Inputs: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(
        metavar="COLUMN,…",
        help="Inputs, with commas between them or the option repeated.",
        rich_help_panel=COLUMNS,
        autocompletion=completion.columns,
    ),
]

Formula: TypeAlias = Annotated[
    str | None,
    typer.Option(
        metavar="TEXT",
        help='Outcome and inputs in one: "damage ~ temp"; with counts: "dead + alive ~ dose".',
        rich_help_panel=COLUMNS,
    ),
]

Probability: TypeAlias = Annotated[
    str,
    typer.Option(
        metavar="COLUMN",
        help="Column with the predicted probabilities.",
        rich_help_panel=COLUMNS,
        autocompletion=completion.columns,
        show_default=False,
    ),
]


@dataclass(frozen=True)
class Outcome:
    """The column with the outcome, and how to read it."""

    outcome: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMN",
            help="Column with the outcome: 0/1, true/false, or two classes.",
            rich_help_panel=COLUMNS,
            autocompletion=completion.columns,
        ),
    ] = None
    trials: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMN",
            help="Column with numbers of trials; the outcome then counts successes.",
            rich_help_panel=COLUMNS,
            autocompletion=completion.columns,
        ),
    ] = None
    positive: Annotated[
        str | None,
        typer.Option(
            metavar="CLASS",
            help="The class whose probability is meant, such as Yes.",
            rich_help_panel=COLUMNS,
        ),
    ] = None


@dataclass(frozen=True)
class Reading:
    """How to read the file."""

    delimiter: Annotated[
        str | None,
        typer.Option(
            metavar="TEXT",
            help="What separates cells: ',' by default, tab in .tsv files.",
            rich_help_panel=READING,
            show_default=False,
        ),
    ] = None
    decimal: Annotated[
        str,
        typer.Option(
            metavar="TEXT", help="What separates decimals: '.' or ','.", rich_help_panel=READING
        ),
    ] = "."
    drop_missing: Annotated[
        bool,
        flag("--drop-missing", "Leave out rows with missing values in the columns used.", READING),
    ] = False


@dataclass(frozen=True)
class Draws:
    """What is random, and how it is looked at."""

    statistic: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help=f"{', '.join(STATISTIC_NAMES[:-1])} or {STATISTIC_NAMES[-1]}; "
            "the default suits the command.",
            rich_help_panel=METHOD,
            autocompletion=completion.statistics,
            show_default=False,
        ),
    ] = None
    resamples: Annotated[
        int,
        typer.Option(metavar="NUMBER", help="Number of data sets drawn.", rich_help_panel=METHOD),
    ] = 999
    seed: Annotated[
        int,
        typer.Option(
            metavar="NUMBER",
            help="Of the draws: the same file and seed give the same answer.",
            rich_help_panel=METHOD,
        ),
    ] = 0


Confidence: TypeAlias = Annotated[
    str,
    typer.Option(metavar="LEVEL", help="Such as 0.95 or 95%.", rich_help_panel=METHOD),
]

Jobs: TypeAlias = Annotated[
    int | None,
    typer.Option(
        metavar="NUMBER",
        help="Threads; the answer is the same with any number.",
        rich_help_panel=METHOD,
        show_default=False,
    ),
]

FailBelow: TypeAlias = Annotated[
    str | None,
    typer.Option(
        metavar="ALPHA",
        help="Exit with code 1 if the p-value is at or below ALPHA.",
        rich_help_panel=RESULTS,
    ),
]


@dataclass(frozen=True)
class Output:
    """Where results go."""

    json: Annotated[
        bool,
        flag("--json", "Print one JSON object.", RESULTS),
    ] = False
    plot: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="Draw a picture: .png, .pdf or .svg.", rich_help_panel=RESULTS
        ),
    ] = None
    report: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Write a page to look at in a browser: .html.",
            rich_help_panel=RESULTS,
        ),
    ] = None
    force: Annotated[bool, flag("--force", "Replace files that exist.", RESULTS)] = False
    quiet: Annotated[
        bool,
        flag("--quiet", "No progress and no notes on stderr.", RESULTS),
    ] = False

    @property
    def talks(self) -> bool:
        """Whether progress is shown."""
        return not (self.quiet or self.json)


def with_options(command: Callable[..., None]) -> Callable[..., None]:
    """Spread the options of groups over the signature of a command."""
    hints = get_type_hints(command, include_extras=True)
    parameters: list[inspect.Parameter] = []
    groups: dict[str, Any] = {}
    for name, parameter in inspect.signature(command).parameters.items():
        kind = hints[name]
        if not is_dataclass(kind):
            parameters.append(parameter.replace(annotation=kind))
            continue
        groups[name] = kind
        inner = get_type_hints(kind, include_extras=True)
        parameters += [
            inspect.Parameter(
                field.name,
                inspect.Parameter.KEYWORD_ONLY,
                annotation=inner[field.name],
                default=field.default,
            )
            for field in fields(kind)
        ]

    @functools.wraps(command)
    def spread(**options: Any) -> None:
        gathered = {
            name: group(**{field.name: options.pop(field.name) for field in fields(group)})
            for name, group in groups.items()
        }
        command(**options, **gathered)

    keyword_only = [p.replace(kind=inspect.Parameter.KEYWORD_ONLY) for p in parameters]
    spread.__signature__ = inspect.Signature(keyword_only)  # type: ignore[attr-defined]
    spread.__annotations__ = {p.name: p.annotation for p in keyword_only}
    return spread
