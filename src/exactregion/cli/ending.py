"""How a command ends: results, then files, then the exit code."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import Any

import typer

from exactregion._version import __version__
from exactregion.cli.errors import REJECTED
from exactregion.cli.options import Draws, Output
from exactregion.cli.output import Page, print_json
from exactregion.cli.targets import Targets

__all__ = ["Ending", "beginning", "draws_text"]

ROUNDING = 1e-12
"""Adjusted p-values are products, whose last digit may be off."""


def beginning(command: str, file: str) -> dict[str, Any]:
    """Begin the JSON object of a command.

    Parameters
    ----------
    command, file : str
        What was called, on what.
    """
    return {"version": __version__, "command": command, "file": file}


def draws_text(statistic: str, draws: Draws) -> str:
    """Say how the test was made.

    Parameters
    ----------
    statistic : str
        Name of the statistic.
    draws : Draws
        The options.
    """
    return f"{statistic}, {draws.resamples:,} resamples, seed {draws.seed}"


@dataclass
class Ending:
    """Where results go, and what decides about the exit code.

    Parameters
    ----------
    output : Output
        Options about results.
    targets : Targets
        Files to be written, checked already.
    alpha : float or None
        The level of --fail-below.
    """

    output: Output
    targets: Targets
    alpha: float | None = None

    def finish(
        self, page: Page, content: dict[str, Any], *, result: Any, pvalue: float, decided: str
    ) -> None:
        """Print the results, write the files, and end with 1 where that was asked for.

        Parameters
        ----------
        page : Page
            Results for people.
        content : dict
            Results for programs.
        result : object
            What can be drawn, reported and saved; None if nothing can.
        pvalue : float
            What decides.
        decided : str
            What it is, in words.
        """
        rejected = None if self.alpha is None else pvalue <= self.alpha * (1 + ROUNDING)
        if self.output.json:
            print_json({**content, "fail_below": self.alpha, "rejected": rejected})
        else:
            if rejected is not None:
                word = "Rejected" if rejected else "Not rejected"
                page.say(
                    f"{word} at the level {self.alpha:g} of --fail-below: {decided} {pvalue:.4g}."
                )
            page.show()
        sys.stdout.flush()
        if result is not None:
            self.targets.write(result)
        if rejected:
            raise typer.Exit(REJECTED)
