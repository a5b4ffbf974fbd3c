"""The command ``exactregion``: its commands put together, and how it ends."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Sequence
from typing import Annotated

import typer

from exactregion._version import __version__
from exactregion.cli.calibrate import EXAMPLES as CALIBRATE_EXAMPLES
from exactregion.cli.calibrate import calibrate
from exactregion.cli.candidates import EXAMPLES as TEST_EXAMPLES
from exactregion.cli.candidates import try_candidates
from exactregion.cli.errors import BAD_INPUT, PIPE_CLOSED, code_of
from exactregion.cli.examples import (
    DATASETS_EXAMPLES,
    DEMO_EXAMPLES,
    PAPER_EXAMPLES,
    datasets,
    demo,
    paper,
)
from exactregion.cli.fit import FIT_EXAMPLES, SHOW_EXAMPLES, fit, show
from exactregion.cli.output import plain_streams

__all__ = ["app", "run"]

app = typer.Typer(
    name="exactregion",
    rich_markup_mode="rich",
    invoke_without_command=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    help="Exact tests and confidence regions for the probability of a binary outcome: valid at "
    "every sample size.",
    epilog="\nA first look, with data that come along:\n"
    "  exactregion datasets oring --out oring.csv\n"
    "  exactregion fit oring.csv --outcome y --inputs temp --at temp=31\n\n"
    "Exit codes: 0 done, 1 rejected where --fail-below asks for it, 2 bad input.",
)


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"exactregion {__version__}")
        raise typer.Exit


@app.callback()
def _front(
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


def _unwrapped(text: str | None) -> str:
    """Put each paragraph on one line, for the help to wrap as the terminal has it."""
    paragraphs = inspect.cleandoc(text or "").split("\n\n")
    return "\n\n".join(" ".join(paragraph.split()) for paragraph in paragraphs)


for name, command, examples in (
    ("test", try_candidates, TEST_EXAMPLES),
    ("calibrate", calibrate, CALIBRATE_EXAMPLES),
    ("fit", fit, FIT_EXAMPLES),
    ("show", show, SHOW_EXAMPLES),
    ("datasets", datasets, DATASETS_EXAMPLES),
    ("paper", paper, PAPER_EXAMPLES),
    ("demo", demo, DEMO_EXAMPLES),
):
    app.command(name, help=_unwrapped(command.__doc__), epilog=examples)(command)


def run(arguments: Sequence[str] | None = None) -> int:
    """Run a command line, and give its exit code.

    Parameters
    ----------
    arguments : sequence of str, optional
        Those of the process by default.
    """
    plain_streams()
    command = typer.main.get_command(app)
    try:
        code = command.main(
            args=None if arguments is None else list(arguments),
            prog_name="exactregion",
            standalone_mode=False,
        )
        sys.stdout.flush()
    except SystemExit as end:
        # Typer and Rich end so, with 1, when nobody reads the pipe; our commands never do
        return PIPE_CLOSED if end.code == 1 else int(end.code or 0)
    except Exception as error:
        return code_of(error)
    return int(code or 0)
