"""Options of the commands: what Typer shows, what the shell completes, what values they take.

Options that commands share come in groups. A group is a dataclass whose fields are options, all in
one panel of the help; `with_options` spreads the fields over the signature that Typer reads, and
puts them together again for the command.
"""

from __future__ import annotations

import csv
import functools
import shlex
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import Field, dataclass, field, fields, is_dataclass
from inspect import Parameter, Signature, signature
from pathlib import Path
from typing import Annotated, Any, ClassVar, get_type_hints

import typer

from exactregion.cli.values import check_choice, read_level
from exactregion.data.workers import check_n_jobs
from exactregion.errors import InvalidValueError
from exactregion.models import MODELS, Model
from exactregion.resampling import check_n_resamples
from exactregion.statistics import names_of_statistics
from exactregion.statistics.classes import CLASS_STATISTICS
from exactregion.testing.segments import STATISTICS

COLUMNS, FAMILY, METHOD, RESULTS = "Columns", "Family", "Method", "Results"
"""Panels of the help."""


def offer(names: Iterable[str]) -> Callable[[str], list[str]]:
    """Make a completion that offers those names which begin as the word does."""
    return lambda incomplete: [name for name in names if name.startswith(incomplete)]


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
            delimiter = (ctx.params.get("delimiter") or [","])[0]
            names = next(csv.reader(lines, delimiter=delimiter))
    before, comma, last = incomplete.rpartition(",")
    return [before + comma + name for name in names if name.startswith(last)]


def option(
    metavar: str, text: str, default: Any = None, complete: Any = None, panel: str | None = None
) -> Any:
    """Make an option with a value, in a panel of the help; columns are completed by the shell."""
    if metavar.startswith("COLUMN"):
        complete = complete_columns
    shown = typer.Option(metavar=metavar, help=text, rich_help_panel=panel, autocompletion=complete)
    return field(default=default, metadata={"typer": shown})


def flag(name: str, text: str, panel: str | None = None) -> Any:
    """Make an option without a value."""
    shown = typer.Option(name, help=text, metavar="", rich_help_panel=panel)
    return field(default=False, metadata={"typer": shown})


def argument(metavar: str, text: str, default: Any = ..., complete: Any = None) -> Any:
    """Make an argument without a name, such as a file."""
    shown = typer.Argument(metavar=metavar, help=text, show_default=False, autocompletion=complete)
    return field(default=default, metadata={"typer": shown})


FILE = argument("FILE", "CSV or Parquet file with a header; - reads CSV from standard input.")
MORE = argument(
    "FILE…", "More Parquet files that belong to the same data, however large they are.", None
)
CLUSTER = option(
    "ADDRESS", "Dask scheduler whose workers can read the Parquet files.", panel=METHOD
)
JOBS = option("NUMBER", "Number of threads; the answer is the same with any.", panel=METHOD)


@dataclass(frozen=True)
class Outcome:
    """The column with the outcome, and how to read it."""

    panel: ClassVar[str] = COLUMNS

    outcome: str | None = option("COLUMN", "Column with the outcome: 0/1, true/false, or classes.")
    trials: str | None = option(
        "COLUMN", "Column with numbers of trials; the outcome then counts successes."
    )
    positive: str | None = option("CLASS", "The positive class, such as Yes.")

    @property
    def event(self) -> str:
        """What a success is, where outcomes are labels."""
        return f"{self.outcome} = {1 if self.positive is None else self.positive}"


@dataclass(frozen=True)
class Columns(Outcome):
    """Outcome and inputs, by column or by formula."""

    inputs: list[str] | None = option(
        "COLUMN,…", "Inputs, with commas between them or the option repeated."
    )
    formula: str | None = option(
        "TEXT",
        'Outcome and inputs in one: "damage ~ temp"; with counts: "dead + alive ~ dose".',
    )


@dataclass(frozen=True)
class Predictions(Outcome):
    """Columns of predicted probabilities: of one model, of several, or of several classes."""

    probability: list[str] = option(
        "COLUMN,…",
        "Column with the predicted probabilities. Several with commas between them: one per model, "
        "or one per class where rows add up to 1, or a prefix of their names such as p_.",
        ...,
    )
    classes: str | None = option(
        "CLASS,…",
        "Where --probability names one column per class: the class of each. Not needed where the "
        "columns are named after the classes, with or without a prefix such as p_.",
    )


