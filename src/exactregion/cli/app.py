"""The command ``exactregion``: its commands put together, its messages and exit codes."""

from __future__ import annotations

import inspect
import logging
import os
import shlex
import sys
import traceback
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Annotated

import typer

from exactregion._version import __version__
from exactregion.cli import calibrate, examples, fit, segments, test
from exactregion.cli.options import check_repeated
from exactregion.cli.output import COMMAND, plain_streams, printable
from exactregion.errors import ArgumentError, ExactRegionError

BAD_INPUT = 2
DEFECT = 3
INTERRUPTED = 130
PIPE_CLOSED = 141
"""As a shell says of a program that wrote to a pipe which nobody reads."""

OPTIONS = {
    "X": "--inputs",
    "at": "--ed",
    "candidate": "--probability",
    "y_prob": "--probability",
    "y_true": "--outcome",
    "confidence_level": "--confidence",
    "input": "--ed",
    "n_jobs": "--jobs",
    "n_resamples": "--resamples",
    "pos_label": "--positive",
    "probability": "--ed",
    "rng": "--seed",
    "theta": "--parameters",
    "y": "--outcome",
    **{
        name: f"--{name.replace('_', '-')}"
        for name in (
            *("bins", "by", "depth", "formula", "guess", "lapse", "levels", "locations"),
            *("min_rows", "model", "relative_to", "segments", "statistic"),
        )
    },
}
"""What the command calls the arguments of the library."""

UsageError: type[Exception] = typer.BadParameter.__mro__[2]
"""The base of Typer's errors about the command line, wherever this version of Typer keeps it."""

app = typer.Typer(
    name="exactregion",
    rich_markup_mode="rich",
    invoke_without_command=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    help="Exact tests and confidence regions for the probability of an outcome, of two classes or "
    "more: valid at every sample size.",
    epilog="\nA first example, with bundled data:\n"
    "  exactregion datasets oring --out oring.csv\n"
    "  exactregion fit oring.csv --outcome y --inputs temp --at temp=31\n\n"
    "Exit codes: 0 done, 1 rejected (only with --fail-below), 2 bad input.",
)


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"exactregion {__version__}")
        raise typer.Exit


@app.callback()
def _no_command(
    ctx: typer.Context,
    version: Annotated[
        bool,
        typer.Option(
            "--version", metavar="", help="Show the version.", callback=_show_version, is_eager=True
        ),
    ] = False,
) -> None:
    if ctx.invoked_subcommand is None:
        typer.echo(ctx.get_help(), nl=False)
        raise typer.Exit(BAD_INPUT)


for name, command, epilog in (
    ("test", test.run_test, test.EXAMPLES),
    ("calibrate", calibrate.calibrate, calibrate.EXAMPLES),
    ("segments", segments.segments, segments.EXAMPLES),
    ("fit", fit.fit, fit.FIT_EXAMPLES),
    ("show", fit.show, fit.SHOW_EXAMPLES),
    ("datasets", examples.datasets, examples.DATASETS_EXAMPLES),
    ("paper", examples.paper, examples.PAPER_EXAMPLES),
    ("demo", examples.demo, examples.DEMO_EXAMPLES),
):
    # one line per paragraph, for the help to wrap as wide as the terminal is
    paragraphs = inspect.cleandoc(command.__doc__ or "").split("\n\n")
    unwrapped = "\n\n".join(" ".join(paragraph.split()) for paragraph in paragraphs)
    app.command(name, help=unwrapped, epilog=epilog)(command)


def run(arguments: Sequence[str] | None = None) -> int:
    """Run a command line, the one of the process by default, and return its exit code."""
    os.environ["MPLBACKEND"] = "Agg"  # pictures go to files, never to windows
    command = typer.main.get_command(app)
    words = sys.argv[1:] if arguments is None else list(arguments)
    COMMAND.set(shlex.join(["exactregion", *words]))
    try:
        plain_streams()
        chosen = command.commands.get(words[0]) if words else None  # type: ignore[attr-defined]
        check_repeated(words[1:], () if chosen is None else chosen.params)
        with _compiling_told():
            code = command.main(args=words, prog_name="exactregion", standalone_mode=False)
        sys.stdout.flush()
    except SystemExit as end:
        # Typer and Rich exit with 1 when nobody reads the pipe; our commands never do
        return PIPE_CLOSED if end.code == 1 else int(end.code or 0)
    except typer.Abort:
        return INTERRUPTED
    except Exception as error:
        message = message_of(error)
        if message is not None:
            sys.stderr.write(f"Error: {printable(message)}\n")
            return BAD_INPUT
        if os.environ.get("EXACTREGION_TRACEBACK"):
            traceback.print_exception(error)
        message = (
            f"Error: {type(error).__name__}: {error}\nThis is a defect of exactregion, not of your "
            "data. EXACTREGION_TRACEBACK=1 before the command shows where.\n"
        )
        sys.stderr.write(printable(message))
        return DEFECT
    return int(code or 0)


@contextmanager
def _compiling_told() -> Iterator[None]:
    """Let stderr say why a first call takes long: functions are compiled."""
    logger, handler = logging.getLogger("exactregion.features.compilation"), logging.StreamHandler()
    logger.setLevel(logging.INFO)
    logger.addHandler(handler)
    try:
        yield
    finally:
        logger.removeHandler(handler)


def message_of(error: Exception) -> str | None:
    """Return the message for an error of the user or the machine; None for a defect."""
    if isinstance(error, ArgumentError) and error.parameter in OPTIONS:
        place = f"row {1 + (error.row or 0)}"  # Python counts from 0, and files from 1
        return f"{OPTIONS[error.parameter]} {error.requirement_in(place)}"
    if isinstance(error, ExactRegionError):
        return str(error)
    if isinstance(error, UsageError):
        message = str(getattr(error, "format_message", error.__str__)())
        path = getattr(getattr(error, "ctx", None), "command_path", None)
        return f"{message}\nTry '{path} --help'." if path else message
    if isinstance(error, OSError) and error.strerror:
        what = f"{str(error.filename)!r}: " if error.filename else ""
        return f"{what}{error.strerror}."
    if isinstance(error, MemoryError):
        return "There is not enough memory. Fewer --resamples need less."
    return None
