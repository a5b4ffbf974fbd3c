"""Values of options: levels, numbers and names, with the messages for wrong ones."""

from __future__ import annotations

from collections.abc import Sequence

from exactregion.cli.options import Draws
from exactregion.data.tables import did_you_mean
from exactregion.errors import InvalidValueError
from exactregion.statistics import STATISTIC_NAMES

__all__ = [
    "check_choice",
    "check_draws",
    "check_seed",
    "read_alpha",
    "read_level",
    "read_numbers",
    "statistic_name",
]


def read_level(text: str, option: str = "--confidence") -> float:
    """Read a level: 0.95 and 95% are the same; so is 95, since no level is below a half.

    Parameters
    ----------
    text : str
        What was given.
    option : str
        The option, for the message.

    Examples
    --------
    >>> read_level("0.95"), read_level("95"), read_level("95 %")
    (0.95, 0.95, 0.95)
    """
    written = text.strip()
    example = "0.95" if option == "--confidence" else "0.05"
    try:
        value = float(written.removesuffix("%"))
    except ValueError:
        value = float("nan")
    if written.endswith("%") or (option == "--confidence" and 50 <= value < 100):
        value /= 100
    if not 0 < value < 1:
        raise InvalidValueError(
            f"{option} must be a share such as {example}, between 0 and 1, or a percentage with "
            f"its sign. Got {text!r} instead."
        )
    return value


def read_alpha(text: str | None, resamples: int, tests: int = 1) -> float | None:
    """Read the level of --fail-below; one that no p-value can reach is an error.

    Parameters
    ----------
    text : str, optional
        What was given.
    resamples : int
        The smallest p-value is 1 / (resamples + 1).
    tests : int
        By how much it grows when it is adjusted.
    """
    if text is None:
        return None
    alpha = read_level(text, "--fail-below")
    smallest = tests / (resamples + 1)
    if alpha < smallest * (1 - 1e-9):
        needed = int(-(-tests // alpha)) - 1
        raise InvalidValueError(
            f"--fail-below {alpha:g} can never happen: the smallest p-value with --resamples "
            f"{resamples} is {smallest:g}. Use --resamples {needed} or more."
        )
    return alpha


def read_numbers(text: str, option: str) -> list[float]:
    """Read numbers with commas between them.

    Parameters
    ----------
    text : str
        What was given.
    option : str
        The option, for the message.
    """
    try:
        return [float(part) for part in text.split(",")]
    except ValueError as error:
        raise InvalidValueError(
            f"{option} must be numbers with commas between them. Got {text!r} instead."
        ) from error


def check_choice(option: str, value: str, choices: Sequence[str]) -> str:
    """Check that a name is one of those there are.

    Parameters
    ----------
    option : str
        The option, for the message.
    value : str
        What was given.
    choices : sequence of str
        What may be given.
    """
    if value not in choices:
        raise InvalidValueError(
            f"{option} must be one of {', '.join(choices)}. Got {value!r} instead."
            f"{did_you_mean(value, choices)}"
        )
    return value


def check_draws(draws: Draws) -> None:
    """Check seed, number of resamples and statistic before any work.

    Parameters
    ----------
    draws : Draws
        The options.
    """
    from exactregion.resampling import check_n_resamples

    check_n_resamples(draws.resamples)
    check_seed(draws.seed)
    if draws.statistic is not None:
        check_choice("--statistic", draws.statistic, STATISTIC_NAMES)


def check_seed(seed: int) -> None:
    """Check that a seed is not negative.

    Parameters
    ----------
    seed : int
        What was given.
    """
    if seed < 0:
        raise InvalidValueError(f"--seed must be a whole number, 0 or more. Got {seed} instead.")


def statistic_name(written: object) -> str:
    """Name a statistic as --statistic does.

    Parameters
    ----------
    written : object
        A statistic, or how it is written.

    Examples
    --------
    >>> statistic_name("Discrepancy(kernel='gaussian')")
    'discrepancy'
    """
    return str(written).partition("(")[0].lower()