@dataclass(frozen=True)
class Family:
    """The family of models, and what is known of it."""

    panel: ClassVar[str] = FAMILY

    model: str = option(
        "NAME",
        f"{', '.join(list(MODELS)[:-1])} or {list(MODELS)[-1]}.",
        "logistic",
        offer(MODELS),
    )
    guess: str | None = option("RATE", "With psychometric: guess rate, or free. 0.5 by default.")
    lapse: str | None = option("RATE", "With psychometric: lapse rate, or free, the default.")
    locations: str | None = option(
        "A,B", "With laplace and gaussian: centres of the positive and the negative class."
    )

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

    panel: ClassVar[str] = METHOD

    choices: ClassVar[Sequence[str]] = names_of_statistics()

    statistic: str | None = option(
        "NAME",
        f"One of {', '.join(choices)}; the default suits the command.",
        complete=offer(choices),
    )
    resamples: int = option("NUMBER", "Number of data sets drawn.", 999)
    seed: int | None = option(
        "NUMBER",
        "Seed of the draws. By default it is computed from the data: the same data give the same "
        "answer, and new data have new draws.",
    )

    def __post_init__(self) -> None:
        """Check the values before any work."""
        check_n_resamples(self.resamples)
        if self.seed is not None and self.seed < 0:
            raise InvalidValueError(
                f"--seed must be a whole number, 0 or more. Got {self.seed} instead."
            )
        if self.statistic is not None:
            check_choice("--statistic", self.statistic, self.choices)

    @property
    def settings(self) -> dict[str, Any]:
        """The arguments of the library."""
        return {"n_resamples": self.resamples, "rng": "data" if self.seed is None else self.seed}


@dataclass(frozen=True)
class Search(Draws):
    """The level of a region, and how it is searched."""

    confidence: str = option("LEVEL", "Such as 0.95 or 95%.", "0.95")
    jobs: int | None = JOBS

    def __post_init__(self) -> None:
        """Check the values before any work."""
        super().__post_init__()
        check_n_jobs(self.jobs)

    @property
    def level(self) -> float:
        """The confidence level."""
        return read_level(self.confidence)


@dataclass(frozen=True)
class CalibrationSearch(Search):
    """The same, with the statistics of classes too."""

    choices: ClassVar[Sequence[str]] = sorted({*names_of_statistics(), *CLASS_STATISTICS})

    statistic: str | None = option(
        "NAME",
        "With --test-only: omnibus, spiegelhalter, discrepancy and others. Of several classes: "
        f"{', '.join(CLASS_STATISTICS)}.",
        complete=offer(choices),
    )


@dataclass(frozen=True)
class SegmentSearch(Search):
    """The statistic of segments, the level of their intervals, and what is random."""

    choices: ClassVar[Sequence[str]] = STATISTICS

    statistic: str | None = option("NAME", f"{' or '.join(STATISTICS)}.", "shift", offer(choices))
    confidence: str = option("LEVEL", "Of the intervals, such as 0.95 or 95%.", "0.95")


@dataclass(frozen=True)
class Reading:
    """How to read the file."""

    panel: ClassVar[str] = "Reading the file"

    delimiter: str | None = option(
        "TEXT", "What separates cells: ',' by default, tab in .tsv files."
    )
    decimal: str = option("TEXT", "What separates decimals: '.' or ','.", ".")
    drop_missing: bool = flag(
        "--drop-missing", "Leave out rows with missing values in the columns used."
    )


def with_options(command: Callable[..., None]) -> Callable[..., None]:
    """Spread the options of groups over the signature of a command, as Typer reads it."""
    hints = get_type_hints(command)
    groups: dict[str, Any] = {name: kind for name, kind in hints.items() if is_dataclass(kind)}
    made: dict[str, Field[Any]] = {}
    for name, parameter in signature(command).parameters.items():
        if name in groups:
            made |= {one.name: one for one in fields(groups[name])}
            for one in fields(groups[name]):
                one.metadata["typer"].rich_help_panel = groups[name].panel
            hints |= get_type_hints(groups[name])
        else:
            made[name] = parameter.default
    parameters = [
        Parameter(
            name,
            Parameter.KEYWORD_ONLY,
            annotation=Annotated[hints[name], one.metadata["typer"]],
            default=Parameter.empty if one.default is ... else one.default,
        )
        for name, one in made.items()
    ]

    @functools.wraps(command)
    def spread(**values: Any) -> None:
        gathered = {
            name: group(**{one.name: values.pop(one.name) for one in fields(group)})
            for name, group in groups.items()
        }
        command(**values, **gathered)

    spread.__signature__ = Signature(parameters)  # type: ignore[attr-defined]
    spread.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return spread


def check_repeated(words: Sequence[str], parameters: Iterable[Any]) -> None:
    """Raise an error where an option with one value has several: Typer would keep the last."""
    options = {name: one for one in parameters for name in one.opts if name.startswith("--")}
    given: dict[str, list[str]] = {}
    rest = iter(words)
    for word in rest:
        if word == "--":
            break
        name, equals, value = word.partition("=")
        if name in options and not options[name].is_flag:
            given.setdefault(name, []).append(value if equals else next(rest, ""))
    for name, values in given.items():
        if len(values) > 1 and not options[name].multiple:
            raise InvalidValueError(
                f"{name} must be given once. Got it {len(values)} times instead: "
                f"{' and '.join(map(shlex.quote, values))}."
            )
