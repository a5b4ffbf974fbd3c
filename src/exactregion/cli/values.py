"""Values that options give as text: levels, classes, ``--at sex=male,dose=1,2``, ``--ed 50,90``."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from contextlib import suppress
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from exactregion.data.table import did_you_mean, shown_names
from exactregion.errors import InvalidValueError
from exactregion.region import ConfidenceRegion
from exactregion.region.places import input_frame, is_number, usual_values, values_text

if TYPE_CHECKING:
    import pandas as pd

HALF = "half"
"""What --ed is given for the level half way between the guess and lapse rates."""


def read_level(text: str, option: str = "--confidence") -> float:
    """Read a level: 0.95 and 95% are the same; so is 95, since no confidence is below a half."""
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


def check_choice(option: str, value: str, choices: Iterable[str]) -> None:
    """Check that a name is one of those there are."""
    if value not in choices:
        raise InvalidValueError(
            f"{option} must be one of {', '.join(choices)}. Got {value!r} instead."
            f"{did_you_mean(value, choices)}"
        )


def refuse_first(*conflicts: tuple[object, str]) -> None:
    """Raise an error with the first message whose condition is true, or not empty."""
    for condition, message in conflicts:
        if condition:
            raise InvalidValueError(message)


def read_value(text: str, column: pd.Series[Any]) -> object:
    """Read a value of the kind that a column holds; None if the text is of another kind."""
    if column.dtype.kind == "b":
        return {"true": True, "1": True, "false": False, "0": False}.get(text.lower())
    if column.dtype.kind in "iuf":
        with suppress(ValueError):
            return float(text)
        return None
    return text


def labels_in(option: str, classes: str, outcome: pd.Series[Any]) -> list[object]:
    """Read the names of classes as the kind of values that the outcome has."""
    texts = [text.strip() for text in classes.split(",")]
    values = [read_value(text, outcome) for text in texts]
    wrong = [text for text, value in zip(texts, values, strict=True) if value is None]
    if wrong:
        raise InvalidValueError(
            f"{option} must name classes of the outcome, which are numbers. Got {wrong[0]!r}."
        )
    whole = outcome.dtype.kind in "iu"
    return [int(value) if whole else value for value in values]  # type: ignore[call-overload]


def read_places(
    region: ConfidenceRegion, texts: Sequence[str]
) -> tuple[pd.DataFrame, list[dict[str, Any]], dict[str, Any]]:
    """Read what was given for --at, such as "temp=31" or "sex=male,dose=1,2,4".

    Returns all inputs, one row per place; what was given for each; and what other inputs are.
    """
    import pandas as pd

    inputs = input_frame(region.fitted_)
    given = [place for text in texts for place in _read(text, inputs, "--at")]
    usual = usual_values(inputs)
    frame = pd.DataFrame([usual | place for place in given], columns=list(usual))
    kinds = {name: float for name in usual if inputs[name].dtype.kind in "iuf"}
    others = {
        name: value for name, value in usual.items() if not all(name in place for place in given)
    }
    return frame.astype(kinds), given, others


def read_effective(
    region: ConfidenceRegion, text: str
) -> tuple[str, list[float | None], dict[str, Any]]:
    """Read what was given for --ed: "50,90" of the only number, or "dose=50,90,sex=male".

    Returns the input, its levels, None for half way, and where other inputs are.
    """
    inputs = input_frame(region.fitted_)
    numbers = [str(name) for name in inputs.columns if is_number(inputs[name])]
    if "=" not in text:
        if len(numbers) != 1:
            raise InvalidValueError(
                f"--ed must name the input, one of {shown_names(numbers)}: --ed "
                f"{numbers[0] if numbers else 'dose'}={text}."
            )
        return numbers[0], _levels(text), {}
    (name, levels), *others = _split(text, inputs, "--ed").items()
    if name not in numbers:
        raise InvalidValueError(
            f"--ed must be for an input that is a number. Got {name!r}, which has levels, instead."
        )
    for other, several in others:
        if len(several) > 1:
            raise InvalidValueError(
                f"--ed must have one value for {other!r}. Got {text!r} instead."
            )
    at = {other: _value(several[0], inputs[other], "--ed") for other, several in others}
    return name, _levels(",".join(levels)), at


def read_level_of(region: ConfidenceRegion, text: str) -> dict[str, Any]:
    """Read what was given for --relative-to: levels or values of inputs, "sex=female"."""
    inputs = input_frame(region.fitted_)
    read, *more = _read(text, inputs, "--relative-to")
    if more:
        raise InvalidValueError(
            f"--relative-to must have one value per input. Got {text!r} instead."
        )
    return read


def _levels(text: str) -> list[float | None]:
    """Read percentages, as in ED50 and ED90; shares such as 0.5 are refused, since 0.5% may be."""
    levels: list[float | None] = []
    for part in filter(None, (part.strip() for part in text.split(","))):
        if part == HALF:
            levels.append(None)
            continue
        try:
            percentage = float(part.removesuffix("%"))
        except ValueError:
            percentage = 0.0
        if not 1 <= percentage <= 99:
            raise InvalidValueError(
                f"--ed must be percentages from 1 to 99, such as 50,90, or {HALF}. "
                f"Got {part!r} instead."
            )
        levels.append(percentage / 100)
    if not levels:
        raise InvalidValueError(f"--ed must be percentages, such as 50,90. Got {text!r} instead.")
    return levels


def _split(text: str, inputs: pd.DataFrame, option: str) -> dict[str, list[str]]:
    """Split "sex=male,dose=1,2" into texts by input."""
    names = [str(name) for name in inputs.columns]
    known = "|".join(map(re.escape, sorted(names, key=len, reverse=True)))
    before, *parts = re.split(rf"(?:^|,)\s*({known})\s*=", text)
    for unread in (before, *parts[1::2]):
        wrong, equals, _ = unread.rpartition("=")
        wrong = wrong.rpartition(",")[2].strip()
        if equals:
            raise InvalidValueError(
                f"{option} must name inputs of the region, {shown_names(names)}. "
                f"Got {wrong!r} instead.{did_you_mean(wrong, names)}"
            )
    if before or not parts:
        usual = values_text({names[0]: usual_values(inputs)[names[0]]}).replace(" = ", "=")
        raise InvalidValueError(
            f"{option} must be input=value, such as {usual}. Got {text!r} instead."
        )
    return {
        name: [value.strip() for value in several.split(",")]
        for name, several in zip(parts[::2], parts[1::2], strict=True)
    }


def _read(text: str, inputs: pd.DataFrame, option: str) -> list[dict[str, Any]]:
    """Read one place, or as many as one of its inputs has values."""
    values = {
        name: [_value(value, inputs[name], option) for value in several]
        for name, several in _split(text, inputs, option).items()
    }
    longest = max(values, key=lambda name: len(values[name]))
    if any(len(several) > 1 for name, several in values.items() if name != longest):
        raise InvalidValueError(
            f"{option} must have several values for one input only. Got {text!r}."
        )
    single = {name: several[0] for name, several in values.items()}
    return [{**single, longest: value} for value in values[longest]]


def _value(text: str, column: pd.Series[Any], option: str) -> Any:
    """Read a value of an input: any number, or a class that the column has."""
    value = read_value(text, column)
    if value is None if is_number(column) else value not in set(column):
        needed = "a number"
        if not is_number(column):
            needed = f"one of {shown_names(sorted(map(str, set(column))))}"
        raise InvalidValueError(
            f"{option} must have {needed} for {column.name!r}. Got {text!r} instead."
        )
    return value
