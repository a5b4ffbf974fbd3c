"""Options of the commands: what Typer shows, what the shell completes, what values they take.

Options that commands share come in groups. A group is a dataclass whose fields are options;
`with_options` spreads the fields over the signature that Typer reads, and puts them together again
for the command.
"""

from __future__ import annotations

import csv
import functools
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass, fields, is_dataclass
from fractions import Fraction
from inspect import Parameter, Signature, signature
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias, get_type_hints

import typer

from exactregion.data.table import did_you_mean
from exactregion.errors import InvalidValueError
from exactregion.models import MODELS
from exactregion.statistics import STATISTIC_NAMES

if TYPE_CHECKING:
    from exactregion.models import Model

__all__ = [
    "Confidence",
    "DataFile",
    "Draws",
    "FailBelow",
    "Family",
    "Formula",
    "Inputs",
    "Jobs",
    "Outcome",
    "Output",
    "Reading",
    "check_choice",
    "check_draws",
    "column_option",
    "flag",
    "offer",
    "option",
    "read_alpha",
    "read_level",
    "read_numbers",
    "with_options",
]


# --- completion by the shell --------------------------------------------------------------------


def offer(names: Callable[[], Iterable[str]]) -> Callable[[str], list[str]]:
    """Make a completion that offers those names which begin as the word does."""

    def complete(incomplete: str) -> list[str]:
        return [name for name in names() if name.startswith(incomplete)]

    return complete


def complete_columns(ctx: typer.Context, incomplete: str) -> list[str]:
    """Offer the columns of the CSV file that stands before on the line."""
    names: list[str] = []
    # an option whose value is still missing keeps Typer from telling arguments apart
    words = [ctx.params.get("file"), *ctx.args]
    file = next((Path(word) for word in words if word and Path(word).is_file()), None)
    if file is not None:
        with (
            suppress(OSError, UnicodeDecodeError, csv.Error, StopIteration, TypeError),
            file.open(encoding="utf-8-sig", newline="") as lines,
        ):
            names = next(csv.reader(lines, delimiter=ctx.params.get("delimiter") or ","))
    before, comma, last = incomplete.rpartition(",")
    return [before + comma + name for name in names if name.startswith(last)]


# --- options ------------------------------------------------------------------------------------


def option(panel: str | None, metavar: str, text: str, **settings: Any) -> Any:
    """Make an option with a value, in a panel of the help."""
    return typer.Option(metavar=metavar, help=text, rich_help_panel=panel, **settings)


def column_option(text: str, metavar: str = "COLUMN", **settings: Any) -> Any:
    """Make an option whose value is a column of the file."""
    return option("Columns", metavar, text, autocompletion=complete_columns, **settings)


def flag(name: str, text: str, panel: str | None = None) -> Any:
    """Make an option without a value."""
    return typer.Option(name, help=text, metavar="", rich_help_panel=panel)


DataFile: TypeAlias = Annotated[
    str,
    typer.Argument(
        metavar="FILE",
        help="CSV or Parquet file with a header; - reads CSV from standard input.",
        show_default=False,
    ),
]

Inputs: TypeAlias = Annotated[
    list[str] | None,
    column_option("Inputs, with commas between them or the option repeated.", "COLUMN,…"),
]

Formula: TypeAlias = Annotated[
    str | None,
    option(
        "Columns",
        "TEXT",
        'Outcome and inputs in one: "damage ~ temp"; with counts: "dead + alive ~ dose".',
    ),
]

Confidence: TypeAlias = Annotated[str, option("Method", "LEVEL", "Such as 0.95 or 95%.")]

Jobs: TypeAlias = Annotated[
    int | None,
    option(
        "Method", "NUMBER", "Threads; the answer is the same with any number.", show_default=False
    ),
]

FailBelow: TypeAlias = Annotated[
    str | None,
    option("Results", "ALPHA", "Exit with code 1 if the p-value is at or below ALPHA."),
]


