"""Inputs that options give in words: ``--at sex=male,dose=1,2,4`` and ``--ed50 dose,sex=male``."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from exactregion._typing import FloatArray
from exactregion.cli.data import read_value
from exactregion.data.table import did_you_mean, shown_names
from exactregion.errors import InvalidValueError
from exactregion.models import CLogLog, Logistic, Model, Probit
from exactregion.region import ConfidenceRegion

if TYPE_CHECKING:
    import pandas as pd

PREDICTOR: dict[type[Model], float] = {
    Logistic: 0.0,
    Probit: 0.0,
    CLogLog: float(np.log(np.log(2))),
}
"""The linear predictor at which each family has P = 1/2."""


@dataclass(frozen=True, eq=False)
class Threshold:
    """The value of one input at which P = 1/2; `solve` computes it from the parameters."""

    input: str
    others: dict[str, Any]
    name: str
    explanation: str
    solve: Callable[[FloatArray], float]


def inputs_of(region: ConfidenceRegion) -> pd.DataFrame:
    """Return the inputs of a fitted region as columns of the file."""
    import pandas as pd

    if region.design_ is not None:
        return region.design_.data[list(region.design_.columns)]
    inputs = region.fitted_.sample.inputs
    # a copy: medians of pandas before 2.2 fail on arrays that cannot be written to
    return pd.DataFrame(inputs.matrix.copy(), columns=list(inputs.names))


def values_text(values: dict[str, Any]) -> str:
    """Write values with their names."""
    return ", ".join(
        f"{name} = {value:g}" if isinstance(value, float) else f"{name} = {value}"
        for name, value in values.items()
    )


def read_places(
    region: ConfidenceRegion, texts: Sequence[str]
) -> tuple[pd.DataFrame, list[dict[str, Any]], dict[str, Any]]:
    """Read what was given for --at, such as "temp=31" or "sex=male,dose=1,2,4".

    Returns all inputs, one row per place; what was given for each; and what other inputs are.
    """
    import pandas as pd

    inputs = inputs_of(region)
    given = [place for text in texts for place in _read(text, inputs, "--at")]
    usual = _usual(inputs)
    frame = pd.DataFrame([usual | place for place in given], columns=list(usual))
    kinds = {name: float for name in usual if inputs[name].dtype.kind in "iuf"}
    others = {
        name: value for name, value in usual.items() if not all(name in place for place in given)
    }
    return frame.astype(kinds), given, others


def read_threshold(region: ConfidenceRegion, text: str) -> Threshold:
    """Read what was given for --ed50: an input such as "dose", or "dose,sex=male"."""
    import pandas as pd

    level = PREDICTOR.get(type(region.model_))
    if level is None:
        raise InvalidValueError("--ed50 goes with --model logistic, probit and cloglog only.")
    names = region.fitted_.sample.inputs.names
    name = max((n for n in names if f"{text},".startswith(f"{n},")), key=len, default="")
    if not name:
        wrong = text.partition(",")[0]
        raise InvalidValueError(
            f"--ed50 must be one of {shown_names(names)}. Got {wrong!r} instead."
            f"{did_you_mean(wrong, names)}"
        )
    inputs = inputs_of(region)
    others = inputs.drop(columns=_columns_of_term(region, name))
    given: dict[str, Any] = {}
    if text != name:
        given, *more = _read(text[len(name) + 1 :], others, "--ed50")
        if more:
            raise InvalidValueError(
                f"--ed50 must have one value for an input. Got {text!r} instead."
            )
    frame = pd.DataFrame([_usual(inputs) | given])
    if region.design_ is not None:
        frame = region.design_.transform(frame)
    n_intercepts = len(region.parameter_names_) - len(names)
    index = n_intercepts + names.index(name)
    row = np.concatenate([np.ones(n_intercepts), frame.iloc[0].to_numpy(dtype=np.float64)])
    row[index] = 0.0

    def solve(theta: FloatArray) -> float:
        with np.errstate(divide="ignore", invalid="ignore"):
            return float((level - row @ theta) / theta[index])

    shown = f"ED50 of {name}" + (f", {values_text(given)}" if given else "")
    usual = _usual(others)
    left = {other: value for other, value in usual.items() if other not in given}
    where = f"; the median, or most frequent: {values_text(left)}" if left else ""
    explanation = f"{shown}: where the probability is 1/2{where}."
    return Threshold(name, usual | given, shown, explanation, solve)


def _columns_of_term(region: ConfidenceRegion, name: str) -> list[str]:
    """Return the columns that a term is made of; an error if other terms use them too."""
    if region.design_ is None:
        return [name]
    terms = region.design_.terms
    if name not in terms:
        raise InvalidValueError(
            f"--ed50 must be a number that varies. {name!r} stands for a class instead."
        )
    for term, used in terms.items():
        if term != name and used & terms[name]:
            raise InvalidValueError(
                f"--ed50 needs an input that is in one term only. {name!r} is in {term!r} too."
            )
    return sorted(terms[name])


def _read(text: str, inputs: pd.DataFrame, option: str) -> list[dict[str, Any]]:
    """Read one place, or as many as one of its inputs has values."""
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
        usual = values_text({names[0]: _usual(inputs)[names[0]]}).replace(" = ", "=")
        raise InvalidValueError(
            f"{option} must be input=value, such as {usual}. Got {text!r} instead."
        )
    values = {
        name: [_value(value.strip(), inputs[name], option) for value in several.split(",")]
        for name, several in zip(parts[::2], parts[1::2], strict=True)
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
    is_number = column.dtype.kind in "iuf"
    if value is None if is_number else value not in set(column):
        needed = "a number"
        if not is_number:
            needed = f"one of {shown_names(sorted(map(str, set(column))))}"
        raise InvalidValueError(
            f"{option} must have {needed} for {column.name!r}. Got {text!r} instead."
        )
    return value


def _usual(inputs: pd.DataFrame) -> dict[str, Any]:
    """Return the median of each column of numbers, and the most frequent value of others."""
    return {
        str(name): float(column.median()) if column.dtype.kind in "iuf" else column.mode().iloc[0]
        for name, column in inputs.items()
    }
