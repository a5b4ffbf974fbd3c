"""Families of models by the options that choose them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from exactregion.cli import completion
from exactregion.cli.options import FAMILY
from exactregion.cli.values import check_choice, read_numbers
from exactregion.errors import InvalidValueError

if TYPE_CHECKING:
    from exactregion.models import Model

__all__ = ["FAMILIES", "Family", "family_of", "parameters_of"]

FAMILIES = {
    "CLogLog": "cloglog",
    "GaussianMixture": "gaussian",
    "LaplaceMixture": "laplace",
    "Logistic": "logistic",
    "Probit": "probit",
    "Psychometric": "psychometric",
}
"""What --model calls the families."""


@dataclass(frozen=True)
class Family:
    """The family and what is known of it."""

    model: Annotated[
        str,
        typer.Option(
            metavar="NAME",
            help="logistic, probit, cloglog, psychometric, laplace or gaussian.",
            rich_help_panel=FAMILY,
            autocompletion=completion.models,
        ),
    ] = "logistic"
    guess: Annotated[
        str | None,
        typer.Option(
            metavar="RATE",
            help="Of psychometric: guess rate, or free. 0.5 by default.",
            rich_help_panel=FAMILY,
            show_default=False,
        ),
    ] = None
    lapse: Annotated[
        str | None,
        typer.Option(
            metavar="RATE",
            help="Of psychometric: lapse rate, or free, the default.",
            rich_help_panel=FAMILY,
            show_default=False,
        ),
    ] = None
    locations: Annotated[
        str | None,
        typer.Option(
            metavar="A,B",
            help="Of laplace and gaussian: centres of the positive and the negative class.",
            rich_help_panel=FAMILY,
            show_default=False,
        ),
    ] = None


def family_of(options: Family) -> Model:
    """Make the model that the options describe.

    Parameters
    ----------
    options : Family
        The options.
    """
    from exactregion import models

    name = check_choice("--model", options.model, completion.MODELS)
    _check_use(options, name)
    if name == "psychometric":
        return models.Psychometric(
            guess=_rate("--guess", options.guess or "0.5"),
            lapse=_rate("--lapse", options.lapse or "free"),
        )
    if name in ("laplace", "gaussian"):
        kind = models.LaplaceMixture if name == "laplace" else models.GaussianMixture
        return kind(_locations(options.locations))
    return models.as_model(name)


def _check_use(options: Family, name: str) -> None:
    uses = {
        "--guess": (options.guess, ("psychometric",)),
        "--lapse": (options.lapse, ("psychometric",)),
        "--locations": (options.locations, ("laplace", "gaussian")),
    }
    for option, (value, families) in uses.items():
        if value is not None and name not in families:
            raise InvalidValueError(f"{option} goes with --model {' or '.join(families)} only.")


def _rate(option: str, text: str) -> float | Literal["free"]:
    if text == "free":
        return "free"
    try:
        rate = float(text)
    except ValueError:
        rate = -1.0
    if not 0 <= rate <= 1:
        raise InvalidValueError(f"{option} must be between 0 and 1, or free. Got {text!r} instead.")
    return rate


def _locations(text: str | None) -> tuple[float, float]:
    if text is None:
        return (1.0, -1.0)
    numbers = read_numbers(text, "--locations")
    if len(numbers) != 2:
        raise InvalidValueError(f"--locations must be two numbers. Got {text!r} instead.")
    return numbers[0], numbers[1]


def parameters_of(text: str, names: tuple[str, ...]) -> list[float]:
    """Read the parameters of one member: "15.04, -0.232", or "intercept=15.04, temp=-0.232".

    Parameters
    ----------
    text : str
        What was given.
    names : tuple of str
        The parameters of the family, in order.
    """
    given: list[tuple[str, str]] = []
    for part in text.split(","):
        name, _, value = part.rpartition("=")
        given.append((name.strip(), value.strip()))
    numbers = read_numbers(",".join(value for _, value in given), "--parameters")
    needed = f"--parameters must be {', '.join(names)} in this order, or name=value of each."
    if len(numbers) != len(names):
        raise InvalidValueError(f"{needed} Got {len(numbers)} instead of {len(names)}.")
    if not any(name for name, _ in given):
        return numbers
    by_name = dict(zip((name for name, _ in given), numbers, strict=True))
    if set(by_name) != set(names):
        wrong = next(name for name in by_name if name not in names)
        raise InvalidValueError(f"{needed} Got {wrong!r} instead.")
    return [by_name[name] for name in names]