@dataclass(frozen=True)
class Outcome:
    """The column with the outcome, and how to read it."""

    outcome: Annotated[
        str | None, column_option("Column with the outcome: 0/1, true/false, or two classes.")
    ] = None
    trials: Annotated[
        str | None,
        column_option("Column with numbers of trials; the outcome then counts successes."),
    ] = None
    positive: Annotated[
        str | None,
        option("Columns", "CLASS", "The class whose probability is meant, such as Yes."),
    ] = None


@dataclass(frozen=True)
class Family:
    """The family of models, and what is known of it."""

    model: Annotated[
        str,
        option(
            "Family",
            "NAME",
            f"{', '.join(list(MODELS)[:-1])} or {list(MODELS)[-1]}.",
            autocompletion=offer(lambda: MODELS),
        ),
    ] = "logistic"
    guess: Annotated[
        str | None,
        option("Family", "RATE", "Of psychometric: guess rate, or free. 0.5 by default."),
    ] = None
    lapse: Annotated[
        str | None,
        option("Family", "RATE", "Of psychometric: lapse rate, or free, the default."),
    ] = None
    locations: Annotated[
        str | None,
        option(
            "Family",
            "A,B",
            "Of laplace and gaussian: centres of the positive and the negative class.",
        ),
    ] = None

    def to_model(self) -> Model:
        """Make the model; an error for options that it does not take."""
        check_choice("--model", self.model, MODELS)
        settings: dict[str, Any] = {}
        for name in ("guess", "lapse", "locations"):
            text = getattr(self, name)
            if text is None:
                continue
            takers = [key for key, kind in MODELS.items() if name in signature(kind).parameters]
            if self.model not in takers:
                raise InvalidValueError(f"--{name} goes with --model {' or '.join(takers)} only.")
            settings[name] = text
            with suppress(ValueError):  # other text is "free", or an error of the model
                numbers = tuple(float(part) for part in text.split(","))
                settings[name] = numbers if len(numbers) > 1 else numbers[0]
        return MODELS[self.model](**settings)


@dataclass(frozen=True)
class Draws:
    """The statistic, and what is random."""

    statistic: Annotated[
        str | None,
        option(
            "Method",
            "NAME",
            f"{', '.join(STATISTIC_NAMES[:-1])} or {STATISTIC_NAMES[-1]}; "
            "the default suits the command.",
            autocompletion=offer(lambda: STATISTIC_NAMES),
        ),
    ] = None
    resamples: Annotated[int, option("Method", "NUMBER", "Number of data sets drawn.")] = 999
    seed: Annotated[
        int,
        option("Method", "NUMBER", "Of the draws: the same file and seed give the same answer."),
    ] = 0

    @property
    def description(self) -> str:
        """What is random, in words."""
        return f"{self.resamples:,} resamples, seed {self.seed}"

    def to_dict(self) -> dict[str, int]:
        """Return what is random, for programs."""
        return {"resamples": self.resamples, "seed": self.seed}


@dataclass(frozen=True)
class Output:
    """Where results go."""

    json: Annotated[bool, flag("--json", "Print one JSON object.", "Results")] = False
    plot: Annotated[
        Path | None, option("Results", "FILE", "Draw a picture: .png, .pdf or .svg.")
    ] = None
    report: Annotated[
        Path | None, option("Results", "FILE", "Write a page to look at in a browser: .html.")
    ] = None
    force: Annotated[bool, flag("--force", "Replace files that exist.", "Results")] = False
    quiet: Annotated[bool, flag("--quiet", "No progress and no notes on stderr.", "Results")] = (
        False
    )

    @property
    def progress(self) -> bool:
        """Whether progress is shown."""
        return not (self.quiet or self.json)


@dataclass(frozen=True)
class Reading:
    """How to read the file."""

    delimiter: Annotated[
        str | None,
        option(
            "Reading the file", "TEXT", "What separates cells: ',' by default, tab in .tsv files."
        ),
    ] = None
    decimal: Annotated[
        str, option("Reading the file", "TEXT", "What separates decimals: '.' or ','.")
    ] = "."
    drop_missing: Annotated[
        bool,
        flag(
            "--drop-missing",
            "Leave out rows with missing values in the columns used.",
            "Reading the file",
        ),
    ] = False


