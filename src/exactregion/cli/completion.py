"""What the shell offers when Tab is pressed."""

from __future__ import annotations

import csv
from contextlib import suppress
from pathlib import Path

import typer

from exactregion.statistics import STATISTIC_NAMES

__all__ = ["MODELS", "columns", "data_sets", "models", "statistics"]

MODELS = ("logistic", "probit", "cloglog", "psychometric", "laplace", "gaussian")


def models(incomplete: str) -> list[str]:
    """Offer families."""
    return _beginning(MODELS, incomplete)


def statistics(incomplete: str) -> list[str]:
    """Offer statistics."""
    return _beginning(STATISTIC_NAMES, incomplete)


def data_sets(incomplete: str) -> list[str]:
    """Offer the data sets that come with the package."""
    from exactregion import datasets

    return _beginning(datasets.__all__, incomplete)


def columns(ctx: typer.Context, incomplete: str) -> list[str]:
    """Offer the columns of the CSV file that stands before on the line."""
    names: list[str] = []
    # an option whose value is still missing keeps Typer from telling arguments apart
    said = [ctx.params.get("file"), *ctx.args]
    file = next((Path(text) for text in said if text and Path(text).is_file()), None)
    if file is not None:
        with (
            suppress(OSError, UnicodeDecodeError, csv.Error, StopIteration, TypeError),
            file.open(encoding="utf-8-sig", newline="") as lines,
        ):
            names = next(csv.reader(lines, delimiter=ctx.params.get("delimiter") or ","))
    begun, comma, last = incomplete.rpartition(",")
    return [begun + comma + name for name in _beginning(names, last)]


def _beginning(names: list[str] | tuple[str, ...], incomplete: str) -> list[str]:
    return [name for name in names if name.startswith(incomplete)]