def with_options(command: Callable[..., None]) -> Callable[..., None]:
    """Spread the options of groups over the signature of a command."""
    hints = get_type_hints(command, include_extras=True)
    parameters: list[Parameter] = []
    groups: dict[str, Any] = {name: kind for name, kind in hints.items() if is_dataclass(kind)}
    for name, parameter in signature(command).parameters.items():
        keyword = parameter.replace(kind=Parameter.KEYWORD_ONLY, annotation=hints[name])
        if name not in groups:
            parameters.append(keyword)
            continue
        inner = get_type_hints(groups[name], include_extras=True)
        parameters += [
            keyword.replace(name=field.name, annotation=inner[field.name], default=field.default)
            for field in fields(groups[name])
        ]

    @functools.wraps(command)
    def spread(**options: Any) -> None:
        gathered = {
            name: group(**{field.name: options.pop(field.name) for field in fields(group)})
            for name, group in groups.items()
        }
        command(**options, **gathered)

    spread.__signature__ = Signature(parameters)  # type: ignore[attr-defined]
    spread.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return spread


# --- values of options --------------------------------------------------------------------------


def read_level(text: str, option: str = "--confidence") -> float:
    """Read a level: 0.95 and 95% are the same; so is 95, since no confidence is below a half.

    Examples
    --------
    >>> read_level("0.95"), read_level("95"), read_level("99.99 %")
    (0.95, 0.95, 0.9999)
    """
    number = text.strip().removesuffix("%").strip()
    try:
        value = Fraction(number)  # so that 99.99% is 0.9999
    except (ValueError, ZeroDivisionError):
        value = Fraction(0)
    if text.strip().endswith("%") or (option == "--confidence" and 50 <= value < 100):
        value /= 100
    if not 0 < value < 1:
        example = "0.95" if option == "--confidence" else "0.05"
        raise InvalidValueError(
            f"{option} must be a share such as {example}, between 0 and 1, or a percentage with "
            f"its sign. Got {text!r} instead."
        )
    return float(value)


def read_alpha(text: str | None, resamples: int, n_tests: int = 1) -> float | None:
    """Read the level of --fail-below; one below the smallest adjusted p-value is an error."""
    if text is None:
        return None
    alpha = read_level(text, "--fail-below")
    smallest = n_tests / (resamples + 1)
    if alpha < smallest * (1 - 1e-9):
        needed = int(-(-n_tests // alpha)) - 1
        raise InvalidValueError(
            f"--fail-below {alpha:g} can never happen: the smallest p-value with --resamples "
            f"{resamples} is {smallest:g}. Use --resamples {needed} or more."
        )
    return alpha


def read_numbers(text: str, option: str) -> list[float]:
    """Read numbers with commas between them."""
    try:
        return [float(part) for part in text.split(",")]
    except ValueError as error:
        raise InvalidValueError(
            f"{option} must be numbers with commas between them. Got {text!r} instead."
        ) from error


def check_choice(option: str, value: str, choices: Iterable[str]) -> None:
    """Check that a name is one of those there are."""
    if value not in choices:
        raise InvalidValueError(
            f"{option} must be one of {', '.join(choices)}. Got {value!r} instead."
            f"{did_you_mean(value, choices)}"
        )


def check_draws(draws: Draws) -> None:
    """Check seed, number of resamples and statistic before any work."""
    from exactregion.resampling import check_n_resamples

    check_n_resamples(draws.resamples)
    if draws.seed < 0:
        raise InvalidValueError(
            f"--seed must be a whole number, 0 or more. Got {draws.seed} instead."
        )
    if draws.statistic is not None:
        check_choice("--statistic", draws.statistic, STATISTIC_NAMES)
